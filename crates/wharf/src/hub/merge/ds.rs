//! Merges ds and NetCDF files along a dimension.

use std::path::Path;

use container_core::{Error, Overwrite, Result};
use dsfmt::netcdf::{self, WriteOptions, ds_view, from_ds};
use dsfmt::{MergeOptions, Reader, merge};

use super::super::convert::{Streaming, To};
use super::super::env::Opener;
use super::super::inputs::Location;
use super::super::{DS, Lost, open_ds, open_netcdf, output, put_ds, stream_ds};
use super::{DsMerger, Merge, Report};

/// The default compression level of Python's `netCDF4`.
const LEVEL: u8 = 4;

/// Which files of variables are merged.
#[derive(Debug, Clone, Copy)]
pub(in crate::hub) struct ArraysKind {
    pub(in crate::hub) format: &'static str,
    pub(in crate::hub) stream: Streaming,
    pub(in crate::hub) run: fn(&Merge, &DsMerger, To<'_>, &mut Opener<'_>, &mut Report) -> Result<()>,
}

pub(super) const NETCDF: ArraysKind = ArraysKind {
    format: netcdf::FORMAT_NAME,
    stream: Streaming::Unsupported("NetCDF is merged into a file"),
    run: run_netcdf,
};

impl Default for ArraysKind {
    fn default() -> Self {
        Self { format: DS, stream: Streaming::Binary, run }
    }
}

fn run(job: &Merge, options: &DsMerger, to: To<'_>, opener: &mut Opener<'_>, report: &mut Report) -> Result<()> {
    check(options)?;
    let readers: Vec<Reader> =
        job.inputs.iter().map(|location| open_ds(location, opener, "merge")).collect::<Result<_>>()?;
    let joined = join((job, options), &readers, report)?;
    let write = |path: &Path, output| Ok((joined.write(path, output)?, Vec::new()));
    let (written, _) = match to {
        To::Path(path, overwrite) => put_ds(path, overwrite == Overwrite::Replace, &job.inputs, write)?,
        To::Stream(stream) => stream_ds(stream, write)?,
    };
    (report.variables, report.bytes) = (written.variables, written.bytes);
    Ok(())
}

/// Merges NetCDF files. The output is CDF-5 or NetCDF-4 like the first input, or the oldest kind that can hold the data.
fn run_netcdf(job: &Merge, merger: &DsMerger, to: To<'_>, opener: &mut Opener<'_>, report: &mut Report) -> Result<()> {
    let (path, force) = to.file();
    let dimension = check(merger)?;
    if path == Path::new("-") {
        return Err(Error::usage("NetCDF is merged into a file, not a stream: give a path"));
    }
    let output = output::options(path, force, &job.inputs)?;
    let mut options = WriteOptions::default().with_output(output);
    let first = |reader: &netcdf::Reader| {
        options = like(reader, dimension, std::mem::take(&mut options));
    };
    let readers = views(job, netcdf::FORMAT_NAME, opener, report, first)?;
    let reader = join((job, merger), &readers, report)?.into_reader(path)?;
    let grows = options.unlimited.take();
    options.unlimited = grows.filter(|name| reader.dimensions().iter().any(|found| found.name == *name));
    report.add(from_ds(&reader, path, &options)?);
    Ok(())
}

impl Report {
    pub(in crate::hub) fn add(&mut self, done: netcdf::Converted) {
        self.losses.extend(Lost::all(done.losses, None));
        (self.variables, self.bytes) = (done.written.variables, done.written.bytes);
    }
}

/// The inputs, all of one format that is read as NetCDF, as ds. `first` gets the first of them.
pub(in crate::hub) fn views(
    job: &Merge,
    format: &str,
    opener: &mut Opener<'_>,
    report: &mut Report,
    mut first: impl FnMut(&netcdf::Reader),
) -> Result<Vec<Reader>> {
    let mut readers = Vec::new();
    for location in &job.inputs {
        let named = |error: Error| error.in_file(location.name());
        let input = location.input(opener).map_err(named)?;
        let found = opener.registry.detect(&input).map_err(named)?.name();
        if found != format {
            return Err(named(Error::usage(format!("found {found}, expected {format} like the first input"))));
        }
        let reader = open_netcdf(&input, opener).map_err(named)?;
        if readers.is_empty() {
            first(&reader);
        }
        let (view, losses) = ds_view(reader, &netcdf::ReadOptions::default(), location.name()).map_err(named)?;
        report.losses.extend(Lost::all(losses, Some(&location.name())));
        readers.push(view);
    }
    Ok(readers)
}

/// Options for writing a file like `first`.
fn like(first: &netcdf::Reader, dimension: &str, options: WriteOptions) -> WriteOptions {
    use netcdf::Kind::{Data64, Hdf5};

    let unlimited = || first.dimensions().iter().filter(|dimension| dimension.unlimited);
    let grows = unlimited().find(|found| found.name == dimension).or(unlimited().next());
    let values = first.variables().iter().filter_map(|variable| {
        let width = variable.nc_type.data_type()?.width()? as u64;
        variable.shape.iter().try_fold(width, |bytes, size| bytes.checked_mul(*size))
    });
    let is_compressed = first.kind() == Hdf5 && values.fold(0, u64::saturating_add) > first.source().len();
    options
        // The classic kinds have size limits that several files together can exceed.
        .with_kind(Some(first.kind()).filter(|kind| matches!(kind, Data64 | Hdf5)))
        .with_unlimited(grows.map(|dimension| dimension.name.clone()))
        .with_deflate(is_compressed.then_some(LEVEL))
}

/// The dimension along which files are merged.
pub(in crate::hub) fn check(options: &DsMerger) -> Result<&str> {
    options
        .dim
        .as_deref()
        .ok_or_else(|| Error::usage("ds and NetCDF files are merged along a dimension").advising("{dim} selects it"))
}

pub(in crate::hub) fn join<'r>(
    (job, ds): (&Merge, &DsMerger),
    readers: &'r [Reader],
    report: &mut Report,
) -> Result<dsfmt::Merge<'r>> {
    let options = MergeOptions::default()
        .with_new_dimension(ds.new.clone())
        .with_variables(ds.variables.clone())
        .with_keep_times(ds.keep_times)
        .with_names(job.inputs.iter().map(Location::name).collect());
    let readers: Vec<&Reader> = readers.iter().collect();
    let joined = merge(&readers, check(ds)?, options)?;
    report.losses.extend(Lost::all(joined.losses().to_vec(), None));
    report.inputs = readers.len();
    Ok(joined)
}
