//! A text, opened: what it is and where its records begin.

use std::sync::OnceLock;

use container_core::{Bytes, Error, Limits, Result, Source};

use crate::text::records::chunk::{Chunk, Chunks, Cutter, Input, line_feeds};
use crate::text::records::place::Place;
use crate::text::records::{Form, Options};

/// Everything that is known of the text as such.
#[derive(Debug)]
pub(super) struct Text {
    pub(super) inputs: Vec<Input>,
    pub(super) options: Options,
    /// The format's name.
    pub(super) format: &'static str,
    pub(super) limits: Limits,
    /// Where the first record begins, or what stands in front of it.
    pub(super) begin: Place,
    /// The whole is one array.
    pub(super) array: bool,
    /// The columns of CSV.
    pub(super) names: Vec<String>,
    /// The chunks, once somebody went through all of them.
    pub(super) index: OnceLock<Index>,
}

/// Where chunks are.
#[derive(Debug, Clone)]
pub(super) struct Index {
    pub(super) marks: Vec<Mark>,
    pub(super) rows: u64,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Mark {
    pub(super) start: Place,
    pub(super) len: u64,
    pub(super) row: u64,
    pub(super) records: u64,
}

impl Text {
    pub(super) fn new(source: Source, options: Options, format: &'static str, limits: Limits) -> Result<Self> {
        let inputs = vec![Input { name: String::new(), source }];
        let mut cutter = Cutter::new(&inputs, &options, u64::MAX);
        let placed = |error: Error| error.in_format(format);
        let (begin, array) = cutter.begun().map_err(placed)?;
        let names = cutter.names().unwrap_or_default().to_vec();
        limits.check_columns("the number of columns", names.len() as u64).map_err(placed)?;
        Ok(Self { inputs, options, format, limits, begin, array, names, index: OnceLock::new() })
    }

    pub(super) fn source(&self) -> Option<&Source> {
        self.inputs.first().map(|input| &input.source)
    }

    pub(super) fn len(&self) -> u64 {
        self.source().map_or(0, Source::len)
    }

    pub(super) fn read(&self, range: std::ops::Range<u64>) -> Result<Bytes> {
        match self.source() {
            Some(source) => source.read(range),
            None => Ok(Bytes::new()),
        }
    }

    pub(super) fn is_csv(&self) -> bool {
        self.options.form == Form::Csv
    }

    /// An error of a record: where it is. Its byte, if it has one, counts from the record's beginning.
    #[cold]
    pub(super) fn placed(&self, error: Error, chunk: &Chunk, start: usize) -> Error {
        let place = place(chunk, start);
        let error = error.shifted(place.byte);
        let ahead = error.position().byte.and_then(|byte| usize::try_from(byte.checked_sub(place.byte)?).ok());
        // An object may go over several lines.
        let lines = ahead.and_then(|ahead| chunk.bytes.get(start..start.checked_add(ahead)?)).map_or(0, line_feeds);
        error.in_line(place.line + lines).at(place.byte).in_format(self.format)
    }
}

/// The place of a byte of a chunk.
pub(super) fn place(chunk: &Chunk, start: usize) -> Place {
    let before = chunk.bytes.get(..start).unwrap_or_default();
    Place { line: chunk.start.line + line_feeds(before), ..chunk.start.ahead(start as u64) }
}
