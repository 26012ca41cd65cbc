//! `wharf merge` and `wharf recover` on real files.

use std::fs;

use serde_json::json;
use tempfile::TempDir;

use crate::common::{golden, run};

fn path(folder: &TempDir, name: &str) -> String {
    folder.path().join(name).into_os_string().into_string().unwrap()
}

#[test]
fn concatenates_rows_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let adult = golden("real-adult.idv");
    let out = path(&folder, "all.idv");
    assert_eq!(run(["merge", &adult, &adult, "-o", &out]).ok(), "");
    let once = run(["cat", &adult, "--json"]);
    let twice = run(["cat", &out, "--json"]);
    assert_eq!(twice.ok(), once.ok().repeat(2));
    assert_eq!(run(["verify", &out]).ok(), format!("{out}: ok\n"));
    // Column metadata are kept.
    let metadata = |file: &str| {
        let info = run(["info", file, "--json"]).lines().remove(0);
        let columns = info["tables"][0]["columns"].as_array().unwrap().clone();
        columns
            .into_iter()
            .map(|column| json!([column["name"], column["type"], column["metadata"]]))
            .collect::<Vec<_>>()
    };
    assert_eq!(metadata(&out), metadata(&adult));
    // 500 rows end within a block of 200: the full blocks of the first file are copied.
    let ran = run(["merge", &adult, &adult, "-o", &out, "--force", "--json"]);
    let done = ran.lines().remove(0);
    assert_eq!(done["rows"], 1000);
    assert_eq!((&done["blocks_carried"], &done["blocks_encoded"]), (&json!(28), &json!(56)), "{done}");
    let ran = run([
        "merge",
        &adult,
        &adult,
        "-o",
        &out,
        "--force",
        "--json",
        "--compression",
        "none",
        "--columns",
        "age,Label",
    ]);
    let done = ran.lines().remove(0);
    assert_eq!(done["blocks_carried"], 0);
    let info = run(["info", &out, "--json"]).lines().remove(0);
    let columns = info["tables"][0]["columns"].as_array().unwrap();
    assert_eq!(columns.len(), 2);
    assert_eq!((&columns[0]["name"], &columns[0]["compression"]), (&json!("age"), &json!("none")));
}

#[test]
fn reports_files_that_do_not_match_with_the_difference() {
    let folder = tempfile::tempdir().unwrap();
    let (one, other, out) = (golden("scalar-integers.idv"), golden("scalar-booleans.idv"), path(&folder, "out.idv"));
    let ran = run(["merge", &one, &other, "-o", &out]);
    // Not a usage error: the data do not match.
    assert_eq!((ran.code(), ran.out()), (1, ""));
    let expected = format!("error: {other}: columns differ from those of {one}: columns ");
    assert!(ran.err().starts_with(&expected), "{}", ran.err());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    let ran = run(["merge", &one, "-o", &one, "--force"]);
    assert_eq!(ran.err(), format!("error: {one}: the output is the input {one}\n"));
    assert_eq!(ran.code(), 2);
    fs::write(&out, "precious").unwrap();
    let ran = run(["merge", &one, "-o", &out]);
    assert_eq!((ran.code(), ran.err()), (2, &*format!("error: {out}: the output exists; --force replaces it\n")));
    assert_eq!(fs::read(&out).unwrap(), b"precious");
}

#[test]
fn recovers_an_intact_file_completely() {
    let folder = tempfile::tempdir().unwrap();
    let (adult, out) = (golden("real-adult.idv"), path(&folder, "out.idv"));
    assert_eq!(run(["recover", &adult, &out]).ok(), format!("{out}: 500 rows, 14 columns, verified\n"));
    assert_eq!(run(["cat", &out, "--json"]).ok(), run(["cat", &adult, "--json"]).ok());
}

#[test]
fn losses_are_reported_with_exit_code_3() {
    let folder = tempfile::tempdir().unwrap();
    let (damaged, out) = (path(&folder, "damaged.idv"), path(&folder, "out.idv"));
    let mut bytes = fs::read(golden("real-adult.idv")).unwrap();
    // The first block of the column Features, and the tail.
    bytes[2680..2700].fill(0xFF);
    bytes.truncate(bytes.len() - 3);
    fs::write(&damaged, &bytes).unwrap();
    assert_eq!(run(["cat", &damaged]).code(), 1);
    let ran = run(["recover", &damaged, &out]);
    assert_eq!(ran.code(), 3, "{ran:?}");
    assert_eq!(ran.out(), format!("{out}: 500 rows, 13 columns, verified\n"));
    let errors: Vec<_> = ran.err().lines().collect();
    assert_eq!(errors.len(), 2, "{errors:?}");
    assert!(
        errors[0]
            .contains("the file is truncated: its tail should be at byte 16108, the file has 16113 bytes (byte 32)"),
        "{errors:?}"
    );
    assert!(errors[1].contains("column left out: 200 of its 500 rows are damaged"), "{errors:?}");
    assert_eq!(run(["verify", &out]).ok(), format!("{out}: ok\n"));

    let ran = run(["recover", &damaged, &out, "--force", "--columns", "Features,age", "--json"]);
    assert_eq!(ran.code(), 3);
    let done = ran.lines().remove(0);
    assert_eq!((&done["rows"], &done["rows_lost"]), (&json!(300), &json!(200)));
    assert_eq!(done["columns"], json!(["Features", "age"]));
    let warning: serde_json::Value = serde_json::from_str(ran.err()).unwrap();
    assert_eq!((&warning["warning"]["count"], &warning["warning"]["row"]), (&json!(200), &json!(0)));
}

#[test]
fn writes_nothing_if_nothing_can_be_recovered() {
    let folder = tempfile::tempdir().unwrap();
    let (damaged, out) = (path(&folder, "damaged.idv"), path(&folder, "out.idv"));
    let bytes = fs::read(golden("real-adult.idv")).unwrap();
    fs::write(&damaged, &bytes[..10_000]).unwrap();
    let ran = run(["recover", &damaged, &out]);
    assert_eq!((ran.code(), ran.out()), (1, ""));
    assert!(ran.err().contains("the table of contents is lost (at byte 15391 of 10000)"), "{}", ran.err());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn recovers_a_truncated_file_with_a_schema() {
    let folder = tempfile::tempdir().unwrap();
    let (damaged, schema, out) = (path(&folder, "damaged.idv"), path(&folder, "like.json"), path(&folder, "out.idv"));
    let adult = golden("real-adult.idv");
    fs::write(&damaged, &fs::read(&adult).unwrap()[..10_000]).unwrap();
    fs::write(&schema, run(["info", &adult, "--json"]).ok()).unwrap();
    for like in [&schema, &adult] {
        let ran = run(["recover", &damaged, &out, "--schema", like, "--force"]);
        assert_eq!(
            (ran.code(), ran.out()),
            (3, &*format!("{out}: 400 rows of 500, 14 columns, verified\n")),
            "{ran:?}"
        );
    }
    let ran = run(["recover", &damaged, &out, "--schema", &schema, "--force"]);
    assert_eq!((ran.code(), ran.out()), (3, &*format!("{out}: 400 rows of 500, 14 columns, verified\n")), "{ran:?}");
    assert!(ran.err().contains("rows after the last complete blocks lost (100 times, first row 400)"), "{ran:?}");
    assert!(ran.err().contains("the table of contents is lost: with the given schema, 2 blocks"), "{ran:?}");
    assert_eq!(run(["cat", &out, "--json"]).ok(), run(["cat", &adult, "--json", "--rows", "..400"]).ok());
}

/// 300 rows in three row groups, the first of which is damaged.
fn damaged_parquet(folder: &TempDir) -> String {
    let (rows, file) = (path(folder, "rows.csv"), path(folder, "damaged.parquet"));
    let lines: String = (0..300).map(|row| format!("{row},text {row}\n")).collect();
    fs::write(&rows, format!("number,text\n{lines}")).unwrap();
    run(["convert", &rows, &file, "--row-group", "100"]).ok();
    let mut bytes = fs::read(&file).unwrap();
    bytes[4..60].fill(0xFF);
    fs::write(&file, bytes).unwrap();
    file
}

#[test]
fn recovers_the_intact_row_groups_of_parquet() {
    let folder = tempfile::tempdir().unwrap();
    let (file, out) = (damaged_parquet(&folder), path(&folder, "out.parquet"));
    assert_eq!(run(["cat", &file]).code(), 1);
    let ran = run(["recover", &file, &out]);
    assert_eq!(ran.code(), 3, "{ran:?}");
    assert!(ran.out().starts_with(&format!("{out}: 200 rows of 300, ")), "{ran:?}");
    assert!(ran.err().starts_with(&format!("warning: {file}: rows 0 to 99 are lost: ")), "{ran:?}");
    assert!(ran.err().contains("(100 times, block 0, row 0") || ran.err().contains("(100 times, first "), "{ran:?}");
    assert_eq!(ran.err().lines().count(), 1);
    let csv = run(["cat", &out, "--csv"]);
    assert_eq!(csv.ok().lines().nth(1), Some("100,text 100"));
    assert_eq!(csv.ok().lines().count(), 201);
    let ran = run(["recover", &file, &out, "--json"]);
    assert_eq!(ran.code(), 2, "the output exists: {ran:?}");
    let ran = run(["recover", &file, &out, "--json", "--force"]);
    let done = ran.lines().remove(0);
    assert_eq!(
        (ran.code(), &done["to"], &done["rows"], &done["rows_lost"]),
        (3, &json!("parquet"), &json!(200), &json!(100))
    );
    assert_eq!((&done["ranges_lost"], &done["columns"]), (&json!([[0, 100]]), &json!(["number", "text"])));
    let ran = run(["recover", &file, &path(&folder, "out.csv")]);
    assert_eq!(ran.code(), 2);
    assert!(
        ran.err()
            .ends_with("out.csv: its extension stands for csv, and the input is parquet: `wharf convert` does that\n")
    );
    let ran = run(["recover", &file, &out, "--force", "--no-md5"]);
    assert_eq!(
        (ran.code(), ran.err()),
        (2, &*format!("error: {file}: --no-md5 is an option of datadings, the input is parquet\n"))
    );
    let ran = run(["recover", &file, &out, "--force", "--level", "3"]);
    assert_eq!(
        (ran.code(), ran.err()),
        (2, &*format!("error: {file}: --level is an option of IDV, the input is parquet\n"))
    );
}

#[test]
fn merges_column_and_text_files() {
    let folder = tempfile::tempdir().unwrap();
    let (a, b) = (path(&folder, "a.csv"), path(&folder, "b.csv"));
    fs::write(&a, "x,y\n1,a\n").unwrap();
    fs::write(&b, "x,y\n2,b\n").unwrap();
    for extension in ["csv", "tsv", "jsonl", "parquet", "arrow", "arrows"] {
        let [one, two, out] = ["1", "2", "out"].map(|name| path(&folder, &format!("{name}.{extension}")));
        run(["convert", &a, &one]).ok();
        run(["convert", &b, &two]).ok();
        let done = run(["merge", &one, &two, "-o", &out, "--json"]).lines().remove(0);
        assert_eq!((&done["rows"], &done["inputs"], &done["file"]), (&json!(2), &json!(2), &json!(out)), "{extension}");
        assert_eq!(run(["cat", &out, "--json"]).ok(), "{\"x\":1,\"y\":\"a\"}\n{\"x\":2,\"y\":\"b\"}\n", "{extension}");
        let ran = run(["merge", &one, &two, "-o", &out]);
        assert_eq!((ran.code(), ran.err()), (2, &*format!("error: {out}: the output exists; --force replaces it\n")));
        let ran = run(["merge", &one, &two, "-o", &one, "--force"]);
        assert_eq!((ran.code(), ran.err()), (2, &*format!("error: {one}: the output is the input {one}\n")));
    }
    assert_eq!(run(["merge", &a, &b, "-o", "-"]).ok(), "x,y\n1,a\n2,b\n");
    let out = path(&folder, "other.parquet");
    let ran = run(["merge", &a, &b, "-o", &out]);
    let expected =
        format!("error: {out}: its extension stands for parquet, and the input is csv: `wharf convert` does that\n");
    assert_eq!((ran.code(), ran.err()), (2, &*expected));
    let ran = run(["merge", &golden("real-adult.idv"), "-o", "-"]);
    assert_eq!((ran.code(), ran.err()), (2, "error: IDV is merged into a file, not a stream: give a path\n"));
}
