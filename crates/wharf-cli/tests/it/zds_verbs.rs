//! The writing verbs on ZDS stores.

use std::fs;
use std::io::Write;
use std::process::Stdio;

use crate::common::{Ran, run, wharf};
use crate::stores::{Folder, golden, goldens};

fn piped(arguments: &[&str], input: &str) -> Ran {
    let mut command = wharf(arguments);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    Ran(child.wait_with_output().unwrap())
}

fn cat(path: &str) -> String {
    run(["cat", path, "--json"]).ok().to_owned()
}

#[test]
fn puts_and_removes_documents() {
    let folder = Folder::new();
    let store = folder.path("s");
    let said = |ran: &Ran| (ran.code(), format!("{}{}", ran.out(), ran.err()).replace(&folder.path(""), "@"));
    assert!([1, 2].contains(&piped(&["put", &store, "--table", "t"], "{\"_id\":\"a\"}").code()));
    assert!(!folder.files().contains(&"s".to_owned()), "nothing is made without --create");
    let ran =
        piped(&["put", &store, "--table", "t", "--create"], "{\"_id\":\"a\",\"n\": 1}\n{\"n\":2}\n{\"_id\":\"c\"}\n");
    assert_eq!(said(&ran), (0, "@s: 3 documents put; 1 without _id numbered\n".to_owned()));
    assert_eq!(cat(&store), "{\"_id\":\"a\",\"n\": 1}\n{\"_id\":\"0000000001\",\"n\":2}\n{\"_id\":\"c\"}\n");
    // One document that spans several lines, with the id from --key.
    fs::write(folder.path("one.json"), "{\n  \"k\": {\"n\": 7},\n  \"x\": [1]\n}\n").unwrap();
    assert_eq!(run(["put", &store, &folder.path("one.json"), "--id", "k.n"]).code(), 0);
    assert_eq!(
        run(["put", &store, &folder.path("one.json"), "--key", "c"]).ok().replace(&folder.path(""), "@"),
        "@s: 1 document put, 1 replaced\n"
    );
    assert_eq!(run(["get", &store, "7"]).ok(), "{\"_id\":\"7\",\"k\":{\"n\":7},\"x\":[1]}\n");
    assert_eq!(run(["get", &store, "c"]).ok(), "{\"_id\":\"c\",\"k\":{\"n\":7},\"x\":[1]}\n");
    // All or nothing.
    let before = cat(&store);
    for (text, expected) in [
        ("{\"_id\":\"z\"}\n{\"_id\":\"a b\"}\n", "(line 2, key \"a b\")"),
        ("{\"_id\":\"z\"}\n{\"_id\":\"y\",}\n", "line 2"),
        ("{\"_id\":\"z\"}\n{\"_id\":\"z\"}\n", "duplicate id (line 2, key \"z\")"),
        ("", "no documents"),
    ] {
        let ran = piped(&["put", &store], text);
        assert!(ran.code() == 1 && ran.err().contains(expected), "{ran:?}");
        assert_eq!(cat(&store), before);
    }
    let ran = piped(&["put", &store, "--new"], "{\"_id\":\"a\"}");
    assert!(ran.code() == 2 && ran.err().contains("already exists"), "{ran:?}");

    let ran = run(["rm", &store, "a", "none"]);
    assert_eq!((ran.code(), cat(&store) == before), (2, true), "{ran:?}");
    assert_eq!(
        said(&run(["rm", &store, "a", "none", "--ignore-missing"])),
        (0, "@s: table t: 1 document deleted, 3 documents left\n".to_owned())
    );
    assert_eq!(run(["get", &store, "a"]).code(), 2);
    assert_eq!(run(["verify", &store]).code(), 0);
    let ran = run(["rm", &store, "a", "-o", &folder.path("o")]);
    assert!(ran.code() == 2 && ran.err().contains("--output is for ds files"), "{ran:?}");

    // Deleted documents are gone for good only after `compact`.
    let ran = run(["index", &store]);
    assert!(ran.ok().contains("would restore 1 deleted document"), "{ran:?}");
    let after = cat(&store);
    let ran = run(["compact", &store, "--json"]).lines().remove(0);
    assert!(ran["bytes"].as_u64().unwrap() < ran["bytes_before"].as_u64().unwrap(), "{ran}");
    assert_eq!(cat(&store), after);
    assert_eq!(run(["info", "--json", &store]).lines()[0]["dead_bytes"], 0);
    assert_eq!(run(["verify", &store]).ok().lines().count(), 1);
}

#[test]
fn rebuilds_the_index() {
    let folder = Folder::new();
    let store = format!("{}/collections/middle", folder.copy("deleted"));
    let before = cat(&store);
    let index = format!("{store}/meta/index.bin");
    let count = before.lines().count();
    let ran = run(["index", &store]);
    assert!(ran.ok().contains("the index is valid"), "{ran:?}");
    let ran = run(["index", &store, "--force", "--json"]);
    let done = ran.lines().remove(0);
    assert_eq!(ran.code(), 0);
    let back = done["brought_back"].as_u64().unwrap();
    assert!(back > 0 && cat(&store).lines().count() as u64 == count as u64 + back, "{done}");
    for damage in [None, Some(&b"ISDZ"[..]), Some(b"")] {
        match damage {
            None => fs::remove_file(&index).unwrap(),
            Some(bytes) => fs::write(&index, bytes).unwrap(),
        }
        let ran = run(["index", &store]);
        assert_eq!(ran.code(), 0, "{ran:?}");
        assert_eq!(run(["info", "--json", &store]).lines()[0]["index"], "valid");
        assert_eq!(run(["verify", &store]).code(), 0);
    }
}

#[test]
fn archives_are_not_changed() {
    let folder = Folder::new();
    let archive = folder.path("a.zds");
    run(["convert", &folder.copy("deleted"), &archive, "--table", "middle"]).ok();
    let before = fs::read(&archive).unwrap();
    let expected = "a.zds: index changes a store in place: expected the folder of a store, found a file";
    for arguments in [&["index", &archive][..], &["index", &archive, "--table", "middle", "--force"]] {
        let ran = run(arguments);
        assert!(ran.code() == 2 && ran.err().contains(expected), "{ran:?}");
    }
    assert!(fs::read(&archive).unwrap() == before);
}

/// Puts two files of records without ids in succession.
#[test]
fn documents_without_ids_never_replace_others() {
    let folder = Folder::new();
    let store = folder.path("s");
    let put = |text: &str| piped(&["put", &store, "--table", "t", "--create"], text);
    put("{\"n\":1}\n{\"n\":2}\n");
    let ran = put("{\"n\":3}\n{\"n\":4}\n");
    assert!(!ran.out().contains("replaced"), "{ran:?}");
    assert_eq!(cat(&store), [0, 1, 2, 3].map(|number| line(number, number + 1)).concat());
    // The next number is already taken, and one document was deleted.
    run(["rm", &store, "0000000001"]);
    put("{\"_id\":\"0000000004\",\"n\":5}\n");
    put("{\"n\":6}\n{\"_id\":\"x\"}\n{\"n\":8}\n");
    assert_eq!(cat(&store).lines().count(), 7);
    assert!(cat(&store).ends_with(&format!("{}{{\"_id\":\"x\"}}\n{}", line(5, 6), line(7, 8))), "{}", cat(&store));
}

fn line(id: u64, n: u64) -> String {
    format!("{{\"_id\":\"{id:010}\",\"n\":{n}}}\n")
}

/// The data end inside the last line of a valid index.
#[test]
fn rebuilds_an_index_longer_than_the_data() {
    let folder = Folder::new();
    let store = folder.path("s");
    piped(&["put", &store, "--table", "t", "--create"], "{\"_id\":\"a\"}\n{\"_id\":\"b\"}\n{\"_id\":\"c\",\"n\":1}\n");
    let data = format!("{store}/collections/t/meta/data.jsonl");
    let whole = fs::read_to_string(&data).unwrap();
    for (cut, rows) in [(5, 2), (whole.len() - "{\"_id\":\"a\"}\n".len(), 1)] {
        fs::write(&data, &whole[..whole.len() - cut]).unwrap();
        assert_eq!(run(["verify", &store]).code(), 1);
        let ran = run(["index", &store]);
        let said = ran.err().replace(&store, "@");
        let expected =
            format!("the index listed lines up to byte 42, after the end of the data: 3 documents before, {rows} now");
        assert!(ran.code() == 3 && said.contains(&expected), "{ran:?}");
        assert!(ran.out().contains("index rebuilt"), "{ran:?}");
        run(["verify", &store]).ok();
        assert_eq!(cat(&store).lines().count(), rows);
        assert!(run(["index", &store]).ok().contains("the index is valid"));
        run(["rm", &store, "a"]);
        fs::remove_dir_all(&store).unwrap();
        piped(&["put", &store, "--table", "t", "--create"], &whole);
    }
}

/// JSON lines must be objects that every reader accepts.
#[test]
fn reports_documents_that_are_not_objects_and_refuses_deep_ones() {
    let folder = Folder::new();
    let out = folder.path("out.jsonl");
    let deep = |depth: usize| format!("{{\"_id\":\"a\",\"x\":{}{}}}", "[".repeat(depth - 1), "]".repeat(depth - 1));
    for (name, document, code, expected) in [
        ("list", "[1]".to_owned(), 3, "row written as a line that is not an object (row 0)"),
        ("deep", deep(129), 1, "the nesting of values 129 exceeds the limit 128"),
        ("most", deep(128), 0, ""),
    ] {
        let docs = folder.path(&format!("{name}/collections/t/docs"));
        fs::create_dir_all(&docs).unwrap();
        fs::write(format!("{docs}/a.json"), &document).unwrap();
        let ran = run(["convert", &folder.path(name), &out, "--force"]);
        assert!(ran.code() == code && ran.err().contains(expected), "{name}: {ran:?}");
        if code == 0 {
            run(["verify", &out]).ok();
        }
    }
}

#[test]
fn recovers_intact_documents() {
    let folder = Folder::new();
    let lines = "{\"_id\":\"a\"}\nbroken\n{\"_id\":\"b\"}\n{\"_id\":\"c\",\"n\":";
    let data = folder.store("s", "c", lines);
    let (store, whole) = (folder.path("s"), folder.path("whole"));
    let ran = run(["recover", &store, &whole]);
    assert_eq!(ran.code(), 3, "{ran:?}");
    assert!(ran.err().contains("line skipped") && ran.err().contains("the last line is torn"), "{ran:?}");
    assert_eq!(cat(&whole), "{\"_id\":\"a\"}\n{\"_id\":\"b\"}\n");
    assert_eq!(run(["verify", &whole]).ok().lines().count(), 1);
    assert_eq!(fs::read_to_string(&data).unwrap(), lines, "the damaged one is as it was");
    assert_eq!(run(["recover", &store, &whole]).code(), 2, "the output exists");
    assert_eq!(run(["recover", &store, &store, "--force"]).code(), 2, "the output is the input");
    let ran = run(["recover", &store, "--in-place"]);
    assert_eq!(ran.code(), 3, "{ran:?}");
    assert_eq!(fs::read_to_string(&data).unwrap(), "{\"_id\":\"a\"}\nbroken\n{\"_id\":\"b\"}\n");
    assert_eq!(cat(&store), cat(&whole));
    assert_eq!(run(["recover", &store, "--in-place"]).code(), 0);
    // Data shorter than the index states.
    let short = folder.copy("iris");
    let test = format!("{short}/collections/test/meta/data.jsonl");
    let bytes = fs::read(&test).unwrap();
    fs::write(&test, &bytes[..bytes.len() / 2]).unwrap();
    let ran = run(["rm", &short, "iris-000", "--table", "test"]);
    assert!(ran.code() == 1 && ran.err().contains("iris/collections/test/meta/data.jsonl: "), "{ran:?}");
    let ran = run(["recover", &short, "--in-place"]);
    assert!(ran.code() == 3 && ran.err().contains("the index was rebuilt from the data"), "{ran:?}");
    assert_eq!(run(["verify", &short]).code(), 0);
    let rows = run(["cat", &short, "--table", "test"]).ok().to_owned();
    assert!(rows.lines().count() > 10 && String::from_utf8(bytes).unwrap().starts_with(&rows));
    // An entry that points at another document loses only one document.
    let other = folder.copy("foreign");
    let ran = run(["recover", &other, &folder.path("rest.zds"), "--json"]);
    assert_eq!(ran.code(), 3);
    assert!(ran.lines()[0]["lost"].as_u64().unwrap() > 0, "{ran:?}");
    assert_eq!(run(["verify", &folder.path("rest.zds")]).code(), 0);
}

/// Documents are found where the index says, or else by their ids; the lost ones are counted.
#[test]
fn recovers_what_a_damaged_index_does_not_lead_to() {
    let folder = Folder::new();
    let (lines, made) = (folder.path("c.jsonl"), folder.path("made"));
    let text: String = (0..30).map(|n| format!("{{\"_id\":\"d{n:02}\",\"x\":1{n:02}}}\n")).collect();
    fs::write(&lines, &text).unwrap();
    run(["convert", &lines, &made, "--to", "zds"]).ok();
    let file = |store: &str, name: &str| format!("{store}/collections/c/meta/{name}");
    let (data, index) = (fs::read(file(&made, "data.jsonl")).unwrap(), fs::read(file(&made, "index.bin")).unwrap());
    assert_eq!(data, text.as_bytes());
    let line = data.len() / 30;
    let with = |at: usize, what: &[u8], bytes: &[u8]| {
        let mut bytes = bytes.to_vec();
        bytes[at..at + what.len()].copy_from_slice(what);
        bytes
    };
    let shifted = [&data[..2 * line], b" ", &data[2 * line..]].concat();
    // Where the index has the offset of d10.
    let entry = index.windows(3).position(|bytes| bytes == b"d10").unwrap() + 3;
    for (what, data, index, saved, repaired) in [
        ("a byte before a line", shifted, index.clone(), 30, 30),
        ("lines overwritten", with(10 * line + 3, &vec![0; 2 * line], &data), index.clone(), 27, 27),
        ("cut", data[..17 * line].to_vec(), index.clone(), 17, 17),
        ("a wrong offset", data.clone(), with(entry, &[0; 8], &index), 30, 30),
        ("a damaged document", with(10 * line + line - 3, b",", &data), index.clone(), 29, 30),
    ] {
        let (store, indexed, out) = (folder.path("store"), folder.path("indexed"), folder.path("out"));
        fs::remove_dir_all(&out).ok();
        for path in [&store, &indexed] {
            fs::remove_dir_all(path).ok();
            fs::create_dir_all(file(path, "")).unwrap();
            fs::write(file(path, "data.jsonl"), &data).unwrap();
            fs::write(file(path, "index.bin"), &index).unwrap();
        }
        let ran = run(["recover", &store, &out, "--json"]);
        assert_eq!(ran.code(), if saved == 30 { 0 } else { 3 }, "{what}: {ran:?}");
        assert_eq!(ran.lines()[0]["lost"].as_u64(), Some(30 - saved), "{what}: {ran:?}");
        assert_eq!(cat(&out).lines().count() as u64, saved, "{what}");
        assert_eq!(run(["verify", &out]).code(), 0, "{what}");
        let ran = run(["recover", &store, "--in-place"]);
        assert_eq!(ran.code(), 3, "{what}: {ran:?}");
        assert_eq!(run(["count", &store]).ok().trim(), repaired.to_string(), "{what}");
        assert_eq!(run(["verify", &store]).code(), i32::from(repaired != saved), "{what}: {ran:?}");
        let ran = run(["index", &indexed]);
        assert_eq!(ran.code(), if repaired == saved { 3 } else { 0 }, "{what}: {ran:?}");
        assert_eq!(run(["count", &indexed]).ok().trim(), repaired.to_string(), "{what}");
    }
}

/// A damaged entry of an archive loses what is in it, and nothing else.
#[test]
fn recovers_the_other_entries_of_a_damaged_archive() {
    let folder = Folder::new();
    let (a, store) = (folder.path("a.jsonl"), folder.path("store"));
    for name in ["b", "a"] {
        let text: String = (0..40).map(|n| format!("{{\"_id\":\"{name}{n}\",\"x\":{n}}}\n")).collect();
        fs::write(&a, text).unwrap();
        let made = folder.path(&format!("made-{name}"));
        run(["convert", &a, &made, "--to", "zds"]).ok();
        let to = format!("{store}/collections/{name}");
        fs::create_dir_all(format!("{store}/collections")).unwrap();
        fs::rename(format!("{made}/collections/a"), to).unwrap();
    }
    for (compression, part, saved) in
        [("deflate", "a/meta/index.bin", 80), ("deflate", "a/meta/data.jsonl", 40), ("none", "a/meta/data.jsonl", 80)]
    {
        let (packed, out) = (folder.path("packed.zds"), folder.path("out"));
        run(["pack", &store, &packed, "--compression", compression, "--force"]).ok();
        let mut bytes = fs::read(&packed).unwrap();
        // A digit or a compressed byte in the middle of the entry.
        let name = format!("collections/{part}");
        let at = bytes.windows(name.len()).position(|bytes| bytes == name.as_bytes()).unwrap() + name.len();
        match compression {
            "none" => {
                let digit = bytes[at..].windows(5).position(|bytes| bytes == b"\"x\":2").unwrap();
                bytes[at + digit + 4] = b'3';
            }
            _ => bytes[at + 40] ^= 0x55,
        }
        fs::write(&packed, bytes).unwrap();
        fs::remove_dir_all(&out).ok();
        let ran = run(["recover", &packed, &out]);
        assert_eq!(ran.code(), 3, "{compression} {part}: {ran:?}");
        assert!(ran.err().contains("damaged entry of the archive"), "{compression} {part}: {ran:?}");
        assert_eq!(ran.err().contains("collection \"a\" lost"), saved == 40, "{compression} {part}: {ran:?}");
        let tables: &[&str] = if saved == 40 { &["b"] } else { &["a", "b"] };
        let rows = tables.iter().map(|table| run(["cat", &out, "--table", table]).ok().lines().count()).sum::<usize>();
        assert_eq!(rows, saved, "{compression} {part}: {ran:?}");
        assert_eq!(run(["verify", &out]).code(), 0, "{compression} {part}");
    }
}

#[test]
fn packs_and_unpacks_every_golden_store() {
    let folder = Folder::new();
    for (name, path) in goldens().into_iter().filter(|(name, _)| !name.ends_with(".zds")) {
        let (packed, unpacked) = (folder.path(&format!("{name}.zds")), folder.path(&name));
        let ran = run(["pack", &path, &packed, "--json"]);
        assert_eq!(ran.code(), 0, "{name} {ran:?}");
        let ran = run(["unpack", &packed]);
        assert_eq!(ran.code(), 0, "{name} {ran:?}");
        for table in run(["info", "--json", &path]).lines()[0]["tables"].as_array().unwrap() {
            let table = table["name"].as_str().unwrap();
            let rows = |path: &str| run(["cat", path, "--json", "--table", table]).out().to_owned();
            assert!(rows(&path) == rows(&packed) && rows(&path) == rows(&unpacked), "{name} {table}");
        }
    }
    let (one, other) = (folder.path("one.zds"), folder.path("other.zds"));
    assert_eq!(run(["pack", &golden("iris"), &one]).code(), 0);
    assert_eq!(run(["pack", &folder.path("iris"), &other]).code(), 0);
    assert_eq!(fs::read(&one).unwrap(), fs::read(&other).unwrap(), "the same store, the same bytes");
    assert_eq!(run(["pack", &golden("iris"), &one]).code(), 2);
    assert_eq!(run(["pack", &golden("iris"), &one, "--force", "--compression", "deflate"]).code(), 0);
    assert!(fs::metadata(&one).unwrap().len() < fs::metadata(&other).unwrap().len());
    let rows = |path: &str| run(["cat", path, "--json", "--table", "train"]).ok().to_owned();
    assert_eq!(rows(&one), rows(&other));
    assert_eq!(run(["unpack", &one, &folder.path("iris")]).code(), 2, "it exists");
    assert_eq!(run(["unpack", &one, &folder.path("iris"), "--force"]).code(), 0);
    assert!(folder.files().iter().all(|name| !name.contains("wharf")), "nothing is left behind");
}

#[test]
fn converts_documents_from_and_to_every_format() {
    let folder = Folder::new();
    let path = |name: &str| folder.path(name);
    let lines = "{\"name\":\"oak\",\"height\":30,\"list\":[1, 2]}\n{\"name\":\"elm\",\"height\":20.5,\"list\":[]}\n";
    fs::write(path("trees.jsonl"), lines).unwrap();
    let ran = run(["convert", &path("trees.jsonl"), &path("trees.zds"), "--id", "name"]);
    assert_eq!(ran.code(), 0, "{ran:?}");
    let expected = "{\"_id\":\"oak\",\"name\":\"oak\",\"height\":30,\"list\":[1, 2]}\n{\"_id\":\"elm\",\"name\":\"elm\",\"height\":20.5,\"list\":[]}\n";
    assert_eq!(cat(&path("trees.zds")), expected);
    assert_eq!(run(["info", "--json", &path("trees.zds")]).lines()[0]["tables"][0]["name"], "trees");
    // Through every other format and back.
    let convert = |from: &str, to: &str, more: &[&str]| {
        let ran = run([&["convert", &path(from), &path(to), "--force"][..], more].concat());
        assert!(ran.code() == 0 && !ran.err().contains("warning"), "{from} {to} {ran:?}");
    };
    convert("trees.zds", "again.jsonl", &[]);
    assert_eq!(fs::read_to_string(path("again.jsonl")).unwrap(), expected);
    convert("again.jsonl", "folder", &["--to", "zds", "--collection", "c"]);
    assert_eq!(cat(&path("folder")), expected);
    assert_eq!(run(["verify", &path("folder")]).ok().lines().count(), 1);
    convert("folder", "trees.csv", &["--columns", "_id,height"]);
    assert_eq!(fs::read_to_string(path("trees.csv")).unwrap(), "_id,height\noak,30\nelm,20.5\n");
    convert("trees.csv", "csv.zds", &[]);
    assert_eq!(cat(&path("csv.zds")), "{\"_id\":\"oak\",\"height\":30.0}\n{\"_id\":\"elm\",\"height\":20.5}\n");
    fs::write(path("keys.csv"), "n,key\n1,a\n2,b\n").unwrap();
    convert("keys.csv", "keys.zds", &["--id", "key"]);
    assert_eq!(
        cat(&path("keys.zds")),
        "{\"_id\":\"a\",\"n\":1,\"key\":\"a\"}\n{\"_id\":\"b\",\"n\":2,\"key\":\"b\"}\n"
    );
    {
        convert("folder", "trees.msgpack", &[]);
        convert("trees.msgpack", "back.zds", &["--columns", "_id,name,height,list"]);
        assert_eq!(cat(&path("back.zds")), expected.replace(", ", ","));
        assert_eq!(run(["get", &path("trees.msgpack"), "elm", "--columns", "height"]).ok(), "{\"height\":20.5}\n");
    }
    {
        convert("folder", "trees.idv", &["--columns", "_id,height"]);
        convert("trees.idv", "idv.zds", &[]);
        assert_eq!(cat(&path("idv.zds")).lines().count(), 2);
    }
    {
        convert("folder", "trees.ds", &["--columns", "_id,height"]);
        assert_eq!(run(["get", &path("trees.ds"), "height"]).code(), 0);
    }
    // Errors have a position, and nothing is written.
    fs::write(path("twice.jsonl"), "{\"_id\":\"a\"}\n\n{\"_id\":\"a\"}\n").unwrap();
    let ran = run(["convert", &path("twice.jsonl"), &path("twice.zds")]);
    assert!(ran.code() == 1 && ran.err().contains("another document has the same id (line 3, key \"a\")"), "{ran:?}");
    let ran = run(["convert", &path("trees.jsonl"), &path("twice.zds"), "--id", "height"]);
    assert!(ran.code() == 1 && ran.err().contains("line 2"), "{ran:?}");
    assert!(!folder.files().iter().any(|name| name.starts_with("twice.zds") || name.contains("wharf")));
    let ran = run(["convert", &path("trees.jsonl"), &path("numbered.zds")]);
    assert!(ran.err().contains("2 documents without _id"), "{ran:?}");
    assert!(cat(&path("numbered.zds")).starts_with("{\"_id\":\"0000000000\",\"name\":\"oak\""));
    let ran = run(["convert", &path("trees.jsonl"), &path("x.csv"), "--id", "name"]);
    assert_eq!(ran.code(), 2);
    assert_eq!(run(["convert", &path("folder"), &path("folder"), "--to", "zds", "--force"]).code(), 2);
    fs::write(path("array.json"), format!("[{}]", lines.trim().replace('\n', ","))).unwrap();
    convert("array.json", "array.zds", &["--id", "name"]);
    assert_eq!(cat(&path("array.zds")), expected);
    convert("trees.jsonl", "part.zds", &["--id", "height", "--columns", "height", "-n", "1"]);
    assert_eq!(cat(&path("part.zds")), "{\"_id\":\"30\",\"height\":30}\n");
}

#[test]
fn merges_stores() {
    let folder = Folder::new();
    let path = |name: &str| folder.path(name);
    folder.store("one", "c", "{\"_id\":\"a\",\"n\":1}\n{\"_id\":\"b\"}\n");
    folder.store("two", "c", "{\"_id\":\"a\",\"n\":2}\n{\"_id\":\"d\"}\n");
    folder.store("two", "other", "{\"_id\":\"e\"}\n");
    let merge = |more: &[&str]| {
        run([&["merge", &path("one"), &path("two"), "-o", &path("out.zds"), "--force"][..], more].concat())
    };
    let ran = merge(&[]);
    assert!(
        ran.code() == 1 && ran.err().contains("another document has the same id") && ran.err().contains("key \"a\""),
        "{ran:?}"
    );
    assert!(!folder.files().contains(&"out.zds".to_owned()));
    assert_eq!(merge(&["--on-duplicate", "first", "--table", "c"]).code(), 3);
    assert_eq!(cat(&path("out.zds")), "{\"_id\":\"a\",\"n\":1}\n{\"_id\":\"b\"}\n{\"_id\":\"d\"}\n");
    assert_eq!(merge(&["--on-duplicate", "last", "--into", "all"]).code(), 3);
    assert_eq!(cat(&path("out.zds")), "{\"_id\":\"b\"}\n{\"_id\":\"a\",\"n\":2}\n{\"_id\":\"d\"}\n{\"_id\":\"e\"}\n");
    assert_eq!(merge(&["--on-duplicate", "rename"]).code(), 2);
    let ran = run(["merge", &golden("iris"), &golden("packed-docs.zds"), "-o", &path("three")]);
    assert_eq!((ran.code(), ran.err()), (0, ""), "{ran:?}");
    let rows = |path: &str| run(["cat", path, "--table", "train"]).ok().to_owned();
    assert_eq!(rows(&path("three")), rows(&golden("iris")));
    assert_eq!(run(["verify", &path("three")]).code(), 0);
}

#[test]
fn samples_documents() {
    let folder = Folder::new();
    let path = |name: &str| folder.path(name);
    let iris = format!("{}/collections/train", golden("iris"));
    let whole = cat(&iris);
    let sorted = |text: &str| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    let ran = run(["split", &iris, "--at", "50,51", "-o", &path("part-{}.zds"), "--json"]);
    assert_eq!((ran.code(), ran.lines()[0]["outputs"].as_array().unwrap().len()), (0, 3), "{ran:?}");
    let parts = [0, 1, 2].map(|number| cat(&path(&format!("part-{number}.zds"))));
    assert_eq!((parts.concat(), parts[1].lines().count()), (whole.clone(), 1));
    assert_eq!(run(["shuffle", &iris, &path("mixed"), "--seed", "7"]).code(), 0);
    assert!(cat(&path("mixed")) != whole && sorted(&cat(&path("mixed"))) == sorted(&whole));
    assert_eq!(run(["verify", &path("mixed")]).ok().lines().count(), 1);
    let said = run(["sample", &iris, &path("few.zds"), "-n", "5", "--seed", "7"]).ok().replace(&path(""), "@");
    assert_eq!(said, "@few.zds: 5 documents of 120, seed 7\n");
    assert_eq!(cat(&path("few.zds")).lines().count(), 5);
    assert_eq!(run(["sample", &golden("iris"), &path("x"), "-n", "5"]).code(), 2, "there are two collections");
    assert_eq!(run(["sample", &golden("iris"), &path("x"), "-n", "5", "--table", "test", "--sequential"]).code(), 0);
    assert_eq!(
        run(["sample", &iris, &path("y"), "-n", "5000"]).err().replace(&iris, "@"),
        "error: @: 5000 documents requested, the collection has 120\n"
    );
    assert_eq!(run(["sample", &iris, &path("y"), "-n", "5", "--no-md5"]).code(), 2);
    assert!(folder.files().iter().all(|name| !name.contains("wharf")), "{:?}", folder.files());
}
