//! Matching rows as record batches.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{Schema, SchemaRef};
use arrow_select::filter::filter_record_batch;
use container_arrow::{BatchReader, BatchScan, BatchSteps, StepReader, add_losses, from_arrow};
use container_core::{Error, Loss, Result};

use super::masks::{Mask, Masks, OpenRows};
use super::{FilteredTable, MIN_GAP};

/// The rows of a table that match.
pub(crate) struct FilteredBatches<'a> {
    schema: SchemaRef,
    source: Source<'a>,
    /// Matching rows to skip, and to show.
    skip: u64,
    left: u64,
    skipped: u64,
}

/// How columns are read.
enum Source<'a> {
    /// The columns of the predicate and the selected ones together, of which the first `columns` are the selected ones.
    Together { masks: Box<Masks<'a>>, columns: usize },
    /// The columns of the predicate first, then others of stretches with hits.
    Late(Box<Late<'a>>),
}

struct Late<'a> {
    masks: Masks<'a>,
    /// Reads the other columns.
    open: OpenRows<'a>,
    /// Where the selected columns come from.
    origins: Vec<Origin>,
    /// The end of all rows.
    end: u64,
    mask: Option<Mask>,
    /// The stretch of `mask` that is read, and later ones.
    stretch: Range<u64>,
    stretches: VecDeque<Range<u64>>,
    /// Most rows of `mask` belong to stretches: one reader goes on through all rows.
    is_dense: bool,
    reader: Option<Reader<'a>>,
    gap: u64,
    losses: Vec<Loss>,
}

/// Where a selected column comes from, by index.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Origin {
    /// From the columns of the predicate.
    Tested(usize),
    /// From the others.
    Other(usize),
}

/// Reads the selected columns from some row on.
struct Reader<'a> {
    batches: Box<dyn BatchReader + 'a>,
    /// Rows that were read, but are yet to be passed on.
    pending: Option<RecordBatch>,
    /// The number of the next row.
    next: u64,
    /// It ends with the table, not with a stretch.
    is_endless: bool,
}

impl Reader<'_> {
    /// The next rows, at most `max`, which exist.
    fn take(&mut self, max: u64) -> Result<RecordBatch> {
        let batch = match self.pending.take() {
            Some(batch) => batch,
            None => {
                let missing = || Error::invalid("the table has fewer rows than before").in_row(self.next);
                self.batches.try_next()?.ok_or_else(missing)?
            }
        };
        let count = usize::try_from(max).map_or(batch.num_rows(), |max| max.min(batch.num_rows()));
        self.pending = (count < batch.num_rows()).then(|| batch.slice(count, batch.num_rows() - count));
        self.next = self.next.saturating_add(count as u64);
        Ok(batch.slice(0, count))
    }
}

impl<'a> FilteredBatches<'a> {
    /// Reads all columns together and shows the first `columns`.
    pub(crate) fn together(masks: Masks<'a>, columns: usize) -> Self {
        let all = masks.schema();
        let fields: Vec<_> = all.fields().iter().take(columns).cloned().collect();
        let schema = Arc::new(Schema::new_with_metadata(fields, all.metadata().clone()));
        Self {
            schema,
            source: Source::Together { masks: Box::new(masks), columns },
            skip: 0,
            left: u64::MAX,
            skipped: 0,
        }
    }

    /// Tests rows up to `end`, and opens the other columns of stretches with hits, which are at least `gap` rows apart.
    pub(crate) fn late(
        schema: SchemaRef,
        masks: Masks<'a>,
        open: OpenRows<'a>,
        origins: Vec<Origin>,
        end: u64,
        gap: u64,
    ) -> Self {
        let late = Late {
            masks,
            open,
            origins,
            end,
            mask: None,
            stretch: 0..0,
            stretches: VecDeque::new(),
            is_dense: false,
            reader: None,
            gap: gap.max(MIN_GAP),
            losses: Vec::new(),
        };
        Self { schema, source: Source::Late(Box::new(late)), skip: 0, left: u64::MAX, skipped: 0 }
    }

    /// Shows a range of the matching rows.
    fn with_rows(mut self, rows: &Range<u64>) -> Self {
        (self.skip, self.left) = (rows.start, rows.end.saturating_sub(rows.start));
        self
    }

    pub(super) fn open(filtered: &'a FilteredTable, scan: &BatchScan) -> Result<Box<dyn BatchReader + 'a>> {
        let table = filtered.arrow_table()?;
        let mut own = scan.clone();
        own.scan.rows = 0..u64::MAX;
        let mentioned = filtered.columns()?;
        let batches = match (table.block_rows(), table.has_schema()) {
            (Some(block), true) if needs_more(scan, &mentioned) => {
                let mut none = own.clone();
                none.scan.rows = 0..0;
                // It also fails for what the scan cannot have.
                let schema = table.batches(&none)?.schema();
                let masks = filtered.masks(scan)?;
                let origins = (0..schema.fields().len()).map(Origin::Other).collect();
                Self::late(schema, masks, filtered.opener(own), origins, u64::MAX, block)
            }
            _ => filtered.together(own, &mentioned)?,
        };
        Ok(Box::new(StepReader::new(batches.with_rows(&scan.scan.rows))))
    }
}

/// Whether a scan reads columns beyond those that the predicate mentions.
fn needs_more(scan: &BatchScan, mentioned: &[usize]) -> bool {
    match (&scan.schema, &scan.scan.columns) {
        (None, Some(columns)) => columns.iter().any(|column| !mentioned.contains(column)),
        _ => true,
    }
}

/// Whether a column is mentioned that is not selected.
fn needs_other(mentioned: &[usize], selected: &[usize]) -> bool {
    mentioned.iter().any(|column| !selected.contains(column))
}

impl FilteredTable {
    /// Reads the columns that a scan selects and the mentioned ones together.
    fn together(&self, mut scan: BatchScan, mentioned: &[usize]) -> Result<FilteredBatches<'_>> {
        let table = self.arrow_table()?;
        let mut selected = None;
        let names_columns = scan.scan.columns.as_ref().is_some_and(|columns| needs_other(mentioned, columns));
        if scan.schema.is_none() && names_columns && !table.has_schema() {
            let schema = table.schema(&scan)?;
            scan = scan.with_schema(schema);
        }
        if let Some(schema) = scan.schema.clone() {
            let is_declared = |name: &str| schema.column_with_name(name).is_some();
            let mut others = scan.clone();
            others.schema = None;
            let name = |index: &usize| table.columns().get(*index).is_none_or(|column| is_declared(&column.name));
            others.scan.columns = Some(mentioned.iter().copied().filter(|index| !name(index)).collect());
            selected = Some(schema.fields().len());
            if others.scan.columns.as_ref().is_some_and(|columns| !columns.is_empty()) {
                let inferred = self.inferred(others)?;
                let fields: Vec<_> = schema.fields().iter().chain(inferred.fields()).cloned().collect();
                scan.schema = Some(Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone())));
            }
        } else if let Some(columns) = &mut scan.scan.columns {
            selected = Some(columns.len());
            let more: Vec<usize> = mentioned.iter().copied().filter(|index| !columns.contains(index)).collect();
            columns.extend(more);
        }
        let test = |schema: &SchemaRef| Ok((self.bind(schema)?, None));
        let masks = Masks::new(self.opener(scan.clone()), 0..u64::MAX, test)?.with_watch(scan.watch.clone());
        let columns = selected.unwrap_or(masks.schema().fields().len());
        let masks = self.with_other_times(masks, scan, columns)?;
        Ok(FilteredBatches::together(masks, columns))
    }
}

/// The next matching rows, which may be none.
fn together(masks: &mut Masks<'_>, columns: usize) -> Result<Option<RecordBatch>> {
    let Some(Mask { mask, batch, .. }) = masks.try_next()? else { return Ok(None) };
    let selected: Vec<usize> = (0..columns).collect();
    let batch = batch.project(&selected).map_err(from_arrow)?;
    filter_record_batch(&batch, &mask).map(Some).map_err(from_arrow)
}

impl Late<'_> {
    fn step(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if let (Some(reader), Some(mask)) = (&mut self.reader, &self.mask)
                && reader.next < self.stretch.end
            {
                let first = reader.next;
                let until = if first < self.stretch.start { self.stretch.start } else { self.stretch.end };
                let batch = reader.take(until - first)?;
                if first < self.stretch.start {
                    continue;
                }
                let offset = usize::try_from(first - mask.first).unwrap_or(usize::MAX);
                let (hits, tested) =
                    (mask.mask.slice(offset, batch.num_rows()), mask.batch.slice(offset, batch.num_rows()));
                let batch = joined(&self.origins, &tested, &batch)?;
                return filter_record_batch(&batch, &hits).map(Some).map_err(from_arrow);
            }
            if let Some(stretch) = self.stretches.pop_front() {
                self.read(stretch)?;
                continue;
            }
            let Some(mask) = self.masks.try_next()? else { return Ok(None) };
            self.stretches = mask.stretches(self.gap).into();
            let covered: u64 = self.stretches.iter().map(|stretch| stretch.end - stretch.start).sum();
            self.is_dense = covered.saturating_mul(2) > mask.mask.len() as u64;
            self.mask = Some(mask);
        }
    }

    /// Lets the reader read a stretch: the one that goes on through all rows, or a new one.
    fn read(&mut self, stretch: Range<u64>) -> Result<()> {
        let goes_on = |reader: &Reader<'_>| reader.is_endless && reader.next <= stretch.start;
        let is_near = |reader: &Reader<'_>| stretch.start.saturating_sub(reader.next) < self.gap;
        if !(self.is_dense && self.reader.as_ref().is_some_and(|reader| goes_on(reader) && is_near(reader))) {
            if let Some(reader) = self.reader.take() {
                add_losses(&mut self.losses, reader.batches.losses());
            }
            let end = if self.is_dense { self.end } else { stretch.end };
            let batches = (self.open)(stretch.start..end)?;
            let (next, is_endless) = (stretch.start, self.is_dense);
            self.reader = Some(Reader { batches, pending: None, next, is_endless });
        }
        self.stretch = stretch;
        Ok(())
    }
}

/// The selected columns of some rows.
fn joined(origins: &[Origin], tested: &RecordBatch, others: &RecordBatch) -> Result<RecordBatch> {
    let (mut fields, mut columns) = (Vec::new(), Vec::new());
    for origin in origins {
        let (batch, index) = match origin {
            Origin::Tested(index) => (tested, *index),
            Origin::Other(index) => (others, *index),
        };
        let field = batch.schema_ref().fields().get(index).zip(batch.columns().get(index));
        let (field, column) = field.ok_or_else(|| Error::invalid("the table has fewer columns than before"))?;
        fields.push(Arc::clone(field));
        columns.push(Arc::clone(column));
    }
    let schema = Schema::new_with_metadata(fields, others.schema_ref().metadata().clone());
    let options = RecordBatchOptions::new().with_row_count(Some(others.num_rows()));
    RecordBatch::try_new_with_options(Arc::new(schema), columns, &options).map_err(from_arrow)
}

impl BatchSteps for FilteredBatches<'_> {
    fn step(&mut self) -> Result<Option<RecordBatch>> {
        while self.left > 0 {
            let next = match &mut self.source {
                Source::Together { masks, columns } => together(masks, *columns)?,
                Source::Late(late) => late.step()?,
            };
            let Some(batch) = next else {
                return match self.skip {
                    0 => Ok(None),
                    _ => Err(Error::usage(format!("no row {}: {} rows match", self.skip + self.skipped, self.skipped))),
                };
            };
            let rows = batch.num_rows();
            let start = usize::try_from(self.skip).map_or(rows, |skip| skip.min(rows));
            (self.skip, self.skipped) = (self.skip - start as u64, self.skipped + start as u64);
            let count = usize::try_from(self.left).map_or(rows - start, |left| left.min(rows - start));
            self.left -= count as u64;
            if count > 0 {
                return Ok(Some(batch.slice(start, count)));
            }
        }
        Ok(None)
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn losses(&self) -> Vec<Loss> {
        match &self.source {
            Source::Together { masks, .. } => masks.losses(),
            Source::Late(late) => {
                let mut losses = late.losses.clone();
                if late.origins.iter().any(|origin| matches!(origin, Origin::Tested(_))) {
                    add_losses(&mut losses, late.masks.losses());
                }
                add_losses(&mut losses, late.reader.as_ref().map(|reader| reader.batches.losses()).unwrap_or_default());
                losses
            }
        }
    }
}
