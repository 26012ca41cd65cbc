"""The logical tables of tests/golden/cross: their columns, types and values, and what of them each format holds.

A kind is a word: `bool`, `i8` to `i64`, `u8` to `u64`, `f16`, `f32`, `f64`, `text`, `bytes`, `date`, `timestamp` (microseconds, no zone), `duration`
(microseconds), `labels` (a text, one of few), or made of kinds: `list<f32>`, `fixed<f32,3>` (lists of one length), `tensor<f64,2,3>`,
`struct<a:i32,b:text>`. Values are Python's own; those of `date`, `timestamp` and `duration` are days and microseconds (of 1970), of tensors flat lists,
of structs lists.
"""

import base64
import csv
import datetime
import importlib.util
import json
import math
import struct
from pathlib import Path

ALLOWANCES = json.loads(Path(__file__).resolve().parents[2].joinpath("golden/cross/allowances.json").read_text())

NAN, INFINITY = math.nan, math.inf
EPOCH = datetime.datetime(1970, 1, 1)
INTEGERS = {f"{sign}{bits}": bits for sign in "iu" for bits in (8, 16, 32, 64)}
FLOATS = {"f16": "e", "f32": "f", "f64": "d"}


def split(kind):
    """The word in front, and the parts in brackets."""
    if "<" not in kind:
        return kind, []
    word, inside = kind[:-1].split("<", 1)
    parts, depth = [""], 0
    for character in inside:
        depth += {"<": 1, ">": -1}.get(character, 0)
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return word, parts


class Column:
    def __init__(self, name, kind, values):
        self.name, self.kind, self.values = name, kind, list(values)

    @property
    def nulls(self):
        """`whole` where a value is missing, `inside` where one is in a list or struct, else None."""
        if any(value is None for value in self.values):
            return "whole"
        nested = any(isinstance(value, list) and None in value for value in self.values)
        return "inside" if nested else None


class Table:
    def __init__(self, name, holds, rows, columns):
        self.name, self.holds, self.rows, self.columns = name, holds, rows, columns
        names = [column.name for column in columns]
        assert len(set(names)) == len(names), names
        for column in columns:
            assert len(column.values) == rows, column.name

    def json(self):
        columns = ",\n ".join(
            json.dumps({"name": each.name, "kind": each.kind, "values": [plain(each.kind, value) for value in each.values]}, separators=(",", ":"))
            for each in self.columns
        )
        return f'{{"name":"{self.name}","rows":{self.rows},"columns":[\n {columns}\n]}}\n'


def plain(kind, value):
    """A value as the JSON of a table has it: floats by their bits, bytes as hexadecimal digits, times as numbers."""
    if value is None:
        return None
    word, parts = split(kind)
    if word in FLOATS:
        return bits(word, value)
    if word == "bytes":
        return value.hex()
    if word in ("list", "fixed", "tensor"):
        return [plain(parts[0], item) for item in value]
    if word == "struct":
        return [plain(part.split(":", 1)[1], item) for part, item in zip(parts, value)]
    return value


def bits(kind, value):
    return "0x" + struct.pack(">" + FLOATS[kind], value).hex()


def iso(kind, value):
    """A date, timestamp or duration as text."""
    if kind == "date":
        return (EPOCH + datetime.timedelta(days=value)).date().isoformat()
    if kind == "timestamp":
        text = (EPOCH + datetime.timedelta(microseconds=value)).isoformat()
        return text.rstrip("0") if "." in text else text
    sign, value = ("-", -value) if value < 0 else ("", value)
    seconds, rest = divmod(value, 1_000_000)
    text = f"{seconds}.{rest:06}".rstrip("0").rstrip(".")
    return f"{sign}PT{text}S"


def mapped(kinds, kind):
    """A kind by the rules for kinds: by the whole kind, by the word in front, or by what it is made of. None where there is no place for it."""
    word, parts = split(kind)
    found = kinds.get(kind, kinds.get(word, "made"))
    if found == "kept" or (found == "made" and not parts):
        return kind
    if found != "made":
        return found
    if word == "struct":
        members = [part.split(":", 1) for part in parts]
        parts = [f"{name}:{mapped(kinds, member)}" for name, member in members]
    else:
        parts = [mapped(kinds, parts[0]), *parts[1:]]
    return f"{word}<{','.join(parts)}>"


def of_nulls(form, column, kind):
    """What becomes of the nulls of a column: `kept`, `nan`, `empty` (text), or `out`, and then it is left out."""
    how = ALLOWANCES[form]["file"].get("nulls", {}).get(column.nulls, "kept")
    how = how if isinstance(how, str) else how.get(split(kind)[0], how["*"])
    if how == "cell":
        # Of a cell without anything nobody can tell that it is text, where all others of the column are no other.
        how = "empty" if any(value is not None for value in column.values) else "kept"
    return how


def rule(form, table, column):
    """What the file of a format has of a column: a kind, or None where it is left out."""
    rules = ALLOWANCES[form]["file"]
    kind = rules.get("columns", {}).get(f"{table.name}/{column.name}", "")
    kind = mapped(rules.get("kinds", {}), column.kind) if kind == "" else kind
    return None if kind is None or of_nulls(form, column, kind) == "out" else kind


def key(count):
    return Column("key", "text", [f"row-{n:02}" for n in range(count)])


def every_kind():
    """A name, a kind, and eight values for each."""
    yield "bool", "bool", [True, False, False, True, True, True, False, True]
    for kind, width in INTEGERS.items():
        low, high = (-(1 << width - 1), (1 << width - 1) - 1) if kind[0] == "i" else (0, (1 << width) - 1)
        yield kind, kind, [0, 1, low, high, low + 1, high - 1, 42, 100]
    extremes = {"f16": (65504.0, 2.0**-24), "f32": (3.4028234663852886e38, 2.0**-149), "f64": (1.7976931348623157e308, 5e-324)}
    thirds = {kind: struct.unpack(code, struct.pack(code, 1 / 3))[0] for kind, code in FLOATS.items()}
    for kind in FLOATS:
        high, tiny = extremes[kind]
        yield kind, kind, [NAN, INFINITY, -INFINITY, -0.0, tiny, high, thirds[kind], 1.0]
    yield "text", "text", ["plain", "", "two words", "a,b;c\td", 'quotes "inside"', "line\nfeed", "Straße", "07"]
    yield "bytes", "bytes", [b"", b"\x00", b"\xff\xfe\xfd", b"text", bytes(range(16)), b"{}", b"\x80", b"\x00\x00"]
    yield "date", "date", [0, 1, -1, 18321, -719162, 2932896, 11016, 19782]
    yield "timestamp", "timestamp", [0, 1, -1, 1582979696_789012, -62135596800_000000, 253402300799_999999, 951782400_000000, 1_000_000]
    yield "duration", "duration", [0, 1, -1, 12_345_678, 86_400_000_000, -3_600_000_000, 500_000, 922_337_203_685_000_000]
    yield "labels", "labels", ["red", "green", "red", "blue", "blue", "green", "red", "red"]
    yield "list", "list<i32>", [[1, 2, 3], [], [2147483647], [-2147483648, 0], [7], [8, 9], [], [1, 2, 3, 4, 5]]
    yield "list of f32", "list<f32>", [[0.5], [1.5, NAN], [], [thirds["f32"], -0.0], [INFINITY], [3.0, 4.0], [2.0**-149], [-1.0]]
    yield "list of text", "list<text>", [["a"], [], ["", "b"], ["c d", "é"], ["e"], ["f", "g", "h"], ["\""], ["line\nfeed"]]
    yield "fixed", "fixed<f32,3>", [[n + 0.5, float(-n), n * thirds["f32"] if n < 2 else n / 4] for n in range(8)]
    yield "fixed of i16", "fixed<i16,2>", [[n, -32768 + n] for n in range(8)]
    yield "tensor", "tensor<f64,2,3>", [[n + m / 8 for m in range(6)] for n in range(8)]
    yield "struct", "struct<a:i32,b:text>", [[n, f"member {n}"] for n in range(8)]


def types():
    columns = [key(8), *(Column(*each) for each in every_kind())]
    return Table("types", "a column of every kind: extremes, NaN, infinities, -0, subnormal numbers, years 1 and 9999, no bytes, no items", 8, columns)


def missing():
    columns = [key(8)]
    for place, (name, kind, values) in enumerate(every_kind()):
        gone = {place % 8, (place + 3) % 8, 7}
        columns.append(Column(name, kind, [None if row in gone else value for row, value in enumerate(values)]))
    columns += [Column("none at all", kind, [None] * 8) for kind in ["text"]]
    columns += [Column("first", "i64", [None] * 7 + [2**53]), Column("last", "f64", [0.25] * 7 + [None])]
    columns.append(Column("items", "list<i32>", [[1, None], [None], [], [2, 3], [None, None, 4], [5], [6], [7]]))
    columns.append(Column("fixed items", "fixed<f64,2>", [[0.5, None], [None, 1.5], [2.0, 3.0], [None, None], [4.0, 5.0], [6.0, 7.0], [8.0, 9.0], [1.0, 2.0]]))
    columns.append(Column("members", "struct<a:i64,b:text>", [[None, "x"], [1, None], [2, "y"], [None, None], [3, ""], [4, "z"], [5, "v"], [6, "w"]]))
    return Table("missing", "the same kinds with nulls: whole values, items, members; a column of nothing else, nulls in front of and behind values", 8, columns)


def texts():
    """Texts that are easily damaged, each by a word."""
    return {
        "composed": "\xe9", "combining": "e\u0301", "many marks": "Z" + "\u0351\u0356\u030d" * 8, "emoji": "\U0001f600\U0001f3f3\ufe0f\u200d\U0001f308",
        "right to left": "\u05e2\u05d1\u05e8\u05d9\u05ea \u0627\u0644\u0639\u0631\u0628\u064a\u0629 \u202eabc\u202c", "japanese": "\u65e5\u672c\u8a9e",
        "last": "\uffff\U0010ffff", "mark inside": "a\ufeffb", "separators": "\u2028\u2029\x85\xa0", "control": "\x01\x1b\x7f", "NUL": "a\x00b",
        "white": " \t leading and trailing \n", "returns": "a\rb\r\nc", "quotes": "\"'`\"\"", "backslash": "\\ \\n \\u0041", "long": "0123456789\xe4\U0001f600" * 250,
    }


def unicode():
    words = list(texts().values())
    rows = len(words)
    columns = [key(rows), Column("text", "text", words), Column("lists", "list<text>", [words[:n % 4] for n in range(rows)])]
    names = {
        "composed": "\xe9", "combining": "e\u0301", "emoji": "\U0001f468\u200d\U0001f469\u200d\U0001f467", "right to left": "\u05e2\u05d1\u05e8\u05d9\u05ea",
        "case": "TEXT", "space": " a name ", "quote": "say \"x\", y", "dot": "a.b", "first dot": ".a", "dollar": "$a", "backslash": "a\\b", "slash": "a/b",
        "tab": "a\tb", "line": "a\nb", "NUL": "a\x00b", "long": "long " + "n\xe4m\xe9" * 200, "number": "1", "hash": "a#2",
    }
    columns += [Column(name, "i32", range(place, place + rows)) for place, name in enumerate(names.values())]
    return Table("unicode", "names and values of many alphabets, combining marks, control characters, NUL, long ones; names that differ in case only", rows, columns)


def empty():
    return Table("empty", "columns of every kind and no rows", 0, [key(0), *(Column(name, kind, []) for name, kind, _ in every_kind())])


def wide():
    kinds = ["i32", "f64", "text", "bool", "i64"]
    make = [lambda n: n - 1500, lambda n: n / 8, lambda n: f"t{n}", lambda n: n % 3 == 0, lambda n: n * 1_000_000_007]
    columns = [Column(f"c{n:03}", kinds[n % 5], [make[n % 5](3 * n + row) for row in range(3)]) for n in range(999)]
    return Table("wide", "1,000 columns, three rows", 3, [key(3), *columns])


def iris():
    # The package is not imported: it would want others.
    package = Path(importlib.util.find_spec("sklearn").origin).parent
    with open(package / "datasets/data/iris.csv", encoding="utf-8") as file:
        (_, _, *species), *rows = csv.reader(file)
    names = ["sepal length", "sepal width", "petal length", "petal width"]
    columns = [Column(name, "f64", (float(row[place]) for row in rows)) for place, name in enumerate(names)]
    columns.append(Column("species", "labels", (species[int(row[4])] for row in rows)))
    keys = Column("key", "text", [f"row-{n:03}" for n in range(len(rows))])
    return Table("iris", "Fisher's measurements of iris flowers, from scikit-learn", len(rows), [keys, *columns])


def all_tables():
    return [types(), missing(), unicode(), empty(), wide(), iris()]


def turned(kind, to, value):
    """A value of one kind as one of another, where formats have no type for the first."""
    if value is None or kind == to:
        return value
    (word, parts), (target, items) = split(kind), split(to)
    if target == "text":
        if word in ("date", "timestamp", "duration"):
            return iso(word, value)
        if word == "bytes":
            return base64.b64encode(value).decode()
        if word == "labels":
            return value
    elif target in FLOATS or target in INTEGERS:
        return value
    elif word == "bytes" and to == "list<u8>":
        return list(value)
    elif word == "date" and to == "timestamp":
        return value * 86_400_000_000
    elif target in ("list", "fixed", "tensor"):
        return [turned(parts[0], items[0], item) for item in value]
    elif target == "struct":
        members = zip(parts, items, value)
        return [turned(part.split(":", 1)[1], item.split(":", 1)[1], each) for part, item, each in members]
    raise ValueError(f"no way from {kind} to {to}")


def held(form, table):
    """The table as a format's file has it."""
    names = ALLOWANCES[form]["file"].get("names", {})
    columns = []
    for column in table.columns:
        kind = rule(form, table, column)
        if kind is None:
            continue
        instead = {"kept": None, "nan": NAN, "empty": ""}[of_nulls(form, column, kind)]
        values = [instead if value is None else turned(column.kind, kind, value) for value in column.values]
        columns.append(Column(names.get(column.name, column.name), kind, values))
    return Table(table.name, table.holds, table.rows, columns)
