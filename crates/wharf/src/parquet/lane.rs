//! The way of encoded row groups into the file: at once, or by a thread that does nothing else.

use std::io::Write;
use std::sync::mpsc::{SendError, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use container_core::Error;
use container_core::Result;
use parquet::arrow::arrow_writer::ArrowColumnChunk;
use parquet::file::writer::SerializedFileWriter;

use super::source::library;
use crate::batches::guarded;

/// The columns of a row group.
type Group = Vec<ArrowColumnChunk>;

/// Who writes the row groups, in their order.
pub(super) enum Lane<W: Write + Send> {
    Here(Box<SerializedFileWriter<W>>),
    Behind(Behind<W>),
}

/// A thread that writes row groups. It ends behind an error, or when all are written.
pub(super) struct Behind<W: Write + Send> {
    groups: Option<SyncSender<Group>>,
    thread: Option<JoinHandle<Result<SerializedFileWriter<W>>>>,
}

impl<W: Write + Send> Lane<W> {
    /// Each row group is written before the caller goes on.
    pub(super) fn here(file: SerializedFileWriter<W>) -> Self {
        Self::Here(Box::new(file))
    }

    /// A thread writes them; the caller goes on. One may be waiting. Where no thread can be had, and without the feature `parallel`, as [`here`](Self::here).
    pub(super) fn behind(file: SerializedFileWriter<W>) -> Self
    where
        W: 'static,
    {
        if cfg!(not(feature = "parallel")) {
            return Self::here(file);
        }
        let (sender, groups) = sync_channel::<Group>(1);
        // The file goes there when the thread is there.
        let (give, given) = sync_channel::<SerializedFileWriter<W>>(1);
        let thread = thread::Builder::new().name("parquet".to_owned()).spawn(move || {
            guarded("the row groups", || {
                let mut file = given.recv().map_err(|_| ended())?;
                groups.iter().try_for_each(|group| append(&mut file, group))?;
                Ok(file)
            })
        });
        match thread {
            Err(_) => Self::here(file),
            Ok(thread) => match give.send(file) {
                Err(SendError(file)) => Self::here(file),
                Ok(()) => Self::Behind(Behind { groups: Some(sender), thread: Some(thread) }),
            },
        }
    }

    /// Writes a row group, or has it written: an error may be that of one before.
    pub(super) fn write(&mut self, group: Group) -> Result<()> {
        match self {
            Self::Here(file) => append(file, group),
            Self::Behind(behind) => match &behind.groups {
                Some(groups) if groups.send(group).is_ok() => Ok(()),
                _ => Err(behind.end().err().unwrap_or_else(ended)),
            },
        }
    }

    /// All row groups are written.
    pub(super) fn end(self) -> Result<SerializedFileWriter<W>> {
        match self {
            Self::Here(file) => Ok(*file),
            Self::Behind(mut behind) => behind.end(),
        }
    }
}

fn append<W: Write + Send>(file: &mut SerializedFileWriter<W>, group: Group) -> Result<()> {
    library("the row group", || {
        let mut columns = file.next_row_group()?;
        group.into_iter().try_for_each(|chunk| chunk.append_to_row_group(&mut columns))?;
        columns.close().map(drop)
    })
}
fn ended() -> Error {
    Error::usage("the thread that writes the file has ended")
}
impl<W: Write + Send> Behind<W> {
    fn end(&mut self) -> Result<SerializedFileWriter<W>> {
        self.groups = None;
        let thread = self.thread.take().ok_or_else(ended)?;
        thread.join().unwrap_or_else(|_| Err(ended()))
    }
}
impl<W: Write + Send> Drop for Behind<W> {
    /// When this is gone the sink is, too.
    fn drop(&mut self) {
        let _ = self.end(); // nobody wants the file, or how it failed
    }
}
