"""A data source for PySpark 4 and Sail.

>>> from wharf_data.spark import WharfDataSource
>>> spark.dataSource.register(WharfDataSource)                                          # doctest: +SKIP
>>> days = spark.read.format("wharf").load("days/*.idv")      # on Spark also a list     # doctest: +SKIP
>>> days.write.format("wharf").option("to", "idv").mode("append").save("folder")        # doctest: +SKIP

Options for reading: ``table`` (of a file with several), ``rowsPerPartition`` (1,000,000), ``rowsPerBatch``. A schema that is given,
``spark.read.schema(...)``, selects columns by name, and only these are read.

Types of Spark are those of the Arrow columns: unsigned integers become the next larger type, 64 bits ``decimal(20, 0)``; tensors and vectors
arrays; dictionaries their values; times of day integers in microseconds.

Filters (with PySpark 4.1 and later, on Spark and on Sail): ``=``, ``<``, ``<=``, ``>``, ``>=``, ``in``, ``is null``, ``is not null``,
``like`` with one wildcard at an end, and ``not`` of these, of top-level columns of numbers, booleans, text, dates and times. They are applied to
each record batch, before its rows go to the engine. On Spark they need ``spark.sql.python.filterPushdown.enabled`` and the option
``pushFilters``: Spark 4.1.4 keeps the filters of a query for later ones of the same ``DataFrame``, whose results are then wrong, so that each
``load()`` must be used for one query only. Without the option Spark applies all filters itself.

Options for writing: ``to``, a format (``idv``), and those of ``wharf_data.write()``. A partition becomes a file. Files of a new folder appear all
at once; those of an existing one after all were written, one after the other. The folder has to be one that the driver and all workers share;
URLs other than ``file:`` are refused. Without rows there is one file that has the columns.
"""

from __future__ import annotations

import inspect
import json
import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from pyspark.sql import datasource
from pyspark.sql.datasource import DataSource, DataSourceArrowWriter, DataSourceReader, InputPartition, WriterCommitMessage
from pyspark.sql.types import StructType

from . import _parts
from . import open as _open
from ._errors import LossWarning, UsageError

__all__ = ["WharfDataSource"]

_READ_OPTIONS = ("path", "paths", "table", "rowsperpartition", "rowsperbatch", "pushfilters")


class WharfDataSource(DataSource):
    """The format ``wharf`` of Spark: reads and writes every format of ``wharf_data``."""

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return "wharf"

    def _paths(self) -> list[str]:
        path, paths = self.options.get("path"), self.options.get("paths")
        if path is None and paths is None:
            raise UsageError('a path is required: load("days/*.idv"); Sail passes no lists of paths, but patterns such as this')
        # Spark passes several paths as a list in JSON.
        return _parts.expand(json.loads(paths) if path is None else path)

    def schema(self) -> StructType:
        """The schema of the first file."""
        from pyspark.sql.pandas.types import from_arrow_schema

        table = _open(self._paths()[0]).table(self.options.get("table"))
        schema = pa.schema(table.schema)
        fields = [pa.field(column.name, _spark_type(column.type), column.nullable) for column in schema]
        return from_arrow_schema(pa.schema(fields), prefer_timestamp_ntz=True)

    def reader(self, schema: StructType) -> DataSourceReader:
        """A reader of the columns of a schema."""
        options = {name.lower(): value for name, value in self.options.items()}
        asked = options.pop("pushfilters", "true" if isinstance(schema, pa.Schema) else "false")
        # PySpark 4.0 has no filters, and Sail fails if a reader takes them nevertheless.
        takes = asked.lower() == "true" and hasattr(datasource, "Filter")
        return (_FilteringReader if takes else _Reader)(self._paths(), schema, options)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
        """A writer to a folder."""
        options = {name: value for name, value in self.options.items() if name not in ("path", "to")}
        path = self.options.get("path")
        if path is None:
            raise UsageError('a path is required: save("folder")')
        arrow = schema if isinstance(schema, pa.Schema) else _arrow_schema(schema)
        return _Writer(_parts.Folder(path, self.options.get("to", "idv"), options), overwrite, arrow)


def _arrow_schema(schema: StructType) -> pa.Schema:
    """The schema of Arrow for one of Spark: timestamps are in UTC."""
    from pyspark.sql.pandas.types import to_arrow_schema

    # PySpark 4.2 wants to be told; before, it was always UTC.
    if "timezone" in inspect.signature(to_arrow_schema).parameters:
        return to_arrow_schema(schema, timezone="UTC")
    return to_arrow_schema(schema)


def _spark_type(type_: pa.DataType) -> pa.DataType:
    """The type of Arrow that Spark has for a type."""
    types = pa.types
    if isinstance(type_, pa.FixedShapeTensorType):
        nested = _spark_type(type_.value_type)
        for _ in type_.shape:
            nested = pa.list_(nested)
        return nested
    if isinstance(type_, pa.BaseExtensionType):
        return _spark_type(type_.storage_type)
    if types.is_dictionary(type_):
        return _spark_type(type_.value_type)
    simple = {
        pa.uint8(): pa.int16(),
        pa.uint16(): pa.int32(),
        pa.uint32(): pa.int64(),
        pa.uint64(): pa.decimal128(20, 0),
        pa.float16(): pa.float32(),
        pa.date64(): pa.date32(),
    }
    if type_ in simple:
        return simple[type_]
    if types.is_large_string(type_) or types.is_string_view(type_):
        return pa.string()
    if types.is_large_binary(type_) or types.is_fixed_size_binary(type_) or types.is_binary_view(type_):
        return pa.binary()
    if types.is_timestamp(type_):
        return pa.timestamp("us", "UTC" if type_.tz else None)
    if types.is_time(type_):
        return pa.int64()
    if types.is_duration(type_):
        return pa.duration("us")
    if types.is_list(type_) or types.is_large_list(type_) or types.is_fixed_size_list(type_):
        return pa.list_(pa.field("element", _spark_type(type_.value_type), type_.value_field.nullable))
    if types.is_struct(type_):
        return pa.struct([pa.field(part.name, _spark_type(part.type), part.nullable) for part in type_])
    return type_


class _Partition(InputPartition):
    """A range of rows of a file."""

    def __init__(self, part: _parts.Part) -> None:
        super().__init__((part.path, part.start, part.stop))
        self.part = part


class _Reader(DataSourceReader):
    """Reads ranges of rows as record batches."""

    def __init__(self, paths: list[str], schema: StructType, options: dict[str, str]) -> None:
        options = {name.lower(): value for name, value in options.items()}
        unknown = options.keys() - set(_READ_OPTIONS)
        if unknown:
            raise UsageError(f"unknown option {sorted(unknown)[0]!r} (known: {', '.join(_READ_OPTIONS)})")
        self.paths, self.columns = paths, list(schema.names)
        # Sail passes the schema of Arrow.
        self.arrow = schema if isinstance(schema, pa.Schema) else _arrow_schema(schema)
        self.table = options.get("table")
        self.rows = int(options.get("rowsperpartition", 1_000_000))
        self.batch_rows = int(options["rowsperbatch"]) if "rowsperbatch" in options else None
        self.filters: list[Any] = []

    def take_filters(self, filters: list[Any]) -> Iterator[Any]:
        """Takes the filters that it applies, and returns the others."""
        for one in filters:
            condition = _condition(one, self.arrow)
            if condition is None:
                yield one
            else:
                self.filters.append(condition)

    def partitions(self) -> Sequence[InputPartition]:
        """One for each range of rows of each file."""
        # Without any, Spark would make one itself, and pass `None`.
        return [_Partition(part) for part in _parts.split(self.paths, self.table, self.rows)] or [
            _Partition(_parts.Part(self.paths[0], 0, 0))
        ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The record batches of a partition."""
        part = partition.part  # type: ignore[attr-defined]
        if part.start == part.stop:
            return
        condition = None
        for one in self.filters:
            this = _expression(one, self.arrow)
            condition = this if condition is None else condition & this
        for batch in _parts.batches(part, self.table, self.columns, self.batch_rows):
            arrays = [_parts.plain(batch.column(field.name), field.type) for field in self.arrow]
            # Spark's types say themselves what may be null.
            converted = pa.RecordBatch.from_arrays(arrays, schema=self.arrow)
            if condition is not None:
                converted = converted.filter(condition)
            if converted.num_rows:
                yield converted


class _FilteringReader(_Reader):
    """Takes filters from the engine."""

    def pushFilters(self, filters: list[Any]) -> Iterator[Any]:  # noqa: N802, the name of Spark
        """Takes the filters that it applies, and returns the others."""
        return self.take_filters(filters)


#: Filters of Spark by the name of their class: how they compare a column with a value.
_COMPARISONS = {
    "EqualTo": "equal",
    "GreaterThan": "greater",
    "GreaterThanOrEqual": "greater_equal",
    "LessThan": "less",
    "LessThanOrEqual": "less_equal",
    "In": "in",
    "IsNull": "is_null",
    "IsNotNull": "is_not_null",
    "StringStartsWith": "starts_with",
    "StringEndsWith": "ends_with",
    "StringContains": "contains",
}


def _condition(one: Any, schema: pa.Schema) -> tuple[Any, ...] | None:
    """A filter of Spark as (comparison, column, value), or ``("not", condition)``; ``None`` if it has to be applied by Spark."""
    kind = type(one).__name__
    if kind == "Not":
        inner = _condition(one.child, schema)
        # In Spark NaN equals NaN and is larger than any number, which the negation would have to invert.
        return None if inner is None or inner[0] == "not" or pa.types.is_floating(schema.field(inner[1]).type) else ("not", inner)
    name = _COMPARISONS.get(kind)
    if name is None or len(one.attribute) != 1 or one.attribute[0] not in schema.names:
        return None
    column = one.attribute[0]
    type_ = schema.field(column).type
    if name in ("is_null", "is_not_null"):
        return name, column, None
    types = pa.types
    is_text = types.is_string(type_)
    if name in ("starts_with", "ends_with", "contains"):
        return (name, column, one.value) if is_text else None
    if not (is_text or types.is_integer(type_) or types.is_floating(type_) or types.is_boolean(type_) or types.is_temporal(type_)):
        return None
    values = list(one.value) if name == "in" else [one.value]
    if any(value is None or isinstance(value, float) and math.isnan(value) for value in values):
        return None
    try:
        for value in values:
            pa.scalar(value, type_)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
        return None
    return name, column, values if name == "in" else values[0]


def _expression(condition: tuple[Any, ...], schema: pa.Schema) -> Any:
    """A condition as an expression of pyarrow."""
    import pyarrow.compute as pc

    if condition[0] == "not":
        negated = ~_expression(condition[1], schema)
        # In SQL the negation of null is null: it does not hold, either.
        return negated if condition[1][0] in ("is_null", "is_not_null") else negated & pc.field(condition[1][1]).is_valid()
    name, column, value = condition
    data, type_ = pc.field(column), schema.field(column).type
    match name:
        case "is_null":
            return data.is_null()
        case "is_not_null":
            return data.is_valid()
        case "starts_with":
            return pc.starts_with(data, value)
        case "ends_with":
            return pc.ends_with(data, value)
        case "contains":
            return pc.match_substring(data, value)
        case "in":
            if pa.types.is_floating(type_) and 0 in value:
                value = [*value, 0.0, -0.0]  # which are equal in SQL
            return data.isin(pa.array(value, type_)) & data.is_valid()
    found = getattr(pc, name)(data, pa.scalar(value, type_))
    if name.startswith("greater") and pa.types.is_floating(type_):
        found = found | pc.is_nan(data)
    return found


@dataclass
class _Message(WriterCommitMessage):
    """What a task wrote."""

    written: Any = field(default=None)


class _Writer(DataSourceArrowWriter):
    """Writes a file for each partition."""

    def __init__(self, folder: _parts.Folder, overwrite: bool, schema: pa.Schema) -> None:
        self.folder, self.overwrite, self.schema = folder, overwrite, schema

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Writes the record batches of a partition to a file."""
        from pyspark import TaskContext

        context = TaskContext.get()
        batches = (batch for batch in iterator if batch.num_rows)
        return _Message(self.folder.write(0 if context is None else context.partitionId(), batches))

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Moves the files into place. Losses are warnings."""
        written = [message.written for message in messages if isinstance(message, _Message)]
        for loss in self.folder.commit(written, overwrite=self.overwrite, schema=self.schema):
            if loss["count"]:
                warnings.warn(f"{self.folder.path}: {loss['what']} ({loss['count']} times)", LossWarning, stacklevel=2)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Removes what was written."""
        self.folder.abort()
