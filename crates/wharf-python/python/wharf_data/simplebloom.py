"""Bloom filters in files of the package ``simplebloom``: an independent implementation with the same names, answers and bytes.

>>> bf = BloomFilter(1000, 0.01)
>>> bf += "one"
>>> bf.update(["two", "three"])
>>> "two" in bf, "four" in bf
(True, False)
>>> BloomFilter.loads(bf.dumps()).contains(["one", "four"])
array([ True, False])

Beyond the original:

* ``update`` and ``contains`` take many keys at once, and let other threads run meanwhile;
* keys may be ``bytes`` as well as ``str``;
* filters can be pickled and copied.

Differences: a key of another type is a ``TypeError``; ``num_elements`` and ``false_positive_prob`` are read-only; a file that is too short, too
long or inconsistent is refused with ``wharf_data.InvalidError``, a ``ValueError``, where the original loads it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeGuard

from . import _native

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    class _Readable(Protocol):
        def read(self) -> bytes: ...

    class _Writable(Protocol):
        def write(self, data: Any, /) -> object: ...


__all__ = ["BloomFilter"]

_Path = str | os.PathLike[str]

#: Bytes of a numpy array that are copied at once, where keys are not contiguous.
_BLOCK_BYTES = 4 << 20


class BloomFilter(_native.BloomFilterBase):
    """A set of keys with false positives but no false negatives, of a fixed size.

    Parameters:
        num_elements: the number of keys to size it for, at least 2
        false_positive_prob: their false positive probability, between 0 and 1; by default ``1 / num_elements``

    Raises:
        ValueError: a parameter is out of range.
        MemoryError: the filter is too large.

    >>> bf = BloomFilter(100, false_positive_prob=0.1)
    >>> bf.num_elements, bf.false_positive_prob, len(bf)
    (100, 0.1, 60)
    >>> bf += "key"
    >>> "key" in bf
    True

    Several threads may use one filter.
    """

    def __init__(self, num_elements: int, false_positive_prob: float | None = None) -> None:
        if num_elements < 2:
            raise ValueError(f"num_elements must be at least 2, found {num_elements}")
        if false_positive_prob is None:
            false_positive_prob = 1 / num_elements
        if not 0 < false_positive_prob < 1:
            raise ValueError(f"false_positive_prob must be in (0, 1), found {false_positive_prob}")
        self._allocate(num_elements, false_positive_prob)

    def update(self, keys: Iterable[str | bytes] | Any) -> None:
        """Inserts many keys.

        ``keys`` is one of:

        * an iterable of ``str`` and ``bytes``;
        * a numpy array of strings, of any shape (dtype ``U``, ``S``, ``T`` or ``object``);
        * an array of Arrow: anything with ``__arrow_c_array__`` or ``__arrow_c_stream__`` whose values are strings or bytes, as those of pyarrow
          and polars, and series of pandas 3.

        Hashing runs on all cores, detached from the interpreter. Keys before an invalid one may have been inserted.

        Raises:
            TypeError: a key is neither ``str`` nor ``bytes``, or ``keys`` is one key.
            ValueError: a key is null, masked, or not valid Unicode; or the array is not of strings.

        >>> bf = BloomFilter(1000)
        >>> bf.update(f"key {i}" for i in range(500))
        >>> import numpy as np
        >>> bf.update(np.array(["another", "yet another"]))
        >>> "key 7" in bf, "another" in bf
        (True, True)
        """
        _refuse_masked(keys)
        if _is_arrow(keys):
            self._insert_arrow(keys)
        elif _is_fixed(keys):
            self._insert_fixed(_blocks(keys), keys.itemsize, keys.dtype.kind == "U")
        else:
            self._insert_objects(_objects(keys))

    def contains(self, keys: Iterable[str | bytes] | Any) -> NDArray[np.bool_]:
        """Looks up many keys, given as in ``update``.

        Returns:
            An array of ``bool``, true where the filter contains the key. It has the shape of ``keys`` if that is a numpy array, else one
            dimension.

        Raises:
            TypeError, ValueError: as ``update``.

        >>> bf = BloomFilter(1000)
        >>> bf.update(["a", "b"])
        >>> bf.contains(["b", "c", "a"])
        array([ True, False,  True])
        """
        import numpy as np

        _refuse_masked(keys)
        if _is_arrow(keys):
            found = self._contains_arrow(keys)
        elif _is_fixed(keys):
            found = self._contains_fixed(_blocks(keys), keys.itemsize, keys.dtype.kind == "U")
        else:
            found = self._contains_objects(_objects(keys))
        result: NDArray[np.bool_] = np.frombuffer(found, dtype=np.bool_)
        return result.reshape(keys.shape) if isinstance(keys, np.ndarray) else result

    @classmethod
    def load(cls, fp: _Path | _Readable) -> Self:
        """Loads a filter from a path or a binary file.

        Raises:
            OSError: reading failed.
            ValueError: it is not a filter.
        """
        if isinstance(fp, (str, os.PathLike)):
            with open(fp, "rb") as file:
                return cls.loads(file.read())
        return cls.loads(fp.read())

    @classmethod
    def loads(cls, data: bytes | bytearray | memoryview) -> Self:
        """Loads a filter from the content of a file.

        >>> bf = BloomFilter(10)
        >>> bf += "key"
        >>> "key" in BloomFilter.loads(bf.dumps())
        True

        Raises:
            ValueError: it is not a filter.
        """
        bloom_filter = cls.__new__(cls)
        bloom_filter._load(data if isinstance(data, bytes) else bytes(memoryview(data)))
        return bloom_filter

    def dump(self, fp: _Path | _Writable) -> None:
        """Writes the filter to a path or a binary file.

        Raises:
            OSError: writing failed.
        """
        if isinstance(fp, (str, os.PathLike)):
            with open(fp, "wb") as file:
                file.write(self.dumps())
        else:
            fp.write(self.dumps())

    def __getstate__(self) -> tuple[bytearray, dict[str, Any]]:
        return self.dumps(), self.__dict__

    def __setstate__(self, state: tuple[bytearray, dict[str, Any]]) -> None:
        data, attributes = state
        self._load(bytes(data))
        self.__dict__.update(attributes)


def _is_arrow(keys: Any) -> bool:
    return hasattr(keys, "__arrow_c_array__") or hasattr(keys, "__arrow_c_stream__")


def _is_fixed(keys: Any) -> TypeGuard[Any]:
    """Whether it is a numpy array of strings with a fixed width."""
    # Without importing numpy.
    return getattr(getattr(keys, "dtype", None), "kind", "") in ("U", "S") and hasattr(keys, "tobytes") and keys.itemsize > 0


def _refuse_masked(keys: Any) -> None:
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(keys, numpy.ndarray) and numpy.ma.is_masked(keys):
        number = int(numpy.argmax(numpy.ma.getmaskarray(keys)))
        raise ValueError(f"expected a key, found a masked element (row {number})")


def _blocks(keys: Any) -> Iterator[Any]:
    """The keys of a numpy array as contiguous arrays in native byte order: itself, or copies of its parts."""
    if keys.flags.c_contiguous and keys.dtype.isnative:
        yield keys.reshape(-1)
        return
    flat = keys.reshape(-1)
    rows = max(1, _BLOCK_BYTES // keys.itemsize)
    for start in range(0, len(flat), rows):
        block = flat[start : start + rows]
        yield block.astype(block.dtype.newbyteorder("="), order="C")


def _objects(keys: Any) -> Iterable[Any]:
    if isinstance(keys, (str, bytes, bytearray)):
        raise TypeError(f"expected many keys, found one ({type(keys).__name__}): use += or in")
    if hasattr(keys, "dtype") and hasattr(keys, "reshape"):
        flat: list[Any] = keys.reshape(-1).tolist()
        return flat
    iterable: Iterable[Any] = keys
    return iterable
