//! Builds record batches from documents, with several threads, in order.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use container_arrow::{BatchReader, BatchScan, BatchSteps, Columns, Json, StepReader, add_losses};
use container_core::{Error, Loss, Result};

use super::observe;
use super::plan::Plan;
use crate::FORMAT_NAME;
use crate::container::table::CollectionTable;
use crate::container::{located, losses};
use crate::read::Collection;

/// Batches a thread may be ahead of the reader.
const QUEUE_LEN: usize = 1;

/// Reads a collection in batches. A batch never spans chunks, so batches do not depend on the number of threads.
pub(super) fn read<'a>(table: &'a CollectionTable, plan: Plan, scan: &BatchScan) -> Result<Box<dyn BatchReader + 'a>> {
    let collection = &table.collection;
    let columns = || Columns::new(plan.schema.clone(), scan, &plan.limits);
    let row_bytes = columns()?.row_bytes() as u64;
    let (rows, bytes) = (scan.batch_rows.max(1) as u64, scan.batch_bytes.max(1) as u64);
    let chunks = observe::chunks(collection, &plan.rows, rows, bytes, row_bytes)?;
    let losses = losses(&collection.condition()?);
    let threads = observe::threads(scan.scan.threads).min(chunks.len());
    let schema = plan.schema.clone();
    let mut builders = Vec::new();
    for _ in 0..threads.max(1) {
        let (columns, json) = (columns()?, Json::new(&plan.limits));
        builders.push(BatchBuilder { collection: collection.clone(), plan: None, columns, json, rows: 0..0 });
    }
    let plan = Arc::new(plan);
    builders.iter_mut().for_each(|builder| builder.plan = Some(plan.clone()));
    let source = match threads {
        0 | 1 => BatchSource::Inline(builders.into_iter().next(), chunks.into_iter()),
        _ => BatchSource::Threads(Workers::new(builders, &chunks)),
    };
    Ok(Box::new(StepReader::new(Batches { source, schema, losses, location: &table.location })))
}

/// Builds the batches of a chunk, one after the other.
struct BatchBuilder {
    collection: Arc<Collection>,
    plan: Option<Arc<Plan>>,
    columns: Columns,
    json: Json,
    /// Remaining rows of the chunk.
    rows: Range<u64>,
}

/// A batch and its losses.
struct Built {
    batch: RecordBatch,
    losses: Vec<Loss>,
}

impl BatchBuilder {
    /// The next batch of the chunk; `None` at its end.
    fn next(&mut self) -> Result<Option<Built>> {
        let Self { collection, plan, columns, json, rows } = self;
        let Some(plan) = plan else { return Ok(None) };
        let mut documents = collection.documents_in(rows.clone())?;
        while !columns.is_full() {
            let row = documents.row();
            let Some(document) = documents.try_next()? else { break };
            rows.start = row + 1;
            let passes_filter = plan.filter.as_ref().map_or(Ok(true), |filter| filter.passes(&document));
            let put = passes_filter.and_then(|passes_filter| match passes_filter {
                true => plan.append(&document, row, columns, json),
                false => Ok(()),
            });
            put.map_err(|error| error.in_row(row))?;
        }
        if columns.is_empty() {
            return Ok(None);
        }
        let batch = columns.finish()?;
        Ok(Some(Built { batch, losses: columns.take_losses() }))
    }
}

enum BatchSource {
    /// Batches are built on the caller's thread.
    Inline(Option<BatchBuilder>, std::vec::IntoIter<Range<u64>>),
    Threads(Workers),
}

impl BatchSource {
    fn next(&mut self) -> Result<Option<Built>> {
        match self {
            Self::Inline(Some(builder), chunks) => loop {
                if let Some(built) = builder.next()? {
                    return Ok(Some(built));
                }
                let Some(chunk) = chunks.next() else { return Ok(None) };
                builder.rows = chunk;
            },
            Self::Inline(None, _) => Ok(None),
            Self::Threads(workers) => workers.next(),
        }
    }
}

/// A message from a worker.
enum Message {
    Built(Built),
    /// The end of the chunk.
    End,
    Failed(Error),
}

/// Worker threads, which take turns with the chunks.
struct Workers {
    results: Vec<Receiver<Message>>,
    threads: Vec<JoinHandle<()>>,
    /// The chunk to read from next, and the number of chunks.
    chunk: usize,
    chunks: usize,
    stop: Arc<AtomicBool>,
}

impl Workers {
    fn new(builders: Vec<BatchBuilder>, chunks: &[Range<u64>]) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let count = builders.len();
        let (mut results, mut threads) = (Vec::with_capacity(count), Vec::with_capacity(count));
        for (first, mut builder) in builders.into_iter().enumerate() {
            let (sender, receiver) = sync_channel(QUEUE_LEN);
            results.push(receiver);
            let share: Vec<Range<u64>> = chunks.iter().skip(first).step_by(count).cloned().collect();
            let stop = stop.clone();
            threads.push(thread::spawn(move || run_worker(&mut builder, share, &sender, &stop)));
        }
        Self { results, threads, chunk: 0, chunks: chunks.len(), stop }
    }

    fn next(&mut self) -> Result<Option<Built>> {
        while self.chunk < self.chunks {
            let results = self.results.get(self.chunk % self.results.len().max(1));
            match results.map(Receiver::recv) {
                Some(Ok(Message::Built(built))) => return Ok(Some(built)),
                Some(Ok(Message::End)) => self.chunk += 1,
                Some(Ok(Message::Failed(error))) => return Err(error),
                // The worker has panicked: propagate that.
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
        // Wakes up blocked senders.
        self.results.clear();
        self.chunk = self.chunks;
        for thread in self.threads.drain(..) {
            if let Err(panic) = thread.join()
                && resume
            {
                std::panic::resume_unwind(panic);
            }
        }
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.end(false);
    }
}

fn run_worker(builder: &mut BatchBuilder, chunks: Vec<Range<u64>>, results: &SyncSender<Message>, stop: &AtomicBool) {
    for chunk in chunks {
        builder.rows = chunk;
        loop {
            let (message, has_more) = match builder.next() {
                Ok(Some(built)) => (Message::Built(built), true),
                Ok(None) => (Message::End, false),
                Err(error) => {
                    // The last message; after an earlier error the receiver is gone.
                    let _ = results.send(Message::Failed(error));
                    return;
                }
            };
            if stop.load(Ordering::Relaxed) || results.send(message).is_err() {
                return;
            }
            if !has_more {
                break;
            }
        }
    }
}

/// Iterator over the batches of a collection.
struct Batches<'a> {
    source: BatchSource,
    schema: SchemaRef,
    losses: Vec<Loss>,
    /// The collection's location, for errors.
    location: &'a str,
}

impl BatchSteps for Batches<'_> {
    fn step(&mut self) -> Result<Option<RecordBatch>> {
        let built = self.source.next().map_err(|error| located(error, self.location).in_format(FORMAT_NAME))?;
        Ok(built.map(|Built { batch, losses }| {
            add_losses(&mut self.losses, losses);
            batch
        }))
    }

    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn losses(&self) -> Vec<Loss> {
        self.losses.clone()
    }
}
