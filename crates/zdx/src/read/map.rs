//! Work on documents by several threads, whose results come in the documents' order.

use std::ops::Range;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use container_core::{Error, Result};

use crate::read::collection::Collection;
use crate::read::document::Document;

/// Documents of a piece, which a thread works on, at most.
const PIECE: u64 = 512;

/// And bytes of their lines, roughly.
const PIECE_BYTES: u64 = 1 << 20;

/// Pieces that a thread may be ahead.
const AHEAD: usize = 2;

impl Collection {
    /// Works on the documents of these numbers (counted from 0; an end behind the last one means that) with so many threads, 0 for as many as
    /// there are: `work` is called for each document by one of them, and `each` is given what comes out, in the order of the documents.
    ///
    /// A few pieces of 512 documents or 1 MiB are held for each thread. What one thread allocates and another frees costs more than parsing it,
    /// with most allocators: trees of values are better used up in `work`.
    ///
    /// # Errors
    /// The first one in the order of documents, of theirs or of `work`; or one of `each`. Nothing is given to `each` after it.
    pub fn map_documents<T: Send>(
        &self,
        rows: Range<u64>,
        threads: usize,
        work: impl Fn(Document<'_>) -> Result<T> + Sync,
        mut each: impl FnMut(T) -> Result<()>,
    ) -> Result<()> {
        let all = self.len()?;
        let rows = rows.start.min(all)..rows.end.min(all);
        let pieces = self.pieces(&rows)?;
        let threads = match threads {
            0 => thread::available_parallelism().map_or(1, Into::into),
            some => some,
        };
        let threads = threads.min(pieces.len());
        if threads <= 1 {
            return self.documents_in(rows)?.try_for_each(|document| each(work(document?)?));
        }
        thread::scope(|scope| {
            let (work, pieces) = (&work, &pieces);
            let mut results: Vec<Receiver<Piece<T>>> = Vec::with_capacity(threads);
            for first in 0..threads {
                let (sender, receiver) = sync_channel(AHEAD);
                results.push(receiver);
                let pieces = pieces.iter().skip(first).step_by(threads);
                scope.spawn(move || self.work_on(pieces, work, &sender));
            }
            for number in 0..pieces.len() {
                let piece = results.get(number % threads).and_then(|results| results.recv().ok());
                // A thread that ends before its time has panicked, and the scope goes on with that.
                let Some(Piece { done, error }) = piece else { return Ok(()) };
                done.into_iter().try_for_each(&mut each)?;
                error.map_or(Ok(()), Err)?;
            }
            Ok(())
        })
    }

    fn work_on<'p, T>(
        &self,
        pieces: impl Iterator<Item = &'p Range<u64>>,
        work: &impl Fn(Document<'_>) -> Result<T>,
        results: &SyncSender<Piece<T>>,
    ) {
        for rows in pieces {
            let mut piece = Piece { done: Vec::new(), error: None };
            let found = self.documents_in(rows.clone()).and_then(|documents| {
                for document in documents {
                    piece.done.push(work(document?)?);
                }
                Ok(())
            });
            piece.error = found.err();
            let was_last = piece.error.is_some();
            // Nobody listens any more where there was an error before.
            if results.send(piece).is_err() || was_last {
                return;
            }
        }
    }

    /// Divides rows into pieces of some documents or some bytes.
    fn pieces(&self, rows: &Range<u64>) -> Result<Vec<Range<u64>>> {
        let places = self.places()?;
        let mut pieces = Vec::new();
        let mut start = rows.start;
        let mut bytes = 0;
        for row in rows.clone() {
            let length = usize::try_from(row).ok().and_then(|row| places.get(row)).map_or(0, |place| place.length);
            bytes += u64::from(length);
            if row + 1 - start == PIECE || bytes >= PIECE_BYTES {
                pieces.push(start..row + 1);
                (start, bytes) = (row + 1, 0);
            }
        }
        if start < rows.end {
            pieces.push(start..rows.end);
        }
        Ok(pieces)
    }
}

/// What a thread made of a piece: of what comes before an error, and the error.
struct Piece<T> {
    done: Vec<T>,
    error: Option<Error>,
}
