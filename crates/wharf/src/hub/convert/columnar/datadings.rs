//! Parquet and Arrow IPC as datadings: a sample of each row, with arrays of numpy where there are tensors.

use std::path::Path;
use std::sync::Arc;

use container_arrow::BatchWriter;
use container_core::{Error, ErrorKind, Result};
use datadings::arrow::{ArrowWriter, Keys, WriterOptions};
use datadings::{WriteSummary, WriterOptions as DatasetOptions};

use super::super::super::Bar;
use super::super::super::Lost;
use super::super::super::env::Opener;
use super::super::job::{Job, Report};
use super::copy::copy;
use super::inputs::{Beside, How, Joined};

/// The column that is a sample's key.
const KEY: &str = "key";

/// Writes the rows of all inputs, each with the columns it has, to a dataset.
pub(in super::super) fn write(
    job: &Job<'_>,
    opener: &mut Opener<'_>,
    (path, dataset, keys): (&Path, DatasetOptions, Keys),
    bar: &Bar,
    report: &mut Report,
) -> Result<WriteSummary> {
    // The key is read, too, where other columns are chosen.
    let beside = match &keys {
        Keys::Key => Some(Beside { name: KEY.to_owned(), first: true }),
        Keys::Column(name) => Some(Beside { name: name.clone(), first: false }),
        Keys::Number => None,
    };
    let how = How { apart: true, beside: beside.as_ref(), ..How::default() };
    let joined = Joined::open_with(job, opener, &how)?;
    let options = WriterOptions::default()
        .with_only_key(joined.has_beside)
        .with_first_row(job.rows().start)
        .with_keys(keys)
        .with_dataset(dataset);
    let named = |error: Error| match joined.inputs.first() {
        Some(input) if error.kind() != ErrorKind::Io => error.in_file(input.name.clone()),
        _ => error,
    };
    let mut schema = Arc::clone(&joined.schema);
    let mut writer = ArrowWriter::create(path, Arc::clone(&schema), options).map_err(named)?;
    copy(job, &joined, bar, report, &mut |batch| {
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
