//! ZDS, collections of JSON documents in lines, and ZDX, the index by which they are found: stores opened in any state they may be in, read at
//! memory speed by id and in order, written so that a crash takes nothing that was flushed, packed into archives and read there in place.
//!
//! # How a store is laid out
//!
//! | path in the root, or in a ZIP archive (`.zds`) at its top or in one folder | what it is |
//! |---|---|
//! | `zds.json` | what is said of the store; MAY be missing |
//! | `collections/<name>/meta/data.jsonl` | documents: JSON objects, one in a line, each with a text `_id` |
//! | `collections/<name>/meta/index.bin` | ZDX: which documents there are, and where each line lies. A line that it does not name is a deleted document |
//! | `collections/<name>/meta/manifest.json` | what is said of the collection; MAY be missing |
//! | `collections/<name>/docs/<id>.json` | documents in files of their own, instead of lines or beside them |
//! | `collections/<name>/meta/order.ids` | the order in which those come |
//! | `collections/<name>/meta/wharf.journal` | of this crate's writer, while it is at work: see below |
//! | `.zds/.zds_write.lock` | locked by whoever writes |
//!
//! An id MUST be 1 to 255 of `a-z A-Z 0-9 _ - .` to be written. The reference takes letters and digits of all alphabets, and any number of them;
//! they are read.
//!
//! # A first program
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/data/iris");
//! use zdx::Store;
//!
//! #[derive(serde::Deserialize)]
//! struct Flower<'a> {
//!     species: &'a str, // borrowed from the mapped file; what is not named is passed over
//! }
//!
//! let store = Store::open(path)?; // a folder or an archive
//! let train = store.collection("train")?;
//! for document in train.documents()? {
//!     let document = document?;
//!     let flower: Flower = document.decode()?;
//!     println!("{}: {}", document.id(), flower.species);
//! }
//! // Or one document: its bytes as they are, or a tree of values.
//! let id = train.ids()?.next().ok_or("empty")?;
//! let document = train.get(id)?.ok_or("the id is there")?;
//! assert!(document.bytes().starts_with(b"{") && document.value()?.is_object());
//! # Ok(())
//! # }
//! ```
//!
//! # A first store
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("trees");
//! use zdx::{Store, StoreWriter, WriterOptions};
//!
//! let root = StoreWriter::open(&path, WriterOptions::default())?; // made where there is none; locked until it ends
//! let mut trees = root.collection("trees")?;
//! trees.put("oak", &serde_json::json!({"height": 23.5}))?;
//! trees.put_line(br#"{"_id": "elm", "height": 19}"#)?; // checked, and kept byte for byte
//! trees.flush()?; // from here on readers see both, and no crash takes them
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
//! # Which type to start with
//!
//! | you want | take | cost |
//! |---|---|---|
//! | a store, its collections | [`Store`] | some opened files, none of them read |
//! | a document by id; many | [`Collection::get`], [`Collection::get_many`] | a walk over the index at the first two, then a table that is built once |
//! | by number; the number of an id | [`Collection::document`], [`Collection::row_of`] | the places of all documents, sorted once: 24 bytes each |
//! | all documents in the order of the data, or some | [`Collection::documents`] | a pass over index and data |
//! | all of them parsed, or looked at, by several threads, in order | [`Collection::map_documents`] | |
//! | some fields; those for which something holds | [`Fields`], [`Filter`] | only what is asked for is built |
//! | in what state it was found | [`Collection::condition`] | |
//! | to write, delete, load lines of JSON, compact | [`StoreWriter`], [`CollectionWriter`] | data are appended; the index is written at a flush |
//! | to read an archive, to make one, to unpack one | [`Store::open`], [`Store::pack`], [`archive::unpack`] | |
//! | the formats alone | [`wire`] | pure functions over bytes |
//!
//! # Which documents there are
//!
//! The index says it, where it is there and whole: a line that it does not name is deleted, also if it names none at all. Where it is missing or
//! damaged, the data say it, and of lines with one id the last. Where the data were written after the index, what stands behind the end that the
//! index knows is read, too. [`Condition`] says which of these it was, and what was passed over. Beside a line, a file of its own of the
//! same id is not seen.
//!
//! A writer of this crate that is at work, or was killed, has left a journal: how long the data were when the index was written, and what it
//! deleted since. Readers and the next writer go by it, so a document that was put and has reached the file is there, and one whose deletion was
//! flushed never comes back.
//!
//! # Where the reference differs
//!
//! `zippy_data` 0.1.2 gives documents without their `_id`; here they are as they stand. It takes an index of no entries for none, and brings all
//! documents back; here they are deleted. Its rebuilt index takes the first `"_id":"` in a line for the document's own; here the line is parsed
//! where it is not plain to see. A document that it filed under another id than its own `_id` is not got by either (an error tells both), and is
//! among all documents under the id of the index. Documents keep CR before their line feed there; here it is a part of the line's end.
//!
//! # Features
//!
//! | feature | what |
//! |---|---|
//! | `nom` | `wire::nom`: the index as parsers of nom 8 |
//! | `arrow` | collections as Arrow record batches, and from them |
//! | `zlib-rs` | archives are inflated and deflated by zlib-rs, about one and a half times as fast |
//! | `zlib-ng` | by zlib-ng, which is C |
//!
//! Work that is worth it is done by several threads of the standard library, which live as long as it takes: opening starts none.
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
#[cfg_attr(unix, path = "sys/unix.rs")]
#[cfg_attr(not(unix), path = "sys/other.rs")]
mod sys;
pub mod wire;
mod write;

pub use container::{FORMAT, ZdsContainer};
#[doc(no_inline)]
pub use container_core::{
    Access, Bytes, Error, ErrorKind, Finding, Limits, Loss, Map, OpenOptions, OutputOptions, Overwrite, Position,
    Progress, ReadAt, Result, Scan, Severity, Source, Sync, Unit, VerifyOptions,
};
pub use new_store::{NewStore, PlacedStore};
pub use read::{BatchLookup, Collection, Condition, Document, Documents, Fields, Filter, IndexState, Predicate, Store};
pub use write::{
    CollectionWriter, Compaction, Durability, LoadOptions, LoadSummary, OnDuplicate, StoreWriter, WriterOptions,
};

/// The name of the format in errors and everywhere else.
const FORMAT_NAME: &str = "zds";

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
