//! An opened text source: its options, column names, and where its chunks lie.

use std::sync::OnceLock;

use container_core::{Bytes, Error, Limits, Result, Source};

use crate::text::records::Options;
use crate::text::records::chunk::{Chunk, ChunkSource, Chunker, Input, line_feeds};
use crate::text::records::location::Location;

/// An opened text source.
#[derive(Debug)]
pub(super) struct Text {
    pub(super) inputs: [Input; 1],
    pub(super) options: Options,
    /// The format's name.
    pub(super) format: &'static str,
    pub(super) limits: Limits,
    /// Where the first record, or white space before it, begins.
    pub(super) begin: Location,
    /// Whether the source is one JSON array.
    pub(super) array: bool,
    /// The column names of CSV.
    pub(super) names: Vec<String>,
    /// The chunks, set after the first complete pass.
    pub(super) index: OnceLock<Index>,
}

/// Where the chunks of a source lie.
#[derive(Debug, Clone)]
pub(super) struct Index {
    pub(super) chunks: Vec<ChunkLocation>,
    pub(super) rows: u64,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct ChunkLocation {
    pub(super) start: Location,
    pub(super) len: u64,
    pub(super) row: u64,
    pub(super) records: u64,
    pub(super) has_plain_lines: bool,
}

impl Text {
    pub(super) fn new(source: Source, options: Options, format: &'static str, limits: Limits) -> Result<Self> {
        let inputs = [Input { name: String::new(), source }];
        let mut chunker = Chunker::new(&inputs, &options, u64::MAX);
        let in_format = |error: Error| error.in_format(format);
        let (begin, array) = chunker.first_record().map_err(in_format)?;
        let names = chunker.names().unwrap_or_default().to_vec();
        limits.check_columns("the number of columns", names.len() as u64).map_err(in_format)?;
        Ok(Self { inputs, options, format, limits, begin, array, names, index: OnceLock::new() })
    }

    fn source(&self) -> &Source {
        let [input] = &self.inputs;
        &input.source
    }

    pub(super) fn len(&self) -> u64 {
        self.source().len()
    }

    pub(super) fn read(&self, range: std::ops::Range<u64>) -> Result<Bytes> {
        self.source().read(range)
    }

    pub(super) fn is_csv(&self) -> bool {
        self.options.format.is_cells()
    }

    /// Adds the position of a record to an error, whose offset, if any, is relative to the record.
    #[cold]
    pub(super) fn locate_error(&self, error: Error, chunk: &Chunk, start: usize) -> Error {
        let location = location_of(chunk, start);
        let error = error.shifted(location.byte);
        let ahead = error.position().byte.and_then(|byte| usize::try_from(byte.checked_sub(location.byte)?).ok());
        // An object may span several lines.
        let lines = ahead.and_then(|ahead| chunk.bytes.get(start..start.checked_add(ahead)?)).map_or(0, line_feeds);
        error.in_line(location.line + lines).at(location.byte).in_format(self.format)
    }
}

/// Location of a byte of a chunk.
pub(super) fn location_of(chunk: &Chunk, start: usize) -> Location {
    let before = chunk.bytes.get(..start).unwrap_or_default();
    Location { line: chunk.start.line + line_feeds(before), ..chunk.start.ahead(start as u64) }
}
