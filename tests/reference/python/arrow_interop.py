"""pyarrow beside us: it writes Parquet and Arrow IPC in every way it knows, and holds what we write against what it reads in its own, and against the tables
of cross_tables.py.

    python arrow_interop.py write DIRECTORY --seed N --count K
    python arrow_interop.py check DIRECTORY WRITTEN

`write` makes files of random tables and of large ones. `check` reads from WRITTEN, lines of JSON, what was made of which: `{"of": FILE, "made": FILE}`,
or `{"table": NAME, "format": FORMAT, "made": FILE}`. Both print one line of JSON that counts.
"""

import argparse
import datetime
import itertools
import json
import math
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import arrow_random
import cross_tables as cross

CODECS = ["none", "snappy", "gzip", "brotli", "lz4", "zstd"]
WAYS = list(itertools.product(CODECS, ["1.0", "2.4", "2.6"], ["1.0", "2.0"], [True, False]))


def write_parquet(table, path, way, **more):
    codec, version, page, dictionary = way
    pq.write_table(table, path, compression=codec, version=version, data_page_version=page, use_dictionary=dictionary, **more)


def write_ipc(table, path, codec, rows=None):
    options = pa.ipc.IpcWriteOptions(compression=codec)
    make = pa.ipc.new_file if path.suffix == ".arrow" else pa.ipc.new_stream
    with make(str(path), table.schema, options=options) as writer:
        writer.write_table(table, rows)


def in_parquet(kind):
    """Whether Parquet has the type, by pyarrow's writer."""
    word = str(kind)
    return "string_view" not in word and "binary_view" not in word and "month" not in word


def write(arguments):
    out = arguments.directory
    files = 0
    for number in range(arguments.count):
        table = arrow_random.table(arguments.seed, number)
        way = WAYS[(number * 5 + number // len(WAYS)) % len(WAYS)]
        fits = [field.name for field in table.schema if in_parquet(field.type)]
        places = [place for place, field in enumerate(table.schema) if in_parquet(field.type)]
        if fits:
            name = f"random-{number:03}-{way[0]}-{way[1]}-{way[2]}-{'dictionary' if way[3] else 'plain'}.parquet"
            write_parquet(table.select(places), out / name, way, row_group_size=[None, 100, 1000][number % 3], data_page_size=[None, 512][number % 2])
            files += 1
        for suffix, codec in ((".arrow", [None, "lz4", "zstd"][number % 3]), (".arrows", ["zstd", None, "lz4"][number % 3])):
            write_ipc(table, out / f"random-{number:03}-{codec}{suffix}", codec, [None, 50, 1000][number % 3])
            files += 1
    table = arrow_random.large()
    # Every way, of a part of it: pages of both versions, with dictionaries and without, of every codec.
    part = table.slice(0, 5000)
    for way in WAYS:
        write_parquet(part, out / f"way-{'-'.join(map(str, way))}.parquet", way, row_group_size=2000, data_page_size=4096)
    write_parquet(table, out / "large.parquet", ("zstd", "2.6", "2.0", True), row_group_size=70_000)
    write_parquet(table, out / "large-v1.parquet", ("snappy", "1.0", "1.0", True))
    write_ipc(table, out / "large.arrow", "lz4", 10_000)
    write_ipc(table, out / "large.arrows", None, 65_536)
    print(json.dumps({"files": files + len(WAYS) + 4, "tables": arguments.count + 2}))


def read(path):
    path = Path(path)
    if path.suffix == ".parquet":
        return pq.read_table(path, use_pandas_metadata=False)
    with pa.memory_map(str(path)) as source:
        reader = pa.ipc.open_file(source) if path.suffix == ".arrow" else pa.ipc.open_stream(source)
        return reader.read_all()


def storage(array):
    """A column as one array; extension types as what they are made of, dictionaries as what they stand for."""
    array = pa.chunked_array(array.chunks, array.type).combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    if isinstance(array, pa.ChunkedArray):
        array = array.chunk(0)
    if pa.types.is_dictionary(array.type):
        # The same texts may stand in another order, or twice.
        return array.dictionary_decode()
    return array.storage if isinstance(array, pa.ExtensionArray) else array


def same_values(one, other):
    """The same values: floats by their bits (one NaN), order and nulls."""
    one, other = storage(one), storage(other)
    kind = one.type
    # There NaN is not NaN, and -0 is 0.
    if not any(word in str(kind) for word in ("float", "double")):
        return one.equals(other)
    if len(one) != len(other) or not one.is_null().equals(other.is_null()):
        return False
    if pa.types.is_floating(kind):
        one, other = (each.drop_null().to_numpy(zero_copy_only=False) for each in (one, other))
        bits = np.dtype(f"u{one.dtype.itemsize}")
        return bool(np.all((one.view(bits) == other.view(bits)) | (np.isnan(one) & np.isnan(other))))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return one.value_lengths().equals(other.value_lengths()) and same_values(one.flatten(), other.flatten())
    if pa.types.is_fixed_size_list(kind):
        return same_values(one.flatten(), other.flatten())
    if pa.types.is_struct(kind):
        return all(map(same_values, one.flatten(), other.flatten()))
    # What Python shows has all digits.
    return list(map(repr, plain(one))) == list(map(repr, plain(other)))


def plain(array):
    """Values as Python has them; times as numbers, of which Python holds fewer."""
    kind = array.type
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind) or pa.types.is_time64(kind):
        array = array.view(pa.int64())
    elif pa.types.is_struct(kind):
        members = [plain(array.field(place)) for place in range(kind.num_fields)]
        valid = array.is_valid().to_pylist()
        return [row if there else None for row, there in zip(zip(*members) if members else [()] * len(array), valid)]
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_map(kind):
        offsets, valid = array.offsets.to_pylist(), array.is_valid().to_pylist()
        items = plain(pa.StructArray.from_arrays([array.keys, array.items], ["k", "v"]) if pa.types.is_map(kind) else array.values)
        return [items[a:b] if there else None for a, b, there in zip(offsets, offsets[1:], valid)]
    elif pa.types.is_fixed_size_list(kind):
        size, valid = kind.list_size, array.is_valid().to_pylist()
        items = plain(array.values.slice(array.offset * size, len(array) * size))
        return [items[size * n : size * (n + 1)] if there else None for n, there in enumerate(valid)]
    return [value.item() if isinstance(value, np.generic) else value for value in array.to_pylist()]


def metadata(given):
    return {key: value for key, value in (given or {}).items() if key != b"ARROW:schema"}


def settled(kind, parquet):
    """A type without what writers of Parquet differ in: how the entries of a map are called. Where `parquet` is on the way, units that it has not are
    those that it has, in which pyarrow leaves them and we do not."""
    field = lambda field: field.with_type(settled(field.type, parquet))
    types = pa.types
    if types.is_map(kind):
        return pa.map_(field(kind.key_field), field(kind.item_field), kind.keys_sorted)
    if types.is_struct(kind):
        return pa.struct([field(member) for member in kind])
    if types.is_fixed_size_list(kind):
        return pa.list_(field(kind.value_field), kind.list_size)
    for is_kind, make in ((types.is_list, pa.list_), (types.is_large_list, pa.large_list), (types.is_list_view, pa.list_view), (types.is_large_list_view, pa.large_list_view)):
        if is_kind(kind):
            return make(field(kind.value_field))
    if parquet and str(kind).startswith(("time32[s", "timestamp[s")):
        return pa.timestamp("ms", kind.tz) if types.is_timestamp(kind) else pa.time32("ms")
    return pa.date32() if parquet and types.is_date64(kind) else kind


def settle(table, parquet):
    fields = [field.with_type(settled(field.type, parquet)) for field in table.schema]
    cast = lambda column, kind: column if str(column.type) == str(kind) else column.cast(kind)
    columns = [cast(column, field.type) for column, field in zip(table.columns, fields)]
    return pa.Table.from_arrays(columns, schema=pa.schema(fields, table.schema.metadata))


def same(expected, found, parquet):
    """Why they are not the same, or nothing."""
    expected, found = settle(expected, parquet), settle(found, parquet)
    if expected.schema.names != found.schema.names:
        return f"columns {found.schema.names} instead of {expected.schema.names}"
    if metadata(expected.schema.metadata) != metadata(found.schema.metadata):
        return f"metadata {found.schema.metadata} instead of {expected.schema.metadata}"
    for place, (one, other) in enumerate(zip(expected.schema, found.schema)):
        if not one.equals(other, check_metadata=True):
            return f"column {place}: {other} {other.metadata} instead of {one} {one.metadata}"
        if not same_values(expected.column(place), found.column(place)):
            return f"column {place} ({one.type}) has other values"
    return None


# Tables that were made of something else than Arrow


# Formats with a shape for each column of tensors.
TENSORS = ("idv", "ds", "datadings", "parquet", "arrow")


def fits(kind, found):
    """Whether an Arrow type is one for a kind."""
    word, parts = cross.split(kind)
    types = pa.types
    if word in cross.INTEGERS:
        return str(found) == ("u" if word[0] == "u" else "") + f"int{cross.INTEGERS[word]}"
    if word in ("list", "fixed", "tensor"):
        found = found.storage_type if isinstance(found, pa.BaseExtensionType) else found
        while types.is_list(found) or types.is_large_list(found) or types.is_fixed_size_list(found):
            found = found.value_type
        return fits(parts[0], found)
    if word == "struct":
        members = [part.split(":", 1) for part in parts]
        return types.is_struct(found) and all(fits(member, found.field(name).type) for name, member in members)
    if word in ("text", "labels"):
        found = found.value_type if types.is_dictionary(found) else found
        return types.is_string(found) or types.is_large_string(found) or types.is_string_view(found)
    return {
        "none": types.is_null, "bool": types.is_boolean, "f16": types.is_float16, "f32": types.is_float32, "f64": types.is_float64, "bytes": lambda kind: "binary" in str(kind),
        "date": types.is_date32, "timestamp": types.is_timestamp, "duration": types.is_duration,
    }[word](found)


def flat(value):
    if isinstance(value, list) and value and isinstance(value[0], list):
        return [item for part in value for item in flat(part)]
    return value


def shown(kind, value):
    """A value so that equal ones look the same."""
    word, parts = cross.split(kind)
    if value is None:
        return "null"
    if word in cross.FLOATS:
        return cross.bits(word, value)
    if word in ("list", "fixed", "tensor"):
        return str([shown(parts[0], item) for item in flat(value)])
    if word == "struct":
        members = [part.split(":", 1) for part in parts]
        items = value.values() if isinstance(value, dict) else value
        return str([shown(member, item) for (_, member), item in zip(members, items)])
    return repr(value)


def converted(name, form, column):
    """A column of another format as wharf makes it of that: what its allowances say for Parquet and Arrow."""
    rules = cross.ALLOWANCES["parquet"]["convert"]["from"].get(form, {})
    kind, values = column.kind, column.values
    if "missing" in rules and kind == "text":
        values = [None if value == "" else value for value in values]
    found = rules.get("columns", {}).get(f"{name}/{column.name}", kind)
    if found != kind:
        day, moment = datetime.date(1970, 1, 1), datetime.datetime(1970, 1, 1)
        number = {
            "date": lambda text: (datetime.date.fromisoformat(text) - day).days,
            "timestamp": lambda text: (datetime.datetime.fromisoformat(text) - moment) // datetime.timedelta(microseconds=1),
        }[found]
        kind, values = found, [None if value is None else number(value) for value in values]
    if "valueless" in rules and all(value is None for value in values):
        kind = rules["valueless"]
    return cross.Column(column.name, kind, values)


def of_table(name, form, found):
    table = cross.held(form, next(table for table in cross.all_tables() if table.name == name))
    table.columns = [converted(name, form, column) for column in table.columns]
    if found.num_rows != table.rows:
        return f"{found.num_rows} rows instead of {table.rows}"
    if table.rows == 0 and form in ("datadings", "zds", "jsonl"):
        return None
    for column in table.columns:
        if column.name not in found.schema.names:
            return f"there is no column {column.name!r}"
        field = found.schema.field(column.name)
        if not fits(column.kind, field.type):
            return f"column {column.name!r} is {field.type} where {column.kind} was"
        word = cross.split(column.kind)[0]
        if word == "tensor" and name == "types" and form in TENSORS and not isinstance(field.type, pa.FixedShapeTensorType):
            return f"column {column.name!r} is {field.type} where a tensor was"
        # A mask covers each element.
        masked = form == "ds" and word in ("fixed", "tensor")
        if not field.nullable and column.nulls == "whole" and not masked:
            return f"column {column.name!r} is not nullable and has nulls"
        array = storage(found.column(column.name))
        if word in ("timestamp", "duration"):
            array = array.cast({"timestamp": pa.timestamp("us"), "duration": pa.duration("us")}[word]).view(pa.int64())
        elif word == "date":
            array = array.view(pa.int32())
        for row, (one, other) in enumerate(zip(column.values, array.to_pylist())):
            if masked and one is None and other is not None and all(item is None for item in flat(other)):
                continue
            if shown(column.kind, one) != shown(column.kind, other):
                return f"column {column.name!r}, row {row}: {other!r} instead of {one!r}"
    if set(found.schema.names) - {"key", "_id"} != {column.name for column in table.columns} - {"key", "_id"}:
        return f"columns {found.schema.names}"
    return None


def check(arguments):
    counted = {"same": 0, "tables": 0, "rows": 0}
    wrong = []
    cache = {}
    for line in arguments.written.read_text(encoding="utf-8").splitlines():
        told = json.loads(line)
        found = read(told["made"])
        if "of" in told:
            if told["of"] not in cache:
                cache = {told["of"]: read(told["of"])}
            why = same(cache[told["of"]], found, any(told[file].endswith(".parquet") for file in ("of", "made")))
            counted["same"] += 1
        else:
            why = of_table(told["table"], told["format"], found)
            counted["tables"] += 1
        counted["rows"] += found.num_rows
        if why:
            wrong.append(f"{told['made']}: {why}")
    if wrong:
        sys.exit("\n".join(wrong))
    print(json.dumps(counted))


def main():
    parser = argparse.ArgumentParser()
    verbs = parser.add_subparsers(required=True)
    verb = verbs.add_parser("write")
    verb.add_argument("directory", type=Path)
    verb.add_argument("--seed", type=int, required=True)
    verb.add_argument("--count", type=int, required=True)
    verb.set_defaults(run=write)
    verb = verbs.add_parser("check")
    verb.add_argument("written", type=Path)
    verb.set_defaults(run=check)
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
