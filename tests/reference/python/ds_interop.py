"""The Python side of `cargo xtask interop ds`.

    python ds_interop.py write DIRECTORY --seed N --count K
    python ds_interop.py check DIRECTORY

`write` lets ds-format write random datasets, `NAME.ds`, and tells beside each what it holds. `check` lets it read what others wrote from that,
`NAME.WAY.ds`, and compares every variable that it can read. Both print as JSON how much that was.
"""

import argparse
import json
import random
from collections import Counter
from pathlib import Path

import ds_format as ds
import numpy as np

import ds_describe

NUMBERS = ["f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]
ALPHABETS = ["abcdefghijklmnopqrstuvwxyz_", "äöüßéèñ", "日本語文字", "\U0001f600\U0001f3f3\u200d", "\"\\\n\t {}$.,:", "ABCxyz019"]
WAYS = ("ours", "streams", "copy")


def a_text(dice, longest):
    return "".join(dice.choices(dice.choice(ALPHABETS), k=dice.randrange(longest + 1)))


def a_name(dice):
    first = dice.choice(["", "", "", "", ".", "\\", "\\.", ".."])
    return first + a_text(dice, 8) + dice.choice("abcdef")


def a_float(dice):
    special = [0.0, -0.0, float("nan"), float("inf"), -float("inf"), 5e-324, 1.7976931348623157e308, 1e16, 1e-5, 0.1]
    return dice.choice(special) if dice.random() < 0.3 else dice.uniform(-1, 1) * 10.0 ** dice.randrange(-30, 30)


def an_attribute(dice, depth=0):
    kind = dice.randrange(10 if depth < 3 else 8)
    if kind == 0:
        return a_text(dice, 20)
    if kind == 1:
        return a_float(dice)
    if kind == 2:
        return dice.choice([None, True, False])
    if kind == 3:
        return dice.choice([np.float32, np.float64])(a_float(dice) % 1e30)
    if kind == 4:
        return dice.choice([-1, 1]) * dice.getrandbits(dice.choice([3, 31, 63, 64, 100]))
    if kind == 5:
        return np.array([dice.randrange(100) for _ in range(dice.randrange(4))], dice.choice(NUMBERS))
    if kind == 6:
        return dice.choice([np.int8, np.uint64, np.int32])(dice.randrange(128))
    if kind == 7:
        return dice.choice(["\ud800", "a\udfff", "\x00\x1f\x7f", "\u2028"])
    if kind == 8:
        return [an_attribute(dice, depth + 1) for _ in range(dice.randrange(4))]
    return {a_text(dice, 6): an_attribute(dice, depth + 1) for _ in range(dice.randrange(4))}


def shape_of(dice, sizes):
    """Dimensions, and their sizes, of which there is one for each name."""
    names = dice.choices(list(sizes), k=dice.choice([0, 1, 1, 1, 2, 2, 3, 4]))
    return names, [sizes[name] for name in names]


def numbers(dice, dtype, count):
    dtype = np.dtype(dtype)
    bits = np.frombuffer(dice.randbytes(count * dtype.itemsize), dtype).copy()
    if dtype.kind == "f":
        # A NaN is a NaN whatever its bits, JSON keeps none of them.
        bits[np.isnan(bits)] = np.nan
    return bits


def some_values(dice, shape):
    """Values, and whether some may be missing."""
    count = int(np.prod(shape))
    kind = dice.random()
    if kind < 0.7:
        return numbers(dice, dice.choice("<>") + dice.choice(NUMBERS), count).reshape(shape), True
    if kind < 0.82:
        return np.array([dice.random() < 0.5 for _ in range(count)], bool).reshape(shape), True
    words = np.array([a_text(dice, 12).rstrip("\0") for _ in range(count)], dice.choice(["U13", object])).reshape(shape)
    if kind < 0.93:
        return words.astype("U13") if count == 0 else words, count > 0
    data = [dice.randbytes(dice.randrange(9)).rstrip(b"\0") for _ in range(count)]
    return np.array(data, "S9").reshape(shape), False


def a_mask(dice, shape):
    share = dice.choice([0.0, 0.1, 0.5, 0.9, 1.0])
    return np.array([dice.random() < share for _ in range(int(np.prod(shape)))], bool).reshape(shape)


def a_dataset(dice):
    sizes = {a_text(dice, 5) + str(n): dice.choice([0, 1, 2, 3, 5, 8, 9, 17, 70]) for n in range(4)}
    dataset, meta = {}, {".": {a_text(dice, 6): an_attribute(dice) for _ in range(dice.randrange(5))}}
    for _ in range(dice.randrange(9)):
        name = ds.escape(a_name(dice))
        dims, shape = shape_of(dice, sizes)
        members = [(a_text(dice, 6), an_attribute(dice)) for _ in range(dice.randrange(4))]
        if dice.random() < 0.1:
            dataset[name] = None
            members += [(".type", dice.choice(["int8", "unicode"]))] * dice.randrange(2)
        else:
            data, may_miss = some_values(dice, shape)
            while data.size > 20_000:
                dims, shape = shape_of(dice, sizes)
                data, may_miss = some_values(dice, shape)
            if may_miss and shape and dice.random() < 0.4:
                data = np.ma.array(data, mask=a_mask(dice, shape))
            dataset[name] = data if shape else data[()]
            # Without names each variable has dimensions of its own.
            if dice.random() < 0.8:
                members.insert(dice.randrange(len(members) + 1), (".dims", dims))
            if dice.random() < 0.1:
                members.insert(dice.randrange(len(members) + 1), (".time", True))
        # Names with a dot in front are the format's here.
        meta[name] = {key: value for key, value in members if key in (".dims", ".time", ".type") or not key.startswith(".")}
    return dataset | {".": meta}


def write(directory, seed, count):
    counts = Counter()
    for number in range(count):
        dataset = a_dataset(random.Random(f"{seed} {number}"))
        told = ds_describe.write(directory / f"{number:05d}.ds", dataset)
        counts["datasets"] += 1
        counts["variables"] += len(told["variables"])
        counts["elements"] += sum(len(each["values"]) for each in told["variables"])
    return counts


def word(told):
    """What the reference has to make of a variable of a file that is right."""
    stored = sum(value is not None for value in told["values"])
    if told["shape"] is None or not told["values"]:
        return ("nothing",)
    if told["type"] == "bool" and stored % 8 != 0:
        return ("fails", "other")
    return ("same",)


def check(directory):
    counts = Counter()
    for path in sorted(directory.glob("*.expected.json")):
        told = json.loads(path.read_text(encoding="utf-8"))
        for way in WAYS:
            file = path.with_name(path.name.replace("expected.json", f"{way}.ds"))
            if not file.exists():
                continue
            meta = ds.read(str(file), [], full=True)["."]
            assert json.dumps(meta.get(".", {})) == json.dumps(told["attributes"]), (file, "attributes")
            for each in told["variables"]:
                found = ds_describe.read(file, each)
                assert found in word(each), (str(file), each["name"], found)
                members = meta[ds.escape(each["name"])]
                wanted = {name: value for name, value in members.items() if name in each["members"]}
                assert json.dumps(wanted) == json.dumps(each["members"]), (str(file), each["name"], "members")
                counts["variables"] += 1
                counts["same"] += found == "same"
            counts["datasets"] += 1
    return counts


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["write", "check"])
    parser.add_argument("directory", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=60)
    given = parser.parse_args()
    counts = write(given.directory, given.seed, given.count) if given.what == "write" else check(given.directory)
    print(json.dumps(counts))


if __name__ == "__main__":
    main()
