"""Datasets of Hugging Face from any container, and back.

>>> from wharf_data import huggingface
>>> dataset = huggingface.dataset("train.idv")          # doctest: +SKIP
>>> huggingface.write(dataset, "train.parquet")         # doctest: +SKIP

Columns are Arrow arrays that the dataset takes without a copy: of formats that are Arrow in the file, such as ds, the values stay in the mapped
file. Tensors become the features ``Array2D`` to ``Array5D``, vectors lists of fixed length.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from . import Container, Table
from . import open as _open
from . import write as _write
from ._parts import nested, tensor_values

if TYPE_CHECKING:
    from . import Report

__all__ = ["dataset", "from_arrow", "to_arrow", "write"]


def dataset(
    source: Any, *, table: str | None = None, columns: Iterable[str] | None = None, rows: Any = None, split: str | None = None
) -> Any:
    """A ``datasets.Dataset`` of a path, a ``Container``, a ``Table``, or any object with ``__arrow_c_stream__``.

    ``table``, ``columns`` and ``rows`` (a slice, a range, or a pair of the first row and the end) select what is read.

    Raises:
        NotFoundError: there is no such file.
        ValueError: the file violates its format; a column is unknown.
    """
    import pyarrow as pa

    if isinstance(source, (str, os.PathLike, bytes)) or hasattr(source, "read"):
        source = _open(source)
    if isinstance(source, Container):
        source = source.table(table)
    if isinstance(source, Table):
        source = source.to_batches(None if columns is None else list(columns), rows=rows)
        columns = rows = None
    if rows is not None:
        raise TypeError("rows can be selected of a path, a container or a table")
    data = pa.table(source)
    return from_arrow(data if columns is None else data.select(list(columns)), split=split)


def from_arrow(table: Any, *, split: str | None = None) -> Any:
    """A ``datasets.Dataset`` of a ``pyarrow.Table``: its arrays, with tensors as the features ``Array2D`` to ``Array5D``."""
    import datasets
    import pyarrow as pa

    arrays, fields = [], []
    for field, column in zip(table.schema, table.columns):
        chunks = [_feature_array(chunk) for chunk in column.chunks]
        type_ = chunks[0].type if chunks else _feature_array(pa.array([], column.type)).type
        arrays.append(pa.chunked_array(chunks, type_))
        fields.append(pa.field(field.name, type_))
    # Metadata of other formats would have to fit the features of `datasets`.
    plain = pa.Table.from_arrays(arrays, schema=pa.schema(fields))
    return datasets.Dataset(plain, split=None if split is None else datasets.NamedSplit(split))


def _feature_array(array: Any) -> Any:
    """The array in a type that ``datasets`` knows; it shares the values."""
    import datasets
    import pyarrow as pa

    type_ = array.type
    if isinstance(type_, pa.FixedShapeTensorType):
        values, shape, valid = tensor_values(array)
        is_feature = 2 <= len(shape) <= 5 and 0 not in shape
        lists = nested(values, shape, len(array), valid, fixed=not is_feature)
        if not is_feature:
            return lists
        feature = getattr(datasets, f"Array{len(shape)}D")(shape=tuple(shape), dtype=_dtype(type_.value_type))
        return pa.ExtensionArray.from_storage(feature(), lists)
    if isinstance(type_, pa.BaseExtensionType):
        return _feature_array(array.storage)
    if pa.types.is_dictionary(type_):
        return array.dictionary_decode()
    if pa.types.is_string_view(type_) or pa.types.is_binary_view(type_):
        return array.cast(pa.large_string() if pa.types.is_string_view(type_) else pa.large_binary())
    return array


def _dtype(type_: Any) -> str:
    """The name of a type in ``datasets``."""
    from datasets.features.features import _arrow_to_datasets_dtype

    return str(_arrow_to_datasets_dtype(type_))


def to_arrow(dataset: Any) -> Any:
    """The ``pyarrow.Table`` of a ``datasets.Dataset``, with ``Array2D`` to ``Array5D`` of fixed shape as tensors."""
    import pyarrow as pa

    if getattr(dataset, "_indices", None) is not None:  # selected or shuffled rows
        dataset = dataset.flatten_indices(keep_in_memory=True)
    table = dataset.data.table
    names, arrays = [], []
    for name, column in zip(table.column_names, table.columns):
        names.append(name)
        if isinstance(column.type, pa.ExtensionType) and hasattr(column.type, "shape") and None not in column.type.shape:
            chunks = [_tensors(chunk) for chunk in column.chunks] or [_tensors(pa.array([], column.type))]
            arrays.append(pa.chunked_array(chunks))
        else:
            arrays.append(column)
    return pa.Table.from_arrays(arrays, names)


def _tensors(array: Any) -> Any:
    import numpy as np
    import pyarrow as pa

    shape = tuple(array.type.shape)
    size = int(np.prod(shape))
    values = array.storage
    for _ in shape:
        values = values.flatten()
    mask = None
    if array.null_count:
        # The lists of missing tensors are empty; a tensor has values always.
        missing = array.is_null().to_numpy(zero_copy_only=False)
        places = np.zeros((len(array), size), np.int64)
        places[~missing] = np.arange(len(values)).reshape(-1, size)
        values = values.take(pa.array(places.reshape(-1), mask=np.repeat(missing, size)))
        mask = pa.array(missing)
    if len(values) != len(array) * size:
        raise ValueError(f"expected {len(array)} tensors of shape {shape}, found {len(values)} values")
    type_ = pa.fixed_shape_tensor(values.type, shape)
    return pa.ExtensionArray.from_storage(type_, pa.FixedSizeListArray.from_arrays(values, size, mask=mask))


def write(dataset: Any, path: str | os.PathLike[str], **options: Any) -> Report:
    """Writes a ``datasets.Dataset`` to a file of any format; the arguments are those of ``wharf_data.write()``.

    Raises:
        UsageError: the output exists and ``overwrite`` is not set.
        ValueError: the format has no type for a column.
    """
    return _write(to_arrow(dataset), path, **options)
