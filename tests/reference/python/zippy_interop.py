"""The Python side of `cargo xtask interop zdx`.

    python zippy_interop.py DRIVER OURS DIRECTORY --seed N --count K

DRIVER is that of tests/reference/zippy, OURS its counterpart over crate `zdx`, which knows the same verbs. The reference writes stores of random documents, in
Rust and Python, and archives of them; we read them, pack them and unpack them, and it reads those. It is killed at work, too. Whatever differs ends the script. It prints as JSON how much was compared.
"""

import argparse
import json
import random
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

from zippy import FastZDSStore
from zippy._zippy_data import NativeRoot

import zippy_driver
from zippy_random import a_document, a_line, an_id, exact, exact_of

THEIRS = zippy_driver.DRIVER
OURS = Path(sys.argv[2]).resolve()
COUNTS = Counter()


class Run:
    """A program that does operations one by one, each answered by a line."""

    def __init__(self, program, verb, *arguments):
        self.process = subprocess.Popen([program, verb, *map(str, arguments)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def answer(self):
        line = self.process.stdout.readline()
        assert line, self.process.stderr.read().decode()
        return json.loads(line)

    def do(self, *operations):
        for operation in operations:
            self.process.stdin.write(operation.encode() + b"\n")
            self.process.stdin.flush()
            answer = self.answer()
            assert "error" not in answer, (operation[:200], answer)

    def end(self):
        """Lets it end by itself; returns what it complained about."""
        self.process.stdin.close()
        said = self.process.stderr.read().decode()
        self.process.stdout.close()
        self.process.stderr.close()
        code = self.process.wait()
        assert (code == 0) == (said == ""), (code, said)
        return said

    def kill(self):
        """Lets it hang with whatever it has not written yet, and ends it at once."""
        self.process.stdin.write(b"hang\n")
        self.process.stdin.flush()
        assert self.answer() == "hanging"
        self.process.send_signal(signal.SIGKILL)
        assert self.process.wait() == -signal.SIGKILL
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            stream.close()


def run(program, verb, *arguments, lines=()):
    return zippy_driver.run(verb, *arguments, lines=lines, program=program)


def dump(program, verb, place):
    """What a program reads: by mode, collection and id the document and its line, and the errors."""
    found = {}
    for line in zippy_driver.split(run(program, verb, place)):
        told = json.loads(line)
        assert "error" not in told, (place, told)
        key = (told["mode"], told["collection"], told["id"])
        assert key not in found, (place, key)
        found[key] = (exact(line)["document"], told.get("line"))
    return found


def same(what, ours, theirs):
    """Two dumps of one store. Of an id that has a line and a file we read the line."""
    theirs = {key: told for key, told in theirs.items() if key[0] == "lines" or ("lines", *key[1:]) not in theirs}
    assert ours.keys() == theirs.keys(), (what, sorted(ours.keys() ^ theirs.keys())[:3])
    for key, (document, line) in theirs.items():
        assert ours[key][0] == document, (what, key, ours[key][0], document)
        assert line is None or ours[key][1] == line, (what, key, ours[key][1], line)
        COUNTS["lines"] += line is not None
    COUNTS["documents"] += len(theirs)


def pairs(dice, count, tame=False):
    """Ids, none twice, and documents."""
    names = dict.fromkeys(an_id(dice) for _ in range(count))
    return [(name, a_document(dice, tame)) for name in names]


def spelt(dice, of):
    return [a_line(dice, name, document) for name, document in of]


# What they write, and we read.


def by_driver(dice, root):
    """A store of one or more collections; returns its kind."""
    for collection in dice.sample(["train", "test", "a.b-c_d", "X"], dice.randrange(1, 4)):
        for _ in range(dice.randrange(1, 4)):
            mode = dice.choice(["put", "raw", "blob"])
            some = pairs(dice, dice.randrange(0, 60), tame=mode == "put")
            run(THEIRS, "write", root, collection, "--mode", mode, "--batch", dice.choice([1, 3, 10, 1000]), lines=spelt(dice, some))
            names = [name for name, _ in some]
            if names and dice.random() < 0.5:
                run(THEIRS, "write", root, collection, "--mode", "raw", lines=spelt(dice, [(name, a_document(dice)) for name in dice.sample(names, len(names) // 3)]))
            # Never all of them: then the reference brings them back.
            gone = dice.sample(names, len(names) // 3) if dice.random() < 0.5 else []
            if gone:
                run(THEIRS, "delete", root, collection, *gone)
            if dice.random() < 0.3:
                run(THEIRS, "compact", root, collection)


def by_files(dice, root):
    for collection in ("files", "more"):
        some = pairs(dice, dice.randrange(1, 30), tame=True)
        some = [(name, document) for name, document in some if len(name) < 200]
        lines = [f"{name}\t{json.dumps(document)}" for name, document in some]
        gone = [name for name, _ in dice.sample(some, len(some) // 4)]
        run(THEIRS, "docs-write", root, collection, "--batch", dice.choice([1, 7, 1000]), lines=lines)
        run(THEIRS, "docs-write", root, collection, lines=gone)
    run(THEIRS, "write", root, "files", lines=spelt(dice, pairs(dice, 5, tame=True)))


def by_rebuild(dice, root):
    """Without an index; the reference's way to find ids is right where they come first and nothing else looks like one."""
    some = pairs(dice, dice.randrange(1, 50)) * 2
    lines = [zippy_driver.compact({"_id": name} | document) for name, document in some]
    run(THEIRS, "write", root, "c", "--mode", "raw", lines=lines)
    (root / "collections/c/meta/index.bin").unlink()


def by_python(dice, root):
    """The package: with Rust inside, in every way that it has to write."""
    opened = NativeRoot.open(str(root), 10, "rw")
    store = opened.collection("native", 10)
    # Its integers end at 2^63.
    some = [(name, document) for name, document in pairs(dice, 40) if exact_of(document) == exact(json.dumps(document).replace("18446744073709551615", "0").replace("9223372036854775808", "0"))]
    for name, document in some[:10]:
        store.put(name, document)
    store.put_batch([(name, document) for name, document in some[10:20]])
    rest = some[20:]
    store.write_jsonl("\n".join(zippy_driver.compact({"_id": name} | document) for name, document in rest).encode(), [name for name, _ in rest])
    for name, _ in some[::7]:
        store.delete(name)
    store.flush()
    opened.close()
    del store, opened
    # And without Rust, where the index is text.
    with FastZDSStore.open(root, "pure", batch_size=7) as store:
        some = pairs(dice, 30)
        for name, document in some:
            store.put(name, document)
        for name, _ in some[::5]:
            store.delete(name)


def paths_of(value, before=""):
    """Paths of members whose names an argument can hold, and their values."""
    for name, inner in value.items() if isinstance(value, dict) else ():
        if name and not set(name) & set(".,=\0"):
            yield before + name, inner
            yield from paths_of(inner, f"{before}{name}.")


def scans(dice, root, theirs):
    """Some fields of documents, of all and of those that have some value."""
    for collection in sorted({collection for _, collection, _ in theirs}):
        documents = [told["document"] for told in zippy_driver.told("dump", root) if (told["collection"], told["mode"]) == (collection, "lines")]
        paths = [pair for document in documents for pair in paths_of(document)]
        if not paths or any(key[:2] == ("docs", collection) for key in theirs):
            continue
        # Floats the reference reads in questions otherwise than in documents.
        values = [(path, value) for path, value in paths if isinstance(value, (str, int, type(None))) and "\0" not in str(value)]
        asked = ["--fields", ",".join(path for path, _ in dice.choices(paths, k=3))]
        for path, value in dice.sample(values, min(2, len(values))):
            for more in ([], asked, asked + ["--where", f"{path}={json.dumps(value)}"]):
                asking = ["scan", root, collection, "--where", f"{path}={json.dumps(value)}", *more]
                (ours, found) = (list(map(exact, zippy_driver.split(run(program, *asking)))) for program in (OURS, THEIRS))
                # Its whole documents go without.
                for told in ours if not more else ():
                    told["document"].pop("_id", None)
                assert ours == found and found, asking
                COUNTS["scanned"] += len(found)


def theirs_to_ours(dice, folder, count):
    kinds = [by_driver, by_files, by_rebuild, by_python, by_driver]
    for n in range(count):
        kind = kinds[n % len(kinds)]
        root = folder / f"{n:04}-{kind.__name__}"
        kind(dice, root)
        theirs = dump(THEIRS, "dump", root)
        same(root, dump(OURS, "dump", root), theirs)
        scans(dice, root, theirs)
        assert dump(THEIRS, "dump", root) == theirs, f"reading {root} has changed it"
        archive = Path(f"{root}.zds")
        run(THEIRS, "pack", root, archive)
        same(archive, dump(OURS, "dump", archive), theirs)
        assert dump(THEIRS, "archive-dump", archive) == theirs
        unpacked = Path(f"{root}-unpacked")
        run(OURS, "unpack", archive, unpacked)
        assert dump(THEIRS, "dump", unpacked) == theirs
        for method in ("store", "deflate"):
            archive = Path(f"{root}-{method}.zds")
            run(OURS, "pack", root, archive, "--method", method)
            assert dump(THEIRS, "archive-dump", archive) == theirs
            same(archive, dump(OURS, "dump", archive), theirs)
            COUNTS["archives of ours"] += 1
        COUNTS["stores of theirs"] += 1
        COUNTS["archives of theirs"] += 1


def killed(dice, folder, count):
    """The reference is killed in the middle of a batch: what its last index has is there, and nothing that was never put."""
    for n in range(count):
        root = folder / f"{n:04}"
        first, second = pairs(dice, 30), pairs(dice, 40)
        if n % 3 == 1:
            # Too long for its buffer, and written at once; the line feed stays in the buffer.
            second.append(("long", {"text": "x" * 300_000}))
        elif n % 3 == 2:
            # The buffer is written several times.
            second += [(f"large-{each}", {"text": "y" * dice.randrange(20_000, 60_000)}) for each in range(30)]
        kept, put = ({("c", name): exact_of(document) for name, document in some} for some in (first, first + second))
        script = Run(THEIRS, "script", root, "c", "--batch", 100_000)
        script.do(*(f"raw {line}" for line in spelt(dice, first)), "flush")
        script.do(*(f"raw {line}" for line in spelt(dice, second)))
        script.kill()
        data = (root / "collections/c/meta/data.jsonl").read_bytes()
        COUNTS["without line feed"] += not data.endswith(b"\n")
        found = {key[1:]: document for key, (document, _) in dump(OURS, "dump", root).items()}
        assert kept.keys() <= found.keys(), root
        for key, document in found.items():
            assert document in (put[key], kept.get(key)), (root, key)
        COUNTS["beyond the last index"] += len(found.keys() - kept.keys())
        COUNTS["killed"] += 1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("driver", type=Path)
    parser.add_argument("ours", type=Path)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--count", type=int, required=True)
    given = parser.parse_args()
    dice = random.Random(given.seed)
    place = lambda name: given.directory / name
    theirs_to_ours(dice, place("theirs"), given.count)
    killed(dice, place("killed"), max(3, given.count // 6))
    print(json.dumps(COUNTS))


if __name__ == "__main__":
    main()
