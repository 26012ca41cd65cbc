"""Which samples to train on, in which order, on which process: pure functions of seed, epoch, rank and position.

>>> from wharf_data.sampling import Order, BatchSampler
>>> order = Order.sequential(10).shuffled(seed=42)
>>> sorted(order.samples(epoch=3)) == list(range(10))
True
>>> first = BatchSampler(order, batch_size=2, rank=0, ranks=2)
>>> next(iter(first)) == order.samples(rank=0, ranks=2, count=2)
True

Ranks take positions in turn. After each has taken ``k`` samples, exactly the first ``k * ranks`` positions are done; the rest of the epoch
can be divided among any number of ranks and workers. A state (``state_dict()``) therefore consists of the order, the epoch and a position.

Nothing here needs torch or numpy, reads data, or keeps a list of all samples.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sized
from dataclasses import dataclass, replace
from typing import Any

from ._errors import UsageError
from ._native import Order

__all__ = ["BatchSampler", "Course", "Order", "QuasiShuffle", "Sampler", "order_of", "this_rank"]

#: Samples computed at once.
_BLOCK = 65_536


@dataclass(frozen=True)
class QuasiShuffle:
    """Chunks of neighbors in random order, mixed within a buffer: nearly random, and read nearly in sequence."""

    chunk: int = 64
    buffer: int = 16_384


def order_of(data: int | Sized | Order, shuffle: bool | QuasiShuffle = True, seed: int = 0) -> Order:
    """The order of ``data``, a number of samples or anything that has a length; an ``Order`` is returned as it is."""
    if isinstance(data, Order):
        return data
    order = Order.sequential(data if isinstance(data, int) else len(data))
    if isinstance(shuffle, QuasiShuffle):
        return order.quasi_shuffled(seed, shuffle.chunk, shuffle.buffer)
    return order.shuffled(seed) if shuffle else order


def this_rank() -> tuple[int, int]:
    """The rank of this process in the default group of ``torch.distributed``, and the number of ranks; (0, 1) without one."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.distributed.is_available() and torch.distributed.is_initialized():
        return torch.distributed.get_rank(), torch.distributed.get_world_size()
    return 0, 1


@dataclass(frozen=True)
class Course:
    """What one rank does in an epoch from a position on."""

    order: Order
    epoch: int = 0
    position: int = 0
    rank: int = 0
    ranks: int = 1

    def __len__(self) -> int:
        """Number of samples."""
        count: int = self.order.share_len(self.epoch, self.position, rank=self.rank, ranks=self.ranks)
        return count

    def samples(self, skip: int = 0, count: int = sys.maxsize) -> list[int]:
        """The samples without the first ``skip``, at most ``count``."""
        share = {"rank": self.rank, "ranks": self.ranks, "skip": skip, "count": count}
        found: list[int] = self.order.samples(self.epoch, self.position, **share)
        return found

    def batches(self, batch_size: int, drop_last: bool = False) -> int:
        """Number of batches. With ``drop_last`` all are whole, and all ranks have equally many."""
        if drop_last:
            return max(len(self.order) - self.position, 0) // (batch_size * self.ranks)
        return -(-len(self) // batch_size)

    def after(self, samples: int, least: int = 1) -> Course:
        """The course that remains after every rank has taken this many samples.

        The next epoch follows if fewer than ``least`` positions are left.
        """
        position = self.position + samples * self.ranks
        if position + least > len(self.order):
            return replace(self, epoch=self.epoch + 1, position=0)
        return replace(self, position=position)

    def state_dict(self) -> dict[str, Any]:
        """Order, epoch and position, as ``str`` and ``int``."""
        return {"order": self.order.to_json(), "epoch": self.epoch, "position": self.position}

    def load(self, state: dict[str, Any]) -> Course:
        """The course of a state, for the rank of this one.

        Raises:
            UsageError: the state is that of another number of samples.
        """
        order = Order.from_json(state["order"])
        if len(order) != len(self.order):
            raise UsageError(f"the state is that of {len(order)} samples, but there are {len(self.order)}")
        return replace(self, order=order, epoch=state["epoch"], position=state["position"])


class Sampler:
    """The samples of this rank, one by one: a ``sampler`` of ``torch.utils.data.DataLoader``.

    ``data`` is a number of samples, a dataset, or an ``Order``. Each iteration yields the current epoch from the current position on; a
    complete one moves on to the next epoch. ``rank`` and ``ranks`` are those of ``torch.distributed`` by default.

    A loader asks for samples before they are used. Tell ``state_dict`` how many were used. An iteration is the current one until the next begins,
    or until ``set_epoch`` or ``load_state_dict``.
    """

    _size = 1
    _drop_last = False

    def __init__(
        self,
        data: int | Sized | Order,
        *,
        shuffle: bool | QuasiShuffle = True,
        seed: int = 0,
        epoch: int = 0,
        rank: int | None = None,
        ranks: int | None = None,
    ) -> None:
        here = this_rank()
        self.course = Course(
            order_of(data, shuffle, seed),
            epoch,
            rank=here[0] if rank is None else rank,
            ranks=here[1] if ranks is None else ranks,
        )
        #: Where the current iteration began. A loader that reads ahead may have reached the end, and so the next epoch.
        self._begin = self.course
        self._taken = 0

    @property
    def epoch(self) -> int:
        """The current epoch."""
        return self.course.epoch

    def set_epoch(self, epoch: int) -> None:
        """Begins an epoch."""
        self._move(replace(self.course, epoch=epoch, position=0))

    def _move(self, course: Course) -> None:
        self.course = self._begin = course
        self._taken = 0

    def __len__(self) -> int:
        return len(self.course)

    def __iter__(self) -> Iterator[Any]:
        self._move(self.course)
        return self._items_from_here()

    def _items_from_here(self) -> Iterator[Any]:
        # Again: a state may have been loaded before the first item.
        self._move(self.course)
        course = self.course
        for item in self._items(course):
            self._taken += 1
            yield item
        self.course = replace(course, epoch=course.epoch + 1, position=0)
        self._taken = 0

    def _items(self, course: Course) -> Iterator[Any]:
        for skip in range(0, len(course), _BLOCK):
            yield from course.samples(skip, _BLOCK)

    def state_dict(self, taken: int | None = None) -> dict[str, Any]:
        """The state after ``taken`` samples (of a batch sampler: batches) of the current iteration; by default, after those yielded so far.

        Every rank must have taken as many.
        """
        course, taken = (self.course, self._taken) if taken is None else (self._begin, taken)
        least = self._size * course.ranks if self._drop_last else 1
        return (course.after(taken * self._size, least) if taken else course).state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continues from a state, which may come from another number of ranks and workers."""
        self._move(self.course.load(state))


class BatchSampler(Sampler):
    """Batches of this rank: a ``batch_sampler`` of ``torch.utils.data.DataLoader``. See ``Sampler``.

    With ``drop_last`` all batches are whole and all ranks have equally many, as collective operations need.
    """

    def __init__(
        self, data: int | Sized | Order, batch_size: int, *, drop_last: bool = False, **arguments: Any
    ) -> None:
        if batch_size < 1:
            raise UsageError(f"batch_size: expected at least 1, found {batch_size}")
        super().__init__(data, **arguments)
        self.batch_size = self._size = batch_size
        self.drop_last = self._drop_last = drop_last

    def __len__(self) -> int:
        return self.course.batches(self._size, self._drop_last)

    def _items(self, course: Course) -> Iterator[list[int]]:
        for number in range(course.batches(self._size, self._drop_last)):
            yield course.samples(number * self._size, self._size)
