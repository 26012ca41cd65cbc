"""Times simplebloom's C extension in loops over single keys, the way its README shows.

    python simplebloom_bench.py KEYS ROUNDS

Prints one JSON object: median millions of keys a second, how many absent keys were held, and BLAKE2s of the file.
"""

import json
import statistics
import sys
import time
from hashlib import blake2s

from simplebloom import BloomFilter, bloom


def key(number):
    return f"{number * 0x9E3779B97F4A7C15 % 2**64:016x}" * 4


def insert(bf, keys):
    start = time.perf_counter()
    for key in keys:
        bf += key
    return time.perf_counter() - start


def contains(bf, keys):
    count = 0
    start = time.perf_counter()
    for key in keys:
        if key in bf:
            count += 1
    return time.perf_counter() - start, count


def main():
    assert not bloom.PURE_PYTHON, "the C extension is not there"
    n, rounds = int(sys.argv[1]), int(sys.argv[2])
    keys = [key(i) for i in range(n)]
    absent = [key(i) for i in range(n, 2 * n)]
    inserting, present, missing = [], [], []
    for _ in range(rounds):
        bf = BloomFilter(n)
        inserting.append(insert(bf, keys))
        took, count = contains(bf, keys)
        assert count == n
        present.append(took)
        took, wrong = contains(bf, absent)
        missing.append(took)
    speed = lambda times: n / statistics.median_low(times) / 1e6
    result = {
        "insert": speed(inserting),
        "contains, present": speed(present),
        "contains, absent": speed(missing),
        "wrong": wrong,
        "file": blake2s(bf.dumps()).hexdigest()[:32],
    }
    print(json.dumps(result))


main()
