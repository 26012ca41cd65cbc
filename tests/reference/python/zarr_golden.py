"""Zarr stores of zarr-python and xarray, and their values as these read them.

    python tests/reference/python/zarr_golden.py tests/golden/zarr

Writes one folder per store, and expected.json: of each array its dimensions, its sizes and its values, where null is what xarray reads as missing.
Floats that JSON does not have are strings, bytes are hexadecimal, times are the stored integers.
"""

import base64
import json
import shutil
import sys
import warnings
from pathlib import Path

import numpy as np
import xarray as xr
import zarr
from zarr.codecs import BytesCodec, Crc32cCodec, GzipCodec, ShardingCodec, TransposeCodec, ZstdCodec

warnings.simplefilter("ignore")


def plain(value):
    """A value as JSON."""
    if isinstance(value, (bytes, np.bytes_, np.void)):
        return bytes(value).hex()
    if isinstance(value, (np.datetime64, np.timedelta64)):
        value = value.astype("i8")
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[str(value)]
    return value


def described(dims, values, missing=None) -> dict:
    values = np.asarray(values)
    missing = np.zeros(values.shape, bool) if missing is None else np.asarray(missing)
    flat = [None if gone else plain(value) for value, gone in zip(values.ravel(), missing.ravel())]
    return {"dims": list(dims), "shape": list(values.shape), "values": flat}


def types(path: Path) -> dict:
    """One array for each type, in chunks of two of which the last is not written: its elements are the fill value."""
    group = zarr.create_group(path, zarr_format=3)
    arrays = {
        "bool": (np.array([True, False, True, True, False]), True),
        "i1": (np.array([-128, -1, 0, 1, 127], "i1"), 5),
        "i2": (np.array([-32768, -1, 0, 1, 32767], "i2"), -7),
        "i4": (np.array([-(2**31), -1, 0, 1, 2**31 - 1], "i4"), 9),
        "i8": (np.array([-(2**63), -1, 0, 1, 2**63 - 1], "i8"), 2**62),
        "u1": (np.array([0, 1, 2, 254, 255], "u1"), 7),
        "u2": (np.array([0, 1, 2, 3, 65535], "u2"), 7),
        "u4": (np.array([0, 1, 2, 3, 2**32 - 1], "u4"), 7),
        "u8": (np.array([0, 1, 2, 3, 2**64 - 1], "u8"), 2**64 - 1),
        "f2": (np.array([0.5, -65504, 6e-8, np.inf, np.nan], "f2"), 1.5),
        "f4": (np.array([0.1, -3.4e38, 1e-45, -np.inf, np.nan], "f4"), np.nan),
        "f8": (np.array([0.1, -1.7e308, 5e-324, np.inf, np.nan], "f8"), -np.inf),
        "big": (np.array([1, 2, 3, 4, 5], ">i4"), 6),
        "text": (np.array(["", "a", "zwei \u00fc", "\U0001f600", "x" * 40], np.dtypes.StringDType()), "fill"),
        "fixed_text": (np.array(["", "a", "\u00fcber", "\U0001f600", "xxxxx"], "U5"), "no"),
        "fixed_bytes": (np.array([b"", b"a", b"bb", b"ccc", b"dddd"], "S4"), b"z"),
        "times": (np.array(["1970-01-01", "2000-02-29", "NaT", "1900-03-01", "2100-01-01"], "M8[s]"), np.datetime64("NaT")),
        "durations": (np.array([0, -1, 10, 100, 1000], "m8[ms]"), np.timedelta64(5, "ms")),
        "complex": (np.array([1 + 2j, 0, 1j, -1, 2], "c8"), 0),
    }
    out = {}
    for name, (values, fill) in arrays.items():
        array = group.create_array(
            name, shape=(7,), chunks=(2,), dtype=values.dtype, fill_value=fill, dimension_names=("x",)
        )
        array[:5] = values
        if name != "complex":
            read = array[:]
            missing = np.isnat(read) if read.dtype.kind in "Mm" else None
            out[name] = described(("x",), read, missing)
    group.create_array("scalar", shape=(), dtype="f8", chunks=())[...] = 2.5
    out["scalar"] = described((), group["scalar"][...])
    group.create_array("empty", shape=(0, 3), dtype="i4", chunks=(1, 3), dimension_names=("none", "y"))
    out["empty"] = described(("none", "y"), group["empty"][:])
    group.create_array("unnamed", shape=(2, 3), dtype="u1", chunks=(2, 3))[:] = np.arange(6).reshape(2, 3)
    out["unnamed"] = described(("unnamed_1", "unnamed_2"), group["unnamed"][:])
    group.attrs["title"] = "types"
    group.attrs["list"] = [1, 2.5, 3]
    group.attrs["nested"] = {"a": [None, True]}
    return out


def codecs(path: Path) -> dict:
    """The same values in many layouts."""
    group = zarr.create_group(path, zarr_format=3)
    values = np.arange(7 * 10, dtype="i4").reshape(7, 10) * 3 - 50
    index = [BytesCodec(), Crc32cCodec()]
    layouts = {
        "plain": ((3, 4), [BytesCodec()]),
        "gzip": ((3, 4), [BytesCodec(endian="big"), GzipCodec(level=1)]),
        "zstd": ((7, 10), [BytesCodec(), ZstdCodec(level=3, checksum=True)]),
        "crc32c": ((2, 10), [BytesCodec(), Crc32cCodec()]),
        "transposed": ((3, 4), [TransposeCodec(order=(1, 0)), BytesCodec(), ZstdCodec()]),
        "sharded": ((4, 6), [ShardingCodec(chunk_shape=(2, 3), codecs=[BytesCodec(), GzipCodec()], index_codecs=index)]),
        "shard_start": (
            (8, 12),
            [
                ShardingCodec(
                    chunk_shape=(2, 3),
                    codecs=[TransposeCodec(order=(1, 0)), BytesCodec(), ZstdCodec(), Crc32cCodec()],
                    index_codecs=index,
                    index_location="start",
                )
            ],
        ),
    }
    out = {}
    for name, (chunk, chain) in layouts.items():
        array = zarr.Array.create(
            group.store_path / name,
            shape=values.shape,
            dtype="i4",
            fill_value=-1,
            chunk_shape=chunk,
            codecs=chain,
            dimension_names=("y", "x"),
            zarr_format=3,
        )
        array[:6, :9] = values[:6, :9]
        out[name] = described(("y", "x"), array[:])
    from zarr.codecs import BloscCodec

    many = (np.arange(3000, dtype="i4") ** 2 % 1000 - 300).reshape(50, 60)
    for cname in ("blosclz", "lz4", "lz4hc", "zlib", "zstd"):
        for shuffle in ("noshuffle", "shuffle", "bitshuffle"):
            codec = BloscCodec(cname=cname, clevel=5, shuffle=shuffle, typesize=4, blocksize=4096 if shuffle == "shuffle" else 0)
            name = f"blosc_{cname}_{shuffle}"
            array = group.create_array(name, shape=(50, 60), chunks=(50, 40), dtype="i4", compressors=codec, dimension_names=("row", "column"))
            array[:] = many
    # All have the same values.
    out["blosc"] = described(("row", "column"), many)
    array = group.create_array(
        "dots", shape=(4, 4), chunks=(2, 2), dtype="f4", dimension_names=("a", "b"),
        chunk_key_encoding={"name": "v2", "separator": "."}, compressors=None,
    )
    array[:] = np.eye(4)
    out["dots"] = described(("a", "b"), array[:])
    array = group.create_array(
        "words", shape=(5, 3), chunks=(2, 2), shards=(4, 4), dtype=str, dimension_names=("word", "kind"), fill_value="",
    )
    array[:4] = np.array([[f"{y}-{x}" * (x + 1) for x in range(3)] for y in range(4)], dtype=object)
    out["words"] = described(("word", "kind"), array[:])
    return out


def grid() -> xr.Dataset:
    time, lat, lon = np.arange(4), np.array([50.0, 51.0, 52.0]), np.arange(0, 360, 60.0)
    values = 273.15 + np.arange(72.0).reshape(4, 3, 6) / 2
    t2m = np.where(values % 7 < 0.6, np.nan, values)
    return xr.Dataset(
        {
            "t2m": (("time", "lat", "lon"), t2m, {"units": "K"}),
            "rain": (("time", "lat"), np.where(np.eye(4, 3) > 0, np.nan, 0.25).astype("f4")),
            "count": (("time",), np.array([1, 2, 3, 4], "i8"), {"valid_range": [0, 10]}),
            "name": (("lat",), np.array(["south", "middle", "north"], dtype=object)),
        },
        {
            "time": (("time",), time, {"units": "days since 2000-01-30", "calendar": "proleptic_gregorian"}),
            "lat": (("lat",), lat, {"units": "degrees_north"}),
            "lon": (("lon",), lon, {"units": "degrees_east"}),
        },
        {"title": "grid", "numbers": [1, 2, 3]},
    )


def of_xarray(path: Path, version: int) -> dict:
    """A dataset with missing and packed values."""
    encoding = {
        "t2m": {"dtype": "i2", "scale_factor": 0.5, "add_offset": 273.15, "_FillValue": -999, "chunks": (2, 3, 4)},
        "rain": {"_FillValue": np.float32(-1)},
    }
    if version == 2:
        from numcodecs import GZip, Zlib, Zstd

        encoding["t2m"]["compressors"] = [Zlib(level=1)]
        encoding["rain"]["compressors"] = [GZip(level=1)]
        for name in ("count", "name", "time", "lat", "lon"):
            encoding[name] = {"compressors": [Zstd(level=1)]}
    grid().to_zarr(path, zarr_format=version, encoding=encoding, consolidated=True)
    out = {}
    read = xr.open_zarr(path, decode_times=False, consolidated=False)
    for name, variable in read.variables.items():
        values = variable.values
        missing = np.isnan(values) if values.dtype.kind == "f" else None
        out[name] = described(variable.dims, values, missing)
    return out


def groups(path: Path) -> dict:
    """Groups of xarray, with dimensions of their own and of the groups around them."""
    top = xr.Dataset({"x": (("x",), np.array([10.0, 20.0, 30.0]))}, attrs={"title": "stations"})
    north = xr.Dataset(
        {"t2m": (("time", "x"), np.arange(6.0).reshape(2, 3)), "y": (("y",), np.array([1, 2], "i2"))},
        attrs={"note": "above 60"},
    )
    inner = xr.Dataset({"names": (("y",), np.array(["eins", "zwei \u00fc"], dtype=object))})
    tree = xr.DataTree.from_dict({"/": top, "/north": north, "/north/inner": inner, "/empty": xr.Dataset()})
    tree.to_zarr(path, zarr_format=3, consolidated=True)
    return {
        "x": described(("x",), top["x"].values),
        "north/t2m": described(("north/time", "x"), north["t2m"].values),
        "north/y": described(("north/y",), north["y"].values),
        "north/inner/names": described(("north/y",), inner["names"].values),
    }


def version2(path: Path) -> dict:
    """Arrays of version 2 as zarr-python writes them."""
    from numcodecs import Zlib

    group = zarr.create_group(path, zarr_format=2)
    values = np.arange(12, dtype=">i2").reshape(3, 4)
    array = group.create_array(
        "big", shape=(3, 4), chunks=(2, 2), dtype=">i2", order="F", fill_value=-5, compressors=Zlib(level=1)
    )
    array[:2] = values[:2]
    array.attrs["_ARRAY_DIMENSIONS"] = ["y", "x"]
    read = array[:]
    out = {"big": described(("y", "x"), read, read == -5)}
    array = group.create_array("fixed", shape=(3,), chunks=(2,), dtype="S3", fill_value=b"", compressors=None)
    array[:] = np.array([b"a", b"bb", b"ccc"])
    out["fixed"] = described(("fixed",), array[:])
    array = group.create_array("flags", shape=(3,), chunks=(3,), dtype="bool", fill_value=False, compressors=None)
    array[:] = [True, False, True]
    out["flags"] = described(("flags",), array[:])
    return out


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    stores = {
        "types": types,
        "codecs": codecs,
        "grid": lambda path: of_xarray(path, 3),
        "grid2": lambda path: of_xarray(path, 2),
        "groups": groups,
        "version2": version2,
    }
    expected = {}
    for name, write in stores.items():
        path = folder / f"{name}.zarr"
        shutil.rmtree(path, ignore_errors=True)
        expected[name] = write(path)
        print(f"| `{name}` | {write.__doc__ or 'a dataset with missing and packed values'} |")
    # A line for each array.
    lines = [
        f"{json.dumps(store)}: {{\n"
        + ",\n".join(f"{json.dumps(name)}: {json.dumps(array, allow_nan=False)}" for name, array in arrays.items())
        + "\n}"
        for store, arrays in expected.items()
    ]
    (folder / "expected.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print("| `expected` | what zarr-python and xarray read of them |")


if __name__ == "__main__":
    main()
