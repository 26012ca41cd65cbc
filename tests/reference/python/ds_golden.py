"""Writes the golden files of tests/golden/ds, and prints the rows of the list in their PROVENANCE.md.

    python ds_golden.py DIRECTORY
"""

import sys
import tempfile
from pathlib import Path

import ds_format as ds
import netCDF4
import numpy as np

import ds_describe

OUT = Path(sys.argv[1])
ROWS = []

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float32", "float64"]


def keep(name, dataset, holds, reads="all", unread=lambda told: False):
    """Writes a dataset. Which variables ds-format then reads otherwise, or not at all, has to be known."""
    told = ds_describe.write(OUT / f"{name}.ds", dataset)
    for each in told["variables"]:
        expected = each["shape"] is None or unread(each)
        assert (each["python"] != "same") == expected, (name, each["name"], each["python"])
    ROWS.append(f"| `{name}` | {reads} | {holds} |")


def no_elements(told):
    return 0 in told["shape"]


def no_octets(told):
    """Bools of which the stored ones fill no whole bytes, and the reference reads too few."""
    stored = sum(value is not None for value in told["values"])
    return told["type"] == "bool" and (stored % 8 != 0 or told["values"] == [])


def numbers(kind, count):
    """Numbers of a type with its bounds among them."""
    dtype = np.dtype(kind)
    if dtype.kind == "f":
        info = np.finfo(dtype)
        first = [info.max, -info.max, info.tiny, info.smallest_subnormal, 0.0, -0.0, np.inf, -np.inf, np.nan, 0.1, 1.0, 1e20]
    else:
        info = np.iinfo(dtype)
        first = [info.max, info.min, 0, 1, info.max - 1, info.max // 3]
    more = [(7 * n * n + 3 * n) % 101 for n in range(count)]
    return np.array((first + more)[:count], dtype)


def forms(order):
    """Vectors, matrices and arrays without elements of every type of number."""
    for kind in FLOATS + INTEGERS:
        dtype = np.dtype(kind).newbyteorder(order)
        yield f"{kind}_vector", numbers(kind, 13).astype(dtype)
        yield f"{kind}_matrix", numbers(kind, 12).reshape(2, 3, 2).astype(dtype)
        yield f"{kind}_zero", np.zeros((0, 3), dtype)


def plain():
    keep("none", {}, "no variables and no attributes")
    for name, order in (("little", "<"), ("big", ">")):
        dataset = dict(forms(order))
        keep(f"numbers-{name}", dataset, f"every type of number, {name}-endian: vectors, three dimensions, no elements at all", "but those of no elements", no_elements)
    scalars = {kind: numbers(kind, 1)[0] for kind in FLOATS + INTEGERS}
    scalars["masked"] = np.ma.masked
    keep("scalars", scalars, "every type of number without dimensions, and a scalar that is missing")
    keep("strided", {"turned": np.arange(12, dtype="i2").reshape(3, 4).T, "every_second": np.arange(9, dtype=">f4")[::2]},
         "arrays that do not lie in memory as in the file")


def masked():
    for name, order in (("little", "<"), ("big", ">")):
        dataset = {}
        for kind in FLOATS + INTEGERS:
            data = numbers(kind, 21).astype(np.dtype(kind).newbyteorder(order))
            some = np.array([n % 3 == 0 or n in (1, 20) for n in range(21)])
            dataset[f"{kind}_some"] = np.ma.array(data, mask=some)
            dataset[f"{kind}_matrix"] = np.ma.array(data.reshape(7, 3), mask=~some.reshape(7, 3))
        data = numbers("int16", 24).astype(np.dtype("i2").newbyteorder(order))
        runs = np.repeat([False, True, False], 8)
        dataset |= {
            "all": np.ma.array(data, mask=True),
            "none": np.ma.array(data, mask=False),
            "no_mask": np.ma.array(data),
            "bytes_of_the_mask": np.ma.array(data, mask=runs),
            "zero": np.ma.array(data[:0], mask=np.zeros(0, bool)),
        }
        keep(f"masked-{name}", dataset, f"every type of number, {name}-endian, with elements missing: some, all, none", "but `zero`", no_elements)


def truths():
    dataset = {f"count_{count:02}": np.arange(count) % 3 != 1 for count in [*range(18), 64, 65]}
    dataset |= {"matrix": (np.arange(15) % 2 == 0).reshape(3, 5), "octets": np.ones((2, 8), bool), "true": np.True_, "false": np.False_}
    keep("bools", dataset, "bools of 0 to 17, 64 and 65 elements, of more dimensions and none", "those whose count is a multiple of 8 and not 0", no_octets)
    dataset = {}
    for count in (1, 3, 8, 9, 16, 21):
        every = np.arange(count)
        dataset[f"count_{count:02}"] = np.ma.array(every % 3 != 1, mask=every % 4 == 1)
    dataset["eight_of_nine"] = np.ma.array([True] * 9, mask=[False, True] + [False] * 7)
    dataset["all_missing"] = np.ma.array([True] * 9, mask=True)
    keep("bools-masked", dataset, "bools with elements missing", "those of which a multiple of 8 is stored", no_octets)


def texts():
    words = ["", "a", "bc", "\xfc", "日本語", "\U0001f600", "line\nfeed", "nul\0inside", "\ufeff", "x" * 300]
    keep("texts", {
        "unicode": np.array(words),
        "objects": np.array(words + ["nul at the end\0"], object),
        "matrix": np.array(["one", "two", "three", "four", "", "six"]).reshape(2, 3),
        "scalar": np.str_("alone \xe9"),
        "str": np.array([b"", b"\xff\xfe", b"plain", bytes(range(1, 256))]),
        "str_scalar": np.bytes_(b"\x80"),
        "zero": np.zeros((0, 2), "U3"),
        "zero_str": np.zeros((4, 0), "S3"),
        "no_mask": np.ma.array(["not", "missing"]),
    }, "texts and byte strings: empty ones, of many alphabets, with NUL, of fixed width and objects", "but those of no elements", no_elements)
    # As ds-format itself reads byte strings.
    keep("str-objects", {"str": np.array([b"", b"\0", b"ends with\0", b"'quoted'", b"\xff\n"], object)},
         "byte strings that are objects: `.len` counts them as Python prints them, and ends behind the file's end")
    keep("str-objects-masked", {"str": np.ma.array(np.array([b"a", b"", b"bc"], object), mask=[0, 1, 0])},
         "byte strings of which one is missing, which ds-format takes for texts: `.len` is too large")
    missing = np.ma.array(["a", "bc", "", "\xfc", "e"], mask=[0, 1, 0, 0, 1])
    keep("texts-masked", {"a": np.arange(3), "text": missing},
         "texts of which two are missing: `.len` is too large by 4, and ends behind the file's end")
    keep("texts-masked-all", {"text": np.ma.array([["a", "b"]], mask=True)}, "texts that are all missing: `.len` is too large by 4")
    behind = {"b": np.arange(1, 4, dtype="i2"), "c": np.arange(3, dtype="i1")}
    keep("texts-masked-before", {"a": np.ma.array(["a", "b"], mask=[1, 0])} | behind,
         "numbers behind texts of which one is missing: they stand two bytes before their `.offset`", "but `b` and `c`",
         lambda told: told["name"] != "a")


def metadata():
    values = {
        "nan": float("nan"), "infinite": [float("inf"), -float("inf")],
        "float32": np.float32(1e20), "float64": np.float64(0.1), "tiny": 5e-324,
        "whole": 1.0, "large": 1e16, "below": 9999999999999998.0, "small": 0.0001, "smaller": 0.00001, "minus_zero": -0.0,
        "int": np.int64(-7), "int8": np.int8(5), "uint64": np.uint64(2**64 - 1), "big": 123456789012345678901234567890, "negative": -2**70,
        "true": True, "null": None,
        "list": [1, [2.5, ["x", []]], {}], "array": np.arange(4), "object": {"b": 1, "a": {"c": None}}, "tuple": (1, 2),
        "text": "quotes \" backslash \\ slash / \n\r\t\b\f \x01 \x7f \xfc \u2028 \U0001f600", "lone": "\ud800 and \udc00", "": "no name",
        ".hidden": 1, "\\back": 2, "sp ace": 3, "日本": 4, "\U0001f600": 5, "of \"quotes\"": 6,
    }
    of_x, of_y = {**values, ".dims": ["t"], "last": 1}, {"of": "nothing", ".type": "int8"}
    dataset = {"x": np.arange(2.0), "y": None, ".": {".": dict(values), "x": of_x, "y": of_y}}
    keep("attributes", dataset, "attributes of every kind: no numbers, integers beyond 64 bits, nested lists, half surrogate pairs, names with dots")
    names = ["plain", ".dot", "..", "\\back", "\\.both", "\\\\", "sp ace", "\xfc", "日本", "\U0001f600", "\uffff", "A", "a", "0", "\"", "tab\t"]
    dataset = {ds.escape(name): np.int8(n) for n, name in enumerate(names)}
    dataset["."] = {ds.escape(name): {"n": n} for n, name in enumerate(names)}
    keep("names", dataset, "names of variables: of dots and backslashes, of other alphabets, and the order in which they are written")
    keep("empty", {"a": None, "b": None, "c": np.int16(1), "d": None, ".": {"b": {".type": "unicode", "k": [1]}, "d": {".dims": [], "z": 1}}},
         "variables without values, with a type and without")
    keep("dimensions", {
        "time": np.array([2459000.5, 2459001.5]), "x": np.arange(3, dtype="i4"), "field": np.zeros((2, 3), "f4"), "unnamed": np.zeros((2, 1), "u1"),
        ".": {
            "time": {".dims": ["time"], ".time": True, "units": "days since -4713-11-24 12:00 UTC"},
            "x": {"first": 1, ".dims": ("x",)},
            "field": {".dims": ["time", "x"]},
            ".": {"title": "dims"},
        },
    }, "dimensions that are shared, that are named after a variable, and not named at all; `.time`")


def again():
    """What ds-format wrote, read and written again: the members of the header keep their places."""
    dataset = ds.read(str(OUT / "dimensions.ds"))
    dataset["x"] = dataset["x"].astype("f8")
    dataset["field"] = dataset["field"] > 0
    dataset["unnamed"] = None
    keep("again", dataset, "`dimensions`, read and written with other types: members that are there already keep their places", "but `field`", no_octets)


def from_netcdf():
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/source.nc"
        with netCDF4.Dataset(path, "w") as file:
            file.title = "from NetCDF"
            file.createDimension("time", None)
            file.createDimension("x", 3)
            file.createVariable("time", "f8", ("time",)).units = "hours since 2000-01-01"
            file["time"][:] = [0.0, 6.0]
            rain = file.createVariable("rain", "f4", ("time", "x"), fill_value=1e20)
            rain.setncattr("valid_range", np.array([0, 50], "f4"))
            rain[:] = np.ma.array([[0, 1, 2], [3, 4, 5]], mask=[[0, 0, 1], [1, 0, 0]])
            packed = file.createVariable("packed", "i2", ("x",))
            packed.scale_factor = 0.5
            packed[:] = [1.0, 2.5, 3.0]
            file.createVariable("station", str, ("x",))[:] = np.array(["a", "b\xfc", ""], object)
        dataset = ds.read(path)
    keep("from-netcdf", dataset, "a NetCDF file, read and written as ds: a mask, fill values, texts")


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    for part in (plain, masked, truths, texts, metadata, again, from_netcdf):
        part()
    print("\n".join(ROWS))


if __name__ == "__main__":
    main()
