"""What the data sources for Spark, Ray and torch share: files split into ranges of rows, plain Arrow types, and folders that are written at once."""

from __future__ import annotations

import glob
import os
import re
import shutil
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from . import open as _open
from ._errors import UsageError, make


@dataclass(frozen=True)
class Part:
    """Rows ``start..stop`` of a file."""

    path: str
    start: int
    stop: int


def expand(paths: str | Iterable[str]) -> list[str]:
    """The files that paths and glob patterns name. A folder with a file ``_SUCCESS`` stands for its other files.

    Raises:
        NotFoundError: nothing matches a path, or the folders have no files.
        UsageError: a path is a URL other than ``file:``.
    """
    paths = [paths] if isinstance(paths, str) else list(paths)
    found: list[str] = []
    for path in map(local, paths):
        matches = [path] if os.path.exists(path) else sorted(glob.glob(path, recursive=True))
        if not matches:
            raise make(f"{path}: no such file", kind="io", errno=2, path=path)
        for match in matches:
            if os.path.exists(os.path.join(match, "_SUCCESS")):
                names = sorted(name for name in os.listdir(match) if not name.startswith(("_", ".")))
                found += [os.path.join(match, name) for name in names]
            else:
                found.append(match)
    if not found:
        raise make(f"{', '.join(paths)}: no files", kind="io", errno=2)
    return found


def local(path: str) -> str:
    """A path without ``file:``.

    Raises:
        UsageError: it is another URL.
    """
    path = re.sub("^file:(//(localhost)?(?=/)|(?=/[^/]))", "", path)
    # One letter is a drive of Windows.
    if re.match("[A-Za-z][A-Za-z0-9+.-]+:/", path):
        raise UsageError(f"{path}: expected a local path, found a URL")
    return path


def split(paths: Iterable[str], table: str | None, rows_per_part: int) -> list[Part]:
    """Ranges of about equally many rows, at most ``rows_per_part``. An empty file has none."""
    parts = []
    for path in paths:
        rows = len(_open(path).table(table))
        count = -(-rows // max(rows_per_part, 1))
        bounds = [rows * number // max(count, 1) for number in range(count + 1)]
        parts += [Part(path, start, stop) for start, stop in zip(bounds, bounds[1:])]
    return parts


def batches(part: Part, table: str | None, columns: list[str] | None, batch_rows: int | None = None) -> Iterator[Any]:
    """The record batches of a part, of pyarrow."""
    import pyarrow as pa

    opened = _open(part.path).table(table)
    for batch in opened.to_batches(columns, rows=(part.start, part.stop), batch_rows=batch_rows):
        yield pa.record_batch(batch)


def nested(values: Any, shape: list[int], rows: int, valid: Any, *, fixed: bool) -> Any:
    """Flat values as nested lists, of fixed size or not, that share them. ``valid`` is an array of booleans, or ``None``."""
    import numpy as np
    import pyarrow as pa

    counts = [rows]
    for n in shape[:-1]:
        counts.append(counts[-1] * n)
    array = values.slice(0, counts[-1] * shape[-1])
    for level in range(len(shape) - 1, -1, -1):
        mask = pa.array(~valid.to_numpy(zero_copy_only=False)) if level == 0 and valid is not None else None
        n = shape[level]
        if fixed:
            array = pa.FixedSizeListArray.from_arrays(array, n, mask=mask)
            continue
        offsets = np.arange(counts[level] + 1, dtype=np.int64) * n
        if offsets[-1] > np.iinfo(np.int32).max:
            raise ValueError(f"a chunk of {rows} tensors of shape {shape} has too many values: read it in smaller batches")
        array = pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), array, mask=mask)
    return array


def tensor_values(array: Any) -> tuple[Any, list[int], Any]:
    """Flat values in C order, shape, and validity of a ``pyarrow.FixedShapeTensorArray``."""
    import numpy as np
    import pyarrow as pa

    storage, shape, axes = array.storage, list(array.type.shape), array.type.permutation
    size = storage.type.list_size
    values = storage.values.slice(storage.offset * size, len(array) * size)
    if axes is not None and list(axes) != sorted(axes):
        # Memory has other dimensions than the tensor.
        places = np.arange(len(values)).reshape(len(array), *shape).transpose(0, *(axis + 1 for axis in axes))
        values = values.take(pa.array(places.reshape(-1)))
        shape = [shape[axis] for axis in axes]
    return values, shape, storage.is_valid() if storage.null_count else None


def plain(array: Any, type_: Any) -> Any:
    """An array of a plain type of Arrow; tensors become nested lists."""
    import pyarrow as pa

    if isinstance(array.type, pa.FixedShapeTensorType):
        values, shape, valid = tensor_values(array)
        array = nested(values, shape, len(array), valid, fixed=False)
    elif isinstance(array.type, pa.BaseExtensionType):
        array = array.storage
    if array.type == type_:
        return array
    if isinstance(array.type, pa.DictionaryType):
        array = array.dictionary_decode()
    # Times lose what is below a microsecond; others that do not fit are errors.
    array = array.cast(_in_microseconds(array.type, ("ns",)), safe=False)
    return array.cast(_in_microseconds(array.type, ("s", "ms"))).cast(type_)


def _in_microseconds(type_: Any, units: Sequence[str]) -> Any:
    """The type with microseconds in place of other units of time, also in lists and structs."""
    import pyarrow as pa

    types = pa.types
    if types.is_struct(type_):
        return pa.struct([field.with_type(_in_microseconds(field.type, units)) for field in type_])
    if types.is_list(type_) or types.is_large_list(type_) or types.is_fixed_size_list(type_):
        items = type_.value_field.with_type(_in_microseconds(type_.value_type, units))
        if types.is_large_list(type_):
            return pa.large_list(items)
        return pa.list_(items, type_.list_size if types.is_fixed_size_list(type_) else -1)
    if not (types.is_time(type_) or types.is_timestamp(type_) or types.is_duration(type_)) or type_.unit not in units:
        return type_
    if types.is_timestamp(type_):
        return pa.timestamp("us", type_.tz)
    return pa.time64("us") if types.is_time(type_) else pa.duration("us")


class Pieces(list[Any]):
    """The values of a column for each of several batches: arrays, and lists where there are nulls."""


def table_columns(table: Any, indices: Sequence[int], fields: list[str] | None, batch_size: int | None = None) -> dict[str, Any]:
    """Rows of a table as numpy arrays, and lists where there are nulls or no numbers. Neighbors are read together. Negative indices count from
    the end. With ``batch_size`` the rows are of several batches, and columns with nulls are ``Pieces`` for these.

    Raises:
        IndexError: there is no such row.
    """
    import pyarrow as pa

    # Counting the rows may take reading a whole file.
    if any(index < 0 for index in indices):
        count = _checked_len(table, indices)
        indices = [index % count for index in indices]
    wanted = sorted(set(indices))
    if not wanted:
        none = pa.table(table.to_batches(fields, rows=(0, 0)))
        return {name: column_values(none.column(name)) for name in none.column_names}
    parts, start = [], 0
    for end in range(1, len(wanted) + 1):
        if end == len(wanted) or wanted[end] != wanted[end - 1] + 1:
            rows = (wanted[start], wanted[end - 1] + 1)
            try:
                parts.append(pa.table(table.to_batches(fields, rows=rows, threads=1)))
            except UsageError:
                _checked_len(table, indices)
                raise
            start = end
    if sum(part.num_rows for part in parts) < len(wanted):
        _checked_len(table, indices)
    place = {index: at for at, index in enumerate(wanted)}
    found = pa.concat_tables(parts).combine_chunks().take(pa.array([place[index] for index in indices], pa.int64()))
    return {name: _column_or_pieces(found.column(name), batch_size) for name in found.column_names}


def _column_or_pieces(column: Any, batch_size: int | None) -> Any:
    values = column_values(column)
    # Without rows there are no nulls: a list means another type than numbers.
    if batch_size is None or not isinstance(values, list) or isinstance(column_values(column.slice(0, 0)), list):
        return values
    return Pieces(column_values(column.slice(start, batch_size)) for start in range(0, len(column), batch_size))


def _checked_len(table: Any, indices: Sequence[int]) -> int:
    count = len(table)
    for index in indices:
        if not -count <= index < count:
            raise IndexError(f"row {index} is out of range: the table has {count} rows")
    return count


def column_values(column: Any) -> Any:
    """A column as a numpy array, or as a list if there are nulls or no numbers. Tensors with missing elements are nested lists."""
    import pyarrow as pa

    column = column.combine_chunks()
    if isinstance(column, pa.ChunkedArray):
        column = column.chunk(0) if column.num_chunks else pa.array([], column.type)
    if column.type == pa.time64("ns"):
        # datetime.time has microseconds.
        column = column.cast(pa.int64()).cast(pa.duration("ns"))
    if isinstance(column, pa.FixedShapeTensorArray):
        values, shape, valid = tensor_values(column)
        if values.null_count or valid is not None:
            return nested(values, shape, len(column), valid, fixed=False).to_pylist()
        return values.to_numpy(zero_copy_only=False).reshape(len(column), *shape)
    if column.null_count:
        return column.to_pylist()
    if pa.types.is_fixed_size_list(column.type) and pa.types.is_primitive(column.type.value_type):
        values = column.flatten()
        if not values.null_count:
            return values.to_numpy(zero_copy_only=False).reshape(len(column), column.type.list_size)
    if pa.types.is_primitive(column.type):
        return column.to_numpy(zero_copy_only=False)
    return column.to_pylist()


@dataclass
class Written:
    """A file of a folder that is being written."""

    name: str
    rows: int
    losses: list[Any] = field(default_factory=list)


class Folder:
    """A folder that takes files, which appear together: files of a new folder at once, those of an existing one one after the other.

    Pickles, for the processes that write the files.
    """

    def __init__(self, path: str, to: str, options: dict[str, Any]) -> None:
        self.path = os.path.abspath(local(path))
        self.to, self.options = to, options
        self.is_new = not os.path.exists(self.path)
        hidden = f".wharf-{uuid.uuid4().hex}"
        self.stage = os.path.join(os.path.dirname(self.path) if self.is_new else self.path, hidden)

    def write(self, number: int, batches: Iterable[Any], schema: Any = None) -> Written | None:
        """Writes a file; ``None`` without batches and without a schema, which is that of the first batch by default."""
        import pyarrow as pa

        import wharf_data._native as _native

        from . import formats

        remaining = iter(batches)
        if schema is None:
            first = next(remaining, None)
            if first is None:
                return None
            schema, remaining = first.schema, chain([first], remaining)
        rows = 0

        def counted() -> Iterator[Any]:
            nonlocal rows
            for batch in remaining:
                rows += batch.num_rows
                yield batch

        known = {entry["name"]: entry["extensions"][0] for entry in formats()["write"]}
        if self.to not in known:
            raise UsageError(f"unknown format {self.to!r} (known: {', '.join(known)})")
        os.makedirs(self.stage, exist_ok=True)
        name = f"part-{number:05}-{uuid.uuid4().hex}.{known[self.to]}"
        reader = pa.RecordBatchReader.from_batches(schema, counted())
        report = _native.write(reader, os.path.join(self.stage, name), to=self.to, overwrite=False, options=self.options)
        return Written(name, rows, report["losses"])

    def commit(self, written: Iterable[Written | None], *, overwrite: bool, schema: Any = None) -> list[Any]:
        """Moves the files into place; with ``overwrite`` removes those that were there. Returns the losses.

        Without any file, one without rows is written if there is a schema, so that the folder can be read.
        """
        files = [one for one in written if one is not None]
        if not files and schema is not None and (overwrite or self.is_new):
            files += filter(None, [self.write(0, [], schema)])
        os.makedirs(self.stage, exist_ok=True)
        wanted = {one.name for one in files}
        for name in os.listdir(self.stage):
            if name not in wanted:  # of an attempt that was repeated
                _remove(os.path.join(self.stage, name))
        open(os.path.join(self.stage, "_SUCCESS"), "wb").close()
        if self.is_new and not os.path.exists(self.path):
            os.rename(self.stage, self.path)
        else:
            before = [name for name in os.listdir(self.path) if not name.startswith(".")] if overwrite else []
            # The marker last: a folder that was empty is complete with it.
            for name in [*sorted(wanted), "_SUCCESS"]:
                os.replace(os.path.join(self.stage, name), os.path.join(self.path, name))
            for name in before:
                if name != "_SUCCESS":
                    _remove(os.path.join(self.path, name))
            os.rmdir(self.stage)
        return [loss for one in files for loss in one.losses]

    def abort(self) -> None:
        """Removes what was written."""
        shutil.rmtree(self.stage, ignore_errors=True)


def _remove(path: str) -> None:
    """Removes a file, a link, or a folder with its content, such as a ZDS store or the partitions of a column."""
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    else:
        os.remove(path)
