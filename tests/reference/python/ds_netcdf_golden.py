"""Small NetCDF files of every kind, as the C library writes them, and what ds-format makes of them.

    ds_netcdf_golden.py DIRECTORY

For each NAME.nc a NAME.ds is written by ds-format (the values that a conversion has to find), and a NAME.raw.ds with the
values as they are stored: not scaled, but masked.
"""

import os
import sys

import ds_format
import netCDF4
import numpy as np

CLASSIC = {"cdf1": "NETCDF3_CLASSIC", "cdf2": "NETCDF3_64BIT_OFFSET", "cdf5": "NETCDF3_64BIT_DATA", "nc4": "NETCDF4"}
SMALL = ["i1", "i2", "i4", "f4", "f8"]
LARGE = ["u1", "u2", "u4", "i8", "u8"]


def numbers(code, count, start=0):
    return (np.arange(count) * 3 - 5 + start).astype("i8").astype(code)


def basic(path, kind):
    """Types, attributes, fill values, packing, texts, records."""
    with netCDF4.Dataset(path, "w", format=CLASSIC[kind]) as f:
        f.title = "a small file"
        f.empty = ""
        f.version = np.int32(3)
        f.floats = np.array([0.5, 1e20, np.nan], "f4")
        f.doubles = np.array([0.1, -np.inf, np.inf])
        f.bytes_ = np.array([1, -2, 3], "i1")
        f.short_one = np.int16(-7)
        f.accent = "Grüße, 世界"
        codes = SMALL + (LARGE if kind in ("cdf5", "nc4") else [])
        f.createDimension("time", None)
        f.createDimension("x", 3)
        f.createDimension("y", 2)
        f.createDimension("len", 5)
        for code in codes:
            fixed = f.createVariable("fixed_" + code, code, ("y", "x"))
            fixed[:] = numbers(code, 6).reshape(2, 3)
            fixed.units = "m"
            fixed.valid_min = np.dtype(code).type(1)
            record = f.createVariable("record_" + code, code, ("time", "x"))
            record[0:4] = numbers(code, 12, 7).reshape(4, 3)
            filled = f.createVariable("filled_" + code, code, ("x",), fill_value=np.dtype(code).type(4))
            filled[:] = np.ma.array(numbers(code, 3), mask=[False, True, False])
            default = f.createVariable("default_" + code, code, ("x",))
            default[0] = 9
            f.createVariable("scalar_" + code, code)[:] = 11
        time = f.createVariable("time", "f8", ("time",))
        time.units = "days since 2000-01-01"
        time.calendar = "standard"
        time[:] = np.arange(4) * 0.5
        packed = f.createVariable("packed", "i2", ("time", "y"), fill_value=-9999)
        packed.scale_factor = 0.01
        packed.add_offset = 20.0
        packed[:] = np.ma.array(20 + np.arange(8).reshape(4, 2) * 0.25, mask=np.arange(8).reshape(4, 2) % 3 == 1)
        only = f.createVariable("only_scale", "i2", ("x",))
        only.scale_factor = np.float32(2.5)
        only.set_auto_scale(False)
        only[:] = [1, 2, 3]
        offset = f.createVariable("only_offset", "f4", ("x",))
        offset.add_offset = np.float64(100)
        offset.set_auto_scale(False)
        offset[:] = [1, 2, 3]
        marked = f.createVariable("marked", "f4", ("time", "x"))
        marked.missing_value = np.float32(-99)
        values = numbers("f4", 12).reshape(4, 3)
        values[1, 1] = -99
        marked[:] = values
        several = f.createVariable("several_missing", "i4", ("x",))
        several.missing_value = np.array([1, 2], "i4")
        several[:] = [1, 2, 3]
        ranged = f.createVariable("ranged", "i2", ("x",))
        ranged.valid_range = np.array([0, 10], "i2")
        ranged[:] = [-1, 5, 11]
        high = f.createVariable("valid_max_only", "f4", ("x",))
        high.valid_max = np.float32(2)
        high[:] = [1, 2, 3]
        nans = f.createVariable("nan_fill", "f8", ("x",), fill_value=np.nan)
        nans[:] = [1, np.nan, 3]
        unsigned = f.createVariable("unsigned", "i1", ("x",))
        unsigned.setncattr("_Unsigned", "true")
        unsigned.set_auto_maskandscale(False)
        unsigned[:] = np.array([1, -2, -127], "i1")
        text = f.createVariable("text", "S1", ("y", "len"))
        text[:] = np.array([list("abcde"), list("hello")], "S1")
        single = f.createVariable("letter", "S1", ())
        single[...] = b"Q"
        f.createVariable("records_of_text", "S1", ("time", "len"))[0:4] = np.array([list(b"abcde")] * 4, "u1").view("S1")
        f.createVariable("hole", "f4")  # a scalar that is missing


def odd_records(path, kind):
    """One record variable of an odd size: its records are not padded."""
    with netCDF4.Dataset(path, "w", format=CLASSIC[kind]) as f:
        f.createDimension("t", None)
        f.createDimension("three", 3)
        f.createVariable("only", "i1", ("t", "three"))[0:5] = numbers("i1", 15).reshape(5, 3)


def no_records(path, kind):
    """An unlimited dimension of which there is nothing, and names that are unusual."""
    with netCDF4.Dataset(path, "w", format=CLASSIC[kind]) as f:
        f.createDimension("t", None)
        f.createDimension("zwölf", 2)
        f.createVariable("none", "i2", ("t",))
        f.createVariable("größe", "f8", ("zwölf",))[:] = [1.5, 2.5]


def rich(path):
    """What only NetCDF-4 has."""
    with netCDF4.Dataset(path, "w") as f:
        f.createDimension("t", None)
        f.createDimension("u", None)
        f.createDimension("x", 30)
        f.list_of_text = ["one", "two", "drei ö"]
        f.big = np.uint64(2**64 - 1)
        chunked = f.createVariable("chunked", "f8", ("t", "x"), zlib=True, shuffle=True, fletcher32=True, chunksizes=(4, 7))
        chunked[0:9] = np.arange(270).reshape(9, 30) / 8
        f.createVariable("big_endian", ">i4", ("x",), endian="big")[:] = np.arange(30)
        f.createVariable("big_float", ">f4", ("x",), endian="big", zlib=True)[:] = np.arange(30) / 2
        two = f.createVariable("two_unlimited", "i2", ("t", "u"), chunksizes=(2, 2))
        # All of it: beyond what was written the C library gives bytes of no meaning where there are two such dimensions.
        two[0:9, 0:2] = np.arange(18).reshape(9, 2)
        short = f.createVariable("shorter", "i2", ("t",))
        short[0:3] = [5, 6, 7]
        other = f.createVariable("x", "f4", ("t",))  # called as a dimension that is not its own
        other[0:9] = np.arange(9)
        texts = f.createVariable("texts", str, ("x",))
        texts[0] = "eins"
        texts[1] = "zwei ü"
        scalar = f.createVariable("one_text", str)
        scalar[...] = "allein"
        kinds = f.createEnumType(np.int8, "kinds", {"none": 0, "some": 1, "all": 7})
        f.createVariable("enum", kinds, ("x",), fill_value=0)[0:3] = np.array([0, 1, 7], "i1")
        pair = f.createCompoundType(np.dtype([("a", "i4"), ("b", "f8")]), "pair")
        f.createVariable("compound", pair, ("x",))[0] = np.array((1, 2.5), pair.dtype)
        ragged = f.createVLType(np.int32, "ragged")
        f.createVariable("vlen", ragged, ("x",))[0] = np.array([1, 2, 3], "i4")
        f.createVariable("compact", "i8", ("x",), contiguous=True)[:] = np.arange(30) * 2**40
        group = f.createGroup("inner")
        group.note = "in a group"
        group.createDimension("z", 2)
        group.createVariable("deep", "f4", ("z",))[:] = [1, 2]
        group.createGroup("innermost").createVariable("deeper", "i4", ("x",))[:] = np.arange(30)


def many_attributes(path):
    """Attributes in no order of letters: so many that a heap keeps them, and so few that the header of their object does."""
    names = ["a%02d" % (number * 7 % 12) for number in range(12)]
    with netCDF4.Dataset(path, "w") as f:
        f.createDimension("x", 2)
        for number, name in enumerate(names):
            f.setncattr(name, np.int32(number))
        dense = f.createVariable("dense", "i2", ("x",))
        dense[:] = [1, 2]
        for number, name in enumerate(names):
            dense.setncattr(name, "text %d" % number)
        # One that grows moves, and so may others: where they lie is not the order in which they were made.
        gap = f.createVariable("gap", "i2", ("x",))
        gap[:] = [3, 4]
        for name in "dcba":
            gap.setncattr(name, "*" * 40)
        f.sync()
        gap.setncattr("d", "longer " * 20)
        gap.setncattr("z", np.int32(1))
        gap.setncattr("y", "*" * 30)


def write(directory, name, maker, *arguments):
    path = os.path.join(directory, name + ".nc")
    maker(path, *arguments)
    for scaled in (True, False):
        expected(path, path[:-3] + (".ds" if scaled else ".raw.ds"), scaled)


def expected(path, output, scaled):
    """What ds-format reads; without scaling by the switch of the library below it."""
    if scaled:
        found = read(path)
    else:
        plain = netCDF4.Dataset

        def unscaled(*arguments, **options):
            dataset = plain(*arguments, **options)
            dataset.set_auto_scale(False)
            return dataset

        netCDF4.Dataset = unscaled
        try:
            found = read(path)
        finally:
            netCDF4.Dataset = plain
    ds_format.write(output, found)


def read(path):
    left_out = (netCDF4.CompoundType, netCDF4.VLType)
    with netCDF4.Dataset(path) as f:
        names = [name for name, variable in f.variables.items()
                 if variable.dtype is str or not isinstance(variable.datatype, left_out)]
    return ds_format.read(path, names)


def main(directory):
    os.makedirs(directory, exist_ok=True)
    for kind in CLASSIC:
        write(directory, "basic-" + kind, basic, kind)
        write(directory, "odd-records-" + kind, odd_records, kind)
        write(directory, "no-records-" + kind, no_records, kind)
    write(directory, "rich", rich)
    write(directory, "many-attributes", many_attributes)


if __name__ == "__main__":
    main(sys.argv[1])
