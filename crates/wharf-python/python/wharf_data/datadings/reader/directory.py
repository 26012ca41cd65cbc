"""Files in folders as samples."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ._files import LABEL, FilesReader, Found, Patterns, label_of, listed, pattern_list
from .list import _nothing


class DirectoryReader(FilesReader):
    """A sample for each file, with its content as ``"data"``.

    Each of ``patterns`` is one of:

    * a pattern such as ``"some_dir/{LABEL}/**"``, where ``{LABEL}`` stands for the folder whose name is the label. Files are sorted by path.
    * the path of a text file with the path of a sample on each line, and optionally a label and additional information
      (``"_additional_info"``), separated by ``separator``.

    A file is left out if it matches no pattern of ``include``, given there are any, or one of ``exclude``. ``root_dir`` is the folder of
    relative paths; a list of files must not lead out of it. For the other arguments, see ``ListReader``.

    Raises:
        ValueError: a path leads out of ``root_dir``; two samples have one key; or a sample has no label, and ``labels`` are not given.
    """

    def __init__(
        self,
        patterns: Patterns,
        labels: Iterable[Any] | str | os.PathLike[str] | None = None,
        numeric_labels: bool = True,
        initfun: Callable[[dict[str, Any]], object] = _nothing,
        convertfun: Callable[[dict[str, Any]], object] = _nothing,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        separator: str = "\t",
        root_dir: str | os.PathLike[str] = "",
    ) -> None:
        root_dir = os.fspath(root_dir)
        files = _found(pattern_list(patterns), separator, root_dir)
        super().__init__(files, labels, numeric_labels, initfun, convertfun, include, exclude, root_dir)

    def _read(self, path: str) -> bytes:
        with open(path, "rb") as file:
            return file.read()


def _found(patterns: list[str], separator: str, root_dir: str) -> Iterator[Found]:
    prefix = os.path.commonprefix(patterns) if len(patterns) > 1 else ""
    prefix = prefix.split(LABEL)[0]
    for pattern in patterns:
        if os.path.isfile(pattern):
            for file in listed(pattern, prefix, separator):
                if root_dir and not _is_inside(root_dir, file.path):
                    raise ValueError(f"{pattern}: {file.path!r} leads out of {root_dir!r}")
                yield file
        else:
            yield from _matching(pattern, prefix)


def _matching(pattern: str, prefix: str) -> Iterator[Found]:
    label = label_of(pattern, os.sep)
    if not prefix and LABEL in pattern.split(os.sep):
        prefix = pattern[: pattern.index(LABEL)]
    for path in sorted(glob.iglob(pattern.replace(LABEL, "*", 1), recursive=True)):
        if os.path.isfile(path):
            yield Found(path.removeprefix(prefix), path, label(path), [])


def _is_inside(root: str, path: str) -> bool:
    root = os.path.abspath(root)
    return os.path.commonpath([root, os.path.abspath(os.path.join(root, path))]) == root
