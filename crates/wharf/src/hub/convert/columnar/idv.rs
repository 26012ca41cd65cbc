//! Parquet and Arrow IPC as IDV: columns keep the types they have.

use std::collections::HashMap;
use std::io::{Seek, Write};
use std::sync::Arc;

use container_core::{Error, Loss, Position, Result};
use idv::arrow::{ArrowOptions, ArrowWriter, NullIntegers};
use serde_json::Value;

use super::super::super::env::Opener;
use super::super::super::{Bar, DS, Lost};
use super::super::idv::Writing;
use super::super::{Job, Report};
use super::copy;
use super::inputs::Joined;

/// What is said of ds files and their variables beside values and types: IDV gets it only where times come as the numbers that are stored.
fn attributes(joined: &Joined) -> Option<Lost> {
    let counted = |metadata: &HashMap<String, String>| -> usize {
        let said = metadata.get(DS).and_then(|text| serde_json::from_str::<Value>(text).ok());
        said.as_ref().and_then(|said| said.get("attributes")?.as_object()).map_or(0, |all| all.len())
    };
    let schema = &joined.schema;
    let count =
        counted(schema.metadata()) + schema.fields().iter().map(|field| counted(field.metadata())).sum::<usize>();
    let loss =
        Loss::new("attribute left out: with times, IDV gets values and types alone", count as u64, Position::default());
    let file = match joined.inputs.as_slice() {
        [input] => Some(input.name.clone()),
        _ => None,
    };
    (count > 0).then_some(Lost { file, loss })
}

/// Writes the rows of all inputs, which have the same columns, to an IDV file.
pub(in super::super) fn write<W: Write + Seek>(
    job: &Job<'_>,
    opener: &mut Opener<'_>,
    sink: W,
    bar: &Arc<Bar>,
    done: &mut Report,
) -> Result<W> {
    let joined = Joined::open(job, opener)?;
    done.columns = joined.schema.fields().len();
    if job.selection.reading.time.is_some() {
        done.losses.extend(attributes(&joined));
    }
    let writing = Writing(&job.idv);
    let mut options = writing.options(job.selection.reading.threads, Arc::clone(bar));
    // The bar counts rows that are read.
    options.progress = None;
    let integers = if job.idv.missing_as_double { NullIntegers::Double } else { NullIntegers::Error };
    let options =
        ArrowOptions::from(options).with_null_integers(integers).with_times(job.columnar.times.unwrap_or_default());
    let named = |error: Error| match joined.inputs.as_slice() {
        [input] => error.in_file(input.name.clone()),
        _ => error,
    };
    let mut writer = ArrowWriter::new(sink, &joined.schema, options).map_err(named)?;
    copy(job, &joined, bar.as_ref(), done, &mut |batch| writer.write(batch))?;
    let (sink, losses) = writer.finish_sink()?;
    done.losses.extend(losses.into_iter().map(|loss| Lost { file: None, loss }));
    Ok(sink)
}
