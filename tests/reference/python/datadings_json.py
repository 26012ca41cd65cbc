"""Samples as JSON, one a line, in the form that `wharf cat` and crate datadings give them: what Python reads, said in bytes that can be compared.

Numpy's own reader makes the values (`msgpack_numpy.decode`); arrays of Python objects are the one thing that is not decoded, since that
runs code. What is told of an array's dtype is what the file says, checked against the dtype that numpy makes of it.
"""

import base64
import json

import msgpack
import msgpack_numpy
import numpy


class Array:
    """An array with the dtype that the file tells."""

    def __init__(self, described, value):
        self.described, self.value = described, value


class Pickle:
    """The bytes of an array of Python objects."""

    def __init__(self, data):
        self.data = data


class Single(float):
    """A float of 32 bits that is none of numpy's."""


def hook(pairs):
    """What msgpack makes of a map, with those things kept that msgpack-numpy throws away."""
    plain = dict(pairs)
    if plain.get(b"kind") == b"O" and plain.get(b"nd") is True:
        return Pickle(plain[b"data"])
    value = msgpack_numpy.decode(plain)
    if isinstance(value, numpy.ndarray):
        return Array(plain[b"type"], value)
    return pairs if value is plain else value


def unpack(message):
    """A message as its values; maps are lists of pairs, so that their order and keys of any type are kept."""
    return msgpack.unpackb(message, strict_map_key=False, object_pairs_hook=Pairs.of)


class Pairs(list):
    """The pairs of a map."""

    @classmethod
    def of(cls, pairs):
        value = hook(pairs)
        return cls(value) if value is pairs else value


def digits(text, low, high):
    """A number that Python's repr or numpy's str wrote with its shortest digits, as serde_json places its point."""
    sign, text = ("-", text[1:]) if text.startswith("-") else ("", text)
    mantissa, _, exponent = text.partition("e")
    whole, _, fraction = mantissa.partition(".")
    point = len(whole) + int(exponent or 0)
    figures = whole + fraction
    point -= len(figures) - len(figures.lstrip("0"))
    figures = figures.strip("0")
    if not figures:
        return sign + "0.0"
    if low < point <= 0:
        return f"{sign}0.{'0' * -point}{figures}"
    if 0 < point <= high:
        if len(figures) <= point:
            return f"{sign}{figures.ljust(point, '0')}.0"
        return f"{sign}{figures[:point]}.{figures[point:]}"
    rest = f".{figures[1:]}" if len(figures) > 1 else ""
    return f"{sign}{figures[0]}{rest}e{point - 1:+d}"


def number(value):
    """A float with its shortest digits; a text where JSON has no number for it."""
    if numpy.isnan(value):
        return '"NaN"'
    if numpy.isinf(value):
        return '"Infinity"' if value > 0 else '"-Infinity"'
    if isinstance(value, (numpy.float16, numpy.float32, Single)):
        return digits(str(numpy.float32(value)), -6, 13)
    return digits(repr(float(value)), -5, 16)


def text(value):
    return json.dumps(value, ensure_ascii=False)


def sequence(items):
    return f"[{','.join(items)}]"


def encoded(value):
    return f'"{base64.b64encode(value).decode()}"'


def tagged(name, value):
    return f'{{"${name}":{value}}}'


def plain(value):
    """A value without members."""
    if value is None or isinstance(value, (bool, numpy.bool_)):
        return {None: "null", True: "true", False: "false"}[None if value is None else bool(value)]
    if isinstance(value, (numpy.complexfloating, complex)):
        return tagged("complex", sequence([number(value.real), number(value.imag)]))
    if isinstance(value, numpy.timedelta64):
        return text(f"PT{value // numpy.timedelta64(1, 's')}S")  # those of the golden files are whole and positive
    if isinstance(value, numpy.longdouble) and value.itemsize > 8:
        return tagged("bytes", encoded(value.tobytes()))
    if isinstance(value, (float, numpy.floating)):
        return number(value)
    if isinstance(value, (int, numpy.integer)):
        return str(int(value))
    if isinstance(value, str):
        return text(value)
    if isinstance(value, bytes):
        return tagged("bytes", encoded(value))
    raise TypeError(f"no JSON for {value!r}")


def element(value, kind):
    if kind == "c":
        return sequence([number(value.real), number(value.imag)])
    if kind == "S":
        return text(bytes(value).decode())
    return plain(value)


def described(dtype):
    """The dtype of an array as the file tells it."""
    if isinstance(dtype, bytes):
        dtype = dtype.decode()
    if isinstance(dtype, (list, tuple)):
        return sequence(str(item) if isinstance(item, int) else described(item) for item in dtype)
    return text(dtype)


def array(of):
    value, kind = of.value, of.value.dtype.kind
    flat = value.reshape(-1)
    if kind in "SU" and kind == "S":
        whole = all(is_text(bytes(item)) for item in flat)
    else:
        whole = kind not in "V" and not (kind in "fc" and value.dtype.itemsize > (8 if kind == "f" else 16))
        if kind == "b":
            whole = bool(numpy.all(value.view("u1") <= 1))
    if not whole:
        data = encoded(value.tobytes())
    elif kind in "mM":
        data = sequence(str(int(item)) for item in flat.astype("i8"))
    else:
        data = sequence(element(item, kind) for item in flat)
    shape = sequence(str(size) for size in value.shape)
    if kind != "V" and of.described not in (value.dtype.str, value.dtype.str.encode()):
        raise ValueError(f"{of.described!r} is {value.dtype} to numpy")
    return tagged("ndarray", f'{{"dtype":{described(of.described)},"shape":{shape},"data":{data}}}')


def is_text(value):
    try:
        value.decode()
        return True
    except UnicodeDecodeError:
        return False


def line(value):
    """One value as JSON."""
    if isinstance(value, Pairs):
        pairs = [f"{text(key) if isinstance(key, str) else text(line(key))}:{line(member)}" for key, member in value]
        whole = f"{{{','.join(pairs)}}}"
        first = value[0][0] if value else None
        if isinstance(first, str) and (first == "$escape" or len(value) == 1 and first.startswith("$")):
            return tagged("escape", whole)
        return whole
    if isinstance(value, list):
        return sequence(line(item) for item in value)
    if isinstance(value, Array):
        return array(value)
    if isinstance(value, Pickle):
        return tagged("pickle", encoded(value.data))
    if isinstance(value, msgpack.Timestamp):
        return ext(-1, value.to_bytes())
    if isinstance(value, msgpack.ExtType):
        return ext(value.code, value.data)
    return plain(value)


def ext(code, data):
    return tagged("ext", f'{{"type":{code},"data":{encoded(data)}}}')


def message(packed):
    """A message as JSON."""
    return line(unpack(packed))
