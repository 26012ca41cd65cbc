//! Observes the members and values of documents, for schema inference.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use arrow_schema::SchemaRef;
use container_arrow::{BatchScan, Json, Observation};
use container_core::{Error, Result};

use crate::container::json::Projection;
use crate::container::table::CollectionTable;
use crate::read::{Collection, Document, Filter};

/// Name of the member that holds a document's id.
pub(super) const ID: &str = "_id";

/// Removes an error's byte if it is relative to a value within the document.
pub(super) fn without_byte(error: Error) -> Error {
    match error.position().byte {
        None => error,
        Some(_) => Error::new(error.kind(), error.detail().to_owned()),
    }
}

/// Approximate size of a chunk, the unit of work of a thread.
const CHUNK_BYTES: u64 = 1 << 20;
const CHUNK_DOCUMENTS: u64 = 8192;

/// Assumed size of a document in a file of its own.
const ASSUMED_FILE_BYTES: u64 = 4096;

/// The requested number of threads, or all available ones for 0.
pub(super) fn threads(requested: usize) -> usize {
    match requested {
        0 => thread::available_parallelism().map_or(1, Into::into),
        some => some,
    }
}

/// Divides rows into chunks by rows and bytes; each row counts `row_bytes` in addition to its line.
pub(super) fn chunks(
    collection: &Collection,
    rows: &Range<u64>,
    max_rows: u64,
    max_bytes: u64,
    row_bytes: u64,
) -> Result<Vec<Range<u64>>> {
    let lines = collection.line_refs()?;
    let mut chunks = Vec::new();
    let (mut start, mut bytes) = (rows.start, 0_u64);
    for row in rows.clone() {
        let line = usize::try_from(row).ok().and_then(|row| lines.get(row));
        let length = line.map_or(ASSUMED_FILE_BYTES, |line| line.length.into());
        bytes = bytes.saturating_add(length).saturating_add(row_bytes);
        if row + 1 - start >= max_rows || bytes >= max_bytes {
            chunks.push(start..row + 1);
            (start, bytes) = (row + 1, 0);
        }
    }
    if start < rows.end {
        chunks.push(start..rows.end);
    }
    Ok(chunks)
}

/// The rows of the collection that a scan covers. With a filter, the scan's row range counts matching documents.
pub(super) fn rows(table: &CollectionTable, scan: &BatchScan) -> Result<Range<u64>> {
    let collection = &table.collection;
    let (len, requested) = (collection.len()?, &scan.scan.rows);
    let past_end = |len: u64| Err(Error::usage(format!("row {} is past the end: {len} rows", requested.start)));
    let Some(filter) = &table.filter else {
        return match requested.start > len {
            true => past_end(len),
            false => Ok(requested.start..requested.end.min(len).max(requested.start)),
        };
    };
    if *requested == (0..u64::MAX) {
        return Ok(0..len);
    }
    let (mut row, mut matches) = (0, 0);
    let mut bounds = (None, None);
    let found_end = || Error::usage("end of the range found"); // stops the iteration
    let outcome = collection.map_documents(
        0..len,
        scan.scan.threads,
        |document| filter.passes(&document),
        |is_match| {
            if is_match {
                if matches == requested.start {
                    bounds.0 = Some(row);
                }
                if matches >= requested.end {
                    bounds.1 = Some(row);
                    return Err(found_end());
                }
                matches += 1;
            }
            row += 1;
            Ok(())
        },
    );
    match (outcome, bounds) {
        (Err(error), (_, None)) => Err(error),
        (_, (Some(start), end)) => Ok(start..end.unwrap_or(len).max(start)),
        (_, (None, _)) if matches < requested.start => past_end(matches),
        (_, (None, _)) => Ok(len..len),
    }
}

/// Observes all members of documents.
pub(super) fn members(table: &CollectionTable, rows: &Range<u64>, threads: usize) -> Result<Arc<Observation>> {
    let mut cached = table.observed.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((cached_rows, observation)) = cached.as_ref()
        && cached_rows == rows
    {
        return Ok(observation.clone());
    }
    let observation = Arc::new(observe_all(table, rows, threads, &all_members)?);
    *cached = Some((rows.clone(), observation.clone()));
    Ok(observation)
}

fn all_members(document: &Document<'_>, row: u64, observation: &mut Observation, json: &mut Json) -> Result<()> {
    let mut object = observation.row(row).object();
    json.observe_members(document.bytes(), &mut object).map_err(|error| document.placed(error, 0))?;
    if !object.has(ID) {
        object.leading_member(ID)?.text(document.id().len());
    }
    Ok(())
}

/// Documents sampled for inference: the first ones, and this many further samples of this size.
const SAMPLE_COUNT: u64 = 16;
const SAMPLE_DOCUMENTS: u64 = 512;

/// Infers the schema from a sample; `None` if a full scan is better or already cached.
pub(super) fn infer_from_sample(table: &CollectionTable, scan: &BatchScan) -> Result<Option<SchemaRef>> {
    let is_whole = scan.schema.is_none() && scan.scan.columns.is_none() && table.paths.is_empty();
    if !is_whole || table.filter.is_some() {
        return Ok(None);
    }
    let rows = rows(table, scan)?;
    let row_count = rows.end - rows.start;
    let cached = table.observed.lock().unwrap_or_else(PoisonError::into_inner);
    if row_count < 4 * CHUNK_DOCUMENTS || cached.as_ref().is_some_and(|(cached_rows, _)| *cached_rows == rows) {
        return Ok(None);
    }
    drop(cached);
    let part = |start: u64, max: u64| {
        let rows = start..start.saturating_add(max).min(rows.end);
        // Large documents: at most one chunk.
        let rows = chunks(&table.collection, &rows, max, CHUNK_BYTES, 0)?.into_iter().next().unwrap_or(0..0);
        observe_all(table, &rows, 1, &all_members)
    };
    let first = part(rows.start, CHUNK_DOCUMENTS)?;
    let mut others = Observation::new(table.limits);
    for sample in 1..SAMPLE_COUNT {
        others.merge(part(rows.start + row_count / SAMPLE_COUNT * sample, SAMPLE_DOCUMENTS)?)?;
    }
    Ok(container_arrow::infer_from_sample(&first, others, &scan.mapping).map(Arc::new))
}

/// Observes columns given by paths.
pub(super) fn paths(
    table: &CollectionTable,
    rows: &Range<u64>,
    threads: usize,
    projection: &Projection,
    names: &[&str],
) -> Result<Observation> {
    observe_all(table, rows, threads, &|document, row, observation, json| {
        let values = projection.of(document.text()?).map_err(|error| document.json_error(&error))?;
        let mut object = observation.row(row).object();
        for (name, value) in names.iter().zip(values) {
            match value {
                Some(value) => {
                    let observed = json.observe(value.get().as_bytes(), object.member(name)?);
                    observed.map_err(|error| document.placed(without_byte(error), 0))?;
                }
                None if *name == ID => object.leading_member(ID)?.text(document.id().len()),
                None => {}
            }
        }
        Ok(())
    })
}

type Observe<'l> = dyn Fn(&Document<'_>, u64, &mut Observation, &mut Json) -> Result<()> + Sync + 'l;

/// Observes documents with several threads.
fn observe_all(
    table: &CollectionTable,
    rows: &Range<u64>,
    requested: usize,
    observe: &Observe<'_>,
) -> Result<Observation> {
    let collection = &*table.collection;
    let chunks = chunks(collection, rows, CHUNK_DOCUMENTS, CHUNK_BYTES, 0)?;
    let next = AtomicUsize::new(0);
    // The first chunk with an error. Earlier chunks are still observed, because an error there takes precedence.
    let stop = AtomicUsize::new(usize::MAX);
    let first: Mutex<Option<(usize, Error)>> = Mutex::new(None);
    let work = || {
        let (mut observation, mut json) = (Observation::new(table.limits), Json::new(&table.limits));
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(rows) = chunks.get(number).filter(|_| number < stop.load(Ordering::Relaxed)) else {
                return observation;
            };
            if let Err(error) = observe_chunk(collection, rows, table.filter.as_ref(), &mut |document, row| {
                observe(document, row, &mut observation, &mut json)
            }) {
                stop.fetch_min(number, Ordering::Relaxed);
                let mut first = first.lock().unwrap_or_else(PoisonError::into_inner);
                if first.as_ref().is_none_or(|(other, _)| number < *other) {
                    *first = Some((number, error));
                }
            }
        }
    };
    let threads = threads(requested).min(chunks.len()).max(1);
    let mut parts = thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut parts = vec![work()];
        for other in others {
            parts.push(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        parts
    });
    if let Some((_, error)) = first.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(error);
    }
    let mut total = parts.pop().unwrap_or_else(|| Observation::new(table.limits));
    parts.into_iter().try_for_each(|part| total.merge(part))?;
    Ok(total)
}

/// Calls `each` for the documents of a chunk that pass the filter.
fn observe_chunk(
    collection: &Collection,
    rows: &Range<u64>,
    filter: Option<&Filter>,
    each: &mut dyn FnMut(&Document<'_>, u64) -> Result<()>,
) -> Result<()> {
    let mut documents = collection.documents_in(rows.clone())?;
    loop {
        let row = documents.row();
        let Some(document) = documents.try_next()? else { return Ok(()) };
        let is_match = filter.map_or(Ok(true), |filter| filter.passes(&document));
        let observed = is_match.and_then(|is_match| if is_match { each(&document, row) } else { Ok(()) });
        observed.map_err(|error| error.in_row(row))?;
    }
}
