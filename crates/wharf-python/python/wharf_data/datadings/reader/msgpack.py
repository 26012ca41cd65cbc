"""The reader of ``.msgpack`` files."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from ... import _native
from .reader import Reader


class MsgpackReader(_native.MsgpackReader, Reader):
    """A dataset in a file: ``reader[7]``, ``for sample in reader``, ``reader.find_index(key)``.

    Besides the data file, ``.offsets`` or the legacy ``.index`` must exist. Without ``.keys``, ``.key_hashes`` or ``.filter`` there is a
    warning, and finding keys takes longer.

    The file is mapped into memory and must not change meanwhile; ``access="positional"`` reads it by position. Arrays in samples are views
    of the mapped file if they are aligned, and keep it alive. ``buffering`` has no effect.

    Threads may share a reader, and processes may fork with one open. A pickled reader opens its file again.

    Raises:
        FileNotFoundError: there is no such file, or no index.
        InvalidError: the index is damaged.
    """

    def __init__(self, path: str | os.PathLike[str], buffering: int = 0, *, access: str = "mapped") -> None:
        # The native class has taken the arguments.
        for part in self._missing:
            if suffix := {"Keys": ".keys", "KeyHashes": ".key_hashes", "Filter": ".filter"}.get(part):
                warnings.warn(f"{path}{suffix} not found, some functionality may not be available", stacklevel=2)

    def __new__(cls, path: str | os.PathLike[str], buffering: int = 0, *, access: str = "mapped") -> MsgpackReader:
        path = Path(path)
        if not path.exists():
            raise FileNotFoundError(f"{path} not found")
        offsets, legacy = (path.with_name(path.name + suffix) for suffix in (".offsets", ".index"))
        if not offsets.exists() and not legacy.exists():
            raise FileNotFoundError(f"need at least one of {offsets}, {legacy} but none found")
        reader: MsgpackReader = super().__new__(cls, path, buffering, access=access)
        return reader

    def __exit__(
        self,
        exc_type: type[BaseException] | None = None,
        exc_val: BaseException | None = None,
        exc_tb: TracebackType | None = None,
    ) -> None:
        self.close()

    def __copy__(self) -> Any:
        return _restore(type(self), self._path, self._access, self._i, self.__dict__)

    def __reduce__(self) -> tuple[Any, ...]:
        return (_restore, (type(self), self._path, self._access, self._i, self.__dict__))

    def columns(
        self,
        names: Sequence[str] | None = None,
        *,
        rows: slice | range | Sequence[int] | None = None,
        threads: int = 0,
    ) -> dict[str, Any]:
        """Fields of many samples: numpy arrays of shape ``(rows, *shape of a value)``, or lists for fields that are not numeric.

        ``names`` are fields, all by default; ``rows`` is a slice or range with step 1, or a list of indexes. Plain numbers become int64,
        float64 and bool. Decodes on all cores, or as many ``threads``.

        >>> reader.columns(["label"], rows=slice(0, 1000))["label"].shape      # doctest: +SKIP
        (1000,)

        Raises:
            InvalidError: a sample lacks a field, or its type or shape is not that of the first row; with ``row`` and ``column``.
            IndexError: a row does not exist.
        """
        from .._samples import collate

        count = len(self)
        if rows is None:
            rows = range(count)
        elif isinstance(rows, slice):
            rows = range(count)[rows]
        if isinstance(rows, range) and rows.step == 1:
            if rows and not 0 <= rows[0] <= rows[-1] < count:
                raise IndexError(f"rows {rows.start}:{rows.stop} out of range for length {count} reader")
            return collate(self, (rows.start, max(rows.start, rows.stop)), names, threads=threads)
        return collate(self, [self._position(index) for index in rows], names, threads=threads)

    def verify_data(self, read_size: int = 512 * 1024, progress: bool = False) -> bool:
        """Whether the data file has the sum in ``.md5``. The arguments have no effect."""
        return self._verify(self._path)

    def verify_index(self, read_size: int = 512 * 1024, progress: bool = False) -> bool:
        """Whether the files of the index (legacy or not) have the sums in ``.md5``. The arguments have no effect."""
        suffixes = (".index", ".offsets", ".keys", ".key_hashes", ".filter")
        paths = [self._path.with_name(self._path.name + suffix) for suffix in suffixes]
        return all([self._verify(path) for path in paths if path.exists()])

    def _verify(self, path: Path) -> bool:
        from ..tools import hash_md5hex, load_md5file

        return hash_md5hex(path) == load_md5file(self._path.with_name(self._path.name + ".md5"))[path.name]


def _restore(cls: Any, path: Path, access: str, position: int, attributes: dict[str, Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reader = cls(path, access=access)
    reader._i = position
    reader.__dict__.update(attributes)
    return reader
