//! datadings datasets: arbitrary files, damaged data, and samples from choices.

use std::io;
use std::path::Path;

use container_core::{
    Access, Error, OpenOptions, OutputOptions, Overwrite, Position, ReadAt, Severity, Source, SyncPolicy, VerifyOptions,
};
use datadings::{
    OnDuplicateKey, Part, Reader, RebuildOptions, RecoverOptions, Recovery, Writer, WriterOptions, rebuild_index,
};

use super::choices::Choices;

const PARTS: [Part; 7] =
    [Part::Data, Part::Offsets, Part::Keys, Part::KeyHashes, Part::Filter, Part::Md5, Part::LegacyIndex];

fn options() -> WriterOptions {
    let output = OutputOptions::default().with_overwrite(Overwrite::Replace).with_sync(SyncPolicy::Never);
    WriterOptions::default().with_output(output).with_threads(1)
}

fn path_of(folder: &Path, part: Part) -> std::path::PathBuf {
    folder.join(format!("d{}", part.suffix()))
}

/// The errors that verification finds, and the number of all findings.
fn verified(reader: &Reader) -> (Vec<Error>, usize) {
    let (mut errors, mut all) = (Vec::new(), 0);
    let verified = reader.verify(&VerifyOptions::default().with_threads(1), &mut |finding| {
        all += 1;
        if finding.severity == Severity::Error {
            errors.push(finding.error);
        }
    });
    assert!(verified.is_ok(), "verify itself failed");
    (errors, all)
}

/// Checks an index that was made from the data: it agrees with them, and every sample is exactly one message. Samples may have other defects.
fn check_index(reader: &Reader, data: &Path) {
    let data = data.display().to_string();
    let is_of_sample = |position: &Position| {
        position.file.as_deref() == Some(data.as_str()) && position.row.is_some() && position.byte.is_some()
    };
    let (errors, _) = verified(reader);
    for error in errors {
        // Without a position: how many more errors of a kind there are.
        assert!(*error.position() == Position::default() || is_of_sample(error.position()), "{error}");
    }
    for row in 0..reader.len() {
        let sample = reader.get(row).unwrap();
        let mut rest = sample.as_bytes();
        rmpv::decode::read_value(&mut rest).unwrap();
        assert!(rest.is_empty(), "sample {row} has {} bytes after its message", rest.len());
    }
}

/// The files of a set, each with a byte for its presence, two for its length, and its bytes; the rest is the data.
pub fn datadings_index(data: &[u8]) {
    let folder = tempfile::tempdir().unwrap();
    let mut rest = data;
    for part in PARTS.into_iter().rev() {
        let is_data = part == Part::Data;
        let Some((&[there, high, low], after)) = rest.split_first_chunk::<3>() else { break };
        let len = if is_data { after.len() } else { usize::from(u16::from_be_bytes([high, low])).min(after.len()) };
        let (bytes, after) = after.split_at(len);
        if there & 1 != 0 || is_data {
            std::fs::write(path_of(folder.path(), part), bytes).unwrap();
        }
        rest = after;
    }
    let path = path_of(folder.path(), Part::Data);
    if !path.exists() {
        return;
    }
    let mut seen = Vec::new();
    for access in [container_core::testkit::mapped(), Access::Auto, Access::Positional] {
        let Ok(reader) = Reader::open_with(&path, OpenOptions::default().with_access(access)) else {
            seen.push(None);
            continue;
        };
        let verified = verified(&reader);
        for row in 0..reader.len().min(50) {
            let key = reader.key(row).map(|key| key.into_owned());
            if let Ok(key) = key {
                // An invalid index finds nothing, or a sample with this key.
                if let Ok(Some(found)) = reader.find(&key) {
                    assert!(found < reader.len());
                    let _ = reader.get(found).map(|sample| sample.value().map(drop));
                }
                let _ = (reader.contains(&key), reader.find_many(&[key.as_str(), "stranger"]));
            }
        }
        seen.push(Some((reader.len(), format!("{verified:?}"))));
    }
    assert_eq!(seen.first(), seen.last(), "mapped and positional access differ");

    let recovery = Recovery::survey(&path, &RecoverOptions::default()).unwrap();
    let _ = (recovery.lost_rows(10), recovery.listed_key(0));
    checked(&recovery, &folder.path().join("out"));

    let rebuild = RebuildOptions::default()
        .with_sync(SyncPolicy::Never)
        .with_threads(1)
        .with_truncate(data.len().is_multiple_of(2));
    if let Ok(rebuilt) = rebuild_index(&path, &rebuild) {
        let reader = Reader::open(&path).unwrap();
        assert_eq!((reader.len(), reader.trailing_bytes()), (rebuilt.samples, 0));
        check_index(&reader, &path);
    }
}

/// The recovered dataset must be valid and have all samples, except those with duplicate keys.
fn checked(recovery: &Recovery, out: &Path) {
    match recovery.write(out, options()) {
        Ok((written, _)) => {
            assert!(written.samples <= recovery.len());
            let reader = Reader::open(out).unwrap();
            assert_eq!(reader.len(), written.samples);
            check_index(&reader, out);
        }
        Err(error) => assert!(recovery.is_empty(), "{error}"),
    }
}

/// A medium that a reader cannot map.
struct Far(Vec<u8>);

impl ReadAt for Far {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let start = usize::try_from(offset).map_err(io::Error::other)?;
        let bytes = self.0.get(start..start + buffer.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
        buffer.copy_from_slice(bytes);
        Ok(())
    }
}

/// The bytes are damaged data without an index.
pub fn datadings_recover(data: &[u8]) {
    let folder = tempfile::tempdir().unwrap();
    let options = RecoverOptions::default().with_on_duplicate_key(if data.len().is_multiple_of(2) {
        OnDuplicateKey::Drop
    } else {
        OnDuplicateKey::Rename
    });
    let recovery = Recovery::survey_source(Source::from(data.to_vec()), &options).unwrap();
    let mut parts: Vec<_> = recovery.intact().chain(recovery.lost().iter().cloned()).collect();
    parts.sort_by_key(|range| range.start);
    let end = parts.iter().fold(0, |end, range| {
        assert!(range.start == end && range.end > end, "{parts:?}");
        range.end
    });
    assert_eq!(end, data.len() as u64, "every byte is recovered or lost");
    let far = Recovery::survey_source(Source::new(Far(data.to_vec())), &options).unwrap();
    assert_eq!((far.len(), far.lost()), (recovery.len(), recovery.lost()), "memory and positional access differ");
    if !recovery.is_empty() || data.is_empty() {
        checked(&recovery, &folder.path().join("out"));
    }
}

/// Samples from choices are written, read, verified, found by key, appended to, reindexed and recovered.
pub fn datadings_written(data: &[u8]) {
    let mut choices = Choices::new(data);
    let folder = tempfile::tempdir().unwrap();
    let path = path_of(folder.path(), Part::Data);
    let mut samples: Vec<(String, Vec<u8>)> = Vec::new();
    let cut = choices.below(20);
    while !choices.is_empty() && samples.len() < 300 {
        let key: String = match choices.below(4) {
            0 => format!("{}", samples.len()),
            1 => "ä".repeat(choices.below(200)),
            2 => format!("{:>1$}", samples.len(), choices.below(120)),
            _ => char::from(choices.byte()).to_string(),
        };
        let value = match choices.below(5) {
            0 => rmpv::Value::Binary((0..choices.below(256)).map(|_| choices.byte()).collect()),
            1 => rmpv::Value::from(choices.word()),
            2 => rmpv::Value::Array((0..choices.below(20)).map(|n| rmpv::Value::from(n as u64)).collect()),
            3 => rmpv::Value::F64(f64::from_bits(choices.word())),
            _ => rmpv::Value::Nil,
        };
        let mut fields = vec![("key".into(), key.as_str().into()), ("x".into(), value)];
        if choices.below(2) == 1 {
            fields.reverse();
        }
        let mut message = Vec::new();
        datadings::ser::from_rmpv(&mut message, &rmpv::Value::Map(fields)).unwrap();
        samples.push((key, message));
    }
    let mut known = std::collections::HashMap::new();
    let mut kept = Vec::new();
    let mut writer = Writer::create(&path, options()).unwrap();
    for (key, message) in &samples {
        let new = !known.contains_key(key);
        assert_eq!(writer.append_message(message).is_ok(), new, "{key:?}");
        if new {
            known.insert(key, kept.len() as u64);
            kept.push(message);
        }
        if kept.len() == cut {
            // Finishing and reopening does not change the result.
            writer.finish().unwrap();
            writer = Writer::append_to(&path, options()).unwrap();
        }
    }
    assert_eq!(writer.finish().unwrap().samples, kept.len() as u64);
    let all = || PARTS.map(|part| std::fs::read(path_of(folder.path(), part)).ok());
    let written = all();

    let reader = Reader::open(&path).unwrap();
    let (errors, count) = verified(&reader);
    assert!(count == 0, "{errors:?}");
    for (key, row) in &known {
        assert_eq!(reader.find(key).unwrap(), Some(*row));
        assert!(reader.contains(key).unwrap());
        assert_eq!(reader.get(*row).unwrap().as_bytes(), kept[usize::try_from(*row).unwrap()].as_slice());
    }
    let recovery = Recovery::survey(&path, &RecoverOptions::default()).unwrap();
    assert_eq!((recovery.len(), recovery.lost().len()), (reader.len(), 0));
    drop(reader);
    for part in &PARTS[1..] {
        let _ = std::fs::remove_file(path_of(folder.path(), *part));
    }
    rebuild_index(&path, &RebuildOptions::default().with_sync(SyncPolicy::Never).with_threads(1)).unwrap();
    assert!(all() == written, "the rebuilt index differs");
}
