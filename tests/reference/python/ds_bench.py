"""The Python side of `cargo xtask bench ds`: the same works on the same files as crates/dsfmt/benches/speed.rs.

    python ds_bench.py DIRECTORY

Each work is done once and prints a line of JSON: the seconds of the work alone, and a result that the other side has to have, too.
"""

import argparse
import json
import os
import time
from pathlib import Path

import ds_format as ds
import netCDF4
import numpy

OPENED = 500
WRITTEN = 200


def timed(work, result):
    begin = time.perf_counter()
    done = work()
    seconds = time.perf_counter() - begin
    return seconds, result(done)


def body(path):
    """Where the body of a file begins."""
    with open(path, "rb") as file:
        return len(file.readline()) + len(file.readline())


def dataset(values):
    dims = [f"d{at}" for at in range(values.ndim)]
    return {"x": values, ".": {".": {"title": "numbers"}, "x": {".dims": dims, "units": "K"}}}


def read_small(name):
    def work(directory):
        path = str(directory / name)

        def read():
            found = 0
            for _ in range(OPENED):
                found += ds.read(path)["x"].sum()
            return found

        return timed(read, lambda found: found.item())

    return work


def read_netcdf(values):
    def work(directory):
        path = str(directory / "small.nc")
        ds.write(path, dataset(values))

        def read():
            found = 0
            for _ in range(OPENED):
                with netCDF4.Dataset(path) as file:
                    file.set_auto_maskandscale(False)
                    found += file["x"][:].sum()
            return found

        done = timed(read, lambda found: found.item())
        os.remove(path)
        return done

    return work


def write_small(values, suffix, length):
    def work(directory):
        path = str(directory / f"theirs-small{suffix}")

        def write():
            for _ in range(WRITTEN):
                ds.write(path, dataset(values))

        done = timed(write, lambda _: length or os.path.getsize(path))
        os.remove(path)
        return done

    return work


def first_value(directory):
    def read():
        values = ds.read(str(directory / "big.ds"))["x"].reshape(-1)
        return values[len(values) // 2]

    return timed(read, lambda value: value.item())


def one_row(directory):
    def read():
        path = str(directory / "big.ds")
        return ds.read(path, "x", {"d0": -3})["x"]

    return timed(read, lambda row: row.sum().item())


def statistics(read, minimum, maximum, mean, deviation, percentile):
    """The work of `ds stats` on the values, with the functions of numpy for values with or without NaN."""

    def work(directory):
        def compute():
            values = read(directory)
            minimum(values), maximum(values), mean(values), deviation(values)
            return percentile(values, [50, 16, 84, 2.5, 97.5, 0.5, 99.5])

        return timed(compute, lambda found: found[0].item())

    return work


def mapped_values(directory):
    path = directory / "big.ds"
    return numpy.memmap(path, "f8", "r", body(path))


def read_values(directory):
    return ds.read(str(directory / "big.ds"))["x"].flatten()


def from_file(directory):
    path = directory / "big.ds"
    begin = body(path)
    return timed(lambda: numpy.fromfile(path, "f8", offset=begin), lambda values: values.sum().item())


def read_whole(directory):
    return timed(lambda: ds.read(str(directory / "big.ds"))["x"], lambda values: values.sum().item())


def write(directory):
    values = ds.read(str(directory / "big.ds"))["x"]
    path = str(directory / "theirs-big.ds")
    done = timed(lambda: ds.write(path, dataset(values)), lambda _: os.path.getsize(path))
    os.remove(path)
    return done


def read_swapped(directory):
    return timed(lambda: ds.read(str(directory / "swapped.ds"))["x"].astype("=f8"), lambda values: values.sum().item())


def unpack(directory):
    path = directory / "bools.ds"
    bits = numpy.fromfile(path, "u1", offset=body(path))
    return timed(lambda: numpy.unpackbits(bits).astype(bool), lambda values: values.sum().item())


def unpack_bits(directory):
    path = directory / "bools.ds"
    bits = numpy.fromfile(path, "u1", offset=body(path))
    return timed(lambda: numpy.unpackbits(bits), lambda values: int(values.sum(dtype="u8")))


def expand(directory):
    return timed(lambda: ds.read(str(directory / "masked.ds"))["x"].filled(0.0), lambda values: values.sum().item())


THREE = numpy.array([1.0, 2.0, 3.0])
THOUSAND = numpy.arange(1000)

WORKS = {
    "read tiny": read_small("tiny.ds"),
    "read tiny, NetCDF": read_netcdf(THREE),
    "read 1000": read_small("thousand.ds"),
    "read 1000, NetCDF": read_netcdf(THOUSAND),
    "write tiny": write_small(THREE, ".ds", None),
    "write 1000": write_small(THOUSAND, ".ds", None),
    "write 1000, NetCDF": write_small(THOUSAND, ".nc", 1),
    "first value": first_value,
    "one row": one_row,
    "stats": statistics(
        read_values, numpy.nanmin, numpy.nanmax, numpy.nanmean, numpy.nanstd, numpy.nanpercentile
    ),
    "stats, numpy": statistics(mapped_values, numpy.min, numpy.max, numpy.mean, numpy.std, numpy.percentile),
    "read owned": from_file,
    "read": read_whole,
    "write": write,
    "read swapped": read_swapped,
    "unpack": unpack_bits,
    "unpack to bool": unpack,
    "expand": expand,
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("directory", type=Path)
    parser.add_argument("--only")
    arguments = parser.parse_args()
    for name, work in WORKS.items():
        if arguments.only in (None, name):
            seconds, result = work(arguments.directory)
            print(json.dumps({"work": name, "seconds": seconds, "result": result}), flush=True)


main()
