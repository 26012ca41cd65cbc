//! The `container-core` traits for model files.

use container_core::{
    ColumnInfo, Container, Error, Finding, Format, Input, OpenOptions, Probe, Recognition, Result, Rows, Scan, Table,
    VerifyOptions,
};
use serde_json::{Map, Value};

use super::archive::{LOCAL_HEADER, first_name};
use super::{MODEL_FORMAT_NAME, Model, ModelSchema, Role, is_model, role};

/// The format of ML.NET model files, for a format registry: one table per schema.
///
/// Recognizes a ZIP archive by content if its first entry is `TrainingInfo/Version.txt`, or if its directory (up to 65,536 entries) has that
/// entry or an entry `Schema` or `Schema.idv` that starts like an IDV file. Other archives match by extension only; opening them fails.
pub const MODEL_FORMAT: &dyn Format = &ModelFormat;

struct ModelFormat;

impl Format for ModelFormat {
    fn name(&self) -> &'static str {
        MODEL_FORMAT_NAME
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["zip"]
    }

    fn recognize(&self, probe: &Probe<'_>) -> Recognition {
        let marked = || first_name(probe.head).is_some_and(|name| role(name) == Some(Role::Version));
        let is_archive = probe.head.starts_with(&LOCAL_HEADER);
        let is_named = !probe.directory && probe.has_extension(self.extensions());
        // An archive can begin with other bytes.
        let is_content = (is_archive && marked()) || ((is_archive || is_named) && probe.source.is_some_and(is_model));
        probe.by_content_or_name(is_content, self.extensions())
    }

    fn open(&self, input: &Input, options: &OpenOptions) -> Result<Box<dyn Container>> {
        let Some(source) = input.source() else {
            return Err(Error::usage("expected a model file, found a directory").in_format(MODEL_FORMAT_NAME));
        };
        Ok(Box::new(Model::from_source(source.clone(), *options)?))
    }
}

impl Container for Model {
    fn format(&self) -> &'static str {
        MODEL_FORMAT_NAME
    }

    /// The version of ML.NET; model files have no version of their own.
    fn version(&self) -> String {
        self.mlnet_version().unwrap_or("of unknown version").to_owned()
    }

    fn details(&self) -> Map<String, Value> {
        let mut details = Map::new();
        details.insert("bytes".to_owned(), self.source_len.into());
        details.insert("entries".to_owned(), self.entries().into());
        details.insert("loader".to_owned(), self.has_loader().into());
        details.insert("schemas".to_owned(), self.schemas().iter().map(ModelSchema::name).collect());
        if !self.unreadable().is_empty() {
            let why = self.unreadable().iter().map(|error| Value::from(error.to_string()));
            details.insert("unreadable".to_owned(), why.collect());
        }
        details
    }

    fn tables(&self) -> Vec<&dyn Table> {
        self.schemas().iter().map(|schema| schema as &dyn Table).collect()
    }

    fn verify(&self, options: &VerifyOptions, report: &mut dyn FnMut(Finding)) -> Result<()> {
        Self::verify(self, options, report)
    }
}

/// The table of the embedded file, named like the entry.
impl Table for ModelSchema {
    fn name(&self) -> &str {
        &self.name
    }

    fn columns(&self) -> &[ColumnInfo] {
        self.container.columns()
    }

    fn infer_columns(&self) -> Result<()> {
        self.container.infer_columns()
    }

    fn column_summary(&self, index: usize) -> Map<String, Value> {
        self.container.column_summary(index)
    }

    fn column_details(&self, index: usize) -> Result<Map<String, Value>> {
        self.container.column_details(index).map_err(|error| error.in_key(self.entry.clone()))
    }

    fn len(&self) -> Option<u64> {
        self.container.len()
    }

    fn rows<'a>(&'a self, scan: &Scan) -> Result<Box<dyn Rows + 'a>> {
        self.container.rows(scan).map_err(|error| error.in_key(self.entry.clone()))
    }

    fn find(&self, key: &str) -> Result<Option<u64>> {
        self.container.find(key)
    }
}
