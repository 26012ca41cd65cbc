//! Folders and ZIP archives as formats with one row per file.

use std::fs;
use std::io::Write;
use std::path::Path;

use flate2::Compression;
use flate2::write::DeflateEncoder;
use serde_json::{Value, json};
use wharf::convert::import::FOLDER;
use wharf::convert::{Convert, JsonLines, copy};
use wharf::{ErrorKind, Overwrite, Registry, Scan, Severity, VerifyOptions};

const FILES: [(&str, &[u8]); 4] =
    [("cat/1.bin", b"one"), ("cat/2.bin", b"two\xff"), ("dog/deep/3.bin", b""), ("top", b"top")];

fn folder(path: &Path) {
    for (name, content) in FILES {
        let file = path.join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, content).unwrap();
    }
}

/// A ZIP archive of the same files; contents begin right after the names.
fn archive() -> Vec<u8> {
    let (mut out, mut directory) = (Vec::new(), Vec::new());
    for (name, content) in FILES {
        let mut crc = flate2::Crc::new();
        crc.update(content);
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(content).unwrap();
        let packed = encoder.finish().unwrap();
        let mut common = Vec::new();
        for number in [20u16, 0, 8, 0, 0x21] {
            common.extend_from_slice(&number.to_le_bytes());
        }
        for number in [crc.sum(), packed.len() as u32, content.len() as u32] {
            common.extend_from_slice(&number.to_le_bytes());
        }
        common.extend_from_slice(&(name.len() as u16).to_le_bytes());
        common.extend_from_slice(&[0, 0]);
        let start = out.len() as u32;
        out.extend_from_slice(b"PK\x03\x04");
        out.extend_from_slice(&common);
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(&packed);
        directory.extend_from_slice(b"PK\x01\x02\x14\0");
        directory.extend_from_slice(&common);
        directory.extend_from_slice(&[0; 10]);
        directory.extend_from_slice(&start.to_le_bytes());
        directory.extend_from_slice(name.as_bytes());
    }
    let (start, len, count) = (out.len() as u32, directory.len() as u32, FILES.len() as u16);
    out.extend_from_slice(&directory);
    out.extend_from_slice(b"PK\x05\x06\0\0\0\0");
    out.extend_from_slice(&count.to_le_bytes());
    out.extend_from_slice(&count.to_le_bytes());
    out.extend_from_slice(&len.to_le_bytes());
    out.extend_from_slice(&start.to_le_bytes());
    out.extend_from_slice(&[0, 0]);
    out
}

/// Rows as JSON.
fn rows(path: &Path, columns: Option<Vec<usize>>) -> wharf::Result<Vec<Value>> {
    let container = wharf::open(path)?;
    let mut scan = Scan::default();
    scan.columns = columns;
    let mut sink = JsonLines::new(Vec::new());
    copy(container.tables()[0], &scan, &mut sink)?;
    let text = String::from_utf8(sink.finish()?).unwrap();
    Ok(text.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

#[test]
fn folder_and_archive_have_the_same_rows() {
    let temp = tempfile::tempdir().unwrap();
    let (files, zip) = (temp.path().join("files"), temp.path().join("files.zip"));
    folder(&files);
    fs::write(&zip, archive()).unwrap();
    let own = |name: &str| format!("{}/{name}", files.display());
    let expected = |path: &dyn Fn(&str) -> String| {
        vec![
            json!({"key": "cat/1.bin", "label": "cat", "path": path("cat/1.bin"), "size": 3, "data": {"$bytes": "b25l"}}),
            json!({"key": "cat/2.bin", "label": "cat", "path": path("cat/2.bin"), "size": 4, "data": {"$bytes": "dHdv/w=="}}),
            json!({"key": "dog/deep/3.bin", "label": "dog", "path": path("dog/deep/3.bin"), "size": 0, "data": {"$bytes": ""}}),
            json!({"key": "top", "label": null, "path": path("top"), "size": 3, "data": {"$bytes": "dG9w"}}),
        ]
    };
    assert_eq!(rows(&files, None).unwrap(), expected(&own));
    assert_eq!(rows(&zip, None).unwrap(), expected(&str::to_owned));
    for (input, path) in [(&files, &own as &dyn Fn(&str) -> String), (&zip, &str::to_owned)] {
        for extension in ["parquet", "arrow", "jsonl"] {
            let out = temp.path().join(format!("out.{extension}"));
            Convert::new([input]).write(&out, Overwrite::Replace, &Registry::builtin()).unwrap();
            assert_eq!(rows(&out, None).unwrap(), expected(path), "{extension}");
        }
        let container = wharf::open(input).unwrap();
        let table = container.tables()[0];
        assert_eq!((table.len(), table.find("top").unwrap(), table.find("no").unwrap()), (Some(4), Some(3), None));
        let mut findings = Vec::new();
        container.verify(&VerifyOptions::default(), &mut |finding| findings.push(finding.error.to_string())).unwrap();
        assert!(findings.is_empty(), "{findings:?}");
    }
}

#[test]
fn errors_name_the_damaged_file_of_an_archive() {
    let temp = tempfile::tempdir().unwrap();
    let zip = temp.path().join("files.zip");
    let mut bytes = archive();
    // The content of the second file.
    let at = bytes.windows(9).position(|part| part == b"cat/2.bin").unwrap() + 9;
    bytes[at + 2] ^= 1;
    fs::write(&zip, &bytes).unwrap();
    let container = wharf::open(&zip).unwrap();
    let mut findings = Vec::new();
    container.verify(&VerifyOptions::default(), &mut |finding| findings.push(finding)).unwrap();
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert_eq!(findings[0].severity, Severity::Error);
    assert!(findings[0].error.to_string().contains("cat/2.bin"), "{findings:?}");
    assert!(rows(&zip, None).unwrap_err().to_string().contains("cat/2.bin"));
    // Content is read only if selected.
    assert_eq!(rows(&zip, Some(vec![0, 3])).unwrap()[1], json!({"key": "cat/2.bin", "size": 4}));
}

#[test]
fn archives_behind_other_bytes_are_read() {
    let temp = tempfile::tempdir().unwrap();
    let zip = temp.path().join("self-extracting.zip");
    fs::write(&zip, [b"#!/bin/sh\nexit\n".as_slice(), &archive()].concat()).unwrap();
    let plain = temp.path().join("plain.zip");
    fs::write(&plain, archive()).unwrap();
    assert_eq!(wharf::open(&zip).unwrap().format(), "zip");
    assert_eq!(rows(&zip, Some(vec![0, 3])).unwrap(), rows(&plain, Some(vec![0, 3])).unwrap());
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/idv-model");
    let models = fs::read_dir(model).unwrap().map(|entry| entry.unwrap().path());
    for model in models.filter(|path| path.extension().is_some_and(|extension| extension == "zip")) {
        fs::write(&zip, [b"stub".as_slice(), &fs::read(&model).unwrap()].concat()).unwrap();
        assert_eq!(wharf::open(&zip).unwrap().format(), "mlnet-model", "{model:?}");
    }
}

#[cfg(unix)]
#[test]
fn findings_name_what_is_left_out() {
    let temp = tempfile::tempdir().unwrap();
    fs::create_dir(temp.path().join("a")).unwrap();
    fs::write(temp.path().join("a/x.txt"), "x").unwrap();
    std::os::unix::fs::symlink("a", temp.path().join("link")).unwrap();
    let mut findings = Vec::new();
    let container = wharf::open(temp.path()).unwrap();
    container.verify(&VerifyOptions::default(), &mut |finding| findings.push(finding.error.to_string())).unwrap();
    let link = temp.path().join("link").display().to_string();
    let expected = format!("folder: link to a folder that is imported already left out (key {link:?})");
    assert_eq!(findings, [expected]);
}

#[test]
fn other_formats_take_precedence() {
    let temp = tempfile::tempdir().unwrap();
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden");
    let stores = fs::read_dir(golden.join("zds")).unwrap().map(|entry| entry.unwrap().path());
    let found: Vec<_> = stores.filter(|path| path.is_dir()).map(|path| wharf::open(path).unwrap().format()).collect();
    assert!(!found.is_empty() && found.iter().all(|format| *format == "zds"), "{found:?}");
    let models: Vec<_> = fs::read_dir(golden.join("idv-model")).unwrap().map(|entry| entry.unwrap().path()).collect();
    let zips = models.iter().filter(|path| path.extension().is_some_and(|extension| extension == "zip"));
    let found: Vec<_> = zips.map(|path| wharf::open(path).unwrap().format()).collect();
    assert!(!found.is_empty() && found.iter().all(|format| *format == "mlnet-model"), "{found:?}");
    let empty = temp.path().join("empty");
    fs::create_dir_all(empty.join("inner")).unwrap();
    let error = wharf::open(&empty).err().unwrap().to_string();
    assert!(error.starts_with("folder: ") && error.ends_with("no files found"), "{error}");
}

#[cfg(unix)]
/// Without the feature `zarr`, no format recognizes a store.
#[test]
fn refuses_zarr_stores_as_folders() {
    let temp = tempfile::tempdir().unwrap();
    let (registry, out) = (Registry::empty().with(FOLDER), temp.path().join("out.jsonl"));
    let target = Registry::builtin().target("jsonl").unwrap();
    for name in ["zarr.json", ".zgroup", ".zarray"] {
        let store = temp.path().join(format!("with {name}"));
        fs::create_dir(&store).unwrap();
        fs::write(store.join(name), "{}").unwrap();
        let opened = registry.open(&store).err().unwrap();
        let converted =
            Convert::new([&store]).write_as(target.as_ref(), &out, Overwrite::Refuse, &registry).unwrap_err();
        for error in [opened, converted] {
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
            assert!(
                error.to_string().contains("a Zarr store: this program was built without the feature zarr"),
                "{error}"
            );
        }
        assert!(!out.exists());
    }
}

#[test]
fn rejects_links_out_of_a_folder() {
    let temp = tempfile::tempdir().unwrap();
    let files = temp.path().join("files");
    folder(&files);
    fs::write(temp.path().join("outside"), "secret").unwrap();
    std::os::unix::fs::symlink("../../outside", files.join("cat/link")).unwrap();
    let error = rows(&files, None).unwrap_err().to_string();
    assert!(error.contains("leads out of the folder") && error.contains("cat/link"), "{error}");
}
