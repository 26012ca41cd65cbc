//! Which columns a walk has.

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

/// Samples that are looked at in one piece.
const PIECE: u64 = 1 << 14;

/// The columns of a walk and where they come from.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) schema: SchemaRef,
    pub(super) lookup: Lookup,
    pub(super) rows: Range<u64>,
    /// Samples may have other fields, too.
    pub(super) is_part: bool,
    /// The schema does not follow from the samples.
    pub(super) is_declared: bool,
}

impl Plan {
    pub(super) fn new(container: &DatadingsContainer, scan: &BatchScan, pool: &Pool) -> Result<Self> {
        let made = match (&scan.schema, &scan.scan.columns) {
            (Some(schema), _) => Self::declared(container, schema, scan),
            (None, Some(columns)) => Self::chosen(container, columns, scan, pool),
            (None, None) => Self::whole(container, scan, pool),
        };
        let plan = made.map_err(|error| error.in_format(FORMAT_NAME))?;
        // What is wrong with the schema is told now, not in the middle of a walk.
        let columns = Columns::new(plan.schema.clone(), scan, &container.reader().options.limits);
        columns.map(|_| plan).map_err(|error| error.in_format(FORMAT_NAME))
    }

    /// The columns of a schema, whatever samples have.
    fn declared(container: &DatadingsContainer, schema: &SchemaRef, scan: &BatchScan) -> Result<Self> {
        let known: HashMap<&str, &FieldName> =
            container.fields().iter().map(|field| (field.unique.as_str(), &field.name)).collect();
        let names = schema.fields().iter().map(|field| match known.get(field.name().as_str()) {
            Some(name) => (*name).clone(),
            None => text(field.name()),
        });
        let rows = range(container.reader(), scan)?;
        Ok(Self { schema: schema.clone(), lookup: Lookup::new(names), rows, is_part: true, is_declared: true })
    }

    /// Some columns, by their numbers.
    fn chosen(container: &DatadingsContainer, columns: &[usize], scan: &BatchScan, pool: &Pool) -> Result<Self> {
        let rows = range(container.reader(), scan)?;
        let fields = container.fields();
        let field =
            |&index: &usize| fields.get(index).ok_or_else(|| Error::usage(format!("there is no column {index}")));
        let chosen = columns.iter().map(field).collect::<Result<Vec<_>>>()?;
        let lookup = || Lookup::new(chosen.iter().map(|field| field.name.clone()));
        let names = chosen.iter().map(|field| field.unique.clone()).collect();
        let known = Fields::Known(lookup(), names);
        let found = found(container.reader(), &known, rows.clone(), scan, pool).map_err(never_odd)?;
        let by_name: HashMap<&str, &Field> =
            found.fields().iter().map(|field| (field.name().as_str(), &**field)).collect();
        let fields = chosen.iter().map(|field| match by_name.get(field.unique.as_str()) {
            Some(field) => (*field).clone(),
            None => Field::new(&field.unique, DataType::Null, true),
        });
        let schema = Arc::new(Schema::new(fields.collect::<Vec<Field>>()));
        Ok(Self { schema, lookup: lookup(), rows, is_part: true, is_declared: false })
    }

    /// All fields that the samples of the range have.
    fn whole(container: &DatadingsContainer, scan: &BatchScan, pool: &Pool) -> Result<Self> {
        let rows = range(container.reader(), scan)?;
        let made = |schema: Schema, lookup| {
            let (schema, rows) = (Arc::new(schema), rows.clone());
            Self { schema, lookup, rows, is_part: false, is_declared: false }
        };
        match found(container.reader(), &Fields::Texts, rows.clone(), scan, pool) {
            Ok(schema) => {
                let lookup = Lookup::new(schema.fields().iter().map(|field| text(field.name())));
                return Ok(made(schema, lookup));
            }
            Err(Stop::Failed(error)) => return Err(error),
            Err(Stop::Odd) => {}
        }
        // What such fields are called is known when all are.
        container.infer_columns()?;
        let names = || container.fields().iter().map(|field| field.name.clone());
        let shown: Vec<String> = container.fields().iter().map(|field| field.unique.clone()).collect();
        let known = Fields::Known(Lookup::new(names()), shown.clone());
        let schema = found(container.reader(), &known, rows.clone(), scan, pool).map_err(never_odd)?;
        let by_name: HashMap<String, FieldName> = shown.into_iter().zip(names()).collect();
        let names = schema.fields().iter().filter_map(|field| by_name.get(field.name()).cloned());
        let lookup = Lookup::new(names);
        Ok(made(schema, lookup))
    }
}

/// Names that are no text were not looked for.
fn never_odd(stop: Stop) -> Error {
    match stop {
        Stop::Failed(error) => error,
        Stop::Odd => Error::invalid("the name of a field is no text"),
    }
}

fn range(reader: &Reader, scan: &BatchScan) -> Result<Range<u64>> {
    let rows = &scan.scan.rows;
    reader.samples(rows.clone()).map(|_| rows.start.min(reader.len())..rows.end.min(reader.len()))
}

/// The schema of fields by what the samples of a range have in them.
fn found(reader: &Reader, fields: &Fields, rows: Range<u64>, scan: &BatchScan, pool: &Pool) -> Result<Schema, Stop> {
    let limits = reader.options.limits;
    let observer = || Observer::new(fields, limits, scan.mapping.on_mismatch);
    let mut all = observer();
    let mut next = rows.start;
    while next < rows.end {
        let mut pieces = Vec::new();
        while next < rows.end && pieces.len() < pool.ahead() {
            let end = rows.end.min(next + PIECE);
            pieces.push(next..end);
            next = end;
        }
        for piece in pool.side_by_side(pieces, |piece| observer().look(reader, piece)) {
            all.merge(piece?)?;
        }
    }
    let (rows, mapping) = (all.seen.observed(), &scan.mapping);
    let fields = rows.members().into_iter().map(|name| {
        let mark = all.marks.of(name, rows);
        // Times are no integers, for which floats stand where some are missing.
        let is_time = mapping.narrow && mark.is_some_and(|mark| mark.is_time());
        let mut field = resolve_member(name, rows, &mapping.with_narrow(mapping.narrow && !is_time))?;
        if is_time {
            field = field.with_nullable(rows.member(name).is_none_or(|own| own.values() < rows.values()));
        }
        Ok(match mark {
            Some(mark) => mark.put(field),
            None => field,
        })
    });
    let fields = fields.collect::<Result<Vec<Field>>>().map_err(|error| placed(reader, error))?;
    Ok(Schema::new(fields))
}

/// Adds key and byte of the sample that an error names.
#[cold]
fn placed(reader: &Reader, error: Error) -> Error {
    let Some(sample) = error.position().row.and_then(|row| reader.get(row).ok()) else { return error };
    let at = sample.offset();
    super::observe::placed(&sample, error).at(at)
}
