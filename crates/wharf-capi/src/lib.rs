//! The C ABI of [`wharf`]: dataset files of many formats as [Arrow C streams](https://arrow.apache.org/docs/format/CStreamInterface.html).
//!
//! The functions are documented for C in `include/wharf.h`, which cbindgen generates from `abi.rs`: `cargo xtask capi --update`. Only
//! `abi` and its modules contain `unsafe`; they check pointers and hand safe types to the others.

pub mod abi;
mod error;
mod files;
mod handles;
mod json;
mod options;
mod reader;

pub use error::{ErrorInfo, Status};

#[cfg(test)]
mod tests;
