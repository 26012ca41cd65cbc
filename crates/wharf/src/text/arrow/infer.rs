//! Schema inference from a sample of rows. The reader checks the inferred schema against all rows and fails on a mismatch.

use std::ops::Range;

use arrow_schema::Schema;
use container_arrow::{BatchScan, Mapping, Observation, OnMismatch};
use container_core::Result;
use memchr::{memchr, memrchr};

use super::super::chunk_reader::ChunkReader;
use super::super::columns::ColumnInference;
use super::super::layout::Text;
use super::super::table::RecordsTable;
use super::row_profile::{field, profile_json};
use crate::text::records::chunk::Chunk;
use crate::text::records::location::Location;
use crate::workers::Workers;

/// Smaller text, in chunks, is scanned completely instead.
const MIN_CHUNKS: u64 = 4;

/// Samples taken beside the first chunk, spread evenly over the text.
const SAMPLES: u64 = 16;
/// A sample has 1/16 of a chunk's bytes.
const SAMPLES_PER_CHUNK: u64 = 16;

/// The range of all rows.
const ALL: Range<u64> = 0..u64::MAX;

/// Infers the schema from a sample; `None` if it needs all rows.
pub(super) fn infer_from_sample(table: &RecordsTable, scan: &BatchScan) -> Result<Option<Schema>> {
    let text = &table.text;
    let is_whole = scan.schema.is_none() && scan.scan.columns.is_none() && scan.scan.rows == ALL;
    let is_profiled = table.observed.get().is_some();
    let is_large = text.len() / MIN_CHUNKS >= text.options.window;
    if !is_whole || is_profiled || text.array || !is_large || scan.mapping.on_mismatch != OnMismatch::Error {
        return Ok(None);
    }
    // Errors in the first rows are reported by the complete scan.
    let (chunks, _) = ChunkReader::new(text).next(&Workers::new(1));
    let Some(first) = chunks.first() else { return Ok(None) };
    let samples = samples(text, first)?;
    let workers = Workers::new(scan.scan.threads);
    Ok(match text.is_csv() {
        true => infer_csv(text, (head_sample(text, first), samples), &scan.mapping, &workers),
        false => infer_json(text, (first, samples), scan, &workers),
    })
}

/// Samples of whole lines, spread evenly over the text after its first chunk.
fn samples(text: &Text, first: &Chunk) -> Result<Vec<Chunk>> {
    let step = text.len() / (SAMPLES + 1);
    let behind = first.start.byte + first.bytes.len() as u64;
    let mut samples = Vec::new();
    for start in (1..=SAMPLES).map(|number| number * step).filter(|start| *start >= behind) {
        let bytes = text.read(start..start.saturating_add(text.options.window / SAMPLES_PER_CHUNK).min(text.len()))?;
        let (begin, end) = (memchr(b'\n', &bytes), memrchr(b'\n', &bytes));
        if let (Some(begin), Some(end)) = (begin, end)
            && begin < end
        {
            let location = Location { byte: start + begin as u64 + 1, line: 0, ..first.start };
            let bytes = bytes.slice(begin + 1..end + 1);
            samples.push(Chunk { bytes, start: location, row: 0, records: 0, array: false, has_plain_lines: false });
        }
    }
    Ok(samples)
}

/// The first lines of the first chunk. CSV needs no more of it: the column names are known.
fn head_sample(text: &Text, first: &Chunk) -> Chunk {
    let most = usize::try_from(text.options.window / SAMPLES_PER_CHUNK).unwrap_or(usize::MAX);
    let end = first.bytes.get(..most).and_then(|bytes| memrchr(b'\n', bytes)).map_or(first.bytes.len(), |end| end + 1);
    Chunk { bytes: first.bytes.slice(..end), ..first.clone() }
}

/// Infers a CSV schema. A sample that begins inside a quoted cell may mislead; the check against all rows catches that.
fn infer_csv(
    text: &Text,
    (first, samples): (Chunk, Vec<Chunk>),
    mapping: &Mapping,
    workers: &Workers,
) -> Option<Schema> {
    let chunks = std::iter::once(first).chain(samples).collect();
    let profiles = workers.map(chunks, |chunk: Chunk| {
        let (part, result) = ColumnInference::chunk(text, &chunk);
        result.is_ok().then_some(part.csv)
    });
    let mut profiles = profiles.into_iter();
    let mut all = profiles.next()??;
    for profile in profiles.flatten() {
        all.iter_mut().zip(profile).for_each(|(own, other)| own.merge(other));
    }
    let fields = text.names.iter().zip(&all).map(|(name, profile)| field(name.clone(), profile, mapping));
    Some(Schema::new(fields.collect::<Vec<_>>()))
}

/// Infers a schema of JSON lines.
fn infer_json(
    text: &Text,
    (first, samples): (&Chunk, Vec<Chunk>),
    scan: &BatchScan,
    workers: &Workers,
) -> Option<Schema> {
    let chunks = std::iter::once(first.clone()).chain(samples).collect();
    let mut profiles = workers.map(chunks, |chunk: Chunk| profile_json(text, &chunk, &ALL)).into_iter();
    let first = profiles.next()?.ok()?;
    let mut others = Observation::new(text.limits);
    profiles.try_for_each(|profile| others.merge(profile?)).ok()?;
    container_arrow::infer_from_sample(&first, others, &scan.mapping)
}
