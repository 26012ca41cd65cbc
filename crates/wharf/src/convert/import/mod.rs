//! Imports records of text files, rows of any container, and files of folders and ZIP archives as samples of a datadings dataset.
//!
//! | you have | use |
//! |---|---|
//! | JSON lines, CSV | [`TextTable`], `TextTable::write_samples` |
//! | rows of any container | `write_rows` |
//! | a dataset, to select fields and samples | `copy_samples` |
//! | a folder, a ZIP archive | `FileTable` |
//!
//! Numbers keep their digits. Memory grows with a record and the number of columns (for files, with the number of names), not with the input.
//!
//! Every sample has a key: the column `key`, another column, or the row number. See `SampleOptions`.
//!
//! ```no_run
//! # fn main() -> wharf::Result<()> {
//! use datadings::{Writer, WriterOptions};
//! use wharf::convert::import::{FileOptions, FileTable};
//!
//! // photos/cat/1.jpg becomes {"key": "cat/1.jpg", "image": ..., "label": 0}.
//! let mut options = FileOptions::default();
//! options.field = Some("image".to_owned());
//! let mut files = FileTable::new(options);
//! files.push_folder("photos")?;
//! let mut writer = Writer::create("photos.msgpack", WriterOptions::default())?;
//! files.write_to(&mut writer, 0..u64::MAX, 0, None)?;
//! writer.finish()?;
//! println!("{:?}", files.label_names()?);
//! # Ok(())
//! # }
//! ```

mod documents;
mod files;
mod samples;
mod tar;

use std::sync::Arc;

use container_core::{Error, Format, Progress, Result, Source, Unit};

use crate::text::TextFormat;
use crate::text::records::chunk::{self, Chunk, ChunkSource, Chunker, Input};
use crate::text::records::location::Location;
use crate::text::records::{self, Options};
use crate::workers::Workers;

pub(crate) use documents::Documents;
pub(crate) use files::check_folder;
pub use files::{FOLDER, FileOptions, FileTable, LinkOutside, ZIP};
pub use samples::{Keys, SampleOptions, Sampled, copy_samples, write_rows};
pub use tar::TAR;

/// Maximum records per chunk.
const CHUNK_RECORDS: u64 = 8192;

/// A table read from text inputs, one after another.
#[derive(Debug, Clone)]
pub struct TextTable {
    inputs: Inputs,
    options: Options,
}

#[derive(Debug, Clone)]
enum Inputs {
    Texts(Vec<Input>),
    /// Rows that serialize as JSON objects.
    Documents(Arc<[Documents]>),
}

impl TextTable {
    /// JSON lines: an object on each line; or one array of objects, as in many `.json` files. Blank lines are skipped. Members may be in
    /// any order; a missing one is null.
    #[must_use]
    pub fn json_lines() -> Self {
        Self::new(TextFormat::JsonLines)
    }

    /// CSV: quoted cells may contain delimiters and line breaks. The first line is the header, the same in all inputs.
    #[must_use]
    pub fn csv() -> Self {
        Self::new(TextFormat::Csv)
    }

    fn new(format: TextFormat) -> Self {
        Self {
            inputs: Inputs::Texts(Vec::new()),
            options: Options { format, delimiter: b',', header: true, threads: 0, window: chunk::WINDOW },
        }
    }

    /// Sets the delimiter between CSV cells.
    ///
    /// # Errors
    /// [`Usage`](crate::ErrorKind::Usage) for a quote, a line break, or a byte that is not ASCII.
    pub fn with_delimiter(mut self, delimiter: u8) -> Result<Self> {
        self.options.delimiter = records::delimiter(delimiter)?;
        Ok(self)
    }

    /// Whether the first line of CSV has the column names. Without a header, columns are named `c0`, `c1` and so on.
    #[must_use]
    pub fn with_header(mut self, header: bool) -> Self {
        self.options.header = header;
        self
    }

    /// Threads to use (feature `parallel`); 0 for one per core. The result does not depend on it.
    #[must_use]
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.options.threads = threads;
        self
    }

    /// Appends an input. Errors name it `name`.
    pub fn push(&mut self, name: impl Into<String>, source: Source) {
        if let Inputs::Texts(texts) = &mut self.inputs {
            texts.push(Input { name: name.into(), source });
        }
    }

    /// A table over rows of containers.
    pub(crate) fn documents(documents: Vec<Documents>) -> Self {
        Self { inputs: Inputs::Documents(documents.into()), ..Self::json_lines() }
    }

    /// All records, in chunks of at most `max_records`.
    fn chunks(&self, max_records: u64) -> Box<dyn ChunkSource + '_> {
        match &self.inputs {
            Inputs::Texts(texts) => Box::new(Chunker::new(texts, &self.options, max_records)),
            Inputs::Documents(documents) => Box::new(documents::DocumentChunks::new(documents, max_records)),
        }
    }

    fn begin(&self, progress: Option<&dyn Progress>) {
        let Some(progress) = progress else { return };
        match &self.inputs {
            Inputs::Texts(texts) => {
                progress.begin(Unit::Bytes, Some(texts.iter().map(|input| input.source.len()).sum()));
            }
            Inputs::Documents(documents) => progress.begin(Unit::Rows, documents.iter().map(Documents::len).sum()),
        }
    }

    /// Reports a finished chunk.
    fn report_chunk(&self, progress: Option<&dyn Progress>, chunk: &Chunk) -> Result<()> {
        let Some(progress) = progress else { return Ok(()) };
        progress.advance(match &self.inputs {
            Inputs::Texts(_) => chunk.bytes.len() as u64,
            Inputs::Documents(_) => chunk.records,
        })
    }

    /// The format's name in errors.
    fn format(&self) -> &'static str {
        match &self.inputs {
            Inputs::Texts(_) => self.options.format.name(),
            Inputs::Documents(documents) => documents.first().map_or("", Documents::format),
        }
    }

    /// Adds a location to an error.
    fn locate_error(&self, error: Error, location: Location) -> Error {
        match &self.inputs {
            Inputs::Texts(texts) => location.locate(error, texts.get(location.input).map(|input| &*input.name)),
            Inputs::Documents(documents) => {
                let name = documents.get(location.input).map(Documents::name);
                documents::with_row(error.in_line(location.line), name)
            }
        }
    }

    /// Adds the input's name to an error in a chunk.
    fn with_input_name(&self, error: Error, chunk: &Chunk) -> Error {
        match &self.inputs {
            Inputs::Texts(texts) => {
                error.in_optional_file(texts.get(chunk.start.input).map(|input| input.name.clone()))
            }
            Inputs::Documents(documents) => {
                documents::with_row(error, documents.get(chunk.start.input).map(Documents::name))
            }
        }
    }

    /// Processes all chunks up to row `end` in parallel, and passes what was made of them to `each`, in order. Returns the row behind the last
    /// chunk, and the number of columns.
    fn each_chunk<T: Send>(
        &self,
        end: u64,
        progress: Option<&dyn Progress>,
        process: impl Fn(&Chunk, &[String]) -> T + Send + Sync,
        mut each: impl FnMut(&Chunk, T) -> Result<()>,
    ) -> Result<(u64, usize)> {
        self.begin(progress);
        let workers = Workers::new(self.options.threads);
        let mut chunker = self.chunks(CHUNK_RECORDS);
        let mut next_row = 0;
        while next_row < end {
            let (chunks, failure) = Self::next_chunks(chunker.as_mut(), &workers);
            let columns = chunker.names().unwrap_or_default();
            let made = workers.map(chunks.iter().collect(), |chunk| process(chunk, columns));
            for (chunk, made) in chunks.iter().zip(made) {
                each(chunk, made)?;
                next_row = chunk.row + chunk.records;
                self.report_chunk(progress, chunk)?;
            }
            if next_row < end {
                failure?;
            }
            if chunks.is_empty() {
                break;
            }
        }
        Ok((next_row, chunker.names().map_or(0, <[String]>::len)))
    }

    /// Reads as many chunks as are worth processing in parallel, and the error behind them. Earlier errors take precedence.
    fn next_chunks(chunks: &mut dyn ChunkSource, workers: &Workers) -> (Vec<Chunk>, Result<()>) {
        let mut gathered = Vec::new();
        while gathered.len() < workers.width() {
            match chunks.next() {
                Ok(Some(chunk)) => gathered.push(chunk),
                Ok(None) => break,
                Err(error) => return (gathered, Err(error)),
            }
        }
        (gathered, Ok(()))
    }
}
