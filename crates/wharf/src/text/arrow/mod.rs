//! Text as record batches.

mod batches;
mod cells;
mod guess;
pub(super) mod held;
mod plan;

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef};
use container_arrow::{ArrowTable, BatchReader, BatchScan, Columns, Observation, resolve_member, resolve_schema};
use container_core::{ErrorKind, Result};

use self::batches::TextBatches;
use self::held::{Held, field, observe_json};
use self::plan::Plan;
use super::columns::Survey;
use super::cut::Feeder;
use super::seen::Seen;
use super::table::TextTable;
use crate::workers::Workers;

impl TextTable {
    /// Looks at the rows of a range; of CSV at all, so that a cell is the same whichever rows are selected with its own.
    fn observe(&self, rows: &Range<u64>, workers: &Workers) -> Result<Held> {
        let whole =
            rows.start == 0 && self.text.index.get().map_or(rows.end == u64::MAX, |index| index.rows <= rows.end);
        if whole && let Some(held) = self.observed.get() {
            return Ok(held.clone());
        }
        let text = &self.text;
        if text.is_csv() {
            return self.observe_csv(rows, workers);
        }
        let mut all = Observation::new(text.limits);
        let mut feeder = Feeder::new(text);
        loop {
            let (mut chunks, result) = feeder.next(workers);
            let Some(last) = chunks.last() else {
                result?;
                break;
            };
            let done = last.row + last.records >= rows.end;
            chunks.retain(|chunk| chunk.row < rows.end && chunk.row + chunk.records > rows.start);
            for seen in workers.map(chunks, |chunk| observe_json(text, &chunk, rows)) {
                all.merge(seen?).map_err(|error| error.in_format(text.format))?;
            }
            if done {
                break;
            }
            result?;
        }
        let held = Held::Json(Arc::new(all));
        if whole {
            let _ = self.observed.set(held.clone()); // somebody else may have been faster, with the same
        }
        self.check_rows(rows)?;
        Ok(held)
    }

    fn observe_csv(&self, rows: &Range<u64>, workers: &Workers) -> Result<Held> {
        if let Some(held) = self.observed.get() {
            return Ok(held.clone());
        }
        let (mut survey, result) = Survey::of(&self.text, workers, true);
        // A broken row behind those that are selected is reported to nobody who does not read it.
        let is_whole = match result {
            Err(error) if rows.end == u64::MAX || error.kind() == ErrorKind::Io => return Err(error),
            result => result.is_ok(),
        };
        survey.csv.resize(self.text.names.len(), Seen::default()); // without rows there is nothing yet
        let held = Held::Csv(survey.csv.into());
        if is_whole {
            let _ = self.observed.set(held.clone()); // somebody else may have been faster, with the same
        }
        self.check_rows(rows)?;
        Ok(held)
    }

    fn resolved(&self, scan: &BatchScan, workers: &Workers) -> Result<SchemaRef> {
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
        let schema = match self.observe(&scan.scan.rows, workers)? {
            Held::Csv(seen) => {
                let names = names.unwrap_or_else(|| text.names.clone());
                let by_name: HashMap<&String, &Seen> = text.names.iter().zip(seen.iter()).collect();
                let field = |name: String| match by_name.get(&name) {
                    Some(seen) => field(name, seen, &scan.mapping),
                    None => Field::new(name, DataType::Null, true),
                };
                Schema::new(names.into_iter().map(field).collect::<Vec<_>>())
            }
            Held::Json(seen) => {
                let mapping = &scan.mapping;
                let named = |names: Vec<String>| {
                    let fields = names.iter().map(|name| resolve_member(name, seen.profile(), mapping));
                    fields.collect::<Result<Vec<_>>>().map(Schema::new)
                };
                let schema = names.map_or_else(|| resolve_schema(&seen, mapping), named);
                schema.map_err(|error| error.in_format(text.format))?
            }
        };
        Ok(Arc::new(schema))
    }
}

impl ArrowTable for TextTable {
    fn schema(&self, scan: &BatchScan) -> Result<SchemaRef> {
        self.resolved(scan, &Workers::new(scan.scan.threads))
    }

    fn infer_from_sample(&self, scan: &BatchScan) -> Result<Option<SchemaRef>> {
        let guess = guess::guess(self, scan).map_err(|error| error.in_format(self.text.format));
        guess.map(|schema| schema.map(Arc::new))
    }

    fn batches<'a>(&'a self, scan: &BatchScan) -> Result<Box<dyn BatchReader + 'a>> {
        let workers = Workers::new(scan.scan.threads);
        self.check_rows(&scan.scan.rows)?;
        let schema = self.resolved(scan, &workers)?;
        // What is wrong with the schema is said at once.
        Columns::new(schema.clone(), scan, &self.text.limits).map_err(|error| error.in_format(self.text.format))?;
        let plan = Plan::new(&self.text, schema, scan);
        Ok(Box::new(TextBatches::new(self, workers, plan)))
    }
}
