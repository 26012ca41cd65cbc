//! Writes encoded row groups to the file, directly or on a dedicated thread.

use std::io::Write;
use std::sync::mpsc::{SendError, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use container_core::Error;
use container_core::Result;
use parquet::arrow::arrow_writer::ArrowColumnChunk;
use parquet::file::writer::SerializedFileWriter;

use super::source::library;
use crate::batches::guarded;
use crate::workers::IS_PARALLEL;

/// The column chunks of a row group.
type Group = Vec<ArrowColumnChunk>;

/// Writes row groups in order.
pub(super) enum GroupWriter<W: Write + Send> {
    Direct(Box<SerializedFileWriter<W>>),
    Threaded(WriterThread<W>),
}

/// A thread that writes row groups. It ends after an error, or after the last row group.
pub(super) struct WriterThread<W: Write + Send> {
    groups: Option<SyncSender<Group>>,
    thread: Option<JoinHandle<Result<SerializedFileWriter<W>>>>,
}

impl<W: Write + Send> GroupWriter<W> {
    /// Writes each row group on the calling thread.
    pub(super) fn direct(file: SerializedFileWriter<W>) -> Self {
        Self::Direct(Box::new(file))
    }

    /// A thread writes them; the caller goes on. One may be waiting. Where no thread can be had, and without the feature `parallel`, as [`here`](Self::direct).
    pub(super) fn threaded(file: SerializedFileWriter<W>) -> Self
    where
        W: 'static,
    {
        if !IS_PARALLEL {
            return Self::direct(file);
        }
        let (sender, groups) = sync_channel::<Group>(1);
        // The file is sent after the thread has started, so that it is not lost if that fails.
        let (file_sender, file_receiver) = sync_channel::<SerializedFileWriter<W>>(1);
        let thread = thread::Builder::new().name("parquet".to_owned()).spawn(move || {
            guarded("the row groups", || {
                let mut file = file_receiver.recv().map_err(|_| thread_ended())?;
                groups.iter().try_for_each(|group| append(&mut file, group))?;
                Ok(file)
            })
        });
        match thread {
            Err(_) => Self::direct(file),
            Ok(thread) => match file_sender.send(file) {
                Err(SendError(file)) => Self::direct(file),
                Ok(()) => Self::Threaded(WriterThread { groups: Some(sender), thread: Some(thread) }),
            },
        }
    }

    /// Writes or queues a row group. An error may be that of an earlier one.
    pub(super) fn write(&mut self, group: Group) -> Result<()> {
        match self {
            Self::Direct(file) => append(file, group),
            Self::Threaded(thread) => match &thread.groups {
                Some(groups) if groups.send(group).is_ok() => Ok(()),
                _ => Err(thread.end().err().unwrap_or_else(thread_ended)),
            },
        }
    }

    /// Finishes after all row groups are written.
    pub(super) fn end(self) -> Result<SerializedFileWriter<W>> {
        match self {
            Self::Direct(file) => Ok(*file),
            Self::Threaded(mut thread) => thread.end(),
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
fn thread_ended() -> Error {
    Error::usage("the writer thread has ended")
}
impl<W: Write + Send> WriterThread<W> {
    fn end(&mut self) -> Result<SerializedFileWriter<W>> {
        self.groups = None;
        let thread = self.thread.take().ok_or_else(thread_ended)?;
        thread.join().unwrap_or_else(|_| Err(thread_ended()))
    }
}
impl<W: Write + Send> Drop for WriterThread<W> {
    /// Waits, so that the sink is dropped with this.
    fn drop(&mut self) {
        let _ = self.end(); // ignore: file and error are discarded
    }
}
