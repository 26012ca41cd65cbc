use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use container_core::{Error, OutputOptions, Overwrite, Result, SyncPolicy};

use super::*;
use crate::read::Reader;
use crate::wire::{FileSet, Part};

mod others;

thread_local! {
/// Steps of a commit before one fails; `None`: all succeed.
    static STEPS: Cell<Option<u32>> = const { Cell::new(None) };
}

thread_local! {
/// A data file that must be locked at every step of a commit, and the number of steps so far.
    static WATCH: Cell<Option<(PathBuf, u32)>> = const { Cell::new(None) };
}

/// One step of a commit; fails when a test has requested it.
pub(super) fn step() -> Result<()> {
    if let Some((path, steps)) = WATCH.take() {
        let other = fs::OpenOptions::new().write(true).open(&path).unwrap();
        assert!(other.try_lock().is_err(), "not locked after {steps} steps");
        WATCH.set(Some((path, steps + 1)));
    }
    match STEPS.get() {
        None => Ok(()),
        Some(0) => Err(Error::usage("the test ends here")),
        Some(left) => {
            STEPS.set(Some(left - 1));
            Ok(())
        }
    }
}

fn options() -> WriterOptions {
    WriterOptions::default().with_output(OutputOptions::default().with_sync(SyncPolicy::Never))
}

fn replacing() -> WriterOptions {
    WriterOptions::default()
        .with_output(OutputOptions::default().with_sync(SyncPolicy::Never).with_overwrite(Overwrite::Replace))
}

fn message(key: &str, label: u8) -> Vec<u8> {
    let mut out = vec![0x82, 0xa3, b'k', b'e', b'y'];
    crate::wire::emit::put_str(&mut out, key).unwrap();
    out.extend_from_slice(b"\xa5label");
    crate::wire::emit::put_uint(&mut out, label.into());
    out
}

fn write(path: &Path, options: WriterOptions, rows: std::ops::Range<u32>, label: u8) -> Result<WriteSummary> {
    let mut writer = Writer::create(path, options)?;
    for row in rows {
        writer.append_message(&message(&format!("k{row}"), label))?;
    }
    writer.finish()
}

/// All files in a folder.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
    entries.map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap())).collect()
}

#[test]
fn small_dataset_matches_the_format_description() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.msgpack");
    let mut writer = Writer::create(&path, options()).unwrap();
    writer.append(&BTreeMap::from([("key", "a")])).unwrap();
    writer.append_raw("b", &message("b", 7)).unwrap();
    assert_eq!(files(folder.path()).len(), 3, "temporary files alone");
    assert_eq!(writer.finish().unwrap(), WriteSummary { samples: 2, bytes: 21, rejected: 0 });
    let files = files(folder.path());
    assert_eq!(
        files.keys().map(String::as_str).collect::<Vec<_>>(),
        [
            "d.msgpack",
            "d.msgpack.filter",
            "d.msgpack.key_hashes",
            "d.msgpack.keys",
            "d.msgpack.md5",
            "d.msgpack.offsets"
        ]
    );
    assert_eq!(files["d.msgpack"], b"\x81\xa3key\xa1a\x82\xa3key\xa1b\xa5label\x07");
    assert_eq!(files["d.msgpack.offsets"], [0u64, 7, 21].map(u64::to_be_bytes).concat());
    assert_eq!(files["d.msgpack.keys"], b"\x92\xa1a\xa1b");
    assert_eq!(files["d.msgpack.key_hashes"][..8], *b"\x65\x2E\x53\x0E\xDE\xE5\x89\x3B");
    let names: Vec<_> = std::str::from_utf8(&files["d.msgpack.md5"]).unwrap().lines().map(|line| &line[32..]).collect();
    assert_eq!(
        names,
        ["  d.msgpack", "  d.msgpack.offsets", "  d.msgpack.keys", "  d.msgpack.key_hashes", "  d.msgpack.filter"]
    );
}

#[test]
fn writes_an_empty_dataset() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.msgpack");
    assert_eq!(write(&path, options(), 0..0, 0).unwrap(), WriteSummary { samples: 0, bytes: 0, rejected: 0 });
    let files = files(folder.path());
    assert_eq!(files["d.msgpack"], b"");
    assert_eq!(files["d.msgpack.offsets"], [0; 8]);
    assert_eq!(files["d.msgpack.keys"], [0x90]);
    assert_eq!(files["d.msgpack.key_hashes"].len(), 8);
    assert_eq!(files["d.msgpack.filter"][8..24], [0, 0, 0, 0, 0, 0, 0, 33, 0, 0, 0, 0, 0, 0, 0, 2]);
    let reader = Reader::open(&path).unwrap();
    assert!(reader.is_empty() && reader.missing_parts().is_empty());
    assert!(!reader.contains("x").unwrap());
    assert_eq!(reader.iter().count(), 0);
}

#[test]
fn rejected_samples_leave_the_writer_usable() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::create(folder.path().join("d.msgpack"), options()).unwrap();
    writer.append_message(&message("a", 1)).unwrap();
    let mut rejected = |message: &[u8]| writer.append_message(message).unwrap_err().to_string();
    assert_eq!(
        rejected(&message("a", 2)),
        r#"datadings: duplicate key, first in sample 0: not written again (row 1, key "a")"#
    );
    assert_eq!(rejected(b"\x81\xa3kay\xa1b"), "datadings: the sample has no key (row 1)");
    assert_eq!(rejected(b"\x81\xa3key\x07"), "datadings: key: expected a str, found an integer (byte 5, row 1)");
    assert_eq!(
        rejected(b"\x07"),
        "datadings: the sample is not a map: expected a map, found an integer (byte 0) (row 1)"
    );
    assert_eq!(rejected(b""), "datadings: a value: needs 1 byte, 0 available (byte 0, row 1)");
    assert_eq!(
        rejected(b"\x81\xa3key\xa1b\xc0"),
        "datadings: 1 unexpected trailing byte after the message (byte 7, row 1)"
    );
    let mut deep = b"\x82\xa3key\xa1b\xa1x".to_vec();
    deep.extend([0x91; 200]);
    deep.push(0xc0);
    assert_eq!(rejected(&deep), "datadings: nesting depth 129 exceeds the limit 128 (byte 136, row 1)");
    let error = writer.append_raw("c", &message("b", 1)).unwrap_err();
    assert_eq!(error.to_string(), r#"datadings: the message has the key "b" (row 1, key "c")"#);
    writer.append_raw("b", &message("b", 1)).unwrap();
    assert_eq!(writer.finish().unwrap().samples, 2);
    let reader = Reader::open(folder.path().join("d.msgpack")).unwrap();
    assert_eq!(reader.keys(0..2).unwrap().map(|key| key.unwrap().into_owned()).collect::<Vec<_>>(), ["a", "b"]);
}

#[test]
fn accepts_any_message_if_requested() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.msgpack");
    let mut writer = Writer::create(&path, options().with_any_message(true)).unwrap();
    writer.append_raw("number", &[7]).unwrap();
    writer.append_raw("other", &message("not it", 7)).unwrap();
    assert!(writer.append_raw("half", &[0x92, 1]).is_err(), "but not an incomplete one");
    let losses = writer.take_losses();
    let text = "sample copied although verification rejects it: expected a map as sample, found an integer (2 times, first key \"number\")";
    assert_eq!(losses.iter().map(ToString::to_string).collect::<Vec<_>>(), [text]);
    writer.append_raw("sound", &message("sound", 7)).unwrap();
    assert!(writer.take_losses().is_empty());
    assert_eq!(writer.finish().unwrap().samples, 3);
    let reader = Reader::open(&path).unwrap();
    assert_eq!(reader.get_key("number").unwrap().unwrap().raw().u64().unwrap(), 7);
    assert_eq!(reader.find("other").unwrap(), Some(1));
    assert_eq!(reader.find("not it").unwrap(), None);
}

#[test]
fn threads_make_no_difference() {
    let folder = tempfile::tempdir().unwrap();
    let all = [1usize, 2, 8].map(|threads| {
        let folder = folder.path().join(threads.to_string());
        fs::create_dir(&folder).unwrap();
        write(&folder.join("d.msgpack"), options().with_threads(threads), 0..70_000, 3).unwrap();
        files(&folder)
    });
    assert!(all[0] == all[1] && all[0] == all[2]);
    let reader = Reader::open(folder.path().join("8/d.msgpack")).unwrap();
    for row in (0..70_000).step_by(613) {
        assert_eq!(reader.find(&format!("k{row}")).unwrap(), Some(row));
        assert_eq!(reader.key(row).unwrap(), format!("k{row}"));
        assert!(reader.contains(&format!("k{row}")).unwrap());
        assert!(!reader.contains(&format!("no{row}")).unwrap());
    }
}

#[test]
fn appending_equals_writing_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let (one, two) = (folder.path().join("one"), folder.path().join("two"));
    fs::create_dir(&one).unwrap();
    fs::create_dir(&two).unwrap();
    write(&one.join("d.msgpack"), options(), 0..1000, 3).unwrap();
    for (first, end) in [(0u32, 0u32), (0, 1), (1, 400), (400, 1000)] {
        let path = two.join("d.msgpack");
        if end == 0 {
            write(&path, options(), 0..0, 3).unwrap();
            continue;
        }
        let mut writer = Writer::append_to(&path, options()).unwrap();
        assert_eq!(writer.len(), u64::from(first));
        if first > 0 {
            let error = writer.append_message(&message("k0", 9)).unwrap_err();
            assert!(error.to_string().contains("duplicate key, first in sample 0: not written again"), "{error}");
        }
        for row in first..end {
            writer.append_message(&message(&format!("k{row}"), 3)).unwrap();
        }
        writer.finish().unwrap();
    }
    assert!(files(&one) == files(&two));
}

#[test]
fn dropped_append_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.msgpack");
    write(&path, options(), 0..10, 3).unwrap();
    let before = files(folder.path());
    let mut writer = Writer::append_to(&path, options()).unwrap();
    let error = Writer::append_to(&path, options()).unwrap_err();
    assert!(error.to_string().ends_with("another writer is appending to it"), "{error}");
    for row in 0..200_000 {
        writer.append_message(&message(&format!("new {row}"), 3)).unwrap();
    }
    assert!(fs::metadata(&path).unwrap().len() > before["d.msgpack"].len() as u64);
    let reader = Reader::open(&path).unwrap();
    assert_eq!((reader.len(), reader.trailing_bytes() > 0), (10, true), "readers see the old samples meanwhile");
    assert_eq!(reader.get(9).unwrap().key().unwrap(), "k9");
    drop(writer);
    assert!(files(folder.path()) == before);
    // What a killed writer leaves must be repaired first.
    fs::OpenOptions::new()
        .append(true)
        .open(&path)
        .and_then(|mut file| std::io::Write::write_all(&mut file, b"\x81"))
        .unwrap();
    let error = Writer::append_to(&path, options()).unwrap_err();
    assert!(error.to_string().contains("an append was interrupted"), "{error}");
}

#[test]
fn blocks_do_not_grow_with_samples() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.msgpack");
    let large = |key: &str, len: usize| {
        let mut out = vec![0x82, 0xa3, b'k', b'e', b'y'];
        crate::wire::put_str(&mut out, key).unwrap();
        out.extend_from_slice(b"\xa1x");
        crate::wire::put_bin(&mut out, &(0..len).map(|n| (n % 251) as u8).collect::<Vec<_>>()).unwrap();
        out
    };
    let mut expected = Vec::new();
    let mut writer = Writer::create(&path, options()).unwrap();
    for (at, len) in [3, (1 << 20) - 30, 5 << 20, 1 << 20, 0, 7 << 20].into_iter().enumerate() {
        let message = large(&at.to_string(), len);
        writer.append_message(&message).unwrap();
        expected.extend(message);
        assert_eq!(writer.bytes(), expected.len() as u64);
        assert!(writer.data.block.capacity() <= 1 << 20, "{} after {len}", writer.data.block.capacity());
    }
    writer.finish().unwrap();
    assert!(fs::read(&path).unwrap() == expected);
    let mut writer = Writer::append_to(&path, options()).unwrap();
    let message = large("grown", 6 << 20);
    writer.append_message(&message).unwrap();
    expected.extend(message);
    writer.finish().unwrap();
    let sums = fs::read_to_string(folder.path().join("d.msgpack.md5")).unwrap();
    let sum: String = crate::md5::Md5::digest(&expected).iter().map(|byte| format!("{byte:02x}")).collect();
    assert!(sums.starts_with(&format!("{sum}  d.msgpack\n")), "{sums}");
}

#[test]
fn rejected_samples_are_reported_with_their_row() {
    let folder = tempfile::tempdir().unwrap();
    let limits = container_core::Limits::default().with_block_bytes(20);
    let options = options().with_any_message(true).with_limits(limits);
    let mut writer = Writer::create(folder.path().join("d.msgpack"), options).unwrap();
    writer.append_raw("a", &[7]).unwrap();
    let error = writer.append_raw(&"k".repeat(21), &[7]).unwrap_err().to_string();
    assert!(error.starts_with("datadings: key length 21 exceeds the limit 20 (row 1"), "{error}");
    let error = writer.append(&i128::MAX).unwrap_err().to_string();
    assert!(error.starts_with("datadings: ") && error.contains("row 1"), "{error}");
    writer.append_raw(&"k".repeat(20), &[7]).unwrap();
    assert_eq!(writer.finish().unwrap().samples, 2);
}

#[test]
fn rejects_appending_to_a_damaged_dataset() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.msgpack");
    write(&path, options(), 0..2, 3).unwrap();
    let before = files(folder.path());
    let rejected = |part, bytes: &[u8]| {
        let name = FileSet::new(&path).path(part);
        let old = fs::read(&name).unwrap();
        fs::write(&name, bytes).unwrap();
        let error = Writer::append_to(&path, options()).unwrap_err().to_string();
        fs::write(&name, old).unwrap();
        assert!(files(folder.path()) == before, "{error}");
        error
    };
    let end = before["d.msgpack"].len() as u64;
    let error = rejected(Part::Offsets, &[1, 15, end].map(u64::to_be_bytes).concat());
    assert!(error.contains("sample begins at byte 1, but the previous one ends at byte 0 (row 0"), "{error}");
    let error = rejected(Part::Keys, b"\x92\xa2k1\xa2k1");
    assert!(
        error.contains(r#"duplicate key, first in sample 0: repair the dataset first (row 1, key "k1")"#),
        "{error}"
    );
    let error = rejected(Part::Offsets, &[0, 15, end - 1].map(u64::to_be_bytes).concat());
    assert!(error.contains(&format!("file is {end} bytes long, but its index ends at byte {}", end - 1)), "{error}");
}

#[test]
fn appending_without_sums_removes_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.msgpack");
    write(&path, options(), 0..10, 3).unwrap();
    let mut writer = Writer::append_to(&path, options().with_md5(false)).unwrap();
    writer.append_message(&message("x", 1)).unwrap();
    writer.finish().unwrap();
    assert_eq!(Reader::open(&path).unwrap().missing_parts(), [Part::Md5]);
    assert_eq!(files(folder.path()).len(), 5);
}

#[test]
fn existing_output_is_not_overwritten_unless_requested() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.msgpack");
    fs::write(folder.path().join("d.msgpack.filter"), "mine").unwrap();
    let error = write(&path, options(), 0..3, 1).unwrap_err();
    assert!(error.to_string().contains("d.msgpack.filter: the output exists"), "{error}");
    assert_eq!(files(folder.path()).len(), 1);
    write(&path, replacing(), 0..3, 1).unwrap();
    fs::write(folder.path().join("d.msgpack.index"), "old").unwrap();
    write(&path, replacing(), 0..4, 2).unwrap();
    assert_eq!(files(folder.path()).len(), 6, "a legacy index would be that of the old data");
    assert_eq!(Reader::open(&path).unwrap().len(), 4);
}

/// After every step of a commit there is the old dataset or the new one, each perhaps without its sums, or none that opens.
#[test]
fn crash_between_any_two_renames_is_detected() {
    let set = FileSet::new("d.msgpack");
    let (old, new) = {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(set.data());
        write(&path, options(), 0..3, 1).unwrap();
        let old = files(folder.path());
        write(&path, replacing(), 0..3, 2).unwrap();
        (old, files(folder.path()))
    };
    let without_sums = [&old, &new].map(|set| {
        let mut set = set.clone();
        assert!(set.remove("d.msgpack.md5").is_some());
        set
    });
    let mut outcomes = [0; 4];
    for steps in 0..20 {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(set.data());
        write(&path, options(), 0..3, 1).unwrap();
        STEPS.set(Some(steps));
        let result = write(&path, replacing(), 0..3, 2);
        STEPS.set(None);
        match Reader::open(&path) {
            Ok(_) if files(folder.path()) == old => outcomes[0] += 1,
            Ok(_) if files(folder.path()) == new => outcomes[1] += 1,
            Ok(_) if without_sums.contains(&files(folder.path())) => outcomes[3] += 1,
            Ok(_) => panic!("a mixture opens after {steps} steps"),
            Err(error) => {
                assert!(error.to_string().contains("no index"), "{error}");
                outcomes[2] += 1;
            }
        }
        if result.is_ok() {
            break;
        }
    }
    assert_eq!(outcomes, [1, 2, 9, 2], "old, new, neither, without sums");
}

#[test]
fn failed_write_poisons_the_writer() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.msgpack");
    let mut writer = Writer::create(&path, options()).unwrap();
    writer.append_message(&message("a", 1)).unwrap();
    writer.poisoned = true;
    assert!(writer.append_message(&message("b", 1)).unwrap_err().to_string().contains("after a failed write"));
    assert!(writer.finish().unwrap_err().to_string().contains("after a failed write"));
    assert!(files(folder.path()).is_empty());
}
