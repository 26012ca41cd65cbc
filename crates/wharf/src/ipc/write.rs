//! Writes record batches as Arrow IPC.

use std::fmt;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::str::FromStr;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{DictionaryHandling, FileWriter, IpcWriteOptions, StreamWriter};
use arrow_schema::{ArrowError, SchemaRef};
use container_arrow::{BatchWriter, from_arrow};
use container_core::{Error, Loss, OpenOptions, Output, OutputOptions, Result};

use super::FORMAT_NAME;
use super::read::Reader;
use crate::batches::{Dictionaries, guarded, same_columns};

/// Compression of buffers. Parses from `none`, `lz4`, `zstd`, or `zstd:3` with a level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
#[non_exhaustive]
pub enum Compression {
    /// No compression: files can be mapped and used zero-copy. The default.
    #[default]
    None,
    /// Fast.
    Lz4,
    /// Smaller; level 1 to 22.
    Zstd(i32),
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Lz4 => f.write_str("lz4"),
            Self::Zstd(level) => write!(f, "zstd:{level}"),
        }
    }
}

impl FromStr for Compression {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text.split_once(':').map_or((text, None), |(name, level)| (name, Some(level))) {
            ("none", None) => Ok(Self::None),
            ("lz4", None) => Ok(Self::Lz4),
            ("zstd", None) => Ok(Self::Zstd(1)),
            ("zstd", Some(level)) => {
                let number = level.parse().ok().filter(|level| (1..=22).contains(level));
                let invalid = || Error::usage(format!("zstd: expected a level from 1 to 22, found {level:?}"));
                number.map(Self::Zstd).ok_or_else(invalid)
            }
            (name @ ("none" | "lz4"), Some(level)) => {
                Err(Error::usage(format!("{name} has no levels, found {level:?}")))
            }
            (other, _) => Err(Error::usage(format!("unknown compression {other:?} (known: none, lz4, zstd)"))),
        }
    }
}

/// The layout of Arrow IPC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
#[non_exhaustive]
pub enum Layout {
    /// A file with a footer, for random access.
    #[default]
    File,
    /// A stream, read sequentially.
    Stream,
}

/// Options for writing Arrow IPC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct WriterOptions {
    /// File or stream. Default: file.
    pub layout: Layout,
    /// Compression of buffers. Default: none.
    pub compression: Compression,
}

impl WriterOptions {
    /// Replaces [`layout`](Self::layout).
    #[must_use]
    pub const fn with_layout(mut self, layout: Layout) -> Self {
        self.layout = layout;
        self
    }

    /// Replaces [`compression`](Self::compression).
    #[must_use]
    pub const fn with_compression(mut self, compression: Compression) -> Self {
        self.compression = compression;
        self
    }

    fn library(self) -> Result<IpcWriteOptions, ArrowError> {
        let (kind, level) = match self.compression {
            Compression::None => (None, None),
            Compression::Lz4 => (Some(CompressionType::LZ4_FRAME), None),
            Compression::Zstd(level) => (Some(CompressionType::ZSTD), Some(level)),
        };
        // A dictionary that has grown is written as a delta.
        let options = IpcWriteOptions::default().with_dictionary_handling(DictionaryHandling::Delta);
        options.try_with_compression(kind)?.try_with_compression_level(level)
    }
}

/// Writes record batches as Arrow IPC, each immediately.
///
/// A file has one dictionary per column, which may only grow: dictionaries of later batches are joined to it. In a stream they are unchanged.
pub struct Writer<W: Write> {
    inner: InnerWriter<W>,
    schema: SchemaRef,
    dictionaries: Option<Dictionaries>,
    failed: bool,
}

enum InnerWriter<W: Write> {
    File(FileWriter<BufWriter<W>>),
    Stream(StreamWriter<BufWriter<W>>),
}

impl Writer<Output> {
    /// Creates a file, which appears at [`finish`](BatchWriter::finish).
    ///
    /// # Errors
    /// As [`new`](Self::new), and those of [`Output::create`].
    pub fn create(
        path: impl Into<PathBuf>,
        schema: SchemaRef,
        options: WriterOptions,
        output: OutputOptions,
    ) -> Result<Self> {
        Self::new(Output::create(path, output)?, schema, options)
    }
}

impl<W: Write> Writer<W> {
    /// Begins a file or a stream. The sink is flushed only at the end.
    ///
    /// # Errors
    /// [`Usage`](crate::ErrorKind::Usage) for an invalid compression level; [`Invalid`](crate::ErrorKind::Invalid) for dictionaries of
    /// dictionaries; [`Io`](crate::ErrorKind::Io).
    pub fn new(sink: W, schema: SchemaRef, options: WriterOptions) -> Result<Self> {
        let sink = BufWriter::with_capacity(256 << 10, sink);
        let inner = guarded("the schema", || {
            let library = options.library().map_err(|error| Error::usage(error.to_string()))?;
            match options.layout {
                Layout::File => FileWriter::try_new_with_options(sink, &schema, library).map(InnerWriter::File),
                Layout::Stream => StreamWriter::try_new_with_options(sink, &schema, library).map(InnerWriter::Stream),
            }
            .map_err(from_arrow)
        });
        let dictionaries = (options.layout == Layout::File).then(Dictionaries::default);
        Ok(Self { inner: inner.map_err(with_io_cause)?, schema, dictionaries, failed: false })
    }

    /// Appends a batch.
    ///
    /// # Errors
    /// [`Usage`](crate::ErrorKind::Usage) for a batch with another schema, or after an error; [`Limit`](crate::ErrorKind::Limit) for
    /// dictionaries of a file that together have more labels than their indexes can address; [`Io`](crate::ErrorKind::Io).
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.guarded(|writer| {
            same_columns(&writer.schema, &batch.schema())?;
            let columns = match &mut writer.dictionaries {
                Some(dictionaries) => dictionaries.join(batch)?,
                None => batch.columns().to_vec(),
            };
            let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
            let batch = RecordBatch::try_new_with_options(SchemaRef::clone(&writer.schema), columns, &options);
            let batch = batch.map_err(from_arrow)?;
            guarded("the batch", || {
                match &mut writer.inner {
                    InnerWriter::File(file) => file.write(&batch),
                    InnerWriter::Stream(stream) => stream.write(&batch),
                }
                .map_err(from_arrow)
            })
        })
    }

    /// Finishes the file or stream and returns the flushed sink.
    ///
    /// # Errors
    /// [`Io`](crate::ErrorKind::Io); [`Usage`](crate::ErrorKind::Usage) after an error.
    pub fn end(mut self) -> Result<W> {
        self.guarded(|writer| {
            match &mut writer.inner {
                InnerWriter::File(file) => file.finish(),
                InnerWriter::Stream(stream) => stream.finish(),
            }
            .map_err(from_arrow)
        })?;
        let sink = match self.inner {
            InnerWriter::File(file) => file.into_inner(),
            InnerWriter::Stream(stream) => stream.into_inner(),
        };
        let failed = |cause| Error::io("cannot write the output", cause);
        let mut sink = sink.map_err(from_arrow)?.into_inner().map_err(|error| failed(error.into_error()))?;
        sink.flush().map_err(failed)?;
        Ok(sink)
    }

    fn guarded(&mut self, work: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        if self.failed {
            return Err(Error::usage("the writer was used after a failure").in_format(FORMAT_NAME));
        }
        self.failed = true;
        work(self).map_err(with_io_cause)?;
        self.failed = false;
        Ok(())
    }
}

/// Verifies a written file before it gets its name: reads the footer or the headers, and the dictionaries.
///
/// # Errors
/// What [`Reader::from_source`] rejects, or an unreadable dictionary.
pub fn read_back(output: &Output) -> Result<()> {
    let reader = Reader::from_source(output.read_back()?, OpenOptions::default())?;
    reader.check_dictionaries()
}

/// Restores the I/O cause of an error; names the format for all others.
fn with_io_cause(error: Error) -> Error {
    match error.kind() {
        container_core::ErrorKind::Io => {
            use std::error::Error as _;
            let cause = error.source().and_then(|cause| cause.downcast_ref::<std::io::Error>());
            match cause.map(|cause| (cause.raw_os_error(), cause.kind())) {
                Some((Some(number), _)) => {
                    Error::io("cannot write the output", std::io::Error::from_raw_os_error(number))
                }
                Some((None, kind)) => Error::io("cannot write the output", kind.into()),
                None => error,
            }
        }
        _ => error.in_format(FORMAT_NAME),
    }
}

impl BatchWriter for Writer<Output> {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        Writer::write(self, batch)
    }

    fn finish(self: Box<Self>) -> Result<Vec<Loss>> {
        let output = self.end()?;
        read_back(&output)?;
        output.finish()?;
        Ok(Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compressions_round_trip_through_text() {
        for (text, expected) in
            [("none", Compression::None), ("lz4", Compression::Lz4), ("zstd:3", Compression::Zstd(3))]
        {
            let parsed: Compression = text.parse().unwrap();
            assert_eq!((parsed, parsed.to_string().as_str()), (expected, text));
            WriterOptions::default().with_compression(parsed).library().unwrap();
        }
        for (wrong, why) in [
            ("zstd:23", "zstd: expected a level from 1 to 22, found \"23\""),
            ("lz4:1", "lz4 has no levels, found \"1\""),
            ("snappy", "unknown compression \"snappy\" (known: none, lz4, zstd)"),
        ] {
            assert_eq!(wrong.parse::<Compression>().unwrap_err().to_string(), why);
        }
    }
}
