//! ZDS, collections of JSON documents in lines, and ZDX, the index by which they are found: what lies on disk, as pure functions over bytes.
//!
//! To write an index, and to read it:
//!
//! ```
//! use zdx::wire::index::{Entry, Index, head, put};
//! use zdx::wire::json;
//!
//! let line = br#"{"name":"oak","_id":"tree-1"}"#;
//! let id = json::scan(line)?.id.ok_or("no _id")?;
//! let mut file = head(1).to_vec();
//! // The line feed counts.
//! put(&Entry { id: id.as_bytes(), offset: 0, length: u32::try_from(line.len())? + 1 }, &mut file)?;
//!
//! let index = Index::parse(&file)?;
//! assert_eq!(index.len(), 1);
//! for entry in index.entries() {
//!     assert_eq!(entry?.id, b"tree-1");
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

pub mod archive;
pub mod container;
mod journal;
pub mod layout;
mod new_store;
mod read;
pub mod wire;
mod write;

pub use container_core::OpenOptions as Options;
pub use container_core::{Error, ErrorKind, Result};

pub use container::{FORMAT, ZdsContainer};
pub use new_store::NewStore;
pub use read::{Collection, Condition, Document, Documents, Fields, Filter, IndexState, Many, Predicate, Store};
pub use write::{
    CollectionWriter, Compacted, Durability, LoadOptions, Loaded, OnDuplicate, StoreWriter, WriterOptions,
};

/// The name of the format in errors and everywhere else.
const FORMAT_NAME: &str = "zds";

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
