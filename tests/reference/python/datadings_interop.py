"""The Python side of `cargo xtask interop datadings`.

    python datadings_interop.py write DIRECTORY --seed N --count K
    python datadings_interop.py check DIRECTORY

`write` makes sets of samples. Each has a folder; what is in `python/` FileWriter wrote, in `raw/` RawWriter, in `half/` FileWriter wrote the
first samples only, in `legacy/` stands the index of older versions, which `datadings-convert-index` has turned into today's in `converted/`.
`samples.jsonl` and `structs.jsonl` tell the same samples to others. `check` reads what others wrote into the folders
`ours-*` and compares every sample with those of `python/`. Both print as JSON how much that was.
"""

import argparse
import csv
import gzip
import importlib.util
import json
import random
import shutil
import struct
import sys
from pathlib import Path

import numpy

from datadings.commands.convert_index import convert_index
from datadings.reader.sharded import ShardedReader
from datadings.tools.msgpack import packb

import datadings_files as files
import datadings_json

NAME = "d.msgpack"
ALPHABETS = ["abcdefghijklmnopqrstuvwxyz0123456789-_/.", "äöüßéèñ", "日本語文字", "\U0001f600\U0001f3f3\u200d", "\"\\\n\t\x00 {}$"]
DTYPES = ["|b1", "|i1", "|u1", "<i2", ">i2", "<u2", ">u2", "<i4", ">i4", "<u4", ">u4", "<i8", ">i8", "<u8", ">u8", "<f2", ">f2", "<f4", ">f4",
          "<f8", ">f8", "<c8", ">c8", "<c16", ">c16", "|S5", "<U4", ">U4"]
STRUCTURED = [("a", "<i4"), ("b", ">f8", (2,)), ("n", [("x", "u1"), ("t", "S3")])]


def a_text(dice, longest):
    alphabet = dice.choice(ALPHABETS) if dice.random() < 0.3 else ALPHABETS[0]
    return "".join(dice.choices(alphabet, k=dice.randrange(longest)))


def a_key(dice, index, style):
    if style == "long":
        return f"{'x' * dice.choice([20, 25, 50, 58, 59, 60, 123, 124, 250, 251, 300])}{index}"
    if style == "unicode":
        return f"{a_text(dice, 12)}:{index}"
    return f"{index:08d}"


def a_float(dice):
    kind = dice.random()
    if kind < 0.5:
        return dice.uniform(-10, 10)
    if kind < 0.8:
        return float(dice.randrange(-1000, 1000))
    # Any bits but those of NaN and infinities, which JSON has no numbers for.
    while True:
        value = struct.unpack("<d", dice.randbytes(8))[0]
        if numpy.isfinite(value):
            return value


def an_array(dice):
    if dice.random() < 0.1:
        dtype = numpy.dtype(STRUCTURED)
        return numpy.frombuffer(dice.randbytes(dtype.itemsize * 3), dtype)
    dtype = numpy.dtype(dice.choice(DTYPES))
    shape = [dice.randrange(4) for _ in range(dice.randrange(4))]
    count = int(numpy.prod(shape))
    if dtype.kind in "b":
        flat = numpy.array([dice.random() < 0.5 for _ in range(count)], dtype)
    elif dtype.kind in "SU":
        texts = [a_text(dice, 3) if dtype.kind == "U" else f"s{dice.randrange(1000)}" for _ in range(count)]
        flat = numpy.array(texts, dtype)
    else:
        flat = numpy.frombuffer(dice.randbytes(count * dtype.itemsize), dtype)
        if dtype.kind in "fc":
            # One NaN stands for all of them in JSON.
            with numpy.errstate(invalid="ignore"):
                flat = numpy.where(numpy.isnan(flat), numpy.array(1.5, dtype), flat).astype(dtype)
    value = flat.reshape(shape)
    return value.T if dice.random() < 0.2 else value


def a_value(dice, depth, scalars):
    kind = dice.randrange(11 if depth < 3 else 8)
    if kind == 0:
        return dice.choice([None, True, False])
    if kind in (1, 2):
        return dice.choice([dice.randrange(200), dice.randrange(-200, 0), dice.getrandbits(dice.randrange(1, 65)), -dice.getrandbits(63) - 1])
    if kind == 3:
        return a_float(dice)
    if kind == 4:
        return a_text(dice, dice.choice([3, 40, 300]))
    if kind == 5:
        return dice.randbytes(dice.choice([0, 1, 20, 300]))
    if kind == 6:
        return complex(a_float(dice), a_float(dice))
    if kind == 7:
        if scalars and dice.random() < 0.5:
            dtype = numpy.dtype(dice.choice([dtype for dtype in DTYPES if dtype[1] not in "bSU"]))
            return numpy.frombuffer(dice.randbytes(dtype.itemsize), dtype)[0]
        return an_array(dice)
    if kind == 8:
        return [a_value(dice, depth + 1, scalars) for _ in range(dice.randrange(5))]
    if kind == 9:
        return {a_text(dice, 8): a_value(dice, depth + 1, scalars) for _ in range(dice.randrange(5))}
    return an_array(dice)


def a_sample(dice, key, scalars):
    sample = {} if dice.random() < 0.1 else {"key": key}
    for _ in range(dice.randrange(5)):
        sample[f"f{dice.randrange(20)}"] = a_value(dice, 0, scalars)
    sample["key"] = key
    return sample


def a_struct(dice, key):
    """A sample of fixed shape, as Python has it and as it is told to others: floats by their bits."""
    height, width = dice.randrange(5), dice.randrange(5)
    pixels = dice.randbytes(height * width)
    weight, mean, phase = a_float(dice), numpy.float32(dice.uniform(-1, 1)), [a_float(dice), a_float(dice)]
    told = {
        "key": key,
        "label": dice.randrange(-(2**40), 2**40),
        "big": dice.getrandbits(64),
        "weight": bits(weight),
        "name": dice.choice([None, a_text(dice, 40)]),
        "flags": [dice.random() < 0.5 for _ in range(dice.randrange(20))],
        "boxes": [{"x": dice.randrange(-9, 300), "y": dice.randrange(99999)} for _ in range(dice.randrange(4))],
        "meta": {f"m{n}": n * dice.randrange(1000) for n in range(dice.randrange(4))},
        "shape": [height, width],
        "pixels": list(pixels),
        "mean": struct.unpack("<I", mean.tobytes())[0],
        "phase": [bits(part) for part in phase],
        "blob": list(dice.randbytes(dice.randrange(40))),
    }
    fields = ["key", "label", "big", "weight", "name", "flags", "boxes", "meta", "image", "mean", "phase", "blob"]
    sample = {field: told.get(field) for field in fields}
    sample |= {
        "weight": weight,
        "image": numpy.frombuffer(pixels, "u1").reshape(height, width),
        "mean": mean,
        "phase": complex(*phase),
        "blob": bytes(told["blob"]),
    }
    return sample, told


def bits(value):
    return struct.unpack("<Q", struct.pack("<d", value))[0]


def sizes(dice, count):
    """Sizes of all sets: those at which something changes first, and one large one."""
    fixed = [0, 1, 2, 15, 16, 17, 5000]
    return (fixed + [int(10 ** dice.uniform(0, 3)) for _ in range(count)])[: max(count, len(fixed))]


def write_set(folder, samples, told=None, in_json=True):
    """A set of samples in all the ways in which Python writes it."""
    for name in ("python", "raw", "half", "legacy"):
        (folder / name).mkdir(parents=True)
    whole = folder / "python" / NAME
    files.write(whole, samples)
    files.write_raw(folder / "raw" / NAME, ((sample["key"], packb(sample)) for sample in samples))
    files.write(folder / "half" / NAME, samples[: len(samples) // 2])
    legacy = folder / "legacy" / NAME
    files.write(legacy, samples)
    files.make_legacy(legacy)
    shutil.copytree(folder / "legacy", folder / "converted")
    with files.quiet():
        convert_index(folder / "converted" / NAME, None)
    lines = files.lines(whole)
    assert files.lines(legacy) == lines
    (folder / "python.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    if in_json:
        told_lines = (f"{datadings_json.message(packb(sample))}\n" for sample in samples)
        (folder / "samples.jsonl").write_text("".join(told_lines), encoding="utf-8")
    if told is not None:
        (folder / "structs.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in told), encoding="utf-8")
    return len(samples)


def generated(out, dice, count):
    for number, size in enumerate(sizes(dice, count)):
        style = dice.choice(["plain", "long", "unicode"])
        keys = [a_key(dice, index, style) for index in range(size)]
        if number % 4 == 3:
            both = [a_struct(dice, key) for key in keys]
            samples, told = [sample for sample, _ in both], [told for _, told in both]
            # JSON does not give scalars of numpy back.
            yield write_set(out / f"structs-{number:03d}", samples, told, in_json=False)
            continue
        scalars = number % 4 == 1
        name = f"{'scalars' if scalars else 'values'}-{number:03d}"
        yield write_set(out / name, [a_sample(dice, key, scalars) for key in keys], in_json=not scalars)


def data_of(name):
    """A file of scikit-learn's own data, without loading the package."""
    package = importlib.util.find_spec("sklearn").submodule_search_locations[0]
    return Path(package) / "datasets" / name


def real(out):
    with gzip.open(data_of("data/digits.csv.gz"), "rt") as table:
        rows = [list(map(float, line.split(","))) for line in table]
    yield write_set(out / "real-digits", [
        {"key": f"digit-{index:04d}", "image": numpy.array(pixels).reshape(8, 8), "label": int(label)}
        for index, (*pixels, label) in enumerate(rows)
    ])
    for name in ("iris", "wine_data", "breast_cancer"):
        with open(data_of(f"data/{name}.csv"), encoding="utf-8") as table:
            head, *rows = csv.reader(table)
        yield write_set(out / f"real-{name}", [
            {"key": f"{name}/{index}", "features": [float(value) for value in row[:-1]], "class": head[2 + int(row[-1])]}
            for index, row in enumerate(rows)
        ])
    images = sorted(data_of("images").glob("*.jpg"))
    assert images
    yield write_set(out / "real-images", [{"key": image.name, "image": image.read_bytes()} for image in images])


def shards(out, dice):
    """A folder of datasets that are read as one. Their names do not sort as their numbers do."""
    folder = out / "shards"
    folder.mkdir()
    total = 0
    for number in (1, 2, 3, 10, 11, 20):
        size = 0 if number == 2 else dice.choice([1, 7, 40])
        samples = [a_sample(dice, f"{number}-{index}", True) for index in range(size)]
        files.write(folder / f"part-{number}.msgpack", samples)
        total += size
    with ShardedReader(str(folder / "part-*.msgpack")) as reader:
        lines = []
        for index in range(len(reader)):
            key, message = reader.get(index, yield_key=True, raw=True)
            assert reader.find_index(key) == index
            lines.append(f'{{"key":{datadings_json.text(key)},"sample":{datadings_json.message(message)}}}\n')
        assert len(lines) == total
    (folder / "python.jsonl").write_text("".join(lines), encoding="utf-8")
    return total


def write(arguments):
    out = arguments.directory
    dice = random.Random(arguments.seed)
    counts = [*generated(out, dice, arguments.count), *real(out)]
    print(json.dumps({"sets": len(counts), "samples": sum(counts), "sharded": shards(out, dice)}))


def same_sample(ours, theirs, where):
    """Two decoded values, by what Python makes of them when it packs them again."""
    assert packb(ours) == packb(theirs), where


def check_dataset(path, lines, whole):
    """Reads a dataset in every way that MsgpackReader has. `whole` is Python's own."""
    keys = [json.loads(line)["key"] for line in lines]
    with files.open_reader(path) as reader:
        assert len(reader) == len(lines), path
        assert reader.verify_data(), f"{path}: the sum of the data is wrong"
        if not lines:
            return
        messages = list(reader.iter(start=0, raw=True))
        for index, (key, line) in enumerate(zip(keys, lines)):
            found = f'{{"key":{datadings_json.text(key)},"sample":{datadings_json.message(messages[index])}}}'
            assert found == line, f"{path}, sample {index}:\n{found}\nwhere it is\n{line}"
            assert key in reader, f"{path}: {key!r}"
            assert reader.find_index(key) == index, f"{path}: {key!r}"
            assert reader.find_key(index) == key, f"{path}: {key!r}"
            assert reader.get(index, raw=True) == messages[index], f"{path}, sample {index}"
            same_sample(reader.get(reader.find_index(key)), whole.get(index), f"{path}, sample {index}")
        assert [key for key, _ in reader.iter(start=0, yield_key=True, raw=True)] == keys, path
        assert f"{keys[0]}, but no" not in reader, path


def check(arguments):
    datasets = samples = 0
    for folder in sorted(path for path in arguments.directory.iterdir() if (path / "python").is_dir()):
        lines = (folder / "python.jsonl").read_text(encoding="utf-8").split("\n")[:-1]
        with files.open_reader(folder / "python" / NAME) as whole:
            for ours in sorted(folder.glob("ours-*")):
                check_dataset(ours / NAME, lines, whole)
                datasets += 1
                samples += len(lines)
    print(json.dumps({"datasets": datasets, "samples": samples}))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("work", choices=["write", "check"])
    parser.add_argument("directory", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=24)
    arguments = parser.parse_args()
    {"write": write, "check": check}[arguments.work](arguments)


if __name__ == "__main__":
    sys.exit(main())
