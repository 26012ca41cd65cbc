//! The foundation of the dataset formats in this workspace: byte sources, cursors, errors with positions, limits, atomic outputs, and
//! the traits every format implements.
//!
//! # Where to start
//!
//! | to | use |
//! |---|---|
//! | read byte ranges of a file, of memory or of a custom medium | [`Source`] |
//! | parse bytes and report errors with their offset | [`Cursor`], [`Error`], [`Position`] |
//! | bound the resources a file can make a reader spend | [`Limits`] |
//! | write a file or a directory atomically | [`Output`], [`OutputFolder`] |
//! | handle containers of any format through one interface | [`Format`], [`Container`], [`Table`], [`Rows`] |
//! | run work on several threads, or on one | [`parallel`] |
//! | compute sum, mean and deviation | [`moments`] |
//! | test a format against corrupted input and failing I/O | `testkit` (feature) |
//!
//! # Example
//!
//! ```
//! # #[cfg(feature = "std")] {
//! use container_core::{Cursor, Source};
//!
//! let source = Source::from(vec![2, 0, 0, 0, b'h', b'i']);
//! let head = source.read(0..4)?;
//! let length = Cursor::new(&head).u32_le("length")?;
//! let text = source.read(4..4 + u64::from(length))?;
//! assert_eq!(&text[..], b"hi");
//! # }
//! # Ok::<(), container_core::Error>(())
//! ```
//!
//! # Features
//!
//! * none: `no_std` without an allocator: [`Position`], [`Cursor`], [`Error`], [`Limits`], [`Decode`], [`Encode`]
//! * `alloc`: errors with owned messages, one word wide
//! * `std` (default): sources, outputs, the format traits
//! * `arrow`: tables as Arrow record batches
//! * `nom`: nom parsers over cursors
//! * `parallel`: the functions of [`parallel`] use rayon's threads
//! * `raw_json`: JSON values kept as raw text
//! * `testkit`: conformance tests for formats
#![cfg_attr(not(any(feature = "std", test)), no_std)]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![allow(clippy::result_large_err, reason = "without an allocator there is no box to put an error into")]

pub mod calendar;
mod cursor;
mod error;
#[cfg_attr(not(feature = "alloc"), path = "without_alloc.rs")]
mod heap;
mod limits;
#[cfg(feature = "nom")]
#[cfg_attr(docsrs, doc(cfg(feature = "nom")))]
pub mod nom;
mod position;
mod wire;

#[cfg(feature = "std")]
mod with_std;

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
pub use heap::Text;
pub use limits::Limits;
pub use position::Position;
pub use wire::{Decode, Encode, Put};

#[cfg(feature = "std")]
pub use with_std::*;
