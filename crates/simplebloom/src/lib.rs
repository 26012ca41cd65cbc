//! x
#![cfg_attr(not(any(feature = "std", test)), no_std)]
#![cfg_attr(docsrs, feature(doc_cfg))]

extern crate alloc;

mod bulk;
pub mod digest;
mod filter;
mod ln;
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
