//! Copies the rows of joined inputs, batch by batch.

use std::sync::Arc;

use arrow_array::RecordBatch;
use container_arrow::from_arrow;
use container_core::{Error, ErrorKind, Result, Unit};

use super::super::super::{Bar, Lost, copy_rows};
use super::super::job::{Job, Report};
use super::inputs::Joined;
use super::pick::Gather;
use super::recode::Recoder;

/// Passes the selected rows of all inputs to `write`, batch by batch. `report` counts them, and says whether the sink failed.
pub(super) fn copy(
    job: &Job<'_>,
    joined: &Joined,
    progress: &Bar,
    report: &mut Report,
    write: &mut dyn FnMut(&RecordBatch) -> Result<()>,
) -> Result<()> {
    let requested = job.rows();
    let scan = job.scan();
    let (mut before, mut complete) = (0_u64, true);
    let mut gather = job.picked.as_deref().map(Gather::new);
    let mut put = |batch: &RecordBatch, report: &mut Report| {
        let written = write(batch);
        report.sink_failed = written.as_ref().is_err_and(|error| error.kind() == ErrorKind::Io);
        report.rows += if written.is_ok() { batch.num_rows() as u64 } else { 0 };
        written
    };
    for (number, input) in joined.inputs.iter().enumerate() {
        if number > 0 && before >= requested.end {
            complete = false;
            break;
        }
        progress.name(&copy_rows::input_label(input.name.clone(), number, joined.inputs.len()));
        let named = |error: Error| error.in_file(input.name.clone());
        let table = input.table().map_err(named)?;
        let (start, end) = (requested.start.saturating_sub(before), requested.end.saturating_sub(before));
        // Without a known length, rows are counted as they come. Text is not read twice just to know it beforehand.
        let len = if joined.is_sampled && input.is_text() { None } else { table.len() };
        let (rows, mut skip) = match len {
            Some(len) => (start.min(len)..end.min(len), 0),
            None => (0..end, start),
        };
        progress.begin(Unit::Rows, len.map(|_| rows.end - rows.start));
        let first_row = rows.start;
        let mut own = scan.clone();
        own.scan.columns.clone_from(&input.columns);
        if joined.is_sampled {
            own = own.with_sampled_schema(Arc::clone(&joined.schema));
        }
        own.scan.rows = rows;
        if let Some(declared) = &input.declared {
            own = own.with_schema(Arc::clone(declared));
        }
        let mut batches = table.batches(&own).map_err(named)?;
        let mut rows_read = 0_u64;
        let outcome = loop {
            let batch = match batches.next() {
                None => break Ok(()),
                Some(Err(error)) => break Err(named(from_arrow(error))),
                Some(Ok(batch)) => batch,
            };
            let rows = batch.num_rows() as u64;
            rows_read += rows;
            let skipped = skip.min(rows);
            skip -= skipped;
            let skipped = usize::try_from(skipped).unwrap_or(usize::MAX);
            let batch = batch.slice(skipped, batch.num_rows() - skipped);
            let first = first_row + rows_read - batch.num_rows() as u64;
            let batch = match joined.convert(&batch, first) {
                Ok(batch) => batch,
                Err(error) => break Err(named(error)),
            };
            let outcome = match &mut gather {
                Some(gather) => gather.take(&batch, before + first, &mut |batch| put(batch, report)),
                None => put(&batch, report),
            };
            if let Err(error) = outcome {
                break Err(if report.sink_failed { error } else { named(error) });
            }
            progress.advance(rows)?;
            if gather.as_ref().is_some_and(Gather::is_done) {
                break Ok(());
            }
        };
        let lost = batches.losses();
        // Some readers report left-out columns themselves.
        let left_out = input.left_out.iter().filter(|one| !lost.contains(&one.loss)).cloned().collect::<Vec<_>>();
        report.losses.extend(Lost::all(lost, Some(&input.name)));
        let recoded = joined.recoder.as_ref().map(Recoder::take_losses).unwrap_or_default();
        report.losses.extend(Lost::all(recoded, Some(&input.name)));
        outcome?;
        report.losses.extend(left_out);
        before = before.saturating_add(table.len().unwrap_or(rows_read));
    }
    if let Some(gather) = gather {
        gather.finish(&mut |batch| put(batch, report))?;
    }
    if let Some(range) = job.selection.rows.as_ref().filter(|_| complete) {
        range.check(before)?;
    }
    Ok(())
}
