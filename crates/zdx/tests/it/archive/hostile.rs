use std::fs;

use container_core::{OpenOptions, Severity, Source, testkit};
use zdx::archive::{Archive, UnpackOptions, unpack};

use super::builder::{Item, build, build_at, deflate, store};
use super::reading::open;

const PATH: &str = "collections/a/meta/data.jsonl";

/// The error of opening.
fn open_error(items: &[Item]) -> String {
    open(build(items)).unwrap_err().to_string()
}

/// The error of reading the file, which verification and unpacking must report, too; another file in the archive must still be readable.
fn file_error(item: Item) -> String {
    let good = b"{\"good\":1}";
    let bytes = build(&[store("collections/a/docs/good.json", good), item]);
    let archive = open(bytes).unwrap();
    assert_eq!(archive.document("a", "good").unwrap().unwrap(), &good[..]);
    let mut findings = Vec::new();
    archive.verify(&mut |finding| findings.push(finding)).unwrap();
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0].severity, Severity::Error);
    let message = findings[0].error.to_string();
    let temp = tempfile::tempdir().unwrap();
    let unpacked = unpack(&archive, temp.path().join("out"), &UnpackOptions::default()).unwrap_err();
    assert_eq!(unpacked.to_string(), message);
    assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 0);
    // The CRC of a stored file is not checked when it is read in place.
    let asked = archive.file(PATH).map(drop).err().map_or_else(|| message.clone(), |error| error.to_string());
    assert_eq!(asked, message);
    let there = format!(" (byte 68, key {PATH:?})");
    message.strip_prefix("zds: ").unwrap().strip_suffix(&there).unwrap_or(&message).to_owned()
}

#[test]
fn opening_detects_duplicates_and_overlaps() {
    let two = [store(PATH, b"one"), store("zds.json", b""), deflate(PATH, b"two")];
    assert_eq!(
        open_error(&two),
        format!("zds: two entries have the same name: at byte 0 and at byte 100 (byte 100, key {PATH:?})")
    );
    let whole = |item: &mut Item| {
        item.ghost = true;
        item.offset = Some(0);
        item.packed = Some(3);
    };
    // Two entries with one local header, as in a ZIP bomb.
    let ghost = store("collections/a/docs/x.json", b"one").with(whole);
    let overlaps = |bytes: u32, other: &str, there: u32, at: u32, key: &str| {
        let detail = format!("the entry of {bytes} bytes overlaps entry {other:?} at byte {there}");
        format!("zds: {detail} (byte {at}, key {key:?})")
    };
    assert_eq!(open_error(&[store(PATH, b"one"), ghost.clone()]), overlaps(3, "collections/a/docs/x.json", 0, 0, PATH));
    // An entry that overlaps the next.
    let long = store(PATH, b"one").with(|item| item.packed = Some(4));
    assert_eq!(open_error(&[long, store("zds.json", b"{}")]), overlaps(4, "zds.json", 62, 0, PATH));
    // An entry that overlaps the directory, is within it, or past the end of the file.
    let into = |detail: &str, at: u32| format!("zds: {detail} (byte {at}, key {PATH:?})");
    let long = store(PATH, b"one").with(|item| item.packed = Some(u32::MAX.into()));
    let detail = "the entry of 4294967295 bytes overlaps the archive's directory at byte 62";
    assert_eq!(open_error(&[long]), into(detail, 0));
    for offset in [70, 0xffff_fff0] {
        let far = store(PATH, b"one").with(|item| item.offset = Some(offset));
        assert_eq!(open_error(&[far]), into("the entry of 3 bytes overlaps the archive's directory at byte 62", 62));
    }
    // Foreign entries and directories are checked, too.
    for name in ["notes.txt", "collections/"] {
        let ghost = store(name, b"one").with(whole);
        assert_eq!(open_error(&[store(PATH, b"one"), ghost]), overlaps(3, name, 0, 0, PATH));
    }
}

#[test]
fn rejects_wrong_directories() {
    let bytes = build(&[store("zds.json", b"{}")]);
    let end = bytes.len() - 22;
    let with = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = bytes.clone();
        change(&mut bytes);
        open(bytes).unwrap_err().to_string()
    };
    let counted = with(&|bytes| bytes[end + 10] = 2);
    assert_eq!(
        counted,
        format!("zds: the archive's directory has 1 entries, but its end record declares 2 (byte {end})")
    );
    let none = "zds: not a ZIP archive, or truncated: no end record";
    assert_eq!(with(&|bytes| bytes[end] = b'X'), format!("{none} (byte {})", bytes.len()));
    assert_eq!(with(&|bytes| bytes.clear()), format!("{none} (byte 0)"));
    let comment = with(&|bytes| bytes[end + 20] = 1);
    assert_eq!(
        comment,
        format!("zds: the archive's end record reaches past the end of the file (byte {})", bytes.len())
    );
    let broken = with(&|bytes| bytes[40] = b'X');
    assert!(broken.starts_with("zds: entry 0 of the archive's directory is damaged: "), "{broken}");
    assert!(broken.ends_with(" (byte 40)"), "{broken}");
    let far = with(&|bytes| bytes[end + 16] = 0xf0);
    assert!(far.starts_with("zds: "), "{far}");
    // A name past the end of the directory.
    let long = with(&|bytes| bytes[40 + 28] = 0xff);
    assert_eq!(long, "zds: entry 0 of the archive's directory reaches past the end of the file (byte 40)");
}

#[test]
fn accepts_wrapped_entry_count() {
    // As written without ZIP64 support: 65,537 entries are counted as one.
    let items: Vec<_> = (0..65_537).map(|number| store(&format!("collections/a/docs/{number}.json"), b"{}")).collect();
    let mut bytes = build(&items);
    let end = bytes.len() - 22;
    bytes[end + 8..end + 12].copy_from_slice(&[1, 0, 1, 0]);
    assert_eq!(open(bytes.clone()).unwrap().documents("a").len(), 65_537);
    bytes[end + 10] = 2;
    assert!(open(bytes).is_err());
}

#[test]
fn refuses_entries_that_are_not_files() {
    let with_mode = |mode: u32| file_error(store(PATH, b"/etc/passwd").with(|item| item.mode = mode));
    assert_eq!(with_mode(0o120_777), "the entry is a symbolic link, which is not followed");
    for mode in [0o020_666, 0o060_666, 0o010_666, 0o140_666, 0o040_755] {
        assert_eq!(with_mode(mode), "the entry is neither a file nor a directory");
    }
    for flags in [1, 1 << 6 | 1, 1 << 13] {
        assert_eq!(file_error(store(PATH, b"x").with(|item| item.flags = flags)), "the entry is encrypted");
    }
    let detail = "the entry is encrypted according to its local header, but not the directory";
    assert_eq!(file_error(store(PATH, b"x").with(|item| item.local_flags = Some(1))), detail);
    for method in [1, 9, 12, 14, 93, 99, 65_535] {
        let detail = format!("compression method: expected 0 (STORE) or 8 (DEFLATE), found {method}");
        assert_eq!(file_error(store(PATH, b"x").with(|item| item.method = method)), detail);
    }
}

#[test]
fn rejects_mismatched_headers() {
    let named = |name: &str| file_error(store(PATH, b"x").with(|item| item.local_name = Some(name.into())));
    assert_eq!(
        named("collections/a/meta/other.jso1"),
        "the local header has another name, \"collections/a/meta/other.jso1\""
    );
    assert_eq!(
        named("collections/a/meta/DATA.jsonl"),
        "the local header has another name, \"collections/a/meta/DATA.jsonl\""
    );
    let longer = file_error(store(PATH, b"0123456789").with(|item| {
        item.local_name = Some(format!("{PATH}.x").into());
        item.data.truncate(8);
        item.packed = Some(10);
    }));
    assert_eq!(longer, format!("the local header has another name, {PATH:?} and more"));
    let method = file_error(deflate(PATH, b"x").with(|item| item.local_method = Some(0)));
    assert_eq!(method, "compression method 0 in the local header, but 8 in the directory");
    // An extra field that shifts the data into the next entry.
    let pushed = file_error(store(PATH, b"x").with(|item| {
        item.local_extra = vec![0; 5];
        item.data.clear();
        item.packed = Some(1);
    }));
    let at = format!("zds: the entry's data: needs 1 byte, 0 available (byte 132, key {PATH:?})");
    assert_eq!(pushed, at);
}

#[test]
fn rejects_wrong_sizes_and_checksums() {
    let text = b"{\"_id\":\"x\",\"text\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"}\n";
    let packed = deflate(PATH, text).data.len() as u64;
    let stored = file_error(store(PATH, text).with(|item| item.size = 5));
    assert_eq!(stored, format!("the entry is stored in {} bytes, but declares 5", text.len()));
    let more = file_error(deflate(PATH, text).with(|item| item.size -= 1));
    assert_eq!(more, format!("the entry decompresses to more than the declared {} bytes", text.len() - 1));
    let less = file_error(deflate(PATH, text).with(|item| item.size += 1));
    assert_eq!(less, format!("the entry decompresses to {} bytes, but declares {}", text.len(), text.len() + 1));
    let bomb = file_error(deflate(PATH, text).with(|item| item.size = packed * 1032 + 1));
    let detail =
        format!("the entry declares {} bytes, more than {packed} bytes of DEFLATE can hold", packed * 1032 + 1);
    assert_eq!(bomb, detail);
    let crc = crc32fast::hash(text);
    for item in [store(PATH, text), deflate(PATH, text)] {
        let wrong = file_error(item.with(|item| item.crc ^= 0x8000_0000));
        assert_eq!(wrong, format!("CRC-32: expected {:08x}, found {crc:08x}", crc ^ 0x8000_0000));
    }
    let cut = file_error(deflate(PATH, text).with(|item| item.data.truncate(item.data.len() - 1)));
    assert_eq!(cut, "the compressed data are incomplete");
    let behind = file_error(deflate(PATH, text).with(|item| item.data.extend_from_slice(b"abc")));
    assert_eq!(behind, "3 unexpected bytes after the entry's compressed data");
    let damaged = file_error(deflate(PATH, text).with(|item| item.data[0] = 0xff));
    assert!(damaged.starts_with("the compressed data are damaged"), "{damaged}");
    let hollow = file_error(deflate(PATH, text).with(|item| item.data.clear()));
    assert_eq!(hollow, format!("the entry declares {} bytes, more than 0 bytes of DEFLATE can hold", text.len()));
}

#[test]
fn bomb_stops_at_its_declared_size() {
    // 64 MiB of zeros in 64 KiB that declare a thousand bytes: decompression stops one byte later.
    let zeros = vec![0; 64 << 20];
    let bomb = deflate("collections/a/docs/x.json", &zeros).with(|item| item.size = 1000);
    let archive = open(build(&[bomb])).unwrap();
    let error = archive.document("a", "x").unwrap_err();
    assert!(error.to_string().contains("decompresses to more than the declared 1000 bytes"), "{error}");
    // With an honest size, it is refused by lower limits.
    let bomb = deflate("collections/a/docs/x.json", &zeros);
    let options = OpenOptions::default().with_limits(container_core::Limits::default().with_block_bytes(1 << 20));
    let archive = Archive::from_source(Source::from(build(&[bomb])), Some("b.zds".into()), &options).unwrap();
    let error = archive.document("a", "x").unwrap_err().to_string();
    assert!(error.starts_with("zds: b.zds: the document's size"), "{error}");
}

#[test]
fn verification_reports_every_problem() {
    let items = [
        store("zds.json", b"{}").with(|item| item.crc = 1),
        deflate("collections/a/docs/x.json", b"{}").with(|item| item.mode = 0o120_777),
        store("notes.txt", b""),
        store("../evil", b""),
        store("collections/a/docs/y.json", b"{}"),
    ];
    let (offsets, mut bytes) = build_at(&items);
    // A local size that differs from the directory.
    bytes[offsets[4] as usize + 22] = 3;
    bytes.extend_from_slice(b"more");
    let len = bytes.len() - 4;
    let archive = Archive::from_source(Source::from(bytes), Some("x.zds".into()), &OpenOptions::default()).unwrap();
    let mut found = Vec::new();
    archive.verify(&mut |finding| found.push((finding.severity, finding.error.to_string()))).unwrap();
    let crc = crc32fast::hash(b"{}");
    let linked = "the entry is a symbolic link, which is not followed (byte 40, key \"collections/a/docs/x.json\")";
    let expected = [
        (Severity::Error, linked.to_owned()),
        (
            Severity::Error,
            format!(
                "the size in the local header is 3, but 2 in the directory (byte {}, key \"collections/a/docs/y.json\")",
                offsets[4]
            ),
        ),
        (Severity::Error, format!("CRC-32: expected 00000001, found {crc:08x} (byte 0, key \"zds.json\")")),
        (
            Severity::Warning,
            format!(
                "the entry does not belong to the store: not a path of a store (byte {}, key \"notes.txt\")",
                offsets[2]
            ),
        ),
        (
            Severity::Error,
            format!(
                "the entry does not belong to the store: path that escapes the directory with \"..\" (byte {}, key \"../evil\")",
                offsets[3]
            ),
        ),
        (Severity::Warning, format!("4 unexpected bytes after the end of the archive (byte {len})")),
    ];
    let expected: Vec<_> =
        expected.into_iter().map(|(severity, text)| (severity, format!("zds: x.zds: {text}"))).collect();
    assert_eq!(found, expected);
}

fn sample() -> Vec<u8> {
    build(&[
        store("zds.json", b"{\"name\":\"n\"}"),
        store("collections/a/docs/x.json", b"{\"x\":1}"),
        deflate("collections/a/docs/y.json", b"{\"y\":[1,1,1,1,1,1,1,1,1,1,1,1]}"),
        deflate("collections/a/meta/data.jsonl", b"{\"_id\":\"z\"}\n"),
    ])
}

/// All files by path, with CRCs checked.
fn contents(bytes: &[u8]) -> container_core::Result<Vec<(String, Vec<u8>)>> {
    let archive = open(bytes)?;
    let mut first = None;
    archive.verify(&mut |finding| {
        if finding.severity == Severity::Error {
            first.get_or_insert(finding.error);
        }
    })?;
    if let Some(error) = first {
        return Err(error);
    }
    let read = |path: &str| {
        let file = archive.file(path)?.unwrap();
        Ok((path.to_owned(), file.read(0..file.len())?.to_vec()))
    };
    archive.files().map(read).collect()
}

#[test]
fn rejects_every_prefix() {
    testkit::every_prefix_fails(&sample(), |bytes| contents(bytes).map(drop));
}

#[test]
fn flipped_bit_never_yields_wrong_bytes() {
    let bytes = sample();
    let whole = contents(&bytes).unwrap();
    let readable = testkit::every_bit_flip_is_handled(&bytes, |bytes| {
        let found = contents(bytes)?;
        for (path, content) in &found {
            // A flip in a name may change the name in both headers, but never the contents.
            let (_, expected) = whole.iter().find(|(known, _)| known == path).expect("no new names");
            assert_eq!(content, expected, "{path}");
        }
        Ok(())
    });
    // Times, versions, attributes, and fields that make an entry foreign.
    assert!(readable < bytes.len() * 8 / 2, "{readable} of {}", bytes.len() * 8);
    // Without verification, single documents are checked anyway.
    testkit::every_bit_flip_is_handled(&bytes, |bytes| {
        let archive = open(bytes)?;
        for (id, expected) in [("x", &whole[0].1), ("y", &whole[1].1)] {
            if let Some(found) = archive.document("a", id)? {
                assert_eq!(found, *expected);
            }
        }
        Ok(())
    });
}
