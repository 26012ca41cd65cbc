"""Statistics, counts, differences and changed columns: the answers of numpy, pandas and pyarrow."""

from __future__ import annotations

import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import wharf_data

ROWS = 5_000


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    x = rng.normal(0, 1, ROWS)
    x[rng.random(ROWS) < 0.1] = np.nan
    return pd.DataFrame({
        "id": np.arange(ROWS),
        "x": x,
        "n": rng.integers(-50, 50, ROWS),
        "city": rng.choice(["Bonn", "Oslo", "Rome"], ROWS, p=[0.5, 0.3, 0.2]),
        "flag": rng.random(ROWS) < 0.25,
    })


@pytest.fixture(params=["parquet", "idv", "csv", "zds"])
def table(request: pytest.FixtureRequest, tmp_path: Path, frame: pd.DataFrame) -> wharf_data.Table:
    path = tmp_path / f"x.{request.param}"
    options = {"id": "id"} if request.param == "zds" else {}
    wharf_data.write(pa.Table.from_pandas(frame, preserve_index=False), path, **options)
    return wharf_data.open(path).table()


def test_statistics_are_those_of_numpy(table: wharf_data.Table, frame: pd.DataFrame) -> None:
    found = {column["column"]: column for column in table.stats(["x", "n", "city"], top=2)}
    assert list(found) == ["x", "n", "city"]
    x, n = frame["x"].dropna(), frame["n"]
    assert found["x"]["count"] == ROWS and found["x"]["nulls"] + found["x"]["nan"] == ROWS - len(x)
    for name, values in (("x", x), ("n", n)):
        stats = found[name]
        expected = [values.min(), values.max(), values.mean(), values.std(ddof=0), values.median()]
        np.testing.assert_allclose([stats[key] for key in ("min", "max", "mean", "std", "median")], expected)
        np.testing.assert_allclose(stats["p50"], np.percentile(values, [25, 75]))
        assert stats["distinct"] == values.nunique() and stats["estimates"] is None
    cities = frame["city"].value_counts().head(2)
    assert [(one["value"], one["count"]) for one in found["city"]["top"]] == list(cities.items())
    (part,) = table.stats(["n"], filter="n > 10", rows=slice(100, 300))
    values = n[n > 10].iloc[100:300]
    assert (part["count"], part["min"], part["mean"]) == (200, values.min(), values.mean())
    with pytest.raises(wharf_data.UsageError, match="nothing"):
        table.stats(["nothing"])


def test_counts_are_those_of_pandas(table: wharf_data.Table, frame: pd.DataFrame) -> None:
    assert table.count() == ROWS == len(table)
    assert table.count(filter="city = 'Oslo'") == (frame["city"] == "Oslo").sum()
    assert table.count(rows=slice(-10, None)) == 10
    counts = frame["city"].value_counts()
    assert [(group["values"]["city"], group["rows"]) for group in table.count("city")] == list(counts.items())
    pairs = frame[frame["n"] > 0].groupby(["city", "flag"]).size().to_dict()
    found = table.count(by=["city", "flag"], filter="n > 0")
    assert {(group["values"]["city"], bool(group["values"]["flag"])): group["rows"] for group in found} == pairs
    assert [group["rows"] for group in found] == sorted(pairs.values(), reverse=True)


def test_filtered_tables(table: wharf_data.Table, frame: pd.DataFrame) -> None:
    found = table.filter("city = 'Rome' and n >= 0").filter("n < 20")
    rows = frame[(frame["city"] == "Rome") & (frame["n"] >= 0) & (frame["n"] < 20)]
    assert len(found) == len(rows)
    assert found.to_arrow(["n"])["n"].to_pylist() == rows["n"].tolist()
    assert found[-1]["n"] == rows["n"].iloc[-1]
    assert pa.table(found).num_rows == len(rows)


def test_changed_columns(table: wharf_data.Table, frame: pd.DataFrame) -> None:
    changed = table.filter("n > 0").with_changes(
        rename={"city": "place", "n": "number, of"},
        drop=["flag", "id", "x"],
        cast={"number, of": "float32"},
    )
    rows = frame[frame["n"] > 0]
    assert [name for name in changed.column_names if name != "_id"] == [
        name for name in ["number, of", "place"]
    ] or table.schema.names[0] == "_id"
    found = changed.to_arrow(["number, of", "place"])
    assert found.schema.field("number, of").type == pa.float32()
    assert found["number, of"].to_pylist() == rows["n"].astype(float).tolist()
    assert found["place"].to_pylist() == rows["city"].tolist()
    vector = table.with_changes(concat={"v": ["n", "id"]}, floats="single").to_arrow(["v"])
    assert pa.types.is_fixed_size_list(vector.schema.field("v").type)
    np.testing.assert_array_equal(np.array(vector["v"].to_pylist()), frame[["n", "id"]].to_numpy())
    back = table.with_changes(concat={"v": ["n", "id"]}).with_changes(expand=["v"])
    assert back.to_arrow(["id"])["id"].to_pylist() == frame["id"].tolist()
    with pytest.raises(wharf_data.UsageError, match="nothing"):
        table.with_changes(drop=["nothing"])
    with pytest.raises(TypeError, match="unexpected keyword"):
        table.with_changes(union=True, nothing=1)  # type: ignore[call-arg]
    with pytest.raises(wharf_data.InvalidError, match="city"):
        table.with_changes(cast={"city": "int8"}).to_arrow(["city"])


def test_options_of_convert_change_columns(tmp_path: Path, frame: pd.DataFrame) -> None:
    data = pa.Table.from_pandas(frame, preserve_index=False)
    wharf_data.write(data, tmp_path / "a.parquet")
    wharf_data.write(data.rename_columns(["id", "y", "n", "city", "flag"]), tmp_path / "b.parquet")
    report = wharf_data.convert([tmp_path / "a.parquet", tmp_path / "b.parquet"], tmp_path / "c.parquet", union=True, drop=("flag", "city"))
    both = pa.table(wharf_data.open(tmp_path / "c.parquet"))
    assert report["rows"] == 2 * ROWS and both.schema.names == ["id", "x", "n", "y"]
    assert both["y"][:ROWS].null_count == ROWS and both["x"][ROWS:].null_count == ROWS
    wharf_data.convert(tmp_path / "a.parquet", tmp_path / "d.idv", concat={"Features": ["n", "id"]}, floats="single", columns=["Features"])
    found = pa.table(wharf_data.open(tmp_path / "d.idv"))
    np.testing.assert_array_equal(np.array(found["Features"].to_pylist()), frame[["n", "id"]].to_numpy())


def test_extracted_files(tmp_path: Path) -> None:
    data = {"key": ["a", "b", "c"], "image": [b"one", b"two", None], "label": ["x", "y", "x"], "n": [1, 2, 3]}
    wharf_data.write(pa.table(data), tmp_path / "x.parquet")
    table = wharf_data.open(tmp_path / "x.parquet").table()
    with pytest.warns(wharf_data.LossWarning, match="null"):
        assert table.extract(tmp_path / "out", "image", name="{label}/{key}.jpg") == 2
    found = {str(path.relative_to(tmp_path / "out")): path.read_bytes() for path in (tmp_path / "out").rglob("*.jpg")}
    assert found == {"x/a.jpg": b"one", "y/b.jpg": b"two"}
    with pytest.raises(wharf_data.UsageError, match="exists"):
        table.extract(tmp_path / "out", "image")
    assert table.extract(tmp_path / "out.tar", ["image", "n"], filter="n < 3", rows=slice(0, 1)) == 2
    with tarfile.open(tmp_path / "out.tar") as tar:
        contents = {member.name: tar.extractfile(member).read() for member in tar.getmembers() if member.isfile()}  # type: ignore[union-attr]
    assert contents == {"a.image": b"one", "a.n": b"1"}


def test_differences(tmp_path: Path, frame: pd.DataFrame) -> None:
    frame = frame.fillna({"x": 0.5})  # IDV has NaN for null
    data = pa.Table.from_pandas(frame, preserve_index=False)
    for name in ("a.parquet", "a.idv", "a.csv"):
        wharf_data.write(data, tmp_path / name)
    same: Any = wharf_data.diff(tmp_path / "a.parquet", tmp_path / "a.idv")
    assert same["same"] and same["rows"] == [ROWS, ROWS] and same["first"] == []
    changed = frame.copy()
    changed.loc[7, "city"] = "Paris"
    changed.loc[[9, 11], "n"] += 1
    changed = changed.drop(index=3)
    wharf_data.write(pa.Table.from_pandas(changed, preserve_index=False), tmp_path / "b.parquet")
    found = wharf_data.diff(wharf_data.open(tmp_path / "a.idv"), wharf_data.open(tmp_path / "b.parquet").table(), key="id", show=2)
    assert not found["same"] and found["only"] == [1, 0] and found["differing_rows"] == 3
    assert {count["column"]: count["rows"] for count in found["counts"]} == {"city": 1, "n": 2}
    assert len(found["first"]) == 2
    close = frame.assign(x=frame["x"] * (1 + 1e-9))
    wharf_data.write(pa.Table.from_pandas(close, preserve_index=False), tmp_path / "c.parquet")
    assert not wharf_data.diff(tmp_path / "a.parquet", tmp_path / "c.parquet")["same"]
    assert wharf_data.diff(tmp_path / "a.parquet", tmp_path / "c.parquet", relative=1e-6)["same"]
    assert wharf_data.diff(tmp_path / "a.parquet", tmp_path / "c.parquet", columns=["id", "city"])["same"]
    with pytest.raises(wharf_data.UsageError, match="key"):
        wharf_data.diff(tmp_path / "a.parquet", tmp_path / "b.parquet", key="nothing")
    with pytest.raises(wharf_data.UsageError, match="tolerance"):
        wharf_data.diff(tmp_path / "a.parquet", tmp_path / "b.parquet", tolerance=-1)
