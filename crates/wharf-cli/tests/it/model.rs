//! ML.NET model files: their schemas are tables.

use serde_json::json;

use crate::common::{golden, run};

fn model(name: &str) -> String {
    golden(&format!("../idv-model/{name}"))
}

#[test]
fn info_shows_the_schema() {
    let file = model("schema.zip");
    let ran = run(["info", &file]);
    let mut lines = ran.ok().lines();
    assert_eq!(lines.next(), Some(format!("{file}: mlnet-model 1.5.28711.2, 1.7 kB").as_str()));
    let head: Vec<_> = lines.by_ref().take(4).collect();
    assert_eq!(
        head,
        [
            "entries: 5",
            "loader: false",
            r#"schemas: ["Schema"]"#,
            "0 rows, 7 columns; all columns: compression deflate, rows per block 1"
        ]
    );
    let rest: Vec<_> = lines.collect();
    assert!(rest.iter().any(|line| line.starts_with("ColourKey") && line.contains("Key<UInt32, 3>")), "{rest:?}");
    assert!(rest.iter().any(|line| line.contains(r#"KeyValues              ["red", "green", "blue"]"#)), "{rest:?}");
}

#[test]
fn info_json_shows_everything() {
    let info = run(["info", "--json", &model("binary-loader.zip")]).lines().remove(0);
    assert_eq!(
        (&info["format"], &info["version"], &info["entries"], &info["loader"], &info["schemas"]),
        (&json!("mlnet-model"), &json!("1.5.28711.2"), &json!(3), &json!(true), &json!(["DataLoaderModel/Schema.idv"]))
    );
    let table = &info["tables"][0];
    assert_eq!((&table["name"], &table["rows"]), (&json!("DataLoaderModel/Schema.idv"), &json!(0)));
    let columns: Vec<_> = table["columns"].as_array().unwrap().iter().map(|column| &column["name"]).collect();
    assert_eq!(columns, ["Label", "Colour", "Width", "Height", "ColourKey", "ColourOneHot", "Features"]);
    assert_eq!(table["columns"][4]["metadata"], json!({"KeyValues": ["red", "green", "blue"]}));
}

#[test]
fn reports_a_model_without_schema() {
    let file = model("text-loader.zip");
    let info = run(["info", "--json", &file]).lines().remove(0);
    assert_eq!((&info["loader"], &info["schemas"], &info["tables"]), (&json!(true), &json!([]), &json!([])));
    assert!(run(["info", &file]).ok().ends_with("\nschemas: []\n"));
    let ran = run(["cat", &file]);
    assert_eq!(
        (ran.code(), ran.out(), ran.err()),
        (2, "", format!("error: {file}: the input has no tables\n").as_str())
    );
}

#[test]
fn model_has_no_rows_and_verifies() {
    let file = model("schema.zip");
    assert_eq!(run(["cat", &file]).ok(), "");
    assert_eq!(run(["cat", &file, "--csv"]).ok(), "Label,Colour,Width,Height,ColourKey,ColourOneHot,Features\n");
    assert_eq!(run(["verify", &file]).ok(), format!("{file}: ok\n"));
}

#[test]
fn damaged_schema_fails_verify() {
    let mut bytes = std::fs::read(model("schema.zip")).unwrap();
    // The CRC-32 of the last entry in the directory, `Schema`.
    let header = bytes.windows(4).rposition(|window| window == b"PK\x01\x02").unwrap();
    bytes[header + 16] ^= 1;
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("damaged.zip").into_os_string().into_string().unwrap();
    std::fs::write(&file, bytes).unwrap();
    let info = run(["info", "--json", &file]).lines().remove(0);
    assert_eq!((&info["tables"], info["unreadable"].as_array().unwrap().len()), (&json!([]), 1));
    let ran = run(["verify", &file]);
    assert_eq!(ran.code(), 1);
    assert!(ran.out().contains("CRC-32 mismatch: expected 7eda2f3e, found 7eda2f3f"), "{}", ran.out());
    assert!(ran.out().contains(r#"key "Schema""#), "{}", ran.out());
}

#[test]
fn other_archives_are_read_as_files() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("other.zip").into_os_string().into_string().unwrap();
    std::fs::write(&file, [b"PK\x05\x06".as_slice(), &[0; 18]].concat()).unwrap();
    let error = run(["info", "--json", &file]).json_error(1);
    assert_eq!((&error["kind"], &error["format"]), (&json!("invalid"), &json!("zip")));
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("no files found"), "{message}");
}
