//! Exit codes and JSON members are a stable interface.

use std::fs;

use serde_json::{Value, json};

use crate::common::{golden, run};

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn info_json() {
    let file = golden("block-rows-7.idv");
    let ran = run(["info", &file, "--json"]);
    ran.ok();
    let info = &ran.lines()[0];
    assert_eq!((&info["format"], &info["version"]), (&json!("idv"), &json!("1.1.1.6")));
    assert_eq!(keys(info)[..2], ["format", "version"]);
    assert_eq!(keys(info).last(), Some(&"tables"));
    let table = &info["tables"][0];
    assert_eq!(keys(table), ["name", "rows", "columns"]);
    assert_eq!((&table["name"], &table["rows"]), (&json!("rows"), &json!(23)));
    let columns = table["columns"].as_array().unwrap();
    let described: Vec<_> =
        columns.iter().map(|column| (column["name"].as_str().unwrap(), column["type"].as_str().unwrap())).collect();
    assert_eq!(
        described,
        [("Int32", "Int32"), ("Text", "Text"), ("KeyByte", "Key<Byte, 5>"), ("Vector", "Vector<Int32>")]
    );
    for column in columns {
        assert_eq!(keys(column)[..2], ["name", "type"]);
        assert_eq!((&column["compression"], &column["rows_per_block"]), (&json!("deflate"), &json!(7)));
    }
}

#[test]
fn info_json_of_several_files_names_them() {
    let (one, two) = (golden("text-ascii.idv"), golden("text-unicode.idv"));
    let ran = run(["info", "--json", &one, &two]);
    ran.ok();
    let files: Vec<_> = ran.lines().iter().map(|line| line["file"].as_str().unwrap().to_owned()).collect();
    assert_eq!(files, [one, two]);
}

#[test]
fn cat_json_prints_a_line_per_row() {
    let ran = run(["cat", &golden("block-rows-7.idv"), "--rows", "6..8", "--columns", "KeyByte,Int32"]);
    ran.ok();
    let lines = ran.lines();
    assert_eq!(lines.len(), 2);
    assert!(lines.iter().all(|line| keys(line) == ["KeyByte", "Int32"]), "{lines:?}");
    let whole = run(["cat", &golden("block-rows-7.idv"), "--json"]).lines();
    assert_eq!(whole.len(), 23);
    assert_eq!(whole[6]["Int32"], lines[0]["Int32"]);
    let got = run(["get", &golden("block-rows-7.idv"), "--row", "6", "--json"]).lines();
    assert_eq!(got, [whole[6].clone()]);
}

#[test]
fn exit_code_1_bad_file() {
    let error = run(["cat", "no/such.idv", "--json"]).json_error(1);
    assert_eq!((&error["kind"], &error["file"]), (&json!("io"), &json!("no/such.idv")));

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cut.idv");
    let whole = fs::read(golden("block-rows-7.idv")).unwrap();
    fs::write(&path, &whole[..whole.len() - 9]).unwrap();
    for verb in [&["cat"][..], &["info"], &["get", "--row", "0"]] {
        let error = run([verb, &[path.to_str().unwrap(), "--json"]].concat()).json_error(1);
        assert_eq!((&error["format"], &error["file"]), (&json!("idv"), &json!(path.to_str().unwrap())));
        assert!(["invalid", "truncated"].contains(&error["kind"].as_str().unwrap()), "{error}");
        assert!(error["byte"].is_u64(), "{error}");
        assert!(error["message"].as_str().unwrap().starts_with("idv: "), "{error}");
    }

    fs::write(&path, "no container at all").unwrap();
    let error = run(["info", path.to_str().unwrap(), "--json"]).json_error(1);
    assert!(["unsupported", "invalid", "truncated"].contains(&error["kind"].as_str().unwrap()), "{error}");
}

#[test]
fn exit_code_2_wrong_usage() {
    // A copy, because one case names it as an output.
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("copy.idv").into_os_string().into_string().unwrap();
    fs::copy(golden("block-rows-7.idv"), &file).unwrap();
    for (arguments, message) in [
        (&["cat", "FILE", "--columns", "Int3"][..], "no column \"Int3\"; similar: \"Int32\""),
        (&["cat", "FILE", "--rows", "23"], "no row 23: the input has 23 rows, counted from 0"),
        (&["get", "FILE", "--row", "23"], "no row 23: the input has 23 rows, counted from 0"),
        (&["cat", "FILE", "--table", "x"], "no table \"x\"; the tables are \"rows\""),
        (&["cat", "FILE", "--limit", "-1"], "unexpected argument '-1' found"),
        (&["convert", "FILE", "FILE", "--to", "csv", "--force"], "the output is the input FILE"),
        (&["get", "FILE"], "the following required arguments were not provided: <KEY>"),
    ] {
        let arguments = arguments.iter().map(|argument| argument.replace("FILE", &file)).chain(["--json".to_owned()]);
        let error = run(arguments).json_error(2);
        assert_eq!(error["kind"], "usage");
        let said = error["message"].as_str().unwrap();
        assert!(said.ends_with(&message.replace("FILE", &file)), "{said}");
    }
    assert_eq!(fs::read(&file).unwrap(), fs::read(golden("block-rows-7.idv")).unwrap());
}

#[test]
fn exit_code_3_done_with_loss() {
    let file = golden("key-above-count.idv");
    let ran = run(["cat", &file, "--json"]);
    assert_eq!((ran.code(), ran.lines().len()), (3, 4));
    let warning: Value = serde_json::from_str(ran.err()).unwrap();
    assert_eq!(keys(&warning), ["warning"]);
    let warning = &warning["warning"];
    assert_eq!((&warning["kind"], &warning["count"], &warning["row"]), (&json!("loss"), &json!(2), &json!(1)));
    assert_eq!((&warning["column"], &warning["file"]), (&json!("Key"), &json!(file)));

    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("out.csv");
    let ran = run(["convert", &file, output.to_str().unwrap()]);
    assert_eq!((ran.code(), ran.out()), (3, ""));
    assert!(ran.err().lines().all(|line| line.starts_with("warning: ")), "{}", ran.err());
    // Otherwise the three nulls would be empty lines.
    assert_eq!(fs::read_to_string(output).unwrap(), "Key\na\n\"\"\n\"\"\n\"\"\n");
}

#[test]
fn verify_reports_all_problems_and_exits_1() {
    let (good, bad) = (golden("text-ascii.idv"), golden("key-above-count.idv"));
    let ran = run(["verify", &good, &bad, "missing.idv", "--json"]);
    assert_eq!((ran.code(), ran.err()), (1, ""));
    let lines = ran.lines();
    assert_eq!(lines[0], json!({"file": good, "format": "idv", "version": "1.1.1.6", "findings": [], "ok": true}));
    let finding = &lines[1]["findings"][0];
    assert_eq!(
        (&finding["severity"], &finding["column"], &finding["row"]),
        (&json!("error"), &json!("Key"), &json!(1))
    );
    assert_eq!((&lines[1]["ok"], &lines[2]["ok"]), (&json!(false), &json!(false)));
    assert_eq!(lines[2]["findings"][0]["kind"], "io");
    assert_eq!(run(["verify", &good]).ok(), format!("{good}: ok\n"));
}

#[test]
fn convert_json_has_the_result() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("out.tsv");
    let ran = run(["convert", &golden("block-rows-7.idv"), output.to_str().unwrap(), "--json"]);
    ran.ok();
    let bytes = fs::metadata(&output).unwrap().len();
    assert_eq!(ran.lines(), [json!({"file": output.to_str().unwrap(), "to": "tsv", "rows": 23, "bytes": bytes})]);
}

#[test]
fn expands_quoted_patterns() {
    let ran = run(["cat", &golden("block-rows-7*.idv"), "--columns", "Int32"]);
    ran.ok();
    assert_eq!(ran.lines().len(), 46);
}

#[test]
fn access_modes_give_the_same_rows() {
    let file = golden("real-adult.idv");
    let [auto, mapped, positional] = ["auto", "mapped", "positional"].map(|how| run(["cat", &file, "--access", how]));
    assert!(auto.ok() == mapped.ok() && auto.ok() == positional.ok());
    assert_eq!(auto.ok().lines().count(), 500);
}
