"""Stores of JSON documents in the format ZDS: an independent implementation with the names of the package ``zippy-data``.

>>> import tempfile
>>> path = tempfile.mkdtemp() + "/trees"
>>> with open(path, "rw") as store:
...     trees = store.collection("trees")
...     trees["oak"] = {"height": 23.5, "leafy": True}
...     trees.put_many({"elm": {"height": 19}, "fir": {"height": 30, "leafy": False}})
2
>>> trees = open(path).collection("trees")
>>> trees["elm"], "ash" in trees, len(trees)
({'height': 19}, False, 3)
>>> list(trees.scan(fields=["height"], predicate={"leafy": True}))
[{'height': 23.5}]

``open`` is the plain way. ``ZDSStore``, ``FastZDSStore``, ``NativeStore``, ``ZDSRoot`` and ``NativeRoot`` have the constructors of the original.

Documents are dicts with keys of type ``str``. They are returned without their ``_id``, in the order in which they were put. Integers of any size and
floats keep their values.

Differences from the original:

* All classes write lines of ``data.jsonl``; ``ZDSStore`` of the original writes, and sees, only files in ``docs``. Both are read here.
* A put is seen by other processes after ``flush`` or ``close``, which write the index as a whole: ``batch_size`` is accepted, but has no effect.
  Objects that are garbage-collected flush, too, but cannot report errors.
* Handles of one process on one path share their changes. Two processes cannot write to a store at the same time; the lock is taken by the first
  change, or by opening a root with mode ``rw``. A forked process leaves the changes and the lock of its parent alone: it sees what was flushed.
* Names and ids that lead elsewhere, and a document whose own ``_id`` is not its id, are a ``ValueError``.
* ``mode="r"`` does not create anything: a store that does not exist is a ``FileNotFoundError``.

Left out: what downloads data (``load_remote`` of anything but a folder, ``clear_cache`` and ``zippy.providers``), and internals of the original, such
as the paths of its files and ``ZDSTableFunction``. Documents whose ids are not unique are a ``ValueError`` where the original keeps the last one.
"""

from __future__ import annotations

from typing import Any

from .dataset import ZDataset
from .hub import dataset_info, from_hf, load_remote, to_hf, to_hf_dict
from .iterable_dataset import ZIterableDataset
from .pandas_compat import read_zds, to_zds
from .store import Collection, FastZDSStore, NativeRoot, NativeStore, Store, ZDSRoot, ZDSStore, list_collections, open
from .utils import compute_schema_id, validate_doc_id

__all__ = [
    "Collection",
    "FastZDSStore",
    "NativeRoot",
    "NativeStore",
    "Store",
    "ZDSRoot",
    "ZDSStore",
    "ZDataset",
    "ZIterableDataset",
    "compute_schema_id",
    "dataset_info",
    "from_hf",
    "get_backend",
    "list_collections",
    "load_remote",
    "open",
    "query_zds",
    "read_zds",
    "register_zds",
    "to_hf",
    "to_hf_dict",
    "to_zds",
    "validate_doc_id",
]


def query_zds(*args: Any, **kwargs: Any) -> list[tuple[Any, ...]]:
    """See ``wharf_data.zds.duckdb_compat.query_zds``."""
    from .duckdb_compat import query_zds

    return query_zds(*args, **kwargs)


def register_zds(*args: Any, **kwargs: Any) -> None:
    """See ``wharf_data.zds.duckdb_compat.register_zds``."""
    from .duckdb_compat import register_zds

    register_zds(*args, **kwargs)


def get_backend() -> str:
    """``"native"``."""
    return "native"
