//! The references, live: each reads what it and we have to agree on.

mod arrow;
mod datadings;
pub(crate) mod ds;
mod ds_netcdf;
mod simplebloom;
mod written;
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

/// Which formats, and how much of it.
#[derive(Args)]
pub(crate) struct Options {
    /// Only these formats
    formats: Vec<Format>,
    /// What decides schemas and values of generated files
    #[arg(long, value_name = "N", default_value_t = 20_240_229)]
    seed: u64,
    /// How many files are generated
    #[arg(long, value_name = "K", default_value_t = 60)]
    count: u64,
    /// Files from elsewhere instead: the reference reads every file of this directory, and so do we
    #[arg(long, value_name = "DIRECTORY")]
    files: Option<PathBuf>,
    /// Also NetCDF files of more than 4 GiB, which take minutes and 10 GB of disk
    #[arg(long)]
    large: bool,
}

impl Options {
    /// All formats, so many generated files each.
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
    /// Documents, with the crate zippy_data and the Python package over it
    Zdx,
}

/// Whole real tables that the driver writes, each compressed and not, and the schema out of a model file.
const REAL_FILES: u64 = 11;

pub(crate) fn run(options: &Options) -> Result<(), String> {
    let wanted = |format| options.formats.is_empty() || options.formats.contains(&format);
    if wanted(Format::Idv)
        && let Some(mlnet) = mlnet_or_skip("live interop with ML.NET")?
    {
        idv(&mlnet, options)?;
    }
    if wanted(Format::Simplebloom)
        && let Some(python) = python_or_skip("live interop with simplebloom")?
    {
        simplebloom::run(&python, options.seed, options.count)?;
    }
    if wanted(Format::Datadings)
        && let Some(python) = python_or_skip("live interop with datadings")?
    {
        datadings::run(&python, options.seed, options.count)?;
    }
    if wanted(Format::Ds)
        && let Some(python) = python_or_skip("live interop with ds-format")?
    {
        ds::run(&python, options.seed, options.count)?;
    }
    if wanted(Format::DsNetcdf)
        && let Some(python) = python_or_skip("live interop with netCDF4")?
    {
        // Somebody's own files are NetCDF files when that was said.
        let files = options.files.as_deref().filter(|_| options.formats.contains(&Format::DsNetcdf));
        ds_netcdf::run(&python, options.seed, options.count, files)?;
        if options.large {
            ds_netcdf::large(&python)?;
        }
    }
    if wanted(Format::Arrow)
        && let Some(python) = python_or_skip("live interop with pyarrow")?
    {
        arrow::run(&python, options.seed, options.count)?;
    }
    if wanted(Format::Zdx)
        && let Some(zippy) = zippy_or_skip("live interop with zippy_data")?
        && let Some(python) = python_or_skip("live interop with zippy-data")?
    {
        zdx::run(&zippy, &python, options.seed, options.count)?;
    }
    Ok(())
}

/// ML.NET, installed; nothing when a package registry cannot be reached, which is the one reason for going on without it.
pub(crate) fn mlnet_or_skip(what: &str) -> Result<Option<MlNet>, String> {
    or_skip(MlNet::install(), what)
}

/// The Python packages, in the same way.
pub(crate) fn python_or_skip(what: &str) -> Result<Option<Python>, String> {
    or_skip(Python::install(), what)
}

/// The driver of zippy_data, in the same way.
pub(crate) fn zippy_or_skip(what: &str) -> Result<Option<Zippy>, String> {
    or_skip(Zippy::install(), what)
}

/// Nothing, and a line that says so, where a package registry cannot be reached.
pub(crate) fn or_skip<T>(installed: Result<T, Trouble>, what: &str) -> Result<Option<T>, String> {
    match installed {
        Ok(reference) => Ok(Some(reference)),
        Err(Trouble::Unreachable(why)) => {
            skipped(what, &why);
            Ok(None)
        }
        Err(Trouble::Failed(why)) => Err(why),
    }
}

/// What is left out has to be seen.
fn skipped(what: &str, why: &str) {
    let line = format!("SKIPPED: {what}: a package registry cannot be reached: {why}");
    let bar = "!".repeat(78);
    println!("{bar}\n{line}\n{bar}");
}

fn idv(mlnet: &MlNet, options: &Options) -> Result<(), String> {
    let work = shell::target()?.join("interop/idv");
    if let Some(files) = &options.files {
        // Dumps go beside copies: the directory is somebody else's.
        let copies = work.join("files");
        let count = dump_all(mlnet, files, &copies)?;
        return compare(&[(&copies, count)]);
    }
    let (generated, real) = (work.join("generated"), work.join("real"));
    for directory in [&generated, &real] {
        shell::empty_directory(directory)?;
    }
    println!(
        "ML.NET writes {} files of random schema and values (seed {}) and real tables",
        options.count, options.seed
    );
    let mut driver = mlnet.driver("generate");
    driver.args(["--seed", &options.seed.to_string(), "--count", &options.count.to_string()]).arg(&generated);
    shell::run(driver)?;
    let mut driver = mlnet.driver("real");
    driver.arg(mlnet.datasets()).arg(&real);
    shell::run(driver)?;
    compare(&[(&generated, options.count), (&real, REAL_FILES)])?;
    written::run(mlnet, &[&generated, &real], &work, options.seed, options.count)
}

/// Copies the IDV files of a directory and lets ML.NET dump each; returns how many there are.
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

/// Holds every value that we read against the dumps beside the files, so many files in each directory.
fn compare(directories: &[(&Path, u64)]) -> Result<(), String> {
    for (directory, count) in directories {
        let found = shell::files_with_extension(directory, "idv")?.len();
        if u64::try_from(found) != Ok(*count) {
            return Err(format!("{} has {found} files where {count} are expected", directory.display()));
        }
    }
    let mut compare = shell::program(shell::test_build("idv-compare")?);
    compare.args(directories.iter().map(|(directory, _)| directory));
    shell::run(compare).map_err(|error| format!("not every value is what ML.NET reads: {error}"))
}

/// The numbers in the one line of JSON that a program printed.
pub(crate) fn numbers(line: &str) -> Result<impl Fn(&str) -> Result<u64, String> + use<>, String> {
    let line: Value = serde_json::from_str(line).map_err(|error| format!("\"{line}\" is no JSON: {error}"))?;
    Ok(move |name: &str| line.get(name).and_then(Value::as_u64).ok_or_else(|| format!("no number {name} in {line}")))
}

/// A script makes the golden files of a folder again, every byte of them but of those in `loose`, whose bytes are not the same in every run.
pub(crate) fn golden_again(
    python: &Python,
    script: &str,
    folder: &str,
    fresh: &Path,
    loose: &[&str],
) -> Result<(), String> {
    made_again(python.script(script, [fresh]), folder, fresh, |name| loose.contains(&name))
}

/// The same for any program that writes into the directory `fresh` and prints the rows of the list. Files stand in folders of any depth, and are
/// known by their paths below the golden folder.
pub(crate) fn made_again(
    program: Command,
    folder: &str,
    fresh: &Path,
    loose: impl Fn(&str) -> bool,
) -> Result<(), String> {
    shell::empty_directory(fresh)?;
    let shown = shell::command_line(&program);
    let rows = shell::text(program)?;
    let kept = shell::root().join("tests/golden").join(folder);
    let page = shell::read(&kept.join("PROVENANCE.md"))?;
    if let Some(row) = rows.lines().find(|row| !page.lines().any(|line| line == *row)) {
        return Err(format!("golden/{folder}/PROVENANCE.md has no row \"{row}\""));
    }
    let (made, there) = (shell::files_below(fresh)?, shell::files_below(&kept)?);
    let names = |names: BTreeSet<String>| -> BTreeSet<String> {
        names.into_iter().filter(|name| name != "PROVENANCE.md" && !name.starts_with('.')).collect()
    };
    let (made, there) = (names(made), names(there));
    if let Some(name) = made.symmetric_difference(&there).next() {
        return Err(format!("golden/{folder}/{name} is there and is not made again, or the other way round"));
    }
    let mut same = 0;
    for name in made.iter().filter(|name| !loose(name)) {
        let bytes =
            |path: PathBuf| std::fs::read(&path).map_err(|error| format!("cannot read {}: {error}", path.display()));
        if bytes(fresh.join(name))? != bytes(kept.join(name))? {
            return Err(format!("golden/{folder}/{name} is not what `{shown}` makes now"));
        }
        same += 1;
    }
    println!("golden/{folder}: {same} files made again, the same");
    Ok(())
}
