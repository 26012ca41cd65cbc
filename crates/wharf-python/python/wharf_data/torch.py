"""Datasets for ``torch.utils.data``, over files of any format.

>>> from wharf_data.torch import IterableDataset, Loader                     # doctest: +SKIP
>>> dataset = IterableDataset("train.msgpack", batch_size=256, shuffle=True, seed=42)   # doctest: +SKIP
>>> loader = Loader(dataset, num_workers=4)                                  # doctest: +SKIP
>>> for batch in loader:                                                     # doctest: +SKIP
...     step(batch["image"], batch["label"])
...     checkpoint = loader.state_dict()

Batches are decoded and collated at once, without Python objects for the samples: a dict of tensors, of lists for fields that are not numeric or
have nulls in this batch, and of numpy arrays for dates and times. Every sample of an epoch occurs exactly once over all ranks and workers, also
after ``loader.load_state_dict(checkpoint)`` with other numbers of them. See ``wharf_data.sampling``.

Datasets of paths and readers can be pickled, and open their files when they are first used: in each worker, whether it was forked or spawned.
"""

from __future__ import annotations

import math
import mmap
import os
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import torch
import torch.utils.data

from . import _native
from ._errors import UsageError
from ._parts import Pieces, table_columns
from .datadings._samples import collate as _collate
from .datadings.reader import MsgpackReader
from .sampling import Course, QuasiShuffle, order_of, this_rank

__all__ = ["Batch", "IterableDataset", "Loader", "MapDataset", "collate"]

#: Changes a sample: a dict of its fields.
Transform = Callable[[dict[str, Any]], Any]


class MapDataset(torch.utils.data.Dataset[Any]):
    """Samples by index, as dicts.

    ``source`` is the path of a file of any format, a ``datadings`` reader, or a ``Table``; ``table`` selects one of a file with several,
    ``fields`` the fields. ``transform`` changes each sample.

    With ``collate_fn=wharf_data.torch.collate`` a ``DataLoader`` gets whole batches, collated by ``threads`` threads.
    """

    def __init__(
        self,
        source: Any,
        *,
        fields: Sequence[str] | None = None,
        table: str | None = None,
        transform: Transform | None = None,
        threads: int = 1,
    ) -> None:
        self._rows = _Rows(source, fields, table, threads)
        self._transform = transform

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: int) -> Any:
        sample = self._rows.sample(index)
        return self._transform(sample) if self._transform else sample

    def __getitems__(self, indices: list[int]) -> Any:
        """Several samples: a ``Batch``, or a list if there is a transform."""
        if self._transform:
            return [self[index] for index in indices]
        return Batch(self._rows.batch(indices))


class Batch(Sequence[dict[str, Any]]):
    """Samples as columns. As a sequence it has the samples, so that any ``collate_fn`` can use it."""

    def __init__(self, columns: dict[str, Any]) -> None:
        self.columns = columns

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def __getitem__(self, index: Any) -> Any:
        return {name: values[index] for name, values in self.columns.items()}


def collate(samples: Any) -> Any:
    """The columns of a ``Batch``, or what torch makes of other samples."""
    return samples.columns if isinstance(samples, Batch) else torch.utils.data.default_collate(samples)


class IterableDataset(torch.utils.data.IterableDataset[Any]):
    """Batches of the samples of this rank, in the order of ``wharf_data.sampling``. Use it with ``Loader``, or with a ``DataLoader`` that has
    ``batch_size=None``.

    ``source``, ``fields``, ``table``, ``transform`` and ``threads`` are those of ``MapDataset``. With a transform, samples are collated by
    ``default_collate``. ``shuffle`` is a bool or a ``QuasiShuffle``, which reads nearly in sequence. ``drop_last`` leaves out what is not a
    whole batch for every rank.

    Workers take the batches of their rank in turn, and a ``DataLoader`` returns them in turn, so that the sequence of batches depends on the
    rank alone. An epoch that was iterated to its end is followed by the next; see ``set_epoch`` for workers that do not persist.
    """

    def __init__(
        self,
        source: Any,
        batch_size: int,
        *,
        shuffle: bool | QuasiShuffle = False,
        seed: int = 0,
        drop_last: bool = False,
        epoch: int = 0,
        rank: int | None = None,
        ranks: int | None = None,
        fields: Sequence[str] | None = None,
        table: str | None = None,
        transform: Transform | None = None,
        threads: int = 1,
    ) -> None:
        if batch_size < 1:
            raise UsageError(f"batch_size: expected at least 1, found {batch_size}")
        self._rows = _Rows(source, fields, table, threads)
        self._transform = transform
        self._batch_size = batch_size
        self._drop_last = drop_last
        here = this_rank()
        self._course = Course(
            order_of(self._rows, shuffle, seed),
            epoch,
            rank=here[0] if rank is None else rank,
            ranks=here[1] if ranks is None else ranks,
        )
        #: Batches of the course that are not for this worker or were done before: at the start of an iteration, and now.
        self._first = self._done = 0
        #: Where the current iteration began: the course, and ``_first``.
        self._begin = (self._course, 0)

    @property
    def epoch(self) -> int:
        """The current epoch."""
        return self._course.epoch

    def set_epoch(self, epoch: int) -> None:
        """Begins an epoch. Workers that persist do not notice; those of a ``Loader`` are started anew."""
        self._move(replace(self._course, epoch=epoch, position=0))

    def _move(self, course: Course, first: int = 0) -> None:
        self._course, self._first, self._done = course, first, first
        self._begin = (course, first)

    def __len__(self) -> int:
        """Number of batches of this rank that are left."""
        return self._course.batches(self._batch_size, self._drop_last) - self._first

    def __iter__(self) -> Iterator[Any]:
        return self._groups(1)

    def _groups(self, group: int) -> Iterator[Any]:
        """Several batches at a time, as one."""
        self._move(self._course, self._first)
        return self._groups_from_here(group)

    def _groups_from_here(self, group: int) -> Iterator[Any]:
        # Again: a state may have been loaded before the first batch.
        self._move(self._course, self._first)
        course, first = self._begin
        info = torch.utils.data.get_worker_info()
        worker, workers = (info.id, info.num_workers) if info else (0, 1)
        size = self._batch_size
        batches = course.batches(size, self._drop_last)
        for number in range(first, batches, group):
            if number // group % workers != worker:
                continue
            end = min(number + group, batches)
            batch = self._batch(course.samples(number * size, (end - number) * size), None if group == 1 else size)
            self._done = end
            yield batch
        self._course, self._first, self._done = replace(course, epoch=course.epoch + 1, position=0), 0, 0

    def _group(self, workers: int) -> int:
        """Number of batches to send together: messages between processes are expensive, and few would leave workers idle."""
        batches = len(self)
        if self._transform is not None or workers == 0 or batches < 2:
            return 1
        sample = self._rows.batch(self._course.samples(count=1))
        size = sum(value.nbytes if isinstance(value, torch.Tensor) else _OBJECT for value in sample.values())
        return max(1, min(_MESSAGE // (max(size, 1) * self._batch_size), batches // (8 * workers))) if sample else 1

    def _batch(self, indices: list[int], batch_size: int | None) -> Any:
        if self._transform is None:
            return self._rows.batch(indices, batch_size)
        return torch.utils.data.default_collate([self._transform(self._rows.sample(index)) for index in indices])

    def state_dict(self, batches: int | None = None) -> dict[str, Any]:
        """The state after this many batches of the current iteration, of every rank; by default, after those yielded by this object. An iteration
        is the current one until the next begins, or until ``set_epoch`` or ``load_state_dict``.

        In a worker it is the state of that worker, for as many workers as there are now.
        """
        if batches is None and torch.utils.data.get_worker_info() is not None:
            return {**self._course.state_dict(), "batches": self._done}
        course, first = (self._course, 0) if batches is None else self._begin
        batches = self._done if batches is None else first + batches
        if not batches:
            return course.state_dict()
        least = self._batch_size * course.ranks if self._drop_last else 1
        return course.after(batches * self._batch_size, least).state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continues from a state, which may come from another number of ranks and workers.

        Raises:
            UsageError: the state is that of another number of samples.
        """
        self._move(self._course.load(state), state.get("batches", 0))


class Loader:
    """A ``DataLoader`` of an ``IterableDataset`` that knows how many batches were used. Other arguments are those of ``DataLoader``.

    Each iteration yields the current epoch from the current position on; a complete one moves on to the next epoch. One that is broken off is
    begun again, unless its ``state_dict`` is loaded.
    """

    def __init__(self, dataset: IterableDataset, **arguments: Any) -> None:
        if not arguments.get("in_order", True):
            raise UsageError("in_order: expected True, as a state is a position in the order of the batches")
        self.dataset = dataset
        self._arguments = arguments
        self._loader: Any = None
        self._group = 1
        self._taken = 0
        #: Whether an iteration has begun and not ended.
        self._is_open = False

    def __len__(self) -> int:
        return len(self.dataset)

    def __iter__(self) -> Iterator[Any]:
        size = self.dataset._batch_size
        if self._is_open:
            # Workers that persist read ahead, so that some may be in the next epoch already.
            self._restart()
        self._is_open = True
        if self._loader is None:
            # A collate_fn is for single batches.
            workers = 0 if "collate_fn" in self._arguments else self._arguments.get("num_workers", 0)
            self._group = self.dataset._group(workers)
            arguments = {"collate_fn": _unchanged, **self._arguments}
            self._loader = torch.utils.data.DataLoader(_Groups(self.dataset, self._group), batch_size=None, **arguments)
        epoch = self.dataset.epoch
        self._taken = 0
        for group in self._loader:
            if self._group == 1:
                self._taken += 1
                yield group
                continue
            count = next(len(values) if isinstance(values, Pieces) else -(-len(values) // size) for values in group.values())
            for number in range(count):
                self._taken += 1
                start = number * size
                yield {
                    name: _tensor(values[number]) if isinstance(values, Pieces) else values[start : start + size]
                    for name, values in group.items()
                }
        # Workers have copies of the dataset.
        self.dataset.set_epoch(epoch + 1)
        self._taken, self._is_open = 0, False

    @property
    def epoch(self) -> int:
        """The current epoch."""
        return self.dataset.epoch

    def set_epoch(self, epoch: int) -> None:
        """Begins an epoch."""
        self.dataset.set_epoch(epoch)
        self._restart()

    def state_dict(self) -> dict[str, Any]:
        """The state after the batches that this iteration has yielded; every rank must have taken as many."""
        return self.dataset.state_dict(self._taken)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continues from a state, which may come from another number of ranks and workers."""
        self.dataset.load_state_dict(state)
        self._restart()

    def _restart(self) -> None:
        self._loader, self._taken = None, 0


class _Groups(torch.utils.data.IterableDataset[Any]):
    """Several batches of a dataset at a time."""

    def __init__(self, dataset: IterableDataset, group: int) -> None:
        self._dataset = dataset
        self._group = group

    def __iter__(self) -> Iterator[Any]:
        return self._dataset._groups(self._group)


def _unchanged(batch: Any) -> Any:
    return batch


#: Bytes of a message from a worker that are worth its cost.
_MESSAGE = 4 << 20
#: What a value that is not numeric takes, roughly.
_OBJECT = 256


class _Rows:
    """Samples of a source, which is opened when it is first used."""

    def __init__(self, source: Any, fields: Sequence[str] | None, table: str | None, threads: int) -> None:
        self._source = os.fspath(source) if isinstance(source, os.PathLike) else source
        if isinstance(fields, str):
            raise UsageError(f"fields: expected a list of names, found {fields!r}")
        self._fields = None if fields is None else list(fields)
        self._table = table
        self._threads = threads
        self._opened: Any = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_opened": None}

    @property
    def _open(self) -> Any:
        if self._opened is None:
            source = self._source
            if isinstance(source, str):
                if source.endswith(".msgpack"):
                    source = MsgpackReader(source)
                else:
                    source = _native.open(source).table(self._table)
            self._opened = source
        return self._opened

    def __len__(self) -> int:
        return len(self._open)

    def sample(self, index: int) -> dict[str, Any]:
        """One sample; arrays are its own and may be changed."""
        source = self._open
        if isinstance(source, _native.Table):
            columns = table_columns(source, [index], self._fields)
            sample = {name: values[0] for name, values in columns.items()}
        else:
            sample = source[index]
        if self._fields is not None:
            sample = {name: sample[name] for name in self._fields}
        return {name: value.copy() if hasattr(value, "flags") else value for name, value in sample.items()}

    def batch(self, indices: Sequence[int], batch_size: int | None = None) -> dict[str, Any]:
        """Samples as tensors, lists for fields that are not numeric, and arrays of dates and times.

        With ``batch_size``, the samples are of several batches; columns with nulls are ``Pieces``.
        """
        source, indices = self._open, list(indices)
        if isinstance(source, _native.Table):
            columns = table_columns(source, indices, self._fields, batch_size)
        elif isinstance(source, _native.MsgpackReader):
            collated = _shared if torch.utils.data.get_worker_info() is not None else _collate
            columns = collated(source, indices, self._fields, threads=self._threads)
        else:
            columns = torch.utils.data.default_collate([self.sample(index) for index in indices]) if indices else {}
        for name, values in columns.items():
            columns[name] = _tensor(values)
        return columns


def _tensor(values: Any) -> Any:
    """A tensor, if torch has the dtype of the array."""
    if not hasattr(values, "dtype") or isinstance(values, torch.Tensor):
        return values
    if not values.dtype.isnative:
        values = values.astype(values.dtype.newbyteorder("="))
    if not values.flags.writeable:
        values = values.copy()
    try:
        return torch.from_numpy(values)
    except TypeError:
        return values


class _Segment:
    """Shared memory that a worker uses again and again: a new page costs several times what copying to it does.

    Its last bytes are leases: one of the worker's own tensors, and one for each time that these are sent. The worker takes them, and
    whoever has the tensors returns them. A receiver marks its lease once it has opened the memory, which stays mapped without the worker.
    """

    def __init__(self, size: int) -> None:
        # Sizes vary a little, mostly those of the last batches.
        self.size = max(_ALIGNMENT, 1 << (size - 1).bit_length())
        self.memory, self._file = _shared_memory(self.size + _ALIGNMENT)
        self.bytes = self.memory.numpy()

    def handle(self) -> Any:
        """What another process gets the memory from, by ``_memory_of``: a file that it opens, or else a tensor, which torch sends in a slow way."""
        return self.memory if self._file is None else self._file.handle

    @classmethod
    def take(cls, size: int) -> _Segment:
        """One that is not in use."""
        segment = next((known for known in _SEGMENTS if known.size >= size and not known.bytes[known.size :].any()), None)
        if segment is None:
            segment = cls(size)
            # A segment that was sent and not opened stays, as its path would lead nowhere.
            closable = [known for known in _SEGMENTS if not (known.bytes[known.size :] == _TAKEN).any()]
            for known in closable[: max(len(_SEGMENTS) + 1 - _MOST_SEGMENTS, 0)]:
                _SEGMENTS.remove(known)
            _SEGMENTS.append(segment)
        segment.lease()
        return segment

    def lease(self) -> int:
        """Takes a lease: the place of its byte."""
        free = self.bytes[self.size :] == 0
        if not free.any():
            raise TypeError(f"a batch of a worker can be sent or copied {_ALIGNMENT - 1} times")
        place = self.size + int(free.argmax())
        self.bytes[place] = _TAKEN
        return place


#: Those of this process, which is a worker.
_SEGMENTS: list[_Segment] = []
#: How many are kept, unless more are in use and not opened yet.
_MOST_SEGMENTS = 16
#: Values of a lease that is not free.
_TAKEN, _OPENED = 1, 2


class _MemoryFile:
    """A file in memory, which other processes open by a path while it is open here."""

    def __init__(self, size: int) -> None:
        self._number = os.memfd_create("wharf_data", os.MFD_CLOEXEC)
        os.ftruncate(self._number, size)
        #: The path, what identifies the file, and its size.
        self.handle = (f"/proc/{os.getpid()}/fd/{self._number}", _identity(self._number), size)

    def map(self) -> torch.Tensor:
        return _map(self._number, self.handle[2])

    def __del__(self) -> None:
        if hasattr(self, "_number"):
            os.close(self._number)


def _identity(file: int) -> tuple[int, int]:
    status = os.fstat(file)
    return status.st_dev, status.st_ino


def _map(file: int, size: int) -> torch.Tensor:
    return torch.frombuffer(mmap.mmap(file, size), dtype=torch.uint8)


def _shared_memory(size: int) -> tuple[torch.Tensor, _MemoryFile | None]:
    try:
        # What this process may see of its parent, that may see of this process.
        os.listdir(f"/proc/{os.getppid()}/fd")
        file = _MemoryFile(size)
        return file.map(), file
    except (AttributeError, OSError):  # another system than Linux, or one that hides processes
        storage: Any = torch.UntypedStorage._new_shared(size)  # type: ignore[no-untyped-call]
        return torch.empty(0, dtype=torch.uint8).set_(storage, 0, (size,), (1,)), None


#: Memory of other processes that this one maps, by path and identity of the file, the last used at the end: mapping it anew costs page faults.
_MAPPED: dict[tuple[str, tuple[int, int]], torch.Tensor] = {}
_MAPPED_LOCK = threading.Lock()
#: Bytes that are mapped without being in use.
_MOST_MAPPED = 1 << 28
_GONE = "the shared memory of a batch no longer exists; the worker that made the batch may have ended"


def _memory_of(handle: Any) -> torch.Tensor:
    """The memory of a segment of another process."""
    if isinstance(handle, torch.Tensor):
        return handle
    path, identity, size = handle
    with _MAPPED_LOCK:
        memory = _MAPPED.pop((path, identity), None)
        if memory is None:
            try:
                file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
            except FileNotFoundError:
                raise RuntimeError(_GONE) from None
            try:
                if _identity(file) != identity:
                    raise RuntimeError(_GONE)
                memory = _map(file, size)
            finally:
                os.close(file)
            # That of processes that have ended, and the least recently used.
            for known in [known for known in _MAPPED if not os.path.exists(known[0])]:
                del _MAPPED[known]
            while _MAPPED and size + sum(map(len, _MAPPED.values())) > _MOST_MAPPED:
                del _MAPPED[next(iter(_MAPPED))]
        _MAPPED[path, identity] = memory
        return memory

#: Where arrays are in a segment: the first byte, dtype and shape.
_Parts = dict[str, tuple[int, str, tuple[int, ...]]]


def _tensors(memory: torch.Tensor, parts: _Parts, lease: int) -> dict[str, torch.Tensor]:
    """Tensors in a segment. When the last of them is gone, the lease is returned."""
    import numpy as np

    everything = memory.numpy()
    # All tensors refer to this array, and nothing else does.
    root = np.frombuffer(memoryview(everything), "u1")  # type: ignore[arg-type]
    weakref.finalize(root, _return, everything, lease, os.getpid()).atexit = False
    arrays = {name: np.ndarray(shape, dtype, root, at) for name, (at, dtype, shape) in parts.items()}
    return {name: torch.from_numpy(array) for name, array in arrays.items()}


def _return(segment: Any, lease: int, process: int) -> None:
    # A forked process has tensors of its parent, but not their lease.
    if os.getpid() == process:
        segment[lease] = 0


class _Shared(dict[str, Any]):
    """Columns in a segment, which a worker sends as a whole. The other process gets a plain dict of tensors."""

    def __init__(self, columns: dict[str, Any], segment: _Segment, parts: _Parts) -> None:
        super().__init__(columns)
        self._segment = segment
        self._parts = parts
        self.update(_tensors(segment.memory, parts, segment.size))

    def __reduce__(self) -> tuple[Any, ...]:
        others = {name: None if name in self._parts else values for name, values in self.items()}
        return (_received, (self._segment.handle(), self._parts, others, self._segment.lease()))


def _received(handle: Any, parts: _Parts, others: dict[str, Any], lease: int) -> dict[str, Any]:
    memory = _memory_of(handle)
    memory[lease] = _OPENED
    tensors = _tensors(memory, parts, lease)
    return {name: tensors.get(name, values) for name, values in others.items()}


def _shared(reader: Any, rows: list[int], fields: list[str] | None, threads: int) -> dict[str, Any]:
    """Collates in shared memory."""
    import numpy as np

    segment: Any = None
    places: list[tuple[int, str, tuple[int, ...]] | None] = []

    def allocate(arrays: list[tuple[tuple[int, ...], str]]) -> list[tuple[Any, Any]]:
        nonlocal segment
        size = 0
        for shape, dtype in arrays:
            shareable = np.dtype(dtype).isnative and isinstance(_tensor(np.empty(0, dtype)), torch.Tensor)
            shareable &= 0 not in shape
            places.append((size, dtype, shape) if shareable else None)
            if shareable:
                size += -(-math.prod(shape) * np.dtype(dtype).itemsize // _ALIGNMENT) * _ALIGNMENT
        if size:
            segment = _Segment.take(size)
        return [
            (place, np.ndarray(shape, dtype, segment.bytes, place[0])) if place else (np.empty(shape, dtype),) * 2
            for place, (shape, dtype) in zip(places, arrays, strict=True)
        ]

    try:
        columns = _collate(reader, rows, fields, allocate=allocate, threads=threads)
    except BaseException:
        if segment is not None:
            segment.bytes[segment.size] = 0
        raise
    if segment is None:
        return columns
    # In place of an array in the segment there is where it is.
    return _Shared(columns, segment, {name: place for name, place in columns.items() if isinstance(place, tuple)})


#: Alignment of arrays in shared memory, in bytes.
_ALIGNMENT = 64
