"""What `wharf_data.datadings` has besides samples in msgpack files, against the package `datadings`."""

from __future__ import annotations

import copy
import doctest
import inspect
import io
import multiprocessing
import os
import pickle
import random
import warnings
import zipfile
from pathlib import Path
from typing import Any

import pytest

np = pytest.importorskip("numpy", reason="samples have numpy values")

from wharf_data.datadings import index, tools
from wharf_data.datadings.reader import DirectoryReader, ListReader, MsgpackReader, ZipFileReader
from wharf_data.datadings.sets import types
from wharf_data.datadings.tools import compression, msgpack
from wharf_data.datadings.writer import FileWriter

CLASSES = ("ant", "bee", "cat 10", "cat 9")


@pytest.fixture(scope="module")
def original() -> Any:
    return pytest.importorskip("datadings", reason="the package datadings is not installed")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Files in folders, and the same in an archive and in a list."""
    root = tmp_path / "tree"
    lines = []
    with zipfile.ZipFile(tmp_path / "tree.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.mkdir("empty")
        for number, name in enumerate(CLASSES):
            (root / name / "deep").mkdir(parents=True)
            for file in (f"{number}.jpg", f"{number}.txt", f"deep/{number}.jpg"):
                (root / name / file).write_bytes(file.encode() * 50)
                archive.write(root / name / file, f"{name}/{file}")
                lines.append(f"{name}/{file}\t{name}\tmore {number}\n")
    (tmp_path / "list.tsv").write_text("".join(lines))
    return tmp_path


def samples_of(reader: Any) -> dict[Any, Any]:
    return {sample["key"]: sample for sample in reader}


CASES: list[tuple[str, dict[str, Any]]] = [
    ("tree/{LABEL}/**", {}),
    ("tree/{LABEL}/*.jpg", {"numeric_labels": False}),
    ("tree/{LABEL}/**", {"include": ["*.jpg"], "exclude": ["*deep*"]}),
    ("tree/{LABEL}/**", {"labels": ["cat 9", "bee", "ant", "cat 10"]}),
    ("tree/*/*", {"labels": [None]}),
]


@pytest.mark.parametrize(("pattern", "arguments"), CASES)
def test_directories(tree: Path, original: Any, pattern: str, arguments: dict[str, Any]) -> None:
    from datadings.reader import DirectoryReader as Original

    pattern = str(tree / pattern)
    ours, theirs = DirectoryReader(pattern, **arguments), Original(pattern, **arguments)
    assert samples_of(ours) == samples_of(theirs) and len(ours) > 3
    assert ours.labels == theirs.labels and ours.bytes_read == theirs.bytes_read > 0
    patterns = [str(tree / f"tree/{name}/*.*") for name in CLASSES[:2]]
    assert samples_of(DirectoryReader(patterns, labels=[None])) == samples_of(Original(patterns, labels=[None]))


@pytest.mark.parametrize(("pattern", "arguments"), CASES)
def test_archives(tree: Path, original: Any, pattern: str, arguments: dict[str, Any]) -> None:
    from datadings.reader import ZipFileReader as Original

    pattern = pattern.removeprefix("tree/")
    ours, theirs = ZipFileReader(tree / "tree.zip", pattern, **arguments), Original(tree / "tree.zip", pattern, **arguments)
    assert list(ours) == list(theirs) and len(ours) > 3
    assert list(ours.iter(yield_key=True, raw=True)) == list(theirs.iter(yield_key=True, raw=True))


def test_numeric_labels_are_in_the_order_of_natsort(tmp_path: Path, original: Any) -> None:
    natsort = pytest.importorskip("natsort")
    from datadings.reader import DirectoryReader as OriginalDirectory
    from datadings.reader import ListReader as Original

    rng = random.Random(4)
    lists: list[Any] = [["airplane", "3d_printer", "zebra"], ["a", "b", "9", "10"], ["x²", "²", "x1b", "x10", ""], ["e", "é", "f", "ä2", "ä10"], [1, "a", 2.5, "2b"]]
    for _ in range(2000):
        words = {"".join(rng.choices("0129aBb_ é²¼٣", k=rng.randrange(5))) for _ in range(rng.randrange(1, 8))}
        # Those that natsort takes for equal have the order of a set.
        lists.append(list({str(natsort.natsort_key(word)): word for word in words}.values()))
    for labels in lists:
        assert ListReader([{"label": label} for label in labels]).labels == natsort.natsorted(labels), labels
    samples = [{"label": label} for label in lists[0]]
    assert list(ListReader(copy.deepcopy(samples))) == list(Original(copy.deepcopy(samples)))
    for name in ("a", "b", "9", "10"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x").write_bytes(b"")
    ours, theirs = DirectoryReader(str(tmp_path / "{LABEL}/**")), OriginalDirectory(str(tmp_path / "{LABEL}/**"))
    assert samples_of(ours) == samples_of(theirs) and ours.labels == theirs.labels == ["9", "10", "a", "b"]


def test_lists_of_files(tree: Path, original: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from datadings.reader import DirectoryReader as Original
    from datadings.reader import ZipFileReader as OriginalZip

    arguments: dict[str, Any] = {"root_dir": str(tree / "tree"), "convertfun": lambda sample: sample.update(size=len(sample["data"]))}
    ours, theirs = DirectoryReader(tree / "list.tsv", **arguments), Original(tree / "list.tsv", **arguments)
    assert list(ours) == list(theirs) and ours[0]["_additional_info"] == ["more 0"]
    ours, theirs = ZipFileReader(tree / "tree.zip", tree / "list.tsv"), OriginalZip(tree / "tree.zip", tree / "list.tsv")
    assert list(ours) == list(theirs) and len(ours) == 12


@pytest.mark.parametrize("path", ["../list.tsv", "ant/../../list.tsv", "/etc/hostname"])
def test_lists_stay_in_their_folder(tree: Path, path: str) -> None:
    (tree / "bad.tsv").write_text(f"{path}\tlabel\n")
    with pytest.raises(ValueError, match="leads out of"):
        DirectoryReader(tree / "bad.tsv", root_dir=tree / "tree")


def test_files_that_are_missing(tree: Path) -> None:
    (tree / "missing.tsv").write_text("no\tlabel\n\n")
    with pytest.raises(FileNotFoundError):
        DirectoryReader(tree / "missing.tsv", root_dir=tree)[0]
    with pytest.raises(KeyError):
        ZipFileReader(tree / "tree.zip", tree / "missing.tsv")[0]
    with pytest.raises(zipfile.BadZipFile):
        ZipFileReader(tree / "list.tsv")
    with pytest.raises(ValueError, match="None as label"):
        DirectoryReader(tree / "tree/*/*")


def _read(reader: Any, found: Any) -> None:
    for _ in range(100):
        place = random.randrange(len(reader))
        assert Path(reader[place]["path"]).name.encode() in reader[place]["data"]
    found.put(len(reader))


def test_archives_are_read_by_many_processes(tree: Path) -> None:
    reader = ZipFileReader(tree / "tree.zip")
    assert samples_of(pickle.loads(pickle.dumps(reader))) == samples_of(reader) == samples_of(copy.copy(reader))
    context = multiprocessing.get_context("fork")
    found = context.Queue()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        processes = [context.Process(target=_read, args=(reader, found)) for _ in range(3)]
        for process in processes:
            process.start()
    _read(reader, found)
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0, 0]


def test_a_copy_counts_for_itself(tree: Path) -> None:
    reader = DirectoryReader(tree / "tree/{LABEL}/*")
    other = copy.copy(reader)
    assert list(other) == list(reader) and other.bytes_read == reader.bytes_read > 0


def test_index_files(tmp_path: Path, original: Any) -> None:
    import datadings.index as theirs

    keys = ["a", "b ", "ü", *(f"key {number}" for number in range(66_000))]
    for count in (1, 2, 15, 16, 66_003):
        path = tmp_path / f"{count}.msgpack"
        path.write_bytes(b"x" * count)
        offsets = list(range(count + 1))
        for name, values in (("keys", keys[:count]), ("key_hashes", keys[:count]), ("filter", keys[:count]), ("offsets", offsets)):
            written = getattr(index, f"write_{name}")(values, path)
            ours = written.read_bytes()
            assert getattr(theirs, f"write_{name}")(values, path) == written and written.read_bytes() == ours, name
        assert index.keys_len(path) == theirs.keys_len(path) == count
        assert index.load_keys(path) == theirs.load_keys(path) == index.load_keys(written.with_suffix(".keys"))
        (salt, hashes), (their_salt, their_hashes) = index.load_key_hashes(path), theirs.load_key_hashes(path)
        assert salt == their_salt and hashes.dtype == their_hashes.dtype and (hashes == their_hashes).all()
        (salt, hashes), (their_salt, their_hashes) = index.hash_keys(keys[:count]), theirs.hash_keys(keys[:count])
        assert salt == their_salt and hashes.dtype == their_hashes.dtype and (hashes == their_hashes).all()
        assert (index.load_offsets(path) == theirs.load_offsets(path)).all()
        assert all(key in index.load_filter(path) for key in keys[:count])
        path.with_name(path.name + ".index").write_bytes(msgpack.packb(dict(zip(keys, offsets[:count]))))
        assert index.legacy_index_len(path) == theirs.legacy_index_len(path) == count
        assert index.legacy_load_index(path) == theirs.legacy_load_index(path)
    with pytest.raises(RuntimeError):
        index.hash_keys(["twice", "twice"], max_tries=3)
    assert not list(tmp_path.glob("*.tmp"))


def test_damaged_index_files(tmp_path: Path) -> None:
    for suffix, content, load in (
        (".keys", b"", index.keys_len),
        (".keys", b"\xdc\x00", index.keys_len),
        (".keys", b"\x81\xa1a\x00", index.load_keys),
        (".keys", b"\x91\x01", index.load_keys),
        (".key_hashes", b"12345678123", index.load_key_hashes),
        (".offsets", b"123", index.load_offsets),
        (".filter", b"123", index.load_filter),
        (".index", b"\x82\xa1a\x00\xa1a\x05", index.legacy_load_index),
    ):
        (tmp_path / f"d.msgpack{suffix}").write_bytes(content)
        with pytest.raises(ValueError):
            load(tmp_path / "d.msgpack")


def test_tools(tmp_path: Path, original: Any, capsys: pytest.CaptureFixture[str]) -> None:
    import datadings.tools as theirs

    for text, salt in (("", b""), ("key", b"12345678"), ("ü", b"s")):
        assert tools.hash_string(text, salt) == theirs.hash_string(text, salt)
        assert tools.hash_string_bytes(text, salt) == theirs.hash_string_bytes(text, salt)
    for name, suffix in (("a.b", ".b"), ("a.b", ".c"), ("a", "b"), ("a.b.c", ".b")):
        assert tools.path_append_suffix(Path(name), suffix) == theirs.path_append_suffix(Path(name), suffix)
    sums = tmp_path / "d.md5"
    sums.write_text(f"{'0' * 32}  two words.txt\n{'1' * 32}  b\n")
    assert tools.load_md5file(sums) == theirs.load_md5file(sums) and tools.hash_md5hex(sums) == theirs.hash_md5hex(sums)
    files = {"list": {"path": "d.md5", "md5": tools.hash_md5hex(sums)}}
    assert tools.locate_files(files, tmp_path) == theirs.locate_files(files, tmp_path)
    tools.verify_files(files, tmp_path)
    for bad in ({"path": "d.md5", "md5": "0"}, {"path": "../d.md5", "md5": "0"}):
        with pytest.raises(ValueError):
            tools.verify_file(bad, tmp_path)
    image = np.arange(3 * 7 * 5).reshape(3, 7, 5)
    for ours, their in zip(tools.split_array(image, 3, 2), theirs.split_array(image, 3, 2), strict=True):
        assert (ours == their).all() and ours.shape == their.shape
    assert list(tools.yield_threaded(range(100))) == list(range(100)) == list(theirs.yield_threaded(range(100)))
    with pytest.raises(RuntimeError):
        list(tools.yield_threaded(1 / number for number in (1, 0)))
    for kwargs in ({}, {"end": ""}, {"sep": "-", "flush": True}):
        capsys.readouterr()
        tools.print_over("a", 1, **kwargs)
        ours = capsys.readouterr().out
        theirs.print_over("a", 1, **kwargs)
        assert ours == capsys.readouterr().out


@pytest.mark.parametrize("typed", [["y"], [""], ["n"], ["ABORT"], ["what", "a"]])
def test_questions(original: Any, monkeypatch: pytest.MonkeyPatch, typed: list[str]) -> None:
    import datadings.tools as theirs

    def ask(function: Any, **kwargs: Any) -> str:
        answers = iter([*typed, "abort"])
        monkeypatch.setattr("builtins.input", lambda *_: next(answers))
        return function("Really?", **kwargs)

    for kwargs in ({}, {"default": None}, {"default": "one", "answers": ("one", "abort", "noon")}):
        assert ask(tools.query_user, **kwargs) == ask(theirs.query_user, **kwargs)
    with pytest.raises(ValueError, match="default"):
        tools.query_user("Really?", "maybe")


def test_types_of_samples(original: Any) -> None:
    import datadings.sets.types as theirs
    from datadings.tools import document_keys

    names = [name for name, _ in inspect.getmembers(theirs, inspect.isfunction)]
    assert len(names) == 15
    for name in names:
        ours, their = getattr(types, name), getattr(theirs, name)
        assert list(inspect.signature(ours).parameters) == list(inspect.signature(their).parameters)
        arguments = range(len(inspect.signature(their).parameters))
        assert list(ours(*arguments).items()) == list(their(*arguments).items())
        assert tools.document_keys(ours, postfix="x") == document_keys(their, postfix="x")


@pytest.mark.parametrize("name", ["a.txt", "a.gz", "a.xz"])
def test_compressed_files(tmp_path: Path, original: Any, name: str) -> None:
    from datadings.tools.compression import open_comp

    for level in (None, 1):
        with compression.open_comp(tmp_path / name, "wb", level) as file:
            file.write(b"content" * 1000)
        with open_comp(tmp_path / name) as file:
            assert file.read() == b"content" * 1000
        with compression.open_comp(tmp_path / name, "rt", encoding="utf-8") as file:
            assert file.read() == "content" * 1000


def test_streams_of_messages(original: Any) -> None:
    from datadings.tools.msgpack import make_packer, make_unpacker

    values = [1, {"a": np.arange(4)}, ["x", None, 2.5], np.float32(1.5), 1 + 2j]
    stream = b"".join(map(msgpack.make_packer().pack, values))
    assert stream == b"".join(map(make_packer().pack, values))
    assert repr(list(msgpack.make_unpacker(io.BytesIO(stream)))) == repr(list(make_unpacker(io.BytesIO(stream))))
    pickled = make_packer().pack(np.array([{}], object))
    with pytest.raises(Exception, match="pickle"):
        msgpack.make_unpacker(io.BytesIO(pickled)).unpack()


def test_doctests() -> None:
    assert doctest.testmod(tools).failed == 0


# torch


def add(value: int, number: int) -> int:
    return value + number


def negative(value: int) -> int:
    return -value


class Sub:
    def __call__(self, value: int, amount: int = 1) -> int:
        return value - amount


def rng(sample: dict[str, Any]) -> dict[str, Any]:
    return {"number": sample["b"] * 3, "amount": 2}


@pytest.fixture
def theirs_torch(original: Any) -> Any:
    pytest.importorskip("torch")
    return pytest.importorskip("datadings.torch")


def test_torch_datasets(theirs_torch: Any, tmp_path: Path) -> None:
    from torch.utils.data import DataLoader

    import wharf_data.datadings.torch as ours_torch

    with FileWriter(tmp_path / "d.msgpack", disable=True) as writer:
        for number in range(50):
            writer.write({"key": str(number), "a": number, "b": number % 7, "image": number, "label": 0})

    def results(module: Any) -> list[Any]:
        reader = MsgpackReader(tmp_path / "d.msgpack") if module is ours_torch else _their_reader(tmp_path)
        found: list[Any] = []
        for transforms in (None, {"a": module.Compose(add, Sub()), "b": module.Compose([negative])}, lambda sample: sample["a"]):
            dataset = module.Dataset(reader, transforms, rng)
            found += [len(dataset), [dataset[number] for number in (0, 49, 7)]]
            iterable = module.IterableDataset(reader, transforms, rng, batch_size=5)
            found += [len(iterable), list(iterable), list(iterable), iterable.epoch]
            for workers in (0, 2, 5):
                iterable = module.IterableDataset(reader, transforms, rng, batch_size=5, epoch=1)
                found.append([repr(batch) for batch in DataLoader(iterable, batch_size=5, num_workers=workers)])
        for rank in range(3):
            iterable = module.IterableDataset(reader)
            iterable.rank, iterable.world_size = rank, 3
            found += [[sample["a"] for sample in iterable] for _ in range(4)]
        found.append(list(module.dict2tuple(module.Dataset(reader))))
        with pytest.raises(RuntimeError, match="last batch may be empty"):
            list(module.IterableDataset(reader, batch_size=49.5))
        return found

    assert results(ours_torch) == results(theirs_torch)


def _their_reader(folder: Path) -> Any:
    from datadings.reader import MsgpackReader as Original

    return Original(folder / "d.msgpack")


def test_compose(theirs_torch: Any) -> None:
    from wharf_data.datadings.torch import Compose

    for transforms in ((add,), (Sub(),), (add, Sub(), add), ([add, add],)):
        ours, theirs = Compose(*transforms), theirs_torch.Compose(*transforms)
        assert ours.param_names == theirs.param_names
        assert ours(5, {"number": 4, "other": 1}) == theirs(5, {"number": 4, "other": 1})
    assert Compose(add, prefix="mask_")(1, {"number": 9, "mask_number": 2}) == 3
    with pytest.raises(KeyError, match="Required parameters"):
        Compose(add)(5, {})
    for bad in (5, lambda: 5):
        with pytest.raises(ValueError):
            Compose(bad)
    assert Compose(abs)(-5, {}) == 5
    with pytest.warns(UserWarning, match="varargs"):
        assert Compose(lambda *values: values[0])(5, {"number": 1}) == 5


def test_images(theirs_torch: Any) -> None:
    from PIL import Image

    from wharf_data.datadings.torch import CompressedToPIL

    pixels = np.random.default_rng(0).integers(0, 255, (8, 9, 3), np.uint8)
    for kind in ("JPEG", "PNG"):
        buffer = io.BytesIO()
        Image.fromarray(pixels).save(buffer, kind)
        ours, theirs = CompressedToPIL()(buffer.getvalue()), theirs_torch.CompressedToPIL()(buffer.getvalue())
        assert (np.asarray(ours) == np.asarray(theirs)).all() and ours.mode == theirs.mode


def test_names_of_the_original(original: Any) -> None:
    import datadings.index
    import datadings.reader
    import datadings.tools
    import datadings.writer

    from wharf_data.datadings import reader, writer

    def missing(theirs: Any, ours: Any) -> set[str]:
        own = {name for name, value in vars(theirs).items() if getattr(value, "__module__", "").startswith(theirs.__name__)}
        return {name for name in own if not name.startswith("_") and not hasattr(ours, name)}

    assert missing(datadings.reader, reader) == missing(datadings.index, index) == missing(datadings.writer, writer) == set()
    # See the docstring of `tools`.
    assert missing(datadings.tools, tools) == {
        "ProgressPrinter", "make_printer", "download_if_not_found", "download_files_if_not_found", "prepare_indir", "tiff_to_nd_array",
        "Yielder", "YielderProc", "SentinelEnd", "SentinelError", "yield_process",
    }  # fmt: skip
