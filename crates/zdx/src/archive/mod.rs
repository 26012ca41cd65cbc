//! Stores packed into one file: ZIP archives, read in place and written with reproducible bytes.
//!
//! [`Archive`] reads, [`pack`] and [`ArchiveWriter`] write, [`unpack`] makes a folder of one again.
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

// Why rawzip: it parses the end records and the directory lazily, from any source of bytes, without a dependency, an allocation per entry or
// unsafe code, and leaves names, overlaps and decompression to its user, who has to check them here anyway. The others keep a struct with
// owned strings per entry (zip: in an index map, with a hash beside; rc-zip and async_zip: a comment and extra fields, too) or want the whole
// file as one slice (piz, which knows no positional reads and is the only other one to borrow names); zip and rc-zip bring date,
// encoding and state machine crates, async_zip an executor's traits. None of them tells two entries of one name by their places.
// Nor do their writers do what is needed here: rawzip's always puts sizes behind the data (a stored entry then cannot be read as a stream), zip's
// keeps its own clock and seeks for every entry. The three records of an archive are few lines in `write.rs`.

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

pub use pack::{PackOptions, Packed, pack, pack_unplaced};
pub use read::{Archive, Documents, ForeignEntry};
pub use unpack::{UnpackOptions, Unpacked, unpack};
pub use write::{ArchiveWriter, Compression, WriteOptions};
