//! Runs the reference implementations beside ours, and compares what both read and write.

mod arrow;
mod datadings;
pub(crate) mod ds;
mod ds_netcdf;
mod simplebloom;
mod written;
mod zarr;
pub(crate) mod zdx;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::{Args, ValueEnum};
use serde_json::Value;

use crate::mlnet::MlNet;
use crate::python::Python;
use crate::registry::Trouble;
use crate::shell;
use crate::zippy::Zippy;

/// Selects formats and the amount of data.
#[derive(Args)]
pub(crate) struct Options {
    /// Only these formats
    formats: Vec<Format>,
    /// Random seed of schemas and values
    #[arg(long, value_name = "N", default_value_t = 20_240_229)]
    seed: u64,
    /// Number of generated files
    #[arg(long, value_name = "K", default_value_t = 60)]
    count: u64,
    /// Compare every file of this directory instead of generated ones
    #[arg(long, value_name = "DIRECTORY")]
    files: Option<PathBuf>,
    /// Include NetCDF files of more than 4 GiB, which take minutes and 10 GB of disk
    #[arg(long)]
    large: bool,
}

impl Options {
    /// All formats, with `count` generated files each.
    pub(crate) fn brief(count: u64) -> Self {
        Self { formats: Vec::new(), seed: 20_240_229, count, files: None, large: false }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Parquet and Arrow IPC, with pyarrow
    Arrow,
    /// Datasets of msgpack samples, with Python's datadings
    Datadings,
    /// Arrays, with Python's ds-format
    Ds,
    /// NetCDF to ds and back, with the C library and Python's ds-format
    DsNetcdf,
    /// IDV, with ML.NET
    Idv,
    /// Bloom filters, with Python's simplebloom
    Simplebloom,
    /// Zarr to ds and back, with zarr-python, xarray and ds-format
    Zarr,
    /// Documents, with the crate zippy_data and the Python package over it
    Zdx,
}

/// Files that the driver writes from real datasets, compressed and uncompressed, and the schema of a model file.
const REAL_FILES: u64 = 11;

pub(crate) fn run(options: &Options) -> Result<(), String> {
    let selected = |format| options.formats.is_empty() || options.formats.contains(&format);
    if selected(Format::Idv)
        && let Some(mlnet) = mlnet_or_skip("live interop with ML.NET")?
    {
        idv(&mlnet, options)?;
    }
    if selected(Format::Simplebloom)
        && let Some(python) = python_or_skip("live interop with simplebloom")?
    {
        simplebloom::run(&python, options.seed, options.count)?;
    }
    if selected(Format::Datadings)
        && let Some(python) = python_or_skip("live interop with datadings")?
    {
        datadings::run(&python, options.seed, options.count)?;
    }
    if selected(Format::Ds)
        && let Some(python) = python_or_skip("live interop with ds-format")?
    {
        ds::run(&python, options.seed, options.count)?;
    }
    if selected(Format::DsNetcdf)
        && let Some(python) = python_or_skip("live interop with netCDF4")?
    {
        // `--files` holds NetCDF files only if this format was selected explicitly.
        let files = options.files.as_deref().filter(|_| options.formats.contains(&Format::DsNetcdf));
        ds_netcdf::run(&python, options.seed, options.count, files)?;
        if options.large {
            ds_netcdf::large(&python)?;
        }
    }
    if selected(Format::Arrow)
        && let Some(python) = python_or_skip("live interop with pyarrow")?
    {
        arrow::run(&python, options.seed, options.count)?;
    }
    if selected(Format::Zarr)
        && let Some(python) = python_or_skip("live interop with zarr-python")?
    {
        zarr::run(&python, options.seed, options.count)?;
    }
    if selected(Format::Zdx)
        && let Some(zippy) = zippy_or_skip("live interop with zippy_data")?
        && let Some(python) = python_or_skip("live interop with zippy-data")?
    {
        zdx::run(&zippy, &python, options.seed, options.count)?;
    }
    Ok(())
}

/// ML.NET, installed if necessary. `None`, with a notice, if a package registry cannot be reached.
pub(crate) fn mlnet_or_skip(what: &str) -> Result<Option<MlNet>, String> {
    or_skip(MlNet::install(), what)
}

/// The Python packages; see [`mlnet_or_skip`].
pub(crate) fn python_or_skip(what: &str) -> Result<Option<Python>, String> {
    or_skip(Python::install(), what)
}

/// The driver of zippy_data; see [`mlnet_or_skip`].
pub(crate) fn zippy_or_skip(what: &str) -> Result<Option<Zippy>, String> {
    or_skip(Zippy::install(), what)
}

/// Turns an unreachable registry into `None` and a notice.
pub(crate) fn or_skip<T>(installed: Result<T, Trouble>, what: &str) -> Result<Option<T>, String> {
    match installed {
        Ok(reference) => Ok(Some(reference)),
        Err(Trouble::Unreachable(why)) => {
            report_skipped(what, &why);
            Ok(None)
        }
        Err(Trouble::Failed(why)) => Err(why),
    }
}

/// Makes a skipped part hard to overlook.
fn report_skipped(what: &str, why: &str) {
    let line = format!("SKIPPED: {what}: a package registry cannot be reached: {why}");
    let rule = "!".repeat(78);
    println!("{rule}\n{line}\n{rule}");
}

fn idv(mlnet: &MlNet, options: &Options) -> Result<(), String> {
    let work = shell::target()?.join("interop/idv");
    if let Some(files) = &options.files {
        // Dumps are written beside copies, to leave the user's directory alone.
        let copies = work.join("files");
        let count = dump_all(mlnet, files, &copies)?;
        return compare(&[(&copies, count)]);
    }
    let (generated, real) = (work.join("generated"), work.join("real"));
    for directory in [&generated, &real] {
        shell::empty_directory(directory)?;
    }
    println!("ML.NET writes {} random files (seed {}) and real tables", options.count, options.seed);
    let mut driver = mlnet.driver("generate");
    driver.args(["--seed", &options.seed.to_string(), "--count", &options.count.to_string()]).arg(&generated);
    shell::run(driver)?;
    let mut driver = mlnet.driver("real");
    driver.arg(mlnet.datasets()).arg(&real);
    shell::run(driver)?;
    compare(&[(&generated, options.count), (&real, REAL_FILES)])?;
    written::run(mlnet, &[&generated, &real], &work, options.seed, options.count)
}

/// Copies the IDV files of a directory and lets ML.NET dump each; returns their number.
fn dump_all(mlnet: &MlNet, files: &Path, copies: &Path) -> Result<u64, String> {
    shell::empty_directory(copies)?;
    let mut count = 0;
    for file in shell::files_with_extension(files, "idv")? {
        let copy = copies.join(shell::file_name(&file));
        std::fs::copy(&file, &copy).map_err(|error| format!("cannot copy {}: {error}", file.display()))?;
        let mut driver = mlnet.driver("dump");
        driver.arg(&copy);
        let dump = shell::text(driver).map_err(|error| format!("ML.NET cannot read {}: {error}", file.display()))?;
        shell::write(&copy.with_extension("expected.jsonl"), dump)?;
        count += 1;
    }
    if count == 0 { Err(format!("no IDV file in {}", files.display())) } else { Ok(count) }
}

/// Compares every value we read with the dumps beside the files; each directory comes with its expected number of files.
fn compare(directories: &[(&Path, u64)]) -> Result<(), String> {
    for (directory, count) in directories {
        let actual = shell::files_with_extension(directory, "idv")?.len();
        if u64::try_from(actual) != Ok(*count) {
            return Err(format!("{}: expected {count} files, found {actual}", directory.display()));
        }
    }
    let mut compare = shell::program(shell::test_build("idv-compare")?);
    compare.args(directories.iter().map(|(directory, _)| directory));
    shell::run(compare).map_err(|error| format!("values differ from what ML.NET reads: {error}"))
}

/// Parses the JSON object that a program printed; the returned function looks up its numbers.
pub(crate) fn numbers(line: &str) -> Result<impl Fn(&str) -> Result<u64, String> + use<>, String> {
    let line: Value = serde_json::from_str(line).map_err(|error| format!("\"{line}\" is invalid JSON: {error}"))?;
    Ok(move |name: &str| line.get(name).and_then(Value::as_u64).ok_or_else(|| format!("no number {name} in {line}")))
}

/// Lets a script write the golden files of a directory again and compares every byte, except in `unstable` files, which vary between runs.
pub(crate) fn compare_golden_script(
    python: &Python,
    script: &str,
    folder: &str,
    fresh: &Path,
    unstable: &[&str],
) -> Result<(), String> {
    compare_golden(python.script(script, [fresh]), folder, fresh, |name| unstable.contains(&name))
}

/// The same for any program that writes into the directory `fresh` and prints the rows of the list. Files are identified by their paths
/// relative to the golden directory.
pub(crate) fn compare_golden(
    program: Command,
    folder: &str,
    fresh: &Path,
    unstable: impl Fn(&str) -> bool,
) -> Result<(), String> {
    shell::empty_directory(fresh)?;
    let command = shell::command_line(&program);
    let rows = shell::text(program)?;
    let golden = shell::root().join("tests/golden").join(folder);
    let page = shell::read(&golden.join("PROVENANCE.md"))?;
    if let Some(row) = rows.lines().find(|row| !page.lines().any(|line| line == *row)) {
        return Err(format!("golden/{folder}/PROVENANCE.md has no row \"{row}\""));
    }
    let (written, expected) = (shell::files_below(fresh)?, shell::files_below(&golden)?);
    let names = |names: BTreeSet<String>| -> BTreeSet<String> {
        names.into_iter().filter(|name| name != "PROVENANCE.md" && !name.starts_with('.')).collect()
    };
    let (written, expected) = (names(written), names(expected));
    if let Some(name) = written.symmetric_difference(&expected).next() {
        return Err(format!("golden/{folder}/{name} is committed but not written now, or the reverse"));
    }
    let mut same = 0;
    for name in written.iter().filter(|name| !unstable(name)) {
        let bytes =
            |path: PathBuf| std::fs::read(&path).map_err(|error| format!("cannot read {}: {error}", path.display()));
        if bytes(fresh.join(name))? != bytes(golden.join(name))? {
            return Err(format!("golden/{folder}/{name} differs from what `{command}` writes now"));
        }
        same += 1;
    }
    println!("golden/{folder}: {same} files written again, identical");
    Ok(())
}
