"""`wharf_data.zds` against the package zippy-data: same documents, both ways."""

from __future__ import annotations

import doctest
import gc
import json
import math
import os
import pickle
import subprocess
import sys
import threading
from collections import OrderedDict
from enum import IntEnum
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wharf_data
from wharf_data import zds

ids = st.text("abcXYZ019_-.", min_size=1, max_size=12).filter(lambda name: not name.startswith(".") and ".." not in name)
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]))
)
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=4), max_leaves=8)
documents = st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])).filter(lambda name: name != "_id"), values, max_size=6)
stores = st.dictionaries(ids, documents, max_size=8)


@pytest.fixture(scope="module")
def zippy():
    return pytest.importorskip("zippy", reason="the original zippy-data is not installed")


def same(a, b):
    """Equal, and of the same types: 1 is not 1.0 or True, 0.0 is not -0.0."""
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[name], b[name]) for name in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b and (not isinstance(a, float) or math.copysign(1, a) == math.copysign(1, b))


def parsed(line):
    """A line, whatever the order of its members."""
    return json.dumps(json.loads(line), sort_keys=True)


@pytest.fixture
def train(tmp_path):
    return zds.Collection.open(tmp_path / "store", "train")


def test_doctests():
    assert doctest.testmod(zds).failed == 0


@settings(deadline=None, max_examples=30)
@given(stores)
def test_documents_round_trip(tmp_path_factory, store):
    path = tmp_path_factory.mktemp("zds") / "store"
    with zds.open(path, "rw") as root:
        train = root.collection("train")
        for number, (name, document) in enumerate(store.items()):
            if number % 2:
                train.put(name, document)
            else:
                train.put_many([(name, document)])
            assert same(train[name], document)  # before it is flushed
    train = zds.open(path).collection("train")
    assert len(train) == len(store) and train.list_doc_ids() == list(store)
    assert all(same(train.get(name), document) for name, document in store.items())
    assert same(list(train), list(store.values())) and same(dict(train.items()), store)
    assert [json.loads(line) for line in train.scan_raw()] == [{"_id": name} | store[name] for name in store]


@settings(deadline=None, max_examples=200)
@given(
    st.dictionaries(st.text(), st.recursive(scalars | st.integers() | st.text(), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3), max_leaves=6), max_size=4),
    st.booleans(),
    st.sampled_from([(",", ":"), (", ", ": "), (" ,\t", " :  ")]),
)
def test_lines_are_read_as_by_python(tmp_path_factory, document, ensure_ascii, separators):
    # Also lone surrogates, which only escape sequences have, and integers of any size.
    text = json.dumps(document, ensure_ascii=ensure_ascii or any("\ud800" <= c <= "\udfff" for c in str(document)), separators=separators)
    same_as_python(tmp_path_factory, text)


@pytest.mark.parametrize(
    "value",
    ["-0", "-0.0", "0", "0.0", "1e5", "1E+05", "1.5e-7", "1e400", "-1e400", "999999999999999999", "-999999999999999999", "1000000000000000000",
     "9223372036854775808", "123456789012345678901234567890", "0.1000000000000000055511151231257827", "5e-324", "2.2250738585072011e-308",
     '"\\u00e9\\ud83d\\ude00\\/\\b\\f\\n\\r\\t\\"\\\\"', '"\\ud83d"', '"\\ude00\\ud83d"', '"\\ud83d\\u0041"', '"1234567\\n"', '"12345678"', '"1234567é\\u0000"',
     "NaN", "[]", "{}", "[ 1 ,{ } , [ ] ]", "[" * 120 + "]" * 120, "[" * 200 + "]" * 200, '{"_id": 1, "a": 2, "a": 3}'],
)  # fmt: skip
def test_values_are_read_as_by_python(tmp_path_factory, value):
    same_as_python(tmp_path_factory, f'{{"v": {value}, "v2": [{value}]}}')


@pytest.mark.parametrize("value", ["01", "1.", ".5", "-", "+1", "1e", "tru", "nul", '"\\x"', '"\\u12"', '"a\tb"', '"', "[1,]", "[1 2]", "{1:2}", '{"a":1,}', "1 2", "'a'"])
def test_what_python_refuses_is_invalid(tmp_path_factory, value):
    with pytest.raises(ValueError):
        json.loads(f'{{"v": {value}}}')
    with pytest.raises(ValueError):
        same_as_python(tmp_path_factory, f'{{"v": {value}}}')


def same_as_python(tmp_path_factory, text):
    """Puts a document as a line of a store, and compares what is read."""
    folder = tmp_path_factory.mktemp("lines")
    with zds.open(folder / "s", "rw") as store:
        store.collection("c").put("x", {"placeholder": "p" * 2 * len(text.encode())})
    (data,) = (folder / "s").rglob("data.jsonl")
    line = data.read_bytes()
    own = b'{"_id":"x",' + text.encode()[1:]
    if text == "{}":
        own = b'{"_id":"x"}'
    # Trailing spaces keep the length of the line, which the index has.
    data.write_bytes(own + b" " * (len(line) - 1 - len(own)) + b"\n")
    found = zds.open(folder / "s").collection("c")["x"]
    expected = json.loads(text)
    expected.pop("_id", None)
    assert repr(found) == repr(expected)


@settings(deadline=None, max_examples=25)
@given(stores)
def test_the_original_reads_ours(tmp_path_factory, zippy, store):
    path = tmp_path_factory.mktemp("zds") / "store"
    with zds.open(path, "rw") as root:
        root.collection("train").put_many(store)
    native = zippy.NativeStore.open(str(path), "train")
    assert {name: native.get(name) for name in native.list_doc_ids()} == store
    assert zippy.list_collections(path) == ["train"]


@settings(deadline=None, max_examples=25)
@given(stores)
def test_we_read_the_original(tmp_path_factory, zippy, store):
    for kind in ("NativeStore", "ZDSStore"):
        path = tmp_path_factory.mktemp("zds") / kind
        theirs = getattr(zippy, kind).open(str(path), "train")
        for name, document in store.items():
            theirs.put(name, document)
        if kind == "NativeStore":
            theirs.flush()
        ours = zds.open(path).collection("train")
        assert dict(ours.items()) == store
        for name in store:
            assert same(ours[name], store[name]), kind
        assert len(ours) == theirs.count() and sorted(ours.list_doc_ids()) == sorted(theirs.list_doc_ids())


def test_the_original_and_we_take_turns(tmp_path, zippy):
    path = str(tmp_path / "store")
    for turn in range(3):
        native = zippy.NativeStore.open(path, "train")
        native.put(f"theirs-{turn}", {"turn": turn})
        native.flush()
        del native  # or it would write its index again when it is dropped later
        with zds.ZDSStore.open(path, "train") as ours:
            ours.put(f"ours-{turn}", {"turn": turn})
            if turn:
                ours.delete(f"theirs-{turn - 1}")
    native = zippy.NativeStore.open(path, "train")
    expected = {"ours-0", "ours-1", "ours-2", "theirs-2"}
    assert set(native.list_doc_ids()) == expected == set(zds.open(path).collection("train").list_doc_ids())


@pytest.mark.parametrize("name", ["NativeStore", "FastZDSStore", "ZDSStore"])
def test_calls_of_the_original_give_the_same(tmp_path, zippy, name):
    """One sequence of calls, on both."""
    results = []
    for module, path in ((zippy, "theirs"), (zds, "ours")):
        store = getattr(module, name).open(str(tmp_path / path), collection="train")
        flush = getattr(store, "flush", lambda: None)
        found = [store.count(), store.put("x", {"a": 1, "t": "é", "n": None}), store.put("y", {"a": 2.5, "l": [1, {"b": True}]})]
        flush()
        found += [store.get("x"), store.get("y"), store.count(), len(store), "x" in store, "z" in store, store.exists("y")]
        found += [sorted(store.list_doc_ids())]
        if name == "NativeStore":
            found += [store.put_batch([("p", {"a": 1}), ("q", {"a": 2})]), store.put_raw_batch([("r", b'{"_id":"r","v":1}')])]
            found += [store.write_jsonl(b'{"_id":"k"}\n{"_id":"l","m":1}\n', ["k", "l"])]
            flush()
            found += [store.get(key) for key in "pqrkl"] + [type(store.scan()), store.delete("k")]
            found += [sorted(map(parsed, store.scan_raw()))]
        else:
            found += [list(store.scan(fields=["a"])), list(store.scan(predicate={"a": 1})), list(store.scan(["t"], {"n": None}))]
            found += [list(store), store["y"]]
            store["z"] = {"z": 1}
            flush()
            del store["x"]
        found += [sorted(json.dumps(document, sort_keys=True) for document in store.scan())]
        for bad in ("get", "delete"):
            with pytest.raises(KeyError):
                getattr(store, bad)("none")
        results.append(found)
    assert results[0] == results[1]


def test_the_original_rewrites_the_index_under_us(tmp_path, zippy):
    path = str(tmp_path / "store")
    with zds.open(path, "rw") as store:
        store["train"].put_many((str(i), {"n": i}) for i in range(5000))
    ours = zds.open(path)["train"]
    assert ours["7"] == ours["7"] == {"n": 7}
    native = zippy.NativeStore.open(path, "train")
    native.put("new", {})
    native.flush()
    del native
    assert [ours[str(i)]["n"] for i in range(5000)] == list(range(5000)) and "new" not in ours
    ours.flush()
    assert len(ours) == 5001 and ours["new"] == {}


def test_roots(tmp_path, zippy):
    results = []
    for module, path in ((zippy, "theirs"), (zds, "ours")):
        with module.ZDSRoot.open(str(tmp_path / path), native=True) as root:
            found = [root.mode, root.is_writable, root.batch_size, root.list_collections(), root.collection_exists("a")]
            a, b = root.collection("a"), root.collection("b", batch_size=10)
            a.put("1", {"in": "a"})
            b.put("1", {"in": "b"})
            a.flush()
            b.flush()
            found += [a.get("1"), b.get("1"), root.list_collections(), root.collection_exists("a"), type(a).__name__]
            found += [root.root_path.name == path, root.root == root.root_path]
        results.append(found)
    assert results[0] == results[1]


def test_values_that_are_hard_to_keep(train):
    class Color(IntEnum):
        RED = 1

    document = {
        "big": 2**64, "negative": -(2**70), "u64": 2**64 - 1, "huge": 10**400, "float": 1e300, "zero": -0.0, "tiny": 5e-324,
        "even": 1e19, "text": "\x00\u2028\"\\\U0001f600", "": {"_id": "kept"}, "enum": Color.RED, "tuple": (1, (2,)), "ordered": OrderedDict(a=1),
    }  # fmt: skip
    train.put("a", document)
    expected = document | {"enum": 1, "tuple": [1, [2]], "ordered": {"a": 1}}
    for _ in range(2):
        assert same(train["a"], expected)
        train.flush()
    deep = 1
    for _ in range(126):
        deep = [deep]
    train["deep"] = {"deep": deep}
    assert train["deep"] == {"deep": deep}
    train.put_raw_batch([("lone", b'{"lone": "\\ud800", "_id": "lone", "a": -0}')])
    assert same(train["lone"], {"lone": "\ud800", "a": 0})


@pytest.mark.parametrize(
    ("document", "error"),
    [
        ({"f": math.nan}, ValueError), ({"f": math.inf}, ValueError), ({1: 2}, TypeError), ({"a": {1: 2}}, TypeError),
        ({"b": b"x"}, TypeError), ({"s": {1}}, TypeError), ({"t": "\ud800"}, UnicodeEncodeError), ({"\ud800": 1}, UnicodeEncodeError),
        ({"_id": "other"}, ValueError), ({"_id": 1}, ValueError), ([1], TypeError), ("text", TypeError), (None, TypeError),
    ],
)  # fmt: skip
def test_invalid_documents(train, document, error):
    train.put("a", {"kept": 1})
    with pytest.raises(error):
        train.put("a", document)
    with pytest.raises(error):
        train.put_many([("b", {}), ("a", document)])
    assert dict(train.items()) == {"a": {"kept": 1}}
    loop = {}
    loop["loop"] = loop
    with pytest.raises(ValueError, match="128 levels"):
        train.put("a", loop)


@pytest.mark.parametrize("name", ["", "a b", "é", "../x", "a/b", "x" * 256])
def test_invalid_ids(train, name):
    for put in (train.put, train.__setitem__, lambda name, document: train.put_many({name: document})):
        with pytest.raises(wharf_data.InvalidError):
            put(name, {})
    assert name not in train and train.get(name, None) is None and len(train) == 0


@pytest.mark.parametrize("name", ["..", "../x", "", "a/b"])
def test_invalid_names_of_collections(tmp_path, name):
    with zds.open(tmp_path / "store", "rw") as store, pytest.raises(ValueError):
        store.collection(name)


PREDICATE_VALUES = [None, True, False, 0, 1, -1, 1.0, 0.0, -0.0, 1.5, 2**31, 2**53 + 1, 2**70, 1e300, math.nan, "", "1", "é", [1], [], {"a": 1}, {}]  # fmt: skip


def test_predicates_are_equality_of_python(train):
    documents = [{"a": value, "i": i} for i, value in enumerate(PREDICATE_VALUES) if value == value] + [{}, {"a.b": 1, "a": {"b": 1}}]
    train.put_many({str(i): document for i, document in enumerate(documents)})
    for name, value in product(["a", "a.b", "_id", "none"], PREDICATE_VALUES):
        expected = [document for document in documents if document.get(name) == value]
        assert list(train.scan(predicate={name: value})) == expected, (name, value)
        fields = ["i", "none"]
        projected = [{name: document[name] for name in fields if name in document} for document in expected]
        assert list(train.scan(fields, {name: value})) == projected, (name, value)
    assert list(train.scan(predicate={"a": 1.5, "i": 9})) == [documents[9]]
    assert list(train.scan(predicate={"a": [1], "none": None})) == [document for document in documents if document.get("a") == [1]]


def test_collections_are_mappings_by_id(train):
    train["a"] = {"n": 1}
    train["a"] = {"n": 2}
    assert train["a"] == train.get("a") == {"n": 2} and len(train) == 1 and train and "a" in train and 1 not in train
    with pytest.raises(KeyError, match="b"):
        train["b"]
    with pytest.raises(KeyError):
        train.get("b")
    assert train.get("b", 7) == 7
    del train["a"]
    with pytest.raises(KeyError):
        del train["a"]
    train.compact()
    assert len(train) == 0 and train and repr(train).endswith("count=0)")


def test_load(train, tmp_path):
    lines = b"".join(b'{"_id": "%d", "n": %d}\n' % (i, i) for i in range(1000))
    path = tmp_path / "lines.jsonl"
    path.write_bytes(lines)
    assert train.load(path) == {"documents": 1000, "bytes": len(lines), "replaced": 0, "kept": 0}
    assert train.load(lines, on_duplicate="keep")["kept"] == 1000
    assert train.load(b'{"key": 7, "n": 0}', id_field="key")["replaced"] == 1
    assert train["7"] == {"key": 7, "n": 0} and len(train) == 1000
    for wrong, options in [(b'{"_id": "x"}\n{"_id"', {}), (lines, {"on_duplicate": "refuse"}), (lines, {"on_duplicate": "?"}), (b"{}", {})]:
        with pytest.raises(ValueError):
            train.load(wrong, **options)
    with pytest.raises(ValueError):
        train.load(tmp_path)
    assert len(train) == 1000 and train.read_jsonl_blob().count(b"\n") == 1000


def test_bulk_write_is_one_transaction(train, tmp_path):
    train["a"] = {"n": 1}
    train.flush()
    with pytest.raises(RuntimeError), train.bulk_write():
        train["b"] = {}
        del train["a"]
        raise RuntimeError
    assert train.list_doc_ids() == ["a"]
    with train.bulk_write() as same_collection:
        assert same_collection is train
        train["b"] = {}
    assert zds.open(tmp_path / "store")["train"].list_doc_ids() == ["a", "b"]


def test_handles_share_changes(tmp_path):
    first, second = (zds.ZDSStore.open(tmp_path / "store", "train") for _ in range(2))
    other = zds.ZDSStore.open(str(tmp_path / "store"), "test")
    first["a"] = {"n": 1}
    other["a"] = {"n": 2}
    assert second["a"] == {"n": 1} and list(second) == [{"n": 1}]
    second["b"] = {}
    assert len(first) == 2 and other["a"] == {"n": 2}
    with pytest.raises(ValueError, match="other options"):
        zds.ZDSStore.open(tmp_path / "store", "train", sync_writes=True)


def test_a_scan_is_a_snapshot(train):
    train.put_many((str(i), {"n": i}) for i in range(100))
    scan = train.scan()
    next(scan)
    train["new"] = {}
    del train["50"]
    train.compact()
    assert [document["n"] for document in scan] == list(range(1, 100)) and len(list(train)) == 100


def test_dropped_handles_flush_and_unlock(tmp_path):
    path = tmp_path / "store"
    train = zds.ZDSStore.open(path, "train", sync_writes=True)
    train["a"] = {"n": 1}
    del train
    gc.collect()
    code = "import sys; from wharf_data import zds; s = zds.open(sys.argv[1], 'rw'); s['train']['b'] = {}; s.close()"
    subprocess.run([sys.executable, "-c", code, path], check=True)
    assert zds.open(path)["train"].list_doc_ids() == ["a", "b"]


def test_lock(tmp_path):
    path = tmp_path / "store"
    code = "import sys; from wharf_data import zds; zds.open(sys.argv[1], 'rw')"
    another = [sys.executable, "-c", code, path]
    with zds.open(path, "rw") as store:
        store.collection("train")
        failed = subprocess.run(another, capture_output=True, text=True)
        assert failed.returncode == 1 and "IoError" in failed.stderr and str(path) in failed.stderr
    subprocess.run(another, check=True)
    with zds.Collection.open(path, "train") as train:
        train["a"] = {}
    subprocess.run(another, check=True)  # closed, though not dropped


def test_modes(tmp_path):
    path = tmp_path / "store"
    for missing in (lambda: zds.open(path), lambda: zds.open(path, "rw", create=False), lambda: zds.NativeRoot.open(path, mode="r")):
        with pytest.raises(FileNotFoundError):
            missing()
    with pytest.raises(ValueError, match="mode"):
        zds.open(path, "x")
    with zds.open(path, "rw") as store:
        store["train"]["a"] = {"n": 1}
    store = zds.open(path)
    with pytest.raises(ValueError, match="mode=.rw"):
        store["train"]["b"] = {}
    with pytest.raises(ValueError, match="available: train"):
        store["test"]
    with zds.open(path, "rw", create=False) as store, pytest.raises(ValueError):
        store["test"]
    assert store.list_collections() == ["train"] and "train" in store and list(store) == ["train"]
    store.collection("train")["c"] = {}  # may be used again
    store.close()


def test_strict(tmp_path):
    with zds.open(tmp_path / "store", "rw", strict=True) as store:
        train = store.collection("train")
        train["a"] = {"n": 1}
        with pytest.raises(ValueError, match="schema"):
            train["b"] = {"n": "one"}
    with zds.open(tmp_path / "loose", "rw") as store, pytest.raises(ValueError, match="strict"):
        store.collection("train", strict=True)


def test_archives(tmp_path):
    with zds.open(tmp_path / "store", "rw") as store:
        store["train"].put_many((str(i), {"n": i}) for i in range(100))
    archive = tmp_path / "store.zds"
    import zipfile

    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        with zipfile.ZipFile(archive, "w", method) as out:
            for file in (tmp_path / "store" / "collections").rglob("*"):
                out.write(file, file.relative_to(tmp_path / "store"))
        train = zds.open(archive)["train"]
        assert train["42"] == {"n": 42} and [document["n"] for document in train] == list(range(100))


def test_damaged_documents(tmp_path):
    with zds.open(tmp_path / "store", "rw") as store:
        store["train"].put_many({"a": {"n": 1}, "b": {"n": 2}, "c": {"n": 3}})
    data = tmp_path / "store/collections/train/meta/data.jsonl"
    data.write_bytes(data.read_bytes().replace(b'"n":2', b'"n":x'))
    train = zds.open(tmp_path / "store")["train"]
    for read in (lambda: train["b"], lambda: list(train), lambda: list(train.scan(predicate={"n": 3}))):
        with pytest.raises(wharf_data.InvalidError) as caught:
            read()
        assert (caught.value.key, caught.value.offset, caught.value.format) == ("b", 33, "zds")
    assert train["c"] == {"n": 3}


def test_threads(train):
    def work(number):
        for i in range(200):
            train[f"{number}-{i}"] = {"n": i}
            assert train[f"{number}-{i}"] == {"n": i}
        assert len(list(train.scan())) >= 200

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(train) == 1600


def test_as_a_container(tmp_path):
    """The other way to read a store."""
    with zds.open(tmp_path / "store", "rw") as store:
        store["train"].put_many({"a": {"n": 1}})
    assert wharf_data.open(tmp_path / "store").table().get("a")["n"] == 1


def test_a_transaction_ends_with_its_block(tmp_path):
    with zds.open(tmp_path / "z", "rw") as store:
        c = store.collection("a")
        c.put("before", {"a": 0})
        other = store.collection("a")
        for work in (
            lambda: list(c), lambda: pickle.dumps(c), other.list_doc_ids, c.scan_raw, c.items, c.flush, c.compact, c.close, store.close
        ):
            with pytest.raises(KeyError, match="mine"), c.bulk_write():
                # Before the first change, scans show what is there.
                assert list(c) == [{"a": 0}]
                c.put("q", {"a": 1})
                with pytest.raises(wharf_data.UsageError, match="a transaction is open"):
                    work()
                assert len(c) == 2 and "q" in other and c.get("q") == {"a": 1}
                raise KeyError("mine")
            assert list(c) == [{"a": 0}] and "q" not in other
        with pytest.raises(wharf_data.UsageError, match="a transaction is open"), c.bulk_write(), c.bulk_write():
            pass
        with c.bulk_write():
            c.put("q", {"a": 1})
        assert c.list_doc_ids() == ["before", "q"] and list(other) == [{"a": 0}, {"a": 1}]
        # Its own documents are read before the first is put.
        assert zds.utils.put_unique(c, ((f"copy_{doc_id}", document) for doc_id, document in c.items())) == 2
        assert len(c) == 4
        thread = threading.Thread(target=lambda: failures.append(pytest.raises(wharf_data.UsageError, list, c)))
        failures: list[object] = []
        with c.bulk_write():
            c.put("r", {"a": 2})
            thread.start()
            thread.join()
        assert failures and "r" in c
    assert sorted(zds.open(tmp_path / "z")["a"].list_doc_ids()) == ["before", "copy_before", "copy_q", "q", "r"]


FORK = """
import gc, os, subprocess, sys
import wharf_data
from wharf_data import zds

path, how = sys.argv[1:]
store = zds.open(path, "rw")
trees = store.collection("trees")
trees.put("oak", {"v": 1})
trees.flush() if how == "flushed" else None
trees.put("elm", {"v": 2})
transaction = trees.bulk_write() if how == "transaction" else None
if transaction:
    transaction.__enter__()
    trees.put("fir", {"v": 3})
parent, child = os.getpid(), os.fork()
if child == 0:
    if how in ("write", "transaction"):
        assert sorted(trees.list_doc_ids()) == (["elm", "oak"] if transaction else []), "sees the files"
        for change in (lambda: trees.put("x", {"v": 9}), lambda: trees.delete("oak"), trees.compact, lambda: zds.open(path, "rw")):
            try:
                change()
            except wharf_data.Error as error:
                assert f"another writer holds the lock: process {parent} " in str(error), error
            else:
                os._exit(3)
        trees.flush(), store.close()
        transaction.__exit__(None, None, None) if transaction else None
    elif how == "drop":
        del trees, store
        gc.collect()
    sys.exit()
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
other = subprocess.run([sys.executable, "-c", "import sys; from wharf_data import zds; zds.open(sys.argv[1], 'rw')", path], capture_output=True, text=True)
assert "another writer holds the lock" in other.stderr, other.stderr
trees.put("longer-id", {"v": 4})
transaction.__exit__(None, None, None) if transaction else None
store.close()
child = os.fork()
if child == 0:
    trees.put("ash", {"v": 5})  # the lock is free
    sys.exit()
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("how", ["exit", "drop", "write", "flushed", "transaction"])
def test_a_forked_process_leaves_changes_to_its_parent(tmp_path, how):
    path = tmp_path / "store"
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", FORK, str(path), how], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    expected = {"oak": 1, "elm": 2, "fir": 3, "longer-id": 4, "ash": 5}
    expected = {name: v for name, v in expected.items() if how == "transaction" or name != "fir"}
    trees = zds.open(path).collection("trees")
    assert {name: document["v"] for name, document in trees.items()} == expected
    assert all(trees[name] == {"v": v} for name, v in expected.items())
    assert [problem for problem in wharf_data.open(path).verify() if problem.severity == "error"] == []
    assert len((path / "collections" / "trees" / "meta" / "data.jsonl").read_text().splitlines()) == len(expected)
