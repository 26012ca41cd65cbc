"""ds and NetCDF in xarray: ``xarray.open_dataset(path, engine="wharf")``, and ``to_ds(dataset, path)``.

Values are read when they are used, and only those that are selected: of ds any selection, of NetCDF the rows along the first dimension. xarray
decodes units, ``scale_factor``, ``_FillValue`` and the rest of the CF conventions, with the arguments that it has for that.

Missing elements of ds become NaN, as in xarray; integers with missing elements become floats, unless the attribute ``_FillValue`` or
``missing_value`` says which number stands for them. Variables without values, or of a type that is not known, are left out, with a warning.
Datasets pickle if they were opened from a path.

Attributes of ds have no types of numbers: ``_FillValue`` and ``missing_value`` get that of the variable; a ``scale_factor`` that was a
``float32`` is a ``float64``, as are the values that are decoded with it.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import xarray as xr
from xarray.backends import AbstractDataStore, BackendArray, BackendEntrypoint
from xarray.backends.store import StoreBackendEntrypoint
from xarray.core import indexing

import wharf_data._native as _native
from . import ds as _ds
from ._errors import LossWarning

__all__ = ["WharfBackendEntrypoint", "to_ds"]

_NETCDF_EXTENSIONS = (".nc", ".nc3", ".nc4", ".netcdf", ".cdf")


class _File:
    """An open file that pickles as its path."""

    def __init__(self, source: Any) -> None:
        if isinstance(source, (str, os.PathLike)):
            # Another process may have another working directory.
            source = os.path.abspath(os.path.expanduser(source))
        elif isinstance(source, (bytearray, memoryview)):
            source = bytes(source)
        self.source = source
        self.handle = self._open()

    def _open(self) -> Any:
        return _native.DsFile(self.source) if _is_ds(self.source) else _native.NetcdfFile(self.source)

    def __getstate__(self) -> Any:
        return self.source

    def __setstate__(self, source: Any) -> None:
        self.__init__(source)  # type: ignore[misc]


def _head(source: Any) -> bytes | None:
    """The first bytes of a path, of bytes, or of a file; ``None`` if they cannot be read."""
    try:
        if isinstance(source, (str, os.PathLike)):
            with open(source, "rb") as file:
                return file.read(8)
        if isinstance(source, (bytes, bytearray, memoryview)):
            return bytes(source[:8])
        position = source.tell()
        head: bytes = source.read(8)
        source.seek(position)
        return head
    except (OSError, AttributeError):
        return None


def _is_ds(source: Any) -> bool:
    head = _head(source)
    if head is None and isinstance(source, (str, os.PathLike)):
        return not str(source).endswith(_NETCDF_EXTENSIONS)
    return head is not None and head.startswith(b"ds-")


class _DsArray(BackendArray):
    """A variable of a ds file."""

    def __init__(self, file: _File, name: str, dims: list[str], shape: tuple[int, ...], stored: Any, dtype: Any, fill: Any) -> None:
        self.file, self.name, self.dims = file, name, dims
        self.shape, self.stored, self.dtype, self.fill = shape, stored, np.dtype(dtype), fill

    def __getitem__(self, key: Any) -> Any:
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.OUTER, self._read)

    def _read(self, key: tuple[Any, ...]) -> Any:
        if 0 in self.shape:
            return np.empty(self.shape, self.dtype)[_orthogonal(key, self.shape)]
        whole = {dim for dim, part, n in zip(self.dims, key, self.shape) if isinstance(part, slice) and part == slice(0, n, 1)}
        selection = {dim: _plain(part) for dim, part in zip(self.dims, key) if dim not in whole}
        data = self.file.handle.read(self.name, selection)
        missing = np.ma.getmaskarray(data) if np.ma.isMaskedArray(data) else None
        data = np.asarray(np.ma.getdata(data))
        if data.dtype != self.dtype:
            data = data.astype(self.dtype)
        if missing is not None:
            data = np.where(missing, self.fill, data).astype(self.dtype, copy=False)
        return data


class _NetcdfArray(BackendArray):
    """A variable of a NetCDF file."""

    def __init__(self, file: _File, name: str, shape: tuple[int, ...], dtype: Any) -> None:
        self.file, self.name, self.shape, self.dtype = file, name, shape, np.dtype(dtype)

    def __getitem__(self, key: Any) -> Any:
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.OUTER, self._read)

    def _read(self, key: tuple[Any, ...]) -> Any:
        if not self.shape:
            return self.file.handle.read(self.name)[0]
        first, n = key[0], self.shape[0]
        rows = range(n)[first] if isinstance(first, slice) else np.atleast_1d(np.asarray(first)) % max(n, 1)
        start, stop = (int(min(rows)), int(max(rows)) + 1) if len(rows) else (0, 0)
        data, _ = self.file.handle.read(self.name, start, stop)
        if isinstance(first, slice):
            # The first selected row is the first or the last one read.
            inner: Any = slice(None, None, first.step)
        else:
            inner = np.asarray(rows) - start if np.ndim(first) else int(rows[0]) - start
        return data[_orthogonal((inner, *key[1:]), data.shape)]


def _plain(part: Any) -> Any:
    """An index as an int, a slice, or a list."""
    if isinstance(part, slice):
        return part
    return int(part) if np.ndim(part) == 0 else np.asarray(part).tolist()


def _orthogonal(key: tuple[Any, ...], shape: tuple[int, ...]) -> Any:
    """A key of numpy that selects along each dimension by itself."""
    arrays = sum(np.ndim(part) > 0 for part in key if not isinstance(part, slice))
    if arrays == 0 or arrays == 1 and not any(isinstance(part, (int, np.integer)) for part in key):
        return key
    kept = [part for part in key if isinstance(part, slice) or np.ndim(part)]
    out: list[Any] = []
    axis = 0
    for part, n in zip(key, shape):
        if not isinstance(part, slice) and np.ndim(part) == 0:
            out.append(int(part))
            continue
        index = np.arange(n)[part]
        out.append(index.reshape((-1,) + (1,) * (len(kept) - 1 - axis)))
        axis += 1
    return tuple(out)


_FILLS = ("_FillValue", "missing_value")


def _typed(value: Any, dtype: np.dtype[Any]) -> Any:
    """The number or numbers of an attribute in a dtype, if it has them."""
    array = np.asarray(value)
    if array.dtype.kind not in "iuf" or dtype.kind not in "iuf":
        return value
    with np.errstate(all="ignore"):
        typed = array.astype(dtype)
    is_same = np.isfinite(typed) == np.isfinite(array) if dtype.kind == "f" else typed == array
    return typed[()] if is_same.all() else value


def _missing(type_: str, attributes: Mapping[str, Any]) -> tuple[Any, Any]:
    """The dtype of a variable with missing elements, and what stands for them."""
    if type_ in ("bool", "str", "unicode"):
        return object, np.nan
    dtype = np.dtype(type_)
    for name in _FILLS:
        if isinstance(attributes.get(name), np.generic):
            return dtype, attributes[name]
    if dtype.kind == "f":
        return dtype, np.nan
    # As xarray promotes integers.
    return np.float32 if dtype.itemsize <= 2 else np.float64, np.nan


class _Store(AbstractDataStore):
    """An open file for xarray."""

    def __init__(self, source: Any) -> None:
        self.file = _File(source)
        self.is_ds = isinstance(self.file.handle, _native.DsFile)
        self.header: dict[str, Any] = json.loads(self.file.handle.header) if self.is_ds else {}

    def get_variables(self) -> dict[str, xr.Variable]:
        return dict(self._ds_variables() if self.is_ds else self._netcdf_variables())

    def get_attrs(self) -> Mapping[str, Any]:
        attributes: dict[str, Any] = _ds.attrs({".": self.header}) if self.is_ds else self.file.handle.attributes
        return attributes

    def get_dimensions(self) -> Mapping[str, int]:
        if self.is_ds:
            return {str(dim): n for variable in self.get_variables().values() for dim, n in variable.sizes.items()}
        return {name: n for name, n, _ in self.file.handle.dimensions}

    def get_encoding(self) -> dict[str, Any]:
        if self.is_ds:
            return {}
        return {"unlimited_dims": {name for name, _, unlimited in self.file.handle.dimensions if unlimited}}

    def _ds_variables(self) -> Iterator[tuple[str, xr.Variable]]:
        readable = set(self.file.handle.names)
        for key, found in self.header.items():
            if key.startswith("."):
                continue
            name = str(_ds.unescape(key))
            type_, size = found.get(".type", "float64"), found.get(".size", [])
            if name not in readable or size is None:
                warnings.warn(f"variable {name!r} left out: it has no {'values' if size is None else 'known type'}", LossWarning, stacklevel=2)
                continue
            # By a key that is not empty, which would mean the dataset.
            attributes = _ds.attrs({".": {"a": found}}, "a")
            dims = _ds.dims({".": self.header}, name) if name else found.get(".dims") or [f"_{number}" for number in range(1, len(size) + 1)]
            stored = np.dtype(object if type_ in ("str", "unicode") else type_)
            if found.get(".endian", "b") == "b":
                stored = stored.newbyteorder(">")
            attributes |= {fill: _typed(attributes[fill], stored.newbyteorder("=")) for fill in _FILLS if fill in attributes}
            dtype, fill = _missing(type_, attributes) if found.get(".missing") else (stored, None)
            encoded = stored if np.dtype(dtype).kind == stored.kind else dtype
            if found.get(".time") and "units" not in attributes:
                attributes |= {"units": _ds._JULIAN_UNITS, "calendar": _ds._JULIAN_CALENDAR}
            array = _DsArray(self.file, name, dims, tuple(size), stored, dtype, fill)
            yield name, xr.Variable(dims, indexing.LazilyIndexedArray(array), attributes, self._encoding(size, encoded))

    def _netcdf_variables(self) -> Iterator[tuple[str, xr.Variable]]:
        for loss in self.file.handle.losses:
            warnings.warn(loss["what"], LossWarning, stacklevel=2)
        for entry in self.file.handle.variables:
            dtype = "S1" if entry["char"] else object if entry["type"] in ("str", "unicode") else entry["type"]
            array = _NetcdfArray(self.file, entry["name"], tuple(entry["shape"]), dtype)
            encoding = self._encoding(entry["shape"], array.dtype)
            if entry["chunks"] is not None:
                encoding["chunksizes"] = tuple(entry["chunks"])
                encoding["preferred_chunks"] = dict(zip(entry["dims"], entry["chunks"]))
            if dtype is object:
                encoding["dtype"] = str
            yield entry["name"], xr.Variable(entry["dims"], indexing.LazilyIndexedArray(array), entry["attributes"], encoding)

    def _encoding(self, shape: Iterable[int], dtype: Any) -> dict[str, Any]:
        encoding = {"original_shape": tuple(shape), "dtype": dtype}
        if isinstance(self.file.source, str):
            encoding["source"] = self.file.source
        return encoding


class WharfBackendEntrypoint(BackendEntrypoint):
    """The engine ``wharf`` of xarray."""

    description: ClassVar[str] = "Open ds (.ds) and NetCDF files with wharf-data"
    open_dataset_parameters: ClassVar[tuple[str, ...] | None] = (
        "filename_or_obj",
        "mask_and_scale",
        "decode_times",
        "concat_characters",
        "decode_coords",
        "drop_variables",
        "use_cftime",
        "decode_timedelta",
    )

    def guess_can_open(self, filename_or_obj: Any) -> bool:
        """True for ds files. NetCDF is left to other engines unless this one is named."""
        head = _head(filename_or_obj)
        if head is not None:
            return head.startswith(b"ds-")
        return isinstance(filename_or_obj, (str, os.PathLike)) and str(filename_or_obj).endswith(".ds")

    def open_dataset(
        self,
        filename_or_obj: Any,
        *,
        mask_and_scale: Any = True,
        decode_times: Any = True,
        concat_characters: Any = True,
        decode_coords: Any = True,
        drop_variables: str | Iterable[str] | None = None,
        use_cftime: Any = None,
        decode_timedelta: Any = None,
    ) -> xr.Dataset:
        """Opens a path, bytes, or a binary file; the arguments are those of ``xarray.open_dataset``.

        Raises:
            OSError: the file cannot be read.
            ValueError: it violates its format.
        """
        store = _Store(filename_or_obj)
        return StoreBackendEntrypoint().open_dataset(
            store,
            mask_and_scale=mask_and_scale,
            decode_times=decode_times,
            concat_characters=concat_characters,
            decode_coords=decode_coords,
            drop_variables=drop_variables,
            use_cftime=use_cftime,
            decode_timedelta=decode_timedelta,
        )


def to_ds(dataset: xr.Dataset | xr.DataArray, path: str | os.PathLike[str], *, sync: bool = False) -> None:
    """Writes a dataset as ds, encoded by the CF conventions as for NetCDF, so that ``open_dataset`` gives the same dataset back.

    Booleans and strings are stored as such. Arrays of objects may have strings, booleans, integers or floats, and missing elements: ``None``,
    NaN, NaT and ``pandas.NA``. ``sync`` waits until the data is on the disk. The file is replaced, completely or not at all.

    Raises:
        ValueError: no type of ds holds the values of a variable or an attribute; a name is empty.
        OSError: writing failed.
    """
    if isinstance(dataset, xr.DataArray):
        dataset = dataset.to_dataset(name=dataset.name or "__xarray_dataarray_variable__")
    booleans = {name for name, variable in dataset.variables.items() if variable.dtype == bool}
    variables, attributes = xr.conventions.encode_dataset_coordinates(dataset)
    encoded, attributes = xr.conventions.cf_encoder(variables, attributes)
    d: dict[str, Any] = {".": {".": _attributes("the dataset", attributes)}}
    for name, variable in encoded.items():
        if not str(name) or _ds.escape(str(name)) in d:
            raise ValueError(f"variable {name!r}: the name is empty, or another variable has it as text")
        key = str(_ds.escape(str(name)))
        source = variables[name] if name in booleans else variable
        data = source.to_numpy()
        if data.dtype == object:
            data = _from_objects(name, data)
        if data.dtype.name not in _ds._BITS and data.dtype.kind not in "USO":
            raise ValueError(f"variable {name!r}: no type of ds for {data.dtype}")
        d[key] = data[()] if data.ndim == 0 else data
        d["."][key] = {**_attributes(f"variable {name!r}", source.attrs), ".dims": [str(dim) for dim in source.dims]}
    _ds.validate(d)
    _ds._write_ds(os.fspath(path), d, sync=sync)


def _attributes(owner: str, attributes: Mapping[Any, Any]) -> dict[str, Any]:
    """Attributes by their keys in ds."""
    for name, value in attributes.items():
        try:
            json.dumps(value, default=_ds._json_default)
        except TypeError as error:
            raise ValueError(f"{owner}, attribute {name!r}: {error}") from None
    return {str(_ds.escape(str(name))): value for name, value in attributes.items()}


def _from_objects(name: Any, data: Any) -> Any:
    """Strings as they are, booleans and numbers in an array of their type; masked where elements are missing."""
    is_missing = pd.isnull(data.ravel())
    items = data.ravel()[~is_missing].tolist()
    if all(isinstance(item, (str, bytes)) for item in items):
        values = np.array(items, object)
    elif all(isinstance(item, (bool, np.bool_)) for item in items):
        values = np.array(items, bool)
    else:
        values = np.array([item for item in items if _is_number(item)])
        # An array of integers and floats may not have room for all of them.
        if values.dtype.kind not in "iuf" or values.tolist() != items:
            found = ", ".join(sorted({type(item).__name__ for item in items}))
            raise ValueError(f"variable {name!r}: expected strings, booleans or numbers that a type of ds holds, found {found}")
    whole = np.full(data.size, "" if values.dtype == object else 0, values.dtype)
    whole[~is_missing] = values
    whole = whole.reshape(data.shape)
    return np.ma.array(whole, mask=is_missing.reshape(data.shape)) if is_missing.any() else whole


def _is_number(item: Any) -> bool:
    return isinstance(item, (int, float, np.integer, np.floating)) and not isinstance(item, bool)
