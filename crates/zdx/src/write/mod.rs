//! Writing: a store, its collections, their documents.
//!
//! # What a crash leaves
//!
//! Data are only appended to, in whole lines. Index, journal and metadata are only ever replaced as a whole, by a rename. Between two
//! flushes there is a journal ([`crate::journal`]). It names the index it belongs to, says how long the data were when that was written,
//! and lists what was deleted since, each deletion with the length of the data at that moment. A reader takes index, journal and data
//! together. This is what it finds at each point, in the order in which things happen:
//!
//! 1. *After a flush.* The index names all documents, in the order of their lines, and the last line of the data is the last of them.
//!    Nothing behind it could be taken for appended, whatever times the files have.
//! 2. *The journal is made, before any other change.* It adds nothing to the index yet.
//! 3. *Changes are written:* first the deletions that were gathered, then the lines. A deletion whose data are missing does not count, so at
//!    any point, even in the middle of a write, the files hold the beginning of all changes, in their order. A torn last line does not
//!    count, in the data or in the journal.
//! 4. *Flush: the last line.* Where the document of the last line was deleted, the last one that is left is appended once more. Readers
//!    that see the journal see no change.
//! 5. *Flush: the data are synced, the index is replaced.* Now the index alone tells all, and the journal, which names another one, means
//!    nothing any more.
//! 6. *Flush: where no document is left the data are replaced by an empty file.* They are not cut, as readers have them mapped. Until then
//!    only the times of the files tell the index of no documents from one that is too old.
//! 7. *Flush: the journal is removed.* A power cut may bring it back, without effect: see 5.
//!
//! *Compacting* begins with 1. Its journal says that shorter data are to come, which the index does not know. Then the data are replaced by
//! the lines that are left, and until the index is replaced, too, all of these lines count. Readers that have the old data open keep them.
//!
//! *Opening* changes nothing. Where the files are not as in 1, the first change or flush repairs them before it does anything else: a torn
//! end or the rest of a transaction is cut off, an index of what was found is written, and the old journal is removed last. Broken off, it
//! is done again. A valid index is never made anew, as nothing else knows of deletions.
//!
//! # Transactions
//!
//! In a transaction all changes up to the next flush count together or not at all (`transaction.rs`). Where they are until then depends on
//! the collection:
//!
//! * *It has documents.* The journal gets a record, `begin`, with the length of the data, before the first line is appended. From then on
//!   readers end the data there, and ignore deletions behind the record. They never look at what is behind, so that it can be cut off while
//!   they have the file mapped. Step 5 ends the transaction: the journal is void beside the new index. A reader of the reference, which
//!   trusts the index and ignores the journal, sees the same two states.
//! * *It has none.* The reference takes an index of no documents for a missing one, and would rebuild it from the data. So lines go into
//!   `wharf-data.tmp`. At the end a journal is written that lists what was deleted among them, and the file is renamed to `data.jsonl`: with
//!   that all of it counts. Index and cleaning up follow as in 5 to 7.
//! * *It does not exist.* It is written in a folder beside the lock, `.zds/new-0/NAME`, and renamed into `collections`. In a new store
//!   `.zds/new-0` itself is renamed and becomes `collections`: before, the folder is no store. The next writer removes such folders.
//!
//! *Documents in files of their own* that a transaction deletes are removed behind its end. Before step 5 the journal gets a record,
//! `publish`, with the index to come and the ids of these documents. A reader that finds this index takes them for deleted, and the
//! next writer removes the files. Where the index does not change, the record itself ends the transaction. The reference sees such files
//! go one by one.
//!
//! *Rolling back* cuts the data to the length in the record and gives them back their time, then removes the journal, or puts back the one
//! of earlier changes. A crash in between leaves the record, and the next opening goes on. The same happens after an error of the files.
//!
//! *Loading* is a transaction of its own which need not wait for a flush: a record `end`, with the length of the data, ends it.
//!
//! # Power cuts, other programs, links
//!
//! *A power cut* takes what was not synced. [`Durability::Flush`] syncs the journal before the first change, the data before the index, and
//! each file before its name. So after one the files are at one of the points above, but of the changes since the last flush any may be
//! missing, in part also those of a load. [`Durability::EveryPut`] syncs each of them, too.
//!
//! *Another program* that writes the index between our crash and the next opening, as the reference does, voids the journal: what it has
//! written counts. Changes that were not flushed are lost, and lines of a transaction that was open are dead lines or, for a
//! program that rebuilds the index from the data, documents.
//!
//! *Links and pipes* in a store are refused: see `folder.rs`.

mod collection;
mod compact;
mod disk;
mod flush;
pub(crate) mod folder;
mod ids;
mod load;
pub(crate) mod lock;
mod members;
mod metadata;
mod options;
mod part;
mod put;
mod schema;
mod shared;
mod staging;
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
