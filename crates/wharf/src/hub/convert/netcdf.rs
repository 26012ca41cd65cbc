//! NetCDF written.

use container_core::Result;
use dsfmt::netcdf::{WriteOptions, from_ds};

use super::super::ds_file::Temporary;
use super::super::{DS, Lost, open_ds, output};
use super::ds;
use super::job::{Env, Job, Report};
use super::options::OutputForm;
use super::source::{self, Kind};
use super::text::refuse;

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
