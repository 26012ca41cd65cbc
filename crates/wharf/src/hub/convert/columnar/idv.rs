//! Parquet and Arrow IPC as IDV: columns keep the types they have.

use std::io::{Seek, Write};
use std::sync::Arc;

use container_core::{Error, Result};
use idv::arrow::{ArrowOptions, ArrowWriter, NullIntegers};

use super::super::super::Bar;
use super::super::super::Lost;
use super::super::super::env::Opener;
use super::super::idv::Writing;
use super::super::{Job, Report};
use super::copy;
use super::inputs::Joined;

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
