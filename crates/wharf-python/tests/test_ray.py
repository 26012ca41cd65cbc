"""``wharf_data.ray`` on a local cluster of Ray."""

from __future__ import annotations

import os
import pathlib

import pytest

np = pytest.importorskip("numpy")
pa = pytest.importorskip("pyarrow")
pytest.importorskip("ray.data", reason="ray[data] is not installed")

import wharf_data  # noqa: E402
from wharf_data import ray as wharf_ray  # noqa: E402

GOLDEN = pathlib.Path(__file__).parents[3] / "tests" / "golden"
PACKAGE = str(pathlib.Path(wharf_data.__file__).parents[1])


@pytest.fixture(scope="module")
def cluster():
    import ray

    os.environ["PYTHONPATH"] = os.pathsep.join([PACKAGE, os.environ.get("PYTHONPATH", "")])
    try:
        ray.init(num_cpus=2, include_dashboard=False, object_store_memory=200 << 20, log_to_driver=False)
    except Exception as error:
        pytest.skip(f"Ray does not start: {error}")
    yield
    ray.shutdown()


def days(folder):
    for day in range(3):
        numbers = np.arange(day * 100, day * 100 + 100)
        data = {"n": numbers, "x": numbers * 0.5, "t": np.repeat(numbers, 4).reshape(100, 2, 2)}
        wharf_data.write(data, folder / f"{day}.parquet", overwrite=True)
    return str(folder / "*.parquet")


def test_reads_and_writes(cluster, tmp_path):
    dataset = wharf_ray.read(days(tmp_path), override_num_blocks=6)
    assert dataset.count() == 300 and dataset.sum("n") == sum(range(300))
    assert dataset.columns() == ["n", "x", "t"]
    row = dataset.filter(lambda row: row["n"] == 217).take_all()[0]
    assert row["x"] == 108.5 and np.array_equal(row["t"], np.full((2, 2), 217))
    assert wharf_ray.read(str(GOLDEN / "idv" / "real-adult.idv"), columns=["age"]).columns() == ["age"]
    folder = tmp_path / "out"
    wharf_ray.write(dataset.select_columns(["n", "x"]), str(folder), to="idv")
    again = wharf_ray.read(str(folder))
    assert sorted(row["n"] for row in again.take_all()) == list(range(300))
    wharf_ray.write(again.limit(5), str(folder), overwrite=True)
    assert wharf_ray.read(str(folder)).count() == 5


def test_read_tasks_cover_all_rows(tmp_path):
    source = wharf_ray.WharfDatasource(days(tmp_path), columns=["n"], batch_rows=7)
    for parallelism in (1, 4, 1000):
        tasks = source.get_read_tasks(parallelism)
        assert sum(task.metadata.num_rows for task in tasks) == 300
        blocks = [block for task in tasks for block in task()]
        assert pa.concat_tables(blocks)["n"].to_pylist() == list(range(300))
        assert max(block.num_rows for block in blocks) <= 7
    assert source.estimate_inmemory_data_size() == 2400
    limited = source.get_read_tasks(1, per_task_row_limit=10)
    assert sum(block.num_rows for block in limited[0]()) <= 10
    with pytest.raises(FileNotFoundError):
        wharf_ray.WharfDatasource(str(tmp_path / "none.idv"))


def test_sink_without_rows(tmp_path):
    class Context:
        task_idx = 0

    class Result:
        write_returns = []

    sink = wharf_ray.WharfDatasink(str(tmp_path / "out"), to="arrow")
    Result.write_returns = [sink.write([], Context), sink.write([pa.table({"a": pa.array([], pa.int8())})], Context)]
    sink.on_write_complete(Result)
    source = wharf_ray.WharfDatasource(str(tmp_path / "out"))
    assert source.get_read_tasks(2) == [] and source.estimate_inmemory_data_size() == 0
    (path,) = (tmp_path / "out").glob("*.arrow")
    assert wharf_data.open(path).table().column_names == ["a"]


def test_sink(tmp_path):
    class Context:
        task_idx = 3

    class Result:
        write_returns = []

    sink = wharf_ray.WharfDatasink(str(tmp_path / "out"), to="arrow")
    Result.write_returns = [sink.write([pa.table({"a": [1, 2]}), pa.table({"a": [3]})], Context), sink.write([], Context)]
    assert not (tmp_path / "out").exists()
    sink.on_write_complete(Result)
    (path,) = (tmp_path / "out").glob("part-00003-*.arrow")
    assert wharf_data.open(path).table().to_arrow()["a"].to_pylist() == [1, 2, 3]
    failed = wharf_ray.WharfDatasink(str(tmp_path / "out"), to="arrow")
    failed.write([pa.table({"a": [1]})], Context)
    failed.on_write_failed(RuntimeError())
    assert len(list((tmp_path / "out").iterdir())) == 2
