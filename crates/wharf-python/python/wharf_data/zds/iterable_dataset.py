"""Documents one after the other."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from .dataset import _Both, _Chain
from .store import Collection, open


class ZIterableDataset:
    """Documents of a collection in order, or nearly shuffled: each replaces a random one in a buffer, which is next.

    ``filter_fn`` selects documents, then ``transform`` changes them. Each iteration has the order of ``seed``.
    """

    def __init__(
        self,
        store: Collection,
        buffer_size: int = 0,
        seed: int | None = None,
        transform: Callable[[Any], Any] | None = None,
        filter_fn: Callable[[Any], bool] | None = None,
    ) -> None:
        self._store = store
        self._buffer_size = buffer_size
        self._seed = seed
        self._transform = transform
        self._filter_fn = filter_fn

    @classmethod
    def from_store(cls, root: str | os.PathLike[str], collection: str = "default") -> ZIterableDataset:
        """The documents of a collection of a store.

        Raises:
            FileNotFoundError: there is no such store.
            ValueError: there is no such collection.
        """
        return cls(open(root).collection(collection))

    def _with(self, **changes: Any) -> ZIterableDataset:
        dataset = object.__new__(type(self))
        dataset.__dict__.update(self.__dict__, **changes)
        return dataset

    def __iter__(self) -> Iterator[Any]:
        documents: Iterator[Any] = iter(self._store.scan())
        if self._filter_fn is not None:
            documents = filter(self._filter_fn, documents)
        if self._transform is not None:
            documents = map(self._transform, documents)
        return self._shuffled(documents) if self._buffer_size > 0 else documents

    def _shuffled(self, documents: Iterator[Any]) -> Iterator[Any]:
        rng = random.Random(self._seed)
        buffer = list(islice(documents, self._buffer_size))
        for document in documents:
            index = rng.randint(0, len(buffer) - 1)
            yield buffer[index]
            buffer[index] = document
        rng.shuffle(buffer)
        yield from buffer

    def shuffle(self, buffer_size: int = 1000, seed: int | None = None) -> ZIterableDataset:
        """The documents, shuffled with a buffer of this many."""
        return self._with(_buffer_size=buffer_size, _seed=seed)

    def map(self, function: Callable[[Any], Any]) -> ZIterableDataset:
        """The documents, changed by a function."""
        return self._with(_transform=function if self._transform is None else _Chain(self._transform, function))

    def filter(self, function: Callable[[Any], bool]) -> ZIterableDataset:
        """The documents for which a function returns true. It gets them as they are stored, before ``map``."""
        return self._with(_filter_fn=function if self._filter_fn is None else _Both(self._filter_fn, function))

    def take(self, n: int) -> Iterator[Any]:
        """The first ``n`` documents."""
        return islice(self, n)

    def skip(self, n: int) -> Iterator[Any]:
        """The documents after the first ``n``."""
        return islice(self, n, None)

    def batch(self, batch_size: int) -> Iterator[list[Any]]:
        """Lists of ``batch_size`` documents; the last may be shorter."""
        documents = iter(self)
        while batch := list(islice(documents, batch_size)):
            yield batch

    def __repr__(self) -> str:
        shuffled = f", shuffle_buffer={self._buffer_size}" if self._buffer_size > 0 else ""
        return f"ZIterableDataset(collection={self._store.collection!r}{shuffled})"
