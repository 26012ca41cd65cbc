"""Records what simplebloom does: sizes it derives, files it writes, and the hash it uses.

    python simplebloom_golden.py DIRECTORY

The same on every run: what looks random comes from a generator with a fixed seed.
"""

import os
import random
import struct
import subprocess
import sys
from hashlib import blake2s
from pathlib import Path

SEED = 20240229


def hex_of(p):
    return struct.pack(">d", p).hex()


def shapes():
    """Pairs of elements and probability, with the constructor's own numbers of bits and hashes.

    The constructor gets a buffer for the header alone, so that it runs for filters of any size.
    """
    from simplebloom import bloom

    assert bloom.PURE_PYTHON
    bloom.bytearray = lambda size: bytearray(32)
    rng = random.Random(SEED)
    cases = [(n, None) for n in range(2, 300)]
    cases += [(n, None) for k in range(9, 41) for n in (2**k - 1, 2**k, 2**k + 1)]
    cases += [(rng.randrange(2, 2 ** rng.randrange(2, 41)), None) for _ in range(500)]
    common = [0.5, 0.3, 0.2, 0.1, 0.05, 0.01, 0.001, 1e-4, 1e-5, 1e-6, 1e-9, 1e-12, 1e-30, 1e-300, 5e-324, 2.3e-308]
    common += [0.75, 0.9, 0.99, 0.999, 0.618, 0.7, 1 - 2**-53, 1 - 2**-52, 1 - 2**-30, 1 - 1e-6]
    cases += [(n, p) for p in common for n in (2, 3, 10, 1000, 12345, 10**6, 10**9, 2**40)]
    for _ in range(700):
        n = rng.randrange(2, 2 ** rng.randrange(2, 41))
        cases.append((n, rng.random() or 0.5))
        cases.append((n, struct.unpack(">d", struct.pack(">Q", rng.randrange(1, 0x3FF0000000000000)))[0]))
        cases.append((n, 1 - rng.random() * 2.0 ** -rng.randrange(1, 50)))
    # Numbers that a double does not hold, and a quotient that is not that of doubles.
    for _ in range(200):
        cases.append((rng.randrange(2**53, 2**57), 1 - rng.random() * 0.9))
        cases.append((rng.randrange(2**60, 2**64), 1 - rng.random() * 2.0**-12))
    for n, p in cases:
        if p is not None and not 0 < p < 1:
            continue
        made = bloom.BloomFilter(n, p)
        print(n, hex_of(made.false_positive_prob), made.num_bits, made.num_hashes)


def key(family, i):
    """A key of one of four families; Rust makes the same ones."""
    if family == 0:
        return f"key-{i}"
    if family == 1:
        return f"{i * 0x9E3779B97F4A7C15 % 2**64:016x}" * 4
    if family == 2:
        return "ключ 鍵 🔑 " * (i % 9) + str(i)
    return "x" * (i % 200)


def filters(directory):
    """Files by their digest, and some in full."""
    from simplebloom import BloomFilter, bloom

    assert not bloom.PURE_PYTHON
    rng = random.Random(SEED + 1)
    lines = []
    cases = [(n, None, n) for n in (2, 3, 5, 10, 100, 1000, 10_000)]
    cases += [(1000, p, 700) for p in (0.5, 0.999999, 0.72, 0.75, 1e-12, 1e-100, 5e-324, 1 - 2**-53)]
    for _ in range(280):
        n = rng.randrange(2, 2 ** rng.randrange(2, 13))
        cases.append((n, rng.choice([None, rng.random() or 0.5, 10 ** -rng.uniform(0, 40)]), rng.randrange(0, n + 1)))
    cases.append((3_000_000, 1e-5, 40_000))
    for number, (n, p, count) in enumerate(cases):
        family = number % 4
        made = BloomFilter(n, p)
        for i in range(count):
            made += key(family, i)
        data = bytes(made.dumps())
        lines.append(f"{n} {hex_of(made.false_positive_prob)} {family} {count} {blake2s(data).hexdigest()[:32]}\n")
    (directory / "filters.txt").write_text("".join(lines))
    for name, n, p, count in [("five", 5, None, 5), ("empty", 100, 0.01, 0), ("unicode", 50, 0.001, 50), ("all", 20, 0.999, 3)]:
        made = BloomFilter(n, p)
        for i in range(count):
            made += key(2, i) if name == "unicode" else f"k{i}"
        made.dump(directory / f"{name}.filter")


def digests():
    """hashlib's digests: length of the key, salt, first 16 bytes."""
    lines = []
    for salt in (b"", b"\x01\x02\x03\x04\x05\x06\x07\x08", b"\xff" * 8):
        for length in [*range(0, 140), 191, 192, 193, 255, 256, 257, 1000, 4096, 100_000]:
            data = bytes((i * 31 + length) % 251 for i in range(length))
            lines.append(f"{length} {salt.hex() or '-'} {blake2s(data, salt=salt).hexdigest()[:32]}\n")
    return "".join(lines)


def main():
    if sys.argv[1] == "--shapes":
        shapes()
        return
    directory = Path(sys.argv[1])
    directory.mkdir(parents=True, exist_ok=True)
    # The pure Python base class tells its numbers, and is asked for by a variable before the import.
    environment = dict(os.environ, SIMPLEBLOOM_USEPY="1")
    command = [sys.executable, __file__, "--shapes"]
    (directory / "shapes.txt").write_bytes(subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE).stdout)
    filters(directory)
    (directory / "digests.txt").write_text(digests())


main()
