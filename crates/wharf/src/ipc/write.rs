//! Arrow IPC written from record batches.

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

/// How the buffers of batches are compressed. As a text: `none`, `lz4`, `zstd`, or `zstd:3` with a level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
#[non_exhaustive]
pub enum Compression {
    /// Not at all: a file can be mapped and used as it is. The default.
    #[default]
    None,
    /// Fast.
    Lz4,
    /// Smaller; 1 to 22.
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
                let wrong = || Error::usage(format!("zstd has the levels 1 to 22, not {level:?}"));
                number.map(Self::Zstd).ok_or_else(wrong)
            }
            (name @ ("none" | "lz4"), Some(level)) => {
                Err(Error::usage(format!("{name} has no levels, and {level:?} is given")))
            }
            (other, _) => {
                Err(Error::usage(format!("Arrow IPC has no compression {other:?}: it has none, lz4 and zstd")))
            }
        }
    }
}

/// What is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
#[non_exhaustive]
pub enum Form {
    /// A file, with a footer that leads to each batch.
    #[default]
    File,
    /// A stream, which is read from its beginning.
    Stream,
}

/// How Arrow IPC is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct WriterOptions {
    /// A file or a stream. Default a file.
    pub form: Form,
    /// How buffers are compressed. Default not at all.
    pub compression: Compression,
}

impl WriterOptions {
    /// Replaces [`form`](Self::form).
    #[must_use]
    pub const fn with_form(mut self, form: Form) -> Self {
        self.form = form;
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
        // A dictionary that has grown is written as what is new of it.
        let options = IpcWriteOptions::default().with_dictionary_handling(DictionaryHandling::Delta);
        options.try_with_compression(kind)?.try_with_compression_level(level)
    }
}

/// Writes record batches as Arrow IPC, each as it comes.
///
/// A file has one dictionary per column, which may only grow: dictionaries of later batches are joined to it. A stream has each as it is.
pub struct Writer<W: Write> {
    inner: Inner<W>,
    schema: SchemaRef,
    dictionaries: Option<Dictionaries>,
    failed: bool,
}

enum Inner<W: Write> {
    File(FileWriter<BufWriter<W>>),
    Stream(StreamWriter<BufWriter<W>>),
}

impl Writer<Output> {
    /// Begins a file, which appears at [`finish`](BatchWriter::finish).
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
    /// Begins a file or a stream. The sink is flushed at the end only.
    ///
    /// # Errors
    /// [`Usage`](crate::ErrorKind::Usage) for a level that the compression has not; [`Invalid`](crate::ErrorKind::Invalid) for dictionaries
    /// of dictionaries; [`Io`](crate::ErrorKind::Io).
    pub fn new(sink: W, schema: SchemaRef, options: WriterOptions) -> Result<Self> {
        let sink = BufWriter::with_capacity(256 << 10, sink);
        let inner = guarded("the schema", || {
            let library = options.library().map_err(|error| Error::usage(error.to_string()))?;
            match options.form {
                Form::File => FileWriter::try_new_with_options(sink, &schema, library).map(Inner::File),
                Form::Stream => StreamWriter::try_new_with_options(sink, &schema, library).map(Inner::Stream),
            }
            .map_err(from_arrow)
        });
        let dictionaries = (options.form == Form::File).then(Dictionaries::default);
        Ok(Self { inner: inner.map_err(told)?, schema, dictionaries, failed: false })
    }

    /// Appends a batch.
    ///
    /// # Errors
    /// [`Usage`](crate::ErrorKind::Usage) for a batch of another schema, or after an error;
    /// [`Limit`](crate::ErrorKind::Limit) for dictionaries of a file that have more labels together than their indexes can count;
    /// [`Io`](crate::ErrorKind::Io).
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
                    Inner::File(file) => file.write(&batch),
                    Inner::Stream(stream) => stream.write(&batch),
                }
                .map_err(from_arrow)
            })
        })
    }

    /// Ends the file or the stream and gives back the sink, flushed.
    ///
    /// # Errors
    /// [`Io`](crate::ErrorKind::Io); [`Usage`](crate::ErrorKind::Usage) after an error.
    pub fn end(mut self) -> Result<W> {
        self.guarded(|writer| {
            match &mut writer.inner {
                Inner::File(file) => file.finish(),
                Inner::Stream(stream) => stream.finish(),
            }
            .map_err(from_arrow)
        })?;
        let sink = match self.inner {
            Inner::File(file) => file.into_inner(),
            Inner::Stream(stream) => stream.into_inner(),
        };
        let failed = |cause| Error::io("cannot write the output", cause);
        let mut sink = sink.map_err(from_arrow)?.into_inner().map_err(|error| failed(error.into_error()))?;
        sink.flush().map_err(failed)?;
        Ok(sink)
    }

    fn guarded(&mut self, work: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        if self.failed {
            return Err(Error::usage("the writer was used after it failed").in_format(FORMAT_NAME));
        }
        self.failed = true;
        work(self).map_err(told)?;
        self.failed = false;
        Ok(())
    }
}

/// Opens what was written, before it gets its name: the footer or the headers, and the dictionaries.
///
/// # Errors
/// What is wrong with it.
pub fn read_back(output: &Output) -> Result<()> {
    let reader = Reader::from_source(output.read_back()?, OpenOptions::default())?;
    reader.check_dictionaries()
}

/// What the writer says of an error. The disk's own are no matter of the format.
fn told(error: Error) -> Error {
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
    fn compressions_are_read_from_text_and_written_back() {
        for (text, wanted) in [("none", Compression::None), ("lz4", Compression::Lz4), ("zstd:3", Compression::Zstd(3))]
        {
            let found: Compression = text.parse().unwrap();
            assert_eq!((found, found.to_string().as_str()), (wanted, text));
            WriterOptions::default().with_compression(found).library().unwrap();
        }
        for (wrong, why) in [
            ("zstd:23", "zstd has the levels 1 to 22, not \"23\""),
            ("lz4:1", "lz4 has no levels, and \"1\" is given"),
            ("snappy", "Arrow IPC has no compression \"snappy\": it has none, lz4 and zstd"),
        ] {
            assert_eq!(wrong.parse::<Compression>().unwrap_err().to_string(), why);
        }
    }
}
