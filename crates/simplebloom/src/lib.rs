//! Bloom filters in the files of Python's `simplebloom`, byte for byte: opened without a copy, filled and asked in bulk at
//! SIMD speed.
//!
//! # The file
//!
//! | offset | type | field |
//! |---|---|---|
//! | 0 | 8 bytes | `SIMPBLOO` |
//! | 8 | u64, big-endian | the file's length in bytes, MUST be 32 + bits / 8 |
//! | 16 | u64, big-endian | how many keys the filter is for, MUST be at least 2 |
//! | 24 | f64, big-endian | how often it may be wrong, `p`, MUST be above 0 and below 1 |
//! | 32 | bytes | the bits, the least significant of a byte first |
//!
//! How many bits there are and how many of them a key sets is not stored. Both follow from `n` and `p`, in the arithmetic
//! of doubles and in this order of operations:
//!
//! ```text
//! bits   = ceil(n * ln p / -0.4804530139182015 / 8) * 8
//! hashes = round(bits / n * 0.6931471805599453)            a half to the even side
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
//! // `file` is what `std::fs::read` gives, or a mapped file: it is not copied.
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
//! | cores | `par_insert_many`, `par_contains_many` (feature `parallel`) |
//! | filters of parts of a whole | [`union`](BloomFilter::union) |
//! | keys for several filters, or another use of the hash | [`digest`], then [`insert_digests`](BloomFilter::insert_digests) |
//! | a question of size | [`Shape`] |
//!
//! # Errors
//!
//! Opening fails with the byte where the file is wrong, making a filter where it cannot be or would be too large. Asking
//! and inserting one key cannot fail, nor can anything else that a file says later on. Nothing here panics.
//!
//! # Deviations
//!
//! * The logarithm is the correctly rounded one, on every platform; the reference takes that of its C library, which is off
//!   by one unit in the last place once in some thousands of probabilities. Where that changes the number of bits (one in
//!   millions, for filters of any use) the reference writes another length. Files of such lengths are opened all the same.
//! * The reference ignores the total length beyond using it; here it has to be right, and nothing may follow the bits.
//! * Keys of [`insert_bytes`](BloomFilter::insert_bytes) may be any bytes, where the reference takes strings.
//! * Filters of 2^63 bits and more are refused, and without [`Limits`] of one's own those of more than 1 GiB.
//!
//! # Speed
//!
//! Sixteen keys are hashed side by side with AVX-512 or AVX2, found at run time; elsewhere in arrays that the compiler makes
//! vectors of. Where the bits are more than a cache holds, a few thousand keys' bits are sorted by place before they are
//! touched; for fewer keys they are fetched ahead. `cargo bench -p simplebloom` measures it, `cargo xtask bench simplebloom`
//! beside the reference.
//!
//! # Features
//!
//! | feature | gives |
//! |---|---|
//! | none | everything but the following; `no_std` with `alloc` |
//! | `nom` | `nom`: the header as a parser of nom 8 |
//! | `std` (default) | the processor's instruction sets found at run time instead of compile time |
//! | `parallel` | `par_insert_many`, `par_contains_many` and their like, on rayon's threads |
#![cfg_attr(not(any(feature = "std", test)), no_std)]
#![cfg_attr(docsrs, feature(doc_cfg))]

extern crate alloc;

mod bulk;
pub mod digest;
mod far;
mod filter;
mod ln;
#[cfg(feature = "nom")]
#[cfg_attr(docsrs, doc(cfg(feature = "nom")))]
pub mod nom;
#[cfg(feature = "parallel")]
mod parallel;
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
