//! Stores packed into one file: ZIP archives, read in place and written with reproducible bytes.
//!
//! [`Archive`] reads.

// Why rawzip: it parses the end records and the directory lazily, from any source of bytes, without a dependency, an allocation per entry or
// unsafe code, and leaves names, overlaps and decompression to its user, who has to check them here anyway. The others keep a struct with
// owned strings per entry (zip: in an index map, with a hash beside; rc-zip and async_zip: a comment and extra fields, too) or want the whole
// file as one slice (piz, which knows no positional reads and is the only other one to borrow names); zip and rc-zip bring date,
// encoding and state machine crates, async_zip an executor's traits. None of them tells two entries of one name by their places.
// Nor do their writers do what is needed here: rawzip's always puts sizes behind the data (a stored entry then cannot be read as a stream), zip's
// keeps its own clock and seeks for every entry. The three records of an archive are few lines in `write.rs`.

mod content;
mod directory;
mod names;
mod read;
mod verify;

pub use read::{Archive, Documents, Stranger};
