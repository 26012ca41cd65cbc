//! Writing: a store, its collections, their documents.
//!
//! # What a crash leaves
//!
//! Data are only appended to, in whole lines; index, journal and metadata are only ever replaced as a whole, by a rename. Between two
//! flushes there is a journal. It names the index it belongs to, says how long the data were when that was written, and holds what was
//! deleted since, each with the length of the data at that moment. A reader takes index, journal and data together. In the order in which
//! things happen, what it finds at each point:
//!
//! 1. *After a flush.* The index names all documents, in the order of their lines, and the last line of the data is the last of them: so
//!    nothing stands behind it that could be taken for appended, whatever times the files have.
//! 2. *The journal is made, before anything else is.* It adds nothing to the index yet.
//! 3. *Changes are written:* first the deletions that were gathered, then the lines. A deletion whose data are not there yet does not count,
//!    so that at any point, even in the middle of a write, the files hold the first so many of all changes, in their order. A torn last line
//!    is none, and a torn line of the journal neither.
//! 4. *Flush: the last line.* Where the document of the last line was deleted, the last one that is left is appended once more. That changes
//!    nothing for who reads the journal.
//! 5. *Flush: the data are synced, the index is replaced.* Now it says the same by itself, and the journal, which names another one, means
//!    nothing any more.
//! 6. *Flush: where no document is left the data are replaced by an empty file;* they are never cut, as readers have them mapped. Until then
//!    the index of no documents is told from one that is too old by the times of the files alone, as the reference does it.
//! 7. *Flush: the journal is removed.* That this may come back after a power cut does not matter: see 5.
//!
//! *Compacting* begins with 1. The journal that it makes says that shorter data are to come, of which the index does not speak: then the data
//! are replaced by the lines that are left, and until the index is replaced, too, these lines are what there is. Who has the old data open
//! keeps them.
//!
//! *Opening* puts right what is not as in 1. The torn end is cut off, and an index of what is there is written, in front of everything else
//! that is done; an old journal is removed last. Broken off, it is done again. A valid index is never made anew, as deletions are known
//! to nothing else.
//!
//! *A power cut* takes what was not synced. [`Durability::Flush`] syncs the journal before the first change, the data before the index, and
//! each file before its name: so after one the files are at one of the points above, but that of the changes since the last flush any may be
//! missing. [`Durability::EveryPut`] syncs each of them, too.
//!
//! *Another program* that writes the index between our crash and the next opening, as the reference does, makes the journal one of another
//! index: what it has written holds, and changes that were not flushed are lost.

mod collection;
mod compact;
mod disk;
mod flush;
mod folder;
mod ids;
mod load;
pub(crate) mod lock;
mod members;
mod metadata;
mod options;
mod part;
mod put;
mod schema;
mod store;
#[cfg(test)]
mod tests;
mod time;
mod transaction;

pub(crate) use lock::Lock;

pub use collection::CollectionWriter;
pub use compact::Compacted;
pub use options::{Durability, LoadOptions, Loaded, OnDuplicate, WriterOptions};
pub use store::StoreWriter;
