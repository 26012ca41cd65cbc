//! The kind of the inputs of a conversion: a container, text, or files.

use std::fmt;
use std::path::Path;

use container_core::{Error, Input, Probe, Recognition, Result, Source};

use super::super::env::Opener;
use super::super::inputs::Location;
use super::options::InputForm;

/// The kind of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// JSON lines, or one array of objects.
    Jsonl,
    Csv,
    Tsv,
    Idv,
    Datadings,
    /// A container of another format, by the format's name.
    Container(&'static str),
    /// A container that is read as typed columns without loss.
    Columns(&'static str),
    /// A ZIP archive of files.
    Zip,
    /// A folder of files.
    Folder,
}

impl Kind {
    /// NetCDF, whose variables ds copies instead of rows.
    pub(super) const NETCDF: Self = Self::Container(dsfmt::netcdf::FORMAT_NAME);

    pub(super) const fn is_text(self) -> bool {
        matches!(self, Self::Jsonl | Self::Csv | Self::Tsv)
    }

    /// Whether IDV, ds and datadings, too, read it as typed columns.
    pub(super) const fn is_columns(self) -> bool {
        matches!(self, Self::Columns(_))
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Jsonl => "JSON lines",
            Self::Csv => "CSV",
            Self::Tsv => "TSV",
            Self::Idv => "IDV",
            Self::Datadings => "datadings",
            Self::Container(name) | Self::Columns(name) => name,
            Self::Zip => "a ZIP archive",
            Self::Folder => "a folder",
        })
    }
}

impl From<InputForm> for Kind {
    fn from(form: InputForm) -> Self {
        match form {
            InputForm::Jsonl => Self::Jsonl,
            InputForm::Csv => Self::Csv,
            InputForm::Tsv => Self::Tsv,
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

/// Formats whose values carry more than typed columns: IDV, ds and datadings read them in another way.
const OTHERS: [&str; 4] = [super::super::zds::NAME, super::super::DS, dsfmt::netcdf::FORMAT_NAME, "mlnet-model"];

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

fn kind(input: &Input, from: Option<InputForm>, opener: &Opener<'_>) -> Result<Kind> {
    if let Input::Container(container) = input {
        return Ok(Kind::Columns(container.format()));
    }
    let Some(source) = input.source() else {
        if from.is_none()
            && let Some(path) = input.path()
            && zdx::FORMAT.recognize(&Probe::directory(path)) == Recognition::Content
        {
            return Ok(Kind::Container(super::super::zds::NAME));
        }
        return Ok(Kind::Folder);
    };
    if let Some(from) = from {
        return Ok(from.into());
    }
    let head = source.read(0..source.len().min(4096))?;
    let probe = Probe::new(input.path(), &head).with_source(source);
    if idv::FORMAT.recognize(&probe) == Recognition::Content {
        return Ok(Kind::Idv);
    }
    if let Some(format) =
        opener.registry.formats().iter().find(|format| format.recognize(&probe) == Recognition::Content)
    {
        return Ok(match format.name() {
            "datadings" => Kind::Datadings,
            "zip" => Kind::Zip,
            name if OTHERS.contains(&name) => Kind::Container(name),
            name => match opener.container(input)?.tables().iter().any(|table| table.arrow().is_some()) {
                true => Kind::Columns(name),
                false => Kind::Container(name),
            },
        });
    }
    let kind = input.path().and_then(by_extension).or_else(|| by_content(&head));
    kind.ok_or_else(|| {
        let known = "{from} declares it: jsonl, csv, tsv, idv, datadings or zip";
        Error::usage("unrecognized format").advising(known)
    })
}

fn by_extension(path: &Path) -> Option<Kind> {
    let extension = path.extension()?.to_string_lossy().to_ascii_lowercase();
    match extension.as_str() {
        "jsonl" | "ndjson" | "json" => Some(Kind::Jsonl),
        "csv" => Some(Kind::Csv),
        "tsv" => Some(Kind::Tsv),
        "idv" => Some(Kind::Idv),
        "msgpack" => Some(Kind::Datadings),
        "zip" => Some(Kind::Zip),
        _ => None,
    }
}

/// Recognizes text that begins like JSON.
fn by_content(head: &[u8]) -> Option<Kind> {
    let text = head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(head);
    let first = text.iter().find(|byte| !byte.is_ascii_whitespace());
    matches!(first, Some(b'{' | b'[')).then_some(Kind::Jsonl)
}
