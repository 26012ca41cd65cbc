//! NetCDF.

use std::ffi::OsStr;

use container_core::Result;
use dsfmt::netcdf::{FORMAT_NAME, Kind, WriteOptions};

use super::super::super::{DS, open_ds, output};
use super::super::job::{Context, Job, Report};
use super::super::option::{OptionSpec, number, text, unknown_choice};
use super::super::source;
use super::super::text::refuse;
use super::super::variables::{Output, put_other};
use super::options::{DEFLATE, DIM, NC_KIND, RAGGED, SCALED, SCHEMA, STRUCTS, UNLIMITED};
use super::{DsTarget, Streaming, Target, TargetInfo, TargetUnit, path_of};

/// NetCDF. Its variables are those that a ds file would have.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct NetcdfTarget {
    /// How variables are made.
    pub ds: DsTarget,
    /// The kind of file; `None` for the first of the classic ones that can hold the data.
    pub kind: Option<Kind>,
    /// The dimension that can grow later.
    pub unlimited: Option<String>,
    /// The compression level of NetCDF-4, 1 to 9.
    pub deflate: Option<u8>,
}

impl Target for NetcdfTarget {
    fn info(&self) -> TargetInfo {
        TargetInfo {
            name: "netcdf",
            format: FORMAT_NAME,
            title: "NetCDF",
            extensions: &["nc"],
            stream: Streaming::Unsupported("NetCDF is written to a file"),
            unit: TargetUnit::Variables,
        }
    }

    fn options(&self) -> &'static [OptionSpec] {
        &[DIM, SCALED, RAGGED, STRUCTS, NC_KIND, UNLIMITED, DEFLATE, SCHEMA]
    }

    fn set(&mut self, option: &str, value: &OsStr) -> Result<()> {
        match option {
            "nc_kind" => {
                self.kind = Some(match text(value)? {
                    "classic" => Kind::Classic,
                    "64bit-offset" => Kind::Offset64,
                    "cdf5" => Kind::Data64,
                    "netcdf4" => Kind::Hdf5,
                    other => return Err(unknown_choice(other)),
                });
            }
            "unlimited" => self.unlimited = Some(text(value)?.to_owned()),
            "deflate" => self.deflate = number(value)?.try_into().ok(),
            _ => return self.ds.set(option, value),
        }
        Ok(())
    }

    fn run(&self, job: &Job<'_>, context: &mut Context<'_, '_>, report: &mut Report) -> Result<()> {
        let path = path_of(job, self)?;
        let (kind, _) = source::open(&job.inputs, job.text.from, context.opener)?;
        let output = output::options(path, job.force, &job.inputs)?;
        let options = WriteOptions::default()
            .with_kind(self.kind)
            .with_unlimited(self.unlimited.clone())
            .with_deflate(self.deflate)
            .with_output(output);
        match job.inputs.as_slice() {
            [location] if kind == source::Kind::Container(DS) && job.is_whole() => {
                let of_rows = [("dim", self.ds.dim.is_some()), ("table", job.selection.reading.table.is_some())];
                refuse(&of_rows, "ds when all rows are selected")?;
                put_other(job, report, &open_ds(location, context.opener, "convert to NetCDF")?, path, &options)
            }
            _ => self.ds.write(job, Output::Other(path, &options), context, report),
        }
    }
}
