//! Tar archives as containers of samples: the shards of WebDataset. Files whose paths are equal up to the first dot of their names are one sample.

use std::cell::Cell;
use std::collections::HashMap;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, StringBuilder};
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};
use container_arrow::{ArrowTable, BatchReader, BatchScan, BatchSteps, StepReader, from_arrow};
use container_core::{
    ColumnInfo, Container, Error, Finding, Format, Input, Limits, Loss, OpenOptions, Position, Probe, Recognition,
    Result, Rows, Scan, Source, Table, Unit, VerifyOptions,
};
use serde_json::{Map, Value};
use tar::EntryType;

use crate::batches;

/// Tar archives of samples.
pub const TAR: &dyn Format = &TarFormat;

const NAME: &str = "tar";

/// The column of keys, and that of files without an extension.
const KEY: &str = "key";
const DATA: &str = "data";

/// Maximum number of extensions in an archive.
const MAX_COLUMNS: usize = 1000;

/// Maximum bytes of the headers of one file: long names and PAX records, which the crate `tar` holds in memory.
const MAX_HEADER: u64 = 1 << 20;

/// Headers and contents are padded to a multiple of this.
const BLOCK: u64 = 512;

/// Bytes of an end mark.
const END: usize = 1024;

/// Bytes read at once after the last file.
const STEP: u64 = 64 << 10;

const AFTER_END: &str = "what follows the end mark is left out: files can be missing";

struct TarFormat;

impl Format for TarFormat {
    fn name(&self) -> &'static str {
        NAME
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["tar"]
    }

    fn recognize(&self, probe: &Probe<'_>) -> Recognition {
        match probe.head.get(257..262) {
            Some(b"ustar") => Recognition::Content,
            // An archive without files is an end mark.
            _ if is_named(probe.path) && begins_with_end(probe.head) => Recognition::Name,
            _ => Recognition::No,
        }
    }

    fn open(&self, input: &Input, options: &OpenOptions) -> Result<Box<dyn Container>> {
        let source = input.source().ok_or_else(|| Error::usage("expected a file, found a folder").in_format(NAME))?;
        let samples = Samples::read(source.clone(), options.limits).map_err(|error| error.in_format(NAME))?;
        Ok(Box::new(samples))
    }
}

/// A file in the archive.
#[derive(Debug)]
struct Member {
    column: usize,
    bytes: Range<u64>,
}

/// The files with one key.
#[derive(Debug)]
struct Sample {
    key: String,
    members: Vec<Member>,
}

/// The samples of an archive. Columns: `key`, the path up to the first dot of the name; and one for each extension, the content.
struct Samples {
    source: Source,
    samples: Vec<Sample>,
    columns: Vec<ColumnInfo>,
    fields: Vec<FieldRef>,
    left_out: Vec<Loss>,
    /// The blocks of zeros that end an archive are there.
    has_end: bool,
    /// Where something other than zeros follows them: the header of a file was overwritten with zeros, or archives were joined.
    after_end: Option<u64>,
    limits: Limits,
}

impl Samples {
    /// Reads all headers.
    fn read(source: Source, limits: Limits) -> Result<Self> {
        let room = Rc::new(Cell::new(MAX_HEADER));
        let mut archive = tar::Archive::new(Cursor { source: source.clone(), at: 0, room: Rc::clone(&room) });
        let (mut index, mut end) = (Index::default(), 0);
        for entry in archive.entries_with_seek().map_err(tar_error)? {
            room.set(MAX_HEADER);
            let entry = entry.map_err(tar_error)?;
            let start = entry.raw_file_position();
            end = start.saturating_add(entry.size());
            let at = |error: Error| error.at(start);
            let path = entry.path_bytes();
            let path = std::str::from_utf8(&path).map_err(|_| {
                let name = String::from_utf8_lossy(&path).into_owned();
                at(Error::unsupported("the name of a file is not valid UTF-8, as keys must be").in_key(name))
            })?;
            if path.starts_with(['/', '\\']) || path.split(['/', '\\']).any(|name| name == "..") {
                return Err(at(Error::invalid("the name of a file leads out of the archive").in_key(path.to_owned())));
            }
            match entry.header().entry_type() {
                EntryType::Regular | EntryType::Continuous => {}
                EntryType::Directory | EntryType::XGlobalHeader => continue,
                _ => {
                    index.leave_out("links, sparse files and devices left out", path);
                    continue;
                }
            }
            let size = entry.size();
            limits.check_block("the file's size", size).map_err(at)?;
            let available = source.len().saturating_sub(start);
            if available < size {
                return Err(at(Error::truncated("the file", size, available).in_key(path.to_owned())));
            }
            index.add(path, start..start + size).map_err(at)?;
        }
        let has_end = has_end(&source, end)?;
        let is_empty = end == 0 && has_end;
        if index.samples.is_empty() && !is_empty {
            return Err(Error::invalid("no files found"));
        }
        let mut fields = vec![Field::new(KEY, DataType::Utf8, false)];
        fields.extend(index.extensions.iter().map(|name| Field::new(name, DataType::Binary, true)));
        let (columns, fields) = batches::describe(&Schema::new(fields));
        let after_end = if has_end { after_end(&source, end)? } else { None };
        let mut left_out = index.left_out;
        if let Some(byte) = after_end {
            left_out.push(Loss::new(AFTER_END, 1, Position::at(byte)));
        }
        Ok(Self { source, samples: index.samples, columns, fields, left_out, has_end, after_end, limits })
    }

    fn project(&self, scan: &BatchScan) -> Result<batches::Projection> {
        let projection = batches::project(&self.fields, &HashMap::new(), self.samples.len() as u64, scan);
        projection.map_err(|error| error.in_format(NAME))
    }
}

/// What is known of the archive so far.
#[derive(Default)]
struct Index {
    samples: Vec<Sample>,
    by_key: HashMap<String, usize>,
    extensions: Vec<String>,
    by_extension: HashMap<String, usize>,
    left_out: Vec<Loss>,
}

impl Index {
    fn add(&mut self, path: &str, bytes: Range<u64>) -> Result<()> {
        let name = path.rfind('/').map_or(0, |slash| slash + 1);
        let (key, extension) = match path.get(name..).and_then(|name| name.split_once('.')) {
            Some(("", _)) => {
                self.leave_out("hidden files left out", path);
                return Ok(());
            }
            Some((stem, extension)) => (path.get(..name + stem.len()).unwrap_or(path), extension),
            None => (path, DATA),
        };
        let column = match self.by_extension.get(extension) {
            Some(column) => *column,
            None => {
                if self.extensions.len() >= MAX_COLUMNS {
                    return Err(Error::limit("extensions", MAX_COLUMNS as u64 + 1, MAX_COLUMNS as u64));
                }
                self.by_extension.insert(extension.to_owned(), self.extensions.len());
                self.extensions.push(extension.to_owned());
                self.extensions.len() - 1
            }
        };
        let number = *self.by_key.entry(key.to_owned()).or_insert(self.samples.len());
        if number == self.samples.len() {
            self.samples.push(Sample { key: key.to_owned(), members: Vec::new() });
        }
        let Some(sample) = self.samples.get_mut(number) else { return Ok(()) };
        if sample.members.iter().any(|member| member.column == column) {
            return Err(Error::invalid("two files have the same name").in_key(path.to_owned()));
        }
        sample.members.push(Member { column, bytes });
        Ok(())
    }

    fn leave_out(&mut self, what: &'static str, path: &str) {
        match self.left_out.iter_mut().find(|loss| loss.what == what) {
            Some(loss) => loss.count += 1,
            None => {
                self.left_out.push(Loss::new(what, 1, Position::of_key(path.to_owned())));
            }
        }
    }
}

impl Container for Samples {
    fn format(&self) -> &'static str {
        NAME
    }

    fn version(&self) -> String {
        String::new()
    }

    fn details(&self) -> Map<String, Value> {
        let mut details = Map::new();
        if !self.left_out.is_empty() {
            details.insert("left_out".to_owned(), self.left_out.iter().map(ToString::to_string).collect());
        }
        details
    }

    fn tables(&self) -> Vec<&dyn Table> {
        vec![self]
    }

    /// All headers have been checked; contents have no checksums.
    fn verify(&self, options: &VerifyOptions, report: &mut dyn FnMut(Finding)) -> Result<()> {
        if let Some(progress) = &options.progress {
            progress.begin(Unit::Rows, Some(self.samples.len() as u64));
        }
        if let Some(byte) = self.after_end {
            report(Finding::error(Error::invalid(AFTER_END).at(byte).in_format(NAME)));
        }
        for loss in self.left_out.iter().filter(|loss| loss.what != AFTER_END) {
            report(Finding::warning(Error::unsupported(loss.to_string()).in_format(NAME)));
        }
        if !self.has_end {
            let detail = "the end mark, a block of zeros, is missing: files can be missing, too";
            report(Finding::warning(Error::invalid(detail).in_format(NAME)));
        }
        Ok(())
    }
}

impl Table for Samples {
    fn name(&self) -> &'static str {
        "samples"
    }

    fn columns(&self) -> &[ColumnInfo] {
        &self.columns
    }

    fn column_summary(&self, index: usize) -> Map<String, Value> {
        batches::summary(self.fields.get(index))
    }

    fn column_details(&self, index: usize) -> Result<Map<String, Value>> {
        let missing = || Error::usage(format!("no column {index}")).in_format(NAME);
        self.columns.get(index).map(|_| Map::new()).ok_or_else(missing)
    }

    fn len(&self) -> Option<u64> {
        Some(self.samples.len() as u64)
    }

    fn rows<'a>(&'a self, scan: &Scan) -> Result<Box<dyn Rows + 'a>> {
        batches::rows(self, scan).map_err(|error| error.in_format(NAME))
    }

    fn find(&self, key: &str) -> Result<Option<u64>> {
        Ok(self.samples.iter().position(|sample| sample.key == key).map(|row| row as u64))
    }

    fn arrow(&self) -> Option<&dyn ArrowTable> {
        Some(self)
    }
}

impl ArrowTable for Samples {
    fn schema(&self, scan: &BatchScan) -> Result<SchemaRef> {
        Ok(self.project(scan)?.schema)
    }

    fn batches<'a>(&'a self, scan: &BatchScan) -> Result<Box<dyn BatchReader + 'a>> {
        let batches::Projection { columns, schema, rows, .. } = self.project(scan)?;
        // At most the number of samples, which is a usize.
        let index = |row: u64| usize::try_from(row).unwrap_or(usize::MAX);
        let rows = index(rows.start)..index(rows.end);
        Ok(Box::new(StepReader::new(Batches { samples: self, columns, schema, rows, scan: scan.clone() })))
    }
}

struct Batches<'a> {
    samples: &'a Samples,
    columns: Vec<usize>,
    schema: SchemaRef,
    /// Rows still to be read.
    rows: Range<usize>,
    scan: BatchScan,
}

impl Batches<'_> {
    /// The samples of the next batch, limited by bytes; at least one.
    fn next_samples(&self) -> &[Sample] {
        let rest = self.samples.samples.get(self.rows.clone()).unwrap_or_default();
        let is_read = |member: &&Member| self.columns.contains(&(member.column + 1));
        let mut bytes = 0_u64;
        // An offset for each file, also for those that a sample lacks.
        let row_bytes = self.columns.len() * size_of::<i32>();
        let fits = rest.iter().take(self.scan.rows_per_batch(row_bytes)).take_while(|sample| {
            let first = bytes == 0;
            let members = sample.members.iter().filter(is_read);
            bytes =
                bytes.saturating_add(members.map(|member| member.bytes.end - member.bytes.start).sum::<u64>().max(1));
            first || bytes <= self.scan.batch_bytes as u64
        });
        rest.get(..fits.count()).unwrap_or_default()
    }

    fn batch(&mut self) -> Result<RecordBatch> {
        let samples = self.next_samples();
        let columns = self.columns.iter().map(|column| self.column(*column, samples)).collect::<Result<_>>()?;
        let count = samples.len();
        let options = RecordBatchOptions::new().with_row_count(Some(count));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options);
        self.rows.start += count;
        batch.map_err(from_arrow)
    }

    fn column(&self, column: usize, samples: &[Sample]) -> Result<ArrayRef> {
        let Some(extension) = column.checked_sub(1) else {
            let mut keys = StringBuilder::new();
            samples.iter().for_each(|sample| keys.append_value(&sample.key));
            return Ok(Arc::new(keys.finish()));
        };
        let mut contents = BinaryBuilder::new();
        let mut bytes = 0_u64;
        for sample in samples {
            let Some(member) = sample.members.iter().find(|member| member.column == extension) else {
                contents.append_null();
                continue;
            };
            bytes += member.bytes.end - member.bytes.start;
            if i32::try_from(bytes).is_err() {
                return Err(Error::limit("the bytes of the files of a batch", bytes, i32::MAX as u64));
            }
            self.samples.limits.check_block("the file's size", member.bytes.end - member.bytes.start)?;
            let content = self.samples.source.read(member.bytes.clone());
            contents.append_value(content.map_err(|error| error.in_key(sample.key.clone()))?);
        }
        Ok(Arc::new(contents.finish()))
    }
}

impl BatchSteps for Batches<'_> {
    fn step(&mut self) -> Result<Option<RecordBatch>> {
        let batch = (!self.rows.is_empty()).then(|| self.batch());
        batch.transpose().map_err(|error| error.in_format(NAME))
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn losses(&self) -> Vec<Loss> {
        self.samples.left_out.clone()
    }
}

fn begins_with_end(head: &[u8]) -> bool {
    head.get(..END).is_some_and(|mark| mark.iter().all(|byte| *byte == 0))
}

fn is_named(path: Option<&Path>) -> bool {
    path.and_then(Path::extension).is_some_and(|extension| extension.eq_ignore_ascii_case("tar"))
}

/// Whether a block of zeros follows the last file, which ends at `end`.
fn has_end(source: &Source, end: u64) -> Result<bool> {
    let start = end.checked_next_multiple_of(BLOCK).unwrap_or(u64::MAX);
    match start.checked_add(BLOCK) {
        Some(end) if end <= source.len() => Ok(source.read(start..end)?.iter().all(|byte| *byte == 0)),
        _ => Ok(false),
    }
}

/// Where the first byte other than zero is after the last file, which ends at `end`.
fn after_end(source: &Source, end: u64) -> Result<Option<u64>> {
    let mut at = end.next_multiple_of(BLOCK);
    while at < source.len() {
        let bytes = source.read(at..source.len().min(at + STEP))?;
        if let Some(index) = bytes.iter().position(|byte| *byte != 0) {
            return Ok(Some(at + index as u64));
        }
        at += bytes.len() as u64;
    }
    Ok(None)
}

/// The bytes of an archive, for the crate `tar`, which reads headers and skips contents.
struct Cursor {
    source: Source,
    at: u64,
    /// Bytes that can be read until the next file.
    room: Rc<Cell<u64>>,
}

impl Read for Cursor {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let start = self.at.min(self.source.len());
        let end = start.saturating_add(buffer.len() as u64).min(self.source.len());
        let bytes = self.source.read(start..end).map_err(io::Error::other)?;
        buffer.iter_mut().zip(bytes.iter()).for_each(|(to, from)| *to = *from);
        self.at = end;
        match self.room.get().checked_sub(end - start) {
            Some(room) => self.room.set(room),
            None => {
                return Err(io::Error::other(Error::limit(
                    "the bytes of a file's headers",
                    MAX_HEADER + 1,
                    MAX_HEADER,
                )));
            }
        }
        Ok(bytes.len())
    }
}

impl Seek for Cursor {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
            SeekFrom::End(by) => self.source.len().checked_add_signed(by),
        };
        self.at = at.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        Ok(self.at)
    }
}

fn tar_error(cause: io::Error) -> Error {
    match cause.downcast::<Error>() {
        Ok(error) => error,
        Err(cause) => Error::invalid("damaged tar archive").caused_by(cause),
    }
}
