//! The writer.

mod append;
mod commit;
mod data;
#[cfg(feature = "arrow")]
pub(crate) mod encoded;
#[cfg_attr(not(feature = "parallel"), path = "fill_alone.rs")]
mod fill;
mod index;
mod key_set;
mod keys;
mod options;
mod sample_index;
mod spool;
#[cfg_attr(test, path = "step_in_tests.rs")]
mod step;
mod sum;
#[cfg(test)]
mod tests;
mod writer;

pub(crate) use commit::{IndexFiles, OnLegacyIndex};
pub use options::WriterOptions;
pub(crate) use sample_index::SampleIndex;
pub(crate) use sum::DataSum;
pub use writer::{WriteSummary, Writer};
