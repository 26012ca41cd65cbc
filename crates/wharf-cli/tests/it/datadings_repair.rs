//! `wharf index` and `wharf recover` on datasets.

use std::fs;

use serde_json::json;

use crate::common::{run, wharf};
use crate::datasets::{Folder, PARTS, golden, keys, same_set};

#[test]
fn rebuilds_the_index_byte_for_byte() {
    let folder = Folder::new();
    folder.copy("real-iris.msgpack", &[""]);
    let (iris, sound) = (folder.path("real-iris.msgpack"), golden("real-iris.msgpack"));
    assert_eq!(run(["index", &iris]).ok(), format!("{iris}: 150 samples, index rebuilt (it was missing)\n"));
    same_set(&iris, &sound);
    fs::write(format!("{iris}.offsets"), [0; 16]).unwrap();
    fs::write(format!("{iris}.filter"), "nonsense").unwrap();
    // Any file of the dataset names it, and a pattern may match several.
    let ran = run(["index", &format!("{iris}*"), "--json"]);
    let done = json!({
        "file": iris, "rows": 150, "bytes": 12200, "before": "offsets", "bytes_cut": 0, "kept_older": false,
    });
    assert_eq!((ran.code(), ran.lines()), (0, vec![done]));
    same_set(&iris, &sound);
    assert_eq!(run(["index", &iris, "--no-md5"]).code(), 0);
    assert!(!folder.files().contains(&"real-iris.msgpack.md5".to_owned()));
}

#[test]
fn replaces_a_legacy_index() {
    let folder = Folder::new();
    let legacy = folder.path("index-legacy.msgpack");
    folder.copy("index-legacy.msgpack", &["", ".index"]);
    let line = |what: &str| format!("{legacy}: 7 samples, index rebuilt from the legacy index{what}\n");
    assert_eq!(run(["index", &legacy]).ok(), line(", which is kept"));
    for part in [".offsets", ".keys", ".key_hashes", ".filter"] {
        let converted = fs::read(golden(&format!("index-converted.msgpack{part}"))).unwrap();
        assert!(fs::read(format!("{legacy}{part}")).unwrap() == converted, "{part} is as Python converts it");
    }
    let folder = Folder::new();
    folder.copy("index-legacy.msgpack", &["", ".index"]);
    let legacy = folder.path("index-legacy.msgpack");
    let expected = format!("{legacy}: 7 samples, index rebuilt from the legacy index\n");
    assert_eq!(run(["index", &legacy, "--remove-older"]).ok(), expected);
    assert!(!folder.files().contains(&"index-legacy.msgpack.index".to_owned()));
}

#[test]
fn refuses_to_index_damaged_data() {
    let folder = Folder::new();
    folder.copy("real-iris.msgpack", &[""]);
    let iris = folder.path("real-iris.msgpack");
    let whole = fs::read(&iris).unwrap();
    fs::write(&iris, &whole[..whole.len() - 1]).unwrap();
    let ran = run(["index", &iris]);
    assert_eq!((ran.code(), ran.out()), (1, ""));
    assert!(ran.err().starts_with(&format!("error: datadings: {iris}: the last sample is truncated")), "{}", ran.err());
    assert!(ran.err().ends_with("row 149)\n"), "{}", ran.err());
    assert_eq!(folder.files(), ["real-iris.msgpack"]);
    let ran = run(["index", &iris, "--truncate", "--json"]);
    let done = ran.lines().remove(0);
    assert_eq!((&done["rows"], &done["before"]), (&json!(149), &json!("none")));
    let left = done["bytes"].as_u64().unwrap();
    assert_eq!((left + done["bytes_cut"].as_u64().unwrap(), fs::metadata(&iris).unwrap().len()), (12199, left));
    assert_eq!(keys(&iris), keys(&golden("real-iris.msgpack"))[..149]);

    let usage = |arguments: &[&str]| {
        let ran = run(arguments);
        assert_eq!((ran.code(), ran.out()), (2, ""));
        ran.err().to_owned()
    };
    assert!(usage(&["index", "-"]).contains("standard input cannot have"));
    assert!(usage(&["index", &folder.path("")]).contains("expected a datadings dataset, found a directory"));
    assert_eq!(run(["index", &folder.path("nothing.msgpack")]).code(), 1);
}

#[test]
fn recovers_intact_samples_and_reports_the_rest() {
    let folder = Folder::new();
    folder.copy("real-iris.msgpack", &PARTS);
    let (damaged, out) = (folder.path("real-iris.msgpack"), folder.path("out.msgpack"));
    let mut bytes = fs::read(&damaged).unwrap();
    bytes[1000..1004].fill(0xff);
    fs::write(&damaged, &bytes).unwrap();
    let before = folder.files();
    let ran = run(["recover", &damaged, &out]);
    assert_eq!((ran.code(), ran.out()), (3, &*format!("{out}: 149 samples of 150, 12.1 kB, verified\n")));
    assert!(ran.err().contains(": 79 bytes outside intact samples (byte 948)"), "{}", ran.err());
    assert!(ran.err().contains("(row 12, key \"iris-012\")"), "{}", ran.err());
    let mut expected = keys(&golden("real-iris.msgpack"));
    expected.remove(12);
    assert_eq!(keys(&out), expected);
    assert_eq!(run(["recover", &damaged, &out]).code(), 2, "it exists");
    let ran = run(["recover", &damaged, "-o", &out, "--force", "--json"]);
    let done = ran.lines().remove(0);
    assert_eq!((ran.code(), &done["rows"], &done["rows_declared"]), (3, &json!(149), &json!(150)));
    assert_eq!((&done["rows_lost"], &done["keys_lost"]), (&json!([12]), &json!(["iris-012"])));
    assert_eq!((&done["bytes_lost"], &done["verified"]), (&json!([[948, 1027]]), &json!(true)));
    // The same without an index, for a file and a stream.
    fs::write(folder.path("bare.msgpack"), &bytes).unwrap();
    let bare = folder.path("bare.msgpack");
    let status = wharf(["recover", "-", &out, "--force"]).stdin(fs::File::open(&bare).unwrap()).status().unwrap();
    assert_eq!((status.code(), keys(&out)), (Some(3), expected.clone()));
    assert_eq!(run(["recover", &bare, &out, "--force"]).code(), 3);
    assert_eq!(keys(&out), expected);
    // Never in place, whatever the flags.
    for taken in [damaged.clone(), format!("{damaged}.keys")] {
        let ran = run(["recover", &damaged, &taken, "--force"]);
        assert_eq!((ran.code(), ran.out()), (2, ""));
        assert!(ran.err().contains("the output is the input"), "{}", ran.err());
    }
    assert_eq!(fs::read(&damaged).unwrap(), bytes);
    assert!(before.iter().all(|name| folder.files().contains(name)));
    assert!(folder.files().iter().all(|name| !name.contains("wharf")), "nothing is left behind");
}

#[test]
fn recovers_an_intact_dataset_completely_and_rejects_garbage() {
    let folder = Folder::new();
    let (iris, out) = (golden("real-iris.msgpack"), folder.path("real-iris.msgpack"));
    assert_eq!(run(["recover", &iris, &out]).ok(), format!("{out}: 150 samples, 12.2 kB, verified\n"));
    same_set(&out, &iris);
    let nonsense = folder.path("nonsense.msgpack");
    fs::write(&nonsense, [0xc1; 1000]).unwrap();
    let before = folder.files();
    let ran = run(["recover", &nonsense, "-o", &folder.path("none.msgpack")]);
    assert_eq!((ran.code(), ran.out()), (1, ""));
    assert!(ran.err().starts_with(&format!("error: datadings: {nonsense}: no intact sample")), "{}", ran.err());
    assert_eq!(folder.files(), before);
}

#[test]
fn samples_that_verification_rejects_do_not_lose_the_others() {
    let folder = Folder::new();
    folder.copy("raw-without-key.msgpack", &PARTS);
    let (input, out) = (folder.path("raw-without-key.msgpack"), folder.path("out.msgpack"));
    let ran = run(["recover", &input, &out]);
    assert_eq!((ran.code(), ran.out()), (3, &*format!("{out}: 7 samples, 67 bytes\n")));
    let text = "sample copied although verification rejects it: expected a map as sample, found an array (5 times, first key \"no map\")";
    assert!(ran.err().contains(&format!("{input}: {text}")), "{}", ran.err());
    assert_eq!(fs::read(&out).unwrap(), fs::read(&input).unwrap());
}

#[test]
fn duplicate_keys_keep_the_first_or_both() {
    let folder = Folder::new();
    let (one, out) = (folder.write("one.msgpack", &[("x", 1), ("y", 2)]), folder.path("out.msgpack"));
    let twice = folder.path("twice.msgpack");
    fs::write(&twice, fs::read(&one).unwrap().repeat(2)).unwrap();
    let labels = |expected: &[(&str, u64)]| expected.iter().map(|(k, l)| ((*k).to_owned(), *l)).collect::<Vec<_>>();
    assert_eq!(run(["recover", &twice, &out]).code(), 3);
    assert_eq!(folder.labels(&out), labels(&[("x", 1), ("y", 2)]));
    assert_eq!(run(["recover", &twice, &out, "--force", "--rename-duplicates"]).code(), 3);
    assert_eq!(folder.labels(&out), labels(&[("x", 1), ("y", 2), ("x#2", 1), ("y#2", 2)]));
    // Other verbs do not resolve duplicates.
    let ran = run(["shuffle", &twice, &out, "--force"]);
    assert_eq!((ran.code(), ran.out()), (1, ""));
    let stdin = fs::File::open(&twice).unwrap();
    let ran = wharf(["sample", "-", &out, "--force", "-n", "4", "--sequential"]).stdin(stdin).output().unwrap();
    let expected = "error: datadings: <stdin>: another sample has the same key; `wharf recover` keeps the first one (row 2, key \"x\")\n";
    assert_eq!((ran.status.code(), std::str::from_utf8(&ran.stderr).unwrap()), (Some(1), expected));
}
