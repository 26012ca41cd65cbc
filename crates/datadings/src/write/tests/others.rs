//! Other readers and writers while a dataset is written.

use super::*;

/// A dataset whose index lacks the end of the last sample: a legacy index, or `.offsets` without its last value.
fn with_open_end(path: &Path, legacy: bool) {
    write(path, options(), 0..10, 3).unwrap();
    let part = |part| FileSet::new(path).path(part);
    let offsets = fs::read(part(Part::Offsets)).unwrap();
    let starts = &offsets[..offsets.len() - 8];
    if !legacy {
        return fs::write(part(Part::Offsets), starts).unwrap();
    }
    let mut index = Vec::new();
    crate::wire::put_map_header(&mut index, 10);
    for (row, start) in starts.as_chunks::<8>().0.iter().enumerate() {
        crate::wire::put_str(&mut index, &format!("k{row}")).unwrap();
        crate::wire::put_uint(&mut index, u64::from_be_bytes(*start));
    }
    fs::write(part(Part::LegacyIndex), index).unwrap();
    Part::BESIDE
        .iter()
        .filter(|part| **part != Part::LegacyIndex)
        .for_each(|other| fs::remove_file(part(*other)).unwrap());
}

/// The last sample ends with its message, whatever an append adds after it.
#[test]
fn appended_bytes_are_not_part_of_an_open_ended_sample() {
    for legacy in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("d.msgpack");
        with_open_end(&path, legacy);
        let whole = fs::read(&path).unwrap();
        let mut writer = Writer::append_to(&path, options()).unwrap();
        for row in 0..100_000 {
            writer.append_message(&message(&format!("new {row}"), 3)).unwrap();
        }
        assert!(fs::metadata(&path).unwrap().len() > whole.len() as u64);
        for access in
            [container_core::testkit::mapped(), container_core::Access::Auto, container_core::Access::Positional]
        {
            let reader = Reader::open_with(&path, container_core::OpenOptions::default().with_access(access)).unwrap();
            assert_eq!((reader.len(), reader.is_legacy()), (10, legacy));
            assert_eq!(reader.get(9).unwrap().as_bytes(), message("k9", 3));
            assert_eq!(reader.trailing_bytes(), reader.source().len() - whole.len() as u64);
        }
        drop(writer);
        assert_eq!(fs::read(&path).unwrap(), whole);
        // As a killed writer leaves it.
        fs::write(&path, [&whole[..], b"\x81\xa3k"].concat()).unwrap();
        let error = Writer::append_to(&path, options()).unwrap_err();
        assert!(error.to_string().contains("an append was interrupted"), "{legacy} {error}");
        fs::write(&path, &whole).unwrap();
        let mut writer = Writer::append_to(&path, options()).unwrap();
        writer.append_message(&message("new", 3)).unwrap();
        assert_eq!(writer.finish().unwrap().samples, 11);
        let reader = Reader::open(&path).unwrap();
        assert_eq!(
            (reader.is_legacy(), reader.trailing_bytes(), reader.get(9).unwrap().as_bytes().len()),
            (false, 0, 15)
        );
    }
}

#[test]
fn second_creator_of_a_dataset_removes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.msgpack");
    let mut writers = [1, 2].map(|_| Writer::create(&path, options()).unwrap());
    for (writer, key) in writers.iter_mut().zip(["a", "b"]) {
        writer.append_message(&message(key, 1)).unwrap();
    }
    let [first, second] = writers;
    first.finish().unwrap();
    let mut before = files(folder.path());
    before.retain(|name, _| name.starts_with("d.msgpack"));
    let error = second.finish().unwrap_err();
    assert!(error.to_string().ends_with("the output exists"), "{error}");
    assert!(files(folder.path()) == before);
    // Likewise when only another file of the set exists.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.msgpack");
    let writer = Writer::create(&path, options()).unwrap();
    fs::write(folder.path().join("d.msgpack.md5"), "mine").unwrap();
    let error = writer.finish().unwrap_err();
    assert!(error.to_string().ends_with("d.msgpack.md5: the output exists"), "{error}");
    assert_eq!(files(folder.path()).len(), 1);
}

#[test]
#[cfg(unix)]
fn append_fails_if_the_data_were_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.msgpack");
    write(&path, options(), 0..10, 3).unwrap();
    let mut writer = Writer::append_to(&path, options()).unwrap();
    writer.append_message(&message("x", 1)).unwrap();
    write(&path, replacing(), 0..5, 4).unwrap();
    let mut before = files(folder.path());
    before.retain(|name, _| name.starts_with("d.msgpack"));
    let error = writer.finish().unwrap_err();
    assert!(error.to_string().contains("the data file was replaced during the append"), "{error}");
    assert_eq!(before.len(), 6);
    assert!(files(folder.path()) == before);
}

#[test]
fn data_stay_locked_until_the_index_is_in_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.msgpack");
    write(&path, options(), 0..3, 1).unwrap();
    let lock = || fs::OpenOptions::new().write(true).open(&path).unwrap().try_lock().is_ok();
    let mut writer = Writer::append_to(&path, options()).unwrap();
    writer.append_message(&message("x", 1)).unwrap();
    WATCH.set(Some((path.clone(), 0)));
    writer.finish().unwrap();
    let (_, steps) = WATCH.take().unwrap();
    assert!(steps >= 8, "{steps} steps");
    assert!(lock());
}

/// Leaves nothing, the whole dataset, or data without an index.
#[test]
fn crash_while_creating_a_dataset_is_detected() {
    let mut outcomes = [0; 4];
    for steps in 0..20 {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("d.msgpack");
        STEPS.set(Some(steps));
        let result = write(&path, options(), 0..3, 2);
        STEPS.set(None);
        match Reader::open(&path) {
            Ok(reader) => {
                assert_eq!(reader.len(), 3);
                match reader.missing_parts().as_slice() {
                    [] => outcomes[0] += 1,
                    missing => {
                        assert_eq!(missing, [Part::Md5]);
                        outcomes[3] += 1;
                    }
                }
            }
            Err(error) if error.to_string().contains("no index") => outcomes[1] += 1,
            Err(_) => {
                assert!(files(folder.path()).is_empty());
                outcomes[2] += 1;
            }
        }
        if result.is_ok() {
            break;
        }
    }
    assert_eq!(outcomes, [2, 11, 0, 1], "new, without an index, nothing, without sums");
}

/// A duplicate is found whether the first occurrence is in the file of keys, in its buffer, or split between the two.
#[test]
fn rejects_duplicate_keys_wherever_they_are_stored() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::create(folder.path().join("d.msgpack"), options().with_md5(false)).unwrap();
    let key = |row: u32| format!("key {row:07}");
    // 12 bytes each: the buffer of 256 KiB is written after 21,845 of them.
    for row in 0..21_950 {
        writer.append_message(&message(&key(row), 7)).unwrap();
        for back in [1, 30, 63, 64, 100].into_iter().filter(|_| row > 21_700) {
            let again = row - back;
            let error = writer.append_message(&message(&key(again), 7)).unwrap_err();
            let expected = format!("duplicate key, first in sample {again}: not written again");
            assert!(error.to_string().contains(&expected), "{error}");
        }
    }
    assert_eq!(writer.finish().unwrap().samples, 21_950);
}

#[test]
fn streamed_sample_equals_the_whole_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let message = message("one", 7);
    let mut whole = Writer::create(path("d"), options()).unwrap();
    whole.append_message(&message).unwrap();
    whole.finish().unwrap();
    fs::create_dir(path("x")).unwrap();
    let mut streamed = Writer::create(path("x/d"), options()).unwrap();
    let put = |writer: &mut Writer, key: &str, len: usize| {
        writer.append_stream(key, len as u64, |put| message.chunks(3).try_for_each(&mut *put))
    };
    put(&mut streamed, "one", message.len()).unwrap();
    assert!(put(&mut streamed, "one", message.len()).is_err(), "keys are unique");
    let error = put(&mut streamed, "two", 2 << 30).unwrap_err();
    assert_eq!(error.kind().name(), "limit");
    assert_eq!(streamed.finish().unwrap().samples, 1);
    for part in [Part::Data, Part::Offsets, Part::Keys, Part::KeyHashes, Part::Filter, Part::Md5] {
        let read = |name: &str| fs::read(FileSet::new(path(name)).path(part)).unwrap();
        assert_eq!(read("d"), read("x/d"), "{part:?}");
    }
    // More or fewer bytes than declared: no dataset appears.
    for len in [message.len() - 1, message.len() + 1] {
        let mut writer = Writer::create(path("none"), options()).unwrap();
        let error = put(&mut writer, "one", len).unwrap_err().to_string();
        let expected = format!("expected {len} bytes as declared, found {}", message.len());
        assert!(error.contains(&expected), "{error}");
        assert!(writer.finish().is_err() && !path("none").exists());
    }
}
