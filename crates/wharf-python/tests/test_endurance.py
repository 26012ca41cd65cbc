"""Damaged files, and memory over many calls. `WHARF_FUZZ_SECONDS` and `WHARF_LEAK_FACTOR` (100 for 10^5 opens and 10^7 gets) make them longer."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pa = pytest.importorskip("pyarrow")
np = pytest.importorskip("numpy")

import wharf_data
from wharf_data import ds, simplebloom, zds
from wharf_data.datadings.reader import MsgpackReader
from wharf_data.datadings.writer import FileWriter

FUZZ_SECONDS = float(os.environ.get("WHARF_FUZZ_SECONDS", "5"))
FACTOR = float(os.environ.get("WHARF_LEAK_FACTOR", "0.3"))
OPENS, GETS = int(1_000 * FACTOR), int(100_000 * FACTOR)
#: What allocators keep and what grows once, such as caches.
MOST_GROWTH = 8 << 20


def test_damaged_files() -> None:
    """In a process of its own: a crash is a failure, too."""
    script = Path(__file__).with_name("fuzz.py")
    command = [sys.executable, str(script), str(FUZZ_SECONDS), "0"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=FUZZ_SECONDS + 300)
    assert done.returncode == 0, done.stderr[-4000:]
    assert int(done.stdout.split()[0]) > 10


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("endurance")
    columns = {"n": range(200), "x": [i / 3 for i in range(200)], "text": [f"row {i}" for i in range(200)]}
    paths = {extension: folder / f"d.{extension}" for extension in ("idv", "parquet", "jsonl", "csv", "arrow", "ds", "nc")}
    for path in paths.values():
        wharf_data.write(pa.table(columns), path)
    paths["msgpack"] = folder / "d.msgpack"
    with FileWriter(paths["msgpack"], disable=True) as writer:
        for i in range(200):
            writer.write({"key": f"k{i}", "n": i, "array": np.arange(i % 5), "text": "some text"})
    paths["zds"] = folder / "store"
    with zds.open(paths["zds"], "rw") as store:
        store.collection("train").put_many((f"k{i}", {"n": i, "list": [1, "x"], "nested": {"a": None}}) for i in range(200))
    return paths


def used() -> int:
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def assert_flat(work: Callable[[int], object], count: int) -> None:
    """After a tenth of the work, the rest takes no more memory."""
    if not Path("/proc/self/statm").exists():
        pytest.skip("the memory of this process is not known")
    warm = max(count // 10, 20)
    for number in range(warm):
        work(number)
    before = used()
    for number in range(count - warm):
        work(number)
    growth = used() - before
    assert growth < MOST_GROWTH, f"{growth >> 20} MiB more after {count} times"


def test_opening_leaks_nothing(files: dict[str, Path]) -> None:
    paths = list(files.values())

    def work(number: int) -> None:
        path = paths[number % len(paths)]
        container = wharf_data.open(path)
        container.info()
        for table in container.tables:
            next(iter(table))
        with pytest.raises(wharf_data.Error):
            wharf_data.open(path / "missing.idv")

    assert_flat(work, OPENS)


def test_reading_leaks_nothing(files: dict[str, Path], tmp_path: Path) -> None:
    def work(number: int) -> None:
        for name in ("idv", "jsonl", "msgpack", "ds"):
            wharf_data.open(files[name]).tables[0].to_arrow()
        ds.read(files["ds"])
        MsgpackReader(files["msgpack"]).columns(["n", "text"])
        wharf_data.convert(files["idv"], tmp_path / "out.jsonl", overwrite=True)
        simplebloom.BloomFilter.loads(simplebloom.BloomFilter(100).dumps()).contains(["a", b"b"])

    assert_flat(work, OPENS // 10)


def test_getting_leaks_nothing(files: dict[str, Path]) -> None:
    reader = MsgpackReader(files["msgpack"])
    train = zds.open(files["zds"]).collection("train")
    bloom_filter = simplebloom.BloomFilter(1000)
    missing: list[Any] = []

    def work(number: int) -> None:
        index = number % 200
        assert reader[index]["n"] == index
        assert train[f"k{index}"]["n"] == index
        bloom_filter.__iadd__(f"k{index}")
        if number % 100 == 0:
            assert reader.find_index(f"k{index}") == index and f"k{index}" in bloom_filter
            assert train.get("no", missing) is missing
            with pytest.raises(KeyError):
                train["no"]
            with pytest.raises(KeyError):
                reader.find_index("no")
            with pytest.raises(IndexError):
                reader[200]

    assert_flat(work, GETS)
