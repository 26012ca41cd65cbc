//! IDV, the binary data view of ML.NET (`.idv`): typed columns in compressed blocks of rows, read in every
//! version and written in the newest.
//!
//! # How a file is laid out
//!
//! | part | what it MUST be |
//! |---|---|
//! | header, 256 bytes | signature `CML\0DVB\0`, version, compatible version (not above 1.1.1.6), offsets of the table of contents and the tail, rows, columns |
//! | blocks | `rows per block` values of one column each, the last one the rest; each compressed by itself; anywhere in the file, in any order |
//! | lookup table, one a column | per block: offset, length in the file, length decompressed; they tell the order of rows |
//! | metadata, where a column has any | a table of kinds, each with one value in a block of its own |
//! | table of contents | per column: name, codec, compression, rows per block, where lookup table and metadata lie |
//! | tail, 8 bytes | the signature backwards |
//!
//! Numbers are little-endian; strings are a LEB128 length and UTF-8. A codec or compression that is not known here makes its column
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
//! | rows, as JSON or through serde | [`Reader::rows`] | a value at a time |
//! | columns as typed slices, all rows or some | [`Reader::batches`] | a block at a time, decoded ahead by all cores (feature `parallel`) |
//! | columns as Arrow's record batches | `Reader::record_batches` (feature `arrow`) | as batches; numbers are not copied |
//! | one block of one column | [`Reader::read_block`] | that block |
//! | the bytes of a block | [`Reader::block_bytes`] | none for uncompressed blocks of a mapped file |
//! | labels, slot names, what else is said of a column | [`Reader::metadata`] | that item |
//! | to know whether the file is sound | [`Reader::verify`] | the whole file |
//! | to write rows of your types, or columns | [`Writer`] | encoding and compressing, by all cores |
//! | to write Arrow's record batches | `arrow::ArrowWriter` (feature `arrow`) | the same |
//! | the rows of another file, some columns of them, compressed otherwise | [`Reader::schema`], [`Writer::append_reader`] | both |
//! | many files in one | [`merge`] | copying, where blocks fit |
//! | what is whole of a damaged file | [`Recovery`] | the whole file |
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
//! // One column in batches: no other column's bytes are touched.
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
//!     color: &'static str, // a key: written as the place of this label
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
//! writer.finish()?.finish()?; // tables and header; then the file gets its name
//!
//! let mut rows = idv::Reader::open(&path)?.rows(&Default::default())?;
//! let mut line = Vec::new();
//! rows.try_next()?.ok_or("two rows were written")?.json(&mut line)?;
//! assert_eq!(line, br#"{"name":"poppy","color":"red","petals":[3.5,4.0]}"#);
//! # Ok(())
//! # }
//! ```
//!
//! # Where ML.NET differs
//!
//! ML.NET reads the versions 1.1.1.4 to 1.1.1.6, no zlib, and only files whose columns all have the same rows per block; it reads missing
//! texts and times as empty and tick 0. Here they are read as the format defines them.
//!
//! # Features
//!
//! | feature | what |
//! |---|---|
//! | `nom` | `wire::nom`: header, tables and texts of types as parsers of nom 8 |
//! | `zlib-rs` | behind the inflate of this crate, for metadata and to say what is wrong with a block, zlib-rs in place of miniz_oxide: Rust with unsafe code |
//! | `zlib-ng` | zlib-ng there: C |
//! | `parallel` | blocks decoded ahead, encoded and compressed by rayon's threads |
//! | `arrow` | `idv::arrow`: record batches of Arrow, out (without a copy where that can be) and in; brings sub-crates of arrow |
//! | `model` | the schemas inside ML.NET model files (`.zip`): `Model`, `MODEL_FORMAT`; brings `rawzip`, which has no dependencies |
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(
    test,
    allow(
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap,
        clippy::cast_sign_loss,
        reason = "tests make their data with casts"
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
    Progress, ReadAt, Result, Scan, Severity, Source, Sync, Unit, VerifyOptions,
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

/// The name of the format in errors and everywhere else.
const FORMAT_NAME: &str = "idv";
