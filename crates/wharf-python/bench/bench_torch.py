"""Samples per second of a torch DataLoader with two workers, against the dataset of `datadings.torch`. Usage: `bench_torch.py [repetitions]`."""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datadings.reader
import datadings.torch
import numpy as np
from torch.utils.data import DataLoader

from wharf_data.datadings.writer import FileWriter
from wharf_data.sampling import BatchSampler
from wharf_data.torch import IterableDataset, Loader, MapDataset, collate

#: So that the disk is not measured.
IN_MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None
COUNT, BATCH, WORKERS = 50_000, 128, 2


def epoch(make: Callable[[], Any]) -> float:
    start = time.perf_counter()
    seen = 0
    for batch in make():
        seen += len(batch["label"])
    assert seen == COUNT
    return time.perf_counter() - start


def main(repetitions: int) -> None:
    # Both libraries read arrays that cannot be written to; torch warns about those of the original.
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as name:
        path = Path(name) / "images.msgpack"
        with FileWriter(path, disable=True) as writer:
            for i in range(COUNT):
                writer.write({"key": f"{i:06}", "label": i % 1000, "image": np.full((100, 100), i % 256, "u1")})
        theirs = datadings.reader.MsgpackReader(path)
        original = {
            "map": lambda: DataLoader(datadings.torch.Dataset(theirs), BATCH, shuffle=True, num_workers=WORKERS),
            "iterable": lambda: DataLoader(datadings.torch.IterableDataset(theirs), BATCH, num_workers=WORKERS),
        }
        samples = MapDataset(path)
        ours = {
            "map": lambda: DataLoader(
                samples, batch_sampler=BatchSampler(samples, BATCH), num_workers=WORKERS, collate_fn=collate
            ),
            "iterable": lambda: Loader(IterableDataset(path, BATCH), num_workers=WORKERS),
        }
        for style in ("map", "iterable"):
            times = [(epoch(ours[style]), epoch(original[style])) for _ in range(repetitions)]
            one, other = (statistics.median(found) for found in zip(*times, strict=True))
            verdict = "" if other / one >= 3 else "   MISSED"
            print(
                f"{style:10} {COUNT / one:10.0f} samples/s, datadings {COUNT / other:10.0f}: {other / one:5.1f} x (at least 3){verdict}",
                flush=True,
            )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
