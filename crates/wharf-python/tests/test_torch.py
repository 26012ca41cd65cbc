"""`wharf_data.sampling` and `wharf_data.torch`: every sample exactly once, whatever happens."""

from __future__ import annotations

import copy
import multiprocessing
import os
import pickle
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

np = pytest.importorskip("numpy")

import wharf_data
from wharf_data._parts import column_values, table_columns
from wharf_data.datadings.reader import MsgpackReader, ShardedReader
from wharf_data.datadings.writer import FileWriter
from wharf_data.sampling import BatchSampler, Course, Order, QuasiShuffle, Sampler

try:
    import torch
    from torch.utils.data import DataLoader

    from wharf_data.torch import Batch, IterableDataset, Loader, MapDataset, collate
except ImportError:
    torch = None  # type: ignore[assignment]

with_torch = pytest.mark.skipif(torch is None, reason="torch is not installed: only sampling is tested")
pytestmark = [
    pytest.mark.filterwarnings("ignore:This DataLoader will create"),
    pytest.mark.filterwarnings("ignore:.*use of fork.*:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning"),
]

COUNT = 203
SHUFFLES = [False, True, QuasiShuffle(chunk=4, buffer=24)]


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("torch") / "d.msgpack"
    with FileWriter(path, disable=True) as writer:
        for i in range(COUNT):
            writer.write({"key": f"k{i}", "label": i, "weight": i / 2, "image": np.full((3, 5), i % 256, "u1"), "big": np.arange(2, dtype=">i2")})
    return path


# Sampling


@pytest.mark.parametrize("shuffle", SHUFFLES, ids=str)
@pytest.mark.parametrize("ranks", [1, 2, 3, 7])
def test_ranks_share_an_epoch(shuffle: Any, ranks: int) -> None:
    for epoch in range(3):
        shares = [list(Sampler(COUNT, shuffle=shuffle, seed=5, epoch=epoch, rank=rank, ranks=ranks)) for rank in range(ranks)]
        assert sorted(sum(shares, [])) == list(range(COUNT))
        assert max(map(len, shares)) - min(map(len, shares)) <= 1
    again = list(Sampler(COUNT, shuffle=shuffle, seed=5, epoch=2, rank=ranks - 1, ranks=ranks))
    assert again == shares[-1]
    if shuffle:
        assert again != list(Sampler(COUNT, shuffle=shuffle, seed=6, epoch=2, rank=ranks - 1, ranks=ranks))


def test_resuming_with_other_ranks() -> None:
    rng = random.Random(7)
    for _ in range(200):
        shuffle, size, drop_last = rng.choice(SHUFFLES), rng.randrange(1, 30), rng.random() < 0.3
        state, seen, epoch = None, [], 0
        while epoch == 0:
            ranks = rng.randrange(1, 6)
            samplers = [BatchSampler(COUNT, size, shuffle=shuffle, seed=1, drop_last=drop_last, rank=rank, ranks=ranks) for rank in range(ranks)]
            for sampler in samplers:
                if state:
                    sampler.load_state_dict(state)
            if drop_last:
                assert len({len(sampler) for sampler in samplers}) == 1
            steps = rng.randrange(1, 8)
            for sampler in samplers:
                for _, batch in zip(range(steps), sampler, strict=False):
                    assert len(batch) == size or not drop_last
                    seen += batch
            # By the number of batches taken, as the loader may have asked for more.
            state = samplers[0].state_dict(taken=steps)
            epoch = state["epoch"]
        if drop_last:
            assert len(set(seen)) == len(seen) <= COUNT
        else:
            assert sorted(seen) == list(range(COUNT))


def test_samplers_move_on_by_themselves() -> None:
    sampler = Sampler(10, seed=3, rank=1, ranks=2)
    first, second = list(sampler), list(sampler)
    assert sampler.epoch == 2 and len(first) == len(second) == 5 and first != second
    sampler.set_epoch(0)
    iterator = iter(sampler)
    head = [next(iterator) for _ in range(2)]
    rest = Sampler(10, rank=1, ranks=2)
    rest.load_state_dict(pickle.loads(pickle.dumps(sampler.state_dict())))
    assert head + list(rest) == first
    with pytest.raises(wharf_data.UsageError, match="10 samples"):
        Sampler(11).load_state_dict(sampler.state_dict())
    with pytest.raises(wharf_data.UsageError):
        BatchSampler(10, 0)
    with pytest.raises(wharf_data.UsageError):
        list(Sampler(10, rank=2, ranks=2))


def test_states_of_loaders_that_read_ahead() -> None:
    samplers: list[Any] = [
        BatchSampler(20, 3, seed=1),
        BatchSampler(20, 3, seed=1, drop_last=True, rank=1, ranks=2),
        Sampler(20, seed=1, rank=1, ranks=2),
    ]
    for sampler in samplers:
        for epoch in range(2):
            iterator = iter(sampler)
            assert sampler.state_dict(taken=0)["epoch"] == epoch
            items = list(iterator)
            assert sampler.state_dict()["epoch"] == sampler.epoch == epoch + 1
            for taken in range(len(items) + 1):
                state = sampler.state_dict(taken=taken)
                assert state["epoch"] == epoch + (taken == len(items))
                resumed = copy.deepcopy(sampler)
                resumed.load_state_dict(state)
                assert taken == len(items) or list(resumed) == items[taken:]
        sampler.set_epoch(5)
        assert sampler.state_dict(taken=0)["epoch"] == 5


@with_torch
def test_states_of_prefetching_loaders(dataset: Path) -> None:
    sampler = BatchSampler(20, 2, seed=3)
    expected = [sampler.course.samples(skip, 2) for skip in range(0, 20, 2)]
    for workers in (0, 2):
        sampler.set_epoch(0)
        for taken, _ in enumerate(DataLoader(range(20), batch_sampler=sampler, num_workers=workers), 1):
            resumed = BatchSampler(20, 2)
            resumed.load_state_dict(sampler.state_dict(taken))
            assert (resumed.epoch, list(resumed)) == (0, expected[taken:]) if taken < 10 else resumed.epoch == 1
    samples = IterableDataset(dataset, 50)
    assert len(list(samples)) == 5
    states = [samples.state_dict(batches) for batches in range(6)]
    assert [(state["epoch"], state["position"]) for state in states] == [(0, 0), (0, 50), (0, 100), (0, 150), (0, 200), (1, 0)]
    assert samples.state_dict()["epoch"] == 1


def test_orders() -> None:
    order = Order.sequential(1000).range(10, 900).shuffled(4)
    assert len(order) == 890 and sorted(order.samples(2)) == list(range(10, 900))
    assert order.samples(2, 100, count=5) == [order.get(2, position) for position in range(100, 105)]
    for twin in (pickle.loads(pickle.dumps(order)), copy.deepcopy(order), Order.from_json(order.to_json())):
        assert twin == order and twin.samples(1) == order.samples(1)
    assert order != Order.sequential(890) and order.get(0, 890) is None
    with pytest.raises(wharf_data.InvalidError):
        Order.from_json('{"len": 3, "steps": ["jump"]}')
    # Nothing is enumerated.
    vast = Order.sequential(10**15).shuffled(1)
    assert len(Course(vast).samples(10**14, 3)) == 3 and vast.get(9, 10**15 - 1) is not None


def test_sampling_needs_neither_torch_nor_numpy() -> None:
    code = "import sys, wharf_data.sampling as s; list(s.Sampler(9)); assert not {'torch', 'numpy', 'pyarrow'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


# Datasets


@with_torch
@pytest.mark.parametrize("workers", [0, 2])
def test_map_style(dataset: Path, workers: int) -> None:
    samples = MapDataset(dataset)
    assert len(samples) == COUNT and samples[7]["label"] == 7 and samples[-1]["key"] == f"k{COUNT - 1}"
    assert samples[7]["image"].flags.writeable
    for function in (collate, None):
        loader = DataLoader(samples, batch_size=20, shuffle=True, num_workers=workers, collate_fn=function)
        batches = list(loader) if function else [batch for batch in DataLoader(
            MapDataset(dataset, fields=["label", "image", "key"]), batch_size=20, num_workers=workers)]
        assert sorted(torch.cat([batch["label"] for batch in batches]).tolist()) == list(range(COUNT))
        for batch in batches:
            assert batch["image"].dtype == torch.uint8 and batch["image"].shape[1:] == (3, 5)
            assert (batch["image"][:, 2, 4].long() == batch["label"] % 256).all()
            assert batch["key"] == [f"k{i}" for i in batch["label"].tolist()]
    first = next(iter(DataLoader(samples, batch_size=3, collate_fn=collate)))
    assert first["weight"].dtype == torch.float64 and first["big"].tolist() == [[0, 1]] * 3
    doubled = MapDataset(dataset, transform=lambda sample: sample["label"] * 2)
    assert torch.cat(list(DataLoader(doubled, batch_size=50))).tolist() == list(range(0, 2 * COUNT, 2))
    sampler = BatchSampler(samples, 16, seed=2)
    loader = DataLoader(samples, batch_sampler=sampler, num_workers=workers, collate_fn=collate)
    assert sorted(torch.cat([batch["label"] for batch in loader]).tolist()) == list(range(COUNT))
    batch = samples.__getitems__([5, 6])
    assert isinstance(batch, Batch) and len(batch) == 2 and batch[1]["label"] == 6


def labels(loader: Any, steps: int | None = None) -> list[int]:
    found: list[int] = []
    for number, batch in enumerate(loader, 1):
        found += batch["label"].tolist()
        if number == steps:
            break
    return found


@with_torch
@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("workers", [1, 2, 4])
def test_exactly_once_after_a_kill(dataset: Path, workers: int, ranks: int) -> None:
    rng = random.Random(workers * 10 + ranks)
    for shuffle in SHUFFLES[1:]:
        steps, size = rng.randrange(1, 8), rng.choice([5, 8])

        def loader(rank: int, ranks: int, workers: int) -> Loader:
            samples = IterableDataset(dataset, size, shuffle=shuffle, seed=9, rank=rank, ranks=ranks, fields=["label"])
            return Loader(samples, num_workers=workers)

        seen: list[int] = []
        states = []
        for rank in range(ranks):
            killed = loader(rank, ranks, workers)
            seen += labels(killed, steps)
            states.append(pickle.loads(pickle.dumps(killed.state_dict())))
        assert all(state == states[0] for state in states)
        other_workers, other_ranks = rng.choice([w for w in (0, 1, 2, 4) if w != workers]), rng.choice([1, 2, 3])
        for rank in range(other_ranks):
            resumed = loader(rank, other_ranks, other_workers)
            resumed.load_state_dict(states[0])
            seen += labels(resumed)
            assert resumed.epoch == 1
        assert Counter(seen) == Counter(range(COUNT))


@with_torch
def test_sequence_of_batches_does_not_depend_on_workers(dataset: Path) -> None:
    def two_epochs(workers: int, **arguments: Any) -> list[int]:
        loader = Loader(IterableDataset(dataset, 10, shuffle=True, fields=["label"]), num_workers=workers, **arguments)
        return labels(loader) + labels(loader)

    expected = two_epochs(0)
    assert sorted(expected[:COUNT]) == sorted(expected[COUNT:]) == list(range(COUNT)) and expected[:COUNT] != expected[COUNT:]
    for workers in (1, 2, 4):
        assert two_epochs(workers) == expected
        assert two_epochs(workers, persistent_workers=True) == expected


@with_torch
def test_epochs_of_persistent_workers(dataset: Path) -> None:
    loader = Loader(IterableDataset(dataset, 10, shuffle=True, fields=["label"]), num_workers=2, persistent_workers=True)
    first = labels(loader)
    assert labels(loader, 3) == labels(loader)[:30] and loader.epoch == 2  # broken off and begun again
    loader.set_epoch(0)
    assert labels(loader) == first


@with_torch
@pytest.mark.parametrize("count", [30, 40])
def test_workers_that_are_ahead_of_an_iteration_that_is_broken_off(tmp_path: Path, count: int) -> None:
    with FileWriter(tmp_path / "d.msgpack", disable=True) as writer:
        for i in range(count):
            writer.write({"key": f"k{i}", "label": i})
    loader = Loader(IterableDataset(tmp_path / "d.msgpack", 10, shuffle=True), num_workers=2, persistent_workers=True)
    first = labels(loader, 1)
    again = labels(loader)
    assert again[:10] == first and sorted(again) == list(range(count)) and loader.epoch == 1


TRAINING = """
import json, sys
from wharf_data.torch import IterableDataset, Loader
path, log, state, workers = sys.argv[1:]
def main():
    loader = Loader(IterableDataset(path, 4, shuffle=True, seed=3, fields=["label"]), num_workers=int(workers))
    try:
        loader.load_state_dict(json.load(open(state)))
    except FileNotFoundError:
        pass
    with open(log, "a") as out:
        for batch in loader:
            # A step and its checkpoint are one line: both or neither.
            print(json.dumps([batch["label"].tolist(), loader.state_dict()]), file=out, flush=True)
            if loader.epoch == 0 and out.tell() > LIMIT:
                sys.stdout.write("now\\n"); sys.stdout.flush(); sys.stdin.read()
if __name__ == "__main__":
    main()
"""


@with_torch
def test_a_killed_process(dataset: Path, tmp_path: Path) -> None:
    import json

    log, state = tmp_path / "log", tmp_path / "state"
    for limit, workers in ((1500, 2), (4000, 1), (10**9, 3)):
        code = TRAINING.replace("LIMIT", str(limit))
        command = [sys.executable, "-c", code, str(dataset), str(log), str(state), str(workers)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            if process.stdout.readline():
                process.send_signal(signal.SIGKILL)
            process.wait(60)
        state.write_text(json.dumps(json.loads(log.read_text().splitlines()[-1])[1]))
    steps = [json.loads(line) for line in log.read_text().splitlines()]
    assert sorted(sum((step[0] for step in steps), [])) == list(range(COUNT))
    assert steps[-1][1]["epoch"] == 1


@with_torch
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_ways_to_start_workers(dataset: Path, method: str) -> None:
    source = MsgpackReader(dataset)
    source.columns(["label"], threads=2)  # threads and an open file, before workers start
    datasets = [IterableDataset(dataset, 25, fields=["label"])] + [IterableDataset(source, 25, fields=["label"])] * (method == "fork")
    for samples in datasets:
        assert len(samples) == 9
        assert labels(Loader(samples, num_workers=2, multiprocessing_context=method)) == list(range(COUNT))


@with_torch
def test_threads_share_a_dataset(dataset: Path) -> None:
    samples, errors = MapDataset(dataset), []

    def work(seed: int) -> None:
        try:
            rng = random.Random(seed)
            for _ in range(100):
                chosen = rng.choices(range(COUNT), k=9)
                assert samples.__getitems__(chosen).columns["label"].tolist() == chosen
                assert samples[chosen[0]]["label"] == chosen[0]
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


@with_torch
def test_tables_and_shards(dataset: Path, tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    parquet = tmp_path / "t.parquet"
    table = pa.table({
        "label": range(COUNT),
        "text": [str(i) for i in range(COUNT)],
        "pair": pa.array([[i, -i] for i in range(COUNT)], pa.list_(pa.float32(), 2)),
        "maybe": [i if i % 3 else None for i in range(COUNT)],
    })  # fmt: skip
    wharf_data.write(table, parquet)
    for source in (parquet, wharf_data.open(parquet).table()):
        samples = MapDataset(source)
        assert samples[6]["text"] == "6" and samples[6]["maybe"] is None and samples[6]["pair"].tolist() == [6, -6]
        batch = samples.__getitems__([9, 3, 9, 4])
        assert batch.columns["label"].tolist() == [9, 3, 9, 4] and batch.columns["pair"].shape == (4, 2)
        assert batch.columns["text"] == ["9", "3", "9", "4"]
    for workers in (0, 2):
        loader = Loader(IterableDataset(parquet, 10, shuffle=QuasiShuffle(8, 32), fields=["label"]), num_workers=workers)
        assert sorted(labels(loader)) == list(range(COUNT))
    shards = ShardedReader([dataset, dataset])
    loader = Loader(IterableDataset(shards, 10, shuffle=True, fields=["label", "image"]), num_workers=2)
    assert Counter(labels(loader)) == Counter(list(range(COUNT)) * 2)
    transformed = IterableDataset(dataset, 10, transform=lambda sample: {"label": sample["label"]})
    assert labels(Loader(transformed)) == list(range(COUNT))
    assert sum(len(batch["label"]) for batch in IterableDataset(dataset, 10, drop_last=True, ranks=2, rank=0)) == 100


@with_torch
def test_samples_of_tables_may_be_changed(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    wharf_data.write(pa.table({"pair": pa.array([[1, 2], [3, 4]], pa.list_(pa.int32(), 2))}), tmp_path / "t.parquet")

    def add(sample: dict[str, Any]) -> dict[str, Any]:
        sample["pair"] += 1
        return sample

    samples = MapDataset(tmp_path / "t.parquet", transform=add)
    assert [samples[0]["pair"].tolist(), samples[0]["pair"].tolist()] == [[2, 3]] * 2
    assert next(iter(IterableDataset(tmp_path / "t.parquet", 2, transform=add)))["pair"].tolist() == [[2, 3], [4, 5]]


@with_torch
def test_nulls_are_in_batches_of_their_own(tmp_path: Path) -> None:
    """The types of batches do not depend on the number of workers."""
    pa = pytest.importorskip("pyarrow")
    count = 1000
    numbers = [None if i in (0, 401) else i for i in range(count)]
    table = pa.table({
        "maybe": pa.array(numbers, pa.int16()),
        "text": [None if i % 3 else str(i) for i in range(count)],
        "pair": pa.array([[i, number] for i, number in enumerate(numbers)], pa.list_(pa.float32(), 2)),
        "sure": range(count),
    })  # fmt: skip
    wharf_data.write(table, tmp_path / "t.parquet")
    for fields in (["maybe", "text", "pair", "sure"], ["sure", "maybe"]):
        loaders = [Loader(IterableDataset(tmp_path / "t.parquet", 4, fields=fields), num_workers=workers) for workers in (0, 1)]
        single, grouped = map(list, loaders)
        assert loaders[1]._group > 1 and len(single) == len(grouped) == 250
        for number, batches in enumerate(zip(single, grouped, strict=True)):
            for name in fields:
                one, other = (batch[name] for batch in batches)
                assert isinstance(one, list) == (name == "text" or name != "sure" and number in (0, 100)), (name, number)
                assert type(one) is type(other) and getattr(one, "dtype", None) == getattr(other, "dtype", None)
                assert str(one) == str(other)


@with_torch
def test_collate_fn_of_a_loader_takes_single_batches(dataset: Path) -> None:
    def mean(batch: dict[str, Any]) -> dict[str, Any]:
        return {"mean": batch["label"].double().mean(0, keepdim=True)}

    means = [[batch["mean"].item() for batch in Loader(IterableDataset(dataset, 4), num_workers=workers, collate_fn=mean)] for workers in (0, 2)]
    assert means[0] == means[1] and len(means[0]) == 51


@with_torch
def test_arguments_and_positions_that_do_not_exist(dataset: Path, tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    for batch_size in (0, -1):
        with pytest.raises(wharf_data.UsageError, match="batch_size: expected at least 1"):
            IterableDataset(dataset, batch_size)
    with pytest.raises(wharf_data.UsageError, match="expected a list of names, found 'label'"):
        MapDataset(dataset, fields="label")
    with pytest.raises(wharf_data.UsageError, match="in_order"):
        Loader(IterableDataset(dataset, 4), num_workers=2, in_order=False)
    wharf_data.write(pa.table({"a": [1, 2, 3]}), tmp_path / "t.parquet")
    for index in (3, 10**6, -4):
        with pytest.raises(IndexError, match="the table has 3 rows"):
            MapDataset(tmp_path / "t.parquet")[index]
    for workers in (0, 1):
        assert list(Loader(IterableDataset(tmp_path / "t.parquet", 2, fields=[]), num_workers=workers)) == [{}, {}]


@with_torch
def test_times(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    nanoseconds = [1, 2 * 10**9 + 3]
    table = pa.table({"time": pa.array(nanoseconds, pa.time64("ns")), "moment": pa.array(nanoseconds, pa.timestamp("ns"))})
    wharf_data.write(table, tmp_path / "t.parquet")
    batch = MapDataset(tmp_path / "t.parquet").__getitems__([1, 0]).columns
    assert batch["time"].tolist() == batch["moment"].tolist() == nanoseconds[::-1]
    assert batch["time"].dtype == "m8[ns]" and batch["moment"].dtype == "M8[ns]" and batch["moment"].flags.writeable


def test_pickled_errors_keep_their_errno(tmp_path: Path) -> None:
    with pytest.raises(wharf_data.NotFoundError) as caught:
        wharf_data.open(tmp_path / "none.csv")
    again = pickle.loads(pickle.dumps(caught.value))
    assert again.errno == caught.value.errno == 2 and str(again) == str(caught.value) and again.__dict__ == caught.value.__dict__


@with_torch
@pytest.mark.parametrize("hold", [0, 3, 1000])
def test_batches_keep_their_memory(dataset: Path, hold: int) -> None:
    """Workers write to shared memory again once nobody has a tensor in it, and not before."""
    loader = Loader(IterableDataset(dataset, 2, shuffle=True), num_workers=2, persistent_workers=True)
    for _ in range(3):
        held: list[tuple[Any, list[int]]] = []
        for batch in loader:
            chosen = batch["label"].tolist()
            assert batch["key"] == [f"k{i}" for i in chosen] and batch["big"].tolist() == [[0, 1]] * len(chosen)
            held = [*held, (batch["image"][:, 1:], chosen)][-hold:] if hold else []
            batch["weight"].zero_()
            for image, label in held:
                assert image.tolist() == [[[i % 256] * 5] * 2 for i in label]


@with_torch
def test_many_batches_in_flight(dataset: Path) -> None:
    loader = DataLoader(MapDataset(dataset), batch_size=4, num_workers=1, prefetch_factor=40, collate_fn=collate)
    found: list[int] = []
    for number, batch in enumerate(loader):
        if number == 0:
            time.sleep(1.5)  # the worker fills the queue
        assert (batch["image"][:, 0, 0] == batch["label"] % 256).all()
        found += batch["label"].tolist()
    assert found == list(range(COUNT))


@with_torch
def test_segments_that_are_kept(dataset: Path) -> None:
    from wharf_data import torch as module

    class Samples(MapDataset):
        def __getitems__(self, indices: list[int]) -> Any:
            samples = super().__getitems__(indices)
            samples.columns["segments"] = len(module._SEGMENTS)
            return samples

    held = list(DataLoader(Samples(dataset), batch_size=2, num_workers=1, collate_fn=collate))
    assert max(batch["segments"] for batch in held) <= module._MOST_SEGMENTS
    assert [label for batch in held for label in batch["label"].tolist()] == list(range(COUNT))


@with_torch
def test_every_way_to_collate(dataset: Path) -> None:
    samples = MapDataset(dataset)
    for function in (collate, None, lambda samples: {"label": torch.tensor([sample["label"] for sample in samples])}):
        loader = DataLoader(samples, batch_size=7, num_workers=2, collate_fn=function)
        assert labels(loader) == list(range(COUNT))
    for function in (None, lambda batch: {"label": batch["label"] + 0}):
        loader = DataLoader(IterableDataset(dataset, 7), batch_size=None, num_workers=2, collate_fn=function)
        assert labels(loader) == list(range(COUNT))


@with_torch
def test_damage_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "d.msgpack"
    with FileWriter(path, disable=True) as writer:
        for i in range(20):
            writer.write({"key": str(i), "image": np.zeros((2, 2 + (i == 13)))})
    with pytest.raises(wharf_data.InvalidError, match="in DataLoader worker process"):
        list(Loader(IterableDataset(path, 10), num_workers=1))
    with pytest.raises(wharf_data.InvalidError) as caught:
        list(IterableDataset(path, 10))
    assert (caught.value.row, caught.value.column, caught.value.path) == (13, "image", str(path))


@with_torch
@pytest.mark.filterwarnings("ignore")
def test_stateful_data_loader(dataset: Path) -> None:
    stateful = pytest.importorskip("torchdata.stateful_dataloader", reason="torchdata is not installed").StatefulDataLoader
    for workers in (0, 2):
        def loader() -> Any:
            samples = IterableDataset(dataset, 10, shuffle=True, seed=4, fields=["label"])
            return stateful(samples, batch_size=None, num_workers=workers)

        before = loader()
        seen = labels(before, 6)
        after = loader()
        after.load_state_dict(before.state_dict())
        assert Counter(seen + labels(after)) == Counter(range(COUNT))


def of_rank(rank: int, path: Path, port: int, pipe: Any) -> None:
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.distributed.init_process_group("gloo", rank=rank, world_size=2)
    pipe.send(labels(Loader(IterableDataset(path, 10, shuffle=True, fields=["label"]))))
    torch.distributed.destroy_process_group()


@with_torch
def test_ranks_of_torch_distributed(dataset: Path) -> None:
    import socket

    if not torch.distributed.is_available():
        pytest.skip("this torch has no distributed package")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    context = multiprocessing.get_context("spawn")
    ends = [context.Pipe() for _ in range(2)]
    processes = [context.Process(target=of_rank, args=(rank, dataset, port, end)) for rank, (_, end) in enumerate(ends)]
    for process in processes:
        process.start()
    found = []
    for here, _ in ends:
        assert here.poll(90)
        found += here.recv()
    for process in processes:
        process.join(60)
    assert sorted(found) == list(range(COUNT))


def test_missing_elements_of_tensors_stay_missing(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    values = pa.array([1, None, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12], pa.int32())
    tensors = pa.ExtensionArray.from_storage(pa.fixed_shape_tensor(pa.int32(), (2, 2)), pa.FixedSizeListArray.from_arrays(values, 4))
    wharf_data.write(pa.table({"a": tensors}), tmp_path / "t.parquet")
    table = wharf_data.open(tmp_path / "t.parquet").table()
    assert table_columns(table, [2, 0], None) == {"a": [[[9, 10], [11, 12]], [[1, None], [3, 4]]]}
    whole = table_columns(table, [2, 1], None)["a"]
    assert whole.dtype == np.int32 and whole.tolist() == [[[9, 10], [11, 12]], [[5, 6], [7, 8]]]


def test_tensors_in_another_order_of_memory() -> None:
    pa = pytest.importorskip("pyarrow")
    array = np.arange(12).reshape(2, 3, 2).transpose(0, 2, 1)
    tensors = pa.FixedShapeTensorArray.from_numpy_ndarray(array)
    assert tensors.type.permutation == [1, 0]
    assert column_values(pa.chunked_array([tensors])).tolist() == array.tolist()
    assert column_values(pa.chunked_array([tensors.slice(1)])).tolist() == array[1:].tolist()
    missing = pa.FixedSizeListArray.from_arrays(tensors.storage.values, 6, mask=pa.array([True, False]))
    missing = pa.ExtensionArray.from_storage(tensors.type, missing)
    assert column_values(pa.chunked_array([missing])) == [None, array[1].tolist()]
