//! `wharf pack` and `wharf unpack`: a store into one file, and back.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::ValueEnum;
use container_core::{Error, OutputOptions, Overwrite, Progress, Result};
use serde_json::json;
use zdx::archive::{Compression, PackOptions, UnpackOptions};

use super::Outcome;
use super::bar::Bar;
use super::env::Env;
use super::human::{clean, counted, size};
use super::inputs::{self, Location};
use super::report::Lost;
use super::zds::{self, Stored};

const EXAMPLES: &str = "\
Examples:
  wharf pack trees.d trees.zds
  wharf pack trees.d                               trees.d.zds
  wharf pack trees.d small.zds --compression deflate";

/// Pack a ZDS store into an archive, which is read in place
///
/// The archive is a ZIP with the same bytes for the same store, whenever and wherever it is packed. Without compression documents are read
/// out of it by their places.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The store
    #[arg(value_name = "STORE")]
    store: OsString,

    /// The archive to write [default: STORE.zds]
    #[arg(value_name = "OUT")]
    output: Option<PathBuf>,

    /// Replace the output if it exists
    #[arg(long)]
    force: bool,

    /// How files are laid into the archive
    #[arg(long, value_enum, value_name = "KIND", default_value_t = Packing::None)]
    compression: Packing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Packing {
    /// As they are: they are read in place
    None,
    /// Smaller; a collection is inflated once when it is read
    Deflate,
}

pub(crate) fn run(arguments: &Arguments, env: &mut Env<'_>) -> Result<Outcome> {
    let location = single(&arguments.store, "pack")?;
    let named = |error: Error| error.in_file(location.name());
    let input = location.input(&mut env.opener).map_err(named)?;
    let store = Stored::store(&location, &input, &env.opener)?;
    let Some(folder) = store.folder().filter(|folder| folder.join(zdx::layout::COLLECTIONS).is_dir()) else {
        return Err(named(Error::usage("it is no folder of a store, which pack makes an archive of")));
    };
    let target = arguments.output.clone().unwrap_or_else(|| {
        let mut name = folder.as_os_str().to_owned();
        name.push(".zds");
        name.into()
    });
    zds::refuse(&target, arguments.force, std::slice::from_ref(&location))?;
    let bar = Arc::new(Bar::new(env.report.terminal));
    bar.name(&location.name());
    let overwrite = if arguments.force { Overwrite::Replace } else { Overwrite::Refuse };
    let compression = match arguments.compression {
        Packing::None => Compression::default(),
        Packing::Deflate => Compression::Deflate(6),
    };
    let options = PackOptions::default()
        .with_compression(compression)
        .with_output(OutputOptions::default().with_overwrite(overwrite))
        .with_progress(Arc::clone(&bar) as Arc<dyn Progress>);
    let packed = store.pack(&target, options);
    bar.clear();
    let (packed, renewed) = packed.map_err(named)?;
    let lost = packed.skipped.iter().map(|(path, why)| {
        let loss = container_core::Loss::new(format!("file left out ({why}): {path}"), 1, Default::default());
        Lost { file: Some(location.name()), loss }
    });
    // What the files' times and a journal said is not seen in an archive.
    let renewed =
        renewed.iter().flat_map(|(name, condition)| condition.notes().into_iter().map(move |note| (name, note)));
    let renewed = renewed.map(|(name, note)| {
        let loss =
            container_core::Loss::new(format!("a new index is packed of {name:?}: {note}"), 0, Default::default());
        Lost { file: Some(location.name()), loss }
    });
    let lost: Vec<Lost> = lost.chain(renewed).collect();
    lost.iter().for_each(|lost| env.report.lost(lost));
    let text = if env.json() {
        json!({"file": target.display().to_string(), "to": "zds", "files": packed.files, "bytes": packed.packed})
            .to_string()
    } else {
        let (files, bytes) = (counted(packed.files, "file"), size(packed.packed));
        clean(&format!("{}: {files}, {bytes}", target.display())).into_owned()
    };
    env.stdout.print(&format!("{text}\n"))?;
    Ok(Outcome::after(&lost))
}

/// The one input of a verb.
fn single(argument: &OsStr, verb: &str) -> Result<Location> {
    let mut locations = inputs::expand_one(argument)?;
    match (locations.pop(), locations.len()) {
        (Some(location), 0) => Ok(location),
        (_, others) => {
            let detail = format!("the pattern matches {} files; {verb} takes one", others + 1);
            Err(Error::usage(detail).in_file(argument.display().to_string()))
        }
    }
}

/// Unpack an archive of a ZDS store into a folder
///
/// Only paths of the format are made, in a new folder that appears whole or not at all; every file's sum is checked. Entries that are none
/// of the store's are left alone, which is told; an archive in which one leads out of the folder is refused.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  wharf unpack trees.zds trees.d")]
pub(crate) struct UnpackArguments {
    /// The archive; - is standard input
    #[arg(value_name = "FILE")]
    file: OsString,

    /// The folder to write [default: FILE without .zds]
    #[arg(value_name = "OUT")]
    output: Option<PathBuf>,

    /// Replace the output if it exists and holds nothing but a store
    #[arg(long)]
    force: bool,
}

pub(crate) fn unpack(arguments: &UnpackArguments, env: &mut Env<'_>) -> Result<Outcome> {
    let location = single(&arguments.file, "unpack")?;
    let named = |error: Error| error.in_file(location.name());
    let input = location.input(&mut env.opener).map_err(named)?;
    let store = Stored::store(&location, &input, &env.opener)?;
    let Some(archive) = store.archive() else {
        return Err(named(Error::usage("it is a folder already: unpack makes one of an archive")));
    };
    let target = match (&arguments.output, &location) {
        (Some(output), _) => output.clone(),
        (None, Location::Path(path)) if zds::is_archive(path) => path.with_extension(""),
        (None, _) => return Err(named(Error::usage("it has no name in .zds that the output could take: say OUT"))),
    };
    if target == Path::new("-") {
        return Err(Error::usage("a folder is written, which standard output is not: give a path"));
    }
    inputs::refuse_overlap([target.clone()], std::slice::from_ref(&location))?;
    let bar = Arc::new(Bar::new(env.report.terminal));
    bar.name(&location.name());
    let overwrite = if arguments.force { Overwrite::Replace } else { Overwrite::Refuse };
    let options =
        UnpackOptions::default().with_overwrite(overwrite).with_progress(Arc::clone(&bar) as Arc<dyn Progress>);
    let unpacked = zdx::archive::unpack(archive, &target, &options);
    bar.clear();
    let unpacked = unpacked.map_err(named)?;
    let mut lost = Vec::new();
    if unpacked.foreign_entries > 0 {
        let first = unpacked.foreign_names.first().map(|name| format!(", such as {name:?}")).unwrap_or_default();
        let what = format!("entry left alone that is none of the store's{first}");
        let loss = container_core::Loss::new(what, unpacked.foreign_entries, Default::default());
        lost.push(Lost { file: Some(location.name()), loss });
    }
    lost.iter().for_each(|lost| env.report.lost(lost));
    let text = if env.json() {
        json!({"file": target.display().to_string(), "to": "zds", "files": unpacked.files, "bytes": unpacked.bytes})
            .to_string()
    } else {
        let (files, bytes) = (counted(unpacked.files, "file"), size(unpacked.bytes));
        clean(&format!("{}: {files}, {bytes}", target.display())).into_owned()
    };
    env.stdout.print(&format!("{text}\n"))?;
    Ok(Outcome::after(&lost))
}
