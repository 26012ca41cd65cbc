"""Opens, checks, queries, writes and converts dataset containers.

>>> import wharf_data
>>> table = wharf_data.open("adult.idv").table()        # doctest: +SKIP
>>> table.to_arrow()                                    # doctest: +SKIP

The formats: IDV of ML.NET, datadings, ds, ZDS, NetCDF, Parquet, Arrow IPC, CSV, TSV, JSON lines. ``formats()`` lists them.
"""

from __future__ import annotations

import math
import os
import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from . import _native
from ._errors import (
    CancelledError,
    Error,
    InvalidError,
    IoError,
    LimitError,
    LossWarning,
    NotFoundError,
    TruncatedError,
    UnsupportedError,
    UsageError,
)
from ._native import Batches, Container, RecordBatch, Rows, Table, formats, options
from ._native import __version__ as __version__

if TYPE_CHECKING:
    from typing import TypedDict

    #: A part along a dimension: an index, a slice, or a list of indices.
    Indexes = int | slice | Sequence[int]
    #: From and to, both included; ``None`` is no bound.
    Between = tuple[Any, Any] | slice

    class Loss(TypedDict):
        """Values of one kind that could not be kept. A ``count`` of 0 is a note, not a loss."""

        what: str
        count: int
        path: str | None
        row: int | None
        column: str | None

    class Report(TypedDict):
        """What was written."""

        path: str
        format: str
        rows: int
        variables: int
        bytes: int
        losses: list[Loss]

    class ColumnDifference(TypedDict):
        """What differs in a column: ``missing``, ``type``, ``nullable``, ``metadata`` or ``order``. A note does not make inputs differ."""

        column: str
        what: str
        values: list[str | None]
        note: bool

    class ColumnCount(TypedDict):
        """In how many rows a column has other values."""

        column: str
        rows: int

    class ValueDifference(TypedDict):
        """A value that differs, or, without a column, a row that only one input has."""

        rows: list[int | None]
        key: Any
        column: str | None
        values: list[Any]

    class Differences(TypedDict):
        """How two inputs differ; pairs are those of the first and the other input."""

        same: bool
        rows: list[int]
        only: list[int]
        differing_rows: int
        columns: list[ColumnDifference]
        counts: list[ColumnCount]
        first: list[ValueDifference]


__all__ = [
    "Batches",
    "CancelledError",
    "Container",
    "Error",
    "InvalidError",
    "IoError",
    "LimitError",
    "LossWarning",
    "NotFoundError",
    "RecordBatch",
    "Rows",
    "Table",
    "TruncatedError",
    "UnsupportedError",
    "UsageError",
    "convert",
    "diff",
    "formats",
    "open",
    "options",
    "write",
]

_Path = str | os.PathLike[str]


def open(
    source: Any,
    *,
    access: str = "mapped",
    sel: Mapping[str, Indexes] | None = None,
    at: Mapping[str, Any] | None = None,
    between: Mapping[str, Between] | None = None,
    tolerance: Any = None,
    tidy: bool | Sequence[str] = False,
    packed: bool = False,
    time: Literal["iso", "jd"] | None = None,
) -> Container:
    """Opens a file, a folder, ``bytes``, or a binary file object of any supported format.

    A path of a file is mapped into memory. Nothing may change or truncate it while it is open, or what was read from it is alive; for files
    that do change, ``access="positional"`` reads them by position. A file object must be able to seek; files of fsspec are read by ranges.

    The other arguments select a part of the variables of ds and NetCDF, as ``Container.select`` does:

    >>> wharf_data.open("climate.nc", between={"time": ("2000-01", "2000-03"), "lon": (-10, 20)}, tidy=["t2m"])  # doctest: +SKIP

    Raises:
        NotFoundError: there is no such file.
        UnsupportedError: no format recognizes the content or the name.
        InvalidError: the file violates its format.
        UsageError: nothing is selected, or the file has no variables.
    """
    container = _native.open(source, access=access)
    part = _part(sel, at, between, tolerance, tidy, packed, time)
    return container.select(**part) if part else container


def _part(
    sel: Mapping[str, Any] | None,
    at: Mapping[str, Any] | None,
    between: Mapping[str, Any] | None,
    tolerance: Any,
    tidy: bool | Sequence[str],
    packed: bool,
    time: str | None,
) -> dict[str, Any]:
    """The arguments that select something."""
    part = {
        "sel": dict(sel) if sel else None,
        "at": dict(at) if at else None,
        "between": dict(between) if between else None,
        "tolerance": dict(tolerance) if isinstance(tolerance, Mapping) else tolerance,
        "tidy": tidy if isinstance(tidy, bool) else list(tidy),
        "packed": packed,
        "time": time,
    }
    return {name: value for name, value in part.items() if value is not None and value is not False}


def convert(
    inputs: _Path | Container | Sequence[_Path | Container],
    output: _Path,
    *,
    to: str | None = None,
    overwrite: bool = False,
    columns: Iterable[str] | None = None,
    where: str | None = None,
    rows: tuple[int, int | None] | None = None,
    table: str | None = None,
    sel: Mapping[str, Indexes] | None = None,
    at: Mapping[str, Any] | None = None,
    between: Mapping[str, Between] | None = None,
    tolerance: Any = None,
    tidy: bool | Sequence[str] = False,
    packed: bool = False,
    time: Literal["iso", "jd"] | None = None,
    **options: Any,
) -> Report:
    """Converts files to one file of any format, which its extension or ``to`` selects. The rows of several inputs follow one another.

    ``columns``, ``where`` (a condition in SQL syntax, such as ``"age > 30"``) and ``rows`` (first, end; counted from 0, of those for which the
    condition holds) select what is converted, ``table`` the table of a file with several. ``sel``, ``at``, ``between``, ``tolerance``, ``tidy``,
    ``packed`` and ``time`` select a part of the variables of ds and NetCDF, as ``Container.select`` does.

    ``options()`` lists the other keyword arguments: those of ``wharf convert`` with ``_`` for ``-``. Among them are changes of columns, which apply
    in this order: ``rename={"old": "new"}``, ``drop=["name"]``, ``cast={"name": "float32"}``, ``floats="single"``, ``expand=["vector"]``,
    ``concat={"Features": ["a", "b"]}``; ``columns`` has the names that they leave. ``union=True`` joins inputs with different columns. The output is
    there whole, or not at all.

    >>> wharf_data.convert("climate.nc", "europe.parquet", between={"lat": (35, 70), "lon": (-10, 40)}, tidy=True)  # doctest: +SKIP

    Returns:
        Path, format, rows (0 if variables of ds or NetCDF were copied), variables (of ds and NetCDF), bytes, and losses: values that the
        output could not keep. Losses are warnings, too.

    Raises:
        UsageError: the output exists and ``overwrite`` is not set; an option is unknown or does not belong to the format.
        InvalidError: an input is damaged, or a value does not fit.
    """
    if isinstance(inputs, (str, os.PathLike, Container)):
        inputs = [inputs]
    report: Report = _native.convert(
        list(inputs),
        os.fspath(output),
        to=to,
        overwrite=overwrite,
        columns=None if columns is None else list(columns),
        where=where,
        rows=rows,
        table=table,
        part=_part(sel, at, between, tolerance, tidy, packed, time),
        options=options,
    )
    return _warned(report)


def diff(
    one: _Path | Container | Table,
    other: _Path | Container | Table,
    *,
    key: str | None = None,
    tolerance: float = 0.0,
    relative: float = 0.0,
    exact: bool = False,
    types: bool = False,
    show: int = 10,
    columns: Iterable[str] | None = None,
    where: str | None = None,
    rows: tuple[int, int | None] | None = None,
    table: str | None = None,
) -> Differences:
    """Compares the columns and rows of two inputs of any formats, as ``wharf diff`` does.

    Columns are compared by name; values by their meaning: the same texts, numbers, times and lists are equal whatever their types. Rows are
    compared by position, or those with the same value in the column ``key``. Floats are equal if they differ by at most ``tolerance``, or by
    ``relative`` times the larger one. ``exact`` tells 0 from -0; with ``types`` other types are a difference, too. ``show`` is the maximum number
    of values in ``first``. ``columns``, ``where``, ``rows`` and ``table`` select what is compared, as in ``convert()``.

    >>> wharf_data.diff("adult.idv", "adult.parquet")["same"]  # doctest: +SKIP
    True

    Raises:
        UsageError: a column is unknown; a key is null, or occurs twice.
    """
    found: Differences = _native.diff(
        one,
        other,
        key=key,
        tolerance=tolerance,
        relative=relative,
        exact=exact,
        types=types,
        show=show,
        columns=None if columns is None else list(columns),
        where=where,
        rows=rows,
        table=table,
    )
    return found


def write(
    data: Any,
    output: _Path,
    *,
    to: str | None = None,
    overwrite: bool = False,
    **options: Any,
) -> Report:
    """Writes data to a file of any format, which its extension or ``to`` selects.

    ``data`` is one of:

    * anything with ``__arrow_c_stream__``: tables of pyarrow, polars, DuckDB, pandas 3, or a ``Table`` of this package;
    * a dict from column names to sequences or numpy arrays, whose masked elements become nulls (needs pyarrow);
    * an iterable of dicts, one for each row (needs pyarrow).

    The types of columns are those of the first 65,536 rows; a later value that they do not hold is an error, and so is a date among times, or a
    time without zone among those with one.

    Keyword arguments, result and exceptions are those of ``convert()``; exceptions of an iterable are passed on.
    """
    failures: list[BaseException] = []
    if not (hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__")):
        data = _as_stream(data, failures)
    try:
        report = _native.write(data, os.fspath(output), to=to, overwrite=overwrite, options=options)
    except Exception:
        if failures:
            # Of an exception in the rows, a stream keeps the text alone.
            raise failures[0] from None
        raise
    return _warned(report)


#: Rows of a batch that is made from an iterable.
_BATCH_ROWS = 65_536


def _as_stream(data: Any, failures: list[BaseException]) -> Any:
    try:
        import pyarrow as pa
    except ImportError:
        raise UsageError(
            "dicts and rows are written by way of pyarrow, which is not installed: pip install wharf-data[pyarrow]"
        ) from None
    if isinstance(data, Mapping):
        return pa.table({name: _column(pa, values, name) for name, values in data.items()})
    if not isinstance(data, Iterable):
        raise TypeError(
            f"expected an object with __arrow_c_stream__, a dict of columns, or an iterable of dicts, found {type(data).__name__}"
        )
    return _rows_stream(pa, iter(data), failures)


def _column(pa: Any, values: Any, name: str = "") -> Any:
    """A column; an array with several dimensions becomes a column of tensors."""
    if isinstance(values, (pa.Array, pa.ChunkedArray)):
        return values
    if getattr(values, "ndim", 1) > 1 or _is_ndarray(values):
        return _of_numpy(pa, values, name)
    return _inferred(pa, values, name)


def _is_ndarray(value: Any) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.ndarray)


def _of_numpy(pa: Any, values: Any, name: str) -> Any:
    """A column of an array, whose masked elements are null."""
    import numpy as np

    values = np.asanyarray(values)
    mask = np.ma.getmaskarray(values) if np.ma.is_masked(values) else None
    data = np.ma.getdata(values)
    data = data if data.dtype.isnative else data.astype(data.dtype.newbyteorder("="))
    try:
        if data.ndim == 1:
            return pa.array(data, mask=mask)
        if mask is None:
            # Few formats have tensors with another order of dimensions in memory.
            return pa.FixedShapeTensorArray.from_numpy_ndarray(np.ascontiguousarray(data))
        elements = pa.array(data.reshape(-1), mask=mask.reshape(-1))
        shape = data.shape[1:]
        storage = pa.FixedSizeListArray.from_arrays(elements, math.prod(shape))
        return pa.ExtensionArray.from_storage(pa.fixed_shape_tensor(elements.type, shape), storage)
    except (pa.ArrowException, ValueError) as error:
        raise UsageError(f"column {name!r}: cannot write an array of dtype {data.dtype} and shape {data.shape}: {error}") from None


def _inferred(pa: Any, values: Any, name: str) -> Any:
    """An array of the type that pyarrow infers, which turns times among dates into dates, and times with a zone into times without one."""
    array = _array(pa, values)
    if isinstance(values, (list, tuple)) and pa.types.is_nested(array.type):
        for row, value in enumerate(values):
            if _is_masked(pa, value, array.type):
                raise UsageError(f"column {name!r}: expected an array without missing elements, found a masked array (row {row})")
    if isinstance(values, (list, tuple)) and _has_times(pa, array.type):
        for row, value in enumerate(values):
            if not _is_time_of(pa, value, array.type):
                raise _misfit(name, array.type, value, row)
    return array


def _array(pa: Any, values: Any) -> Any:
    """``pa.array(values)``, also of arrays in the other byte order."""
    try:
        return pa.array(values)
    except pa.ArrowNotImplementedError:
        return pa.array(_native_arrays(values))


def _native_arrays(value: Any) -> Any:
    """The value with all arrays in the byte order of this machine."""
    if isinstance(value, Mapping):
        return {name: _native_arrays(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_native_arrays(item) for item in value]
    if _is_ndarray(value) and not value.dtype.isnative:
        return value.astype(value.dtype.newbyteorder("="))
    return value


def _is_masked(pa: Any, value: Any, type_: Any) -> bool:
    """Whether a value of a nested type is or contains an array with masked elements, of which pyarrow takes the data."""
    if isinstance(value, Mapping) and pa.types.is_struct(type_):
        return any(_is_masked(pa, value.get(field.name), field.type) for field in type_ if pa.types.is_nested(field.type))
    if not pa.types.is_list(type_):
        return False
    if _is_ndarray(value) and sys.modules["numpy"].ma.is_masked(value):
        return True
    has_items = isinstance(value, (list, tuple)) or _is_ndarray(value)
    return has_items and pa.types.is_nested(type_.value_type) and any(_is_masked(pa, item, type_.value_type) for item in value)


def _has_times(pa: Any, type_: Any) -> bool:
    if pa.types.is_date(type_) or pa.types.is_timestamp(type_):
        return True
    return any(_has_times(pa, type_.field(number).type) for number in range(type_.num_fields))


def _is_time_of(pa: Any, value: Any, type_: Any) -> bool:
    """False if a time is in the place of a date, or has a zone where the others have none, or none where they have one."""
    if isinstance(value, datetime) and value == value:  # not NaT
        if pa.types.is_timestamp(type_):
            return (value.tzinfo is None) == (type_.tz is None)
        return not pa.types.is_date(type_)
    if isinstance(value, Mapping) and pa.types.is_struct(type_):
        return all(_is_time_of(pa, value.get(field.name), field.type) for field in type_)
    if isinstance(value, (list, tuple)) and pa.types.is_list(type_):
        return all(_is_time_of(pa, item, type_.value_type) for item in value)
    return True


def _misfit(name: str, type_: Any, value: Any, row: int) -> UsageError:
    found = repr(value)
    found = found if len(found) <= 100 else found[:97] + "..."
    return UsageError(f"column {name!r}: expected a value of type {type_}, as in the first rows, found {found} (row {row})")


def _converted(pa: Any, values: list[Any], type_: Any) -> Any:
    """An array of this type. Unlike ``pa.array(values, type_)``, which truncates and leaves out, this is exact.

    Raises:
        TypeError, ValueError: a value has another kind, or the type does not hold it.
    """
    array = _array(pa, values)
    if pa.types.is_nested(array.type) and any(_is_masked(pa, value, array.type) for value in values):
        raise TypeError("expected an array without missing elements, found a masked array")
    if array.type == type_ and not _has_times(pa, type_):
        return array
    if not _is_kind_of(pa, array.type, type_) or not all(_is_time_of(pa, value, type_) for value in values):
        raise TypeError(f"expected {type_}, found {array.type}")
    return array.cast(type_)


def _is_kind_of(pa: Any, found: Any, type_: Any) -> bool:
    """Whether values of a type are cast to another one without a change of what they mean; the cast checks ranges."""
    is_a = pa.types
    if found == type_ or is_a.is_null(found):
        return True
    if is_a.is_floating(found):
        # A cast to integers checks fractions, one to shorter floats does not.
        return bool(is_a.is_integer(type_) or is_a.is_floating(type_) and found.bit_width <= type_.bit_width)
    if is_a.is_integer(found):
        return bool(is_a.is_integer(type_) or is_a.is_floating(type_) or is_a.is_decimal(type_))
    if is_a.is_list(found) and is_a.is_list(type_):
        return _is_kind_of(pa, found.value_type, type_.value_type)
    if is_a.is_struct(found) and is_a.is_struct(type_):
        known = {field.name: field.type for field in type_}
        return all(field.name in known and _is_kind_of(pa, field.type, known[field.name]) for field in found)
    if is_a.is_string(found):
        return bool(is_a.is_binary(type_))
    same = (is_a.is_timestamp, is_a.is_duration, is_a.is_time, is_a.is_decimal)
    return any(kind(found) and kind(type_) for kind in same)


def _rows_stream(pa: Any, rows: Any, failures: list[BaseException]) -> Any:
    from itertools import islice

    first = list(islice(rows, _BATCH_ROWS))
    if not first:
        raise UsageError("there are no rows, so that columns and types are not known: write a table with a schema")
    # `Table.from_pylist` leaves out what the first row lacks.
    names = dict.fromkeys(name for row in first for name in row)
    table = pa.table({name: _inferred(pa, [row.get(name) for row in first], name) for name in names})

    def column(name: str, type_: Any, chunk: list[Any], number: int) -> Any:
        values = [row.get(name) for row in chunk]
        try:
            return _converted(pa, values, type_)
        except (TypeError, ValueError, ArithmeticError, NotImplementedError):
            for row, value in enumerate(values, number):
                try:
                    _converted(pa, [value], type_)
                except (TypeError, ValueError, ArithmeticError, NotImplementedError):
                    raise _misfit(name, type_, value, row) from None
            raise

    def batches() -> Any:
        try:
            yield from all_batches()
        except Exception as error:
            failures.append(error)
            raise

    def all_batches() -> Any:
        yield from table.to_batches()
        number = len(first)
        while chunk := list(islice(rows, _BATCH_ROWS)):
            for row, values in enumerate(chunk, number):
                unknown = values.keys() - set(table.schema.names)
                if unknown:
                    raise UsageError(
                        f"row {row} has the column {sorted(unknown)[0]!r}, which the first {_BATCH_ROWS} rows do not have"
                    )
            arrays = [column(field.name, field.type, chunk, number) for field in table.schema]
            yield pa.RecordBatch.from_arrays(arrays, schema=table.schema)
            number += len(chunk)

    return pa.RecordBatchReader.from_batches(table.schema, batches())


def _warned(report: Report) -> Report:
    for loss in report["losses"]:
        if loss["count"] > 0:
            times = "" if loss["count"] == 1 else f" ({loss['count']} times)"
            warnings.warn(f"{report['path']}: {loss['what']}{times}", LossWarning, stacklevel=3)
    return report
