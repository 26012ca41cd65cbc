"""Writers of datasets: data, index and sums, byte for byte as the package ``datadings`` writes them."""

from __future__ import annotations

import os
import sys
from abc import abstractmethod
from pathlib import Path
from types import TracebackType
from typing import Any

from .. import _native
from .tools import query_user
from .tools.msgpack import packb

__all__ = ["FileWriter", "RawWriter", "Writer"]


class Writer:
    """The base class of writers, which are context managers.

    All files appear when the writer is closed, also after an exception: then with the samples written before. A writer that is never closed
    leaves everything as it was. In a forked process ``close`` does nothing, and writing is a ``UsageError``: the parent goes on.

    If the file exists and ``overwrite`` is not set, a user at a terminal is asked. ``disable=True`` leaves out the message at the end.
    ``buffering`` and other keyword arguments, which concern the progress bar of the original, have no effect.

    Raises:
        FileExistsError: the file exists and is not to be overwritten.
        KeyboardInterrupt: the user answered "abort".
    """

    def __init__(self, outfile: str | os.PathLike[str], buffering: int = 0, overwrite: bool = False, **kwargs: Any) -> None:
        self._path = Path(outfile)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        if not overwrite and self._path.exists():
            overwrite = _may_overwrite(self._path)
        self._disable = bool(kwargs.get("disable", False))
        self._native = _native.DatadingsWriter(self._path, overwrite)

    def __enter__(self) -> Any:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        self.close()

    @property
    def written(self) -> int:
        """Number of samples so far."""
        count: int = self._native.written
        return count

    def close(self) -> None:
        """Writes the index and the sums, and puts all files in place."""
        if self._native.close() and not self._disable:
            print(f"{self.written} samples written")

    def _write_data(self, key: str, packed: Any) -> None:
        self._native.write_raw(key, packed)

    def _write(self, key: str, sample: Any) -> None:
        self._write_data(key, packb(sample))

    @abstractmethod
    def write(self, *args: Any) -> None:
        """Writes a sample."""
        raise NotImplementedError


class RawWriter(Writer):
    """Writes encoded samples."""

    def write(self, key: str, data: Any) -> None:
        """Writes a sample, ``bytes`` or another buffer, under a key. Its content is not checked.

        Raises:
            ValueError: the key is a duplicate. Nothing was written.
        """
        self._native.write_raw(key, data)


class FileWriter(Writer):
    """Writes samples: dicts with a unique ``"key"``."""

    def write(self, sample: dict[str, Any]) -> None:
        """Writes a sample.

        Raises:
            KeyError: there is no ``"key"``.
            ValueError: the key is a duplicate.
            TypeError: the key is not a ``str``, or msgpack and numpy have no type for a value. Nothing was written then.
        """
        self._native.write(sample)


def _may_overwrite(path: Path) -> bool:
    """Asks a user; without one the answer is no."""
    answer = query_user(f"{path.name} exists, overwrite?") if sys.stdin is not None and sys.stdin.isatty() else "no"
    if answer == "no":
        raise FileExistsError(path)
    if answer == "abort":
        raise KeyboardInterrupt(path)
    return True
