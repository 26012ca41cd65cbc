//! Writes IDV files for ML.NET to read, and holds what it reads against what was meant. `cargo xtask interop idv` runs it.
//!
//! | command | does |
//! |---|---|
//! | `again OPTIONS IN OUT` | reads a file and writes it again |
//! | `show IN OUT` | the canonical dump of what we read in a file |
//! | `generate --seed N --count K DIRECTORY` | files of random schema and values, each with the dump expected of it beside |
//! | `merge OUT IN...` | carries blocks of several files into one; prints how many were carried and how many encoded |
//! | `layouts DIRECTORY` | rows per block that ML.NET chose, beside those that are chosen here for the same rows |
//! | `compare DIRECTORY DUMPS` | holds `DUMPS/NAME.jsonl`, and what we read, against `NAME.expected.jsonl` for every `NAME.idv` |
//!
//! Options: `--compression none|deflate|zlib`, `--first ...` (another one for the first column), `--level N`, `--rows N`
//! (per block; `all` for one block), `--bytes N` (of the blocks of the same rows), `--threads N`; of `again` and `show`
//! `--without COLUMN`; of `again` `--skip N` and `--take N` rows. Exit code 1 when anything fails or differs, 2 for wrong usage.

#[path = "idv_rewrite/again.rs"]
mod again;
#[path = "idv_rewrite/compare.rs"]
mod compare;
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
        "again" => again::again(&mut arguments),
        "show" => again::show(&mut arguments),
        "merge" => again::merge(&mut arguments),
        "generate" => generate::generate(&mut arguments),
        "layouts" => layouts::layouts(&mut arguments),
        "compare" => compare::compare(&mut arguments),
        other => Err(Error::usage(format!("unknown command {other}"))),
    }
}

/// Words in their order, options by name.
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
                let value = words.next().ok_or_else(|| Error::usage(format!("{word} wants a value")))?;
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
        let place = self.options.iter().position(|(found, _)| found == name)?;
        Some(self.options.remove(place).1)
    }

    fn number(&mut self, name: &str) -> Result<Option<u64>> {
        let parse =
            |value: String| value.parse().map_err(|_| Error::usage(format!("{name} wants a number, not {value}")));
        self.option(name).map(parse).transpose()
    }

    /// Fails when something is left.
    fn end(&self) -> Result<()> {
        let left = self.options.first().map(|(name, _)| name).or(self.words.front());
        left.map_or(Ok(()), |word| Err(Error::usage(format!("{word} is not understood"))))
    }
}

/// The IDV files of a directory, by name.
fn files(directory: &Path) -> Result<Vec<PathBuf>> {
    let cannot = |cause| Error::io(format!("cannot list {}", directory.display()), cause);
    let entries = fs::read_dir(directory).map_err(cannot)?.map(|entry| entry.map(|entry| entry.path()));
    let mut paths = entries.collect::<std::io::Result<Vec<_>>>().map_err(cannot)?;
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
