"""Augments change which samples of a reader are iterated, and in which order. They are not safe to share among threads."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from math import ceil
from random import Random
from types import TracebackType
from typing import Any

__all__ = ("Range", "Repeater", "Cycler", "Shuffler", "QuasiShuffler")


class Augment:
    """The base class: wraps a reader, and is iterated instead of it."""

    def __init__(self, reader: Any) -> None:
        self._reader = reader

    def __enter__(self) -> Any:
        self._reader.__enter__()
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        self._reader.__exit__(exc_type, exc_val, exc_tb)

    def __len__(self) -> int:
        return len(self._reader)

    def __iter__(self) -> Iterator[Any]:
        return self.iter()

    @abstractmethod
    def iter(
        self, yield_key: bool = False, raw: bool = False, copy: bool = True, chunk_size: int = 16
    ) -> Iterator[Any]:
        """An iterator over samples. The arguments are those of ``Reader.iter``."""
        raise NotImplementedError

    def rawiter(self, yield_key: bool = False) -> Iterator[Any]:
        """An iterator over encoded samples."""
        return self.iter(yield_key=yield_key, raw=True)

    @abstractmethod
    def seek(self, index: int) -> None:
        """Moves to a position of this augment's order."""
        raise NotImplementedError


class Range(Augment):
    """The samples from ``start`` to ``stop``, which may count from the end."""

    def __init__(self, reader: Any, start: int = 0, stop: int | None = None) -> None:
        super().__init__(reader)
        count = len(reader)
        if not -count <= start < count:
            raise IndexError(f"index {start} out of range for length {count} reader")
        self.start, self.stop, _ = slice(start, stop).indices(count)

    def iter(
        self, yield_key: bool = False, raw: bool = False, copy: bool = True, chunk_size: int = 16
    ) -> Iterator[Any]:
        samples: Iterator[Any] = self._reader.iter(self.start, self.stop, yield_key, raw, copy, chunk_size)
        return samples

    def seek(self, index: int) -> None:
        self._reader.seek(self.start + index)


class Repeater(Augment):
    """All samples, ``times`` times."""

    def __init__(self, reader: Any, times: int) -> None:
        super().__init__(reader)
        self.times = times

    def iter(
        self, yield_key: bool = False, raw: bool = False, copy: bool = True, chunk_size: int = 16
    ) -> Iterator[Any]:
        for _ in range(self.times):
            yield from self._reader.iter(yield_key=yield_key, raw=raw, copy=copy, chunk_size=chunk_size)

    def seek(self, index: int) -> None:
        self._reader.seek(index % len(self._reader))


class Cycler(Augment):
    """All samples, again and again without end."""

    def iter(
        self, yield_key: bool = False, raw: bool = False, copy: bool = True, chunk_size: int = 16
    ) -> Iterator[Any]:
        while len(self._reader):
            yield from self._reader.iter(yield_key=yield_key, raw=raw, copy=copy, chunk_size=chunk_size)

    def seek(self, index: int) -> None:
        self._reader.seek(index % len(self._reader))


class Shuffler(Augment):
    """All samples in random order, another one in each round: the orders of ``datadings``.

    ``seed`` is the number of samples by default. For training, see ``wharf_data.sampling``, which needs no list of all samples.
    """

    def __init__(self, reader: Any, seed: int | None = None) -> None:
        super().__init__(reader)
        self._seed = len(reader) if seed is None else seed
        #: Positions of the rounds before this one, and of this one.
        self._offset = 0
        self._i = 0

    def seek(self, index: int) -> None:
        count = len(self)
        self._offset = index // count * count
        self._i = index % count

    def iter(
        self, yield_key: bool = False, raw: bool = False, copy: bool = True, chunk_size: int = 16
    ) -> Iterator[Any]:
        order = list(range(len(self)))
        Random(self._seed + self._offset).shuffle(order)
        for index in order[self._i :]:
            yield self._reader.get(index, yield_key, raw, copy)
            self._i += 1
        self._i = 0
        self._offset += len(order)


class QuasiShuffler(Augment):
    """All samples in nearly random order, another one in each round, read in chunks: the orders of ``datadings``.

    Chunks of neighbors are read in random order. Their samples go through a buffer: each one replaces a random one there, which is next.

    ``buf_size`` is the number of samples of the buffer, or below 1 a fraction of the dataset, rounded up to whole chunks. ``seed`` is
    ``len(reader) * buf_size * chunk_size`` by default.
    """

    def __init__(self, reader: Any, buf_size: float = 0.01, chunk_size: int = 16, seed: int | None = None) -> None:
        super().__init__(reader)
        self.reader = reader
        count = len(reader)
        wanted = ceil(count * buf_size) if buf_size < 1 else int(buf_size)
        self.buf_size = ceil(wanted / chunk_size) * chunk_size
        self.chunk_size = chunk_size
        self.num_chunks = ceil(count / chunk_size)
        self._seed = count * self.buf_size * chunk_size if seed is None else seed
        self._offset = 0
        self._i = 0

    def seek(self, index: int) -> None:
        if index < 0:
            raise IndexError("index must be > 0")
        count = len(self)
        self._offset = index // count * count
        self._i = index % count

    def iter(
        self, yield_key: bool = False, raw: bool = False, copy: bool = True, chunk_size: int | None = None
    ) -> Iterator[Any]:
        count = len(self)
        # A chunk of another size would give another order, and leave samples out.
        chunk_size = self.chunk_size
        random = Random(self._seed + self._offset)
        chunks = list(range(self.num_chunks))
        random.shuffle(chunks)
        ranges = [range(chunk * chunk_size, min(count, (chunk + 1) * chunk_size)) for chunk in chunks]
        filled = self.buf_size // chunk_size
        # Samples before the position are passed over: only their indexes are in the buffer.
        buffer: list[Any] = []
        for chunk in ranges[:filled]:
            passed = bool(self._i)
            buffer += map(_Index, chunk) if passed else self.reader.slice(chunk.start, chunk.stop, yield_key, raw, copy)
        position = 0
        for chunk in ranges[filled:]:
            unread = chunk[: max(self._i - position, 0)]
            for index in unread:
                buffer[random.randrange(len(buffer))] = _Index(index)
            position += len(unread)
            for sample in self.reader.slice(chunk.start + len(unread), chunk.stop, yield_key, raw, copy):
                slot = random.randrange(len(buffer))
                yield self._sample(buffer[slot], yield_key, raw, copy)
                buffer[slot] = sample
                self._i += 1
                position += 1
        for value in buffer[self._i - position :]:
            yield self._sample(value, yield_key, raw, copy)
            self._i += 1
        self._i = 0
        self._offset += count

    def _sample(self, value: Any, yield_key: bool, raw: bool, copy: bool) -> Any:
        return self.reader.get(value, yield_key, raw, copy) if type(value) is _Index else value


class _Index(int):
    """The index of a sample that is not read yet."""
