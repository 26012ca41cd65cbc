//! The program `wharf-sql`: what it prints, exit codes, signals.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::support::golden;

/// A folder in which the program runs.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.csv"), "name,n\na,1\n\"b, c\",2\na,3\n").unwrap();
        Self(folder)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wharf-sql"));
        command.args(arguments).current_dir(self.0.path()).stdin(Stdio::null());
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// What a successful run without messages prints.
    #[track_caller]
    fn ok(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(0), ""));
        text(&output.stdout)
    }

    /// The exit code and messages of a run.
    fn fails(&self, arguments: &[&str]) -> (i32, String) {
        let output = self.run(arguments);
        (output.status.code().unwrap(), text(&output.stderr))
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn rows_are_printed_in_every_form() {
    let test = Folder::new();
    let sql = "SELECT name, sum(n) AS s FROM 'a.csv' GROUP BY name ORDER BY name";
    assert_eq!(test.ok(&[sql]), "{\"name\":\"a\",\"s\":4}\n{\"name\":\"b, c\",\"s\":2}\n");
    assert_eq!(test.ok(&[sql, "--csv"]), "name,s\na,4\n\"b, c\",2\n");
    assert_eq!(test.ok(&[sql, "--tsv"]), "name\ts\na\t4\nb, c\t2\n");
    let table = test.ok(&[sql, "--pretty"]);
    assert!(table.starts_with("row  name  s\n") && table.lines().count() == 4, "{table}");
    let plan = test.ok(&["EXPLAIN SELECT n FROM 'a.csv'", "--pretty"]);
    assert!(
        plan.contains("physical_plan:\n") && plan.contains("DataSourceExec: wharf table=a.csv, columns=[n]"),
        "{plan}"
    );
    // Text of the data cannot control a terminal, nor that of an error.
    let (code, error) = test.fails(&["SELECT '\u{1b}[31m' FROM '\u{1b}]31m.csv'"]);
    assert!(code == 1 && !error.contains('\u{1b}'), "{error}");
}

#[test]
fn several_statements_and_scripts() {
    let test = Folder::new();
    assert_eq!(
        test.ok(&["SELECT 1 AS a; SET datafusion.execution.batch_size = 10; SELECT 2 AS b;"]),
        "{\"a\":1}\n{\"b\":2}\n"
    );
    fs::write(test.0.path().join("one.sql"), "-- a comment;\nCREATE VIEW v AS\n  SELECT n FROM 'a.csv';\n").unwrap();
    fs::write(test.0.path().join("two.sql"), ".read one.sql\nSELECT max(n) AS m FROM v;\n").unwrap();
    assert_eq!(test.ok(&["-f", "two.sql"]), "{\"m\":3}\n");
    assert_eq!(test.ok(&["-f", "one.sql", "SELECT min(n) AS m FROM v"]), "{\"m\":1}\n");
    fs::write(test.0.path().join("self.sql"), ".read self.sql\n").unwrap();
    assert_eq!(
        test.fails(&["-f", "self.sql"]),
        (2, "error: self.sql: more than 16 scripts read one another\n".to_owned())
    );
    let mut child = test.command(&[]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"SELECT count(*) AS n\nFROM 'a.csv'").unwrap();
    assert_eq!(text(&child.wait_with_output().unwrap().stdout), "{\"n\":3}\n");
}

#[test]
fn output_is_a_file_of_any_format() {
    let test = Folder::new();
    let sql = "SELECT n, name AS key FROM 'a.csv' WHERE n < 3";
    for extension in ["idv", "parquet", "msgpack", "ds", "zds", "jsonl", "csv", "arrow"] {
        let path = format!("out.{extension}");
        let id = if extension == "zds" { &["--id", "n"][..] } else { &[] };
        test.ok(&[&[sql, "-o", &path], id].concat());
        assert_eq!(test.ok(&[&format!("SELECT sum(n) AS s FROM '{path}'")]), "{\"s\":3}\n", "{extension}");
    }
    assert_eq!(test.ok(&[sql, "--to", "tsv", "-o", "-"]), "n\tkey\n1\ta\n2\tb, c\n");
    let (code, error) = test.fails(&[sql, "-o", "out.idv"]);
    assert!(code == 2 && error.contains("out.idv: the output exists; --force replaces it"), "{error}");
    test.ok(&[sql, "-o", "out.idv", "--force", "--level", "9"]);
    let report = test.ok(&[sql, "-o", "again.parquet", "--json"]);
    assert!(report.starts_with("{\"file\":\"again.parquet\",\"to\":\"parquet\",\"rows\":2,"), "{report}");
    let several = "SELECT 1 AS a; SELECT 2 AS b";
    let error = "error: a statement before the last one returns rows; --output writes those of the last one\n";
    assert_eq!(test.fails(&[several, "-o", "x.csv"]), (2, error.to_owned()));
    assert!(!test.0.path().join("x.csv").exists());
}

/// Options that this program would not look at.
#[test]
fn options_that_do_not_apply_are_refused() {
    let test = Folder::new();
    let sql = "SELECT * FROM 'a.csv'";
    for (flag, value) in [("--delimiter", ";"), ("--from", "csv")] {
        let (code, error) = test.fails(&[sql, flag, value]);
        assert!(code == 2 && error.contains(&format!("unexpected argument '{flag}'")), "{error}");
    }
    let error = "error: --drop applies to rows that are written to a file; --output names one\n";
    assert_eq!(test.fails(&[sql, "--drop", "n"]), (2, error.to_owned()));
    fs::write(test.0.path().join("b.txt"), "n\n1\n").unwrap();
    let (code, error) = test.fails(&["SELECT * FROM 'b.txt'", "-o", "b.parquet"]);
    assert!(code == 1 && error.contains("OPTIONS (from ...)") && !error.contains("--from"), "{error}");
}

#[test]
fn exit_codes_and_messages() {
    let test = Folder::new();
    let wrong = "error: no column \"nn\"; similar: \"n\" (line 2, column 8)\n".to_owned();
    assert_eq!(test.fails(&["\nSELECT nn FROM 'a.csv'"]), (2, wrong));
    let (code, error) = test.fails(&["SELECT 1 FROM"]);
    assert!(code == 2 && error.starts_with("error: invalid SQL: "), "{error}");
    assert_eq!(test.fails(&["SELECT 1 / 0"]).0, 1);
    let (code, error) = test.fails(&["SELECT * FROM 'none.idv'", "--json"]);
    assert!(code == 1 && error.starts_with("{\"error\":{\"kind\":\"io\","), "{error}");
    assert_eq!(test.fails(&["SELECT 1", "--nonsense"]).0, 2);
    let several = golden("ds/again.ds");
    let (code, error) = test.fails(&[&format!("SELECT * FROM '{}'", several.display())]);
    assert!(code == 2 && error.ends_with("wharf('FILE', 'TABLE') selects one\n"), "{error}");
    let (code, error) = test.fails(&["COPY (SELECT 1 AS a) TO 'a.msgpack'"]);
    assert!(code == 2 && error.contains("OPTIONS (key ...) takes another column"), "{error}");
    let (code, error) = test.fails(&[
        "SELECT max(a) FROM (SELECT DISTINCT CAST(value AS VARCHAR) AS a FROM generate_series(1, 50000))",
        "--memory",
        "100K",
    ]);
    assert!(code == 1 && error.contains("--memory sets the limit"), "{error}");
    // A loss is a warning and an exit code.
    let (code, error) = test
        .fails(&["COPY (SELECT TIMESTAMP '2020-01-01T00:00:00.000000001' AS t) TO 't.idv' OPTIONS (times 'floor')"]);
    assert!(code == 3 && error.starts_with("warning: "), "{code} {error}");
}

/// A reader that closes the pipe ends the program quietly.
#[test]
fn a_closed_pipe_is_no_error() {
    let test = Folder::new();
    let sql = "SELECT value FROM generate_series(1, 100000000)";
    let mut child = test.command(&[sql]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(0), ""));
}

/// A signal ends a query, and leaves neither an output nor a temporary file.
#[cfg(unix)]
#[test]
fn a_signal_leaves_no_file() {
    use std::os::unix::process::ExitStatusExt;
    let test = Folder::new();
    let sql = "COPY (SELECT value AS n FROM generate_series(1, 100000000000)) TO 'n.parquet'";
    let mut child = test.command(&[sql]).spawn().unwrap();
    wait_for_output(test.0.path());
    // Not SIGINT: a program that is started in the background ignores it, and so do its children.
    assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().signal(), Some(15));
    assert_eq!(names(test.0.path()), ["a.csv"]);
}

fn names(folder: &Path) -> Vec<String> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// Waits until a temporary file has appeared.
fn wait_for_output(folder: &Path) {
    for _ in 0..600 {
        if names(folder).len() > 1 {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    panic!("no output was begun");
}
