//! ZDS, collections of JSON documents, and ZDX, the index by which they are found.
#![forbid(unsafe_code)]

pub mod wire;
