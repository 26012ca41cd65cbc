"""What the readers of files in folders and in archives share."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatch
from typing import Any, NamedTuple

from .list import ListReader

#: Stands for the part of a path that is the label.
LABEL = "{LABEL}"

Patterns = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


class Found(NamedTuple):
    """A file, its key, and what is known about it."""

    key: str
    path: str
    label: str | None
    additional_info: list[str]


class FilesReader(ListReader):
    """Samples with the content of a file as ``"data"``. Subclasses say how a file is read."""

    def __init__(
        self,
        found: Iterable[Found],
        labels: Any,
        numeric_labels: bool,
        initfun: Callable[[dict[str, Any]], object],
        convertfun: Callable[[dict[str, Any]], object],
        include: Sequence[str],
        exclude: Sequence[str],
        root_dir: str = "",
    ) -> None:
        samples = [
            {
                "key": file.key,
                "label": file.label,
                "path": os.path.join(root_dir, file.path),
                "_additional_info": file.additional_info,
            }
            for file in found
            if (not include or any(fnmatch(file.path, pattern) for pattern in include))
            and not any(fnmatch(file.path, pattern) for pattern in exclude)
        ]
        super().__init__(samples, labels, numeric_labels, initfun, self._load)
        self._change = convertfun
        #: Bytes of all files read so far.
        self.bytes_read = 0

    def __copy__(self) -> Any:
        copy = super().__copy__()
        copy._convertfun = copy._load
        return copy

    def _read(self, path: str) -> bytes:
        raise NotImplementedError

    def _load(self, sample: dict[str, Any]) -> None:
        data = self._read(sample["path"])
        self.bytes_read += len(data)
        sample["data"] = data
        self._change(sample)


def pattern_list(patterns: Patterns) -> list[str]:
    """The patterns as texts."""
    return [os.fspath(pattern) for pattern in ((patterns,) if isinstance(patterns, (str, os.PathLike)) else patterns)]


def listed(file: str, prefix: str, separator: str) -> Iterator[Found]:
    """The files that a text file names: a path, a label, and additional information on each line."""
    with open(file, encoding="utf-8") as lines:
        for line in lines:
            if line := line.strip("\n"):
                path, *rest = line.split(separator)
                yield Found(path.removeprefix(prefix), path, rest[0] if rest else None, rest[1:])


def label_of(pattern: str, separator: str) -> Callable[[str], str | None]:
    """The function that finds the label in a path that matches."""
    parts = pattern.split(separator)
    if LABEL not in parts:
        return lambda path: None
    index = parts.index(LABEL)
    return lambda path: path.split(separator)[index]
