//! Stores in ZIP archives, which are read in place and written reproducibly.
//!
//! [`Archive`] reads, [`pack`] and [`ArchiveWriter`] write, [`unpack`] extracts into a directory.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use container_core::{OpenOptions, Source};
//! use zdx::archive::{Archive, ArchiveWriter, WriteOptions};
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("trees.zds");
//! let mut writer = ArchiveWriter::create(&path, &WriteOptions::default())?;
//! writer.add("collections/trees/docs/oak.json", &Source::from(&br#"{"height": 30}"#[..]))?;
//! writer.finish()?;
//!
//! let archive = Archive::open(&path, &OpenOptions::default())?;
//! assert_eq!(archive.collections(), ["trees"]);
//! assert_eq!(archive.documents("trees").collect::<Vec<_>>(), ["oak"]);
//! assert_eq!(archive.document("trees", "oak")?.unwrap(), r#"{"height": 30}"#);
//! # Ok(())
//! # }
//! ```

// Why rawzip: it parses the end records and the directory lazily, from any source, without dependencies, allocations per entry or unsafe code,
// and leaves names, overlaps and decompression to its user, who has to check them anyway. The alternatives keep a struct with owned strings per
// entry (zip: in an index map with hashes; rc-zip and async_zip: with comments and extra fields) or require the whole file as a slice (piz, the
// only other one to borrow names); zip and rc-zip bring date, encoding and state machine crates, async_zip an executor's traits. None of them
// detects duplicate names. Nor are their writers suitable: rawzip's always writes sizes after the data (so that stored entries cannot be read as a
// stream), zip's uses the current time and seeks for every entry. The three records of an archive take few lines in `write.rs`.

mod content;
mod current;
mod directory;
mod entry;
mod names;
mod order;
mod pack;
mod read;
mod unpack;
mod verify;
mod write;

pub use pack::{PackOptions, PackSummary, pack, pack_to_output};
pub use read::{Archive, Documents, ForeignEntry};
pub use unpack::{UnpackOptions, UnpackSummary, unpack};
pub use write::{ArchiveWriter, Compression, WriteOptions};
