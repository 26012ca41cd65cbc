//! The output argument of verbs that write one file.

use std::path::{Path, PathBuf};

use container_core::{Error, Result};

/// One output file, given either as the last argument or with `--output`.
#[derive(Debug, Clone, clap::Args)]
#[group(required = true, multiple = false)]
pub(crate) struct OutputPath {
    /// Output file
    #[arg(value_name = "OUT")]
    positional: Option<PathBuf>,

    /// Output file
    #[arg(short, long = "output", value_name = "OUT")]
    option: Option<PathBuf>,
}

impl OutputPath {
    pub(crate) fn path(&self) -> Result<&Path> {
        let path = self.positional.as_deref().or(self.option.as_deref());
        path.ok_or_else(|| Error::usage("missing output"))
    }
}
