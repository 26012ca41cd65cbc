//! Parquet and Arrow IPC with pyarrow, both ways: we read what it writes in every way it knows and write it again, it reads that and finds the same schema and
//! values; and it reads what we make of the golden tables in every other format.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::interop::numbers;
use crate::python::Python;
use crate::shell;

/// What we write of each file; how Parquet is compressed takes turns.
const FORMS: [&str; 3] = ["parquet", "arrow", "arrows"];
const COMPRESSIONS: [&str; 3] = ["zstd", "snappy", "none"];

/// The other formats of the golden tables: extension, and the format whose rules it has.
const FORMATS: [(&str, &str); 10] = [
    ("idv", "idv"),
    ("msgpack", "datadings"),
    ("ds", "ds"),
    ("zds", "zds"),
    ("csv", "csv"),
    ("tsv", "csv"),
    ("jsonl", "jsonl"),
    ("parquet", "parquet"),
    ("arrow", "arrow"),
    ("arrows", "arrow"),
];

pub(crate) fn run(python: &Python, seed: u64, count: u64) -> Result<(), String> {
    let work = shell::target()?.join("interop/arrow");
    shell::empty_directory(&work)?;
    let (theirs, ours) = (work.join("theirs"), work.join("ours"));
    shell::make_directory(&theirs)?;
    shell::make_directory(&ours)?;
    println!("pyarrow writes {count} random tables (seed {seed}) and a large one, in every way");
    let mut write = python.script("arrow_interop.py", ["write"]);
    write.arg(&theirs).args(["--seed", &seed.to_string(), "--count", &count.to_string()]);
    let told = numbers(&shell::text(write)?)?;

    let wharf = shell::test_build("wharf")?;
    let convert = |source: &Path, turn: usize| -> Result<Vec<PathBuf>, String> {
        let mut made = Vec::new();
        for form in FORMS {
            let target = ours.join(format!("{}.{form}", shell::file_name(source)));
            let mut convert = shell::program(&wharf);
            convert.arg("convert").arg(source).arg(&target);
            if form == "parquet" {
                convert.args(["--compression", COMPRESSIONS.get(turn % COMPRESSIONS.len()).unwrap_or(&"none")]);
            }
            let output = shell::output(&mut convert)?;
            // With losses it is done, too: the values tell.
            if !matches!(output.status.code(), Some(0 | 3)) {
                let said = String::from_utf8_lossy(&output.stderr);
                return Err(format!(
                    "`{}` ended with {}: {}",
                    shell::command_line(&convert),
                    output.status,
                    said.trim_end()
                ));
            }
            made.push(target);
        }
        Ok(made)
    };
    let (mut written, mut wrong) = (Vec::new(), Vec::new());
    let (mut of_theirs, mut of_tables) = (0, 0);
    for (turn, source) in shell::entries(&theirs)?.iter().enumerate() {
        match convert(source, turn) {
            Ok(made) => {
                of_theirs += 1;
                written.extend(made.iter().map(|made| json!({"of": source, "made": made}).to_string()));
            }
            Err(why) => wrong.push(why),
        }
    }
    let golden = shell::root().join("tests/golden/cross");
    for table in shell::files_with_extension(&golden, "idv")?.iter().filter_map(|path| path.file_stem()) {
        let table = table.to_string_lossy();
        for (extension, format) in FORMATS {
            match convert(&golden.join(format!("{table}.{extension}")), of_tables) {
                Ok(made) => {
                    of_tables += 1;
                    let line = |made: &PathBuf| json!({"table": table, "format": format, "made": made}).to_string();
                    written.extend(made.iter().map(line));
                }
                Err(why) => wrong.push(why),
            }
        }
    }
    if !wrong.is_empty() {
        return Err(format!("{} files are not converted:\n{}", wrong.len(), wrong.join("\n")));
    }
    let files = told("files")?;
    println!("we read {of_theirs} files of pyarrow's and {of_tables} golden ones, and wrote {}", written.len());

    let list = work.join("written.jsonl");
    shell::write(&list, written.join("\n") + "\n")?;
    let check = python.script("arrow_interop.py", [Path::new("check"), &list]);
    let checked = shell::text(check).map_err(|error| format!("pyarrow reads something else in ours: {error}"))?;
    let checked = numbers(&checked)?;
    let forms = u64::try_from(FORMS.len()).unwrap_or(0);
    if checked("same")? != forms * files || checked("tables")? == 0 || of_theirs != files {
        return Err(format!("pyarrow wrote {files} files, and read {} of ours", checked("same")?));
    }
    println!(
        "pyarrow finds the same schema and values in {} files of ours that were its own, and the tables in {} others; {} rows",
        checked("same")?,
        checked("tables")?,
        checked("rows")?
    );
    Ok(())
}
