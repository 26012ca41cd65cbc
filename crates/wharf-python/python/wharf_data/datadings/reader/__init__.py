"""Readers, and augments that change the order in which they are iterated."""

from .augment import Cycler, QuasiShuffler, Range, Repeater, Shuffler
from .directory import DirectoryReader
from .list import ListReader
from .msgpack import MsgpackReader
from .reader import Reader
from .sharded import ShardedReader
from .zipfile import ZipFileReader

__all__ = [
    "Cycler",
    "DirectoryReader",
    "ListReader",
    "MsgpackReader",
    "QuasiShuffler",
    "Range",
    "Reader",
    "Repeater",
    "ShardedReader",
    "Shuffler",
    "ZipFileReader",
]
