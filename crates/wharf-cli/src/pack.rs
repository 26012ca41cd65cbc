//! `wharf pack` and `wharf unpack`: convert between a store and an archive.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use container_core::{Error, OutputOptions, Overwrite, Result};
use serde_json::json;
use zdx::archive::{Compression, PackOptions, UnpackOptions};

use super::Outcome;
use super::display::{counted, size};
use super::env::Env;
use super::inputs::{self, Location};
use super::report::Lost;
use super::zds::{self, Stored};
use super::{progress, records};

const EXAMPLES: &str = "\
Examples:
  wharf pack trees.d trees.zds
  wharf pack trees.d                               writes trees.d.zds
  wharf pack trees.d small.zds --compression deflate";

/// Pack a ZDS store into an archive
///
/// The archive is a ZIP file. Packing is reproducible: the same store gives the same bytes. Documents of an uncompressed archive are read in
/// place.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Store to pack
    #[arg(value_name = "STORE")]
    store: OsString,

    /// Output archive [default: STORE.zds]
    #[arg(value_name = "OUT")]
    output: Option<PathBuf>,

    /// Overwrite existing output
    #[arg(long)]
    force: bool,

    /// Compression of the files in the archive
    #[arg(long, value_enum, value_name = "KIND", default_value_t = Packing::None)]
    compression: Packing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Packing {
    /// No compression: documents are read in place
    None,
    /// Smaller; reading a collection decompresses all of it first
    Deflate,
}

pub(crate) fn run(arguments: &Arguments, env: &mut Env<'_>) -> Result<Outcome> {
    let location = inputs::expand_single(&arguments.store, "pack")?;
    let named = |error: Error| error.in_file(location.name());
    let input = location.input(&mut env.opener).map_err(named)?;
    let store = Stored::store(&location, &input, &env.opener)?;
    let Some(folder) = store.folder().filter(|folder| folder.join(zdx::layout::COLLECTIONS).is_dir()) else {
        return Err(named(Error::usage("pack takes a store that is a folder")));
    };
    let target = arguments.output.clone().unwrap_or_else(|| {
        let mut name = folder.as_os_str().to_owned();
        name.push(".zds");
        name.into()
    });
    zds::refuse(&target, arguments.force, std::slice::from_ref(&location))?;
    let overwrite = if arguments.force { Overwrite::Replace } else { Overwrite::Refuse };
    let compression = match arguments.compression {
        Packing::None => Compression::default(),
        Packing::Deflate => Compression::Deflate(6),
    };
    let options = PackOptions::default()
        .with_compression(compression)
        .with_output(OutputOptions::default().with_overwrite(overwrite));
    let packed = progress::with_line(env.report.terminal, |progress| {
        progress.name(&location.name());
        store.pack(&target, options.with_progress(progress))
    });
    let (packed, renewed) = packed.map_err(named)?;
    let lost = packed.skipped.iter().map(|(path, why)| {
        let loss = container_core::Loss::new(format!("file left out ({why}): {path}"), 1, Default::default());
        Lost { file: Some(location.name()), loss }
    });
    // An archive has no file times and no journal, so an index that depends on them is rebuilt.
    let renewed =
        renewed.iter().flat_map(|(name, condition)| condition.notes().into_iter().map(move |note| (name, note)));
    let renewed = renewed.map(|(name, note)| {
        let loss =
            container_core::Loss::new(format!("packed a rebuilt index of {name:?}: {note}"), 0, Default::default());
        Lost { file: Some(location.name()), loss }
    });
    let lost: Vec<Lost> = lost.chain(renewed).collect();
    report(&target, packed.files, packed.packed, &lost, env)
}

/// Reports what was written.
fn report(target: &Path, files: u64, bytes: u64, lost: &[Lost], env: &mut Env<'_>) -> Result<Outcome> {
    let outcome = env.lost(lost);
    let object = json!({"file": target.display().to_string(), "to": "zds", "files": files, "bytes": bytes});
    let line = format!("{}: {}, {}", target.display(), counted(files, "file"), size(bytes));
    records::print_result(object, &line, env)?;
    Ok(outcome)
}

/// Unpack an archive of a ZDS store into a folder
///
/// Writes only the files that belong to a store and verifies their checksums. The folder appears complete or not at all. Other entries are
/// skipped with a warning; an archive with a path outside the folder is refused.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  wharf unpack trees.zds trees.d")]
pub(crate) struct UnpackArguments {
    /// Input archive; - for standard input
    #[arg(value_name = "FILE")]
    file: OsString,

    /// Output folder [default: FILE without .zds]
    #[arg(value_name = "OUT")]
    output: Option<PathBuf>,

    /// Overwrite existing output, if it contains nothing but a store
    #[arg(long)]
    force: bool,
}

pub(crate) fn unpack(arguments: &UnpackArguments, env: &mut Env<'_>) -> Result<Outcome> {
    let location = inputs::expand_single(&arguments.file, "unpack")?;
    let named = |error: Error| error.in_file(location.name());
    let input = location.input(&mut env.opener).map_err(named)?;
    let store = Stored::store(&location, &input, &env.opener)?;
    let Some(archive) = store.archive() else {
        return Err(named(Error::usage("expected an archive, found a folder")));
    };
    let target = match (&arguments.output, &location) {
        (Some(output), _) => output.clone(),
        (None, Location::Path(path)) if zds::is_archive(path) => path.with_extension(""),
        (None, _) => {
            return Err(named(Error::usage("cannot derive the output name: the input does not end in .zds; pass OUT")));
        }
    };
    if target == Path::new("-") {
        return Err(Error::usage("cannot write a folder to standard output; pass a path"));
    }
    inputs::refuse_overlap([target.clone()], std::slice::from_ref(&location))?;
    let overwrite = if arguments.force { Overwrite::Replace } else { Overwrite::Refuse };
    let unpacked = progress::with_line(env.report.terminal, |progress| {
        progress.name(&location.name());
        let options = UnpackOptions::default().with_overwrite(overwrite).with_progress(progress);
        zdx::archive::unpack(archive, &target, &options)
    });
    let unpacked = unpacked.map_err(named)?;
    let mut lost = Vec::new();
    if unpacked.foreign_entries > 0 {
        let first = unpacked.foreign_names.first().map(|name| format!(", such as {name:?}")).unwrap_or_default();
        let what = format!("skipped entry that does not belong to the store{first}");
        let loss = container_core::Loss::new(what, unpacked.foreign_entries, Default::default());
        lost.push(Lost { file: Some(location.name()), loss });
    }
    report(&target, unpacked.files, unpacked.bytes, &lost, env)
}
