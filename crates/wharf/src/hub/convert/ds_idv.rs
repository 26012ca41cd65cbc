//! ds as IDV: the variables along a dimension as typed columns, some rows at a time.

mod fill;
pub(super) mod said;

use std::io::{Seek, Write};
use std::ops::Range;
use std::sync::Arc;

use container_core::{Error, ErrorKind, Loss, OpenOptions, Position, Progress, Result, Table, Unit};
use dsfmt::Variable;
use dsfmt::container::DsContainer;
use idv::{ColumnSchema, ColumnSlice, Schema, Writer};

use super::super::{DS, Lost, pour, select};
use super::idv::Writing;
use super::source::Opened;
use super::{Bar, Job, Report};

use fill::Filler;

/// Rows that are brought over at once: as many as ML.NET puts into a block,
const ROWS: u64 = 8192;

/// or fewer, of about so many bytes.
const BYTES: u64 = 16 << 20;

/// Rows without elements that are written, for each element beside them, or else in all.
const GROWTH: u64 = 16;
const MOST_EMPTY: u64 = 1 << 20;

/// An input and what is taken of it.
struct File<'f> {
    name: &'f str,
    variables: Vec<Variable<'f>>,
    rows: Range<u64>,
}

/// Writes the rows of ds files, which have to have the same variables, to an IDV file.
pub(super) fn write<W: Write + Seek>(
    job: &Job<'_>,
    inputs: &[Opened],
    sink: W,
    bar: &Arc<Bar>,
    done: &mut Report,
) -> Result<W> {
    let mut containers = Vec::with_capacity(inputs.len());
    for input in inputs {
        let reader = dsfmt::Reader::from_source(input.source()?.clone(), OpenOptions::default());
        containers.push(DsContainer::new(reader.map_err(|error| error.in_file(input.name.clone()))?));
    }
    let files = choose(job, inputs, &containers, done)?;
    let Some(first) = files.first() else { return Err(Error::usage("there is no input")) };
    for file in files.iter().skip(1) {
        same(first, file).map_err(|error| error.in_file(file.name.to_owned()))?;
    }
    let mut schema = Vec::with_capacity(first.variables.len());
    let mut fillers = Vec::with_capacity(first.variables.len());
    for (index, variable) in first.variables.iter().enumerate() {
        let filler = filler(index, &files, done)?;
        let mut column = ColumnSchema::new(variable.name(), filler.kind().clone());
        let told = said::metadata(variable, &filler);
        for (kind, value_type, value) in told.kept {
            column = column.with_metadata(kind, value_type, value);
        }
        let place = |row| {
            let mut first = Position::default();
            (first.column, first.row) = (Some(variable.name().to_owned().into()), row);
            first
        };
        let mut losses = vec![];
        if !told.left_out.is_empty() {
            let what = format!("attribute left out that is no metadata of IDV: {}", listed(&told.left_out));
            losses.push(Loss::new(what, told.left_out.len() as u64, place(None)));
        }
        let others = files.iter().skip(1).filter_map(|file| file.variables.get(index));
        let differ = others.filter(|other| said::attributes(other) != said::attributes(variable)).count() as u64;
        if differ > 0 {
            losses.push(Loss::new("attributes that are not those of the first file left out", differ, place(None)));
        }
        done.losses.extend(losses.into_iter().map(|loss| Lost { file: Some(first.name.to_owned()), loss }));
        fillers.push(filler.with_labels(&column));
        schema.push(column);
    }
    let mut schema = Schema::new(schema);
    let writing = Writing(&job.idv);
    writing.apply(&mut schema);
    done.columns = schema.columns.len();
    let total = files.iter().map(|file| file.rows.end - file.rows.start).fold(0, u64::saturating_add);
    bar.begin(Unit::Rows, Some(total));
    let options = writing.options(job.selection.reading.threads, Arc::clone(bar) as Arc<dyn Progress>);
    let mut writer = Writer::new(sink, schema, options)?;
    for (number, file) in files.iter().enumerate() {
        bar.name(&pour::nth(file.name.to_owned(), number, files.len()));
        pour_file(file, &mut fillers, &mut writer).map_err(|error| match error.kind() {
            ErrorKind::Io if error.position() == &Position::default() => error,
            _ => error.in_file(file.name.to_owned()),
        })?;
        done.rows += file.rows.end - file.rows.start;
    }
    writer.finish()
}

impl File<'_> {
    /// Refuses more rows without elements than anybody can have meant: a file of some bytes may state any number of them.
    fn check_empty(&self) -> Result<()> {
        let rows = self.rows.end - self.rows.start;
        let wide = |variable: &Variable<'_>| fill::wide(variable);
        let elements = self.variables.iter().map(wide).fold(0, u64::saturating_add).saturating_mul(rows);
        let mut empty = self.variables.iter().filter(|variable| wide(variable) == 0);
        let count = (empty.clone().count() as u64).saturating_mul(rows);
        let most = elements.saturating_mul(GROWTH).max(MOST_EMPTY);
        match empty.next().filter(|_| count > most) {
            None => Ok(()),
            Some(variable) => {
                let error = Error::limit("rows without elements", count, most).in_format(DS);
                Err(error.in_column(variable.name().to_owned()))
            }
        }
    }
}

/// The variables and rows that are wanted of each input.
fn choose<'f>(
    job: &Job<'_>,
    inputs: &'f [Opened],
    containers: &'f [DsContainer],
    done: &mut Report,
) -> Result<Vec<File<'f>>> {
    let selection = &job.selection;
    let mut files = Vec::with_capacity(inputs.len());
    let mut before = 0u64;
    let wanted = job.rows();
    for ((input, place), container) in inputs.iter().zip(&job.inputs).zip(containers) {
        let named = |error: Error| error.in_file(input.name.clone());
        let table = select::table(container, selection.reading.table.as_deref()).map_err(named)?;
        let chosen = select::columns(table, &selection.columns).map_err(named)?;
        let mut lost = Vec::new();
        if chosen.is_none() {
            lost.extend(pour::unreadable(place, table));
        }
        let variables = variables(container, table, chosen.as_deref(), &mut lost, &input.name).map_err(named)?;
        // Of the whole dataset: it has no place in the file.
        let left: Vec<String> = container.reader().attributes().map(|(name, _)| name).collect();
        if !left.is_empty() {
            let what = format!("attribute of the dataset left out, of which IDV has none: {}", listed(&left));
            let loss = Loss::new(what, left.len() as u64, Position::default());
            lost.push(Lost { file: Some(input.name.clone()), loss });
        }
        done.losses.extend(lost);
        let count = table.len().unwrap_or(0);
        let rows = wanted.start.saturating_sub(before).min(count)..wanted.end.saturating_sub(before).min(count);
        let file = File { name: &input.name, variables, rows };
        file.check_empty().map_err(named)?;
        if file.rows == (0..count) {
            container.reader().check_together(file.variables.iter().copied()).map_err(named)?;
        }
        files.push(file);
        before = before.saturating_add(count);
    }
    if let Some(range) = &selection.rows {
        range.check(before)?;
    }
    Ok(files)
}

/// The variables of a table's columns. Those without values are left out, unless they were asked for.
fn variables<'f>(
    container: &'f DsContainer,
    table: &dyn Table,
    chosen: Option<&[usize]>,
    lost: &mut Vec<Lost>,
    file: &str,
) -> Result<Vec<Variable<'f>>> {
    let mut variables = Vec::new();
    let all: Vec<usize> = (0..table.columns().len()).collect();
    for &index in chosen.unwrap_or(&all) {
        let Some(info) = table.columns().get(index) else { continue };
        let in_column = |error: Error| error.in_column(info.name.clone()).in_format(DS);
        if let Some(why) = &info.unreadable {
            match chosen {
                Some(_) => return Err(in_column(Error::invalid(format!("the variable cannot be read: {why}")))),
                None => continue, // which was told
            }
        }
        let variable = container.reader().variable(&info.name)?;
        if variable.shape().is_some() {
            variables.push(variable);
        } else if chosen.is_some() {
            return Err(in_column(Error::usage("the variable is empty: IDV has no columns without values")));
        } else {
            let mut first = Position::default();
            first.column = Some(info.name.clone().into());
            let loss = Loss::new("variable left out (it is empty, of which IDV has none)", 1, first);
            lost.push(Lost { file: Some(file.to_owned()), loss });
        }
    }
    Ok(variables)
}

/// Fails when the variables of a file are not those of the first one: names, types, and sizes but for the first.
fn same(first: &File<'_>, other: &File<'_>) -> Result<()> {
    let differ = |detail: String| Error::invalid(format!("its columns differ from those of {}: {detail}", first.name));
    let names = |file: &File<'_>| file.variables.iter().map(|variable| variable.name().to_owned()).collect::<Vec<_>>();
    let (expected, found) = (names(first), names(other));
    if expected != found {
        return Err(differ(format!("they are {} where {} are expected", listed(&found), listed(&expected))));
    }
    for (one, two) in first.variables.iter().zip(&other.variables) {
        let kind = |variable: &Variable<'_>| {
            let inner = variable.shape().unwrap_or_default().get(1..).unwrap_or_default();
            let name = variable.data_type().map_or("none", dsfmt::DataType::name);
            if inner.is_empty() { name.to_owned() } else { format!("{name}{inner:?}") }
        };
        let (expected, found) = (kind(one), kind(two));
        if expected != found {
            return Err(differ(format!("column {:?}: {found} where {expected} is expected", one.name())));
        }
        let attribute = |variable: &Variable<'_>, name: &str| {
            variable.attributes().get(name).map_or("missing".to_owned(), |value| value.as_text().to_owned())
        };
        for name in dsfmt::MEANING_ATTRIBUTES {
            let (there, here) = (attribute(one, name), attribute(two, name));
            if there != here {
                let detail = format!("attribute {name:?} is {here} here, {there} there");
                return Err(differ(detail).in_column(one.name().to_owned()));
            }
        }
    }
    Ok(())
}

/// How a column is filled, from what all files have of it.
fn filler(index: usize, files: &[File<'_>], done: &mut Report) -> Result<Filler> {
    let (mut missing, mut lost) = (0, None);
    for file in files {
        let Some(variable) = file.variables.get(index) else { continue };
        let found = fill::missing(variable, &file.rows).map_err(|error| error.in_file(file.name.to_owned()))?;
        if let (Some(row), None) = (found.first, &lost) {
            let mut first = Position::default();
            (first.column, first.row) = (Some(variable.name().to_owned().into()), Some(row));
            lost = Some((file.name.to_owned(), first));
        }
        missing += found.count;
    }
    let Some((first, variable)) = files.first().and_then(|file| Some((file, file.variables.get(index)?))) else {
        return Err(Error::usage("there is no such column")); // there is: it is counted by the caller
    };
    let filler = Filler::new(variable, missing > 0).map_err(|error| error.in_file(first.name.to_owned()))?;
    if let (Some((file, first)), true) = (lost, filler.widens()) {
        let loss = Loss::new("missing integer written as NaN, and its column as Double", missing, first);
        done.losses.push(Lost { file: Some(file), loss });
    }
    Ok(filler)
}

fn pour_file<W: Write + Seek>(file: &File<'_>, fillers: &mut [Filler], writer: &mut Writer<W>) -> Result<()> {
    let wide: u64 = file.variables.iter().map(fill::row_bytes).fold(0, u64::saturating_add);
    let step = (BYTES / wide.max(1)).clamp(1, ROWS);
    let mut at = file.rows.start;
    while at < file.rows.end {
        let rows = at..file.rows.end.min(at + step);
        let filled = fillers.iter_mut().zip(&file.variables).map(|(filler, variable)| filler.fill(variable, &rows));
        let filled = filled.collect::<Result<Vec<_>>>()?;
        let slices: Vec<ColumnSlice<'_>> = filled.iter().map(ColumnSlice::from).collect();
        if !slices.is_empty() {
            writer.append_columns(&slices)?;
        }
        at = rows.end;
    }
    Ok(())
}

/// Some names for people.
fn listed(names: &[String]) -> String {
    const MOST: usize = 10;
    let mut shown: Vec<String> = names.iter().take(MOST).map(|name| format!("{name:?}")).collect();
    if names.len() > MOST {
        shown.push(format!("{} more", names.len() - MOST));
    }
    shown.join(", ")
}
