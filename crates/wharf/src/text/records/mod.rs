//! Splits text into records: lines of JSON, items of one JSON array, rows of CSV.

pub(crate) mod chunk;
pub(crate) mod csv;
pub(crate) mod json;
pub(crate) mod location;
pub(crate) mod number;
pub(crate) mod record;
pub(crate) mod split;

use std::collections::{HashMap, HashSet};

use container_core::{Error, Result};

use super::TextFormat;

/// How inputs are read.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    pub(crate) format: TextFormat,
    pub(crate) delimiter: u8,
    pub(crate) header: bool,
    pub(crate) threads: usize,
    /// Bytes read per chunk; more if a record is longer.
    pub(crate) window: u64,
}

/// Checks a delimiter between CSV cells.
pub(crate) fn delimiter(byte: u8) -> Result<u8> {
    if byte.is_ascii() && !matches!(byte, b'"' | b'\n' | b'\r') {
        return Ok(byte);
    }
    let found = char::from(byte);
    let detail = format!("delimiter: expected an ASCII character other than a quote or line break, found {found:?}");
    Err(Error::usage(detail))
}

/// Appends `#2`, `#3`, ... to duplicate names, as the reader of IDV files does.
pub(crate) fn make_unique(names: &mut Vec<String>) {
    let original: HashSet<String> = names.iter().cloned().collect();
    if original.len() == names.len() {
        return;
    }
    let mut counts: HashMap<String, u64> = HashMap::new();
    for name in names {
        let count = counts.entry(name.clone()).and_modify(|count| *count += 1).or_insert(1);
        while *count > 1 {
            let candidate = format!("{name}#{count}");
            if !original.contains(&candidate) {
                *name = candidate;
                break;
            }
            *count += 1;
        }
    }
}
