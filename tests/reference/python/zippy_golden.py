"""Writes the golden files of tests/golden/zds with the driver of tests/reference/zippy, and prints the rows of the list in their PROVENANCE.md.

    python zippy_golden.py DRIVER DIRECTORY
"""

import csv
import gzip
import importlib.util
import json
import shutil
import sys
import tempfile
from pathlib import Path

from zippy import FastZDSStore, ZDSStore

from zippy_driver import compact, documents, run, told, under

OUT = Path(sys.argv[2])
ROWS = []


def meta(root, collection):
    return root / "collections" / collection / "meta"


def row(name, holds):
    ROWS.append(f"| `{name}` | {holds} |")


def keep(name, holds, expected=None):
    """Puts what the reference reads in a store beside it."""
    root = OUT / name
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    text = run("dump", root) if expected is None else expected
    assert all(path.read_bytes() == was for path, was in before.items()) and len(before) == sum(path.is_file() for path in root.rglob("*"))
    assert '"error"' not in text, text
    (OUT / f"{name}.expected.jsonl").write_text(text)
    row(name, holds)


def plain(count, first=0):
    for n in range(first, first + count):
        yield f"doc-{n:03}", {
            "n": n, "half": n / 2, "even": n % 2 == 0, "none": None, "text": f"number {n}",
            "list": list(range(n % 4)), "object": {"a": n, "deep": {"b": [n, {"c": "d"}]}}, "Upper": n * n,
        }


def by_put():
    run("write", OUT / "put", "train", "--batch", 7, lines=documents(plain(40)))
    keep("put", "documents put one by one in batches of 7: members stand sorted, so that `Upper` comes before `_id`")
    row_lines = documents(plain(60))
    root = OUT / "batches"
    run("write", root, "c", "--mode", "blob", "--batch", 16, lines=row_lines[:20])
    run("write", root, "c", "--mode", "raw", "--batch", 3, lines=row_lines[20:31])
    run("write", root, "c", "--mode", "put", "--batch", 1, lines=row_lines[31:40])
    run("write", root, "c", "--mode", "blob", "--batch", 1000, lines=row_lines[40:])
    keep("batches", "whole blobs of lines, raw lines and documents put, by four processes")


def texts():
    words = {
        "empty": "", "latin": "ÄÖÜ äöü ß é ñ", "japanese": "日本語のテキスト", "emoji": "\U0001f600 \U0001f3f3\ufe0f\u200d\U0001f308",
        "control": "\x00\x01\x1f\x7f\t\n\r\b\f", "quotes": "\" \\ / '", "separators": "\u2028\u2029\x85", "mark": "\ufeffinside", "last": "\uffff\U0010ffff",
        "combined": "e\u0301", "right-to-left": "\u202eעברית العربية", "bytes": "a" * 127 + "é" * 64,
    }
    pairs = [(f"word.{n}_{name}", {"text": text, text: n}) for n, (name, text) in enumerate(words.items())]
    run("write", OUT / "unicode", "put", "--mode", "put", lines=documents(pairs))
    escaped = [json.dumps({"_id": name} | document) for name, document in pairs]
    run("write", OUT / "unicode", "escaped", "--mode", "raw", lines=escaped)
    run("write", OUT / "unicode", "as-it-is", "--mode", "raw", lines=documents(pairs))
    keep("unicode", "texts and names of members in many alphabets, with control characters: as the reference puts them, all escaped, and none")


def numbers():
    texts = [
        "0", "1", "-1", "127", "128", "255", "256", "32767", "65536", "2147483648", "-2147483649", "4294967296", "9007199254740991", "9007199254740993",
        "9223372036854775807", "-9223372036854775808", "9223372036854775808", "18446744073709551615", "0.0", "-0.0", "0.1", "1.0", "1e0", "1E+2", "1e-2", "1.5e300",
        "0.30000000000000004", "5e-324", "2.2250738585072011e-308", "2.2250738585072014e-308", "1.7976931348623157e308", "1.2345678901234568e29", "1e23", "9007199254740993.0",
        "0.1234567890123456789", "8.41", "179.76931348623157e306", "1e-400", "123456789012345678",
    ]
    lines = [(f"number-{n:02}", f'{{"_id":"number-{n:02}","value":{text},"list":[{text},{text}]}}') for n, text in enumerate(texts)]
    run("write", OUT / "numbers", "raw", "--mode", "raw", lines=under(lines))
    run("write", OUT / "numbers", "put", "--mode", "put", lines=under(lines))
    keep("numbers", "numbers of every size and spelling that the reference reads, as they were spelt and as it puts them")


def deleted():
    root = OUT / "deleted"
    for collection, gone in (("first", [0]), ("middle", [3, 4, 5, 9]), ("last", [17, 18, 19]), ("again", [2, 19])):
        run("write", root, collection, lines=documents(plain(20)))
        run("delete", root, collection, *(f"doc-{n:03}" for n in gone))
    run("write", root, "again", lines=documents([("doc-002", {"back": True})]))
    keep("deleted", "documents deleted at the beginning, in the middle, at the end, and one of them put again: their lines are still there")

    root = OUT / "deleted-all"
    run("write", root, "c", lines=documents(plain(5)))
    run("delete", root, "c", *(f"doc-{n:03}" for n in range(5)))
    assert meta(root, "c").joinpath("index.bin").stat().st_size == 16
    assert len(told("ids", root, "c")) == 5
    keep("deleted-all", "all documents deleted: the index has no entry", expected="")


def again():
    root = OUT / "put-again"
    run("write", root, "c", lines=documents(plain(10)))
    for turn in range(3):
        run("write", root, "c", "--batch", 2, lines=documents((f"doc-{n:03}", {"turn": turn, "n": n}) for n in range(turn, 10, 3)))
    run("write", root, "c", "--mode", "raw", lines=documents([("doc-000", {"n": n}) for n in range(4)]))
    keep("put-again", "ids that were put up to six times: the last line of each holds")

    shutil.copytree(root, OUT / "compacted")
    root = OUT / "compacted"
    run("delete", root, "c", "doc-003", "doc-009")
    run("compact", root, "c")
    keep("compacted", "`put-again`, two documents less, compacted: the lines of those are gone, older lines of the others are not")
    shutil.copytree(OUT / "deleted", OUT / "compacted-deleted")
    for collection in ("first", "middle", "last", "again"):
        run("compact", OUT / "compacted-deleted", collection)
    run("write", OUT / "compacted-deleted", "middle", lines=documents(plain(3, 100)))
    keep("compacted-deleted", "`deleted`, compacted, and more documents put behind")


def collections():
    root = OUT / "two"
    run("write", root, "train", lines=documents(plain(12)))
    run("write", root, "test-set_2", lines=documents(plain(4, 8)))
    keep("two", "two collections, in which some ids are the same")
    run("write", OUT / "empty", "nothing")
    run("write", OUT / "empty", "bare", "--mode", "raw", lines=['{"_id":"bare"}'])
    keep("empty", "a collection of no documents, and one whose document has no member but its id")


def forms():
    """Lines that nobody but a caller of put_raw_line makes."""
    lines = [
        ("spaces", ' {  "_id" : "spaces" ,\t"a" : [ 1 , 2 ] } '),
        ("last", '{"a":{"_id":"inner"},"list":[{"_id":"other"}],"_id":"last"}'),
        ("escaped", '{"\\u005fid":"\\u0065scaped","a":1}'),
        ("return", '{"_id":"return","a":1}\r'),
        ("text", '{"note":"\\"_id\\":\\"x\\"","_id":"text"}'),
        ("twice", '{"_id":"once","a":1,"_id":"twice","a":2}'),
        ("a" * 255, compact({"_id": "a" * 255, "characters": 255})),
        ("0", '{"_id":"0"}'), ("-", '{"_id":"-"}'), ("_", '{"_id":"_"}'), ("a.b.c", '{"_id":"a.b.c"}'), ("A", '{"_id":"A"}'), ("a", '{"_id":"a"}'),
        ("deep", '{"_id":"deep","a":' + "[" * 100 + "]" * 100 + "}"),
        ("many", compact({"_id": "many"} | {f"member {n}": n for n in range(300)})),
        ("long", compact({"_id": "long", "text": "0123456789abcdef" * 2000})),
    ]
    run("write", OUT / "forms", "c", "--mode", "raw", lines=under(lines))
    keep("forms", "`_id` anywhere, escaped, twice, in inner objects; white space; CR LF; ids of 1 and of 255 characters; a line of 32 KB")

    run("write", OUT / "foreign", "without", "--mode", "raw", lines=under([("a", '{"n":1}'), ("b", '{"n":2}')]))
    run("write", OUT / "foreign", "another", lines=under([("a", '{"_id":"b","n":1}'), ("b", '{"_id":"b","n":2}'), ("c", '{"_id":7,"n":3}')]))
    keep("foreign", "lines that the index has under another id than their own, or that have none")
    letters = [("größe", {"n": 1}), ("日本", {"n": 2}), ("x²", {"n": 3}), ("plain", {"n": 4}), ("a" * 300, {"n": 5})]
    run("write", OUT / "other-ids", "c", lines=documents(letters))
    keep("other-ids", "ids that only the reference takes: letters and digits beyond ASCII, and 300 characters")


def files():
    root = OUT / "docs"
    pairs = [(f"file-{n}", {"n": n, "text": "ä" * n, "nested": {"list": [n, None, {}], "empty": []}}) for n in (5, 3, 9, 1, 7, 2)]
    run("docs-write", root, "c", lines=[f"{name}\t{compact(document)}" for name, document in pairs])
    run("docs-write", root, "c", lines=["file-9", "file-3\t" + compact({"again": True}), "file-0\t" + compact({"_id": "file-0", "kept": 1}), "id.with.dots\t[1,2]"])
    keep("docs", "a file for each document: one deleted, one put again, one with an `_id`, one that is no object")
    root = OUT / "both"
    run("docs-write", root, "c", lines=under([("file", '{"is":"a file"}'), ("same", '{"is":"a file"}')]))
    run("write", root, "c", lines=documents([("line", {"is": "a line"}), ("same", {"is": "a line"})]))
    run("write", root, "lines", lines=documents(plain(2)))
    run("docs-write", root, "files", lines=under([("file", "{}")]))
    keep("both", "lines and files in one collection, an id in both; and collections of one of them")


def without_index():
    for name, holds in (("no-index", "a store whose index is gone"), ("no-index-torn", "the same, without the last line feed")):
        root = OUT / name
        run("write", root, "c", lines=documents(plain(9)))
        run("write", root, "c", lines=documents([("doc-004", {"again": True})]))
        meta(root, "c").joinpath("index.bin").unlink()
        data = meta(root, "c") / "data.jsonl"
        data.write_bytes(data.read_bytes()[: -1 if name.endswith("torn") else None])
        keep(name, holds)


def of_python():
    """What the package writes where it does without Rust: the index is text, documents in files are not indented, and there is a manifest."""
    root = OUT / "text-index"
    with FastZDSStore.open(root, "c", batch_size=5) as store:
        for name, document in plain(12):
            store.put(name, document)
        store.put("doc-005", {"again": True})
        store.put("größe", {"text": "größer"})
    with FastZDSStore.open(root, "c") as store:
        for name in ("doc-000", "doc-011"):
            store.delete(name)
    assert meta(root, "c").joinpath("index.bin").read_bytes()[:4] == b"doc-"
    keep("text-index", "an index of text, of the package's store in pure Python: two documents are deleted, one is put again, one has another id than we take")
    root = OUT / "manifest"
    for collection, strict in (("loose", False), ("strict", True)):
        store = ZDSStore.open(root, collection, strict=strict)
        for name, document in plain(4):
            store.put(name, {"n": document["n"], "text": "é"})
    text = "".join(
        compact({"collection": collection, "document": store.get(name), "id": name, "mode": "docs", "position": n}) + "\n"
        for collection, store in ((each, ZDSStore.open(root, each)) for each in ("loose", "strict"))
        for n, name in enumerate(store.list_doc_ids())
    )
    keep("manifest", "files without order, with a manifest, of the package's store in pure Python; in one collection all share a schema", expected=text)


def data_of(name):
    """A file of scikit-learn's own data, without loading the package."""
    package = importlib.util.find_spec("sklearn").submodule_search_locations[0]
    return Path(package) / "datasets/data" / name


def real():
    with open(data_of("iris.csv"), encoding="utf-8") as table:
        (_, _, *species), *measured = csv.reader(table)
    names = ["sepal length (cm)", "sepal width (cm)", "petal length (cm)", "petal width (cm)"]
    lines = documents(
        (f"iris-{n:03}", dict(zip(names, map(float, values))) | {"species": species[int(kind)]}) for n, (*values, kind) in enumerate(measured)
    )
    run("write", OUT / "iris", "train", "--mode", "blob", lines=[line for n, line in enumerate(lines) if n % 5])
    run("write", OUT / "iris", "test", "--mode", "put", lines=lines[::5])
    keep("iris", "scikit-learn's 150 irises, in two parts")
    with gzip.open(data_of("digits.csv.gz"), "rt") as table:
        rows = [[int(float(value)) for value in line.split(",")] for line in table][:100]
    lines = documents((f"digit-{n}", {"label": label, "image": [pixels[at : at + 8] for at in range(0, 64, 8)]}) for n, (*pixels, label) in enumerate(rows))
    run("write", OUT / "digits", "digits", "--mode", "raw", lines=lines)
    keep("digits", "the first 100 of scikit-learn's 1797 digits, as nested lists")


def packed():
    """Archives, from trees as the reference leaves them: with directories that are empty."""
    with tempfile.TemporaryDirectory() as folder:
        lines, both, repeated = Path(folder, "lines"), Path(folder, "both"), Path(folder, "repeated")
        run("write", lines, "train", lines=documents(plain(30)))
        run("write", lines, "test", lines=documents(plain(5)))
        run("delete", lines, "train", "doc-003")
        files = under([(f"file-{n}", compact({"n": n})) for n in range(4)])
        docs = Path(folder, "docs")
        run("docs-write", docs, "c", lines=files)
        run("docs-write", both, "c", lines=files)
        run("write", both, "c", lines=documents(plain(6)))
        run("write", repeated, "c", lines=documents((f"doc-{n:03}", {"text": "the same again " * 9}) for n in range(200)))
        none = Path(folder, "none")
        run("write", none, "c")
        for root, holds in (
            (lines, "two collections of lines, one document deleted"), (docs, "a collection of files"), (both, "lines and files in one collection"),
            (repeated, "200 documents that DEFLATE makes small"), (none, "a collection of no documents"),
        ):
            archive = OUT / f"packed-{root.name}.zds"
            run("pack", root, archive)
            text = run("archive-dump", archive)
            assert text == run("dump", root)
            (OUT / f"packed-{root.name}.expected.jsonl").write_text(text)
            row(f"packed-{root.name}", f"an archive: {holds}")


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    for part in (by_put, texts, numbers, deleted, again, collections, forms, files, without_index, of_python, real, packed):
        part()
    # Git keeps no empty directories: the lock's, `metadata`, `docs` of a collection of lines.
    for path in sorted(OUT.rglob("*"), reverse=True):
        if path.is_dir() and not any(path.iterdir()):
            path.rmdir()
    print("\n".join(ROWS))


if __name__ == "__main__":
    main()
