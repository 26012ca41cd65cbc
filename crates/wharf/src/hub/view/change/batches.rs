//! The record batches of a changed table.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions, new_null_array};
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};
use container_arrow::{
    ArrowTable, BatchReader, BatchScan, BatchSteps, OnMismatch, Sparse, StepReader, add_losses, from_arrow,
};
use container_core::{Error, Loss, Result, Table};

use super::container::ChangedTable;
use super::evaluation::Evaluation;
use super::plan::{Plan, Policy};

/// The table below, and the types of some of its columns.
#[derive(Clone, Copy)]
pub(super) struct Below<'a> {
    pub(super) table: &'a dyn Table,
    pub(super) declared: Option<&'a SchemaRef>,
}

/// The fields as which columns are read, by index, whatever would be inferred.
pub(super) type Declared = HashMap<usize, FieldRef>;

impl Below<'_> {
    /// How these columns are read, and their schema. Types that are not declared are inferred, if the table has none.
    pub(super) fn scan(&self, scan: &BatchScan, columns: &[usize], fixed: &Declared) -> Result<(BatchScan, SchemaRef)> {
        let arrow =
            self.table.arrow().ok_or_else(|| Error::unsupported("the table cannot be read as typed columns"))?;
        let mut own = scan.clone();
        (own.schema, own.is_sampled) = (None, false);
        own.scan.columns = Some(columns.to_vec());
        if self.table.has_schema() {
            let schema = arrow.schema(&own)?;
            return Ok((own, schema));
        }
        let field = |column: &usize| {
            let name = || self.table.columns().get(*column).map(|column| column.name.as_str());
            let declared = || self.declared?.fields().find(name()?).map(|(_, field)| Arc::clone(field));
            fixed.get(column).cloned().or_else(declared)
        };
        let declared: Vec<Option<FieldRef>> = columns.iter().map(field).collect();
        let others = columns.iter().zip(&declared).filter(|(_, field)| field.is_none()).map(|(column, _)| *column);
        let others: Vec<usize> = others.collect();
        let inferred = match others.is_empty() {
            true => Arc::new(Schema::empty()),
            false => {
                own.scan.columns = Some(others);
                arrow.schema(&own)?
            }
        };
        own.scan.columns = Some(columns.to_vec());
        let mut inferred_fields = inferred.fields().iter().cloned();
        let fields: Option<Vec<FieldRef>> =
            declared.into_iter().map(|field| field.or_else(|| inferred_fields.next())).collect();
        let fields = fields.ok_or_else(|| Error::usage("the table lacks a column"))?; // cannot happen: one field per column
        let schema = Arc::new(Schema::new_with_metadata(fields, inferred.metadata().clone()));
        Ok((own.with_schema(Arc::clone(&schema)), schema))
    }
}

/// The numbers of bases, in the order in which they are read, with their changed fields.
type Bases = Vec<(usize, FieldRef)>;

/// How the table below is read, and what becomes of its columns.
struct Reading {
    /// The scans of the table below, whose rows go together, with the bases that each reads.
    scans: Vec<(BatchScan, Bases)>,
    /// The columns, in order; `None` for one that the table lacks.
    columns: Vec<Option<usize>>,
    schema: SchemaRef,
    lost: Vec<Loss>,
}

impl ChangedTable {
    /// The columns that a scan selects, with their declared fields.
    fn selected(&self, scan: &BatchScan) -> Result<Vec<(Option<usize>, Option<FieldRef>)>> {
        let all = self.columns();
        match (&scan.schema, &scan.scan.columns) {
            (Some(declared), _) => {
                let by_name: HashMap<&str, usize> =
                    all.iter().enumerate().rev().map(|(index, column)| (column.name.as_str(), index)).collect();
                let find = |field: &FieldRef| (by_name.get(field.name().as_str()).copied(), Some(Arc::clone(field)));
                Ok(declared.fields().iter().map(find).collect())
            }
            (None, Some(columns)) => match columns.iter().find(|index| **index >= all.len()) {
                Some(index) => Err(Error::usage(format!("no column {index}: there are {}, counted from 0", all.len()))),
                None => Ok(columns.iter().map(|index| (Some(*index), None)).collect()),
            },
            (None, None) => {
                let readable = all.iter().enumerate().filter(|(_, column)| column.unreadable.is_none());
                Ok(readable.map(|(index, _)| (Some(index), None)).collect())
            }
        }
    }

    fn reading(&self, scan: &BatchScan) -> Result<Reading> {
        let (changes, plan) = (&self.settings.changes, &self.plan);
        let takes_apart = !changes.expand.is_empty() || !changes.concat.is_empty();
        if scan.mapping.sparse == Sparse::Structs && takes_apart {
            let detail =
                "structs does not go with columns that are expanded or concatenated: vectors are read as lists";
            return Err(Error::usage(detail).in_option("sparse"));
        }
        let below = Below { table: self.below()?, declared: self.settings.declared.as_ref() };
        let selected = self.selected(scan)?;
        let columns: Vec<usize> = selected.iter().filter_map(|(column, _)| *column).collect();
        let numbers = plan.needed(&columns);
        let fixed = self.fixed(&below, &selected, &numbers);
        let indexes: Vec<usize> = numbers.iter().map(|base| plan.base(*base).0).collect();
        let (mut own, found) = below.scan(scan, &indexes, &fixed)?;
        if scan.is_sampled {
            own = own.with_sampled_schema(Arc::clone(&found));
        }
        let on_mismatch = scan.mapping.on_mismatch;
        let (typed_scan, typed) = self.typed(scan, &below, numbers.iter().zip(found.fields()))?;
        let (mut bases, mut typed_bases, mut lost) = (Bases::new(), Bases::new(), Vec::new());
        for (base, field) in numbers.iter().zip(found.fields()) {
            let (bases, field) = match typed.get(base) {
                Some(typed) => (&mut typed_bases, typed),
                None => (&mut bases, field),
            };
            bases.push((*base, Arc::new(plan.base_field(*base, field, changes, on_mismatch, &mut lost)?)));
        }
        let fields_of: HashMap<usize, FieldRef> = bases.iter().chain(&typed_bases).cloned().collect();
        let mut fields = Vec::with_capacity(selected.len());
        for (column, declared) in &selected {
            let Some(column) = column else {
                fields.extend(declared.clone());
                continue;
            };
            let policy = Policy { on_mismatch, floats: changes.floats };
            let field = plan.field_of(*column, &fields_of, policy)?;
            plan.lost(*column, &fields_of, policy, &mut lost)?;
            fields.push(match declared {
                None => field,
                Some(declared) if below.table.has_schema() && declared.data_type() != field.data_type() => {
                    let detail = format!("declared as {}, but it is {}", declared.data_type(), field.data_type());
                    return Err(Error::usage(detail).in_column(field.name().clone()));
                }
                Some(declared) => Arc::clone(declared),
            });
        }
        let schema = Arc::new(Schema::new_with_metadata(fields, found.metadata().clone()));
        let columns = selected.into_iter().map(|(column, _)| column).collect();
        let mut scans = Vec::new();
        if typed_bases.is_empty() {
            scans.push((own, bases));
        } else {
            for (mut scan, bases) in [(own, bases), (typed_scan, typed_bases)] {
                scan.scan.columns = Some(bases.iter().map(|(base, _)| plan.base(*base).0).collect());
                scans.push((scan, bases));
            }
        }
        Ok(Reading { scans, columns, schema, lost })
    }

    /// The fields of bases that are read as the changes were planned: those with times in another unit whose changes depend on their type.
    fn typed<'f>(
        &self,
        scan: &BatchScan,
        below: &Below<'_>,
        bases: impl Iterator<Item = (&'f usize, &'f FieldRef)>,
    ) -> Result<(BatchScan, HashMap<usize, FieldRef>)> {
        let (mut own, times) = (scan.clone(), self.settings.mapping.times);
        if own.mapping.times == times || !below.table.has_schema() {
            return Ok((own, HashMap::new()));
        }
        own.mapping.times = times;
        let typed = self.plan.typed();
        let (bases, fields): (Vec<usize>, Vec<&FieldRef>) = bases.filter(|(base, _)| typed.contains(base)).unzip();
        let indexes: Vec<usize> = bases.iter().map(|base| self.plan.base(*base).0).collect();
        let (own, planned) = below.scan(&own, &indexes, &Declared::default())?;
        let all = bases.into_iter().zip(planned.fields()).zip(fields);
        let others = all.filter(|((_, planned), field)| planned.data_type() != field.data_type());
        Ok((own, others.map(|((base, planned), _)| (base, Arc::clone(planned))).collect()))
    }

    /// The fields as which some bases are read, by the index of their column: those of declared columns that only have another name, and text for
    /// cells that become text, which keeps their digits.
    fn fixed(
        &self,
        below: &Below<'_>,
        selected: &[(Option<usize>, Option<FieldRef>)],
        bases: &[usize],
    ) -> HashMap<usize, FieldRef> {
        let mut fixed = HashMap::new();
        let name = |index: usize| below.table.columns().get(index).map(|column| column.name.clone());
        for (column, declared) in selected {
            let (Some(column), Some(declared)) = (column, declared) else { continue };
            let Some(base) = self.plan.unchanged(*column, &self.settings.changes) else { continue };
            let (index, _) = self.plan.base(base);
            if let Some(name) = name(index) {
                fixed.insert(index, Arc::new(Field::clone(declared).with_name(name)));
            }
        }
        for base in bases.iter().filter(|_| self.is_cells) {
            let (index, _) = self.plan.base(*base);
            let to = self.plan.cast_of(*base);
            let is_text = matches!(to, Some(DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View));
            if let (true, Some(to), Some(name)) = (is_text, to, name(index)) {
                fixed.insert(index, Arc::new(Field::new(name, to.clone(), true)));
            }
        }
        fixed
    }
}

impl ArrowTable for ChangedTable {
    fn schema(&self, scan: &BatchScan) -> Result<SchemaRef> {
        Ok(self.reading(scan)?.schema)
    }

    fn infer_from_sample(&self, scan: &BatchScan) -> Result<Option<SchemaRef>> {
        if !self.settings.changes.keep_values() || self.settings.declared.is_some() {
            return Ok(None);
        }
        let selected = self.selected(scan)?;
        let bases = selected.iter().filter_map(|(column, _)| self.plan.base_of((*column)?));
        let (indexes, names): (Vec<usize>, Vec<&str>) = bases.map(|base| self.plan.base(base)).unzip();
        let mut own = scan.clone();
        own.scan.columns = Some(indexes);
        let Some(sampled) = self.arrow_below()?.infer_from_sample(&own)? else { return Ok(None) };
        let fields = sampled.fields().iter().zip(names);
        let fields = fields.map(|(field, name)| super::metadata::renamed(field, name)).collect::<Vec<_>>();
        Ok(Some(Arc::new(Schema::new_with_metadata(fields, sampled.metadata().clone()))))
    }

    fn batches<'a>(&'a self, scan: &BatchScan) -> Result<Box<dyn BatchReader + 'a>> {
        let reading = self.reading(scan)?;
        let below = self.arrow_below()?;
        let part = |(scan, bases)| Ok(Part { batches: below.batches(&scan)?, bases, rest: None });
        Ok(Box::new(StepReader::new(Batches {
            plan: &self.plan,
            parts: reading.scans.into_iter().map(part).collect::<Result<_>>()?,
            columns: reading.columns,
            schema: reading.schema,
            lost: reading.lost,
            row: scan.scan.rows.start,
            on_mismatch: scan.mapping.on_mismatch,
            losses: Vec::new(),
        })))
    }
}

/// A scan of the table below.
struct Part<'a> {
    batches: Box<dyn BatchReader + 'a>,
    bases: Bases,
    /// What is left of the last batch.
    rest: Option<RecordBatch>,
}

impl Part<'_> {
    /// The number of rows of the next batch; 0 at the end.
    fn rows(&mut self) -> Result<usize> {
        loop {
            match &self.rest {
                Some(rest) if rest.num_rows() > 0 => return Ok(rest.num_rows()),
                _ => self.rest = self.batches.try_next()?,
            }
            if self.rest.is_none() {
                return Ok(0);
            }
        }
    }

    /// The first rows of the next batch.
    fn take(&mut self, rows: usize) -> Option<RecordBatch> {
        let batch = self.rest.take()?;
        let rows = rows.min(batch.num_rows());
        self.rest = Some(batch.slice(rows, batch.num_rows() - rows));
        Some(batch.slice(0, rows))
    }
}

/// The batches of the table below, changed.
struct Batches<'a> {
    plan: &'a Plan,
    parts: Vec<Part<'a>>,
    /// See [`Reading`].
    columns: Vec<Option<usize>>,
    schema: SchemaRef,
    lost: Vec<Loss>,
    /// The number of the next row.
    row: u64,
    on_mismatch: OnMismatch,
    losses: Vec<Loss>,
}

impl BatchSteps for Batches<'_> {
    fn step(&mut self) -> Result<Option<RecordBatch>> {
        let Self { plan, parts, columns, schema, row, on_mismatch, losses, .. } = self;
        let lengths = parts.iter_mut().map(Part::rows).collect::<Result<Vec<_>>>()?;
        let Some(rows) = lengths.into_iter().min().filter(|rows| *rows > 0) else { return Ok(None) };
        let arrays = HashMap::new();
        let mut evaluation = Evaluation { plan, arrays, rows, first: *row, on_mismatch: *on_mismatch, losses };
        for part in parts {
            if let Some(batch) = part.take(rows) {
                evaluation.add(&batch, &part.bases)?;
            }
        }
        let columns = columns.iter().zip(schema.fields()).map(|(column, field)| match column {
            Some(column) => evaluation.column(*column, field),
            None => Ok(new_null_array(field.data_type(), rows)),
        });
        let columns = columns.collect::<Result<Vec<_>>>()?;
        *row = row.saturating_add(rows as u64);
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options).map(Some).map_err(from_arrow)
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn losses(&self) -> Vec<Loss> {
        let mut losses = Vec::new();
        self.parts.iter().for_each(|part| add_losses(&mut losses, part.batches.losses()));
        add_losses(&mut losses, self.lost.clone());
        add_losses(&mut losses, self.losses.clone());
        losses
    }
}
