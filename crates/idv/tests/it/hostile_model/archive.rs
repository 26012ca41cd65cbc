//! Damaged ZIP structures.

use std::io;
use std::path::Path;

use container_core::testkit::{every_bit_flip_is_handled, every_prefix_fails, every_source_agrees};
use container_core::{ReadAt, Source, VerifyOptions};
use idv::{Model, OpenOptions};

use super::zip::{Entry, zip};
use super::{open, open_bytes, refused, schema, version, words};

fn golden() -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/idv-model/schema.zip");
    std::fs::read(path).unwrap()
}

/// Reads everything; fails at the first problem.
fn read_all(source: Source) -> container_core::Result<Vec<String>> {
    let model = Model::from_source(source, OpenOptions::default())?;
    let mut wrong = None;
    model.verify(&VerifyOptions::default(), &mut |finding| {
        wrong.get_or_insert(finding.error);
    })?;
    match wrong {
        Some(error) => Err(error),
        None => Ok(model.schemas().iter().map(|schema| format!("{:?}", schema.reader().columns())).collect()),
    }
}

#[test]
fn rejects_every_prefix() {
    every_prefix_fails(&golden(), |bytes| read_all(Source::from(bytes.to_vec())).map(drop));
    let bytes = golden();
    refused(
        open_bytes(bytes[..bytes.len() - 22].to_vec()),
        "invalid",
        &format!("mlnet-model: no end record: not a ZIP archive, or truncated (byte {})", bytes.len() - 22),
    );
}

#[test]
fn flipped_bits_do_not_panic_and_are_detected_in_schemas() {
    let readable = every_bit_flip_is_handled(&golden(), |bytes| read_all(Source::from(bytes.to_vec())).map(drop));
    // Content of the other entries, times, attributes.
    assert_eq!(readable, 8539);
    // A CRC-32 finds every flipped bit of the content.
    let entry = Entry::stored("Schema", &schema());
    let zip = zip(&[version(), entry.clone()]);
    let data = zip.local[1] as usize + 30 + entry.name.len();
    for at in data..data + entry.packed.len() {
        let mut bytes = zip.bytes.clone();
        bytes[at] ^= 1 << (at % 8);
        let error = read_all(Source::from(bytes)).unwrap_err().to_string();
        assert!(error.contains("CRC-32 mismatch: "), "{at}: {error}");
    }
}

#[test]
fn all_sources_agree() {
    every_source_agrees(&golden(), read_all);
}

#[test]
fn rejects_wrong_end_record() {
    let zip = zip(&[version(), Entry::stored("Schema", &schema())]);
    let (end, len) = (zip.end, zip.bytes.len());
    let with = |at: usize, bytes: &[u8]| {
        let mut lie = zip.bytes.clone();
        lie[end + at..end + at + bytes.len()].copy_from_slice(bytes);
        lie
    };
    for count in [0_u16, 1, 3, 65_535] {
        refused(
            open_bytes(with(8, &[count.to_le_bytes(), count.to_le_bytes()].concat())),
            "invalid",
            &format!("mlnet-model: the end record declares {count} entries, the directory has 2 (byte {end})"),
        );
    }
    // The directory is then found before the end record.
    assert_eq!(open_bytes(with(16, &7_u32.to_le_bytes())).unwrap().entries(), 2);
    refused(
        open_bytes(with(16, &u32::MAX.to_le_bytes())),
        "invalid",
        &format!("mlnet-model: the archive's end record has a directory start after its end (byte {end})"),
    );
    refused(
        open_bytes(with(20, &9_u16.to_le_bytes())),
        "invalid",
        &format!("mlnet-model: the archive's end record extends past the end of the file (byte {end})"),
    );
    refused(
        open_bytes(zip.bytes[..len - 1].to_vec()),
        "invalid",
        &format!("mlnet-model: the archive's end record extends past the end of the file (byte {end})"),
    );
}

#[test]
fn rejects_damaged_directory_with_offset() {
    let zip = zip(&[version(), Entry::stored("Schema", &schema())]);
    let second = zip.central[1] as usize;
    let mut lie = zip.bytes.clone();
    lie[second] = b'X';
    let error = open_bytes(lie).map(drop).unwrap_err();
    assert_eq!(
        words(&error),
        (
            "invalid",
            format!(
                "mlnet-model: entry 1 of the archive's directory: expected signature 02014b50, found 02014b58 (byte {})",
                zip.central[0]
            )
        )
    );
    let mut lie = zip.bytes.clone();
    lie[second + 28..second + 30].copy_from_slice(&u16::MAX.to_le_bytes());
    let error = open_bytes(lie).map(drop).unwrap_err();
    assert_eq!(
        words(&error),
        (
            "invalid",
            format!(
                "mlnet-model: entry 1 of the archive's directory extends past the end of the file (byte {})",
                zip.central[0]
            )
        )
    );
}

#[test]
fn skips_bytes_around_the_archive() {
    let bytes = zip(&[version(), Entry::deflated("Schema", &schema())]).bytes;
    for framed in [[b"#!/bin/sh\n", &bytes[..]].concat(), [&bytes[..], b"behind"].concat()] {
        assert_eq!(open_bytes(framed).unwrap().schemas().len(), 1);
    }
}

#[test]
fn rejects_other_archives_with_reason() {
    let text = |entries: u64| {
        format!(
            "mlnet-model: the ZIP archive is not an ML.NET model: its {entries} entries include neither \
             TrainingInfo/Version.txt nor a readable schema"
        )
    };
    refused(open(&[]), "unsupported", &text(0));
    refused(open(&[Entry::stored("word/document.xml", b"<w/>")]), "unsupported", &text(1));
    refused(
        open(&[Entry::stored("Schema", b"<xsd/>")]),
        "unsupported",
        &format!("{}: idv: the header: needs 256 bytes, 6 available (byte 0, key \"Schema\")", text(1)),
    );
    refused(
        open_bytes(b"plain text".to_vec()),
        "invalid",
        "mlnet-model: no end record: not a ZIP archive, or truncated (byte 10)",
    );
    refused(open_bytes(Vec::new()), "invalid", "mlnet-model: no end record: not a ZIP archive, or truncated (byte 0)");
}

/// A source that fails from offset `broken` on.
struct Broken(Vec<u8>, u64, u64);

impl ReadAt for Broken {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let end = offset + buffer.len() as u64;
        if offset < self.2 && self.1 < end {
            return Err(io::Error::other("disk on fire"));
        }
        buffer.copy_from_slice(&self.0[offset as usize..end as usize]);
        Ok(())
    }
}

#[test]
fn io_errors_are_not_damage() {
    // Large enough that the directory is read without the entries.
    let padding = Entry::stored("padding", &vec![0; 300_000]);
    let zip = zip(&[version(), Entry::stored("Schema", &schema()), padding]);
    let len = zip.bytes.len() as u64;
    for range in [zip.local[1] + 40..zip.local[1] + 41, zip.local[0]..zip.local[0] + 1, len - 10..len] {
        let source = Source::new(Broken(zip.bytes.clone(), range.start, range.end));
        let error = Model::from_source(source, OpenOptions::default()).map(drop).unwrap_err();
        assert_eq!(error.kind().name(), "io", "{error}");
        assert!(error.to_string().contains("cannot read: disk on fire"), "{error}");
    }
}
