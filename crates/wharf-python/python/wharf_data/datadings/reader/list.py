"""Samples in memory."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import TracebackType
from typing import Any

from ..tools.msgpack import packb
from .reader import Reader

_Change = Callable[[dict[str, Any]], object]


def _nothing(sample: dict[str, Any]) -> None:
    pass


class ListReader(Reader):
    """A list of samples. One without a ``"key"`` has its index as key.

    ``labels`` is a sequence of labels, or a file with one on each line; by default, all that occur, in natural order. With
    ``numeric_labels``, the ``"label"`` of a sample is its index in this list, and ``"_label"`` is the label itself.

    ``initfun`` changes each sample once and for all, ``convertfun`` a copy each time that it is returned.
    """

    def __init__(
        self,
        samples: Sequence[dict[str, Any]],
        labels: Iterable[Any] | str | os.PathLike[str] | None = None,
        numeric_labels: bool = True,
        initfun: _Change = _nothing,
        convertfun: _Change = _nothing,
    ) -> None:
        super().__init__()
        self._samples = samples
        self._convertfun = convertfun
        self._index: dict[Any, int] = {}
        for index, sample in enumerate(samples):
            initfun(sample)
            key = sample.setdefault("key", index)
            if self._index.setdefault(key, index) != index:
                raise ValueError(f"duplicate key {key!r}")
        if isinstance(labels, (str, os.PathLike)):
            with open(labels, encoding="utf-8") as file:
                labels = [line.strip("\n ") for line in file]
        self.labels: list[Any] = list(labels) if labels else _sorted_labels(samples)
        self._numeric_labels = numeric_labels
        self._label_index: dict[Any, int] = {str(label): index for index, label in enumerate(self.labels)}
        self._label_index.update({label: index for index, label in enumerate(self.labels)})

    def __len__(self) -> int:
        return len(self._samples)

    def __contains__(self, key: object) -> bool:
        return key in self._index

    def __exit__(
        self,
        exc_type: type[BaseException] | None = None,
        exc_val: BaseException | None = None,
        exc_tb: TracebackType | None = None,
    ) -> None:
        pass

    def find_key(self, index: int) -> Any:
        return self._samples[index]["key"]

    def find_index(self, key: Any) -> int:
        return self._index[key]

    def get(self, index: int, yield_key: bool = False, raw: bool = False, copy: bool = True) -> Any:
        sample: Any = dict(self._samples[index])
        if self._numeric_labels and "label" in sample:
            sample["_label"] = sample["label"]
            sample["label"] = self._label_index[sample["label"]]
        self._convertfun(sample)
        key = sample["key"]
        if raw:
            sample = packb(sample)
        return (key, sample) if yield_key else sample

    def slice(
        self,
        start: int | None,
        stop: int | None = None,
        yield_key: bool = False,
        raw: bool = False,
        copy: bool = True,
    ) -> Iterator[Any]:
        for index in range(len(self))[start:stop]:
            yield self.get(index, yield_key, raw, copy)


def _sorted_labels(samples: Sequence[dict[str, Any]]) -> list[Any]:
    found = {sample["label"] for sample in samples if "label" in sample}
    if None in found:
        raise ValueError("Found None as label. Labels must be given to reader to use None.")
    if all(isinstance(label, (str, int, float)) for label in found):
        return sorted(found, key=lambda label: (_natural(label), str(label)))
    return sorted(found)


def _natural(label: str | float) -> list[Any]:
    """A key that sorts as natsort does: texts and numbers in turn, beginning with a text, which may be empty."""
    if not isinstance(label, str):
        return ["", label]
    label = unicodedata.normalize("NFD", label)
    # Other digits than decimal ones, such as a superscript, are numbers by themselves.
    single = "".join(sorted({letter for letter in label if letter.isdigit() and not letter.isdecimal()}))
    parts: list[Any] = re.split(rf"(\d+|[{single}])" if single else r"(\d+)", label)
    parts[1::2] = [int(part) if part.isdecimal() else unicodedata.digit(part) for part in parts[1::2]]
    # natsort has no text after a number that ends the label.
    return parts if parts[-1] else parts[:-1]
