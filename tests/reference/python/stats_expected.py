"""Statistics of golden Parquet files by numpy and pandas: what `wharf::Stats` has to find.

    python stats_expected.py > crates/wharf/tests/it/stats.expected.json

Run it from the root of the workspace. Only columns of numbers and texts are compared.
"""

import json
import sys

import numpy
import pyarrow
import pyarrow.parquet

FILES = ["iris", "missing", "types"]
INTERVALS = {"p50": (25, 75), "p68": (16, 84), "p95": (2.5, 97.5), "p99": (0.5, 99.5)}


def numbers(column):
    values = column.to_numpy(zero_copy_only=False) if column.null_count == 0 else column.drop_null().to_numpy()
    nan = int(numpy.isnan(values).sum()) if values.dtype.kind == "f" else 0
    values = values[~numpy.isnan(values)] if nan else values
    found = {"count": len(column), "nulls": column.null_count, "nan": nan, "distinct": len(numpy.unique(values))}
    # Infinite statistics are compared in other tests.
    if len(values) == 0 or not numpy.isfinite(values.astype("f8")).all():
        return found
    exact = [int(value) if values.dtype.kind in "iu" else float(value) for value in values]
    found |= {"min": min(exact), "max": max(exact), "mean": float(sum(exact) / len(exact)) if values.dtype.kind in "iu"
              else float(values.astype("f8").mean())}
    wide = values.astype("f8")
    found["std"] = float(wide.std())
    found["median"] = float(numpy.median(wide))
    for name, ends in INTERVALS.items():
        found[name] = [float(value) for value in numpy.percentile(wide, ends)]
    return found


def texts(column):
    values = [value for value in column.to_pylist() if value is not None]
    encoded = [value.encode() for value in values]
    found = {"count": len(column), "nulls": column.null_count, "nan": 0, "distinct": len(set(values))}
    if values:
        lengths = [len(value) for value in encoded]
        found |= {"min": min(encoded).decode(), "max": max(encoded).decode()}
        found["lengths"] = {"min": min(lengths), "max": max(lengths), "mean": sum(lengths) / len(lengths)}
        counts = sorted(((-values.count(value), value.encode(), value) for value in set(values)))
        found["top"] = [{"value": value, "count": -count} for count, _, value in counts[:5]]
    return found


def main():
    found = {}
    for name in FILES:
        table = pyarrow.parquet.read_table(f"tests/golden/cross/{name}.parquet")
        columns = {}
        for field, column in zip(table.schema, table.columns):
            column = column.combine_chunks()
            if pyarrow.types.is_dictionary(field.type):
                column = column.dictionary_decode()
            kind = column.type
            if pyarrow.types.is_integer(kind) or pyarrow.types.is_floating(kind):
                columns[field.name] = numbers(column)
            elif pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind):
                columns[field.name] = texts(column)
        found[name] = columns
    json.dump(found, sys.stdout, indent=1, ensure_ascii=False)
    print()


main()
