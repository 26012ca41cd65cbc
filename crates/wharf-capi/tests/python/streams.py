"""Streams between the library and pyarrow, both ways: streams.py LIBRARY GOLDEN-DIRECTORY EMPTY-DIRECTORY"""

import ctypes
import gc
import json
import sys
from ctypes import POINTER, byref, c_char_p, c_int, c_uint64, c_void_p
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

USAGE = 6


class Error(ctypes.Structure):
    """wharf_error"""

    _fields_ = [("status", c_int)]
    _fields_ += [(name, c_char_p) for name in ("kind", "message", "format", "file", "column", "key")]
    _fields_ += [(name, c_uint64) for name in ("row", "offset", "line")]


class Stream(ctypes.Structure):
    """struct ArrowArrayStream"""

    _fields_ = [(name, c_void_p) for name in ("get_schema", "get_next", "get_last_error", "release", "private_data")]


def load(path):
    library = ctypes.CDLL(path)
    library.wharf_last_error.restype = POINTER(Error)
    library.wharf_open.argtypes = [c_char_p, c_void_p, POINTER(c_void_p)]
    library.wharf_close.argtypes = [c_void_p]
    library.wharf_reader_open.argtypes = [c_void_p, c_void_p, POINTER(c_char_p), POINTER(c_void_p)]
    library.wharf_reader_stream.argtypes = [c_void_p, c_void_p]
    library.wharf_reader_losses.argtypes = [c_void_p, POINTER(c_void_p)]
    library.wharf_reader_close.argtypes = [c_void_p]
    library.wharf_text_free.argtypes = [c_void_p]
    library.wharf_write.argtypes = [c_void_p, c_char_p, c_char_p, POINTER(c_char_p), c_int, POINTER(c_void_p)]
    return library


library = load(sys.argv[1])
golden = Path(sys.argv[2])
outputs = Path(sys.argv[3])


def check(status):
    if status != 0:
        raise RuntimeError(library.wharf_last_error().contents.message.decode())


def texts(*options):
    return (c_char_p * (len(options) + 1))(*(option.encode() for option in options), None)


def take_json(text):
    value = json.loads(ctypes.string_at(text))
    check(library.wharf_text_free(text))
    return value


def read(path, *options):
    """A table, and the losses of reading it."""
    container, reader, stream, losses = c_void_p(), c_void_p(), Stream(), c_void_p()
    check(library.wharf_open(str(path).encode(), None, byref(container)))
    check(library.wharf_reader_open(container, None, texts(*options), byref(reader)))
    check(library.wharf_close(container))
    check(library.wharf_reader_stream(reader, byref(stream)))
    table = pa.RecordBatchReader._import_from_c(ctypes.addressof(stream)).read_all()
    table.validate(full=True)
    check(library.wharf_reader_losses(reader, byref(losses)))
    check(library.wharf_reader_close(reader))
    return table, take_json(losses)


def write(table, path, *options, batch_rows=64):
    """Writes a table, and returns the report."""
    stream, report = Stream(), c_void_p()
    batches = pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=batch_rows))
    batches._export_to_c(ctypes.addressof(stream))
    check(library.wharf_write(byref(stream), str(path).encode(), None, texts(*options), 1, byref(report)))
    assert stream.release is None
    return take_json(report)


def assert_same(found, expected, name):
    """Types, values and signs; NaN equals itself, and dictionaries can differ in order."""
    assert found.schema.equals(expected.schema), f"{name}\n{found.schema}\n{expected.schema}"
    for column in expected.column_names:
        one, other = found[column].to_pylist(), expected[column].to_pylist()
        assert repr(one) == repr(other), f"{name}: {column}\n{one}\n{other}"


def parquet_files():
    """pyarrow and the library read the same from Parquet and Arrow files."""
    for name in ("iris", "missing", "types", "empty"):
        path = golden / "cross" / f"{name}.parquet"
        table, losses = read(path)
        assert_same(table, pq.read_table(path), path)
        assert losses == []
        path = golden / "cross" / f"{name}.arrow"
        with pa.ipc.open_file(path) as file:
            assert_same(read(path)[0], file.read_all(), path)


def every_format():
    """What the library reads from a format, it writes to Parquet, which pyarrow reads."""
    paths = [golden / "cross" / f"iris.{extension}" for extension in ("csv", "ds", "idv", "jsonl", "msgpack", "store")]
    paths += [golden / "idv" / f"{name}.idv" for name in ("real-adult", "sparse-varying", "scalar-integers", "text-unicode")]
    paths += [golden / "datadings" / "real-iris.msgpack"]
    for path in paths:
        table, _ = read(path, "batch_rows=100", "times=ticks")
        out = outputs / "out.parquet"
        report = write(table, out, "compression=zstd:3", "row_group=100")
        assert report["rows"] == table.num_rows and report["bytes"] == out.stat().st_size, report
        assert_same(pq.read_table(out), table, path)


def tables_of_pyarrow():
    """Types that other programs have: views, dictionaries, nested and sliced arrays, batches without columns."""
    table = pa.table(
        {
            "text": pa.array(["a", None, "caf\u00e9", ""] * 50),
            "view": pa.array([None, "a text of more than twelve bytes"] * 100, pa.string_view()),
            "label": pa.array(["x", "y", None, "x"] * 50).dictionary_encode(),
            "list": pa.array([[1, 2], None, [], [None]] * 50, pa.list_(pa.int16())),
            "struct": pa.array([{"a": 1, "b": [True]}, {"a": None, "b": None}] * 100),
            "time": pa.array([0, 1, None, -1] * 50, pa.timestamp("us", "UTC")),
            "decimal": pa.array([None, 1] * 100).cast(pa.decimal128(21, 2)),
        }
    ).slice(3, 190)
    report = write(table, outputs / "types.arrow", batch_rows=7)
    assert report["rows"] == 190, report
    with pa.ipc.open_file(outputs / "types.arrow") as file:
        assert_same(file.read_all(), table, "types.arrow")


def errors():
    """Errors name their kind and position, on the other side of a stream too."""
    (outputs / "bad.jsonl").write_text('{"a": 1}\n{"a": "x"}\n')
    try:
        read(outputs / "bad.jsonl")
        raise AssertionError("no error")
    except RuntimeError as error:
        last = library.wharf_last_error().contents
        assert (last.kind, last.column, last.row) == (b"invalid", b"a", 1), error
    table, losses = read(outputs / "bad.jsonl", "on_mismatch=null")
    assert table.to_pylist() == [{"a": 1}, {"a": None}]
    assert [loss["count"] for loss in losses] == [1], losses
    try:
        read(golden / "cross" / "unicode.parquet")
        raise AssertionError("no error")
    except RuntimeError as error:  # a column name that C cannot express
        assert library.wharf_last_error().contents.kind == b"unsupported", error
    table = pa.table({"a": [1]})
    try:
        write(table, outputs / "out.parquet", "no_such=1")
        raise AssertionError("no error")
    except RuntimeError as error:
        assert library.wharf_last_error().contents.status == USAGE, error

    def failing():
        yield table.to_batches()[0]
        raise ValueError("the source is gone")

    stream = Stream()
    pa.RecordBatchReader.from_batches(table.schema, failing())._export_to_c(ctypes.addressof(stream))
    status = library.wharf_write(byref(stream), str(outputs / "gone.parquet").encode(), None, None, 0, None)
    message = library.wharf_last_error().contents.message
    assert status != 0 and b"the source is gone" in message, message
    assert not (outputs / "gone.parquet").exists()


for test in (parquet_files, every_format, tables_of_pyarrow, errors):
    test()
    gc.collect()
    assert pa.total_allocated_bytes() == 0, f"{test.__name__}: {pa.total_allocated_bytes()} bytes are not released"
print(f"pyarrow {pa.__version__}: the same tables both ways")
