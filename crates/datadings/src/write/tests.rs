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
    /// Steps of a commit until one fails; none fails at first.
    static STEPS: Cell<Option<u32>> = const { Cell::new(None) };
}

thread_local! {
    /// A data file that is locked at every step of a commit, and how many there were.
    static WATCH: Cell<Option<(PathBuf, u32)>> = const { Cell::new(None) };
}

/// One step of a commit: fails when a test has said so.
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

fn write(path: &Path, options: WriterOptions, rows: std::ops::Range<u32>, label: u8) -> Result<Written> {
    let mut writer = Writer::create(path, options)?;
    for row in rows {
        writer.append_message(&message(&format!("k{row}"), label))?;
    }
    writer.finish()
}

/// All files of a folder.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
    entries.map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap())).collect()
}

#[test]
fn a_small_dataset_is_as_the_format_page_has_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.msgpack");
    let mut writer = Writer::create(&path, options()).unwrap();
    writer.append(&BTreeMap::from([("key", "a")])).unwrap();
    writer.append_raw("b", &message("b", 7)).unwrap();
    assert_eq!(files(folder.path()).len(), 3, "temporary files alone");
    assert_eq!(writer.finish().unwrap(), Written { samples: 2, bytes: 21 });
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
fn an_empty_dataset_is_legal() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.msgpack");
    assert_eq!(write(&path, options(), 0..0, 0).unwrap(), Written { samples: 0, bytes: 0 });
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
fn what_is_refused_leaves_the_writer_usable() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::create(folder.path().join("d.msgpack"), options()).unwrap();
    writer.append_message(&message("a", 1)).unwrap();
    let mut refused = |message: &[u8]| writer.append_message(message).unwrap_err().to_string();
    assert_eq!(
        refused(&message("a", 2)),
        r#"datadings: the key is that of sample 0 already: it was not written again (row 1, key "a")"#
    );
    assert_eq!(refused(b"\x81\xa3kay\xa1b"), "datadings: the sample has no key (row 1)");
    assert_eq!(refused(b"\x81\xa3key\x07"), "datadings: the sample's key is an integer and no str (byte 5, row 1)");
    assert_eq!(
        refused(b"\x07"),
        "datadings: the sample is no map: an integer stands where a map is expected (byte 0) (row 1)"
    );
    assert_eq!(refused(b""), "datadings: a value: needs 1 byte, 0 available (byte 0, row 1)");
    assert_eq!(refused(b"\x81\xa3key\xa1b\xc0"), "datadings: the message is followed by 1 more bytes (byte 7, row 1)");
    let mut deep = b"\x82\xa3key\xa1b\xa1x".to_vec();
    deep.extend([0x91; 200]);
    deep.push(0xc0);
    assert_eq!(refused(&deep), "datadings: nesting depth 129 exceeds the limit 128 (byte 136, row 1)");
    let error = writer.append_raw("c", &message("b", 1)).unwrap_err();
    assert_eq!(error.to_string(), r#"datadings: the message has the key "b" (row 1, key "c")"#);
    writer.append_raw("b", &message("b", 1)).unwrap();
    assert_eq!(writer.finish().unwrap().samples, 2);
    let reader = Reader::open(folder.path().join("d.msgpack")).unwrap();
    assert_eq!(reader.keys(0..2).unwrap().map(|key| key.unwrap().into_owned()).collect::<Vec<_>>(), ["a", "b"]);
}

#[test]
fn any_message_may_be_taken_when_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.msgpack");
    let mut writer = Writer::create(&path, options().with_any_message(true)).unwrap();
    writer.append_raw("number", &[7]).unwrap();
    writer.append_raw("other", &message("not it", 7)).unwrap();
    assert!(writer.append_raw("half", &[0x92, 1]).is_err(), "but a whole one");
    let losses = writer.take_losses();
    let text = "sample copied although verification rejects it: an integer stands where the map of a sample is expected (2 times, first key \"number\")";
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
fn appending_gives_what_writing_at_once_gives() {
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
            assert!(error.to_string().contains("the key is that of sample 0 already"), "{error}");
        }
        for row in first..end {
            writer.append_message(&message(&format!("k{row}"), 3)).unwrap();
        }
        writer.finish().unwrap();
    }
    assert!(files(&one) == files(&two));
}

#[test]
fn an_append_that_is_dropped_leaves_all_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.msgpack");
    write(&path, options(), 0..10, 3).unwrap();
    let before = files(folder.path());
    let mut writer = Writer::append_to(&path, options()).unwrap();
    let error = Writer::append_to(&path, options()).unwrap_err();
    assert!(error.to_string().ends_with("somebody else is appending to it"), "{error}");
    for row in 0..200_000 {
        writer.append_message(&message(&format!("new {row}"), 3)).unwrap();
    }
    assert!(fs::metadata(&path).unwrap().len() > before["d.msgpack"].len() as u64);
    let reader = Reader::open(&path).unwrap();
    assert_eq!((reader.len(), reader.trailing_bytes() > 0), (10, true), "readers see the old samples meanwhile");
    assert_eq!(reader.get(9).unwrap().key().unwrap(), "k9");
    drop(writer);
    assert!(files(folder.path()) == before);
    // What a killed one leaves has to be dealt with first.
    fs::OpenOptions::new()
        .append(true)
        .open(&path)
        .and_then(|mut file| std::io::Write::write_all(&mut file, b"\x81"))
        .unwrap();
    let error = Writer::append_to(&path, options()).unwrap_err();
    assert!(error.to_string().contains("an append did not come to its end"), "{error}");
}

#[test]
fn a_sample_larger_than_a_block_leaves_the_blocks_as_they_are() {
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
fn what_is_refused_names_its_row() {
    let folder = tempfile::tempdir().unwrap();
    let limits = container_core::Limits::default().with_block_bytes(20);
    let options = options().with_any_message(true).with_limits(limits);
    let mut writer = Writer::create(folder.path().join("d.msgpack"), options).unwrap();
    writer.append_raw("a", &[7]).unwrap();
    let error = writer.append_raw(&"k".repeat(21), &[7]).unwrap_err().to_string();
    assert!(error.starts_with("datadings: the length of a key 21 exceeds the limit 20 (row 1"), "{error}");
    let error = writer.append(&i128::MAX).unwrap_err().to_string();
    assert!(error.starts_with("datadings: ") && error.contains("row 1"), "{error}");
    writer.append_raw(&"k".repeat(20), &[7]).unwrap();
    assert_eq!(writer.finish().unwrap().samples, 2);
}

#[test]
fn what_is_damaged_is_not_appended_to() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.msgpack");
    write(&path, options(), 0..2, 3).unwrap();
    let before = files(folder.path());
    let refused = |part, bytes: &[u8]| {
        let name = FileSet::new(&path).path(part);
        let old = fs::read(&name).unwrap();
        fs::write(&name, bytes).unwrap();
        let error = Writer::append_to(&path, options()).unwrap_err().to_string();
        fs::write(&name, old).unwrap();
        assert!(files(folder.path()) == before, "{error}");
        error
    };
    let end = before["d.msgpack"].len() as u64;
    let error = refused(Part::Offsets, &[1, 15, end].map(u64::to_be_bytes).concat());
    assert!(error.contains("the sample begins at 1 where the one before ends at 0 (row 0"), "{error}");
    let error = refused(Part::Keys, b"\x92\xa2k1\xa2k1");
    assert!(
        error.contains(r#"the key is that of sample 0 too: the dataset has to be repaired first (row 1, key "k1")"#),
        "{error}"
    );
    let error = refused(Part::Offsets, &[0, 15, end - 1].map(u64::to_be_bytes).concat());
    assert!(error.contains(&format!("it is {end} bytes long, its index ends at {}", end - 1)), "{error}");
}

#[test]
fn an_append_without_sums_takes_them_away() {
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
fn what_exists_is_not_overwritten_unless_asked_for() {
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

/// At every step of a commit: the old dataset or the new one, each also without its sums, or none that opens.
#[test]
fn a_crash_between_any_two_renames_is_seen() {
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
    let mut seen = [0; 4];
    for steps in 0..20 {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(set.data());
        write(&path, options(), 0..3, 1).unwrap();
        STEPS.set(Some(steps));
        let result = write(&path, replacing(), 0..3, 2);
        STEPS.set(None);
        match Reader::open(&path) {
            Ok(_) if files(folder.path()) == old => seen[0] += 1,
            Ok(_) if files(folder.path()) == new => seen[1] += 1,
            Ok(_) if without_sums.contains(&files(folder.path())) => seen[3] += 1,
            Ok(_) => panic!("a mixture opens after {steps} steps"),
            Err(error) => {
                assert!(error.to_string().contains("there is no index"), "{error}");
                seen[2] += 1;
            }
        }
        if result.is_ok() {
            break;
        }
    }
    assert_eq!(seen, [1, 2, 9, 2], "old, new, neither, without sums");
}

#[test]
fn a_write_that_fails_poisons_the_writer() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.msgpack");
    let mut writer = Writer::create(&path, options()).unwrap();
    writer.append_message(&message("a", 1)).unwrap();
    writer.poisoned = true;
    assert!(writer.append_message(&message("b", 1)).unwrap_err().to_string().contains("after a write that failed"));
    assert!(writer.finish().unwrap_err().to_string().contains("after a write that failed"));
    assert!(files(folder.path()).is_empty());
}
