"""SQL over collections, by DuckDB and pyarrow, and its results as documents.

Lists and objects are JSON texts in SQL, and a column whose documents disagree on its type is of text.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

from .store import ZDSStore, open
from .utils import put_unique

_Path = str | os.PathLike[str]
_Rows = list[tuple[Any, ...]]


def register_zds(
    conn: Any, path: _Path, collection: str = "default", view_name: str | None = None, fields: list[str] | None = None
) -> None:
    """Makes a view of the documents and their ``_id``, as they are now. Its name is that of the collection by default.

    Raises:
        FileNotFoundError: there is no such store.
        ValueError: there is no such collection, or it is empty.
    """
    import pyarrow as pa

    rows = [document | {"_id": doc_id} for doc_id, document in open(path).collection(collection).items()]
    if not rows:
        raise ValueError(f"Collection '{collection}' is empty")
    names = dict.fromkeys(name for row in rows for name in row)
    if fields:
        names = dict.fromkeys([name for name in fields if name in names] + ["_id"])
    table = pa.table({name: _column([row.get(name) for row in rows]) for name in names})
    view_name = collection if view_name is None else view_name
    conn.register(f"_zds_{view_name}_data", table)
    conn.execute(f"CREATE OR REPLACE VIEW {_quoted(view_name)} AS SELECT * FROM {_quoted(f'_zds_{view_name}_data')}")


def _column(values: list[Any]) -> Any:
    import pyarrow as pa

    values = [json.dumps(value) if isinstance(value, (list, dict)) else value for value in values]
    try:
        return pa.array(values)
    except (pa.ArrowException, OverflowError):
        return pa.array([value if value is None or isinstance(value, str) else json.dumps(value) for value in values])


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def query_zds(path: _Path, collection: str, sql: str, params: Any = None) -> _Rows:
    """The rows of a query of the table ``data``, which is the collection.

    >>> query_zds("store", "train", "SELECT count(*) FROM data WHERE label = ?", (1,))      # doctest: +SKIP
    [(500,)]
    """
    with ZDSConnection(path) as connection:
        return connection.register(collection, "data").query(sql, params)


def query_zds_df(path: _Path, collection: str, sql: str, params: Any = None) -> Any:
    """As ``query_zds``, a ``pandas.DataFrame``."""
    with ZDSConnection(path) as connection:
        return connection.register(collection, "data").query_df(sql, params)


def export_query_to_zds(
    conn: Any, sql: str, path: _Path, collection: str = "default", id_column: str | None = None, id_prefix: str = "row"
) -> int:
    """Puts the rows of a query: all of them, or none. Returns their number.

    Ids are the values of ``id_column``, or else ``row_00000000``, ...

    Raises:
        ValueError: two rows have one id, or an id is invalid.
        TypeError: JSON has no such type.
    """
    result = conn.execute(sql)
    names = [column[0] for column in result.description]
    if len(set(names)) != len(names):
        raise ValueError(f"two columns have one name: {', '.join(names)}")

    def documents() -> Iterator[tuple[str, dict[str, Any]]]:
        number = 0
        while rows := result.fetchmany(4096):
            for row in rows:
                document = dict(zip(names, row, strict=True))
                yield str(document[id_column]) if id_column in document else f"{id_prefix}_{number:08d}", document
                number += 1

    return put_unique(ZDSStore.open(path, collection), documents())


def copy_to_zds(
    conn: Any, table_or_query: str, path: _Path, collection: str = "default", id_column: str | None = None
) -> int:
    """Puts the rows of a table, or of a query that begins with SELECT. Returns their number."""
    is_query = table_or_query.strip().upper().startswith("SELECT")
    sql = table_or_query if is_query else f"SELECT * FROM {_quoted(table_or_query)}"
    return export_query_to_zds(conn, sql, path, collection, id_column)


class ZDSConnection:
    """A connection to DuckDB with collections of a store.

    >>> with ZDSConnection("store") as zds:                                    # doctest: +SKIP
    ...     zds.register("users").register("orders").query("SELECT ... FROM users JOIN orders ...")
    """

    def __init__(self, path: _Path) -> None:
        import duckdb

        self.path = Path(path)
        self.conn: Any = duckdb.connect()

    def register(self, collection: str, view_name: str | None = None, fields: list[str] | None = None) -> Self:
        """Makes a view of a collection, as ``register_zds`` does."""
        register_zds(self.conn, self.path, collection, view_name, fields)
        return self

    def execute(self, sql: str, params: Any = None) -> Any:
        """Runs any statement. Returns the connection, which has the result."""
        return self.conn.execute(sql, params) if params else self.conn.execute(sql)

    def query(self, sql: str, params: Any = None) -> _Rows:
        """The rows of a query."""
        rows: _Rows = self.execute(sql, params).fetchall()
        return rows

    def query_df(self, sql: str, params: Any = None) -> Any:
        """A ``pandas.DataFrame`` of a query."""
        return self.execute(sql, params).df()

    def export(self, sql: str, collection: str, id_column: str | None = None) -> int:
        """Puts the rows of a query into a collection, as ``export_query_to_zds`` does."""
        return export_query_to_zds(self.conn, sql, self.path, collection, id_column)

    def close(self) -> None:
        """Closes the connection."""
        self.conn.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def sql(path: _Path, collection: str, query: str) -> _Rows:
    """The rows of a query of the table ``data``."""
    return query_zds(path, collection, query)


def aggregate(path: _Path, collection: str, group_by: str, agg_expr: str) -> _Rows:
    """An aggregate of each group. Both arguments are SQL.

    >>> aggregate("store", "sales", "region", "SUM(amount) AS total")           # doctest: +SKIP
    """
    return query_zds(path, collection, f"SELECT {group_by}, {agg_expr} FROM data GROUP BY {group_by}")


def count_where(path: _Path, collection: str, condition: str) -> int:
    """The number of documents that meet a condition in SQL."""
    count: int = query_zds(path, collection, f"SELECT COUNT(*) FROM data WHERE {condition}")[0][0]
    return count
