//! Tables as ds: columns become variables along the dimension of the rows, of the types they have.

use std::cell::Cell;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_schema::{DataType, Field, Schema};
use container_arrow::{Times, from_arrow};
use container_core::{Error, Loss, Position, Result};
use dsfmt::Written;
use dsfmt::arrow::{ArrowWriter, WriterOptions};

use super::super::super::Lost;
use super::super::job::{Context, Job, Report};
use super::super::targets::DsTarget;
use super::super::variables::{self, Output, put_other};
use super::copy::copy;
use super::inputs::Joined;
use super::meaning::{self, Profile, Translation};
use super::recode::{Recode, Recoder};

/// Writes the rows of all inputs, which have the same columns, to a ds file.
pub(in super::super) fn run(
    job: &Job<'_>,
    target: &DsTarget,
    output: Output<'_>,
    context: &mut Context<'_, '_>,
    report: &mut Report,
) -> Result<()> {
    let mut joined = Joined::open(job, context.opener)?;
    let fields: Vec<Field> = joined.schema.fields().iter().map(|field| meaning::with_slot_names(field)).collect();
    if fields.iter().zip(joined.schema.fields()).any(|(named, field)| named != field.as_ref()) {
        let columns = (0..fields.len()).map(|index| (index, Recode::Keep)).collect();
        let schema = Arc::new(Schema::new_with_metadata(fields, joined.schema.metadata().clone()));
        joined.recoder = Some(Recoder { schema, columns });
    }
    put(job, target, &joined, output, context, report)
}

/// Writes the rows of IDV files.
pub(in super::super) fn run_idv(
    job: &Job<'_>,
    target: &DsTarget,
    output: Output<'_>,
    context: &mut Context<'_, '_>,
    report: &mut Report,
) -> Result<()> {
    // Ticks hold every time exactly.
    let mut convert = job.convert.clone();
    convert.mapping.times = Some(Times::Ticks);
    let job = &Job { convert: &convert, ..*job };
    let mut joined = Joined::open(job, context.opener)?;
    let (profiles, rows) = profiles(job, &joined)?;
    let file = joined.inputs.first().map(|input| input.name.clone());
    let (mut fields, mut columns) = (Vec::new(), Vec::new());
    for (index, (field, profile)) in joined.schema.fields().iter().zip(&profiles).enumerate() {
        let Translation { field, recode, losses } = match meaning::is_column(field) {
            true => meaning::variable(field, profile)?,
            // A cast to a type that IDV does not have.
            false if !job.changes.is_empty() => Translation::unchanged(field),
            false => return Err(meaning::no_common_type(field)),
        };
        report.losses.extend(Lost::all(losses, file.as_deref()));
        fields.push(field);
        columns.push((index, recode));
    }
    meaning::name_rows(&mut fields, target.dim.as_deref(), rows)?;
    joined.recoder = Some(Recoder { schema: Arc::new(Schema::new(fields)), columns });
    put(job, target, &joined, output, context, report)
}

fn put(
    job: &Job<'_>,
    target: &DsTarget,
    joined: &Joined,
    output: Output<'_>,
    context: &mut Context<'_, '_>,
    report: &mut Report,
) -> Result<()> {
    let progress = context.progress;
    let options = WriterOptions::default()
        .with_ragged(target.ragged.unwrap_or_default())
        .with_structs(target.structs.unwrap_or_default());
    let options = match &target.dim {
        Some(dimension) => options.with_dimension(dimension),
        None => options,
    };
    let named = |error: Error| error.in_optional_file(joined.file().map(str::to_owned));
    let schema = || Arc::clone(joined.output_schema());
    let rows = Cell::new(0);
    let fill = |writer: &mut ArrowWriter| -> Result<Vec<Lost>> {
        let mut copied = Report::default();
        copy(job, joined, progress.as_ref(), &mut copied, &mut |batch| writer.write(batch))?;
        rows.set(copied.rows);
        Ok(copied.losses)
    };
    match output {
        Output::Ds => variables::put(job, context, report, |path, output| {
            let mut writer = ArrowWriter::create(path, schema(), options.with_output(output)).map_err(named)?;
            let mut lost = fill(&mut writer)?;
            lost.extend(Lost::all(writer.finish()?, None));
            let written = dsfmt::Reader::open(path)?;
            let variables = written.variables().count();
            Ok((Written { variables, bytes: written.source().len() }, lost))
        }),
        Output::Other(path, to) => {
            let mut writer = ArrowWriter::unwritten(path, schema(), options).map_err(named)?;
            report.losses.extend(fill(&mut writer)?);
            let (reader, losses) = writer.into_reader()?;
            report.losses.extend(Lost::all(losses, None));
            put_other(job, report, &reader, path, to)
        }
    }?;
    report.rows = rows.get();
    if joined.output_schema().fields().is_empty() && report.rows > 0 {
        let loss = Loss::new("row without columns left out, of which ds has none", report.rows, Position::default());
        report.losses.push(Lost { file: joined.inputs.first().map(|input| input.name.clone()), loss });
    }
    Ok(())
}

/// What the values of each column show that has to be known before any is written, and how many rows there are at most. Only columns of times and
/// of vectors of unknown length are read.
fn profiles(job: &Job<'_>, joined: &Joined) -> Result<(Vec<Profile>, u64)> {
    let mut profiles = vec![Profile::default(); joined.schema.fields().len()];
    let needed: Vec<usize> = joined
        .schema
        .fields()
        .iter()
        .enumerate()
        .filter(|(_, field)| Profile::is_needed(field))
        .map(|(index, _)| index)
        .collect();
    let wanted = job.rows();
    let (mut before, mut rows) = (0_u64, 0_u64);
    for input in &joined.inputs {
        let named = |error: Error| error.in_file(input.name.clone());
        let table = input.table().map_err(named)?;
        let (start, end) = (wanted.start.saturating_sub(before), wanted.end.saturating_sub(before));
        // Without a known length, as behind a filter, rows are counted as they come.
        let len = table.len();
        let (part, mut skip): (Range<u64>, u64) = match len {
            Some(len) => (start.min(len)..end.min(len), 0),
            None => (0..end, start),
        };
        rows = rows.saturating_add(part.end - part.start);
        before = before.saturating_add(len.unwrap_or(0));
        if needed.is_empty() || part.is_empty() {
            continue;
        }
        let mut scan = job.scan();
        let place = |index: &usize| {
            let name = joined.schema.fields().get(*index)?.name();
            let found = table.columns().iter().position(|column| column.name == name.as_str())?;
            Some((*index, found))
        };
        // Of a union, an input can lack some.
        let (here, columns): (Vec<usize>, Vec<usize>) = needed.iter().filter_map(place).unzip();
        (scan.scan.columns, scan.scan.rows) = (Some(columns), part);
        for batch in table.batches(&scan).map_err(named)? {
            let batch = batch.map_err(|error| named(from_arrow(error)))?;
            let count = batch.num_rows() as u64;
            let skipped = skip.min(count);
            skip -= skipped;
            before = before.saturating_add(if len.is_none() { count } else { 0 });
            let skipped = usize::try_from(skipped).unwrap_or(usize::MAX);
            let batch = batch.slice(skipped, batch.num_rows() - skipped);
            for (index, array) in here.iter().zip(batch.columns()) {
                if let (Some(profile), Some(field)) = (profiles.get_mut(*index), joined.schema.fields().get(*index)) {
                    observe(profile, field, array);
                }
            }
        }
    }
    Ok((profiles, rows))
}

fn observe(profile: &mut Profile, field: &Field, array: &ArrayRef) {
    let mut items = Arc::clone(array);
    if let DataType::List(_) = field.data_type() {
        let lists = array.as_list::<i32>();
        for pair in lists.value_offsets().windows(2) {
            let [start, end] = pair else { continue };
            let length = u32::try_from(end - start).unwrap_or(0);
            profile.ragged |= *profile.length.get_or_insert(length) != length;
        }
        items = Arc::clone(lists.values());
    } else if let Some(lists) = array.as_fixed_size_list_opt() {
        items = Arc::clone(lists.values());
    }
    if let Some(ticks) = items.as_primitive_opt::<Int64Type>().filter(|_| !profile.finer) {
        profile.finer = ticks.iter().flatten().any(|ticks| ticks % 10 != 0);
    }
}
