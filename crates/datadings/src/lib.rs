//! datadings, the dataset format of msgpack samples (`.msgpack` with its index files): read, written, checked and repaired.
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(
    test,
    allow(
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap,
        clippy::cast_sign_loss,
        reason = "tests make their data with casts"
    )
)]

mod de;
mod index;
pub mod json;
mod md5;
pub mod numpy;
pub mod order;
mod read;
pub mod ser;
mod value;
mod wire;
mod write;

pub use container_core::OpenOptions as Options;
pub use container_core::{Error, ErrorKind, Result};

pub use read::{Keys, Reader, Sample, Samples};
pub use value::{Entries, Items, Kind, RawValue};
pub use wire::Part;
pub use write::{Writer, WriterOptions, Written};

/// The name of the format in errors and everywhere else.
const FORMAT_NAME: &str = "datadings";
