//! Text cut into records: lines of JSON, items of one array, rows of CSV.

pub(crate) mod chunk;
pub(crate) mod csv;
pub(crate) mod json;
pub(crate) mod number;
pub(crate) mod place;
pub(crate) mod record;
pub(crate) mod split;

use std::collections::{HashMap, HashSet};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    JsonLines,
    Csv,
}

impl Form {
    /// The name in errors.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::JsonLines => "jsonl",
            Self::Csv => "csv",
        }
    }
}

/// How the inputs are read.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    pub(crate) form: Form,
    pub(crate) delimiter: u8,
    pub(crate) header: bool,
    /// CSV without anything in it is a table without columns, also where there should be a header.
    pub(crate) may_be_empty: bool,
    pub(crate) threads: usize,
    /// Bytes that are looked at for the ends of records.
    pub(crate) window: u64,
}

/// Puts a number behind names that were there before, as the reader of IDV files does.
pub(crate) fn make_unique(names: &mut Vec<String>) {
    let given: HashSet<String> = names.iter().cloned().collect();
    if given.len() == names.len() {
        return;
    }
    let mut seen: HashMap<String, u64> = HashMap::new();
    for name in names {
        let count = seen.entry(name.clone()).and_modify(|count| *count += 1).or_insert(1);
        while *count > 1 {
            let candidate = format!("{name}#{count}");
            if !given.contains(&candidate) {
                *name = candidate;
                break;
            }
            *count += 1;
        }
    }
}
