//! Writing: stores, collections, documents.
//!
//! # Crash safety
//!
//! Data are only appended to, in whole lines. Index, journal and metadata are only replaced as a whole, by a rename. Between two flushes there
//! is a journal ([`crate::journal`]). It identifies the index it belongs to, records the length of the data at that time, and lists the
//! deletions since, each with the length of the data at that moment. Readers combine index, journal and data. These are the states they may
//! find, in the order in which they occur:
//!
//! 1. *After a flush.* The index lists all documents, in the order of their lines, and the last line of the data is the last document's.
//!    Nothing follows it that could be taken for an appended document, whatever the modification times.
//! 2. *The journal is created, before any other change.* It does not change anything yet.
//! 3. *Changes are written:* first the buffered deletions, then the lines. A deletion whose data are missing does not count, so at any time, even
//!    in the middle of a write, the files hold a prefix of all changes. A torn last line does not count, in the data or in the journal.
//! 4. *Flush: the last line.* If the last line's document was deleted, the last remaining document is appended again. Readers that see the
//!    journal see no change.
//! 5. *Flush: the data are synced, the index is replaced.* Now the index alone counts: the journal belongs to another one and is void.
//! 6. *Flush: if no documents are left, the data are replaced by an empty file.* They are not truncated, as readers may have mapped them. Until
//!    then, only the modification times tell an empty index from a stale one.
//! 7. *Flush: the journal is removed.* A power cut may bring it back, without effect: see 5.
//!
//! *Compaction* begins with state 1. Its journal announces shorter data that the index does not describe. Then the data are replaced by the
//! remaining lines, and until the index is replaced, too, all of these lines count. Readers that have the old data open keep them.
//!
//! *Opening* changes nothing. Unless the files are in state 1, the first change or flush repairs them first: it cuts off a torn line or an
//! unfinished transaction, writes an index of what was found, and finally removes the old journal. If interrupted, the repair starts over. A
//! valid index is never rebuilt, because only it knows of deletions.
//!
//! # Transactions
//!
//! In a transaction all changes up to the next flush count together or not at all (`transaction.rs`). Until then they are kept in one of three
//! places, depending on the collection:
//!
//! * *It has documents.* Before the first line is appended, a record `begin` with the length of the data is added to the journal. Readers end
//!   the data there, and ignore deletions after the record. They never look past that point, so that it can be cut off even while the file is
//!   mapped. Step 5 ends the transaction: beside the new index the journal is void. A reader of the reference, which trusts the index and
//!   ignores the journal, sees the same two states.
//! * *It is empty.* The reference treats an index without documents as missing, and would rebuild it from the data. So lines go into
//!   `wharf-data.tmp`. At the end a journal is written that lists the deletions among them, and the file is renamed to `data.jsonl`, which makes
//!   everything count. Index and clean-up follow as in 5 to 7.
//! * *It does not exist.* It is written to a directory beside the lock, `.zds/new-0/NAME`, and renamed into `collections`. In a new store
//!   `.zds/new-0` itself is renamed to `collections`, which makes the directory a store. The next writer removes left-over directories.
//!
//! *File-per-document documents* deleted in a transaction are removed after its end. Before step 5 a record `publish` is added to the journal,
//! with the index to come and the ids of these documents. Readers that find this index treat them as deleted, and the next writer removes the
//! files. If the index does not change, the record itself ends the transaction. The reference sees such files disappear one by one.
//!
//! *Rollback* cuts the data to the recorded length and restores their modification time, then removes the journal, or restores the one of
//! earlier changes. After a crash in between, or an I/O error, the record is still there and the next opening continues.
//!
//! *Loading* is an implicit transaction which does not wait for a flush: a record `end`, with the length of the data, ends it.
//!
//! # Power cuts, other programs, links
//!
//! *A power cut* loses what was not synced. [`Durability::Flush`] syncs the journal before the first change, the data before the index, and
//! each file before its rename. So the files are in one of the states above afterwards, but any of the changes since the last flush may be
//! missing, including parts of a load. [`Durability::EveryPut`] syncs each change, too.
//!
//! *Another program*, such as the reference, that writes the index between our crash and the next opening voids the journal: its index counts.
//! Unflushed changes are lost; lines of an open transaction are dead, or documents to a program that rebuilds the index from the data.
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
pub use compact::Compaction;
pub use options::{Durability, LoadOptions, LoadSummary, OnDuplicate, WriterOptions};
pub use store::StoreWriter;
