//! Compares IDV files with ML.NET's dumps of them: `idv-compare DIRECTORY...`.
//!
//! Every `NAME.idv` is compared with `NAME.expected.jsonl` beside it. Prints one line per directory; exit code 1 for a difference.

use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use container_core::{Error, Result};
use idv::Reader;
use wharf_tests::idv_canonical;

fn main() -> ExitCode {
    let mut failed = 0;
    let mut directories = 0;
    for directory in std::env::args_os().skip(1) {
        directories += 1;
        let directory = PathBuf::from(directory);
        match compare_all(&directory) {
            Ok((files, values)) => println!("{}: {files} files, {values} values equal", directory.display()),
            Err(errors) => {
                failed += errors.len();
                for error in errors {
                    eprintln!("{error}");
                }
            }
        }
    }
    if directories == 0 {
        eprintln!("usage: idv-compare DIRECTORY...");
        return ExitCode::from(2);
    }
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn compare_all(directory: &Path) -> Result<(u64, u64), Vec<Error>> {
    let (mut files, mut values, mut errors) = (0, 0, Vec::new());
    let mut paths = match fs::read_dir(directory) {
        Ok(entries) => entries.flatten().map(|entry| entry.path()).collect::<Vec<_>>(),
        Err(cause) => return Err(vec![Error::io(format!("cannot list {}", directory.display()), cause)]),
    };
    paths.sort();
    for path in paths.iter().filter(|path| path.extension().is_some_and(|extension| extension == "idv")) {
        match compare(path) {
            Ok(equal) => (files, values) = (files + 1, values + equal),
            Err(error) => errors.push(error.in_file(path.display().to_string())),
        }
    }
    if files == 0 && errors.is_empty() {
        errors.push(Error::usage(format!("no IDV file in {}", directory.display())));
    }
    if errors.is_empty() { Ok((files, values)) } else { Err(errors) }
}

fn compare(path: &Path) -> Result<u64> {
    let expected = path.with_extension("expected.jsonl");
    let expected = File::open(expected).map_err(|cause| Error::io("cannot open the expected dump", cause))?;
    idv_canonical::compare(&Reader::open(path)?, BufReader::new(expected))
}
