//! Implements the [`Container`] trait of `container-core`.

pub(crate) mod columns;
mod rows;

use std::sync::OnceLock;

use container_core::{ColumnInfo, Container, Error, Finding, Result, Rows, Scan, Table, Unit, VerifyOptions, Watch};
use serde_json::{Map, Value};

use crate::FORMAT_NAME;
use crate::read::Reader;
use crate::wire::Part;
use columns::{Field, Fields};

/// Up to this size of the data in bytes, all samples are inspected to find the columns.
const MAX_FULL_SCAN: u64 = 64 << 20;

/// Samples inspected in larger data.
const SAMPLE_ROWS: u64 = 4096;

/// A [`Reader`] as a [`Container`] with one table, `samples`.
pub struct DatadingsContainer {
    reader: Reader,
    /// The fields of sampled rows, and of all rows.
    sampled: OnceLock<Vec<Field>>,
    all: OnceLock<Vec<Field>>,
    sampled_columns: OnceLock<Vec<ColumnInfo>>,
    all_columns: OnceLock<Vec<ColumnInfo>>,
}

impl DatadingsContainer {
    /// Wraps a reader.
    #[must_use]
    pub fn new(reader: Reader) -> Self {
        let (sampled, all, sampled_columns, all_columns) = Default::default();
        Self { reader, sampled, all, sampled_columns, all_columns }
    }

    /// The reader.
    #[must_use]
    pub fn reader(&self) -> &Reader {
        &self.reader
    }

    /// The fields found so far.
    pub(crate) fn fields(&self) -> &[Field] {
        if let Some(all) = self.all.get() {
            return all;
        }
        self.sampled.get_or_init(|| {
            let reader = &self.reader;
            let every = reader.data_end <= MAX_FULL_SCAN || reader.len <= SAMPLE_ROWS;
            let step = if every { 1 } else { reader.len / SAMPLE_ROWS };
            let mut fields = Fields::new(reader.options.limits.columns);
            // Invalid samples are reported when they are read.
            let _ = fields.inspect_all(reader, step, &Watch::default(), &mut |_| Ok(()));
            fields.finish()
        })
    }
}

impl Container for DatadingsContainer {
    fn format(&self) -> &'static str {
        FORMAT_NAME
    }

    /// The format has no version: describes the index instead.
    fn version(&self) -> String {
        match (&self.reader.set, self.reader.legacy) {
            (_, true) => "with a legacy index".to_owned(),
            (Some(set), _) if set.has_index() => "with offsets".to_owned(),
            _ => "without index".to_owned(),
        }
    }

    fn details(&self) -> Map<String, Value> {
        let reader = &self.reader;
        let mut details = Map::new();
        details.insert("bytes".to_owned(), reader.data.len().into());
        if let Some(set) = &reader.set {
            let size = |part: &Part| std::fs::metadata(set.path(*part)).ok().map(|metadata| metadata.len());
            let existing = Part::BESIDE.into_iter().filter_map(|part| Some((part, size(&part)?)));
            let files: Map<String, Value> = existing
                .map(|(part, bytes)| (part.suffix().trim_start_matches('.').to_owned(), bytes.into()))
                .collect();
            details.insert("files".to_owned(), files.into());
            let missing: Vec<Value> =
                reader.missing_parts().iter().map(|part| part.suffix().trim_start_matches('.').into()).collect();
            if !missing.is_empty() {
                details.insert("missing".to_owned(), missing.into());
            }
        }
        details.insert("legacy".to_owned(), reader.legacy.into());
        if reader.trailing_bytes() > 0 {
            details.insert("trailing_bytes".to_owned(), reader.trailing_bytes().into());
        }
        if let Ok(Some(source)) = reader.part(Part::KeyHashes)
            && let Ok(salt) = source.read(0..8)
        {
            details.insert("salt".to_owned(), salt.iter().map(|byte| format!("{byte:02x}")).collect::<String>().into());
        }
        if let Ok(Some(filter)) = reader.key_filter() {
            let shape = filter.shape();
            let mut members = Map::new();
            members.insert("elements".to_owned(), shape.elements().into());
            members.insert("probability".to_owned(), shape.probability().into());
            details.insert("filter".to_owned(), members.into());
        }
        details
    }

    fn tables(&self) -> Vec<&dyn Table> {
        vec![self]
    }

    fn verify(&self, options: &VerifyOptions, report: &mut dyn FnMut(Finding)) -> Result<()> {
        self.reader.verify(options, report)
    }
}

impl Table for DatadingsContainer {
    fn name(&self) -> &'static str {
        "samples"
    }

    /// The fields of the samples in order of first appearance: of all samples if the data are up to 64 MiB, else of 4096 evenly spaced
    /// ones, until [`infer_columns`](Table::infer_columns) inspects all.
    fn columns(&self) -> &[ColumnInfo] {
        let (fields, columns) = match self.all.get() {
            Some(all) => (all.as_slice(), &self.all_columns),
            None => (self.fields(), &self.sampled_columns),
        };
        columns.get_or_init(|| fields.iter().map(Field::info).collect())
    }

    fn has_schema(&self) -> bool {
        false
    }

    fn infer_columns(&self) -> Result<()> {
        self.infer_columns_with(&Watch::default())
    }

    fn infer_columns_with(&self, watch: &Watch) -> Result<()> {
        if self.all.get().is_some() {
            return Ok(());
        }
        let mut fields = Fields::new(self.reader.options.limits.columns);
        // Known columns keep their positions.
        fields.keep(self.fields());
        watch.begin(Unit::Rows, Some(self.reader.len));
        fields.inspect_all(&self.reader, 1, watch, &mut Err)?;
        let _ = self.all.set(fields.finish()); // another thread may have set the same value
        Ok(())
    }

    fn column_summary(&self, index: usize) -> Map<String, Value> {
        self.fields().get(index).map(Field::summary).unwrap_or_default()
    }

    fn column_details(&self, index: usize) -> Result<Map<String, Value>> {
        match index < self.fields().len() {
            true => Ok(Map::new()),
            false => Err(Error::usage(format!("no column {index}")).in_format(FORMAT_NAME)),
        }
    }

    fn len(&self) -> Option<u64> {
        Some(self.reader.len)
    }

    fn block_rows(&self) -> Option<u64> {
        Some(1) // the index has the offset of each sample
    }

    fn rows<'a>(&'a self, scan: &Scan) -> Result<Box<dyn Rows + 'a>> {
        let samples = self.reader.samples(scan.rows.clone())?;
        let projection = match &scan.columns {
            None => None,
            Some(columns) => {
                let fields = self.fields();
                let field = |&index: &usize| {
                    let missing = || Error::usage(format!("no column {index}")).in_format(FORMAT_NAME);
                    fields.get(index).ok_or_else(missing)
                };
                Some(columns.iter().map(field).collect::<Result<Vec<_>>>()?)
            }
        };
        Ok(Box::new(rows::SampleRows::new(samples, projection, self.reader.options.limits)))
    }

    fn key_column(&self) -> Option<&str> {
        let field = self.fields().iter().find(|field| field.name.text && &*field.name.bytes == b"key")?;
        Some(&field.unique)
    }

    fn find(&self, key: &str) -> Result<Option<u64>> {
        self.reader.find(key)
    }

    #[cfg(feature = "arrow")]
    fn arrow(&self) -> Option<&dyn container_arrow::ArrowTable> {
        Some(self)
    }
}

impl std::fmt::Debug for DatadingsContainer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DatadingsContainer").field("reader", &self.reader).finish_non_exhaustive()
    }
}
