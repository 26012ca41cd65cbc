"""Writes the golden files of tests/golden/cross, each table in every format, and prints the rows of the list in their PROVENANCE.md.

    python cross_golden.py ZIPPY_DRIVER DIRECTORY IDV_TABLES

IDV_TABLES gets the tables as ML.NET is to write them: the driver of tests/reference/mlnet makes the IDV files of those.
"""

import csv
import json
import math
import sys
from pathlib import Path

import ds_format as ds
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import cross_tables as cross
import datadings_files
from zippy_driver import compact, run

OUT, IDV = Path(sys.argv[2]), Path(sys.argv[3])
NUMPY = {"bool": "?", **{kind: f"{kind[0]}{width // 8}" for kind, width in cross.INTEGERS.items()}, "f16": "f2", "f32": "f4", "f64": "f8"}


def shape(parts):
    return [int(part) for part in parts[1:]]


# Arrow and Parquet


def arrow_type(kind):
    word, parts = cross.split(kind)
    simple = {
        "bool": pa.bool_(), "f16": pa.float16(), "f32": pa.float32(), "f64": pa.float64(), "text": pa.string(), "bytes": pa.binary(), "date": pa.date32(),
        "timestamp": pa.timestamp("us"), "duration": pa.duration("us"), "labels": pa.dictionary(pa.int32(), pa.string()),
    }
    if word in simple:
        return simple[word]
    if word in cross.INTEGERS:
        return getattr(pa, ("u" if word[0] == "u" else "") + f"int{cross.INTEGERS[word]}")()
    if word == "list":
        return pa.list_(arrow_type(parts[0]))
    if word == "fixed":
        return pa.list_(arrow_type(parts[0]), *shape(parts))
    if word == "tensor":
        return pa.fixed_shape_tensor(arrow_type(parts[0]), shape(parts))
    members = [part.split(":", 1) for part in parts]
    return pa.struct([(name, arrow_type(member)) for name, member in members])


def arrow_values(kind, value):
    """Values as pyarrow takes them: half floats are numpy's, structs are dicts."""
    word, parts = cross.split(kind)
    if value is None:
        return None
    if word == "f16":
        return np.float16(value)
    if word == "struct":
        return {part.split(":", 1)[0]: item for part, item in zip(parts, value)}
    return value


def arrow_table(table):
    fields, arrays = [], []
    for column in table.columns:
        kind = arrow_type(column.kind)
        fields.append(pa.field(column.name, kind, nullable=column.nulls == "whole", metadata={"kind": column.kind} if len(table.columns) < 100 else None))
        values = [arrow_values(column.kind, value) for value in column.values]
        if isinstance(kind, pa.FixedShapeTensorType):
            arrays.append(pa.ExtensionArray.from_storage(kind, pa.array(values, kind.storage_type)))
        else:
            arrays.append(pa.array(values, kind))
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields, {"table": table.name}))


def arrow(table):
    path = OUT / table.name
    made = arrow_table(cross.held("parquet", table))
    # Pages are small, and there are many columns of one table: what takes room there is left out.
    pq.write_table(made, f"{path}.parquet", compression="zstd", write_statistics=table.name != "wide")
    made = arrow_table(cross.held("arrow", table))
    with pa.ipc.new_file(f"{path}.arrow", made.schema) as writer:
        writer.write_table(made)
    with pa.ipc.new_stream(f"{path}.arrows", made.schema) as writer:
        writer.write_table(made)


# Text and documents


def json_value(kind, value):
    """A value as JSON has it: floats that are no numbers are words, tensors lists of lists."""
    word, parts = cross.split(kind)
    if value is None:
        return None
    if word in cross.FLOATS and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if word in ("list", "fixed"):
        return [json_value(parts[0], item) for item in value]
    if word == "tensor":
        return np.array([json_value(parts[0], item) for item in value], object).reshape(shape(parts)).tolist()
    if word == "struct":
        members = [part.split(":", 1) for part in parts]
        return {name: json_value(member, item) for (name, member), item in zip(members, value)}
    return value


def rows(table):
    for row in range(table.rows):
        yield {column.name: json_value(column.kind, column.values[row]) for column in table.columns}


def lines(table):
    with open(OUT / f"{table.name}.jsonl", "w", encoding="utf-8", newline="") as file:
        for row in rows(cross.held("jsonl", table)):
            file.write(json.dumps(row, ensure_ascii=False, separators=(",", ":"), allow_nan=False) + "\n")


def cell(value):
    return json.dumps(value, ensure_ascii=False) if isinstance(value, (list, dict)) else value


def cells(table):
    held = cross.held("csv", table)
    for extension, delimiter in (("csv", ","), ("tsv", "\t")):
        with open(OUT / f"{table.name}.{extension}", "w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
            writer.writerow([column.name for column in held.columns])
            writer.writerows([cell(value) for value in row.values()] for row in rows(held))


def documents(table):
    store, archive = OUT / f"{table.name}.store", OUT / f"{table.name}.zds"
    run("write", store, table.name, "--mode", "raw", lines=[compact(row) for row in rows(cross.held("zds", table))])
    run("pack", store, archive)


# Arrays and samples


def element_type(column):
    word, parts = cross.split(column.kind)
    return (parts[0], shape(parts)) if word in ("fixed", "tensor") else (word, [])


def numpy_array(column):
    """All values of a column, masked where they are missing."""
    item, more = element_type(column)
    kind = NUMPY.get(item, object)
    size = math.prod(more)
    flat, gone = [], []
    for value in column.values:
        for each in (value or [None] * size) if more else [value]:
            flat.append({"text": "", "bytes": b""}.get(item, 0) if each is None else each)
            gone.append(each is None)
    array = np.array(flat, "U" if item == "text" and not any(text.endswith("\0") for text in flat) else kind)
    array = array.reshape(len(column.values), *more)
    return np.ma.array(array, mask=np.reshape(gone, array.shape)) if any(gone) else array


def variables(table):
    held = cross.held("ds", table)
    dataset = {".": {".": {"table": table.name}}}
    for column in held.columns:
        name = ds.escape(column.name)
        dataset[name] = numpy_array(column)
        further = [f"{column.name}_{place + 2}" for place in range(dataset[name].ndim - 1)]
        dataset["."][name] = {".dims": ["row", *further]}
    ds.write(str(OUT / f"{table.name}.ds"), dataset)


def sample_value(kind, value):
    word, parts = cross.split(kind)
    if value is None:
        return None
    if word in ("fixed", "tensor"):
        return np.array(value, NUMPY[parts[0]]).reshape(shape(parts))
    if word == "struct":
        return {part.split(":", 1)[0]: item for part, item in zip(parts, value)}
    return value


def samples(table):
    held = cross.held("datadings", table)
    made = ({column.name: sample_value(column.kind, column.values[row]) for column in held.columns} for row in range(table.rows))
    datadings_files.write(OUT / f"{table.name}.msgpack", made)


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    IDV.mkdir(parents=True, exist_ok=True)
    for table in cross.all_tables():
        (OUT / f"{table.name}.expected.json").write_text(table.json(), encoding="ascii")
        (IDV / f"{table.name}.json").write_text(cross.held("idv", table).json(), encoding="ascii")
        for form in (arrow, lines, cells, documents, variables, samples):
            form(table)
        print(f"| `{table.name}` | {len(table.columns)} | {table.rows} | {table.holds} |")


if __name__ == "__main__":
    main()
