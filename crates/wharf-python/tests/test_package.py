"""Opening, reading, writing and converting, compared with pyarrow."""

from __future__ import annotations

import collections
import contextlib
import datetime
import decimal
import io
import json
import mmap
import os
import pickle
import re
import resource
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import wharf_data
import wharf_data.ds
from wharf_data import _parts

#: Formats that keep the types of simple columns.
TYPED = ["parquet", "arrow", "arrows", "idv"]


def test_import_is_quick_and_lazy() -> None:
    code = "import sys, wharf_data; print(sorted({'numpy', 'pyarrow', 'pandas', 'torch'} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_reads_a_file_of_ml_net(golden: Path) -> None:
    container = wharf_data.open(golden / "idv" / "real-adult.idv")
    assert (container.format, container.version, len(container)) == ("idv", "1.1.1.6", 1)
    table = container.table()
    assert len(table) == 500
    assert table.column_names[:2] == ["Label", "occupation"]
    assert pa.table(table).num_rows == 500
    assert table.to_arrow(["age"], rows=slice(-3, None))["age"].to_pylist() == [
        row["age"] for row in table.rows(["age"], rows=range(497, 500))
    ]
    assert table[-1] == list(table)[499]
    assert container.verify() == []
    info = container.info()
    assert (info["format"], info["tables"][0]["rows"]) == ("idv", 500)


def test_every_golden_file_opens_or_says_why(golden: Path) -> None:
    opened = 0
    for path in sorted((golden / "idv").iterdir()):
        try:
            container = wharf_data.open(path)
            for table in container:
                for batch in table.to_batches():
                    pa.record_batch(batch).validate(full=True)
            opened += 1
        except wharf_data.Error as error:
            assert error.kind in ("invalid", "truncated", "unsupported", "limit", "usage")
    assert opened > 10


def test_inputs_of_all_kinds(tmp_path: Path) -> None:
    data = pa.table({"x": list(range(1000)), "s": [f"text {n}" for n in range(1000)]})
    path = tmp_path / "a.parquet"
    wharf_data.write(data, path)
    content = path.read_bytes()

    class Remote:
        """A file as fsspec opens it."""

        def __init__(self) -> None:
            self.path, self.size, self.fs, self.asked = "bucket/a.parquet", len(content), self, 0

        def cat_ranges(self, paths: list[str], starts: list[int], ends: list[int]) -> list[bytes]:
            self.asked += 1
            assert paths == [self.path]
            return [content[start:end] for start, end in zip(starts, ends, strict=True)]

    remote = Remote()
    for source in [path, str(path), content, bytearray(content), io.BytesIO(content), path.open("rb"), remote]:
        container = wharf_data.open(source)
        assert pa.table(container).equals(data), source
        assert "PAR1" not in repr(container)
    assert remote.asked > 0
    assert pa.table(wharf_data.open(path, access="positional")).equals(data)
    with pytest.raises(TypeError, match="expected a path, bytes, or a binary file that can seek, found int"):
        wharf_data.open(5)


def test_errors_of_a_file_object_are_errors_of_reading() -> None:
    class Broken(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            raise OSError("the cable is cut")

    with pytest.raises(wharf_data.IoError, match="the cable is cut"):
        wharf_data.open(Broken(b"x" * 100))


def test_errors_say_what_and_where(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as missing:
        wharf_data.open(tmp_path / "missing.idv")
    assert (missing.value.errno, missing.value.path) == (2, str(tmp_path / "missing.idv"))  # type: ignore[attr-defined]
    path = tmp_path / "a.csv"
    path.write_text("a,b\n1,2\n3\n")
    with pytest.raises(wharf_data.InvalidError) as ragged:
        wharf_data.convert(path, tmp_path / "a.parquet")
    assert (ragged.value.kind, ragged.value.line, ragged.value.path) == ("invalid", 3, str(path))
    assert isinstance(ragged.value, ValueError)
    again = pickle.loads(pickle.dumps(ragged.value))
    assert (type(again), str(again), again.line) == (type(ragged.value), str(ragged.value), 3)
    path.write_text("a,b\n1,2\n")
    with pytest.raises(wharf_data.UsageError, match='no column "c"; similar: "a", "b"'):
        wharf_data.open(path).table().to_batches(["c"])
    wharf_data.convert(path, tmp_path / "a.idv")
    with pytest.raises(wharf_data.UsageError, match="the output exists; overwrite=True replaces it"):
        wharf_data.convert(path, tmp_path / "a.idv")
    wharf_data.convert(path, tmp_path / "a.idv", overwrite=True)
    with pytest.raises(wharf_data.UsageError, match="row_group is an option of parquet, the output is idv"):
        wharf_data.convert(path, tmp_path / "b.idv", row_group=100)
    with pytest.raises(wharf_data.UsageError, match='unknown option "rowgroup"'):
        wharf_data.convert(path, tmp_path / "b.parquet", rowgroup=False)
    with pytest.raises(wharf_data.UsageError, match="the formats are jsonl, csv"):
        wharf_data.convert(path, tmp_path / "b.xlsx")
    assert not (tmp_path / "b.idv").exists()


def test_columns_are_changed_by_dicts_and_lists(tmp_path: Path) -> None:
    path, out = tmp_path / "a.csv", tmp_path / "a.parquet"
    path.write_text('"a,b",x,y,z\n1,2,0.5,q\n')
    wharf_data.convert(path, out, rename={"a,b": "c=d"}, drop=["z"], cast={"c=d": "float32"}, concat={"F": ["x", "y"]})
    table = pa.table(wharf_data.open(out).table())
    assert table.schema.field("c=d").type == pa.float32()
    assert table.to_pylist() == [{"c=d": 1.0, "F": [2.0, 0.5]}]
    wharf_data.convert(path, out, overwrite=True, drop=["a,b"], expand=[], floats="single", cast="x,z=text")
    assert pa.table(wharf_data.open(out).table()).to_pylist() == [{"x": "2", "y": 0.5, "z": "q"}]
    with pytest.raises(wharf_data.UsageError, match='no column "b"'):
        wharf_data.convert(path, out, overwrite=True, rename={"b": "c"})
    kinds = {option["name"]: option["type"] for option in wharf_data.options()}
    assert (kinds["drop"], kinds["rename"], kinds["union"]) == ("list", "dict", "bool")


def test_losses_are_warnings_and_in_the_report(tmp_path: Path) -> None:
    data = pa.table({"x": pa.array([1, None], pa.int64())})
    with pytest.warns(wharf_data.LossWarning):
        report = wharf_data.write(data, tmp_path / "x.idv", null_integers="double")
    assert report["rows"] == 2
    assert [loss["count"] for loss in report["losses"] if loss["count"]] != []


@pytest.mark.parametrize("format", TYPED)
def test_writes_arrow_dicts_and_rows(tmp_path: Path, format: str) -> None:
    names, values = ["a", "b", "c"], [1.5, 2.5, float("inf")]
    expected = {"name": names, "value": values}
    for number, data in enumerate([
        pa.table(expected),
        pa.record_batch(expected),
        pa.table(expected).to_reader(),
        {"name": names, "value": np.array(values)},
        ({"name": name, "value": value} for name, value in zip(names, values, strict=True)),
    ]):
        path = tmp_path / f"{number}.{format}"
        report = wharf_data.write(data, path)
        assert (report["rows"], report["format"]) == (3, format)
        assert pa.table(wharf_data.open(path)).to_pydict() == expected


def test_rows_of_an_iterable_keep_the_columns_of_the_first(tmp_path: Path) -> None:
    rows = ({"n": n} if n < 70_000 else {"n": n, "late": 1} for n in range(70_001))
    with pytest.raises(wharf_data.UsageError, match="row 70000 has the column 'late'"):
        wharf_data.write(rows, tmp_path / "x.parquet")
    assert not (tmp_path / "x.parquet").exists()
    assert wharf_data.write(({"n": n} for n in range(70_000)), tmp_path / "x.parquet")["rows"] == 70_000


def test_rows_may_lack_columns(tmp_path: Path) -> None:
    wharf_data.write([{"a": 1}, {"b": "x"}, {"c": None, "a": 3}], tmp_path / "x.parquet")
    expected = {"a": [1, None, 3], "b": [None, "x", None], "c": [None] * 3}
    assert pa.table(wharf_data.open(tmp_path / "x.parquet")).to_pydict() == expected


@pytest.mark.parametrize("extension", ["ds", "nc"])
def test_rows_and_variables_are_counted(tmp_path: Path, extension: str) -> None:
    report = wharf_data.write({"x": np.arange(70_000), "y": np.linspace(0, 1, 70_000)}, tmp_path / f"x.{extension}")
    assert (report["rows"], report["variables"]) == (70_000, 2)
    report = wharf_data.convert(tmp_path / f"x.{extension}", tmp_path / "copy.ds")
    assert (report["rows"], report["variables"]) == (0, 2)
    report = wharf_data.convert(tmp_path / "copy.ds", tmp_path / "x.parquet")
    assert (report["rows"], report["variables"]) == (70_000, 0)


@pytest.mark.parametrize("to", ["pandas", "polars", "duckdb"])
def test_other_libraries_take_tables(tmp_path: Path, to: str) -> None:
    library = pytest.importorskip(to)
    wharf_data.write({"x": [1, 2, 3], "s": ["a", None, "c"]}, tmp_path / "x.idv")
    table = wharf_data.open(tmp_path / "x.idv").table()
    if to == "pandas":
        assert pa.table(table).to_pandas()["x"].sum() == 6
    elif to == "polars":
        frame = library.DataFrame(table)
        assert frame["x"].to_list() == [1, 2, 3]
        assert frame.with_columns(y=1).write_ipc(None) is not None
        wharf_data.write(frame, tmp_path / "back.parquet")
        assert pq.read_table(tmp_path / "back.parquet")["x"].to_pylist() == [1, 2, 3]
    else:
        numbers = table  # DuckDB finds it by the name of the variable
        assert library.sql("select sum(x) from numbers").fetchall() == [(6,)]
        assert len(numbers) == 3


def test_a_stream_can_be_taken_once(tmp_path: Path) -> None:
    wharf_data.write({"x": [1, 2, 3]}, tmp_path / "x.arrow")
    batches = wharf_data.open(tmp_path / "x.arrow").table().to_batches(batch_rows=2)
    assert [len(batch) for batch in batches] == [2, 1]
    batches = wharf_data.open(tmp_path / "x.arrow").table().to_batches(batch_rows=2)
    assert pa.record_batch(next(batches)).to_pydict() == {"x": [1, 2]}
    assert pa.table(batches).to_pydict() == {"x": [3]}
    with pytest.raises(ValueError, match="handed on already"):
        next(batches)


VALUES: dict[str, tuple[pa.DataType, Any]] = {
    "int64": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "uint8": (pa.uint8(), st.integers(0, 255)),
    "double": (pa.float64(), st.floats(allow_nan=False)),
    "float": (pa.float32(), st.floats(width=32, allow_nan=False)),
    "text": (pa.string(), st.text(max_size=8)),
    "bool": (pa.bool_(), st.booleans()),
    "bytes": (pa.binary(), st.binary(max_size=8)),
    "list": (pa.list_(pa.int32()), st.lists(st.integers(-9, 9), max_size=4)),
}


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_values_come_back(tmp_path: Path, data: st.DataObject) -> None:
    rows = data.draw(st.integers(0, 20))
    columns = data.draw(st.lists(st.sampled_from(sorted(VALUES)), unique=True, min_size=1))
    arrays = {}
    for name in columns:
        kind, values = VALUES[name]
        maybe = st.one_of(st.none(), values)
        arrays[name] = pa.array(data.draw(st.lists(maybe, min_size=rows, max_size=rows)), kind)
    table = pa.table(arrays)
    for format in ["parquet", "arrow"]:
        path = tmp_path / f"x.{format}"
        wharf_data.write(table, path, overwrite=True)
        assert pa.table(wharf_data.open(path)).to_pydict() == table.to_pydict()
    assert pq.read_table(tmp_path / "x.parquet").to_pydict() == table.to_pydict()
    first = data.draw(st.integers(0, rows))
    cut = wharf_data.open(tmp_path / "x.parquet").table().to_arrow(columns[:1], rows=(first, None))
    assert cut.to_pydict() == table.slice(first).select(columns[:1]).to_pydict()


def test_threads_read_one_container(golden: Path) -> None:
    table = wharf_data.open(golden / "idv" / "real-adult.idv").table()
    expected = pa.table(table)
    found: list[bool] = []

    def read() -> None:
        for _ in range(5):
            found.append(pa.table(table).equals(expected) and table[7]["age"] == expected["age"][7].as_py())

    threads = [threading.Thread(target=read) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 40


FORK = """
import os, sys, pyarrow as pa, wharf_data
path = sys.argv[1]
table = wharf_data.open(path).table()
before = pa.table(table).num_rows
child = os.fork()
if child == 0:
    ok = pa.table(table).num_rows == before and wharf_data.open(path).table()[3] == table[3]
    wharf_data.convert(path, path + str(os.getpid()) + ".csv")
    wharf_data.convert(path, path + str(os.getpid()) + ".parquet")
    os._exit(0 if ok else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="this system cannot fork")
def test_a_forked_process_reads_and_writes(tmp_path: Path) -> None:
    path = tmp_path / "x.idv"
    wharf_data.write({"x": np.arange(200_000), "y": np.arange(200_000) / 3}, path)
    found = subprocess.run([sys.executable, "-c", FORK, str(path)], capture_output=True, text=True, timeout=120)
    assert (found.stdout.strip(), found.returncode) == ("0", 0), found.stderr


NUL = """
import io, os, signal, sys, threading
import pyarrow as pa
import wharf_data

class File(io.BytesIO):
    armed = False

    def readinto(self, buffer):
        if self.armed:
            raise OSError("bad\\0block")
        return super().readinto(buffer)

    def read(self, n=-1):
        if self.armed:
            raise OSError("bad\\0block")
        return super().read(n)

file = File(open(sys.argv[1], "rb").read())
reader = pa.RecordBatchReader.from_stream(wharf_data.open(file).table().to_batches(batch_rows=10))
reader.read_next_batch()
file.armed = True
try:
    reader.read_all()
except Exception as error:
    assert "bad\ufffdblock" in str(error), error
else:
    sys.exit(3)


def handle(*_):
    raise RuntimeError("in\\0handler")


signal.signal(signal.SIGUSR1, handle)
reader = pa.RecordBatchReader.from_stream(wharf_data.open(sys.argv[1]).table().to_batches(batch_rows=10))
threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGUSR1)).start()
try:
    while True:
        reader.read_next_batch()
        reader = pa.RecordBatchReader.from_stream(wharf_data.open(sys.argv[1]).table().to_batches(batch_rows=10))
except Exception as error:
    assert "handler" in str(error), error
"""


def test_messages_with_nul_do_not_end_the_process(golden: Path) -> None:
    path = golden / "idv" / "real-adult.idv"
    found = subprocess.run([sys.executable, "-c", NUL, str(path)], capture_output=True, text=True, timeout=60)
    assert found.returncode == 0, found.stderr


def test_the_command(golden: Path) -> None:
    command = [sys.executable, "-m", "wharf_data", "info", str(golden / "idv" / "real-adult.idv")]
    found = subprocess.run(command, capture_output=True, text=True)
    assert found.returncode == 0 and "500 rows" in found.stdout, found
    found = subprocess.run([*command[:3], "nonsense"], capture_output=True, text=True)
    assert found.returncode == 2


def test_options_are_those_of_the_formats() -> None:
    options = {option["name"]: option for option in wharf_data.options()}
    assert options["row_group"]["formats"] == ["parquet"]
    assert options["times"]["choices"] == ["exact", "floor", "nanoseconds", "ticks"]
    names = [format["name"] for format in wharf_data.formats()["write"]]
    assert {"idv", "parquet", "datadings", "ds", "zds", "netcdf", "csv", "jsonl"} <= set(names)


def test_the_programs_of_the_readme_run(golden: Path, tmp_path: Path) -> None:
    readme = Path(__file__).parents[1] / "README.md"
    programs = re.findall(r"^```python\n(.*?)^```", readme.read_text(), re.DOTALL | re.MULTILINE)
    assert len(programs) >= 3
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "golden").symlink_to(golden)
    for program in programs:
        done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, program + done.stderr


def test_opening_and_reading_leaks_nothing(golden: Path) -> None:
    path = golden / "idv" / "real-adult.idv"
    page = resource.getpagesize()

    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * page

    def work(times: int) -> None:
        for _ in range(times):
            table = wharf_data.open(path).table()
            table[3]
            for batch in table.to_batches(["age"]):
                pa.record_batch(batch)

    work(200)
    before = resident()
    work(2_000)
    assert resident() - before < 8 << 20


INTERRUPTED = """
import sys, threading, time, _thread, wharf_data
path, work = sys.argv[1], eval("lambda: " + sys.argv[2])
ends = []
def interrupt():
    time.sleep(0.3)
    ends.append(time.monotonic())
    _thread.interrupt_main()
threading.Thread(target=interrupt).start()
try:
    while True:
        work()
except KeyboardInterrupt:
    print(time.monotonic() - ends[0])
"""


CONVERT = 'wharf_data.convert(path, path + ".parquet", overwrite=True)'


def interrupted(path: Path, work: str) -> None:
    command = [sys.executable, "-c", INTERRUPTED, str(path), work]
    found = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert found.returncode == 0, found.stderr
    # 0.2 s on an idle machine, optimized.
    assert float(found.stdout) < 2


TABLE = "wharf_data.open(path).table()"


@pytest.mark.parametrize("work", [CONVERT, *(f"{TABLE}.{what}" for what in ("schema", "to_arrow()", "columns", "column_names", "stats()", "count('n')"))])
def test_ctrl_c_ends_the_inference_of_types(tmp_path: Path, work: str) -> None:
    # All rows of an array are looked at.
    rows = '{"n": 1, "text": "some text", "list": [1.5, 2.5]},' * 20_000
    with open(tmp_path / "x.json", "w") as file:
        file.write("[" + rows * 25 + '{"n": 1}]')
    interrupted(tmp_path / "x.json", work)
    assert [name.name for name in tmp_path.iterdir()] == ["x.json"]


def test_ctrl_c_ends_a_conversion(tmp_path: Path) -> None:
    path = tmp_path / "x.idv"
    wharf_data.write({"x": np.arange(2_000_000), "y": np.arange(2_000_000) / 3}, path)
    interrupted(path, CONVERT)
    left = {name.name for name in tmp_path.iterdir()}
    assert left <= {"x.idv", "x.idv.parquet"}


def test_ctrl_c_ends_the_statistics_of_a_variable(tmp_path: Path) -> None:
    path, count = tmp_path / "x.ds", 500_000_000
    variable = {".dims": ["x"], ".size": [count], ".type": "float64", ".offset": 0, ".len": 8 * count, ".missing": False, ".endian": "l"}
    with open(path, "wb") as file:
        file.write(f"ds-1.0\n{json.dumps({'x': variable, '.': {}})}\n".encode())
        file.truncate(file.tell() + 8 * count)
    interrupted(path, "wharf_data.open(path).stats()")


def test_a_reader_is_called_back_by_other_libraries(tmp_path: Path) -> None:
    data = pa.table({"x": list(range(100_000)), "s": [str(n) for n in range(100_000)]})
    wharf_data.write(data, tmp_path / "x.arrow")
    with (tmp_path / "x.arrow").open("rb") as file:
        table = wharf_data.open(file).table()
        # pyarrow detaches from the interpreter, and calls the reader, which calls the file.
        assert table.to_arrow().equals(data)
        assert pa.table(table).equals(data)


def test_a_range_of_rows_does_not_end_before_its_start(golden: Path, tmp_path: Path) -> None:
    idv, ds = golden / "idv" / "real-adult.idv", golden / "ds" / "from-netcdf.ds"
    table = wharf_data.open(idv).table()
    for call in (
        lambda: wharf_data.convert(idv, tmp_path / "o.parquet", rows=(5, 2)),
        lambda: wharf_data.convert(ds, tmp_path / "o.ds", rows=(2, 1)),
        lambda: wharf_data.diff(idv, idv, rows=(5, 2)),
        lambda: table.stats(rows=(5, 2)),
        lambda: table.to_arrow(rows=(5, 2)),
        lambda: list(table.rows(rows=(5, 2))),
    ):
        with pytest.raises(wharf_data.UsageError, match=r"the range ends at \d, before its start \d"):
            call()
    assert list(table.rows(rows=(5, 5))) == [] and len(table.to_arrow(rows=slice(5, 2))) == 0


def test_an_empty_list_selects_no_column(golden: Path, tmp_path: Path) -> None:
    path = golden / "idv" / "real-adult.idv"
    table = wharf_data.open(path).table()
    assert table.to_arrow([]).num_columns == 0
    for call in (
        lambda: wharf_data.convert(path, tmp_path / "o.parquet", columns=[]),
        lambda: wharf_data.diff(path, path, columns=[]),
        lambda: table.stats([]),
        lambda: table.count([]),
    ):
        with pytest.raises(wharf_data.UsageError, match="names no column"):
            call()


DAY, NOON = datetime.date(2000, 1, 1), datetime.datetime(2000, 1, 1, 12)
ZONED = NOON.replace(tzinfo=datetime.timezone(datetime.timedelta(hours=5)))


@pytest.mark.parametrize(
    ("first", "later", "found"),
    [
        (1, 1.5, "1.5"),
        (1, "x", "'x'"),
        (1, "2", "'2'"),
        ("2", 1, "1"),
        (True, 1, "1"),
        (1, True, "True"),
        (None, 1, "1"),
        (0.5, 2**53 + 1, str(2**53 + 1)),
        (np.float32(1), 1.1, "1.1"),
        (DAY, NOON, r"datetime.datetime\(2000, 1, 1, 12, 0\)"),
        (NOON, DAY, "datetime.date"),
        (NOON, ZONED, "datetime.datetime"),
        (ZONED, NOON, "datetime.datetime"),
        ([1], [1.5], "\\[1.5\\]"),
        ([DAY], [NOON], "\\[datetime"),
        ({"x": 1}, {"x": 1, "y": 2}, "{'x': 1, 'y': 2}"),
    ],
)
def test_later_rows_that_do_not_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: Any, later: Any, found: str) -> None:
    monkeypatch.setattr(wharf_data, "_BATCH_ROWS", 4)
    rows = [{"a": first}] * 6 + [{"a": later}, {"a": None}]
    message = f"column 'a': expected a value of type .*, as in the first rows, found {found}.* \\(row 6\\)"
    with pytest.raises(wharf_data.UsageError, match=message):
        wharf_data.write(rows, tmp_path / "x.parquet")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("first", "later"),
    [
        (1, 2.0),
        (1.5, 2),
        (None, None),
        (ZONED, ZONED.astimezone(datetime.timezone.utc)),
        ([1], []),
        ([1], [None, 2]),
        ({"x": 1, "y": "a"}, {"x": 2, "y": None}),
        ("a", None),
        (DAY, DAY),
        (NOON, NOON),
    ],
)
def test_later_rows_that_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: Any, later: Any) -> None:
    monkeypatch.setattr(wharf_data, "_BATCH_ROWS", 4)
    values = [first] * 6 + [later] * 4
    wharf_data.write(({"a": value} for value in values), tmp_path / "x.arrow")
    assert wharf_data.open(tmp_path / "x.arrow").table().to_arrow()["a"].to_pylist() == values


def test_times_among_dates(tmp_path: Path) -> None:
    for values in ([DAY, NOON], [NOON, ZONED], [ZONED, NOON], [[DAY], [DAY, NOON]]):
        for data in ({"a": values}, [{"a": value} for value in values]):
            with pytest.raises(wharf_data.UsageError, match="column 'a': expected a value of type .*row 1"):
                wharf_data.write(data, tmp_path / "x.parquet")
    wharf_data.write({"a": [DAY, None], "b": [NOON, None], "c": [None, ZONED]}, tmp_path / "x.parquet")


def test_exceptions_of_an_iterable_are_passed_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wharf_data, "_BATCH_ROWS", 4)

    def rows(count: int) -> Any:
        yield from ({"a": number} for number in range(count))
        raise KeyError("mine")

    for count in (2, 9):
        with pytest.raises(KeyError, match="mine"):
            wharf_data.write(rows(count), tmp_path / "x.parquet")
    with pytest.raises(wharf_data.UsageError, match="row 5 has the column 'b', which the first 4 rows do not have"):
        wharf_data.write([{"a": 1}] * 5 + [{"b": 1}], tmp_path / "x.parquet")
    assert not list(tmp_path.iterdir())


def written(data: Any, folder: Path) -> pa.Table:
    wharf_data.write(data, folder / "written.arrow", overwrite=True)
    return wharf_data.open(folder / "written.arrow").table().to_arrow()


def test_times_of_numpy_in_multiples_of_units(tmp_path: Path) -> None:
    for dtype in ("M8[10s]", "m8[10s]", "M8[25ns]", "M8[7D]", ">M8[10s]"):
        array = np.array([0, 5, 7]).astype(dtype)
        plain = array.astype(re.sub(r"\[\d+", "[", dtype.lstrip(">")))
        if dtype != "M8[7D]":
            assert written({"t": np.stack([array, array])}, tmp_path)["t"].combine_chunks().storage.flatten().equals(pa.array([*plain] * 2))
        for values in (array, list(array), pd.Series([None, *array], dtype=object)[1:], [[time] for time in array], [array[:1], array[1:]]):
            found = written({"t": values}, tmp_path)["t"].combine_chunks()
            found = found.flatten() if pa.types.is_list(found.type) else found
            assert found.equals(pa.array(plain)), (dtype, type(values))
        masked = written({"t": np.ma.array(array, mask=[0, 0, 1])}, tmp_path)["t"].combine_chunks()
        assert masked[:2].equals(pa.array(plain[:2])) and masked.null_count == 1
    assert written({"t": np.array([5, "NaT"], "M8[10s]")}, tmp_path)["t"].null_count == 1
    for array in (np.array([2**62], "M8[10s]"), np.array([2**40], "M8[D]")):
        with pytest.raises(wharf_data.UsageError, match="column 't': cannot write an array of dtype .* out of range") as refused:
            wharf_data.write({"t": array}, tmp_path / "x.parquet")
        assert refused.value.column == "t"


def test_texts_of_numpy_with_nul(tmp_path: Path) -> None:
    for values in (["a\0b", "c", ""], [b"a\0b", b"c", b""]):
        for array in (np.array(values), np.array(values).astype(np.array(values).dtype.newbyteorder(">")), pd.Series(values, dtype=object)):
            assert written({"s": array}, tmp_path)["s"].to_pylist() == values
        assert written({"s": np.ma.array(values, mask=[0, 1, 0])}, tmp_path)["s"].to_pylist() == [values[0], None, values[2]]
        pairs = written({"s": np.array([values, values]).T}, tmp_path)["s"].combine_chunks().storage.to_pylist()
        assert pairs == [[value, value] for value in values]
    assert written({"s": np.array([], "U3")}, tmp_path)["s"].to_pylist() == []


@pytest.mark.parametrize("values", [[DAY, NOON], [NOON, DAY], [NOON, ZONED], [ZONED, NOON], [2.5, True], [1, np.True_], [[DAY], [NOON]], [[2.5], [True]]])
def test_mixed_values_in_any_container(tmp_path: Path, values: list[Any]) -> None:
    objects = np.empty(2, object)
    objects[:] = values
    columns: list[Any] = [values, tuple(values), collections.deque(values), (value for value in values), objects, pd.Series(objects)]
    columns += [[values], [objects], [{"x": value} for value in values], [[None], [*objects]], np.array([objects, objects]).T]
    for column in columns:
        with pytest.raises(wharf_data.UsageError, match="column 'a': ") as refused:
            wharf_data.write({"a": column}, tmp_path / "x.parquet")
        assert refused.value.column == "a" and refused.value.row is not None
    numbers = [7] * 20 if isinstance(values[0], (int, float)) else values[:1] * 20
    assert written({"a": [None, numbers, [], values[:1]]}, tmp_path).num_rows == 4
    with pytest.raises(wharf_data.UsageError, match=r"column 'a': .*\(row 3\)"):
        wharf_data.write({"a": [None, numbers, [], values]}, tmp_path / "x.parquet")
    (tmp_path / "written.arrow").unlink()
    for rows in ([{"a": value} for value in values], [{"a": objects}], [{"a": {"b": value}} for value in values]):
        with pytest.raises(wharf_data.UsageError, match=r"(?s)column 'a': .*\(row [01]\)"):
            wharf_data.write(rows, tmp_path / "x.parquet")
    assert not list(tmp_path.iterdir())


def test_nanoseconds_of_pandas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stamp, delta = pd.Timestamp("2020-01-01 00:00:00.000000001"), pd.Timedelta(1500, "ns")
    zoned = stamp.tz_localize("Europe/Berlin")
    for value, plain in ((stamp, NOON), (delta, datetime.timedelta(1)), (zoned, ZONED)):
        for data in ({"t": [value, None, plain]}, [{"t": value}, {}, {"t": plain}], {"t": np.array([value, None, plain], object)}):
            found = written(data, tmp_path)["t"]
            assert found.type.unit == "ns" and found.to_pylist() == [value, None, plain]
        nested = written([{"t": {"x": [value]}}], tmp_path)["t"]
        assert nested.to_pylist() == [{"x": [value]}]
    with pytest.raises(wharf_data.UsageError, match="column 't'.*row 0"):
        written({"t": [stamp, datetime.datetime(1, 1, 1)]}, tmp_path)
    monkeypatch.setattr(wharf_data, "_BATCH_ROWS", 2)
    values = [stamp, None, NOON, stamp, None, None]
    assert written([{"t": value} for value in values], tmp_path)["t"].to_pylist() == values
    for first, later in ((NOON, stamp), (datetime.timedelta(1), delta)):
        with pytest.raises(wharf_data.UsageError, match=r"expected a value of type .*\[us\], as in the first rows, found .*row 3"):
            written([{"t": value} for value in (first, first, first, later)], tmp_path)


def test_times_of_day_have_no_zone(tmp_path: Path) -> None:
    for data in ({"t": [datetime.time(12, tzinfo=ZONED.tzinfo)]}, [{"t": {"x": datetime.time(12, tzinfo=ZONED.tzinfo)}}]):
        with pytest.raises(wharf_data.UsageError, match="column 't': .*datetime.time.*row 0"):
            written(data, tmp_path)
    assert written({"t": [datetime.time(12), None]}, tmp_path)["t"].to_pylist() == [datetime.time(12), None]


def test_missing_values_of_pandas(tmp_path: Path) -> None:
    for missing in (pd.NaT, pd.NA):
        for value in (DAY, NOON, datetime.timedelta(1), 1, 2.5, "a", True):
            for values in ([value, missing], [missing, value]):
                expected = [None if one is missing else one for one in values]
                for column in (values, np.array(values, object), pd.Series(values, dtype=object)):
                    assert written({"a": column}, tmp_path)["a"].to_pylist() == expected
                assert written([{"a": one} for one in values], tmp_path)["a"].to_pylist() == expected
                assert written([{"a": [one]} for one in values], tmp_path)["a"].to_pylist() == [[one] for one in expected]


def test_nan_stays_nan(tmp_path: Path) -> None:
    values = [1.0, float("nan")]
    for column in (values, np.array(values), np.array(values, object), pd.Series(values), pd.Series(values, dtype=object), pd.Index(values), pl.Series(values)):
        found = written({"a": column}, tmp_path)["a"]
        assert found.null_count == 0 and np.isnan(found.to_pylist()[1])
    assert written({"a": pd.Series(np.arange(3, dtype=">i4"))}, tmp_path)["a"].to_pylist() == [0, 1, 2]
    # Values that are not numbers have no NaN.
    for series in (
        pd.Series([1.5, pd.NA], dtype="Float64"),
        pd.Series(["a", None]),
        pd.Series(["a", float("nan")], dtype=object),
        pd.Series([float("nan"), True], dtype=object),
        pd.Series([NOON, pd.NaT]),
        pd.Series([ZONED, pd.NaT]),
        pd.Series(["a", None], dtype="category"),
    ):
        expected = [None if missing else value for value, missing in zip(series, series.isna())]
        for column in (series, series.array):
            assert series.dtype == object or written({"a": column}, tmp_path)["a"].to_pylist() == expected
        assert written({"a": series}, tmp_path)["a"].to_pylist() == expected


def test_series_of_polars_keep_their_types(tmp_path: Path) -> None:
    series = pl.Series([1, None]).cast(pl.Datetime("ns"))
    found = written({"a": series}, tmp_path)["a"]
    assert found.type == pa.timestamp("ns") and found.cast(pa.int64()).to_pylist() == [1, None]
    with pytest.raises(wharf_data.UsageError, match="column 'a': cannot write Series") as refused:
        written({"a": pl.Series([1]).cast(pl.Int128)}, tmp_path)
    assert refused.value.column == "a"


def test_zeros_keep_their_sign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wharf_data, "_BATCH_ROWS", 2)
    for first, later in ((1, -0.0), (1, np.float32(-0.0)), ([1], [-0.0]), ({"x": 1}, {"x": -0.0})):
        with pytest.raises(wharf_data.UsageError, match=r"column 'a': expected a value of type .*, found .*-0.0.*row 2"):
            written([{"a": first}, {"a": first}, {"a": later}, {}], tmp_path)
    assert str(written([{"a": 1}, {"a": -0.0}], tmp_path)["a"].to_pylist()) == "[1.0, -0.0]"
    for later in (True, np.True_, [True]):
        first = [2.5] if isinstance(later, list) else 2.5
        with pytest.raises(wharf_data.UsageError, match=r"column 'a': .*True.*row 3"):
            written([{"a": first}] * 3 + [{"a": later}], tmp_path)


def test_names_with_nul(tmp_path: Path) -> None:
    name = "a\0b"
    struct = pa.table({"s": pa.array([[{name: 1}]])})
    data = [{name: [1]}, [{name: 1}], [{"s": {name: 1}}], struct, struct.to_reader(), struct.to_batches()[0], pd.DataFrame({name: [1]}), pl.DataFrame({name: [1]})]
    for one in data:
        with pytest.raises(wharf_data.UsageError, match=r"column '.*': expected a name without NUL, found 'a\\x00b'") as refused:
            wharf_data.write(one, tmp_path / "x.jsonl")
        assert refused.value.column in (name, "s")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"a": [1, 2**70]}, r"column 'a': cannot write 1180591620717411303424: .* \(row 1\)"),
        ([{"a": 1}, {"a": 2**70}], r"column 'a': cannot write 1180591620717411303424: .* \(row 1\)"),
        ({"a": [decimal.Decimal("Infinity")]}, r"column 'a': cannot write Decimal\('Infinity'\): .* \(row 0\)"),
        ({"a": [1, "x", 2]}, r"column 'a': cannot write 'x': .* \(row 1\)"),
        ({"a": [np.datetime64(1, "s"), np.datetime64(1, "ns")]}, r"column 'a': .* \(row 1\)"),
        ({"a": [np.ma.masked, 1.0]}, "column 'a': cannot write"),
        ({"a": [{1: 2}]}, "column 'a': cannot write"),
        ({"a": "text"}, "column 'a': expected a sequence or an array, found 'text'"),
        ({"a": b"text"}, "column 'a': expected a sequence or an array, found b'text'"),
        ({"a": {"b": 1}}, "column 'a': expected a sequence or an array, found {'b': 1}"),
        ({"a": 5}, "column 'a': expected a sequence or an array, found 5"),
        ({"b": [1, 2], "a": [1]}, "column 'a': expected 2 values, as in column 'b', found 1"),
        ({1: [1]}, "expected a column name of type str, found 1"),
        ([{1: 1}], "expected a column name of type str, found 1"),
        ([None], r"expected a dict for each row, found None \(row 0\)"),
        (["ab"], r"expected a dict for each row, found 'ab' \(row 0\)"),
        ([{"a": 1}, []], r"expected a dict for each row, found \[\] \(row 1\)"),
        ([{"a": 1}] * 5 + ["ab"], r"expected a dict for each row, found 'ab' \(row 5\)"),
        ([{}], "the rows have no columns"),
        ([{"a": NOON}] * 5 + [{"a": 2**70}], r"column 'a': expected a value of type timestamp\[us\].*row 5"),
    ],
)
def test_data_that_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: Any, message: str) -> None:
    monkeypatch.setattr(wharf_data, "_BATCH_ROWS", 4)
    with pytest.raises(wharf_data.UsageError, match=message) as refused:
        wharf_data.write(data, tmp_path / "x.parquet")
    assert refused.value.column == ("a" if "column 'a'" in message else None)
    assert not list(tmp_path.iterdir())


def test_later_times_of_numpy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wharf_data, "_BATCH_ROWS", 2)
    found = written([{"t": value} for value in (DAY, DAY, np.datetime64("2000-01-02"), pd.NaT)], tmp_path)
    assert found["t"].to_pylist() == [DAY, DAY, datetime.date(2000, 1, 2), None]
    found = written([{"t": value} for value in (NOON, NOON, np.datetime64("2000-01-02T12", "s"), None, np.datetime64(3, "10s"))], tmp_path)
    assert found["t"].to_pylist()[2:] == [datetime.datetime(2000, 1, 2, 12), None, datetime.datetime(1970, 1, 1, 0, 0, 30)]
    for first, later in ((ZONED, np.datetime64("2000-01-02T12", "s")), (NOON, np.datetime64(1, "ns")), ([ZONED], np.array([1], "M8[s]"))):
        with pytest.raises(wharf_data.UsageError, match="column 't': .*row 2"):
            written([{"t": value} for value in (first, first, later, None)], tmp_path)
    with pytest.raises(wharf_data.UsageError, match="column 't': .*rows? 2") as refused:
        written([{"t": value} for value in (NOON, NOON, np.datetime64(1, "s"), np.datetime64(1, "ms"))], tmp_path)
    assert refused.value.column == "t"


class Stop(BaseException):
    pass


@pytest.mark.parametrize("kind", [Stop, SystemExit, KeyboardInterrupt, GeneratorExit, ValueError])
def test_all_exceptions_of_an_iterable_are_passed_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: type[BaseException]) -> None:
    monkeypatch.setattr(wharf_data, "_BATCH_ROWS", 4)

    class Numbers:
        def __init__(self, count: int) -> None:
            self.count = count

        def __iter__(self) -> Any:
            return self

        def __next__(self) -> dict[str, int]:
            self.count -= 1
            if self.count < 0:
                raise kind("mine") from KeyError("cause")
            return {"a": self.count}

    for count in (2, 9):
        with pytest.raises(kind, match="mine") as raised:
            wharf_data.write(Numbers(count), tmp_path / "x.parquet")
        assert isinstance(raised.value.__cause__, KeyError)
    assert not list(tmp_path.iterdir())


def test_a_consumer_that_stops_reports_its_own_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wharf_data, "_BATCH_ROWS", 4)
    with pytest.raises(wharf_data.InvalidError, match="lacks the id field"):
        wharf_data.write(({"a": 1, "k": "same"} for _ in range(100)), tmp_path / "x.zds", id="missing")


def test_one_text_is_no_list_of_columns(golden: Path, tmp_path: Path) -> None:
    path, out = tmp_path / "a.csv", tmp_path / "a.parquet"
    path.write_text("ab,a,b\n1,2,3\n")
    for call in (
        lambda: wharf_data.convert(path, out, columns="ab"),
        lambda: wharf_data.convert(path, out, columns=b"ab"),  # type: ignore[arg-type]
        lambda: wharf_data.convert(path, out, columns=[1]),  # type: ignore[list-item]
        lambda: wharf_data.diff(path, path, columns="ab"),
    ):
        with pytest.raises(wharf_data.UsageError, match="columns must be a list of names, found"):
            call()
    with pytest.raises(wharf_data.UsageError, match="tidy must be a list of names, found 'ab'"):
        wharf_data.convert(path, out, tidy="ab")
    table = wharf_data.open(path).table()
    for inputs, found in ((table, "Table"), ([table], "Table"), (b"a.csv", "bytes"), (5, "int"), (list(table), "dict")):
        with pytest.raises(wharf_data.UsageError, match=f"expected a path, a Container, or a list of these, found {found}"):
            wharf_data.convert(inputs, out)  # type: ignore[arg-type]
    assert not out.exists()
    wharf_data.convert((one for one in [path]), out, columns=(name for name in ("a", "b")))  # type: ignore[arg-type]
    assert wharf_data.open(out).table().column_names == ["a", "b"]


def test_options_of_any_iterable(tmp_path: Path) -> None:
    path, out = tmp_path / "a.csv", tmp_path / "a.parquet"
    path.write_text("ab,x,y\n1,2,3\n")
    for names in ({"ab"}, (name for name in ["ab"]), np.array(["ab"]), pd.Series(["ab"]), {"ab": 1}.keys(), ("ab",)):
        wharf_data.convert(path, out, overwrite=True, drop=names)
        assert wharf_data.open(out).table().column_names == ["x", "y"]
    wharf_data.convert(path, out, overwrite=True, concat={"F": (name for name in ("x", "y"))}, row_group=np.int64(5), union=np.bool_(False))
    assert wharf_data.open(out).table().column_names == ["ab", "F"]
    for name, value in (("delimiter", b";"), ("drop", [b"ab"]), ("drop", DAY), ("rename", {"ab": 1}), ("rename", {1: "ab"}), ("concat", {"F": [1]})):
        with pytest.raises(wharf_data.UsageError, match=f"{name} must be a .*, found "):
            wharf_data.convert(path, out, overwrite=True, **{name: value})
        with pytest.raises(wharf_data.UsageError, match=f"{name} must be a .*, found "):
            wharf_data.write({"ab": [1]}, out, overwrite=True, **{name: value})


def test_maps_and_text_files(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    wharf_data.write({"a": [1], "b": [2]}, path)
    with path.open("rb") as file, contextlib.closing(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)) as mapped:
        container = wharf_data.open(mapped)
        assert "mmap" in repr(container) and container.table().to_arrow().to_pydict() == {"a": [1], "b": [2]}
        del container
    with path.open() as text, tempfile.NamedTemporaryFile("w+") as temporary:
        for source in (text, temporary, io.StringIO("a\n1\n")):
            with pytest.raises(TypeError, match="found a text file: open it with mode 'rb'"):
                wharf_data.open(source)


def test_a_missing_file_has_the_attributes_of_the_system(tmp_path: Path) -> None:
    path = str(tmp_path / "missing.csv")
    with pytest.raises(FileNotFoundError) as missing:
        wharf_data.open(path)
    for error in (missing.value, pickle.loads(pickle.dumps(missing.value))):
        assert (error.errno, error.strerror, error.filename) == (2, os.strerror(2), path)
        assert str(error) == str(missing.value) and str(error).startswith(f"{path}: cannot open")
    with pytest.raises(wharf_data.NotFoundError) as unmatched:
        _parts.expand(path)
    assert (unmatched.value.errno, unmatched.value.filename) == (2, path)


@pytest.mark.parametrize("extension", ["csv", "jsonl", "idv", "arrow", "parquet", "ds"])
def test_columns_of_one_name(tmp_path: Path, extension: str) -> None:
    path = tmp_path / f"x.{extension}"
    wharf_data.write(pa.table([pa.array([1, 2]), pa.array([3, 4])], names=["a", "a"]), path)
    assert wharf_data.open(path).table().to_arrow().to_pydict() == {"a": [1, 2], "a#2": [3, 4]}


@pytest.mark.parametrize("extension", ["csv", "jsonl", "idv", "arrow", "parquet", "ds", "zds", "msgpack"])
def test_tensors_in_another_order_of_memory(tmp_path: Path, extension: str) -> None:
    array = np.arange(12).reshape(2, 2, 3)
    permuted = array.transpose(0, 2, 1).copy().transpose(0, 2, 1)
    paths = [tmp_path / f"{number}.{extension}" for number in range(3)]
    tables = [{"a": array}, {"a": permuted}]
    tables.append(pa.table({"a": pa.FixedShapeTensorArray.from_numpy_ndarray(permuted)}))
    assert tables[2]["a"].type.permutation == [1, 0]
    options = {"number": True} if extension == "msgpack" else {}
    for table, path in zip(tables, paths):
        wharf_data.write(table, path, **options)
        assert list(wharf_data.open(path).table().rows()) == list(wharf_data.open(paths[0]).table().rows())
        assert extension == "csv" or wharf_data.diff(path, paths[0])["same"]


@pytest.mark.parametrize("extension", ["parquet", "arrow", "ds", "jsonl"])
def test_masked_elements_are_null(tmp_path: Path, extension: str) -> None:
    mask = np.arange(12).reshape(3, 2, 2) % 5 == 1
    for dtype in ("i4", ">i2", ">f8", "?"):
        values = np.ma.array(np.arange(12).reshape(3, 2, 2).astype(dtype), mask=mask)
        for array in (values, values[:, 0], values[0, 0], values.transpose(0, 2, 1), np.ma.array(values, mask=False)):
            wharf_data.write({"x": array}, tmp_path / f"x.{extension}", overwrite=True)
            assert [row["x"] for row in wharf_data.open(tmp_path / f"x.{extension}").table().rows()] == array.tolist()
    wharf_data.write({"s": np.ma.array(["a", "b"], mask=[1, 0])}, tmp_path / f"x.{extension}", overwrite=True)
    assert [row["s"] for row in wharf_data.open(tmp_path / f"x.{extension}").table().rows()] == [None, "b"]


def test_masked_arrays_in_rows_are_refused(tmp_path: Path) -> None:
    masked, plain = np.ma.array([1, 2], mask=[0, 1]), np.ma.array([1, 2])
    for value in (masked, [masked], {"b": masked}, {"b": [masked]}, np.array([masked, None], object)):
        good = json.loads(json.dumps(value, default=lambda array: [[1]] if array.dtype == object else [1]))
        for rows in ([{"a": good}, {"a": value}], ({"a": good if n < 65_537 else value} for n in range(65_538))):
            with pytest.raises(wharf_data.UsageError, match=r"column 'a': expected .*, found .*masked_array.*\(row (1|65537)\)|column 'a': .*masked"):
                wharf_data.write(rows, tmp_path / "x.parquet")
        with pytest.raises(wharf_data.UsageError, match=r"column 'a': expected an array without missing elements, .* \(row 0\)"):
            wharf_data.write({"a": [value]}, tmp_path / "x.parquet")
    assert not (tmp_path / "x.parquet").exists()
    wharf_data.write([{"a": plain}, {"a": [3]}], tmp_path / "x.parquet")
    assert [row["a"] for row in wharf_data.open(tmp_path / "x.parquet").table().rows()] == [[1, 2], [3]]


def test_arrays_of_any_byte_order(tmp_path: Path) -> None:
    for dtype in ("i2", "u4", "i8", "f4", "f8", "M8[s]", "m8[ms]", "U2"):
        for array in (np.arange(6).astype(dtype), np.arange(6).astype(dtype).reshape(3, 2)):
            swapped = array.astype(array.dtype.newbyteorder(">"))
            for name, values in (("x", array), ("y", swapped), ("z", list(swapped)), ("a", list(array))):
                wharf_data.write({"v": values}, tmp_path / f"{name}.arrow", overwrite=True)
            for one, other in ("xy", "za"):
                first, second = (wharf_data.open(tmp_path / f"{name}.arrow").table().to_arrow() for name in (one, other))
                assert first.schema.types == second.schema.types and first.to_pylist() == second.to_pylist()
    rows = [{"a": {"b": [np.array([1, 2], ">i4")]}}] * 70_000
    assert wharf_data.write(rows, tmp_path / "rows.parquet")["rows"] == 70_000
    assert pq.read_table(tmp_path / "rows.parquet")["a"][69_999].as_py() == {"b": [[1, 2]]}
    for array in (np.zeros(2, "c8"), np.zeros(2, "g"), np.zeros(2, "m8[D]"), np.zeros(2, [("f", "i4")]), np.zeros((2, 2), "c8"), np.zeros((2, 0)), np.array(5)):
        with pytest.raises(wharf_data.UsageError, match=r"column 'v': cannot write an array of dtype .* and shape \("):
            wharf_data.write({"v": array}, tmp_path / "bad.arrow")
    assert not (tmp_path / "bad.arrow").exists()


@pytest.mark.parametrize("extension", ["parquet", "arrow"])
def test_files_of_tensors_in_another_order_of_memory(tmp_path: Path, extension: str) -> None:
    array = np.arange(24, dtype="i2").reshape(4, 2, 3)
    permuted = array.transpose(0, 2, 1).copy().transpose(0, 2, 1)
    tensors = [pa.FixedShapeTensorArray.from_numpy_ndarray(values) for values in (array, permuted)]
    values = pa.array(tensors[1].storage.values.to_pylist()[:23] + [None], pa.int16())
    lists = pa.FixedSizeListArray.from_arrays(values, 6, mask=pa.array([False, True, False, False]))
    tensors.append(pa.ExtensionArray.from_storage(tensors[1].type, lists))
    paths = [tmp_path / f"{number}.{extension}" for number in range(3)]
    for path, column in zip(paths, tensors):
        if extension == "parquet":
            pq.write_table(pa.table({"a": column, "n": range(4)}), path)
        else:
            with pa.ipc.new_file(path, pa.table({"a": column, "n": range(4)}).schema) as file:
                file.write_table(pa.table({"a": column, "n": range(4)}))
    one, other, missing = (wharf_data.open(path).table() for path in paths)
    assert other.to_arrow().schema.field("a").type == one.to_arrow().schema.field("a").type == tensors[0].type
    assert other.to_arrow(["n", "a"], rows=(1, 3))["a"].combine_chunks().to_numpy_ndarray().tolist() == array[1:3].tolist()
    assert [row["a"] for row in missing.rows()] == [array[0].tolist(), None, array[2].tolist(), [[18, 19, 20], [21, 22, None]]]
    assert wharf_data.diff(one, other)["same"]
    assert other.with_changes(expand=["a"]).to_arrow().to_pydict() == one.with_changes(expand=["a"]).to_arrow().to_pydict()
    wharf_data.convert(paths[:2], tmp_path / "both.jsonl")
    assert [row["a"] for row in wharf_data.open(tmp_path / "both.jsonl").table().rows()] == 2 * array.tolist()
    wharf_data.convert(paths[1], tmp_path / "x.ds")
    assert wharf_data.ds.read(tmp_path / "x.ds")["a"].tolist() == array.tolist()


# What the data sources for Spark, Ray and torch share, without them.


def test_times_become_microseconds() -> None:
    def nested(type_: Any, value: Any) -> pa.Array:
        return pa.array([{"a": [value], "b": value}, None], pa.struct([("a", pa.list_(type_)), ("b", type_)]))

    cases = [(pa.time64("ns"), 1500, 1), (pa.time64("us"), 7, 7), (pa.time32("ms"), 1, 1000), (pa.time32("s"), 1, 1_000_000)]
    for type_, value, expected in cases:
        found = _parts.plain(pa.array([value, None], type_), pa.int64())
        assert found.type == pa.int64() and found.to_pylist() == [expected, None]
        found = _parts.plain(nested(type_, value), nested(pa.int64(), 0).type)
        assert found.to_pylist() == [{"a": [expected], "b": expected}, None]
    for unit, value, expected in [("s", 2, 2_000_000), ("ms", 2, 2000), ("us", 2, 2), ("ns", 2999, 2)]:
        for made in (pa.timestamp, pa.duration):
            found = _parts.plain(nested(made(unit), value), nested(made("us"), 0).type)
            assert found.cast(nested(pa.int64(), 0).type).to_pylist() == [{"a": [expected], "b": expected}, None]
    for made in (pa.timestamp, pa.duration):
        with pytest.raises(pa.ArrowInvalid, match="out of bounds"):
            _parts.plain(pa.array([10**14], made("s")), made("us"))


def test_rows_by_index(tmp_path: Path) -> None:
    wharf_data.write({"n": np.arange(10), "s": [str(n) for n in range(10)]}, tmp_path / "x.parquet")
    table = wharf_data.open(tmp_path / "x.parquet").table()
    for indices in ([-1], [0, -10, 9], [3, 4, -3, 3], []):
        found = _parts.table_columns(table, indices, None)
        assert found["n"].tolist() == np.arange(10)[np.array(indices, int)].tolist() and found["n"].dtype == np.int64
        assert list(found["s"]) == [str(n) for n in found["n"]]
    for index in (10, -11):
        with pytest.raises(IndexError, match=f"row {index} is out of range: the table has 10 rows"):
            _parts.table_columns(table, [0, index], ["n"])


def test_a_folder_is_overwritten_with_its_subfolders(tmp_path: Path) -> None:
    outside, path = tmp_path / "outside", tmp_path / "out"
    for folder in (outside, path / "a=1" / "b=2", path / "old.zds" / "collections"):
        folder.mkdir(parents=True)
        (folder / "file").write_bytes(b"x")
    (path / "link").symlink_to(outside)
    batch = pa.record_batch({"a": [1, 2]})
    folder = _parts.Folder(str(path), "zds", {})
    written = [folder.write(0, [batch]), folder.write(1, [batch])]
    folder.write(1, [batch])  # an attempt that is repeated
    folder.commit(written, overwrite=True)
    assert sorted(os.listdir(path)) == sorted(["_SUCCESS", *(one.name for one in written if one)])
    assert os.listdir(outside) == ["file"]


def test_folders_that_stand_for_their_files(tmp_path: Path) -> None:
    (tmp_path / "_SUCCESS").touch()
    with pytest.raises(wharf_data.NotFoundError, match="no files"):
        _parts.expand(str(tmp_path))
    (tmp_path / "part-0.csv").write_text("a\n1\n")
    assert _parts.expand(f"file:{tmp_path}") == [str(tmp_path / "part-0.csv")]
    with pytest.raises(wharf_data.UsageError, match="s3"):
        _parts.expand("s3://bucket/part-0.csv")
