"""Time of a group-by over an IDV file with wharf-sql, against DuckDB over the same table in Parquet. Run by hand:

    cargo build --release --manifest-path crates/wharf-sql/Cargo.toml --target-dir target/sql
    python tests/reference/python/sql_bench.py target/sql/release/wharf-sql [ROWS]

A table of ROWS (1,000,000) rows and 31 columns: a label of ten, and 30 floats of 32 bits. Both engines use two threads and start anew each
time: wharf-sql as a process, DuckDB as a connection. Written with duckdb 2.0.1, pyarrow 26.0.1 and numpy 2.4.6.
"""

import json
import math
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


def main(program, rows=1_000_000):
    with tempfile.TemporaryDirectory() as folder:
        parquet, idv = (str(pathlib.Path(folder) / name) for name in ("a.parquet", "a.idv"))
        pyarrow.parquet.write_table(table(int(rows)), parquet)
        subprocess.run([program, f"SELECT * FROM '{parquet}'", "-o", idv], check=True)

        def wharf():
            command = [program, QUERY.format(idv), "--threads", "2"]
            lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
            return [list(json.loads(line).values()) for line in lines]

        def duck():
            with duckdb.connect(config={"threads": 2}) as connection:
                return [list(row) for row in connection.sql(QUERY.format(parquet)).fetchall()]

        (ours, answer), (theirs, expected) = best(wharf), best(duck)
        assert len(answer) == len(expected)
        for one, other in zip(answer, expected):
            assert one[:2] == other[:2]
            # Sums of 32-bit floats in 64 bits, in another order.
            assert all(math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-3) for a, b in zip(one[2:], other[2:]))
        print(f"wharf-sql, IDV: {ours:.3f} s; DuckDB, Parquet: {theirs:.3f} s; ratio {theirs / ours:.2f} (goal: at least 0.7)")


if __name__ == "__main__":
    main(*sys.argv[1:])
