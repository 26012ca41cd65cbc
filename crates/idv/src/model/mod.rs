//! Model files of ML.NET (`.zip`), as far as they hold IDV: the schema of the training data, a table without rows.
//!
//! | entry | what |
//! |---|---|
//! | `TrainingInfo/Version.txt` | the version of ML.NET that wrote the model: its mark |
//! | `Schema`, in whichever folder | the schema that the model was saved with |
//! | `Schema.idv`, in whichever folder | the schema of a loader of binary files |
//! | `Loader/`, `DataLoaderModel/` | how the training data were loaded |
//!
//! Everything else in the archive, the model itself, is not looked at.

mod archive;
mod container;

use std::collections::HashMap;
use std::path::Path;

use container_core::{Error, ErrorKind, Finding, Limits, OpenOptions, Result, Source, VerifyOptions};

use self::archive::{Archive, Entry};
use crate::container::IdvContainer;
use crate::read::Reader;
use crate::wire::SIGNATURE;

pub use container::MODEL_FORMAT;

/// The name of the format in errors and everywhere else.
const MODEL_FORMAT_NAME: &str = "mlnet-model";

/// Bytes of `TrainingInfo/Version.txt` at most: it is a line.
const MOST_VERSION_BYTES: u64 = 64 << 10;

/// Schemas of one model at most: there is one, or two.
const MOST_SCHEMAS: usize = 1024;

/// Entries that are looked at before an archive is taken for something else.
const MOST_LOOKED_AT: u64 = 1 << 16;

/// A model file of ML.NET, opened: the schemas in it, and little else.
///
/// A schema that cannot be read (damaged, encrypted, too large) does not keep the others from it: [`unreadable`](Self::unreadable)
/// has it. Opening reads the archive's directory, the version and the schemas; these stay in memory, and together are not
/// larger than [`Limits::metadata_bytes`].
///
/// ```
/// # fn main() -> container_core::Result<()> {
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/data/schema.zip");
/// let model = idv::Model::open(path)?;
/// assert_eq!(model.mlnet_version(), Some("1.5.28711.2"));
/// let [schema] = model.schemas() else { return Ok(()) };
/// assert_eq!(schema.name(), "Schema");
/// let types: Vec<_> =
///     schema.reader().columns().iter().filter_map(|column| column.kind().ok()).map(ToString::to_string).collect();
/// assert_eq!(types[4..], ["Key<UInt32, 3>", "Vector<Single, 3>", "Vector<Single, 5>"]);
/// # Ok(())
/// # }
/// ```
pub struct Model {
    archive: Archive,
    source_len: u64,
    options: OpenOptions,
    entries: u64,
    parts: Parts,
    version: Option<String>,
    schemas: Vec<ModelSchema>,
    unreadable: Vec<Error>,
}

/// The schema of training data: an IDV file inside a model file.
pub struct ModelSchema {
    name: String,
    entry: String,
    container: IdvContainer,
}

impl ModelSchema {
    /// The name of the entry that holds it, such as `Schema` or `DataLoaderModel/Schema.idv`, with `#2`, `#3`... where an earlier
    /// entry is called the same.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The embedded file. Byte positions in its errors count from its own beginning, once decompressed.
    #[must_use]
    pub fn reader(&self) -> &Reader {
        self.container.reader()
    }
}

/// Entries of interest.
#[derive(Default)]
struct Parts {
    /// The first of this name, which counts, and the second, if there is one.
    version: Vec<Entry>,
    schemas: Vec<Entry>,
    loader: bool,
}

/// What an entry is by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Version,
    Schema,
    Loader,
}

/// Older writers on Windows part folders with `\`.
fn role(name: &[u8]) -> Option<Role> {
    let mut parts = name.split(|&byte| byte == b'/' || byte == b'\\');
    let (first, second, rest) = (parts.next()?, parts.next(), parts.next());
    match (first, second, rest) {
        (b"TrainingInfo", Some(b"Version.txt"), None) => Some(Role::Version),
        _ if matches!(parts.next_back().or(rest).or(second).unwrap_or(first), b"Schema" | b"Schema.idv") => {
            Some(Role::Schema)
        }
        (b"Loader" | b"DataLoaderModel", Some(_), _) => Some(Role::Loader),
        _ => None,
    }
}

/// True when the archive has ML.NET's mark or the schema of a model. What cannot be read has not.
fn is_model(source: &Source) -> bool {
    let Ok(archive) = Archive::open(source) else { return false };
    let (mut found, mut looked_at) = (false, 0);
    // An archive that is damaged further behind may be one all the same.
    let _ = archive.entries(|record| {
        found = match role(record.file_path().as_bytes()) {
            Some(Role::Version) => true,
            Some(Role::Schema) => archive.begins_with(&Entry::new(record), SIGNATURE.to_le_bytes()),
            _ => false,
        };
        looked_at += 1;
        Ok(!found && looked_at < MOST_LOOKED_AT)
    });
    found
}

impl Model {
    /// Opens a model file.
    ///
    /// # Errors
    /// As [`from_source`](Self::from_source); [`Io`](ErrorKind::Io) when it cannot be read. The error names the file.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let options = OpenOptions::default();
        let opened = Source::open_with(&path, options.access).and_then(|source| Self::from_source(source, options));
        opened.map_err(|error| error.in_file(path.as_ref().display().to_string()))
    }

    /// Opens a model file from whatever gives its bytes.
    ///
    /// # Errors
    /// [`Invalid`](ErrorKind::Invalid) when it is no ZIP archive or its directory is damaged, [`Unsupported`](ErrorKind::Unsupported)
    /// when the archive is no model of ML.NET, [`Limit`](ErrorKind::Limit) when it has more than 1024 schemas.
    pub fn from_source(source: Source, options: OpenOptions) -> Result<Self> {
        Self::read(&source, options).map_err(|error| error.in_format(MODEL_FORMAT_NAME))
    }

    fn read(source: &Source, options: OpenOptions) -> Result<Self> {
        let archive = Archive::open(source)?;
        let mut parts = Parts::default();
        let entries = archive.entries(|record| {
            match role(record.file_path().as_bytes()) {
                Some(Role::Version) if parts.version.len() < 2 => parts.version.push(Entry::new(record)),
                Some(Role::Schema) => parts.schemas.push(Entry::new(record)),
                Some(Role::Loader) => parts.loader = true,
                Some(Role::Version) | None => {}
            }
            let schemas = parts.schemas.len();
            if schemas > MOST_SCHEMAS {
                let at = record.central_directory_offset();
                return Err(Error::limit("the number of schemas", schemas as u64, MOST_SCHEMAS as u64).at(at));
            }
            Ok(true)
        })?;
        let mut model = Self {
            archive,
            source_len: source.len(),
            options,
            entries,
            parts,
            version: None,
            schemas: Vec::new(),
            unreadable: Vec::new(),
        };
        model.read_parts()?;
        Ok(model)
    }

    fn read_parts(&mut self) -> Result<()> {
        match self.version_text() {
            Ok(text) => self.version = text.as_deref().and_then(version_of),
            Err(error) => self.put_aside(error)?,
        }
        let mut names = HashMap::new();
        let mut budget = self.options.limits;
        for entry in std::mem::take(&mut self.parts.schemas) {
            match self.schema(&entry, &mut budget) {
                Ok(container) => {
                    let count = names.entry(entry.name.clone()).and_modify(|count| *count += 1_u32).or_insert(1);
                    let name = if *count == 1 { entry.name.clone() } else { format!("{}#{count}", entry.name) };
                    self.schemas.push(ModelSchema { name, entry: entry.name.clone(), container });
                }
                Err(error) => self.put_aside(error)?,
            }
            self.parts.schemas.push(entry);
        }
        if self.parts.version.is_empty() && self.schemas.is_empty() {
            let detail = format!(
                "the ZIP archive is no model of ML.NET: among its entries ({}) are neither TrainingInfo/Version.txt nor a readable \
                 schema",
                self.entries
            );
            let error = Error::unsupported(detail);
            return Err(match self.unreadable.pop() {
                Some(cause) => error.caused_by(cause),
                None => error,
            });
        }
        Ok(())
    }

    /// What is wrong with one entry concerns that entry; what is wrong with the source, all.
    fn put_aside(&mut self, error: Error) -> Result<()> {
        if error.kind() == ErrorKind::Io {
            return Err(error);
        }
        self.unreadable.push(error);
        Ok(())
    }

    fn version_text(&self) -> Result<Option<Vec<u8>>> {
        let Some(entry) = self.parts.version.first() else { return Ok(None) };
        let limits = self.options.limits;
        let limits = limits.with_metadata_bytes(limits.metadata_bytes.min(MOST_VERSION_BYTES));
        self.archive.content(entry, &limits).map(Some)
    }

    /// Opens a schema and takes its size off the budget: all of them stay in memory.
    fn schema(&self, entry: &Entry, budget: &mut Limits) -> Result<IdvContainer> {
        let content = self.archive.content(entry, budget)?;
        budget.metadata_bytes = budget.metadata_bytes.saturating_sub(entry.size);
        let reader = Reader::from_source(Source::from(content), self.options).map_err(|error| entry.tell(error))?;
        Ok(IdvContainer::new(reader))
    }

    /// How many entries the archive has.
    #[must_use]
    pub const fn entries(&self) -> u64 {
        self.entries
    }

    /// The version of ML.NET that wrote the model, such as `1.5.28711.2`, where it says so.
    #[must_use]
    pub fn mlnet_version(&self) -> Option<&str> {
        self.version.as_deref()
    }

    /// True when the model says how its training data were loaded.
    #[must_use]
    pub const fn has_loader(&self) -> bool {
        self.parts.loader
    }

    /// The schemas that can be read, in the order of the archive's directory. A model can be saved without any.
    #[must_use]
    pub fn schemas(&self) -> &[ModelSchema] {
        &self.schemas
    }

    /// Why a schema or the version cannot be read, one error for each; its [key](container_core::Position::key) is the entry.
    #[must_use]
    pub fn unreadable(&self) -> &[Error] {
        &self.unreadable
    }

    /// Checks what this crate reads of the file: the directory, size and CRC-32 of the version and of each schema, and each
    /// schema as [`Reader::verify`] does. The other entries, the model itself, are not looked at.
    ///
    /// # Errors
    /// [`Io`](ErrorKind::Io) when the source fails; everything that is wrong with the file goes to `report`.
    pub fn verify(&self, options: &VerifyOptions, report: &mut dyn FnMut(Finding)) -> Result<()> {
        for (earlier, entry) in repeated(&self.parts.version).chain(repeated(&self.parts.schemas)) {
            let detail = format!("the entry is in the directory already, at byte {}", earlier.offset());
            report(Finding::warning(entry.tell(Error::invalid(detail).at(entry.offset()))));
        }
        found(self.version_text(), report)?;
        let mut budget = self.options.limits;
        for entry in &self.parts.schemas {
            if let Some(container) = found(self.schema(entry, &mut budget), report)? {
                let mut tell = |finding: Finding| {
                    report(match finding.severity {
                        container_core::Severity::Error => Finding::error(entry.tell(finding.error)),
                        container_core::Severity::Warning => Finding::warning(entry.tell(finding.error)),
                    });
                };
                container.reader().verify(options, &mut tell)?;
            }
        }
        Ok(())
    }
}

/// Reports what is wrong with one entry. What merely cannot be read here may be sound.
fn found<T>(read: Result<T>, report: &mut dyn FnMut(Finding)) -> Result<Option<T>> {
    match read {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == ErrorKind::Io => Err(error),
        Err(error) if error.kind() == ErrorKind::Unsupported => {
            report(Finding::warning(error));
            Ok(None)
        }
        Err(error) => {
            report(Finding::error(error));
            Ok(None)
        }
    }
}

/// Entries whose name stands further up already, each with the first of that name.
fn repeated(entries: &[Entry]) -> impl Iterator<Item = (&Entry, &Entry)> {
    let mut first = HashMap::new();
    entries.iter().filter_map(move |entry| match *first.entry(entry.name.as_str()).or_insert(entry) {
        earlier if std::ptr::eq(earlier, entry) => None,
        earlier => Some((earlier, entry)),
    })
}

/// `1.5.28711.2 @BuiltBy: ...`: what stands in front of the first blank, if it looks like a version.
fn version_of(text: &[u8]) -> Option<String> {
    const LONGEST: usize = 64;
    let text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text);
    let word = text.split(u8::is_ascii_whitespace).next()?;
    let word = std::str::from_utf8(word).ok().filter(|word| word.len() <= LONGEST)?;
    let sound = |byte: u8| byte.is_ascii_alphanumeric() || b".-+".contains(&byte);
    (word.starts_with(|first: char| first.is_ascii_digit()) && word.bytes().all(sound)).then(|| word.to_owned())
}

#[cfg(test)]
mod tests;
