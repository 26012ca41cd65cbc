"""What the scripts about datadings share: writing datasets quietly, and listing what is in one."""

import io
import contextlib
import hashlib
import warnings
from pathlib import Path

from datadings.reader import MsgpackReader
from datadings.tools.msgpack import packb
from datadings.writer import FileWriter, RawWriter

import datadings_json

INDEX = (".offsets", ".keys", ".key_hashes", ".filter")
LEGACY = ".index"
MD5 = ".md5"


def beside(path, suffix):
    return Path(f"{path}{suffix}")


def write(path, samples):
    """Dicts with a key, through FileWriter."""
    with FileWriter(path, overwrite=True, disable=True) as writer:
        for sample in samples:
            writer.write(sample)


def write_raw(path, messages):
    """Pairs of key and message, through RawWriter."""
    with RawWriter(path, overwrite=True, disable=True) as writer:
        for key, message in messages:
            writer.write(key, message)


def open_reader(path):
    """Python's reader, without its words on files that are not there."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return MsgpackReader(path)


def lines(path):
    """One line for each sample, as Python's reader gives it: its key, and all of it as JSON."""
    with open_reader(path) as reader:
        listed = []
        for index in range(len(reader)):
            key, message = reader.get(index, yield_key=True, raw=True)
            listed.append(f'{{"key":{datadings_json.text(key)},"sample":{datadings_json.message(message)}}}')
        return listed


def md5_line(path):
    return f"{hashlib.md5(path.read_bytes()).hexdigest()}  {path.name}\n"


def sum_again(path, suffixes):
    """Writes the sums of a dataset's files."""
    sums = "".join(md5_line(beside(path, suffix)) for suffix in ("", *suffixes))
    beside(path, MD5).write_text(sums, encoding="utf-8")


def make_legacy(path):
    """Takes the index away and leaves one as older versions of datadings wrote it: a map from key to offset, and its sum."""
    with open_reader(path) as reader:
        keys = [reader.find_key(index) for index in range(len(reader))]
        offsets = [int(offset) for offset in reader._offsets[: len(keys)]]
    for suffix in INDEX:
        beside(path, suffix).unlink()
    beside(path, LEGACY).write_bytes(packb(dict(zip(keys, offsets))))
    sum_again(path, [LEGACY])


@contextlib.contextmanager
def quiet():
    """Without what the package prints on its way."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        yield
