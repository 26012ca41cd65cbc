//! NetCDF written, and NetCDF as ds.

use container_core::{Error, Result};
use dsfmt::netcdf::{ReadOptions, WriteOptions, from_ds, to_ds as write_ds};

use super::super::ds_file::Temporary;
use super::super::{DS, Lost, Saved, open_ds, open_netcdf, output};
use super::source::{self, Kind};
use super::text::refuse;
use super::{Env, Job, OutputForm, Report, ds};

impl Job<'_> {
    /// Are all variables wanted, whole?
    fn is_whole(&self) -> bool {
        self.selection.columns.is_empty() && !self.is_cut()
    }

    /// Are some rows wanted?
    fn is_cut(&self) -> bool {
        self.selection.rows.is_some() || self.selection.limit.is_some()
    }
}

/// A NetCDF file as ds.
pub(super) fn to_ds(job: &Job<'_>, env: &mut Env<'_, '_>, report: &mut Report) -> Result<()> {
    if !job.is_cut() {
        let of_rows = [("dim", job.ds.dim.is_some()), ("table", job.selection.reading.table.is_some())];
        refuse(&of_rows, "NetCDF, of which all rows are taken")?;
    }
    let [location] = job.inputs.as_slice() else {
        return Err(Error::usage("several NetCDF files do not become one by convert: `wharf merge` joins them"));
    };
    let named = |error: Error| error.in_file(location.name());
    let input = location.input(env.opener).map_err(named)?;
    let source = input.source().ok_or_else(|| named(Error::usage("it is a folder where a file is wanted")))?;
    let reader = open_netcdf(source.clone(), env.opener).map_err(named)?;
    let reading = ReadOptions::default().with_scaled(job.ds.scaled);
    let write = |path: &std::path::Path, output| -> Result<Saved> {
        // What names no file is about the input: the writer names the output.
        let done = write_ds(&reader, path, &reading, output).map_err(named)?;
        Ok((done.written, Lost::all(done.losses, Some(&location.name())).collect()))
    };
    if job.is_whole() {
        return ds::put(job, env, report, write);
    }
    // Parts of variables are those of a ds file.
    let (whole, (_, lost)) = Temporary::write(write)?;
    report.losses.extend(lost);
    ds::copied(job, (Kind::NETCDF, &dsfmt::Reader::open(&whole.path)?), env, report)
}

/// Anything as NetCDF, which is made of what becomes ds: rows come across, and variables lie along.
pub(super) fn run(job: &Job<'_>, env: &mut Env<'_, '_>, report: &mut Report) -> Result<()> {
    let path = job.path("NetCDF is a file")?;
    let (kind, _) = source::open(&job.inputs, job.text.from, env.opener)?;
    let output = output::options(path, job.force, &job.inputs)?;
    let (reader, _temporary) = match job.inputs.as_slice() {
        [location] if kind == Kind::Container(DS) && job.is_whole() => {
            let of_rows = [("dim", job.ds.dim.is_some()), ("table", job.selection.reading.table.is_some())];
            refuse(&of_rows, "ds, of which all rows are taken")?;
            (open_ds(location, env.opener, "convert to NetCDF")?, None)
        }
        _ => {
            let (file, _) = Temporary::write(|path, _| {
                let job = Job { convert: job.convert, form: OutputForm::Ds, path: Some(path), force: false };
                ds::run(&job, env, report)?;
                Ok((dsfmt::Written { variables: report.variables, bytes: report.bytes }, Vec::new()))
            })?;
            (dsfmt::Reader::open(&file.path)?, Some(file))
        }
    };
    let options = WriteOptions::default()
        .with_kind(job.netcdf.kind)
        .with_unlimited(job.netcdf.unlimited.clone())
        .with_deflate(job.netcdf.deflate)
        .with_output(output);
    let done = from_ds(&reader, path, &options)?;
    let name = match job.inputs.as_slice() {
        [location] => Some(location.name()),
        _ => None,
    };
    report.losses.extend(Lost::all(done.losses, name.as_deref()));
    (report.variables, report.bytes) = (done.written.variables, done.written.bytes);
    Ok(())
}
