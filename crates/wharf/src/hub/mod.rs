//! The verbs: opening inputs, selecting columns and rows, writing outputs of any format.
//!
//! The public API is re-exported at the crate root and in [`convert`](mod@crate::convert). The rest serves the command `wharf` and can change with
//! every version.

pub mod convert;
pub mod copy_rows;
pub mod dataset;
mod dataset_files;
mod ds_file;
pub mod env;
pub mod extract;
mod idv_file;
pub mod inputs;
pub mod merge;
mod netcdf;
mod operation;
pub mod output;
pub mod overlap;
mod overrides;
mod owned;
pub mod query;
pub mod recover;
pub mod reindex;
mod rows;
pub mod schema_file;
pub mod select;
pub mod subset;
mod transaction;
mod variables;
pub(crate) mod view;
#[cfg_attr(not(feature = "zarr"), path = "without_zarr.rs")]
pub(crate) mod zarr;
pub mod zds;

use ds_file::is_variables;
pub use ds_file::{DS, Saved, open_ds, put_ds, rejected_by_ds, stream_ds};
use netcdf::is_netcdf;
pub use netcdf::{ZARR, open_netcdf};
pub use overrides::Overrides;
pub use owned::OwnedBatches;
pub use variables::VariablesView;

use std::ffi::OsString;
use std::fmt;
use std::sync::Arc;

use container_core::{Loss, Progress, Result, Unit};

/// Receives progress reports.
pub(crate) type Bar = dyn Progress;

/// Reports progress after some of the rows, of which `done` are done.
pub(crate) fn tick(bar: &Bar, done: u64) -> Result<()> {
    const ROWS: u64 = 256;
    if done.is_multiple_of(ROWS) { bar.advance(ROWS) } else { Ok(()) }
}

/// Receives progress reports; ignores them by default.
#[derive(Clone)]
struct Listener(Arc<Bar>);

impl Default for Listener {
    fn default() -> Self {
        Self(Arc::new(Silent))
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Listener")
    }
}

/// Implements `with_progress` for builders with a field `progress`.
macro_rules! with_progress {
    ($($builder:ty),+) => {
        $(impl $builder {
            /// Reports to `progress` which input is read, and how far.
            #[must_use]
            pub fn with_progress(mut self, progress: Arc<dyn Progress>) -> Self {
                self.progress = Listener(progress);
                self
            }
        })+
    };
}

/// Implements what jobs with options of the inputs' format have in common: builders with fields `options` and `progress`.
macro_rules! with_options {
    ($($builder:ty: $list:literal),+) => {
        $(impl $builder {
            /// Sets an option of the format of the input by its name;
            #[doc = concat!("[`Registry::", $list, "`](crate::Registry::", $list, ")")]
            /// lists them. Flags are set whatever the value. An option of another format, or an invalid value, is an error of [`run`](Self::run).
            #[must_use]
            pub fn with_option(mut self, name: impl Into<String>, value: impl Into<OsString>) -> Self {
                self.options.push((name.into(), value.into()));
                self
            }

            /// Receives progress reports.
            #[must_use]
            pub fn progress(&self) -> &Arc<dyn Progress> {
                &self.progress.0
            }
        })+
    };
}

with_options!(merge::Merge: "merge_options", recover::Recover: "recover_options", reindex::Reindex: "reindex_options");

with_progress!(
    convert::Convert,
    merge::Merge,
    recover::Recover,
    reindex::Reindex,
    subset::Sample,
    subset::Shuffle,
    subset::Split
);

/// Ignores progress reports.
struct Silent;

impl Progress for Silent {
    fn begin(&self, _: Unit, _: Option<u64>) {}
    fn advance(&self, _: u64) -> Result<()> {
        Ok(())
    }
}

/// A loss, and the input it occurred in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lost {
    /// The input, if it occurred in one.
    pub file: Option<String>,
    /// What, how often, and where first.
    pub loss: Loss,
}

/// `file: what was lost (n times, first ...)`
impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.file {
            Some(file) => write!(f, "{file}: {}", self.loss),
            None => self.loss.fmt(f),
        }
    }
}

impl Lost {
    /// Losses in one file.
    pub(crate) fn all(losses: Vec<Loss>, file: Option<&str>) -> impl Iterator<Item = Self> {
        losses.into_iter().map(move |loss| Self { file: file.map(str::to_owned), loss })
    }
}
