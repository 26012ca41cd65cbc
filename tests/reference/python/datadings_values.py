"""Writes values of numpy as datadings packs them, one a line of JSON, with what Python reads out of them.

    python datadings_values.py > values.jsonl

`packed` is the message in hexadecimal digits. Of arrays and scalars, `dtype` is numpy's text of the type, `shape` the shape, `elements`
each element in C order as `text` says; `repr` is Python's text of a complex number; `plain` says that Python reads a map.
Arrays of objects have the bytes of their pickle and are not decoded. `again` is false where Python itself writes the value in another way than it
stands there: the older forms.
"""

import json

import msgpack
import numpy
from msgpack_numpy import decode, encode


def text(value, dtype):
    """One element: integers in decimal digits, floats by their bits, texts and bytes as hexadecimal digits."""
    if dtype.names is not None:
        return {name: field(value[name], dtype[name]) for name in dtype.names}
    if dtype.kind in "fc" and dtype.itemsize > (8 if dtype.kind == "f" else 16):
        # Of the 16 bytes of a long double, six are not set to anything.
        parts = numpy.array(value, dtype).astype(dtype.newbyteorder(">")).tobytes()
        return "".join(parts[start + 6 : start + 16].hex() for start in range(0, len(parts), 16))
    if dtype.kind in "fcV":
        return numpy.array(value, dtype).astype(dtype.newbyteorder(">")).tobytes().hex()
    if dtype.kind in "mM":
        return str(int(numpy.array(value, dtype).astype("i8")))
    if dtype.kind == "U":
        return str(value).encode("utf-8").hex()
    if dtype.kind == "S":
        return bytes(value).hex()
    if dtype.kind == "b":
        return bool(value)
    return str(int(value))


def field(value, dtype):
    if dtype.subdtype is None:
        return text(value, dtype)
    return [text(item, dtype.base) for item in value.reshape(-1)]


def pack(value):
    return msgpack.Packer(default=encode).pack(value)


def unpack(message):
    return msgpack.unpackb(message, strict_map_key=False, object_hook=decode)


def line(name, packed, again=True, **more):
    print(json.dumps({"name": name, "packed": packed.hex(), "again": again, **more}, ensure_ascii=False))


def array(name, value, again=True, message=None):
    message = packed_of(value) if message is None else message
    read = unpack(message)
    assert isinstance(read, numpy.ndarray), name
    elements = [text(item, read.dtype) for item in read.reshape(-1)]
    line(name, message, again, kind="array", dtype=read.dtype.str, shape=list(read.shape), elements=elements)


def scalar(name, value, packed=None, again=True):
    packed = pack(value) if packed is None else packed
    read = unpack(packed)
    line(name, packed, again, kind="scalar", dtype=read.dtype.str, shape=[], elements=[text(read, read.dtype)])


def plain(name, packed):
    assert isinstance(unpack(packed), dict), name
    line(name, packed, True, kind="plain")


def by_bytes(value):
    """The map of an array that has no buffer (times, long doubles of the other order) and so is packed only if it does not lie in one piece."""
    kind, described = (b"V", value.dtype.descr) if value.dtype.kind == "V" else (b"", value.dtype.str)
    return pack({b"nd": True, b"type": described, b"kind": kind, b"shape": value.shape, b"data": value.tobytes()})


def packed_of(value):
    """As Python's writer packs it; what it refuses, as it packs what it does not."""
    try:
        return pack(value)
    except ValueError:
        return by_bytes(value)


VALUES = {
    "b1": [True, False, True, True, False, True],
    "i": [0, 1, -1, 100, -128, 127],
    "u": [0, 1, 2, 100, 254, 255],
    "f": [0.0, -0.0, 1.5, float("nan"), float("-inf"), 0.1],
    "c": [0j, complex(-0.0, 1), 1.5 - 2j, complex(float("nan"), float("inf")), 0.1j, 3],
    "S": [b"", b"a", b"ab", b"a\0b", b"\xff\xfe", b"xyz"],
    "U": ["", "a", "äö", "a\0b", "日本", "\U0010ffff"],
    "M": [0, 1, -1, 2**40, -(2**63), 86400],
    "m": [0, 1, -1, 2**40, -(2**63), 86400],
    "V": [b"\0\0\0\0\0", b"abcde", b"\xff\xff\xff\xff\xff", b"ab\0\0\0", b"\0\0\0\0z", b"12345"],
}

DTYPES = ["b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "f16", "c8", "c16", "c32", "S3", "U3",
          "M8[ns]", "M8[D]", "M8[25s]", "M8", "m8[us]", "m8", "V5"]


def arrays():
    for name in DTYPES:
        for order in "<>":
            dtype = numpy.dtype(order + name)
            if order == ">" and dtype.byteorder == "|":
                continue
            key = next(key for key in VALUES if name.startswith(key))
            flat = numpy.array(VALUES[key], "i8").astype(dtype) if key in "Mm" else numpy.array(VALUES[key]).astype(dtype)
            if key == "V":
                flat = numpy.array([numpy.void(item) for item in VALUES[key]], dtype)
            shapes = {"0-d": flat[4:5].reshape(()), "empty": flat[:0], "empty 2-d": flat[:0].reshape(3, 0), "1-d": flat, "2-d": flat.reshape(2, 3), "3-d": flat.reshape(1, 6, 1)}
            for shape, value in shapes.items():
                array(f"{order}{name} {shape}", value)
    whole = numpy.arange(24, dtype="<i2").reshape(2, 3, 4)
    array("fortran order", numpy.asfortranarray(whole))
    array("transposed", whole.T)
    array("every other", whole[:, ::2, ::-1])
    array("six dimensions", whole.reshape(1, 2, 1, 3, 1, 4))
    array("largest numbers", numpy.array([2**63 - 1, -(2**63)], "<i8"))
    array("largest unsigned", numpy.array([2**64 - 1, 2**63], ">u8"))
    array("300 bytes", numpy.arange(300, dtype="u2").astype("u1"))


def structured():
    nested = [("a", "<i2"), ("b", [("c", ">f4"), ("d", "S2", (2,))]), ("e", "<U1", (2, 3))]
    aligned = numpy.dtype([("a", "u1"), ("b", "<f8"), ("c", "<i2")], align=True)
    for name, dtype in {"plain": numpy.dtype([("x", "<i4"), ("y", ">f8"), ("z", "?")]), "nested": numpy.dtype(nested), "one": numpy.dtype([("only", "<M8[s]")]), "names": numpy.dtype([("ä b", "<i2"), ("nd", "|u1"), ("key", "<f2")])}.items():
        value = numpy.frombuffer(bytes(index % 251 % 2 for index in range(6 * dtype.itemsize)), dtype).copy()
        if name == "nested":
            value["e"] = "é"
        array(f"structured {name}", value)
        array(f"structured {name} 2-d", value.reshape(3, 2))
        array(f"structured {name} empty", value[:0])
    value = numpy.zeros(4, aligned)
    value["a"], value["b"], value["c"] = [1, 2, 3, 4], [0.5, 1.5, 2.5, 3.5], [-1, -2, -3, -4]
    # The bytes between fields are part of the data, whatever they are; here they are zero.
    packed = pack(value)
    line("structured aligned", packed, kind="array", dtype=value.dtype.str, shape=[4], elements=[text(item, aligned) for item in value])


def scalars():
    values = {"b1": [True, False], "i": [-128, 127], "u": [0, 255], "f": [0.1, float("nan"), -0.0], "c": [1.5 - 2j]}
    for name in ["b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f16", "c8", "c16", "c32"]:
        for index, value in enumerate(values[next(key for key in values if name.startswith(key))]):
            scalar(f"scalar {name} {index}", numpy.array(value, "f8" if name[0] == "f" else None).astype(name)[()])
    scalar("scalar m8[ns]", None, pack({b"nd": False, b"type": "<m8[ns]", b"data": (-5).to_bytes(8, "little", signed=True)}))
    scalar("scalar >i4", None, pack({b"nd": False, b"type": ">i4", b"data": b"\x00\x00\x01\x02"}))
    scalar("scalar S", None, pack({b"nd": False, b"type": "|S3", b"data": b"ab\0"}))
    scalar("scalar nd is nil", None, pack({b"nd": None, b"type": "<i2", b"data": b"\1\2"}), again=False)


def complexes():
    parts = [0.0, -0.0, 1.0, -1.0, 0.1, 1e15, 1e16, 123456789012345680.0, 9999999999999998.0, 1e22, 1e-4, 1e-5, 0.00012345, 5e-324, 1.7976931348623157e308, float("nan"), float("inf"), float("-inf"), 1 / 3]
    for re in parts:
        for im in parts:
            value = complex(re, im)
            packed = pack(value)
            read = unpack(packed)
            bits = [numpy.array(part, ">f8").tobytes().hex() for part in (read.real, read.imag)]
            line(f"complex {value!r}", packed, kind="complex", repr=repr(value), elements=bits)
    for written in ["1", "j", "-j", "+j", " ( 1+2j ) ", "1_0e1_0j", "infinity+NaNj", "1.-.5J", "1+j", "1-j", "-1e5-1E-5j", "nanj"]:
        read = unpack(pack({b"complex": True, b"data": written}))
        bits = [numpy.array(part, ">f8").tobytes().hex() for part in (read.real, read.imag)]
        line(f"complex text {written}", pack({b"complex": True, b"data": written}), False, kind="complex", repr=repr(read), elements=bits)
    for written in ["", "1+", "1 + 2j", "(1+2j", "1+2", "1+2jj", "_1j", "1__0j", "j1", "0x1j", "+-1j", "1e", "1ej", "()", "(())", "e5j", ".j", "1+2j)"]:
        try:
            complex(written)
        except ValueError:
            line(f"no complex {written}", pack({b"complex": True, b"data": written}), False, kind="wrong")
        else:
            raise AssertionError(written)


def others():
    shapes = {b"nd": True, b"type": "<i2", b"kind": b"", b"shape": [2], b"data": b"\1\0\2\0"}
    array("older without kind", None, False, pack({key: value for key, value in shapes.items() if key != b"kind"}))
    array("another order", None, False, pack({"x": 1, **dict(reversed(shapes.items())), 5: None}))
    array("type as bin", None, False, pack({**shapes, b"type": b"<i2"}))
    array("shape as a number", None, False, pack({**shapes, b"shape": 2}))
    array("native order", None, False, pack({**shapes, b"type": "=i2"}))
    array("no order", None, False, pack({**shapes, b"type": "i2"}))
    names = {**shapes, b"kind": b"V", b"type": [[b"a", b"<i1"], [b"b", b"<u1"]]}
    array("names as bin", None, False, pack(names))
    for missing in [b"type", b"shape", b"data"]:
        plain(f"without {missing.decode()}", pack({key: value for key, value in shapes.items() if key != missing}))
    plain("scalar without type", pack({b"nd": False, b"data": b"\1"}))
    plain("scalar without data", pack({b"nd": False, b"type": "<i1"}))
    plain("complex without data", pack({b"complex": True, b"x": 1}))
    plain("a sample with a field nd", pack({"key": "a", "nd": True, "type": "<i2", "kind": b"", "shape": [2], "data": b"\1\0\2\0"}))
    plain("a sample with a field complex", pack({"key": "a", "complex": True, "data": "1j"}))
    plain("empty map", pack({}))
    # Not decoded here: that runs code.
    value = numpy.array([1, "a", None], object)
    packed = pack(value)
    line("objects", packed, kind="pickle", shape=[3], elements=[value.dumps().hex()])


arrays()
structured()
scalars()
complexes()
others()
