"""Collections and data frames of pandas, or tables of pyarrow."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from .store import Collection, ZDSStore, open
from .utils import put_unique

_Path = str | os.PathLike[str]


def read_zds(path: _Path, collection: str = "default", columns: list[str] | None = None) -> Any:
    """A ``pandas.DataFrame`` of documents.

    Raises:
        FileNotFoundError: there is no such store.
        ValueError: there is no such collection.
    """
    import pandas as pd

    return pd.DataFrame(list(open(path).collection(collection).scan(columns)))


def to_zds(
    df: Any, path: _Path, collection: str = "default", doc_id_column: str | None = None, strict: bool = False
) -> ZDSStore:
    """Puts the rows of a ``pandas.DataFrame``: all of them, or none. Unlike in the original, integers stay integers beside floats, and missing
    values, which pandas writes as NaN, are null.

    Ids are the values of ``doc_id_column``, or else ``doc000000`` with the number in the index of the frame.

    Raises:
        ValueError: two rows have one id; the index is not of integers; a document is invalid.
        TypeError: JSON has no such type.
    """
    ids = [str(value) for value in df[doc_id_column]] if doc_id_column in df else [_numbered(index) for index in df.index]
    store = ZDSStore.open(path, collection, strict)
    put_unique(store, zip(ids, map(_plain, df.to_dict("records")), strict=True))
    return store


def _numbered(index: Any) -> str:
    try:
        return f"doc{index:06d}"
    except (TypeError, ValueError) as error:
        raise ValueError(f"the index of the frame is not of integers, found {index!r}: give doc_id_column") from error


def _plain(document: dict[Any, Any]) -> dict[Any, Any]:
    return {name: _value(value) for name, value in document.items()}


def _value(value: Any) -> Any:
    import pandas as pd

    if hasattr(value, "tolist"):
        return value.tolist()
    return None if pd.api.types.is_scalar(value) and pd.isna(value) else value


def to_arrow(store: Collection) -> Any:
    """A ``pyarrow.Table`` of all documents. A member that a document lacks is null there."""
    import pyarrow as pa

    from .arrow_compat import to_arrow_batch_reader

    return to_arrow_batch_reader(store, 1 << 16).read_all() if len(store) else pa.table({})


def from_arrow(table: Any, path: _Path, collection: str = "default") -> ZDSStore:
    """Puts the rows of a ``pyarrow.Table`` with the ids ``doc000000``, ...: all of them, or none.

    Raises:
        TypeError: JSON has no such type.
    """

    def rows() -> Iterator[dict[str, Any]]:
        for batch in table.to_batches(max_chunksize=1 << 12):
            yield from batch.to_pylist()

    store = ZDSStore.open(path, collection)
    put_unique(store, ((f"doc{number:06d}", row) for number, row in enumerate(rows())))
    return store
