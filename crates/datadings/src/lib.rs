//! datadings, the dataset format of msgpack samples (`.msgpack` with its index files): read at memory speed by index and by key, written
//! byte for byte as Python does, checked and repaired.
//!
//! # How a dataset is laid out
//!
//! | file | what it MUST be |
//! |---|---|
//! | `d.msgpack` | the samples: msgpack maps with a str `key`, one behind the other, nothing between |
//! | `d.msgpack.offsets` | big-endian u64: where each sample begins, and where the last one ends: n + 1 of them |
//! | `d.msgpack.keys` | one msgpack array of n str, in the order of samples |
//! | `d.msgpack.key_hashes` | a salt of 8 bytes, then n big-endian u64: BLAKE2s of each key with the salt, its first 8 bytes |
//! | `d.msgpack.filter` | a [`simplebloom`] filter over all keys |
//! | `d.msgpack.md5` | the MD5 sums of these five, as `md5sum` writes them |
//! | `d.msgpack.index` | in older datasets, instead of the four files of the index: one msgpack map from key to offset |
//!
//! Only the data and one of `.offsets` and `.index` have to be there. `.offsets` MAY lack its last value. Values of numpy are
//! maps of their own form: see [`numpy`].
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
//!     let flower: Flower = sample.decode()?; // what the type does not name is passed over
//!     println!("{}: {}", flower.key, flower.species);
//! }
//! // Or one sample, and one field of it: nothing else is decoded.
//! let key = reader.key(7)?;
//! let sample = reader.get_key(&key)?.ok_or("the key is there")?;
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
//! writer.finish()?; // index and sums; then all six files get their names
//!
//! let reader = Reader::open(&path)?;
//! let size = reader.get(0)?.field("size")?.ndarray()?.to_vec::<i32>()?;
//! assert_eq!(size, [64, 48]);
//! # Ok(())
//! # }
//! ```
//!
//! # Which type to start with
//!
//! | you want | take | cost |
//! |---|---|---|
//! | a sample by its number, in your type or field by field | [`Reader::get`] | two offsets and what you look at |
//! | a sample by its key; many keys | [`Reader::get_key`], [`Reader::find_many`] | a table of 17 bytes a sample, built at the fifth look-up |
//! | all samples, or a range, in order | [`Reader::samples`], `for sample in &reader` | a pass over the data |
//! | samples in random order, for one of many workers, from any position on | [`order::Order`] | some nanoseconds a position |
//! | many datasets as one | `Shards` | those of each |
//! | arrays and numbers of numpy | [`numpy`] | none where they can be borrowed |
//! | samples as JSON, and JSON as samples | [`json`] | |
//! | to write, to append | [`Writer`] | the speed of MD5 |
//! | record batches of Arrow, out and in | `arrow` (feature) | a pass over the samples for the schema, and one for the batches; the speed of [`Writer`] |
//!
//! # Where Python differs
//!
//! Python's reader takes a foreign key whose hash is that of a sample for that sample's; here the real key is compared. It shares its
//! file position with the processes it forks; here there is none. It runs the pickles that arrays of objects hold; here they stay bytes.
//!
//! # Features
//!
//! | feature | what |
//! |---|---|
//! | `nom` | `nom`: the files of the index as parsers of nom 8 |
//! | `arrow` | `datadings::arrow`: samples as record batches of Arrow, and datasets from them; brings the sub-crates of `arrow` |
//! | `glob` | shards by a pattern; brings `glob` |
//! | `parallel` | filters are filled by all cores, where one does it without; brings `rayon` |
//!
//! Work that is worth it is done by several threads of the standard library, which live as long as it takes, and by those of `rayon` with
//! its feature: opening a reader starts none.
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
#[cfg_attr(unix, path = "sys/unix.rs")]
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
pub use write::{WriteSummary, Writer, WriterOptions};

/// The name of the format in errors and everywhere else.
const FORMAT_NAME: &str = "datadings";
