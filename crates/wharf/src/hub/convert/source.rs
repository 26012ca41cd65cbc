//! The kind of the inputs of a conversion: a container, text, or files.

use std::fmt;

use container_core::{Error, ErrorKind, Input, Result, Source};

use super::super::env::Opener;
use super::super::inputs::Location;
use super::super::is_netcdf;
use super::options::InputForm;
use super::targets::TargetUnit;
use crate::convert::import::{FOLDER, check_folder};
use crate::text::TextFormat;

/// The kind of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Text(TextFormat),
    Idv,
    Datadings,
    /// A container of another format, by the format's name.
    Container(&'static str),
    /// A container that is read as typed columns without loss.
    Columns(&'static str),
    /// A container whose columns are renamed and left out on the way: by rows, where a container of the format is.
    Renamed(&'static str),
    /// A ZIP archive of files.
    Zip,
    /// A folder of files.
    Folder,
}

impl Kind {
    /// Whether it is NetCDF, or read as NetCDF, whose variables ds copies instead of rows.
    pub(super) fn is_netcdf(self) -> bool {
        matches!(self, Self::Container(name) if is_netcdf(name))
    }

    pub(super) fn is_text(self) -> bool {
        self.text().is_some()
    }

    /// Whether it is text whose cells have no types.
    pub(super) fn is_cells(self) -> bool {
        self.text().is_some_and(TextFormat::is_cells)
    }

    /// The format of text, also when its columns are changed.
    fn text(self) -> Option<TextFormat> {
        match self {
            Self::Text(text) => Some(text),
            Self::Columns(name) | Self::Renamed(name) => TextFormat::named(name),
            _ => None,
        }
    }

    /// Whether IDV, ds and datadings, too, read it as typed columns.
    pub(super) const fn is_columns(self) -> bool {
        matches!(self, Self::Columns(_))
    }
}

impl Kind {
    /// The kind of a form of input, by the name of its format.
    fn from_name(name: &str) -> Option<Self> {
        InputForm::named(name).map(Self::from)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text(TextFormat::JsonLines) => "JSON lines",
            Self::Text(TextFormat::Csv) => "CSV",
            Self::Text(TextFormat::Tsv) => "TSV",
            Self::Idv => "IDV",
            Self::Datadings => "datadings",
            Self::Container(name) | Self::Columns(name) | Self::Renamed(name) => {
                return match Self::from_name(name) {
                    Some(kind) => kind.fmt(f),
                    None => f.write_str(name),
                };
            }
            Self::Zip => "a ZIP archive",
            Self::Folder => "a folder",
        })
    }
}

impl From<InputForm> for Kind {
    fn from(form: InputForm) -> Self {
        match form {
            InputForm::Jsonl => Self::Text(TextFormat::JsonLines),
            InputForm::Csv => Self::Text(TextFormat::Csv),
            InputForm::Tsv => Self::Text(TextFormat::Tsv),
            InputForm::Idv => Self::Idv,
            InputForm::Datadings => Self::Datadings,
            InputForm::Zip => Self::Zip,
        }
    }
}

/// An opened input.
pub(super) struct Opened {
    pub(super) name: String,
    pub(super) input: Input,
}

impl Opened {
    /// Its bytes.
    pub(super) fn source(&self) -> Result<&Source> {
        let folder = || Error::usage("expected a file, found a folder").in_file(self.name.clone());
        self.input.source().ok_or_else(folder)
    }
}

/// Opens all inputs, which must be of one kind.
pub(super) fn open(
    locations: &[Location],
    from: Option<InputForm>,
    opener: &mut Opener<'_>,
) -> Result<(Kind, Vec<Opened>)> {
    let mut all: Vec<Opened> = Vec::new();
    let mut common = None;
    for location in locations {
        let name = location.name();
        let named = |error: Error| error.in_file(name.clone());
        let input = location.input(opener).map_err(named)?;
        let kind = kind(&input, from, opener).map_err(named)?;
        let first = *common.get_or_insert(kind);
        if first != kind {
            let other = all.first().map(|opened| opened.name.as_str()).unwrap_or_default();
            let detail = format!("found {kind}, expected {first} like {other}: all inputs must be of one kind");
            return Err(Error::usage(detail).in_file(name));
        }
        all.push(Opened { name, input });
    }
    let kind = common.ok_or_else(|| Error::usage("there is no input"))?;
    opener.check_time(&kind.to_string())?;
    Ok((kind, all))
}

/// The kind of an input, whose columns may be changed.
fn kind(input: &Input, from: Option<InputForm>, opener: &Opener<'_>) -> Result<Kind> {
    let kind = unchanged(input, from, opener)?;
    let Some(changes) = opener.changes() else { return Ok(kind) };
    if matches!(kind, Kind::Folder | Kind::Zip) {
        let detail = format!("columns cannot be changed in inputs that are {kind}");
        return Err(Error::usage(detail));
    }
    let name = opener.container(input)?.format();
    Ok(if changes.keep_values() && !kind.is_columns() { Kind::Renamed(name) } else { Kind::Columns(name) })
}

fn unchanged(input: &Input, from: Option<InputForm>, opener: &Opener<'_>) -> Result<Kind> {
    if let Input::Container(container) = input {
        return Ok(Kind::Columns(container.format()));
    }
    match (from, input.source()) {
        (Some(from), Some(_)) => return Ok(from.into()),
        (Some(_), None) => return Ok(Kind::Folder),
        (None, _) => {}
    }
    let name = match opener.registry.detect(input) {
        // The format of last resort for a folder, which has no other form.
        Ok(format) if format.name() == FOLDER.name() => {
            if let Some(path) = input.path() {
                check_folder(path)?;
            }
            return Ok(Kind::Folder);
        }
        Ok(format) => format.name(),
        Err(error) if error.kind() != ErrorKind::Unsupported => return Err(error),
        Err(_) if input.source().is_none() => return Ok(Kind::Folder),
        Err(_) if is_array(input)? => return Ok(Kind::Text(TextFormat::JsonLines)),
        Err(_) => {
            let known = "{from} declares it: jsonl, csv, tsv, idv, datadings or zip";
            return Err(Error::usage("unrecognized format").advising(known));
        }
    };
    if let Some(form) = InputForm::named(name) {
        return Ok(form.into());
    }
    // Samples, documents and variables have more than typed columns: targets without types read them in another way.
    let units = opener.registry.targets().into_iter().map(|target| target.info());
    let mut units = units.filter(|info| info.format == name).map(|info| info.unit);
    let is_more = |unit| matches!(unit, TargetUnit::Samples | TargetUnit::Documents | TargetUnit::Variables);
    if units.any(is_more) || !opener.container(input)?.tables().iter().any(|table| table.arrow().is_some()) {
        return Ok(Kind::Container(name));
    }
    Ok(Kind::Columns(name))
}

/// Whether a text begins like a JSON array, which no format recognizes by its content.
fn is_array(input: &Input) -> Result<bool> {
    let Some(source) = input.source() else { return Ok(false) };
    let head = source.read(0..source.len().min(4096))?;
    let text = head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&head);
    Ok(text.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'['))
}
