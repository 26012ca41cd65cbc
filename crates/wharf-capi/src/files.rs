//! Opens, converts and writes files.

use std::path::Path;
use std::sync::Arc;

use arrow_array::RecordBatchReader;
use serde_json::Value;
use wharf::convert::{Convert, Opener, Target};
use wharf::{Access, BatchContainer, Container, Error, Input, Overwrite, Registry, Result};

use crate::json;
use crate::options::{self, Selection};

/// Where an output goes.
pub(crate) struct Output<'a> {
    pub(crate) path: &'a str,
    /// The name of the target; `None` for the one of the extension.
    pub(crate) format: Option<&'a str>,
    pub(crate) options: Vec<&'a str>,
    pub(crate) overwrite: bool,
}

/// Opens a path or bytes.
pub(crate) fn open(input: &Input, options: &[&str]) -> Result<Arc<dyn Container>> {
    let registry = Registry::builtin();
    let mut opener = Opener::new(registry.clone());
    opener.overrides = options::overrides(options, &registry)?;
    let container = opener.container(input).map_err(|error| match input.path() {
        Some(path) => error.in_file(path.display().to_string()),
        None => error,
    })?;
    Ok(Arc::from(container))
}

pub(crate) fn open_path(path: &str, options: &[&str]) -> Result<Arc<dyn Container>> {
    open(&Input::open(path, Access::Auto)?, options)
}

/// Writes record batches, and returns the report.
pub(crate) fn write(batches: Box<dyn RecordBatchReader + Send>, output: &Output<'_>) -> Result<Value> {
    // Messages of a stream need no name of an input.
    run(Convert::of("stream", Arc::new(BatchContainer::from_reader(batches))), output)
}

/// Converts files, and returns the report.
pub(crate) fn convert(inputs: &[&str], selection: &Selection<'_>, output: &Output<'_>) -> Result<Value> {
    if inputs.is_empty() {
        return Err(Error::usage("expected at least one input, found none"));
    }
    run(selection.apply(Convert::new(inputs)), output)
}

fn run(mut convert: Convert, output: &Output<'_>) -> Result<Value> {
    let registry = Registry::builtin();
    let mut target = target(output, &registry)?;
    options::set(&mut convert, target.as_mut(), &output.options, &registry)?;
    let overwrite = if output.overwrite { Overwrite::Replace } else { Overwrite::Refuse };
    let report = convert.write_as(target.as_ref(), output.path, overwrite, &registry)?;
    Ok(json::report(target.info(), report))
}

fn target(output: &Output<'_>, registry: &Registry) -> Result<Box<dyn Target>> {
    let unknown = |what: String| {
        let known: Vec<_> = registry.targets().iter().map(|target| target.info().name).collect();
        Error::usage(format!("{what} (output formats: {})", known.join(", ")))
    };
    match output.format {
        Some(name) => registry.target(name).ok_or_else(|| unknown(format!("unknown output format {name:?}"))),
        None => registry.target_for(Path::new(output.path)).ok_or_else(|| {
            let extension = Path::new(output.path).extension().unwrap_or_default().to_string_lossy();
            unknown(format!("unknown extension {extension:?}")).in_file(output.path.to_owned())
        }),
    }
}
