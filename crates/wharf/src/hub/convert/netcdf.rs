//! NetCDF, to ds and from it.

use container_core::{Error, Result};
use dsfmt::netcdf::{ReadOptions, WriteOptions, from_ds, to_ds as write_ds};

use super::super::inputs::Location;
use super::super::{Lost, open_ds, open_netcdf, output};
use super::text::refuse;
use super::{Env, Job, Report, ds};

/// The one input, of which nothing is chosen.
fn single<'p>(job: &'p Job<'_>, from: &str) -> Result<&'p Location> {
    let selection = &job.selection;
    let given = [
        ("rows", selection.rows.is_some()),
        ("limit", selection.limit.is_some()),
        ("columns", !selection.columns.is_empty()),
        ("table", selection.reading.table.is_some()),
        ("time", selection.reading.time.is_some()),
    ];
    refuse(&given, from)?;
    match job.inputs.as_slice() {
        [location] => Ok(location),
        all => Err(Error::usage(format!("{from} files are converted one by one, these are {}", all.len()))),
    }
}

/// A NetCDF file as ds.
pub(super) fn to_ds(job: &Job<'_>, env: &mut Env<'_, '_>, report: &mut Report) -> Result<()> {
    let location = single(job, "NetCDF")?;
    refuse(&[("dim", job.ds.dim.is_some())], "NetCDF")?;
    let named = |error: Error| error.in_file(location.name());
    let input = location.input(env.opener).map_err(named)?;
    let source = input.source().ok_or_else(|| named(Error::usage("it is a folder where a file is wanted")))?;
    let reader = open_netcdf(source.clone(), env.opener).map_err(named)?;
    let reading = ReadOptions::default().with_scaled(job.ds.scaled);
    ds::put(job, env, report, &mut |path, output| {
        // What names no file is about the input: the writer names the output.
        let done = write_ds(&reader, path, &reading, output).map_err(named)?;
        Ok((done.written, Lost::all(done.losses, Some(&location.name())).collect()))
    })
}

/// A ds file as NetCDF.
pub(super) fn run(job: &Job<'_>, env: &mut Env<'_, '_>, report: &mut Report) -> Result<()> {
    let location = single(job, "ds")?;
    let path = job.path("NetCDF is a file")?;
    let reader = open_ds(location, env.opener, "convert to NetCDF")?;
    let options = WriteOptions::default()
        .with_kind(job.netcdf.kind)
        .with_unlimited(job.netcdf.unlimited.clone())
        .with_deflate(job.netcdf.deflate)
        .with_output(output::options(path, job.force, &job.inputs)?);
    let done = from_ds(&reader, path, &options)?;
    report.losses.extend(Lost::all(done.losses, Some(&location.name())));
    (report.variables, report.bytes) = (done.written.variables, done.written.bytes);
    Ok(())
}
