//! No verb overwrites a file of its inputs, whatever the flags; a closed pipe does not hide failures.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::common::wharf;
use crate::dataset_folder::{SUFFIXES, TestFolder};

/// Files of every format, symbolic and hard links to them, and a file that is read in addition to the inputs.
fn place() -> TestFolder {
    let place = TestFolder::new()
        .with("a.jsonl", "{\"_id\":\"x\",\"key\":\"x\",\"n\":1}\n")
        .with("b.jsonl", "{\"_id\":\"y\",\"key\":\"y\",\"n\":2}\n")
        .with("types.json", "{\"n\": \"Int64\"}")
        .with("list.txt", "cat/1.jpg\n")
        .with("photos/cat/1.jpg", "one")
        .with("photos/cat/2.jpg", "two");
    for (from, to) in
        [("a", "m.msgpack"), ("b", "n.msgpack"), ("a", "a.idv"), ("b", "b.idv"), ("a", "a.csv"), ("a", "s.zds")]
    {
        assert_eq!(place.run(&["convert", &format!("@{from}.jsonl"), &format!("@{to}")]).code(), 0);
    }
    assert_eq!(place.run(&["convert", "@a.jsonl", "@a.ds", "--dim", "row"]).code(), 0);
    assert_eq!(place.run(&["convert", "@b.jsonl", "@b.ds", "--dim", "row"]).code(), 0);
    assert_eq!(place.run(&["convert", "@a.jsonl", "@store.d", "--to", "zds"]).code(), 0);
    fs::remove_file(place.path("n.msgpack.filter")).unwrap();
    fs::hard_link(place.path("m.msgpack.keys"), place.path("hard")).unwrap();
    fs::hard_link(data_of(&place), place.path("line")).unwrap();
    symlink(place.path("m.msgpack.offsets"), place.path("soft")).unwrap();
    symlink(place.0.path(), place.path("around")).unwrap();
    place
}

/// The data of the store.
fn data_of(place: &TestFolder) -> PathBuf {
    let files = all(Path::new(&place.path("store.d")));
    files.into_keys().find(|path| path.ends_with("data.jsonl")).unwrap()
}

/// Inodes and contents of all files below a folder.
fn all(folder: &Path) -> BTreeMap<PathBuf, (u64, Vec<u8>)> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let (path, metadata) = entry.map(|entry| (entry.path(), entry.metadata().unwrap())).unwrap();
            if metadata.is_dir() {
                folders.push(path);
            } else {
                let content = fs::read(&path).unwrap_or_default();
                files.insert(path, (metadata.ino(), content));
            }
        }
    }
    files
}

#[test]
fn no_verb_overwrites_its_inputs() {
    let place = place();
    let before = all(place.0.path());
    let data = data_of(&place).into_os_string().into_string().unwrap();
    let beside = data.replace("data.jsonl", "more.jsonl");
    let mut runs: Vec<Vec<String>> = Vec::new();
    let mut add = |arguments: &[&str]| runs.push(arguments.iter().map(|argument| (*argument).to_owned()).collect());
    for suffix in SUFFIXES {
        let member = format!("@m.msgpack{suffix}");
        for input in ["@m.msgpack", "@m.msgpack.offsets", "@around/m.msgpack", "@[m].msgpack"] {
            for to in ["jsonl", "csv", "datadings", "zds", "ds", "parquet"] {
                add(&["convert", input, &member, "--to", to]);
            }
            add(&["convert", "@n.msgpack", input, &member, "--to", "jsonl"]);
        }
        add(&["merge", "@n.msgpack", "@m.msgpack", "-o", &member]);
        add(&["shuffle", "@m.msgpack", &member]);
        add(&["sample", "@m.msgpack", &member, "-n", "1"]);
        add(&["split", "@m.msgpack", "--parts", "1", "-o", &member]);
        add(&["recover", "@m.msgpack", &member]);
    }
    for other in ["@hard", "@soft", "@around/m.msgpack.keys"] {
        add(&["convert", "@m.msgpack", other, "--to", "jsonl"]);
        add(&["convert", "@n.msgpack", "@m.msgpack", other, "--to", "csv"]);
    }
    // A missing file would become part of the dataset.
    add(&["convert", "@n.msgpack", "@n.msgpack.filter", "--to", "jsonl"]);
    add(&["convert", "@a.jsonl", "@b.jsonl", "@around/b.jsonl"]);
    for (first, second) in [("@a.idv", "@b.idv"), ("@a.ds", "@b.ds")] {
        let dim: &[&str] = if first.ends_with("ds") { &["--dim", "row"] } else { &[] };
        add(&[&["merge", first, second, "-o", second], dim].concat());
        add(&["convert", second, second, "--to", "csv"]);
    }
    add(&["recover", "@a.idv", "@around/a.idv"]);
    add(&["recover", "@a.idv", "@list.txt", "--schema", "@list.txt"]);
    add(&["rename", "@a.ds", "n=m", "-o", "@around/a.ds"]);
    // Files in the folder of a store.
    for output in [&data, &beside, "@line", "@store.d", "@around/store.d", "@store.d/new.csv"] {
        for to in ["jsonl", "csv", "datadings", "parquet", "zds"] {
            add(&["convert", "@store.d", output, "--to", to]);
        }
    }
    add(&["pack", "@store.d", "@store.d/s.zds"]);
    add(&["pack", "@store.d", "@line"]);
    add(&["convert", "@s.zds", "@around/s.zds", "--to", "zds"]);
    add(&["unpack", "@s.zds", "@s.zds"]);
    // Files that are read in addition to the inputs.
    add(&["convert", "@a.csv", "@types.json", "--to", "parquet", "--schema", "@types.json"]);
    add(&["convert", "@a.csv", "@around/types.json", "--to", "idv", "--schema", "@types.json"]);
    add(&["convert", "@photos", "@list.txt", "--to", "datadings", "--list", "@list.txt"]);
    // Files of a folder.
    add(&["convert", "@photos", "@photos/cat/1.jpg", "--to", "datadings"]);
    for arguments in runs {
        let mut arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        arguments.push("--force");
        let ran = place.run(&arguments);
        assert_eq!((ran.code(), ran.out()), (2, ""), "{arguments:?}: {}", ran.err());
        assert!(ran.err().contains(": the output is "), "{arguments:?}: {}", ran.err());
        assert!(all(place.0.path()) == before, "{arguments:?}");
    }
    // Files with similar names that do not belong to the dataset.
    place.run(&["convert", "@a.csv", "@a.csv.keys", "--to", "jsonl"]).ok();
    place.run(&["convert", "@photos", "@photos/cat/new.msgpack", "--force"]).ok();
}

/// The exit code of a run with a closed pipe.
fn unread(arguments: &[String]) -> (Option<i32>, String) {
    let mut child = wharf(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn closed_pipe_does_not_hide_failures() {
    let place = place();
    let bytes = place.read("m.msgpack");
    fs::write(place.path("m.msgpack"), &bytes[..bytes.len() - 1]).unwrap();
    let unread = |arguments: &[&str]| unread(&place.arguments(arguments));
    for form in [&[][..], &["--json"]] {
        assert_eq!(unread(&[&["verify", "@m.msgpack"], form].concat()), (Some(1), String::new()));
        assert_eq!(unread(&[&["verify", "@a.idv", "@a.idv", "@none"], form].concat()), (Some(1), String::new()));
        assert_eq!(unread(&[&["verify", "@a.idv"], form].concat()), (Some(0), String::new()));
        for verb in ["cat", "info"] {
            assert_eq!(unread(&[&[verb, "@a.idv"], form].concat()), (Some(0), String::new()));
            assert_eq!(unread(&[&[verb, "@none"], form].concat()).0, Some(1));
        }
    }
    for to in ["jsonl", "csv", "idv", "ds", "parquet", "arrow", "arrows"] {
        let dim: &[&str] = if to == "ds" { &["--dim", "row"] } else { &[] };
        let (code, err) = unread(&[&["convert", "@n.msgpack", "-", "--to", to], dim].concat());
        assert!(code == Some(0) && !err.contains("error"), "{to}: {err}");
    }
    // The work is completed even if nobody reads the report.
    for name in ["m.msgpack", "n.msgpack"] {
        fs::remove_file(place.path(&format!("{name}.offsets"))).unwrap();
    }
    fs::write(place.path("m.msgpack"), bytes).unwrap();
    assert_eq!(unread(&["index", "@m.msgpack", "@n.msgpack"]), (Some(0), String::new()));
    place.run(&["verify", "@m.msgpack", "@n.msgpack"]).ok();
}
