"""``wharf_data.spark`` live on PySpark in local mode, and on Sail."""

from __future__ import annotations

import json
import os
import pathlib
import pickle
import shutil
import sys
from datetime import date, datetime
from decimal import Decimal

import pytest

pa = pytest.importorskip("pyarrow")
np = pytest.importorskip("numpy")
pytest.importorskip("pyspark", minversion="4.0")

import wharf_data  # noqa: E402
from wharf_data import _parts  # noqa: E402
from wharf_data.spark import WharfDataSource, _arrow_schema, _condition, _expression, _Reader, _spark_type  # noqa: E402

GOLDEN = pathlib.Path(__file__).parents[3] / "tests" / "golden"
ADULT = str(GOLDEN / "idv" / "real-adult.idv")
PACKAGE = str(pathlib.Path(wharf_data.__file__).parents[1])


@pytest.fixture(scope="module")
def pyspark_session():
    if shutil.which("java") is None:
        pytest.skip("there is no Java")
    os.environ["PYTHONPATH"] = os.pathsep.join([PACKAGE, os.environ.get("PYTHONPATH", "")])
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ.pop("SPARK_REMOTE", None)
    from pyspark.sql import SparkSession

    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.python.filterPushdown.enabled", "true")
        .getOrCreate()
    )
    session.dataSource.register(WharfDataSource)
    yield session
    session.stop()


@pytest.fixture(scope="module")
def sail_session():
    server_module = pytest.importorskip("pysail.spark", reason="pysail is not installed")
    for module in ("grpc", "grpc_status", "pandas"):
        pytest.importorskip(module, reason=f"Spark Connect needs {module}")
    os.environ["PYTHONPATH"] = os.pathsep.join([PACKAGE, os.environ.get("PYTHONPATH", "")])
    try:
        server = server_module.SparkConnectServer("127.0.0.1", 0)
        server.start()
    except Exception as error:
        pytest.skip(f"Sail does not start: {error}")
    try:
        from pyspark.sql.connect.session import SparkSession

        session = SparkSession.builder.remote(f"sc://127.0.0.1:{server.listening_address[1]}").getOrCreate()
        session.conf.set("spark.sql.session.timeZone", "UTC")
        try:
            session.dataSource.register(WharfDataSource)
        except Exception as error:
            pytest.skip(f"Sail does not take Python data sources of this PySpark: {error}")
        yield session
        session.stop()
    finally:
        server.stop()


@pytest.fixture(params=["pyspark", "sail"])
def spark(request):
    return request.getfixturevalue(f"{request.param}_session")


def rows(frame):
    return [row.asDict(recursive=True) for row in frame.collect()]


def days(folder):
    folder.mkdir(exist_ok=True)
    for day in range(3):
        numbers = np.arange(day * 100, day * 100 + 100)
        table = pa.table({"n": numbers, "x": numbers * 0.5, "name": [f"row {n}" if n % 10 else None for n in numbers]})
        wharf_data.write(table, folder / f"{day}.parquet", overwrite=True)
    return str(folder / "*.parquet")


def test_reads(spark):
    frame = spark.read.format("wharf").load(ADULT)
    table = wharf_data.open(ADULT).table().to_arrow()
    assert frame.columns == table.column_names and frame.count() == 500
    found = sorted(rows(frame.select("age", "sex-key", "Features")), key=repr)
    expected = sorted(table.select(["age", "sex-key", "Features"]).to_pylist(), key=repr)
    assert found == expected


def test_partitions_columns_and_filters(spark, tmp_path):
    pattern = days(tmp_path)
    frame = spark.read.format("wharf").option("rowsPerPartition", 40).load(pattern)
    assert frame.count() == 300
    assert sorted(row["n"] for row in rows(frame)) == list(range(300))
    if "connect" not in type(spark).__module__:
        assert frame.rdd.getNumPartitions() == 9
    assert rows(frame.groupBy().sum("x")) == [{"sum(x)": sum(range(300)) * 0.5}]
    assert [row["n"] for row in rows(frame.where("n > 250 and name is not null and x < 128").orderBy("n"))] == [251, 252, 253, 254, 255]
    assert frame.where("name is null").count() == 30
    listed = spark.read.format("wharf").load([str(tmp_path / "0.parquet"), str(tmp_path / "2.parquet")])
    if "connect" in type(spark).__module__:
        # Sail 0.7 does not hand the list on.
        with pytest.raises(Exception, match="Sail passes no lists of paths"):
            rows(listed)
    else:
        assert sorted(row["n"] for row in rows(listed)) == [*range(100), *range(200, 300)]
    few = spark.read.format("wharf").schema("x double, n bigint").load(pattern)
    assert few.columns == ["x", "n"] and few.where("n in (3, 299)").orderBy("n").collect()[1][0] == 149.5


FILTERS = [
    ("n > 250 and x < 128", range(251, 256)),
    ("name is null and n >= 280", [280, 290]),
    ("name like 'row 29%' and n not in (291, 292)", [29, *range(293, 300)]),
    ("n <=> 5 or x = 3.0", [5, 6]),
    ("name not in ('row 281', 'row 282') and n > 279 and n < 286", [283, 284, 285]),
]


def test_filters(spark, tmp_path):
    frame = spark.read.format("wharf").load(days(tmp_path))
    for where, expected in FILTERS:
        assert sorted(row["n"] for row in frame.where(where).collect()) == list(expected), where
    assert frame.count() == 300  # Spark 4.1.4 would keep filters that were pushed
    from pyspark.sql import datasource

    if hasattr(datasource, "Filter") and "connect" not in type(spark).__module__:
        for where, expected in FILTERS:
            once = spark.read.format("wharf").option("pushFilters", "true").load(days(tmp_path)).where(where)
            assert sorted(row["n"] for row in once.collect()) == list(expected), where
        assert "Filter" not in spark.read.format("wharf").option("pushFilters", "true").load(days(tmp_path)).where("n > 250")._jdf.queryExecution().optimizedPlan().toString()


def types():
    return pa.table(
        {
            "u8": pa.array([255, None], pa.uint8()),
            "u64": pa.array([2**64 - 1, 0], pa.uint64()),
            "f": pa.array([1.5, None], pa.float32()),
            "b": pa.array([True, None]),
            "day": pa.array([date(2000, 1, 31), None]),
            "at": pa.array([datetime(2000, 1, 31, 12), None], pa.timestamp("ns")),
            "utc": pa.array([datetime(2000, 1, 31, 12), None], pa.timestamp("ms", "UTC")),
            "seconds": pa.array([5, None], pa.time32("s")),
            "nanoseconds": pa.array([5_001, None], pa.time64("ns")),
            "key": pa.array(["x", None]).dictionary_encode(),
            "bytes": pa.array([b"\x00", None], pa.large_binary()),
            "vector": pa.array([[1.0, 2.0], None], pa.list_(pa.float32(), 2)),
            "tensor": pa.FixedShapeTensorArray.from_numpy_ndarray(np.arange(8).reshape(2, 2, 2)),
            "record": pa.array([{"a": 1, "b": "x"}, None], pa.struct([("a", pa.uint16()), ("b", pa.string())])),
        }
    )


def test_types(spark, tmp_path):
    path = tmp_path / "types.arrow"
    wharf_data.write(types(), path)
    first, second = rows(spark.read.format("wharf").load(str(path)))
    utc = first.pop("utc")
    assert utc.hour == 12 or utc.tzinfo is not None or os.environ.get("TZ") not in (None, "UTC")
    assert first == {
        "u8": 255,
        "u64": Decimal(2**64 - 1),
        "f": 1.5,
        "b": True,
        "day": date(2000, 1, 31),
        "at": datetime(2000, 1, 31, 12),
        "seconds": 5_000_000,
        "nanoseconds": 5,
        "key": "x",
        "bytes": b"\x00",
        "vector": [1.0, 2.0],
        "tensor": [[0, 1], [2, 3]],
        "record": {"a": 1, "b": "x"},
    }
    second.pop("u64"), second.pop("tensor")
    assert set(second.values()) == {None}


@pytest.mark.parametrize("to", ["idv", "parquet"])
def test_writes(spark, tmp_path, to):
    frame = spark.read.format("wharf").option("rowsPerPartition", 50).load(days(tmp_path)).select("n", "x")
    folder = tmp_path / "new" / "out"
    folder.parent.mkdir()
    frame.write.format("wharf").option("to", to).mode("append").save(str(folder))
    files = sorted(path.name for path in folder.iterdir())
    assert files.pop(0) == "_SUCCESS" and all(name.startswith("part-") and name.endswith(to) for name in files)
    assert len(files) == 6 or "connect" in type(spark).__module__
    back = spark.read.format("wharf").load(str(folder))
    assert sorted(map(tuple, back.select("n", "x").collect())) == [(n, n * 0.5) for n in range(300)]
    frame.limit(10).write.format("wharf").option("to", to).mode("append").save(str(folder))
    assert spark.read.format("wharf").load(str(folder)).count() == 310
    frame.limit(7).write.format("wharf").option("to", to).mode("overwrite").save(str(folder))
    assert spark.read.format("wharf").load(str(folder)).count() == 7
    assert not [path for path in [*folder.iterdir(), *folder.parent.iterdir()] if path.name.startswith(".")]


def test_a_failed_job_leaves_nothing(spark, tmp_path):
    folder = tmp_path / "out"
    frame = spark.range(100).selectExpr("if(id = 77, raise_error('broken'), id) as id")
    with pytest.raises(Exception, match="broken"):
        frame.write.format("wharf").mode("append").save(str(folder))
    assert list(tmp_path.iterdir()) == []


def test_errors(spark, tmp_path):
    with pytest.raises(Exception, match="no such file"):
        spark.read.format("wharf").load(str(tmp_path / "none.idv")).count()
    with pytest.raises(Exception, match="unknown option"):
        spark.read.format("wharf").option("rowsPerSomething", 1).load(ADULT).count()


# Without a cluster.


class Filter:
    def __init__(self, attribute=None, value=None, child=None):
        self.attribute, self.value, self.child = attribute, value, child


KINDS = ["EqualTo", "EqualNullSafe", "GreaterThan", "GreaterThanOrEqual", "LessThan", "LessThanOrEqual", "In", "IsNull", "IsNotNull", "StringStartsWith", "StringEndsWith", "StringContains", "Not", "And"]
F = {name: type(name, (Filter,), {}) for name in KINDS}


def reader(path, **options):
    from pyspark.sql.types import DoubleType, LongType, StringType, StructField, StructType

    schema = StructType([StructField("n", LongType()), StructField("x", DoubleType()), StructField("name", StringType())])
    return _Reader(_parts.expand(path), schema, options)


def test_push_filters(tmp_path):
    taken = [
        (F["GreaterThan"](("n",), 10), lambda n: n > 10),
        (F["LessThanOrEqual"](("x",), 145.0), lambda n: n * 0.5 <= 145),
        (F["IsNotNull"](("name",)), lambda n: n % 10),
        (F["Not"](child=F["In"](("n",), (11, 12))), lambda n: n not in (11, 12)),
        (F["StringStartsWith"](("name",), "row 1"), lambda n: str(n).startswith("1")),
        (F["Not"](child=F["StringEndsWith"](("name",), "7")), lambda n: n % 10 != 7),
    ]
    left = [
        F["EqualNullSafe"](("n",), 1),
        F["EqualTo"](("x",), float("nan")),
        F["EqualTo"](("n",), "text"),
        F["EqualTo"](("record", "a"), 1),
        F["EqualTo"](("other",), 1),
        F["Not"](child=F["GreaterThan"](("x",), 1.0)),
        F["And"](),
    ]
    for chosen in ([], taken[:1], taken):
        one = reader(days(tmp_path))
        assert list(one.take_filters([condition for condition, _ in chosen] + left)) == left
        found = [n for partition in one.partitions() for batch in one.read(partition) for n in batch["n"].to_pylist()]
        assert found == [n for n in range(300) if all(keeps(n) for _, keeps in chosen)]


def test_nan_is_larger_than_any_number():
    schema = pa.schema([("x", pa.float64())])
    batch = pa.record_batch({"x": pa.array([1.0, float("nan"), None, 3.0])})
    for name, expected in [("GreaterThan", [1, 3]), ("GreaterThanOrEqual", [1, 3]), ("LessThan", [0]), ("EqualTo", [])]:
        condition = _condition(F[name](("x",), 2.0), schema)
        kept = batch.append_column("row", pa.array(range(4))).filter(_expression(condition, schema))
        assert kept["row"].to_pylist() == expected, name


@pytest.mark.parametrize("type_", [pa.float32(), pa.float64()])
@pytest.mark.parametrize("zero", [0.0, -0.0, 0])
def test_zeros_are_equal(type_, zero):
    schema = pa.schema([("x", type_)])
    batch = pa.record_batch([pa.array([0.0, -0.0, 1.0, 2.0, None], type_)], schema=schema)
    for name, value, expected in [("In", (zero, 1.0), [0, 1, 2]), ("In", (1.0,), [2]), ("EqualTo", zero, [0, 1])]:
        kept = batch.append_column("row", pa.array(range(5))).filter(_expression(_condition(F[name](("x",), value), schema), schema))
        assert kept["row"].to_pylist() == expected


def test_negated_filters_do_not_hold_for_null():
    schema = pa.schema([("n", pa.int64()), ("s", pa.string())])
    batch = pa.record_batch({"n": pa.array([1, 2, 3, None]), "s": pa.array(["a", "ab", "b", None])}, schema=schema)
    for inner, expected in [
        (F["In"](("n",), (1, 2)), [2]),
        (F["In"](("s",), ("a",)), [1, 2]),
        (F["In"](("n",), ()), [0, 1, 2]),
        (F["EqualTo"](("n",), 1), [1, 2]),
        (F["GreaterThan"](("n",), 1), [0]),
        (F["StringStartsWith"](("s",), "a"), [2]),
        (F["StringContains"](("s",), "b"), [0]),
        (F["IsNull"](("n",)), [0, 1, 2]),
        (F["IsNotNull"](("n",)), [3]),
    ]:
        condition = _condition(F["Not"](child=inner), schema)
        kept = batch.append_column("row", pa.array(range(4))).filter(_expression(condition, schema))
        assert kept["row"].to_pylist() == expected, (type(inner).__name__, inner.value)


def test_partitions_cover_all_rows(tmp_path):
    paths = _parts.expand(days(tmp_path))
    for size in (1, 33, 100, 1000):
        parts = _parts.split(paths, None, size)
        assert [(part.path, n) for part in parts for n in range(part.start, part.stop)] == [(path, n) for path in paths for n in range(100)]
        assert max(part.stop - part.start for part in parts) <= size
    one = reader(days(tmp_path), rowsPerPartition="70")
    assert pickle.loads(pickle.dumps(one.partitions()[0])).part == one.partitions()[0].part
    assert pickle.loads(pickle.dumps(one)).paths == one.paths


def test_several_paths(tmp_path):
    days(tmp_path)
    paths = [str(tmp_path / "0.parquet"), str(tmp_path / "[12].parquet")]
    source = WharfDataSource({"paths": json.dumps(paths)})
    assert source._paths() == [str(tmp_path / f"{day}.parquet") for day in range(3)]
    assert source.schema().names == ["n", "x", "name"]
    assert WharfDataSource({"path": paths[0]})._paths() == paths[:1]
    with pytest.raises(wharf_data.UsageError, match="a path is required"):
        WharfDataSource({}).schema()


def test_every_type_has_one_of_spark():
    from pyspark.sql.pandas.types import from_arrow_schema

    for column in types().schema:
        spark_type = _spark_type(column.type)
        back = _arrow_schema(from_arrow_schema(pa.schema([pa.field("a", spark_type)]), prefer_timestamp_ntz=True))
        assert _parts.plain(types()[column.name].chunk(0), back.field("a").type).type == back.field("a").type


def test_urls(tmp_path):
    path = tmp_path / "a.arrow"
    wharf_data.write(pa.table({"a": [1]}), path)
    for prefix in ("", "file:", "file://", "file://localhost"):
        assert _parts.expand(f"{prefix}{path}") == [str(path)]
        assert _parts.Folder(f"{prefix}{tmp_path}/x", "arrow", {}).path == str(tmp_path / "x")
    for url in ("s3://bucket/out", "hdfs://host/out", "dbfs:/out", "file://host/out", "S3A://bucket/out"):
        with pytest.raises(wharf_data.UsageError, match="expected a local path, found a URL"):
            _parts.Folder(url, "arrow", {})
        with pytest.raises(wharf_data.UsageError, match="expected a local path, found a URL"):
            _parts.expand(url)
    assert _parts.local("C:/out") == "C:/out"


@pytest.mark.parametrize("to", ["idv", "arrow", "parquet"])
def test_folders_without_rows(tmp_path, to):
    schema = pa.schema([("a", pa.int64()), ("b", pa.string())])
    path = tmp_path / "out"
    _parts.Folder(str(path), to, {}).commit([None], overwrite=False, schema=schema)
    (file,) = _parts.expand(str(path))
    table = wharf_data.open(file).table()
    assert (table.column_names, len(table)) == (["a", "b"], 0)
    # Nothing is appended to a folder that has columns already.
    _parts.Folder(str(path), to, {}).commit([], overwrite=False, schema=schema)
    assert _parts.expand(str(path)) == [file]
    _parts.Folder(str(tmp_path / "none"), to, {}).commit([], overwrite=False)
    with pytest.raises(wharf_data.NotFoundError, match="none: no files"):
        _parts.expand(str(tmp_path / "none"))


def test_an_empty_frame(spark, tmp_path):
    frame = spark.createDataFrame([], "a long, b string")
    folder = str(tmp_path / "out")
    for mode in ("append", "overwrite"):
        frame.write.format("wharf").option("to", "parquet").mode(mode).save(folder)
        again = spark.read.format("wharf").load(folder)
        assert again.columns == ["a", "b"] and again.count() == 0


def test_folders_commit_or_abort(tmp_path):
    batch = pa.record_batch({"a": [1, 2]})
    for path in (tmp_path / "new", tmp_path / "old"):
        if path.name == "old":
            path.mkdir()
            (path / "before").write_bytes(b"x")
        folder = pickle.loads(pickle.dumps(_parts.Folder(str(path), "arrow", {})))
        written = [folder.write(0, [batch, batch]), folder.write(1, [])]
        repeated = folder.write(0, [batch])
        assert written[0].rows == 4 and written[1] is None and repeated.rows == 2
        assert not path.exists() or [one.name for one in path.iterdir() if not one.name.startswith(".")] == ["before"]
        folder.commit(written, overwrite=True)
        assert sorted(one.name for one in path.iterdir()) == sorted(["_SUCCESS", written[0].name])
        folder = _parts.Folder(str(path), "arrow", {})
        folder.write(0, [batch])
        folder.abort()
        assert sorted(one.name for one in path.iterdir()) == sorted(["_SUCCESS", written[0].name])
    assert sorted(one.name for one in tmp_path.iterdir()) == ["new", "old"]
    with pytest.raises(wharf_data.UsageError, match="unknown format"):
        _parts.Folder(str(tmp_path / "x"), "none", {}).write(0, [batch])
