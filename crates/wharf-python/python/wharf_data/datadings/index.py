"""The files of an index: keys, hashes of keys, a filter, and offsets.

Paths are of the dataset or of the file itself: the suffix is appended if it is missing. A reader needs none of this.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._errors import InvalidError
from ..simplebloom import BloomFilter
from .tools import hash_string, hash_string_bytes, path_append_suffix
from .tools.msgpack import packb, unpackb

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SUFFIX_LEGACY_INDEX = ".index"
SUFFIX_KEYS = ".keys"
SUFFIX_KEY_HASHES = ".key_hashes"
SUFFIX_FILTER = ".filter"
SUFFIX_OFFSETS = ".offsets"

_Path = str | os.PathLike[str]


def keys_len(path: _Path) -> int:
    """The number of samples, from the beginning of ``.keys``."""
    return _header(path_append_suffix(Path(path), SUFFIX_KEYS), 0x90, 0xDC, "an array")


def load_keys(path: _Path) -> list[str]:
    """The keys, from ``.keys``."""
    path = path_append_suffix(Path(path), SUFFIX_KEYS)
    keys = unpackb(path.read_bytes())
    if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
        raise InvalidError(f"{path}: expected an array of texts")
    return keys


def load_key_hashes(path: _Path) -> tuple[bytes, NDArray[np.uint64]]:
    """The salt and the hashes of keys, from ``.key_hashes``."""
    path = path_append_suffix(Path(path), SUFFIX_KEY_HASHES)
    data = path.read_bytes()
    return data[:8], _numbers(path, data[8:])


def load_filter(path: _Path) -> BloomFilter:
    """The Bloom filter, from ``.filter``."""
    return BloomFilter.load(path_append_suffix(Path(path), SUFFIX_FILTER))


def load_offsets(path: _Path) -> NDArray[np.uint64]:
    """The offset of each sample in the dataset, and its size, from ``.offsets``."""
    path = path_append_suffix(Path(path), SUFFIX_OFFSETS)
    return _numbers(path, path.read_bytes())


def legacy_index_len(path: _Path) -> int:
    """The number of samples, from the beginning of a legacy ``.index``."""
    return _header(path_append_suffix(Path(path), SUFFIX_LEGACY_INDEX), 0x80, 0xDE, "a map")


def legacy_load_index(path: _Path) -> tuple[list[str], list[int]]:
    """The keys, and the offsets with the size of the dataset, from a legacy ``.index``."""
    path = Path(path)
    index = path_append_suffix(path, SUFFIX_LEGACY_INDEX)
    offsets = unpackb(index.read_bytes())
    if not isinstance(offsets, dict) or len(offsets) != legacy_index_len(index):
        raise InvalidError(f"{index}: expected a map of different keys")
    dataset = path.with_suffix("") if path == index else path
    return list(offsets), [*offsets.values(), dataset.stat().st_size]


def write_offsets(offsets: Sequence[int], path: _Path) -> Path:
    """Writes ``.offsets``: the offset of each sample, and the size of the dataset. Returns the path."""
    import numpy as np

    return _write(path, SUFFIX_OFFSETS, np.array(offsets, ">u8").tobytes())


def write_keys(keys: Sequence[str], path: _Path) -> Path:
    """Writes ``.keys``. Returns the path."""
    return _write(path, SUFFIX_KEYS, packb(list(keys)))


def hash_keys(keys: Sequence[str], max_tries: int = 1000) -> tuple[bytes, NDArray[np.uint64]]:
    """A salt with which all keys have different hashes, and these hashes.

    Raises:
        RuntimeError: none of ``max_tries`` salts is one.
    """
    import numpy as np

    for attempt in range(max_tries):
        salt = hash_string_bytes(str(attempt))
        hashes = [hash_string(key, salt) for key in keys]
        if len(set(hashes)) == len(hashes):
            return salt, np.array(hashes, ">u8")
    raise RuntimeError(f"keys have equal hashes with each of {max_tries} salts")


def write_key_hashes(keys: Sequence[str], path: _Path) -> Path:
    """Writes ``.key_hashes``. Returns the path."""
    salt, hashes = hash_keys(keys)
    return _write(path, SUFFIX_KEY_HASHES, salt + hashes.tobytes())


def write_filter(keys: Sequence[str], path: _Path) -> Path:
    """Writes ``.filter``. Returns the path."""
    bloom_filter = BloomFilter(max(2, len(keys)))
    bloom_filter.update(keys)
    return _write(path, SUFFIX_FILTER, bloom_filter.dumps())


def _write(path: _Path, suffix: str, data: Any) -> Path:
    """Writes a file: whole, or not at all."""
    path = path_append_suffix(Path(path), suffix)
    part = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        part.write_bytes(data)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    return path


def _numbers(path: Path, data: bytes) -> NDArray[np.uint64]:
    import numpy as np

    if len(data) % 8:
        raise InvalidError(f"{path}: expected numbers of 8 bytes, found {len(data)} bytes")
    return np.frombuffer(data, ">u8").astype(np.uint64)


def _header(path: Path, fix: int, wide: int, what: str) -> int:
    """The length in the header of an array or map of msgpack."""
    with path.open("rb") as file:
        head = file.read(5)
    if head and head[0] & 0xF0 == fix:
        return head[0] & 0x0F
    for marker, size in ((wide, 2), (wide + 1, 4)):
        if len(head) > size and head[0] == marker:
            return int.from_bytes(head[1 : 1 + size], "big")
    raise InvalidError(f"{path}: expected {what} of msgpack at its start")
