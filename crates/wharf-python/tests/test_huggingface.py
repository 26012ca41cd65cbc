"""``wharf_data.huggingface``."""

from __future__ import annotations

import pathlib

import pytest

np = pytest.importorskip("numpy")
pa = pytest.importorskip("pyarrow")
datasets = pytest.importorskip("datasets")

import wharf_data  # noqa: E402
from wharf_data import huggingface  # noqa: E402

GOLDEN = pathlib.Path(__file__).parents[3] / "tests" / "golden"
ADULT = GOLDEN / "idv" / "real-adult.idv"


def tensors():
    return {
        "image": np.arange(4 * 2 * 3, dtype="f4").reshape(4, 2, 3),
        "video": np.arange(4 * 8, dtype="u1").reshape(4, 2, 2, 2),
        "vector": np.arange(12, dtype="i4").reshape(4, 3),
        "label": np.arange(4),
        "name": ["a", "b", "", "é"],
    }


def test_reads_any_container():
    dataset = huggingface.dataset(ADULT, split="train")
    table = wharf_data.open(ADULT).table().to_arrow()
    assert isinstance(dataset, datasets.Dataset) and dataset.num_rows == 500 and str(dataset.split) == "train"
    assert dataset.column_names == table.column_names
    assert dataset[17] == {name: table[name][17].as_py() for name in table.column_names}
    assert dataset.features["Features"] == datasets.List(datasets.Value("float32"), length=28)
    few = huggingface.dataset(wharf_data.open(ADULT), columns=["age", "sex-key"], rows=slice(10, 20))
    assert few.column_names == ["age", "sex-key"] and few[0]["age"] == dataset[10]["age"] and len(few) == 10
    assert len(huggingface.dataset(pa.table({"a": [1, 2]}))) == 2
    with pytest.raises(FileNotFoundError):
        huggingface.dataset("none.idv")


def test_tensors_are_features(tmp_path):
    data = tensors()
    path = tmp_path / "t.parquet"
    wharf_data.write(data, path)
    dataset = huggingface.dataset(path)
    assert dataset.features["image"] == datasets.Array2D(shape=(2, 3), dtype="float32")
    assert dataset.features["video"] == datasets.Array3D(shape=(2, 2, 2), dtype="uint8")
    batch = dataset.with_format("numpy")[:]
    for name in ("image", "video", "vector", "label"):
        np.testing.assert_array_equal(batch[name], data[name])
        assert batch[name].dtype.kind == "f" or name != "image"
    assert dataset["name"][:] == data["name"]


@pytest.mark.parametrize("extension", ["parquet", "arrow", "ds", "msgpack"])
def test_writes_back(tmp_path, extension):
    data = tensors()
    dataset = huggingface.from_arrow(pa.table({name: wharf_data._column(pa, values) for name, values in data.items()}))
    path = tmp_path / f"back.{extension}"
    options = {"number": True} if extension == "msgpack" else {}
    assert huggingface.write(dataset, path, **options)["path"] == str(path)
    again = huggingface.dataset(path).with_format("numpy")[:]
    for name, values in data.items():
        np.testing.assert_array_equal(again[name], values)
    shuffled = dataset.select([3, 1]).map(lambda row: row)
    huggingface.write(dataset.select([3, 1]), path, overwrite=True, **options)
    np.testing.assert_array_equal(huggingface.dataset(path).with_format("numpy")["image"][:], data["image"][[3, 1]])
    huggingface.write(shuffled, path, overwrite=True, **options)
    np.testing.assert_array_equal(huggingface.dataset(path).with_format("numpy")["video"][:], data["video"][[3, 1]])


def test_missing_tensors(tmp_path):
    storage = pa.array([[1.0, 2, 3, 4], None, [5.0, 6, 7, 8]], pa.list_(pa.float64(), 4))
    array = pa.ExtensionArray.from_storage(pa.fixed_shape_tensor(pa.float64(), (2, 2)), storage)
    for part in (array, array.slice(1)):
        dataset = huggingface.from_arrow(pa.table({"t": part}))
        assert dataset["t"][:][-2:] == [None, [[5.0, 6.0], [7.0, 8.0]]]
        back = huggingface.to_arrow(dataset)["t"].chunk(0)
        assert back.type == array.type and back.storage.to_pylist() == part.storage.to_pylist()


def test_missing_elements_of_tensors():
    for value, type_ in ((2**53 + 1, pa.int64()), (1.5, pa.float64())):
        storage = pa.array([[value, None, value, value], None, [value] * 4], pa.list_(type_, 4))
        array = pa.ExtensionArray.from_storage(pa.fixed_shape_tensor(type_, (2, 2)), storage)
        back = huggingface.to_arrow(huggingface.from_arrow(pa.table({"t": array})))["t"].chunk(0)
        assert back.type == array.type and back.storage.to_pylist() == storage.to_pylist()


def test_shares_memory(tmp_path):
    table = pa.table({"x": np.arange(1000.0), "t": wharf_data._column(pa, np.arange(6000.0).reshape(1000, 2, 3))})
    dataset = huggingface.from_arrow(table)
    assert dataset.data["x"].chunk(0).buffers()[1].address == table["x"].chunk(0).buffers()[1].address
    values = dataset.data["t"].chunk(0).storage.values.values
    assert values.buffers()[1].address == table["t"].chunk(0).storage.values.buffers()[1].address
    back = huggingface.to_arrow(dataset)
    assert back["t"].chunk(0).storage.values.buffers()[1].address == values.buffers()[1].address


def test_types_that_datasets_lacks():
    table = pa.table({"key": pa.array(["a", "b", "a"]).dictionary_encode(), "view": pa.array(["x", "y", None], pa.string_view())})
    dataset = huggingface.from_arrow(table)
    assert dataset[:] == {"key": ["a", "b", "a"], "view": ["x", "y", None]}
    assert huggingface.from_arrow(table.schema.empty_table()).num_rows == 0
