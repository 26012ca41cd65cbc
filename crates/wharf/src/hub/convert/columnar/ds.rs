//! Parquet, Arrow IPC and datadings as ds: columns become variables along the dimension of the rows, of the types they have.

use std::sync::Arc;

use container_arrow::BatchWriter;
use container_core::{Error, Result};
use dsfmt::Written;
use dsfmt::arrow::{ArrowWriter, WriterOptions};

use super::super::super::Lost;
use super::super::{Env, Job, Report};
use super::copy;
use super::inputs::Joined;

/// Writes the rows of all inputs, which have the same columns, to a ds file.
pub(in super::super) fn run(job: &Job<'_>, env: &mut Env<'_, '_>, report: &mut Report) -> Result<()> {
    let joined = Joined::open(job, env.opener)?;
    let bar = env.bar;
    super::super::ds::put(job, env, report, &mut |path, output| {
        let options = WriterOptions::default()
            .with_output(output)
            .with_ragged(job.ds.ragged.unwrap_or_default())
            .with_structs(job.ds.structs.unwrap_or_default());
        let options = match &job.ds.dim {
            Some(dimension) => options.with_dimension(dimension),
            None => options,
        };
        let named = |error: Error| match joined.inputs.as_slice() {
            [input] if error.position().file.is_none() => error.in_file(input.name.clone()),
            _ => error,
        };
        let mut writer = ArrowWriter::new(path, Arc::clone(&joined.schema), options).map_err(named)?;
        let mut copied = Report::default();
        copy(job, &joined, bar.as_ref(), &mut copied, &mut |batch| writer.write(batch))?;
        let losses = Box::new(writer).finish()?;
        copied.losses.extend(Lost::all(losses, None));
        let written = dsfmt::Reader::open(path)?;
        let variables = written.variables().count();
        Ok((Written { variables, bytes: written.source().len() }, copied.losses))
    })
}
