//! ds files joined along a dimension.

use container_core::{Error, Overwrite, Result};
use dsfmt::{MergeOptions, Reader, merge};

use super::super::convert::To;
use super::super::env::Opener;
use super::super::inputs::Location;
use super::super::{Lost, open_ds, put_ds, stream_ds};
use super::{Merge, Report};

pub(super) fn run(job: &Merge, to: To<'_>, opener: &mut Opener<'_>, report: &mut Report) -> Result<()> {
    let options = &job.ds;
    let Some(dimension) = &options.dim else {
        return Err(Error::usage("ds files are joined along a dimension").advising("{dim} says which"));
    };
    let readers: Vec<Reader> =
        job.inputs.iter().map(|location| open_ds(location, opener, "merge")).collect::<Result<_>>()?;
    let wanted = MergeOptions::default()
        .with_new(options.new.clone())
        .with_variables(options.variables.clone())
        .with_keep_times(options.keep_times)
        .with_names(job.inputs.iter().map(Location::name).collect());
    let mut joined = Some(merge(&readers.iter().collect::<Vec<_>>(), dimension, wanted)?);
    let losses = joined.iter().flat_map(|joined| joined.losses()).cloned();
    report.losses = losses.map(|loss| Lost { file: None, loss }).collect();
    report.inputs = readers.len();
    let mut write = |path: &std::path::Path, output| match joined.take() {
        Some(joined) => Ok((joined.write(path, output)?, Vec::new())),
        None => Err(Error::usage("the files are written already")),
    };
    let (written, _) = match to {
        To::Path(path, overwrite) => put_ds(path, overwrite == Overwrite::Replace, &job.inputs, &mut write)?,
        To::Stream(stream) => stream_ds(stream, &mut write)?,
    };
    (report.variables, report.bytes) = (written.variables, written.bytes);
    Ok(())
}
