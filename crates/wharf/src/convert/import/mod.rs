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

mod files;
mod samples;

use container_core::{Error, Progress, Result, Source, Unit};

use crate::text::records::chunk::{self, Chunk, Cutter, Input};
use crate::text::records::{Form, Options};
use crate::workers::Workers;

pub use files::{FOLDER, FileOptions, FileTable, LinkOutside, ZIP};
pub use samples::{Keys, SampleOptions, Sampled, copy_samples, write_rows};

/// Records that are taken together at most.
const RECORDS: u64 = 8192;

/// A table in text files, one after another.
#[derive(Debug, Clone)]
pub struct TextTable {
    inputs: Vec<Input>,
    options: Options,
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
            inputs: Vec::new(),
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
        self.inputs.push(Input { name: name.into(), source });
    }

    fn begin(&self, progress: Option<&dyn Progress>) {
        if let Some(progress) = progress {
            progress.begin(Unit::Bytes, Some(self.inputs.iter().map(|input| input.source.len()).sum()));
        }
    }

    fn names(&self) -> Vec<String> {
        self.inputs.iter().map(|input| input.name.clone()).collect()
    }

    fn name(&self, error: Error, chunk: &Chunk) -> Error {
        match self.inputs.get(chunk.start.input) {
            Some(input) => error.in_file(input.name.clone()),
            None => error,
        }
    }

    /// Some chunks, and why there are no more if that is an error: what is wrong before it comes first.
    fn gather(cutter: &mut Cutter<'_>, workers: &Workers) -> (Vec<Chunk>, Result<()>) {
        let mut chunks = Vec::new();
        while chunks.len() < workers.width() {
            match cutter.next() {
                Ok(Some(chunk)) => chunks.push(chunk),
                Ok(None) => break,
                Err(error) => return (chunks, Err(error)),
            }
        }
        (chunks, Ok(()))
    }
}

fn told(progress: Option<&dyn Progress>, chunk: &Chunk) {
    if let Some(progress) = progress {
        progress.advance(chunk.bytes.len() as u64);
    }
}
