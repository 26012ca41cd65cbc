//! Hostile folders and archives: links, names, sizes.

use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::process::Command;

use crate::common::{Ran, wharf};
use crate::dataset_folder::TestFolder;
use datadings::Reader;

fn inside(place: &TestFolder, arguments: &[&str]) -> (i32, String) {
    let ran = Ran(wharf(arguments).current_dir(place.0.path()).output().unwrap());
    (ran.code(), ran.err().replace(place.0.path().canonicalize().unwrap().to_str().unwrap(), "HERE"))
}

/// Converts `in` and returns the keys.
#[track_caller]
fn keys(place: &TestFolder, options: &[&str], expected: (i32, &str)) -> Vec<String> {
    let (code, err) = inside(place, &[&["convert", "in", "x.msgpack", "--field", "x", "--force"], options].concat());
    assert_eq!((code, err.as_str()), expected);
    let reader = Reader::open(place.path("x.msgpack")).unwrap();
    reader.keys(0..reader.len()).unwrap().map(|key| key.unwrap().into_owned()).collect()
}

#[test]
fn imports_a_diamond_of_links_once() {
    let mut place = TestFolder::new();
    for level in 0..40 {
        place = place.with(&format!("in/{level:02}/file"), "x");
    }
    for level in 0..39 {
        for link in ["left", "right"] {
            symlink(format!("../{:02}", level + 1), place.path(&format!("in/{level:02}/{link}"))).unwrap();
        }
    }
    let warning = "warning: in/00/left: link to a folder that is imported already left out, the first of 78\n";
    let expected: Vec<_> = (0..40).map(|level| format!("{level:02}/file")).collect();
    assert_eq!(keys(&place, &[], (3, warning)), expected);
    assert_eq!(keys(&place, &["--exclude", "*/left", "--exclude", "*/right"], (0, "")), expected);
    // If the path of a folder itself does not match, the first link to it is used.
    let warning = "warning: in/00/left/right: link to a folder that is imported already left out, the first of 38\n";
    let mut found = keys(&place, &["--pattern", "00/left/**"], (3, warning));
    assert_eq!(found.len(), 39, "{found:?}");
    found.dedup_by_key(|key| key.matches('/').count());
    assert_eq!(found.len(), 39, "one path for each folder");
}

#[test]
fn terminates_on_link_cycles() {
    let place = TestFolder::new().with("in/a/1", "x").with("in/a/b/2", "x").with("in/c/3", "x").with("in/0", "x");
    for (target, link) in [(".", "in/a/here"), ("..", "in/a/up"), ("../..", "in/a/b/top"), ("../a", "in/a/b/back")] {
        symlink(target, place.path(link)).unwrap();
    }
    fs::remove_file(place.path("in/a/b/back")).unwrap();
    assert_eq!(keys(&place, &[], (0, "")), ["a/1", "a/b/2", "c/3"]);
    assert_eq!(keys(&place, &["--pattern", "**"], (0, "")), ["0", "a/1", "a/b/2", "c/3"]);
    // Two folders that link to each other.
    symlink("../c", place.path("in/a/c")).unwrap();
    symlink("../a", place.path("in/c/a")).unwrap();
    let warning = "warning: in/a/c: link to a folder that is imported already left out, the first of 2\n";
    assert_eq!(keys(&place, &[], (3, warning)), ["a/1", "a/b/2", "c/3"]);
    // A link to itself.
    symlink("self", place.path("in/c/self")).unwrap();
    let (code, err) = inside(&place, &["convert", "in", "y.msgpack"]);
    assert!(code == 1 && err.starts_with("error: in/c/self: "), "{err}");
}

#[test]
fn rejects_links_outside_the_folder() {
    let place = TestFolder::new().with("in/a/1", "x").with("out/b/2", "secret").with("in/.pool/3", "x");
    let run = |options: &[&str]| inside(&place, &[&["convert", "in", "y.msgpack"], options].concat());
    symlink("../../out/b", place.path("in/a/folder")).unwrap();
    let refused = |link: &str, target: &str| {
        (1, format!("error: in/{link}: the path leads out of the folder: HERE/{target}; --follow imports it anyway\n"))
    };
    assert_eq!(run(&[]), refused("a/folder", "out/b"));
    assert_eq!(keys(&place, &["--exclude", "a/folder"], (0, "")), ["a/1"]);
    assert_eq!(keys(&place, &["--follow"], (0, "")), ["a/1", "a/folder/2"]);
    // Only if the link is selected.
    assert_eq!(keys(&place, &["--pattern", "a/*"], (0, "")), ["a/1"]);
    symlink("../../out/b/2", place.path("in/a/file")).unwrap();
    assert_eq!(run(&["--pattern", "a/*"]), refused("a/file", "out/b/2"));
    assert_eq!(keys(&place, &["--pattern", "a/*", "--include", "a/1"], (0, "")), ["a/1"]);
    assert_eq!(keys(&place, &["--follow"], (0, "")), ["a/1", "a/file", "a/folder/2"]);
    fs::remove_file(place.path("in/a/folder")).unwrap();
    fs::remove_file(place.path("in/a/file")).unwrap();
    // Via another link, and to folders whose names have the input's name as a prefix.
    symlink("../out", place.path("in/.way")).unwrap();
    symlink("../.way/b", place.path("in/a/over")).unwrap();
    assert_eq!(run(&[]), refused("a/over", "out/b"));
    fs::remove_file(place.path("in/a/over")).unwrap();
    fs::create_dir(place.path("in-2")).unwrap();
    symlink("../../in-2", place.path("in/a/near")).unwrap();
    assert_eq!(run(&[]), refused("a/near", "in-2"));
    fs::remove_file(place.path("in/a/near")).unwrap();
    // Links inside the folder are accepted, even to excluded files; and the input may be a link.
    symlink("../.pool", place.path("in/a/pool")).unwrap();
    symlink("../.pool/3", place.path("in/a/3")).unwrap();
    assert_eq!(keys(&place, &[], (0, "")), ["a/1", "a/3", "a/pool/3"]);
    symlink("in", place.path("to")).unwrap();
    assert_eq!(inside(&place, &["convert", "to", "z.msgpack"]), (0, String::new()));
    // Lists.
    for (path, target) in [("../out/b/2", "out/b/2"), ("a/../../out/b/2", "out/b/2"), (".way/b/2", "out/b/2")] {
        fs::write(place.path("list"), path).unwrap();
        assert_eq!(run(&["--list", "list"]), refused(path, target));
        assert_eq!(keys(&place, &["--list", "list", "--follow"], (0, "")), [path]);
    }
    fs::write(place.path("list"), place.path("out/b/2")).unwrap();
    assert_eq!(run(&["--list", "list"]).0, 1);
    fs::write(place.path("list"), place.path("in/a/1")).unwrap();
    assert_eq!(keys(&place, &["--list", "list"], (0, "")), [place.path("in/a/1")]);
}

#[test]
fn rejects_broken_links() {
    let place = TestFolder::new().with("in/a/1", "x").with("in/2", "x");
    symlink("nowhere", place.path("in/a/link")).unwrap();
    let run = |options: &[&str]| inside(&place, &[&["convert", "in", "y.msgpack", "--force"], options].concat());
    let error = |link: &str| (1, format!("error: in/{link}: broken link: nowhere does not exist\n"));
    assert_eq!(run(&[]), error("a/link"));
    assert_eq!(run(&["--exclude", "a/link"]), (0, String::new()));
    assert_eq!(run(&["--include", "a/1"]), (0, String::new()));
    fs::rename(place.path("in/a/link"), place.path("in/b")).unwrap();
    assert_eq!(run(&[]), error("b"), "it could be a folder of a label");
    assert_eq!(run(&["--pattern", "a/*"]), (0, String::new()));
}

/// An archive of stored files and links.
fn archive(members: &[(&str, &str, bool)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut archive = rawzip::ZipArchiveWriter::new(&mut bytes);
    for (name, content, is_link) in members {
        let mode = if *is_link { 0o120_777 } else { 0o100_644 };
        let (mut entry, config) = archive.new_file(name).unix_permissions(mode).start().unwrap();
        let mut writer = config.wrap(&mut entry);
        writer.write_all(content.as_bytes()).unwrap();
        let (_, descriptor) = writer.finish().unwrap();
        entry.finish(descriptor).unwrap();
    }
    archive.finish().unwrap();
    bytes
}

#[test]
fn rejects_archive_links_outside_the_archive() {
    let place = TestFolder::new();
    let run = |links: &[(&str, &str)], options: &[&str]| {
        let mut members = vec![("a/1", "one", false), ("a/b/2", "two", false), (".x/3", "three", false)];
        members.extend(links.iter().map(|(name, target)| (*name, *target, true)));
        fs::write(place.path("x.zip"), archive(&members)).unwrap();
        let arguments =
            [&["convert", "x.zip", "x.msgpack", "--force", "--field", "f", "--text-labels"], options].concat();
        inside(&place, &arguments)
    };
    let contents = || {
        let line = |line: &String| line.split('"').nth(3).unwrap().to_owned() + "=" + line.split('"').nth(9).unwrap();
        place.lines("x.msgpack").iter().map(line).collect::<Vec<_>>()
    };
    let links = [("a/one", "1"), ("c/two", "../a/b/2"), ("c/again", "../a/../c/two"), ("c/three", "./../.x//3")];
    assert_eq!(run(&links, &[]), (0, String::new()));
    assert_eq!(contents(), ["a/1=b25l", "a/b/2=dHdv", "a/one=b25l", "c/two=dHdv", "c/again=dHdv", "c/three=dGhyZWU="]);
    // Via a link to a folder.
    let warning = "warning: d: link to a folder in the archive left out (once)\n";
    assert_eq!(run(&[("d", "a/b"), ("c/x", "../d/2")], &[]), (3, warning.replace(" (once)", "")));
    assert_eq!(contents(), ["a/1=b25l", "a/b/2=dHdv", "c/x=dHdv"]);
    assert_eq!(run(&[("d", "a/b")], &["--exclude", "d"]), (0, String::new()));
    for (links, error) in [
        (&[("a/out", "../../etc/passwd")][..], "a/out\"): the link leads out of the archive: ../../etc/passwd"),
        (&[("a/out", "/etc/passwd")], "the link leads out of the archive: /etc/passwd"),
        (&[("a/out", "../c/up/x"), ("c/up", "../..")], "the link leads out of the archive: ../.."),
        (&[("a/none", "../a/none-such")], "broken link: ../a/none-such is not in the archive"),
        (&[("a/none", "1/2")], "broken link: 1/2 is not in the archive"),
        (&[("a/l", "m"), ("a/m", "l")], "the number of links to follow 41 exceeds the limit 40"),
        (&[("a/long", &"x/".repeat(2049))], "the entry's size 4098 exceeds the limit 4096"),
    ] {
        let (code, err) = run(links, &[]);
        let name = links[0].0;
        assert!(code == 1 && err.starts_with("error: zip: x.zip: "), "{err}");
        assert!(
            err.contains(error.trim_start_matches(&format!("{name}\"): "))) && err.contains(&format!("{name}\"")),
            "{err}"
        );
        assert_eq!(run(&[links[0]], &["--exclude", "a/*"]).0, 2, "nothing is left, and nothing is wrong");
    }
    // Names that lead out of the archive.
    for (name, bad) in [("xx/xx/xx", "xx/../xx"), ("xx/xx", "../xx"), ("xx/xx", "/x/xx"), ("xx/xx", "..\\xx")] {
        let bytes = archive(&[("a/1", "one", false), (name, "", false)]);
        let mut hostile = bytes.clone();
        for at in 0..bytes.len() - name.len() {
            if bytes[at..].starts_with(name.as_bytes()) {
                hostile[at..at + name.len()].copy_from_slice(bad.as_bytes());
            }
        }
        fs::write(place.path("x.zip"), hostile).unwrap();
        let (code, err) = inside(&place, &["convert", "x.zip", "y.msgpack"]);
        let key = format!("{bad:?}");
        let expected = format!("error: zip: x.zip: the name of an entry leads out of the archive (key {key})\n");
        assert_eq!((code, err), (1, expected));
    }
}

/// An archive with one large deflated file of zeros, and the size it declares.
fn zeros(name: &str, len: u64, declared: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut archive = rawzip::ZipArchiveWriter::new(&mut bytes);
    let (mut entry, config) =
        archive.new_file(name).compression_method(rawzip::CompressionMethod::DEFLATE).start().unwrap();
    let encoder = flate2::write::DeflateEncoder::new(&mut entry, flate2::Compression::fast());
    let mut writer = config.wrap(encoder);
    std::io::copy(&mut std::io::Read::take(std::io::repeat(0), len), &mut writer).unwrap();
    let (encoder, descriptor) = writer.finish().unwrap();
    encoder.finish().unwrap();
    entry.finish(descriptor).unwrap();
    archive.finish().unwrap();
    let directory = (0..bytes.len()).rfind(|&at| bytes[at..].starts_with(b"PK\x01\x02")).unwrap();
    bytes[directory + 24..directory + 28].copy_from_slice(&u32::try_from(declared).unwrap().to_le_bytes());
    bytes
}

#[test]
fn imports_large_files_in_bounded_memory() {
    const LEN: u64 = 160 << 20;
    let place = TestFolder::new();
    let run = |input: &str, limit: u32| {
        let script = format!("ulimit -d {limit}; exec \"$0\" \"$@\"");
        let binary = env!("CARGO_BIN_EXE_wharf");
        let arguments = ["convert", input, "x.msgpack", "--force", "--no-md5", "--field", "f"];
        let mut command = Command::new("sh");
        command.args(["-c", &script, binary]).args(arguments).current_dir(place.0.path());
        let ran = Ran(command.output().unwrap());
        (ran.code(), ran.err().to_owned())
    };
    fs::write(place.path("x.zip"), zeros("a/zeros", LEN, LEN)).unwrap();
    fs::create_dir_all(place.path("in/a")).unwrap();
    fs::File::create(place.path("in/a/zeros")).unwrap().set_len(LEN).unwrap();
    for input in ["x.zip", "in"] {
        assert_eq!(run(input, 150_000), (0, String::new()), "{input}");
        let reader = Reader::open(place.path("x.msgpack")).unwrap();
        let sample = reader.get(0).unwrap();
        let content = sample.get("f").unwrap().unwrap();
        assert_eq!(content.bin().unwrap().len() as u64, LEN);
        assert!(sample.as_bytes().ends_with(b"\xa5label\x00"));
    }
    // A decompression bomb that declares a smaller or larger size.
    let before = fs::read(place.path("x.msgpack.md5")).is_ok();
    for (declared, error) in [
        (1000, "the entry has more than 1000 bytes, the directory declares 1000".to_owned()),
        (LEN - 1, format!("the entry has more than {} bytes, the directory declares {0}", LEN - 1)),
        (LEN + 1, format!("the entry has {LEN} bytes, the directory declares {}", LEN + 1)),
        ((1 << 30) + 1, "the entry's size 1073741825 exceeds the limit 1073741824".to_owned()),
    ] {
        fs::write(place.path("x.zip"), zeros("a/zeros", LEN, declared)).unwrap();
        let (code, err) = run("x.zip", 150_000);
        assert!(code == 1 && err.starts_with("error: zip: x.zip: "), "{err}");
        assert!(err.contains(&error) && err.contains("key \"a/zeros\""), "{err}");
        assert_eq!(
            place.files(),
            [
                "in",
                "x.msgpack",
                "x.msgpack.filter",
                "x.msgpack.key_hashes",
                "x.msgpack.keys",
                "x.msgpack.offsets",
                "x.zip"
            ]
        );
    }
    assert!(!before);
}
