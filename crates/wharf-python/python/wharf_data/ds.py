"""Datasets of n-dimensional arrays in dicts: reads and writes ds, NetCDF, CSV and JSON.

An independent implementation of the interface of the Python package ds-format 5 (``import wharf_data.ds as ds``). A dataset is a dict of numpy
arrays; its key ``"."`` holds a dict of metadata: attributes of the variables, their special keys (``.dims``, ``.size``, ``.type``, ``.time``), and
under another ``"."`` the attributes of the dataset. A name that begins with ``.`` or ``\\`` is escaped with one ``\\``.

>>> import tempfile, os
>>> path = os.path.join(tempfile.mkdtemp(), "week.ds")
>>> write(path, {"day": [1, 2, 3], "rain": [0.5, None, 2.0], ".": {"day": {".dims": ["day"]}, "rain": {".dims": ["day"], "units": "mm"}}})
>>> d = read(path)
>>> d["rain"]
masked_array(data=[0.5, --, 2.0],
             mask=[False,  True, False],
       fill_value=1e+20)
>>> attrs(d, "rain"), dims(d, "rain")
({'units': 'mm'}, ['day'])
>>> read(path, "rain", range_={"day": [1, None]})["rain"]
masked_array(data=[--, 2.0],
             mask=[ True, False],
       fill_value=1e+20)

What ds-format gets wrong is right here: booleans whose count is not a multiple of 8 are read; lists along several dimensions select all
combinations when reading, too; missing strings and byte strings in arrays of objects are written with the length that they have, which ds-format
miscounts, so that it cannot read the variables behind them; a nested list with ``None`` keeps its shape; ``variables="a"`` reads the variable
``a``, not all whose name is part of the text; times as text in ``at`` and ``between`` work, and variables there may have
another name than their dimension; ``select`` needs no ``sel``; ``split`` takes several dimensions and keeps the attributes of the dataset;
``merge``, ``apply`` and ``group_by`` return a type that holds all results, where ds-format cuts them to that of the first dataset or of the input,
and keep masks. A file is written completely, or not at all. Errors are those of ``wharf_data``, most of which are also ``OSError`` or ``ValueError``.

Left out: HDF5 that is not NetCDF; ``ds_format.cmd``, which the command ``wharf`` replaces, with its ``output`` and ``indent``; and what ``misc``, ``op`` and
``drivers`` do not export at the top.
"""

from __future__ import annotations

import builtins
import copy as _copy
import fnmatch
import glob
import io
import json
import os
import re
import sys
import traceback
import warnings as _warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timezone
from typing import Any, Literal

import numpy as np

import wharf_data._native as _native

from ._errors import LossWarning, UsageError
from ._errors import make as _make_error

#: What happens when a variable, dimension or attribute does not exist: ``soft`` (nothing), ``moderate`` (a warning), ``strict`` (`NameError`).
mode: str = os.environ.get("DS_MODE", "soft")

Dataset = dict[str, Any]
_Path = str | bytes | os.PathLike[str]

_JULIAN_UNITS = "days since -4713-11-24 12:00 UTC"
_JULIAN_CALENDAR = "proleptic_gregorian"

#: Types and the bits of an element; those of strings are of the lengths.
_BITS: dict[str | None, int] = {
    "float32": 32,
    "float64": 64,
    "int8": 8,
    "int16": 16,
    "int32": 32,
    "int64": 64,
    "uint8": 8,
    "uint16": 16,
    "uint32": 32,
    "uint64": 64,
    "bool": 1,
    "str": 64,
    "unicode": 64,
    None: 0,
}

_TEXT = ("str", "unicode")


def _expect(valid: bool, name: str) -> None:
    if not valid:
        raise ValueError(f"{name}: invalid type")


def _is_names(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and all(isinstance(name, str) for name in value)


def _is_str_dict(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(key, str) for key in value)


def _one(value: tuple[Any, ...]) -> Any:
    """The only optional argument."""
    if len(value) != 1:
        raise TypeError("only one value argument is expected")
    return value[0]


# Names and types.


def escape(name: str | None) -> str | None:
    """Escapes a name for use as a key: one that begins with ``.`` or ``\\`` gets another ``\\``."""
    _expect(name is None or isinstance(name, str), "name")
    return "\\" + name if name is not None and name.startswith((".", "\\")) else name


def unescape(name: str | None) -> str | None:
    """Reverses ``escape()``."""
    _expect(name is None or isinstance(name, str), "name")
    return name[1:] if name is not None and name.startswith(("\\.", "\\\\")) else name


def _key(name: str) -> str:
    return "\\" + name if name.startswith((".", "\\")) else name


def _hidden(key: Any) -> bool:
    return isinstance(key, (str, bytes)) and key[:1] in (".", b".")


def _type_of(data: Any) -> str | None:
    """The type of an array or scalar in ds."""
    dtype = data.dtype
    match dtype.kind:
        case "f" | "i" | "u":
            return {"f": "float", "i": "int", "u": "uint"}[dtype.kind] + str(dtype.itemsize * 8)
        case "b":
            return "bool"
        case "U":
            return "unicode"
        case "S":
            return "str"
        case "O":
            if not isinstance(data, np.ndarray):
                return "unicode"
            missing = np.ma.getmaskarray(data)
            items = np.ma.getdata(data)[~missing]
            return "str" if all(isinstance(item, bytes) for item in items) and (items.size or not missing.any()) else "unicode"
    return None


def _dtype_of(type_: str | None) -> np.dtype[Any] | None:
    if type_ not in _BITS or type_ is None:
        return None
    return np.dtype(object if type_ in _TEXT else type_)


def _normalized(data: Any) -> Any:
    """An array, masked array or numpy scalar; a list or array with ``None`` becomes a masked array.

    Raises:
        ValueError: no type of ds holds the values.
    """
    if isinstance(data, (list, tuple)):
        data = _from_list(data)
    elif isinstance(data, (int, float, bool, str, bytes)) and not isinstance(data, np.generic):
        data = np.array(data)[()]
    if data is None:
        return None
    if isinstance(data, (np.ndarray, np.generic)):
        name = data.dtype.name
        if name in _BITS or name.startswith(("str", "bytes")):
            valid = True
        else:
            valid = name == "object" and all(
                isinstance(item, (str, bytes)) or item is None or item is np.ma.masked for item in np.ravel(data)
            )
        if valid:
            if name == "object":
                data = _without_none(data)
            return data[()] if isinstance(data, np.ndarray) and data.ndim == 0 else data
    raise ValueError("invalid data type")


def _without_none(data: Any) -> Any:
    """An array of objects with the elements that are ``None`` masked, and 0 in their places, as in lists."""
    missing = np.array([item is None for item in np.ravel(np.ma.getdata(data))], bool).reshape(data.shape)
    mask = np.ma.getmaskarray(data)
    if data.ndim == 0 or not (missing & ~mask).any():
        return data
    values = np.ma.getdata(data).copy()
    values[missing] = 0
    return np.ma.array(values, mask=missing | mask)


def _from_list(data: Sequence[Any]) -> Any:
    with _warnings.catch_warnings():
        _warnings.simplefilter("ignore")
        array = np.ma.asarray(data)
    missing = np.ma.getmaskarray(array).copy()
    if array.dtype == object:
        missing |= np.array([item is None for item in array.data.flat], bool).reshape(array.shape)
    if not missing.any():
        return np.asarray(data)
    items = [0 if is_missing else item for item, is_missing in zip(array.data.flatten().tolist(), missing.flat)]
    return np.ma.array(np.array(items).reshape(array.shape), mask=missing)


# Metadata.


@contextmanager
def with_mode(mode: str) -> Iterator[None]:
    """Sets ``mode`` for a block."""
    _expect(isinstance(mode, str), "mode")
    before = globals()["mode"]
    globals()["mode"] = mode
    try:
        yield
    finally:
        globals()["mode"] = before


def require(d: Dataset, what: str, name: str, var: str | None = None, full: bool = False) -> bool:
    """True if a variable (``what="var"``), dimension (``"dim"``) or attribute (``"attr"``) exists. Otherwise what ``mode`` says.

    Raises:
        NameError: it does not exist, and ``mode`` is ``strict``.
    """
    _expect(isinstance(d, dict), "d")
    _expect(isinstance(what, str), "what")
    _expect(isinstance(name, str), "name")
    _expect(var is None or isinstance(var, str), "var")
    match what:
        case "var":
            known = name in vars(d, full=full)
        case "dim":
            known = name in dims(d, var, full=full)
        case "attr":
            known = name in attrs(d, var)
        case _:
            raise ValueError(f'invalid value of the what argument "{what}"')
    if known:
        return True
    message = f"{name}: {_LABELS[what]} not found"
    if mode == "strict":
        raise NameError(message)
    if mode == "moderate":
        _warnings.warn(message, stacklevel=3)
    return False


_LABELS = {"var": "variable", "dim": "dimension", "attr": "attribute"}


def meta(d: Dataset, var: str | None = None, *value: Any, create: bool = False) -> Any:
    """Gets or sets metadata: of the dataset, of a variable, or with ``""`` the attributes of the dataset.

    ``None`` as value removes it. With ``create``, a dict that is not there is added, so that changes of it count.
    """
    _expect(isinstance(d, dict), "d")
    _expect(var is None or isinstance(var, str), "var")
    key = "." if var == "" else None if var is None else _key(var)
    if value:
        new = _one(value)
        _expect(new is None or _is_str_dict(new), "value")
        if key is None:
            if new is None:
                del d["."]
            else:
                d["."] = new
        elif new is None:
            meta(d, create=True).pop(key, None)
        else:
            meta(d, create=True)[key] = new
        return None
    if key is None:
        return d.setdefault(".", {}) if create else d.get(".", {})
    all_meta = meta(d, create=create)
    if key in all_meta:
        return all_meta[key]
    if create:
        return all_meta.setdefault(key, {})
    if var:
        require(d, "var", var, full=True)
    return {}


def vars(d: Dataset, full: bool = False) -> list[str]:
    """The names of the variables, sorted; with ``full`` also of those that are in the metadata only."""
    _expect(isinstance(d, dict), "d")
    keys = d.keys() | meta(d).keys() if full else d.keys()
    return sorted(str(unescape(key)) for key in keys if not _hidden(key))


def var(d: Dataset, var: str, *value: Any) -> Any:
    """Gets or sets the data of a variable: an array, a masked array, or a numpy scalar; ``None`` if there is none.

    Lists become arrays; lists and arrays of objects that contain ``None`` become masked arrays.

    Raises:
        ValueError: no type of ds holds the values.
    """
    _expect(isinstance(d, dict), "d")
    _expect(isinstance(var, str), "var")
    if value:
        d[_key(var)] = _normalized(_one(value))
        return None
    # As `require()`, which sorts the names of all variables.
    key = _key(var)
    if key in d and not _hidden(key) or require(d, "var", var):
        return _normalized(d[key])
    return None


def attr(d: Dataset, attr: str, *value: Any, var: str | None = None) -> Any:
    """Gets or sets an attribute of a variable, or of the dataset."""
    _expect(isinstance(d, dict), "d")
    _expect(isinstance(attr, str), "attr")
    _expect(var is None or isinstance(var, str), "var")
    if value:
        meta(d, "" if var is None else var, create=True)[_key(attr)] = _one(value)
        return None
    return attrs(d, var)[attr] if require(d, "attr", attr, var) else None


def attrs(d: Dataset, var: str | None = None, *value: Any) -> Any:
    """Gets the attributes of a variable or of the dataset as a dict, or sets those of a dict."""
    _expect(isinstance(d, dict), "d")
    _expect(var is None or isinstance(var, str), "var")
    if value:
        new = _one(value)
        _expect(_is_str_dict(new), "value")
        for name, content in new.items():
            attr(d, name, content, var=var)
        return None
    found = meta(d, "" if var is None else var)
    return {unescape(key): content for key, content in found.items() if not _hidden(key)}


def dims(d: Dataset, var: str | None = None, *value: Any, full: bool = False, size: bool = False) -> Any:
    """Gets the dimensions of a variable or of the dataset, with ``size`` as a dict with sizes; or sets those of a variable.

    Without names they are generated: ``name_1``, ``name_2``... ``None`` as value removes the names.
    """
    _expect(isinstance(d, dict), "d")
    _expect(var is None or isinstance(var, str), "var")
    if value:
        new = _one(value)
        _expect(new is None or _is_names(new), "value")
        if var is None:
            raise TypeError("var must be defined")
        found = meta(d, var, create=True)
        if new is None:
            found.pop(".dims", None)
        else:
            found[".dims"] = new
        return None
    if var is None:
        if size:
            return {name: n for one in vars(d, full) for name, n in dims(d, one, size=True).items()}
        return sorted({name for one in vars(d, full) for name in dims(d, one)})
    found = meta(d, var)
    names = found.get(".dims")
    if names is None:
        names = _generated_dims(d, var)
    elif isinstance(names, str):
        names = [names]
    if not size:
        return list(names) if isinstance(names, tuple) else names
    with with_mode("soft"):
        data = globals()["var"](d, var)
    sizes = data.shape if data is not None else found.get(".size") or [None] * len(names)
    return dict(zip(names, sizes))


def _generated_dims(d: Dataset, var: str) -> list[str]:
    sizes = size(d, var)
    return [] if sizes is None else [f"{var}_{number}" for number in range(1, len(sizes) + 1)]


def get_dims(d: Dataset, var: str | None = None, full: bool = False, size: bool = False) -> Any:
    """As ``dims()``; sizes for those of the dataset."""
    return dims(d, var, full=full, size=size or var is None)


def dim(d: Dataset, dim: str, full: bool = False) -> int:
    """The size of a dimension; 0 if there is none. With ``full`` also of variables that are in the metadata only."""
    _expect(isinstance(d, dict), "d")
    _expect(isinstance(dim, str), "dim")
    return dims(d, full=full, size=True)[dim] if require(d, "dim", dim, full=full) else 0


def size(d: Dataset, var: str) -> list[int] | None:
    """The sizes of a variable: of its data, or by its metadata."""
    _expect(isinstance(d, dict), "d")
    _expect(isinstance(var, str), "var")
    if not require(d, "var", var, full=True):
        return None
    if _key(var) in d:
        data = globals()["var"](d, var)
        return [] if data is None else list(data.shape)
    sizes = meta(d, var).get(".size")
    return None if sizes is None else list(sizes)


def type(d: Dataset, var: str, *value: str) -> str | None:
    """Gets or sets the type of a variable, such as ``float32``: that of its data, or by its metadata. Setting it converts the data."""
    _expect(isinstance(d, dict), "d")
    _expect(isinstance(var, str), "var")
    if not value:
        if not require(d, "var", var, full=True):
            return None
        with with_mode("soft"):
            data = globals()["var"](d, var)
        return meta(d, var).get(".type") if data is None else _type_of(data)
    new = _one(value)
    _expect(isinstance(new, str), "value")
    if new not in _BITS:
        raise ValueError("invalid type")
    meta(d, var, create=True)[".type"] = new
    data = globals()["var"](d, var)
    if data is None:
        return None
    if new in _TEXT:
        convert = (lambda item: _text(item).encode()) if new == "str" else _text
        items = np.empty(data.size, object)
        items[:] = [convert(item) for item in np.ma.getdata(data).flatten().tolist()]
        items = items.reshape(data.shape)
        data = np.ma.array(items, mask=data.mask) if np.ma.isMaskedArray(data) else items
    else:
        data = data.astype(_dtype_of(new))
    globals()["var"](d, var, data)
    return None


def _text(item: Any) -> str:
    return item.decode() if isinstance(item, bytes) else str(item)


def time(d: Dataset, var: str, *value: bool) -> bool | None:
    """Gets or sets whether the values of a variable are times in Julian dates."""
    _expect(isinstance(d, dict), "d")
    _expect(isinstance(var, str), "var")
    if not value:
        return meta(d, var).get(".time") is True
    new = _one(value)
    _expect(isinstance(new, bool), "value")
    found = meta(d, var, create=True)
    if new:
        found[".time"] = True
    else:
        found.pop(".time", None)
    return None


get_attrs = attrs
get_meta = meta
get_vars = vars


def copy(d: Dataset) -> Dataset:
    """A dataset with the same arrays, and a copy of the metadata."""
    copied: Dataset = {}
    for name in vars(d):
        var(copied, name, var(d, name))
    meta(copied, None, _copy.deepcopy(meta(d)))
    return copied


def validate(d: Dataset) -> None:
    """Checks a dataset.

    Raises:
        ValueError: the number of dimensions of a variable differs from that of its data, or variables disagree on the size of a dimension.
    """
    if not isinstance(d, dict):
        raise ValueError("dataset must be an instance of dict")
    if not isinstance(d.get(".", {}), dict):
        raise ValueError('dataset metadata "." must be an instance of dict')
    if not isinstance(d.get(".", {}).get(".", {}), dict):
        raise ValueError('dataset attributes "./." must be an instance of dict')
    sizes: dict[str, int] = {}
    for name in vars(d):
        data, names = var(d, name), dims(d, name)
        if data is None:
            continue
        if len(names) != data.ndim:
            raise ValueError(
                f'dataset variable "{name}" has inconsistent number of dimensions: {len(names)} dimensions defined ("{names}") but data '
                f"has {data.ndim} dimensions"
            )
        for dimension, n in zip(names, data.shape):
            if sizes.setdefault(dimension, n) != n:
                raise ValueError(f'dimension "{dimension}" has inconsistent size between variables')


# Finding, renaming, removing.


def find(d: Dataset, what: str, name: str, var: str | None = None) -> str:
    """The name of the only variable, dimension or attribute that matches a glob pattern; the pattern if there is none.

    Raises:
        ValueError: several match.
    """
    names = findall(d, what, name, var)
    if len(names) > 1:
        raise ValueError(f'more than one {_LABELS[what]} is matching the pattern "{name}"')
    return names[0]


def findall(d: Dataset, what: str, name: str, var: str | None = None) -> list[str]:
    """The names of the variables, dimensions or attributes that match a glob pattern; the pattern if there is none."""
    _expect(isinstance(d, dict), "d")
    _expect(isinstance(what, str), "what")
    _expect(isinstance(name, str), "name")
    _expect(var is None or isinstance(var, str), "var")
    known: Iterable[str]
    match what:
        case "var":
            known = vars(d, full=True)
        case "attr":
            known = attrs(d, var)
        case "dim":
            known = dims(d, var, full=True)
        case _:
            raise ValueError(f'invalid value of the what argument "{what}"')
    return fnmatch.filter(known, name) or [name]


def rename(d: Dataset, old: str, new: str | None) -> None:
    """Renames a variable and its dimension; ``None`` removes the variable."""
    _expect(isinstance(d, dict), "d")
    _expect(isinstance(old, str), "old")
    _expect(new is None or isinstance(new, str), "new")
    rename_m(d, {old: new})


def rename_m(d: Dataset, mapping: Mapping[str, str | None]) -> None:
    """Renames variables and their dimensions; ``None`` removes a variable. Names can be swapped."""
    _expect(isinstance(d, dict), "d")
    _expect(_is_str_dict(mapping), "mapping")
    taken = {}
    for old in mapping:
        if require(d, "var", old):
            taken[old] = var(d, old), meta(d, old)
            rm(d, old)
    for old, (data, found) in taken.items():
        new = mapping[old]
        if new is not None:
            var(d, new, data)
            meta(d, new, found)
    rename_dim_m(d, {old: new for old, new in mapping.items() if new is not None})


def rename_attr(d: Dataset, old: str, new: str | None, var: str | None = None) -> None:
    """Renames an attribute of a variable or of the dataset; ``None`` removes it."""
    _expect(isinstance(d, dict), "d")
    _expect(isinstance(old, str), "old")
    _expect(new is None or isinstance(new, str), "new")
    rename_attr_m(d, {old: new}, var)


def rename_attr_m(d: Dataset, mapping: Mapping[str, str | None], var: str | None = None) -> None:
    """Renames attributes of a variable or of the dataset; ``None`` removes one. Names can be swapped."""
    _expect(isinstance(d, dict), "d")
    _expect(_is_str_dict(mapping), "mapping")
    _expect(var is None or isinstance(var, str), "var")
    taken = {}
    for old in mapping:
        if require(d, "attr", old, var):
            taken[old] = attr(d, old, var=var)
            rm_attr(d, old, var)
    for old, content in taken.items():
        new = mapping[old]
        if new is not None:
            attr(d, new, content, var=var)


def rename_dim(d: Dataset, old: str, new: str) -> None:
    """Renames a dimension."""
    _expect(isinstance(d, dict), "d")
    _expect(isinstance(old, str), "old")
    _expect(isinstance(new, str), "new")
    rename_dim_m(d, {old: new})


def rename_dim_m(d: Dataset, mapping: Mapping[str, str]) -> None:
    """Renames dimensions. Names can be swapped."""
    _expect(isinstance(d, dict), "d")
    _expect(_is_str_dict(mapping), "mapping")
    for name in vars(d, full=True):
        names = dims(d, name)
        if any(old in names for old in mapping):
            dims(d, name, [mapping.get(old, old) for old in names])


def rm(d: Dataset, var: str) -> None:
    """Removes a variable."""
    _expect(isinstance(d, dict), "d")
    _expect(isinstance(var, str), "var")
    d.pop(_key(var), None)
    meta(d).pop(_key(var), None)


def rm_attr(d: Dataset, attr: str, var: str | None = None) -> None:
    """Removes an attribute of a variable or of the dataset."""
    _expect(isinstance(d, dict), "d")
    _expect(isinstance(attr, str), "attr")
    _expect(var is None or isinstance(var, str), "var")
    if require(d, "attr", attr, var):
        del meta(d, "" if var is None else var)[_key(attr)]


# Selecting.


def select(
    d: Dataset,
    sel: Mapping[str, Any] | None = None,
    range_: Mapping[str, Sequence[int | None]] | None = None,
    at: Mapping[str, Any] | None = None,
    between: Mapping[str, Sequence[Any]] | None = None,
) -> None:
    """Keeps a part of all variables. Several selectors are intersected.

    Args:
        sel: dimensions with an index (which drops the dimension), a list or array of indices, a mask, or a slice.
        range_: dimensions with a first and an end index; ``None`` for no bound, negative ones count from the end.
        at: variables with a value, or several: selects the nearest elements. Times may be text in ISO 8601.
        between: variables with a pair of bounds, the first inclusive, the second exclusive; ``None`` for no bound.

    Raises:
        UsageError: an index is out of range, a mask has another length than its dimension, a text is not a time, or ``at`` has nothing to
            select from.
    """
    _expect(isinstance(d, dict), "d")
    sizes = dims(d, size=True)
    chosen = _selection(lambda name: d if name in vars(d) else None, sizes, sel, range_, at, between)
    for name in vars(d):
        names = list(dims(d, name))
        data = var(d, name)
        if data is None or not any(dimension in chosen for dimension in names):
            continue
        var(d, name, _taken(data, names, chosen))
        meta(d, name, create=True)[".dims"] = _kept(names, chosen)


def _kept(names: Iterable[str], sel: Mapping[str, Any]) -> list[str]:
    """The dimensions that a selection does not drop."""
    return [name for name in names if name not in sel or isinstance(sel[name], (np.ndarray, slice))]


def _taken(data: Any, names: Sequence[str], sel: Mapping[str, Any]) -> Any:
    """Selects along each dimension by itself."""
    axis = 0
    for name in names:
        if name not in sel:
            axis += 1
            continue
        index = sel[name]
        data = data[(slice(None),) * axis + (index,)]
        axis += isinstance(index, (np.ndarray, slice))
    return data


def _selection(
    dataset_of: Callable[[str], Dataset | None],
    sizes: Mapping[str, int | None],
    sel: Mapping[str, Any] | None,
    range_: Mapping[str, Sequence[int | None]] | None,
    at: Mapping[str, Any] | None,
    between: Mapping[str, Sequence[Any]] | None,
) -> dict[str, Any]:
    """Selectors as indices by dimension: integers, slices, and arrays of integers. ``dataset_of`` returns a dataset with a variable, ``sizes`` has
    the sizes of the dimensions."""
    for name, selector in (("sel", sel), ("range_", range_), ("at", at), ("between", between)):
        _expect(selector is None or _is_str_dict(selector), name)
    chosen: dict[str, Any] = {}

    def add(dimension: str, index: Any) -> None:
        if dimension in chosen:
            n = sizes.get(dimension) or 0
            chosen[dimension] = np.intersect1d(_indices(chosen[dimension], n), _indices(index, n))
        else:
            chosen[dimension] = index

    for dimension, index in (sel or {}).items():
        if isinstance(index, Mapping):
            raise ValueError("invalid selector")
        add(dimension, _index(dimension, index, sizes.get(dimension)))
    for dimension, (first, end) in (range_ or {}).items():
        add(dimension, slice(first, end))
    for name, value in (at or {}).items():
        d = dataset_of(name)
        if d is None:
            raise ValueError(f"at: {name}: variable not found")
        nearest: dict[str, Any] = {}
        values = value if isinstance(value, (list, tuple, np.ndarray)) else [value]
        for one in values:
            data, (wanted,) = _comparable(d, name, [one])
            position = np.unravel_index(_nearest(name, data, wanted), data.shape)
            for dimension, index in zip(dims(d, name), position):
                nearest[dimension] = np.union1d(nearest[dimension], index) if dimension in nearest else int(index)
        for dimension, index in nearest.items():
            add(dimension, index)
    for name, bounds in (between or {}).items():
        d = dataset_of(name)
        if d is None:
            raise ValueError(f"between: {name}: variable not found")
        data, (first, end) = _comparable(d, name, list(bounds))
        inside = np.ones(data.shape, bool)
        if first is not None:
            inside &= np.ma.filled(data >= first, False)
        if end is not None:
            inside &= np.ma.filled(data < end, False)
        names = dims(d, name)
        if len(names) != 1:
            raise ValueError(f"between: {name}: expected one dimension, found {len(names)}")
        add(names[0], np.nonzero(inside)[0])
    return chosen


def _index(dimension: str, index: Any, n: int | None) -> Any:
    """An index, a slice, or an array of indices. ``n`` is the size of the dimension, if it is known."""
    if isinstance(index, slice):
        return index
    array = np.asarray(index)
    if array.dtype == bool and array.ndim == 1:
        if n is not None and len(array) != n:
            raise UsageError(f"sel: {dimension}: expected a mask of {n} elements, found {len(array)}")
        return np.nonzero(array)[0]
    if array.size == 0:
        return array.astype(int)
    if array.dtype.kind not in "iu" or array.ndim > 1:
        raise TypeError(f"sel: {dimension}: expected an index, a slice, a list of indices or a mask, found {index!r}")
    if n is not None:
        for outside in array[(array < -n) | (array >= n)].flat:
            raise UsageError(f"sel: {dimension}: index {outside} is out of range: the dimension has {n} elements")
    return array if array.ndim else int(array)


def _indices(index: Any, n: int) -> Any:
    if isinstance(index, slice):
        return np.arange(n)[index]
    index = np.asarray(index)
    return np.where(index < 0, index + n, index)


def _nearest(name: str, data: Any, value: Any) -> int:
    """The index of the element that is nearest to a value, in C order."""
    kind = None if data is None else data.dtype.kind
    if kind not in tuple("biuf"):
        raise UsageError(f"at: {name}: expected a variable with numbers, found {'no data' if data is None else data.dtype.name}")
    values = np.ma.getdata(data).ravel()
    # Differences of integers need not fit into their type.
    if kind in "iu" and isinstance(value, (int, np.integer)) and _fits(value, wide := np.dtype(f"{kind}8")):
        values, value = values.astype(wide), wide.type(value)
        distances = np.maximum(values, value).astype(np.uint64) - np.minimum(values, value).astype(np.uint64)
    else:
        distances = np.abs(values.astype(np.float64) - float(value))
    known = np.nonzero(~np.ma.getmaskarray(data).ravel() & ~np.isnan(distances))[0]
    if not known.size:
        raise UsageError(f"at: {name}: no element is near {value!r}: all are missing or not numbers")
    return int(known[np.argmin(distances[known])])


def _fits(value: Any, dtype: np.dtype[Any]) -> bool:
    limits = np.iinfo(dtype)
    return bool(limits.min <= int(value) <= limits.max)


def _comparable(d: Dataset, name: str, values: list[Any]) -> tuple[Any, list[Any]]:
    """The data of a variable and values to compare with it: Julian dates if a value is text."""
    data = var(d, name)
    if any(isinstance(value, str) for value in values):
        values = [_julian_of_iso(name, value) if isinstance(value, str) else value for value in values]
        if not time(d, name):
            data = _julian(data, meta(d, name))
            if data is None:
                raise UsageError(f"{name}: expected times with units, which text can be compared with")
    return data, values


def _julian_of_iso(name: str, text: str) -> float:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(f"{name}: expected a time such as 2000-01-31 or 2000-01-31T12:00:00Z, found {text!r}") from None
    since = moment.replace(tzinfo=moment.tzinfo or timezone.utc) - datetime(1970, 1, 1, tzinfo=timezone.utc)
    return since.total_seconds() / 86400 + 2440587.5


def time_dt(time: Iterable[str]) -> list[datetime | None]:
    """Texts such as ``2000-01-31 12:00:00`` as datetimes; ``None`` for others."""

    def parsed(text: str) -> datetime | None:
        for pattern in ("%Y-%m-%d %H:%M:%S.%f", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%SZ"):
            try:
                return datetime.strptime(text, pattern)
            except (TypeError, ValueError):
                continue
        return None

    return [parsed(text) for text in time]


# Computing.


def apply(
    d: Dataset,
    func: Callable[..., Any],
    dims: str | Sequence[str] | None = None,
    newdims: str | Sequence[str] | None = None,
    vars: Iterable[str] | None = None,
    with_sel: bool = False,
) -> None:
    """Replaces variables by a function of them, or of their parts along ``dims``.

    The function takes an array, and with ``with_sel`` a dict with the indices of the part. It returns an array or scalar; a result with fewer
    dimensions drops the last of ``dims``, one with more needs ``newdims``.
    """
    _expect(isinstance(d, dict), "d")
    if not callable(func):
        raise TypeError("func must be callable")
    _expect(dims is None or isinstance(dims, str) or _is_names(dims), "dims")
    along = [dims] if isinstance(dims, str) else None if dims is None else list(dims)
    new = [newdims] if isinstance(newdims, str) else None if newdims is None else list(newdims)
    for name in globals()["vars"](d) if vars is None else vars:
        if require(d, "var", name):
            _apply_to(d, name, func, along, new, with_sel)


def _apply_to(
    d: Dataset, name: str, func: Callable[..., Any], along: list[str] | None, new: list[str] | None, with_sel: bool
) -> None:
    data, names = var(d, name), list(dims(d, name))
    if along is None:
        var(d, name, func(data, {}) if with_sel else func(data))
        if new is not None:
            dims(d, name, new)
        return
    if any(dimension not in names for dimension in along):
        return
    axes = sorted(names.index(dimension) for dimension in along)
    others = [axis for axis in range(data.ndim) if axis not in axes]
    result_names = [names[axis] for axis in axes] if new is None else new
    parts = np.moveaxis(data, others, range(len(others)))
    outer = parts.shape[: len(others)]
    results = {}
    for index in np.ndindex(outer):
        sel = dict(zip((names[axis] for axis in others), index))
        results[index] = np.asanyarray(func(parts[index], sel) if with_sel else func(parts[index]))
    inner = next(iter(results.values())).shape if results else ()
    out = _zeros_for(list(results.values()), outer + inner, data.dtype)
    for index, result in results.items():
        out[index] = result
    # The dimensions of the result take the places of those of the part; more of them follow the last.
    order = [(axis, "outer", number) for number, axis in enumerate(others)]
    places = axes[: len(inner)] + [axes[-1]] * (len(inner) - len(axes))
    order += [(axis, "result", number) for number, axis in enumerate(places)]
    order.sort(key=lambda entry: (entry[0], entry[2] if entry[1] == "result" else -1))
    source = [number if kind == "outer" else len(others) + number for _, kind, number in order]
    var(d, name, np.transpose(out, source))
    outer_names = [names[axis] for axis in others]
    dims(d, name, [outer_names[number] if kind == "outer" else result_names[number] for _, kind, number in order])


def group_by(d: Dataset, dim: str, group: Any, func: Callable[..., Any]) -> None:
    """Replaces groups along a dimension by ``func(part, axis=axis)``, in ascending order. ``group`` has a label for each element."""
    _expect(isinstance(d, dict), "d")
    _expect(isinstance(dim, str), "dim")
    _expect(isinstance(group, (np.ndarray, list, tuple)), "group")
    if not callable(func):
        raise TypeError("func must be callable")
    labels = np.asarray(group)
    groups = sorted(set(group))
    for name in vars(d):
        data, names = var(d, name), dims(d, name)
        if data is None or dim not in names:
            continue
        axis = names.index(dim)
        sizes = list(data.shape)
        sizes[axis] = len(groups)
        before = (slice(None),) * axis
        results = [np.asanyarray(func(data[(*before, labels == label)], axis=axis)) for label in groups]
        out = _zeros_for(results, tuple(sizes), data.dtype)
        for number, result in enumerate(results):
            out[(*before, number)] = result
        var(d, name, out)


def _zeros_for(results: Sequence[Any], shape: tuple[int, ...], default: np.dtype[Any]) -> Any:
    """An array that takes results: of a type that holds all of them, and masked if one of them is. ``default`` is its type without any."""
    types = [result.dtype for result in results if result is not np.ma.masked]
    out = np.zeros(shape, np.result_type(*types) if types else default)
    return np.ma.array(out) if any(isinstance(result, np.ma.MaskedArray) for result in results) else out


def merge(
    dd: Sequence[Dataset], dim: str, new: str | None = None, variables: Sequence[str] | None = None, jd: bool = True
) -> Dataset:
    """Merges datasets along a dimension.

    A variable with the dimension is concatenated. If no dataset has the dimension, variables (those of ``variables``) are stacked along it.
    Others are taken from the first dataset, or with ``new`` stacked along that dimension. What a dataset does not have is missing. Times with
    different units become Julian dates if ``jd`` is set; other values with different units are a warning. The type is one that holds all values.

    Raises:
        ValueError: the dimensions, sizes or types of a variable do not fit together.
    """
    _expect(isinstance(dd, (list, tuple)) and all(isinstance(d, dict) for d in dd), "dd")
    _expect(isinstance(dim, str), "dim")
    _expect(new is None or isinstance(new, str), "new")
    _expect(variables is None or _is_names(variables), "variables")
    _expect(isinstance(jd, bool), "jd")
    merged: Dataset = {".": {".": {}}}
    is_new = all(dim not in dims(d) for d in dd)
    for name in sorted({name for d in dd for name in vars(d)}):
        names = next(dims(d, name) for d in dd if name in vars(d))
        stacked = variables is None or name in variables
        if is_new and stacked or dim in names:
            data, found = _merge_var(dd, name, dim, jd)
        elif new is not None and stacked:
            data, found = _merge_var(dd, name, new, jd)
        else:
            data, found = var(dd[0], name), meta(dd[0], name)
        var(merged, name, data)
        meta(merged, name, found)
    for d in dd:
        merged["."]["."].update(meta(d, ""))
    return merged


def _merge_var(dd: Sequence[Dataset], name: str, dim_: str, jd: bool) -> tuple[Any, dict[str, Any]]:
    first = next(d for d in dd if name in vars(d))
    names, sizes = list(dims(first, name)), list(size(first, name) or [])
    axis = names.index(dim_) if dim_ in names else None
    parts = _of_one_unit(name, [d if name in vars(d) else None for d in dd], jd)
    counts = [1 if axis is None else dim(d, dim_) for d in dd]
    shape = [sum(counts), *sizes] if axis is None else [sum(counts) if i == axis else n for i, n in enumerate(sizes)]
    arrays = [var(part, name) for part in parts if part is not None]
    types = [np.dtype(object) if data.dtype.kind in "US" else data.dtype for data in arrays if data is not None]
    if len({dtype.kind == "O" for dtype in types}) > 1:
        raise ValueError(f'merge: incompatible types in variable "{name}": text and numbers')
    dtype = np.result_type(*types) if types else _dtype_of(type(first, name))
    out = np.ma.array(np.zeros(shape, dtype), mask=np.ones(shape, bool))
    found: dict[str, Any] = {}
    at = 0
    for part, count in zip(parts, counts):
        if part is not None:
            data = var(part, name)
            if list(dims(part, name)) != names:
                raise ValueError(f'merge: incompatible dimensions in variable "{name}"')
            own = list(data.shape) if data is not None else sizes
            if len(own) != len(sizes) or any(i != axis and n != m for i, (n, m) in enumerate(zip(own, sizes))):
                raise ValueError(f'merge: incompatible size in variable "{name}"')
            place = (at,) if axis is None else (slice(None),) * axis + (slice(at, at + count),)
            out[place] = np.ma.masked if data is None else data
            found.update(meta(part, name))
        at += count
    found[".dims"] = names if axis is not None else [dim_, *names]
    return out, found


def _of_one_unit(name: str, parts: list[Dataset | None], jd: bool) -> list[Dataset | None]:
    """Parts of a variable: with ``jd``, times with different units as Julian dates. Warns if units still differ."""

    def units() -> set[Any]:
        known = [part for part in parts if part is not None and var(part, name) is not None]
        return {str(attrs(part, name).get("units", "no units")) for part in known}

    if jd and len(units()) > 1:
        parts = [None if part is None else {_key(name): var(part, name), ".": {_key(name): dict(meta(part, name))}} for part in parts]
        for part in parts:
            if part is not None:
                _process_time(part, name)
    found = sorted(units())
    if len(found) > 1:
        _warnings.warn(f"merge: {name}: values with different units are not converted: {', '.join(found)}", stacklevel=4)
    return parts


def split(d: Dataset, dims: str | Sequence[str]) -> list[Dataset]:
    """Splits a dataset along dimensions: one dataset for each combination of indices."""
    _expect(isinstance(d, dict), "d")
    _expect(isinstance(dims, str) or _is_names(dims), "dims")
    along = [dims] if isinstance(dims, str) else list(dims)
    sizes = [dim(d, name) for name in along]
    parts: list[Dataset] = []
    for index in np.ndindex(*[n or 1 for n in sizes]):
        sel = dict(zip(along, (int(i) for i in index)))
        part: Dataset = {}
        for name in vars(d):
            names, data = list(globals()["dims"](d, name)), var(d, name)
            found = _copy.deepcopy(meta(d, name, create=True))
            if any(dimension in sel for dimension in names):
                data = _taken(data, names, sel)
                found[".dims"] = _kept(names, sel)
                found[".size"] = list(data.shape)
            var(part, name, data.copy() if isinstance(data, np.ndarray) else data)
            meta(part, name, found)
        meta(part, "", _copy.deepcopy(meta(d, "", create=True)))
        parts.append(part)
    return parts


# Times.


def _julian(data: Any, found: Mapping[str, Any]) -> Any:
    """Julian dates of data with CF units, NaN where it is missing; ``None`` if it is no time."""
    units, calendar = found.get("units"), found.get("calendar", "standard")
    if not isinstance(data, (np.ndarray, np.generic)) or not isinstance(units, str) or data.dtype.kind not in "iuf":
        return None
    if re.match(r"^days since -4712-01-01[T ]12:00(:00)?( UTC)?$", units) and calendar in (None, "standard"):
        units, calendar = _JULIAN_UNITS, _JULIAN_CALENDAR
    if calendar not in ("standard", "gregorian", "julian", "proleptic_gregorian", "noleap", "365_day", "360_day"):
        return None
    flat = data.flatten()
    valid = ~np.ma.getmaskarray(flat)
    if not (valid & np.isfinite(np.ma.getdata(flat))).any():
        return None
    numbers = [item if ok else None for item, ok in zip(np.ma.getdata(flat).tolist(), valid.tolist())]
    dates = _native.julian_dates(numbers, units, calendar)
    return None if dates is None else dates.reshape(data.shape)


def _process_time(d: Dataset, name: str) -> None:
    """Converts a variable with CF units to Julian dates."""
    dates = _julian(var(d, name), meta(d, name))
    if dates is not None:
        var(d, name, dates)
        attr(d, "units", _JULIAN_UNITS, var=name)
        attr(d, "calendar", _JULIAN_CALENDAR, var=name)
        time(d, name, True)


# Reading.


def read(
    filename: _Path,
    variables: str | Sequence[str] | None = None,
    sel: Mapping[str, Any] | None = None,
    range_: Mapping[str, Sequence[int | None]] | None = None,
    at: Mapping[str, Any] | None = None,
    between: Mapping[str, Sequence[Any]] | None = None,
    full: bool = False,
    jd: bool = False,
    *,
    copy: bool | Literal["on-demand"] = True,
) -> Dataset:
    """Reads a dataset: ``.ds``, NetCDF (``.nc``, ``.nc3``, ``.nc4``, ``.netcdf``), ``.csv``, ``.tsv``, ``.tab``, ``.json``.

    Reads only the bytes that are selected; large arrays of ds with several threads.

    Args:
        variables: the names of the variables to read; all by default.
        sel, range_, at, between: selectors, see ``select()``.
        full: keep the metadata of variables that are not read, too.
        jd: convert variables with CF time units to Julian dates.
        copy: if false, numbers of ds files are read-only views of the mapped file; with ``"on-demand"`` they can be written to, which copies
            the pages that change. The file must not be changed or truncated while they are in use (replacing it, as ``write()`` does, is
            fine), and they may be unaligned, as the format aligns nothing.

    Raises:
        OSError: the file does not exist or cannot be read, or its extension is unknown.
        ValueError: the file violates its format.
    """
    _expect(isinstance(filename, (str, bytes, os.PathLike)), "filename")
    path = os.fsdecode(filename)
    if isinstance(variables, str):
        variables = [variables]
    if variables is not None:
        _expect(_is_names(variables), "variables")
    selectors = None
    if not (sel is range_ is at is between is None):
        selectors = (sel, range_, at, between)
        for name, selector in zip(("sel", "range_", "at", "between"), selectors):
            _expect(selector is None or _is_str_dict(selector), name)
    reader = _READERS.get(_extension(path))
    if reader is None:
        raise OSError(f"{path}: {'Unknown file format' if os.path.exists(path) else 'File does not exist'}")
    try:
        d = reader(path, variables, selectors, full, copy)
    except FileNotFoundError as error:
        raise _make_error(f"{path}: File does not exist", kind="io", errno=2, path=os.fspath(path)) from error
    if jd:
        for name in vars(d):
            _process_time(d, name)
    return d


def _extension(path: str) -> str:
    return "." + path.rpartition(".")[2]


_Selectors = tuple[Any, Any, Any, Any] | None


#: `json.loads` without looking for white space.
_decode_json = json.JSONDecoder().raw_decode


def _read_ds(path: str, variables: Sequence[str] | None, selectors: _Selectors, full: bool, copy: bool | str) -> Dataset:
    file = _native.DsFile(path)
    found, _ = _decode_json(file.header)
    d: Dataset = {".": found}
    if variables is selectors is None and copy is True:
        file.read_all(d)
        return d
    names = file.names
    if variables is not None:
        # Names as keys, as in ds-format, or as they are.
        names = [name for name in names if _key(name) in variables or name in variables and name not in found]
    chosen = None
    if selectors is not None:
        chosen = _selection(
            lambda name: {".": found, _key(name): file.read(name)} if name in file.names else None,
            dims({".": found}, full=True, size=True),
            *selectors,
        )
    if copy is True:
        file.read_all(d, names, None if chosen is None else _native_selection(chosen))
    else:
        d.update({_key(name): _view(file, path, name, chosen, writable=bool(copy)) for name in names})
    if chosen is not None:
        for name in names:
            found[_key(name)][".dims"] = _kept(dims({".": found}, name), chosen)
    return d


def _native_selection(chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Indices and slices as they are, arrays as lists of indices; consecutive indices as a slice."""

    def convert(index: Any) -> Any:
        if isinstance(index, (slice, int)):
            return index
        if index.size and index[0] >= 0 and index[-1] - index[0] == index.size - 1 and (np.diff(index) == 1).all():
            return slice(int(index[0]), int(index[-1]) + 1)
        return index.tolist()

    return {dimension: convert(index) for dimension, index in chosen.items()}


def _view(file: Any, path: str, name: str, chosen: Mapping[str, Any] | None, *, writable: bool) -> Any:
    """A view of the mapped file, or a copy of what has none."""
    extent = file.extent(name)
    if extent is None:
        return file.read(name, None if chosen is None else _native_selection(chosen))
    offset, dtype, shape = extent
    import mmap

    with builtins.open(path, "rb") as opened:
        mapped = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_COPY if writable else mmap.ACCESS_READ)
    data = np.ndarray(shape, dtype, mapped, offset)
    if chosen is not None:
        data = _taken(data, dims({".": json.loads(file.header)}, name), chosen)
    return data[()] if data.ndim == 0 else data


def _read_netcdf(path: str, variables: Sequence[str] | None, selectors: _Selectors, full: bool, copy: bool | str) -> Dataset:
    file = _native.NetcdfFile(path)
    described = {entry["name"]: entry for entry in file.variables}
    d: Dataset = {}
    if file.attributes:
        attrs(d, None, file.attributes)

    def dataset_of(name: str) -> Dataset | None:
        if name not in described:
            return None
        one: Dataset = {_key(name): _netcdf_data(file, described[name], None)}
        meta(one, name, {**described[name]["attributes"], ".dims": described[name]["dims"]})
        return one

    sizes = {name: n for name, n, _ in file.dimensions}
    chosen = None if selectors is None else _selection(dataset_of, sizes, *selectors)
    for name, entry in described.items():
        wanted = variables is None or name in variables
        if not wanted and not full:
            continue
        names = entry["dims"]
        if wanted:
            data = _netcdf_data(file, entry, chosen)
            d[_key(name)] = data
            names = names if chosen is None else _kept(names, chosen)
        special = {".dims": names, ".size": entry["shape"], ".type": entry["type"]}
        meta(d, name, {**entry["attributes"], **special})
    return d


def _netcdf_data(file: Any, entry: Mapping[str, Any], chosen: Mapping[str, Any] | None) -> Any:
    """Data as netCDF4 returns it: unpacked, with missing elements masked."""
    names, rest = entry["dims"], dict(chosen or {})
    start, stop = 0, None
    if names and isinstance(rest.get(names[0]), slice):
        rows = range(*rest.pop(names[0]).indices(entry["shape"][0]))
        if not rows:
            start = stop = 0
        elif rows.step == 1:
            start, stop = rows.start, rows.stop
        else:
            rest[names[0]] = slice(rows.start, rows.stop if rows.stop >= 0 else None, rows.step)
    data, mask = file.read(entry["name"], start, stop, scaled=True, joined=True)
    if data.dtype != object:
        data = np.ma.MaskedArray(data, mask=False if mask is None else mask)
    elif entry["char"]:
        data = data.astype(str)
    data = _taken(data, names, rest) if rest else data
    if isinstance(data, np.ndarray) and data.ndim == 0:
        data = data[()]
    return None if data is np.ma.masked and not entry["shape"] else data


def _read_csv(path: str, variables: Sequence[str] | None, selectors: _Selectors, full: bool, copy: bool | str) -> Dataset:
    import csv

    with builtins.open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file, delimiter=_separator(path)))
    d: Dataset = {}
    for column, name in enumerate(rows[0] if rows else []):
        whole: Dataset = {}
        var(whole, name, [_csv_value(row[column]) if column < len(row) else None for row in rows[1:]])
        special = {".dims": ["i"], ".type": type(whole, name), ".size": size(whole, name)}
        wanted = variables is None or name in variables
        if wanted:
            var(d, name, var(whole, name))
        if wanted or full:
            meta(d, name, special)
    if selectors is not None:
        select(d, *selectors)
    return d


def _separator(path: str) -> str:
    return "," if path.endswith("csv") else "\t"


def _csv_value(text: str) -> Any:
    for convert in (int, float):
        try:
            return convert(text)
        except ValueError:
            continue
    return text or None


def _read_json(path: str, variables: Sequence[str] | None, selectors: _Selectors, full: bool, copy: bool | str) -> Dataset:
    with builtins.open(path, encoding="utf-8") as file:
        d: Dataset = json.load(file)
    for name in vars(d):
        if variables is not None and name not in variables:
            d.pop(_key(name))
            if not full:
                meta(d).pop(_key(name), None)
        elif isinstance(d[_key(name)], list):
            var(d, name, d[_key(name)])
    if selectors is not None:
        select(d, *selectors)
    return d


def index(dirname: str, variables: Any = None, warnings: list[Any] | None = None, **kwargs: Any) -> list[Dataset]:
    """Reads all files of a folder, and adds the variable ``filename``. Errors are added to ``warnings``."""
    found = [os.path.join(dirname, name) for name in sorted(os.listdir(dirname))]
    return _read_files(found, variables, [] if warnings is None else warnings, kwargs, map)


def readdir(
    dirname: _Path,
    variables: str | Sequence[str] | None = None,
    merge: str | None = None,
    warnings: list[Any] | None = None,
    recursive: bool = False,
    parallel: bool = False,
    executor: Any = None,
    njobs: int | None = None,
    **kwargs: Any,
) -> Any:
    """Reads all files with known extensions in a folder, in alphabetical order, and adds the variable ``filename``.

    Args:
        merge: a dimension to merge the datasets along. Adds ``n``, the number of the file, and ``i``, the index within it.
        warnings: a list that takes errors, as pairs of a message and a traceback.
        parallel: read with several threads, or with ``executor``.
    """
    _expect(isinstance(dirname, (str, bytes, os.PathLike)), "dirname")
    _expect(merge is None or isinstance(merge, str), "merge")
    root = glob.escape(os.fsdecode(dirname))
    found = sorted(glob.glob(os.path.join(root, "**" if recursive else "*"), recursive=recursive))
    found = [path for path in found if _extension(path) in _READERS and os.path.isfile(path)]
    errors = [] if warnings is None else warnings
    if parallel and executor is None:
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(njobs or os.cpu_count()) as threads:
            dd = _read_files(found, variables, errors, kwargs, threads.map)
    else:
        dd = _read_files(found, variables, errors, kwargs, executor.map if parallel else map)
    if merge is None:
        return dd
    for number, d in enumerate(dd):
        n = dim(d, merge)
        var(d, "n", np.full(n, number))
        var(d, "i", np.arange(n))
        dims(d, "n", [merge])
        dims(d, "i", [merge])
    return globals()["merge"](dd, merge, new="n")


def _read_files(
    paths: Iterable[str], variables: Any, errors: list[Any], kwargs: Mapping[str, Any], run: Callable[..., Iterable[Any]]
) -> list[Dataset]:
    dd = []
    for d, error in run(_ReadFile(variables, dict(kwargs)), paths):
        if error is not None:
            errors.append(error)
        else:
            dd.append(d)
    return dd


class _ReadFile:
    """Reads a file; pickles, for executors of processes."""

    def __init__(self, variables: Any, kwargs: dict[str, Any]) -> None:
        self.variables, self.kwargs = variables, kwargs

    def __call__(self, path: str) -> tuple[Dataset | None, tuple[str, str] | None]:
        try:
            d = read(path, variables=self.variables, **self.kwargs)
        except Exception as error:
            return None, (f"{path}: {error}", traceback.format_exc())
        var(d, "filename", path)
        dims(d, "filename", [])
        return d, None


# Writing.


def write(filename: _Path, d: Dataset, **kwargs: Any) -> None:
    """Writes a dataset: ``.ds``, NetCDF-4 (``.nc``, ``.nc4``, ``.netcdf``), ``.csv``, ``.tsv``, ``.tab``, ``.json``. Replaces the file.

    ``time_units`` and ``calendar`` convert the times of NetCDF. Values of a variable with ``scale_factor`` or ``add_offset`` are packed by them, as
    netCDF4 does, so that ``read()`` returns them again. What NetCDF cannot keep, such as missing strings, is a ``LossWarning``.

    ``sync=True`` waits until the data of a ds or NetCDF file is on the disk.

    Raises:
        ValueError: the dataset is invalid, or the extension is unknown.
        OSError: writing failed; the previous file, if any, is unchanged.
    """
    _expect(isinstance(filename, (str, bytes, os.PathLike)), "filename")
    _expect(isinstance(d, dict), "d")
    path = os.fsdecode(filename)
    writer = _WRITERS.get(_extension(path))
    if writer is None:
        raise ValueError(f"{path}: Unknown file extension")
    validate(d)
    writer(path, d, **kwargs)


def _write_ds(path: str, d: Dataset, *, sync: bool = False) -> None:
    _native.write_parts(path, _encoded(d), sync=sync)


def _encoded(d: Dataset) -> list[Any]:
    """The header and the arrays of a ds file: objects with buffers."""
    header: dict[str, Any] = {}
    body: list[Any] = []
    offset = 0
    for name in vars(d):
        data, found = var(d, name), dict(meta(d, name))
        parts = [] if data is None else _body(data)
        length = sum(memoryview(part).nbytes for part in parts)
        is_masked = isinstance(data, np.ma.MaskedArray) and np.ma.is_masked(data)
        if isinstance(found.get(".dims"), str):
            found[".dims"] = [found[".dims"]]
        found[".size"] = None if data is None else list(data.shape)
        found[".offset"] = offset
        found[".len"] = length
        found[".type"] = found.get(".type") if data is None else _type_of(data)
        found[".missing"] = bool(is_masked)
        if data is not None and data.dtype.kind in "USO":
            found[".endian"] = sys.byteorder[0]
        elif data is not None and found[".type"] != "bool":
            found[".endian"] = {"<": "l", ">": "b", "=": sys.byteorder[0], "|": "b"}[data.dtype.byteorder]
        header[_key(name)] = found
        body += parts
        offset += length
    header["."] = meta(d, "")
    text = json.dumps(header, default=_json_default)
    return [b"ds-1.0\n" + text.encode() + b"\n", *body]


def _json_default(value: Any) -> Any:
    # The item of a time in nanoseconds would be an integer.
    if isinstance(value, np.generic) and value.dtype.kind not in "mM":
        return value.item()
    if isinstance(value, np.ndarray):
        return list(value)
    raise TypeError(f"Object of type {builtins.type(value).__name__} is not JSON serializable")


def _body(data: Any) -> list[Any]:
    """The bytes of a variable: the mask, and the elements that are not missing."""
    parts: list[Any] = []
    values = np.ma.getdata(data)
    if np.ma.is_masked(data):
        missing = np.ma.getmaskarray(data)
        parts.append(np.packbits(missing))
        values = values[~missing]
    match data.dtype.kind:
        case "U" | "S" | "O":
            texts = [text.encode() if isinstance(text, str) else text for text in np.ravel(values)]
            if data.dtype.kind == "O" and _type_of(data) == "unicode":
                _expect_utf8(texts)
            parts.append(np.array([len(text) for text in texts], np.uint64))
            parts.append(b"".join(texts))
        case "b":
            parts.append(np.packbits(values))
        case _:
            parts.append(np.ascontiguousarray(values))
    return parts


def _expect_utf8(texts: Iterable[bytes]) -> None:
    """The strings of an array whose type is unicode."""
    for index, text in enumerate(texts):
        try:
            text.decode()
        except UnicodeDecodeError:
            raise ValueError(f"invalid data: byte string {index} among texts is not UTF-8: {text[:40]!r}") from None


def _write_netcdf(
    path: str, d: Dataset, time_units: str = _JULIAN_UNITS, calendar: str = _JULIAN_CALENDAR, *, sync: bool = False
) -> None:
    d = copy(d)
    losses: list[tuple[str, int]] = []
    for name in vars(d):
        if time(d, name):
            if (time_units, calendar) != (_JULIAN_UNITS, _JULIAN_CALENDAR):
                import cftime

                data = var(d, name)
                moments = cftime.num2date(data, _JULIAN_UNITS, _JULIAN_CALENDAR)
                var(d, name, np.ma.asanyarray(cftime.date2num(moments, time_units, calendar)).astype(float))
            attr(d, "units", time_units, var=name)
            attr(d, "calendar", calendar, var=name)
            time(d, name, False)
        rounded = _pack(d, name)
        if rounded:
            losses.append((f"integers of {name!r} rounded by scale_factor and add_offset", rounded))
    found = _native.ds_to_netcdf(b"".join(_encoded(d)), path, sync=sync)
    for what, count in [*losses, *((loss["what"], loss["count"]) for loss in found)]:
        if count:
            times = "" if count == 1 else f" ({count} times)"
            _warnings.warn(f"{path}: {what}{times}", LossWarning, stacklevel=3)


def _pack(d: Dataset, name: str) -> int:
    """Packs values by ``scale_factor`` and ``add_offset``, by which readers unpack them. Their type stays, as in netCDF4.

    Returns the number of integers that are unpacked to other numbers.
    """
    data, packing = var(d, name), _packing(attrs(d, name))
    if packing is None or data is None or data.dtype.kind not in "biuf":
        return 0
    scale, offset = packing
    dtype = np.dtype(np.int8) if data.dtype.kind == "b" else data.dtype
    values, present = np.ma.getdata(data), ~np.ma.getmaskarray(data)
    with np.errstate(all="ignore"):
        packed = values if offset == 0 else values - offset
        packed = packed if scale == 1 else packed / scale
        if dtype.kind in "iu":
            packed, limits = np.around(packed), np.iinfo(dtype)
            fits = (packed >= float(limits.min)) & (packed < float(limits.max) + 1)
            packed = packed.astype(dtype)
        else:
            packed = packed.astype(dtype)
            fits = np.isfinite(packed) | ~np.isfinite(values)
    for value in values[present & ~fits].flat:
        raise UsageError(f"{name}: {value}, packed by scale_factor and add_offset, does not fit into {dtype.name}")
    var(d, name, np.ma.array(packed, mask=~present) if np.ma.isMaskedArray(data) else packed)
    if dtype.kind not in "iu":
        return 0
    # Unpacking rounds, too, which is no loss.
    expected = values.astype(float)
    tolerance = 1e-6 * (np.minimum(np.abs(expected), 4e5) + abs(scale))
    return int(np.count_nonzero(present & (np.abs(packed * scale + offset - expected) > tolerance)))


def _packing(found: Mapping[str, Any]) -> tuple[Any, Any] | None:
    """``scale_factor`` and ``add_offset``; ``None`` if there is nothing to unpack, or readers ignore them: they are not single numbers."""
    numbers = []
    for key, default in (("scale_factor", 1), ("add_offset", 0)):
        number = np.asarray(default if found.get(key) is None else found[key])
        if number.size != 1 or number.dtype.kind not in "biuf":
            return None
        numbers.append(number.ravel()[0] + 0)  # booleans are bytes
    scale, offset = numbers
    return None if scale == 1 and offset == 0 else (scale, offset)


def _write_csv(path: str, d: Dataset) -> None:
    import csv

    columns = []
    for name in vars(d):
        data = var(d, name)
        if data is not None and data.ndim > 1:
            raise ValueError(f"{name}: variable has more than one dimension (not supported in CSV)")
        columns.append(data)
    if len({len(column) for column in columns}) > 1:
        raise ValueError("variables have different size (not supported in CSV)")
    text = io.StringIO()
    writer = csv.writer(text, delimiter=_separator(path))
    if columns:
        writer.writerow(vars(d))
    for row in zip(*columns):
        writer.writerow(["" if value is np.ma.masked else value for value in row])
    _native.write_parts(path, [text.getvalue().encode()], sync=False)


def _write_json(path: str, d: Dataset) -> None:
    d = copy(d)
    for name in vars(d):
        if isinstance(d[_key(name)], np.ndarray):
            d[_key(name)] = d[_key(name)].tolist()
    _native.write_parts(path, [json.dumps(d).encode()], sync=False)


_READERS: dict[str, Callable[[str, Sequence[str] | None, _Selectors, bool, bool | str], Dataset]] = {
    ".ds": _read_ds,
    **dict.fromkeys((".nc", ".nc3", ".nc4", ".netcdf"), _read_netcdf),
    **dict.fromkeys((".csv", ".tsv", ".tab"), _read_csv),
    ".json": _read_json,
}

_WRITERS: dict[str, Callable[..., None]] = {
    ".ds": _write_ds,
    **dict.fromkeys((".nc", ".nc4", ".netcdf"), _write_netcdf),
    **dict.fromkeys((".csv", ".tsv", ".tab"), _write_csv),
    ".json": _write_json,
}


def from_netcdf(filename: _Path, variables: Any = None, sel: Any = None, full: bool = False, jd: bool = False) -> Dataset:
    """Reads a NetCDF file, whatever its extension."""
    selectors = None if sel is None else (sel, None, None, None)
    d = _read_netcdf(os.fsdecode(filename), [variables] if isinstance(variables, str) else variables, selectors, full, True)
    if jd:
        for name in vars(d):
            _process_time(d, name)
    return d


def to_netcdf(filename: _Path, d: Dataset, time_units: str = _JULIAN_UNITS, calendar: str = _JULIAN_CALENDAR) -> None:
    """Writes a NetCDF-4 file, whatever its extension."""
    validate(d)
    _write_netcdf(os.fsdecode(filename), d, time_units, calendar)
