//! ds: variables of ds and NetCDF files as they are, everything else as columns.

use std::ffi::OsStr;

use container_core::{Error, Result};
use dsfmt::arrow::{Ragged, Structs};
use dsfmt::netcdf::{ReadOptions, ds_view, to_ds};

use super::super::super::idv_file::IDV;
use super::super::super::{DS, Lost, ZARR, open_ds, open_netcdf};
use super::super::columnar;
use super::super::job::{Context, Job, Report};
use super::super::option::{OptionSpec, text};
use super::super::source::{self, Kind};
use super::super::text::{does_not_go, refuse};
use super::super::variables::{Output, copied, put, put_other};
use super::options::{DIM, RAGGED, SCALED, SCHEMA, STRUCTS};
use super::{Streaming, Target, TargetInfo, TargetUnit, unknown_option};

/// ds, n-dimensional arrays.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct DsTarget {
    /// The dimension of the rows; `None` for `row`, or the only one of a ds file.
    pub dim: Option<String>,
    /// Apply `scale_factor` and `add_offset` of NetCDF; otherwise they stay attributes.
    pub scaled: bool,
    /// What becomes of lists of different lengths; `None` for an error.
    pub ragged: Option<Ragged>,
    /// What becomes of structs; `None` for an error.
    pub structs: Option<Structs>,
}

impl DsTarget {
    /// The variables of a NetCDF file, or of what is read as one.
    fn copy_netcdf(
        &self,
        job: &Job<'_>,
        kind: Kind,
        output: Output<'_>,
        context: &mut Context<'_, '_>,
        report: &mut Report,
    ) -> Result<()> {
        let (format, inputs) =
            if kind == Kind::Container(ZARR) { ("Zarr", "Zarr stores") } else { ("NetCDF", "NetCDF files") };
        if !job.is_cut() {
            let of_rows = [("dim", self.dim.is_some()), ("table", job.selection.reading.table.is_some())];
            refuse(&of_rows, &format!("{format} when all rows are selected"))?;
        }
        let [location] = job.inputs.as_slice() else {
            let detail = format!("several {inputs} do not become one by convert: `wharf merge` joins them");
            return Err(Error::usage(detail));
        };
        let named = |error: Error| error.in_file(location.name());
        let input = location.input(context.opener).map_err(named)?;
        let reader = open_netcdf(&input, context.opener).map_err(named)?;
        if self.scaled && context.opener.packed {
            return Err(Error::usage("contradicts {scaled}").in_option("packed"));
        }
        let reading = ReadOptions::default().with_scaled(self.scaled);
        let part = &context.opener.part;
        if let (Output::Ds, true, true) = (output, job.is_whole(), part.is_whole()) {
            return put(job, context, report, |path, output| {
                // What names no file is about the input: the writer names the output.
                let done = to_ds(&reader, path, &reading, output).map_err(named)?;
                Ok((done.written, Lost::all(done.losses, Some(&location.name())).collect()))
            });
        }
        let mut losses = None;
        let open = |reading: &ReadOptions| {
            let reader = open_netcdf(&input, context.opener)?;
            let (view, lost) = ds_view(reader, reading, location.name())?;
            losses.get_or_insert(lost); // looking up coordinates opens it again
            Ok(view)
        };
        let view = part.of_netcdf(&reading, open).map_err(named)?;
        report.losses.extend(Lost::all(losses.unwrap_or_default(), Some(&location.name())));
        match output {
            // Records are read in turns, which compressed values are slow at: `copied` decodes them once.
            Output::Other(path, format) if job.is_whole() && !format.reads_in_turns() => {
                put_other(job, report, &view, path, format)
            }
            _ => copied(job, self, (kind, &view), output, context, report),
        }
    }

    /// Writes variables.
    pub(super) fn write(
        &self,
        job: &Job<'_>,
        output: Output<'_>,
        context: &mut Context<'_, '_>,
        report: &mut Report,
    ) -> Result<()> {
        let (kind, _) = source::open(&job.inputs, job.text.from, context.opener)?;
        job.text.check(kind)?;
        if job.selection.reading.missing_as_null {
            return Err(Error::usage("is for text outputs: ds has its own missing values").in_option("missing_as_null"));
        }
        if matches!(kind, Kind::Idv | Kind::Container(DS)) || kind.is_netcdf() {
            let for_columns = [
                ("ragged", self.ragged.is_some() && kind != Kind::Idv),
                ("structs", self.structs.is_some()),
                ("on_mismatch", job.mapping.on_mismatch.is_some()),
                ("schema", job.text.schema.is_some()),
            ];
            does_not_go(&for_columns, kind)?;
        }
        match kind {
            Kind::Idv | Kind::Renamed(IDV) => columnar::ds::run_idv(job, self, output, context, report),
            Kind::Columns(IDV) if !job.changes.is_empty() => columnar::ds::run_idv(job, self, output, context, report),
            // Variables along several dimensions have no rows in common.
            _ if job.is_filtered() => columnar::ds::run(job, self, output, context, report),
            Kind::Container(DS) => {
                let [location] = job.inputs.as_slice() else {
                    return Err(Error::usage(
                        "several ds files do not become one by convert: `wharf merge` joins them",
                    ));
                };
                let reader = open_ds(location, context.opener, "convert")?;
                copied(job, self, (kind, &reader), output, context, report)
            }
            kind if kind.is_netcdf() => self.copy_netcdf(job, kind, output, context, report),
            _ => columnar::ds::run(job, self, output, context, report),
        }
    }
}

impl Target for DsTarget {
    fn info(&self) -> TargetInfo {
        TargetInfo {
            name: "ds",
            format: DS,
            title: "ds, n-dimensional arrays",
            extensions: &["ds"],
            stream: Streaming::Binary,
            unit: TargetUnit::Variables,
        }
    }

    fn options(&self) -> &'static [OptionSpec] {
        &[DIM, SCALED, RAGGED, STRUCTS, SCHEMA]
    }

    fn set(&mut self, option: &str, value: &OsStr) -> Result<()> {
        match option {
            "dim" => self.dim = Some(text(value)?.to_owned()),
            "scaled" => self.scaled = true,
            "ragged" => self.ragged = Some(if value == "pad" { Ragged::Pad } else { Ragged::Refuse }),
            "structs" => self.structs = Some(if value == "flatten" { Structs::Flatten } else { Structs::Refuse }),
            _ => return Err(unknown_option(option)),
        }
        Ok(())
    }

    fn run(&self, job: &Job<'_>, context: &mut Context<'_, '_>, report: &mut Report) -> Result<()> {
        self.write(job, Output::Ds, context, report)
    }
}
