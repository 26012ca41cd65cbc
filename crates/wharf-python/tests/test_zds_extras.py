"""Datasets, frames, tables and SQL of `wharf_data.zds` against zippy-data."""

from __future__ import annotations

import doctest
import gc
import pickle
from pathlib import Path
from typing import Any

import pytest

from wharf_data import UnsupportedError, zds
from wharf_data.zds import dataset, duckdb_compat, hub, iterable_dataset, utils

DOCUMENTS = {f"doc{i:06d}": {"n": i, "x": i / 4, "text": f"no.{i % 7}", "even": i % 2 == 0, "tags": ["a", str(i % 3)]} for i in range(60)}


def double(document: dict[str, Any]) -> dict[str, Any]:
    return {"n": document["n"] * 2}


def odd_third(document: dict[str, Any]) -> bool:
    return document["n"] % 3 == 1


def large(document: dict[str, Any]) -> bool:
    return document["n"] > 20


@pytest.fixture(scope="module")
def zippy() -> Any:
    return pytest.importorskip("zippy", reason="the original zippy-data is not installed")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store that both packages see: the original's Python classes see files in `docs` only."""
    with zds.open(tmp_path / "store", "rw") as store:
        store.collection("train").put_many(DOCUMENTS)
    return tmp_path / "store"


@pytest.fixture
def their_path(tmp_path: Path, zippy: Any) -> Path:
    store = zippy.ZDSStore.open(tmp_path / "theirs", "train")
    for name, document in DOCUMENTS.items():
        store.put(name, document)
    return tmp_path / "theirs"


@pytest.fixture
def fast_path(tmp_path: Path, zippy: Any) -> Path:
    """The original's `ZDataset` does not read an index of its own `NativeStore`, or ours."""
    with zippy.FastZDSStore.open(tmp_path / "fast", "train") as store:
        for name, document in DOCUMENTS.items():
            store.put(name, document)
    return tmp_path / "fast"


def test_doctests() -> None:
    for module in (utils, dataset, iterable_dataset, hub, duckdb_compat):
        assert doctest.testmod(module).failed == 0


def test_names_of_the_original(zippy: Any) -> None:
    missing = {name for name in zippy.__all__ if not hasattr(zds, name)}
    assert missing == {"__version__", "clear_cache"}


def test_map_style(path: Path, fast_path: Path, zippy: Any) -> None:
    def results(made: Any) -> list[Any]:
        changed = made.map(double).map(lambda d: d["n"] + 1)
        found = [len(made), made[0], made[-1], made[5:9], made[::-20], list(made.select([3, 1, 2])), made.features, repr(made)]
        found += [list(changed.shuffle(3)), list(changed.shuffle(3).select([1, 0])), changed[7], list(made.take(3)), len(made.take(999))]
        found += [list(made.skip(55)), list(made.filter(odd_third).filter(large)), list(made.filter(odd_third).shuffle(1).batch(7))]
        for index in (60, -61):
            with pytest.raises(IndexError):
                made[index]
        return found

    ours = zds.ZDataset.from_store(path, "train")
    assert results(ours) == results(zippy.ZDataset.from_store(fast_path, "train")) == results(zds.ZDataset.from_store(fast_path, "train"))
    assert results(zds.open(path).collection("train").to_dataset()) == results(ours)
    with pytest.raises(IndexError):
        ours.select([60])
    with pytest.raises(FileNotFoundError):
        zds.ZDataset.from_store(path / "no")
    with pytest.raises(ValueError, match="no"):
        zds.ZDataset.from_store(path, "no")
    assert not (path / "collections" / "no").exists()


def test_iterable(path: Path, fast_path: Path, zippy: Any) -> None:
    def results(made: Any) -> list[Any]:
        found = [list(made), list(made.take(3)), list(made.take(0)), list(made.skip(57)), list(made.batch(7)), repr(made)]
        for size in (1, 10, 60, 1000):
            shuffled = made.map(double).filter(odd_third).shuffle(size, seed=4).filter(large).map(lambda d: d["n"])
            found += [list(shuffled), list(shuffled), repr(shuffled), list(shuffled.batch(100))]
        return found

    theirs = zippy.ZIterableDataset(zippy.FastZDSStore.open(fast_path, "train"))
    assert results(zds.ZIterableDataset.from_store(path, "train")) == results(theirs)
    assert results(zds.open(path).collection("train").to_iterable_dataset()) == results(theirs)


def test_datasets_can_be_pickled(path: Path) -> None:
    made = zds.ZDataset.from_store(path, "train").map(double).map(double).shuffle(1)
    assert list(pickle.loads(pickle.dumps(made))) == list(made)
    with zds.ZDSStore.open(path, "train") as store:
        store.put("new", {"n": 5})
        assert pickle.loads(pickle.dumps(store))["new"] == {"n": 5}
        iterable = store.to_iterable_dataset().filter(large).filter(odd_third)
    assert list(pickle.loads(pickle.dumps(iterable))) == list(iterable)


def test_loader(path: Path) -> None:
    pytest.importorskip("torch")
    from torch.utils.data import DataLoader

    numbers = zds.ZDataset.from_store(path, "train").map(double)
    loader = DataLoader(numbers, batch_size=8, num_workers=2, multiprocessing_context="spawn")  # type: ignore[arg-type]
    assert [int(n) for batch in loader for n in batch["n"]] == [2 * i for i in range(60)]


def test_frames(tmp_path: Path, path: Path, their_path: Path, zippy: Any) -> None:
    pd = pytest.importorskip("pandas")
    for columns in (None, ["n", "tags"], ["no"]):
        ours, theirs = zds.read_zds(path, "train", columns), zippy.read_zds(their_path, "train", columns)
        pd.testing.assert_frame_equal(ours, theirs)
    frame = pd.DataFrame({"text": ["a", "b", "c"], "label": [1, 2, 3], "tags": [["x"], [], ["y", "z"]]})
    for arguments in ({}, {"doc_id_column": "label"}, {"doc_id_column": "none"}):
        ours = zds.to_zds(frame, tmp_path / f"o{arguments}", "c", **arguments)
        theirs = zippy.to_zds(frame, tmp_path / f"t{arguments}", "c", **arguments)
        assert {name: ours[name] for name in ours.list_doc_ids()} == {name: theirs[name] for name in theirs.list_doc_ids()}
    assert zds.to_zds(frame[1:], tmp_path / "part").list_doc_ids() == ["doc000001", "doc000002"]
    gaps = pd.DataFrame({"t": ["a", None], "x": [0.5, float("nan")], "i": pd.array([1, None], "Int64"), "d": [pd.NaT, pd.NaT]})
    assert zds.to_zds(gaps, tmp_path / "gaps")["doc000001"] == {"t": None, "x": None, "i": None, "d": None}
    mixed = zds.to_zds(pd.DataFrame({"i": [1], "x": [0.5]}), tmp_path / "mixed")["doc000000"]
    assert type(mixed["i"]) is int and mixed == {"i": 1, "x": 0.5}
    for bad in (pd.concat([frame, frame]), frame.set_index("text"), pd.DataFrame({"t": [pd.Timestamp("2020-01-01")]})):
        with pytest.raises((ValueError, TypeError)):
            zds.to_zds(bad, tmp_path / "bad")
        assert len(zds.ZDSStore.open(tmp_path / "bad")) == 0


def test_tables(tmp_path: Path, path: Path, their_path: Path, zippy: Any) -> None:
    pa = pytest.importorskip("pyarrow")
    from zippy.pandas_compat import from_arrow as their_from
    from zippy.pandas_compat import to_arrow as their_to

    from wharf_data.zds.arrow_compat import query_with_duckdb, to_arrow_batch_reader
    from wharf_data.zds.pandas_compat import from_arrow, to_arrow

    ours, theirs = zds.ZDSStore.open(path, "train"), zippy.ZDSStore.open(their_path, "train")
    table = to_arrow(ours)
    assert table.cast(their_to(theirs).schema) == their_to(theirs)
    assert to_arrow_batch_reader(ours, 7).read_all() == table
    assert [len(batch) for batch in to_arrow_batch_reader(ours, 25)] == [25, 25, 10]
    back, their_back = from_arrow(table, tmp_path / "back"), their_from(table, tmp_path / "their_back")
    assert {name: back[name] for name in back.list_doc_ids()} == {name: their_back[name] for name in their_back.list_doc_ids()}
    ours.put("late", {"n": 5, "new": "only here"})
    assert to_arrow(ours)["new"].to_pylist() == [None] * 60 + ["only here"]
    empty = zds.ZDSStore.open(path, "empty")
    assert to_arrow(empty) == pa.table({}) and to_arrow_batch_reader(empty).read_all() == pa.table({})
    pytest.importorskip("duckdb")
    query = "SELECT sum(n), max(new) FROM zds WHERE n > 50"
    assert query_with_duckdb(ours, query).fetchall() == [(sum(range(51, 60)), None)]


def test_sql(tmp_path: Path, path: Path, their_path: Path, zippy: Any) -> None:
    pytest.importorskip("duckdb")
    pytest.importorskip("pyarrow")
    pytest.importorskip("pandas")
    import zippy.duckdb_compat as theirs

    from wharf_data.zds import duckdb_compat as ours

    queries = [
        ("SELECT * FROM data ORDER BY n LIMIT 3", None),
        ("SELECT n, tags, _id FROM data WHERE n > ? AND even ORDER BY n", (50,)),
        ("SELECT text, count(*), sum(x) FROM data GROUP BY text ORDER BY text", None),
    ]
    for sql, params in queries:
        expected = theirs.query_zds(their_path, "train", sql, params)
        assert ours.query_zds(path, "train", sql, params) == zds.query_zds(path, "train", sql, params) == expected
        assert ours.query_zds_df(path, "train", sql, params).to_dict() == theirs.query_zds_df(their_path, "train", sql, params).to_dict()
    assert ours.count_where(path, "train", "n < 10") == theirs.count_where(their_path, "train", "n < 10") == 10
    assert sorted(ours.aggregate(path, "train", "even", "sum(n)")) == sorted(theirs.aggregate(their_path, "train", "even", "sum(n)"))
    assert ours.sql(path, "train", "SELECT 1") == [(1,)]
    for module, store in ((ours, path), (theirs, their_path)):
        with module.ZDSConnection(store) as connection:
            connection.register("train").register("train", "part", ["n", "no"])
            assert connection.query("SELECT * FROM part ORDER BY n LIMIT 2") == [(0, "doc000000"), (1, "doc000001")]
            assert connection.export("SELECT n, text FROM train WHERE n < 3 ORDER BY n", "few") == 3
            assert connection.export("SELECT n, text FROM train WHERE n < 3 ORDER BY n", "by_text", "text") == 3
            connection.execute("CREATE TABLE plain AS SELECT n FROM train WHERE n = ?", (9,))
            assert module.copy_to_zds(connection.conn, "plain", store, "copied") == 1
    for name in ("few", "by_text", "copied"):
        their_store = zippy.ZDSStore.open(their_path, name)
        assert dict(zds.open(path).collection(name).items()) == {i: their_store[i] for i in their_store.list_doc_ids()}
    with pytest.raises(ValueError, match="two documents"):
        with ours.ZDSConnection(path) as connection:
            connection.register("train").export("SELECT text FROM train", "twice", "text")
    with ours.ZDSConnection(path) as connection, pytest.raises(ValueError, match="empty"):
        zds.ZDSStore.open(path, "empty").close()
        connection.register("empty")
    with ours.ZDSConnection(path) as connection:
        connection.register("train", 'a "quoted" name; DROP')
        assert connection.query('SELECT count(*) FROM "a ""quoted"" name; DROP"') == [(60,)]


def test_columns_that_disagree(tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    pytest.importorskip("pyarrow")
    store = zds.ZDSStore.open(tmp_path / "store", "c")
    store.put_many({"a": {"v": 1, "w": 2**70}, "b": {"v": "text"}, "c": {"v": {"k": [1]}, "u": 1}})
    store.flush()
    rows = zds.query_zds(tmp_path / "store", "c", "SELECT v, w, u FROM data")
    assert rows == [("1", str(2**70), None), ("text", None, None), ('{"k": [1]}', None, 1)]


def test_schemas_and_ids(zippy: Any) -> None:
    from zippy import utils as theirs

    for document in [*list(DOCUMENTS.values())[:2], {}, {"a": [[1, "x"], []], "b": {"c": None, "d": True, "e": 1.5}}, {"s": {1}}]:
        assert utils.compute_schema_id(document) == theirs.compute_schema_id(document)
        assert utils.extract_schema(document) == theirs.extract_schema(document)
    for name in ("a", "", "a b", ".a", "a..b", "ü-_.9", "a/b", "../a"):
        def outcome(check: Any) -> Any:
            try:
                return check(name)
            except ValueError as error:
                return str(error)

        assert outcome(utils.validate_doc_id) == outcome(theirs.validate_doc_id)


def test_counts(path: Path) -> None:
    assert utils.count_documents(path, "train") == 60 and list(utils.iter_doc_ids(path, "train")) == list(DOCUMENTS)


def test_folders(fast_path: Path, zippy: Any) -> None:
    path = fast_path
    for arguments in ({"collection": "train"}, {"split": "train"}, {"collection": "train", "subpath": path.name}):
        folder = path.parent if "subpath" in arguments else path
        ours, theirs = zds.load_remote(folder, **arguments), zippy.load_remote(str(folder), **arguments)
        assert list(ours) == list(theirs) == list(DOCUMENTS.values())
        assert list(zds.load_remote(folder, **arguments, streaming=True)) == list(ours)
    assert list(zds.load_remote(path)) == list(ours)
    assert vars(zds.dataset_info(path)).items() <= vars(zippy.dataset_info(str(path))).items()
    with pytest.raises(ValueError, match="leads out"):
        zds.load_remote(path, subpath="../..")
    for load in (zds.load_remote, zds.dataset_info):
        with pytest.raises(UnsupportedError, match="nothing is downloaded"):
            load("somebody/something")


def test_hugging_face(tmp_path: Path, fast_path: Path, zippy: Any) -> None:
    path = fast_path
    datasets = pytest.importorskip("datasets")
    ours, theirs = zds.to_hf(path, "train"), zippy.to_hf(str(path), "train")
    assert ours.to_list() == theirs.to_list() and ours.features == theirs.features
    assert zds.to_hf(zds.ZDataset.from_store(path, "train")).to_list() == ours.to_list()
    assert zds.to_hf_dict(path)["train"].to_list() == zippy.to_hf_dict(str(path))["train"].to_list()
    for source in (ours, datasets.DatasetDict({"a": ours, "b": ours.select(range(3))})):
        for arguments in ({}, {"id_column": "n"}):
            back = zds.from_hf(source, tmp_path / f"o{len(source)}{arguments}", **arguments)
            their_back = zippy.from_hf(source, str(tmp_path / f"t{len(source)}{arguments}"), **arguments)
            assert list(back) == list(their_back) and back._doc_ids == their_back._doc_ids
    with pytest.raises(ValueError, match="two documents"):
        zds.from_hf(ours, tmp_path / "twice", id_column="text")


def test_reading_collects_no_garbage(path: Path) -> None:
    documents = zds.open(path).collection("train")
    collections: list[str] = []
    threshold = gc.get_threshold()
    gc.callbacks.append(lambda phase, _: collections.append(phase))
    try:
        gc.set_threshold(5)
        before = len(collections)
        found = list(documents.scan())
        assert len(collections) - before < 10 and len(found) == 60 and gc.isenabled()
        gc.disable()
        documents["doc000001"]
        assert not gc.isenabled()
        gc.enable()
        before = len(collections)
        _ = [{"a": [n]} for n in range(200)]
        assert len(collections) > before
    finally:
        gc.enable()
        gc.set_threshold(*threshold)
        gc.callbacks.pop()
