"""Opens, checks, queries, writes and converts dataset containers.

>>> import wharf_data
>>> table = wharf_data.open("adult.idv").table()        # doctest: +SKIP
>>> table.to_arrow()                                    # doctest: +SKIP

The formats: IDV of ML.NET, datadings, ds, ZDS, NetCDF, Parquet, Arrow IPC, CSV, TSV, JSON lines. ``formats()`` lists them.
"""

from __future__ import annotations

import io
import math
import os
import sys
import warnings
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from itertools import accumulate, chain, islice
from operator import is_not
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
    make,
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

    Formats that are known by their names, such as CSV, need a path.

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
    container = _native.open(_binary(source), access=access)
    part = _part(sel, at, between, tolerance, tidy, packed, time)
    return container.select(**part) if part else container


def _binary(source: Any) -> Any:
    """The source, whose method ``seek`` returns the position.

    Raises:
        TypeError: the source is a text file.
    """
    if isinstance(source, io.TextIOBase) or hasattr(source, "read") and isinstance(getattr(source, "encoding", None), str):
        raise TypeError("expected a path, bytes, or a binary file that can seek, found a text file: open it with mode 'rb'")
    mmap = sys.modules.get("mmap")
    return _MappedFile(source) if mmap is not None and isinstance(source, mmap.mmap) else source


class _MappedFile:
    """An ``mmap.mmap``, whose method ``seek`` returns ``None`` before Python 3.13."""

    name = "<mmap>"

    def __init__(self, file: Any) -> None:
        self._file = file
        self.read = file.read

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._file.seek(offset, whence)
        position: int = self._file.tell()
        return position


def _names(option: str, names: Any) -> list[str]:
    """The names of an iterable of names.

    Raises:
        UsageError: it is something else, such as one name.
    """
    found = None if isinstance(names, (str, bytes)) or not isinstance(names, Iterable) else list(names)
    if found is None or not all(isinstance(name, str) for name in found):
        raise UsageError(f"{option} must be a list of names, found {_shown(names if found is None else found)}")
    return found


def _options(options: dict[str, Any]) -> dict[str, Any]:
    """Options as texts, numbers, paths, and lists or dicts of these.

    Raises:
        UsageError: a value has another type.
    """
    return {name: _option(name, value) for name, value in options.items()}


def _option(name: str, value: Any) -> Any:
    if value is None or isinstance(value, (str, int, float, os.PathLike)):
        return value
    if isinstance(value, Mapping):
        return {key: value[key] if isinstance(value[key], str) else _names(name, value[key]) for key in _names(name, value)}
    if hasattr(value, "tolist") and not isinstance(value, memoryview):  # an array or a number of numpy
        return _option(name, value.tolist())
    if isinstance(value, Iterable) and not isinstance(value, (bytes, bytearray, memoryview)):
        items = list(value)
        if all(isinstance(item, (str, int, float, os.PathLike)) for item in items):
            return items
        value = items
    raise UsageError(f"{name} must be a text, a number, a path, or a list or dict of these, found {_shown(value)}")


def _inputs(inputs: Any) -> list[Any]:
    """Paths and containers.

    Raises:
        UsageError: an input is something else.
    """
    if isinstance(inputs, (str, os.PathLike, Container)):
        return [inputs]
    found = []
    for item in inputs if isinstance(inputs, Iterable) and not isinstance(inputs, (bytes, Table)) else [inputs]:
        if not isinstance(item, (str, os.PathLike, Container)):
            raise UsageError(f"expected a path, a Container, or a list of these, found {type(item).__name__}")
        found.append(item)
    return found


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
        "tidy": tidy if isinstance(tidy, bool) else _names("tidy", tidy),
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
    report: Report = _native.convert(
        _inputs(inputs),
        os.fspath(output),
        to=to,
        overwrite=overwrite,
        columns=None if columns is None else _names("columns", columns),
        where=where,
        rows=rows,
        table=table,
        part=_part(sel, at, between, tolerance, tidy, packed, time),
        options=_options(options),
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
        columns=None if columns is None else _names("columns", columns),
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
    * a dict from column names to sequences, numpy arrays, or Series of pandas or polars (needs pyarrow);
    * an iterable of dicts, one for each row (needs pyarrow).

    The types of columns are those of the first 65,536 rows; a later value that they do not hold is an error, and so is a date among times, a
    time without zone among those with one, or a boolean among numbers.

    ``None``, masked elements, ``NaT``, and ``NA`` of pandas become nulls. NaN stays NaN, except in a pandas Series that has no numbers. A pandas
    DataFrame itself exports NaN as null.

    Keyword arguments, result and exceptions are those of ``convert()``; exceptions of an iterable are passed on.
    """
    failures: list[BaseException] = []
    if not (hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__")):
        data = _as_stream(data, failures)
    _check_names(data)
    try:
        report: Report = _native.write(data, os.fspath(output), to=to, overwrite=overwrite, options=_options(options))
    except Exception:
        if not failures:
            raise
    if failures:
        # Of an exception in the rows, a stream keeps the text alone.
        raise failures[0]
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
        return _table(pa, {name: _column(pa, values, name) for name, values in data.items()})
    if not isinstance(data, Iterable):
        raise TypeError(
            f"expected an object with __arrow_c_stream__, a dict of columns, or an iterable of dicts, found {type(data).__name__}"
        )
    return _rows_stream(pa, iter(data), failures)


def _table(pa: Any, columns: dict[Any, Any]) -> Any:
    """A table of columns, whose names and lengths are checked."""
    for name, column in columns.items():
        if not isinstance(name, str):
            raise UsageError(f"expected a column name of type str, found {name!r}")
        first, expected = next((first, len(values)) for first, values in columns.items())
        if len(column) != expected:
            raise make(
                f"column {name!r}: expected {expected} values, as in column {first!r}, found {len(column)}",
                kind="usage",
                column=name,
            )
    return pa.table(columns)


def _check_names(data: Any) -> None:
    """Refuses names with NUL, at which the C interface of Arrow ends a name.

    Raises:
        UsageError: a column, or a field in it, has such a name.
    """
    pa = sys.modules.get("pyarrow")
    schema = getattr(data, "schema", None)
    if pa is not None and isinstance(schema, pa.Schema):
        names = [(field.name, name) for field in schema for name in _field_names(field)]
    else:
        # Of pandas and polars.
        names = [(name, name) for name in getattr(data, "columns", ()) if isinstance(name, str)]
    for column, name in names:
        if "\0" in name:
            raise make(f"column {column!r}: expected a name without NUL, found {name!r}", kind="usage", column=column)


def _field_names(field: Any) -> Iterator[str]:
    yield field.name
    for number in range(field.type.num_fields):
        yield from _field_names(field.type.field(number))


def _column(pa: Any, values: Any, name: str = "") -> Any:
    """A column; an array with several dimensions becomes a column of tensors."""
    pandas = sys.modules.get("pandas")
    if isinstance(values, (pa.Array, pa.ChunkedArray)):
        return values
    try:
        if pandas is not None and isinstance(values, (pandas.Series, pandas.Index, pandas.api.extensions.ExtensionArray)):
            if values.dtype == object:
                return _of_objects(pa, values.tolist(), name)
            if _is_numpy(values.dtype, "dtype"):
                return _of_numpy(pa, values.to_numpy(), name)
            return pa.array(values, from_pandas=False)
        if hasattr(values, "__arrow_c_stream__"):
            return pa.chunked_array(values)
        if hasattr(values, "__arrow_array__") or hasattr(values, "__arrow_c_array__"):
            return pa.array(values)
        if hasattr(values, "__array__") or hasattr(values, "ndim"):
            return _of_numpy(pa, values, name)
    except UsageError:
        raise
    except _failures(pa) as error:
        raise make(f"column {name!r}: cannot write {type(values).__name__}: {error}", kind="usage", column=name) from None
    if isinstance(values, (str, bytes, bytearray, Mapping)) or not isinstance(values, Iterable):
        raise make(f"column {name!r}: expected a sequence or an array, found {_shown(values)}", kind="usage", column=name)
    return _inferred(pa, values if isinstance(values, list) else list(values), name)


def _failures(pa: Any) -> tuple[type[Exception], ...]:
    """What pyarrow and numpy raise for values that they cannot convert."""
    return (pa.ArrowException, TypeError, ValueError, ArithmeticError, RuntimeError, AttributeError)


def _of_objects(pa: Any, values: list[Any], name: str) -> Any:
    """A column of a pandas Series of objects. NaN is a missing value, except among numbers."""
    try:
        return _inferred(pa, values, name)
    except UsageError:
        filled = [None if isinstance(value, float) and value != value else value for value in values]
        if filled.count(None) == values.count(None):
            raise
    return _inferred(pa, filled, name)


def _is_numpy(value: Any, kind: str) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, getattr(numpy, kind))


def _is_ndarray(value: Any) -> bool:
    return _is_numpy(value, "ndarray")


def _of_numpy(pa: Any, values: Any, name: str) -> Any:
    """A column of an array, whose masked elements are null."""
    import numpy as np

    values = np.asanyarray(values)
    mask = np.ma.getmaskarray(values) if np.ma.is_masked(values) else None
    data = np.asarray(np.ma.getdata(values))
    try:
        data = _plain_array(data)
        # pyarrow infers the type of objects without a check, and ends text at NUL.
        as_list = data.dtype.kind == "O" or data.dtype.kind in "US" and _has_inner_nul(data)
        if data.ndim > 1 and mask is None and not as_list:
            # Few formats have tensors with another order of dimensions in memory.
            return pa.FixedShapeTensorArray.from_numpy_ndarray(np.ascontiguousarray(data))
        if data.ndim == 0:
            raise ValueError("expected at least one dimension")
        flat = data.reshape(-1)
        flat_mask = None if mask is None else mask.reshape(-1)
        if as_list:
            elements = _inferred(pa, values.reshape(-1).tolist(), name)
        else:
            elements = pa.array(flat, mask=flat_mask)
        if data.ndim == 1:
            return elements
        shape = data.shape[1:]
        storage = pa.FixedSizeListArray.from_arrays(elements, math.prod(shape))
        return pa.ExtensionArray.from_storage(pa.fixed_shape_tensor(elements.type, shape), storage)
    except UsageError:
        raise
    except _failures(pa) as error:
        raise make(
            f"column {name!r}: cannot write an array of dtype {data.dtype} and shape {data.shape}: {error}",
            kind="usage",
            column=name,
        ) from None


def _has_inner_nul(data: Any) -> bool:
    """Whether texts of numpy have NUL before their end, which is padded with NUL."""
    import numpy as np

    width = "u4" if data.dtype.kind == "U" else "u1"
    units = np.ascontiguousarray(data).reshape(-1).view(width)
    return bool(np.char.str_len(data).sum() != np.count_nonzero(units))


def _plain_array(data: Any) -> Any:
    """An array in the byte order of this machine, whose times count single units; pyarrow reads 5 of ``M8[10s]`` as 5 seconds.

    Raises:
        OverflowError: the plain unit does not hold a time.
    """
    import numpy as np

    if not data.dtype.isnative:
        data = data.astype(data.dtype.newbyteorder("="))
    if data.dtype.kind not in "Mm":
        return data
    unit, count = np.datetime_data(data.dtype)
    plain = data if count == 1 else data.astype(f"{data.dtype.kind}8[{unit}]")
    is_kept = count == 1 or (np.isnat(data) | (plain.astype(data.dtype) == data)).all()
    if unit == "D" and data.size:
        # pyarrow has 32 bits for days.
        days = plain.view("i8")
        low, high = days.min(), days.max()
        if low < -(2**31):  # perhaps NaT
            low = days[~np.isnat(plain)].min(initial=0)
        is_kept &= -(2**31) <= low and high < 2**31
    if not is_kept:
        raise OverflowError("a time is out of range")
    return plain


def _inferred(pa: Any, values: list[Any], name: str) -> Any:
    """An array of the type that pyarrow infers, in nanoseconds if a time of pandas has them.

    Raises:
        UsageError: pyarrow does not take a value, or changes its meaning: a time among dates becomes a date, a boolean among numbers a number.
    """

    def fails(row: int) -> bool:
        try:
            _array(pa, values[: row + 1])
        except _failures(pa):
            return True
        return False

    try:
        array, values = _array(pa, values)
    except _failures(pa) as error:
        row = bisect_left(range(len(values) - 1), True, key=fails)
        message = f"column {name!r}: cannot write {_shown(values[row])}: {error} (row {row})"
        raise make(message, kind="usage", column=name, row=row) from None
    if pa.types.is_nested(array.type):
        for row, value in enumerate(values):
            if _is_masked(pa, value, array.type):
                message = f"column {name!r}: expected an array without missing elements, found a masked array (row {row})"
                raise make(message, kind="usage", column=name, row=row)
    misfit = _misfit_row(pa, values, array, array.type)
    if misfit is None:
        return array
    exact_type = _in_nanoseconds(pa, array.type)
    if exact_type != array.type:
        try:
            exact = pa.array(values, exact_type)
            if _misfit_row(pa, values, exact, exact_type) is None:
                return exact
        except _failures(pa):
            pass  # Nanoseconds do not hold all times.
    raise _misfit(name, array.type, values[misfit], misfit)


def _in_nanoseconds(pa: Any, type_: Any) -> Any:
    """The type with nanoseconds in place of microseconds, also in lists and structs."""
    if pa.types.is_struct(type_):
        return pa.struct([field.with_type(_in_nanoseconds(pa, field.type)) for field in type_])
    if pa.types.is_list(type_):
        return pa.list_(type_.value_field.with_type(_in_nanoseconds(pa, type_.value_type)))
    if pa.types.is_timestamp(type_):
        return pa.timestamp("ns", type_.tz)
    return pa.duration("ns") if pa.types.is_duration(type_) else type_


def _array(pa: Any, values: list[Any]) -> tuple[Any, list[Any]]:
    """``pa.array(values)``, also of values that pyarrow does not take or reads in another way; and the values that it read."""
    try:
        array = pa.array(values)
    except _failures(pa):
        plain = _plain(values)
        if plain is values:
            raise
    else:
        plain = _plain(values) if _has_times(pa, array.type) else values
        if plain is values:
            return array, values
    return pa.array(plain), plain


#: Types of values that pyarrow reads as they are.
_PLAIN_TYPES = {type(None), bool, int, float, str, bytes, date, datetime, time, timedelta}


def _plain(value: Any) -> Any:
    """The value with ``None`` for NaT and NA, times of numpy in plain units, and arrays of objects as lists. The same object if nothing differs."""
    if type(value) in _PLAIN_TYPES:
        return value
    if isinstance(value, Mapping):
        items = {name: _plain(item) for name, item in value.items()}
        return items if any(items[name] is not item for name, item in value.items()) else value
    if isinstance(value, (list, tuple)):
        if _PLAIN_TYPES.issuperset(map(type, value)):
            return value
        plain = [_plain(item) for item in value]
        return plain if any(map(is_not, plain, value)) else value
    if _is_ndarray(value):
        if value.dtype.kind == "O" and not sys.modules["numpy"].ma.is_masked(value):
            return _plain(value.tolist())
        return _dates(_plain_array(value))
    if _is_numpy(value, "datetime64") or _is_numpy(value, "timedelta64"):
        if sys.modules["numpy"].datetime_data(value.dtype)[1] == 1 and value.dtype != "M8[D]":
            return value
        plain = _dates(_plain_array(sys.modules["numpy"].asarray(value)))
        return plain[()] if _is_ndarray(plain) else plain
    pandas = sys.modules.get("pandas")
    return None if pandas is not None and (value is pandas.NaT or value is pandas.NA) else value


def _dates(array: Any) -> Any:
    """An array of days as Python objects, of which pyarrow has no scalars; other arrays, and those with years that Python lacks, as they are."""
    if array.dtype != "M8[D]":
        return array
    items = array.reshape(-1).tolist()
    return array.tolist() if all(item is None or isinstance(item, date) for item in items) else array


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
    if pa.types.is_temporal(type_):
        return True
    return any(_has_times(pa, type_.field(number).type) for number in range(type_.num_fields))


def _misfit_row(pa: Any, values: list[Any], array: Any, type_: Any) -> int | None:
    """The first row whose value has another meaning in the array, cast to a type, than as a Python object."""
    is_a = pa.types
    if is_a.is_struct(array.type):
        for field in array.type:
            items = [None if value is None else value.get(field.name) for value in values]
            row = _misfit_row(pa, items, array.field(field.name), type_.field(field.name).type)
            if row is not None:
                return row
        return None
    if is_a.is_list(array.type):
        if not _may_differ(pa, array.values) or _has_only_numbers(pa, values, array, type_):
            return None
        lists = [_unchecked_items(value) for value in values]
        found = _misfit_row(pa, list(chain.from_iterable(lists)), array.values, type_.value_type)
        return None if found is None else bisect_right(list(accumulate(map(len, lists))), found)
    if is_a.is_integer(array.type) or is_a.is_floating(array.type):
        keeps_sign = is_a.is_integer(array.type) or not is_a.is_integer(type_)
        rows = _zeros_and_ones(pa, array)
        # The items of arrays of numpy are in `array` alone.
        has_few = 4 * len(rows) < len(array) == len(values)
        checked = [values[row] for row in rows.to_pylist()] if has_few else values
        if not len(rows) or keeps_sign and {type(None), int, float}.issuperset(map(type, checked)):
            return None
        is_misfit = _is_bool_or_lost_sign
    elif is_a.is_temporal(array.type):
        if not is_a.is_timestamp(array.type) and {type(None), date, timedelta}.issuperset(map(type, values)):
            return None
        is_misfit = _is_other_time
    else:
        return None
    return next((row for row, value in enumerate(values) if value is not None and is_misfit(pa, value, type_)), None)


def _has_only_numbers(pa: Any, values: list[Any], array: Any, type_: Any) -> bool:
    """Whether the few zeros and ones in lists of numbers are numbers. Unlike other checks, this does not visit each item."""
    import pyarrow.compute as pc

    is_a, items = pa.types, array.values
    keeps_sign = is_a.is_integer(items.type) or not is_a.is_integer(type_.value_type)
    if not keeps_sign or not (is_a.is_integer(items.type) or is_a.is_floating(items.type)):
        return False
    found = _zeros_and_ones(pa, items)
    if 4 * len(found) > len(items):
        return False
    rows = pc.list_parent_indices(array).take(found)
    numbers = pc.subtract(found.cast(pa.int64()), array.offsets.take(rows).cast(pa.int64()))
    types = {type(values[row][number]) for row, number in zip(rows.to_pylist(), numbers.to_pylist())}
    return not any(kind.__name__ in ("bool", "bool_") for kind in types)  # "bool_" before numpy 2


def _unchecked_items(value: Any) -> Any:
    """The items of a list whose types may differ."""
    if value is None or not _is_ndarray(value):
        return value or ()
    if value.dtype.kind == "O":
        return value.tolist()
    return value[:1] if value.dtype.kind == "M" else ()


def _may_differ(pa: Any, array: Any) -> bool:
    """Whether values of an array may have another meaning than the Python objects."""
    if pa.types.is_struct(array.type):
        return any(_may_differ(pa, array.field(number)) for number in range(array.type.num_fields))
    if pa.types.is_list(array.type):
        return _may_differ(pa, array.values)
    if pa.types.is_integer(array.type) or pa.types.is_floating(array.type):
        return len(_zeros_and_ones(pa, array)) > 0
    return bool(pa.types.is_temporal(array.type))


def _zeros_and_ones(pa: Any, array: Any) -> Any:
    """The positions of the numbers that booleans become; zeros may have a sign."""
    import pyarrow.compute as pc

    if pa.types.is_float16(array.type):
        array = array.cast(pa.float32())
    zero, one = (pc.equal(array, pa.scalar(number, array.type)) for number in (0, 1))
    return pc.indices_nonzero(pc.or_(zero, one))


def _is_bool_or_lost_sign(pa: Any, value: Any, type_: Any) -> bool:
    if isinstance(value, bool) or _is_numpy(value, "bool_"):
        return True
    return bool(pa.types.is_integer(type_) and value == 0 and math.copysign(1, value) < 0)


def _is_other_time(pa: Any, value: Any, type_: Any) -> bool:
    """Whether a time is in the place of a date, has a zone where the others have none, or the other way round, or has nanoseconds that the type
    does not hold."""
    if isinstance(value, time):
        return value.tzinfo is not None
    if isinstance(value, datetime):
        if not pa.types.is_timestamp(type_):
            return bool(pa.types.is_date(type_))
        if (value.tzinfo is None) != (type_.tz is None):
            return True
        return type_.unit != "ns" and getattr(value, "nanosecond", 0) != 0
    if isinstance(value, timedelta):
        return pa.types.is_duration(type_) and type_.unit != "ns" and getattr(value, "nanoseconds", 0) != 0
    return pa.types.is_timestamp(type_) and type_.tz is not None and _is_numpy(value, "datetime64")


def _shown(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 100 else shown[:97] + "..."


def _misfit(name: str, type_: Any, value: Any, row: int) -> Error:
    message = f"column {name!r}: expected a value of type {type_}, as in the first rows, found {_shown(value)} (row {row})"
    return make(message, kind="usage", column=name, row=row)


def _converted(pa: Any, values: list[Any], type_: Any) -> Any:
    """An array of this type. Unlike ``pa.array(values, type_)``, which truncates and leaves out, this is exact.

    Raises:
        TypeError, ValueError: a value has another kind, or the type does not hold it.
    """
    array, values = _array(pa, values)
    if pa.types.is_nested(array.type) and any(_is_masked(pa, value, array.type) for value in values):
        raise TypeError("expected an array without missing elements, found a masked array")
    if not _is_kind_of(pa, array.type, type_) or _misfit_row(pa, values, array, type_) is not None:
        raise TypeError(f"expected {type_}, found {array.type}")
    if array.type != type_ and _has_times(pa, type_) and _in_nanoseconds(pa, type_) == type_:
        array = pa.array(values, _in_nanoseconds(pa, array.type))
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
    first = list(islice(rows, _BATCH_ROWS))
    if not first:
        raise UsageError("there are no rows, so that columns and types are not known: write a table with a schema")
    # `Table.from_pylist` leaves out what the first row lacks.
    try:
        names = dict.fromkeys(chain.from_iterable(first))
        columns = {name: [row.get(name) for row in first] for name in names}
    except (TypeError, AttributeError):
        raise _no_dict(first, 0) from None
    if not names:
        raise _no_dict(first, 0) if not all(isinstance(row, Mapping) for row in first) else UsageError("the rows have no columns")
    table = _table(pa, {name: _inferred(pa, values, name) for name, values in columns.items()})
    known = set(names)

    def column(name: str, type_: Any, chunk: list[Any], number: int) -> Any:
        values = [row.get(name) for row in chunk]
        try:
            return _converted(pa, values, type_)
        except _failures(pa) as error:
            for row, value in enumerate(values, number):
                try:
                    _converted(pa, [value], type_)
                except _failures(pa):
                    raise _misfit(name, type_, value, row) from None
            message = f"column {name!r}: cannot write rows {number} to {number + len(values) - 1}: {error}"
            raise make(message, kind="usage", column=name, row=number) from None

    def batches() -> Any:
        produced = all_batches()
        while True:
            try:
                batch = next(produced, None)
            except BaseException as error:
                failures.append(error)
                raise
            if batch is None:
                return
            # A consumer that stops early raises GeneratorExit here, which is no failure of the rows.
            yield batch

    def all_batches() -> Any:
        yield from table.to_batches()
        number = len(first)
        while chunk := list(islice(rows, _BATCH_ROWS)):
            for row, values in enumerate(chunk, number):
                try:
                    unknown = values.keys() - known
                except AttributeError:
                    raise _no_dict(chunk, number) from None
                if unknown:
                    name = min(unknown, key=str)
                    message = f"row {row} has the column {name!r}, which the first {_BATCH_ROWS} rows do not have"
                    raise make(message, kind="usage", row=row, column=str(name))
            arrays = [column(field.name, field.type, chunk, number) for field in table.schema]
            yield pa.RecordBatch.from_arrays(arrays, schema=table.schema)
            number += len(chunk)

    return pa.RecordBatchReader.from_batches(table.schema, batches())


def _no_dict(rows: list[Any], number: int) -> Error:
    """The error of rows, the first of which has this number, some of which are no dicts."""
    found = ((row, value) for row, value in enumerate(rows, number) if not isinstance(value, Mapping))
    row, value = next(found, (number, rows[0]))
    return make(f"expected a dict for each row, found {_shown(value)} (row {row})", kind="usage", row=row)


def _warned(report: Report) -> Report:
    for loss in report["losses"]:
        if loss["count"] > 0:
            times = "" if loss["count"] == 1 else f" ({loss['count']} times)"
            warnings.warn(f"{report['path']}: {loss['what']}{times}", LossWarning, stacklevel=3)
    return report
