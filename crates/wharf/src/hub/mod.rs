//! What all verbs share: inputs opened, columns and rows chosen, outputs made, rows brought from any container into any other.
//!
//! What is for everybody is public elsewhere: [`Convert`](crate::Convert) and its options in [`convert`](mod@crate::convert). The rest is for
//! the command `wharf`, as long as verbs other than conversion belong to it, and may change with every version.

pub mod convert;
pub mod dataset;
mod dataset_files;
mod ds_file;
pub mod env;
mod idv_file;
pub mod inputs;
pub mod merge;
mod netcdf;
pub mod output;
pub mod overlap;
mod overrides;
pub mod pour;
pub mod recover;
pub mod reindex;
mod rows;
pub mod schema_file;
pub mod select;
mod staged;
pub mod subset;
pub mod zds;

pub use ds_file::{DS, Saved, open_ds, put_ds, rejected_by_ds, stream_ds};
pub use netcdf::open_netcdf;
pub use overrides::Overrides;

use std::fmt;
use std::sync::Arc;

use container_core::{Loss, Progress, Unit};

/// Who hears how far the work is.
pub(crate) type Bar = dyn Progress;

/// Who hears how far the work is; nobody unless set.
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

/// Gives builders that have a field `progress` the method that sets it.
macro_rules! with_progress {
    ($($builder:ty),+) => {
        $(impl $builder {
            /// Tells `progress` which input is read, and how far.
            #[must_use]
            pub fn with_progress(mut self, progress: Arc<dyn Progress>) -> Self {
                self.progress = Listener(progress);
                self
            }
        })+
    };
}

with_progress!(
    convert::Convert,
    merge::Merge,
    recover::Recover,
    reindex::Reindex,
    subset::Sample,
    subset::Shuffle,
    subset::Split
);

/// Nobody listens.
struct Silent;

impl Progress for Silent {
    fn begin(&self, _: Unit, _: Option<u64>) {}
    fn advance(&self, _: u64) {}
}

/// Something that was not kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lost {
    /// The input it was in, if it was one.
    pub file: Option<String>,
    /// What, how often, and where first.
    pub loss: Loss,
}

/// The file, what was lost and how often, and where first.
impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.file {
            Some(file) => write!(f, "{file}: {}", self.loss),
            None => self.loss.fmt(f),
        }
    }
}

impl Lost {
    /// Losses in a file.
    pub(crate) fn all(losses: Vec<Loss>, file: Option<&str>) -> impl Iterator<Item = Self> {
        losses.into_iter().map(move |loss| Self { file: file.map(str::to_owned), loss })
    }
}

/// The first option that was given.
fn first_given(given: &[(&'static str, bool)]) -> Option<&'static str> {
    given.iter().find(|(_, given)| *given).map(|(option, _)| *option)
}
