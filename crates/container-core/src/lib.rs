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
//! | work with several threads, or with one | [`parallel`] |
//! | test a format against damage | `testkit` (feature) |
//!
//! # A first program
//!
#![cfg_attr(feature = "std", doc = "```")]
#![cfg_attr(not(feature = "std"), doc = "```ignore")]
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
//! Arrow record batches, `nom` parsers of that library over cursors, `parallel` the threads of rayon to the functions of [`parallel`],
//! `raw_json` JSON whose values stay their text, `testkit` the conformance kit.
#![cfg_attr(not(feature = "std"), no_std)]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(
    not(feature = "alloc"),
    allow(clippy::result_large_err, reason = "without an allocator there is no box to put an error into")
)]

#[cfg(any(feature = "alloc", test))]
extern crate alloc;

pub mod calendar;
mod cursor;
mod error;
#[cfg_attr(feature = "alloc", path = "with_alloc.rs")]
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
