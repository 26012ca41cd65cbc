//! IDV, the binary data view of ML.NET (`.idv`): typed columns in compressed blocks of rows. Reads every version, writes the latest.
//!
//! # File layout
//!
//! | part | content |
//! |---|---|
//! | header, 256 bytes | signature `CML\0DVB\0`, version, compatible version (at most 1.1.1.6), offsets of the table of contents and the tail, row count, column count |
//! | blocks | `rows per block` values of one column, fewer in the last block; compressed independently; anywhere in the file, in any order |
//! | lookup table, one per column | per block in row order: offset, length in the file, decompressed length |
//! | metadata, optional per column | a table of kinds, each with one value in its own block |
//! | table of contents | per column: name, codec, compression, rows per block, offsets of lookup table and metadata |
//! | tail, 8 bytes | the signature reversed |
//!
//! Numbers are little-endian; a string is a LEB128 length followed by UTF-8. An unknown codec or compression makes its column
//! [unreadable](Column::kind), not the file.
//!
//! # A first program
//!
//! ```
//! # fn main() -> idv::Result<()> {
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/data/scalar-mixed-none.idv");
//! use idv::{Reader, Scan};
//!
//! let reader = Reader::open(path)?;
//! for column in reader.columns() {
//!     match column.kind() {
//!         Ok(kind) => println!("{}: {kind}", column.unique_name()),
//!         Err(why) => println!("{}: {why}", column.unique_name()),
//!     }
//! }
//! let mut rows = reader.rows(&Scan::default())?;
//! let mut line = Vec::new();
//! while let Some(row) = rows.try_next()? {
//!     line.clear();
//!     row.json(&mut line)?; // or serde: `Row` implements `Serialize`
//!     println!("{}", String::from_utf8_lossy(&line));
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Which type to start with
//!
//! | you want | take | cost |
//! |---|---|---|
//! | rows, as JSON or through serde | [`Reader::rows`] | one value at a time |
//! | columns as typed slices, all rows or a range | [`Reader::batches`] | one block at a time, decoded ahead on all cores (feature `parallel`) |
//! | columns as Arrow record batches | `Reader::record_batches` (feature `arrow`) | as `batches`; numbers are zero-copy |
//! | one block of one column | [`Reader::read_block`] | that block |
//! | the bytes of a block | [`Reader::block_bytes`] | none for uncompressed blocks of a mapped file |
//! | key values, slot names, other metadata | [`Reader::metadata`] | that item |
//! | a check of the whole file | [`Reader::verify`] | the whole file |
//! | to write rows of your types, or columns | [`Writer`] | encoding and compression, on all cores |
//! | to write Arrow record batches | `arrow::ArrowWriter` (feature `arrow`) | the same |
//! | to copy rows or columns of a file, with other compression | [`Reader::schema`], [`Writer::append_reader`] | both |
//! | to merge files | [`merge`] | a copy where block boundaries match |
//! | the intact part of a damaged file | [`Recovery`] | the whole file |
//!
//! ```
//! # fn main() -> idv::Result<()> {
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/data/scalar-mixed-none.idv");
//! use idv::{ItemType, Reader, Scan, Type};
//!
//! let reader = Reader::open(path)?;
//! let single = Type::Item(ItemType::Single);
//! let column = reader.columns().iter().find(|column| column.kind() == Ok(&single)).unwrap();
//!
//! // One column in batches: other columns are not read.
//! let mut sum = 0.0;
//! let mut batches = reader.batches(&Scan::default().with_columns([column.index()]))?;
//! while let Some(batch) = batches.try_next()? {
//!     let slice = batch.column(0).unwrap();
//!     let floats = &slice.values.as_slice::<f32>().unwrap()[slice.range];
//!     sum += floats.iter().filter(|x| x.is_finite()).map(|&x| f64::from(x)).sum::<f64>();
//! }
//! # assert!(sum.is_finite());
//! # Ok(())
//! # }
//! ```
//!
//! # A first file
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use idv::{ColumnSchema, ItemType, KeyType, KeyWidth, OutputOptions, Schema, Type, Writer, WriterOptions};
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("flowers.idv");
//!
//! #[derive(serde::Serialize)]
//! struct Flower {
//!     name: &'static str,
//!     color: &'static str, // a key, written as the index of this label
//!     petals: [f32; 2],
//! }
//!
//! let color = ItemType::Key(KeyType::new(KeyWidth::UInt32, 2)?);
//! let schema = Schema::new([
//!     ColumnSchema::new("name", Type::Item(ItemType::Text)),
//!     ColumnSchema::new("color", Type::Item(color)).with_key_values(["red", "blue"])?,
//!     ColumnSchema::new("petals", Type::Vector { item: ItemType::Single, dimensions: vec![2] })
//!         .with_slot_names(["length", "width"])?,
//! ]);
//! let mut writer = Writer::create(&path, OutputOptions::default(), schema, WriterOptions::default())?;
//! writer.append_row(&Flower { name: "poppy", color: "red", petals: [3.5, 4.0] })?;
//! writer.append_row(&Flower { name: "flax", color: "blue", petals: [1.2, 1.1] })?;
//! writer.finish()?; // writes tables and header, then renames the file into place
//!
//! let mut rows = idv::Reader::open(&path)?.rows(&Default::default())?;
//! let mut line = Vec::new();
//! rows.try_next()?.ok_or("two rows were written")?.json(&mut line)?;
//! assert_eq!(line, br#"{"name":"poppy","color":"red","petals":[3.5,4.0]}"#);
//! # Ok(())
//! # }
//! ```
//!
//! # Differences from ML.NET
//!
//! ML.NET reads versions 1.1.1.4 to 1.1.1.6, rejects zlib and files whose columns differ in rows per block, and reads missing text and
//! times as empty and tick 0. This crate reads missing values as missing.
//!
//! # Features
//!
//! | feature | what |
//! |---|---|
//! | `nom` | `wire::nom`: nom 8 parsers for the header, the tables and type names |
//! | `zlib-rs` | fallback decoder (metadata, damaged blocks) zlib-rs instead of miniz_oxide: Rust with unsafe code |
//! | `parallel` | decodes, encodes and compresses blocks on rayon's threads |
//! | `arrow` | `idv::arrow`: reads (zero-copy where possible) and writes Arrow record batches; adds arrow's sub-crates |
//! | `model` | schemas in ML.NET model files (`.zip`): `Model`, `MODEL_FORMAT`; adds `rawzip`, which has no dependencies |
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(not(feature = "arrow"), allow(dead_code, reason = "record batches use all of the crate"))]
#![cfg_attr(
    test,
    allow(
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap,
        clippy::cast_sign_loss,
        reason = "tests build data with casts"
    )
)]

#[cfg(feature = "arrow")]
#[cfg_attr(docsrs, doc(cfg(feature = "arrow")))]
pub mod arrow;
mod check;
mod codec;
mod container;
#[cfg(test)]
mod goldens;
mod inflate;
mod lookahead;
#[cfg(feature = "model")]
mod model;
mod read;
mod recover;
mod schema;
mod schema_diff;
mod schema_json;
mod time;
mod value;
pub mod wire;
mod write;

pub use codec::{DateTimeOffsets, Item, Texts, Values, VectorRef, Vectors};
pub use container::{FORMAT, IdvContainer};
#[doc(no_inline)]
pub use container_core::{
    Access, Bytes, Error, ErrorKind, Finding, Limits, Loss, Map, OpenOptions, OutputOptions, Overwrite, Position,
    Progress, ReadAt, Result, Scan, Severity, Source, SyncPolicy, Unit, VerifyOptions,
};
#[cfg(feature = "model")]
pub use model::{MODEL_FORMAT, Model, ModelSchema};
pub use read::{Batch, Batches, Column, ColumnSlice, Metadata, Reader, Row, Rows, Scratch, Unreadable};
pub use recover::{RecoverOptions, Recovery};
pub use schema::{ColumnSchema, MetadataSchema, Schema};
pub use schema_diff::SchemaDifference;
pub use time::{DateTime, DateTimeOffset, TimeSpan};
pub use value::{Labels, Value, Vector};
#[doc(inline)]
pub use wire::{Compression, Header, ItemType, KeyType, KeyWidth, Type, Version};
pub use write::{Cell, KeyLabels};
pub use write::{CopyStats, Writer, WriterOptions, merge};

pub(crate) use read::metadata_as_value;

/// Format name, as in errors.
const FORMAT_NAME: &str = "idv";
