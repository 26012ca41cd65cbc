"""Runs the driver of tests/reference/zippy, and what both the golden files and the interop make of it."""

import json
import subprocess
import sys
from pathlib import Path

DRIVER = Path(sys.argv[1]).resolve()


def run(verb, *arguments, lines=()):
    """Runs a verb with lines (texts or bytes) on its standard input; returns what it printed."""
    given = b"".join((line.encode() if isinstance(line, str) else line) + b"\n" for line in lines)
    done = subprocess.run([DRIVER, verb, *map(str, arguments)], input=given, stdout=subprocess.PIPE, check=False)
    if done.returncode != 0:
        raise SystemExit(f"zippy-driver {verb} ended with {done.returncode}")
    return done.stdout.decode()


def told(verb, *arguments, lines=()):
    """The same as values."""
    return [json.loads(line) for line in run(verb, *arguments, lines=lines).splitlines()]


def compact(document):
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


def documents(pairs):
    """Lines whose `_id` comes first, of ids and documents."""
    return [compact({"_id": name} | document) for name, document in pairs]


def under(pairs):
    """Lines that stand under an id whatever they hold, of ids and texts."""
    return [f"{name}\t{line}" for name, line in pairs]
