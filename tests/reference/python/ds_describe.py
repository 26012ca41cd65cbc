"""Datasets told as JSON: what `ds_golden.py` and `ds_interop.py` lay beside the files that ds-format writes.

    {"attributes": {NAME: VALUE...},
     "variables": [
       {"name": ..., "members": {...}, "type": ..., "shape": [...], "endian": ..., "python": ..., "values": [...]}, ...]}

Variables are in the order of their names. `members` is the metadata that the dataset had for the variable before it was written; `shape` is
null for an empty variable; `values` are all elements in C order, null where one is missing, the bytes of a `str` in hexadecimal digits.
`python` is what ds-format itself makes of the written file: `same`, `nothing` (it takes no elements for no data), `fails`, or `other` values.
"""

import json
import sys

import ds_format as ds
import numpy as np
from ds_format.drivers.ds import JSONEncoder


def one(value):
    """An element as JSON has it."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, str):
        return str(value)
    return value.item()


def values(data, kind=None):
    """All elements in C order."""
    array = np.ma.asarray(data)
    missing = np.ma.getmaskarray(array).flatten()
    flat = np.ma.getdata(array).flatten()
    if kind == "unicode":
        # Byte strings of which some are missing: ds-format writes their bytes, and takes those for texts.
        flat = [value.decode() if isinstance(value, bytes) else value for value in flat]
    return [None if gone else one(value) for value, gone in zip(flat, missing)]


def endian(data, kind):
    if kind == "bool":
        return None
    order = "=" if kind in ("str", "unicode") else data.dtype.byteorder
    return {"<": "l", ">": "b", "=": sys.byteorder[0], "|": "b"}[order]


def variable(dataset, name):
    data = ds.var(dataset, name)
    told = {"name": name, "members": dict(ds.meta(dataset).get(ds.escape(name), {}))}
    if data is None:
        return told | {"type": told["members"].get(".type"), "shape": None, "endian": None, "values": []}
    kind = ds.misc.dtype_to_type(data.dtype, data)
    return told | {"type": kind, "shape": list(data.shape), "endian": endian(data, kind), "values": values(data, kind)}


def exact(found):
    """Values of which equality says all, NaN and signs of zero among it."""
    return [value if not isinstance(value, float) else ("float", np.float64(value).tobytes()) for value in found]


def read(path, told):
    """What ds-format reads in a file for a variable, in one word."""
    try:
        data = ds.read(str(path), [told["name"] if not told["name"].startswith((".", "\\")) else "\\" + told["name"]])
    except (ValueError, IOError, UnicodeDecodeError):
        return "fails"
    found = data.get(ds.escape(told["name"]))
    if found is None:
        return "nothing"
    same = list(np.shape(found)) == told["shape"] and exact(values(found)) == exact(told["values"])
    kind = ds.misc.dtype_to_type(found.dtype, found) if hasattr(found, "dtype") else {str: "unicode", bytes: "str"}.get(type(found))
    return "same" if same and kind == told["type"] else "other"


def misstated(told, stated):
    """Does the header state other bytes for strings than there are? Then the variables behind do not stand where it says."""
    if told["type"] not in ("str", "unicode") or told["shape"] is None:
        return False
    found = [value for value in told["values"] if value is not None]
    lengths = [len(value) // 2 if told["type"] == "str" else len(value.encode()) for value in found]
    mask = (len(told["values"]) + 7) // 8 if stated[".missing"] else 0
    return stated[".len"] != mask + 8 * len(found) + sum(lengths)


def describe(dataset):
    return {"attributes": ds.meta(dataset, ""), "variables": [variable(dataset, name) for name in ds.vars(dataset)]}


def write(path, dataset):
    """Lets ds-format write a dataset, and lays `.expected.json` beside; returns what that tells."""
    told = json.loads(json.dumps(describe(dataset), cls=JSONEncoder))
    ds.write(str(path), dataset)
    header = json.loads(path.read_bytes().split(b"\n")[1])
    misplaced = False
    for each in told["variables"]:
        # Where it does not stand where the header says, anything may be read as the length of a text: that is not tried.
        each["python"] = "other" if misplaced else read(path, each)
        misplaced |= misstated(each, header[ds.escape(each["name"])])
    rows = ",\n".join(json.dumps(each) for each in told["variables"])
    text = f'{{"attributes": {json.dumps(told["attributes"])},\n"variables": [\n{rows}\n]}}\n'
    path.with_suffix(".expected.json").write_text(text, encoding="utf-8")
    return told
