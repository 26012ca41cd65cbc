//! What inputs of a conversion to IDV are: IDV, or text of some kind.

use std::fmt;
use std::path::Path;

use clap::ValueEnum;
use container_core::{Error, ErrorKind, Probe, Recognition, Result, Source};

use super::super::env::Opener;
use super::super::inputs::Place;

/// What an input is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Kind {
    /// JSON lines, or one array of objects
    Jsonl,
    /// Comma-separated values
    Csv,
    /// Tab-separated values
    Tsv,
    /// IDV
    Idv,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Jsonl => "JSON lines",
            Self::Csv => "CSV",
            Self::Tsv => "TSV",
            Self::Idv => "IDV",
        })
    }
}

/// An input, opened.
pub(super) struct Opened {
    pub(super) name: String,
    pub(super) source: Source,
}

/// Opens all inputs, which must be of one kind.
pub(super) fn open(places: &[Place], from: Option<Kind>, opener: &mut Opener<'_>) -> Result<(Kind, Vec<Opened>)> {
    let mut all: Vec<Opened> = Vec::new();
    let mut common = None;
    for place in places {
        let name = place.name();
        let (kind, source) = one(place, from, opener).map_err(|error| error.in_file(name.clone()))?;
        let first = *common.get_or_insert(kind);
        if first != kind {
            let other = all.first().map(|opened| opened.name.as_str()).unwrap_or_default();
            let detail = format!("it is {kind} where {other} is {first}: inputs of one command must be of one kind");
            return Err(Error::usage(detail).in_file(name));
        }
        all.push(Opened { name, source });
    }
    common.map(|kind| (kind, all)).ok_or_else(|| Error::usage("there is no input"))
}

fn one(place: &Place, from: Option<Kind>, opener: &mut Opener<'_>) -> Result<(Kind, Source)> {
    let input = place.input(opener)?;
    let Some(source) = input.source() else {
        return Err(Error::unsupported("a directory cannot be written as IDV so far"));
    };
    if let Some(kind) = from {
        return Ok((kind, source.clone()));
    }
    let head = source.read(0..source.len().min(4096))?;
    let probe = Probe::new(input.path(), &head).with_source(source);
    if idv::FORMAT.recognize(&probe) == Recognition::Content {
        return Ok((Kind::Idv, source.clone()));
    }
    if let Some(format) = opener.formats.iter().find(|format| format.recognize(&probe) == Recognition::Content) {
        let detail = format!("a file of the format {} cannot be written as IDV so far", format.name());
        return Err(Error::unsupported(detail));
    }
    let kind = input.path().and_then(by_extension).or_else(|| by_content(&head));
    let kind = kind.ok_or_else(|| Error::usage("what it is cannot be told: say --from jsonl, csv, tsv or idv"))?;
    Ok((kind, source.clone()))
}

fn by_extension(path: &Path) -> Option<Kind> {
    let extension = path.extension()?.to_string_lossy().to_ascii_lowercase();
    match extension.as_str() {
        "jsonl" | "ndjson" | "json" => Some(Kind::Jsonl),
        "csv" => Some(Kind::Csv),
        "tsv" => Some(Kind::Tsv),
        "idv" => Some(Kind::Idv),
        _ => None,
    }
}

/// Text that begins as JSON does.
fn by_content(head: &[u8]) -> Option<Kind> {
    let text = head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(head);
    let first = text.iter().find(|byte| !byte.is_ascii_whitespace());
    matches!(first, Some(b'{' | b'[')).then_some(Kind::Jsonl)
}

/// Says of a text that was taken for a container what can be done with it.
pub(super) fn only_idv(error: Error) -> Error {
    let file = error.position().file.clone();
    let kind = file.as_ref().and_then(|file| by_extension(Path::new(file.as_ref())));
    match (file, kind) {
        (Some(file), Some(kind)) if kind != Kind::Idv && error.kind() == ErrorKind::Unsupported => {
            Error::unsupported(format!("only IDV can be written from {kind} so far: --to idv")).in_file(file)
        }
        _ => error,
    }
}
