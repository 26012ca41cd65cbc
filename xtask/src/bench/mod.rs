//! Benchmarks beside the references and rivals, in one run, as ratios.

mod arrow;
mod contest;
mod datadings;
mod ds;
mod idv;
mod idv_write;
mod leb128;
mod peak;
mod simplebloom;
mod table;
mod zdx;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::Value;

use crate::{interop, shell};

/// What is measured.
#[derive(Args)]
pub(crate) struct Options {
    #[command(subcommand)]
    subject: Subject,
}

#[derive(Subcommand)]
enum Subject {
    /// Conversions to Parquet and from it beside ML.NET and pyarrow, and the memory that they take
    Arrow(contest::Options),
    /// Datasets of msgpack samples beside Python's datadings
    Datadings(contest::Options),
    /// n-dimensional arrays beside Python's ds-format and the C library of NetCDF
    Ds(contest::Options),
    /// Reading and writing IDV files beside ML.NET
    Idv(idv::Options),
    /// LEB128 integers beside other crates
    Leb128(leb128::Options),
    /// Bloom filters beside Python's simplebloom
    Simplebloom(simplebloom::Options),
    /// Stores of documents beside the crate zippy_data
    Zdx(contest::Options),
}

pub(crate) fn run(options: &Options) -> Result<(), String> {
    match &options.subject {
        Subject::Arrow(options) => {
            let mlnet = crate::mlnet::MlNet::install().map_err(|trouble| trouble.to_string())?;
            let python = crate::python::Python::install().map_err(|trouble| trouble.to_string())?;
            arrow::run(&mlnet, &python, options)
        }
        Subject::Idv(options) => {
            let mlnet = crate::mlnet::MlNet::install().map_err(|trouble| trouble.to_string())?;
            idv::run(&mlnet, options)
        }
        Subject::Leb128(options) => leb128::run(options),
        Subject::Datadings(options) => {
            let python = crate::python::Python::install().map_err(|trouble| trouble.to_string())?;
            datadings::run(&python, options)
        }
        Subject::Ds(options) => {
            let python = crate::python::Python::install().map_err(|trouble| trouble.to_string())?;
            ds::run(&python, options)
        }
        Subject::Simplebloom(options) => {
            let python = crate::python::Python::install().map_err(|trouble| trouble.to_string())?;
            simplebloom::run(&python, options)
        }
        Subject::Zdx(options) => zdx::run(options).map_err(|trouble| trouble.to_string()),
    }
}

/// The feature that the members of the workspace ask for, so that tests are built with it.
const TESTED: &str = "parallel";

/// Builds a measuring program of a package and returns where it is: optimized, with these features; in a smoke test as tests are
/// built, so that little is left to build after them.
fn program(package: &str, name: &str, features: &str, smoke: bool) -> Result<PathBuf, String> {
    let alone = ["--package", package, "--no-default-features", "--features", features];
    let mut build = shell::cargo(if smoke { &["build"][..] } else { &["bench", "--no-run"] });
    build.args(if smoke && features == TESTED { &["--workspace"] } else { &alone[..] });
    build.args(["--quiet", "--bench", name, "--message-format", "json-render-diagnostics"]);
    let manifest = shell::root().join("crates").join(package).join("Cargo.toml");
    let messages = shell::text(build)?;
    let found = messages.lines().rev().find_map(|line| {
        let message: Value = serde_json::from_str(line).ok()?;
        let ours = message.get("target")?.get("name")?.as_str()? == name
            && message.get("manifest_path")?.as_str()? == manifest.to_str()?;
        let executable = message.get("executable")?.as_str()?;
        // Cargo gives it another name for other features, so that it stays where it is.
        ours.then(|| PathBuf::from(executable))
    });
    found.ok_or_else(|| format!("cargo names no executable of the benchmark {name} of {package}"))
}

/// One small round of each, for what the benchmarks assert and not for their figures.
pub(crate) fn smoke() -> Result<(), String> {
    leb128::smoke()?;
    if let Some(python) = interop::python_or_skip("the benchmark beside simplebloom")? {
        simplebloom::smoke(&python)?;
    }
    if let Some(python) = interop::python_or_skip("the benchmark beside datadings")? {
        datadings::run(&python, &contest::Options::SMOKE)?;
    }
    if let Some(python) = interop::python_or_skip("the benchmark beside ds-format")? {
        ds::run(&python, &contest::Options::SMOKE)?;
    }
    interop::or_skip(zdx::run(&contest::Options::SMOKE), "the benchmark beside zippy_data")?;
    match interop::mlnet_or_skip("the benchmark beside ML.NET")? {
        Some(mlnet) => {
            if let Some(python) = interop::python_or_skip("the benchmark beside pyarrow")? {
                arrow::run(&mlnet, &python, &contest::Options::SMOKE)?;
            }
            idv::run(&mlnet, &idv::Options::smoke())
        }
        None => Ok(()),
    }
}
