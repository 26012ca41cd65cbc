//! Text tables as Arrow record batches: schema inference and batch readers.

mod batches;
mod block;
mod cells;
mod infer;
mod plan;
pub(super) mod row_profile;

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef};
use container_arrow::{
    ArrowTable, BatchReader, BatchScan, Columns, Observation, StepReader, resolve_member, resolve_schema,
};
use container_core::{ErrorKind, Result, Unit};

use self::batches::TextBatches;
use self::plan::ParsePlan;
use self::row_profile::{RowProfile, field, profile_json};
use super::chunk_reader::ChunkReader;
use super::columns::{ColumnInference, bytes};
use super::profile::CellProfile;
use super::table::RecordsTable;
use crate::workers::Workers;

impl RecordsTable {
    /// Profiles the rows of a range; of CSV all rows, so that a column's type does not depend on the selection.
    fn profile(&self, scan: &BatchScan, workers: &Workers) -> Result<RowProfile> {
        let rows = &scan.scan.rows;
        let whole =
            rows.start == 0 && self.text.index.get().map_or(rows.end == u64::MAX, |index| index.rows <= rows.end);
        if whole && let Some(row_profile) = self.observed.get() {
            return Ok(row_profile.clone());
        }
        let text = &self.text;
        if text.is_csv() {
            return self.profile_csv(scan, workers);
        }
        let mut all = Observation::new(text.limits);
        let mut chunk_reader = ChunkReader::new(text);
        scan.watch.begin(Unit::Bytes, Some(text.len()));
        loop {
            let (mut chunks, result) = chunk_reader.next(workers);
            scan.watch.advance(bytes(&chunks))?;
            let Some(last) = chunks.last() else {
                result?;
                break;
            };
            let done = last.row + last.records >= rows.end;
            chunks.retain(|chunk| chunk.row < rows.end && chunk.row + chunk.records > rows.start);
            for profile in workers.map(chunks, |chunk| profile_json(text, &chunk, rows)) {
                all.merge(profile?).map_err(|error| error.in_format(text.format))?;
            }
            if done {
                break;
            }
            result?;
        }
        let row_profile = RowProfile::Json(Arc::new(all));
        if whole {
            let _ = self.observed.set(row_profile.clone()); // ignore: a concurrent caller set the same value
        }
        self.check_rows(rows)?;
        Ok(row_profile)
    }

    fn profile_csv(&self, scan: &BatchScan, workers: &Workers) -> Result<RowProfile> {
        let rows = &scan.scan.rows;
        if let Some(row_profile) = self.observed.get() {
            return Ok(row_profile.clone());
        }
        let (mut inference, result) = ColumnInference::scan(&self.text, workers, true, &scan.watch);
        // A broken row after the selected ones is not an error for this reader.
        let is_whole = match result {
            Err(error) if rows.end == u64::MAX || matches!(error.kind(), ErrorKind::Io | ErrorKind::Cancelled) => {
                return Err(error);
            }
            result => result.is_ok(),
        };
        inference.csv.resize(self.text.names.len(), CellProfile::default()); // empty if there were no rows
        let row_profile = RowProfile::Csv(inference.csv.into());
        if is_whole {
            let _ = self.observed.set(row_profile.clone()); // ignore: a concurrent caller set the same value
        }
        self.check_rows(rows)?;
        Ok(row_profile)
    }

    fn resolve(&self, scan: &BatchScan, workers: &Workers) -> Result<SchemaRef> {
        if let Some(schema) = &scan.schema {
            return Ok(schema.clone());
        }
        let text = &self.text;
        let names = match &scan.scan.columns {
            None => None,
            Some(columns) => {
                let names = columns.iter().map(|index| Ok(self.column(*index)?.name.clone()));
                Some(names.collect::<Result<Vec<String>>>()?)
            }
        };
        let schema = match self.profile(scan, workers)? {
            RowProfile::Csv(profile) => {
                let names = names.unwrap_or_else(|| text.names.clone());
                let by_name: HashMap<&String, &CellProfile> = text.names.iter().zip(profile.iter()).collect();
                let field = |name: String| match by_name.get(&name) {
                    Some(profile) => field(name, profile, &scan.mapping),
                    None => Field::new(name, DataType::Null, true),
                };
                Schema::new(names.into_iter().map(field).collect::<Vec<_>>())
            }
            RowProfile::Json(profile) => {
                let mapping = &scan.mapping;
                let named = |names: Vec<String>| {
                    let fields = names.iter().map(|name| resolve_member(name, profile.profile(), mapping));
                    fields.collect::<Result<Vec<_>>>().map(Schema::new)
                };
                let schema = names.map_or_else(|| resolve_schema(&profile, mapping), named);
                schema.map_err(|error| error.in_format(text.format))?
            }
        };
        Ok(Arc::new(schema))
    }
}

impl ArrowTable for RecordsTable {
    fn schema(&self, scan: &BatchScan) -> Result<SchemaRef> {
        self.resolve(scan, &Workers::new(scan.scan.threads))
    }

    fn infer_from_sample(&self, scan: &BatchScan) -> Result<Option<SchemaRef>> {
        let schema = infer::infer_from_sample(self, scan).map_err(|error| error.in_format(self.text.format));
        schema.map(|schema| schema.map(Arc::new))
    }

    fn batches<'a>(&'a self, scan: &BatchScan) -> Result<Box<dyn BatchReader + 'a>> {
        let workers = Workers::new(scan.scan.threads);
        self.check_rows(&scan.scan.rows)?;
        let schema = self.resolve(scan, &workers)?;
        // Report schema errors now rather than with the first batch.
        Columns::new(schema.clone(), scan, &self.text.limits).map_err(|error| error.in_format(self.text.format))?;
        let plan = ParsePlan::new(&self.text, schema, scan);
        Ok(Box::new(StepReader::new(TextBatches::new(self, workers, plan))))
    }
}
