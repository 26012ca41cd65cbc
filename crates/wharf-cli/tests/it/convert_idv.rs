//! `wharf convert` to IDV, from IDV and text.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::LazyLock;

use container_core::testkit::cases;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::common::{Ran, golden, goldens, run, wharf};

/// A temporary folder. `@x` in arguments is its file `x`.
pub(crate) struct TestFolder(TempDir);

impl TestFolder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn with(self, name: &str, text: &str) -> Self {
        fs::write(self.0.path().join(name), text).unwrap();
        self
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.0.path().join(name).into_os_string().into_string().unwrap()
    }

    fn arguments(&self, arguments: &[&str]) -> Vec<String> {
        let folder = format!("{}/", self.0.path().display());
        arguments.iter().map(|argument| argument.replace('@', &folder)).collect()
    }

    /// Runs the command.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        run(self.arguments(arguments))
    }

    /// Runs the command and returns its exit code and standard error.
    fn said(&self, arguments: &[&str]) -> (i32, String) {
        let ran = self.run(arguments);
        assert_eq!(ran.out(), "");
        let folder = format!("{}/", self.0.path().display());
        (ran.code(), ran.err().replace(&folder, "@"))
    }

    fn cat(&self, name: &str) -> Vec<String> {
        let ran = self.run(&["cat", &format!("@{name}"), "--json"]);
        ran.ok();
        ran.out().lines().map(str::to_owned).collect()
    }

    fn info(&self, name: &str) -> Value {
        info(&self.path(name))
    }

    fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

fn info(file: &str) -> Value {
    let ran = run(["info", file, "--json"]);
    ran.ok();
    serde_json::from_str(ran.out()).unwrap()
}

/// The printed rows, ignoring losses.
fn rows(file: &str) -> String {
    let ran = run(["cat", file, "--json"]);
    assert!([0, 3].contains(&ran.code()), "{file}: {}", ran.err());
    ran.out().to_owned()
}

fn essence(file: &str) -> Value {
    essence_of(info(file))
}

/// The description of a file, without what depends on block size and compression.
fn essence_of(mut info: Value) -> Value {
    info.as_object_mut().unwrap().remove("bytes");
    for column in info["tables"][0]["columns"].as_array_mut().unwrap() {
        let column = column.as_object_mut().unwrap();
        for size in ["bytes", "decompressed_bytes", "rows_per_block", "blocks"] {
            column.remove(size);
        }
    }
    info
}

/// A golden file as the command shows it.
struct Shown {
    path: PathBuf,
    info: String,
    essence: Value,
    rows: String,
}

/// Shown once for all tests: each takes two runs of the command.
static SHOWN: LazyLock<Vec<Shown>> = LazyLock::new(|| goldens().into_iter().map(Shown::new).collect());

impl Shown {
    fn new(path: PathBuf) -> Self {
        let file = path.to_str().unwrap();
        let ran = run(["info", file, "--json"]);
        let (info, rows) = (ran.ok().to_owned(), rows(file));
        let essence = essence_of(serde_json::from_str(&info).unwrap());
        Self { path, info, essence, rows }
    }

    fn file(&self) -> &str {
        self.path.to_str().unwrap()
    }

    fn name(&self) -> &str {
        self.path.file_stem().unwrap().to_str().unwrap()
    }

    fn equals(&self, file: &str) -> bool {
        rows(file) == self.rows && essence(file) == self.essence
    }
}

#[test]
fn idv_to_idv_keeps_rows_types_and_annotations() {
    let place = TestFolder::new();
    let output = place.path("out.idv");
    for golden in SHOWN.iter() {
        let file = golden.file();
        let ran = run(["convert", file, &output, "--force"]);
        // Values that `verify` rejects are kept and reported.
        let rejected = file.contains("key-above-count");
        assert_eq!(
            (ran.code(), ran.err().is_empty()),
            (if rejected { 3 } else { 0 }, !rejected),
            "{file}: {}",
            ran.err()
        );
        assert_eq!(rows(&output), golden.rows, "{file}");
        assert_eq!(essence(&output), golden.essence, "{file}");
    }
}

/// A copy of a file with an unknown codec name.
fn with_unknown_codec(file: &str, codec: &str, copy: &str) {
    let mut bytes = fs::read(file).unwrap();
    let at = bytes.windows(codec.len()).rposition(|window| window == codec.as_bytes()).unwrap();
    bytes[at..at + codec.len()].fill(b'?');
    fs::write(copy, bytes).unwrap();
}

#[test]
fn omits_and_reports_unreadable_columns() {
    let place = TestFolder::new();
    with_unknown_codec(&golden("block-rows-7.idv"), "TextSpan", &place.path("in.idv"));
    let (code, said) = place.said(&["convert", "@in.idv", "@out.idv"]);
    assert_eq!(code, 3);
    assert!(said.starts_with("warning: @in.idv: column left out ("), "{said}");
    assert!(said.ends_with(" (column \"Text\")\n") && said.lines().count() == 1, "{said}");
    let others = run(["cat", &golden("block-rows-7.idv"), "--json", "--columns", "Int32,KeyByte,Vector"]);
    assert_eq!(rows(&place.path("out.idv")), others.ok());
    // It is not a loss if the column is not selected.
    place.run(&["convert", "@in.idv", "@some.idv", "--columns", "Int32,KeyByte,Vector"]).ok();
    assert_eq!(rows(&place.path("some.idv")), others.ok());
    let (code, _) = place.said(&["convert", "@in.idv", "@none.idv", "--columns", "Text"]);
    assert_eq!((code, place.files()), (1, vec!["in.idv".to_owned(), "out.idv".to_owned(), "some.idv".to_owned()]));
}

#[test]
fn uses_requested_compression_and_block_size() {
    let place = TestFolder::new();
    let file = golden("block-rows-7.idv");
    for (arguments, compression, rows_per_block) in [
        (&["--compression", "none"][..], "none", 23),
        (&["--compression", "zlib", "--rows-per-block", "5"], "zlib", 5),
        (&["--level", "9", "--rows-per-block", "1"], "deflate", 1),
        (&["--bytes-per-block", "1"], "deflate", 1),
    ] {
        place.run(&[&["convert", &file, "@out.idv", "--force"], arguments].concat()).ok();
        for column in place.info("out.idv")["tables"][0]["columns"].as_array().unwrap() {
            let found = (&column["compression"], &column["rows_per_block"]);
            assert_eq!(found, (&json!(compression), &json!(rows_per_block)), "{arguments:?}");
        }
        assert_eq!(rows(&place.path("out.idv")), rows(&file));
    }
}

#[test]
fn selects_columns_and_rows_across_files() {
    let place = TestFolder::new();
    let file = golden("block-rows-7.idv");
    let all = run(["cat", &file, &file, "--json", "--columns", "Vector,Text"]);
    let all: Vec<&str> = all.ok().lines().collect();
    assert_eq!(all.len(), 46);
    for (arguments, range) in [
        (&["--rows", "20..27"][..], 20..27),
        (&["--rows", "30.."], 30..46),
        (&["--rows", "5"], 5..6),
        (&["-n", "3"], 0..3),
        (&["--rows", "22..", "-n", "2"], 22..24),
        (&["--rows", "46.."], 46..46),
    ] {
        let fixed = ["convert", &file, &file, "@out.idv", "--force", "--columns", "Vector,Text"];
        place.run(&[&fixed, arguments].concat()).ok();
        assert_eq!(place.cat("out.idv"), all[range], "{arguments:?}");
    }
    let (code, said) = place.said(&["convert", &file, "@none.idv", "--rows", "24.."]);
    assert_eq!((code, said.as_str()), (2, "error: no row 24: the input has 23 rows, counted from 0\n"));
    assert_eq!(place.files(), ["out.idv"]);
}

#[test]
fn refuses_different_files_with_the_difference() {
    let place = TestFolder::new();
    let (one, two) = (golden("block-rows-7.idv"), golden("text-ascii.idv"));
    let error = place.run(&["convert", &one, &two, "@out.idv", "--json"]).json_error(1);
    let message = error["message"].as_str().unwrap();
    assert!(message.starts_with(&format!("{two}: columns differ from those of {one}: ")), "{message}");
    assert_eq!(place.files(), Vec::<String>::new());
}

/// Golden files that JSON lines cannot restore, and why.
const NOT_IN_JSON: &[(&str, &str)] = &[("key-values-sparse", "two keys have the same label")];

#[test]
fn goldens_round_trip_through_json_lines() {
    let place = TestFolder::new();
    let (lines, types, output) = (place.path("x.jsonl"), place.path("x.json"), place.path("x.idv"));
    let mut differ = Vec::new();
    for golden in SHOWN.iter() {
        fs::write(&types, &golden.info).unwrap();
        fs::write(&lines, &golden.rows).unwrap();
        let ran = run(["convert", &lines, &output, "--force", "--schema", &types]);
        if ran.code() != 0 || !golden.equals(&output) {
            differ.push((golden.name(), ran.err().chars().take(200).collect::<String>()));
        }
    }
    let found: Vec<&str> = differ.iter().map(|(name, _)| *name).collect();
    let expected: Vec<&str> = NOT_IN_JSON.iter().map(|(name, _)| *name).collect();
    assert_eq!(found, expected, "{differ:?}");
}

/// Golden files that CSV cannot restore, and why.
const NOT_IN_CSV: &[(&str, &str)] = &[
    ("empty-columns-rows", "rows without columns leave no line"),
    ("key-values-sparse", "two keys have the same label"),
];

#[test]
fn goldens_round_trip_through_csv() {
    let place = TestFolder::new();
    for extension in cases(&["csv"][..], &["csv", "tsv"]) {
        let (text, types, output) = (place.path(&format!("x.{extension}")), place.path("x.json"), place.path("x.idv"));
        let mut differ = Vec::new();
        for golden in SHOWN.iter() {
            fs::write(&types, &golden.info).unwrap();
            run(["convert", golden.file(), &text, "--force"]);
            let ran = run(["convert", &text, &output, "--force", "--schema", &types]);
            if ran.code() != 0 || !golden.equals(&output) {
                differ.push((golden.name(), ran.err().chars().take(200).collect::<String>()));
            }
        }
        let found: Vec<&str> = differ.iter().map(|(name, _)| *name).collect();
        let expected: Vec<&str> = NOT_IN_CSV.iter().map(|(name, _)| *name).collect();
        assert_eq!(found, expected, "{differ:?}");
    }
}

const PEOPLE: &str = "\
{\"name\":\"Ada\",\"age\":36,\"height\":1.65,\"born\":\"1815-12-10T00:00:00\",\"scores\":[1,2,3]}
{\"name\":\"Grace\",\"age\":85,\"height\":\"NaN\",\"scores\":[4,5,6],\"member\":true}
";

#[test]
fn reports_inferred_types() {
    let place = TestFolder::new().with("people.jsonl", PEOPLE);
    let (code, said) = place.said(&["convert", "@people.jsonl", "@people.idv"]);
    assert_eq!(code, 0);
    assert_eq!(
        said,
        "note: @people.jsonl: name: Text\n\
         note: @people.jsonl: age: Int64\n\
         note: @people.jsonl: height: Double\n\
         note: @people.jsonl: born: Text (some missing, which ML.NET reads as empty)\n\
         note: @people.jsonl: scores: Vector<Int64, 3>\n\
         note: @people.jsonl: member: Boolean (some missing, which ML.NET reads as false)\n"
    );
    assert_eq!(
        place.cat("people.idv"),
        [
            r#"{"name":"Ada","age":36,"height":1.65,"born":"1815-12-10T00:00:00","scores":[1,2,3],"member":null}"#,
            r#"{"name":"Grace","age":85,"height":"NaN","born":null,"scores":[4,5,6],"member":true}"#
        ]
    );
}

#[test]
fn json_schema_can_be_passed_back() {
    let place = TestFolder::new().with("people.jsonl", PEOPLE);
    let ran = place.run(&["convert", "@people.jsonl", "@people.idv", "--json"]);
    let done: Value = serde_json::from_str(ran.ok()).unwrap();
    let members: Vec<&str> = done.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(members, ["file", "to", "rows", "bytes", "columns", "schema"]);
    assert_eq!(
        (&done["file"], &done["to"], &done["rows"], &done["columns"]),
        (&json!(place.path("people.idv")), &json!("idv"), &json!(2), &json!(6))
    );
    assert_eq!(done["bytes"], fs::metadata(place.path("people.idv")).unwrap().len());
    let place = place.with("types.json", &done["schema"].to_string());
    let ran = place.run(&["convert", "@people.jsonl", "@again.idv", "--schema", "@types.json", "--json"]);
    let again: Value = serde_json::from_str(ran.ok()).unwrap();
    assert_eq!((again.get("schema"), &again["columns"]), (None, &json!(6)));
    assert_eq!(fs::read(place.path("people.idv")).unwrap(), fs::read(place.path("again.idv")).unwrap());
}

#[test]
fn accepts_an_idv_file_as_schema() {
    let place = TestFolder::new();
    let file = golden("key-values-text.idv");
    run(["convert", &file, &place.path("x.jsonl")]);
    place.run(&["convert", "@x.jsonl", "@x.idv", "--schema", &file]).ok();
    assert_eq!(rows(&place.path("x.idv")), rows(&file));
    assert_eq!(essence(&place.path("x.idv")), essence(&file));
    let place = place.with("not.json", "{\"a\":");
    let (code, said) = place.said(&["convert", "@x.jsonl", "@y.idv", "--schema", "@not.json"]);
    assert_eq!(code, 1);
    assert!(said.starts_with("error: @not.json: invalid JSON in the schema: "), "{said}");
}

#[test]
fn accepts_names_and_types_as_schema() {
    let place = TestFolder::new()
        .with("people.jsonl", PEOPLE)
        .with("types.json", r#"{"age": "Byte", "name": "Text", "weight": "Single"}"#);
    let (code, said) = place.said(&["convert", "@people.jsonl", "@people.idv", "--schema", "@types.json"]);
    assert_eq!(code, 0);
    // Types of other columns are inferred.
    assert_eq!(
        said,
        "note: @people.jsonl: height: Double\n\
         note: @people.jsonl: born: Text (some missing, which ML.NET reads as empty)\n\
         note: @people.jsonl: scores: Vector<Int64, 3>\n\
         note: @people.jsonl: member: Boolean (some missing, which ML.NET reads as false)\n"
    );
    let ada = r#"{"name":"Ada","age":36,"height":1.65,"born":"1815-12-10T00:00:00","scores":[1,2,3],"member":null,"weight":"NaN"}"#;
    let grace = r#"{"name":"Grace","age":85,"height":"NaN","born":null,"scores":[4,5,6],"member":true,"weight":"NaN"}"#;
    assert_eq!(place.cat("people.idv"), [ada, grace]);
    let arguments = ["convert", "@people.jsonl", "@two.idv", "--schema", "@types.json", "--columns", "weight,name"];
    place.run(&arguments).ok();
    assert_eq!(place.cat("two.idv"), [r#"{"weight":"NaN","name":"Ada"}"#, r#"{"weight":"NaN","name":"Grace"}"#]);
    let place = place.with("types.json", r#"{"height": "Int32"}"#);
    let (code, said) = place.said(&["convert", "@people.jsonl", "@none.idv", "--schema", "@types.json"]);
    assert_eq!(code, 1);
    assert!(said.contains("error: idv: @people.jsonl: expected Int32") && said.contains("found 1.65"), "{said}");
    assert!(said.ends_with(" (row 0, column \"height\")\n"), "{said}");
    assert_eq!(place.files(), ["people.idv", "people.jsonl", "two.idv", "types.json"]);
}

#[test]
fn selects_columns_and_rows_of_text() {
    let place = TestFolder::new().with("people.jsonl", PEOPLE).with("types.json", r#"{"age": "Byte", "name": "Text"}"#);
    let chosen = ["convert", "@people.jsonl", "@people.idv", "--force", "--columns", "name", "--rows", "1"];
    assert_eq!(place.said(&chosen), (0, "note: @people.jsonl: name: Text\n".to_owned()));
    assert_eq!(place.cat("people.idv"), [r#"{"name":"Grace"}"#]);
    // Unselected columns are not a loss.
    assert_eq!(place.said(&[&chosen[..], &["--schema", "@types.json"]].concat()), (0, String::new()));
    assert_eq!(place.cat("people.idv"), [r#"{"name":"Grace"}"#]);
    let (code, said) = place.said(&["convert", "@people.jsonl", "@none.idv", "--columns", "nam"]);
    assert_eq!(code, 2);
    assert!(said.ends_with("no column \"nam\"; similar: \"name\"\n"), "{said}");
    let (code, said) = place.said(&["convert", "@people.jsonl", "@none.idv", "--rows", "2", "--columns", "name"]);
    assert_eq!(code, 2);
    assert!(said.ends_with("no row 2: the input has 2 rows, counted from 0\n"), "{said}");
    assert!(!Path::new(&place.path("none.idv")).exists());
}

#[test]
fn reads_csv_variants() {
    let place = TestFolder::new()
        .with("a.csv", "id,text\n1,\"x,\ny\"\n2,\n")
        .with("b.csv", "id,text\n0.5,007\n")
        .with("c.tsv", "id\ttext\n1\tx\n")
        .with("d.data", "1;x\n2;y\n");
    place.run(&["convert", "@a.csv", "@b.csv", "@ab.idv", "--json"]).ok();
    assert_eq!(
        place.cat("ab.idv"),
        [r#"{"id":1.0,"text":"x,\ny"}"#, r#"{"id":2.0,"text":null}"#, r#"{"id":0.5,"text":"007"}"#]
    );
    place.run(&["convert", "@c.tsv", "@c.idv", "--json"]).ok();
    assert_eq!(place.cat("c.idv"), [r#"{"id":1,"text":"x"}"#]);
    let form = ["--from", "csv", "--no-header", "--delimiter", ";"];
    place.run(&[&["convert", "@d.data", "@d.idv", "--json"], &form[..]].concat()).ok();
    assert_eq!(place.cat("d.idv"), [r#"{"c0":1,"c1":"x"}"#, r#"{"c0":2,"c1":"y"}"#]);
    let (code, said) = place.said(&["convert", "@d.data", "@none.idv"]);
    assert_eq!(code, 2);
    assert_eq!(
        said,
        "error: @d.data: unrecognized format; --from declares it: jsonl, csv, tsv, idv, datadings or zip\n"
    );
    let (code, said) = place.said(&["convert", "@a.csv", "@c.tsv", "@none.idv"]);
    assert_eq!(code, 2);
    assert_eq!(said, "error: @c.tsv: found TSV, expected CSV like @a.csv: all inputs must be of one kind\n");
}

#[test]
fn summarizes_many_inferred_columns_by_type() {
    let members: Vec<String> = (0..30).map(|i| format!("\"x{i}\":{}", if i < 28 { "0.5" } else { "\"t\"" })).collect();
    let place = TestFolder::new().with("wide.jsonl", &format!("{{{}}}\n", members.join(",")));
    let (code, said) = place.said(&["convert", "@wide.jsonl", "@wide.idv"]);
    assert_eq!(
        (code, said.as_str()),
        (0, "note: @wide.jsonl: 28 columns: Double\nnote: @wide.jsonl: 2 columns: Text\n")
    );
}

#[test]
fn reads_and_writes_pipes() {
    let place = TestFolder::new().with("people.jsonl", PEOPLE);
    place.run(&["convert", "@people.jsonl", "@people.idv", "--json"]).ok();
    let whole = fs::read(place.path("people.idv")).unwrap();
    let mut command = wharf(["convert", "-", "-", "--to", "idv", "--json"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(PEOPLE.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), &*output.stderr), (Some(0), &b""[..]));
    assert_eq!(output.stdout, whole);
    // IDV can be written to a pipe too.
    let output = wharf(["convert", &place.path("people.idv"), "-", "--to", "idv"]).output().unwrap();
    assert_eq!(output.stdout, whole);
}

#[test]
fn refuses_inapplicable_options() {
    let place = TestFolder::new().with("a.jsonl", "{\"a\":1}\n").with("types.json", "{}");
    let file = golden("text-ascii.idv");
    for (arguments, expected) in [
        (&["convert", &file, "@x.csv", "--level", "1"][..], "--level is an option of idv, the output is csv"),
        (
            &["convert", &file, "@x.jsonl", "--schema", "@types.json"],
            "--schema is an option of idv, ds, netcdf, zarr, parquet, arrow and arrows, the output is jsonl",
        ),
        (&["convert", &file, "@x.idv", "--schema", "@types.json"], "--schema does not go with inputs that are IDV"),
        (&["convert", "@a.jsonl", "@x.idv", "--no-header"], "--no-header does not go with inputs that are JSON lines"),
        (&["convert", "@a.jsonl", "@x.idv", "--table", "rows"], "--table does not go with inputs that are JSON lines"),
        (
            &["convert", &file, "@x.idv", "--missing-as-null"],
            "--missing-as-null is for text outputs: IDV has its own missing values",
        ),
    ] {
        assert_eq!(place.said(arguments), (2, format!("error: {expected}\n")));
    }
    let (code, said) = place.said(&["convert", "@a.jsonl", "@x.idv", "--level", "10"]);
    assert!(code == 2 && said.contains("10 is not in 0..=9"), "{said}");
    assert_eq!(place.files(), ["a.jsonl", "types.json"]);
}

#[test]
fn converts_between_text_formats() {
    let place = TestFolder::new().with("a.jsonl", "{\"a\":1.50,\"b\":\"x,y\"}\n").with("a.csv", "a,b\n007,\n");
    assert_eq!(place.said(&["convert", "@a.jsonl", "@x.csv"]).0, 0);
    assert_eq!(place.said(&["convert", "@a.csv", "@x.jsonl"]).0, 0);
    assert_eq!(fs::read_to_string(place.path("x.csv")).unwrap(), "a,b\n1.5,\"x,y\"\n");
    assert_eq!(fs::read_to_string(place.path("x.jsonl")).unwrap(), "{\"a\":\"007\",\"b\":null}\n");
}

#[test]
fn error_keeps_the_existing_output() {
    let place = TestFolder::new().with("a.jsonl", "{\"a\":1}\n{\"a\":\n").with("x.idv", "precious");
    let (code, said) = place.said(&["convert", "@a.jsonl", "@x.idv"]);
    assert_eq!((code, said.as_str()), (2, "error: @x.idv: the output exists; --force replaces it\n"));
    let (code, said) = place.said(&["convert", "@a.jsonl", "@x.idv", "--force"]);
    assert_eq!(code, 1);
    assert_eq!(said, "error: jsonl: @a.jsonl: a value: needs 1 byte, 0 available (byte 13, line 2)\n");
    assert_eq!(fs::read_to_string(place.path("x.idv")).unwrap(), "precious");
    let (code, _) = place.said(&["convert", "@a.jsonl", "@a.jsonl", "--force", "--to", "idv"]);
    assert_eq!(code, 2);
    assert_eq!(place.files(), ["a.jsonl", "x.idv"]);
}
