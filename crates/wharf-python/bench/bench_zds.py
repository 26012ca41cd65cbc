"""`wharf_data.zds` beside zippy-data 0.1.2, in one process: `python bench/bench_zds.py [DOCUMENTS]`."""

from __future__ import annotations

import gc
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

from zippy import FastZDSStore, NativeStore

from wharf_data import zds

ROUNDS = 5


def seconds(runs: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """The median of each, measured in turns. What a run returns is dropped outside of the measurement."""
    taken: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(ROUNDS):
        for name, run in runs.items():
            gc.collect()
            start = time.perf_counter()
            result = run()
            taken[name].append(time.perf_counter() - start)
            del result
    return {name: statistics.median(all) for name, all in taken.items()}


def compare(what: str, target: float | None, original: Callable[[], Any], ours: Callable[[], Any], count: int = 1) -> None:
    medians = seconds({"original": original, "ours": ours})
    times = medians["original"] / medians["ours"]
    verdict = "" if target is None else f"at least {target:g}: {'ok' if times >= target else 'MISSED'}"
    each = [f"{medians[name] / count * 1e6:10.2f} us" for name in ("original", "ours")]
    print(f"{what:40} original {each[0]}, ours {each[1]}, {times:7.1f} times  {verdict}")


def exhaust(iterator: Any) -> int:
    count = 0
    for _ in iterator:
        count += 1
    return count


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    rng = random.Random(0)
    labels = ["cat", "dog", "bird", "fish"]
    documents = [
        {"text": f"document {i} of the dataset", "label": rng.choice(labels), "score": rng.random(), "n": i, "tags": ["a", "b"]}
        for i in range(count)
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/store"
        start = time.perf_counter()
        with zds.open(path, "rw") as store:
            store.collection("train").put_many((f"doc-{i}", document) for i, document in enumerate(documents))
        print(f"{count:,} documents written in {time.perf_counter() - start:.2f} s")
        del documents
        native, ours = NativeStore.open(path, "train"), zds.open(path).collection("train")
        ids = [f"doc-{rng.randrange(count)}" for _ in range(100_000)]
        for key in ids[:1000]:
            assert native.get(key) == ours.get(key)
        compare("open", 50, lambda: NativeStore.open(path, "train"), lambda: zds.NativeStore.open(path, "train"))
        compare(
            "open, get one",
            None,
            lambda: NativeStore.open(path, "train").get("doc-7"),
            lambda: zds.NativeStore.open(path, "train").get("doc-7"),
        )
        compare("get", 2, lambda: [native.get(key) for key in ids], lambda: [ours.get(key) for key in ids], len(ids))
        compare("scan into a list", 2.5, lambda: native.scan(), lambda: list(ours.scan()), count)
        compare("scan, one at a time", 2.5, lambda: exhaust(native.scan()), lambda: exhaust(ours.scan()), count)
        # The Python class of the original has conditions. It reads our lines with its own index.
        fast = FastZDSStore(path, "train")
        fast._index = dict.fromkeys(ours.list_doc_ids(), (0, 0))
        compare(
            "scan with a condition",
            2.5,
            lambda: exhaust(fast.scan(predicate={"label": "cat"})),
            lambda: exhaust(ours.scan(predicate={"label": "cat"})),
            count,
        )
        compare(
            "scan of two fields",
            2.5,
            lambda: exhaust(fast.scan(fields=["label", "n"])),
            lambda: exhaust(ours.scan(fields=["label", "n"])),
            count,
        )
        fast._closed = True


if __name__ == "__main__":
    main()
