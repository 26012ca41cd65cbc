use super::*;

fn place() -> TestFolder {
    TestFolder::new().with("in", &["a", "b"], &json!([[1, "x"], [2, null]]))
}

#[test]
fn extension_selects_the_format() {
    for (name, expected) in [
        ("out.csv", "a,b\n1,x\n2,\n"),
        ("out.TSV", "a\tb\n1\tx\n2\t\n"),
        ("out.jsonl", "{\"a\":1,\"b\":\"x\"}\n{\"a\":2,\"b\":null}\n"),
        ("out.ndjson", "{\"a\":1,\"b\":\"x\"}\n{\"a\":2,\"b\":null}\n"),
        ("out.json", "{\"a\":1,\"b\":\"x\"}\n{\"a\":2,\"b\":null}\n"),
    ] {
        let place = place();
        assert_eq!(place.wharf(&["convert", "@in", &format!("@{name}")]).ok(), "");
        assert_eq!(place.read(name), expected);
        assert_eq!(place.files(), ["in", name]);
    }
    let error = place().wharf(&["convert", "@in", "@out.txt"]).failed(2);
    let known =
        ".jsonl .ndjson .json .csv .tsv .idv .msgpack .ds .nc .zarr .zds .parquet .pq .arrow .feather .ipc .arrows";
    assert_eq!(error, format!("error: @out.txt: unknown extension .txt (known: {known}); --to selects the format"));
    let error = place().wharf(&["convert", "@in", "@out"]).failed(2);
    assert!(error.contains("no extension (known: "), "{error}");
}

#[test]
fn to_selects_the_format() {
    let place = place();
    assert_eq!(place.wharf(&["convert", "@in", "@out.txt", "--to", "csv", "--rows", "1", "--columns", "b,a"]).ok(), "");
    assert_eq!(place.read("out.txt"), "b,a\n,2\n");
    assert_eq!(place.wharf(&["convert", "@in", "@in", "-", "--to", "tsv"]).ok(), "a\tb\n1\tx\n2\t\n1\tx\n2\t\n");
    assert_eq!(place.wharf(&["convert", "@in", "-", "-n", "1"]).ok(), "{\"a\":1,\"b\":\"x\"}\n");
}

#[test]
fn existing_output_requires_force() {
    let place = place();
    fs::write(place.path("out.csv"), "precious").unwrap();
    let error = place.wharf(&["convert", "@in", "@out.csv"]).failed(2);
    assert_eq!(error, "error: @out.csv: the output exists; --force replaces it");
    assert_eq!(place.read("out.csv"), "precious");
    assert_eq!(place.wharf(&["convert", "@in", "@out.csv", "--force"]).ok(), "");
    assert_eq!(place.read("out.csv"), "a,b\n1,x\n2,\n");
}

#[test]
fn refuses_an_input_as_output() {
    let place = place();
    let before = place.read("in");
    fs::hard_link(place.path("in"), place.path("again.csv")).unwrap();
    for output in ["@in", "@again.csv", "@./in"] {
        let error = place.wharf(&["convert", "@again.csv", "@in", output, "--to", "csv", "--force"]).failed(2);
        assert!(error.contains("the output is the input @again.csv"), "{error}");
    }
    assert_eq!(place.read("in"), before);
    assert_eq!(place.files(), ["again.csv", "in"]);
}

#[test]
fn error_keeps_the_existing_output() {
    let table = json!({"name": "rows", "columns": [{"name": "n", "type": "int"}], "rows": [[1], [2]], "fail_at": 1});
    let place = TestFolder::new().with_document("bad", &json!({"tables": [table]}));
    let error = place.wharf(&["convert", "@bad", "@out.csv"]).failed(1);
    assert_eq!(error, "error: mock: @bad: the block is damaged (row 1)");
    assert_eq!(place.files(), ["bad"]);
    fs::write(place.path("out.csv"), "old").unwrap();
    place.wharf(&["convert", "@bad", "@out.csv", "--force"]).failed(1);
    assert_eq!(place.read("out.csv"), "old");
    assert_eq!(place.files(), ["bad", "out.csv"]);
}

#[test]
fn refuses_mock_to_idv() {
    let place = place();
    let error = place.wharf(&["convert", "@in", "@out.idv"]).failed(1);
    assert_eq!(error, "error: @in: IDV cannot be written from files of the format mock");
    assert_eq!(place.files(), ["in"]);
}

#[test]
fn converts_rows_of_any_format_to_samples() {
    let place = place();
    let samples = |name: &str| {
        let reader = datadings::Reader::open(place.path(name)).unwrap();
        let all = reader.iter().map(|sample| sample.unwrap().as_bytes().to_vec());
        all.collect::<Vec<_>>()
    };
    let ran = place.wharf(&["convert", "@in", "@in", "@out.msgpack", "--number", "--json"]);
    assert_eq!(ran.json(), json!({"file": "@out.msgpack", "to": "datadings", "rows": 4, "bytes": 90}));
    let written = samples("out.msgpack");
    assert_eq!(written[1], b"\x83\xa3key\xaa0000000001\xa1a\x02\xa1b\xc0");
    assert_eq!(written[2], b"\x83\xa3key\xaa0000000002\xa1a\x01\xa1b\xa1x");
    assert_eq!(
        place.wharf(&["convert", "@in", "@a.msgpack", "--key", "a", "--columns", "b", "--rows", "1.."]).ok(),
        ""
    );
    assert_eq!(samples("a.msgpack"), [b"\x82\xa3key\xa12\xa1b\xc0"]);
    let error = place.wharf(&["convert", "@in", "@b.msgpack", "--key", "b"]).failed(1);
    assert_eq!(error, "error: @in: key: expected text or an integer, found a value of kind nil (row 1)");
    let error = place.wharf(&["convert", "@in", "@b.msgpack", "--key", "c"]).failed(2);
    assert_eq!(error, "error: @in: no column \"c\"");
    let error = place.wharf(&["convert", "@in", "@in", "@b.msgpack", "--key", "a"]).failed(1);
    assert!(error.starts_with("error: @in: duplicate key, first in sample 0"), "{error}");
    let error = place.wharf(&["convert", "@in", "@b.msgpack", "--number", "--rows", "3"]).failed(2);
    assert_eq!(error, "error: no row 3: the input has 2 rows, counted from 0");
    assert!(place.files().iter().all(|name| !name.starts_with("b.")));
}

#[test]
fn row_error_leaves_no_dataset() {
    let table = json!({"name": "rows", "columns": [{"name": "n", "type": "int"}], "rows": [[1], [2]], "fail_at": 1});
    let place = TestFolder::new().with_document("bad", &json!({"tables": [table]}));
    let error = place.wharf(&["convert", "@bad", "@out.msgpack", "--number"]).failed(1);
    assert_eq!(error, "error: mock: @bad: the block is damaged (row 1)");
    assert_eq!(place.files(), ["bad"]);
}

#[test]
fn refuses_idv_on_a_terminal() {
    let place = TestFolder::new().with_text("in.csv", "a\n1\n").on_terminal(80);
    let error = place.wharf(&["convert", "@in.csv", "-", "--to", "idv"]).failed(2);
    assert_eq!(error, "error: idv is binary and cannot be shown on a terminal: give a file or a pipe");
    let ran = place.wharf(&["convert", "@in.csv", "@out.idv"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, ""));
    assert_eq!(ran.err, "note: @in.csv: a: Int64\nnote: @out.idv: 1 row, 1 column\n");
}

#[test]
fn names_a_missing_output_folder() {
    let error = place().wharf(&["convert", "@in", "@no/out.csv"]).failed(1);
    assert!(error.starts_with("error: @no/out.csv: cannot create the output: "), "{error}");
}

#[test]
fn loss_is_reported_and_output_is_written() {
    let place = TestFolder::new().with("in", &["a"], &json!([[null]]));
    let ran = place.wharf(&["convert", "@in", "@out.csv"]);
    assert_eq!((ran.code, ran.out.as_str()), (3, ""));
    assert_eq!(ran.err, "warning: @in: null in the only column written as an empty string (row 0)\n");
    assert_eq!(place.read("out.csv"), "a\n\"\"\n");
}

#[test]
fn prints_the_result_as_json() {
    let place = place();
    let ran = place.wharf(&["convert", "@in", "@in", "@out.csv", "--json"]);
    assert_eq!(ran.json(), json!({"file": "@out.csv", "to": "csv", "rows": 4, "bytes": 18}));
    assert_eq!(place.read("out.csv").len(), 18);
    let ran =
        TestFolder::new().with("in", &["a"], &json!([[1]])).on_terminal(80).wharf(&["convert", "@in", "@out.jsonl"]);
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("", "note: @out.jsonl: 1 row\n"));
}

#[test]
fn options_may_precede_or_follow_names() {
    let csv = "a,b\n1,x\n2,\n1,x\n2,\n";
    for arguments in [
        &["convert", "@in", "@in", "@out.csv", "--limit", "9"][..],
        &["convert", "@in", "--limit", "9", "@in", "@out.csv"],
        &["convert", "@in", "@in", "--limit", "9", "@out.csv"],
        &["convert", "--limit", "9", "@in", "--force", "@in", "--columns", "a,b", "@out.csv"],
        &["convert", "@in", "--limit", "9", "--", "@in", "@out.csv"],
    ] {
        let place = place();
        assert_eq!(place.wharf(arguments).ok(), "", "{arguments:?}");
        assert_eq!(place.read("out.csv"), csv);
    }
    let place = place();
    let error = place.wharf(&["convert", "@in", "--force"]).failed(2);
    assert_eq!(error, "error: expected <IN>... <OUT>, found only \"@in\"");
    assert_eq!(place.files(), ["in"]);
    for help in ["-h", "--help"] {
        let help = place.wharf(&["convert", help]).ok();
        for part in
            ["Usage: wharf convert [OPTIONS] <IN>... <OUT>\n\nArguments:\n  <IN>...  Files", "\n  <OUT>    The file"]
        {
            assert!(help.contains(part), "{help}");
        }
    }
}
