//! Folders and ZIP archives as containers with one row per file.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, StringBuilder, UInt64Builder};
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, Field, FieldRef, SchemaRef};
use container_arrow::{ArrowTable, BatchReader, BatchScan, BatchSteps, StepReader, from_arrow};
use container_core::{
    ColumnInfo, Container, Error, Finding, Format, Input, Loss, OpenOptions, Probe, Recognition, Result, Rows, Scan,
    Table, Unit, VerifyOptions,
};
use serde_json::{Map, Value};

use super::{FileOptions, FileTable, Item, archive, key_of};
use crate::batches;
use crate::workers::Workers;

/// Folders of files that no other format recognizes.
pub const FOLDER: &dyn Format = &Files { name: "folder", extensions: &[] };

/// ZIP archives of files that no other format recognizes.
pub const ZIP: &dyn Format = &Files { name: "zip", extensions: &["zip"] };

/// Files of one batch at max_rows.
const MAX_BATCH_FILES: usize = 512;

/// Files verified in parallel.
const VERIFY_BATCH: usize = 64;

struct Files {
    name: &'static str,
    extensions: &'static [&'static str],
}

impl Format for Files {
    fn name(&self) -> &'static str {
        self.name
    }

    fn extensions(&self) -> &'static [&'static str] {
        self.extensions
    }

    /// Other formats take precedence.
    fn recognize(&self, probe: &Probe<'_>) -> Recognition {
        let begins = [b"PK\x03\x04", b"PK\x05\x06"].iter().any(|mark| probe.head.starts_with(*mark));
        // A self-extracting archive begins with a program.
        let ends = || probe.has_extension(self.extensions) && probe.source.is_some_and(archive::has_end_record);
        match self.extensions.is_empty() {
            true if probe.directory => Recognition::Name,
            false if begins || ends() => Recognition::Content,
            _ => Recognition::No,
        }
    }

    fn open(&self, input: &Input, options: &OpenOptions) -> Result<Box<dyn Container>> {
        let patterns = vec!["{LABEL}/**".to_owned(), "*".to_owned()];
        let files = FileOptions { patterns, ..FileOptions::default() };
        let mut table = FileTable::new(files);
        table.limits = options.limits;
        match (input.source(), input.path()) {
            (Some(source), path) => {
                let name = path.map_or_else(|| "<stdin>".to_owned(), |path| path.display().to_string());
                table.push_archive(name, source)?;
            }
            (None, Some(path)) => {
                check_folder(path).map_err(|error| error.in_format(self.name))?;
                table.push_folder(path)?;
            }
            (None, None) => return Err(Error::usage("expected a folder or an archive").in_format(self.name)),
        }
        if table.is_empty() {
            return Err(Error::invalid("no files found").in_format(self.name));
        }
        Ok(Box::new(FilesContainer::new(table, self.name)))
    }
}

/// Fails for a Zarr store: without the feature `zarr` no format recognizes it, and its files are not what anyone wants to see.
pub(crate) fn check_folder(path: &Path) -> Result<()> {
    match ["zarr.json", ".zgroup", ".zarray"].iter().any(|name| path.join(name).is_file()) {
        true => {
            Err(Error::unsupported("a Zarr store: this program was built without the feature zarr, which reads it"))
        }
        false => Ok(()),
    }
}

/// The columns, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Column {
    Key,
    Label,
    Path,
    Size,
    Data,
}

impl Column {
    const ALL: [Self; 5] = [Self::Key, Self::Label, Self::Path, Self::Size, Self::Data];

    fn field(self) -> Field {
        match self {
            Self::Key => Field::new("key", DataType::Utf8, false),
            Self::Label => Field::new("label", DataType::Utf8, true),
            Self::Path => Field::new("path", DataType::Utf8, false),
            Self::Size => Field::new("size", DataType::UInt64, false),
            Self::Data => Field::new("data", DataType::Binary, false),
        }
    }
}

/// The files of a folder or an archive. Columns: `key`, the path in it; `label`, the top-level folder of the file, or null; `path`, including the
/// opened folder; `size` in bytes; `data`, the content. Files in subfolders come first, sorted by path.
struct FilesContainer {
    table: FileTable,
    format: &'static str,
    columns: Vec<ColumnInfo>,
    fields: Arc<[FieldRef]>,
}

impl FilesContainer {
    fn new(table: FileTable, format: &'static str) -> Self {
        let fields: Vec<FieldRef> = Column::ALL.into_iter().map(|column| Arc::new(column.field())).collect();
        let infos = fields.iter().map(|field| ColumnInfo::new(field.name().as_str(), field.data_type().to_string()));
        Self { columns: infos.collect(), fields: fields.into(), table, format }
    }

    fn project(&self, scan: &BatchScan) -> Result<batches::Projection> {
        batches::project(&self.fields, &std::collections::HashMap::new(), self.table.len(), scan)
            .map_err(|error| error.in_format(self.format))
    }
}

impl Container for FilesContainer {
    fn format(&self) -> &'static str {
        self.format
    }

    fn version(&self) -> String {
        String::new()
    }

    fn details(&self) -> Map<String, Value> {
        let mut details = Map::new();
        details.insert("labels".to_owned(), self.table.labels_seen.names().len().into());
        if !self.table.left_out.is_empty() {
            details.insert("left_out".to_owned(), self.table.left_out.iter().map(ToString::to_string).collect());
        }
        details
    }

    fn tables(&self) -> Vec<&dyn Table> {
        vec![self]
    }

    /// Reads all files, checking checksums in archives.
    fn verify(&self, options: &VerifyOptions, report: &mut dyn FnMut(Finding)) -> Result<()> {
        if let Some(progress) = &options.progress {
            progress.begin(Unit::Rows, Some(self.table.len()));
        }
        for mut loss in self.table.left_out.iter().cloned() {
            // The file of a finding is the input, which contains this one.
            if let Some(path) = loss.first.file.take() {
                loss.first.key.get_or_insert(path);
            }
            report(Finding::warning(Error::unsupported(loss.to_string()).in_format(self.format)));
        }
        let workers = Workers::new(options.threads);
        for items in self.table.items.chunks(VERIFY_BATCH) {
            let read = |item: &Item| {
                let mut content = self.table.content(item)?;
                while content.next()?.is_some() {}
                Ok(())
            };
            let outcomes: Vec<Result<()>> = workers.map(items.iter().collect(), read);
            outcomes.into_iter().filter_map(Result::err).for_each(|error| report(Finding::error(error)));
            if let Some(progress) = &options.progress {
                progress.advance(items.len() as u64)?;
            }
        }
        Ok(())
    }
}

impl Table for FilesContainer {
    fn name(&self) -> &'static str {
        "files"
    }

    fn columns(&self) -> &[ColumnInfo] {
        &self.columns
    }

    fn column_summary(&self, index: usize) -> Map<String, Value> {
        batches::summary(self.fields.get(index))
    }

    fn column_details(&self, index: usize) -> Result<Map<String, Value>> {
        let missing = || Error::usage(format!("no column {index}")).in_format(self.format);
        self.columns.get(index).map(|_| Map::new()).ok_or_else(missing)
    }

    fn len(&self) -> Option<u64> {
        Some(self.table.len())
    }

    fn rows<'a>(&'a self, scan: &Scan) -> Result<Box<dyn Rows + 'a>> {
        batches::rows(self, scan).map_err(|error| error.in_format(self.format))
    }

    fn find(&self, key: &str) -> Result<Option<u64>> {
        Ok(self.table.items.iter().position(|item| key_of(item) == key).map(|row| row as u64))
    }

    fn arrow(&self) -> Option<&dyn ArrowTable> {
        Some(self)
    }
}

impl ArrowTable for FilesContainer {
    fn schema(&self, scan: &BatchScan) -> Result<SchemaRef> {
        Ok(self.project(scan)?.schema)
    }

    fn batches<'a>(&'a self, scan: &BatchScan) -> Result<Box<dyn BatchReader + 'a>> {
        let projection = self.project(scan)?;
        let columns = projection.columns.iter().filter_map(|index| Column::ALL.get(*index).copied());
        // At most the number of files, which is a usize.
        let index = |row: u64| usize::try_from(row).unwrap_or(usize::MAX);
        Ok(Box::new(StepReader::new(Batches {
            table: &self.table,
            columns: columns.collect(),
            schema: projection.schema,
            rows: index(projection.rows.start)..index(projection.rows.end),
            scan: scan.clone(),
            workers: Workers::new(scan.scan.threads),
        })))
    }
}

struct Batches<'a> {
    table: &'a FileTable,
    columns: Vec<Column>,
    schema: SchemaRef,
    /// Rows still to be read.
    rows: Range<usize>,
    scan: BatchScan,
    workers: Workers,
}

/// The size and content of a file.
struct Loaded {
    size: u64,
    data: Vec<u8>,
}

impl Batches<'_> {
    fn has(&self, column: Column) -> bool {
        self.columns.contains(&column)
    }

    /// The rows of the next batch, limited by bytes; at least one.
    fn next_rows(&self) -> Result<Range<usize>> {
        let max_rows =
            self.scan.rows_per_batch(0).min(if self.has(Column::Data) { MAX_BATCH_FILES } else { usize::MAX });
        let (mut bytes, mut end) = (0u64, self.rows.start);
        while end < self.rows.end && end - self.rows.start < max_rows {
            if self.has(Column::Data)
                && let Some(item) = self.table.items.get(end)
            {
                bytes = bytes.saturating_add(self.table.file_len(item)?);
                if bytes > self.scan.batch_bytes as u64 && end > self.rows.start {
                    break;
                }
            }
            end += 1;
        }
        Ok(self.rows.start..end)
    }

    fn load(&self, item: &Item) -> Result<Loaded> {
        if !self.has(Column::Data) {
            let size = if self.has(Column::Size) { self.table.file_len(item)? } else { 0 };
            return Ok(Loaded { size, data: Vec::new() });
        }
        let mut content = self.table.content(item)?;
        let mut data = Vec::new();
        while let Some(bytes) = content.next()? {
            data.extend_from_slice(bytes);
        }
        // The file may have grown since it was opened.
        self.table
            .limits
            .check_block("the length of the file", data.len() as u64)
            .map_err(|error| self.table.with_file(error, item))?;
        Ok(Loaded { size: data.len() as u64, data })
    }

    fn batch(&mut self) -> Result<RecordBatch> {
        let rows = self.next_rows()?;
        let items: Vec<&Item> = self.table.items.get(rows.clone()).unwrap_or_default().iter().collect();
        let loaded = self.workers.map(items.clone(), |item| self.load(item));
        let loaded = loaded.into_iter().collect::<Result<Vec<_>>>()?;
        let bytes = loaded.iter().map(|loaded| loaded.data.len() as u64).sum::<u64>();
        if i32::try_from(bytes).is_err() {
            return Err(Error::limit("the bytes of the files of a batch", bytes, i32::MAX as u64));
        }
        let columns = self.columns.iter().map(|column| self.column(*column, &items, &loaded)).collect();
        self.rows.start = rows.end;
        let options = RecordBatchOptions::new().with_row_count(Some(items.len()));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options).map_err(from_arrow)
    }

    fn column(&self, column: Column, items: &[&Item], loaded: &[Loaded]) -> ArrayRef {
        let texts = |text: &dyn Fn(&Item) -> Option<String>| -> ArrayRef {
            let mut builder = StringBuilder::new();
            items.iter().for_each(|item| builder.append_option(text(item)));
            Arc::new(builder.finish())
        };
        match column {
            Column::Key => texts(&|item| Some(key_of(item).to_owned())),
            Column::Label => texts(&|item| item.label.map(|label| self.table.labels_seen.name(label).to_owned())),
            Column::Path => texts(&|item| Some(self.table.path_of(item))),
            Column::Size => {
                let mut builder = UInt64Builder::with_capacity(items.len());
                loaded.iter().for_each(|loaded| builder.append_value(loaded.size));
                Arc::new(builder.finish())
            }
            Column::Data => {
                let mut builder = BinaryBuilder::new();
                loaded.iter().for_each(|loaded| builder.append_value(&loaded.data));
                Arc::new(builder.finish())
            }
        }
    }
}

impl BatchSteps for Batches<'_> {
    fn step(&mut self) -> Result<Option<RecordBatch>> {
        if self.rows.is_empty() { Ok(None) } else { self.batch().map(Some) }
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn losses(&self) -> Vec<Loss> {
        self.table.left_out.clone()
    }
}

impl FileTable {
    /// A file's length in bytes.
    fn file_len(&self, item: &Item) -> Result<u64> {
        match &item.entry {
            Some(entry) => Ok(entry.size),
            None => match std::fs::metadata(self.path_of(item)) {
                Ok(metadata) => Ok(metadata.len()),
                Err(cause) => Err(self.with_file(Error::io("cannot read the file's metadata", cause), item)),
            },
        }
    }
}
