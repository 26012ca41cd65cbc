"""Writes tests/golden/datadings-files: a tree of files, the same as a ZIP archive, and the sums of the datasets that Python makes of them.

    python datadings_tree.py DIRECTORY
"""

import json
import os
import sys
import tempfile
import zipfile
from pathlib import Path

from datadings.reader import DirectoryReader, ZipFileReader
from datadings.writer import FileWriter

OUT = Path(sys.argv[1]).resolve()

LABELS = ["cat", "dog9", "dog10", "\u00e9t\u00e9", "fox", "Zoo"]
NAMES = {
    "1.jpg": "one",
    "10.jpg": "ten" * 100,
    "2.jpg": "two" * 100,
    "empty.jpg": "",
    "note.txt": "a note",
    "sub/1.jpg": "deeper",
    "sub/sub/x y.png": "deepest",
}
TREE = {f"{label}/{name}": f"{content}{label if content else ''}" for label in LABELS for name, content in NAMES.items()}
# None of these is matched by the default pattern.
TREE |= {"top.jpg": "no label", ".hidden/1.jpg": "hidden", "cat/.hidden.jpg": "hidden too", "dog9/long.bin": "long" * 20_000}

LIST = "cat/1.jpg\tb2\tmore\tand more\ndog9/1.jpg\tb10\ncat/sub/1.jpg\tb2\t\n"
ORDER = "Zoo\nfox\n\u00e9t\u00e9\ndog10\ndog9\ncat\n"


def save(name, reader, order=None):
    """The .md5 file of a dataset of these samples: Python takes files in the order of the file system, which has to be said."""
    indexes = sorted(range(len(reader)), key=order) if order else range(len(reader))
    with FileWriter(f"{name}.msgpack", overwrite=True, disable=True) as writer:
        for index in indexes:
            writer.write(reader.get(index))
    (OUT / f"{name}.md5").write_text(Path(f"{name}.msgpack.md5").read_text(encoding="utf-8"), encoding="utf-8")


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    os.chdir(tempfile.mkdtemp())
    lines = []
    for path, content in TREE.items():
        file = Path("photos", path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, encoding="utf-8")
        lines.append(json.dumps({"path": path, "text": content}) + "\n")
    (OUT / "tree.jsonl").write_text("".join(lines), encoding="utf-8")
    with zipfile.ZipFile(OUT / "tree.zip", "w") as archive:
        for number, path in enumerate(sorted(path for path in TREE if "/." not in f"/{path}")):
            info = zipfile.ZipInfo(path, (2024, 1, 2, 3, 4, 6))
            method = zipfile.ZIP_DEFLATED if number % 2 else zipfile.ZIP_STORED
            archive.writestr(info, TREE[path], compress_type=method)
    (OUT / "list.txt").write_text(LIST, encoding="utf-8")
    (OUT / "order.txt").write_text(ORDER, encoding="utf-8")

    def by_path(reader):
        return lambda index: reader._samples[index]["path"].encode().split(b"/")

    reader = DirectoryReader("photos/{LABEL}/**")
    save("folder", reader, by_path(reader))
    reader = DirectoryReader("photos/{LABEL}/*.jpg", numeric_labels=False, exclude=["*/dog*"])
    save("folder-text", reader, by_path(reader))
    reader = DirectoryReader("photos/{LABEL}/sub/**", labels=OUT / "order.txt", include=["*.jpg", "photos/cat/*"])
    save("folder-order", reader, by_path(reader))
    save("list", DirectoryReader(OUT / "list.txt", root_dir="photos"))
    save("archive", ZipFileReader(OUT / "tree.zip", "{LABEL}/**"))
    save("archive-list", ZipFileReader(OUT / "tree.zip", OUT / "list.txt"))


main()
