"""`wharf_data.datadings` against the package `datadings`, in one process: medians, alternating. Usage: `bench_datadings.py [repetitions]`."""

from __future__ import annotations

import copy
import random
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datadings.reader
import datadings.writer
import numpy as np
import pyarrow as pa

import wharf_data
from wharf_data.datadings.reader import MsgpackReader
from wharf_data.datadings.writer import FileWriter

#: So that the disk is not measured.
IN_MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None
TINY, IMAGES = 200_000, 20_000


def tiny(count: int) -> list[dict[str, Any]]:
    return [{"key": f"sample_{i:08}", "label": i % 1000, "x": i / 7} for i in range(count)]


def compare(name: str, wanted: float, ours: Callable[[], Any], theirs: Callable[[], Any], repetitions: int) -> None:
    times: tuple[list[float], list[float]] = [], []
    for _ in range(repetitions):
        for call, found in zip((ours, theirs), times, strict=True):
            start = time.perf_counter()
            call()
            found.append(time.perf_counter() - start)
    one, other = map(statistics.median, times)
    verdict = "" if other / one >= wanted else "   MISSED"
    print(f"{name:42} {one * 1e3:10.1f} ms {other * 1e3:10.1f} ms {other / one:8.1f} x (at least {wanted:g}){verdict}", flush=True)


def drain(samples: Any) -> None:
    for _ in samples:
        pass


def in_threads(readers: list[Any], indexes: list[list[int]]) -> None:
    def work(reader: Any, chosen: list[int]) -> None:
        for index in chosen:
            reader[index]

    threads = [threading.Thread(target=work, args=pair) for pair in zip(readers, indexes, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def stacked(reader: Any) -> dict[str, Any]:
    label, x = [], []
    for sample in reader:
        label.append(sample["label"])
        x.append(sample["x"])
    return {"label": np.array(label), "x": np.array(x)}


def write_samples(kind: Any, path: Path, samples: list[dict[str, Any]]) -> None:
    with kind(path, overwrite=True, disable=True) as writer:
        for sample in samples:
            writer.write(sample)


def main(repetitions: int) -> None:
    rng = random.Random(1)
    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as name:
        folder = Path(name)
        samples, path, images = tiny(TINY), folder / "tiny.msgpack", folder / "images.msgpack"
        write_samples(FileWriter, path, samples)
        write_samples(FileWriter, images, [
            {"key": str(i), "label": i, "image": np.full((100, 100), i % 256, "u1")} for i in range(IMAGES)
        ])  # fmt: skip
        ours, theirs = MsgpackReader(path), datadings.reader.MsgpackReader(path)
        ours_images, theirs_images = MsgpackReader(images), datadings.reader.MsgpackReader(images)
        print(f"{'':42} {'wharf_data':>13} {'datadings':>13}")

        def both(name: str, wanted: float, call: Callable[[Any], Any], one: Any = ours, other: Any = theirs) -> None:
            compare(name, wanted, lambda: call(one), lambda: call(other), repetitions)

        both(f"iterate {TINY} tiny samples", 4, drain)
        both(f"iterate {IMAGES} samples with 10 KB", 3, drain, ours_images, theirs_images)
        chosen = [rng.randrange(TINY) for _ in range(50_000)]
        both("50,000 random reader[i], tiny", 2, lambda reader: drain(map(reader.__getitem__, chosen)))
        chosen_images = [rng.randrange(IMAGES) for _ in range(20_000)]
        both("20,000 random reader[i], 10 KB", 2, lambda reader: drain(map(reader.__getitem__, chosen_images)), ours_images, theirs_images)
        keys = [samples[i]["key"] for i in chosen]
        ours.find_index(keys[0]), theirs.find_index(keys[0])
        both("50,000 samples by key", 3, lambda reader: drain(reader[reader.find_index(key)] for key in keys))
        parts = [[rng.randrange(TINY) for _ in range(10_000)] for _ in range(8)]
        # The original's readers share a file position; each thread needs its own.
        copies = [copy.copy(theirs) for _ in range(8)]
        compare("8 threads, 10,000 random reader[i] each", 6, lambda: in_threads([ours] * 8, parts), lambda: in_threads(copies, parts), repetitions)
        write = lambda kind: write_samples(kind, folder / "out.msgpack", samples)  # noqa: E731
        both(f"write {TINY} tiny samples from dicts", 3, write, FileWriter, datadings.writer.FileWriter)
        table = pa.table({name: [sample[name] for sample in samples] for name in ("key", "label", "x")})
        compare(
            f"write {TINY} tiny samples, Arrow : dicts", 15,
            lambda: wharf_data.write(table, folder / "out.msgpack", overwrite=True),
            lambda: write(datadings.writer.FileWriter), repetitions,
        )  # fmt: skip
        write_samples(FileWriter, path, tiny(1_000_000))
        ours, theirs = MsgpackReader(path), datadings.reader.MsgpackReader(path)
        compare("1,000,000 tiny samples: columns : stacked", 40, lambda: ours.columns(["label", "x"]), lambda: stacked(theirs), repetitions)

        def by_arrow() -> Any:
            found = wharf_data.open(path).table().to_arrow(["label", "x"])
            return {name: found[name].to_numpy() for name in found.column_names}

        compare("1,000,000 tiny samples: Arrow : stacked", 40, by_arrow, lambda: stacked(theirs), repetitions)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
