"""`wharf_data.datadings` against the package `datadings`, and on its own."""

from __future__ import annotations

import contextlib
import copy
import gc
import multiprocessing
import os
import pickle
import random
import shutil
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

np = pytest.importorskip("numpy", reason="samples have numpy values")
hypothesis = pytest.importorskip("hypothesis")

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

import wharf_data
from wharf_data import _native
from wharf_data.datadings.reader import (
    Cycler,
    ListReader,
    MsgpackReader,
    QuasiShuffler,
    Range,
    Repeater,
    ShardedReader,
    Shuffler,
)
from wharf_data.datadings.tools.msgpack import packb, unpackb
from wharf_data.datadings.writer import FileWriter, RawWriter, Writer

try:
    import datadings.reader as original_reader
    import datadings.reader.augment as original_augment
    import datadings.writer as original_writer
    from datadings.reader.sharded import ShardedReader as OriginalShardedReader
    from datadings.tools.msgpack import packb as original_packb
    from datadings.tools.msgpack import unpackb as original_unpackb
except ImportError:
    original_reader = None

with_original = pytest.mark.skipif(original_reader is None, reason="the package datadings is not installed")

GOLDEN = Path(__file__).parents[3] / "tests" / "golden"
PARTS = ("", ".offsets", ".keys", ".key_hashes", ".filter", ".md5")


def same(ours: Any, theirs: Any) -> bool:
    """Whether values and types are equal, NaN to itself."""
    if type(ours) is not type(theirs):
        return False
    if isinstance(ours, dict):
        pairs = zip(ours.items(), theirs.items(), strict=True)
        return len(ours) == len(theirs) and all(same(a, b) and same(x, y) for (a, x), (b, y) in pairs)
    if isinstance(ours, (list, tuple)):
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    if isinstance(ours, np.ndarray):
        if ours.dtype != theirs.dtype or ours.shape != theirs.shape or ours.flags.writeable != theirs.flags.writeable:
            return False
        return ours.tobytes() == theirs.tobytes()
    if isinstance(ours, np.generic):
        return ours.dtype == theirs.dtype and ours.tobytes() == theirs.tobytes()
    return bool(ours == theirs) or repr(ours) == repr(theirs)


def tiny(count: int) -> list[dict[str, Any]]:
    return [{"key": f"sample {i}", "label": i % 7, "x": i / 3, "array": np.arange(i % 5, dtype="<i4")} for i in range(count)]


def write(path: Path, samples: list[dict[str, Any]]) -> Path:
    with FileWriter(path, disable=True) as writer:
        for sample in samples:
            writer.write(sample)
    return path


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("datadings") / "d.msgpack", tiny(1000))


# Values

DTYPES = [
    "|b1", "|i1", "|u1", *(order + kind for order in "<>" for kind in
    ("i2", "i4", "i8", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16", "U3", "M8[ns]", "M8[D]", "m8[s]")), "|S4", "<U0",
]  # fmt: skip
if np.dtype(np.longdouble).itemsize == 16:
    DTYPES += ["<f16", "<c32"]

numpy_arrays = st.sampled_from(DTYPES).flatmap(
    lambda dtype: npst.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4).map(
        lambda shape: np.frombuffer(
            random.Random(hash((dtype, shape))).randbytes(
                max(np.dtype(dtype).itemsize, 1) * int(np.prod(shape, dtype=int))
            ).translate(bytes(byte & 1 for byte in range(256)) if dtype[1] in "bU" else None),
            dtype="u1",
        )[: np.dtype(dtype).itemsize * int(np.prod(shape, dtype=int))].view(dtype).reshape(shape)
        if np.dtype(dtype).itemsize
        else np.zeros(shape, dtype)
    )
)
structured = st.sampled_from(
    [
        np.zeros(3, [("a", "<i4"), ("b", ">f8", (2, 3))]),
        np.zeros((2, 2), [("a", "|S3"), ("nested", [("x", "<u2"), ("y", "<U2", 4)])]),
        np.zeros(0, [("a", "?")]),
    ]
)
numpy_scalars = st.sampled_from(DTYPES).filter(lambda name: name[1] in "biufc").map(lambda name: np.ones((), name)[()])
plain = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats()
    | st.text()
    | st.binary()
    | st.complex_numbers()
    | numpy_scalars
    | numpy_arrays
    | structured
)
values = st.recursive(
    plain,
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(st.text() | st.integers(-9, 9) | st.binary(), inner, max_size=4),
    max_leaves=12,
)


@with_original
@settings(max_examples=150, deadline=None)
@given(values)
def test_values_are_those_of_the_original(value: Any) -> None:
    try:
        expected = original_packb(value)
    except ValueError:  # it cannot write times, which we can
        assert same(unpackb(packb(value)), unpackb(packb(unpackb(packb(value)))))
        return
    assert packb(value) == expected
    try:
        theirs = original_unpackb(expected)
    except (ValueError, TypeError) as error:
        with pytest.raises((ValueError, TypeError)):
            unpackb(expected)
        assert error
        return
    assert same(unpackb(expected), theirs)


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_in_files(tmp_path: Path, dtype: str) -> None:
    arrays = [np.zeros(shape, dtype) for shape in [(), (0,), (3,), (2, 3), (1, 0, 2)]]
    samples = [{"key": str(i), "array": array, "pad": "x" * i} for i, array in enumerate(arrays)]
    path = write(tmp_path / "d.msgpack", samples)
    for access in ("mapped", "positional"):
        for ours, sample in zip(MsgpackReader(path, access=access), samples, strict=True):
            assert ours["array"].dtype == sample["array"].dtype and ours["array"].shape == sample["array"].shape
            assert not ours["array"].flags.writeable and ours["array"].tobytes() == sample["array"].tobytes()


class Text(str):
    pass


class Numbers(dict[str, int]):
    pass


@with_original
@pytest.mark.parametrize(
    "value",
    [
        np.float64(1.5), np.str_("a"), np.bytes_(b"a"), np.bool_(True), np.complex128(1j), Text("a"), Numbers(a=1),
        bytearray(b"abc"), memoryview(b"abc"), (1, (2, 3)), np.timedelta64(3, "s"), np.arange(6).reshape(2, 3).T,
        np.arange(9)[::2], {1: 2, b"x": 3, 2.5: 4, None: 5},
        {b"nd": True}, {b"nd": 1, b"type": "<i4", b"data": b"\1\0\0\0"}, {"nd": True, "type": "<i4"},
        {b"nd": True, b"type": b"<i4", b"shape": [1], b"data": b"\1\0\0\0"},
        {b"data": b"\1\0\0\0", b"shape": [1], b"type": "<i4", b"nd": True},
        {b"nd": True, b"type": "<i4", b"shape": [1], b"data": b"\1\0\0\0\2\0\0\0", "more": 1},
        {b"complex": False, b"data": "1j"}, {b"complex": True, b"data": b"(1+2j)"}, {"a": {b"complex": True}},
        {b"nd": True, b"kind": b"V", b"type": [[b"a", b"<i4"]], b"shape": [1], b"data": b"\1\0\0\0"},
    ],
    ids=repr,
)  # fmt: skip
def test_rare_values(value: Any) -> None:
    try:
        expected = original_packb(value)
    except ValueError:
        assert unpackb(packb(value)) is not None
        return
    assert packb(value) == expected
    assert same(unpackb(expected), original_unpackb(expected))


@with_original
def test_extension_types() -> None:
    import msgpack

    for value in (msgpack.ExtType(5, b"abc"), msgpack.ExtType(127, b"x" * 300), msgpack.Timestamp(5, 7)):
        assert packb([value]) == original_packb([value])
        assert unpackb(packb(value)) == value


@pytest.mark.parametrize("value", [object(), {1, 2}, 1 << 64, -(1 << 63) - 1, {"a": [range(3)]}])
def test_values_without_an_encoding(value: Any) -> None:
    with pytest.raises((TypeError, OverflowError)):
        packb(value)


class Attack:
    """Unpickling it fails the test."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (pytest.fail, ("a pickle was loaded",))


def test_pickles_are_refused() -> None:
    for array in (np.array([None]), np.zeros(2, [("a", "O")])):
        with pytest.raises(wharf_data.UnsupportedError, match="pickle"):
            packb(array)
    data = pickle.dumps(Attack())
    for kind in ({b"kind": b"O"}, {b"kind": b""}, {}):
        for name in ("|O", "O"):
            for head in ({b"nd": True}, {"first": 1, b"nd": True}):
                with pytest.raises(wharf_data.UnsupportedError, match="pickle"):
                    unpackb(packb({**head, b"type": name, **kind, b"shape": [1], b"data": data}))
    with pytest.raises(wharf_data.UnsupportedError, match="pickle"):
        unpackb(packb({b"nd": True, b"type": [["a", "O"]], b"kind": b"V", b"shape": [1], b"data": data}))


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=60) | values.map(packb), st.data())
def test_damaged_messages_raise(message: bytes, data: st.DataObject) -> None:
    damaged = bytearray(message)
    for _ in range(data.draw(st.integers(0, 3))):
        if damaged:
            damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(wharf_data.Error):
        unpackb(bytes(damaged[: data.draw(st.integers(0, len(damaged)))]))


def test_shapes_stay_inside_the_value(tmp_path: Path) -> None:
    lie = {b"nd": True, b"type": "<i4", b"kind": b"", b"shape": [100], b"data": b"\0" * 8}
    path = write(tmp_path / "d.msgpack", [{"key": "a", "array": lie}, {"key": "b", "pad": b"x" * 1000}])
    with pytest.raises(wharf_data.InvalidError, match="does not fit") as caught:
        MsgpackReader(path)[0]
    assert caught.value.row == 0 and str(path) == caught.value.path
    deep: Any = 1
    for _ in range(200):
        deep = [deep]
    with pytest.raises(wharf_data.LimitError):
        packb(deep)
    with pytest.raises(wharf_data.LimitError):
        unpackb(b"\x91" * 100_000 + b"\x01")


# Files


@with_original
@settings(max_examples=15, deadline=None)
@given(st.lists(st.dictionaries(st.text(), values, max_size=4), max_size=6))
def test_files_are_those_of_the_original(tmp_path_factory: pytest.TempPathFactory, samples: list[dict[str, Any]]) -> None:
    folder = tmp_path_factory.mktemp("same")
    samples = [{"key": f"k{i}", **sample, "last": i} for i, sample in enumerate(samples)]
    samples = [{**sample, "key": f"k{i}"} for i, sample in enumerate(samples)]
    try:
        with original_writer.FileWriter(folder / "theirs" / "d.msgpack", disable=True) as writer:
            for sample in samples:
                writer.write(sample)
    except ValueError:  # times
        return
    write(folder / "ours" / "d.msgpack", samples)
    with RawWriter(folder / "raw" / "d.msgpack", disable=True) as raw:
        for sample in samples:
            raw.write(sample["key"], packb(sample))
    for part in PARTS:
        theirs = (folder / "theirs" / f"d.msgpack{part}").read_bytes()
        for ours in ("ours", "raw"):
            assert (folder / ours / f"d.msgpack{part}").read_bytes() == theirs, part
    if samples:
        theirs_read = list(original_reader.MsgpackReader(folder / "ours" / "d.msgpack"))
        for access in ("mapped", "positional"):
            assert same(list(MsgpackReader(folder / "theirs" / "d.msgpack", access=access)), theirs_read)


def goldens() -> list[Path]:
    folders = [folder for folder in GOLDEN.glob("datadings*") if folder.is_dir()]
    return sorted(path for folder in folders for path in folder.rglob("*.msgpack"))


@with_original
@pytest.mark.parametrize("path", goldens(), ids=lambda path: path.stem)
def test_goldens(path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours = MsgpackReader(path)
        try:
            assert len(ours) == len(original_reader.MsgpackReader(path))
        except FileNotFoundError:
            # The original needs keys to count the samples.
            assert not path.with_name(f"{path.name}.keys").exists()
    for index in range(len(ours)):
        try:
            # Not the original's `get`, which needs n + 1 offsets.
            expected = original_unpackb(ours.get(index, raw=True))
        except Exception as error:  # what the original cannot decode
            with pytest.raises(Exception):  # noqa: B017
                ours[index]
            assert error
            continue
        try:
            found = ours[index]
        except wharf_data.UnsupportedError as refused:
            assert "pickle" in str(refused)
            continue
        assert same(found, expected), index
        if not path.stem.startswith("raw-"):  # whose samples need no key
            assert ours.find_key(index) == found["key"] and ours.find_index(found["key"]) == index


def test_writer(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "new" / "d.msgpack"
    writer = FileWriter(path, total=3)
    for bad, error in (({"label": 1}, KeyError), ({"key": 1}, TypeError), ({"key": "a", "b": object()}, TypeError)):
        with pytest.raises(error):
            writer.write(bad)
    writer.write({"key": "a"})
    with pytest.raises(ValueError, match="duplicate key"):
        writer.write({"key": "a", "other": 1})
    assert writer.written == 1 and not path.exists()
    writer.close()
    writer.close()
    assert capsys.readouterr().out == "1 samples written\n"
    with pytest.raises(ValueError, match="closed"):
        writer.write({"key": "b"})
    with pytest.raises(FileExistsError):
        FileWriter(path)
    monkeypatch.setattr(sys, "stdin", type("Terminal", (), {"isatty": lambda _: True})())
    for answer, error in (("n", FileExistsError), ("abort", KeyboardInterrupt)):
        monkeypatch.setattr("builtins.input", lambda _, answer=answer: answer)
        with pytest.raises(error):
            RawWriter(path)
    monkeypatch.setattr("builtins.input", lambda _: "")
    # What was written before an exception is there.
    with pytest.raises(ZeroDivisionError), RawWriter(path, disable=True) as raw:
        raw.write("x", memoryview(packb({"key": "x"})))
        raise ZeroDivisionError
    assert list(MsgpackReader(path)) == [{"key": "x"}]

    class Doubled(Writer):
        def write(self, key: str, number: int) -> None:
            self._write(key, {"key": key, "number": 2 * number})

    with Doubled(path, overwrite=True, disable=True) as doubled:
        doubled.write("y", 21)
    assert list(MsgpackReader(path)) == [{"key": "y", "number": 42}]


# Reading


def test_access_by_index_and_key(dataset: Path) -> None:
    with MsgpackReader(dataset) as reader:
        assert len(reader) == 1000 and "sample 7" in reader and "missing" not in reader
        assert reader[7]["key"] == reader[-993]["key"] == reader.find_key(7) == reader.find_key(-993) == "sample 7"
        assert reader.find_index("sample 7") == 7 and reader.find_indexes(["sample 9", "no"]) == [9, None]
        assert [sample["label"] for sample in reader[-3:]] == [997 % 7, 998 % 7, 999 % 7]
        assert len(list(reader[5:-5])) == 990 and not list(reader[9:3])
        key, sample = reader.get(3, yield_key=True)
        assert key == sample["key"] == "sample 3" and reader[np.int64(3)]["key"] == key
        raw, view = reader.get(3, raw=True), reader.get(3, raw=True, copy=False)
        assert type(raw) is bytes and type(view) is memoryview and raw == view and view.readonly
        for bad in (1000, -1001):
            with pytest.raises(IndexError):
                reader[bad]
            with pytest.raises(IndexError):
                reader.seek(bad)
        with pytest.raises(KeyError, match="missing"):
            reader.find_index("missing")
        with pytest.raises(ValueError, match="step"):
            reader[::2]
        with pytest.raises(TypeError):
            reader["sample 7"]
    assert reader[0]["key"] == "sample 0"  # opens again


@with_original
def test_position_moves_as_in_the_original(dataset: Path) -> None:
    calls = random.Random(1)
    ours, theirs = MsgpackReader(dataset), original_reader.MsgpackReader(dataset)
    pending: list[tuple[Iterator[Any], Iterator[Any]]] = []
    for _ in range(2000):
        index, choice = calls.randrange(1000), calls.randrange(6)
        if choice == 0:
            ours.seek(index), theirs.seek(index)
        elif choice == 1:
            ours.seek_key(f"sample {index}"), theirs.seek_key(f"sample {index}")
        elif choice == 2:
            step = calls.choice(["next", "rawnext", "__next__"])
            assert same(getattr(ours, step)(), getattr(theirs, step)())
        elif choice == 3:
            arguments = calls.choice(
                [{}, {"start": index}, {"stop": 1000}, {"raw": True}, {"yield_key": True, "chunk_size": 3}, {"start": -5}]
            )
            pending.append((ours.iter(**arguments), theirs.iter(**arguments)))
        elif pending:
            pair = calls.choice(pending)
            for _ in range(calls.randrange(1, 40)):
                one, other = (next(samples, None) for samples in pair)
                assert same(one, other)
                if one is None:
                    pending.remove(pair)
                    break
        assert ours._i % 1000 == theirs._i % 1000
        ours._i = theirs._i = ours._i % 1000
    ours.seek(999), theirs.seek(999)
    assert same(list(ours), list(theirs)) and ours._i == theirs._i
    assert same(list(ours), list(theirs))  # from the start


def test_stop_iteration_and_empty_datasets(tmp_path: Path) -> None:
    reader = MsgpackReader(write(tmp_path / "empty.msgpack", []))
    assert len(reader) == 0 and list(reader) == [] and list(reader[:]) == [] and reader.columns(["a"])["a"].shape == (0,)
    assert next(reader, None) is None
    with pytest.raises(StopIteration):
        reader.next()
    with pytest.raises(StopIteration):
        reader.rawnext()
    with pytest.raises(IndexError):
        reader[0]


def test_missing_files(dataset: Path, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="d.msgpack not found"):
        MsgpackReader(tmp_path / "d.msgpack")
    for part in ("", ".offsets"):
        shutil.copy(f"{dataset}{part}", tmp_path)
    with pytest.warns(UserWarning, match="not found, some functionality") as warned:
        reader = MsgpackReader(tmp_path / "d.msgpack")
    assert len(warned) == 3 and reader.find_index("sample 5") == 5 and reader.find_key(6) == "sample 6"
    with pytest.raises(FileNotFoundError):
        reader.verify_data()
    (tmp_path / "d.msgpack.offsets").unlink()
    with pytest.raises(FileNotFoundError, match="need at least one of"):
        MsgpackReader(tmp_path / "d.msgpack")


def test_damage_is_located(dataset: Path, tmp_path: Path) -> None:
    for part in PARTS:
        shutil.copy(f"{dataset}{part}", tmp_path)
    path = tmp_path / "d.msgpack"
    data = bytearray(path.read_bytes())
    at = data.index(b"sample 500") + len("sample 500")
    data[at] = 0xC1
    path.write_bytes(data)
    reader = MsgpackReader(path)
    assert not reader.verify_data() and not reader.verify_index() or not reader.verify_data()
    with pytest.raises(wharf_data.InvalidError) as caught:
        reader[500]
    assert (caught.value.row, caught.value.offset, caught.value.path) == (500, at, str(path))
    samples = iter(reader)
    assert sum(1 for _ in zip(range(500), samples, strict=False)) == 500
    with pytest.raises(wharf_data.InvalidError):
        next(samples)


def test_arrays_are_views_that_outlive_the_reader(tmp_path: Path) -> None:
    image = np.arange(10_000, dtype="u1").reshape(100, 100)
    path = write(tmp_path / "d.msgpack", [{"key": str(i), "image": image + i} for i in range(9)])
    reader = MsgpackReader(path)
    views = [sample["image"] for sample in reader]
    assert all(type(view.base) is _native.Buffer and not view.flags.writeable for view in views)
    reader.close()
    del reader
    path.unlink()
    gc.collect()
    assert all((view == image + i).all() for i, view in enumerate(views))


def test_unaligned_arrays_are_copied(tmp_path: Path) -> None:
    samples = [{"key": "k" * i, "x": np.arange(20, dtype="<f8")} for i in range(1, 30)]
    reader = MsgpackReader(write(tmp_path / "d.msgpack", samples))
    arrays = [sample["x"] for sample in reader]
    assert all(array.flags.aligned and (array == np.arange(20)).all() for array in arrays)
    assert {type(array.base) for array in arrays} == {_native.Buffer, bytes}


def test_copies_and_pickles(dataset: Path) -> None:
    reader = MsgpackReader(dataset)
    reader.seek(17)
    for twin in (copy.copy(reader), copy.deepcopy(reader), pickle.loads(pickle.dumps(reader))):
        assert type(twin) is MsgpackReader and next(twin)["key"] == "sample 17"
    assert next(reader)["key"] == "sample 17"


def test_columns(dataset: Path) -> None:
    reader = MsgpackReader(dataset)
    samples = list(reader)
    columns = reader.columns(["x", "label", "key"])
    assert columns["x"].tolist() == [sample["x"] for sample in samples] and columns["x"].dtype == "<f8"
    assert columns["label"].tolist() == [sample["label"] for sample in samples]
    assert columns["key"] == [sample["key"] for sample in samples]
    assert reader.columns(["label"], rows=slice(-5, None))["label"].tolist() == columns["label"][-5:].tolist()
    assert reader.columns(["label"], rows=[5, -1, 5])["label"].tolist() == columns["label"][[5, -1, 5]].tolist()
    assert reader.columns(["array"], rows=range(4, 5))["array"].tolist() == [[0, 1, 2, 3]]
    with pytest.raises(wharf_data.InvalidError, match="shape") as caught:
        reader.columns(["array"], rows=slice(4, 9))
    assert caught.value.row == 5 and caught.value.column == "array"
    with pytest.raises(wharf_data.InvalidError) as caught:
        reader.columns(["nothing"])
    assert caught.value.column == "nothing"
    for rows in (range(990, 1001), [1000]):
        with pytest.raises(IndexError):
            reader.columns(rows=rows)


@pytest.mark.parametrize("dtype", [dtype for dtype in DTYPES if dtype != "<U0"])
def test_columns_of_every_dtype(tmp_path: Path, dtype: str) -> None:
    arrays = np.frombuffer(random.Random(3).randbytes(700 * 3 * np.dtype(dtype).itemsize), "u1")
    arrays = (arrays & 1 if dtype[1] in "bU" else arrays).view(dtype).reshape(700, 3)
    path = write(tmp_path / "d.msgpack", [{"key": str(i), "a": array} for i, array in enumerate(arrays)])
    for threads in (1, 4):
        found = MsgpackReader(path).columns(["a"], threads=threads)["a"]
        assert found.dtype == arrays.dtype and found.tobytes() == arrays.tobytes() and found.flags.writeable


def test_shards(dataset: Path, tmp_path: Path) -> None:
    samples = tiny(100)
    for start, stop in ((0, 30), (30, 30), (30, 99), (99, 100)):
        write(tmp_path / f"part-{start:03}-{stop}.msgpack", samples[start:stop])
    with ShardedReader(str(tmp_path / "part-*.msgpack")) as reader:
        assert len(reader) == 100 and same([sample["key"] for sample in reader], [sample["key"] for sample in samples])
        for index in (0, 29, 30, 98, 99, -1, -71):
            key = samples[index]["key"]
            assert reader[index]["key"] == reader.find_key(index) == key and samples[reader.find_index(key)]["key"] == key
        assert [sample["key"] for sample in reader[25:35]] == [sample["key"] for sample in samples[25:35]]
        assert "sample 99" in reader and "no" not in reader
        with pytest.raises(KeyError):
            reader.find_index("no")
        for bad in (100, -101):
            with pytest.raises(IndexError):
                reader[bad]
    mixed = ShardedReader([dataset, ListReader([{"key": "memory"}])])
    assert len(mixed) == 1001 and mixed[-1]["key"] == "memory"
    if original_reader is not None:
        (tmp_path / "part-030-30.msgpack").unlink()  # it cannot iterate empty shards
        theirs = OriginalShardedReader(str(tmp_path / "part-*.msgpack"))
        reader = ShardedReader(str(tmp_path / "part-*.msgpack"))
        assert same(list(reader.iter(10, 95, yield_key=True)), list(theirs.iter(10, 95, yield_key=True)))


@with_original
@pytest.mark.parametrize("count", [1, 15, 16, 17, 100, 1000])
def test_augments_have_the_orders_of_the_original(tmp_path: Path, count: int) -> None:
    path = write(tmp_path / "d.msgpack", tiny(count))

    def keys(augment: Any, positions: list[int], limit: int = 3000) -> list[str]:
        found = []
        for position in positions:
            augment.seek(position)
            found += [key for key, _ in zip((s["key"] for s in augment), range(limit), strict=False)]
            found += [key for key, _ in augment.iter(yield_key=True)] if limit == 3000 else []
        return found

    makers: list[tuple[str, dict[str, Any]]] = [
        ("Shuffler", {}), ("Shuffler", {"seed": 5}), ("Repeater", {"times": 3}), ("Range", {"start": -1}),
        ("Range", {"start": count // 3, "stop": -1}), ("QuasiShuffler", {}), ("QuasiShuffler", {"buf_size": 48, "seed": 9}),
        ("QuasiShuffler", {"buf_size": 40, "chunk_size": 7}), ("QuasiShuffler", {"buf_size": 5000}),
    ]  # fmt: skip
    ours_by_name = {maker.__name__: maker for maker in (Shuffler, Repeater, Range, QuasiShuffler)}
    for name, arguments in makers:
        ours = ours_by_name[name](MsgpackReader(path), **arguments)
        theirs = getattr(original_augment, name)(original_reader.MsgpackReader(path), **arguments)
        assert len(ours) == len(theirs)
        positions = [0] if name == "Range" else [0, count // 2, count - 1]
        assert keys(ours, positions) == keys(theirs, positions), (name, arguments)
    cycles = keys(Cycler(MsgpackReader(path)), [1], 2 * count + 3)
    assert cycles == keys(original_augment.Cycler(original_reader.MsgpackReader(path)), [1], 2 * count + 3)


@with_original
def test_list_reader() -> None:
    def samples() -> list[dict[str, Any]]:
        return [{"data": i, "label": f"class {i % 11}"} for i in range(50)]

    ours, theirs = ListReader(samples()), original_reader.ListReader(samples())
    assert ours.labels == theirs.labels and same(list(ours), list(theirs)) and same(list(ours.rawiter()), list(theirs.rawiter()))
    ours, theirs = (kind(samples(), numeric_labels=False) for kind in (ListReader, original_reader.ListReader))
    assert same(ours[5], theirs[5]) and ours.find_index(5) == 5


# Processes and threads


def read_all(reader: MsgpackReader, pipe: Any) -> None:
    pipe.send([sample["key"] for sample in reader] + [reader.find_index("sample 3"), len(reader.columns(["x"])["x"])])


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_processes(dataset: Path, method: str) -> None:
    reader = MsgpackReader(dataset)
    reader.columns(["x"], threads=2)
    assert reader[0]["key"] == "sample 0"
    context = multiprocessing.get_context(method)
    ends = [context.Pipe() for _ in range(2)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # fork in a process with threads: what is tested
        workers = [context.Process(target=read_all, args=(reader, theirs)) for _, theirs in ends]
        for worker in workers:
            worker.start()
    for here, _ in ends:
        assert here.poll(60)
        assert here.recv() == [f"sample {i}" for i in range(1000)] + [3, 1000]
    for worker in workers:
        worker.join(60)
        assert worker.exitcode == 0


def test_threads_share_a_reader(dataset: Path) -> None:
    reader = MsgpackReader(dataset)
    shared = reader.iter(0)
    together: list[str] = []
    errors: list[BaseException] = []

    def work(seed: int) -> None:
        try:
            rng = random.Random(seed)
            for _ in range(2000):
                index = rng.randrange(1000)
                assert reader[index]["key"] == f"sample {index}" and reader.find_index(f"sample {index}") == index
                if rng.randrange(100) == 0:
                    reader.close()
            together.extend(sample["key"] for sample in shared)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors and sorted(together) == sorted(f"sample {i}" for i in range(1000))


def test_memory_stays_flat(dataset: Path) -> None:
    resource = pytest.importorskip("resource")

    def used() -> int:
        pages = int(Path("/proc/self/statm").read_text().split()[1]) if Path("/proc/self/statm").exists() else 0
        return pages * resource.getpagesize()

    def work() -> None:
        for _ in range(100):
            reader = MsgpackReader(dataset)
            reader[3], reader.find_index("sample 9"), next(iter(reader))
            unpackb(packb({"a": [1.5, "text", b"bytes", np.arange(5), 1j]}))
        for _ in range(5):
            list(reader)
        with contextlib.suppress(wharf_data.Error):
            reader.columns(["array"])

    work()
    before = used()
    for _ in range(4):
        work()
    assert used() - before < 4 << 20


def test_masked_arrays_have_no_fill_values():
    for data in ([1, 2, 3], [1.0, 2.0, 3.0]):
        with pytest.raises(TypeError, match="expected an array without missing elements"):
            packb(np.ma.masked_array(data, [0, 1, 0]))
        assert unpackb(packb(np.ma.masked_array(data))).tolist() == data


def test_a_field_is_selected_once(tmp_path):
    with FileWriter(tmp_path / "d.msgpack", disable=True) as writer:
        writer.write({"key": "k", "l": 1})
    with MsgpackReader(tmp_path / "d.msgpack") as reader, pytest.raises(ValueError, match='the field "l" is selected twice'):
        reader.columns(["l", "l"])


FORK = """
import os, sys
from wharf_data import UsageError
from wharf_data.datadings.writer import FileWriter

path, how = sys.argv[1:]
child = None
try:
    with FileWriter(path) as writer:
        for number in range(3000):
            writer.write({"key": str(number), "data": bytes(1000)})
        child = os.fork()
        if child == 0:
            if how == "write":
                try:
                    writer.write({"key": "child"})
                except UsageError as error:
                    assert "a forked process cannot write to it" in str(error)
                else:
                    os._exit(3)
                writer.close()
            elif how == "drop":
                del writer
            sys.exit()
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        writer.write({"key": "last", "data": b""})
finally:
    if child == 0:
        assert len(os.listdir(os.path.dirname(path))) > 0
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("how", ["exit", "drop", "write"])
def test_a_forked_process_leaves_a_writer_to_its_parent(tmp_path: Path, how: str) -> None:
    path = tmp_path / "x.msgpack"
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", FORK, str(path), how], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "3001 samples written\n")
    with MsgpackReader(path) as reader:
        assert [sample["key"] for sample in reader] == [*map(str, range(3000)), "last"]
    assert wharf_data.open(path).verify() == []
    assert not [name for name in os.listdir(tmp_path) if name.startswith(".")]


def test_columns_take_the_last_of_equal_keys(tmp_path: Path) -> None:
    path = tmp_path / "x.msgpack"
    with RawWriter(path, disable=True) as writer:
        writer.write("first", b"\x83\xa1a\x01\xa1b\x07\xa1a\x02")
        writer.write("second", b"\x83\xa1a\x03\xa1a\x04\xa1b\x08")
        writer.write("third", b"\x82\xa1b\x09\xa1a\x05")
    reader = MsgpackReader(path)
    assert [(sample["a"], sample["b"]) for sample in reader] == [(2, 7), (4, 8), (5, 9)]
    for fields in (["a"], ["b", "a"], None):
        columns = reader.columns(fields)
        assert columns["a"].tolist() == [2, 4, 5] and (fields == ["a"] or columns["b"].tolist() == [7, 8, 9])
    with RawWriter(tmp_path / "bad.msgpack", disable=True) as writer:
        writer.write("first", b"\x82\xa1a\x01\xa1a\xa1x")
    assert MsgpackReader(tmp_path / "bad.msgpack").columns(["a"])["a"] == ["x"]
