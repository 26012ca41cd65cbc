//! Finds JSON columns in which the strings `NaN`, `Infinity` and `-Infinity` are floats, from all values of the column.

use std::ops::Range;

use container_core::{Progress, Result};
use datadings::json::FloatWords;
use memchr::memmem::Finder;

use super::super::{CHUNK_RECORDS, Inputs, TextTable};
use crate::text::records::Options;
use crate::text::records::chunk::Input;
use crate::text::records::chunk::{Chunk, rows_in_chunk};
use crate::text::records::location::Location;
use crate::text::records::record::{RecordVisitor, visit_records};

/// Bytes searched at once.
const WINDOW: u64 = 1 << 20;

/// How the JSON strings end.
const SUFFIXES: [&[u8]; 2] = [b"NaN\"", b"Infinity\""];

/// Profiles the values of a chunk.
#[derive(Default)]
struct FloatWordScan(FloatWords);

impl FloatWordScan {
    fn of(chunk: &Chunk, options: &Options, selected: &Range<u64>) -> Result<FloatWords> {
        let mut scan = Self::default();
        visit_records(chunk, options, 0, selected, &mut scan)?;
        Ok(scan.0)
    }
}

impl RecordVisitor for FloatWordScan {
    fn member(&mut self, name: &str, value: &str, _: Location) -> Result<()> {
        self.0.member_mut(name)?.observe(value.as_bytes())
    }
}

impl TextTable {
    /// Reads the selected rows of JSON and finds where strings are floats; `None` if there are no such strings.
    pub(super) fn float_words(&self, rows: &Range<u64>, progress: Option<&dyn Progress>) -> Result<Option<FloatWords>> {
        if !self.may_have_float_words()? {
            return Ok(None);
        }
        let mut all = FloatWords::default();
        let scan_chunk =
            |chunk: &Chunk, _: &[String]| FloatWordScan::of(chunk, &self.options, &rows_in_chunk(rows, chunk));
        self.each_chunk(rows.end, progress, scan_chunk, |chunk, words| {
            all.merge(words.map_err(|error| self.with_input_name(error, chunk))?);
            Ok(())
        })?;
        Ok(Some(all))
    }

    /// A quick byte search: nearly all inputs have no such strings and need no complete scan.
    fn may_have_float_words(&self) -> Result<bool> {
        if let Inputs::Texts(texts) = &self.inputs {
            return Ok(texts.iter().map(has_float_words).collect::<Result<Vec<_>>>()?.contains(&true));
        }
        let finders = SUFFIXES.map(Finder::new);
        let mut chunks = self.chunks(CHUNK_RECORDS);
        // Errors are reported when samples are written.
        while let Ok(Some(chunk)) = chunks.next() {
            if finders.iter().any(|finder| finder.find(&chunk.bytes).is_some()) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Searches an input for the endings of such strings.
fn has_float_words(input: &Input) -> Result<bool> {
    let finders = SUFFIXES.map(Finder::new);
    let overlap = SUFFIXES.iter().map(|end| end.len() as u64).max().unwrap_or(0);
    let (mut start, len) = (0, input.source.len());
    while start < len {
        let bytes = input.source.read(start..len.min(start + WINDOW + overlap))?;
        if finders.iter().any(|finder| finder.find(&bytes).is_some()) {
            return Ok(true);
        }
        start += WINDOW;
    }
    Ok(false)
}
