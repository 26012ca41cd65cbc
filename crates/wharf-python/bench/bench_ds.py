"""``wharf_data.ds`` against ds-format 5.0.2, in one process, in alternating blocks; medians.

    python bench/bench_ds.py [folder for a file of 800 MB]

Needs a release build of the module, numpy and ds-format.
"""

from __future__ import annotations

import gc
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import ds_format as original
import numpy as np

from wharf_data import ds


#: Blocks of runs: within one, the caches are those of the same function.
BLOCKS = 5


def compare(name: str, at_least: float, ours: Callable[[], Any], theirs: Callable[[], Any], runs: tuple[int, int]) -> None:
    times: dict[Callable[[], Any], list[float]] = {ours: [], theirs: []}
    for _ in range(BLOCKS):
        for run, count in zip((ours, theirs), runs):
            gc.collect()
            for _ in range(count):
                start = time.perf_counter()
                result = run()
                times[run].append(time.perf_counter() - start)
                del result
    a, b = (statistics.median(times[run]) for run in (ours, theirs))
    verdict = "ok" if b / a >= at_least else "MISSED"
    print(f"{name:32} {a * 1e6:12.1f} us {b * 1e6:12.1f} us {b / a:8.1f} times (at least {at_least}) {verdict}", flush=True)


def main() -> None:
    folder = sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp()
    small, large = os.path.join(folder, "small.ds"), os.path.join(folder, "large.ds")
    ds.write(
        small,
        {
            "a": np.arange(100.0),
            "b": np.arange(50, dtype="i4"),
            "c": np.arange(20, dtype="f4"),
            ".": {".": {"title": "small"}, "a": {".dims": ["x"], "units": "m"}, "b": {".dims": ["y"]}, "c": {".dims": ["z"]}},
        },
    )
    if not os.path.exists(large):
        x = np.empty((10_000_000, 10))
        x[:] = np.arange(10)
        ds.write(large, {"x": x, ".": {"x": {".dims": ["t", "c"]}}})
        del x
    rows = {"t": [5_000_000, 5_010_000]}
    np.testing.assert_array_equal(ds.read(large, "x", range_=rows)["x"], original.read(large, "x", range_=rows)["x"])
    print(f"{'':32} {'wharf_data':>15} {'ds_format':>15}")
    compare("read 3 small arrays", 3, lambda: ds.read(small), lambda: original.read(small), (400, 400))
    compare("read 800 MB", 1.5, lambda: ds.read(large), lambda: original.read(large), (3, 3))
    compare("read 800 MB, copy=\"on-demand\"", 1.5, lambda: ds.read(large, copy="on-demand"), lambda: original.read(large), (3, 1))
    compare("read 800 MB, copy=False", 1.5, lambda: ds.read(large, copy=False), lambda: original.read(large), (3, 1))
    compare("slab of 10,000 rows", 500, lambda: ds.read(large, "x", range_=rows), lambda: original.read(large, "x", range_=rows), (20, 1))
    d = ds.read(small)
    compare("write 3 small arrays", 1, lambda: ds.write(small, d), lambda: original.write(small, d), (100, 100))


if __name__ == "__main__":
    main()
