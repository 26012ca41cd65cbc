use container_core::{Access, Bytes, ErrorKind, Limits, OpenOptions, Result, Source, testkit};
use zdx::archive::Archive;

use super::builder::{Item, build, build_at, deflate, store};

pub(crate) fn open(bytes: impl Into<Vec<u8>>) -> Result<Archive> {
    Archive::from_source(Source::from(bytes.into()), None, &OpenOptions::default())
}

fn small() -> Vec<Item> {
    vec![
        store("zds.json", b"{}"),
        deflate("collections/b/meta/data.jsonl", b"{\"_id\":\"x\"}\n"),
        store("collections/a/docs/z.json", b"{\"z\":1}"),
        deflate("collections/a/docs/y-1.json", b"{\"y\":[1,1,1,1,1,1,1,1,1,1,1]}"),
        store("collections/a/docs/y.json", b"{}"),
        store("metadata/root_manifest.json", b"[]"),
    ]
}

fn whole(archive: &Archive, path: &str) -> Option<Bytes> {
    archive.file(path).unwrap().map(|source| source.read(0..source.len()).unwrap())
}

/// All files with their contents.
fn all(source: Source) -> Result<Vec<(String, Bytes)>> {
    let archive = Archive::from_source(source, None, &OpenOptions::default())?;
    let read = |path: &str| {
        let source = archive.file(path)?.unwrap();
        Ok((path.to_owned(), source.read(0..source.len())?))
    };
    archive.files().map(read).collect()
}

#[test]
fn files_documents_and_collections() {
    let archive = open(build(&small())).unwrap();
    assert_eq!((archive.len(), archive.is_empty(), archive.root()), (6, false, ""));
    assert_eq!(archive.collections(), ["a", "b"]);
    assert!(archive.contains("zds.json") && !archive.contains("zds.jso") && !archive.contains("collections/a"));
    assert_eq!(whole(&archive, "zds.json").unwrap(), "{}");
    assert_eq!(archive.size("collections/b/meta/data.jsonl"), Some(12));
    for _ in 0..2 {
        assert_eq!(whole(&archive, "collections/b/meta/data.jsonl").unwrap(), "{\"_id\":\"x\"}\n");
    }
    assert!(archive.file("collections/b/meta/none").unwrap().is_none());
    // Sorted by file name: "y-1.json" before "y.json".
    assert_eq!(archive.documents("a").collect::<Vec<_>>(), ["y-1", "y", "z"]);
    assert_eq!(archive.documents("a").nth(2), Some("z"));
    assert_eq!(archive.documents("a").nth(3), None);
    assert_eq!(archive.documents("a").len(), 3);
    assert_eq!(archive.documents("b").len() + archive.documents("none").len() + archive.documents("a/docs/x").len(), 0);
    assert_eq!(archive.document("a", "z").unwrap().unwrap(), "{\"z\":1}");
    assert_eq!(archive.document("a", "y-1").unwrap().unwrap(), "{\"y\":[1,1,1,1,1,1,1,1,1,1,1]}");
    assert!(archive.document("a", "x").unwrap().is_none());
    assert_eq!(archive.foreign_entries().count(), 0);
    fn shared<T: Send + Sync + Clone + 'static>(_: &T) {}
    shared(&archive);
}

#[test]
fn all_access_modes_agree() {
    testkit::every_source_agrees(&build(&small()), all);
    testkit::every_source_agrees(b"no archive at all", all);
    testkit::every_source_agrees(&build(&small().into_iter().rev().collect::<Vec<_>>()), all);
}

#[test]
fn stored_files_are_not_copied() {
    let bytes = Bytes::from(build(&small()));
    let archive = Archive::from_source(Source::from(bytes.clone()), None, &OpenOptions::default()).unwrap();
    let file = archive.file("zds.json").unwrap().unwrap();
    let here = file.as_slice().unwrap().as_ptr_range();
    assert!(bytes.as_ptr_range().start < here.start && here.end < bytes.as_ptr_range().end);
    let content = archive.file("collections/b/meta/data.jsonl").unwrap().unwrap();
    let again = archive.clone().file("collections/b/meta/data.jsonl").unwrap().unwrap();
    assert_eq!(content.as_slice().unwrap().as_ptr(), again.as_slice().unwrap().as_ptr(), "inflated once");
}

#[test]
fn store_may_be_in_one_directory() {
    for folder in ["x/", "./", "my data/"] {
        let mut items = vec![store(folder, b""), store(&format!("{folder}collections/"), b"")];
        items.extend(
            small().into_iter().map(|item| item.with(|item| item.name = [folder.as_bytes(), &item.name].concat())),
        );
        items.push(store(&format!("{folder}collections/empty/"), b""));
        items.push(store("readme.txt", b"hello"));
        items.push(store(&format!("{folder}notes.txt"), b"hello"));
        items.push(store(&format!("__MACOSX/{folder}collections/a/._docs"), b""));
        items.push(store(&format!("{folder}collections/a/docs/no id.json"), b""));
        items.push(store("\u{1}", b"").with(|item| item.name = b"\xff.txt".to_vec()));
        let archive = open(build(&items)).unwrap();
        assert_eq!(archive.root(), folder);
        assert_eq!(archive.len(), 6);
        assert_eq!(archive.collections(), ["a", "b", "empty"]);
        assert_eq!(archive.document("a", "y").unwrap().unwrap(), "{}");
        let foreign: Vec<_> = archive.foreign_entries().map(|entry| (entry.name, entry.reason)).collect();
        assert_eq!(
            foreign,
            [
                ("readme.txt", "outside the store's directory"),
                (&*format!("{folder}notes.txt"), "not a path of a store"),
                (&*format!("__MACOSX/{folder}collections/a/._docs"), "file left by an operating system"),
                (
                    &*format!("{folder}collections/a/docs/no id.json"),
                    "not a document (expected \"<id>.json\" in docs/)"
                ),
                ("\\xff.txt", "name that is not valid UTF-8"),
            ]
        );
    }
}

#[test]
fn refuses_two_stores_or_none() {
    let two = build(&[store("a/collections/x/meta/data.jsonl", b""), store("b/zds.json", b"")]);
    let error = open(two).unwrap_err();
    assert_eq!(error.to_string(), "zds: the archive contains two stores, in \"a/\" and \"b/\" (byte 0)");
    let error = open(build(&[store("a/b/collections/x/meta/data.jsonl", b"")])).unwrap_err();
    let none =
        "zds: the archive is not a store: neither collections/ nor zds.json at the top or in one directory (byte 0)";
    assert_eq!(error.to_string(), none);
    // The top level wins, and an empty archive is a store without collections.
    let archive = open(build(&[store("a/zds.json", b""), store("zds.json", b"1")])).unwrap();
    assert_eq!((archive.root(), archive.foreign_entries().count()), ("", 1));
    assert!(open(build(&[])).unwrap().collections().is_empty());
}

#[test]
fn accepts_leading_bytes() {
    let bytes = [b"#!/bin/sh\n".as_slice(), &build(&small())].concat();
    let archive = open(bytes).unwrap();
    assert_eq!(whole(&archive, "metadata/root_manifest.json").unwrap(), "[]");
    assert_eq!(archive.document("a", "z").unwrap().unwrap(), "{\"z\":1}");
}

#[test]
fn spools_large_files_and_limits_documents() {
    let content = b"012345678\n".repeat(100_000);
    let bytes =
        build(&[deflate("collections/a/meta/data.jsonl", &content), deflate("collections/a/docs/x.json", &content)]);
    // The compressed length depends on the compressor.
    let second = memchr::memmem::rfind(&bytes, b"PK\x03\x04").unwrap();
    let options = OpenOptions::default().with_limits(Limits::default().with_block_bytes(999_999));
    for access in [container_core::testkit::mapped(), Access::Auto, Access::Positional] {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        std::io::Write::write_all(&mut file, &bytes).unwrap();
        let archive = Archive::open(file.path(), &options.with_access(access)).unwrap();
        assert!(whole(&archive, "collections/a/meta/data.jsonl").unwrap() == content);
        let error = archive.document("a", "x").unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Limit { asked: 1_000_000, limit: 999_999 }));
        let file = file.path().display();
        let expected = format!(
            "the document's size 1000000 exceeds the limit 999999 (byte {second}, key \"collections/a/docs/x.json\")"
        );
        assert_eq!(error.to_string(), format!("zds: {file}: {expected}"));
    }
}

#[test]
fn directory_order_may_differ_from_file_order() {
    let (offsets, bytes) = build_at(&small());
    let mut items: Vec<_> = small().into_iter().zip(offsets).collect();
    let data = bytes;
    items.reverse();
    // The same files, with the directory reversed.
    let ghosts: Vec<_> = items
        .into_iter()
        .map(|(item, offset)| {
            item.with(|item| {
                item.packed = Some(item.data.len() as u64);
                item.offset = Some(offset);
                item.ghost = true;
            })
        })
        .collect();
    let start = u32::from_le_bytes(data[data.len() - 6..data.len() - 2].try_into().unwrap());
    let mut turned = data[..start as usize].to_vec();
    let mut rest = build(&ghosts);
    let end = rest.len();
    rest[end - 6..end - 2].copy_from_slice(&start.to_le_bytes());
    turned.extend(rest);
    assert_eq!(all(Source::from(turned)).unwrap(), all(Source::from(data)).unwrap());
}

#[test]
fn finds_files_in_any_directory_order() {
    // Names with common prefixes, equal in the first eight bytes, and some in other directories.
    let mut paths: Vec<String> = (0..300)
        .flat_map(|number| {
            [format!("collections/a/docs/doc-0123456789-{number}.json"), format!("collections/a/docs/d{number}-x.json")]
        })
        .collect();
    for path in
        ["zds.json", "collections/a/doc/x", "collections/a/docs-b/x", "collections/a/meta/x", "collections/\u{e9}/x"]
    {
        paths.push(path.to_owned());
    }
    let mut sorted = paths.clone();
    sorted.sort();
    for step in [1, 7, 604] {
        let items: Vec<_> = (0..paths.len()).map(|number| &paths[number * step % paths.len()]).collect();
        let items: Vec<_> = items.into_iter().map(|path| store(path, path.as_bytes())).collect();
        let archive = open(build(&items)).unwrap();
        assert!(archive.files().eq(sorted.iter()), "{step}");
        for path in &sorted {
            assert_eq!(whole(&archive, path).unwrap(), path);
        }
        let twice: Vec<_> = items.iter().cloned().chain([items[step].clone()]).collect();
        let error = open(build(&twice)).unwrap_err().to_string();
        assert!(error.starts_with("zds: two entries have the same name: at byte "), "{error}");
        let name = String::from_utf8(items[step].name.clone()).unwrap();
        assert!(error.ends_with(&format!("key {name:?})")), "{error} {name}");
    }
}

#[test]
fn memory_use_is_bounded() {
    // 60 MiB each: four are kept in memory, the others in temporary files, and all read the same.
    let content = vec![b'x'; 60 << 20];
    let one = deflate("collections/a/meta/0", &content);
    let named = |number: usize| one.clone().with(|item| item.name = format!("collections/a/meta/{number}").into());
    let archive = open(build(&(0..6).map(named).collect::<Vec<_>>())).unwrap();
    for _ in 0..2 {
        for path in archive.files() {
            let file = archive.file(path).unwrap().unwrap();
            assert_eq!(file.len(), content.len() as u64);
            assert!(file.read(0..file.len()).unwrap() == content, "{path}");
        }
    }
}

#[test]
fn accepts_data_descriptors() {
    // As written to a pipe: no sizes before the data, a descriptor of 16 bytes after them.
    let mut items = Vec::new();
    for item in [store("collections/a/docs/x.json", b"{}"), deflate("collections/a/docs/y.json", b"[1,1,1,1,1,1]")] {
        items.push(item.with(|item| item.flags = 8));
    }
    let (offsets, bytes) = build_at(&items);
    let mut streamed = bytes.clone();
    for offset in offsets {
        streamed[offset as usize + 14..offset as usize + 26].fill(0);
    }
    let archive = open(streamed.clone()).unwrap();
    assert_eq!(archive.document("a", "y").unwrap().unwrap(), "[1,1,1,1,1,1]");
    archive.verify(&mut |finding| panic!("{}", finding.error)).unwrap();
    // Without the flag, zeros are wrong.
    for offset in [0, 57] {
        streamed[offset + 6] = 0;
    }
    let mut found = 0;
    open(streamed).unwrap().verify(&mut |_| found += 1).unwrap();
    assert_eq!(found, 2);
}
