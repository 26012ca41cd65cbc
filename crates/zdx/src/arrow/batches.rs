//! Documents into batches, by several threads, in order.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use container_arrow::{BatchReader, BatchScan, Columns, Json, add_losses, to_arrow};
use container_core::{Error, Loss, Result};

use super::observe::{self, holds};
use super::plan::Plan;
use crate::FORMAT_NAME;
use crate::container::table::CollectionTable;
use crate::container::{located, losses};
use crate::read::Collection;

/// Batches that a thread may be ahead.
const AHEAD: usize = 1;

/// The batches of a collection. A batch never goes over the end of a piece, so that they do not depend on who makes them.
pub(super) fn read<'a>(table: &'a CollectionTable, plan: Plan, scan: &BatchScan) -> Result<Box<dyn BatchReader + 'a>> {
    let collection = &table.collection;
    let columns = || Columns::new(plan.schema.clone(), scan, &plan.limits);
    let row_bytes = columns()?.row_bytes() as u64;
    let (rows, bytes) = (scan.batch_rows.max(1) as u64, scan.batch_bytes.max(1) as u64);
    let pieces = observe::pieces(collection, &plan.rows, rows, bytes, row_bytes)?;
    let losses = losses(&collection.condition()?);
    let threads = observe::threads(scan.scan.threads).min(pieces.len());
    let schema = plan.schema.clone();
    let mut makers = Vec::new();
    for _ in 0..threads.max(1) {
        let (columns, json) = (columns()?, Json::new(&plan.limits));
        makers.push(Maker { collection: collection.clone(), plan: None, columns, json, rows: 0..0 });
    }
    let plan = Arc::new(plan);
    makers.iter_mut().for_each(|maker| maker.plan = Some(plan.clone()));
    let source = match threads {
        0 | 1 => Source::Here(makers.into_iter().next(), pieces.into_iter()),
        _ => Source::Threads(Team::new(makers, &pieces)),
    };
    Ok(Box::new(Batches { source: Some(source), schema, losses, place: &table.place }))
}

/// Makes batches of a piece, one after the other.
struct Maker {
    collection: Arc<Collection>,
    plan: Option<Arc<Plan>>,
    columns: Columns,
    json: Json,
    /// What is left of the piece.
    rows: Range<u64>,
}

struct Made {
    batch: RecordBatch,
    losses: Vec<Loss>,
}

impl Maker {
    /// The next batch of the piece; `None` at its end.
    fn next(&mut self) -> Result<Option<Made>> {
        let Self { collection, plan, columns, json, rows } = self;
        let Some(plan) = plan else { return Ok(None) };
        let mut documents = collection.documents_in(rows.clone())?;
        while !columns.is_full() {
            let row = documents.row();
            let Some(document) = documents.try_next()? else { break };
            rows.start = row + 1;
            let shown = holds(plan.filter.as_ref(), &document);
            let put = shown.and_then(|shown| match shown {
                true => plan.append(&document, row, columns, json),
                false => Ok(()),
            });
            put.map_err(|error| error.in_row(row))?;
        }
        if columns.is_empty() {
            return Ok(None);
        }
        let batch = columns.finish()?;
        Ok(Some(Made { batch, losses: columns.take_losses() }))
    }
}

enum Source {
    /// One thread, which is that of the caller.
    Here(Option<Maker>, std::vec::IntoIter<Range<u64>>),
    Threads(Team),
}

impl Source {
    fn next(&mut self) -> Result<Option<Made>> {
        match self {
            Self::Here(Some(maker), pieces) => loop {
                if let Some(made) = maker.next()? {
                    return Ok(Some(made));
                }
                let Some(piece) = pieces.next() else { return Ok(None) };
                maker.rows = piece;
            },
            Self::Here(None, _) => Ok(None),
            Self::Threads(team) => team.next(),
        }
    }
}

/// What a thread says.
enum Message {
    Made(Made),
    /// The piece is over.
    End,
    Failed(Error),
}

/// Threads that make batches, each of every so manieth piece.
struct Team {
    results: Vec<Receiver<Message>>,
    threads: Vec<JoinHandle<()>>,
    /// The piece whose batches are next, of how many.
    piece: usize,
    pieces: usize,
    stop: Arc<AtomicBool>,
}

impl Team {
    fn new(makers: Vec<Maker>, pieces: &[Range<u64>]) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let count = makers.len();
        let (mut results, mut threads) = (Vec::with_capacity(count), Vec::with_capacity(count));
        for (first, mut maker) in makers.into_iter().enumerate() {
            let (sender, receiver) = sync_channel(AHEAD);
            results.push(receiver);
            let own: Vec<Range<u64>> = pieces.iter().skip(first).step_by(count).cloned().collect();
            let stop = stop.clone();
            threads.push(thread::spawn(move || work(&mut maker, own, &sender, &stop)));
        }
        Self { results, threads, piece: 0, pieces: pieces.len(), stop }
    }

    fn next(&mut self) -> Result<Option<Made>> {
        while self.piece < self.pieces {
            let results = self.results.get(self.piece % self.results.len().max(1));
            match results.map(Receiver::recv) {
                Some(Ok(Message::Made(made))) => return Ok(Some(made)),
                Some(Ok(Message::End)) => self.piece += 1,
                Some(Ok(Message::Failed(error))) => return Err(error),
                // It ended before its time: it has panicked, and the panic goes on here.
                Some(Err(_)) | None => {
                    self.end(true);
                    return Ok(None);
                }
            }
        }
        Ok(None)
    }

    fn end(&mut self, resume: bool) {
        self.stop.store(true, Ordering::Relaxed);
        // Who waits to send wakes up.
        self.results.clear();
        self.piece = self.pieces;
        for thread in self.threads.drain(..) {
            if let Err(panic) = thread.join()
                && resume
            {
                std::panic::resume_unwind(panic);
            }
        }
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        self.end(false);
    }
}

fn work(maker: &mut Maker, pieces: Vec<Range<u64>>, results: &SyncSender<Message>, stop: &AtomicBool) {
    for piece in pieces {
        maker.rows = piece;
        loop {
            let (message, goes_on) = match maker.next() {
                Ok(Some(made)) => (Message::Made(made), true),
                Ok(None) => (Message::End, false),
                Err(error) => {
                    // Nothing comes behind it, and nobody listens any more where there was one before.
                    let _ = results.send(Message::Failed(error));
                    return;
                }
            };
            if stop.load(Ordering::Relaxed) || results.send(message).is_err() {
                return;
            }
            if !goes_on {
                break;
            }
        }
    }
}

/// A walk over batches.
struct Batches<'a> {
    /// None behind the end, and behind an error.
    source: Option<Source>,
    schema: SchemaRef,
    losses: Vec<Loss>,
    /// Where the collection is, for errors.
    place: &'a str,
}

impl Iterator for Batches<'_> {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let made = self.source.as_mut()?.next();
        match made {
            Ok(Some(Made { batch, losses })) => {
                add_losses(&mut self.losses, losses);
                Some(Ok(batch))
            }
            Ok(None) => {
                self.source = None;
                None
            }
            Err(error) => {
                self.source = None;
                Some(Err(to_arrow(located(error, self.place).in_format(FORMAT_NAME))))
            }
        }
    }
}

impl RecordBatchReader for Batches<'_> {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}

impl BatchReader for Batches<'_> {
    fn losses(&self) -> Vec<Loss> {
        self.losses.clone()
    }
}
