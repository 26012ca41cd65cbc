//! Fields extracted into files, and imported again.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{ArrayRef, BinaryArray, DictionaryArray, Int8Array, Int64Array, RecordBatch, StringArray};
use arrow_ipc::writer::FileWriter;
use wharf::convert::{JsonLines, copy};
use wharf::{Convert, Diff, ErrorKind, Extract, Overwrite, Registry, Scan, Severity, VerifyOptions};

fn write(path: &Path, columns: Vec<(&str, ArrayRef)>) {
    let batch = RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true)));
    let batch = batch.unwrap();
    let mut writer = FileWriter::try_new(File::create(path).unwrap(), &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
}

/// Three images with labels and numbers.
fn images(path: &Path) {
    write(
        path,
        vec![
            ("key", Arc::new(StringArray::from(vec!["a/1", "b", "a/2"]))),
            ("jpg", Arc::new(BinaryArray::from(vec![Some(&b"\xff\xd8one"[..]), Some(b""), None]))),
            ("cls", Arc::new(Int64Array::from(vec![7, 8, 9]))),
            ("txt", Arc::new(StringArray::from(vec!["ä", "\"", "x"]))),
        ],
    );
}

fn files_of(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(next) = waiting.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                waiting.push(path);
                continue;
            }
            let name = path.strip_prefix(folder).unwrap().to_str().unwrap().replace('\\', "/");
            all.insert(name, fs::read(path).unwrap());
        }
    }
    all
}

fn files_of_tar(path: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut archive = tar::Archive::new(File::open(path).unwrap());
    let mut all = BTreeMap::new();
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        let name = entry.path().unwrap().to_str().unwrap().to_owned();
        let mut content = Vec::new();
        entry.read_to_end(&mut content).unwrap();
        all.insert(name, content);
    }
    all
}

fn expected_of(files: &[(&str, &[u8])]) -> BTreeMap<String, Vec<u8>> {
    files.iter().map(|(name, content)| ((*name).to_owned(), content.to_vec())).collect()
}

#[test]
fn fields_become_files_of_a_folder_a_tar_and_a_zip() {
    let temp = tempfile::tempdir().unwrap();
    let source = temp.path().join("x.arrow");
    images(&source);
    let registry = Registry::builtin();
    let one = expected_of(&[("a/1", b"\xff\xd8one"), ("b", b"")]);
    let [folder, tar, zip, back] = ["out", "out.tar", "out.zip", "back"].map(|name| temp.path().join(name));
    for path in [&folder, &tar, &zip] {
        let report = Extract::new(&source, ["jpg"]).write(path, Overwrite::Refuse, &registry).unwrap();
        assert_eq!(report.rows, 2);
        assert_eq!((report.losses.len(), report.losses[0].loss.count), (1, 1));
        let exists = Extract::new(&source, ["jpg"]).write(path, Overwrite::Refuse, &registry).unwrap_err();
        assert_eq!(exists.kind(), ErrorKind::Usage);
    }
    assert_eq!(files_of(&folder), one);
    assert_eq!(files_of_tar(&tar), one);
    // Our reader of ZIP finds the same files.
    Extract::new(&zip, ["data"]).write(&back, Overwrite::Refuse, &registry).unwrap();
    assert_eq!(files_of(&back), one);
    // The same bytes each time.
    let again = temp.path().join("again.tar");
    Extract::new(&source, ["jpg"]).write(&again, Overwrite::Refuse, &registry).unwrap();
    assert_eq!(fs::read(again).unwrap(), fs::read(tar).unwrap());
}

#[test]
fn values_of_a_column_can_have_different_types() {
    let temp = tempfile::tempdir().unwrap();
    let (lines, samples) = (temp.path().join("x.jsonl"), temp.path().join("x.msgpack"));
    fs::write(&lines, "{\"key\":\"a\",\"v\":1}\n{\"key\":\"b\",\"v\":\"1\"}\n{\"key\":\"c\",\"v\":[1,\"x\"]}\n{\"key\":\"d\",\"v\":\"\\\"\"}\n")
        .unwrap();
    let registry = Registry::builtin();
    Convert::new([&lines]).write(&samples, Overwrite::Refuse, &registry).unwrap();
    for (input, name) in [(&lines, "1"), (&samples, "2")] {
        let out = temp.path().join(name);
        Extract::new(input, ["v"]).write(&out, Overwrite::Refuse, &registry).unwrap();
        assert_eq!(files_of(&out), expected_of(&[("a", b"1"), ("b", b"1"), ("c", b"[1,\"x\"]"), ("d", b"\"")]));
        // The others are not read.
        let out = temp.path().join(format!("{name} keys"));
        Extract::new(input, ["key"]).write(&out, Overwrite::Refuse, &registry).unwrap();
        assert_eq!(files_of(&out).len(), 4);
    }
    // In JSON, bytes are text.
    fs::write(&lines, "{\"v\":1}\n{\"v\":{\"$bytes\":\"AAEC\"}}\n").unwrap();
    let error = Extract::new(&lines, ["v"]).write(temp.path().join("3"), Overwrite::Refuse, &registry).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert_eq!((error.position().row, error.position().column.as_deref()), (Some(1), Some("v")), "{error}");
}

#[test]
fn several_fields_are_a_shard_of_webdataset() {
    let temp = tempfile::tempdir().unwrap();
    let (source, shard) = (temp.path().join("x.arrow"), temp.path().join("shard-000.tar"));
    images(&source);
    let registry = Registry::builtin();
    Extract::new(&source, ["jpg", "cls", "txt"])
        .with_name("s{row}")
        .write(&shard, Overwrite::Refuse, &registry)
        .unwrap();
    let files: [(&str, &[u8]); 8] = [
        ("s0.jpg", b"\xff\xd8one"),
        ("s0.cls", b"7"),
        ("s0.txt", "ä".as_bytes()),
        ("s1.jpg", b""),
        ("s1.cls", b"8"),
        ("s1.txt", b"\""),
        ("s2.cls", b"9"),
        ("s2.txt", b"x"),
    ];
    assert_eq!(files_of_tar(&shard), expected_of(&files));
}

#[test]
fn import_and_extraction_are_inverse() {
    let temp = tempfile::tempdir().unwrap();
    let [photos, set, back, again] =
        ["photos", "x.msgpack", "back", "again.msgpack"].map(|name| temp.path().join(name));
    for (name, content) in [("cat/1.jpg", "one"), ("cat/2.jpg", ""), ("dog/1.jpg", "three")] {
        let path = photos.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    let registry = Registry::builtin();
    Convert::new([&photos]).write(&set, Overwrite::Refuse, &registry).unwrap();
    Extract::new(&set, ["data"]).write(&back, Overwrite::Refuse, &registry).unwrap();
    assert_eq!(files_of(&back), files_of(&photos));
    Convert::new([&back]).write(&again, Overwrite::Refuse, &registry).unwrap();
    let mut diff = Diff::new(&set, &again);
    (diff.one, diff.other) = (diff.one.with_columns(["key", "data"]), diff.other.with_columns(["key", "data"]));
    assert!(diff.compare(&registry).unwrap().is_same());
}

#[test]
fn hostile_and_duplicate_names_are_errors_and_leave_nothing() {
    let temp = tempfile::tempdir().unwrap();
    let registry = Registry::builtin();
    for (at, names) in [["x", "../y"], ["x", "/etc/passwd"], ["x", "x"], ["x", "x/y"], ["x", "a\u{1b}[1m"], ["x", ""]]
        .iter()
        .enumerate()
    {
        let source = temp.path().join(format!("{at}.arrow"));
        let data: ArrayRef = Arc::new(BinaryArray::from_vec(vec![b"1", b"2"]));
        write(&source, vec![("key", Arc::new(StringArray::from(names.to_vec()))), ("data", data)]);
        for output in ["out", "out.tar", "out.zip"] {
            let path = temp.path().join(output);
            let error = Extract::new(&source, ["data"]).write(&path, Overwrite::Refuse, &registry).unwrap_err();
            assert_eq!((error.kind(), error.position().row), (ErrorKind::Invalid, Some(1)), "{names:?}: {error}");
            assert!(!path.exists(), "{names:?}");
        }
        let rows = temp.path().join(format!("{at}"));
        Extract::new(&source, ["data"]).with_name("{row}.bin").write(&rows, Overwrite::Refuse, &registry).unwrap();
        assert_eq!(files_of(&rows).into_keys().collect::<Vec<_>>(), ["0.bin", "1.bin"]);
    }
    let left = fs::read_dir(temp.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert!(left.into_iter().all(|name| name.ends_with(".arrow") || name.len() == 1));
}

#[test]
fn names_of_a_shard_have_no_dots() {
    let temp = tempfile::tempdir().unwrap();
    let source = temp.path().join("x.arrow");
    let data: ArrayRef = Arc::new(BinaryArray::from_vec(vec![b"1"]));
    write(&source, vec![("key", Arc::new(StringArray::from(vec!["a.b/c.d"]))), ("x", Arc::clone(&data)), ("y", data)]);
    let registry = Registry::builtin();
    let extract = |fields: &[&str], output: &str, name: &str| {
        let extract = Extract::new(&source, fields.iter().copied()).with_name(name);
        extract.write(temp.path().join(output), Overwrite::Refuse, &registry).map(|report| report.rows)
    };
    assert_eq!(extract(&["x", "y"], "a.tar", "key").unwrap_err().kind(), ErrorKind::Invalid);
    assert_eq!(extract(&["x"], "b.tar", "key").unwrap(), 1);
    assert_eq!(extract(&["x", "y"], "c", "key").unwrap(), 2);
    assert_eq!(extract(&["x", "y"], "d.tar", "{row}").unwrap(), 2);
}

#[test]
fn row_numbers_are_those_of_the_input() {
    let temp = tempfile::tempdir().unwrap();
    let source = temp.path().join("x.csv");
    fs::write(&source, "a\n10\n11\n12\n13\n").unwrap();
    for (rows, expected) in [(0..2, [("0", "10"), ("1", "11")]), (2..4, [("2", "12"), ("3", "13")])] {
        let out = temp.path().join(format!("from-{}", rows.start));
        let inputs = wharf::convert::Convert::new([&source]).with_rows(rows);
        Extract::of(inputs, ["a"]).with_name("{row}").write(&out, Overwrite::Refuse, &Registry::builtin()).unwrap();
        assert_eq!(fs::read_dir(&out).unwrap().count(), 2);
        for (name, content) in expected {
            assert_eq!(fs::read_to_string(out.join(name)).unwrap(), content);
        }
    }
}

#[test]
fn unknown_columns_and_wrong_patterns_are_usage_errors() {
    let temp = tempfile::tempdir().unwrap();
    let (source, out) = (temp.path().join("x.arrow"), temp.path().join("out"));
    images(&source);
    for (field, name) in [("png", "key"), ("jpg", "id"), ("jpg", "{id}"), ("jpg", "{"), ("jpg", "{}")] {
        let error = Extract::new(&source, [field]).with_name(name).write(&out, Overwrite::Refuse, &Registry::builtin());
        assert_eq!(error.unwrap_err().kind(), ErrorKind::Usage, "{field} {name}");
        assert!(!out.exists());
    }
}

#[test]
fn a_field_that_is_selected_twice_is_a_usage_error() {
    let temp = tempfile::tempdir().unwrap();
    let source = temp.path().join("x.arrow");
    images(&source);
    let written =
        Extract::new(&source, ["cls", "cls"]).write(temp.path().join("out"), Overwrite::Refuse, &Registry::builtin());
    assert_eq!(written.unwrap_err().to_string(), "field has \"cls\" twice");
}

#[test]
fn standard_output_and_compressed_archives_are_no_outputs() {
    let temp = tempfile::tempdir().unwrap();
    let source = temp.path().join("x.arrow");
    images(&source);
    let archives = ["x.tar.gz", "x.TGZ", "x.tar.zst", "x.bz2", "x.xz"].map(|name| temp.path().join(name));
    for path in archives.iter().map(PathBuf::as_path).chain([Path::new("-")]) {
        let written = Extract::new(&source, ["cls"]).write(path, Overwrite::Refuse, &Registry::builtin());
        assert_eq!(written.unwrap_err().kind(), ErrorKind::Usage, "{path:?}");
        assert!(!path.exists(), "{path:?}");
    }
}

#[test]
fn nulls_among_the_values_of_a_dictionary_have_no_file() {
    let temp = tempfile::tempdir().unwrap();
    let (source, out) = (temp.path().join("x.arrow"), temp.path().join("out"));
    let values: ArrayRef = Arc::new(StringArray::from(vec![Some("x"), None]));
    let dictionary = DictionaryArray::new(Int8Array::from(vec![Some(0), Some(1), None]), values);
    write(&source, vec![("key", Arc::new(StringArray::from(vec!["a", "b", "c"]))), ("v", Arc::new(dictionary))]);
    let registry = Registry::builtin();
    let report = Extract::new(&source, ["v"]).write(&out, Overwrite::Refuse, &registry).unwrap();
    assert_eq!(files_of(&out), expected_of(&[("a", b"x")]));
    assert_eq!(report.losses.iter().map(|lost| lost.loss.count).collect::<Vec<_>>(), [2]);
    let named = Extract::new(&source, ["key"]).with_name("v");
    let error = named.write(temp.path().join("other"), Overwrite::Refuse, &registry).unwrap_err();
    assert_eq!(error.detail(), "null cannot name a file");
}

#[test]
fn a_tar_archive_without_files_is_read() {
    let temp = tempfile::tempdir().unwrap();
    let (source, out) = (temp.path().join("x.arrow"), temp.path().join("x.tar"));
    images(&source);
    let mut extract = Extract::new(&source, ["cls"]);
    extract.inputs = extract.inputs.with_rows(0..0);
    extract.write(&out, Overwrite::Refuse, &Registry::builtin()).unwrap();
    let mut findings = 0;
    let container = wharf::open(&out).unwrap();
    container.verify(&VerifyOptions::default(), &mut |_| findings += 1).unwrap();
    assert_eq!((findings, container.tables()[0].len(), rows(&out).unwrap()), (0, Some(0), String::new()));
    // What follows the end mark is an error: the header of the first file may have been overwritten.
    let mut bytes = fs::read(&out).unwrap();
    bytes.extend([7; 512]);
    fs::write(&out, &bytes).unwrap();
    wharf::open(&out).unwrap().verify(&VerifyOptions::default(), &mut |_| findings += 1).unwrap();
    assert_eq!(findings, 1);
    fs::write(&out, [0; 512]).unwrap();
    assert!(rows(&out).is_err());
}

/// The rows of an archive as JSON lines.
fn rows(path: &Path) -> wharf::Result<String> {
    let container = wharf::open(path)?;
    let mut sink = wharf::convert::JsonLines::new(Vec::new());
    wharf::convert::copy(container.tables()[0], &wharf::Scan::default(), &mut sink)?;
    Ok(String::from_utf8(sink.finish()?).unwrap())
}

fn tar_of(files: &[(&str, &[u8])], out: &Path) {
    let mut builder = tar::Builder::new(File::create(out).unwrap());
    for (name, content) in files {
        let mut header = tar::Header::new_ustar();
        header.set_size(content.len() as u64);
        header.set_mode(0o600);
        builder.append_data(&mut header, name, *content).unwrap();
    }
    builder.finish().unwrap();
}

#[test]
fn shards_of_webdataset_are_read_as_samples() {
    let temp = tempfile::tempdir().unwrap();
    let [shard, set, again] = ["a.tar", "a.parquet", "b.tar"].map(|name| temp.path().join(name));
    let long = format!("{}/x.y/sample.seg.png", "long".repeat(40));
    let files: [(&str, &[u8]); 6] = [
        ("d/1.jpg", b"one"),
        ("d/1.cls", b"7"),
        ("2.cls", b"8"),
        (&long, b"\x00"),
        ("README", b"text"),
        ("2.jpg", b"two"),
    ];
    tar_of(&files, &shard);
    let registry = Registry::builtin();
    let key = long.strip_suffix(".seg.png").unwrap();
    let expected = format!(
        "{{\"key\":\"d/1\",\"jpg\":{{\"$bytes\":\"b25l\"}},\"cls\":{{\"$bytes\":\"Nw==\"}},\"seg.png\":null,\"data\":null}}\n\
         {{\"key\":\"2\",\"jpg\":{{\"$bytes\":\"dHdv\"}},\"cls\":{{\"$bytes\":\"OA==\"}},\"seg.png\":null,\"data\":null}}\n\
         {{\"key\":\"{key}\",\"jpg\":null,\"cls\":null,\"seg.png\":{{\"$bytes\":\"AA==\"}},\"data\":null}}\n\
         {{\"key\":\"README\",\"jpg\":null,\"cls\":null,\"seg.png\":null,\"data\":{{\"$bytes\":\"dGV4dA==\"}}}}\n"
    );
    assert_eq!(rows(&shard).unwrap(), expected);
    // And back.
    Convert::new([&shard]).write(&set, Overwrite::Refuse, &registry).unwrap();
    Extract::new(&set, ["jpg", "cls", "seg.png"]).write(&again, Overwrite::Refuse, &registry).unwrap();
    let mut all = expected_of(&files);
    all.remove("README");
    assert_eq!(files_of_tar(&again), all);
}

#[test]
fn damaged_and_strange_archives_are_errors_or_losses() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("x.tar");
    tar_of(&[("a.x", b"1"), ("a.x", b"2")], &path);
    assert!(rows(&path).unwrap_err().to_string().contains("two files have the same name"));
    tar_of(&[("a.x", b"1"), (".hidden", b"2")], &path);
    let mut report = Vec::new();
    let container = wharf::open(&path).unwrap();
    container.verify(&wharf::VerifyOptions::default(), &mut |finding| report.push(finding.severity)).unwrap();
    assert_eq!(report, [wharf::Severity::Warning]);
    tar_of(&[("a.x", &[7; 3000])], &path);
    let whole = fs::read(&path).unwrap();
    for len in (0..whole.len()).step_by(97).chain([511, 512, 3511, 3512]) {
        fs::write(&path, &whole[..len]).unwrap();
        // Nothing panics, and what is cut is an error: the end of an archive may be missing.
        assert!(len >= 3512 || rows(&path).is_err(), "{len}");
    }
    for at in 0..512 {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x55;
        fs::write(&path, &damaged).unwrap();
        let _ = rows(&path);
    }
}

#[test]
fn long_headers_of_archives_are_limited_and_a_missing_end_is_noticed() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("x.tar");
    // A long name in the notation of GNU, which readers keep in memory.
    let named = |bytes: usize| {
        let mut builder = tar::Builder::new(File::create(&path).unwrap());
        let mut header = tar::Header::new_gnu();
        header.set_size(1);
        builder.append_data(&mut header, "n".repeat(bytes), &b"1"[..]).unwrap();
        builder.finish().unwrap();
    };
    named(100_000);
    assert_eq!(wharf::open(&path).unwrap().tables()[0].len(), Some(1));
    named(2 << 20);
    let error = wharf::open(&path).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit { asked: (1 << 20) + 1, limit: 1 << 20 }, "{error}");
    let findings = |len: usize| {
        tar_of(&[("a.x", b"1"), ("b.x", b"2")], &path);
        let bytes = fs::read(&path).unwrap();
        fs::write(&path, &bytes[..len.min(bytes.len())]).unwrap();
        let mut found = Vec::new();
        let verified = wharf::open(&path)?.verify(&wharf::VerifyOptions::default(), &mut |finding| found.push(finding));
        verified.map(|()| found.into_iter().map(|finding| finding.error.to_string()).collect::<Vec<_>>())
    };
    assert_eq!(findings(usize::MAX).unwrap(), [""; 0]);
    // Only the first file is left, and nothing says that there was another.
    let expected = "tar: the end mark, a block of zeros, is missing: files can be missing, too";
    assert_eq!(findings(1024).unwrap(), [expected]);
    assert!(findings(1100).is_err());
}

/// A header that was overwritten with zeros hides the files behind it.
#[test]
fn what_follows_the_end_of_a_tar_is_not_ignored() {
    let folder = tempfile::tempdir().unwrap();
    let archive = |names: &[&str]| {
        let mut archive = tar::Builder::new(Vec::new());
        for name in names {
            let mut header = tar::Header::new_ustar();
            header.set_size(1);
            header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
            header.set_cksum();
            archive.append(&header, &b"x"[..]).unwrap();
        }
        archive.into_inner().unwrap()
    };
    let whole = archive(&["0.jpg", "1.jpg", "2.jpg"]);
    let hole = [&whole[..1024], &[0; 512], &whole[1536..]].concat();
    let joined = [&whole[..], &whole[..]].concat();
    let padded = [&whole[..], &[0; 100_000]].concat();
    let path = folder.path().join("a.tar");
    for (bytes, rows, at) in
        [(&whole, 3, None), (&padded, 3, None), (&hole, 1, Some(1536)), (&joined, 3, Some(whole.len() as u64))]
    {
        fs::write(&path, bytes).unwrap();
        let container = wharf::open(&path).unwrap();
        let table = container.tables()[0];
        assert_eq!(table.len(), Some(rows));
        let losses = copy(table, &Scan::default(), &mut JsonLines::new(Vec::new())).unwrap().losses;
        let mut found = Vec::new();
        container.verify(&VerifyOptions::default(), &mut |finding| found.push(finding)).unwrap();
        assert_eq!(losses.first().and_then(|loss| loss.first.byte), at, "{losses:?}");
        let errors: Vec<_> = found.iter().map(|finding| (finding.severity, finding.error.position().byte)).collect();
        assert_eq!(errors, at.map(|at| (Severity::Error, Some(at))).into_iter().collect::<Vec<_>>());
    }
    for name in ["../0.jpg", "/0.jpg", "a/../../0.jpg"] {
        fs::write(&path, archive(&[name])).unwrap();
        let error = wharf::open(&path).err().unwrap().to_string();
        assert!(error.contains("the name of a file leads out of the archive"), "{error}");
    }
}
