//! Parquet and Arrow IPC with pyarrow, both ways: we read files written with each of its options and write them again, and pyarrow compares
//! schema and values. It also reads our conversions of the golden tables from every other format.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::interop::numbers;
use crate::python::Python;
use crate::shell;

/// The formats that each file is converted to; the compressions of Parquet alternate.
const TARGETS: [&str; 3] = ["parquet", "arrow", "arrows"];
const COMPRESSIONS: [&str; 3] = ["zstd", "snappy", "none"];

/// The formats of the golden tables: extension, and the format whose type mapping applies.
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
    println!("pyarrow writes {count} random tables (seed {seed}) and a large one, with each of its options");
    let mut write = python.script("arrow_interop.py", ["write"]);
    write.arg(&theirs).args(["--seed", &seed.to_string(), "--count", &count.to_string()]);
    let reported = numbers(&shell::text(write)?)?;

    let wharf = shell::test_build("wharf")?;
    let convert = |source: &Path, turn: usize| -> Result<Vec<PathBuf>, String> {
        let mut outputs = Vec::new();
        for extension in TARGETS {
            let target = ours.join(format!("{}.{extension}", shell::file_name(source)));
            let mut convert = shell::program(&wharf);
            convert.arg("convert").arg(source).arg(&target);
            if extension == "parquet" {
                convert.args(["--compression", COMPRESSIONS.get(turn % COMPRESSIONS.len()).unwrap_or(&"none")]);
            }
            let output = shell::output(&mut convert)?;
            // Exit code 3 is success with loss: the values decide.
            if !matches!(output.status.code(), Some(0 | 3)) {
                let stderr = String::from_utf8_lossy(&output.stderr);
                return Err(format!(
                    "`{}` ended with {}: {}",
                    shell::command_line(&convert),
                    output.status,
                    stderr.trim_end()
                ));
            }
            outputs.push(target);
        }
        Ok(outputs)
    };
    let (mut written, mut failures) = (Vec::new(), Vec::new());
    let (mut pyarrow_files, mut golden_files) = (0, 0);
    for (turn, source) in shell::entries(&theirs)?.iter().enumerate() {
        match convert(source, turn) {
            Ok(outputs) => {
                pyarrow_files += 1;
                written.extend(outputs.iter().map(|made| json!({"of": source, "made": made}).to_string()));
            }
            Err(why) => failures.push(why),
        }
    }
    let golden = shell::root().join("tests/golden/cross");
    for table in shell::files_with_extension(&golden, "idv")?.iter().filter_map(|path| path.file_stem()) {
        let table = table.to_string_lossy();
        for (extension, format) in FORMATS {
            match convert(&golden.join(format!("{table}.{extension}")), golden_files) {
                Ok(outputs) => {
                    golden_files += 1;
                    let line = |made: &PathBuf| json!({"table": table, "format": format, "made": made}).to_string();
                    written.extend(outputs.iter().map(line));
                }
                Err(why) => failures.push(why),
            }
        }
    }
    if !failures.is_empty() {
        return Err(format!("{} files could not be converted:\n{}", failures.len(), failures.join("\n")));
    }
    let files = reported("files")?;
    println!("read {pyarrow_files} files of pyarrow and {golden_files} golden files, wrote {}", written.len());

    let list = work.join("written.jsonl");
    shell::write(&list, written.join("\n") + "\n")?;
    let check = python.script("arrow_interop.py", [Path::new("check"), &list]);
    let checked = shell::text(check).map_err(|error| format!("pyarrow reads other values in our files: {error}"))?;
    let checked = numbers(&checked)?;
    let targets = u64::try_from(TARGETS.len()).unwrap_or(0);
    if checked("same")? != targets * files || checked("tables")? == 0 || pyarrow_files != files {
        return Err(format!("pyarrow wrote {files} files, and read {} of ours", checked("same")?));
    }
    println!(
        "pyarrow reads the same schema and values in {} rewritten files and {} golden tables; {} rows",
        checked("same")?,
        checked("tables")?,
        checked("rows")?
    );
    Ok(())
}
