"""Damages golden files at random and goes through the module with them: `python tests/fuzz.py [SECONDS] [SEED]`.

Only documented exceptions may come out, each case ends within seconds, and memory stays bounded. A case that fails is printed; with it as the
third argument, it runs alone.
"""

from __future__ import annotations

import faulthandler
import random
import resource
import shutil
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import wharf_data
from wharf_data import ds, simplebloom, zds
from wharf_data.datadings.reader import MsgpackReader
from wharf_data.datadings.tools.msgpack import unpackb

GOLDEN = Path(__file__).parents[3] / "tests" / "golden"

#: Larger files say nothing that smaller ones do not.
MOST_BYTES = 100_000
#: Seconds of a case, with a module that is not optimized.
MOST_SECONDS = 20
#: Bytes of memory of the process at its peak.
MOST_MEMORY = 2 << 30
#: What functions may raise: errors of the package, and those of mappings and sequences.
DOCUMENTED = (wharf_data.Error, KeyError, IndexError, FileNotFoundError)

INTERESTING = (b"\0", b"\xff", b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", b"\xff" * 8, b"\x7f" + b"\xff" * 7, b"\0" * 8, b"\x01\0\0\0", b'"', b"\n", b"{")


def corpus(golden: Path) -> list[list[Path]]:
    """Datasets: each the files or the folder that go together, what is opened first."""
    found: list[list[Path]] = []
    files = [path for path in sorted(golden.rglob("*")) if path.is_file() and path.stat().st_size <= MOST_BYTES]
    stores = sorted({path.parents[2] for path in files if path.parent.name == "meta" and len(path.parents) > 3})
    found += [[store] for store in stores]
    for path in files:
        if path.suffix not in (".md", ".py", ".json") and not any(store in path.parents for store in stores):
            found.append([path, *(other for other in files if other.name.startswith(path.name + "."))])
    return found


def mutate(content: bytearray, rng: random.Random, others: list[Path]) -> None:
    """Damages the content in place."""
    for _ in range(rng.choice((1, 1, 1, 2, 4, 16))):
        at = rng.randrange(len(content) + 1)
        # Headers are at either end.
        at = rng.choice((at, at, min(at, rng.randrange(64)), max(0, len(content) - rng.randrange(1, 64))))
        length = rng.choice((1, 2, 4, 8, 8, rng.randrange(1, 300)))
        match rng.randrange(7):
            case 0 if at < len(content):
                content[at] ^= 1 << rng.randrange(8)
            case 1:
                value = rng.choice(INTERESTING)
                content[at : at + len(value)] = value
            case 2:
                del content[at : at + length]
            case 3:
                content[at:at] = rng.randbytes(length)
            case 4:
                content[at:at] = content[at : at + length] * rng.choice((1, 1, 50))
            case 5:
                del content[at:]
            case _:
                other = rng.choice(others).read_bytes()
                begin = rng.randrange(len(other) + 1)
                content[at : at + length] = other[begin : begin + length]


def through(path: Path, content: bytes, folder: Path, rng: random.Random) -> list[tuple[str, Callable[[], object]]]:
    """What is done with a dataset: a name and a function each."""
    return [
        ("open", lambda: explore(wharf_data.open(path), rng)),
        ("positional", lambda: explore(wharf_data.open(path, access="positional"), rng)),
        ("bytes", lambda: explore(wharf_data.open(content), rng)),
        ("convert", lambda: convert(path, folder, rng)),
        ("ds", lambda: ds.read(path, rng.choice((None, "x"))) if path.suffix in (".ds", ".nc") else None),
        ("datadings", lambda: samples(MsgpackReader(path), rng) if path.suffix == ".msgpack" else None),
        ("zds", lambda: documents(zds.open(path))),
        ("simplebloom", lambda: simplebloom.BloomFilter.loads(content).contains(["a", "b"])),
        ("msgpack", lambda: unpackb(content)),
    ]


def attempt(function: Callable[[], object]) -> Any:
    """Its result, or `None` if it raises a documented exception."""
    try:
        return function()
    except DOCUMENTED as error:
        if isinstance(error, wharf_data.Error) and not str(error):
            raise AssertionError("an error without a message") from error
    return None


def explore(container: Any, rng: random.Random) -> None:
    attempt(container.info)
    attempt(lambda: list(container.verify()))
    for table in attempt(lambda: container.tables) or ():
        names = attempt(lambda: table.column_names) or []
        attempt(lambda: len(table))
        attempt(lambda: table.schema)
        attempt(lambda: table.to_arrow())
        attempt(lambda: table.to_arrow(rng.sample(names, min(2, len(names))), rows=slice(1, 5)))
        attempt(lambda: [row for row, _ in zip(table, range(500))])
        attempt(lambda: table.get(rng.choice(("0", "a", "sample 1", ""))))


def convert(path: Path, folder: Path, rng: random.Random) -> None:
    target = rng.choice(wharf_data.formats()["write"])
    wharf_data.convert(path, folder / f"out.{rng.choice(target['extensions'])}", to=target["name"])


def samples(reader: Any, rng: random.Random) -> None:
    for index in range(min(len(reader), 50)):
        attempt(lambda: reader[index])
        attempt(lambda: reader.find_index(reader.find_key(index)))
    attempt(lambda: list(reader))
    attempt(reader.columns)
    attempt(reader.verify_index)


def documents(store: Any) -> None:
    for name in store.list_collections():
        collection = store.collection(name)
        attempt(lambda: list(collection.scan(predicate={"a": 1})))
        attempt(lambda: list(collection.items()))
        for doc_id in collection.list_doc_ids()[:50]:
            attempt(lambda: collection[doc_id])


def case(number: int, seed: int, sets: list[list[Path]]) -> None:
    """One dataset, damaged."""
    rng = random.Random(f"{seed} {number}")
    chosen = rng.choice(sets)
    others = [path for path in rng.choice(sets) if path.is_file()] or [Path(__file__)]
    with tempfile.TemporaryDirectory(prefix="wharf-fuzz-") as name:
        folder = Path(name)
        for path in chosen:
            (shutil.copytree if path.is_dir() else shutil.copyfile)(path, folder / path.name)
        path = folder / chosen[0].name
        victim = rng.choice([file for file in sorted(folder.rglob("*")) if file.is_file()])
        content = bytearray(victim.read_bytes())
        mutate(content, rng, others)
        victim.write_bytes(content)
        for action, function in through(path, bytes(content), folder, rng):
            started = time.monotonic()
            try:
                attempt(function)
            except BaseException as error:
                if isinstance(error, KeyboardInterrupt):
                    raise
                raise AssertionError(f"{action} of {chosen[0]}") from error
            if (seconds := time.monotonic() - started) > MOST_SECONDS:
                raise AssertionError(f"{action} of {chosen[0]} took {seconds:.0f} s")


def run(seconds: float, seed: int, only: int | None = None, golden: Path = GOLDEN) -> int:
    """Runs cases for so long. Returns their number."""
    warnings.simplefilter("ignore")
    sets = corpus(golden)
    if len(sets) < 50:
        raise AssertionError(f"{golden} has only {len(sets)} datasets")
    end = time.monotonic() + seconds
    number = only or 0
    while True:
        # Shown if the process dies or hangs.
        faulthandler.dump_traceback_later(2 * MOST_SECONDS, exit=True)
        print(f"\rcase {number} of seed {seed}", end="", file=sys.stderr, flush=True)
        try:
            case(number, seed, sets)
        except AssertionError:
            print(file=sys.stderr)
            raise
        if only is not None or time.monotonic() > end:
            break
        number += 1
    faulthandler.cancel_dump_traceback_later()
    print(file=sys.stderr)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    if peak > MOST_MEMORY:
        raise AssertionError(f"the process had {peak >> 20} MiB at its peak")
    return number + 1


if __name__ == "__main__":
    arguments = sys.argv[1:]
    try:
        count = run(
            float(arguments[0]) if arguments else 60.0,
            int(arguments[1]) if len(arguments) > 1 else random.randrange(1 << 31),
            int(arguments[2]) if len(arguments) > 2 else None,
        )
    except AssertionError:
        traceback.print_exc()
        sys.exit(1)
    print(f"{count} cases")
