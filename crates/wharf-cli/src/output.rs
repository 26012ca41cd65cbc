//! The file that a verb writes.

use std::path::Path;
use std::path::PathBuf;

use container_core::{Error, Output, OutputOptions, Overwrite, Result};

use super::inputs::{self, Place};

/// Begins the output; one that is a file of an input is refused whatever the flags.
pub(crate) fn create(path: &Path, force: bool, places: &[Place]) -> Result<Output> {
    Output::create(path, options(path, force, places)?)
}

/// How the output is written; one that is a file of an input is refused whatever the flags.
pub(crate) fn options(path: &Path, force: bool, places: &[Place]) -> Result<OutputOptions> {
    inputs::refuse_overlap([path.to_owned()], places)?;
    if !force && path.is_file() {
        return Err(Error::usage("the output exists; --force replaces it").in_file(path.display().to_string()));
    }
    let overwrite = if force { Overwrite::Replace } else { Overwrite::Refuse };
    Ok(OutputOptions::default().with_overwrite(overwrite))
}

/// The one file that is written, in either of the ways in which people say it.
#[derive(Debug, Clone, clap::Args)]
#[group(required = true, multiple = false)]
pub(crate) struct OneOutput {
    /// The file to write
    #[arg(value_name = "OUT")]
    positional: Option<PathBuf>,

    /// The file to write
    #[arg(short, long = "output", value_name = "OUT")]
    option: Option<PathBuf>,
}

impl OneOutput {
    pub(crate) fn path(&self) -> Result<&Path> {
        let path = self.positional.as_deref().or(self.option.as_deref());
        path.ok_or_else(|| Error::usage("there is no output"))
    }
}
