"""Documents by index."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any, overload

from .store import Collection, open

_Document = dict[str, Any]


class ZDataset:
    """Documents of a collection by index, as a torch ``DataLoader`` takes them.

    ``indices`` selects and orders them, ``transform`` changes each when it is returned. The ids are those at the time of the call.
    """

    def __init__(
        self,
        store: Collection,
        indices: list[int] | None = None,
        transform: Callable[[_Document], Any] | None = None,
    ) -> None:
        self._store = store
        self._doc_ids = store.list_doc_ids()
        self._indices = indices
        self._transform = transform

    @classmethod
    def from_store(cls, root: str | os.PathLike[str], collection: str = "default") -> ZDataset:
        """The documents of a collection of a store.

        Raises:
            FileNotFoundError: there is no such store.
            ValueError: there is no such collection.
        """
        return cls(open(root).collection(collection))

    def _with(self, indices: list[int] | None, transform: Any) -> ZDataset:
        dataset = object.__new__(type(self))
        dataset.__dict__.update(self.__dict__, _indices=indices, _transform=transform)
        return dataset

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> list[Any]: ...
    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(len(self))[index]]
        at = index + len(self) if index < 0 else index
        if not 0 <= at < len(self):
            raise IndexError(f"Index {index} out of bounds for dataset of size {len(self)}")
        doc_id = self._doc_ids[at if self._indices is None else self._indices[at]]
        document = self._store.get(doc_id)
        return self._transform(document) if self._transform else document

    def __len__(self) -> int:
        return len(self._doc_ids if self._indices is None else self._indices)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def select(self, indices: Sequence[int]) -> ZDataset:
        """The documents with these indexes, in this order.

        Raises:
            IndexError: there is no such document.
        """
        own = range(len(self._doc_ids)) if self._indices is None else self._indices
        return self._with([own[i] for i in indices], self._transform)

    def shuffle(self, seed: int | None = None) -> ZDataset:
        """All documents in random order."""
        indices = list(range(len(self)))
        random.Random(seed).shuffle(indices)
        return self.select(indices)

    def map(self, function: Callable[[Any], Any]) -> ZDataset:
        """All documents, changed by a function when they are returned."""
        return self._with(self._indices, function if self._transform is None else _Chain(self._transform, function))

    def filter(self, function: Callable[[Any], bool]) -> ZDataset:
        """The documents for which a function returns true. It reads all of them."""
        return self.select([i for i, document in enumerate(self) if function(document)])

    def take(self, n: int) -> ZDataset:
        """The first ``n`` documents."""
        return self.select(range(min(n, len(self))))

    def skip(self, n: int) -> ZDataset:
        """The documents after the first ``n``."""
        return self.select(range(n, len(self)))

    def batch(self, batch_size: int) -> Iterator[list[Any]]:
        """Lists of ``batch_size`` documents; the last may be shorter."""
        return (self[i : i + batch_size] for i in range(0, len(self), batch_size))

    @property
    def features(self) -> dict[str, str] | None:
        """The types of the members of the first document."""
        if not len(self):
            return None
        kinds = {str: "string", bool: "bool", int: "int64", float: "float64", list: "list", dict: "dict"}
        return {name: kinds.get(type(value), "object") for name, value in self[0].items()}

    def __repr__(self) -> str:
        return f"ZDataset(len={len(self)}, features={list(self.features or ())})"


class _Chain:
    """One function after another; unlike a lambda it can be pickled."""

    def __init__(self, first: Callable[[Any], Any], second: Callable[[Any], Any]) -> None:
        self.first, self.second = first, second

    def __call__(self, value: Any) -> Any:
        return self.second(self.first(value))


class _Both:
    """The conditions of two filters."""

    def __init__(self, first: Callable[[Any], bool], second: Callable[[Any], bool]) -> None:
        self.first, self.second = first, second

    def __call__(self, value: Any) -> bool:
        return bool(self.first(value) and self.second(value))
