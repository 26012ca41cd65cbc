"""wharf-sql against DuckDB and ML.NET, and its memory over a large file. Run by hand:

    cargo build --release --manifest-path crates/wharf-sql/Cargo.toml --target-dir target/sql
    python tests/reference/python/sql_bench.py target/sql/release/wharf-sql [ROWS [GB]]

1. A table of ROWS (1,000,000) rows and 31 columns: a label of ten, and 30 floats of 32 bits. A group-by over all columns, and a filter with 1 % hits,
   over IDV with wharf-sql and over Parquet with DuckDB. Both use two threads and start anew each time: wharf-sql as a process, DuckDB as a
   connection. ML.NET, where `cargo xtask` has installed it in `target/reference/mlnet`, merely reads the IDV file.
2. A group-by over a sparse ds file of GB (20) gigabytes of zeros: its peak memory.

Written with duckdb 2.0.1, pyarrow 26.0.1 and numpy 2.4.6.
"""

import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import duckdb
import numpy
import pyarrow
import pyarrow.parquet

ROUNDS = 5
COLUMNS = [f"f{number:02}" for number in range(30)]
QUERY = f"SELECT label, count(*) AS n, {', '.join(f'sum({name}) AS {name}' for name in COLUMNS)} FROM '{{}}' GROUP BY label ORDER BY label"
FILTER = f"SELECT label, count(*) AS n, {', '.join(f'sum({name}) AS {name}' for name in COLUMNS)} FROM '{{}}' WHERE f00 > 2.326 GROUP BY label ORDER BY label"


def table(rows):
    random = numpy.random.default_rng(1)
    columns = {"label": [f"class {number}" for number in random.integers(0, 10, rows)]}
    columns |= {name: random.standard_normal(rows, numpy.float32) for name in COLUMNS}
    return pyarrow.table(columns)


def best(run):
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        result = run()
        times.append(time.perf_counter() - start)
    return min(times), result


def check(answer, expected):
    assert len(answer) == len(expected)
    for one, other in zip(answer, expected):
        # Sums of 32-bit floats in 64 bits, in another order.
        assert all(math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-3) if isinstance(a, float) else a == b for a, b in zip(one, other)), (one, other)


def mlnet(idv):
    """The time in which ML.NET reads all rows and columns, in one process after a warm-up; `None` where it is not installed."""
    folder = pathlib.Path(__file__).parents[3] / "target/reference/mlnet"
    program = [folder / "dotnetcore2/bin/dotnet", folder / "app/Driver.dll", "bench-read", idv, "--repeat", str(ROUNDS + 1)]
    if not program[0].exists():
        return None
    environment = {**os.environ, "COMPlus_EnableDiagnostics": "0", "DOTNET_MULTILEVEL_LOOKUP": "0"}
    lines = subprocess.run(program, check=True, capture_output=True, text=True, env=environment).stdout.splitlines()
    return min(json.loads(line)["seconds"] for line in lines[1:])


def groups(program, rows):
    with tempfile.TemporaryDirectory() as folder:
        parquet, idv = (str(pathlib.Path(folder) / name) for name in ("a.parquet", "a.idv"))
        pyarrow.parquet.write_table(table(rows), parquet)
        subprocess.run([program, f"SELECT * FROM '{parquet}'", "-o", idv], check=True)

        def wharf(sql):
            command = [program, sql.format(idv), "--threads", "2"]
            lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
            return [list(json.loads(line).values()) for line in lines]

        def duck(sql):
            with duckdb.connect(config={"threads": 2}) as connection:
                return [list(row) for row in connection.sql(sql.format(parquet)).fetchall()]

        for name, sql in (("group by", QUERY), ("filter", FILTER)):
            (ours, answer), (theirs, expected) = best(lambda: wharf(sql)), best(lambda: duck(sql))
            check(answer, expected)
            print(f"{name}: wharf-sql over IDV {ours:.3f} s; DuckDB over Parquet {theirs:.3f} s; ratio {theirs / ours:.2f} (goal: at least 0.7)")
            if name == "group by" and (reading := mlnet(idv)):
                print(f"ML.NET reads it in {reading:.3f} s; ratio {reading / ours:.2f} (goal: at least 2)")


def zeros(path, rows):
    """A sparse ds file with four columns."""
    variable = lambda number: {".dims": ["row"], ".size": [rows], ".type": "float64", ".offset": number * rows * 8, ".len": rows * 8, ".missing": False, ".endian": "l"}
    header = {name: variable(number) for number, name in enumerate("abcd")} | {".": {}}
    with open(path, "wb") as file:
        file.write(f"ds-1.0\n{json.dumps(header)}\n".encode())
        file.truncate(file.tell() + 4 * rows * 8)


def memory(program, gigabytes):
    # Not in memory, where reading holes allocates pages.
    target = pathlib.Path(__file__).parents[3] / "target"
    with tempfile.TemporaryDirectory(dir=target) as folder:
        path, rows = f"{folder}/large.ds", int(gigabytes * 1e9 / 32)
        zeros(path, rows)
        sql = f"SELECT a, count(*) AS n, sum(b) AS b, max(c) AS c, min(d) AS d FROM '{path}' GROUP BY a"
        start = time.perf_counter()
        process = subprocess.Popen([program, sql, "--threads", "2"], stdout=subprocess.PIPE, text=True)
        peak = resident = 0
        while process.poll() is None:
            try:
                status = dict(line.split(":", 1) for line in pathlib.Path(f"/proc/{process.pid}/status").read_text().splitlines())
                number = lambda name: int(status.get(name, "0 kB").split()[0]) / 1024
                peak, resident = max(peak, number("RssAnon") + number("RssShmem")), max(resident, number("VmHWM"))
            except FileNotFoundError:
                break
            time.sleep(0.01)
        answer = json.loads(process.communicate()[0])
        assert list(answer.values()) == [0, rows, 0, 0, 0], answer
        print(f"group by over {gigabytes} GB of ds: {time.perf_counter() - start:.1f} s, peak {peak:.0f} MiB of own memory (goal: below 1000), {resident:.0f} MiB with pages of the mapped file")


def main(program, rows=1_000_000, gigabytes=20):
    groups(program, int(rows))
    memory(program, float(gigabytes))


if __name__ == "__main__":
    main(*sys.argv[1:])
