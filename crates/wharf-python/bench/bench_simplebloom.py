"""`wharf_data.simplebloom` beside simplebloom 1.1.0, in one process: `python bench/bench_simplebloom.py [KEYS]`."""

from __future__ import annotations

import statistics
import sys
import time
import uuid
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from simplebloom import BloomFilter as Original

from wharf_data.simplebloom import BloomFilter

ROUNDS = 7


def seconds(runs: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """The median of each, measured in turns."""
    taken: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(ROUNDS):
        for name, run in runs.items():
            start = time.perf_counter()
            run()
            taken[name].append(time.perf_counter() - start)
    return {name: statistics.median(all) for name, all in taken.items()}


def insert(bf: Any, keys: Any) -> None:
    for key in keys:
        bf += key


def look_up(bf: Any, keys: Any) -> int:
    return sum(key in bf for key in keys)


def compare(what: str, count: int, target: float | None, original: Callable[[], Any], ours: Callable[[], Any]) -> None:
    medians = seconds({"original": original, "ours": ours})
    times = medians["original"] / medians["ours"]
    verdict = "" if target is None else f"at least {target:g}: {'ok' if times >= target else 'MISSED'}"
    per_key = [f"{medians[name] / count * 1e9:7.0f} ns" for name in ("original", "ours")]
    print(f"{what:32} original {per_key[0]}, ours {per_key[1]} a key, {times:6.1f} times  {verdict}")


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    keys = [uuid.uuid4().hex for _ in range(count)]
    array, arrow = np.array(keys), pa.array(keys)
    for probability in (0.01, None):
        print(f"{count:,} keys of 32 characters, false positive probability {probability or 1 / count}")
        new = lambda kind: kind(count, probability)  # noqa: E731
        theirs, ours = new(Original), new(BloomFilter)
        insert(theirs, keys)
        ours.update(keys)
        assert theirs.dumps() == ours.dumps()
        compare("+= one key at a time", count, 1, lambda: insert(theirs, keys), lambda: insert(ours, keys))
        compare("in, one key at a time", count, None, lambda: look_up(theirs, keys), lambda: look_up(ours, keys))
        compare("update(list)", count, 2.5, lambda: insert(theirs, keys), lambda: ours.update(keys))
        compare("contains(list)", count, 2.5, lambda: look_up(theirs, keys), lambda: ours.contains(keys))
        compare("update(numpy array)", count, 8, lambda: insert(theirs, array), lambda: ours.update(array))
        compare("contains(numpy array)", count, 8, lambda: look_up(theirs, array), lambda: ours.contains(array))
        compare("update(Arrow array)", count, 8, lambda: insert(theirs, arrow.to_pylist()), lambda: ours.update(arrow))
        compare("contains(Arrow array)", count, 8, lambda: look_up(theirs, arrow.to_pylist()), lambda: ours.contains(arrow))


if __name__ == "__main__":
    main()
