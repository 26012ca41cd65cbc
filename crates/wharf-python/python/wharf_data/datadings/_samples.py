"""Fields of many samples as arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .. import _native

#: Makes arrays of these shapes and dtypes: what is returned for each, and the array to fill.
Allocate = Callable[[list[tuple[tuple[int, ...], str]]], list[tuple[Any, Any]]]


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
        else:
            result[name] = None
            columns.append((name, dtype, shape))
    # Nobody else knows the arrays while they are filled.
    made = (allocate or _allocate)([((count, *shape), dtype) for _, dtype, shape in columns])
    arrays = []
    for (name, _, _), (returned, array) in zip(columns, made, strict=True):
        result[name] = returned
        arrays.append(array)
    size = sum(array.nbytes for array in arrays) // max(count, 1)
    # Between blocks, signals such as Ctrl-C are handled.
    block = max(1, min(_BLOCK_ROWS, _BLOCK_BYTES // max(size, 1)))
    for start in range(0, count, block):
        end = min(start + block, count)
        part = rows[start:end] if isinstance(rows, list) else (rows[0] + start, rows[0] + end)
        buffers = [
            (*column, array[start:end].reshape(-1).view(np.uint8))
            for column, array in zip(columns, arrays, strict=True)
        ]
        reader._fill(part, buffers, threads)
    return result


#: What is decoded at once: at most some ten milliseconds' work.
_BLOCK_ROWS, _BLOCK_BYTES = 1 << 19, 1 << 26


def _allocate(arrays: list[tuple[tuple[int, ...], str]]) -> list[tuple[Any, Any]]:
    import numpy as np

    return [(array, array) for array in (np.empty(shape, dtype) for shape, dtype in arrays)]
