"""The Python side of `cargo xtask interop zdx`.

    python zippy_interop.py DRIVER OURS DIRECTORY --seed N --count K

DRIVER is that of tests/reference/zippy, OURS its counterpart over crate `zdx`, which knows the same verbs. Both write stores of random documents and
archives, read each other's, and change the same ones by turns; they lock each other out, and are killed at work. The Python package does its part. Whatever differs ends the script. It prints as JSON how much was compared.
"""

import argparse
import json
import random
import shutil
import signal
import subprocess
import sys
import time
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


def as_model(what, found, model):
    """A dump and what has to be there: documents by collection and id."""
    documents = {key[1:]: document for key, (document, _) in found.items()}
    assert documents.keys() == model.keys(), (what, sorted(documents.keys() ^ model.keys())[:3])
    for key, document in model.items():
        assert documents[key] == exact_of(document), (what, key, documents[key], document)
    COUNTS["documents"] += len(model)


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


# What we write, and they read.


def in_python(root, model):
    """What the package reads of lines."""
    for collection in {collection for collection, _ in model}:
        # Closing a store for reading writes its index all the same: never in ours.
        opened = NativeRoot.open(str(root), 1, "r")
        store = opened.collection(collection, 1)
        names = {name for of, name in model if of == collection}
        assert set(store.list_doc_ids()) == names, root
        for name in names:
            wanted = model[collection, name]
            # Its integers end at 2^63; those behind are floats.
            if "18446744073709551615" in (text := json.dumps(wanted)) or "9223372036854775808" in text:
                continue
            assert exact_of(store.get(name)) == exact(text), (root, name)
            COUNTS["documents in Python"] += 1


def check_ours(what, root, model):
    """A store of ours as the reference has it, and each archive of it."""
    as_model(what, dump(OURS, "dump", root), model)
    as_model(what, dump(THEIRS, "dump", root), model)
    for method in ("store", "deflate"):
        archive = Path(f"{root}-{method}.zds")
        run(OURS, "pack", root, archive, "--method", method)
        as_model(archive, dump(THEIRS, "archive-dump", archive), model)
        as_model(archive, dump(OURS, "dump", archive), model)
        COUNTS["archives of ours"] += 1
    copy = Path(f"{root}-copy")
    shutil.copytree(root, copy)
    in_python(copy, model)
    COUNTS["stores of ours"] += 1


def ours_to_theirs(dice, folder, count):
    for n in range(count):
        root, model = folder / f"{n:04}", {}
        for collection in dice.sample(["train", "test", "a.b-c_d"], dice.randrange(1, 4)):
            some = pairs(dice, dice.randrange(1, 60))
            model |= {(collection, name): document for name, document in some}
            way = n % 4
            if way == 0:
                with Run(OURS, "script", root, collection) as script:
                    for line in spelt(dice, some):
                        script.do(f"put {line}")
            elif way == 1:
                run(OURS, "bulk", root, collection, lines=spelt(dice, some))
            else:
                first = [(name, a_document(dice)) for name, _ in dice.sample(some, len(some) // 2)]
                run(OURS, "bulk", root, collection, lines=spelt(dice, first))
                gone = [name for name, _ in dice.sample(some, len(some) // 4)]
                with Run(OURS, "script", root, collection) as script:
                    for line in spelt(dice, some):
                        script.do(f"raw {line}")
                    script.do("flush", *(f"delete {name}" for name in gone), *(["compact"] if way == 3 else []))
                for name in gone:
                    del model[collection, name]
                if not [each for each in model if each[0] == collection]:
                    # The reference brings back what an empty index leaves out.
                    with Run(OURS, "script", root, collection) as script:
                        script.do('put {"_id":"left"}')
                    model[collection, "left"] = {}
        check_ours(root, root, model)


# Both by turns.


def turns(dice, folder, count):
    """Rounds of each: new documents, others again, some deleted; now and then compaction."""
    for n in range(count):
        root, model = folder / f"{n:04}", {}
        for turn in range(5):
            for program in (OURS, THEIRS) if n % 2 else (THEIRS, OURS):
                some = pairs(dice, dice.randrange(1, 15))
                known = [name for _, name in model]
                some += [(name, a_document(dice)) for name in dice.sample(known, len(known) // 5)]
                gone = dice.sample(known, len(known) // 6)
                with Run(program, "script", root, "c", "--batch", 4) as script:
                    script.do(*(f"raw {line}" for line in spelt(dice, some)))
                    model |= {("c", name): document for name, document in some}
                    script.do("flush", *(f"delete {name}" for name in gone), "flush")
                    for name in gone:
                        del model["c", name]
                    if dice.random() < 0.2:
                        script.do("compact")
                as_model((root, turn), dump(THEIRS, "dump", root), model)
                as_model((root, turn), dump(OURS, "dump", root), model)
                COUNTS["turns"] += 1


def among_files(dice, folder, count):
    """We delete documents that the reference has put into files of their own, and put lines beside others; it puts more."""
    for n in range(count):
        root, files, lines = folder / f"{n:04}", {}, {}
        for _ in range(3):
            some = [(name, document) for name, document in pairs(dice, 12, tame=True) if len(name) < 200]
            run(THEIRS, "docs-write", root, "c", lines=[f"{name}\t{json.dumps(document)}" for name, document in some])
            files |= {name: exact_of(document) for name, document in some}
            beside = [(name, a_document(dice)) for name in dice.sample([*files], 2)] + pairs(dice, 3)
            gone = [name for name in dice.sample([*files], 3) if name not in lines]
            with Run(OURS, "script", root, "c") as script:
                script.do(*(f"raw {line}" for line in spelt(dice, beside)))
                lines |= {name: exact_of(document) for name, document in beside}
                script.do(*(f"delete {name}" for name in gone))
            for name in gone:
                files.pop(name, None)
                lines.pop(name, None)
            wanted = {("docs", "c", name): document for name, document in files.items()} | {("lines", "c", name): document for name, document in lines.items()}
            theirs = dump(THEIRS, "dump", root)
            assert {key: document for key, (document, _) in theirs.items()} == wanted, root
            same(root, dump(OURS, "dump", root), theirs)
            COUNTS["turns among files"] += 1


def locks(folder):
    """Who holds the lock keeps the other out, and nobody once it is gone."""
    for turn, (holder, other) in enumerate(((OURS, THEIRS), (THEIRS, OURS), (OURS, OURS)) * 2):
        root = folder / f"{turn}"
        run(THEIRS, "write", root, "c", lines=['{"_id":"first"}'])
        holding = Run(holder, "lock", root)
        assert holding.answer() == "locked"
        for verb in (["lock", root], ["script", root, "c"]):
            refused = Run(other, *verb)
            said = refused.end()
            assert "lock" in said, (holder, other, verb, said)
            COUNTS["refused"] += 1
        # Reading takes no lock.
        assert len(dump(OURS, "dump", root)) == 1
        holding.end()
        with Run(other, "script", root, "c") as script:
            script.do('put {"_id":"second"}')
        assert len(dump(THEIRS, "dump", root)) == 2
    # A process that is killed holds nothing.
    for turn, (holder, other) in enumerate(((OURS, THEIRS), (THEIRS, OURS))):
        root = folder / f"killed-{turn}"
        Run(holder, "script", root, "c").kill()
        with Run(other, "script", root, "c") as script:
            script.do('put {"_id":"only"}')
        assert len(dump(THEIRS, "dump", root)) == len(dump(OURS, "dump", root)) == 1
        COUNTS["after a kill"] += 1


def killed_ours(dice, folder, count):
    """We are killed: all that was done is there when each operation is sure at once, else all up to the last flush and perhaps some of what followed."""
    for n in range(count):
        root, model = folder / f"{n:04}", {}
        script = Run(OURS, "script", root, "c", *(["--every"] if n % 2 else []))
        states = [{}]
        for turn in range(3):
            some = pairs(dice, 20)
            if n % 4 == 2:
                some += [(f"large-{turn}-{each}", {"text": "z" * dice.randrange(20_000, 60_000)}) for each in range(20)]
            for line, (name, document) in zip(spelt(dice, some), some):
                script.do(f"raw {line}")
                model["c", name] = exact_of(document)
                states.append(dict(model))
                if dice.random() < 0.2:
                    _, gone = dice.choice([*model])
                    script.do(f"delete {gone}")
                    del model["c", gone]
                    states.append(dict(model))
            if turn < 2:
                script.do("flush")
                states = [dict(model)]
            if n % 2:
                states = [dict(model)]
        script.kill()
        found = {key[1:]: document for key, (document, _) in dump(OURS, "dump", root).items()}
        assert found in states, (root, len(found), len(states))
        with Run(OURS, "script", root, "c") as script:
            script.do('put {"_id":"then"}')
        found["c", "then"] = {}
        again = {key[1:]: document for key, (document, _) in dump(THEIRS, "dump", root).items()}
        assert again == found, (root, sorted(again.keys() ^ found.keys())[:3])
        COUNTS["kills of ours"] += 1
        COUNTS["states beyond the last flush"] += found != states[0] | {("c", "then"): {}}


def later(index):
    """Waits until a file that is written now is newer: the times of files advance in steps, and on a busy machine some steps come late."""
    clock = index.with_name("clock")
    while not clock.exists() or clock.stat().st_mtime_ns <= index.stat().st_mtime_ns:
        time.sleep(0.001)
        clock.write_bytes(b"tick")
    clock.unlink()


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
        later(root / "collections/c/meta/index.bin")
        script.do(*(f"raw {line}" for line in spelt(dice, second)))
        script.kill()
        data = (root / "collections/c/meta/data.jsonl").read_bytes()
        COUNTS["without line feed"] += not data.endswith(b"\n")
        found = {key[1:]: document for key, (document, _) in dump(OURS, "dump", root).items()}
        assert kept.keys() <= found.keys(), root
        for key, document in found.items():
            assert document in (put[key], kept.get(key)), (root, key)
        COUNTS["beyond the last index"] += len(found.keys() - kept.keys())
        COUNTS["kills of theirs"] += 1
        # Each goes on from there, and both read what both have put. The reference puts a line right behind one whose line feed is missing.
        for program in (THEIRS, OURS) if n % 2 and data.endswith(b"\n") else (OURS, THEIRS):
            with Run(program, "script", root, "c") as script:
                script.do(f'put {{"_id":"after-{program.name}"}}', f'put {{"_id":"again-{program.name}"}}')
        ours, theirs = dump(OURS, "dump", root), dump(THEIRS, "dump", root)
        assert {*kept, *(("c", f"{when}-{program.name}") for when in ("after", "again") for program in (OURS, THEIRS))} <= {key[1:] for key in theirs}, root
        same(root, ours, theirs)


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
    ours_to_theirs(dice, place("ours"), given.count)
    turns(dice, place("turns"), max(2, given.count // 6))
    killed(dice, place("killed"), max(3, given.count // 6))
    killed_ours(dice, place("killed-ours"), max(4, given.count // 6))
    among_files(dice, place("files"), max(2, given.count // 6))
    locks(place("locks"))
    print(json.dumps(COUNTS))


if __name__ == "__main__":
    main()
