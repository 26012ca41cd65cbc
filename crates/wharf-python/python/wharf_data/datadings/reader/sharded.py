"""Several datasets as one."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from glob import glob
from itertools import accumulate
from pathlib import Path
from types import TracebackType
from typing import Any

from .msgpack import MsgpackReader
from .reader import Reader


class ShardedReader(Reader):
    """Datasets one after the other, under one index.

    ``shards`` is a pattern such as ``"dir/*.msgpack"``, whose files are sorted by name, or an iterable of paths and readers.
    """

    def __init__(self, shards: str | os.PathLike[str] | Iterable[str | os.PathLike[str] | Reader]) -> None:
        super().__init__()
        if isinstance(shards, (str, os.PathLike)):
            shards = sorted(glob(os.fspath(shards)))
        self._readers: list[Reader] = [_opened(shard) for shard in shards]
        #: The first index of each shard, and the total.
        self._starts = list(accumulate(map(len, self._readers), initial=0))

    def __len__(self) -> int:
        return self._starts[-1]

    def __contains__(self, key: object) -> bool:
        return any(key in reader for reader in self._readers)

    def __exit__(
        self,
        exc_type: type[BaseException] | None = None,
        exc_val: BaseException | None = None,
        exc_tb: TracebackType | None = None,
    ) -> None:
        for reader in self._readers:
            reader.__exit__(exc_type, exc_val, exc_tb)

    def _locate(self, index: int) -> tuple[Reader, int]:
        at = self._position(index)
        shard = bisect_right(self._starts, at) - 1
        return self._readers[shard], at - self._starts[shard]

    def find_key(self, index: int) -> Any:
        reader, at = self._locate(index)
        return reader.find_key(at)

    def find_index(self, key: Any) -> int:
        for start, reader in zip(self._starts, self._readers, strict=False):
            if key in reader:
                return start + reader.find_index(key)
        raise KeyError(key)

    def get(self, index: int, yield_key: bool = False, raw: bool = False, copy: bool = True) -> Any:
        reader, at = self._locate(index)
        return reader.get(at, yield_key, raw, copy)

    def slice(
        self,
        start: int | None,
        stop: int | None = None,
        yield_key: bool = False,
        raw: bool = False,
        copy: bool = True,
    ) -> Iterator[Any]:
        first, end, _ = slice(start, stop).indices(len(self))
        return self._iter_impl(first, end, yield_key, raw, copy)

    def _iter_impl(
        self,
        start: int,
        stop: int,
        yield_key: bool = False,
        raw: bool = False,
        copy: bool = True,
        chunk_size: int = 16,
    ) -> Iterator[Any]:
        for first, reader in zip(self._starts, self._readers, strict=False):
            begin, end = max(start - first, 0), min(stop - first, len(reader))
            if begin < end:
                yield from reader.slice(begin, end, yield_key, raw, copy)


def _opened(shard: Any) -> Reader:
    if isinstance(shard, Reader):
        return shard
    if isinstance(shard, (str, os.PathLike)):
        return MsgpackReader(Path(shard))
    raise ValueError("need either msgpack path or Reader instance")
