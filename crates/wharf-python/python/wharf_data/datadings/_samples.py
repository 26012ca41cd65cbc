"""Fields of many samples as arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .. import _native

#: Makes an array of a shape and a dtype: what is returned for it, and the array to fill.
Allocate = Callable[[tuple[int, ...], str], tuple[Any, Any]]


def collate(
    reader: _native.MsgpackReader,
    rows: tuple[int, int] | list[int],
    fields: Sequence[str] | None,
    *,
    allocate: Allocate | None = None,
    threads: int = 1,
) -> dict[str, Any]:
    """Arrays with a value for each row, and lists for fields that are not numeric.

    The types are those of the first row. ``rows`` is a range ``(start, end)`` or a list.

    Raises:
        InvalidError: a sample lacks a field, or has one of another type or shape; with its ``row`` and ``column``.
    """
    import numpy as np

    count = len(rows) if isinstance(rows, list) else rows[1] - rows[0]
    if not len(reader):
        return {name: np.empty(0) for name in fields or ()}
    result: dict[str, Any] = {}
    columns = []
    for name, dtype, shape in reader._layout(rows[0] if count else 0, None if fields is None else list(fields)):
        if dtype is None or shape is None or not np.dtype(dtype).itemsize:
            result[name] = reader._objects(rows, name)
            continue
        dims = (count, *shape)
        # Nobody else knows the array while it is filled.
        result[name], array = allocate(dims, dtype) if allocate else (np.empty(dims, dtype),) * 2
        columns.append((name, dtype, shape, array.reshape(-1).view(np.uint8)))
    reader._fill(rows, columns, threads)
    return result
