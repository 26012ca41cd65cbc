//! ds, the n-dimensional array format of the Python package `ds-format` (`.ds`).
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(
    test,
    allow(
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap,
        clippy::cast_sign_loss,
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::panic,
        clippy::unwrap_used,
        reason = "tests make their data with casts and fail by panicking"
    )
)]

mod array;
mod edit;
mod json;
mod kernel;
mod merge;
#[cfg(feature = "ndarray")]
mod ndarray;
#[cfg(feature = "netcdf")]
pub mod netcdf;
mod read;
mod stats;
pub mod time;
mod types;
mod wire;
mod write;

pub use array::{Array, Mask, Strings, Values};
pub use container_core::{Error, OutputOptions, Overwrite, Result, Sync};
pub use edit::Edit;
pub use json::{Items, Json, JsonBuf, JsonKind, Members};
pub use merge::{Merge, MergeOptions, merge};
pub use read::{Attributes, Dimension, Reader, Select, Selection, Variable, View};
pub use stats::{Number, Stats};
pub use types::{DataType, Element, Endian};
pub use write::{Builder, Field, Writer, Written};

/// What the format is called in errors and in `wharf`.
pub const FORMAT_NAME: &str = "ds";
