//! `wharf convert` from folders, lists and ZIP archives to datadings, compared with Python.

use std::fs;
use std::io::Write;

use datadings::Reader;
use serde_json::{Value, json};

use crate::common::{Ran, wharf};
use crate::dataset_folder::{TestFolder, golden_folder};

/// The golden tree in `photos`, next to the files of the golden folder.
fn tree() -> TestFolder {
    let mut place = TestFolder::new();
    let golden = golden_folder("datadings-files");
    let mut files = 0;
    for line in fs::read_to_string(golden.join("tree.jsonl")).unwrap().lines() {
        let file: Value = serde_json::from_str(line).unwrap();
        let name = format!("photos/{}", file["path"].as_str().unwrap());
        place = place.with(&name, file["text"].as_str().unwrap());
        files += 1;
    }
    assert_eq!(files, 46);
    for name in ["tree.zip", "list.txt", "order.txt"] {
        fs::copy(golden.join(name), place.path(name)).unwrap();
    }
    place
}

impl TestFolder {
    /// Runs the command in the folder itself: paths become part of the samples.
    fn inside(&self, arguments: &[&str]) -> Ran {
        Ran(wharf(arguments).current_dir(self.0.path()).output().unwrap())
    }

    #[track_caller]
    fn failed(&self, arguments: &[&str], code: i32) -> String {
        let ran = self.inside(arguments);
        assert_eq!((ran.code(), ran.out()), (code, ""), "{}", ran.err());
        ran.err().strip_suffix('\n').unwrap().to_owned()
    }

    /// The checksums of all files that Python wrote.
    #[track_caller]
    fn is_golden(&self, name: &str) {
        let golden = fs::read_to_string(golden_folder("datadings-files").join(format!("{name}.md5"))).unwrap();
        self.check_sums(&format!("{name}.msgpack"));
        assert_eq!(String::from_utf8(self.read(&format!("{name}.msgpack.md5"))).unwrap(), golden, "{name}");
    }
}

#[test]
fn folders_match_python() {
    let place = tree();
    let ran = place.inside(&["convert", "photos/", "folder.msgpack", "--json"]);
    let labels = json!(["Zoo", "cat", "dog9", "dog10", "été", "fox"]);
    assert_eq!((ran.lines()[0]["rows"].as_u64(), &ran.lines()[0]["labels"]), (Some(43), &labels));
    place.is_golden("folder");
    for threads in ["1", "2"] {
        place.inside(&["convert", "photos", "folder.msgpack", "--force", "--threads", threads]).ok();
        place.is_golden("folder");
    }
    let options = ["--pattern", "{LABEL}/*.jpg", "--text-labels", "--exclude", "*/dog*"];
    place.inside(&[&["convert", "photos", "folder-text.msgpack"], &options[..]].concat()).ok();
    place.is_golden("folder-text");
    let options = [
        "--pattern",
        "{LABEL}/sub/**",
        "--label-names",
        "order.txt",
        "--include",
        "*.jpg",
        "--include",
        "photos/cat/*",
    ];
    place.inside(&[&["convert", "photos", "folder-order.msgpack"], &options[..]].concat()).ok();
    place.is_golden("folder-order");
    place.inside(&["convert", "photos", "list.msgpack", "--list", "list.txt"]).ok();
    place.is_golden("list");
}

#[test]
fn archives_match_python() {
    let place = tree();
    place.inside(&["convert", "tree.zip", "archive.msgpack"]).ok();
    place.is_golden("archive");
    place
        .inside(&["convert", "tree.zip", "archive.msgpack", "--force", "--access", "positional", "--threads", "1"])
        .ok();
    place.is_golden("archive");
    place.inside(&["convert", "tree.zip", "archive-list.msgpack", "--list", "list.txt"]).ok();
    place.is_golden("archive-list");
}

#[test]
fn field_option_gives_image_label_and_key() {
    let place = TestFolder::new().with("photos/b/2", "two").with("photos/a/10", "ten").with("photos/a/9", "nine");
    place.inside(&["convert", "photos", "x.msgpack", "--field", "image"]).ok();
    assert_eq!(
        place.lines("x.msgpack"),
        [
            r#"{"key":"a/10","image":{"$bytes":"dGVu"},"label":0}"#,
            r#"{"key":"a/9","image":{"$bytes":"bmluZQ=="},"label":0}"#,
            r#"{"key":"b/2","image":{"$bytes":"dHdv"},"label":1}"#,
        ]
    );
    place.inside(&["convert", "photos", "t.msgpack", "--field", "image", "--text-labels", "--rows", "2.."]).ok();
    assert_eq!(place.lines("t.msgpack"), [r#"{"key":"b/2","image":{"$bytes":"dHdv"},"label":"b"}"#]);
    // Without labels there is no label field.
    place.inside(&["convert", "photos", "n.msgpack", "--pattern", "a/**"]).ok();
    assert_eq!(
        place.lines("n.msgpack")[0],
        r#"{"key":"a/10","path":"photos/a/10","_additional_info":[],"data":{"$bytes":"dGVu"}}"#
    );
    let error = place.failed(&["convert", "photos", "y.msgpack", "--field", "label"], 2);
    assert_eq!(error, "error: --field \"label\" is the name of another field of the samples");
}

#[test]
fn labels_from_nested_folders() {
    let place = TestFolder::new().with("in/train/a/1", "x").with("in/test/a/1", "y").with("in/test/b/1", "z");
    let keys = |name: &str| {
        let reader = Reader::open(place.path(name)).unwrap();
        reader.keys(0..reader.len()).unwrap().map(|key| key.unwrap().into_owned()).collect::<Vec<_>>()
    };
    place.inside(&["convert", "in", "a.msgpack", "--pattern", "test/{LABEL}/**"]).ok();
    assert_eq!(keys("a.msgpack"), ["a/1", "b/1"]);
    place.inside(&["convert", "in", "b.msgpack", "--pattern", "*/{LABEL}/**"]).ok();
    assert_eq!(keys("b.msgpack"), ["test/a/1", "test/b/1", "train/a/1"]);
    let patterns = ["--pattern", "test/{LABEL}/*", "--pattern", "train/{LABEL}/*"];
    let error = place.failed(&[&["convert", "in", "c.msgpack"], &patterns[..]].concat(), 1);
    assert_eq!(error, "error: in/train/a/1: duplicate key, also of in/test/a/1 (key \"a/1\")");
    place
        .inside(&[
            "convert",
            "in/test",
            "in/train",
            "d.msgpack",
            "--pattern",
            "b/*",
            "--pattern",
            "a/*",
            "--exclude",
            "in/train/*",
        ])
        .ok();
    assert_eq!(keys("d.msgpack"), ["b/1", "a/1"]);
    let error = place.failed(&["convert", "in/test", "in/train", "e.msgpack"], 1);
    assert_eq!(error, "error: in/train/a/1: duplicate key, also of in/test/a/1 (key \"a/1\")");
    let order = ["--pattern", "test/{LABEL}/*", "--label-names", "names.txt"];
    fs::write(place.path("names.txt"), "b\n").unwrap();
    let error = place.failed(&[&["convert", "in", "e.msgpack"], &order[..]].concat(), 1);
    assert_eq!(error, "error: in/test/a/1: the label \"a\" is not among the 1 in names.txt");
    fs::write(place.path("names.txt"), "b\na\nb\n").unwrap();
    let error = place.failed(&[&["convert", "in", "e.msgpack"], &order[..]].concat(), 1);
    assert_eq!(error, "error: names.txt: duplicate label \"b\" (line 3)");
    assert!(place.files().iter().all(|name| !name.starts_with("e.")));
}

#[test]
fn reports_errors_in_list_files_with_lines() {
    let place = tree();
    for (list, said) in [
        ("cat/1.jpg\ta\ncat/2.jpg\n", "list: the line has no label, unlike the lines before (line 2)"),
        ("cat/1.jpg\n\ncat/2.jpg\tx\n", "list: the line has a label, unlike the lines before (line 3)"),
        ("\tx\n", "list: missing path (line 1)"),
        ("cat/1.jpg\ncat/1.jpg\n", "photos/cat/1.jpg: duplicate key, also of photos/cat/1.jpg (key \"cat/1.jpg\")"),
    ] {
        fs::write(place.path("list"), list).unwrap();
        assert_eq!(place.failed(&["convert", "photos", "x.msgpack", "--list", "list"], 1), format!("error: {said}"));
    }
    fs::write(place.path("list"), "cat/1.jpg;a\r\ncat/none.jpg;b\r\n").unwrap();
    let error = place.failed(&["convert", "photos", "x.msgpack", "--list", "list", "--separator", ";"], 1);
    assert!(error.starts_with("error: photos/cat/none.jpg: cannot read the file: "), "{error}");
    let error = place.failed(&["convert", "tree.zip", "x.msgpack", "--list", "list", "--separator", ";"], 1);
    assert_eq!(error, "error: list: the archive has no file \"cat/none.jpg\" (line 2)");
    let separated = ["--list", "list", "--separator", ";", "--exclude", "*none*", "--field", "f", "--text-labels"];
    place.inside(&[&["convert", "photos", "y.msgpack"], &separated[..]].concat()).ok();
    assert_eq!(place.lines("y.msgpack"), [r#"{"key":"cat/1.jpg","f":{"$bytes":"b25lY2F0"},"label":"a"}"#]);
    let error = place.failed(&["convert", "photos", "x.msgpack", "--list", "gone"], 1);
    assert!(error.starts_with("error: gone: cannot read: "), "{error}");
}

#[test]
fn rejects_patterns_without_matches() {
    let place = tree();
    for input in ["photos", "tree.zip"] {
        let error = place.failed(&["convert", input, "x.msgpack", "--pattern", "*.png"], 2);
        let detail = "there is no file that matches; --pattern, --list, --include and --exclude say which do";
        assert_eq!(error, format!("error: {input}: {detail}"));
    }
    let error = place.failed(&["convert", "photos", "x.msgpack", "--pattern", "../*"], 2);
    assert_eq!(error, "error: the pattern \"../*\" leaves the input");
    let error = place.failed(&["convert", "photos", "x.jsonl", "--pattern", "*"], 2);
    assert_eq!(error, "error: --pattern is an option of datadings, the output is jsonl");
    let error = place.failed(&["convert", "photos", "x.msgpack", "--columns", "key"], 2);
    assert_eq!(error, "error: --columns does not go with inputs that are a folder");
}

#[test]
fn excludes_the_output_from_the_input_folder() {
    let place = TestFolder::new().with("in/a/1", "x").with("in/a/out.msgpack", "precious");
    let error = place.failed(&["convert", "in", "in/a/out.msgpack", "--force"], 2);
    assert_eq!(error, "error: in/a/out.msgpack: the output is the input in/a/out.msgpack");
    assert_eq!(place.read("in/a/out.msgpack"), b"precious");
    // A new output is not part of its own input.
    place.inside(&["convert", "in", "in/a/new.msgpack", "--field", "x"]).ok();
    assert_eq!(Reader::open(place.path("in/a/new.msgpack")).unwrap().len(), 2);
}

#[cfg(unix)]
#[test]
fn imports_links_and_skips_special_files() {
    use std::os::unix::fs::symlink;
    let place = TestFolder::new().with("in/a/1", "x");
    symlink("1", place.path("in/a/file")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(place.path("in/a/socket")).unwrap();
    let ran = place.inside(&["convert", "in", "x.msgpack", "--field", "x", "--text-labels"]);
    assert_eq!((ran.code(), ran.err()), (3, "warning: in/a/socket: neither a file nor a folder: left out\n"));
    let keys: Vec<_> = place.lines("x.msgpack").iter().map(|line| line.split('"').nth(3).unwrap().to_owned()).collect();
    assert_eq!(keys, ["a/1", "a/file"]);
}

#[cfg(target_os = "linux")]
#[test]
fn reports_names_that_are_not_utf8() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let place = TestFolder::new().with("in/a/1", "x");
    fs::write(place.0.path().join("in/a").join(OsStr::from_bytes(b"\xff.jpg")), "y").unwrap();
    let error = place.failed(&["convert", "in", "x.msgpack"], 1);
    assert_eq!(error, "error: in/a/\u{fffd}.jpg: the file name is not valid UTF-8, as keys must be");
    place.inside(&["convert", "in", "x.msgpack", "--pattern", "{LABEL}/1"]).ok();
}

/// An archive of a stored and a deflated file.
fn archive() -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut archive = rawzip::ZipArchiveWriter::new(&mut bytes);
    for (name, content, method) in [
        ("a/stored", b"stored content".to_vec(), rawzip::CompressionMethod::STORE),
        ("b/deflated", b"deflated content ".repeat(100), rawzip::CompressionMethod::DEFLATE),
    ] {
        let (mut entry, config) = archive.new_file(name).compression_method(method).start().unwrap();
        if method == rawzip::CompressionMethod::STORE {
            let mut writer = config.wrap(&mut entry);
            writer.write_all(&content).unwrap();
            let (_, descriptor) = writer.finish().unwrap();
            entry.finish(descriptor).unwrap();
        } else {
            let encoder = flate2::write::DeflateEncoder::new(&mut entry, flate2::Compression::default());
            let mut writer = config.wrap(encoder);
            writer.write_all(&content).unwrap();
            let (encoder, descriptor) = writer.finish().unwrap();
            encoder.finish().unwrap();
            entry.finish(descriptor).unwrap();
        }
    }
    archive.finish().unwrap();
    bytes
}

/// The offset of the nth entry of the central directory.
fn directory_entry(bytes: &[u8], nth: usize) -> usize {
    (0..bytes.len()).filter(|&at| bytes[at..].starts_with(b"PK\x01\x02")).nth(nth).unwrap()
}

#[test]
fn refuses_hostile_archives() {
    let good = archive();
    let place = TestFolder::new();
    let run = |bytes: &[u8]| {
        fs::write(place.path("x.zip"), bytes).unwrap();
        let ran = place.inside(&["convert", "x.zip", "x.msgpack", "--force"]);
        (ran.code(), ran.err().to_owned())
    };
    assert_eq!(run(&good), (0, String::new()));
    let (stored, deflated) = (directory_entry(&good, 0), directory_entry(&good, 1));
    let with = |at: usize, value: &[u8]| {
        let mut bytes = good.clone();
        bytes[at..at + value.len()].copy_from_slice(value);
        bytes
    };
    for (bytes, said) in [
        (with(stored + 8, &[1]), "the entry is encrypted"),
        (with(deflated + 10, &[93]), "the entry's compression is "),
        (with(stored + 16, &[0, 0, 0, 0]), "the content's CRC-32 is "),
        // Size: one less, one more, 2 GiB.
        (
            with(deflated + 24, &1699_u32.to_le_bytes()),
            "the entry has more than 1699 bytes, the directory declares 1699",
        ),
        (with(deflated + 24, &1701_u32.to_le_bytes()), "the entry has 1700 bytes, the directory declares 1701"),
        (
            with(deflated + 24, &0x8000_0000_u32.to_le_bytes()),
            "the entry's size 2147483648 exceeds the limit 1073741824",
        ),
        (with(stored + 24, &13_u32.to_le_bytes()), "the entry has more than 13 bytes, the directory declares 13"),
        // Header offset: that of the other file.
        (with(deflated + 42, &0_u32.to_le_bytes()), "two entries of the archive share bytes"),
        (good[..good.len() - 1].to_vec(), "the archive's end record extends beyond the file"),
        (b"PK\x03\x04 and nothing else".to_vec(), "not a ZIP archive, or truncated: missing end record"),
    ] {
        let (code, error) = run(&bytes);
        assert_eq!(code, 1, "{said}: {error}");
        assert!(error.starts_with("error: zip: x.zip: ") && error.contains(said), "{said}: {error}");
    }
    // Flipping any byte gives an error or a dataset, never a panic.
    for at in 0..good.len() {
        let mut bytes = good.clone();
        bytes[at] ^= 0x41;
        let (code, error) = run(&bytes);
        assert!(code <= 2, "byte {at}: {error}");
    }
}

#[test]
fn refuses_duplicate_names() {
    let mut bytes = Vec::new();
    let mut archive = rawzip::ZipArchiveWriter::new(&mut bytes);
    for content in [b"one", b"two"] {
        let (mut entry, config) = archive.new_file("a/1").start().unwrap();
        let mut writer = config.wrap(&mut entry);
        writer.write_all(content).unwrap();
        let (_, descriptor) = writer.finish().unwrap();
        entry.finish(descriptor).unwrap();
    }
    archive.finish().unwrap();
    let place = TestFolder::new();
    fs::write(place.path("x.zip"), bytes).unwrap();
    let error = place.failed(&["convert", "x.zip", "x.msgpack"], 1);
    assert_eq!(error, "error: x.zip: duplicate key, also of a/1 (key \"a/1\")");
}
