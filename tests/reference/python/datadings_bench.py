"""The Python side of `cargo xtask bench datadings`: the same works on the same files as crates/datadings/benches/speed.rs.

    python datadings_bench.py DIRECTORY [--only WORK]

Each work is done once and prints a line of JSON: the seconds of its loop alone, and a result that the other side has to have, too.
"""

import argparse
import json
import shutil
import time
from pathlib import Path

import numpy

from datadings.writer import FileWriter

import datadings_files as files

LOOK_UPS = 100_000
IMAGES = 64
IMAGE = 10_000


def shuffled(count, length):
    state, found = 1, []
    for _ in range(count):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        found.append((state >> 33) % length)
    return found


def key(index):
    return f"{index:08d}"


def images():
    at = numpy.arange(IMAGE, dtype="u8")
    return [(((at * 2654435761 + image * 40503) >> 16) & 0xFF).astype("u1").tobytes() for image in range(IMAGES)]


def touch(directory, copy=True):
    with files.open_reader(directory / "large.msgpack") as reader:
        begin, found = time.perf_counter(), 0
        for sample in reader.iter(start=0, raw=True, copy=copy):
            found += len(sample) + sample[0]
        yield time.perf_counter() - begin, found


def touch_views(directory):
    yield from touch(directory, copy=False)


def decode(directory):
    with files.open_reader(directory / "tiny.msgpack") as reader:
        begin, found = time.perf_counter(), 0
        for sample in reader:
            found += len(sample["key"]) + sample["label"]
        yield time.perf_counter() - begin, found


def by_index(directory):
    with files.open_reader(directory / "tiny.msgpack") as reader:
        wanted = shuffled(LOOK_UPS, len(reader))
        reader.get(0, raw=True)
        begin, found = time.perf_counter(), 0
        for index in wanted:
            found += reader.get(index, raw=True)[-1]
        yield time.perf_counter() - begin, found


def by_key(directory):
    with files.open_reader(directory / "tiny.msgpack") as reader:
        wanted = [key(index) for index in shuffled(LOOK_UPS, len(reader))]
    begin, found = time.perf_counter(), 0
    with files.open_reader(directory / "tiny.msgpack") as reader:
        for one in wanted:
            found += reader.get(reader.find_index(one), raw=True)[-1]
    yield time.perf_counter() - begin, found


def open_huge(directory):
    with files.open_reader(directory / "huge.msgpack") as reader:
        wanted = key(len(reader) // 3)
    begin = time.perf_counter()
    with files.open_reader(directory / "huge.msgpack") as reader:
        index = reader.find_index(wanted)
        found = reader.get(index, raw=True)[-1]
    yield time.perf_counter() - begin, index * 1000 + found


def written(directory, name, samples):
    folder = directory / "python"
    folder.mkdir()
    path = folder / name
    begin = time.perf_counter()
    with FileWriter(path, overwrite=True, disable=True) as writer:
        for sample in samples:
            writer.write(sample)
    seconds = time.perf_counter() - begin
    sums = files.beside(path, files.MD5).read_text(encoding="utf-8")
    shutil.rmtree(folder)
    yield seconds, sums


def write_tiny(directory):
    with files.open_reader(directory / "tiny.msgpack") as reader:
        count = len(reader)
    yield from written(directory, "tiny.msgpack", [{"key": key(index), "label": index % 1000} for index in range(count)])


def write_large(directory):
    with files.open_reader(directory / "large.msgpack") as reader:
        count = len(reader)
    pool = images()
    samples = [{"key": key(index), "image": pool[index % IMAGES], "label": index % 1000} for index in range(count)]
    yield from written(directory, "large.msgpack", samples)


WORKS = {
    "touch": touch,
    "touch views": touch_views,
    "decode": decode,
    "get by index": by_index,
    "get by key": by_key,
    "write tiny": write_tiny,
    "write large": write_large,
    "open huge": open_huge,
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("directory", type=Path)
    parser.add_argument("--only", choices=list(WORKS))
    arguments = parser.parse_args()
    for name, work in WORKS.items():
        if arguments.only in (None, name):
            for seconds, result in work(arguments.directory):
                print(json.dumps({"work": name, "seconds": seconds, "result": result}), flush=True)


if __name__ == "__main__":
    main()
