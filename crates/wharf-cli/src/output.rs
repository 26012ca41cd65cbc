//! The file that a verb writes.

use std::path::{Path, PathBuf};

use container_core::{Error, Result};

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
