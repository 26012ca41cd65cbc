//! Bloom filters in the file format of Python's `simplebloom`, byte for byte: opened without a copy, filled and queried in
//! bulk at SIMD speed.
//!
//! # The file
//!
//! | offset | type | field |
//! |---|---|---|
//! | 0 | 8 bytes | `SIMPBLOO` |
//! | 8 | u64, big-endian | the file's length in bytes, MUST be 32 + bits / 8 |
//! | 16 | u64, big-endian | the capacity in keys, `n`, MUST be at least 2 |
//! | 24 | f64, big-endian | the false positive probability, `p`, MUST be above 0 and below 1 |
//! | 32 | bytes | the bits, least significant bit of a byte first |
//!
//! The number of bits and the number of bits per key are not stored. Both follow from `n` and `p`, in double precision and
//! in this order of operations:
//!
//! ```text
//! bits   = ceil(n * ln p / -0.4804530139182015 / 8) * 8
//! hashes = round(bits / n * 0.6931471805599453)            half to even
//! ```
//!
//! A key is hashed with BLAKE2s, 32 bytes, no key, no salt. The digest's first 16 bytes are two big-endian numbers, `h1`
//! and `h2`, and the key's bits are `(h1 + k * h2 mod 2^64) mod bits` for `k` from 0 to `hashes` - 1.
//!
//! ```
//! let mut filter = simplebloom::BloomFilter::new(5)?;
//! filter.extend(["k0", "k1", "k2", "k3", "k4"]);
//! let file = b"SIMPBLOO\0\0\0\0\0\0\0\x23\0\0\0\0\0\0\0\x05\x3f\xc9\x99\x99\x99\x99\x99\x9a\xe2\x53\x1d";
//! assert_eq!(filter.as_bytes(), file);
//! # Ok::<(), simplebloom::Error>(())
//! ```
//!
//! # A first program
//!
//! Reading:
//!
//! ```
//! use simplebloom::BloomFilter;
//!
//! # let mut made = BloomFilter::with_probability(1000, 0.01)?;
//! # made.insert("here");
//! # let file = made.into_inner();
//! // `file` is the result of `std::fs::read`, or a mapped file. It is not copied.
//! let filter = BloomFilter::from_bytes(&file[..])?;
//! assert!(filter.contains("here"));
//! assert!(!filter.contains("not here"));
//! # Ok::<(), simplebloom::Error>(())
//! ```
//!
//! Writing:
//!
//! ```
//! use simplebloom::BloomFilter;
//!
//! let mut filter = BloomFilter::with_probability(1_000_000, 0.001)?;
//! filter.insert("one");
//! filter.insert_many(&["two", "three"]);
//! let file: Vec<u8> = filter.into_inner(); // for `std::fs::write`
//! assert_eq!(file.len(), 1_797_231);
//! # Ok::<(), simplebloom::Error>(())
//! ```
//!
//! # Where to start
//!
//! | you have | take |
//! |---|---|
//! | a file | [`BloomFilter::from_bytes`]: over `Vec<u8>`, `&[u8]`, `Bytes`, a mapping; over `&mut [u8]` to change it in place |
//! | keys | [`BloomFilter::new`] or [`with_probability`](BloomFilter::with_probability), then [`insert`](BloomFilter::insert) |
//! | many keys in a slice | [`insert_many`](BloomFilter::insert_many), [`contains_many`](BloomFilter::contains_many), [`contains_all`](BloomFilter::contains_all) |
//! | an iterator of keys | [`extend`](Extend::extend), [`contains_iter`](BloomFilter::contains_iter) |
//! | several cores | `par_insert_many`, `par_contains_many` (feature `parallel`) |
//! | filters of parts of a dataset | [`union`](BloomFilter::union) |
//! | keys for several filters, or another use of the hash | [`digest`], then [`insert_digests`](BloomFilter::insert_digests) |
//! | a question of size | [`Shape`] |
//!
//! # Errors
//!
//! Opening an invalid file fails with a byte offset; creating a filter fails if its parameters are invalid or it would be
//! too large. Afterwards nothing in a file can cause an error. Nothing here panics.
//!
//! # Deviations
//!
//! * The logarithm is correctly rounded on every platform. The reference uses that of its C library, which is off by one unit
//!   in the last place for one in thousands of probabilities. Where that changes the number of bits (one in millions, for
//!   practical filters) the reference writes another length. Files of such lengths are accepted.
//! * The reference does not check the total length; here it must be correct, and nothing may follow the bits.
//! * Keys of [`insert_bytes`](BloomFilter::insert_bytes) may be any bytes, where the reference takes strings.
//! * Filters of 2^63 bits or more are rejected; by default, so are those of more than 1 GiB (see [`Limits`]).
//!
//! # Speed
//!
//! Sixteen keys are hashed side by side with AVX-512 or AVX2, detected at run time, or NEON; elsewhere in arrays that the
//! compiler vectorizes. If the bits exceed the cache, the bits of thousands of keys are partitioned by address before they
//! are accessed; for fewer keys they are prefetched. `cargo bench -p simplebloom` measures it, `cargo xtask bench
//! simplebloom` beside the reference. The NEON kernel is tested under emulation; its speed has not been measured on hardware.
//!
//! # Features
//!
//! | feature | gives |
//! |---|---|
//! | none | everything but the following; `no_std` with `alloc` |
//! | `nom` | `nom`: the header as a parser of nom 8 |
//! | `std` (default) | instruction sets detected at run time instead of compile time |
//! | `parallel` | `par_insert_many`, `par_contains_many`, ..., on rayon's threads |
#![cfg_attr(not(any(feature = "std", test)), no_std)]
#![cfg_attr(docsrs, feature(doc_cfg))]

extern crate alloc;

mod bulk;
pub mod digest;
mod filter;
mod ln;
#[cfg(feature = "nom")]
#[cfg_attr(docsrs, doc(cfg(feature = "nom")))]
pub mod nom;
#[cfg(feature = "parallel")]
mod parallel;
mod partitioned;
mod plan;
mod probe;
mod shape;
mod simd;
mod wire;

#[cfg(any(feature = "_kernels", test))]
#[doc(hidden)]
pub mod kernels;

pub use container_core::{Error, ErrorKind, Limits, Result};
pub use filter::BloomFilter;
pub use shape::Shape;
