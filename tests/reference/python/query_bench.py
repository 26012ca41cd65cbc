"""Times of questions that the command answers, against the programs that people use for them. Run by hand:

    cargo build --release -p wharf-cli
    python tests/reference/python/query_bench.py target/release/wharf [--documents N] [--numbers N]

Whole processes on both sides, except DuckDB and numpy, which are imported before; medians of interleaved rounds on a memory file system.
Written with duckdb 2.0.1, numpy 2.4.6, ds-format 5.0.2 and jq 1.6, on two cores.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import duckdb
import numpy

from arrow_bench import document

ROUNDS = 5

SQL = "age >= 40 and name = 'user_77777'"
JQ = 'select(.age >= 40 and .name == "user_77777")'


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def contest(title, works):
    """Runs all works in turn, and prints medians and how much longer than the first the others take."""
    seconds = {name: [] for name in works}
    results = {}
    for _ in range(ROUNDS):
        for name, work in works.items():
            begin = time.perf_counter()
            results[name] = work()
            seconds[name].append(time.perf_counter() - begin)
    first, *others = results
    ours = statistics.median(seconds[first])
    print(f"{title}: {first} {ours:.3f} s")
    for name in others:
        theirs = statistics.median(seconds[name])
        print(f"  {name} {theirs:.3f} s, {theirs / ours:.2f} times")
    return results


def where(program, directory, documents):
    lines, store = directory / "documents.jsonl", directory / "documents.zds"
    with open(lines, "w") as file:
        for number in range(documents):
            made = document(number) | {"name": f"user_{number % 100_000}"}
            file.write(json.dumps(made, separators=(",", ":")) + "\n")
    output(program, "convert", lines, store)

    def duck():
        with duckdb.connect(config={"threads": os.cpu_count()}) as connection:
            found = connection.sql(f"SELECT id FROM read_json('{lines}') WHERE {SQL} ORDER BY id").fetchall()
            return [number for (number,) in found]

    def ids(text):
        return [json.loads(line)["id"] for line in text.splitlines()]

    results = contest(
        f"documents of {documents} that meet two conditions",
        {
            "wharf cat --where": lambda: ids(output(program, "cat", store, "--where", SQL)),
            "jq": lambda: ids(output("jq", "-c", JQ, lines)),
            "DuckDB read_json": duck,
        },
    )
    expected = [number for number in range(documents) if number % 100_000 == 77_777 and 20 + number % 60 >= 40]
    assert all(found == expected for found in results.values()), results


def stats(program, directory, numbers):
    import ds_format

    file = directory / "numbers.ds"
    values = numpy.random.default_rng(1).standard_normal(numbers)
    ds_format.write(str(file), {"x": values, ".": {"x": {".dims": ["i"]}}})
    raw = directory / "numbers.npy"
    numpy.save(raw, values)
    tool = pathlib.Path(sys.executable).with_name("ds")

    def by_numpy():
        found = numpy.load(raw)
        quartiles = numpy.percentile(found, [25, 50, 75])
        return [found.min(), found.max(), found.mean(), found.std(), *quartiles]

    contest(
        f"statistics of {numbers} numbers",
        {
            "wharf stats": lambda: output(program, "stats", file),
            "numpy": by_numpy,
            "ds stats": lambda: output(tool, "stats", "x", file),
        },
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--numbers", type=int, default=100_000_000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir="/dev/shm" if pathlib.Path("/dev/shm").is_dir() else None) as directory:
        directory = pathlib.Path(directory)
        where(arguments.program, directory, arguments.documents)
        stats(arguments.program, directory, arguments.numbers)


if __name__ == "__main__":
    main()
