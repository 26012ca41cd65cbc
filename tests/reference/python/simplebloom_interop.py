"""Writes filters and questions with simplebloom, and asks it about filters that others wrote.

    python simplebloom_interop.py write DIRECTORY SEED COUNT
    python simplebloom_interop.py ask DIRECTORY

For each filter there are NAME.filter, as simplebloom writes it, and NAME.txt: elements and the bits of the probability in
hex, or `-` for the default; `i` and the hex of each key that went in; `a`, the hex of a key that is asked for, and the answer.
`ask` loads NAME.ours instead, and every answer must be the same.
"""

import random
import struct
import sys
from pathlib import Path

from simplebloom import BloomFilter, bloom

ALPHABETS = [
    "abcdefghijklmnopqrstuvwxyz0123456789/_-.",
    "äöüßéèêñçøåæœ ÄÖÜ",
    "абвгдежзийклмнопрстуфхцчшщъыьэюя",
    "日本語漢字仮名交文章例",
    "🔑🌸🦀🐍🎉👩‍🔬",
    "\0\x01\n\t\"\\ \u2028\uffff",
]


def key(rng):
    length = rng.choice([rng.randrange(0, 12), rng.randrange(0, 70), rng.randrange(50, 80), rng.randrange(0, 300)])
    return "".join(rng.choice(rng.choice(ALPHABETS)) for _ in range(length))


def hex_of(key):
    return key.encode().hex() or "-"


def probability(rng):
    return rng.choice([None, rng.random() or 0.5, 10 ** -rng.uniform(0.01, 12), 10 ** -rng.uniform(1, 300), 1 - 10 ** -rng.uniform(0.1, 15)])


def write(directory, seed, count):
    for number in range(count):
        rng = random.Random(f"{seed} {number}")
        n, p = rng.randrange(2, rng.choice([10, 100, 2000, 20000])), probability(rng)
        keys = [key(rng) for _ in range(rng.randrange(0, min(2 * n, 3000)))]
        made = BloomFilter(n, p)
        for k in keys:
            made += k
        asked = keys[:50] + [key(rng) for _ in range(150)]
        lines = [f"{n} {'-' if p is None else struct.pack('>d', p).hex()}"]
        lines += [f"i {hex_of(k)}" for k in keys]
        lines += [f"a {hex_of(k)} {int(k in made)}" for k in asked]
        (directory / f"{number:05}.txt").write_text("\n".join(lines) + "\n")
        made.dump(directory / f"{number:05}.filter")


def ask(directory):
    answers = 0
    for questions in sorted(directory.glob("*.txt")):
        ours = BloomFilter.load(questions.with_suffix(".ours"))
        for line in questions.read_text().splitlines()[1:]:
            kind, text, *answer = line.split(" ")
            k = bytes.fromhex(text.replace("-", "")).decode()
            expected = kind == "i" or answer == ["1"]
            assert (k in ours) == expected, (questions, line)
            answers += 1
        assert ours.dumps() == questions.with_suffix(".filter").read_bytes(), questions
    print(answers)


assert not bloom.PURE_PYTHON, "the C extension is not there"
if sys.argv[1] == "write":
    write(Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
else:
    ask(Path(sys.argv[2]))
