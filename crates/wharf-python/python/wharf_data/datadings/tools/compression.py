"""Compressed files."""

from __future__ import annotations

import gzip
import lzma
import os
from typing import IO, Any


def open_comp(path: str | os.PathLike[str], mode: str = "rb", level: int | None = None, encoding: str | None = None) -> IO[Any]:
    """Opens a file: ``.gz``, ``.xz``, or one that is not compressed. ``level`` is that of the compression, for writing."""
    path = os.fspath(path)
    opened: Any
    if path.endswith(".gz"):
        opened = gzip.open(path, mode, 9 if level is None else level, encoding)
    elif path.endswith(".xz"):
        opened = lzma.open(path, mode, preset=level, encoding=encoding)
    else:
        opened = open(path, mode, encoding=encoding)
    return opened
