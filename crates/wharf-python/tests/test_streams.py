"""Streams of record batches in both directions: what is asked of them, and what they may bring."""

from __future__ import annotations

import contextvars
import io
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import wharf_data


def stored(path: Path, **columns: Any) -> wharf_data.Table:
    pq.write_table(pa.table(columns), path)
    return wharf_data.open(path).table()


@pytest.mark.parametrize(
    ("values", "asked"),
    [
        (pa.array([1, 300, -5], pa.int32()), pa.int8()),
        (pa.array([1.5, 2.0]), pa.int32()),
        (pa.array([1e300, 2.0]), pa.int32()),
        (pa.array(["1", "x"]), pa.int32()),
        (pa.array([2**63], pa.uint64()), pa.int64()),
        (pa.array([10**6, 1], pa.timestamp("us")), pa.timestamp("s")),
        (pa.array([0.1]), pa.float32()),
    ],
)
def test_a_requested_type_never_changes_values(tmp_path: Path, values: pa.Array, asked: pa.DataType) -> None:
    table, schema = stored(tmp_path / "a.parquet", a=values), pa.schema([("a", asked)])
    with pytest.raises(pa.ArrowInvalid):
        pa.table(table, schema=schema)
    batch = next(iter(table.to_batches()))
    with pytest.raises(wharf_data.InvalidError):
        pa.record_batch(batch, schema=schema)


def test_requested_types_that_hold_the_values_are_taken(tmp_path: Path) -> None:
    table = stored(tmp_path / "a.parquet", i=pa.array([1, None, -5], pa.int32()), s=["a", "", None], f=[1.5, float("nan"), None])
    asked = pa.schema([("i", pa.int8()), ("s", pa.large_string()), ("f", pa.float32())])
    for found in (pa.table(table, schema=asked), pa.RecordBatchReader.from_stream(table, schema=asked).read_all()):
        assert found.schema == asked
        assert found["i"].to_pylist() == [1, None, -5]
        assert found["s"].to_pylist() == ["a", "", None]
        assert str(found["f"].to_pylist()) == "[1.5, nan, None]"


@pytest.mark.parametrize("names", [["x", "s"], ["s", "i"], ["i"]])
def test_a_request_for_other_columns_is_an_error(tmp_path: Path, names: list[str]) -> None:
    table = stored(tmp_path / "a.parquet", i=[1], s=["a"])
    with pytest.raises(wharf_data.UsageError, match="requested schema"):
        table.__arrow_c_stream__(pa.schema([(name, pa.string()) for name in names]).__arrow_c_schema__())


def test_null_rows_are_no_rows(tmp_path: Path) -> None:
    rows = pa.StructArray.from_arrays([pa.array([1, 2, 3])], names=["x"], mask=pa.array([False, True, False]))
    with pytest.raises(wharf_data.InvalidError, match="expected rows, found null"):
        wharf_data.write(pa.chunked_array([rows]), tmp_path / "x.csv")
    assert not (tmp_path / "x.csv").exists()
    wharf_data.write(pa.chunked_array([rows.drop_null()]), tmp_path / "x.csv")
    assert (tmp_path / "x.csv").read_text() == "x\n1\n3\n"
    with pytest.raises(wharf_data.UsageError, match="expected a stream of record batches"):
        wharf_data.write(pa.chunked_array([[1, 2]]), tmp_path / "y.csv")


@pytest.mark.parametrize("end", ["jsonl", "csv", "parquet", "arrow", "idv"])
def test_invalid_arrays_of_others_are_errors(tmp_path: Path, end: str) -> None:
    offsets = np.array([0, 4, 2, 4], "i4")
    backward = pa.Array.from_buffers(pa.string(), 3, [None, pa.py_buffer(offsets), pa.py_buffer(b"abcd")])
    text = pa.Array.from_buffers(pa.string(), 1, [None, pa.py_buffer(np.array([0, 2], "i4")), pa.py_buffer(b"\xff\xfe")])
    outside = pa.DictionaryArray.from_arrays([0, 7], ["a", "b"], safe=False)
    for array in (backward, text, outside):
        path = tmp_path / f"out.{end}"
        with pytest.raises(wharf_data.InvalidError):
            wharf_data.write(pa.table({"a": array}), path)
        with pytest.raises((wharf_data.InvalidError, ValueError)):
            wharf_data.write(pa.record_batch({"a": array}), path)
        assert not path.exists()


def test_generators_run_on_the_thread_of_the_caller(tmp_path: Path) -> None:
    variable: contextvars.ContextVar[int] = contextvars.ContextVar("variable", default=0)
    variable.set(7)
    threads = set()

    def rows() -> Any:
        for number in range(70_000):
            threads.add(threading.get_ident())
            yield {"x": variable.get(), "n": number}

    wharf_data.write(rows(), tmp_path / "rows.parquet")
    assert threads == {threading.get_ident()}
    assert pq.read_table(tmp_path / "rows.parquet")["x"].unique().to_pylist() == [7]


@pytest.mark.parametrize("value", [0, "false", "", [False], 1, "yes"])
def test_flags_are_booleans(tmp_path: Path, value: object) -> None:
    (tmp_path / "h.csv").write_text("a,b\n1,2\n")
    with pytest.raises(wharf_data.UsageError, match="no_header.*True or False"):
        wharf_data.convert(tmp_path / "h.csv", tmp_path / "o.jsonl", no_header=value)
    for unset in (False, None, np.False_):
        wharf_data.convert(tmp_path / "h.csv", tmp_path / "o.jsonl", no_header=unset, overwrite=True)
        assert json.loads((tmp_path / "o.jsonl").read_text()) == {"a": 1, "b": 2}
    wharf_data.convert(tmp_path / "h.csv", tmp_path / "o.jsonl", no_header=np.True_, overwrite=True)
    assert len((tmp_path / "o.jsonl").read_text().splitlines()) == 2


@pytest.mark.parametrize("value", [None, [], {}, False, 1])
def test_options_that_do_not_exist_are_errors(tmp_path: Path, value: object) -> None:
    with pytest.raises((wharf_data.UsageError, TypeError), match="compresion"):
        wharf_data.write({"a": [1]}, tmp_path / "o.parquet", compresion=value)


def test_an_open_file_stays_the_one_that_was_opened(tmp_path: Path) -> None:
    path = tmp_path / "p.ds"
    wharf_data.write({"x": np.arange(1000.0)}, path)
    wharf_data.write({"x": np.arange(5.0)}, tmp_path / "other.ds")
    container = wharf_data.open(path, access="positional")
    os.replace(tmp_path / "other.ds", path)
    assert container.table().to_arrow().num_rows == 1000
    assert container.stats()[0]["count"] == 1000
    for other in (path, wharf_data.open(path)):
        assert not wharf_data.diff(container, other)["same"]
        assert not wharf_data.diff(other, container)["same"]
    assert wharf_data.convert(container, tmp_path / "o.parquet")["rows"] == 1000
    assert str(path) not in Path("/proc/self/maps").read_text() if Path("/proc/self/maps").exists() else True


@pytest.mark.parametrize("values", [pa.string_view(), pa.binary_view()])
@pytest.mark.parametrize("nested", [False, True])
def test_dictionaries_of_views_become_parquet(tmp_path: Path, values: pa.DataType, nested: bool) -> None:
    labels = pa.array([b"a", b"b", None, b"a"], pa.binary()).cast(pa.string()).cast(pa.string_view())
    array = pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 3], pa.int32()), labels.cast(values))
    if nested:
        array = pa.ListArray.from_arrays([0, 2, 4], array)
    table = pa.table({"a": array})
    path = tmp_path / "c.parquet"
    wharf_data.write(table, path)
    assert pq.read_table(path)["a"].to_pylist() == table["a"].to_pylist()
    assert wharf_data.open(path).table().to_arrow()["a"].to_pylist() == table["a"].to_pylist()
    assert wharf_data.open(path).verify() == []


class File(io.BytesIO):
    """A file whose reads fail."""

    def __init__(self, content: bytes, error: BaseException) -> None:
        super().__init__(content)
        self.error: BaseException | None = None
        self.later = error

    def read(self, size: int | None = -1) -> bytes:
        if self.error is not None:
            raise self.error
        return super().read(size)


def broken(path: Path, error: BaseException) -> Any:
    wharf_data.write({"a": np.arange(1000)}, path)
    file = File(path.read_bytes(), error)
    table = wharf_data.open(file).table()
    file.error = error
    return table


@pytest.mark.parametrize("end", ["parquet", "idv", "ds", "arrow"])
@pytest.mark.parametrize("error", [KeyboardInterrupt("now"), SystemExit(3), GeneratorExit()])
def test_exceptions_of_files_that_end_the_program_pass(tmp_path: Path, end: str, error: BaseException) -> None:
    with pytest.raises(type(error)):
        broken(tmp_path / f"a.{end}", error).to_arrow()


@pytest.mark.parametrize("end", ["parquet", "idv", "ds", "arrow"])
def test_exceptions_of_files_are_causes(tmp_path: Path, end: str) -> None:
    with pytest.raises(wharf_data.IoError) as found:
        broken(tmp_path / f"a.{end}", OSError(5, "broken disk")).to_arrow()
    assert isinstance(found.value.__cause__, OSError)
    assert found.value.errno == 5
    assert "broken disk" in str(found.value)


SCAN = """
import os, signal, sys, threading, time, pyarrow as pa, wharf_data
table = wharf_data.open(sys.argv[1]).table().filter("c < -1")
scan = {"batches": lambda: list(table.to_batches()), "stream": lambda: pa.table(table)}[sys.argv[2]]
def timed():
    start = time.perf_counter()
    scan()
    return time.perf_counter() - start
whole = min(timed() for _ in range(3))
sent = []
def stop():
    time.sleep(0.03)
    sent.append(time.perf_counter())
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=stop, daemon=True).start()
try:
    try:
        scan()
    except Exception:  # as a program does that goes on with the next file
        for _ in range(1000):
            time.sleep(0.01)
except KeyboardInterrupt:
    print((time.perf_counter() - sent[0]) / whole)
"""


@pytest.mark.parametrize("how", ["batches", "stream"])
def test_ctrl_c_ends_a_scan_that_finds_nothing(tmp_path: Path, how: str) -> None:
    path = tmp_path / "many.idv"
    wharf_data.write({"c": np.random.default_rng(1).random(8_000_000)}, path)
    found = subprocess.run([sys.executable, "-c", SCAN, path, how], capture_output=True, text=True, timeout=120)
    assert found.returncode == 0, found.stderr
    assert float(found.stdout) < 0.6


FORKED = """
import os, sys, wharf_data
path, out = sys.argv[1:]
def use():
    table = wharf_data.open(path).table()
    container = wharf_data.open(path)
    return [
        table.column_names, container.info()["tables"][0]["rows"], len(table), table[-1], len(table.filter("x > 0.5")),
        table.filter("x > 0.5")[-1], [entry["distinct"] for entry in table.stats(["x"])], table.count(by="label"),
        wharf_data.diff(path, path)["same"], wharf_data.convert(path, out, overwrite=True)["rows"],
        table.to_arrow().num_rows,
    ]
expected = use()
child = os.fork()
if child == 0:
    found = use()
    print(found == expected, flush=True)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("end", ["csv", "jsonl", "arrow", "parquet", "idv", "ds", "msgpack", "zds"])
def test_a_forked_process_needs_no_threads_of_its_parent(tmp_path: Path, end: str) -> None:
    rows = 40_000
    columns = {
        "key": [f"k{i}" for i in range(rows)],
        "label": np.arange(rows) % 7,
        "x": np.random.default_rng(1).random(rows),
    }
    path = tmp_path / f"a.{end}"
    wharf_data.write(columns, path)
    run = [sys.executable, "-W", "ignore", "-c", FORKED, path, tmp_path / "out.parquet"]
    found = subprocess.run(run, capture_output=True, text=True, timeout=120)
    assert (found.returncode, found.stdout) == (0, "True\n"), found.stderr
