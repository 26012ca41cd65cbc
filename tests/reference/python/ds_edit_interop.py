"""What changes ds files, beside the commands of ds-format.

    ds_edit_interop.py WHARF WORK --seed N --count K

On random datasets, which ds-format writes, its own commands (`rename`, `rename_dim`, `rm`, `set`, `merge`, and `read` with a selection) and
those of WHARF do the same to the same file. The outputs must have the same bytes, but for this:

* An attribute that ds-format renames goes to the end; ours stays where it stood. The format's own members of a variable whose values are set
  come in another order, and the values keep the order of bytes that the variable had.
* ds-format states too many bytes for an array of strings that it writes again, and for masked texts. Such a variable is the last one here,
  as nothing behind it would stand where it is said to; ours must state what there is.
* Texts of which a selection leaves none are bytes for ds-format.

What ds-format cannot do on its own files is left out: it reads neither truth values whose number is no multiple of 8 nor variables of no
elements nor masked scalars, and loses empty variables without a type; it cannot select where names are escaped, variables are empty, or texts
are no arrays. The last line is JSON: what was compared, by command.
"""

import argparse
import contextlib
import copy
import io
import json
import os
import random
import subprocess
from collections import Counter

import ds_format as ds
import numpy as np
from ds_format.cmd.main import main2

from ds_interop import NUMBERS, an_attribute, numbers

LAST = "\U0001f6a2"
COMMANDS = [
    *("rename", "rename_dim", "swap_dims", "join_dims", "rename_attr"),
    *("rm", "rm_attr", "set", "set_attr", "create", "cut", "merge", "merge_new"),
]
LETTERS = ["abcdefghij_", "äöüß", "日本語", "ABC xyz"]


def a_word(dice):
    return "".join(dice.choices(dice.choice(LETTERS), k=dice.randrange(6)))


class Names:
    """Names of which each comes once. None has a sign that an argument or a pattern could take for something else."""

    def __init__(self, dice, escaped=True):
        self.dice, self.escaped, self.count = dice, escaped, 0

    def one(self, prefix=""):
        self.count += 1
        first = self.dice.choice(["", "", "", ".", "\\", "\\."]) if self.escaped and not prefix else prefix
        return f"{first}{self.dice.choice('abcXYZ')}{a_word(self.dice)}{self.count}"

    def plain(self):
        return self.one().lstrip(".\\")


def truths(dice, shape, mask=None):
    """As many that are there that ds-format can read them."""
    count = int(np.prod(shape))
    there = count if mask is None else int(np.sum(~mask))
    return None if there % 8 else np.array([dice.random() < 0.5 for _ in range(count)], bool).reshape(shape)


def a_mask(dice, shape):
    share = dice.choice([0.1, 0.5, 0.9])
    return np.array([dice.random() < share for _ in range(int(np.prod(shape)))], bool).reshape(shape)


def some_values(dice, shape):
    kind = dice.random()
    mask = a_mask(dice, shape) if shape and dice.random() < 0.4 else None
    values = truths(dice, shape, mask) if kind < 0.25 else None
    if kind > 0.85:
        words = [a_word(dice) for _ in range(int(np.prod(shape)))]
        return np.array(words, "U6").reshape(shape)
    if values is None:
        values = numbers(dice, dice.choice("<>") + dice.choice(NUMBERS), int(np.prod(shape))).reshape(shape)
    return values if mask is None else np.ma.array(values, mask=mask)


def attributes(dice, names, most=4):
    return {names.plain(): an_attribute(dice) for _ in range(dice.randrange(most))}


def a_dataset(dice, names, plain=False):
    """Variables along a few dimensions, some of which are their axes."""
    sizes = {names.plain(): dice.choice([1, 2, 3, 5, 8, 16]) for _ in range(3)}
    dataset, meta = {}, {".": attributes(dice, names)}
    for _ in range(dice.randrange(2, 8)):
        axis = dice.random() < 0.2
        dims = [dice.choice(list(sizes))] if axis else dice.sample(list(sizes), dice.randrange(4))
        name = dims[0] if axis else names.one()
        shape = [sizes[dim] for dim in dims]
        members = attributes(dice, names)
        if not plain and dice.random() < 0.08:
            dims, data, members[".type"] = [], None, dice.choice(["int8", "unicode"])
        elif not plain and not shape and dice.random() < 0.3:
            data = np.array(dice.randbytes(4).rstrip(b"\0"))[()]
        else:
            data = some_values(dice, shape)
            while plain and not shape and data.dtype.kind == "U":
                data = some_values(dice, shape)
            data = data if shape else data[()]
        if dims or plain or dice.random() < 0.5:
            members[".dims"] = dims
        dataset[ds.escape(name)], meta[ds.escape(name)] = data, members
    if dice.random() < 0.5:
        dims = [dice.choice(list(sizes))]
        size = sizes[dims[0]]
        data = np.array([dice.randbytes(dice.randrange(6)).rstrip(b"\0") for _ in range(size)], "S6")
        if dice.random() < 0.5:
            data = np.ma.array([a_word(dice) for _ in range(size)], object, mask=a_mask(dice, [size]))
        name = names.one(LAST)
        dataset[name], meta[name] = data, {".dims": dims} | attributes(dice, names)
    return dataset | {".": meta}, sizes


def parts(path):
    """The header and the body."""
    version, header, body = open(path, "rb").read().split(b"\n", 2)
    assert version == b"ds-1.0", path
    return json.loads(header), body


def ordered(header):
    return json.dumps(header)


def split(members):
    """Attributes, and what is the format's own."""
    own = {name: value for name, value in members.items() if name.startswith(".")}
    return {name: value for name, value in members.items() if name not in own}, own


def in_order(members, body, wanted):
    """A body in which a variable has the order of bytes that is wanted."""
    order = {"l": "<", "b": ">"}
    if members[".type"] == "bool" or members.get(".endian", "b") == wanted.get(".endian", "b"):
        return body
    start, end = members[".offset"], members[".offset"] + members[".len"]
    count = int(np.prod(members[".size"]))
    start += -(-count // 8) if members[".missing"] else 0
    texts = members[".type"] == "unicode"
    kind = np.dtype("u8" if texts else members[".type"])
    stop = start + 8 * count if texts else end
    found = np.frombuffer(body[start:stop], kind.newbyteorder(order[members[".endian"]]))
    return body[:start] + found.astype(kind.newbyteorder(order[wanted[".endian"]])).tobytes() + body[stop:]


class Case:
    """A file, and what both make of copies of it."""

    def __init__(self, given, number, counts):
        self.given, self.counts = given, counts
        self.stem = os.path.join(given.work, f"{number:04d}")
        self.step = 0

    def place(self, what):
        self.step += 1
        return f"{self.stem}.{self.step:02d}.{what}.ds"

    def theirs(self, *arguments):
        """A command of ds-format: whether it succeeds, and what it says."""
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            try:
                return main2(*copy.deepcopy(arguments), v=True) == 0, said.getvalue()
            except (AttributeError, KeyError, IndexError) as error:
                return False, repr(error)

    def ours(self, *arguments):
        done = subprocess.run([self.given.wharf, *arguments], capture_output=True, text=True)
        assert done.returncode in (0, 1, 2, 3), (arguments, done.stderr)
        # What merge gives up it tells, and ds-format gives it up without a word.
        return done.returncode == 0 or (done.returncode == 3 and arguments[0] == "merge"), done.stderr

    def both(self, what, theirs, ours, moved=(), changed=None):
        """Theirs and ours take an output's path behind or with their arguments. Both succeed and agree, or both refuse."""
        a, b = self.place(f"{what}.theirs"), self.place(f"{what}.ours")
        well, they_said = theirs(a)
        done, said = self.ours(*ours(b))
        where = (what, ours(b), said, they_said)
        assert well == done, (where, "ds-format does it" if well else "ds-format refuses")
        if not well:
            assert what == "join_dims", (where, "both refuse")
            self.counts["refused"] += 1
            return
        self.same(a, b, moved, changed, where)
        self.counts[what] += 1

    def same(self, a, b, moved, changed, where):
        if open(a, "rb").read() == open(b, "rb").read():
            self.counts["equal"] += 1
            return
        (theirs, body), (ours, ours_body) = parts(a), parts(b)
        if changed is not None:
            body = in_order(theirs[changed], body, ours[changed])
        assert body == ours_body, (where, "bodies")
        for variable, old, new in moved:
            # Its value is the same, and where it stood in theirs it is last.
            of_theirs, of_ours = theirs[variable], ours[variable]
            assert old not in of_ours, (where, old)
            assert ordered(of_theirs.pop(new)) == ordered(of_ours.pop(new)), (where, new)
        for name, members in theirs.items():
            if 0 in (members.get(".size") or []) and (members[".type"], ours[name][".type"]) == ("str", "unicode"):
                members[".type"] = "unicode"
        for name in [name for name in ours if name.startswith(LAST)][-1:]:
            stated = theirs[name].pop(".len")
            found = ours[name].pop(".len")
            assert stated >= found and found == len(ours_body) - ours[name][".offset"], (where, name, stated, found)
        if changed is not None:
            (of_theirs, own), (of_ours, our_own) = split(theirs.pop(changed)), split(ours.pop(changed))
            own.pop(".endian", None), our_own.pop(".endian", None)
            assert ordered(of_theirs) == ordered(of_ours) and own == our_own, (where, of_theirs, own, of_ours, our_own)
        assert ordered(theirs) == ordered(ours), (where, ordered(theirs), ordered(ours))
        self.counts["alike"] += 1


def renamed(case, dice, names, path, dataset):
    variables = ds.vars(dataset)
    dims = ds.dims(dataset)
    chosen = dice.sample(variables, dice.randrange(1, len(variables) + 1))
    pairs = {old: names.one(LAST if old.startswith(LAST) else "") for old in chosen}
    free = [name for name in variables if name not in dims and not name.startswith(LAST)]
    if len(free) > 1 and dice.random() < 0.4:  # they change places
        ring = dice.sample(free, dice.choice([2, min(3, len(free))]))
        pairs = dict(zip(ring, ring[1:] + ring[:1]))
    both = [f"{old}={new}" for old, new in pairs.items()]
    case.both("rename", lambda out: case.theirs("rename", pairs, path, out), lambda out: ["rename", path, *both, "-o", out])
    if not dims:
        return
    pairs = {old: names.plain() for old in dice.sample(dims, dice.randrange(1, len(dims) + 1))}
    both = [f"{old}={new}" for old, new in pairs.items()]
    case.both(
        "rename_dim", lambda out: case.theirs("rename_dim", pairs, path, out), lambda out: ["rename", path, "--dims", *both, "-o", out]
    )
    if len(dims) > 1:
        # ds-format mixes two up that change places: it goes by way of a third.
        one, other = dice.sample(dims, 2)
        third = names.plain()

        def swapped(out):
            way = [case.place("way"), case.place("way")]
            steps = [({one: third}, path, way[0]), ({other: one}, way[0], way[1]), ({third: other}, way[1], out)]
            return [case.theirs("rename_dim", *step) for step in steps][-1]

        ours = ["rename", path, "--dims", f"{one}={other}", f"{other}={one}", "-o"]
        case.both("swap_dims", swapped, lambda out: [*ours, out])
        # The name of another: if they have one size they are one from now on.
        case.both(
            "join_dims",
            lambda out: case.theirs("rename_dim", {one: other}, path, out),
            lambda out: ["rename", path, "--dims", f"{one}={other}", "-o", out],
        )


def renamed_attributes(case, dice, names, path, dataset):
    for variable in [None, *ds.vars(dataset)]:
        found = list(ds.attrs(dataset, variable))
        if not found:
            continue
        pairs = {old: names.plain() for old in dice.sample(found, dice.randrange(1, len(found) + 1))}
        moved = [("." if variable is None else ds.escape(variable), old, new) for old, new in pairs.items()]
        both = [f"{variable or ''}@{old}={new}" for old, new in pairs.items()]
        case.both(
            "rename_attr",
            lambda out: case.theirs("rename", variable, pairs, path, out),
            lambda out: ["rename", path, *both, "-o", out],
            moved,
        )


def removed(case, dice, names, path, dataset):
    variables = ds.vars(dataset)
    chosen = dice.sample(variables, dice.randrange(1, len(variables) + 1))
    case.both("rm", lambda out: case.theirs("rm", chosen, path, out), lambda out: ["rm", path, *chosen, "-o", out])
    for variable in [None, *variables]:
        found = list(ds.attrs(dataset, variable))
        if found:
            gone = dice.sample(found, dice.randrange(1, len(found) + 1))
            both = [f"{variable or ''}@{name}" for name in gone]
            case.both("rm_attr", lambda out: case.theirs("rm", variable, gone, path, out), lambda out: ["rm", path, *both, "-o", out])


def set_attributes(case, dice, names, path, dataset):
    for variable in [None, dice.choice(ds.vars(dataset))]:
        found = list(ds.attrs(dataset, variable))
        values = {name: an_attribute(dice) for name in dice.sample(found, dice.randrange(len(found) + 1))}
        values |= {names.plain(): an_attribute(dice) for _ in range(dice.randrange(1, 4))}
        values = json.loads(json.dumps(values, cls=ds.drivers.ds.JSONEncoder))
        both = [f"{variable or ''}@{name}={json.dumps(value)}" for name, value in values.items()]
        what = [values] if variable is None else [variable, values]
        case.both("set_attr", lambda out: case.theirs("set", *what, path, out), lambda out: ["set", path, *both, "-o", out])


def plain_values(dice, shape):
    """Values as somebody writes them, and a type, which may be none."""
    count = int(np.prod(shape))
    kind = dice.choice(["int", "int", "float", "bool", "text"])
    if kind == "int":
        kinds = [None, "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64"]
        values, data_type = [dice.randrange(100) for _ in range(count)], dice.choice(kinds)
    elif kind == "float":
        values, data_type = [dice.randrange(-1000, 1000) / 8 for _ in range(count)], dice.choice([None, "float32", "float64"])
    elif kind == "bool":
        values, data_type = [dice.random() < 0.5 for _ in range(count)], dice.choice([None, "bool"])
    else:
        values, data_type = [a_word(dice) for _ in range(count)], None
    # Where values are missing ds-format takes lists, not lists of lists, and no texts.
    if len(shape) == 1 and kind in ("int", "float") and dice.random() < 0.4:
        values = [None if dice.random() < 0.3 else value for value in values]
        if all(value is None for value in values):
            values[0] = 1
    data = np.array(values, object).reshape(shape).tolist()
    return data, data_type


def natural(data):
    """The type that values have by themselves, so that ours is not the one that was there."""
    first = next(value for value in np.ravel(np.array(data, object)) if value is not None)
    return {bool: "bool", int: "int64", float: "float64", str: "unicode"}[type(first)]


def set_values(case, dice, names, path, dataset, sizes):
    for variable in [dice.choice(ds.vars(dataset)), names.one()]:
        if variable.startswith(LAST):
            continue
        # Where there were dimensions ds-format cannot have none.
        least = 1 if variable in ds.vars(dataset) and ds.dims(dataset, variable) else 0
        dims = dice.sample(list(sizes), dice.randrange(least, 3))
        data, data_type = plain_values(dice, [sizes[dim] for dim in dims])
        given = ["--type", data_type or natural(data), *(["--dims", ",".join(dims)] if dims else [])]
        what = f"{variable}={json.dumps(data)}"
        case.both(
            "set",
            lambda out: case.theirs("set", variable, data_type, dims or None, data, {}, path, out),
            lambda out: ["set", path, what, *given, "-o", out],
            changed=ds.escape(variable),
        )


def created(case, dice, names):
    name, dims = names.one(), [names.plain() for _ in range(dice.randrange(3))]
    data, data_type = plain_values(dice, [dice.randrange(1, 5) for _ in dims])
    title = a_word(dice)
    given = [f"{name}={json.dumps(data)}", f"{name}@units=K", f"@title={json.dumps(title)}", "--type", data_type or natural(data)]
    item = [name, data_type, dims or None, data, {"units": "K"}]
    case.both(
        "create",
        lambda out: case.theirs("set", item, {"title": title}, None, out),
        lambda out: ["set", out, *given, *(["--dims", ",".join(dims)] if dims else []), "--create"],
        changed=ds.escape(name),
    )


def cut(case, dice, path, sizes):
    for dim in ds.dims(ds.read(path)):
        size = sizes[dim]
        start, end = sorted([dice.randrange(size + 1), dice.randrange(size + 1)])

        def selected(out):
            ds.write(out, ds.read(path, sel={dim: list(range(start, end))}))
            return True, ""

        case.both("cut", selected, lambda out: ["convert", path, out, "--rows", f"{start}..{end}", "--dim", dim])


def merged(case, dice, names, path, dataset, sizes):
    """A second dataset with the same variables, of another size along one dimension; and both along a new dimension."""
    dim = dice.choice(list(sizes))
    of_truths = any(getattr(ds.var(dataset, name), "dtype", None) == bool for name in ds.vars(dataset))
    other_sizes = sizes | {dim: dice.choice([sizes[dim], 2 * sizes[dim]] if of_truths else [1, 2, 7, 8])}
    other = copy.deepcopy(dataset)
    for name in ds.vars(other):
        data, dims = ds.var(other, name), ds.dims(other, name)
        if dim in dims:
            shape = [other_sizes[each] for each in dims]
            places = [np.arange(size) % old for size, old in zip(shape, data.shape)]
            ds.var(other, name, data[np.ix_(*places)])
        for attribute in ds.attrs(other, name):
            if dice.random() < 0.3:
                ds.attr(other, attribute, an_attribute(dice), var=name)
    if len(ds.vars(other)) > 2 and dice.random() < 0.5:
        of_numbers = [name for name in ds.vars(other) if dim in ds.dims(other, name) and ds.var(other, name).dtype.kind in "iuf"]
        for name in of_numbers[:1]:
            if any(dim in ds.dims(other, kept) for kept in ds.vars(other) if kept != name):
                ds.rm(other, name)
    ds.attrs(other, None, attributes(dice, names) | {"title": "other"})
    second = case.place("second")
    ds.write(second, other)
    if dim in ds.dims(dataset):
        for inputs in ([path, second], [path, second, path]):
            case.both(
                "merge",
                lambda out: case.theirs("merge", dim, *inputs, out),
                lambda out: ["merge", *inputs, "--dim", dim, "-o", out],
            )
    new = names.plain()
    case.both(
        "merge_new",
        lambda out: case.theirs("merge", new, path, path, out),
        lambda out: ["merge", path, path, "--dim", new, "-o", out],
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("wharf")
    parser.add_argument("work")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=60)
    given = parser.parse_args()
    counts = Counter(dict.fromkeys([*COMMANDS, "datasets", "equal", "alike", "refused"], 0))
    for number in range(given.count):
        dice = random.Random(f"edit {given.seed} {number}")
        case = Case(given, number, counts)
        names = Names(dice)
        dataset, sizes = a_dataset(dice, names)
        path = case.place("dataset")
        ds.write(path, dataset)
        renamed(case, dice, names, path, dataset)
        renamed_attributes(case, dice, names, path, dataset)
        removed(case, dice, names, path, dataset)
        set_attributes(case, dice, names, path, dataset)
        set_values(case, dice, names, path, dataset, sizes)
        created(case, dice, names)
        dataset, sizes = a_dataset(dice, Names(dice, escaped=False), plain=True)
        path = case.place("plain")
        ds.write(path, dataset)
        cut(case, dice, path, sizes)
        merged(case, dice, names, path, dataset, sizes)
        counts["datasets"] += 1
    assert sum(counts[command] for command in COMMANDS) == counts["equal"] + counts["alike"]
    print(json.dumps(counts))


if __name__ == "__main__":
    main()
