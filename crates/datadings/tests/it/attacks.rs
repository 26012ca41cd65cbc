//! Hostile datasets, each with its exact errors.

use container_core::{Access, Limits, OpenOptions, Source};
use datadings::{Part, RawValue, Reader, RebuildOptions, RecoverOptions, Recovery, Writer, json, rebuild_index};

use crate::set::{Set, options, sample};

const PARTS: [Part; 6] = [Part::Data, Part::Offsets, Part::Keys, Part::KeyHashes, Part::Filter, Part::Md5];

/// A sample `a` with this value as its field `x`.
fn with_value(value: &[u8]) -> Vec<u8> {
    [b"\x82\xa3key\xa1a\xa1x", value].concat()
}

/// A dataset of one sample with arbitrary bytes.
fn one_sample(message: &[u8]) -> Set {
    let set = Set::of(&[("a", sample("a", 1))]);
    set.write(Part::Data, message).offset(1, message.len() as u64).resum();
    set
}

#[track_caller]
fn says(set: &Set, error: &datadings::Error, text: &str) {
    let folder = format!("{}/", set.folder.path().display());
    assert_eq!(error.to_string().replace(&folder, ""), text);
}

#[test]
fn pickles_do_not_run_commands() {
    let folder = tempfile::tempdir().unwrap();
    let proof = folder.path().join("run");
    let pickle = format!("cposix\nsystem\n(S'touch {}'\ntR.", proof.display());
    let mut value =
        b"\x85\xc4\x02nd\xc3\xc4\x04type\xa1O\xc4\x04kind\xc4\x01O\xc4\x05shape\x91\x01\xc4\x04data\xc4".to_vec();
    value.push(pickle.len() as u8);
    value.extend(pickle.bytes());
    let set = one_sample(&with_value(&value));
    let reader = set.open();
    let sample = reader.get(0).unwrap();
    let x = sample.field("x").unwrap();
    assert_eq!(x.pickle().unwrap().as_bytes(), pickle.as_bytes());
    let error = x.ndarray().unwrap_err();
    let text = "expected a numpy array, found a pickled array of Python objects (byte 9)";
    assert_eq!(error.to_string(), text);
    sample.value().unwrap();
    let decoded: std::collections::HashMap<String, serde_json::Value> = sample.decode().unwrap_or_default();
    drop(decoded);
    let mut out = Vec::new();
    json::write(sample.raw(), &mut out, &Limits::default()).unwrap();
    assert!(String::from_utf8(out).unwrap().contains(r#""x":{"$pickle":"Y3Bvc2l4"#));
    assert_eq!(set.findings(), [""; 0]);
    assert!(!proof.exists(), "the pickle was run");
}

#[test]
fn nesting_is_limited() {
    let deep = [vec![0x91; 1_000_000], vec![0xc0]].concat();
    let set = one_sample(&with_value(&deep));
    let reader = set.open();
    let sample = reader.get(0).unwrap();
    assert_eq!(sample.key().unwrap(), "a");
    let text =
        |byte: u64, level: u32| format!("datadings: nesting depth {level} exceeds the limit 128 (byte {byte}, row 0)");
    assert_eq!(sample.value().unwrap_err().to_string(), text(8 + 128, 129));
    let mut out = Vec::new();
    assert_eq!(
        json::write(sample.raw(), &mut out, &Limits::default()).unwrap_err().to_string(),
        "nesting depth 129 exceeds the limit 128 (byte 136)"
    );
    #[derive(Debug, serde::Deserialize)]
    struct Nested(#[expect(dead_code, reason = "it is never read")] Vec<Nested>);
    #[derive(Debug, serde::Deserialize)]
    struct Outer {
        #[expect(dead_code, reason = "it is never read")]
        x: Nested,
    }
    let error = sample.decode::<Outer>().unwrap_err();
    assert!(error.to_string().contains("nesting depth"), "{error}");
    let found = set.findings();
    assert_eq!(found, [format!("error: {}", text(136, 129).replace("datadings: ", "datadings: d.msgpack: "))]);
    let error = rebuild_index(&set.path, &RebuildOptions::default()).unwrap_err();
    let expected = "datadings: d.msgpack: damaged sample: the others can be recovered: nesting depth 129 exceeds the limit \
                  128 (byte 136) (byte 0, row 0)";
    says(&set, &error, expected);
    let recovery = Recovery::survey(&set.path, &RecoverOptions::default()).unwrap();
    assert!(recovery.is_empty());
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::create(folder.path().join("d"), options()).unwrap();
    assert!(writer.append_message(&with_value(&deep)).unwrap_err().to_string().contains("nesting depth 129"));
}

#[test]
fn rejects_a_declared_length_of_4_gib() {
    let set = one_sample(&with_value(b"\xdb\xff\xff\xff\xff"));
    let reader = set.open();
    let sample = reader.get(0).unwrap();
    let text = "a str: needs 4294967295 bytes, 0 available (byte 14, row 0)";
    assert_eq!(sample.field("x").unwrap_err().to_string(), format!("datadings: {text}"));
    assert_eq!(set.findings(), [format!("error: datadings: d.msgpack: {text}")]);
    for header in
        [&b"\xdd\xff\xff\xff\xff"[..], b"\xdf\xff\xff\xff\xff", b"\xc6\xff\xff\xff\xff", b"\xc9\xff\xff\xff\xff\x01"]
    {
        let set = one_sample(&with_value(header));
        assert!(set.open().get(0).unwrap().value().is_err());
        assert_eq!(set.findings().len(), 1);
    }
}

#[test]
fn rejects_arrays_of_the_wrong_length() {
    for (shape, size) in
        [(&b"\x91\x03"[..], "3"), (b"\x92\xcf\xff\xff\xff\xff\xff\xff\xff\xff\xcf\xff\xff\xff\xff\xff\xff\xff\xff", "")]
    {
        let mut value = b"\x85\xc4\x02nd\xc3\xc4\x04type\xa3<i2\xc4\x04kind\xc4\0\xc4\x05shape".to_vec();
        value.extend(shape);
        value.extend(b"\xc4\x04data\xc4\x04\x01\x02\x03\x04");
        let set = one_sample(&with_value(&value));
        let error = set.open().get(0).unwrap().field("x").unwrap().ndarray().unwrap_err();
        if !size.is_empty() {
            assert_eq!(
                error.to_string(),
                "an array of shape (3,) and dtype <i2 (2 bytes per element): expected 6 bytes of data, found 4 (byte 9)"
            );
        }
        let error = error.to_string();
        let at_byte = error.strip_suffix(')').unwrap();
        assert_eq!(set.findings(), [format!("error: datadings: d.msgpack: {at_byte}, row 0)")]);
    }
}

#[test]
fn colliding_keys_are_not_found() {
    let (set, other) = (Set::letters(3), Set::of(&[("foreign", sample("foreign", 1))]));
    let foreign = other.read(Part::KeyHashes)[8..16].to_vec();
    set.patch(Part::KeyHashes, |bytes| bytes[16..24].copy_from_slice(&foreign)).resum();
    let reader = set.open();
    assert_eq!(reader.find("foreign").unwrap(), None);
    assert!(reader.get_key("foreign").unwrap().is_none() && !reader.contains("foreign").unwrap());
    assert_eq!(reader.find_many(&["foreign", "a", "c"]).unwrap(), [None, Some(0), Some(2)]);
    let found = set.findings();
    assert_eq!(found.len(), 1, "{found:?}");
    let stored: String = foreign.iter().map(|byte| format!("{byte:02x}")).collect();
    let real: String = Set::letters(3).read(Part::KeyHashes)[16..24].iter().map(|byte| format!("{byte:02x}")).collect();
    let expected = format!("error: datadings: d.msgpack.key_hashes: key hash: expected {real}, found {stored}");
    assert_eq!(found[0], format!(r#"{expected} (byte 16, row 1, key "b")"#));
}

#[test]
fn reports_equal_hashes() {
    let set = Set::letters(5);
    set.patch(Part::KeyHashes, |bytes| bytes.copy_within(8..16, 32)).resum();
    let text = "samples 0 and 3 have the same key hash: the index is damaged and can be rebuilt (byte 32, row 3)";
    let reader = set.open();
    assert_eq!(reader.find("a").unwrap(), Some(0), "the sample itself confirms it");
    says(&set, &reader.find_many(&["a"; 16]).unwrap_err(), &format!("datadings: d.msgpack.key_hashes: {text}"));
    says(&set, &reader.find("a").unwrap_err(), &format!("datadings: d.msgpack.key_hashes: {text}"));
    let found = set.findings();
    assert_eq!(found.len(), 2, "{found:?}");
    assert_eq!(found[1], format!("error: datadings: d.msgpack.key_hashes: {text}"));
}

#[test]
fn reports_a_wrong_filter() {
    let set = Set::letters(9);
    set.patch(Part::Filter, |bytes| bytes[32..].fill(0)).resum();
    let reader = set.open();
    assert!(!reader.contains("a").unwrap(), "the filter is asked first");
    assert_eq!(reader.find("a").unwrap(), Some(0), "the hashes find it");
    let found = set.findings();
    assert_eq!(found.len(), 9);
    assert_eq!(found[0], r#"error: datadings: d.msgpack.filter: key "a" is missing from the filter (row 0)"#);
}

#[test]
fn reports_wrong_offsets() {
    let set = Set::letters(4);
    let sound = set.read(Part::Offsets);
    let get = |row| Reader::open(&set.path).and_then(|reader| reader.get(row).map(drop)).unwrap_err();
    set.offset(2, 5);
    let text = "datadings: d.msgpack.offsets: sample begins at byte 10 but ends at byte 5 (byte 8, row 1)";
    says(&set, &get(1), text);
    set.write(Part::Offsets, &sound).offset(2, 1 << 60);
    let text = "datadings: d.msgpack.offsets: sample ends at byte 1152921504606846976, past the end of the data (40 bytes) (byte 8, row 1)";
    says(&set, &get(1), text);
    set.write(Part::Offsets, &sound).offset(4, u64::MAX);
    let text = "datadings: d.msgpack.offsets: data up to the last offset: needs 18446744073709551615 bytes, 40 available (byte 32)";
    says(&set, &get(0), text);
    set.write(Part::Offsets, &sound[..39]);
    says(&set, &get(0), "datadings: d.msgpack.offsets: an offset: needs 8 bytes, 7 available (byte 32)");
    set.write(Part::Offsets, b"");
    says(&set, &get(0), "datadings: d.msgpack.offsets: the first offset: needs 8 bytes, 0 available (byte 0)");
    set.write(Part::Offsets, &sound).offset(1, 13);
    let reader = set.open();
    let error = reader.get(1).unwrap().field("x").unwrap_err();
    assert_eq!(error.to_string(), "datadings: expected a map, found an integer (byte 13, row 1)");
}

#[test]
fn rejects_a_declared_count_of_4_billion_keys() {
    let set = Set::letters(2);
    set.patch(Part::Keys, |bytes| bytes.splice(0..1, [0xdd, 0xff, 0xff, 0xff, 0xff]).for_each(drop)).resum();
    let text = "datadings: d.msgpack.keys: the keys: needs 4294967295 bytes, 4 available (byte 5)";
    says(&set, &set.open().key(0).unwrap_err(), text);
    assert_eq!(set.findings(), [format!("error: {text}")]);
    set.legacy_of(b"\xdf\xff\xff\xff\xff\xa1a\x00");
    let error = Reader::open(&set.path).unwrap_err();
    says(&set, &error, "datadings: d.msgpack.index: the keys: needs 4294967295 bytes, 3 available (byte 5)");
}

#[test]
fn reports_garbage_in_md5() {
    let set = Set::letters(1);
    set.write(Part::Md5, [0xff, 0xfe, b'\n', 0]);
    let found = set.findings();
    assert_eq!(found[0], "error: datadings: d.msgpack.md5: invalid UTF-8 (line 1)");
    assert_eq!(
        found[1],
        r#"error: datadings: d.msgpack.md5: expected an MD5 sum, two spaces and a file name, found "\0" (line 2)"#
    );
    assert_eq!(found.len(), 3 + 5, "{found:?}");
}

#[test]
fn accepts_n_offsets() {
    let set = Set::letters(3);
    for without in [None, Some(Part::Keys), Some(Part::KeyHashes)] {
        set.patch(Part::Offsets, |bytes| bytes.truncate(24));
        if let Some(part) = without {
            set.remove(part);
        }
        let reader = set.open();
        assert_eq!((reader.len(), reader.get(2).unwrap().key().unwrap()), (3, "c"));
        assert!(set.findings().iter().any(|found| found.contains("expected 4 offsets, found 3")));
    }
}

/// Exercises all accessors of a dataset, which must not panic.
fn exercise(set: &Set) {
    for access in [container_core::testkit::mapped(), Access::Auto, Access::Positional] {
        if let Ok(reader) = Reader::open_with(&set.path, OpenOptions::default().with_access(access)) {
            let _ = (reader.find("b"), reader.contains("x"), reader.key(1).map(drop));
            for sample in reader.iter().flatten() {
                let _ = (sample.value().map(drop), sample.key().map(str::len));
            }
        }
    }
    if let Ok(recovery) = Recovery::survey(&set.path, &RecoverOptions::default()) {
        let _ = recovery.write(set.folder.path().join("out"), options().with_threads(1));
    }
}

#[test]
fn truncated_files_do_not_panic() {
    for legacy in [false, true] {
        let set = Set::letters(4);
        if legacy {
            set.legacy();
        }
        for part in PARTS.into_iter().chain([Part::LegacyIndex]).filter(|part| set.part(*part).exists()) {
            let whole = set.read(part);
            let usual = set.findings();
            for cut in 0..whole.len() {
                set.write(part, &whole[..cut]);
                exercise(&set);
                assert_ne!(set.outcome(), usual, "{part:?} of {cut} bytes");
            }
            set.write(part, whole);
        }
    }
}

#[test]
fn flipped_bits_are_detected() {
    for with_sums in [true, false] {
        let set = Set::letters(3);
        if !with_sums {
            set.remove(Part::Md5);
        }
        let usual = set.findings();
        let mut silent = Vec::new();
        for part in PARTS.into_iter().filter(|part| set.part(*part).exists()) {
            let whole = set.read(part);
            for bit in 0..whole.len() * 8 {
                let mut bytes = whole.clone();
                bytes[bit / 8] ^= 1 << (bit % 8);
                set.write(part, bytes);
                if part != Part::Md5 {
                    exercise(&set);
                }
                if set.outcome() == usual {
                    silent.push((part, bit / 8, bit % 8));
                }
            }
            set.write(part, whole);
        }
        if with_sums {
            assert_eq!(silent, [], "with sums every change is detected");
        } else {
            // Undetectable: the name and the value of field x become another one-byte name, small number, nil or bool.
            let places: std::collections::BTreeSet<_> =
                silent.iter().map(|(part, byte, _)| (*part, byte % 10)).collect();
            assert_eq!(places.into_iter().collect::<Vec<_>>(), [(Part::Data, 8), (Part::Data, 9)]);
        }
    }
}

#[test]
fn raw_values_of_any_bytes() {
    // All pairs of bytes as the start of a value.
    for first in 0..=255u8 {
        for second in 0..=255u8 {
            let bytes = [first, second, 0xc4, 2, b'n', b'd', 0xc3];
            let raw = RawValue::new(&bytes);
            let _ = (raw.kind(), raw.value().map(drop), raw.numpy().map(drop), raw.get("key").map(drop));
            let _ = Reader::scan(Source::from(bytes.to_vec()), OpenOptions::default());
        }
    }
}

#[test]
fn nested_keys_do_not_grow_exponentially() {
    // Each map is a key of the one around it, whose JSON escapes it once more.
    let sample = |deep: usize| [vec![0x81; deep], vec![0xc0; deep + 1]].concat();
    let limits = Limits::default();
    for deep in 1..=4 {
        let mut text = Vec::new();
        json::write(RawValue::new(&sample(deep)), &mut text, &limits).unwrap();
        assert!(text.len() < 200, "{deep}: {}", text.len());
    }
    for deep in [5, 30, 100] {
        let mut text = b"before".to_vec();
        let error = json::write(RawValue::new(&sample(deep)), &mut text, &limits).unwrap_err();
        assert_eq!(error.to_string(), "nesting of keys that are not str 5 exceeds the limit 4 (byte 5)");
        assert_eq!(text, b"before");
        assert!(serde_json::to_string(&json::Json(RawValue::new(&sample(deep)))).is_err());
    }
}
