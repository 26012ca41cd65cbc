//! `zdx` as a program that knows the verbs of the driver in `tests/reference/zippy`, so that a script can let both do the same.
//!
//! ```text
//! zdx-driver dump STORE                     every document of a store or archive, as the other driver tells it
//! zdx-driver pack STORE ARCHIVE [--method store|deflate]
//! zdx-driver unpack ARCHIVE DIRECTORY
//! ```
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program")]

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use container_core::{OutputOptions, Sync};
use wharf_tests::zdx_dump;
use zdx::Options;
use zdx::archive::{Archive, Compression, PackOptions, UnpackOptions, pack, unpack};

/// Anything that fails is told in words.
type Outcome = Result<(), String>;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["dump", store] => dump(store),
        ["pack", tree, archive] | ["pack", tree, archive, "--method", "store"] => {
            packed(tree, archive, Compression::Store)
        }
        ["pack", tree, archive, "--method", "deflate"] => packed(tree, archive, Compression::Deflate(6)),
        ["unpack", archive, directory] => unpacked(archive, directory),
        _ => {
            eprintln!("usage: zdx-driver VERB ..., as its source says");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn dump(store: &str) -> Outcome {
    let mut out = std::io::stdout().lock();
    for told in zdx_dump::dump(Path::new(store))? {
        writeln!(out, "{}", told.to_json()).map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn packed(tree: &str, archive: &str, compression: Compression) -> Outcome {
    let output = OutputOptions::default().with_sync(Sync::Never);
    let options = PackOptions::default().with_compression(compression).with_output(output);
    pack(tree, archive, &options).map(drop).map_err(|error| error.to_string())
}

fn unpacked(archive: &str, directory: &str) -> Outcome {
    let archive = Archive::open(archive, &Options::default()).map_err(|error| error.to_string())?;
    let options = UnpackOptions::default().with_sync(Sync::Never);
    unpack(&archive, directory, &options).map(drop).map_err(|error| error.to_string())
}
