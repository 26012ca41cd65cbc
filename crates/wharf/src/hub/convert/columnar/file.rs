//! Files of record batches: Parquet, or Arrow IPC as a file or a stream.

use std::io::Write;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use container_core::{Loss, Output, Result};

use crate::{ipc, parquet};

/// The format of the output, and how it is written.
pub(in super::super) enum FileFormat {
    Parquet(parquet::WriterOptions),
    Ipc(ipc::WriterOptions),
}

impl FileFormat {
    /// Checks that the output can be opened.
    pub(super) fn read_back(&self, output: &Output) -> Result<()> {
        match self {
            Self::Parquet(_) => parquet::read_back(output),
            Self::Ipc(_) => ipc::read_back(output),
        }
    }

    /// As [`writer`](Self::writer); Parquet is written by a thread of its own.
    pub(super) fn background_writer<W: Write + Send + 'static>(&self, sink: W, schema: SchemaRef) -> Result<Writer<W>> {
        Ok(match self.writer(sink, schema)? {
            Writer::Parquet(writer) => Writer::Parquet(Box::new(writer.with_thread())),
            Writer::Ipc(writer) => Writer::Ipc(writer),
        })
    }

    pub(super) fn writer<W: Write + Send>(&self, sink: W, schema: SchemaRef) -> Result<Writer<W>> {
        Ok(match self {
            Self::Parquet(options) => Writer::Parquet(Box::new(parquet::Writer::new(sink, schema, options.clone())?)),
            Self::Ipc(options) => Writer::Ipc(Box::new(ipc::Writer::new(sink, schema, *options)?)),
        })
    }
}

/// The writer of one of them.
pub(super) enum Writer<W: Write + Send> {
    Parquet(Box<parquet::Writer<W>>),
    Ipc(Box<ipc::Writer<W>>),
}

impl<W: Write + Send> Writer<W> {
    pub(super) fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        match self {
            Self::Parquet(writer) => writer.write(batch),
            Self::Ipc(writer) => writer.write(batch),
        }
    }

    /// Writes the end, and returns the sink and what was not kept.
    pub(super) fn finish(self) -> Result<(W, Vec<Loss>)> {
        match self {
            Self::Parquet(writer) => writer.end(),
            Self::Ipc(writer) => Ok((writer.end()?, Vec::new())),
        }
    }
}
