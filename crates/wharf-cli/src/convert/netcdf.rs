//! NetCDF, to ds and from it.

use std::path::Path;

use clap::ValueEnum;
use container_core::{Error, OutputOptions, Result};
use dsfmt::netcdf::{Kind, ReadOptions, WriteOptions, from_ds, to_ds as write_ds};
use serde_json::{Map, Value};

use super::super::Outcome;
use super::super::edit;
use super::super::env::Env;
use super::super::inputs::Place;
use super::super::output;
use super::super::report::Lost;
use super::{Arguments, Form, refuse};

/// Options that only the output NetCDF has.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Options for the output NetCDF")]
pub(super) struct NetcdfOptions {
    /// The kind of file [default: the first of the classic ones that holds the data]
    #[arg(long, value_enum, value_name = "KIND")]
    nc_kind: Option<NcKind>,

    /// The dimension that may grow later
    #[arg(long, value_name = "NAME")]
    unlimited: Option<String>,

    /// Compress the values of NetCDF-4
    #[arg(long, value_name = "1..9", value_parser = clap::value_parser!(u8).range(1..=9))]
    deflate: Option<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum NcKind {
    /// CDF-1
    Classic,
    /// CDF-2, for large files
    #[value(name = "64bit-offset")]
    Offset64,
    /// CDF-5, also with unsigned and 64-bit integers
    Cdf5,
    /// NetCDF-4, which is HDF5
    #[value(name = "netcdf4")]
    Hdf5,
}

impl NetcdfOptions {
    /// Fails when one of these is given for another output.
    pub(super) fn refuse(&self, form: Form) -> Result<()> {
        let Self { nc_kind, unlimited, deflate } = self;
        let given =
            [("--nc-kind", nc_kind.is_some()), ("--unlimited", unlimited.is_some()), ("--deflate", deflate.is_some())];
        refuse(&given, "the output netcdf", form)
    }

    fn kind(&self) -> Option<Kind> {
        self.nc_kind.map(|kind| match kind {
            NcKind::Classic => Kind::Classic,
            NcKind::Offset64 => Kind::Offset64,
            NcKind::Cdf5 => Kind::Data64,
            NcKind::Hdf5 => Kind::Hdf5,
        })
    }
}

/// Does a file that begins so look like NetCDF?
pub(super) fn is_netcdf(head: &[u8]) -> bool {
    [&b"CDF\x01"[..], b"CDF\x02", b"CDF\x05", b"\x89HDF\r\n\x1a\n"].iter().any(|magic| head.starts_with(magic))
}

/// One input and what goes for all of it.
fn single<'p>(arguments: &Arguments, places: &'p [Place], from: &str) -> Result<&'p Place> {
    let selection = &arguments.selection;
    let given = [
        ("--rows", selection.rows.is_some()),
        ("--limit", selection.limit.is_some()),
        ("--columns", !selection.columns.is_empty()),
        ("--table", selection.reading.table.is_some()),
    ];
    if let Some((option, _)) = given.iter().find(|(_, given)| *given) {
        return Err(Error::usage(format!("{option} does not go with inputs that are {from}")));
    }
    match places {
        [place] => Ok(place),
        _ => Err(Error::usage(format!("{from} files are converted one by one, these are {}", places.len()))),
    }
}

/// A NetCDF file as ds.
pub(super) fn to_ds(arguments: &Arguments, scaled: bool, places: &[Place], env: &mut Env<'_>) -> Result<Outcome> {
    let place = single(arguments, places, "NetCDF")?;
    if arguments.ds.has_dimension() {
        return Err(Error::usage("--dim does not go with inputs that are NetCDF"));
    }
    let named = |error: Error| error.in_file(place.name());
    let input = place.input(&mut env.opener).map_err(named)?;
    let source = input.source().ok_or_else(|| named(Error::usage("it is a folder where a file is wanted")))?;
    let reader = super::super::netcdf::open(source.clone(), &env.opener).map_err(named)?;
    let reading = ReadOptions::default().with_scaled(scaled);
    edit::put(Path::new(arguments.output()), arguments.force, places, env, &mut |path, output| {
        // What names no file is about the input: the writer names the output.
        let done = write_ds(&reader, path, &reading, output).map_err(named)?;
        let lost = done.losses.into_iter().map(|loss| Lost { file: Some(place.name()), loss });
        Ok((done.written, lost.collect()))
    })
}

/// A ds file as NetCDF.
pub(super) fn run(arguments: &Arguments, places: &[Place], env: &mut Env<'_>) -> Result<Outcome> {
    let place = single(arguments, places, "ds")?;
    if arguments.output() == "-" {
        return Err(Error::usage("NetCDF cannot be written to standard output: give a file"));
    }
    let reader = edit::open(place, &mut env.opener, "convert to NetCDF")?;
    let path = Path::new(arguments.output());
    let chosen = &arguments.netcdf;
    let output: OutputOptions = output::options(path, arguments.force, places)?;
    let options = WriteOptions::default()
        .with_kind(chosen.kind())
        .with_unlimited(chosen.unlimited.clone())
        .with_deflate(chosen.deflate)
        .with_output(output);
    let done = from_ds(&reader, path, &options)?;
    for loss in &done.losses {
        env.report.lost(&Lost { file: Some(place.name()), loss: loss.clone() });
    }
    if env.json() {
        let mut object = Map::new();
        object.insert("file".into(), path.display().to_string().into());
        object.insert("to".into(), "netcdf".into());
        object.insert("variables".into(), done.written.variables.into());
        object.insert("bytes".into(), done.written.bytes.into());
        env.stdout.print(&format!("{}\n", Value::Object(object)))?;
    }
    Ok(if done.losses.is_empty() { Outcome::Done } else { Outcome::Loss })
}
