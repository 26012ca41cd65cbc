//! IDV as ds: each column a variable, its values typed as they are there.

mod column;
mod held;
mod said;
mod values;

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use container_core::{Error, Loss, OpenOptions, Position, Result, Unit};
use dsfmt::{Builder, Field, Writer};
use idv::{IdvContainer, Reader};

use super::super::{Bar, Lost, pour, select};
use super::source::Opened;
use super::text::together;
use super::{Env, Job, Report, ds};

use column::{Plan, Survey};
use said::Told;

/// An input and what is taken of it.
pub(super) struct File<'f> {
    pub(super) name: &'f str,
    pub(super) reader: Reader,
    pub(super) columns: Vec<usize>,
    pub(super) rows: Range<u64>,
}

/// Writes the rows of IDV files, which have to have the same columns, to a ds file.
pub(super) fn run(job: &Job<'_>, inputs: &[Opened], env: &mut Env<'_, '_>, report: &mut Report) -> Result<()> {
    let selection = &job.selection;
    let bar = Arc::clone(env.bar);
    let mut lost = Vec::new();
    let files = choose(job, inputs, env, &mut lost)?;
    let rows = files.iter().map(|file| file.rows.end - file.rows.start).fold(0, u64::saturating_add);
    let Some(first) = files.first() else { return Err(Error::usage("there is no input")) };
    bar.name(&together(inputs));
    let threads = selection.reading.threads;
    let mut plans = Vec::with_capacity(first.columns.len());
    for slot in 0..first.columns.len() {
        let mut survey: Option<Survey> = None;
        for file in &files {
            let found = Survey::of(file, slot, threads).map_err(|error| error.in_file(file.name.to_owned()))?;
            match &mut survey {
                None => survey = Some(found),
                Some(known) => known.merge(&found).map_err(|detail| {
                    let detail = format!("its columns differ from those of {}: {detail}", first.name);
                    Error::invalid(detail).in_file(file.name.to_owned())
                })?,
            }
        }
        let Some(survey) = survey else { continue };
        let mut plan = survey.plan(rows).map_err(|error| error.in_file(first.name.to_owned()))?;
        let told = said::attributes(first, slot, &plan);
        let mut differ = 0;
        for file in files.iter().skip(1) {
            let other = said::attributes(file, slot, &plan);
            if let Some(kind) = told.differing_names(&other, &plan) {
                let detail = format!("its columns differ from those of {}: metadata {kind:?} is another", first.name);
                return Err(Error::invalid(detail).in_column(plan.name).in_file(file.name.to_owned()));
            }
            differ += u64::from(other != told);
        }
        plan.take(told, differ, first.name, &mut lost);
        plans.push(plan);
    }
    if plans.is_empty() && rows > 0 {
        let loss = Loss::new("row without columns left out, of which ds has none", rows, Position::default());
        lost.push(Lost { file: Some(first.name.to_owned()), loss });
    }
    name_dimensions(&mut plans, job.ds.dim.as_deref(), rows, first.name, &mut lost);
    ds::put(job, env, report, &mut |path, options| {
        let mut builder = Builder::new();
        for plan in &plans {
            builder.field(plan.name.clone(), plan.field(rows));
        }
        let mut writer = builder.begin(path, options)?;
        bar.begin(Unit::Rows, rows.checked_mul(plans.len() as u64));
        pour_columns(&plans, &files, &mut writer, threads, bar.as_ref(), &mut lost)?;
        Ok((writer.finish()?, std::mem::take(&mut lost)))
    })
}

/// Gives the writer the columns in the order in which they stand in the file.
fn pour_columns(
    plans: &[Plan],
    files: &[File<'_>],
    writer: &mut Writer<'_>,
    threads: usize,
    bar: &Bar,
    lost: &mut Vec<Lost>,
) -> Result<()> {
    let by_name: HashMap<&str, usize> =
        plans.iter().enumerate().map(|(slot, plan)| (plan.name.as_str(), slot)).collect();
    while let Some(name) = writer.current() {
        let Some((slot, plan)) = by_name.get(name).and_then(|slot| Some((*slot, plans.get(*slot)?))) else {
            return Err(Error::usage("a variable of no column is asked for").in_column(name.to_owned()));
        };
        for file in files {
            let mut append = |array: &dsfmt::Array<'_>| {
                writer.append(array)?;
                bar.advance(array.shape().first().copied().unwrap_or(1));
                Ok(())
            };
            let losses = values::pour(plan, file, slot, threads, &mut append)?;
            lost.extend(losses.into_iter().map(|loss| Lost { file: Some(file.name.to_owned()), loss }));
        }
    }
    Ok(())
}

/// The columns and rows that are wanted of each input.
fn choose<'f>(job: &Job<'_>, inputs: &'f [Opened], env: &Env<'_, '_>, lost: &mut Vec<Lost>) -> Result<Vec<File<'f>>> {
    let selection = &job.selection;
    let wanted = job.rows();
    let mut files: Vec<File<'f>> = Vec::with_capacity(inputs.len());
    let mut before = 0u64;
    for (input, place) in inputs.iter().zip(&job.inputs) {
        let named = |error: Error| error.in_file(input.name.clone());
        let options = OpenOptions::default().with_access(env.opener.access);
        let reader = Reader::from_source(input.source()?.clone(), options).map_err(named)?;
        let container = IdvContainer::new(reader.clone());
        let table = select::table(&container, selection.reading.table.as_deref()).map_err(named)?;
        let chosen = select::columns(table, &selection.columns).map_err(named)?;
        if chosen.is_none() {
            lost.extend(pour::unreadable(place, table));
        }
        let columns = chosen.map_or_else(|| reader.readable_columns(), Ok).map_err(named)?;
        let count = reader.row_count();
        let rows = wanted.start.saturating_sub(before).min(count)..wanted.end.saturating_sub(before).min(count);
        let file = File { name: &input.name, reader, columns, rows };
        if let Some(first) = files.first() {
            let (expected, found) = (first.names(), file.names());
            if expected != found {
                let detail = format!(
                    "its columns differ from those of {}: they are {found:?} where {expected:?} are expected",
                    first.name
                );
                return Err(named(Error::invalid(detail)));
            }
        }
        files.push(file);
        before = before.saturating_add(count);
    }
    if let Some(range) = &selection.rows {
        range.check(before)?;
    }
    Ok(files)
}

impl File<'_> {
    /// The column of a slot.
    pub(super) fn column(&self, slot: usize) -> Result<&idv::Column> {
        let column = self.columns.get(slot).and_then(|index| self.reader.columns().get(*index));
        column.ok_or_else(|| Error::usage(format!("there is no column {slot}")))
    }

    fn names(&self) -> Vec<&str> {
        let all = self.reader.columns();
        self.columns.iter().filter_map(|index| all.get(*index)).map(idv::Column::unique_name).collect()
    }
}

/// Gives each variable the names of its dimensions: those that the metadata say, where they go together.
fn name_dimensions(plans: &mut [Plan], given: Option<&str>, rows: u64, file: &str, lost: &mut Vec<Lost>) {
    /// The dimension along which rows lie, where nothing is said.
    const ROW: &str = "row";
    let said = plans.iter().find_map(|plan| plan.dimensions.as_ref()?.first().cloned());
    let along = given.map(str::to_owned).or(said).unwrap_or_else(|| ROW.to_owned());
    let mut sizes: HashMap<String, u64> = HashMap::from([(along.clone(), rows)]);
    for plan in plans {
        let said = plan.dimensions.take();
        // A table of scalars is one again.
        if given.is_none() && rows == 1 && plan.inner.is_empty() && said.as_ref().is_some_and(Vec::is_empty) {
            plan.scalar = true;
            plan.dimensions = Some(Vec::new());
            continue;
        }
        let said = said.filter(|names| names.len() == plan.inner.len() + 1);
        let mut names = vec![along.clone()];
        for (number, size) in plan.inner.iter().enumerate() {
            let own = format!("{}_{}", plan.name, number + 2);
            let wanted = said.as_ref().and_then(|names| names.get(number + 1)).unwrap_or(&own);
            let known = sizes.get(wanted).copied();
            let name = if known.is_none_or(|known| known == *size) { wanted } else { &own };
            if name != wanted {
                let mut first = Position::default();
                first.column = Some(plan.name.clone().into());
                let what =
                    format!("dimension {wanted:?} of {size} elements called {own:?}, as that name has another size");
                lost.push(Lost { file: Some(file.to_owned()), loss: Loss::new(what, 1, first) });
            }
            sizes.insert(name.clone(), *size);
            names.push(name.clone());
        }
        plan.dimensions = Some(names);
    }
}

impl Plan {
    /// Takes over what the first file says, which `differ` others do not say.
    fn take(&mut self, told: Told, differ: u64, file: &str, lost: &mut Vec<Lost>) {
        let mut losses = told.losses;
        if differ > 0 {
            let mut first = Position::default();
            first.column = Some(self.name.clone().into());
            losses.push(Loss::new("metadata that are not those of the first file left out", differ, first));
        }
        lost.extend(losses.into_iter().map(|loss| Lost { file: Some(file.to_owned()), loss }));
        self.attributes = told.kept;
        self.dimensions = told.dimensions;
        self.time = told.time;
        self.nan_is_missing = told.nan_is_missing;
        self.may_miss |= told.nan_is_missing;
        self.data_type = told.before.unwrap_or(self.data_type);
    }

    /// The variable that is written.
    fn field(&self, rows: u64) -> Field<'static> {
        let mut shape = if self.scalar { Vec::new() } else { vec![rows] };
        shape.extend(&self.inner);
        let mut field = Field::stream(self.data_type, shape)
            .with_missing(self.may_miss)
            .with_dimensions(self.dimensions.clone().unwrap_or_default())
            .with_time(self.time);
        for (name, value) in &self.attributes {
            field = field.with_attribute(name, value.clone());
        }
        field
    }
}
