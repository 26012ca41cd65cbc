"""The Python side of `cargo xtask bench arrow`: files of the benchmark, what pyarrow takes to make Parquet files of them, and whether two
Parquet files hold the same.

    python arrow_bench.py make DIRECTORY --documents N
    python arrow_bench.py start
    python arrow_bench.py run DIRECTORY [--only WORK] [--repeat N]
    python arrow_bench.py check OURS THEIRS
    python arrow_bench.py sums FILE

`make` writes `documents.jsonl`, and the part of it that is a plain table as `table.csv`. `run` prints a line of JSON for each time that it
has done a work: the seconds of the work alone, and the rows. All is done with pyarrow's defaults, which are all threads.
"""

import argparse
import json
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet


def document(number):
    """As the benchmarks of zippy_data make them: about 205 bytes."""
    return {
        "_id": f"doc_{number:06}",
        "id": number,
        "name": f"user_{number}",
        "email": f"user{number}@example.com",
        "age": 20 + number % 60,
        "active": number % 2 == 0,
        "score": number * 1.5,
        "tags": ["tag1", "tag2", "tag3"],
        "metadata": {"created": "2025-01-01", "version": 1},
    }


PLAIN = ["_id", "id", "name", "email", "age", "active", "score"]


def make(directory, documents):
    with open(directory / "documents.jsonl", "w") as lines, open(directory / "table.csv", "w") as table:
        table.write(",".join(PLAIN) + "\n")
        for number in range(documents):
            made = document(number)
            lines.write(json.dumps(made, separators=(",", ":")) + "\n")
            cells = (str(made[name]) for name in PLAIN)
            table.write(",".join(cells).replace("True", "true").replace("False", "false") + "\n")


def from_json(directory):
    table = pa.json.read_json(directory / "documents.jsonl")
    pa.parquet.write_table(table, directory / "theirs-json.parquet")
    return table.num_rows


def from_csv(directory):
    table = pa.csv.read_csv(directory / "table.csv")
    pa.parquet.write_table(table, directory / "theirs-csv.parquet")
    return table.num_rows


WORKS = {"documents to parquet": from_json, "csv to parquet": from_csv}


def run(directory, only, repeat):
    for name, work in WORKS.items():
        for _ in range(repeat if only in (None, name) else 0):
            begin = time.perf_counter()
            rows = work(directory)
            seconds = time.perf_counter() - begin
            print(json.dumps({"work": name, "seconds": seconds, "result": {"rows": rows}}), flush=True)


def check(ours, theirs):
    """Every value is the same; the order of the columns, and how wide their types are, may differ."""
    ours, theirs = pa.parquet.read_table(ours), pa.parquet.read_table(theirs)
    if sorted(ours.column_names) != sorted(theirs.column_names):
        raise SystemExit(f"the columns are {ours.column_names}, beside {theirs.column_names}")
    for name in theirs.column_names:
        own, their = ours[name], theirs[name]
        # Texts that look like times are times for pyarrow, where ours stay text.
        if not own.cast(their.type).equals(their):
            raise SystemExit(f"the column {name} differs")
    print(json.dumps({"rows": ours.num_rows, "columns": ours.num_columns}))


def sums(file):
    """What the numbers of each column come to, lists and all."""
    opened = pa.parquet.ParquetFile(file)
    found = {}
    for batch in opened.iter_batches():
        for name, column in zip(batch.schema.names, batch.columns):
            while isinstance(column, (pa.ListArray, pa.LargeListArray, pa.FixedSizeListArray)):
                column = column.flatten()
            if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
                column = pc.binary_length(column)
            if pa.types.is_floating(column.type):
                column = column.cast(pa.float64())
            found[name] = found.get(name, 0) + (pc.sum(column).as_py() or 0)
    print(json.dumps({"rows": opened.metadata.num_rows, "sums": found}))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("verb", choices=["make", "start", "run", "check", "sums"])
    parser.add_argument("paths", type=Path, nargs="*")
    parser.add_argument("--documents", type=int, default=1000)
    parser.add_argument("--only")
    parser.add_argument("--repeat", type=int, default=1)
    arguments = parser.parse_args()
    match arguments.verb, arguments.paths:
        case "make", [directory]:
            make(directory, arguments.documents)
        case "start", []:
            pass
        case "run", [directory]:
            run(directory, arguments.only, arguments.repeat)
        case "check", [ours, theirs]:
            check(ours, theirs)
        case "sums", [file]:
            sums(file)
        case _:
            parser.error("wrong number of paths")


if __name__ == "__main__":
    main()
