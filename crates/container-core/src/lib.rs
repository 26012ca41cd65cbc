//! Bytes in, bytes out: what every dataset container of this workspace stands on.
//!
//! # Where to start
//!
//! | you want to | take |
//! |---|---|
//! | read ranges of a file, of memory, of anything | [`Source`] |
//! | parse bytes and say where they are wrong | [`Cursor`], [`Error`], [`Position`] |
//! | bound what a file can make you spend | [`Limits`] |
//! | write a file or a folder whole or not at all | [`Output`], [`OutputFolder`] |
//! | treat containers of all formats alike | [`Container`], [`Table`], [`Rows`], [`Format`] |
//! | test a format against damage | `testkit` (feature) |
//!
//! # A first program
//!
//! ```
//! use container_core::{Cursor, Source};
//!
//! let source = Source::from(vec![2, 0, 0, 0, b'h', b'i']);
//! let head = source.read(0..4)?;
//! let length = Cursor::new(&head).u32_le("length")?;
//! let text = source.read(4..4 + u64::from(length))?;
//! assert_eq!(&text[..], b"hi");
//! # Ok::<(), container_core::Error>(())
//! ```
//!
//! # Features
//!
//! Without features the crate is `no_std` and does not allocate: [`Position`], [`Cursor`], [`Error`], [`Limits`],
//! [`Decode`], [`Encode`]. `alloc` gives errors texts of their own, `std` (default) adds everything else, `arrow` the traits of tables as
//! Arrow record batches, `raw_json` JSON whose values stay their text, `testkit` the conformance kit.
#![cfg_attr(not(feature = "std"), no_std)]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(
    not(feature = "alloc"),
    allow(clippy::result_large_err, reason = "without an allocator there is no box to put an error into")
)]

#[cfg(feature = "alloc")]
extern crate alloc;

mod cursor;
mod error;
mod limits;
mod position;
mod wire;

#[cfg(feature = "std")]
mod container;
#[cfg(feature = "std")]
mod detect;
#[cfg(feature = "std")]
mod map;
#[cfg(feature = "std")]
mod output;
#[cfg(feature = "std")]
mod output_folder;
#[cfg(feature = "std")]
mod pages;
#[cfg(feature = "std")]
mod progress;
#[cfg(feature = "std")]
mod source;
#[cfg(feature = "std")]
mod temporary;

#[cfg(feature = "arrow")]
#[cfg_attr(docsrs, doc(cfg(feature = "arrow")))]
pub mod arrow;
#[cfg(feature = "raw_json")]
#[cfg_attr(docsrs, doc(cfg(feature = "raw_json")))]
pub mod raw_json;
#[cfg(feature = "testkit")]
pub mod testkit;

pub use cursor::Cursor;
pub use error::{Blame, Error, ErrorKind, Result};
pub use limits::Limits;
pub use position::{Position, Text};
pub use wire::{Decode, Encode, Put};

#[cfg(feature = "std")]
pub use bytes::Bytes;
#[cfg(feature = "std")]
pub use container::{ColumnInfo, Container, Finding, Loss, Rows, Scan, Severity, Table, VerifyOptions};
#[cfg(feature = "std")]
pub use detect::{Format, Input, OpenOptions, Probe, Recognition, RecoverReport, detect};
#[cfg(feature = "std")]
pub use map::{keep_freed_memory, mapped_bytes, release_freed_memory, release_mapped_pages};
#[cfg(feature = "std")]
pub use output::{Output, OutputOptions, Overwrite, Sync, sync_directory_of};
#[cfg(feature = "std")]
pub use output_folder::{OutputFolder, PlacedFolder};
#[cfg(feature = "std")]
pub use pages::{Pages, zeroed_vec};
#[cfg(feature = "std")]
pub use progress::{Progress, Unit};
#[cfg(feature = "std")]
pub use source::{Access, ReadAt, Source};
#[cfg(feature = "std")]
pub use temporary::{Ended, TemporaryFolder, Unfinished, remove_stale_temporaries, remove_temporaries, uninterrupted};
