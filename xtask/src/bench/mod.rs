//! Benchmarks against the references and rivals, measured in the same run and reported as ratios.

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

/// Selects a benchmark.
#[derive(Args)]
pub(crate) struct Options {
    #[command(subcommand)]
    subject: Subject,
}

#[derive(Subcommand)]
enum Subject {
    /// Conversions to and from Parquet against ML.NET and pyarrow, and their peak memory
    Arrow(contest::Options),
    /// Datasets of msgpack samples against Python's datadings
    Datadings(contest::Options),
    /// n-dimensional arrays against Python's ds-format and the NetCDF C library
    Ds(contest::Options),
    /// Reading and writing IDV files against ML.NET
    Idv(idv::Options),
    /// LEB128 integers against other crates
    Leb128(leb128::Options),
    /// Bloom filters against Python's simplebloom
    Simplebloom(simplebloom::Options),
    /// Document stores against the crate zippy_data
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

/// The feature that tests are built with, as workspace members request it.
const TEST_FEATURE: &str = "parallel";

/// Builds a benchmark of a package with these features and returns its path. It is optimized, except in a smoke test, which reuses the build
/// of the tests.
fn program(package: &str, name: &str, features: &str, smoke: bool) -> Result<PathBuf, String> {
    let selection = ["--package", package, "--no-default-features", "--features", features];
    let mut build = shell::cargo(if smoke { &["build"][..] } else { &["bench", "--no-run"] });
    build.args(if smoke && features == TEST_FEATURE { &["--workspace"] } else { &selection[..] });
    build.args(["--quiet", "--bench", name, "--message-format", "json-render-diagnostics"]);
    let manifest = shell::root().join("crates").join(package).join("Cargo.toml");
    let messages = shell::text(build)?;
    let executable = messages.lines().rev().find_map(|line| {
        let message: Value = serde_json::from_str(line).ok()?;
        let ours = message.get("target")?.get("name")?.as_str()? == name
            && message.get("manifest_path")?.as_str()? == manifest.to_str()?;
        let executable = message.get("executable")?.as_str()?;
        // Cargo names it differently for other features, so it is not overwritten.
        ours.then(|| PathBuf::from(executable))
    });
    executable.ok_or_else(|| format!("cargo reports no executable for the benchmark {name} of {package}"))
}

/// One small round of each benchmark, for its assertions only.
pub(crate) fn smoke() -> Result<(), String> {
    leb128::smoke()?;
    if let Some(python) = interop::python_or_skip("the benchmark against simplebloom")? {
        simplebloom::smoke(&python)?;
    }
    if let Some(python) = interop::python_or_skip("the benchmark against datadings")? {
        datadings::run(&python, &contest::Options::SMOKE)?;
    }
    if let Some(python) = interop::python_or_skip("the benchmark against ds-format")? {
        ds::run(&python, &contest::Options::SMOKE)?;
    }
    interop::or_skip(zdx::run(&contest::Options::SMOKE), "the benchmark against zippy_data")?;
    match interop::mlnet_or_skip("the benchmark against ML.NET")? {
        Some(mlnet) => {
            if let Some(python) = interop::python_or_skip("the benchmark against pyarrow")? {
                arrow::run(&mlnet, &python, &contest::Options::SMOKE)?;
            }
            idv::run(&mlnet, &idv::Options::smoke())
        }
        None => Ok(()),
    }
}
