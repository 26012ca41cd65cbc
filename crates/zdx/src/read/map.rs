//! Parallel processing of documents, with the results in document order.

use std::ops::Range;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use container_core::{Error, Result};

use crate::read::collection::Collection;
use crate::read::document::Document;

/// Maximum documents per chunk, the unit of work of a thread.
const CHUNK_DOCUMENTS: u64 = 512;

/// Approximate maximum bytes of the lines in a chunk.
const CHUNK_BYTES: u64 = 1 << 20;

/// Chunks a thread may be ahead of the consumer.
const QUEUE_LEN: usize = 2;

impl Collection {
    /// Processes the documents in a range of rows (from 0, an end past the last one is clamped) with several threads, all available ones if
    /// `threads` is 0. Calls `map` for each document on one of the threads, and `each` with the results, in document order.
    ///
    /// A few chunks of 512 documents or 1 MiB are buffered per thread. With most allocators, memory allocated by one thread and freed by
    /// another costs more than parsing: consume value trees within `map` if possible.
    ///
    /// # Errors
    /// The first error in document order, of a document or of `map`; or an error of `each`. `each` is not called after it.
    pub fn map_documents<T: Send>(
        &self,
        rows: Range<u64>,
        threads: usize,
        map: impl Fn(Document<'_>) -> Result<T> + Sync,
        mut each: impl FnMut(T) -> Result<()>,
    ) -> Result<()> {
        let all = self.len()?;
        let rows = rows.start.min(all)..rows.end.min(all);
        let chunks = self.chunks(&rows)?;
        let threads = match threads {
            0 => thread::available_parallelism().map_or(1, Into::into),
            some => some,
        };
        let threads = threads.min(chunks.len());
        if threads <= 1 {
            let mut documents = self.documents_in(rows)?;
            while let Some(document) = documents.try_next()? {
                each(map(document)?)?;
            }
            return Ok(());
        }
        thread::scope(|scope| {
            let (map, chunks) = (&map, &chunks);
            let mut queues: Vec<Receiver<ChunkResult<T>>> = Vec::with_capacity(threads);
            for first in 0..threads {
                let (sender, receiver) = sync_channel(QUEUE_LEN);
                queues.push(receiver);
                let chunks = chunks.iter().skip(first).step_by(threads);
                scope.spawn(move || self.process_chunks(chunks, map, &sender));
            }
            for number in 0..chunks.len() {
                let chunk = queues.get(number % threads).and_then(|queue| queue.recv().ok());
                // A thread that ended early has panicked, and the scope will propagate that.
                let Some(ChunkResult { results, error }) = chunk else { return Ok(()) };
                results.into_iter().try_for_each(&mut each)?;
                error.map_or(Ok(()), Err)?;
            }
            Ok(())
        })
    }

    fn process_chunks<'p, T>(
        &self,
        chunks: impl Iterator<Item = &'p Range<u64>>,
        map: &impl Fn(Document<'_>) -> Result<T>,
        queue: &SyncSender<ChunkResult<T>>,
    ) {
        for rows in chunks {
            let mut chunk = ChunkResult { results: Vec::new(), error: None };
            let outcome = self.documents_in(rows.clone()).and_then(|mut documents| {
                while let Some(document) = documents.try_next()? {
                    chunk.results.push(map(document)?);
                }
                Ok(())
            });
            chunk.error = outcome.err();
            let was_last = chunk.error.is_some();
            // After an earlier error the receiver is gone.
            if queue.send(chunk).is_err() || was_last {
                return;
            }
        }
    }

    /// Divides rows into chunks, by number of documents and bytes.
    fn chunks(&self, rows: &Range<u64>) -> Result<Vec<Range<u64>>> {
        let lines = self.line_refs()?;
        let mut chunks = Vec::new();
        let mut start = rows.start;
        let mut bytes = 0;
        for row in rows.clone() {
            let length = usize::try_from(row).ok().and_then(|row| lines.get(row)).map_or(0, |line| line.length);
            bytes += u64::from(length);
            if row + 1 - start == CHUNK_DOCUMENTS || bytes >= CHUNK_BYTES {
                chunks.push(start..row + 1);
                (start, bytes) = (row + 1, 0);
            }
        }
        if start < rows.end {
            chunks.push(start..rows.end);
        }
        Ok(chunks)
    }
}

/// Results for the documents of a chunk up to an error, and the error.
struct ChunkResult<T> {
    results: Vec<T>,
    error: Option<Error>,
}
