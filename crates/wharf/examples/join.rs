//! Joins the files of a folder into one: `cargo run --example join -- days days.parquet`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use wharf::{Error, Merge, Overwrite, Registry, Result};

/// The files of the folder with the extension of the output, sorted by name.
fn inputs(folder: &Path, output: &Path) -> Result<Vec<PathBuf>> {
    let failed = |cause| Error::io("cannot read the folder", cause).in_file(folder.display().to_string());
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.extension() == output.extension() {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

fn join(folder: &Path, output: &Path) -> Result<()> {
    let merge = Merge::new(inputs(folder, output)?);
    let report = merge.write(output, Overwrite::Refuse, &Registry::builtin())?;
    report.losses.iter().for_each(|lost| eprintln!("lost: {lost}"));
    println!("{}: {} rows of {} files", output.display(), report.rows, report.inputs);
    Ok(())
}

fn main() -> ExitCode {
    let arguments: Vec<PathBuf> = std::env::args_os().skip(1).map(Into::into).collect();
    let [folder, output] = &*arguments else {
        eprintln!("usage: join FOLDER OUTPUT");
        return ExitCode::from(2);
    };
    match join(folder, output) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
