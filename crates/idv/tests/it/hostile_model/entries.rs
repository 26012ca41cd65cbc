//! Entries that contradict the directory.

use container_core::Limits;

use super::zip::{Entry, zip};
use super::{findings, open, open_bytes, open_with, refused, schema, set_aside, version, words};

use crate::support;

/// Offsets of the second entry, after `version()`: its directory record, local header, and data.
fn places(entry: &Entry) -> (u64, u64, u64) {
    let zip = zip(&[version(), entry.clone()]);
    (zip.central[1], zip.local[1], zip.local[1] + 30 + entry.name.len() as u64)
}

#[test]
fn reads_stored_and_deflated_entries() {
    for entry in [Entry::stored("Schema", &schema()), Entry::deflated("Schema", &schema())] {
        for zip64 in [false, true] {
            let model = open(&[version(), entry.clone().with(|entry| entry.zip64 = zip64)]).unwrap();
            assert_eq!((model.schemas().len(), model.entries(), model.mlnet_version()), (1, 2, Some("1.5.0")));
            assert_eq!(model.schemas()[0].reader().row_count(), 3);
            assert_eq!(findings(&model), [""; 0]);
        }
    }
}

#[test]
fn rejects_bomb_by_declared_size() {
    let entry = Entry::deflated("Schema", &schema()).with(|entry| {
        entry.zip64 = true;
        entry.size = 1 << 40;
    });
    let (at, ..) = places(&entry);
    let text =
        format!("mlnet-model: the entry's size 1099511627776 exceeds the limit 268435456 (byte {at}, key \"Schema\")");
    set_aside(entry, "limit", &text);
}

#[test]
fn rejects_compressed_size_above_limit() {
    let entry = Entry::deflated("Schema", &schema()).with(|entry| entry.packed_size = 300 << 20);
    let (at, ..) = places(&entry);
    let text = format!(
        "mlnet-model: the entry's compressed size 314572800 exceeds the limit 268435456 (byte {at}, key \"Schema\")"
    );
    set_aside(entry, "limit", &text);
}

#[test]
fn rejects_impossible_size_before_allocating() {
    let entry = Entry::deflated("Schema", &schema()).with(|entry| entry.size = 200 << 20);
    let (at, ..) = places(&entry);
    let text = format!(
        "mlnet-model: {} compressed bytes cannot hold the 209715200 declared (byte {at}, key \"Schema\")",
        entry.packed.len()
    );
    set_aside(entry, "invalid", &text);
}

#[test]
fn rejects_entry_of_wrong_size() {
    let len = schema().len() as u64;
    let entry = Entry::deflated("Schema", &schema());
    let (.., data) = places(&entry);
    let text = format!(
        "mlnet-model: the block inflates to more than the {} bytes declared (byte {data}, key \"Schema\")",
        len - 1
    );
    set_aside(entry.clone().with(|entry| entry.size -= 1), "invalid", &text);
    let text = format!(
        "mlnet-model: the block inflates to {len} bytes, declared are {} (byte {data}, key \"Schema\")",
        len + 1
    );
    set_aside(entry.with(|entry| entry.size += 1), "invalid", &text);

    let entry = Entry::stored("Schema", &schema()).with(|entry| entry.size += 1);
    let (at, ..) = places(&entry);
    let text =
        format!("mlnet-model: the entry declares {} bytes but stores {len} (byte {at}, key \"Schema\")", len + 1);
    set_aside(entry, "invalid", &text);
}

#[test]
fn reports_truncated_or_corrupt_compressed_data() {
    let entry = Entry::deflated("Schema", &schema());
    let (.., data) = places(&entry);
    let broken = entry.clone().with(|entry| entry.packed.fill(0xFF));
    let model = open(&[version(), broken.clone()]).unwrap();
    let found = model.unreadable()[0].to_string();
    // What follows is the library's own word.
    assert!(found.starts_with("mlnet-model: corrupt compressed data"), "{found}");
    assert!(found.ends_with(&format!("(byte {data}, key \"Schema\")")), "{found}");

    // The data end in the middle, but the entries that follow do not become part of them.
    let half = entry.packed.len() as u64 / 2;
    let short = entry.with(|entry| entry.packed_size = half);
    let model = open(&[version(), short]).unwrap();
    let found = model.unreadable()[0].to_string();
    assert!(found.starts_with("mlnet-model: the compressed data end after "), "{found}");
}

#[test]
fn rejects_entries_outside_the_file() {
    let far = 1 << 40;
    let entry = Entry::stored("Schema", &schema()).with(|entry| {
        entry.zip64 = true;
        entry.offset = Some(far);
    });
    let (at, ..) = places(&entry);
    set_aside(
        entry,
        "invalid",
        &format!("mlnet-model: the entry's local header extends past the end of the file (byte {at}, key \"Schema\")"),
    );

    // Behind the header there is less than declared.
    let entry = Entry::deflated("Schema", &schema()).with(|entry| {
        entry.zip64 = true;
        entry.packed_size = 100_000_000;
    });
    let zip = zip(&[version(), entry.clone()]);
    let data = zip.local[1] + 30 + 6 + 20;
    let text = format!(
        "mlnet-model: the entry's data: needs 100000000 bytes, {} available (byte {data}, key \"Schema\")",
        zip.bytes.len() as u64 - data
    );
    set_aside(entry, "truncated", &text);

    // An offset so large that adding to it overflows.
    let entry = Entry::stored("Schema", &schema()).with(|entry| {
        entry.zip64 = true;
        entry.offset = Some(u64::MAX);
    });
    let (at, ..) = places(&entry);
    set_aside(
        entry,
        "invalid",
        &format!("mlnet-model: the entry's local header extends past the end of the file (byte {at}, key \"Schema\")"),
    );

    // Somewhere else than at a header: one byte further on.
    let entry = Entry::stored("Schema", &schema()).with(|entry| entry.offset = Some(1));
    let (at, ..) = places(&entry);
    let text = format!(
        "mlnet-model: the entry's local header: expected signature 04034b50, found 2d04034b (byte {at}, key \"Schema\")"
    );
    set_aside(entry, "invalid", &text);
}

#[test]
fn reports_unsupported_entries() {
    let entry = Entry::stored("Schema", &schema()).with(|entry| entry.flags = 1);
    let (at, ..) = places(&entry);
    set_aside(entry, "unsupported", &format!("mlnet-model: the entry is encrypted (byte {at}, key \"Schema\")"));
    for (method, name) in [(12, "BZIP2"), (9, "DEFLATE64"), (99, "AES"), (77, "UNKNOWN")] {
        let entry = Entry::stored("Schema", &schema()).with(|entry| entry.method = method);
        let text = format!(
            "mlnet-model: unsupported entry compression {method} ({name}) (supported: 0 STORE, 8 DEFLATE) (byte {at}, key \"Schema\")"
        );
        set_aside(entry, "unsupported", &text);
    }
}

#[test]
fn detects_checksum_mismatch() {
    let crc = rawzip::crc32(&schema());
    let entry = Entry::deflated("Schema", &schema()).with(|entry| entry.crc ^= 1);
    let (.., data) = places(&entry);
    let text = format!(
        "mlnet-model: CRC-32 mismatch: expected {:08x}, found {crc:08x} (byte {data}, key \"Schema\")",
        crc ^ 1
    );
    set_aside(entry, "invalid", &text);
}

#[test]
fn damaged_schema_does_not_affect_others() {
    set_aside(
        Entry::deflated("a/Schema", &schema()[..100]),
        "truncated",
        "idv: the header: needs 256 bytes, 100 available (byte 0, key \"a/Schema\")",
    );
    let model = open(&[version(), Entry::stored("Schema", b"not IDV"), Entry::stored("b/Schema.idv", &schema())]);
    let model = model.unwrap();
    assert_eq!((model.schemas().len(), model.schemas()[0].name(), model.unreadable().len()), (1, "b/Schema.idv", 1));
}

#[test]
fn verify_findings_name_the_entry() {
    // A block that ends early: opening does not look at it.
    let mut forged = support::three_numbers().build();
    let entry = forged.columns[0].lookup_entry(0);
    forged.set(entry + 8, &8_i32.to_le_bytes());
    let model = open(&[version(), Entry::deflated("Schema", &forged.bytes)]).unwrap();
    assert_eq!((model.schemas().len(), model.unreadable().len()), (1, 0));
    let found = findings(&model);
    assert!(!found.is_empty());
    for finding in found {
        assert!(finding.contains("idv: ") && finding.contains("key \"Schema\""), "{finding}");
    }
}

#[test]
fn limits_total_size_of_schemas() {
    let len = schema().len() as u64;
    let entries = [version(), Entry::stored("a/Schema", &schema()), Entry::stored("b/Schema", &schema())];
    let model = open_with(&entries, Limits::default().with_metadata_bytes(2 * len - 1)).unwrap();
    assert_eq!(model.schemas().iter().map(idv::ModelSchema::name).collect::<Vec<_>>(), ["a/Schema"]);
    let text = format!(
        "mlnet-model: the entry's size {len} exceeds the limit {} (byte {}, key \"b/Schema\")",
        len - 1,
        zip(&entries).central[2]
    );
    assert_eq!(words(&model.unreadable()[0]), ("limit", text.clone()));
    assert_eq!(findings(&model), [format!("error: {text}")]);
    let model = open_with(&entries, Limits::default().with_metadata_bytes(2 * len)).unwrap();
    assert_eq!(model.schemas().len(), 2);
}

#[test]
fn rejects_too_many_schemas() {
    let entries = vec![Entry::stored("Schema", b""); 1025];
    let at = zip(&entries).central[1024];
    refused(
        open(&entries),
        "limit",
        &format!("mlnet-model: the number of schemas 1025 exceeds the limit 1024 (byte {at})"),
    );
    // All are put aside, and then none is left.
    let error = open(&entries[..1024]).map(|_| ()).unwrap_err();
    assert_eq!(error.kind().name(), "unsupported");
}

#[test]
fn numbers_repeated_names_and_verify_warns() {
    let entries = [version(), Entry::stored("Schema", &schema()), Entry::deflated("Schema", &schema()), version()];
    let zip = zip(&entries);
    let model = open_bytes(zip.bytes).unwrap();
    assert_eq!(model.schemas().iter().map(idv::ModelSchema::name).collect::<Vec<_>>(), ["Schema", "Schema#2"]);
    let warning = |first: usize, second: usize, name: &str| {
        let (first, second) = (zip.central[first], zip.central[second]);
        format!("warning: mlnet-model: duplicate entry, first at byte {first} (byte {second}, key {name:?})")
    };
    assert_eq!(findings(&model), [warning(0, 3, "TrainingInfo/Version.txt"), warning(1, 2, "Schema")]);
}

#[test]
fn reads_entries_sharing_bytes() {
    let one = Entry::stored("Schema", &schema());
    let at = zip(&[version(), one.clone()]).local[1];
    let shadow = one.clone().with(|entry| {
        entry.offset = Some(at);
        entry.packed.clear();
    });
    let model = open(&[version(), one, shadow.clone(), shadow]).unwrap();
    assert_eq!((model.schemas().len(), model.unreadable().len()), (3, 0));
}

#[test]
fn accepts_non_utf8_names() {
    // Code page 437, as old archivers write it; then what no encoding allows; then UTF-8 with its flag.
    let names: [&[u8]; 4] = [b"mod\x8Ale/Schema", b"\xFF\xFE\x00/Schema", "модель/Schema".as_bytes(), b"..\\../Schema"];
    let entries: Vec<_> = names.iter().map(|name| Entry::stored(name, &schema())).collect();
    let model = open(&entries).unwrap();
    let found: Vec<_> = model.schemas().iter().map(idv::ModelSchema::name).collect();
    assert_eq!(found, ["mod\u{FFFD}le/Schema", "\u{FFFD}\u{FFFD}\0/Schema", "модель/Schema", "..\\../Schema"]);
    // The longest there is.
    let name = [vec![b'x'; 65_528], b"/Schema".to_vec()].concat();
    assert_eq!(open(&[Entry::stored(name, &schema())]).unwrap().schemas().len(), 1);
}

#[test]
fn ignores_malformed_version() {
    for (text, unreadable) in [(&b"\x1B[31mred"[..], 0), (b"", 0), (&[b'1'; 70_000], 1)] {
        let model = open(&[Entry::stored("TrainingInfo/Version.txt", text)]).unwrap();
        assert_eq!((model.mlnet_version(), model.unreadable().len()), (None, unreadable));
    }
    let model = open(&[Entry::stored("TrainingInfo/Version.txt", &[b'1'; 70_000])]).unwrap();
    let at = 30 + 24 + 70_000;
    let text = format!(
        "mlnet-model: the entry's size 70000 exceeds the limit 65536 (byte {at}, key \"TrainingInfo/Version.txt\")"
    );
    assert_eq!(findings(&model), [format!("error: {text}")]);
}
