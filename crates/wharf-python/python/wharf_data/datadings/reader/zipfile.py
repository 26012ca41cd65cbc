"""Files in an archive as samples."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatch
from typing import Any

from ._files import LABEL, FilesReader, Found, Patterns, label_of, listed, pattern_list
from .list import _nothing


class ZipFileReader(FilesReader):
    """A sample for each file of a ZIP archive, with its content as ``"data"``. Nothing is extracted to disk.

    The arguments are those of ``DirectoryReader``; patterns separate folders with ``/``. Files have the order of the archive.

    Processes may fork with a reader open, and a reader can be pickled if its functions can: each process opens the archive for itself.

    Raises:
        zipfile.BadZipFile: it is not an archive, or a file in it is damaged.
    """

    _do_not_copy = ("_archive",)

    def __init__(
        self,
        path: str | os.PathLike[str],
        patterns: Patterns = "{LABEL}/**",
        labels: Iterable[Any] | str | os.PathLike[str] | None = None,
        numeric_labels: bool = True,
        initfun: Callable[[dict[str, Any]], object] = _nothing,
        convertfun: Callable[[dict[str, Any]], object] = _nothing,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        separator: str = "\t",
    ) -> None:
        self._path = os.fspath(path)
        files = _found(self._opened(), pattern_list(patterns), separator)
        super().__init__(files, labels, numeric_labels, initfun, convertfun, include, exclude)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in self._do_not_copy}

    def _opened(self) -> zipfile.ZipFile:
        """The archive, opened by this process: a forked one would share the position in the file."""
        process, archive = self.__dict__.get("_archive", (None, None))
        if process != os.getpid():
            archive = zipfile.ZipFile(self._path)
            self._archive = (os.getpid(), archive)
        return archive

    def _read(self, path: str) -> bytes:
        return self._opened().read(path)


def _found(archive: zipfile.ZipFile, patterns: list[str], separator: str) -> Iterator[Found]:
    for pattern in patterns:
        if os.path.isfile(pattern):
            yield from listed(pattern, "", separator)
        else:
            label = label_of(pattern, "/")
            start = pattern.index(LABEL) if LABEL in pattern.split("/") else 0
            for info in archive.infolist():
                if not info.is_dir() and fnmatch(info.filename, pattern.replace(LABEL, "*", 1)):
                    yield Found(info.filename[start:], info.filename, label(info.filename), [])
