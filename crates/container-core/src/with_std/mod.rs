//! Everything that needs the standard library: sources, outputs and the format traits. Re-exported at the crate root.

mod container;
mod detect;
mod error;
mod huge_pages;
pub mod json;
pub(crate) mod map;
pub mod moments;
mod names;
mod output;
mod output_folder;
mod owner;
mod progress;
mod source;
#[cfg_attr(not(unix), path = "sys/windows.rs")]
mod sys;
mod temporary;

#[cfg_attr(not(feature = "parallel"), path = "parallel/sequential.rs")]
pub mod parallel;

pub use bytes::Bytes;
pub use container::{ColumnInfo, Container, Finding, Loss, Rows, Scan, Severity, Table, VerifyOptions};
pub use detect::{Format, Input, OpenOptions, Probe, Recognition, RecoverReport, detect};
pub use huge_pages::{HugePageVec, zeroed_vec};
pub use names::sync_directory_of;
pub use output::{Output, OutputOptions, Overwrite, SyncPolicy};
pub use output_folder::{OutputFolder, PlacedFolder};
pub use owner::Owner;
pub use progress::{Progress, Unit, Watch};
pub use source::{Access, Map, ReadAt, Source, Spool};
pub use temporary::{
    RegisteredTemporary, ShutdownGuard, TemporaryFolder, remove_stale_temporaries, remove_temporaries, uninterrupted,
    unnamed_file,
};
