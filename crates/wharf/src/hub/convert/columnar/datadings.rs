//! Record batches as datadings: each row becomes a sample, and tensors become numpy arrays.

use std::path::Path;
use std::sync::Arc;

use container_core::{Error, ErrorKind, Result};
use datadings::arrow::{ArrowWriter, Keys, WriterOptions};
use datadings::{WriteSummary, WriterOptions as DatasetOptions};

use super::super::super::Bar;
use super::super::super::Lost;
use super::super::super::env::Opener;
use super::super::job::{Job, Report};
use super::copy::copy;
use super::inputs::{ExtraColumn, JoinOptions, Joined};
use crate::hub::view::change::as_columns;

/// The column with the key of a sample.
const KEY: &str = "key";

/// Writes the rows of all inputs to a dataset, each with its own columns.
pub(in super::super) fn write(
    job: &Job<'_>,
    opener: &mut Opener<'_>,
    (path, dataset, keys): (&Path, DatasetOptions, Keys),
    progress: &Bar,
    report: &mut Report,
) -> Result<WriteSummary> {
    // The key is read even when only other columns are selected.
    let extra = match &keys {
        Keys::Key => Some(ExtraColumn { name: KEY.to_owned(), first: true }),
        Keys::Column(name) => Some(ExtraColumn { name: name.clone(), first: false }),
        _ => None, // row numbers
    };
    let options = JoinOptions { independent: !job.union, extra: extra.as_ref(), ..JoinOptions::default() };
    let joined = Joined::open_with(job, opener, &options)?;
    if joined.is_schemaless() && !joined.is_cells() && !job.changes.is_empty() {
        report.losses.push(Lost { file: None, loss: as_columns() });
    }
    let options = WriterOptions::default()
        .with_only_key(joined.has_extra)
        .with_first_row(job.rows().start)
        .with_keys(keys)
        .with_dataset(dataset);
    let named = |error: Error| match joined.inputs.first() {
        Some(input) if error.kind() != ErrorKind::Io => error.in_file(input.name.clone()),
        _ => error,
    };
    let mut schema = Arc::clone(&joined.schema);
    let mut writer = ArrowWriter::create(path, Arc::clone(&schema), options).map_err(named)?;
    copy(job, &joined, progress, report, &mut |batch| {
        if batch.schema_ref() != &schema {
            schema = batch.schema();
            writer.change_schema(Arc::clone(&schema))?;
        }
        writer.write(batch)
    })?;
    let (written, losses) = writer.finish_dataset()?;
    report.losses.extend(losses.into_iter().map(|loss| Lost { file: None, loss }));
    Ok(written)
}
