//! Writes IDV files for ML.NET, and compares what it reads with what was written. Run by `cargo xtask interop idv`.
//!
//! | command | does |
//! |---|---|
//! | `copy OPTIONS IN OUT` | reads a file and writes it with the given options |
//! | `show IN OUT` | writes the canonical dump of a file |
//! | `generate --seed N --count K DIRECTORY` | writes files with random schemas and values, each with its expected dump |
//! | `merge OUT IN...` | joins files block by block; prints how many blocks were copied and how many re-encoded |
//! | `layouts DIRECTORY` | compares the rows per block that ML.NET chose with our choice for the same rows |
//! | `compare DIRECTORY DUMPS` | compares `DUMPS/NAME.jsonl`, and what we read, with `NAME.expected.jsonl` for every `NAME.idv` |
//!
//! Options: `--compression none|deflate|zlib`, `--first ...` (compression of the first column), `--level N`, `--rows N` (per block; `all` for
//! one block), `--bytes N` (of the blocks of the same rows), `--threads N`; for `copy` and `show` `--without COLUMN`; for `copy` `--skip N` and
//! `--take N` rows. Exit code 1 for a failure or difference, 2 for wrong usage.

#[path = "idv_rewrite/compare.rs"]
mod compare;
#[path = "idv_rewrite/copy.rs"]
mod copy;
#[path = "idv_rewrite/generate.rs"]
mod generate;
#[path = "idv_rewrite/layouts.rs"]
mod layouts;
#[path = "idv_rewrite/random.rs"]
mod random;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use container_core::{Error, ErrorKind, Result};

fn main() -> ExitCode {
    match run(std::env::args().skip(1).collect()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(if error.kind() == ErrorKind::Usage { 2 } else { 1 })
        }
    }
}

fn run(words: Vec<String>) -> Result<()> {
    let mut arguments = Arguments::new(words)?;
    let command = arguments.word("COMMAND")?;
    match command.as_str() {
        "copy" => copy::copy(&mut arguments),
        "show" => copy::show(&mut arguments),
        "merge" => copy::merge(&mut arguments),
        "generate" => generate::generate(&mut arguments),
        "layouts" => layouts::layouts(&mut arguments),
        "compare" => compare::compare(&mut arguments),
        other => Err(Error::usage(format!("unknown command {other}"))),
    }
}

/// Positional arguments and options.
struct Arguments {
    words: std::collections::VecDeque<String>,
    options: Vec<(String, String)>,
}

impl Arguments {
    fn new(words: Vec<String>) -> Result<Self> {
        let mut arguments = Self { words: Default::default(), options: Vec::new() };
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            if word.starts_with("--") {
                let value = words.next().ok_or_else(|| Error::usage(format!("{word} needs a value")))?;
                arguments.options.push((word, value));
            } else {
                arguments.words.push_back(word);
            }
        }
        Ok(arguments)
    }

    fn word(&mut self, what: &str) -> Result<String> {
        self.words.pop_front().ok_or_else(|| Error::usage(format!("missing {what}")))
    }

    fn path(&mut self, what: &str) -> Result<PathBuf> {
        self.word(what).map(PathBuf::from)
    }

    fn option(&mut self, name: &str) -> Option<String> {
        let index = self.options.iter().position(|(other, _)| other == name)?;
        Some(self.options.remove(index).1)
    }

    fn number(&mut self, name: &str) -> Result<Option<u64>> {
        let parse = |value: String| {
            value.parse().map_err(|_| Error::usage(format!("{name}: expected a number, found {value}")))
        };
        self.option(name).map(parse).transpose()
    }

    /// Rejects remaining arguments.
    fn end(&self) -> Result<()> {
        let rest = self.options.first().map(|(name, _)| name).or(self.words.front());
        rest.map_or(Ok(()), |word| Err(Error::usage(format!("unexpected argument {word}"))))
    }
}

/// The IDV files of a directory, sorted by name.
fn files(directory: &Path) -> Result<Vec<PathBuf>> {
    let list_error = |cause| Error::io(format!("cannot list {}", directory.display()), cause);
    let entries = fs::read_dir(directory).map_err(list_error)?.map(|entry| entry.map(|entry| entry.path()));
    let mut paths = entries.collect::<std::io::Result<Vec<_>>>().map_err(list_error)?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "idv"));
    paths.sort();
    if paths.is_empty() {
        return Err(Error::invalid(format!("no IDV file in {}", directory.display())));
    }
    Ok(paths)
}

fn write(path: &Path, content: impl AsRef<[u8]>) -> Result<()> {
    fs::write(path, content).map_err(|cause| Error::io(format!("cannot write {}", path.display()), cause))
}
