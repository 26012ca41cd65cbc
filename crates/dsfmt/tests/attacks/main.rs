//! Files of somebody who means harm, each with exactly what is said of it.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "test code fails by panicking")]
#![allow(clippy::cast_possible_truncation, reason = "tests make their data with casts")]
#![allow(unreachable_pub, reason = "files made by hand are shared with other tests")]

#[path = "../common/mod.rs"]
mod common;
mod header;
mod many;
mod members;
mod values;
mod zeros;

use container_core::OpenOptions;
use dsfmt::Reader;

/// A file of this header and body.
fn file(header: &str, body: &[u8]) -> Vec<u8> {
    [b"ds-1.0\n", header.as_bytes(), b"\n", body].concat()
}

fn open(header: &str, body: &[u8]) -> Reader {
    Reader::from_source(file(header, body).into(), OpenOptions::default()).unwrap()
}
