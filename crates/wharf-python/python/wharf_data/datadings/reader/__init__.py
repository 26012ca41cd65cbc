"""Readers, and augments that change the order in which they are iterated."""

from .augment import Cycler, QuasiShuffler, Range, Repeater, Shuffler
from .list import ListReader
from .msgpack import MsgpackReader
from .reader import Reader
from .sharded import ShardedReader

__all__ = [
    "Cycler",
    "ListReader",
    "MsgpackReader",
    "QuasiShuffler",
    "Range",
    "Reader",
    "Repeater",
    "ShardedReader",
    "Shuffler",
]
