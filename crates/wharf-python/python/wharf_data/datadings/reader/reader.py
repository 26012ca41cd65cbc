"""The base class of readers."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Iterator
from types import TracebackType
from typing import Any


class Reader(metaclass=ABCMeta):
    """A sequence of samples, each a dict with a unique ``"key"``, and a position in it.

    Subclasses implement ``__len__``, ``__contains__``, ``__exit__``, ``find_key``, ``find_index``, ``get`` and ``slice``.
    """

    #: Attributes that a copy does not take over.
    _do_not_copy: tuple[str, ...] = ()

    #: Slices of at least this length are read in chunks.
    getitem_max_slice_length: int = 512
    #: Number of samples of such a chunk.
    getitem_chunk_size: int = 64

    _i: int

    def __init__(self) -> None:
        self._i = 0

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def __contains__(self, key: object) -> bool: ...

    def __enter__(self) -> Any:
        return self

    @abstractmethod
    def __exit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None: ...

    def __copy__(self) -> Any:
        copy = type(self).__new__(type(self))
        copy.__dict__.update({name: value for name, value in self.__dict__.items() if name not in self._do_not_copy})
        return copy

    @abstractmethod
    def find_key(self, index: int) -> Any:
        """The key of the sample with this index."""

    @abstractmethod
    def find_index(self, key: Any) -> int:
        """The index of the sample with this key. Raises ``KeyError`` if there is none."""

    @abstractmethod
    def get(self, index: int, yield_key: bool = False, raw: bool = False, copy: bool = True) -> Any:
        """The sample with this index.

        ``yield_key`` returns ``(key, sample)``, ``raw`` the encoded sample, and ``copy=False`` allows a ``memoryview`` for it.
        Raises ``IndexError`` if there is no such sample.
        """

    @abstractmethod
    def slice(
        self, start: int, stop: int | None = None, yield_key: bool = False, raw: bool = False, copy: bool = True
    ) -> Iterator[Any]:
        """An iterator over the samples of a slice. The other arguments are those of ``get``."""

    def _position(self, index: int) -> int:
        """An index from the start; negative ones count from the end."""
        at = index + len(self) if index < 0 else index
        if not 0 <= at < len(self):
            raise IndexError(f"index {index} out of range for length {len(self)} reader")
        return at

    def seek_index(self, index: int) -> None:
        """Moves to the sample with this index."""
        self._i = self._position(index)

    def seek(self, index: int) -> None:
        """Moves to the sample with this index."""
        self.seek_index(index)

    def seek_key(self, key: Any) -> None:
        """Moves to the sample with this key."""
        self.seek_index(self.find_index(key))

    def _next(self, raw: bool) -> Any:
        if self._i >= len(self):
            raise StopIteration
        sample = self.get(self._i, raw=raw)
        self._i += 1
        return sample

    def next(self) -> Any:
        """The sample at the current position, which moves on. Raises ``StopIteration`` at the end."""
        return self._next(False)

    def __next__(self) -> Any:
        return self._next(False)

    def rawnext(self) -> Any:
        """The encoded sample at the current position, which moves on. Raises ``StopIteration`` at the end."""
        return self._next(True)

    def __getitem__(self, index: Any) -> Any:
        if not isinstance(index, slice):
            return self.get(index)
        start, stop, step = index.indices(len(self))
        if step != 1:
            raise ValueError("step must be 1")
        if stop - start >= self.getitem_max_slice_length:
            return self._iter_impl(start, stop, chunk_size=self.getitem_chunk_size)
        return self.slice(start, stop)

    def _iter_impl(
        self,
        start: int,
        stop: int,
        yield_key: bool = False,
        raw: bool = False,
        copy: bool = True,
        chunk_size: int = 16,
    ) -> Iterator[Any]:
        for first in range(start, stop, chunk_size):
            yield from self.slice(first, min(stop, first + chunk_size), yield_key, raw, copy)

    def iter(
        self,
        start: int | None = None,
        stop: int | None = None,
        yield_key: bool = False,
        raw: bool = False,
        copy: bool = True,
        chunk_size: int = 16,
    ) -> Iterator[Any]:
        """An iterator from ``start``, or else from the current position, to ``stop``. It moves the position.

        At the end of the dataset it begins again. ``chunk_size`` is the number of samples read at once; the other arguments are those of
        ``get``.
        """
        if start is None:
            if self._i >= len(self):
                self._i = 0
            start = self._i
        else:
            start = self._position(start)
        start, stop, _ = slice(start, stop).indices(len(self))
        for sample in self._iter_impl(start, stop, yield_key, raw, copy, chunk_size):
            self._i += 1
            yield sample

    def __iter__(self) -> Iterator[Any]:
        return self.iter()

    def rawiter(self, yield_key: bool = False) -> Iterator[Any]:
        """An iterator over encoded samples from the current position on."""
        return self.iter(yield_key=yield_key, raw=True)
