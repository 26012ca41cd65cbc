//! The reading verbs, on stores of the reference and damaged ones.

use std::collections::HashSet;
use std::fs;
use std::io::Write;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::common::{Ran, run, wharf};
use crate::stores::{Folder, golden, goldens};

fn said(ran: &Ran, folder: &Folder) -> String {
    ran.err().replace(&folder.path(""), "@")
}

#[test]
fn reference_documents_keep_their_bytes() {
    let mut lines = 0;
    for (name, path) in goldens() {
        let expected =
            fs::read_to_string(golden(&format!("{}.expected.jsonl", name.trim_end_matches(".zds")))).unwrap();
        let expected: Vec<Value> = expected.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let info = run(["info", "--json", &path]).lines().remove(0);
        assert_eq!(info["format"], "zds", "{name}");
        for table in info["tables"].as_array().unwrap() {
            let collection = table["name"].as_str().unwrap();
            let documents: Vec<&Value> = expected.iter().filter(|one| one["collection"] == collection).collect();
            if name == "deleted-all" {
                assert_eq!(table["rows"], 0, "the reference brings them back");
                continue;
            }
            // A line takes precedence over a document file with the same id.
            let ids: HashSet<&str> = documents.iter().map(|one| one["id"].as_str().unwrap()).collect();
            assert_eq!(table["rows"], ids.len(), "{name} {collection}");
            let ran = run(["cat", &path, "--table", collection, "--json"]);
            assert!([0, 3].contains(&ran.code()), "{name}: {ran:?}");
            for one in documents {
                let (id, line) = (one["id"].as_str().unwrap(), &one["line"]);
                let got = run(["get", &path, id, "--table", collection, "--json"]);
                if one["mode"] == "lines" && name != "foreign" {
                    // Byte for byte, except for CR LF.
                    let line = line.as_str().unwrap();
                    let line = line.strip_suffix('\r').unwrap_or(line);
                    assert!(ran.out().lines().any(|found| found == line), "{name} {id}");
                    assert_eq!(got.out().strip_suffix('\n'), Some(line), "{name} {id}");
                    lines += 1;
                }
                assert!([0, 3].contains(&got.code()), "{name} {id}: {got:?}");
            }
        }
    }
    assert!(lines > 300, "{lines} lines compared");
}

#[test]
fn recognizes_a_store_by_any_path_inside() {
    let put = golden("put");
    let whole = run(["cat", &put]).ok().to_owned();
    let collection = format!("{put}/collections/train");
    for path in [collection.clone(), format!("{collection}/meta/data.jsonl"), format!("{collection}/meta/index.bin")] {
        assert_eq!(run(["cat", &path]).ok(), whole, "{path}");
    }
    let packed = golden("packed-lines.zds");
    let folder = Folder::new();
    fs::copy(&packed, folder.path("of-any-name")).unwrap();
    let first = run(["info", "--json", &packed]).lines().remove(0);
    assert_eq!(run(["info", "--json", &folder.path("of-any-name")]).lines().remove(0), first);
    let mut child = wharf(["info", "--json", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(&fs::read(&packed).unwrap()).unwrap();
    let out = child.wait_with_output().unwrap().stdout;
    assert_eq!(serde_json::from_slice::<Value>(&out).unwrap(), first);
    // Other folders are not stores.
    fs::create_dir(folder.path("other")).unwrap();
    assert_eq!(run(["info", &folder.path("other")]).code(), 1);
}

#[test]
fn selects_documents_and_fields() {
    let put = golden("put");
    let cat = |arguments: &[&str]| run([&["cat", &put][..], arguments].concat()).ok().to_owned();
    assert_eq!(cat(&["--where", "n = 4", "--columns", "n,_id"]), "{\"n\":4,\"_id\":\"doc-004\"}\n");
    assert_eq!(cat(&["--where", "n = 4.0", "--columns", "n"]), "{\"n\":4}\n");
    assert_eq!(cat(&["--where", "text = 'number 4'", "--where", "even = false"]), "");
    let (even, all) = (cat(&["--where", "even"]), cat(&[]));
    assert!(even.lines().all(|line| line.contains("\"even\":true")) && even.lines().count() < all.lines().count());
    assert_eq!(cat(&["--where", "object.deep.b is not null"]), all);
    assert_eq!(cat(&["--where", "object.deep.b is null"]), "");
    assert_eq!(cat(&["--where", "even=true", "--rows", "1..2", "--columns", "n"]), "{\"n\":2}\n");
    assert_eq!(cat(&["--where", "even=true", "-n", "1", "--columns", "n"]), "{\"n\":0}\n");
    // A nested field is named by the last part of its path, unless that is ambiguous.
    assert_eq!(cat(&["--columns", "object.a,n", "--rows", "3"]), "{\"a\":3,\"n\":3}\n");
    assert_eq!(cat(&["--columns", "object.a,n", "--rows", "3", "--csv"]), "a,n\n3,3\n");
    assert_eq!(cat(&["--columns", "_id,object.deep.b", "-n", "1"]), "{\"_id\":\"doc-000\",\"b\":[0,{\"c\":\"d\"}]}\n");
    let error = run(["cat", &put, "--columns", "object.none"]).err().to_owned();
    assert!(error.contains("no column \"object.none\""), "{error}");
    // Misspelled names, and what was written before conditions were SQL.
    for (condition, expected) in [
        ("eevn=true", "--where no column \"eevn\"; similar: \"even\""),
        ("object.dep=1", "--where no field \"dep\"; similar: \"deep\" (column \"object\")"),
        ("text=seven", "--where no column \"seven\"; similar: \"even\"; a text is quoted: 'seven'"),
        ("!even", "`not a` negates, `a is null` asks whether a value is missing"),
        ("object", "--where expected a condition, found object, which is a struct"),
        ("text=null", "--where a comparison with null is never true: write text is null (column \"text\")"),
        ("object={}", "objects cannot be compared, their fields can"),
        ("text=4", "--where expected text, found the number 4; a text is quoted: '4' (column \"text\")"),
        ("missing", "--where no column \"missing\""),
    ] {
        for arguments in [&["cat", &put][..], &["convert", &put, "-"], &["convert", &put, "-", "--to", "csv"]] {
            let ran = run([arguments, &["--where", condition]].concat());
            assert_eq!((ran.code(), ran.out()), (2, ""), "{arguments:?} {condition}: {ran:?}");
            assert!(ran.err().contains(expected), "{}", ran.err());
        }
    }
    let folder = Folder::new();
    folder.store("s", "c", r#"{"_id":"a","x.y":1,"x":{"y":2},"p":{"k":3},"q":{"k":4}}"#);
    let cat = |columns: &str| run(["cat", &folder.path("s"), "--columns", columns]).out().to_owned();
    assert_eq!(cat("x.y"), "{\"x.y\":1}\n", "a member of that name wins");
    assert_eq!(cat("p.k,q.k"), "{\"p.k\":3,\"q.k\":4}\n");
}

#[test]
fn keeps_digits() {
    let folder = Folder::new();
    let line = r#"{"_id":"a","big":123456789012345678901234567890,"huge":1e400,"small":0.10,"list":[1.0, {"x":12345678901234567890123}]}"#;
    folder.store("s", "c", line);
    assert_eq!(run(["cat", &folder.path("s"), "--rows", "0", "--json"]).out(), format!("{line}\n"));
    assert_eq!(
        run(["cat", &folder.path("s"), "--csv"]).out(),
        "_id,big,huge,small,list\na,123456789012345678901234567890,1e400,0.1,\"[1.0,{\"\"x\"\":\"\"12345678901234567890123\"\"}]\"\n"
    );
    assert_eq!(
        run(["cat", &folder.path("s"), "--columns", "huge,list"]).out(),
        r#"{"huge":1e400,"list":[1.0, {"x":12345678901234567890123}]}"#.to_owned() + "\n"
    );
}

#[test]
fn reports_hidden_values() {
    let folder = Folder::new();
    folder.store("s", "c", "{\"_id\":\"a\"}\nbroken\n{\"_id\":\"a\",\"n\":2}\n{\"_id\":\"b\"}\n{\"_id\":\"c\",\"n\":");
    let ran = run(["cat", &folder.path("s")]);
    assert_eq!((ran.code(), ran.out()), (3, "{\"_id\":\"a\",\"n\":2}\n{\"_id\":\"b\"}\n"));
    assert_eq!(
        said(&ran, &folder),
        "warning: @s: no index: recovered 3 documents from the data, including deleted ones whose lines remain\n\
         warning: @s: line skipped, not a document: expected an object (\"{\"), found 'b' (byte 12, line 2)\n\
         warning: @s: the last line is torn and ignored (byte 49)\n"
    );
    let ran = run(["convert", &folder.path("s"), &folder.path("out.csv")]);
    assert_eq!((ran.code(), fs::read_to_string(folder.path("out.csv")).unwrap()), (3, "_id,n\na,2\nb,\n".to_owned()));
}

#[test]
fn verify_finds_every_problem() {
    let folder = Folder::new();
    let lines = "{\"_id\":\"a\"}\n{\"_id\":\"b\",\"n\":1}\nbroken\n{\"_id\":\"no id\"}\n\n{\"n\":1}\n{\"_id\":\"c\"}\n{\"_id\":\"d\",";
    let data = folder.store("s", "c", lines);
    let index = |entries: &[(&str, u64, u32)]| {
        let mut file = b"ISDZ\x01\0\0\0".to_vec();
        file.extend((entries.len() as u64).to_le_bytes());
        for (id, offset, length) in entries {
            file.extend(u16::try_from(id.len()).unwrap().to_le_bytes());
            file.extend(id.as_bytes());
            file.extend(offset.to_le_bytes());
            file.extend(length.to_le_bytes());
        }
        fs::write(data.with_file_name("index.bin"), file).unwrap();
    };
    let found = || {
        let ran = run(["verify", &folder.path("s"), "--threads", "3"]);
        (ran.code(), ran.out().replace(&folder.path(""), "@").replace("@s/collections/c/meta/data.jsonl: ", ""))
    };
    assert_eq!(
        found(),
        (
            1,
            "warning: zds: @s/collections/c/meta/index.bin: no index\n\
             error: zds: the last line is torn (byte 74)\n\
             error: zds: expected an object (\"{\"), found 'b' (byte 30, line 3)\n\
             error: zds: invalid character ' ' in the id (allowed: a-z, A-Z, 0-9, \"_\", \"-\" and \".\") (byte 37, line 4, key \"no id\")\n\
             error: zds: the document has no \"_id\" (byte 54, line 6)\n\
             @s: 4 problems, 1 warning\n"
                .to_owned()
        )
    );
    index(&[
        ("a", 0, 12),
        ("b", 12, 18),
        ("x", 62, 11),
        ("mid", 14, 16),
        ("long", 12, 25),
        ("end", 74, 900),
        ("blank", 53, 1),
    ]);
    assert_eq!(
        found(),
        (
            1,
            "error: zds: the index entry points at bytes 12 to 37: more than one line (byte 12, line 2, key \"long\")\n\
             error: zds: the index entry points at bytes 14 to 30: not the start of a line (byte 14, key \"mid\")\n\
             warning: zds: expected an object (\"{\"), found 'b' (byte 30, line 3)\n\
             error: zds: the index entry points at an empty line (byte 53, key \"blank\")\n\
             warning: zds: the document has no \"_id\" (byte 54, line 6)\n\
             error: zds: the index entry points at the line of document \"c\" (byte 62, line 7, key \"x\")\n\
             error: zds: the line of an index entry: needs 900 bytes, 11 available (byte 74, line 8, key \"end\")\n\
             @s: 5 problems, 2 warnings\n"
                .to_owned()
        )
    );
    fs::write(data.with_file_name("index.bin"), b"ISDZ\x01\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff").unwrap();
    assert!(found().1.contains("the index is damaged: 18446744073709551615 entries"), "{}", found().1);
}

#[test]
fn verifies_metadata_and_files() {
    let folder = Folder::new();
    let data = folder.store("s", "c", "{\"_id\":\"a\"}\n");
    fs::remove_file(&data).unwrap();
    let docs = data.parent().unwrap().with_file_name("docs");
    fs::create_dir(&docs).unwrap();
    for (name, text) in [("a", "{\n  \"x\": 1\n}"), ("b", "{\"_id\": \"c\"}"), ("d", "[1]"), ("e", "{\"x\":")] {
        fs::write(docs.join(format!("{name}.json")), text).unwrap();
    }
    fs::write(data.with_file_name("order.ids"), "b\na\nnone\n").unwrap();
    fs::write(data.with_file_name("manifest.json"), "{\"doc_count\": 7, \"collection\": \"other\"}").unwrap();
    fs::write(folder.path("s/zds.json"), "{\"collections\": {\"c\": {\"count\": 1}, \"gone\": {\"count\": 1}}}")
        .unwrap();
    let ran = run(["verify", &folder.path("s"), "--json"]);
    let report = ran.lines().remove(0);
    let of = |finding: &Value| {
        let file = finding["file"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
        (finding["severity"].as_str().unwrap().to_owned(), file)
    };
    let findings: Vec<_> = report["findings"].as_array().unwrap().iter().map(of).collect();
    let expected = [
        ("warning", "zds.json"),
        ("warning", "order.ids"),
        ("warning", "b.json"),
        ("error", "d.json"),
        ("error", "e.json"),
        ("warning", "manifest.json"),
        ("warning", "manifest.json"),
        ("warning", "zds.json"),
    ];
    assert_eq!(findings, expected.map(|(severity, file)| (severity.to_owned(), file.to_owned())), "{report}");
    // Documents without an id member are printed with their ids, in the order of the list.
    let ran = run(["cat", &folder.path("s"), "-n", "2", "--json"]);
    assert_eq!(ran.out(), "{\"_id\": \"c\"}\n{\"_id\":\"a\",\"x\":1}\n");
}

#[test]
fn info_shows_the_index_state() {
    let info = run(["info", "--json", &golden("put-again")]).lines().remove(0);
    assert_eq!((&info["index"], &info["dead_bytes"]), (&json!("valid"), &json!(1545)));
    let info = run(["info", "--json", &golden("no-index")]).lines().remove(0);
    assert_eq!(info["index"], "missing");
    let names: Vec<_> = info["tables"][0]["columns"].as_array().unwrap().iter().map(|column| &column["name"]).collect();
    assert!(names.contains(&&json!("_id")), "{info}");
    let both = run(["info", "--json", &golden("both")]).lines().remove(0);
    assert_eq!(both["collections"]["c"]["documents_in_files"], 1);
    let shown = run(["info", &golden("both")]).ok().to_owned();
    assert!(shown.contains("table c: 3 rows, 2 columns\nindex: \"valid\"\ndata bytes: 58\n"), "{shown}");
}
