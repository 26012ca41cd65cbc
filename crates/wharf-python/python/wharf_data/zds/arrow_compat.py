"""Collections as streams of Arrow batches."""

from __future__ import annotations

from typing import Any

from .. import open as _open
from .store import Collection


def to_arrow_batch_reader(store: Collection, batch_size: int = 1000) -> Any:
    """A ``pyarrow.RecordBatchReader`` of all documents, with the types that fit all of them. Changes are flushed first."""
    import pyarrow as pa

    if not len(store):
        return pa.RecordBatchReader.from_batches(pa.schema([]), [])
    store.flush()
    table = _open(store.root).table(store.name)
    columns = [name for name in table.column_names if name != "_id"]
    return pa.RecordBatchReader.from_stream(table.to_batches(columns, batch_rows=batch_size))


def query_with_duckdb(store: Collection, query: str, alias: str = "zds") -> Any:
    """A DuckDB connection with the result of a query. ``alias`` is the name of the table."""
    import duckdb

    from .pandas_compat import to_arrow

    connection = duckdb.connect()
    connection.register(alias, to_arrow(store))
    return connection.execute(query)
