//! Verification: every defect is found and reported exactly.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use container_core::{Access, OpenOptions, Progress, Source, Unit, VerifyOptions};
use datadings::{Part, Reader, Writer};

use crate::set::{Set, findings, options, sample};

const NONE: [&str; 0] = [];

#[test]
fn valid_datasets_have_no_findings() {
    for count in [0, 1, 2, 26] {
        assert_eq!(Set::letters(count).findings(), NONE, "{count} samples");
    }
}

#[test]
fn verifies_positional_reads() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.msgpack");
    let mut writer = Writer::create(&path, options()).unwrap();
    for n in 0..20_000u32 {
        let key = format!("{n:08}");
        let mut message = vec![0x82, 0xa3, b'k', b'e', b'y', 0xa8];
        message.extend_from_slice(key.as_bytes());
        message.extend([0xa1, b'x', 0xc5, 1, 0]);
        message.extend([n as u8; 256]);
        writer.append_message(&message).unwrap();
    }
    writer.finish().unwrap();
    for access in [container_core::testkit::mapped(), Access::Auto, Access::Positional] {
        let reader = Reader::open_with(&path, OpenOptions::default().with_access(access)).unwrap();
        for threads in [1, 2, 4] {
            assert_eq!(findings(&reader, threads), NONE);
        }
    }
    // Far in, in a later chunk.
    let mut bytes = std::fs::read(&path).unwrap();
    let at = 19_000 * 275 + 6;
    bytes[at] = b'x';
    std::fs::write(&path, bytes).unwrap();
    for access in [container_core::testkit::mapped(), Access::Auto, Access::Positional] {
        let reader = Reader::open_with(&path, OpenOptions::default().with_access(access)).unwrap();
        let found = findings(&reader, 3);
        assert_eq!(found.len(), 2, "{found:?}");
        let text = format!(
            r#"key mismatch: "x0019000" in the sample, "00019000" in the key list (byte {}, row 19000)"#,
            at - 1
        );
        assert!(found[0].ends_with(&text), "{found:?}");
        assert!(found[1].contains("MD5 sum: expected"), "{found:?}");
    }
}

#[test]
fn verifies_data_without_an_index() {
    let data = [sample("a", 1), sample("b", 2), sample("a", 3)].concat();
    let reader = Reader::scan(Source::from(data), OpenOptions::default()).unwrap();
    for threads in [1, 2] {
        assert_eq!(
            findings(&reader, threads),
            [r#"error: datadings: duplicate key, first in sample 0 (row 2, key "a")"#]
        );
    }
}

#[test]
fn reports_missing_files() {
    let set = Set::letters(3);
    for part in [Part::Keys, Part::KeyHashes, Part::Filter, Part::Md5] {
        set.remove(part);
    }
    assert_eq!(
        set.findings(),
        [
            "warning: datadings: d.msgpack.keys: missing file",
            "warning: datadings: d.msgpack.key_hashes: missing file",
            "warning: datadings: d.msgpack.filter: missing file",
            "warning: datadings: d.msgpack.md5: missing file",
        ]
    );
    let set = Set::letters(3);
    set.legacy();
    let older = "warning: datadings: d.msgpack.index: legacy index without hashes and filter (it can be converted)";
    assert_eq!(set.findings(), [older]);
}

#[test]
fn reports_every_invalid_sample() {
    let set = Set::of(&[
        ("a", &b"\x81\xa3key\xa1a"[..]),
        ("b", &b"\x05"[..]),
        ("c", &b"\x81\xa1x\x01"[..]),
        ("d", &b"\x81\xa3key\x01"[..]),
        ("e", &b"\x83\xa3key\xa1e\xa1x\x01\xa1x\x02"[..]),
        ("f", &b"\x81\xa3key\xa1X"[..]),
        ("g", &b"\x82\xa3key\xa1g\xa2nd\x02"[..]),
    ]);
    assert_eq!(
        set.findings(),
        [
            "error: datadings: d.msgpack: expected a map as sample, found an integer (byte 7, row 1)",
            "error: datadings: d.msgpack: the sample has no key (byte 8, row 2)",
            "error: datadings: d.msgpack: key: expected a str, found an integer (byte 17, row 3)",
            r#"error: datadings: d.msgpack: duplicate field "x" (byte 28, row 4)"#,
            r#"error: datadings: d.msgpack: key mismatch: "X" in the sample, "f" in the key list (byte 36, row 5)"#,
            r#"warning: datadings: d.msgpack: field name "nd" is reserved for numpy values (byte 45, row 6)"#,
        ]
    );
}

#[test]
fn reports_wrong_offsets() {
    let set = Set::letters(4); // ten bytes each
    set.offset(0, 10).resum();
    let found = set.findings();
    assert_eq!(
        found,
        [
            "error: datadings: d.msgpack.offsets: first sample begins at byte 10: unexpected leading bytes (byte 0)",
            "error: datadings: d.msgpack: a value: needs 1 byte, 0 available (byte 10, row 0)",
        ]
    );
    set.offset(0, 0).offset(2, 21).resum();
    assert_eq!(
        set.findings(),
        [
            "error: datadings: d.msgpack: 1 unexpected trailing byte after the message (byte 20, row 1)",
            "error: datadings: d.msgpack: expected a map as sample, found a str (byte 21, row 2)",
            "error: datadings: d.msgpack: 5 unexpected trailing bytes after the message (byte 25, row 2)",
        ]
    );
    set.offset(2, 3).resum();
    let found = set.findings();
    assert!(
        found[0].ends_with("d.msgpack.offsets: sample begins at byte 10 but ends at byte 3 (byte 8, row 1)"),
        "{found:?}"
    );
}

#[test]
fn reports_trailing_bytes() {
    let set = Set::letters(3);
    set.patch(Part::Data, |bytes| bytes.extend([0x82, 0xa3])).resum();
    assert_eq!(
        set.findings(),
        [
            "warning: datadings: d.msgpack: 2 trailing bytes after the last sample: an append was interrupted, or the index is outdated (byte 30)"
        ]
    );
    let set = Set::letters(3);
    set.patch(Part::Offsets, |bytes| bytes.truncate(24)).resum();
    assert_eq!(
        set.findings(),
        [
            "warning: datadings: d.msgpack.offsets: expected 4 offsets, found 3: the end of the last sample is missing (byte 24)"
        ]
    );
}

#[test]
fn reports_wrong_counts() {
    let (three, four) = (Set::letters(3), Set::letters(4));
    three.write(Part::Keys, four.read(Part::Keys)).write(Part::KeyHashes, four.read(Part::KeyHashes)).resum();
    assert_eq!(
        three.findings(),
        [
            "error: datadings: d.msgpack.keys: expected 3 keys (one per sample), found 4",
            "error: datadings: d.msgpack.key_hashes: expected 3 key hashes (one per sample), found 4",
        ]
    );
}

#[test]
fn reports_wrong_hashes_and_unusual_salt() {
    let set = Set::letters(3);
    set.patch(Part::KeyHashes, |bytes| bytes[17] ^= 1).resum();
    let found = set.findings();
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("error: datadings: d.msgpack.key_hashes: key hash: expected "), "{found:?}");
    assert!(found[0].ends_with(r#"(byte 16, row 1, key "b")"#), "{found:?}");

    let set = Set::letters(3);
    set.patch(Part::KeyHashes, |bytes| bytes[0] ^= 1).resum();
    let found = set.findings();
    assert_eq!(found.len(), 4, "{found:?}");
    assert_eq!(found[0], "warning: datadings: d.msgpack.key_hashes: salt that no writer chooses (byte 0)");
}

#[test]
fn reports_duplicate_keys() {
    let set = Set::letters(4);
    // The third sample gets the key of the second, in all files.
    set.patch(Part::Data, |bytes| bytes[26] = b'b').patch(Part::Keys, |bytes| bytes[6] = b'b');
    set.patch(Part::KeyHashes, |bytes| bytes.copy_within(16..24, 24)).resum();
    let found = set.findings();
    assert_eq!(found[0], r#"error: datadings: d.msgpack: duplicate key, first in sample 1 (row 2, key "b")"#);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[1].starts_with("warning: datadings: d.msgpack.filter: the filter has bits set"), "{found:?}");
}

#[test]
fn reports_wrong_filters() {
    let set = Set::letters(9);
    let other = Set::letters(6);
    set.write(Part::Filter, other.read(Part::Filter)).resum();
    assert_eq!(
        set.findings(),
        [
            "warning: datadings: d.msgpack.filter: unusual filter: expected one for 9 keys, found one for 6 keys with false-positive \
             probability 0.16666666666666666 (byte 0)",
            r#"error: datadings: d.msgpack.filter: key "i" is missing from the filter (row 8)"#,
        ]
    );
    let set = Set::letters(9);
    set.patch(Part::Filter, |bytes| bytes.truncate(20)).resum();
    let found = set.findings();
    assert!(found.len() == 1 && found[0].starts_with("error: datadings: d.msgpack.filter: "), "{found:?}");
}

#[test]
fn compares_a_legacy_index_with_the_newer_one() {
    let set = Set::letters(3);
    let older = Set::letters(3);
    older.legacy();
    set.write(Part::LegacyIndex, older.read(Part::LegacyIndex)).resum();
    assert_eq!(set.findings(), NONE);
    set.patch(Part::LegacyIndex, |bytes| {
        let place = bytes.len() - 1;
        bytes[place] += 1;
        bytes[6] = b'z'; // after the headers of the map and the str
    });
    set.resum();
    assert_eq!(
        set.findings(),
        [
            r#"error: datadings: d.msgpack.index: key is "z", but "a" in the newer key list (row 0)"#,
            r#"error: datadings: d.msgpack.index: sample begins at byte 21, but at byte 20 in the newer index (row 2, key "c")"#,
        ]
    );
    let two = Set::letters(2);
    two.legacy();
    set.write(Part::LegacyIndex, two.read(Part::LegacyIndex)).resum();
    assert_eq!(
        set.findings(),
        ["error: datadings: d.msgpack.index: expected 3 entries as in the newer index, found 2"]
    );
}

#[test]
fn checks_lines_of_md5() {
    let set = Set::letters(2);
    let right = String::from_utf8(set.read(Part::Md5)).unwrap();
    let lines: Vec<&str> = right.lines().collect();
    let zeros = "0".repeat(32);
    let text = [
        lines[0].to_uppercase().replace("D.MSGPACK", "d.msgpack"),
        format!("{zeros}  d.msgpack.offsets"),
        lines[2].to_owned(),
        lines[2].to_owned(),
        format!("{zeros}  ../d.msgpack.filter"),
        format!("{zeros}  other"),
        format!("{zeros}  d.msgpack.index"),
        "nonsense".to_owned(),
        format!("{}  d.msgpack.filter", "g".repeat(32)),
    ]
    .join("\n");
    set.write(Part::Md5, text);
    let real = &lines[1][..32];
    assert_eq!(
        set.findings(),
        [
            "warning: datadings: d.msgpack.md5: unusual format: md5sum writes lower-case digits, two spaces and the name (line 1)",
            r#"error: datadings: d.msgpack.md5: file "d.msgpack.keys" is already listed in line 3 (line 4)"#,
            r#"error: datadings: d.msgpack.md5: "../d.msgpack.filter" is in another folder and was not checked (line 5)"#,
            r#"warning: datadings: d.msgpack.md5: "other" is not a file of this dataset and was not checked (line 6)"#,
            r#"error: datadings: d.msgpack.md5: file "d.msgpack.index" does not exist (line 7)"#,
            r#"error: datadings: d.msgpack.md5: expected an MD5 sum, two spaces and a file name, found "nonsense" (line 8)"#,
            &format!(
                r#"error: datadings: d.msgpack.md5: MD5 sum: expected 32 hexadecimal digits, found "{}" (line 9)"#,
                "g".repeat(32)
            ),
            "warning: datadings: d.msgpack.md5: the last line has no line feed (byte 397)",
            r#"warning: datadings: d.msgpack.md5: no MD5 sum of "d.msgpack.key_hashes""#,
            r#"warning: datadings: d.msgpack.md5: no MD5 sum of "d.msgpack.filter""#,
            &format!("error: datadings: d.msgpack.offsets: MD5 sum: expected {zeros} (line 2 of .md5), found {real}"),
        ]
    );
}

#[test]
fn counts_findings_past_the_maximum() {
    let keys: Vec<String> = (0..30_000).map(|n| format!("{n:05}")).collect();
    let samples: Vec<_> = keys.iter().map(|key| (key.as_str(), vec![5u8])).collect();
    let set = Set::of(&samples);
    let found = set.findings();
    assert_eq!(found.len(), 101);
    assert_eq!(found[99], "error: datadings: d.msgpack: expected a map as sample, found an integer (byte 99, row 99)");
    assert_eq!(found[100], "error: datadings: 29900 more samples that are not maps");
}

#[derive(Default)]
struct Counted(AtomicU64, AtomicU64);

impl Progress for Counted {
    fn begin(&self, unit: Unit, total: Option<u64>) {
        assert_eq!(unit, Unit::Bytes);
        self.0.store(total.unwrap(), Ordering::Relaxed);
    }
    fn advance(&self, done: u64) -> datadings::Result<()> {
        self.1.fetch_add(done, Ordering::Relaxed);
        Ok(())
    }
}

#[test]
fn progress_reaches_the_total() {
    let set = Set::letters(26);
    for with_sums in [true, false] {
        if !with_sums {
            set.remove(Part::Md5);
        }
        for threads in [1, 4] {
            let progress = Arc::new(Counted::default());
            let options = VerifyOptions::default().with_threads(threads).with_progress(progress.clone());
            set.open().verify(&options, &mut |_| {}).unwrap();
            assert_eq!(progress.0.load(Ordering::Relaxed), 26 * 10);
            assert_eq!(progress.1.load(Ordering::Relaxed), 26 * 10);
        }
    }
}
