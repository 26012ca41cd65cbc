"""IDV into frames of pandas and polars against ML.NET reading alone: medians, in turns.

    cargo xtask interop idv     # installs ML.NET into target/reference/mlnet
    python bench/bench_idv.py target/reference/mlnet [ROWS [ROUNDS]]

The table is that of `cargo xtask bench idv`: three columns and a vector of 28, so 31 columns of a frame. ML.NET reads each value by its row cursor
and keeps none. Each round starts a process of ML.NET and one of Python; their first repetitions warm up and do not count. Needs a release build of
the module.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

#: So that the disk is not measured.
IN_MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None
REPEATS = 4


def frames(path: str) -> dict[str, Callable[[], Any]]:
    """What is measured, by name."""
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    import wharf_data

    def expanded() -> Any:
        return wharf_data.open(path).table().with_changes(expand=["Features"])

    def to_pandas() -> pd.DataFrame:
        # The memory of Arrow is freed column by column.
        return pa.table(expanded()).to_pandas(split_blocks=True, self_destruct=True)

    return {
        "pandas, 31 columns": to_pandas,
        "polars, 31 columns": lambda: pl.DataFrame(expanded()),
        "polars, a column of arrays": lambda: pl.DataFrame(wharf_data.open(path).table()),
    }


def measure(path: str) -> None:
    """Prints the seconds of each repetition as JSON."""
    taken: dict[str, list[float]] = {}
    for name, run in frames(path).items():
        taken[name] = []
        for _ in range(REPEATS):
            start = time.perf_counter()
            frame = run()
            taken[name].append(time.perf_counter() - start)
            assert len(frame) == int(sys.argv[3])
            del frame
    print(json.dumps(taken))


def main(mlnet: Path, rows: int, rounds: int) -> None:
    def driver(*arguments: str) -> list[dict[str, Any]]:
        command = [str(mlnet / "dotnetcore2/bin/dotnet"), str(mlnet / "app/Driver.dll"), *arguments]
        environment = {"COMPlus_EnableDiagnostics": "0", "DOTNET_MULTILEVEL_LOOKUP": "0"}
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        return [json.loads(line) for line in done.stdout.splitlines()]

    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as folder:
        driver("bench-write", folder, str(rows), "--compression", "deflate")
        path = str(Path(folder) / "bench-deflate.idv")
        theirs: list[float] = []
        ours: dict[str, list[float]] = {}
        for _ in range(rounds):
            theirs += [run["seconds"] for run in driver("bench-read", path, "--repeat", str(REPEATS))[1:]]
            command = [sys.executable, __file__, "--measure", path, str(rows)]
            found = json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)
            for name, seconds in found.items():
                ours.setdefault(name, []).extend(seconds[1:])
    other = statistics.median(theirs)
    print(f"{'ML.NET, reading alone':30} {other * 1e3:8.0f} ms ({min(theirs) * 1e3:.0f} to {max(theirs) * 1e3:.0f})")
    for name, seconds in ours.items():
        one = statistics.median(seconds)
        verdict = "" if one < other else "   MISSED"
        spread = f"({min(seconds) * 1e3:.0f} to {max(seconds) * 1e3:.0f})"
        print(f"{name:30} {one * 1e3:8.0f} ms {spread} {other / one:6.2f} times as fast (more than 1){verdict}", flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "--measure":
        measure(sys.argv[2])
    else:
        main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000, int(sys.argv[3]) if len(sys.argv) > 3 else 5)
