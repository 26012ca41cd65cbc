//! What the columns of a text most likely are, by some of its rows.

use std::ops::Range;

use arrow_schema::Schema;
use container_arrow::{BatchScan, Mapping, Observation, OnMismatch};
use container_core::Result;
use memchr::{memchr, memrchr};

use super::super::columns::Survey;
use super::super::cut::Feeder;
use super::super::inner::Text;
use super::super::table::TextTable;
use super::{field, observe_json};
use crate::text::records::chunk::Chunk;
use crate::text::records::place::Place;
use crate::workers::Workers;

/// A text of fewer chunks is looked at as a whole.
const CHUNKS: u64 = 4;

/// Beside the first chunk so many pieces are looked at, each this part of a chunk.
const SAMPLES: u64 = 16;
const PART: u64 = 16;

/// All rows, in the order of the text.
const ALL: Range<u64> = 0..u64::MAX;

/// The schema as far as some rows tell it.
pub(super) fn guess(table: &TextTable, scan: &BatchScan) -> Result<Option<Schema>> {
    let text = &table.text;
    let is_whole = scan.schema.is_none() && scan.scan.columns.is_none() && scan.scan.rows == ALL;
    let is_known = table.observed.get().is_some();
    let is_large = text.len() / CHUNKS >= text.options.window;
    if !is_whole || is_known || text.array || !is_large || scan.mapping.on_mismatch != OnMismatch::Error {
        return Ok(None);
    }
    // What is wrong with the first rows is told where all are looked at.
    let (chunks, _) = Feeder::new(text).next(&Workers::new(1));
    let Some(first) = chunks.first() else { return Ok(None) };
    let samples = samples(text, first)?;
    Ok(if text.is_csv() { cells(text, first, &samples, &scan.mapping) } else { members(text, first, &samples, scan) })
}

/// Whole lines from all over the text, behind its first chunk.
fn samples(text: &Text, first: &Chunk) -> Result<Vec<Chunk>> {
    let step = text.len() / (SAMPLES + 1);
    let behind = first.start.byte + first.bytes.len() as u64;
    let mut samples = Vec::new();
    for start in (1..=SAMPLES).map(|number| number * step).filter(|start| *start >= behind) {
        let bytes = text.read(start..start.saturating_add(text.options.window / PART).min(text.len()))?;
        let (begin, end) = (memchr(b'\n', &bytes), memrchr(b'\n', &bytes));
        if let (Some(begin), Some(end)) = (begin, end)
            && begin < end
        {
            let place = Place { byte: start + begin as u64 + 1, line: 0, ..first.start };
            let bytes = bytes.slice(begin + 1..end + 1);
            samples.push(Chunk { bytes, start: place, row: 0, records: 0, array: false });
        }
    }
    Ok(samples)
}

/// Of CSV. A sample that begins in the middle of a cell may show what is not so; all cells are looked at in the end.
fn cells(text: &Text, first: &Chunk, samples: &[Chunk], mapping: &Mapping) -> Option<Schema> {
    let seen = |chunk: &Chunk| {
        let (part, result) = Survey::chunk(text, chunk);
        result.is_ok().then_some(part.csv)
    };
    let mut all = seen(first)?;
    for seen in samples.iter().filter_map(seen) {
        all.iter_mut().zip(seen).for_each(|(own, other)| own.merge(other));
    }
    let fields = text.names.iter().zip(&all).map(|(name, seen)| field(name.clone(), seen, mapping));
    Some(Schema::new(fields.collect::<Vec<_>>()))
}

/// Of lines of JSON.
fn members(text: &Text, first: &Chunk, samples: &[Chunk], scan: &BatchScan) -> Option<Schema> {
    let seen = |chunk: &Chunk| observe_json(text, chunk, &ALL);
    let mut others = Observation::new(text.limits);
    let merged = samples.iter().try_for_each(|sample| others.merge(seen(sample)?));
    let first = merged.and_then(|()| seen(first)).ok()?;
    container_arrow::infer_from_sample(&first, others, &scan.mapping)
}
