"""Stores and collections."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from .. import _native

if TYPE_CHECKING:
    from .dataset import ZDataset
    from .iterable_dataset import ZIterableDataset

__all__ = [
    "Collection",
    "FastZDSStore",
    "NativeRoot",
    "NativeStore",
    "Store",
    "ZDSRoot",
    "ZDSStore",
    "list_collections",
    "open",
]

_Path = str | os.PathLike[str]
_Document = dict[str, Any]


class Collection(_native.ZdsCollection):
    """A collection of documents, from ``Store.collection`` or ``Collection.open``. Several threads may use it. A pickled collection is
    opened for reading.

    >>> import tempfile
    >>> with Collection.open(tempfile.mkdtemp() + "/store", "train") as train:
    ...     train.put("a", {"label": 1})
    ...     train["b"] = {"label": 2, "text": "two"}
    ...     train.delete("a")
    ...     list(train), train.list_doc_ids(), train.get("a", None)
    ([{'label': 2, 'text': 'two'}], ['b'], None)
    """

    @classmethod
    def open(
        cls,
        root: _Path,
        collection: str = "default",
        strict: bool = False,
        create: bool = True,
        sync_writes: bool = False,
        *,
        batch_size: int = 5000,
    ) -> Self:
        """Opens a collection for reading and writing. The lock of the store is taken by the first change.

        ``strict`` requires one schema for all documents; ``create`` creates store and collection if missing; with ``sync_writes`` each put is on
        disk before it returns.

        Raises:
            FileNotFoundError: there is no such store, and ``create`` is not set.
        """
        return cls(Store(root, "rw", create=create, strict=strict, sync_writes=sync_writes, lock=False), collection)

    @property
    def root(self) -> Path:
        """The path of the store."""
        return Path(self._root)

    @property
    def collection(self) -> str:
        """The name of the collection."""
        return self.name

    def scan(self, fields: list[str] | None = None, predicate: Mapping[str, Any] | None = None) -> Iterator[_Document]:
        """Iterates over documents.

        Parameters:
            fields: the members to return, which are all by default
            predicate: values that members must equal; a missing member equals ``None``

        Comparing strings, numbers of up to 32 bits, ``bool`` and ``None`` is much faster than comparing other values.
        """
        conditions = None if predicate is None else dict(predicate)
        documents, unchecked = self._scan(fields or None, conditions)
        return _checked(documents, unchecked, fields) if unchecked else documents

    def scan_with_ids(self) -> Iterator[tuple[str, _Document]]:
        """Iterates over pairs of id and document."""
        return self.items()

    def scan_fast(self) -> Iterator[_Document]:
        """Iterates over documents."""
        return iter(self)

    def read_jsonl_blob(self) -> bytes:
        """Returns all documents as JSON lines, including their ``_id``."""
        return b"".join(line + b"\n" for line in self.scan_raw())

    def put_many(self, documents: Mapping[str, _Document] | Iterable[tuple[str, _Document]]) -> int:
        """Puts many documents: a mapping from ids, or pairs of id and document. Returns their number.

        They are put in blocks of 64 MiB, each of which is put as a whole or not at all.

        Raises:
            ValueError, TypeError: as ``put``.
        """
        return self.put_batch(documents.items() if isinstance(documents, Mapping) else documents)

    def write_jsonl(self, jsonl_blob: bytes, doc_ids: list[str]) -> int:
        """Puts JSON lines whose ids are ``doc_ids``, in this order. Returns their number.

        Raises:
            ValueError: a line is not an object with its ``_id``.
        """
        lines = [line for line in jsonl_blob.split(b"\n") if line.strip()]
        return self.put_raw_batch(list(zip(doc_ids, lines, strict=True)))

    @contextmanager
    def bulk_write(self) -> Iterator[Self]:
        """A context in which all changes are one transaction: they count when it ends, or not at all if an exception leaves it.

        Ids, ``len`` and single documents show the changes at once. What would need to write them before the end raises ``UsageError``: scans after
        the first change, ``flush``, ``compact``, ``close`` and pickling, also in other threads, as handles of one collection share its changes.

        >>> import tempfile
        >>> train = Collection.open(tempfile.mkdtemp() + "/store", "train")
        >>> with train.bulk_write():
        ...     for i in range(1000):
        ...         train.put(f"doc_{i}", {"value": i})
        >>> len(train)
        1000
        """
        self._begin()
        try:
            yield self
        except BaseException:
            self._roll_back()
            raise
        self._commit()

    def to_dataset(self) -> ZDataset:
        """The documents by index."""
        from .dataset import ZDataset

        return ZDataset(self)

    def to_iterable_dataset(self) -> ZIterableDataset:
        """The documents one after the other."""
        from .iterable_dataset import ZIterableDataset

        return ZIterableDataset(self)

    def preload(self) -> None:
        """Does nothing: documents are read from mapped memory."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        self.flush()
        return (_reopened, (type(self), self._root, self.name))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(root={self._root!r}, collection={self.name!r}, count={len(self)})"


def _reopened(cls: type[Collection], root: _Path, name: str) -> Collection:
    return cls(Store(root), name)


def _checked(documents: Iterable[_Document], conditions: Mapping[str, Any], fields: list[str] | None) -> Iterator[_Document]:
    for document in documents:
        if all(document.get(name) == value for name, value in conditions.items()):
            yield {name: document[name] for name in fields if name in document} if fields else document


class Store(_native.ZdsStore):
    """A store of collections, from ``wharf_data.zds.open``.

    >>> import tempfile
    >>> with Store(tempfile.mkdtemp() + "/store", "rw") as store:
    ...     for name in "train", "test":
    ...         store.collection(name).put("a", {"split": name})
    ...     store.list_collections(), store["test"]["a"], "validation" in store
    (['test', 'train'], {'split': 'test'}, False)
    """

    _collection: type[Collection] = Collection

    def collection(self, name: str, batch_size: int | None = None, strict: bool | None = None) -> Collection:
        """Opens a collection. In a store open for writing, one that does not exist is created.

        Raises:
            ValueError: the name is invalid; there is no such collection; or ``strict`` differs from that of the store.
        """
        if strict and not self.strict:
            raise ValueError("strict is an option of the store: pass it to open()")
        return self._collection(self, name)

    def __getitem__(self, name: str) -> Collection:
        return self.collection(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self.list_collections())

    def __len__(self) -> int:
        return len(self.list_collections())

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.collection_exists(name)

    def __bool__(self) -> bool:
        return True

    @property
    def root_path(self) -> Path:
        """The path of the store."""
        return Path(self.path)

    @property
    def is_writable(self) -> bool:
        """Whether it is open for writing."""
        return self.mode == "rw"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(root={os.fspath(self.path)!r}, mode={self.mode!r}, collections={self.list_collections()})"


def open(
    path: _Path,
    mode: Literal["r", "rw"] = "r",
    *,
    create: bool = True,
    strict: bool = False,
    sync_writes: bool = False,
) -> Store:
    """Opens a store: a folder, or with mode ``r`` also an archive, ``.zds``.

    Parameters:
        path: the store; reading also takes the folder of one collection, or a file in it
        mode: ``r`` for reading what is there now, ``rw`` for writing, too, which takes the lock of the store until ``close``
        create: with ``rw``, create the store and collections if missing
        strict: require one schema for all documents of a collection
        sync_writes: let each put be on disk before it returns, instead of each flush

    Raises:
        FileNotFoundError: there is no such store.
        OSError: another process has the lock.
        wharf_data.UnsupportedError: it is not a store.

    Data are mapped into memory, indexes are read. Programs that write to the store meanwhile must only append to the data or replace them as a
    whole, as this package and the original do.
    """
    return Store(path, mode, create=create, strict=strict, sync_writes=sync_writes)


def list_collections(root: _Path) -> list[str]:
    """The names of the collections of a store, sorted."""
    return open(root).list_collections()


class ZDSStore(Collection):
    """A collection with the constructor of ``zippy.ZDSStore``."""


class FastZDSStore(Collection):
    """A collection with the constructor of ``zippy.FastZDSStore``."""

    @classmethod
    def open(  # type: ignore[override]
        cls, root: _Path, collection: str = "default", strict: bool = False, batch_size: int = 1000
    ) -> Self:
        """Opens or creates a collection. See ``Collection.open``."""
        return super().open(root, collection, strict)


class NativeStore(Collection):
    """A collection with the constructor of ``zippy.NativeStore``."""

    @classmethod
    def open(  # type: ignore[override]
        cls, root: _Path, collection: str = "default", batch_size: int = 5000
    ) -> Self:
        """Opens or creates a collection. See ``Collection.open``."""
        return super().open(root, collection)

    def scan(  # type: ignore[override]
        self, fields: list[str] | None = None, predicate: Mapping[str, Any] | None = None
    ) -> list[_Document]:
        """Returns the documents as a list. The arguments are those of ``Collection.scan``."""
        return list(super().scan(fields, predicate))


class NativeRoot(Store):
    """A store with the constructor of ``zippy.NativeRoot``."""

    _collection = NativeStore
    batch_size: int = 5000

    @classmethod
    def open(cls, root: _Path, batch_size: int = 5000, mode: Literal["r", "rw"] = "rw") -> Self:
        """Opens a store, with mode ``rw`` one that may not exist yet."""
        store = cls(root, mode)
        store.batch_size = batch_size
        return store


class ZDSRoot(Store):
    """A store with the constructor of ``zippy.ZDSRoot``."""

    batch_size: int = 5000

    @classmethod
    def open(cls, root: _Path, batch_size: int = 5000, native: bool = False, mode: Literal["r", "rw"] = "rw") -> Self:
        """Opens a store, with mode ``rw`` one that may not exist yet. ``native`` returns collections of class ``NativeStore``."""
        store = cls(root, mode)
        store.batch_size = batch_size
        if native:
            store._collection = NativeStore
        return store

    @property
    def root(self) -> Path:
        """The path of the store."""
        return Path(self.path)
