//! What documents have.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use arrow_schema::SchemaRef;
use container_arrow::{BatchScan, Json, Observation};
use container_core::{Error, Result};

use crate::container::json::Wanted;
use crate::container::table::CollectionTable;
use crate::read::{Collection, Document, Filter};

/// The member that names a document.
pub(super) const ID: &str = "_id";

/// An error whose byte counts from a value in the document, which nobody knows.
pub(super) fn unplaced(error: Error) -> Error {
    match error.position().byte {
        None => error,
        Some(_) => Error::new(error.kind(), error.detail().to_owned()),
    }
}

/// Bytes of lines that a thread looks at at a time, about, and documents.
const PIECE_BYTES: u64 = 1 << 20;
const PIECE: u64 = 8192;

/// Bytes that a document in a file of its own is taken for.
const FILE: u64 = 4096;

/// As many threads as are wanted, of those that are there.
pub(super) fn threads(wanted: usize) -> usize {
    match wanted {
        0 => thread::available_parallelism().map_or(1, Into::into),
        some => some,
    }
}

/// Divides rows into pieces of some rows and bytes; each row counts for so many bytes beside its own.
pub(super) fn pieces(
    collection: &Collection,
    rows: &Range<u64>,
    most_rows: u64,
    most_bytes: u64,
    row_bytes: u64,
) -> Result<Vec<Range<u64>>> {
    let places = collection.line_refs()?;
    let mut pieces = Vec::new();
    let (mut start, mut bytes) = (rows.start, 0_u64);
    for row in rows.clone() {
        let place = usize::try_from(row).ok().and_then(|row| places.get(row));
        let length = place.map_or(FILE, |place| place.length.into());
        bytes = bytes.saturating_add(length).saturating_add(row_bytes);
        if row + 1 - start >= most_rows || bytes >= most_bytes {
            pieces.push(start..row + 1);
            (start, bytes) = (row + 1, 0);
        }
    }
    if start < rows.end {
        pieces.push(start..rows.end);
    }
    Ok(pieces)
}

/// Is this a document that is shown?
pub(super) fn holds(filter: Option<&Filter>, document: &Document<'_>) -> Result<bool> {
    let Some(filter) = filter else { return Ok(true) };
    // A document in a file of its own has the id that it is shown with, stated or not.
    let line = match document.offset() {
        Some(_) => Cow::Borrowed(document.text()?.as_bytes()),
        None => document.line_with_id()?,
    };
    filter.holds(&line).map_err(|error| document.json_error(&error))
}

/// The rows of the collection that a scan means: where documents are filtered, its rows are counted among those that are shown.
pub(super) fn rows(table: &CollectionTable, scan: &BatchScan) -> Result<Range<u64>> {
    let collection = &table.collection;
    let (all, wanted) = (collection.len()?, &scan.scan.rows);
    let past = |len: u64| Err(Error::usage(format!("row {} is past the end: there are {len}", wanted.start)));
    let Some(filter) = &table.filter else {
        return match wanted.start > all {
            true => past(all),
            false => Ok(wanted.start..wanted.end.min(all).max(wanted.start)),
        };
    };
    if *wanted == (0..u64::MAX) {
        return Ok(0..all);
    }
    let (mut row, mut held) = (0, 0);
    let mut found = (None, None);
    let done = || Error::usage("enough");
    let walked = collection.map_documents(
        0..all,
        scan.scan.threads,
        |document| holds(Some(filter), &document),
        |shown| {
            if shown {
                if held == wanted.start {
                    found.0 = Some(row);
                }
                if held >= wanted.end {
                    found.1 = Some(row);
                    return Err(done());
                }
                held += 1;
            }
            row += 1;
            Ok(())
        },
    );
    match (walked, found) {
        (Err(error), (_, None)) => Err(error),
        (_, (Some(start), end)) => Ok(start..end.unwrap_or(all).max(start)),
        (_, (None, _)) if held < wanted.start => past(held),
        (_, (None, _)) => Ok(all..all),
    }
}

/// What the members of documents have been, all of them.
pub(super) fn members(table: &CollectionTable, rows: &Range<u64>, threads: usize) -> Result<Arc<Observation>> {
    let mut known = table.observed.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((of, seen)) = known.as_ref()
        && of == rows
    {
        return Ok(seen.clone());
    }
    let seen = Arc::new(all(table, rows, threads, &all_members)?);
    *known = Some((rows.clone(), seen.clone()));
    Ok(seen)
}

fn all_members(document: &Document<'_>, row: u64, seen: &mut Observation, json: &mut Json) -> Result<()> {
    let mut object = seen.row(row).object();
    json.observe_members(document.bytes(), &mut object).map_err(|error| document.placed(error, 0))?;
    if !object.has(ID) {
        object.front(ID)?.text(document.id().len());
    }
    Ok(())
}

/// Documents that a guess is made of: the first ones, and so often some others.
const SAMPLES: u64 = 16;
const SAMPLE: u64 = 512;

/// The schema as far as some documents tell it.
pub(super) fn guess(table: &CollectionTable, scan: &BatchScan) -> Result<Option<SchemaRef>> {
    let is_whole = scan.schema.is_none() && scan.scan.columns.is_none() && table.paths.is_empty();
    if !is_whole || table.filter.is_some() {
        return Ok(None);
    }
    let rows = rows(table, scan)?;
    let all_rows = rows.end - rows.start;
    let known = table.observed.lock().unwrap_or_else(PoisonError::into_inner);
    if all_rows < 4 * PIECE || known.as_ref().is_some_and(|(of, _)| *of == rows) {
        return Ok(None);
    }
    drop(known);
    let part = |start: u64, most: u64| {
        let rows = start..start.saturating_add(most).min(rows.end);
        // No more than the bytes of a piece, of documents that are large.
        let rows = pieces(&table.collection, &rows, most, PIECE_BYTES, 0)?.into_iter().next().unwrap_or(0..0);
        all(table, &rows, 1, &all_members)
    };
    let first = part(rows.start, PIECE)?;
    let mut others = Observation::new(table.limits);
    for sample in 1..SAMPLES {
        others.merge(part(rows.start + all_rows / SAMPLES * sample, SAMPLE)?)?;
    }
    Ok(container_arrow::infer_from_sample(&first, others, &scan.mapping).map(Arc::new))
}

/// What columns by paths have been.
pub(super) fn paths(
    table: &CollectionTable,
    rows: &Range<u64>,
    threads: usize,
    wanted: &Wanted,
    names: &[&str],
) -> Result<Observation> {
    all(table, rows, threads, &|document, row, seen, json| {
        let found = wanted.of(document.text()?).map_err(|error| document.json_error(&error))?;
        let mut object = seen.row(row).object();
        for (name, value) in names.iter().zip(found) {
            match value {
                Some(value) => {
                    let looked = json.observe(value.get().as_bytes(), object.member(name)?);
                    looked.map_err(|error| document.placed(unplaced(error), 0))?;
                }
                None if *name == ID => object.front(ID)?.text(document.id().len()),
                None => {}
            }
        }
        Ok(())
    })
}

type Look<'l> = dyn Fn(&Document<'_>, u64, &mut Observation, &mut Json) -> Result<()> + Sync + 'l;

/// Looks at all documents, by several threads.
fn all(table: &CollectionTable, rows: &Range<u64>, wanted: usize, look: &Look<'_>) -> Result<Observation> {
    let collection = &*table.collection;
    let pieces = pieces(collection, rows, PIECE, PIECE_BYTES, 0)?;
    let next = AtomicUsize::new(0);
    // The first piece with an error: those in front of it are looked at all the same, as theirs would be told.
    let stop = AtomicUsize::new(usize::MAX);
    let first: Mutex<Option<(usize, Error)>> = Mutex::new(None);
    let work = || {
        let (mut seen, mut json) = (Observation::new(table.limits), Json::new(&table.limits));
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(rows) = pieces.get(number).filter(|_| number < stop.load(Ordering::Relaxed)) else { return seen };
            if let Err(error) = piece(collection, rows, table.filter.as_ref(), &mut |document, row| {
                look(document, row, &mut seen, &mut json)
            }) {
                stop.fetch_min(number, Ordering::Relaxed);
                let mut first = first.lock().unwrap_or_else(PoisonError::into_inner);
                if first.as_ref().is_none_or(|(own, _)| number < *own) {
                    *first = Some((number, error));
                }
            }
        }
    };
    let threads = threads(wanted).min(pieces.len()).max(1);
    let mut seen = thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut all = vec![work()];
        for other in others {
            all.push(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        all
    });
    if let Some((_, error)) = first.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(error);
    }
    let mut whole = seen.pop().unwrap_or_else(|| Observation::new(table.limits));
    seen.into_iter().try_for_each(|other| whole.merge(other))?;
    Ok(whole)
}

/// Calls for each document of a piece that is shown.
fn piece(
    collection: &Collection,
    rows: &Range<u64>,
    filter: Option<&Filter>,
    each: &mut dyn FnMut(&Document<'_>, u64) -> Result<()>,
) -> Result<()> {
    let mut documents = collection.documents_in(rows.clone())?;
    loop {
        let row = documents.row();
        let Some(document) = documents.try_next()? else { return Ok(()) };
        let shown = holds(filter, &document);
        let looked = shown.and_then(|shown| if shown { each(&document, row) } else { Ok(()) });
        looked.map_err(|error| error.in_row(row))?;
    }
}
