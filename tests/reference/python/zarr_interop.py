"""Zarr to ds and back, with zarr-python and xarray as judges.

    zarr_interop.py CONVERTER WORK --seed N --count K

Random stores, some with shards, are written by zarr-python. CONVERTER (our program) makes ds files of them, in which ds-format must find the same
values, and stores of these in chunks and shards of random sizes, in which zarr-python and xarray must find the same. Random ds files, of ds-format, go
the same way. The last line is JSON: stores and values that were compared.
"""

import argparse
import json
import subprocess
import sys
import warnings
from pathlib import Path

import ds_format
import numpy as np
import xarray as xr
import zarr
from zarr.codecs import GzipCodec, ZstdCodec

warnings.simplefilter("ignore")

NUMBERS = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"]
WORDS = np.array(["", "a", "zwei \u00fc", "\U0001f600", "a longer text " * 5], dtype=object)


def values_of(rng, code, shape):
    """Values of the whole range of a type; of floats some that are no numbers."""
    if code == "bool":
        return rng.random(shape) < 0.5
    if code == "str":
        return rng.choice(WORDS, shape)
    dtype = np.dtype(code)
    if dtype.kind == "f":
        values = np.array(rng.standard_normal(shape) * 10.0 ** rng.integers(-3, 4), dtype)
        return np.where(rng.random(shape) < 0.05, rng.choice([np.nan, np.inf, -np.inf]), values).astype(dtype)
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)


def readable(code, shape):
    """ds-format reads booleans only in multiples of 8."""
    return "u1" if code == "bool" and np.prod(shape, dtype=int) % 8 else code


def random_store(path, rng):
    """A store with variables along x, y and z; some elements of some of them are missing, and some chunks are not written."""
    group = zarr.create_group(path, zarr_format=3)
    sizes = {"x": int(rng.integers(1, 9)), "y": int(rng.integers(1, 9)), "z": int(rng.integers(1, 5))}
    group.attrs["note"] = "seeded"
    group.attrs["number"] = float(rng.standard_normal())
    for index in range(int(rng.integers(1, 7))):
        code = str(rng.choice([*NUMBERS, "bool", "str"]))
        along = [name for name in sizes if rng.random() < 0.6]
        shape = tuple(sizes[name] for name in along)
        code = readable(code, shape)
        chunks = tuple(int(rng.integers(1, size + 2)) for size in shape)
        shards = tuple(chunk * int(rng.integers(1, 4)) for chunk in chunks) if along and rng.random() < 0.4 else None
        compressor = [None, GzipCodec(level=1), ZstdCodec(level=1)][rng.integers(3)]
        array = group.create_array(
            f"v{index}_{code}", shape=shape, chunks=chunks, shards=shards, dtype=str if code == "str" else code,
            compressors=compressor, dimension_names=along, fill_value="" if code == "str" else values_of(rng, code, ())[()],
        )
        if rng.random() < 0.8:
            array[...] = values_of(rng, code, shape)
        elif along:
            array[: shape[0] // 2 + 1] = values_of(rng, code, (shape[0] // 2 + 1, *shape[1:]))
        array.attrs["units"] = "K"
        if code in NUMBERS and rng.random() < 0.4 and np.size(array[...]):
            fill = np.ravel(array[...])[0]
            encoder = xr.backends.zarr.FillValueCoder
            array.attrs["_FillValue"] = encoder.encode(fill, np.dtype(code))
    return sizes


def random_ds(path, rng):
    """A ds file, some elements of which are missing."""
    data = {".": {".": {"note": "seeded"}}}
    sizes = {"x": int(rng.integers(1, 9)), "y": int(rng.integers(1, 9))}
    for index in range(int(rng.integers(1, 6))):
        code = str(rng.choice([*NUMBERS, "bool"]))
        along = [name for name in sizes if rng.random() < 0.7]
        shape = tuple(sizes[name] for name in along)
        code = readable(code, shape)
        values = values_of(rng, code, shape)
        if along and code != "bool" and rng.random() < 0.5:
            values = np.ma.masked_array(values, rng.random(shape) < 0.3)
        name = f"v{index}_{code}"
        data[name] = values
        data["."][name] = {".dims": along, "units": "K"}
    ds_format.write(str(path), data)


def convert(converter, *arguments):
    done = subprocess.run([converter, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{arguments}: {done.stdout}{done.stderr}")
    return done.stdout


def missing_in(array):
    """The elements that the `_FillValue` of an array of zarr-python means."""
    values = array[...]
    if "_FillValue" not in array.attrs:
        return np.zeros(np.shape(values), bool)
    fill = xr.backends.zarr.FillValueCoder.decode(array.attrs["_FillValue"], array.dtype)
    values = np.asarray(values)
    return np.isnan(values) if isinstance(fill, float) and np.isnan(fill) else values == np.asarray(fill, values.dtype)


def same(values, missing, found, gone, what):
    values, found = np.asarray(values), np.asarray(found)
    assert values.shape == found.shape, (what, values.shape, found.shape)
    assert np.array_equal(missing, gone), (what, missing, gone)
    left, right = values[~missing], found[~gone]
    if values.dtype.kind in "OTU":
        assert list(map(str, left)) == list(map(str, right)), (what, left, right)
    else:
        assert np.array_equal(left, right, equal_nan=values.dtype.kind == "f"), (what, left, right)
    return values.size


def of_ds(data, name):
    """Values and missing elements that ds-format reads; `None` is a missing scalar."""
    found = data[name]
    if found is None:
        return None
    return np.ma.getdata(found), np.ma.getmaskarray(found)


def compare_ds(store, path):
    """The ds file holds what zarr-python finds in the store."""
    group, data, count = zarr.open_group(store, mode="r"), ds_format.read(str(path)), 0
    names = set(group.array_keys())
    assert names == set(ds_format.vars(data)), (store, names)
    for name in names:
        array, what = group[name], (str(store), name)
        missing, found = missing_in(array), of_ds(data, name)
        if found is None:
            assert array.shape == () and missing.all(), what
            continue
        assert list(array.metadata.dimension_names or []) == list(ds_format.dims(data, name)), what
        values, gone = found
        # ds has no masked text, and ds-format no missing booleans.
        count += same(array[...], missing, values, gone, what)
        assert ds_format.attrs(data, name)["units"] == "K", what
    assert ds_format.attrs(data)["note"] == "seeded", store
    return count


def compare_store(path, store):
    """zarr-python and xarray find in the store what ds-format finds in the ds file."""
    data, count = ds_format.read(str(path)), 0
    group = zarr.open_group(store, mode="r")
    decoded = xr.open_zarr(store, decode_times=False)
    for name in ds_format.vars(data):
        what, found = (str(store), name), of_ds(data, name)
        array = group[name]
        if found is None:
            assert missing_in(array).all(), what
            continue
        values, gone = found
        assert array.dtype == values.dtype or values.dtype.kind in "OTU", (what, array.dtype)
        count += same(values, gone, array[...], missing_in(array), what)
        variable = decoded.variables[name]
        assert list(variable.dims) == list(ds_format.dims(data, name)), what
        assert variable.attrs["units"] == "K", what
        read = variable.values
        if gone.any():
            assert np.isnan(np.asarray(read, float)[gone]).all(), (what, read)
        if values.dtype.kind in "iuf":
            assert np.array_equal(np.asarray(read, float)[~gone], np.asarray(values, float)[~gone], equal_nan=True), what
        else:
            assert list(map(str, np.ravel(read))) == list(map(str, np.ravel(values))), what
    assert decoded.attrs["note"] == "seeded", store
    return count


def sizes_of(rng, sizes):
    """Random sizes of chunks and shards, as arguments."""
    chunks = {name: int(rng.integers(1, size + 2)) for name, size in sizes.items() if rng.random() < 0.7}
    if not chunks or rng.random() < 0.4:
        return [",".join(f"{name}={size}" for name, size in chunks.items())] if chunks else []
    shards = {name: size * int(rng.integers(1, 4)) for name, size in chunks.items()}
    return [",".join(f"{name}={size}" for name, size in all.items()) for all in (chunks, shards)]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("converter")
    parser.add_argument("work", type=Path)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--count", type=int, required=True)
    arguments = parser.parse_args()
    rng = np.random.default_rng(arguments.seed)
    values = written = 0
    for index in range(arguments.count):
        store, path = arguments.work / f"{index}.zarr", arguments.work / f"{index}.ds"
        sizes = random_store(store, rng)
        convert(arguments.converter, store, path)
        values += compare_ds(store, path)
        other = arguments.work / f"{index}.of-ds.ds"
        random_ds(other, rng)
        for source in (path, other):
            used = {name for name in ds_format.dims(ds_format.read(str(source)))}
            ours = Path(f"{source}.zarr")
            convert(arguments.converter, source, ours, *sizes_of(rng, {name: sizes[name] for name in sizes if name in used}))
            values += compare_store(source, ours)
            written += 1
    print(json.dumps({"stores": arguments.count, "written": written, "values": values}))


if __name__ == "__main__":
    main()
