//! Copies variables into a ds file, or one of another format of variables: all, some, or a range of rows.

use std::ops::Range;
use std::path::Path;

use container_core::{Error, OutputOptions, Result};
use dsfmt::netcdf::{self, Converted};
use dsfmt::{Builder, Field, Reader, Select, Selection, Variable, Writer};

use super::super::inputs::Location;
use super::super::{Lost, Saved, put_ds, rejected_by_ds, stream_ds};
use super::job::{Context, Job, Report};
use super::source::Kind;
use super::targets::DsTarget;
use super::text::does_not_go;

/// How variables are written.
#[derive(Clone, Copy)]
pub(super) enum Output<'a> {
    Ds,
    Other(&'a Path, &'a dyn VariablesFormat),
}

/// A format of variables that is written from those of ds, with its options.
pub(super) trait VariablesFormat {
    fn write_ds(&self, reader: &Reader, path: &Path) -> Result<Converted>;

    /// Whether rows of all variables are read in turns.
    fn reads_in_turns(&self) -> bool {
        false
    }
}

impl VariablesFormat for netcdf::WriteOptions {
    fn write_ds(&self, reader: &Reader, path: &Path) -> Result<Converted> {
        netcdf::from_ds(reader, path, self)
    }

    fn reads_in_turns(&self) -> bool {
        self.unlimited.is_some()
    }
}

/// Writes another format than ds, and fills the report.
pub(super) fn put_other(
    job: &Job<'_>,
    report: &mut Report,
    reader: &Reader,
    path: &Path,
    format: &dyn VariablesFormat,
) -> Result<()> {
    let done = format.write_ds(reader, path)?;
    let name = match job.inputs.as_slice() {
        [location] => Some(location.name()),
        _ => None,
    };
    report.losses.extend(Lost::all(done.losses, name.as_deref()));
    (report.variables, report.bytes) = (done.written.variables, done.written.bytes);
    Ok(())
}

/// Writes the ds file, and fills the report.
pub(super) fn put(
    job: &Job<'_>,
    context: &mut Context<'_, '_>,
    report: &mut Report,
    write: impl FnOnce(&Path, OutputOptions) -> Result<Saved>,
) -> Result<()> {
    let (written, lost) = match job.path {
        Some(path) => put_ds(path, job.force, &job.inputs, write)?,
        None => stream_ds(context.stream()?, write)?,
    };
    report.losses.extend(lost);
    (report.variables, report.bytes) = (written.variables, written.bytes);
    Ok(())
}

/// Copies variables of the one input.
pub(super) fn copied(
    job: &Job<'_>,
    target: &DsTarget,
    (kind, reader): (Kind, &Reader),
    output: Output<'_>,
    context: &mut Context<'_, '_>,
    report: &mut Report,
) -> Result<()> {
    let selection = &job.selection;
    let cut = selection.rows.is_some() || selection.limit.is_some();
    if !cut {
        let rows = [("dim", target.dim.is_some()), ("table", selection.reading.table.is_some())];
        does_not_go(&rows, kind)?;
    }
    let name = job.inputs.first().map(Location::name).unwrap_or_default();
    let named = |error: Error| error.in_file(name.clone());
    let chosen: Vec<Variable<'_>> = match job.columns()? {
        None => reader.variables().collect(),
        Some(names) => names.iter().map(|name| reader.variable(name)).collect::<Result<_>>().map_err(named)?,
    };
    let rows = match cut {
        false => None,
        true => {
            let asked = target.dim.as_deref().or(selection.reading.table.as_deref());
            let (dimension, size) = dimension(reader, asked).map_err(named)?;
            let rows = job.rows();
            if let Some(range) = &selection.rows {
                range.check(size).map_err(named)?;
            }
            Some(Slice { dimension, rows: rows.start.min(size)..rows.end.min(size) })
        }
    };
    let mut builder = Builder::new();
    builder.copy_attributes(reader);
    for variable in &chosen {
        let shape = rows.as_ref().and_then(|cut| cut.shape(variable));
        builder.field(
            variable.name(),
            match (shape, variable.data_type()) {
                // The mask is declared even if no selected element is missing, as the reference does.
                (Some(shape), Some(data_type)) => Field::stream(data_type, shape)
                    .with_missing(variable.is_masked())
                    .with_metadata_of(variable)
                    .with_dimensions(variable.dimensions()),
                _ => Field::copy(variable),
            },
        );
    }
    let append = |writer: &mut Writer<'_>| -> Result<()> {
        while let (Some(rows), Some(variable)) = (&rows, writer.current().map(|name| reader.variable(name))) {
            rows.write(&variable.map_err(named)?, writer).map_err(named)?;
        }
        Ok(())
    };
    let rejected = || if rows.is_some() { Ok(Vec::new()) } else { rejected_by_ds(&builder, &|_| Some(name.clone())) };
    match output {
        Output::Ds => put(job, context, report, |path, options| {
            let mut writer = builder.clone().begin(path, options)?;
            append(&mut writer)?;
            Ok((writer.finish()?, rejected()?))
        }),
        Output::Other(path, format) => {
            let mut writer = builder.clone().begin_unwritten(path)?;
            append(&mut writer)?;
            report.losses.extend(rejected()?);
            put_other(job, report, &writer.into_reader()?, path, format)
        }
    }
}

/// The dimension of the rows: the named one, or the only first dimension of variables.
fn dimension(reader: &Reader, asked: Option<&str>) -> Result<(String, u64)> {
    let all = reader.dimensions();
    let quoted = |names: &[&str]| names.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ");
    let mut first: Vec<&str> = Vec::new();
    let name = match asked {
        Some(name) => name,
        None => {
            for variable in reader.variables().filter(|variable| variable.problem().is_none()) {
                match variable.dimensions().first() {
                    Some(name) if !first.contains(&name.as_str()) => first.push(name),
                    _ => {}
                }
            }
            match first.as_slice() {
                [name] => *name,
                [] => return Err(Error::usage("no variable has a dimension, so there are no rows")),
                names => {
                    let detail = format!(
                        "rows may lie along several dimensions, and none is chosen: they are {}",
                        quoted(names)
                    );
                    return Err(Error::usage(detail));
                }
            }
        }
    };
    let found = all.iter().find(|dimension| dimension.name == name).map(|found| (found.name.clone(), found.size));
    found.ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(|dimension| dimension.name.as_str()).collect();
        Error::usage(format!("no dimension {name:?}: the dimensions are {}", quoted(&names)))
    })
}

/// Elements that are read at once, approximately.
const CHUNK_ELEMENTS: u64 = 256 << 10;

/// A range of rows along a dimension.
struct Slice {
    dimension: String,
    rows: Range<u64>,
}

impl Slice {
    /// The shape of the selected part of a variable; `None` if it lacks the dimension.
    fn shape(&self, variable: &Variable<'_>) -> Option<Vec<u64>> {
        let mut shape = variable.shape()?.to_vec();
        let along = |(name, _): &(&String, &mut u64)| *name == &self.dimension;
        let mut found = false;
        for (_, size) in variable.dimensions().iter().zip(&mut shape).filter(along) {
            *size = self.rows.end.min(*size) - self.rows.start.min(*size);
            found = true;
        }
        found.then_some(shape)
    }

    /// Appends the selected part of a variable, some rows of its first dimension at a time.
    fn write(&self, variable: &Variable<'_>, writer: &mut Writer<'_>) -> Result<()> {
        let shape = self.shape(variable).unwrap_or_default();
        let first = variable.dimensions().first().is_some_and(|name| *name == self.dimension);
        let whole = variable.dimensions().iter().skip(1).all(|name| *name != self.dimension);
        let wide = shape.iter().skip(1).product::<u64>().max(1);
        let (mut at, rows) = (0, shape.first().copied().unwrap_or(1));
        let signed =
            |number: u64| i64::try_from(number).map_err(|_| Error::usage(format!("row {number} exceeds 2^63")));
        while at < rows {
            let end = rows.min(at.saturating_add((CHUNK_ELEMENTS / wide).max(1)));
            let moved = if first { self.rows.start } else { 0 };
            let piece = if whole {
                variable.read_rows(at + moved..end + moved)?
            } else {
                let inner = Select::range(signed(self.rows.start)?, signed(self.rows.end)?);
                let outer = Select::range(signed(at)?, signed(end)?);
                let selection = Selection::new().with(self.dimension.as_str(), inner);
                match variable.dimensions().first() {
                    Some(name) if !first => variable.select(&selection.with(name.as_str(), outer))?,
                    // The variable has the dimension twice.
                    _ => {
                        return writer.append(&variable.select(&selection)?);
                    }
                }
            };
            writer.append(&piece)?;
            at = end;
        }
        Ok(())
    }
}
