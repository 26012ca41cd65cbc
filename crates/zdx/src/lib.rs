//! ZDS, collections of JSON documents in JSON Lines files, and ZDX, their index: opens stores in any state, reads documents by id and in order at
//! memory speed, writes them crash-safely, and packs them into archives that are read in place.
//!
//! # Layout of a store
//!
//! | path, relative to the root (in a ZIP archive, `.zds`: the top, or one directory there) | contents |
//! |---|---|
//! | `zds.json` | metadata of the store; optional |
//! | `collections/<name>/meta/data.jsonl` | documents: one JSON object per line, each with a string `_id` |
//! | `collections/<name>/meta/index.bin` | ZDX: ids, offsets and lengths of the documents. A line that it does not list is a deleted document |
//! | `collections/<name>/meta/manifest.json` | metadata of the collection; optional |
//! | `collections/<name>/docs/<id>.json` | documents in files of their own, instead of or in addition to lines |
//! | `collections/<name>/meta/order.ids` | their order |
//! | `collections/<name>/meta/wharf.journal` | this crate's journal, while a writer is at work: see below |
//! | `.zds/.zds_write.lock` | lock file, held by a writer |
//!
//! To be written, an id must be 1 to 255 characters of `a-z A-Z 0-9 _ - .`. The reference accepts letters and digits of all alphabets, and any
//! number of them; such ids can be read.
//!
//! # Reading
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/data/iris");
//! use zdx::Store;
//!
//! #[derive(serde::Deserialize)]
//! struct Flower<'a> {
//!     species: &'a str, // borrowed from the document; other members are skipped
//! }
//!
//! let store = Store::open(path)?; // a directory or an archive
//! let train = store.collection("train")?;
//! for document in train.documents()? {
//!     let document = document?;
//!     let flower: Flower = document.decode()?;
//!     println!("{}: {}", document.id(), flower.species);
//! }
//! // A single document: its bytes as stored, or a tree of values.
//! let id = train.ids()?.next().ok_or("empty")?;
//! let document = train.get(id)?.ok_or("not found")?;
//! assert!(document.bytes().starts_with(b"{") && document.value()?.is_object());
//! # Ok(())
//! # }
//! ```
//!
//! # Writing
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("trees");
//! use zdx::{Store, StoreWriter, WriterOptions};
//!
//! let root = StoreWriter::open(&path, WriterOptions::default())?; // created if missing, locked until dropped
//! let mut trees = root.collection("trees")?;
//! trees.put("oak", &serde_json::json!({"height": 23.5}))?;
//! trees.put_line(br#"{"_id": "elm", "height": 19}"#)?; // validated, and kept byte for byte
//! trees.flush()?; // now readers see both documents, and no crash loses them
//! trees.delete("oak")?;
//! trees.finish()?;
//! root.finish()?;
//!
//! let trees = Store::open(&path)?.collection("trees")?;
//! assert!(trees.ids()?.eq(["elm"]));
//! # Ok(())
//! # }
//! ```
//!
//! # Where to start
//!
//! | task | API | cost |
//! |---|---|---|
//! | open a store, its collections | [`Store`] | opens some files, reads none |
//! | get documents by id | [`Collection::get`], [`Collection::get_many`] | the first look-up scans the index, the second builds a hash table |
//! | get a document by row, or the row of an id | [`Collection::document`], [`Collection::row_of`] | sorts the offsets of all documents once: 24 bytes each |
//! | iterate over documents in the order of the data | [`Collection::documents`], [`Documents::try_next`] | one pass over index and data |
//! | process documents with several threads, in order | [`Collection::map_documents`] | |
//! | select fields; filter documents | [`Fields`], [`Filter`] | builds only the fields that are needed |
//! | find out what state a collection is in | [`Collection::condition`] | |
//! | put, delete, bulk load, compact | [`StoreWriter`], [`CollectionWriter`] | appends data; a flush writes the index |
//! | read, create, unpack archives | [`Store::open`], [`Store::pack`], [`archive::unpack`] | |
//! | parse the formats | [`wire`] | pure functions over bytes |
//!
//! # How files are read
//!
//! | | positional reads, the default | mapped, see [`Access::Mapped`] |
//! |---|---|---|
//! | [`Collection::get`] | a system call and a copy per document | no copy |
//! | [`Collection::get_many`] | shares reads between documents less than 4 KiB apart | no copy |
//! | [`Collection::documents`] | reads up to 256 KiB ahead; counts references to that buffer | no copy |
//! | [`Documents::try_next`], [`Collection::map_documents`] | as `documents`, without counting | no copy |
//!
//! # Which documents exist
//!
//! The index decides, if it is valid: lines that it does not list are deleted, even if it lists none at all. If it is missing or damaged, the data
//! decide, and of several lines with one id the last one counts. If the data are newer than the index, lines past the end that it covers count,
//! too. [`Condition`] says which case applies, and what was skipped. A line takes precedence over a file in `docs` with the same id.
//!
//! A writer of this crate that is at work, or was killed, has a journal: the length of the data when the index was written, and deletions since.
//! Readers and the next writer apply it, so that a document whose line has reached the file exists, and one whose deletion was flushed never
//! comes back.
//!
//! # Differences from the reference
//!
//! `zippy_data` 0.1.2 returns documents without their `_id`; this crate returns them as stored. It treats an index without entries as missing,
//! and brings all documents back; here they are deleted. When it rebuilds an index, it takes the first `"_id":"` in a line for the document's
//! own; here the line is parsed if there is any doubt. A document indexed under an id other than its `_id` cannot be got by either (the error
//! names both), but is iterated under the indexed id. The reference keeps a CR before the line feed; here it is part of the line ending.
//!
//! # Features
//!
//! | feature | what |
//! |---|---|
//! | `nom` | `wire::nom`: index parsers for nom 8 |
//! | `arrow` | collections to and from Arrow record batches |
//! | `zlib-rs` | compression of archives with zlib-rs, about 1.5 times as fast |
//!
//! Large operations use several scoped threads of the standard library; opening starts none.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

pub mod archive;
#[cfg(feature = "arrow")]
#[cfg_attr(docsrs, doc(cfg(feature = "arrow")))]
pub mod arrow;
pub mod container;
mod journal;
pub mod layout;
mod new_store;
mod read;
#[cfg_attr(not(unix), path = "sys/other.rs")]
mod sys;
pub mod wire;
mod write;

pub use container::{FORMAT, ZdsContainer};
#[doc(no_inline)]
pub use container_core::{
    Access, Bytes, Error, ErrorKind, Finding, Limits, Loss, Map, OpenOptions, OutputOptions, Overwrite, Position,
    Progress, ReadAt, Result, Scan, Severity, Source, SyncPolicy, Unit, VerifyOptions,
};
pub use new_store::{NewStore, PlacedStore};
pub use read::{
    BatchLookup, Collection, Comparison, Condition, Document, Documents, Fields, Filter, IndexState, Predicate, Store,
};
pub use write::{
    CollectionWriter, Compaction, Durability, LoadOptions, LoadSummary, OnDuplicate, StoreWriter, WriterOptions,
};

/// Name of the format in errors and elsewhere.
const FORMAT_NAME: &str = "zds";

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
