"""Random documents, and what makes two of them the same."""

import json
import struct

WORDS = ["abcdefghijklmnopqrstuvwxyz0123456789 _-", "äöüßéèñ", "日本語文字", "\U0001f600\U0001f3f3\u200d\ufe0f", "\"\\\n\t\r\x00\x1f\x7f\u2028/"]
OF_IDS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-."
LIMITS = [0, 1, -1, 2**31, -(2**31) - 1, 2**53 + 1, 2**63 - 1, -(2**63), 2**63, 2**64 - 1]


def a_text(dice, longest):
    alphabet = dice.choice(WORDS) if dice.random() < 0.4 else WORDS[0]
    return "".join(dice.choices(alphabet, k=dice.randrange(longest)))


def an_id(dice):
    """An id that the reference takes and we do."""
    length = dice.choices([1, dice.randrange(2, 30), 254, 255], [5, 90, 2, 3])[0]
    while True:
        name = "".join(dice.choices(OF_IDS, k=length))
        if not name.startswith(".") and ".." not in name:
            return name


def a_float(dice, tame):
    if tame:
        return round(dice.uniform(-1000, 1000), 3)
    if dice.random() < 0.5:
        return dice.uniform(-1000, 1000)
    while True:
        value = struct.unpack("<d", dice.randbytes(8))[0]
        if value - value == 0:
            return value


def a_value(dice, depth, tame):
    kind = dice.randrange(10 if depth else 8)
    if kind < 2:
        return a_text(dice, 20)
    if kind == 2:
        return dice.choice(LIMITS) if dice.random() < 0.4 else dice.randrange(-(10**6), 10**6)
    if kind == 3:
        return a_float(dice, tame)
    if kind == 4:
        return dice.choice([True, False, None])
    if kind == 5:
        return dice.choice(["", [], {}, 0.0, -0.0])
    if kind < 8:
        return dice.randrange(100)
    if kind == 8:
        return [a_value(dice, depth - 1, tame) for _ in range(dice.randrange(5))]
    return {a_text(dice, 8): a_value(dice, depth - 1, tame) for _ in range(dice.randrange(5))}


def a_document(dice, tame=False):
    """Members without `_id`; now and then none, or many, or 100 KB. Floats of tame ones are those that the reference never rounds when it parses."""
    kind = dice.random()
    if kind < 0.03:
        return {}
    if kind < 0.035:
        return {"long": a_text(dice, 2) + "".join(dice.choices(WORDS[0], k=100_000))}
    document = {a_text(dice, 10): a_value(dice, 3, tame) for _ in range(dice.randrange(1, 8))}
    document.pop("_id", None)
    if kind > 0.95:
        document["inner"] = {"_id": an_id(dice)}
    return document


def a_line(dice, name, document):
    """A document with its id, spelt in one of many ways."""
    kind = dice.random()
    if kind < 0.7:
        members = {"_id": name} | document
    else:
        members = list(document.items())
        members.insert(dice.randrange(len(members) + 1), ("_id", name))
        members = dict(members)
    return json.dumps(members, ensure_ascii=kind > 0.8, separators=(",", ":") if kind < 0.9 else (" , ", "\t:  "))


def exact(text):
    """The value of a JSON text, such that it equals another one only if integers are integers, and zeros have the same sign."""
    return json.loads(text, parse_int=lambda digits: ("integer", int(digits)), parse_float=lambda digits: ("float", struct.pack("<d", float(digits))))


def exact_of(value):
    """The same of a value."""
    return exact(json.dumps(value))
