//! Opens and writes ds files.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use container_core::{Error, Loss, OpenOptions, OutputOptions, Result, Severity, SyncPolicy, TemporaryFolder};
use dsfmt::{Builder, Reader, Written};

use super::env::Opener;
use super::inputs::Location;
use super::{Lost, ZARR, is_netcdf, output};

/// The name of the format.
pub const DS: &str = "ds";

/// Whether containers of this format are read through [`dsfmt`], so that their columns are variables of ds.
pub(super) fn is_variables(format: &str) -> bool {
    format == DS || is_netcdf(format)
}

/// Values that are copied byte for byte although verification rejects them: the first of each variable, and how many there are. `name` returns
/// the file name of a reader.
pub fn rejected_by_ds(builder: &Builder<'_>, name: &dyn Fn(&Reader) -> Option<String>) -> Result<Vec<Lost>> {
    let mut lost: Vec<Lost> = Vec::new();
    builder.verify_copied(&mut |reader, finding| {
        if finding.severity == Severity::Error {
            let (file, first) = (name(reader), finding.error.position().clone());
            match lost.last_mut().filter(|last| last.file == file && last.loss.first.column == first.column) {
                Some(last) => last.loss.count += 1,
                None => {
                    let what = format!("copied although verification rejects it: {}", finding.error.detail());
                    lost.push(Lost { file, loss: Loss::new(what, 1, first) });
                }
            }
        }
    })?;
    Ok(lost)
}

/// Opens an input that must be a ds file.
pub fn open_ds(location: &Location, opener: &mut Opener<'_>, verb: &str) -> Result<Reader> {
    let named = |error: Error| error.in_file(location.name());
    let input = location.input(opener).map_err(named)?;
    let format = opener.registry.detect(&input).map_err(named)?;
    match (format.name(), input.source()) {
        (DS, Some(source)) => {
            let options = OpenOptions::default().with_access(opener.access);
            Reader::from_source(source.clone(), options).and_then(|reader| opener.part.apply(reader)).map_err(named)
        }
        (other, _) if is_netcdf(other) => {
            let name = if other == ZARR { "Zarr" } else { "NetCDF" };
            Err(named(Error::usage(format!("{verb} works on ds files, the input is {name}: convert it to ds first"))))
        }
        (other, _) => Err(named(Error::usage(format!("{verb} works on ds files, the input is {other}")))),
    }
}

/// What was written, and what was lost.
pub type Saved = (Written, Vec<Lost>);

/// Writes a file, unless it is an input.
///
/// # Errors
/// The file belongs to an input, or exists and is not to be replaced; and what `write` fails for.
pub fn put_ds(
    path: &Path,
    force: bool,
    locations: &[Location],
    write: impl FnOnce(&Path, OutputOptions) -> Result<Saved>,
) -> Result<Saved> {
    write(path, output::options(path, force, locations)?)
}

/// Writes to a stream.
///
/// # Errors
/// The stream or the temporary file cannot be written; and what `write` fails for.
pub fn stream_ds(
    stream: &mut (dyn Write + Send),
    write: impl FnOnce(&Path, OutputOptions) -> Result<Saved>,
) -> Result<Saved> {
    // The header has the offsets of all variables, which are known last.
    let folder = TemporaryFolder::beside(&std::env::temp_dir().join("out")).map_err(temporary)?;
    let path = folder.path().join("out.ds");
    let saved = write(&path, OutputOptions::default().with_sync(SyncPolicy::Never))?;
    let mut file = File::open(&path).map_err(temporary)?;
    io::copy(&mut file, stream).and_then(|_| stream.flush()).map_err(output::stream_failed)?;
    Ok(saved)
}

fn temporary(cause: io::Error) -> Error {
    Error::io("cannot keep the output in a temporary file", cause)
}
