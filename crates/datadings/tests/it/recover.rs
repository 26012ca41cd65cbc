//! Recovery of damaged data, and rebuilt indexes.
#![allow(clippy::single_range_in_vec_init, reason = "one range is lost")]

use std::path::Path;

use container_core::testkit::{Stopwatch, cases};
use container_core::{Access, ErrorKind, OpenOptions, Source, SyncPolicy};
use datadings::{
    OnDuplicateKey, Part, Reader, RebuildOptions, RecoverOptions, Recovery, Writer, WriterOptions, rebuild_index,
};

use crate::set::{Set, findings, options, sample};

const NONE: [&str; 0] = [];
const PARTS: [Part; 6] = [Part::Data, Part::Offsets, Part::Keys, Part::KeyHashes, Part::Filter, Part::Md5];

fn rebuild() -> RebuildOptions {
    RebuildOptions::default().with_sync(SyncPolicy::Never)
}

fn all(set: &Set) -> Vec<Vec<u8>> {
    PARTS.map(|part| set.read(part)).to_vec()
}

#[test]
fn rebuilds_an_index_byte_for_byte() {
    for count in [0, 1, 26] {
        for (threads, access) in [(1, Access::Auto), (0, Access::Auto), (2, Access::Positional)] {
            let set = Set::letters(count);
            let before = all(&set);
            for part in &PARTS[1..] {
                set.remove(*part);
            }
            let options = rebuild().with_threads(threads).with_open(OpenOptions::default().with_access(access));
            let rebuilt = rebuild_index(&set.path, &options).unwrap();
            assert_eq!(
                (rebuilt.samples, rebuilt.bytes, rebuilt.truncated_bytes),
                (count.into(), u64::from(count) * 10, 0)
            );
            assert_eq!(all(&set), before, "{count} samples, {threads} threads");
        }
    }
    let set = Set::letters(3);
    rebuild_index(set.part(Part::Keys), &rebuild().with_md5(false)).unwrap();
    assert!(!set.part(Part::Md5).exists());
    assert_eq!(set.findings(), ["warning: datadings: d.msgpack.md5: missing file"]);
}

#[test]
fn converts_a_legacy_index() {
    let (set, expected) = (Set::letters(20), Set::letters(20));
    set.legacy();
    let older = set.read(Part::LegacyIndex);
    let rebuilt = rebuild_index(&set.path, &rebuild()).unwrap();
    assert!(rebuilt.kept_legacy);
    assert_eq!(set.read(Part::LegacyIndex), older);
    for part in [Part::Offsets, Part::Keys, Part::KeyHashes, Part::Filter] {
        assert_eq!(set.read(part), expected.read(part), "{part:?}");
    }
    assert_eq!(set.findings(), NONE);
    let lines = String::from_utf8(set.read(Part::Md5)).unwrap();
    let names: Vec<&str> = lines.lines().map(|line| line.split_once("  d.msgpack").unwrap().1).collect();
    assert_eq!(names, ["", ".index", ".keys", ".key_hashes", ".filter", ".offsets"]);

    let rebuilt = rebuild_index(&set.path, &rebuild().with_keep_legacy(false)).unwrap();
    assert!(!rebuilt.kept_legacy && !set.part(Part::LegacyIndex).exists());
    assert_eq!(all(&set), all(&expected));

    // One of other data is removed.
    let two = Set::letters(2);
    two.legacy();
    set.write(Part::LegacyIndex, two.read(Part::LegacyIndex));
    assert!(!rebuild_index(&set.path, &rebuild()).unwrap().kept_legacy);
    assert_eq!(all(&set), all(&expected));
    // Likewise one with another key, or with one more or fewer.
    let other_key = [&older[..5], b"\xa1z", &older[7..]].concat();
    let less = [&[0xdf, 0, 0, 0, 19], &older[5..older.len() - 11]].concat();
    let more = [&[0xdf, 0, 0, 0, 21], &older[5..], b"\xa1z\xcc\xff"].concat();
    for index in [other_key, less, more] {
        set.write(Part::LegacyIndex, index);
        assert!(!rebuild_index(&set.path, &rebuild()).unwrap().kept_legacy);
        assert!(!set.part(Part::LegacyIndex).exists());
    }
}

#[test]
fn missing_keys_are_taken_from_the_list() {
    let samples = [("a", b"\x01"), ("b", b"\x02"), ("c", b"\x03")];
    let set = Set::of(&samples);
    let before = all(&set);
    for part in [Part::Offsets, Part::KeyHashes, Part::Filter, Part::Md5] {
        set.remove(part);
    }
    rebuild_index(&set.path, &rebuild()).unwrap();
    assert_eq!(all(&set), before);
    // Only if there are as many as samples.
    set.write(Part::Keys, Set::letters(2).read(Part::Keys));
    let error = rebuild_index(&set.path, &rebuild()).unwrap_err();
    says(&error, &set, "d.msgpack: expected a map as sample, found an integer (byte 0, row 0)");
    set.remove(Part::Keys);
    assert!(rebuild_index(&set.path, &rebuild()).is_err());
}

#[track_caller]
fn says(error: &datadings::Error, set: &Set, text: &str) {
    let folder = format!("datadings: {}/", set.folder.path().display());
    assert_eq!(error.to_string().replace(&folder, ""), text);
}

#[test]
fn rejects_duplicates_and_damage_when_rebuilding() {
    let set = Set::letters(3);
    let before = all(&set);
    set.patch(Part::Data, |bytes| bytes[10] = 0xc1);
    let error = rebuild_index(&set.path, &rebuild().with_truncate(true)).unwrap_err();
    let text = "d.msgpack: damaged sample: the others can be recovered: reserved msgpack marker 0xc1 (byte 10) (byte 10, \
                row 1)";
    says(&error, &set, text);
    set.write(Part::Data, &before[0]).patch(Part::Data, |bytes| bytes[26] = b'a');
    let error = rebuild_index(&set.path, &rebuild()).unwrap_err();
    says(&error, &set, r#"d.msgpack: duplicate key, first in sample 0 (byte 20, row 2, key "a")"#);
    assert_eq!(all(&set)[1..], before[1..], "the old index changed");
    let error = rebuild_index(Path::new("nowhere/d.msgpack"), &rebuild()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
}

#[test]
fn interrupted_appends_are_included_or_truncated() {
    let (set, four) = (Set::letters(3), Set::letters(4));
    let three = all(&set);
    // A complete sample after the end, and half of another.
    set.write(Part::Data, [&four.read(Part::Data)[..], b"\x82\xa3ke"].concat());
    let error = rebuild_index(&set.path, &rebuild()).unwrap_err();
    let text = "d.msgpack: the last sample is truncated: the data can be truncated there, or the intact samples recovered: the members of an array or \
                a map: needs 4 bytes, 3 available (byte 40) (byte 40, row 4)";
    says(&error, &set, text);
    assert_eq!(all(&set)[1..], three[1..]);
    let rebuilt = rebuild_index(&set.path, &rebuild().with_truncate(true)).unwrap();
    assert_eq!((rebuilt.samples, rebuilt.truncated_bytes), (4, 4));
    assert_eq!(all(&set), all(&four));
    // An indexed sample is not truncated: no append left it incomplete.
    let lost = Set::letters(3);
    lost.patch(Part::Data, |bytes| bytes.truncate(25));
    let error = rebuild_index(&lost.path, &rebuild().with_truncate(true)).unwrap_err();
    assert!(error.to_string().contains("damaged sample: the others can be recovered"), "{error}");
    assert_eq!(lost.read(Part::Data).len(), 25);
    // A damaged length is not a truncated sample: others follow.
    for part in &PARTS[1..] {
        set.remove(*part);
    }
    set.patch(Part::Data, |bytes| bytes.splice(11..12, [0xdb, 0xff, 0, 0, 0]).for_each(drop));
    let error = rebuild_index(&set.path, &rebuild().with_truncate(true)).unwrap_err();
    assert!(error.to_string().contains("damaged sample: the others can be recovered"), "{error}");
}

/// Recovers a dataset; returns the remaining keys and the losses.
fn recovered(set: &Set, with: &RecoverOptions) -> (Vec<String>, Vec<String>) {
    let positional = with.clone().with_open(OpenOptions::default().with_access(Access::Positional));
    let both = [with, &positional].map(|with| {
        let recovery = Recovery::survey(&set.path, with).unwrap();
        let out = set.folder.path().join("out.msgpack");
        let (_, losses) = recovery.write(&out, options()).unwrap();
        let reader = Reader::open(&out).unwrap();
        assert_eq!(findings(&reader, 2), NONE);
        let keys = reader.keys(0..reader.len()).unwrap().map(|key| key.unwrap().into_owned()).collect();
        let folder = format!("{}/", set.folder.path().display());
        (keys, losses.iter().map(|loss| loss.to_string().replace(&folder, "")).collect())
    });
    assert_eq!(both[0], both[1]);
    both[0].clone()
}

fn keys(text: &str) -> Vec<String> {
    text.chars().map(String::from).collect()
}

#[test]
fn intact_data_are_recovered_completely() {
    let set = Set::letters(9);
    assert_eq!(recovered(&set, &RecoverOptions::default()), (keys("abcdefghi"), vec![]));
    set.remove(Part::Offsets);
    assert_eq!(recovered(&set, &RecoverOptions::default()), (keys("abcdefghi"), vec![]));
    let empty = Set::letters(0);
    assert_eq!(recovered(&empty, &RecoverOptions::default()), (vec![], vec![]));
}

#[test]
fn only_the_damaged_sample_is_lost() {
    for with_index in [true, false] {
        // Set every byte of a middle sample to every kind of value.
        for place in 40..50 {
            for value in [0xc1, 0x00, 0xff, 0x9f, 0x8f, 0xdb, 0xc6, 0xdf, 0xa5, 0x81] {
                let set = Set::letters(9);
                if !with_index {
                    set.remove(Part::Offsets);
                }
                set.patch(Part::Data, |bytes| bytes[place] = value);
                let recovery = Recovery::survey(&set.path, &RecoverOptions::default()).unwrap();
                let out = set.folder.path().join("out.msgpack");
                recovery.write(&out, options()).unwrap();
                let reader = Reader::open(&out).unwrap();
                let left: String = reader.keys(0..reader.len()).unwrap().map(|key| key.unwrap().into_owned()).collect();
                let others: String = left.chars().filter(|key| "abcdfghi".contains(*key)).collect();
                assert_eq!(others, "abcdfghi", "byte {place} is {value:#x}, index {with_index}");
                assert!(left.chars().count() <= 9);
                assert_eq!(findings(&reader, 1), NONE);
            }
        }
    }
}

#[test]
fn reports_losses() {
    let set = Set::letters(9);
    set.patch(Part::Data, |bytes| bytes[30..50].fill(0xc1));
    let recovery = Recovery::survey(&set.path, &RecoverOptions::default()).unwrap();
    assert_eq!(recovery.lost(), &[30..50][..]);
    assert_eq!(recovery.intact().collect::<Vec<_>>(), [0..30, 50..90]);
    assert_eq!((recovery.len(), recovery.samples_declared()), (7, Some(9)));
    assert_eq!(recovery.lost_rows(10).unwrap(), [3, 4]);
    assert_eq!(recovery.lost_rows(1).unwrap(), [3]);
    assert_eq!(recovery.listed_key(4), Some("e"));
    let (left, losses) = recovered(&set, &RecoverOptions::default());
    assert_eq!(left, keys("abcfghi"));
    assert_eq!(
        losses,
        [
            "20 bytes outside intact samples (byte 30)",
            r#"indexed sample not recovered (2 times, first row 3, key "d")"#
        ]
    );
    // Truncated data.
    let set = Set::letters(9);
    set.patch(Part::Data, |bytes| bytes.truncate(47));
    let recovery = Recovery::survey(&set.path, &RecoverOptions::default()).unwrap();
    assert_eq!(recovery.lost(), [40..47]);
    assert_eq!(recovery.lost_rows(10).unwrap(), [4, 5, 6, 7, 8]);
    assert_eq!(recovery.findings().len(), 1);
    assert!(
        recovery.findings()[0].to_string().ends_with("last sample ends at byte 90, but the data at byte 47 (byte 72)")
    );
}

#[test]
fn renaming_many_duplicates_is_linear() {
    let set = Set::letters(0);
    let count = 30_000;
    set.patch(Part::Data, |bytes| *bytes = sample("a", 1).repeat(count));
    let start = Stopwatch::start();
    let recovery =
        Recovery::survey(&set.path, &RecoverOptions::default().with_on_duplicate_key(OnDuplicateKey::Rename)).unwrap();
    let out = set.folder.path().join("out.msgpack");
    assert_eq!(recovery.write(&out, options()).unwrap().0.samples, count as u64);
    let reader = Reader::open(&out).unwrap();
    assert_eq!((&*reader.key(1).unwrap(), &*reader.key(count as u64 - 1).unwrap()), ("a#2", "a#30000"));
    // Some milliseconds; seconds if each started counting at 2.
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
}

#[test]
fn recovers_from_inserted_and_removed_bytes() {
    for with_index in [true, false] {
        let set = Set::letters(9);
        if !with_index {
            set.remove(Part::Offsets);
        }
        set.patch(Part::Data, |bytes| {
            bytes.splice(60..60, [7; 13]);
            bytes.drain(32..35);
        });
        let (left, _) = recovered(&set, &RecoverOptions::default());
        assert_eq!(left, keys("abcefghi"), "{with_index}");
    }
}

#[test]
fn samples_that_the_index_lacks_do_not_hide_lost_ones() {
    let set = Set::letters(9);
    set.patch(Part::Data, |bytes| {
        bytes[42] = 0xc1;
        bytes.extend([sample("x", 1), sample("y", 2), sample("z", 3)].concat());
    });
    let (left, losses) = recovered(&set, &RecoverOptions::default());
    assert_eq!(left, keys("abcdfghixyz"));
    let lost = "indexed sample not recovered (row 4, key \"e\")";
    assert!(losses.iter().any(|loss| loss == lost), "{losses:#?}");
}

#[test]
fn damaged_indexes_do_not_mislead() {
    for row in 0..10 {
        for value in [0, 5, 33, 89, 1 << 40, u64::MAX] {
            let set = Set::letters(9);
            set.offset(row, value);
            assert_eq!(recovered(&set, &RecoverOptions::default()).0, keys("abcdefghi"), "offset {row} is {value}");
        }
    }
    // The index lacks samples between two others.
    for lacking in 1..8 {
        for first in 1..=8 - lacking {
            let set = Set::letters(9);
            set.patch(Part::Offsets, |bytes| drop(bytes.drain(8 * (first + 1)..8 * (first + 1 + lacking))));
            let found = recovered(&set, &RecoverOptions::default());
            assert_eq!(found, (keys("abcdefghi"), vec![]), "{lacking} from {first}");
        }
    }
    let set = Set::letters(9);
    set.patch(Part::Offsets, |bytes| bytes.truncate(33)).patch(Part::Data, |bytes| bytes[10] = 0xc1);
    assert_eq!(recovered(&set, &RecoverOptions::default()).0, keys("acdefghi"));
}

#[test]
fn duplicate_keys_are_dropped_or_renamed() {
    let data = [sample("a", 1), sample("b", 2), sample("a", 3), sample("a", 4)].concat();
    let set = Set::letters(1);
    set.remove(Part::Offsets).write(Part::Data, &data);
    let (left, losses) = recovered(&set, &RecoverOptions::default());
    assert_eq!(left, keys("ab"));
    assert_eq!(losses, ["sample with a duplicate key dropped (2 times, first byte 20)"]);
    let (left, losses) = recovered(&set, &RecoverOptions::default().with_on_duplicate_key(OnDuplicateKey::Rename));
    assert_eq!(left, ["a", "b", "a#2", "a#3"]);
    assert_eq!(losses, ["duplicate key renamed (2 times, first byte 20)"]);
    let reader = Reader::open(set.folder.path().join("out.msgpack")).unwrap();
    assert_eq!(reader.get(3).unwrap().field("x").unwrap().u64().unwrap(), 4);
}

#[test]
fn samples_without_keys_are_recovered_by_the_index() {
    let set = Set::of(&[("a", &b"\x01"[..]), ("b", b"\x92\x01\x02"), ("c", b"\xa3xyz"), ("d", b"\x04")]);
    set.patch(Part::Data, |bytes| bytes[1] = 0xc1);
    let recovery = Recovery::survey(&set.path, &RecoverOptions::default()).unwrap();
    assert_eq!((recovery.len(), recovery.lost()), (3, &[1..4][..]));
    let out = set.folder.path().join("out.msgpack");
    recovery.write(&out, options()).unwrap();
    let reader = Reader::open(&out).unwrap();
    assert_eq!(reader.find("c").unwrap(), Some(1));
    assert_eq!(reader.get(1).unwrap().as_bytes(), b"\xa3xyz");
}

#[test]
fn damaged_data_are_never_replaced() {
    let set = Set::letters(2);
    let recovery = Recovery::survey(&set.path, &RecoverOptions::default()).unwrap();
    let error = recovery.write(set.folder.path().join("../").join(set.folder.path()).join("d.msgpack"), options());
    says(&error.unwrap_err(), &set, "d.msgpack: cannot replace the damaged data themselves: choose another name");
    set.write(Part::Data, [0xc1; 50]);
    let recovery = Recovery::survey(&set.path, &RecoverOptions::default()).unwrap();
    assert!(recovery.is_empty());
    let error = recovery.write(set.folder.path().join("out.msgpack"), WriterOptions::default()).unwrap_err();
    says(&error, &set, "out.msgpack: no intact sample: nothing written");
}

/// Data made to take long: everything looks like the start of a sample.
#[test]
fn hostile_data_take_linear_time() {
    // A map of 65,535 pairs, whose header occurs again and again within its own values.
    let many = cases(10_000, 100_000);
    let flat = b"\xde\xff\xff\xa1a\xc4\x05".repeat(3 * many);
    let nested = b"\x81\xa1a".repeat(2 * many);
    let arrays = vec![0x9f; 5 * many];
    let long_texts = [b"\x81\xdb\x00\x07\x00\x00".repeat(80_000), vec![b'a'; 400_000]].concat();
    // Nested complete samples that end at the same byte.
    let whole = [b"\x82\xa3key\xa1a\xa1b\xc4\x08".repeat(40_000), vec![0; 8]].concat();
    let texts = [b"\x82\xa3key\xa1a\xa1b\xdb\x00\x03".repeat(40_000), vec![b'a'; 400_000]].concat();
    for (name, data) in [
        ("flat", flat),
        ("nested", nested),
        ("arrays", arrays),
        ("long texts", long_texts),
        ("whole", whole),
        ("texts", texts),
    ] {
        let start = Stopwatch::start();
        let recovery = Recovery::survey_source(Source::from(data), &RecoverOptions::default()).unwrap();
        let took = start.elapsed();
        assert!(took.as_secs() < 20, "{name}: {took:?} for {} samples", recovery.len());
    }
}

#[test]
fn recovers_a_large_dataset_with_some_damage() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.msgpack");
    let mut writer = Writer::create(&path, options()).unwrap();
    let mut starts = Vec::new();
    for n in 0..5000u32 {
        let mut message = vec![0x83, 0xa3, b'k', b'e', b'y', 0xa6];
        message.extend(format!("{n:06}").bytes());
        // A nested map that looks like a sample.
        message.extend(b"\xa1m\x82\xa3key\xa1z\xa1y\x01\xa1x\xc5\x01\x00");
        message.extend([n as u8; 256]);
        starts.push(writer.bytes() as usize);
        writer.append_message(&message).unwrap();
    }
    writer.finish().unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    let mut state = 7u32;
    let mut damaged = std::collections::BTreeSet::new();
    for _ in 0..200 {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let row = (state >> 8) as usize % 5000;
        // The marker of the sample, of the nested map, or of the bytes.
        let place = [0, 14, 27][row % 3];
        bytes[starts[row] + place] = 0xc1;
        damaged.insert(row);
    }
    std::fs::write(&path, bytes).unwrap();
    for with_index in [true, false] {
        if !with_index {
            std::fs::remove_file(folder.path().join("d.msgpack.offsets")).unwrap();
        }
        let recovery = Recovery::survey(&path, &RecoverOptions::default()).unwrap();
        let out = folder.path().join("out.msgpack");
        recovery.write(&out, options()).unwrap();
        let reader = Reader::open(&out).unwrap();
        let left: Vec<usize> = reader.keys(0..reader.len()).unwrap().map(|key| key.unwrap().parse().unwrap()).collect();
        assert!(left.iter().all(|row| !damaged.contains(row)));
        // Without an index, an intact sample between two damaged ones may be lost.
        let left = left.len() + damaged.len();
        assert!(if with_index { left == 5000 } else { (4990..=5000).contains(&left) }, "{left}, index {with_index}");
    }
}

#[test]
fn samples_may_exceed_the_read_window() {
    let large = |key: u8, len: u32| {
        let mut message = [&b"\x82\xa3key\xa1"[..], &[key], b"\xa1x\x92\xc6", &len.to_be_bytes()].concat();
        message.resize(message.len() + len as usize, key);
        message.push(7);
        message
    };
    let messages = [large(b'a', 5000), large(b'b', 3_000_000), large(b'c', 4090), large(b'd', 70_000)];
    let set = Set::of(&["a", "b", "c", "d"].into_iter().zip(&messages).collect::<Vec<_>>());
    let before = all(&set);
    set.remove(Part::Offsets);
    assert_eq!(recovered(&set, &RecoverOptions::default()), (keys("abcd"), vec![]));
    let positional = OpenOptions::default().with_access(Access::Positional);
    rebuild_index(&set.path, &rebuild().with_open(positional)).unwrap();
    assert!(all(&set) == before);
    // Without its header the large sample is lost, and nothing else.
    set.remove(Part::Offsets).patch(Part::Data, |bytes| bytes[messages[0].len()] = 0xc1);
    assert_eq!(recovered(&set, &RecoverOptions::default()).0, keys("acd"));
    // Exceeds the maximum sample length.
    let limits = positional.with_limits(container_core::Limits::default().with_block_bytes(1_000_000));
    set.write(Part::Data, &before[0]);
    let error = rebuild_index(&set.path, &rebuild().with_open(limits)).unwrap_err();
    assert!(error.to_string().contains("sample length"), "{error}");
}

#[test]
fn damage_that_leaves_messages_valid_is_reported() {
    let losses = |set: &Set| {
        let recovery = Recovery::survey(&set.path, &RecoverOptions::default()).unwrap();
        let (written, losses) = recovery.write(set.folder.path().join("new.msgpack"), options()).unwrap();
        assert_eq!(written.samples, 4);
        let text = |loss: &container_core::Loss| format!("{} {}, row {:?}", loss.count, loss.what, loss.first.row);
        losses.iter().map(text).collect::<Vec<_>>()
    };
    let sum = "1 data differ from their MD5 sum: values may be damaged, row None";
    let set = Set::letters(4);
    assert_eq!(losses(&set), NONE);
    set.patch(Part::Data, |bytes| bytes[9] = 7);
    assert_eq!(losses(&set), [sum]);
    set.patch(Part::Data, |bytes| (bytes[16], bytes[26]) = (b'y', b'z'));
    let keys = "2 key of the list replaced by another one in the sample, row Some(1)";
    assert_eq!(losses(&set), [keys, sum]);
    set.resum();
    assert_eq!(losses(&set), [keys]);
}
