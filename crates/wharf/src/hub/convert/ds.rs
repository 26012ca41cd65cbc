//! ds files written: from text, from rows of other containers, from ds and from NetCDF.

use container_core::{Error, Result};
use dsfmt::netcdf::{ReadOptions, to_ds};

use super::super::ds_file::Temporary;
use super::super::{DS, Lost, Saved, open_ds, open_netcdf};
use super::job::{Env, Job, Report};
use super::source::{self, Kind};
use super::text::{does_not_go, refuse};
use super::variables::{copied, put};

pub(super) fn run(job: &Job<'_>, env: &mut Env<'_, '_>, report: &mut Report) -> Result<()> {
    let (kind, _) = source::open(&job.inputs, job.text.from, env.opener)?;
    job.text.check(kind)?;
    if job.selection.reading.missing_as_null {
        return Err(Error::usage("is for outputs of text: ds has its own missing values").in_option("missing_as_null"));
    }
    if matches!(kind, Kind::Idv | Kind::NETCDF | Kind::Container(DS)) {
        let for_columns = [
            ("ragged", job.ds.ragged.is_some() && kind != Kind::Idv),
            ("structs", job.ds.structs.is_some()),
            ("on_mismatch", job.columnar.on_mismatch.is_some()),
            ("schema", job.text.schema.is_some()),
        ];
        does_not_go(&for_columns, kind)?;
    }
    match kind {
        Kind::Container(DS) => {
            let [place] = job.inputs.as_slice() else {
                return Err(Error::usage("several ds files do not become one by convert: `wharf merge` joins them"));
            };
            let reader = open_ds(place, env.opener, "convert")?;
            copied(job, (kind, &reader), env, report)
        }
        Kind::NETCDF => of_netcdf(job, env, report),
        Kind::Idv => super::columnar::ds::run_idv(job, env, report),
        _ => super::columnar::ds::run(job, env, report),
    }
}

/// A NetCDF file as ds.
fn of_netcdf(job: &Job<'_>, env: &mut Env<'_, '_>, report: &mut Report) -> Result<()> {
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
        let done = to_ds(&reader, path, &reading, output).map_err(named)?;
        Ok((done.written, Lost::all(done.losses, Some(&location.name())).collect()))
    };
    if job.is_whole() {
        return put(job, env, report, write);
    }
    // Parts of variables are those of a ds file.
    let (whole, (_, lost)) = Temporary::write(write)?;
    report.losses.extend(lost);
    copied(job, (Kind::NETCDF, &dsfmt::Reader::open(&whole.path)?), env, report)
}
