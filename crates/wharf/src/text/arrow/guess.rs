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
use super::held::{field, observe_json};
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
    let workers = Workers::new(scan.scan.threads);
    Ok(match text.is_csv() {
        true => cells(text, (beginning(text, first), samples), &scan.mapping, &workers),
        false => members(text, (first, samples), scan, &workers),
    })
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

/// The first lines of the first chunk: of CSV the names are known, and these tell no more than others.
fn beginning(text: &Text, first: &Chunk) -> Chunk {
    let most = usize::try_from(text.options.window / PART).unwrap_or(usize::MAX);
    let end = first.bytes.get(..most).and_then(|bytes| memrchr(b'\n', bytes)).map_or(first.bytes.len(), |end| end + 1);
    Chunk { bytes: first.bytes.slice(..end), ..first.clone() }
}

/// Of CSV. A sample that begins in the middle of a cell may show what is not so; all cells are looked at in the end.
fn cells(text: &Text, (first, samples): (Chunk, Vec<Chunk>), mapping: &Mapping, workers: &Workers) -> Option<Schema> {
    let chunks = std::iter::once(first).chain(samples).collect();
    let seen = workers.map(chunks, |chunk: Chunk| {
        let (part, result) = Survey::chunk(text, &chunk);
        result.is_ok().then_some(part.csv)
    });
    let mut seen = seen.into_iter();
    let mut all = seen.next()??;
    for seen in seen.flatten() {
        all.iter_mut().zip(seen).for_each(|(own, other)| own.merge(other));
    }
    let fields = text.names.iter().zip(&all).map(|(name, seen)| field(name.clone(), seen, mapping));
    Some(Schema::new(fields.collect::<Vec<_>>()))
}

/// Of lines of JSON.
fn members(text: &Text, (first, samples): (&Chunk, Vec<Chunk>), scan: &BatchScan, workers: &Workers) -> Option<Schema> {
    let chunks = std::iter::once(first.clone()).chain(samples).collect();
    let mut seen = workers.map(chunks, |chunk: Chunk| observe_json(text, &chunk, &ALL)).into_iter();
    let first = seen.next()?.ok()?;
    let mut others = Observation::new(text.limits);
    seen.try_for_each(|seen| others.merge(seen?)).ok()?;
    container_arrow::infer_from_sample(&first, others, &scan.mapping)
}
