"""Tools that the original package has in these places.

Left out: downloads and what needs them (``download_if_not_found``, ``prepare_indir``, ...), progress bars (``make_printer``: use ``tqdm``),
``tiff_to_nd_array`` (use ``tifffile``), ``yield_process``, which depends on forking, and the modules ``argparse`` and ``matlab``.
"""

from __future__ import annotations

import hashlib
import inspect
import os
import queue
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from ..._errors import InvalidError

__all__ = [
    "document_keys",
    "hash_md5hex",
    "hash_string",
    "hash_string_bytes",
    "load_md5file",
    "locate_files",
    "path_append",
    "path_append_suffix",
    "print_over",
    "query_user",
    "split_array",
    "verify_file",
    "verify_files",
    "yield_threaded",
]

_T = TypeVar("_T")
_Files = Mapping[str, Mapping[str, Any]]


def print_over(*args: Any, **kwargs: Any) -> None:
    """Prints over the current line of a terminal. The arguments are those of ``print``."""
    end = kwargs.pop("end", "\n")
    flush = kwargs.pop("flush", False)
    kwargs["end"] = ""
    print("\r", *args, **kwargs)
    print("\033[K", end=end, file=kwargs.get("file"))
    if flush:
        (kwargs.get("file") or sys.stdout).flush()


def path_append(path: Path, string: str) -> Path:
    """The path with a text at the end of its name."""
    return path.with_name(path.name + string)


def path_append_suffix(path: Path, suffix: str) -> Path:
    """The path with this suffix at the end of its name, unless that is its suffix.

    >>> path_append_suffix(Path("some.file"), ".file").name, path_append_suffix(Path("some.file"), ".txt").name
    ('some.file', 'some.file.txt')
    """
    return path if path.suffix == suffix else path_append(path, suffix)


def hash_md5hex(path: str | os.PathLike[str], read_size: int = 64 * 1024, progress: bool = False) -> str:
    """The MD5 sum of a file. The other arguments have no effect."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "md5").hexdigest()


def load_md5file(path: str | os.PathLike[str]) -> dict[str, str]:
    """The sums in a file of ``md5sum``, by name.

    Raises:
        InvalidError: it is no such file.
    """
    sums = {}
    for line in Path(path).read_text("utf-8", "surrogateescape").splitlines():
        digest, found, name = line.strip().partition("  ")
        if not found:
            raise InvalidError(f"{path}: expected a sum, two spaces and a name, found {line!r}")
        sums[name] = digest
    return sums


def hash_string_bytes(s: str, salt: bytes = b"") -> bytes:
    """The first 8 bytes of the BLAKE2s sum of a text, with a salt of at most 8 bytes.

    >>> hash_string_bytes("key").hex()
    '557eb63353d68c62'
    """
    return hashlib.blake2s(s.encode(), salt=salt).digest()[:8]


def hash_string(s: str, salt: bytes = b"") -> int:
    """As ``hash_string_bytes``, as an integer in big-endian order."""
    return int.from_bytes(hash_string_bytes(s, salt), "big")


def locate_files(files: _Files, indir: str | os.PathLike[str]) -> dict[str, dict[str, Any]]:
    """The descriptions of files, with their ``"path"`` in a folder.

    Raises:
        ValueError: a path leads out of the folder.
    """
    return {name: dict(meta, path=_inside(indir, meta["path"])) for name, meta in files.items()}


def verify_file(meta: Mapping[str, Any], indir: str | os.PathLike[str]) -> None:
    """Checks the sum ``"md5"`` of the file ``"path"`` in a folder.

    Raises:
        InvalidError: the sum differs.
    """
    path = _inside(indir, meta["path"])
    if (found := hash_md5hex(path)) != meta["md5"]:
        raise InvalidError(f"{path}: expected the MD5 sum {meta['md5']}, found {found}")


def verify_files(files: _Files, indir: str | os.PathLike[str]) -> None:
    """Checks the sums of files, as ``verify_file`` does."""
    for meta in files.values():
        verify_file(meta, indir)


def _inside(folder: str | os.PathLike[str], path: str | os.PathLike[str]) -> str:
    root = os.path.abspath(folder)
    if os.path.commonpath([root, os.path.abspath(os.path.join(root, path))]) != root:
        raise ValueError(f"{os.fspath(path)!r} leads out of {os.fspath(folder)!r}")
    return os.path.join(folder, path)


def split_array(img: Any, v_pixels: int, h_pixels: int, indices: Sequence[int] = (1, 2)) -> Iterator[Any]:
    """The tiles of an image, from the left to the right and then downwards. ``indices`` are the vertical and the horizontal axis.

    >>> import numpy as np
    >>> [tile.tolist() for tile in split_array(np.arange(6).reshape(1, 2, 3), 2, 2)]
    [[[[0, 1], [3, 4]]], [[[2], [5]]]]
    """
    vertical, horizontal = indices
    for top in range(0, img.shape[vertical], v_pixels):
        for left in range(0, img.shape[horizontal], h_pixels):
            part = [slice(None)] * img.ndim
            part[vertical] = slice(top, top + v_pixels)
            part[horizontal] = slice(left, left + h_pixels)
            yield img[tuple(part)].copy()


def yield_threaded(gen: Iterable[_T]) -> Iterator[_T]:
    """The items of an iterable that another thread goes through, at most 3 ahead.

    Raises:
        RuntimeError: the iterable raised an exception, which is its cause.
    """
    items: queue.Queue[tuple[bool, Any]] = queue.Queue(maxsize=3)
    stopped = threading.Event()

    def put(item: tuple[bool, Any]) -> bool:
        while not stopped.is_set():
            try:
                items.put(item, timeout=0.1)
            except queue.Full:
                continue
            return True
        return False

    def run() -> None:
        try:
            for item in gen:
                if not put((True, item)):
                    return
            put((False, None))
        except BaseException as error:
            put((False, error))

    threading.Thread(target=run, daemon=True).start()
    try:
        while True:
            is_item, item = items.get()
            if is_item:
                yield item
            elif item is None:
                return
            else:
                raise RuntimeError(f"{type(item).__name__} in another thread: {item}") from item
    finally:
        stopped.set()


def query_user(question: str, default: str | None = "yes", answers: Sequence[str] = ("yes", "no", "abort")) -> str:
    """Asks the user at the terminal. The beginning of an answer is enough, and nothing is the default.

    Raises:
        ValueError: the default is no answer.
    """
    if default is not None and default not in answers:
        raise ValueError(f"invalid default answer: {default!r}")
    choices = "/".join(answer[0].upper() if answer == default else answer[0] for answer in answers)
    while True:
        typed = input(f"{question} [{choices}/?] ").lower()
        # Of two answers with one beginning, the last counts.
        matching = [answer for answer in answers if typed and answer.startswith(typed)]
        if matching:
            return matching[-1]
        if not typed and default is not None:
            return default
        print("You can choose", ", ".join(answers), flush=True)


def document_keys(
    typefun: Callable[..., Mapping[str, Any]],
    block: str = "Important:",
    prefix: str = "Samples have the following keys:",
    postfix: str = "",
) -> str:
    """A part of a docstring that lists the keys of samples that a function of ``wharf_data.datadings.sets.types`` makes."""
    sample = typefun(*(1 for _ in inspect.signature(typefun).parameters))
    keys = "\n    - ".join(f'``"{key}"``' for key in sample)
    return f"{block}\n    {prefix}\n\n    - {keys}\n{postfix}"
