//! Which rows of a table match.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{BooleanArray, RecordBatch};
use arrow_schema::{Field, Schema, SchemaRef};
use container_arrow::{BatchReader, Filter, add_losses};
use container_core::{Error, ErrorKind, Loss, Result, Watch};

/// Opens a reader of a range of rows.
pub(crate) type OpenRows<'a> = Box<dyn Fn(Range<u64>) -> Result<Box<dyn BatchReader + 'a>> + Send + 'a>;

/// A predicate for the batches of a reader, and the stretches of rows outside of which it is not true, in ascending order; `None` for all rows.
pub(crate) type Test = (Filter, Option<Vec<Range<u64>>>);

/// Evaluates a predicate on batches.
pub(crate) struct Masks<'a> {
    open: OpenRows<'a>,
    batches: Box<dyn BatchReader + 'a>,
    filter: Filter,
    /// The number of the next row.
    next: u64,
    /// Reads the same rows with times in another unit, where those of a batch do not fit the first.
    other_times: Option<(OpenRows<'a>, Filter)>,
    /// The end of the current stretch.
    end: u64,
    /// Later stretches of rows to read.
    stretches: std::vec::IntoIter<Range<u64>>,
    /// Those of earlier stretches.
    losses: Vec<Loss>,
    /// Can end the scan between batches, even if no row matches.
    watch: Watch,
}

/// The rows of a batch that match.
pub(super) struct Mask {
    /// The number of its first row.
    pub(super) first: u64,
    pub(super) mask: BooleanArray,
    pub(super) batch: RecordBatch,
}

impl<'a> Masks<'a> {
    /// Tests the rows of a range that can match. `test` gets the schema of the batches.
    pub(crate) fn new(
        open: OpenRows<'a>,
        rows: Range<u64>,
        test: impl FnOnce(&SchemaRef) -> Result<Test>,
    ) -> Result<Self> {
        let batches = open(rows.clone())?;
        let (filter, stretches) = test(&batches.schema())?;
        let mut masks = Self {
            open,
            batches,
            filter,
            next: rows.start,
            other_times: None,
            end: rows.end,
            stretches: Vec::new().into_iter(),
            losses: Vec::new(),
            watch: Watch::default(),
        };
        if let Some(stretches) = stretches {
            let within = |stretch: Range<u64>| stretch.start.max(rows.start)..stretch.end.min(rows.end);
            let stretches = stretches.into_iter().map(within).filter(|stretch| !stretch.is_empty());
            masks.stretches = stretches.collect::<Vec<_>>().into_iter();
            let first = masks.stretches.next().unwrap_or(rows.start..rows.start);
            masks.go_to(first)?;
        }
        Ok(masks)
    }

    /// Reads with times in another unit, by this reader and with this filter, where a batch is invalid.
    pub(super) fn with_other_times(mut self, open: OpenRows<'a>, filter: Filter) -> Self {
        self.other_times = Some((open, filter));
        self
    }

    /// Lets a listener end the scan. Rows are not counted.
    pub(super) fn with_watch(mut self, watch: Watch) -> Self {
        self.watch = watch;
        self
    }

    pub(super) fn schema(&self) -> SchemaRef {
        self.batches.schema()
    }

    /// The next rows; `None` at the end.
    pub(super) fn try_next(&mut self) -> Result<Option<Mask>> {
        let batch = loop {
            self.watch.advance(0)?;
            let batch = match self.batches.try_next() {
                Err(error) if error.kind() == ErrorKind::Invalid => self.read_again(error)?,
                batch => batch?,
            };
            if let Some(batch) = batch {
                break batch;
            }
            let Some(stretch) = self.stretches.next() else { return Ok(None) };
            self.go_to(stretch)?;
        };
        let first = self.next;
        self.next = first.saturating_add(batch.num_rows() as u64);
        let mask = self.filter.mask(&batch).map_err(|error| shifted(error, first))?;
        Ok(Some(Mask { first, mask, batch }))
    }

    /// The next batch, with times in another unit.
    fn read_again(&mut self, error: Error) -> Result<Option<RecordBatch>> {
        let Some((open, filter)) = &mut self.other_times else { return Err(error) };
        std::mem::swap(&mut self.open, open);
        std::mem::swap(&mut self.filter, filter);
        self.go_to(self.next..self.end)?;
        self.batches.try_next().map_err(|_| error)
    }

    fn go_to(&mut self, stretch: Range<u64>) -> Result<()> {
        add_losses(&mut self.losses, self.batches.losses());
        (self.next, self.end) = (stretch.start, stretch.end);
        self.batches = (self.open)(stretch)?;
        Ok(())
    }

    /// Those of the batches so far.
    pub(super) fn losses(&self) -> Vec<Loss> {
        let mut losses = self.losses.clone();
        add_losses(&mut losses, self.batches.losses());
        losses
    }
}

/// Moves the row of an error from its batch to the table.
fn shifted(error: Error, first: u64) -> Error {
    let mut position = error.position().clone();
    position.row = position.row.map(|row| first.saturating_add(row));
    error.with_position(position)
}

impl Mask {
    /// The numbers of the matching rows.
    pub(super) fn hits(&self) -> impl Iterator<Item = u64> {
        self.mask.values().set_indices().map(|row| self.first.saturating_add(row as u64))
    }

    /// Stretches that begin and end with a matching row, with fewer than `gap` other rows between two of these.
    pub(super) fn stretches(&self, gap: u64) -> Vec<Range<u64>> {
        let mut all: Vec<Range<u64>> = Vec::new();
        for (start, end) in self.mask.values().set_slices() {
            let (start, end) = (self.first.saturating_add(start as u64), self.first.saturating_add(end as u64));
            match all.last_mut() {
                Some(last) if start - last.end < gap => last.end = end,
                _ => all.push(start..end),
            }
        }
        all
    }
}

/// The inferred schema, with the types of declared columns.
pub(super) fn declared(inferred: &SchemaRef, declared: Option<&SchemaRef>) -> SchemaRef {
    let Some(declared) = declared else { return Arc::clone(inferred) };
    let field = |field: &Arc<Field>| match declared.column_with_name(field.name()) {
        Some((index, _)) => declared.fields().get(index).map_or_else(|| Arc::clone(field), Arc::clone),
        None => Arc::clone(field),
    };
    Arc::new(Schema::new(inferred.fields().iter().map(field).collect::<Vec<_>>()))
}
