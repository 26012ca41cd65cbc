//! Plans a scan: its schema and where its columns come from.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef};
use container_arrow::{BatchScan, Columns, resolve_member};
use container_core::{Error, Result, Table};

use super::lookup::{Lookup, text};
use super::observe::{Fields, Observer, Stop};
use super::pool::Pool;
use crate::FORMAT_NAME;
use crate::container::DatadingsContainer;
use crate::container::columns::FieldName;
use crate::read::Reader;

/// Samples inspected in one chunk.
const CHUNK_ROWS: u64 = 1 << 14;

/// The columns of a scan and where they come from.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) schema: SchemaRef,
    pub(super) lookup: Lookup,
    pub(super) rows: Range<u64>,
    /// Samples may have fields outside the schema.
    pub(super) has_other_fields: bool,
    /// The schema is declared rather than inferred.
    pub(super) is_declared: bool,
}

impl Plan {
    pub(super) fn new(container: &DatadingsContainer, scan: &BatchScan, pool: &Pool) -> Result<Self> {
        let plan = match (&scan.schema, &scan.scan.columns) {
            (Some(schema), _) => Self::declared(container, schema, scan),
            (None, Some(columns)) => Self::projected(container, columns, scan, pool),
            (None, None) => Self::all_fields(container, scan, pool),
        };
        let plan = plan.map_err(|error| error.in_format(FORMAT_NAME))?;
        // Report an invalid schema now rather than during the scan.
        let columns = Columns::new(plan.schema.clone(), scan, &container.reader().options.limits);
        columns.map(|_| plan).map_err(|error| error.in_format(FORMAT_NAME))
    }

    /// The columns of a declared schema.
    fn declared(container: &DatadingsContainer, schema: &SchemaRef, scan: &BatchScan) -> Result<Self> {
        let known: HashMap<&str, &FieldName> =
            container.fields().iter().map(|field| (field.unique.as_str(), &field.name)).collect();
        let names = schema.fields().iter().map(|field| match known.get(field.name().as_str()) {
            Some(name) => (*name).clone(),
            None => text(field.name()),
        });
        let rows = range(container.reader(), scan)?;
        let lookup = Lookup::new(names);
        Ok(Self { schema: schema.clone(), lookup, rows, has_other_fields: true, is_declared: true })
    }

    /// Selected columns, by index.
    fn projected(container: &DatadingsContainer, columns: &[usize], scan: &BatchScan, pool: &Pool) -> Result<Self> {
        let rows = range(container.reader(), scan)?;
        let fields = container.fields();
        let field = |&index: &usize| fields.get(index).ok_or_else(|| Error::usage(format!("no column {index}")));
        let projection = columns.iter().map(field).collect::<Result<Vec<_>>>()?;
        let lookup = || Lookup::new(projection.iter().map(|field| field.name.clone()));
        let names = projection.iter().map(|field| field.unique.clone()).collect();
        let known = Fields::Known(lookup(), names);
        let inferred =
            infer_schema(container.reader(), &known, rows.clone(), scan, pool).map_err(expect_string_names)?;
        let by_name: HashMap<&str, &Field> =
            inferred.fields().iter().map(|field| (field.name().as_str(), &**field)).collect();
        let fields = projection.iter().map(|field| match by_name.get(field.unique.as_str()) {
            Some(field) => (*field).clone(),
            None => Field::new(&field.unique, DataType::Null, true),
        });
        let schema = Arc::new(Schema::new(fields.collect::<Vec<Field>>()));
        Ok(Self { schema, lookup: lookup(), rows, has_other_fields: true, is_declared: false })
    }

    /// All fields of the samples in the range.
    fn all_fields(container: &DatadingsContainer, scan: &BatchScan, pool: &Pool) -> Result<Self> {
        let rows = range(container.reader(), scan)?;
        let plan = |schema: Schema, lookup| {
            let (schema, rows) = (Arc::new(schema), rows.clone());
            Self { schema, lookup, rows, has_other_fields: false, is_declared: false }
        };
        match infer_schema(container.reader(), &Fields::Strings, rows.clone(), scan, pool) {
            Ok(schema) => {
                let lookup = Lookup::new(schema.fields().iter().map(|field| text(field.name())));
                return Ok(plan(schema, lookup));
            }
            Err(Stop::Failed(error)) => return Err(error),
            Err(Stop::NonStringName) => {}
        }
        // The column names of such fields depend on all samples.
        container.infer_columns()?;
        let names = || container.fields().iter().map(|field| field.name.clone());
        let columns: Vec<String> = container.fields().iter().map(|field| field.unique.clone()).collect();
        let known = Fields::Known(Lookup::new(names()), columns.clone());
        let schema = infer_schema(container.reader(), &known, rows.clone(), scan, pool).map_err(expect_string_names)?;
        let by_name: HashMap<String, FieldName> = columns.into_iter().zip(names()).collect();
        let names = schema.fields().iter().filter_map(|field| by_name.get(field.name()).cloned());
        let lookup = Lookup::new(names);
        Ok(plan(schema, lookup))
    }
}

/// Unwraps an error where names are known, so that they need not be strings.
fn expect_string_names(stop: Stop) -> Error {
    match stop {
        Stop::Failed(error) => error,
        Stop::NonStringName => Error::invalid("field name: expected a str"),
    }
}

fn range(reader: &Reader, scan: &BatchScan) -> Result<Range<u64>> {
    let rows = &scan.scan.rows;
    reader.samples(rows.clone()).map(|_| rows.start.min(reader.len())..rows.end.min(reader.len()))
}

/// Infers the schema of fields from all samples of a row range.
fn infer_schema(
    reader: &Reader,
    fields: &Fields,
    rows: Range<u64>,
    scan: &BatchScan,
    pool: &Pool,
) -> Result<Schema, Stop> {
    let limits = reader.options.limits;
    let observer = || Observer::new(fields, limits, scan.mapping.on_mismatch);
    let mut all = observer();
    let mut next = rows.start;
    while next < rows.end {
        let mut chunks = Vec::new();
        while next < rows.end && chunks.len() < pool.concurrency() {
            let end = rows.end.min(next + CHUNK_ROWS);
            chunks.push(next..end);
            next = end;
        }
        for chunk in pool.map(chunks, |rows| observer().observe_rows(reader, rows)) {
            all.merge(chunk?)?;
        }
    }
    let (rows, mapping) = (all.observation.profile(), &scan.mapping);
    let fields = rows.members().into_iter().map(|name| {
        let numpy_type = all.numpy_types.of(name, rows);
        // Times are not narrowed like integers, which become floats if some are missing.
        let is_time = mapping.narrow && numpy_type.is_some_and(|numpy_type| numpy_type.is_time());
        let mut field = resolve_member(name, rows, &mapping.with_narrow(mapping.narrow && !is_time))?;
        if is_time {
            field = field.with_nullable(rows.member(name).is_none_or(|own| own.values() < rows.values()));
        }
        Ok(match numpy_type {
            Some(numpy_type) => numpy_type.apply(field),
            None => field,
        })
    });
    let fields = fields.collect::<Result<Vec<Field>>>().map_err(|error| in_row(reader, error))?;
    Ok(Schema::new(fields))
}

/// Adds key and offset of the sample whose row an error names.
#[cold]
fn in_row(reader: &Reader, error: Error) -> Error {
    let Some(sample) = error.position().row.and_then(|row| reader.get(row).ok()) else { return error };
    let at = sample.offset();
    super::observe::in_sample(&sample, error).at(at)
}
