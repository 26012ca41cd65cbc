//! What is written: Parquet, or Arrow IPC as a file or a stream.

use std::io::Write;

use crate::ipc;
use crate::parquet;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use container_core::{Loss, Output, Result};

use super::super::job::Job;
use super::super::options::OutputForm;

/// The form of the output, and how it is compressed.
pub(super) enum Target {
    Parquet(parquet::Compression),
    Ipc(ipc::Layout, ipc::Compression),
}

impl Target {
    pub(super) fn new(job: &Job<'_>) -> Result<Self> {
        let compression = job.columnar.compression.as_deref();
        if job.form == OutputForm::Parquet {
            return Ok(Self::Parquet(compression.map(str::parse).transpose()?.unwrap_or_default()));
        }
        let kind = if job.form == OutputForm::Arrows { ipc::Layout::Stream } else { ipc::Layout::File };
        Ok(Self::Ipc(kind, compression.map(str::parse).transpose()?.unwrap_or_default()))
    }

    /// Opens what was written.
    pub(super) fn read_back(&self, output: &Output) -> Result<()> {
        match self {
            Self::Parquet(_) => parquet::read_back(output),
            Self::Ipc(..) => ipc::read_back(output),
        }
    }

    /// As [`writer`](Self::writer); a thread may write to the sink.
    pub(super) fn writer_behind<W: Write + Send + 'static>(
        &self,
        sink: W,
        schema: SchemaRef,
        job: &Job<'_>,
    ) -> Result<Writer<W>> {
        Ok(match self.writer(sink, schema, job)? {
            Writer::Parquet(writer) => Writer::Parquet(Box::new(writer.with_thread())),
            Writer::Ipc(writer) => Writer::Ipc(writer),
        })
    }

    pub(super) fn writer<W: Write + Send>(&self, sink: W, schema: SchemaRef, job: &Job<'_>) -> Result<Writer<W>> {
        match self {
            Self::Parquet(compression) => {
                let mut options = parquet::WriterOptions::default()
                    .with_compression(*compression)
                    .with_threads(job.selection.reading.threads);
                if let Some(rows) = job.columnar.row_group {
                    options = options.with_group_rows(usize::try_from(rows).unwrap_or(usize::MAX));
                }
                Ok(Writer::Parquet(Box::new(parquet::Writer::new(sink, schema, options)?)))
            }
            Self::Ipc(form, compression) => {
                let options = ipc::WriterOptions::default().with_layout(*form).with_compression(*compression);
                Ok(Writer::Ipc(Box::new(ipc::Writer::new(sink, schema, options)?)))
            }
        }
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

    pub(super) fn end(self) -> Result<(W, Vec<Loss>)> {
        match self {
            Self::Parquet(writer) => writer.end(),
            Self::Ipc(writer) => Ok((writer.end()?, Vec::new())),
        }
    }
}
