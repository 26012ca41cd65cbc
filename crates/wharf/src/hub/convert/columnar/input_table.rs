//! The inputs of a conversion as one table, for engines that plan their own reading, such as a SQL engine.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Schema, SchemaRef};
use container_arrow::predicate::Condition;
use container_arrow::{ArrowTable, BatchReader, BatchScan, BatchSteps, Predicate, StepReader, from_arrow};
use container_core::{Error, Loss, Result};

use super::super::super::Lost;
use super::super::super::env::Opener;
use super::super::job::{Convert, Job, Report, quoted};
use super::inputs::{Input, JoinOptions, Joined, unify_batch};
use crate::hub::view::filter::{self, FilteredBatches, Masks, OpenRows, Origin};

/// More keys than this are found by reading all rows.
const MAX_KEYS: usize = 4096;

/// The inputs of a [`Convert`] as one table: opened, with a common schema. Its parts can be read any number of times, by several threads.
///
/// Inputs without a schema are scanned once, when the table is opened.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("a.csv");
/// # std::fs::write(&path, "x,y\n1,a\n2,b\n")?;
/// use wharf::convert::{InputPart, Opener};
/// use wharf::{BatchReader, Convert, Registry};
///
/// let table = Convert::new([path]).open(&mut Opener::new(Registry::builtin()))?;
/// assert_eq!(table.schema().fields().len(), 2);
/// let mut batches = table.batches(&InputPart::new(0).with_columns([1]))?;
/// assert_eq!(batches.try_next()?.map(|batch| batch.num_rows()), Some(2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct InputTable {
    inputs: Vec<Input>,
    schema: SchemaRef,
    scan: BatchScan,
}

/// A part of an [`InputTable`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct InputPart {
    /// The number of the input, from 0.
    pub input: usize,
    /// Indexes of columns of the common schema, each at most once, in output order; `None` for all.
    pub columns: Option<Vec<usize>>,
    /// Rows of the input, from 0. An end past the last row is clamped.
    pub rows: Range<u64>,
    /// Maximum number of threads; 0 for one per core.
    pub threads: usize,
}

impl InputPart {
    /// All rows and columns of an input.
    #[must_use]
    pub const fn new(input: usize) -> Self {
        Self { input, columns: None, rows: 0..u64::MAX, threads: 0 }
    }

    /// Replaces [`columns`](Self::columns).
    #[must_use]
    pub fn with_columns(mut self, columns: impl Into<Vec<usize>>) -> Self {
        self.columns = Some(columns.into());
        self
    }

    /// Replaces [`rows`](Self::rows).
    #[must_use]
    pub const fn with_rows(mut self, rows: Range<u64>) -> Self {
        self.rows = rows;
        self
    }

    /// Replaces [`threads`](Self::threads).
    #[must_use]
    pub const fn with_threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }
}

impl Convert {
    /// Opens the inputs as one table, for reading record batches instead of writing a file. The selected columns are its columns; a selection of
    /// rows is ignored.
    ///
    /// # Errors
    /// An input cannot be opened, or has no typed columns; inputs differ in columns or their meaning.
    pub fn open(&self, opener: &mut Opener<'_>) -> Result<InputTable> {
        self.open_with(opener, None)
    }

    /// As [`open`](Self::open). The declared schema replaces inference, for inputs without a schema, and selects its columns.
    ///
    /// # Errors
    /// Those of [`open`](Self::open); [`Usage`](crate::ErrorKind::Usage) if an input has a schema of its own.
    pub fn open_with(&self, opener: &mut Opener<'_>, declared: Option<SchemaRef>) -> Result<InputTable> {
        opener.apply(&self.selection)?;
        opener.overrides = self.text.overrides()?;
        if self.union {
            return Err(
                Error::unsupported("inputs that are read as one table need the same columns").in_option("union")
            );
        }
        let mut viewed = self.of_views(None, opener, &mut Report::default())?;
        if let Some(schema) = &declared {
            // Other columns would be inferred.
            let names = schema.fields().iter().map(|field| field.name().as_str());
            viewed.get_or_insert_with(|| self.clone()).selection.columns = quoted(names);
        }
        let job = Job { convert: viewed.as_ref().unwrap_or(self), path: None, force: false, narrow: false };
        let Joined { mut inputs, schema, .. } =
            Joined::open_with(&job, opener, &JoinOptions { declared, ..JoinOptions::default() })?;
        // The schema applies to every part: no row is read to infer it again.
        for input in inputs.iter_mut().filter(|input| input.is_schemaless()) {
            input.declared = Some(Arc::clone(&schema));
        }
        Ok(InputTable { inputs, schema, scan: job.scan() })
    }
}

impl InputTable {
    /// The common schema.
    #[must_use]
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The number of inputs.
    #[must_use]
    pub fn inputs(&self) -> usize {
        self.inputs.len()
    }

    /// The name of an input.
    #[must_use]
    pub fn name(&self, input: usize) -> Option<&str> {
        self.inputs.get(input).map(|input| input.name.as_str())
    }

    /// The format of an input.
    #[must_use]
    pub fn format(&self, input: usize) -> Option<&'static str> {
        self.inputs.get(input).map(Input::format)
    }

    /// The number of rows of an input; `None` if counting them would require a scan.
    #[must_use]
    pub fn len(&self, input: usize) -> Option<u64> {
        self.inputs.get(input)?.table().ok()?.len()
    }

    /// Returns true if the inputs are known to have no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        (0..self.inputs.len()).all(|input| self.len(input) == Some(0))
    }

    /// Columns that were left out because they cannot be read.
    pub fn left_out(&self) -> impl Iterator<Item = &Lost> {
        self.inputs.iter().flat_map(|input| &input.left_out)
    }

    /// The number of rows of an input that are read together, as [`Table::block_rows`](crate::Table::block_rows).
    #[must_use]
    pub fn block_rows(&self, input: usize) -> Option<u64> {
        self.inputs.get(input)?.table().ok()?.block_rows()
    }

    /// Whether [`matching`](Self::matching) can leave rows unread, in every input.
    #[must_use]
    pub fn can_skip(&self) -> bool {
        (0..self.inputs.len()).all(|input| self.block_rows(input).is_some())
    }

    /// Whether a predicate compares the key of rows, in every input, so that [`matching`](Self::matching) looks rows up.
    #[must_use]
    pub fn is_lookup(&self, predicate: &Predicate) -> bool {
        let condition = predicate.condition();
        let is_lookup = |input: &Input| input.table().is_ok_and(|table| self.keys(table, &condition).is_some());
        self.inputs.iter().all(is_lookup)
    }

    /// The keys of the rows outside of which a condition is not true.
    fn keys<'c>(&self, table: &dyn ArrowTable, condition: &'c Condition) -> Option<BTreeSet<&'c str>> {
        let column = table.key_column()?;
        let field = self.schema.field_with_name(column).ok()?;
        let is_text = field.data_type().is_string() && field.extension_type_name().is_none();
        filter::keys(condition, column).filter(|keys| is_text && keys.len() <= MAX_KEYS)
    }

    /// Reads the rows of a part for which a predicate holds, in batches of the common schema. The predicate may mention any column of it.
    ///
    /// Rows that cannot match, as statistics of the file or a look-up of keys says, are not read. Of the others, the columns of the predicate are read
    /// first and, in formats with a schema, further columns only around rows that match. `observer` is told what is read.
    ///
    /// # Errors
    /// Those of [`batches`](Self::batches); the predicate does not fit the table.
    pub fn matching<'a>(
        &'a self,
        part: &InputPart,
        predicate: &Predicate,
        observer: &Arc<dyn MatchObserver>,
    ) -> Result<Box<dyn BatchReader + 'a>> {
        let input = self.input(part.input)?;
        let named = |error: Error| error.in_file(input.name.clone());
        let table = input.table().map_err(named)?;
        let rows = clamped(&part.rows, table.len());
        let index = |name: &str| self.schema.index_of(name).map_err(from_arrow);
        let tested = predicate.columns().into_iter().map(index).collect::<Result<Vec<usize>>>()?;
        let selected = part.columns.clone().unwrap_or_else(|| (0..self.schema.fields().len()).collect());
        let schema = Arc::new(self.schema.project(&selected).map_err(from_arrow)?);
        let condition = predicate.condition();
        let test = |schema: &SchemaRef| {
            let filter = predicate.bind(schema)?;
            let rows = match self.keys(table, &condition).map(|keys| filter::rows_of(table, &keys)) {
                Some(Ok(found)) => Some(found),
                // The rows tell what is wrong.
                Some(Err(_)) | None => filter::candidates(table, &condition, schema)?,
            };
            Ok((filter, rows))
        };
        let opener = |columns: Vec<usize>, is_tested: bool| -> OpenRows<'a> {
            let (part, observer) = (part.clone().with_columns(columns), Arc::clone(observer));
            Box::new(move |rows| {
                let reader = self.batches(&part.clone().with_rows(rows))?;
                let observer = Arc::clone(&observer);
                Ok(Box::new(StepReader::new(ObservedReader { reader, observer, is_tested })))
            })
        };
        let others: Vec<usize> = selected.iter().copied().filter(|column| !tested.contains(column)).collect();
        let reader = match table.block_rows() {
            // Records without a schema would be parsed twice.
            Some(block) if !others.is_empty() && table.has_schema() => {
                let masks = Masks::new(opener(tested.clone(), true), rows.clone(), test).map_err(named)?;
                let origin = |column: &usize| {
                    let position = |columns: &[usize]| columns.iter().position(|other| other == column);
                    position(&tested).map(Origin::Tested).or_else(|| position(&others).map(Origin::Other))
                };
                let origins = selected.iter().filter_map(origin).collect();
                FilteredBatches::late(Arc::clone(&schema), masks, opener(others, false), origins, rows.end, block)
            }
            _ => {
                let mut all = selected.clone();
                all.extend(tested.iter().filter(|column| !selected.contains(column)));
                let masks = Masks::new(opener(all, true), rows, test).map_err(named)?;
                FilteredBatches::together(masks, selected.len())
            }
        };
        let reader = Box::new(StepReader::new(reader));
        Ok(Box::new(StepReader::new(PartReader { reader, schema, name: &input.name })))
    }

    /// Reads a part in batches of the common schema. Errors name the input.
    ///
    /// # Errors
    /// [`Usage`](crate::ErrorKind::Usage) for an unknown input or column; those of [`ArrowTable::batches`](crate::ArrowTable::batches).
    pub fn batches<'a>(&'a self, part: &InputPart) -> Result<Box<dyn BatchReader + 'a>> {
        let input = self.input(part.input)?;
        let schema = match &part.columns {
            Some(columns) => Arc::new(self.schema.project(columns).map_err(from_arrow)?),
            None => Arc::clone(&self.schema),
        };
        let reader = input.reader(&schema, &self.scan, part).map_err(|error| error.in_file(input.name.clone()))?;
        Ok(Box::new(StepReader::new(PartReader { reader, schema, name: &input.name })))
    }

    fn input(&self, input: usize) -> Result<&Input> {
        self.inputs.get(input).ok_or_else(|| Error::usage(format!("no input {input}: there are {}", self.inputs.len())))
    }
}

impl fmt::Debug for InputTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.inputs.iter().map(|input| &input.name)).finish()
    }
}

impl Input {
    fn reader(&self, schema: &Schema, scan: &BatchScan, part: &InputPart) -> Result<Box<dyn BatchReader + '_>> {
        let table = self.table()?;
        let mut own = scan.clone();
        own.scan.threads = part.threads;
        own.scan.rows = clamped(&part.rows, table.len());
        if self.declared.is_some() {
            return table.batches(&own.with_schema(Arc::new(schema.clone())));
        }
        let columns = table.columns();
        let index = |name: &String| {
            let found = columns.iter().position(|column| column.name == *name);
            found.ok_or_else(|| Error::usage("no such column").in_column(name.clone()))
        };
        own.scan.columns = match &part.columns {
            Some(_) => Some(schema.fields().iter().map(|field| index(field.name())).collect::<Result<_>>()?),
            None => self.columns.clone(),
        };
        table.batches(&own)
    }
}

/// Rows that exist, if it is known how many do.
fn clamped(rows: &Range<u64>, len: Option<u64>) -> Range<u64> {
    match len {
        Some(len) => rows.start.min(len)..rows.end.min(len),
        None => rows.clone(),
    }
}

/// What [`InputTable::matching`] reads. Called from the thread that reads.
pub trait MatchObserver: Send + Sync {
    /// The columns of the predicate were read for this many rows, in a batch of this many bytes.
    ///
    /// # Errors
    /// Any error, such as [`Cancelled`](crate::ErrorKind::Cancelled), ends the reading.
    fn tested(&self, rows: u64, bytes: u64) -> Result<()>;

    /// Further columns were read for this many rows, in a batch of this many bytes.
    ///
    /// # Errors
    /// As [`tested`](Self::tested).
    fn decoded(&self, rows: u64, bytes: u64) -> Result<()>;
}

/// Tells an observer what is read.
struct ObservedReader<'a> {
    reader: Box<dyn BatchReader + 'a>,
    observer: Arc<dyn MatchObserver>,
    /// It reads the columns of a predicate.
    is_tested: bool,
}

impl BatchSteps for ObservedReader<'_> {
    fn step(&mut self) -> Result<Option<RecordBatch>> {
        let next = self.reader.try_next()?;
        if let Some(batch) = &next {
            let (rows, bytes) = (batch.num_rows() as u64, batch.get_array_memory_size() as u64);
            match self.is_tested {
                true => self.observer.tested(rows, bytes)?,
                false => self.observer.decoded(rows, bytes)?,
            }
        }
        Ok(next)
    }

    fn schema(&self) -> SchemaRef {
        self.reader.schema()
    }

    fn losses(&self) -> Vec<Loss> {
        self.reader.losses()
    }
}

/// Converts batches to the common schema.
struct PartReader<'a> {
    reader: Box<dyn BatchReader + 'a>,
    schema: SchemaRef,
    name: &'a str,
}

impl BatchSteps for PartReader<'_> {
    fn step(&mut self) -> Result<Option<RecordBatch>> {
        let batch = self.reader.try_next();
        let batch = batch.and_then(|batch| batch.map(|batch| unify_batch(&self.schema, &batch, false)).transpose());
        batch.map_err(|error| error.in_file(self.name.to_owned()))
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn losses(&self) -> Vec<Loss> {
        self.reader.losses()
    }
}
