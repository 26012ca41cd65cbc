"""Writes the golden datasets of tests/golden/datadings, and prints the rows of the list in their PROVENANCE.md.

    python datadings_golden.py DIRECTORY
"""

import csv
import gzip
import importlib.util
import shutil
import struct
import sys
from pathlib import Path

import msgpack
import numpy

from datadings.commands.convert_index import convert_index
from datadings.tools.msgpack import packb

import datadings_files as files

OUT = Path(sys.argv[1])
ROWS = []


def expect(name, lines):
    (OUT / f"{name}.expected.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def row(name, writer, holds):
    ROWS.append(f"| `{name}` | {writer} | {holds} |")


def keep(name, samples, holds):
    """A dataset of samples, written by FileWriter."""
    path = OUT / f"{name}.msgpack"
    files.write(path, samples)
    expect(name, files.lines(path))
    row(name, "FileWriter", holds)


def keep_raw(name, messages, holds):
    """A dataset of messages, written by RawWriter."""
    path = OUT / f"{name}.msgpack"
    files.write_raw(path, messages)
    expect(name, files.lines(path))
    row(name, "RawWriter", holds)


def sizes():
    keep("size-0", [], "no sample: no data, one offset, a filter for two elements")
    keep("size-1", [{"key": "only", "label": 1}], "one sample: a filter for two elements")
    keep("size-2", [{"key": "a", "label": 1}, {"key": "b", "label": 2}], "two samples")
    many = [{"key": f"sample-{index:05d}", "label": index % 10, "text": "x" * (index % 40)} for index in range(300)]
    keep("size-300", many, "300 samples: the array of keys has a longer head, the filter several hashes")


def keys():
    unicode = ["", " ", "\x00", "a/b\\c", "\"quoted\"", "tab\tline\n", "\xe4", "a\u0308", "日本語", "🏳️‍🌈", "\ufeffmark", "\uffff", "\U0010ffff", "key", "nd"]
    keep("keys-unicode", [{"key": key, "n": n} for n, key in enumerate(unicode)], "empty, control characters, composed and not, four bytes, U+FEFF")
    lengths = [31, 32, 33, 63, 64, 65, 127, 128, 129, 192, 193, 255, 256, 300, 1024, 1025, 4000]
    keep("keys-long", [{"key": "k" * length} for length in lengths],
         "31 to 4000 bytes: fixstr, str 8 and str 16; hashes of one block, of exactly full ones, and of many")


def plain_values():
    integers = [0, 1, 127, 128, 255, 256, 65535, 65536, 2**32 - 1, 2**32, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1,
                -1, -32, -33, -128, -129, -32768, -32769, -2**31, -2**31 - 1, -2**53 - 1, -2**63]
    floats = [0.0, -0.0, 1.0, 0.1, 1 / 3, 1e15, 1e16, 1e22, 1e-5, 1e-4, 5e-324, 2.2250738585072014e-308, 1.7976931348623157e308,
              float("inf"), float("-inf"), float("nan"), 2.0**53, 1429707834606274.25, 1429707834606274.75]
    sizes = [0, 1, 31, 32, 255, 256, 300]
    samples = [{"key": f"int {value}", "value": value} for value in integers]
    samples += [{"key": f"float {index}", "value": value} for index, value in enumerate(floats)]
    samples += [{"key": f"str {size}", "value": "ü" * (size // 2) + "u" * (size % 2)} for size in sizes]
    samples += [{"key": f"bytes {size}", "value": bytes(n % 256 for n in range(size))} for size in sizes]
    samples += [{"key": f"list {size}", "value": list(range(size))} for size in (0, 1, 15, 16, 17)]
    samples += [{"key": f"map {size}", "value": {f"m{n}": n for n in range(size)}} for size in (0, 1, 15, 16, 17)]
    samples += [
        {"key": "constants", "nil": None, "true": True, "false": False},
        {"key": "keys of maps", "map": {0: "zero", -1: "minus one", 1.5: "float", True: "shadowed by nobody", None: "nil", b"b": "bytes", "s": "str"}},
        {"key": "nested", "a": {"b": {"c": [{"d": [[], {}, [[1]]]}]}}, "tuple": (1, (2, 3))},
        {"key": "names", "": 1, "ü": 2, "with \"quotes\"": 3, "$dollar": 4, "key2": 5, "kind": "nothing of numpy's", "type": "<i4", "data": b"x", "shape": [1]},
        {"key": "signs", "escape": {"$bytes": "no"}, "twice": {"$escape": {"$x": 1}}, "two": {"$a": 1, "$b": 2}},
        {"key": "control", "text": "".join(map(chr, range(33))) + "\x7f\x80\u2028\u2029\U0001f600"},
        {"key": "ext", "value": msgpack.ExtType(5, b"five!"), "stamp": msgpack.Timestamp(1, 2)},
    ]
    keep("values-plain", samples, "integers of every form, floats, texts, bytes, lists and maps of every head, constants, maps with keys of every type, exts")


def orders(code):
    return [code] if code[1:] in ("1", "u1", "i1") or code[0] in "bBS" else [f"<{code}", f">{code}"]


def arrays():
    samples = []
    for code, values in [
        ("b1", [True, False, True, True, False, False]),
        ("i1", [0, 1, -1, 127, -128, 5]),
        ("u1", [0, 1, 2, 127, 128, 255]),
        ("i2", [0, 1, -1, 32767, -32768, 258]),
        ("u2", [0, 1, 2, 32768, 65535, 258]),
        ("i4", [0, 1, -1, 2**31 - 1, -2**31, 66051]),
        ("u4", [0, 1, 2, 2**31, 2**32 - 1, 66051]),
        ("i8", [0, 1, -1, 2**63 - 1, -2**63, 2**53 + 1]),
        ("u8", [0, 1, 2, 2**63, 2**64 - 1, 2**53 + 1]),
        ("f2", [0.0, -0.0, 0.1, 65504.0, 6e-8, float("inf")]),
        ("f4", [0.0, -0.0, 0.1, 3.4028235e38, 1e-45, float("-inf")]),
        ("f8", [0.0, -0.0, 0.1, 1.7976931348623157e308, 5e-324, float("nan")]),
        ("c8", [0, 1j, 0.1 - 0.5j, complex(float("nan"), float("inf")), -0.0, 1e-45j]),
        ("c16", [0, 1j, 0.1 - 0.5j, complex(float("nan"), float("-inf")), -0.0, 5e-324j]),
        ("S3", [b"", b"a", b"ab", b"abc", b"a\0b", b"\xc3\xbc"]),
        ("U3", ["", "a", "ab", "abc", "\U0001f600ü", "日本語"]),
    ]:
        for dtype in orders(code):
            flat = numpy.array(values, dtype)
            samples.append({
                "key": f"array {dtype}",
                "dimensions 0": numpy.array(values[2], dtype),
                "dimensions 1": flat[:3],
                "dimensions 2": flat.reshape(2, 3),
                "dimensions 3": flat.reshape(1, 3, 2),
                "columns first": numpy.asfortranarray(flat.reshape(2, 3)),
                "every other": flat[::2],
                "empty": flat[:0],
                "empty, of dimensions 3": numpy.zeros((2, 0, 3), dtype),
            })
    for order in "<>":
        # The buffer of such an array cannot be had, but for one that is not contiguous the package takes a copy.
        dates = numpy.array(["1970-01-01T00:00:00.000000001", "NaT", "2262-04-11", "x"][:3] * 2, f"{order}M8[ns]")[::2]
        days = numpy.array(["1969-12-31", "2024-02-29", "9999-12-31", "-0400-01-01"], f"{order}M8[D]")[::2]
        spans = numpy.array([0, 1, -1, 2**62], f"{order}m8[25s]")[::2]
        plain = numpy.array([0, 7, -7, 8], f"{order}m8")[::2]
        samples.append({"key": f"array {order}M8 {order}m8", "dates": dates, "days": days, "spans": spans, "no unit": plain})
    opaque = numpy.frombuffer(struct.pack("<qq", 2**62, 16383) + bytes(16), "<f16")
    samples.append({"key": "array <f16", "value": opaque})
    samples.append({"key": "array S, not all UTF-8", "value": numpy.array([b"a", b"\xff"])})
    keep("values-arrays", samples,
         "arrays of every dtype in both byte orders, of dimensions 0 to 3 and empty, not contiguous ones, dates and spans, long doubles")


def structured():
    dtypes = {
        "two": [("a", "<i4"), ("b", ">f8")],
        "texts": [("s", "S3"), ("u", "<U2"), ("flag", "?")],
        "subarrays": [("m", "<i2", (2, 3)), ("v", "u1", (4,))],
        "nested": [("x", "u1"), ("inner", [("y", ">u2"), ("z", [("w", "<f4", (2,))])])],
        "unicode name": [("größe", "<i4")],
        "void": [("raw", "V3")],
    }
    samples = []
    for name, dtype in dtypes.items():
        whole = numpy.frombuffer(bytes(n % 251 % 2 if "flag" in str(dtype) else n % 251 for n in range(4 * numpy.dtype(dtype).itemsize)), dtype)
        if name == "texts":
            whole = numpy.array([(b"ab", "ü", True), (b"", "", False)] * 2, dtype)
        samples.append({"key": f"structured {name}", "four": whole, "two by two": whole.reshape(2, 2), "empty": whole[:0], "dimensions 0": whole[1:2].reshape(())})
    aligned = numpy.dtype([("a", "u1"), ("b", "<i4"), ("c", "u1")], align=True)
    padded = numpy.frombuffer(bytes(range(24)), aligned)
    samples.append({"key": "structured, padded", "value": padded})
    samples.append({"key": "void", "value": numpy.frombuffer(b"abcdef", "V3")})
    keep("values-structured", samples, "structures: subarrays, nested ones, padding, texts, void")


def objects():
    samples = [
        {"key": "object", "value": numpy.array([None, 1, "text", {"a": [1.5]}], object)},
        {"key": "object, of dimensions 2", "value": numpy.array([[1, 2], [None, 4]], object)},
    ]
    keep("values-objects", samples, "arrays of Python objects: pickles, never decoded")


def scalars():
    samples = [{"key": f"scalar {dtype} {value}", "value": numpy.dtype(dtype).type(value)} for dtype, value in [
        ("?", True), ("?", False), ("i1", -128), ("u1", 255), ("i2", -2), ("u2", 65535), ("i4", -2**31), ("u4", 2**32 - 1),
        ("i8", -2**63), ("u8", 2**64 - 1), ("f2", 0.1), ("f4", 0.1), ("f4", 1e-7), ("f8", 0.1), ("c8", 1.5 - 2j), ("c16", 0.1 + 1j),
    ]]
    samples += [
        {"key": "scalar nan", "value": numpy.float32("nan"), "infinity": numpy.float16("-inf")},
        {"key": "scalar of a big-endian array", "value": numpy.array([1.5, 2.5], ">f4")[1]},
        {"key": "scalar span", "value": numpy.timedelta64(90, "m")},
        {"key": "scalar texts", "str": numpy.str_("ü"), "bytes": numpy.bytes_(b"b")},
        {"key": "scalar long double", "value": numpy.frombuffer(struct.pack("<qq", -2**63, 16384), "<f16")[0]},
        {"key": "label", "label": numpy.int64(3)},
    ]
    keep("values-scalars", samples, "scalars of numpy; of 64-bit floats, texts and bytes msgpack takes them for Python's own")


def complex_numbers():
    nan, inf = float("nan"), float("inf")
    parts = [0.0, -0.0, 1.0, -1.5, 0.1, 1e16, 1e-5, 1e100, 5e-324, nan, inf, -inf]
    samples = [{"key": f"complex {index}", "value": complex(re, im)} for index, (re, im) in enumerate((re, im) for re in parts for im in parts)]
    samples.append({"key": "complex, as near to two texts", "value": complex(1429707834606274.25, -1429707834606274.75)})
    keep("values-complex", samples, "Python's complex numbers: every pair of zeros, signs, exponents, NaN and infinities")


def older():
    def older_array(value):
        return {b"nd": True, b"type": value.dtype.str, b"shape": value.shape, b"data": value.tobytes()}

    keep_raw("values-older", [
        ("a", msgpack.packb({"key": "a", "value": older_array(numpy.arange(6, dtype="<i2").reshape(2, 3))})),
        ("b", msgpack.packb({"key": "b", "value": older_array(numpy.array(1.5, ">f4")), "more": [older_array(numpy.zeros(0, "u1"))]})),
        ("not numpy's", msgpack.packb({"key": "not numpy's", "no data": {b"nd": True, b"type": "<i2", b"shape": [1]}, "no type": {b"nd": False, b"data": b""}, "flag": {b"complex": False}})),
    ], "arrays of before `kind` came, and maps that lack a member: those stay maps")


def raw_messages():
    wide = [b"\xd9\x01a", b"\xda\x00\x01a", b"\xcd\x00\x05", b"\xcf" + bytes(7) + b"\x05", b"\xd3" + b"\xff" * 8, b"\xdc\x00\x01\xc0", b"\xdf\x00\x00\x00\x00", b"\xc5\x00\x01x", b"\xca\x3f\x00\x00\x00"]
    keep_raw("raw-without-key", [
        ("no map", packb([1, 2, 3])),
        ("a number", packb(7)),
        ("no key", packb({"label": 7})),
        ("another key", packb({"key": "something else", "label": 8})),
        ("its key", packb({"key": "its key", "label": 9})),
        ("a key that is a number", packb({"key": 5})),
        ("nothing", packb(None)),
    ], "messages that are no map, have no key or another one: only RawWriter writes such")
    keep_raw("raw-long-forms", [(f"long {n}", b"\x82\xa3key" + packb(f"long {n}") + b"\xa1v" + form) for n, form in enumerate(wide)],
             "values in longer forms than they need, a float of 32 bits")


def index_variants():
    base = [{"key": f"key {index}", "label": index, "image": bytes(range(index * 7))} for index in range(7)]
    keep("index-whole", base, "seven samples and all six files; the next ones are copies with something taken away")
    whole = OUT / "index-whole.msgpack"
    lines = files.lines(whole)

    def variant(name, change, holds, suffixes=files.INDEX):
        path = OUT / f"{name}.msgpack"
        shutil.copyfile(whole, path)
        for suffix in files.INDEX:
            shutil.copyfile(files.beside(whole, suffix), files.beside(path, suffix))
        change(path)
        if suffixes is not None:
            files.sum_again(path, suffixes)
        try:
            read = files.lines(path)
        except (FileNotFoundError, IndexError):
            told = "Python cannot read it"
        else:
            assert read == lines, name
            told = "Python reads it"
        expect(name, lines)
        row(name, "FileWriter, changed", f"{holds}; {told}")

    def without(*suffixes):
        def change(path):
            for suffix in suffixes:
                files.beside(path, suffix).unlink()
        return change, [suffix for suffix in files.INDEX if suffix not in suffixes]

    def short(path):
        offsets = files.beside(path, ".offsets")
        offsets.write_bytes(offsets.read_bytes()[:-8])

    for name, gone in [("keys", [".keys"]), ("key-hashes", [".key_hashes"]), ("filter", [".filter"])]:
        change, left = without(*gone)
        variant(f"index-without-{name}", change, f"no `{gone[0]}`", left)
    variant("index-without-md5", lambda path: None, "no `.md5`", None)
    change, left = without(".keys", ".key_hashes", ".filter")
    variant("index-offsets-alone", change, "`.offsets` and the sums, nothing else", left)
    variant("index-n-offsets", short, "7 offsets, not 8: the last sample ends where the data end")
    change, left = without(".keys", ".key_hashes", ".filter")
    variant("index-n-offsets-alone", lambda path: (short(path), change(path)), "7 offsets, and nothing else that tells how many samples there are", left)
    variant("index-legacy", files.make_legacy, "the index of older versions, `.index`, instead of the four files", [files.LEGACY])
    path = OUT / "index-converted.msgpack"
    variant("index-converted", files.make_legacy, "the same after `datadings-convert-index`, which leaves `.index`", [files.LEGACY])
    with files.quiet():
        convert_index(path, None)
    assert files.lines(path) == lines


def data_of(name):
    """A file of scikit-learn's own data, without loading the package."""
    package = importlib.util.find_spec("sklearn").submodule_search_locations[0]
    return Path(package) / "datasets/data" / name


def real():
    with gzip.open(data_of("digits.csv.gz"), "rt") as table:
        rows = [list(map(float, line.split(","))) for line in table][:100]
    keep("real-digits", [
        {"key": f"digit-{index:04d}", "image": numpy.array(pixels, "u1").reshape(8, 8), "label": int(label)}
        for index, (*pixels, label) in enumerate(rows)
    ], "the first 100 of scikit-learn's 1797 digits: arrays of 8 by 8 bytes")
    with open(data_of("iris.csv"), encoding="utf-8") as table:
        _, *measured = csv.reader(table)
    names = ["setosa", "versicolor", "virginica"]
    keep("real-iris", [
        {"key": f"iris-{index:03d}", "sepal": [float(a), float(b)], "petal": [float(c), float(d)], "species": names[int(species)]}
        for index, (a, b, c, d, species) in enumerate(measured)
    ], "the 150 irises of scikit-learn")


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    for part in (sizes, keys, plain_values, arrays, structured, objects, scalars, complex_numbers, older, raw_messages, index_variants, real):
        part()
    print("\n".join(ROWS))


if __name__ == "__main__":
    main()
