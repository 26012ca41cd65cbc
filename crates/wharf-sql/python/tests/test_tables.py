"""Files as tables of `datafusion`, against the tables that pyarrow reads."""

import os
import pathlib

import datafusion
import pyarrow
import pyarrow.compute
import pyarrow.csv
import pyarrow.parquet
import pytest
import wharf_data_sql

GOLDEN = pathlib.Path(os.environ["WHARF_GOLDEN"])
IRIS = GOLDEN / "cross"
FORMATS = ["idv", "parquet", "csv", "jsonl", "zds", "msgpack"]


@pytest.fixture
def context():
    return datafusion.SessionContext()


def rows(frame):
    return frame.to_arrow_table().to_pylist()


def iris(extension):
    return IRIS / f"iris.{extension}"


@pytest.mark.parametrize("extension", FORMATS)
def test_formats_answer_alike(context, extension):
    context.register_table("iris", wharf_data_sql.Table(iris(extension)))
    expected = pyarrow.parquet.read_table(iris("parquet"))
    names = [name for name in expected.column_names if pyarrow.types.is_floating(expected.schema.field(name).type)]
    query = ", ".join(f'sum("{name}") AS "{name}"' for name in names)
    (found,) = rows(context.sql(f"SELECT count(*) AS n, {query} FROM iris"))
    assert found.pop("n") == expected.num_rows
    for name in names:
        assert found[name] == pytest.approx(pyarrow.compute.sum(expected[name]).as_py(), rel=1e-5)


def test_conditions_are_pushed_down(context, tmp_path):
    path = tmp_path / "numbers.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"n": range(100_000)}), path, row_group_size=10_000)
    context.register_table("numbers", wharf_data_sql.Table(path))
    frame = context.sql("SELECT n FROM numbers WHERE n >= 54321 AND n < 54324 ORDER BY n")
    assert rows(frame) == [{"n": 54321}, {"n": 54322}, {"n": 54323}]
    # No filter of DataFusion is left above the scan.
    assert "FilterExec" not in frame.execution_plan().display_indent()
    # An expression that readers do not evaluate is left to DataFusion.
    frame = context.sql("SELECT n FROM numbers WHERE sqrt(n) = 300")
    assert rows(frame) == [{"n": 90_000}]


def test_rows_and_limit(context, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x;y\n1;a\n2;b\n3;\n")
    table = wharf_data_sql.Table([path], delimiter=";")
    assert table.columns == ["x", "y"]
    context.register_table("a", table)
    assert rows(context.sql("SELECT y, x FROM a LIMIT 2")) == [{"y": "a", "x": 1}, {"y": "b", "x": 2}]


def test_join_with_a_table_of_the_session(context, tmp_path):
    (tmp_path / "a.jsonl").write_text('{"k": 1, "v": "one"}\n{"k": 2, "v": "two"}\n')
    context.register_table("a", wharf_data_sql.Table(tmp_path / "a.jsonl"))
    context.register_record_batches("b", [[pyarrow.record_batch({"k": [2, 3], "w": [20, 30]})]])
    assert rows(context.sql("SELECT v, w FROM a JOIN b USING (k)")) == [{"v": "two", "w": 20}]


def test_several_files_and_patterns(context, tmp_path):
    for day in range(3):
        (tmp_path / f"{day}.csv").write_text(f"day\n{day}\n")
    context.register_table("days", wharf_data_sql.Table(tmp_path / "*.csv"))
    assert rows(context.sql("SELECT count(*) AS n, sum(day) AS total FROM days")) == [{"n": 3, "total": 3}]


def test_a_schema_takes_tables(context, tmp_path):
    (tmp_path / "a.csv").write_text("x\n1\n")
    context.catalog().schema().register_table("a", wharf_data_sql.Table(tmp_path / "a.csv"))
    assert rows(context.sql("SELECT x FROM a")) == [{"x": 1}]


def test_a_table_function(context, tmp_path):
    (tmp_path / "a.csv").write_text("x\n7\n")
    context.register_udtf(datafusion.udtf(lambda path: wharf_data_sql.Table(path.python_value().as_py()), "wharf"))
    assert rows(context.sql(f"SELECT x FROM wharf('{tmp_path}/a.csv')")) == [{"x": 7}]


def test_errors_name_the_place(context, tmp_path):
    with pytest.raises(FileNotFoundError, match="missing.idv"):
        wharf_data_sql.Table(tmp_path / "missing.idv")
    (tmp_path / "a.csv").write_text("x\n1\n")
    with pytest.raises(ValueError, match="colour"):
        wharf_data_sql.Table(tmp_path / "a.csv", colour="red")
    with pytest.raises(TypeError, match="list"):
        wharf_data_sql.Table(tmp_path / "a.csv", delimiter=[";"])
    damaged = bytearray((GOLDEN / "idv/real-adult.idv").read_bytes())
    middle = len(damaged) // 2
    damaged[middle : middle + 64] = bytes(64)
    (tmp_path / "damaged.idv").write_bytes(damaged)
    context.register_table("damaged", wharf_data_sql.Table(tmp_path / "damaged.idv"))
    with pytest.raises(Exception, match=r"damaged\.idv.*column"):
        rows(context.sql("SELECT * FROM damaged"))


def test_a_stream_that_is_dropped_ends(context, tmp_path):
    path = tmp_path / "many.csv"
    path.write_text("x\n" + "1\n" * 2_000_000)
    context.register_table("many", wharf_data_sql.Table(path))
    for _ in range(20):
        next(iter(context.sql("SELECT x FROM many").execute_stream()))
