"""Runs the driver of tests/reference/zippy, and what both the golden files and the interop make of it."""

import json
import subprocess
import sys
from pathlib import Path

DRIVER = Path(sys.argv[1]).resolve()


def run(verb, *arguments, lines=(), program=DRIVER):
    """Runs a verb of the driver, or of a program that knows the same, with lines (texts or bytes) on its standard input; returns what it printed."""
    given = b"".join((line.encode() if isinstance(line, str) else line) + b"\n" for line in lines)
    done = subprocess.run([program, verb, *map(str, arguments)], input=given, stdout=subprocess.PIPE, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{program.name} {verb} {arguments} ended with {done.returncode}")
    return done.stdout.decode()


def told(verb, *arguments, lines=()):
    """The same as values."""
    return [json.loads(line) for line in split(run(verb, *arguments, lines=lines))]


def split(text):
    """Lines that end in line feeds: texts may hold other characters that Python takes for an end."""
    return text.split("\n")[:-1]


def compact(document):
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


def documents(pairs):
    """Lines whose `_id` comes first, of ids and documents."""
    return [compact({"_id": name} | document) for name, document in pairs]


def under(pairs):
    """Lines that stand under an id whatever they hold, of ids and texts."""
    return [f"{name}\t{line}" for name, line in pairs]
