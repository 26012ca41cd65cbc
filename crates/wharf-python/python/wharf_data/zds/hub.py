"""Datasets in folders, and those of Hugging Face. Nothing is downloaded."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._errors import NotFoundError, UnsupportedError
from .dataset import ZDataset
from .iterable_dataset import ZIterableDataset
from .store import FastZDSStore, list_collections, open
from .utils import put_unique

_Path = str | os.PathLike[str]


@dataclass
class DatasetInfo:
    """What is known of a dataset."""

    name: str
    provider: str
    uri: str
    description: str | None = None


def load_remote(
    path: _Path,
    collection: str | None = None,
    *,
    revision: str | None = None,
    subpath: str | None = None,
    split: str | None = None,
    streaming: bool = False,
    cache_dir: _Path | None = None,
    token: str | None = None,
    force_download: bool = False,
    **kwargs: Any,
) -> ZDataset | ZIterableDataset:
    """The dataset in a folder, or in its folder ``subpath``. ``collection`` or ``split`` is by default the first. The rest has no effect.

    Raises:
        UnsupportedError: there is no such folder, and nothing is downloaded.
        ValueError: ``subpath`` leads out of the folder; there is no such collection.
    """
    folder = _local(path)
    if subpath:
        root = folder.resolve()
        folder = (root / subpath).resolve()
        if not folder.is_relative_to(root):
            raise ValueError(f"{subpath!r} leads out of {os.fspath(path)!r}")
    name = collection or split or _first(folder)
    return ZIterableDataset.from_store(folder, name) if streaming else ZDataset.from_store(folder, name)


def dataset_info(path: _Path, **kwargs: Any) -> DatasetInfo:
    """What is known of the dataset in a folder.

    Raises:
        UnsupportedError: there is no such folder, and nothing is downloaded.
    """
    folder = _local(path)
    count = len(list_collections(folder))
    return DatasetInfo(folder.name, "local", str(folder), f"Local dataset with {count} collection(s)")


def _local(path: _Path) -> Path:
    folder = Path(path).expanduser()
    if not folder.exists():
        raise UnsupportedError(f"{os.fspath(path)}: there is no such folder, and nothing is downloaded: clone its repository first")
    return folder


def _first(root: _Path) -> str:
    names = list_collections(root)
    if not names:
        raise NotFoundError(f"{os.fspath(root)}: there is no collection")
    return names[0]


def from_hf(hf_dataset: Any, output_path: _Path, collection: str | None = None, id_column: str | None = None) -> ZDataset:
    """Puts the rows of a ``datasets.Dataset`` into a collection (by default ``main``), or each split of a ``DatasetDict`` into one of its name.

    Ids are the values of ``id_column``, or else ``doc_00000000``, ... Returns the dataset, or the first.

    Raises:
        ValueError: two rows have one id, or an id is invalid.
        TypeError: JSON has no such type.
    """
    splits = hf_dataset if isinstance(hf_dataset, dict) else {collection or "main": hf_dataset}
    for name, rows in splits.items():
        with FastZDSStore.open(output_path, name) as store:
            put_unique(store, _documents(rows, id_column))
    return ZDataset.from_store(output_path, next(iter(splits)))


def _documents(rows: Iterable[Any], id_column: str | None) -> Iterable[tuple[str, dict[str, Any]]]:
    for number, row in enumerate(rows):
        yield str(row[id_column]) if id_column in row else f"doc_{number:08d}", dict(row)


def to_hf(zds_dataset: ZDataset | _Path, collection: str | None = None) -> Any:
    """A ``datasets.Dataset`` of documents: a dataset, or a collection of a store, by default the first.

    ``wharf_data.huggingface.dataset`` does without Python objects.
    """
    import datasets

    if isinstance(zds_dataset, (str, os.PathLike)):
        store = open(zds_dataset).collection(collection or _first(zds_dataset))
        documents = list(store)
    else:
        documents = list(zds_dataset)
    names = dict.fromkeys(name for document in documents for name in document)
    return datasets.Dataset.from_dict({name: [document.get(name) for document in documents] for name in names})


def to_hf_dict(zds_path: _Path, collections: list[str] | None = None) -> Any:
    """A ``datasets.DatasetDict`` of collections, by default of all."""
    import datasets

    names = list_collections(zds_path) if collections is None else collections
    return datasets.DatasetDict({name: to_hf(zds_path, name) for name in names})
