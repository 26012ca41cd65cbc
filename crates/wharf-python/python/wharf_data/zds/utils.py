"""Ids, schemas, and documents of collections."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from typing import Any

from .store import Collection, list_collections, open

__all__ = [
    "canonicalize",
    "compute_schema_id",
    "count_documents",
    "extract_schema",
    "iter_doc_ids",
    "list_collections",
    "put_unique",
    "validate_doc_id",
]


def validate_doc_id(doc_id: str) -> bool:
    """Returns true.

    Raises:
        ValueError: the id is empty, begins with a dot, or has two dots in a row or a character other than letters, digits, ``_``, ``-``, ``.``.
    """
    if not doc_id:
        raise ValueError("Document ID cannot be empty")
    if not all(c.isalnum() or c in "_-." for c in doc_id):
        raise ValueError(f"Invalid characters in document ID: {doc_id}")
    if ".." in doc_id or doc_id.startswith("."):
        raise ValueError(f"Potentially unsafe document ID: {doc_id}")
    return True


def canonicalize(obj: Any) -> str:
    """The JSON text of a value without spaces, members sorted by name."""
    return json.dumps(obj, sort_keys=True, separators=(",", ":"))


def extract_schema(doc: Any) -> Any:
    """The names of types in place of values; of a list, those of its first item.

    >>> extract_schema({"a": [1, 2], "b": None})
    {'a': ['integer'], 'b': 'null'}
    """
    if isinstance(doc, dict):
        return {name: extract_schema(value) for name, value in doc.items()}
    if isinstance(doc, list):
        return [extract_schema(item) for item in doc[:1]]
    if doc is None:
        return "null"
    for kind, name in ((str, "string"), (bool, "boolean"), (int, "integer"), (float, "number")):
        if isinstance(doc, kind):
            return name
    return "unknown"


def compute_schema_id(doc: dict[str, Any]) -> str:
    """The SHA-256 sum of a document's schema."""
    return hashlib.sha256(canonicalize(extract_schema(doc)).encode()).hexdigest()


def count_documents(root: str | os.PathLike[str], collection: str) -> int:
    """The number of documents of a collection."""
    return len(open(root).collection(collection))


def iter_doc_ids(root: str | os.PathLike[str], collection: str) -> Iterator[str]:
    """The ids of a collection, in the order of its documents."""
    return iter(open(root).collection(collection).list_doc_ids())


def put_unique(store: Collection, documents: Iterable[tuple[str, dict[str, Any]]]) -> int:
    """Puts documents with different ids: all of them, or none. Returns their number.

    Raises:
        ValueError: two have one id.
    """
    seen: set[str] = set()

    def unique() -> Iterator[tuple[str, dict[str, Any]]]:
        for doc_id, document in documents:
            if doc_id in seen:
                raise ValueError(f"two documents have the id {doc_id!r}")
            seen.add(doc_id)
            yield doc_id, document

    with store.bulk_write():
        return store.put_many(unique())
