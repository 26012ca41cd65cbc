//! Text tables, JSON lines and CSV, into IDV files and datadings datasets;
//! what other containers and files hold into datadings datasets.
//!
//! | you have | you want | take |
//! |---|---|---|
//! | JSON lines, CSV | IDV | [`TextTable`], `TextTable::infer`, `TextTable::write_to` |
//! | JSON lines, CSV | datadings | [`TextTable`], `TextTable::write_samples` |
//! | rows of any container | datadings | `write_rows` |
//! | a dataset | some of its fields and samples in another | `copy_samples` |
//! | a folder, a ZIP archive | datadings | `FileTable` |
//!
//! Memory grows with a record, and with the columns there are (for files, with their names), not with the input.
//!
//! # IDV
//!
//! A text table has no types. Either a schema gives them, or they are inferred from all records of all inputs, never from the first
//! lines alone: the input is read twice then.
//!
//! | seen in a column | becomes |
//! |---|---|
//! | integers | `Int64`; `UInt64` when one is above and none below 0; else `Double` if that has all of them exactly |
//! | integers and floats, also `"NaN"`, `"Infinity"`, `"-Infinity"` beside numbers | `Double` if it has all integers exactly |
//! | integers and nulls | `Double`, where null is NaN, if it has all integers exactly |
//! | bools | `Boolean`; with nulls `DvBool` |
//! | texts | `Text` |
//! | CSV cells that are dates, with times of day or without; with differences to UTC; times of day | `DateTime`; `DateTimeOffset`; `TimeSpan`, with empty cells `DvTimeSpan` |
//! | only nulls | `Text` |
//! | arrays, also `{"$sparse": ...}` | a vector of what the items become; of one length, if all have it |
//! | arrays of arrays of one shape | a vector with dimensions; the first may vary |
//! | JSON values of several of these kinds; objects | an error that names the lines |
//! | CSV cells of several kinds, integers that no number type has exactly | `Text` |
//!
//! In CSV `true` and `false` are bools in any case, what has a needless zero or plus in front is text (`007`), an empty cell is
//! missing; in quotes, and among texts, it is an empty text.
//!
//! ```no_run
//! # fn main() -> wharf::Result<()> {
//! use wharf::convert::import::{Take, TextTable};
//! use wharf::{Output, OutputOptions, Source};
//!
//! let mut table = TextTable::json_lines();
//! table.push("people.jsonl", Source::open("people.jsonl")?);
//! let inferred = table.infer(None)?;
//! let schema = inferred.schema(None)?;
//! let output = Output::create("people.idv", OutputOptions::default())?;
//! let mut writer = idv::Writer::new(output, schema, idv::WriterOptions::default())?;
//! let imported = table.write_to(&mut writer, &Take::default(), None)?;
//! writer.finish()?.finish()?;
//! println!("{} rows", imported.rows);
//! # Ok(())
//! # }
//! ```
//!
//! # datadings
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

use container_core::{Error, Loss, Progress, Result, Source, Unit};

use crate::text::records::chunk::{self, Chunk, Cutter, Input};
use crate::text::records::{Form, Options};
use crate::workers::Workers;

pub use files::{FileOptions, FileTable, LinkOutside};
pub use samples::{Keys, SampleOptions, Sampled, copy_samples, write_rows};

/// Records that are taken together at most.
const RECORDS: u64 = 8192;

/// A table in text files, one after another.
#[derive(Debug, Clone)]
pub struct TextTable {
    inputs: Vec<Input>,
    options: Options,
}

/// What [`TextTable::write_to`] did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Imported {
    /// Rows written.
    pub rows: u64,
    /// Rows that were passed: all there are, unless the wanted ones end before.
    pub passed: u64,
    /// What could not be kept, with file, line and column where it was first.
    pub losses: Vec<Loss>,
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
