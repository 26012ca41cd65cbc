//! datadings, a dataset format of msgpack samples (`.msgpack` with its index files): read at memory speed by index and by key, written byte
//! for byte as Python does, verified and repaired.
//!
//! # Files of a dataset
//!
//! | file | required content |
//! |---|---|
//! | `d.msgpack` | the samples: consecutive msgpack maps with a str `key`, nothing between them |
//! | `d.msgpack.offsets` | n + 1 big-endian u64: the start of each sample, and the end of the last |
//! | `d.msgpack.keys` | one msgpack array of n str, in sample order |
//! | `d.msgpack.key_hashes` | an 8-byte salt, then n big-endian u64: the first 8 bytes of each key's salted BLAKE2s |
//! | `d.msgpack.filter` | a [`simplebloom`] filter over all keys |
//! | `d.msgpack.md5` | the MD5 sums of these five, as `md5sum` writes them |
//! | `d.msgpack.index` | legacy, instead of the four index files: one msgpack map from key to offset |
//!
//! Only the data and one of `.offsets` and `.index` are required. `.offsets` MAY lack its last value. Numpy values are encoded as maps: see
//! [`numpy`].
//!
//! # A first program
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/data/real-iris.msgpack");
//! use datadings::Reader;
//!
//! #[derive(serde::Deserialize)]
//! struct Flower<'a> {
//!     key: &'a str, // borrowed from the sample
//!     species: &'a str,
//! }
//!
//! let reader = Reader::open(path)?;
//! for sample in &reader {
//!     let sample = sample?;
//!     let flower: Flower = sample.decode()?; // unknown fields are skipped
//!     println!("{}: {}", flower.key, flower.species);
//! }
//! // Or one sample, and one field of it: nothing else is decoded.
//! let key = reader.key(7)?;
//! let sample = reader.get_key(&key)?.ok_or("missing key")?;
//! assert_eq!((sample.index(), sample.field("species")?.str()?), (7, "setosa"));
//! # Ok(())
//! # }
//! ```
//!
//! # A first dataset
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("cats.msgpack");
//! use datadings::numpy::NdArray;
//! use datadings::{Reader, Writer, WriterOptions};
//!
//! #[derive(serde::Serialize)]
//! struct Cat<'a> {
//!     key: &'a str,
//!     #[serde(with = "serde_bytes")]
//!     image: &'a [u8],
//!     size: NdArray<'a>,
//! }
//!
//! let mut writer = Writer::create(&path, WriterOptions::default())?;
//! writer.append(&Cat { key: "tom", image: b"...", size: NdArray::from_slice(&[64i32, 48], &[2])? })?;
//! writer.finish()?; // writes index and sums; then all six files appear
//!
//! let reader = Reader::open(&path)?;
//! let size = reader.get(0)?.field("size")?.ndarray()?.to_vec::<i32>()?;
//! assert_eq!(size, [64, 48]);
//! # Ok(())
//! # }
//! ```
//!
//! # Where to start
//!
//! | you want | use | cost |
//! |---|---|---|
//! | a sample by its index, as your own type or field by field | [`Reader::get`] | two offsets and what you read |
//! | a sample by its key; many keys | [`Reader::get_key`], [`Reader::find_many`] | a table of 17 bytes per sample, built at the fifth look-up |
//! | all samples, or a range, in order | [`Reader::samples`], `for sample in &reader` | a pass over the data |
//! | samples in random order, for one of many workers, from any position | [`order::Order`] | some nanoseconds per position |
//! | several datasets as one | [`Shards`] | as for each |
//! | numpy arrays and scalars | [`numpy`] | none if they can be borrowed |
//! | samples as JSON, and JSON as samples | [`json`] | |
//! | to write or append | [`Writer`] | the speed of MD5 |
//! | Arrow record batches, both ways | `arrow` (feature) | a pass over the samples for the schema, and one for the batches; the speed of [`Writer`] |
//!
//! # Differences from Python
//!
//! Python's reader returns a sample for any key with the same hash; this crate compares the key. It shares its file position with forked
//! processes; this crate has none. It unpickles arrays of objects, which runs their code; here they remain bytes.
//!
//! # Features
//!
//! | feature | what |
//! |---|---|
//! | `nom` | `nom`: nom 8 parsers of the index files |
//! | `arrow` | `datadings::arrow`: samples as Arrow record batches, and back; depends on the sub-crates of `arrow` |
//! | `glob` | opens shards by pattern; depends on `glob` |
//! | `serde` | [`order::Order`] and [`order::QuasiShuffle`] implement `Serialize` and `Deserialize`, for checkpoints; depends on `serde` with its derive macros |
//! | `parallel` | fills filters on all cores rather than one; depends on `rayon` |
//!
//! Expensive work runs on short-lived threads of the standard library, and with the feature `parallel` on those of `rayon`. Opening a reader
//! starts no threads.
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(
    test,
    allow(
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap,
        clippy::cast_sign_loss,
        reason = "tests create data with casts"
    )
)]

#[cfg(feature = "arrow")]
#[cfg_attr(docsrs, doc(cfg(feature = "arrow")))]
pub mod arrow;
mod container;
mod de;
mod format;
mod index;
pub mod json;
mod md5;
#[cfg(feature = "nom")]
#[cfg_attr(docsrs, doc(cfg(feature = "nom")))]
pub mod nom;
pub mod numpy;
pub mod order;
mod read;
mod rebuild;
mod recover;
pub mod ser;
mod shards;
mod sparse;
#[cfg_attr(not(unix), path = "sys/other.rs")]
mod sys;
mod value;
mod verify;
mod wire;
mod write;

pub use container::DatadingsContainer;
#[doc(no_inline)]
pub use container_core::{
    Access, Bytes, Error, ErrorKind, Finding, Limits, Loss, Map, OpenOptions, OutputOptions, Overwrite, Position,
    Progress, ReadAt, Result, Scan, Severity, Source, SyncPolicy, Unit, VerifyOptions,
};
pub use de::Deserializer;
pub use format::FORMAT;
pub use read::{Keys, Reader, Sample, Samples};
pub use rebuild::{RebuildOptions, RebuildSummary, rebuild_index};
pub use recover::{OnDuplicateKey, RecoverOptions, Recovery};
pub use shards::{ShardKeys, ShardSamples, Shards};
pub use value::{Entries, Items, Kind, RawValue};
pub use wire::Part;
#[doc(hidden)]
pub use wire::emit::{put_bin_header, put_map_header};
pub use write::{WriteSummary, Writer, WriterOptions};

/// The name of the format.
const FORMAT_NAME: &str = "datadings";
