//! What `container-core` asks of a container.

pub(crate) mod columns;
mod rows;

use std::sync::OnceLock;

use container_core::{ColumnInfo, Container, Error, Finding, Result, Rows, Scan, Table, VerifyOptions};
use serde_json::{Map, Value};

use crate::FORMAT_NAME;
use crate::read::Reader;
use crate::wire::Part;
use columns::{Field, Fields};

/// Bytes of data that are surveyed as a whole when columns are asked for.
const SMALL: u64 = 64 << 20;

/// Samples that are looked at where the data are more than that.
const LOOKED_AT: u64 = 4096;

/// A [`Reader`] as a [`Container`] with one table, `samples`.
pub struct DatadingsContainer {
    reader: Reader,
    /// What some samples have, and what all have.
    some: OnceLock<Vec<Field>>,
    all: OnceLock<Vec<Field>>,
    some_columns: OnceLock<Vec<ColumnInfo>>,
    all_columns: OnceLock<Vec<ColumnInfo>>,
}

impl DatadingsContainer {
    /// The container of a reader.
    #[must_use]
    pub fn new(reader: Reader) -> Self {
        let (some, all, some_columns, all_columns) = Default::default();
        Self { reader, some, all, some_columns, all_columns }
    }

    /// The reader.
    #[must_use]
    pub fn reader(&self) -> &Reader {
        &self.reader
    }

    /// The fields that are known.
    pub(crate) fn fields(&self) -> &[Field] {
        if let Some(all) = self.all.get() {
            return all;
        }
        self.some.get_or_init(|| {
            let reader = &self.reader;
            let every = reader.data_end <= SMALL || reader.len <= LOOKED_AT;
            let step = if every { 1 } else { reader.len / LOOKED_AT };
            let mut fields = Fields::new(reader.options.limits.columns);
            // What is wrong with a sample is told where samples are read.
            let _ = fields.take_all(reader, step, &mut |_| Ok(()));
            fields.finish()
        })
    }
}

impl Container for DatadingsContainer {
    fn format(&self) -> &'static str {
        FORMAT_NAME
    }

    /// The format states none: this tells which index there is.
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
            let there = Part::BESIDE.into_iter().filter_map(|part| Some((part, size(&part)?)));
            let files: Map<String, Value> =
                there.map(|(part, bytes)| (part.suffix().trim_start_matches('.').to_owned(), bytes.into())).collect();
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
            let mut of = Map::new();
            of.insert("elements".to_owned(), shape.elements().into());
            of.insert("probability".to_owned(), shape.probability().into());
            details.insert("filter".to_owned(), of.into());
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

    /// The fields that samples have, in the order of their first appearance: of all samples where the data are up to 64 MiB, else of
    /// 4096 that are spread evenly, until [`infer_columns`](Table::infer_columns) has looked at them all.
    fn columns(&self) -> &[ColumnInfo] {
        let (fields, columns) = match self.all.get() {
            Some(all) => (all.as_slice(), &self.all_columns),
            None => (self.fields(), &self.some_columns),
        };
        columns.get_or_init(|| fields.iter().map(Field::info).collect())
    }

    fn infer_columns(&self) -> Result<()> {
        if self.all.get().is_some() {
            return Ok(());
        }
        let mut fields = Fields::new(self.reader.options.limits.columns);
        // Those that are known keep their places.
        fields.keep(self.fields());
        fields.take_all(&self.reader, 1, &mut Err)?;
        let _ = self.all.set(fields.finish()); // somebody else may have been faster, with the same
        Ok(())
    }

    fn column_summary(&self, index: usize) -> Map<String, Value> {
        self.fields().get(index).map(Field::summary).unwrap_or_default()
    }

    fn column_details(&self, index: usize) -> Result<Map<String, Value>> {
        match index < self.fields().len() {
            true => Ok(Map::new()),
            false => Err(Error::usage(format!("there is no column {index}")).in_format(FORMAT_NAME)),
        }
    }

    fn len(&self) -> Option<u64> {
        Some(self.reader.len)
    }

    fn rows<'a>(&'a self, scan: &Scan) -> Result<Box<dyn Rows + 'a>> {
        let samples = self.reader.samples(scan.rows.clone())?;
        let chosen = match &scan.columns {
            None => None,
            Some(columns) => {
                let fields = self.fields();
                let field = |&index: &usize| {
                    let missing = || Error::usage(format!("there is no column {index}")).in_format(FORMAT_NAME);
                    fields.get(index).ok_or_else(missing)
                };
                Some(columns.iter().map(field).collect::<Result<Vec<_>>>()?)
            }
        };
        Ok(Box::new(rows::SampleRows::new(samples, chosen, self.reader.options.limits)))
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
