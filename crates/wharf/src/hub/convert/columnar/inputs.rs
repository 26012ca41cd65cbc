//! Inputs whose rows follow one another in one table: their schemas are unified.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, new_null_array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use container_arrow::{ArrowTable, from_arrow};
use container_core::{ColumnInfo, Container, Error, Result, Watch};

use super::super::super::copy_rows;
use super::super::super::env::Opener;
use super::super::super::select;
use super::super::super::{Lost, is_variables};
use super::super::job::Job;
use super::super::schema_check::SchemaCheck;
use super::declared;
use super::join;
use super::recode::Recoder;
use super::unify;
use super::widen::{self, Widen};
use crate::text::TextFormat;

/// All inputs, and their common schema.
pub(super) struct Joined {
    pub(super) inputs: Vec<Input>,
    /// The common schema; with `independent` schemas, that of the first input.
    pub(super) schema: SchemaRef,
    /// The schema was inferred from a sample, and a later row can contradict it.
    pub(super) is_sampled: bool,
    /// Each input keeps its own schema.
    independent: bool,
    /// Columns go together by name, and those that an input lacks are null.
    union: bool,
    /// An [`ExtraColumn`] is read that was not selected.
    pub(super) has_extra: bool,
    /// Converts values before they are written.
    pub(super) recoder: Option<Recoder>,
}

/// JoinOptions inputs are opened.
#[derive(Default)]
pub(super) struct JoinOptions<'a> {
    /// The schema may be inferred from a sample: the caller can start again. Only for one input that can be opened again.
    pub(super) may_sample: bool,
    /// Each input keeps its own schema.
    pub(super) independent: bool,
    pub(super) extra: Option<&'a ExtraColumn>,
    /// The number of labels that the index type of every dictionary must be able to count.
    pub(super) labels: u64,
    /// The declared schema, when it is not read from a file.
    pub(super) declared: Option<SchemaRef>,
}

/// A column that is read in addition to the selected ones.
pub(super) struct ExtraColumn {
    pub(super) name: String,
    /// It comes before the others, not after them.
    pub(super) first: bool,
}

impl ExtraColumn {
    /// Adds the column to a selection that lacks it. False when the table lacks it, or it is selected already.
    fn add_to(&self, selected: &mut Vec<usize>, columns: &[ColumnInfo]) -> bool {
        let found = columns.iter().position(|column| column.name == self.name);
        let Some(index) = found.filter(|index| !selected.contains(index)) else { return false };
        selected.insert(if self.first { 0 } else { selected.len() }, index);
        true
    }
}

/// An input, opened.
pub(super) struct Input {
    pub(super) name: String,
    container: Box<dyn Container>,
    table: Option<String>,
    /// The selected columns, by index; `None` for all.
    pub(super) columns: Option<Vec<usize>>,
    /// The schema, when it does not follow from this input alone.
    pub(super) declared: Option<SchemaRef>,
    /// Columns that cannot be read.
    pub(super) left_out: Vec<Lost>,
    /// The metadata of this input's schema.
    pub(super) metadata: HashMap<String, String>,
}

impl Input {
    pub(super) fn is_schemaless(&self) -> bool {
        self.table().is_ok_and(|table| !table.has_schema())
    }

    pub(super) fn format(&self) -> &'static str {
        self.container.format()
    }

    /// Whether this is text, whose rows are counted by reading them.
    pub(super) fn is_text(&self) -> bool {
        TextFormat::named(self.container.format()).is_some()
    }

    /// Whether this is CSV or TSV, whose cells have no types.
    fn is_cells(&self) -> bool {
        TextFormat::named(self.container.format()).is_some_and(TextFormat::is_cells)
    }

    pub(super) fn table(&self) -> Result<&dyn ArrowTable> {
        let table = select::table(self.container.as_ref(), self.table.as_deref())?;
        table.arrow().ok_or_else(|| {
            let format = self.container.format();
            Error::unsupported(format!("tables of the format {format} cannot be read as typed columns"))
                .advising("`wharf info` shows their columns")
        })
    }
}

impl Joined {
    /// The name of the input, if there is only one.
    pub(super) fn file(&self) -> Option<&str> {
        if let [input] = self.inputs.as_slice() { Some(&input.name) } else { None }
    }

    /// Opens all inputs and unifies their schemas.
    pub(super) fn open(job: &Job<'_>, opener: &mut Opener<'_>) -> Result<Self> {
        Self::open_with(job, opener, &JoinOptions::default())
    }

    /// As [`open`](Self::open), with options.
    pub(super) fn open_with(job: &Job<'_>, opener: &mut Opener<'_>, options: &JoinOptions<'_>) -> Result<Self> {
        let JoinOptions { may_sample, independent, extra, labels, ref declared } = *options;
        let selection = &job.selection;
        job.check_mismatch()?;
        // Only reading all rows shows whether a schema inferred from a sample holds.
        let all_rows = selection.rows.is_none() && selection.limit.is_none();
        let may_sample = may_sample
            && all_rows
            && job.text.schema.is_none()
            && matches!(job.inputs.as_slice(), [location] if location.is_reopenable());
        let mut is_sampled = false;
        let scan = job.scan();
        let mut inputs: Vec<Input> = Vec::new();
        let mut joined: Option<(SchemaRef, String)> = None;
        let (mut has_extra, mut had_rows) = (false, false);
        let mut alike = SchemaCheck::by_name();
        let (requested, mut rows_before) = (job.rows(), Some(0_u64));
        let (mut schema_losses, mut own_schemas) = (Vec::new(), Vec::new());
        let declared = match (declared, &job.text.schema) {
            (None, Some(path)) => Some(declared::read(path, &selection.columns, opener, &mut schema_losses)?),
            (declared, _) => declared.clone(),
        };
        let mut projection = Projection::new(&selection.columns, job.inputs.len());
        for (number, location) in job.inputs.iter().enumerate() {
            let name = location.name();
            let named = |error: Error| error.in_file(name.clone());
            let container = location.open(opener)?.container;
            let mut input = Input {
                name: name.clone(),
                container,
                table: selection.reading.table.clone(),
                columns: None,
                declared: None,
                left_out: std::mem::take(&mut schema_losses),
                metadata: HashMap::new(),
            };
            let format = input.container.format();
            let schemaless = input.is_schemaless();
            if declared.is_some() && !schemaless {
                let detail = format!("does not go with inputs that are {format}: their columns have types");
                return Err(named(Error::usage(detail).in_option("schema")));
            }
            let table = input.table().map_err(named)?;
            // Selecting by name needs all column names. Otherwise the schema below finds them, and one scan is enough.
            if !selection.columns.is_empty() {
                table.infer_columns_with(&Watch::new(Arc::clone(&job.progress.0))).map_err(named)?;
            }
            let mut selected = match (&declared, schemaless || job.union) {
                (Some(declared), _) => projection.undeclared(table, declared),
                (None, true) => projection.columns(table),
                (None, false) => select::columns(table, &selection.columns),
            }
            .map_err(named)?;
            if let (Some(selected), Some(extra)) = (&mut selected, extra) {
                has_extra |= extra.add_to(selected, table.columns());
            }
            let mut own = scan.clone();
            own.scan.columns.clone_from(&selected);
            match (table.len(), rows_before) {
                // The types of times and of missing values in ds depend on the rows that are read.
                (Some(len), Some(before)) if !schemaless => {
                    let row_here = |row: u64| row.saturating_sub(before).min(len);
                    own.scan.rows = row_here(requested.start)..row_here(requested.end);
                    rows_before = before.checked_add(len);
                }
                _ => rows_before = None,
            }
            job.progress.0.name(&copy_rows::input_label(name.clone(), number, job.inputs.len()));
            let sampled = if may_sample { table.infer_from_sample(&own).map_err(named)? } else { None };
            is_sampled |= sampled.is_some();
            let schema = match (sampled, &declared) {
                (Some(schema), _) => schema,
                (None, None) => table.schema(&own).map_err(named)?,
                (None, Some(declared)) => {
                    let inferred = match own.scan.columns.as_ref().is_some_and(Vec::is_empty) {
                        true => Arc::new(Schema::empty()),
                        false => table.schema(&own).map_err(named)?,
                    };
                    completed(table, declared, &inferred)
                }
            };
            own_schemas.push(Arc::clone(&schema));
            // The nullability of an empty input says nothing.
            let has_rows = !scan.mapping.narrow || table.len() != Some(0);
            let names: HashSet<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
            let is_read =
                |lost: &Lost| lost.loss.first.column.as_ref().is_some_and(|name| names.contains(name.as_ref()));
            let mut left_out =
                if selection.columns.is_empty() { copy_rows::unreadable(location, table) } else { Vec::new() };
            left_out.retain(|lost| !is_read(lost));
            let mut metadata_losses = Vec::new();
            joined = Some(match joined {
                None => {
                    if independent {
                        alike.check_schema(&name, Arc::clone(&schema)).map_err(named)?;
                    }
                    (schema, name.clone())
                }
                Some(first) if independent => {
                    alike.check_schema(&name, schema).map_err(named)?;
                    first
                }
                Some((before, first)) if schemaless && inputs.iter().all(Input::is_schemaless) => {
                    let cells = inputs.iter().all(Input::is_cells) && input.is_cells();
                    let widen = Widen { mapping: &scan.mapping, cells, first: &first };
                    let both = match (had_rows, has_rows) {
                        (true, true) => widen.schemas(&before, &schema).map_err(named)?,
                        (_, false) => widen::with_empty(&before, &schema, &before),
                        (false, true) => widen::with_empty(&before, &schema, &schema),
                    };
                    (both, first)
                }
                Some((before, first)) => {
                    let join = if job.union { join::union } else { join::join };
                    let both = join(&before, &schema, &first, &mut metadata_losses).map_err(named)?;
                    (both, first)
                }
            });
            had_rows |= has_rows;
            left_out.extend(metadata_losses.into_iter().map(|loss| Lost { file: Some(name.clone()), loss }));
            (input.columns, input.left_out) = (selected, left_out);
            input.declared = declared.as_ref().and_then(|_| own_schemas.last()).map(Arc::clone);
            if let Some(own) = own_schemas.last() {
                input.metadata.clone_from(own.metadata());
            }
            inputs.push(input);
        }
        let (schema, _) = joined.ok_or_else(|| Error::usage("there is no input"))?;
        let schema = with_labels(projection.in_order(schema)?, labels);
        // Types inferred from all inputs and rows apply to each input and to a part of the rows.
        if !independent && inputs.iter().all(Input::is_schemaless) {
            let others = inputs.iter_mut().zip(&own_schemas).filter(|(_, own)| !all_rows || **own != schema);
            others.for_each(|(input, _)| input.declared = Some(Arc::clone(&schema)));
        }
        let union = job.union;
        Ok(Self { inputs, schema, is_sampled, independent, union, has_extra, recoder: None })
    }

    /// Whether no input has a schema.
    pub(super) fn is_schemaless(&self) -> bool {
        self.inputs.iter().all(Input::is_schemaless)
    }

    /// Whether all inputs are of one format with the variables of ds.
    pub(super) fn are_variables(&self) -> bool {
        let mut formats = self.inputs.iter().map(|input| input.container.format());
        formats.next().is_some_and(|first| is_variables(first) && formats.all(|format| format == first))
    }

    /// Whether all inputs are CSV or TSV.
    pub(super) fn is_cells(&self) -> bool {
        self.inputs.iter().all(Input::is_cells)
    }

    /// Reads the columns with these types; the names are the same.
    pub(super) fn declare(&mut self, schema: SchemaRef) {
        self.inputs.iter_mut().for_each(|input| input.declared = Some(Arc::clone(&schema)));
        self.schema = schema;
    }

    /// The schema of the output.
    pub(super) fn output_schema(&self) -> &SchemaRef {
        self.recoder.as_ref().map_or(&self.schema, |recoder| &recoder.schema)
    }

    /// Converts a batch of one input to the schema of the output. Its first row is row `first` of the input.
    pub(super) fn convert(&self, batch: &RecordBatch, first: u64) -> Result<RecordBatch> {
        let batch = self.unified(batch)?;
        self.recoder.as_ref().map_or(Ok(batch.clone()), |recoder| recoder.batch(&batch, first))
    }

    /// Converts a batch of one input to the common schema.
    fn unified(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        if self.independent {
            return Ok(batch.clone());
        }
        unify_batch(&self.schema, batch, self.union)
    }
}

/// Converts a batch of one input to the common schema. In a union, columns are found by name, and those that the input lacks are null.
pub(super) fn unify_batch(schema: &SchemaRef, batch: &RecordBatch, union: bool) -> Result<RecordBatch> {
    let rows = batch.num_rows();
    let column = |(field, array): (&Arc<Field>, &ArrayRef)| match (array.data_type(), field.data_type()) {
        (DataType::Null, data_type) if *data_type != DataType::Null => Ok(new_null_array(data_type, rows)),
        (_, data_type) => unify::cast(array, data_type),
    };
    let columns = match union {
        false => schema.fields().iter().zip(batch.columns()).map(column).collect::<Result<_>>()?,
        true => {
            let by_name = |field: &Arc<Field>| match batch.column_by_name(field.name()) {
                Some(array) => column((field, array)),
                None => Ok(new_null_array(field.data_type(), rows)),
            };
            schema.fields().iter().map(by_name).collect::<Result<_>>()?
        }
    };
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options).map_err(from_arrow)
}

/// The selected columns, when not every input has to have all of them.
struct Projection<'a> {
    arguments: &'a [String],
    /// There is more than one input.
    several: bool,
    /// The error of the first input that lacks a column.
    missing: Option<Error>,
    /// Columns come in the order of the table, and have to be brought into that of the selection.
    is_ordered: bool,
    names: Vec<String>,
}

impl<'a> Projection<'a> {
    fn new(arguments: &'a [String], inputs: usize) -> Self {
        Self { arguments, several: inputs > 1, missing: None, is_ordered: false, names: Vec::new() }
    }

    /// The selected columns that an input has, by index.
    fn columns(&mut self, table: &dyn ArrowTable) -> Result<Option<Vec<usize>>> {
        let selected = select::columns(table, self.arguments);
        let error = match selected {
            Err(error) if self.several => error,
            selected => return selected,
        };
        let mut columns = Vec::new();
        let indexes: HashMap<&str, usize> =
            table.columns().iter().enumerate().rev().map(|(index, column)| (&*column.name, index)).collect();
        for argument in self.arguments {
            for name in select::split(argument)? {
                columns.extend(indexes.get(&*name));
            }
        }
        self.missing.get_or_insert(error);
        Ok(Some(columns))
    }

    /// The selected columns that are not declared, by index.
    fn undeclared(&mut self, table: &dyn ArrowTable, declared: &SchemaRef) -> Result<Option<Vec<usize>>> {
        table.infer_columns()?;
        let all = table.columns();
        let is_declared = |column: &ColumnInfo| declared.column_with_name(&column.name).is_some();
        let mut columns = Vec::new();
        for argument in self.arguments {
            for name in select::split(argument)? {
                match all.iter().position(|column| column.name == name) {
                    Some(index) => columns.push(index),
                    None if declared.column_with_name(&name).is_some() => {}
                    None => {
                        let unknown = select::unknown_column(all, &name);
                        self.missing.get_or_insert(unknown);
                    }
                }
            }
        }
        if self.arguments.is_empty() {
            columns.extend(0..all.len());
        }
        self.is_ordered = true;
        columns.retain(|index| all.get(*index).is_some_and(|column| !is_declared(column)));
        Ok(Some(columns))
    }

    /// The common schema, in the order of the selection.
    fn in_order(mut self, schema: SchemaRef) -> Result<SchemaRef> {
        let missing = match self.missing {
            Some(missing) => missing,
            None if self.is_ordered && !self.arguments.is_empty() => Error::usage("a selected column has no type"),
            None => return Ok(schema),
        };
        for argument in self.arguments {
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

/// The columns of a table without a schema, in its order, then the declared ones that it lacks. `inferred` has the columns that are not declared.
fn completed(table: &dyn ArrowTable, declared: &SchemaRef, inferred: &SchemaRef) -> SchemaRef {
    let find = |schema: &SchemaRef, name: &str| schema.fields().find(name).map(|(_, field)| Arc::clone(field));
    let field = |column: &ColumnInfo| find(declared, &column.name).or_else(|| find(inferred, &column.name));
    let names: HashSet<&str> = table.columns().iter().map(|column| column.name.as_str()).collect();
    let others = declared.fields().iter().filter(|field| !names.contains(field.name().as_str())).cloned();
    let fields: Vec<Arc<Field>> = table.columns().iter().filter_map(field).chain(others).collect();
    Arc::new(Schema::new_with_metadata(fields, inferred.metadata().clone()))
}

/// Widens the index types of dictionaries so that they can count this many labels.
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
