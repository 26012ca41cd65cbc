"""NetCDF to ds and back, with the C library and ds-format as judges.

    ds_netcdf_interop.py CONVERTER WORK --seed N --count K [--files DIRECTORY]

Random files of all kinds are written by netCDF4, or those of a directory are taken. CONVERTER (our program) makes ds files of them, which
ds-format must read as it reads the originals, scaled and not; and NetCDF files of these, in which the C library must find the same
dimensions, values and attributes. The last line is JSON: files, variables and values that were compared.
"""

import argparse
import json
import os
import subprocess
import sys
import warnings

import ds_format
import netCDF4
import numpy as np

import ds_netcdf_golden as golden

KINDS = {"NETCDF3_CLASSIC": "1", "NETCDF3_64BIT_OFFSET": "2", "NETCDF3_64BIT_DATA": "5", "NETCDF4": "4"}
PACKING = {"scale_factor", "add_offset", "_Unsigned"}
OF_STORED = PACKING | {"_FillValue", "missing_value", "valid_min", "valid_max", "valid_range"}


def values_of(rng, code, shape):
    """Values of the whole range of a type; of floats some that are none."""
    dtype = np.dtype(code)
    if dtype.kind == "f":
        values = np.array(rng.standard_normal(shape) * 10.0 ** rng.integers(-3, 4), dtype)
        values[rng.random(shape) < 0.05] = np.nan
        return values
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)


def random_file(path, rng, kind):
    codes = golden.SMALL + (golden.LARGE if kind in ("NETCDF3_64BIT_DATA", "NETCDF4") else [])
    with netCDF4.Dataset(path, "w", format=kind) as f:
        dims = {"t": None, "x": int(rng.integers(1, 6)), "y": int(rng.integers(1, 6)), "z": int(rng.integers(1, 4))}
        records = int(rng.integers(0, 7))
        for name, size in dims.items():
            f.createDimension(name, size)
        f.note = "seeded"
        f.number = rng.standard_normal()
        f.small = np.float32(rng.standard_normal())
        f.list = rng.integers(-9, 9, 4).astype("i2")
        for index in range(int(rng.integers(1, 9))):
            code = codes[rng.integers(len(codes))]
            fixed = [name for name in ("x", "y", "z") if rng.random() < 0.5]
            along = (["t"] if rng.random() < 0.5 else []) + fixed
            shape = [records if name == "t" else dims[name] for name in along]
            values = values_of(rng, code, shape)
            options = {}
            if rng.random() < 0.4:
                options["fill_value"] = values_of(rng, code, [1])[0]
            if kind == "NETCDF4" and along and rng.random() < 0.5:
                options.update(zlib=True, shuffle=bool(rng.random() < 0.5), fletcher32=bool(rng.random() < 0.5))
            v = f.createVariable(f"v{index}_{code}", code, along, **options)
            v.set_auto_maskandscale(False)
            if rng.random() < 0.3:
                v.missing_value = values_of(rng, code, [1])[0]
                values = np.where(rng.random(shape) < 0.3, v.missing_value, values)
            if "fill_value" in options:
                values = np.where(rng.random(shape) < 0.3, options["fill_value"], values)
            if rng.random() < 0.2:
                v.valid_range = np.sort(values_of(rng, code, [2]))
            if rng.random() < 0.3 and np.dtype(code).kind != "f":
                v.scale_factor = rng.choice([np.float32(0.25), np.float64(0.01), np.float64(1.0)])
                if rng.random() < 0.5:
                    v.add_offset = rng.choice([np.float32(-3.5), np.float64(100.0), np.float64(0.0)])
            v[...] = np.asarray(values, code)
            v.units = "K"
        if rng.random() < 0.5:
            text = f.createVariable("text", "S1", ("x",))
            text[:] = rng.choice(list("abcdef"), dims["x"]).astype("S1")
        if kind == "NETCDF4" and rng.random() < 0.5:
            strings = f.createVariable("strings", str, ("y",))
            for index in range(dims["y"]):
                strings[index] = "ü" * int(rng.integers(0, 5))


def convert(converter, *arguments):
    done = subprocess.run([converter, *arguments], capture_output=True, text=True)
    return done.returncode == 0, done.stdout + done.stderr


def plain(value):
    """Values as text, attributes in their order."""
    return json.dumps(value, default=lambda found: found.item() if isinstance(found, np.generic) else list(found))


def attributes(of):
    """Names and values, in their order."""
    return [(name, plain(of.getncattr(name))) for name in of.ncattrs()]


def same(a, b):
    """Equal types, shapes, masks and values."""
    a, b = np.ma.asarray(a), np.ma.asarray(b)
    mask = np.ma.getmaskarray(a)
    if a.shape != b.shape or a.dtype.newbyteorder("=") != b.dtype.newbyteorder("=") or not np.array_equal(mask, np.ma.getmaskarray(b)):
        return False
    return np.array_equal(a.data[~mask], b.data[~mask], equal_nan=a.dtype.kind == "f")


def compare_ds(path, ours, scaled):
    """The ds file is what ds-format makes of the NetCDF file."""
    theirs = ours[:-3] + ".theirs.ds"
    golden.expected(path, theirs, scaled)
    a, b = ds_format.read(theirs), ds_format.read(ours)
    assert set(ds_format.vars(a)) == set(ds_format.vars(b)), (path, ds_format.vars(a), ds_format.vars(b))
    assert plain(ds_format.attrs(a)) == plain(ds_format.attrs(b)), (path, "attributes")
    count = 0
    for name in ds_format.vars(a):
        x, y, where = ds_format.var(a, name), ds_format.var(b, name), (path, name, scaled)
        of_theirs = ds_format.attrs(a, name)
        if scaled and PACKING & set(of_theirs):
            of_theirs = {key: value for key, value in of_theirs.items() if key not in OF_STORED}
            of_ours = {key: value for key, value in ds_format.attrs(b, name).items() if key not in OF_STORED}
        else:
            of_ours = ds_format.attrs(b, name)
        assert plain(of_theirs) == plain(of_ours), (where, of_theirs, of_ours)
        if y is None and np.ndim(x) == 0 and np.ma.getmaskarray(x).all():
            # Where a factor of 1 and an offset of 0 are applied, ds-format does not see that a scalar is missing.
            assert x is None or {"scale_factor", "add_offset"} <= set(ds_format.attrs(a, name)), where
            continue
        assert ds_format.dims(a, name) == ds_format.dims(b, name) and ds_format.type(a, name) == ds_format.type(b, name), where
        if x is None or y is None:
            assert x is None and y is None, where
        elif np.asarray(x).dtype.kind == "O":
            assert np.array_equal(x, y), where
        else:
            assert same(x, y), (where, x, y)
        count += int(np.size(x))
    return count


def compare_nc(path, ours):
    """The C library finds the same in the file that went through ds."""
    count = 0
    with netCDF4.Dataset(path) as a, netCDF4.Dataset(ours) as b:
        for dataset in (a, b):
            dataset.set_auto_scale(False)
        assert attributes(a) == attributes(b), path
        used = {name for variable in a.variables.values() for name in variable.dimensions}
        for name in used:
            assert len(a.dimensions[name]) == len(b.dimensions[name]), (path, name)
        for name, v in a.variables.items():
            if v.dtype is not str and isinstance(v.datatype, (netCDF4.CompoundType, netCDF4.VLType)):
                continue
            w, where = b.variables[name], (path, ours, name)
            x, y = v[...], w[...]
            if v.dtype is str:
                assert np.array_equal(x, y), where
            else:
                assert v.dimensions == w.dimensions, where
                assert same(x, y), (where, x, y)
            # Where elements are missing that no attribute speaks of, ours says so.
            extra = set(w.ncattrs()) - set(v.ncattrs())
            assert not extra - {"_FillValue", "_Encoding"}, (where, extra)
            assert attributes(v) == [pair for pair in attributes(w) if pair[0] not in extra], where
            count += int(np.size(x))
    return count


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("converter")
    parser.add_argument("work")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--files")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.files:
        entries = sorted(os.listdir(options.files))
        paths = [os.path.join(options.files, name) for name in entries if name.endswith((".nc", ".cdf"))]
    else:
        paths = []
        for index in range(options.count):
            rng = np.random.default_rng([options.seed, index])
            path = os.path.join(options.work, f"{index}.nc")
            random_file(path, rng, list(KINDS)[index % len(KINDS)])
            paths.append(path)
    total = {"files": 0, "values": 0, "written": 0, "refused": 0}
    for path in paths:
        stem = os.path.join(options.work, os.path.basename(path))
        if not path.endswith(".nc"):  # which ds-format takes for something else
            if not os.path.exists(stem + ".nc"):
                os.symlink(os.path.abspath(path), stem + ".nc")
            path = stem + ".nc"
        for scaled in (True, False):
            out = f"{stem}.{scaled}.ds"
            done, said = convert(options.converter, path, out, *(["scaled"] if scaled else []))
            assert done, (path, said)
            total["values"] += compare_ds(path, out, scaled)
        with netCDF4.Dataset(path) as f:
            own = f.data_model
        for kind, number in KINDS.items():
            back = f"{stem}.{number}.back.nc"
            done, said = convert(options.converter, f"{stem}.False.ds", back, number)
            if not done and "cannot hold" in said and kind != own:
                total["refused"] += 1
                continue
            assert done, (path, kind, said)
            if kind == "NETCDF4" or all(v.dtype is not str for v in netCDF4.Dataset(path).variables.values()):
                total["values"] += compare_nc(path, back)
            with netCDF4.Dataset(back) as f:
                assert f.data_model == kind, (back, f.data_model)
            total["written"] += 1
        total["files"] += 1
    print(json.dumps(total))


if __name__ == "__main__":
    sys.exit(main())
