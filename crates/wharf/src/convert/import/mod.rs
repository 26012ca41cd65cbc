//! Records of text files, rows of any container and files of folders and ZIP archives as samples of a datadings dataset.
//!
//! | you have | take |
//! |---|---|
//! | JSON lines, CSV | [`TextTable`], `TextTable::write_samples` |
//! | rows of any container | `write_rows` |
//! | a dataset, of which some fields and samples are wanted | `copy_samples` |
//! | a folder, a ZIP archive | `FileTable` |
//!
//! Numbers and texts keep their digits and characters. Memory grows with a record, and with the number of columns (for files, with their names), not with the input.
//!
//! A sample has a key. It is the column `key`, or another one, or the row's number: see `SampleOptions`.
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

use std::sync::Arc;

use container_core::{Error, Progress, Result, Source, Unit};

use crate::text::records::chunk::{self, Chunk, Chunks, Cutter, Input};
use crate::text::records::place::Place;
use crate::text::records::{Form, Options};
use crate::workers::Workers;

pub(crate) use documents::Documents;
pub use files::{FOLDER, FileOptions, FileTable, LinkOutside, ZIP};
pub use samples::{Keys, SampleOptions, Sampled, copy_samples, write_rows};

/// Records that are taken together at most.
const RECORDS: u64 = 8192;

/// A table in text files, one after another.
#[derive(Debug, Clone)]
pub struct TextTable {
    inputs: Inputs,
    options: Options,
}

#[derive(Debug, Clone)]
enum Inputs {
    Texts(Vec<Input>),
    /// Rows that are as good as lines of JSON.
    Documents(Arc<[Documents]>),
}

impl TextTable {
    /// JSON lines: an object on each line; or one array of objects, as a `.json` file may be. Blank lines are skipped, members
    /// may come in any order, one that is absent is null.
    #[must_use]
    pub fn json_lines() -> Self {
        Self::new(Form::JsonLines)
    }

    /// CSV: cells in quotes may hold delimiters and line feeds, the first line has the names (in all inputs the same).
    #[must_use]
    pub fn csv() -> Self {
        Self::new(Form::Csv)
    }

    fn new(form: Form) -> Self {
        Self {
            inputs: Inputs::Texts(Vec::new()),
            options: Options {
                form,
                delimiter: b',',
                header: true,
                may_be_empty: false,
                threads: 0,
                window: chunk::WINDOW,
            },
        }
    }

    /// Another delimiter of CSV than the comma: a tabulator, say.
    ///
    /// # Errors
    /// [`Usage`](crate::ErrorKind::Usage) for a quote, a line end, and what is no ASCII.
    pub fn with_delimiter(mut self, delimiter: u8) -> Result<Self> {
        if !delimiter.is_ascii() || matches!(delimiter, b'"' | b'\n' | b'\r') {
            let detail = format!("the delimiter {:?} is a quote, a line end or no ASCII", char::from(delimiter));
            return Err(Error::usage(detail));
        }
        self.options.delimiter = delimiter;
        Ok(self)
    }

    /// Whether the first line of CSV has the names; without, columns are called `c0`, `c1` and so on.
    #[must_use]
    pub fn with_header(mut self, header: bool) -> Self {
        self.options.header = header;
        self
    }

    /// Threads that may work at once (feature `parallel`); 0 for as many as the machine has. What comes out does not depend on it.
    #[must_use]
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.options.threads = threads;
        self
    }

    /// Adds an input, which continues the table. Errors call it by this name.
    pub fn push(&mut self, name: impl Into<String>, source: Source) {
        if let Inputs::Texts(texts) = &mut self.inputs {
            texts.push(Input { name: name.into(), source });
        }
    }

    /// Rows that are lines of JSON.
    pub(crate) fn documents(documents: Vec<Documents>) -> Self {
        Self { inputs: Inputs::Documents(documents.into()), ..Self::json_lines() }
    }

    /// All records, in chunks of so many at most.
    fn chunks(&self, most: u64) -> Box<dyn Chunks + '_> {
        match &self.inputs {
            Inputs::Texts(texts) => Box::new(Cutter::new(texts, &self.options, most)),
            Inputs::Documents(documents) => Box::new(documents::Lines::new(documents, most)),
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

    /// Says that a chunk is done.
    fn told(&self, progress: Option<&dyn Progress>, chunk: &Chunk) {
        let Some(progress) = progress else { return };
        progress.advance(match &self.inputs {
            Inputs::Texts(_) => chunk.bytes.len() as u64,
            Inputs::Documents(_) => chunk.records,
        });
    }

    /// The name of the format, for errors.
    fn format(&self) -> &'static str {
        match &self.inputs {
            Inputs::Texts(_) => self.options.form.name(),
            Inputs::Documents(documents) => documents.first().map_or("", Documents::format),
        }
    }

    /// An error at a place of an input.
    fn placed(&self, error: Error, place: Place) -> Error {
        match &self.inputs {
            Inputs::Texts(texts) => place.mark(error, texts.get(place.input).map(|input| &*input.name)),
            Inputs::Documents(documents) => {
                let name = documents.get(place.input).map(Documents::name);
                documents::of_row(error.in_line(place.line), name)
            }
        }
    }

    /// An error in a chunk, which may know where.
    fn name(&self, error: Error, chunk: &Chunk) -> Error {
        match &self.inputs {
            Inputs::Texts(texts) => match texts.get(chunk.start.input) {
                Some(input) => error.in_file(input.name.clone()),
                None => error,
            },
            Inputs::Documents(documents) => {
                documents::of_row(error, documents.get(chunk.start.input).map(Documents::name))
            }
        }
    }

    /// Some chunks, and why there are no more if that is an error: what is wrong before it comes first.
    fn gather(chunks: &mut dyn Chunks, workers: &Workers) -> (Vec<Chunk>, Result<()>) {
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
