//! Inputs whose rows follow one another in one table: their columns have to agree.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, new_null_array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use container_arrow::{ArrowTable, from_arrow};
use container_core::{ColumnInfo, Container, Error, Loss, Position, Result};

use super::super::super::env::Opener;
use super::super::super::pour;
use super::super::super::select;
use super::super::super::{DS, Lost};
use super::super::alike::Alike;
use super::super::job::Job;
use super::declared::{self, is_schemaless};
use super::join::join;
use super::recode::Recoder;
use super::unify;
use super::widen::{self, Widen};

/// All inputs, and the columns that they have together.
pub(super) struct Joined {
    pub(super) inputs: Vec<Input>,
    /// Of inputs whose columns need not agree, those of the first.
    pub(super) schema: SchemaRef,
    /// The schema is a guess.
    pub(super) is_sampled: bool,
    /// The columns need not agree.
    apart: bool,
    /// A column is read beside those that were chosen.
    pub(super) has_beside: bool,
    /// What becomes of the values before they are written.
    pub(super) recoder: Option<Recoder>,
}

/// How inputs are opened.
#[derive(Default)]
pub(super) struct How<'a> {
    /// Whoever can begin again may have the schema guessed, of one input that can be opened again.
    pub(super) may_guess: bool,
    /// The columns need not agree: batches are those of each.
    pub(super) apart: bool,
    pub(super) beside: Option<&'a Beside>,
    /// Labels that the indexes of every dictionary have to count.
    pub(super) labels: u64,
    /// The columns that are declared, where no file has to be read for them.
    pub(super) declared: Option<SchemaRef>,
}

/// A column that is read beside those that were chosen.
pub(super) struct Beside {
    pub(super) name: String,
    /// In front of the others.
    pub(super) first: bool,
}

/// An input, opened.
pub(super) struct Input {
    pub(super) name: String,
    container: Box<dyn Container>,
    table: Option<String>,
    /// The columns wanted, by index; all that batches have, where none is chosen.
    pub(super) columns: Option<Vec<usize>>,
    /// The columns and their types, where they do not follow from this input alone.
    pub(super) declared: Option<SchemaRef>,
    /// Columns that cannot be read.
    pub(super) left_out: Vec<Lost>,
    /// What the schema of this input has beside its columns.
    pub(super) metadata: HashMap<String, String>,
}

impl Input {
    fn is_schemaless(&self) -> bool {
        is_schemaless(self.container.format())
    }

    /// Rows of text, which have to be counted.
    pub(super) fn is_text(&self) -> bool {
        self.is_cells() || self.container.format() == "jsonl"
    }

    /// Rows of cells, not of values.
    fn is_cells(&self) -> bool {
        matches!(self.container.format(), "csv" | "tsv")
    }

    pub(super) fn table(&self) -> Result<&dyn ArrowTable> {
        let table = select::table(self.container.as_ref(), self.table.as_deref())?;
        table.arrow().ok_or_else(|| {
            let format = self.container.format();
            Error::unsupported(format!(
                "tables of the format {format} cannot be read as columns with types, which this output has"
            ))
        })
    }
}

impl Joined {
    /// Opens all inputs and looks at their columns.
    pub(super) fn open(job: &Job<'_>, opener: &mut Opener<'_>) -> Result<Self> {
        Self::open_with(job, opener, &How::default())
    }

    /// The same in another way.
    pub(super) fn open_with(job: &Job<'_>, opener: &mut Opener<'_>, how: &How<'_>) -> Result<Self> {
        let How { may_guess, apart, beside, labels, ref declared } = *how;
        let selection = &job.selection;
        job.check_mismatch()?;
        // Only a walk over all rows shows whether a guess was right.
        let are_all = selection.rows.is_none() && selection.limit.is_none();
        let may_guess = may_guess && are_all && matches!(job.inputs.as_slice(), [place] if place.is_lasting());
        let mut is_sampled = false;
        let scan = job.scan();
        let mut inputs: Vec<Input> = Vec::new();
        let mut joined: Option<(SchemaRef, String)> = None;
        let (mut has_beside, mut had_rows) = (false, false);
        let mut alike = Alike::of_samples();
        let (wanted, mut rows_before) = (job.rows(), 0_u64);
        let (mut before_all, mut own_schemas) = (Vec::new(), Vec::new());
        let declared = match (declared, &job.text.schema) {
            (None, Some(path)) => Some(declared::read(path, &selection.columns, opener, &mut before_all)?),
            (declared, _) => declared.clone(),
        };
        let mut sought = Sought::new(&selection.columns, job.inputs.len());
        for place in &job.inputs {
            let name = place.name();
            let named = |error: Error| error.in_file(name.clone());
            let container = place.open(opener)?.container;
            let mut input = Input {
                name: name.clone(),
                container,
                table: selection.reading.table.clone(),
                columns: None,
                declared: declared.clone(),
                left_out: std::mem::take(&mut before_all),
                metadata: HashMap::new(),
            };
            let format = input.container.format();
            let schemaless = is_schemaless(format);
            if let Some(schema) = &declared {
                let table = input.table().map_err(named)?;
                if !schemaless {
                    let detail = format!("does not go with inputs that are {format}: their columns have types");
                    return Err(named(Error::usage(detail).in_option("schema")));
                }
                if selection.columns.is_empty() {
                    let left_out = undeclared(table, schema, &name).map_err(named)?;
                    input.left_out.extend(left_out);
                }
                joined = Some((Arc::clone(schema), name.clone()));
                inputs.push(input);
                continue;
            }
            let table = input.table().map_err(named)?;
            // To find columns by name they have to be known; else what batches have is looked at once, and not twice.
            if !selection.columns.is_empty() {
                table.infer_columns().map_err(named)?;
            }
            let mut chosen = match schemaless {
                true => sought.columns(table),
                false => select::columns(table, &selection.columns),
            }
            .map_err(named)?;
            if let (Some(chosen), Some(beside)) = (&mut chosen, beside) {
                has_beside |= add(beside, table.columns(), chosen);
            }
            let mut own = scan.clone();
            own.scan.columns.clone_from(&chosen);
            if format == DS {
                // What times and nulls become follows from the rows that are read.
                let len = table.len().unwrap_or(0);
                let place = |row: u64| row.saturating_sub(rows_before).min(len);
                own.scan.rows = place(wanted.start)..place(wanted.end);
                rows_before = rows_before.saturating_add(len);
            }
            let guess = if may_guess { table.infer_from_sample(&own).map_err(named)? } else { None };
            is_sampled |= guess.is_some();
            let schema = match guess {
                Some(schema) => schema,
                None => table.schema(&own).map_err(named)?,
            };
            own_schemas.push(Arc::clone(&schema));
            // Without rows nothing is missing.
            let has_rows = !scan.mapping.narrow || table.len() != Some(0);
            let there: HashSet<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
            let is_there =
                |lost: &Lost| lost.loss.first.column.as_ref().is_some_and(|name| there.contains(name.as_ref()));
            let mut left_out = if selection.columns.is_empty() { pour::unreadable(place, table) } else { Vec::new() };
            left_out.retain(|lost| !is_there(lost));
            let mut differ = Vec::new();
            joined = Some(match joined {
                None => {
                    if apart {
                        alike.check_schema(&name, Arc::clone(&schema)).map_err(named)?;
                    }
                    (schema, name.clone())
                }
                Some(first) if apart => {
                    alike.check_schema(&name, schema).map_err(named)?;
                    first
                }
                Some((before, first)) if schemaless && inputs.iter().all(Input::is_schemaless) => {
                    let cells = inputs.iter().all(Input::is_cells) && matches!(format, "csv" | "tsv");
                    let widen = Widen { mapping: &scan.mapping, cells, first: &first };
                    let both = match (had_rows, has_rows) {
                        (true, true) => widen.schemas(&before, &schema).map_err(named)?,
                        (_, false) => widen::beside(&before, &schema, &before),
                        (false, true) => widen::beside(&before, &schema, &schema),
                    };
                    (both, first)
                }
                Some((before, first)) => {
                    let both = join(&before, &schema, &first, &mut differ).map_err(named)?;
                    (both, first)
                }
            });
            had_rows |= has_rows;
            left_out.extend(differ.into_iter().map(|loss| Lost { file: Some(name.clone()), loss }));
            (input.columns, input.left_out) = (chosen, left_out);
            if let Some(own) = own_schemas.last() {
                input.metadata.clone_from(own.metadata());
            }
            inputs.push(input);
        }
        let (schema, _) = joined.ok_or_else(|| Error::usage("there is no input"))?;
        let schema = with_labels(sought.in_order(schema)?, labels);
        // Types that follow from all inputs are those of each; those that follow from all rows are those of some.
        if !apart && inputs.iter().all(Input::is_schemaless) {
            let others = inputs.iter_mut().zip(&own_schemas).filter(|(_, own)| !are_all || **own != schema);
            others.for_each(|(input, _)| input.declared = Some(Arc::clone(&schema)));
        }
        Ok(Self { inputs, schema, is_sampled, apart, has_beside, recoder: None })
    }

    /// Has no input types of its own?
    pub(super) fn is_schemaless(&self) -> bool {
        self.inputs.iter().all(Input::is_schemaless)
    }

    /// Are all inputs of this format?
    pub(super) fn are_all(&self, format: &str) -> bool {
        self.inputs.iter().all(|input| input.container.format() == format)
    }

    /// Are all inputs rows of cells?
    pub(super) fn is_cells(&self) -> bool {
        self.inputs.iter().all(Input::is_cells)
    }

    /// Reads the columns as these, of the same names.
    pub(super) fn declare(&mut self, schema: SchemaRef) {
        self.inputs.iter_mut().for_each(|input| input.declared = Some(Arc::clone(&schema)));
        self.schema = schema;
    }

    /// The columns that are written.
    pub(super) fn written(&self) -> &SchemaRef {
        self.recoder.as_ref().map_or(&self.schema, |recoder| &recoder.schema)
    }

    /// A batch of one input with the columns that are written; its first row is row `first` of the input.
    pub(super) fn fit(&self, batch: &RecordBatch, first: u64) -> Result<RecordBatch> {
        let batch = self.unified(batch)?;
        self.recoder.as_ref().map_or(Ok(batch.clone()), |recoder| recoder.batch(&batch, first))
    }

    /// A batch of one input with the columns of all.
    fn unified(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        if self.apart {
            return Ok(batch.clone());
        }
        let rows = batch.num_rows();
        let column = |(field, array): (&Arc<Field>, &ArrayRef)| match (array.data_type(), field.data_type()) {
            (DataType::Null, wanted) if *wanted != DataType::Null => Ok(new_null_array(wanted, rows)),
            (_, wanted) => unify::cast(array, wanted),
        };
        let columns = self.schema.fields().iter().zip(batch.columns()).map(column).collect::<Result<_>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options).map_err(from_arrow)
    }
}

/// Columns that were asked for, of inputs not all of which need to have them.
struct Sought<'a> {
    asked: &'a [String],
    /// There are other inputs.
    several: bool,
    /// What an input said that has not all of them.
    missing: Option<Error>,
    names: Vec<String>,
}

impl<'a> Sought<'a> {
    fn new(asked: &'a [String], inputs: usize) -> Self {
        Self { asked, several: inputs > 1, missing: None, names: Vec::new() }
    }

    /// Those of one input.
    fn columns(&mut self, table: &dyn ArrowTable) -> Result<Option<Vec<usize>>> {
        let chosen = select::columns(table, self.asked);
        let error = match chosen {
            Err(error) if self.several => error,
            chosen => return chosen,
        };
        let mut columns = Vec::new();
        let places: HashMap<&str, usize> =
            table.columns().iter().enumerate().rev().map(|(place, column)| (&*column.name, place)).collect();
        for argument in self.asked {
            for name in select::split(argument)? {
                columns.extend(places.get(&*name));
            }
        }
        self.missing.get_or_insert(error);
        Ok(Some(columns))
    }

    /// The columns of all inputs as they were asked for.
    fn in_order(mut self, schema: SchemaRef) -> Result<SchemaRef> {
        let Some(missing) = self.missing else { return Ok(schema) };
        for argument in self.asked {
            self.names.extend(select::split(argument)?);
        }
        let by_name: HashMap<&String, &Arc<Field>> =
            schema.fields().iter().rev().map(|field| (field.name(), field)).collect();
        let fields = self.names.iter().map(|name| by_name.get(name).map(|field| Arc::clone(field)));
        match fields.collect::<Option<Vec<_>>>() {
            Some(fields) => Ok(Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))),
            None => Err(missing),
        }
    }
}

/// Columns that a schema does not have, as they are told.
fn undeclared(table: &dyn ArrowTable, schema: &SchemaRef, file: &str) -> Result<Vec<Lost>> {
    table.infer_columns()?;
    let names: HashSet<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    let others = table.columns().iter().filter(|column| !names.contains(column.name.as_str()));
    let told = |column: &ColumnInfo| {
        let mut first = Position::default();
        first.column = Some(column.name.clone().into());
        Lost { file: Some(file.to_owned()), loss: Loss::new("column left out: the schema does not have it", 1, first) }
    };
    Ok(others.map(told).collect())
}

/// Adds a column to those that were chosen, if it is there, and none of them.
fn add(beside: &Beside, columns: &[ColumnInfo], chosen: &mut Vec<usize>) -> bool {
    let found = columns.iter().position(|column| column.name == beside.name);
    let Some(index) = found.filter(|index| !chosen.contains(index)) else { return false };
    let place = if beside.first { 0 } else { chosen.len() };
    chosen.insert(place, index);
    true
}

/// The columns with dictionaries whose indexes count so many labels.
fn with_labels(schema: SchemaRef, labels: u64) -> SchemaRef {
    if labels == 0 {
        return schema;
    }
    let field = |field: &Arc<Field>| {
        let data_type = unify::widened(field.data_type(), labels);
        Field::clone(field).with_data_type(data_type)
    };
    let fields: Vec<Field> = schema.fields().iter().map(field).collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}
