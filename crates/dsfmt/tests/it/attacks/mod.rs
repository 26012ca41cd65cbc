//! Malicious files, with their exact errors.

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
