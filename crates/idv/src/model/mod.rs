//! The schemas in ML.NET model files (`.zip`): IDV files without rows that describe the training data.
//!
//! | entry | what |
//! |---|---|
//! | `TrainingInfo/Version.txt` | the version of ML.NET that wrote the model; identifies a model file |
//! | `Schema`, in any directory | the schema that the model was saved with |
//! | `Schema.idv`, in any directory | the schema of a binary file loader |
//! | `Loader/`, `DataLoaderModel/` | how the training data were loaded |
//!
//! The rest of the archive, the model itself, is not read.

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

/// Format name, as in errors.
const MODEL_FORMAT_NAME: &str = "mlnet-model";

/// Maximum bytes of `TrainingInfo/Version.txt`, a single line.
const MAX_VERSION_BYTES: u64 = 64 << 10;

/// Maximum schemas of a model; usual are one or two.
const MAX_SCHEMAS: usize = 1024;

/// Maximum directory entries scanned to recognize a model file.
const MAX_RECOGNIZE_ENTRIES: u64 = 1 << 16;

/// An open ML.NET model file and its schemas.
///
/// A schema that cannot be read (damaged, encrypted, too large) does not affect the others; see [`unreadable`](Self::unreadable). Opening
/// reads the archive's directory, the version and the schemas, which stay in memory and take at most [`Limits::metadata_bytes`] in total.
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

/// A schema: an IDV file embedded in a model file.
pub struct ModelSchema {
    name: String,
    entry: String,
    container: IdvContainer,
}

impl ModelSchema {
    /// Name of its entry, such as `Schema` or `DataLoaderModel/Schema.idv`, with `#2`, `#3`... appended to repeated names.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The embedded file. Offsets in its errors count from the start of its decompressed content.
    #[must_use]
    pub fn reader(&self) -> &Reader {
        self.container.reader()
    }
}

/// The relevant entries.
#[derive(Default)]
struct Parts {
    /// The first entry of this name, which counts, and the second, if any.
    version: Vec<Entry>,
    schemas: Vec<Entry>,
    loader: bool,
}

/// The role of an entry, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Version,
    Schema,
    Loader,
}

/// Older writers on Windows separate directories with `\`.
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

/// Whether the archive has ML.NET's version entry or a schema. False if it cannot be read.
fn is_model(source: &Source) -> bool {
    let Ok(archive) = Archive::open(source) else { return false };
    let (mut is_model, mut scanned) = (false, 0);
    // Errors after a match do not matter.
    let _ = archive.entries(|record| {
        is_model = match role(record.file_path().as_bytes()) {
            Some(Role::Version) => true,
            Some(Role::Schema) => archive.starts_with(&Entry::new(record), SIGNATURE.to_le_bytes()),
            _ => false,
        };
        scanned += 1;
        Ok(!is_model && scanned < MAX_RECOGNIZE_ENTRIES)
    });
    is_model
}

impl Model {
    /// Opens a model file.
    ///
    /// # Errors
    /// As [`from_source`](Self::from_source); [`Io`](ErrorKind::Io) when the file cannot be read. Errors name the file.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let options = OpenOptions::default();
        let opened = Source::open_with(&path, options.access).and_then(|source| Self::from_source(source, options));
        opened.map_err(|error| error.in_file(path.as_ref().display().to_string()))
    }

    /// Opens a model file from a source.
    ///
    /// # Errors
    /// [`Invalid`](ErrorKind::Invalid) for other than a ZIP archive or a damaged directory, [`Unsupported`](ErrorKind::Unsupported) for a ZIP
    /// archive other than an ML.NET model, [`Limit`](ErrorKind::Limit) for more than 1024 schemas.
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
            if schemas > MAX_SCHEMAS {
                let at = record.central_directory_offset();
                return Err(Error::limit("the number of schemas", schemas as u64, MAX_SCHEMAS as u64).at(at));
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
            Err(error) => self.collect_error(error)?,
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
                Err(error) => self.collect_error(error)?,
            }
            self.parts.schemas.push(entry);
        }
        if self.parts.version.is_empty() && self.schemas.is_empty() {
            let detail = format!(
                "the ZIP archive is not an ML.NET model: its {} entries include neither TrainingInfo/Version.txt nor a readable schema",
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

    /// Collects an error of an entry; passes on I/O errors.
    fn collect_error(&mut self, error: Error) -> Result<()> {
        if error.kind() == ErrorKind::Io {
            return Err(error);
        }
        self.unreadable.push(error);
        Ok(())
    }

    fn version_text(&self) -> Result<Option<Vec<u8>>> {
        let Some(entry) = self.parts.version.first() else { return Ok(None) };
        let limits = self.options.limits;
        let limits = limits.with_metadata_bytes(limits.metadata_bytes.min(MAX_VERSION_BYTES));
        self.archive.content(entry, &limits).map(Some)
    }

    /// Opens a schema and charges its size to the budget, as all schemas stay in memory.
    fn schema(&self, entry: &Entry, budget: &mut Limits) -> Result<IdvContainer> {
        let content = self.archive.content(entry, budget)?;
        budget.metadata_bytes = budget.metadata_bytes.saturating_sub(entry.size);
        let reader = Reader::from_source(Source::from(content), self.options).map_err(|error| entry.locate(error))?;
        Ok(IdvContainer::new(reader))
    }

    /// Number of entries in the archive.
    #[must_use]
    pub const fn entries(&self) -> u64 {
        self.entries
    }

    /// The version of ML.NET that wrote the model, such as `1.5.28711.2`, if recorded.
    #[must_use]
    pub fn mlnet_version(&self) -> Option<&str> {
        self.version.as_deref()
    }

    /// Whether the model contains a loader of its training data.
    #[must_use]
    pub const fn has_loader(&self) -> bool {
        self.parts.loader
    }

    /// The readable schemas, in directory order; possibly none.
    #[must_use]
    pub fn schemas(&self) -> &[ModelSchema] {
        &self.schemas
    }

    /// The errors of unreadable schemas and version entries; their [key](container_core::Position::key) is the entry name.
    #[must_use]
    pub fn unreadable(&self) -> &[Error] {
        &self.unreadable
    }

    /// Verifies what this crate reads: the directory, size and CRC-32 of the version and each schema, and each schema as
    /// [`Reader::verify`] does. The model itself is not checked.
    ///
    /// # Errors
    /// [`Io`](ErrorKind::Io) when the source fails. Problems of the file are reported as findings.
    pub fn verify(&self, options: &VerifyOptions, report: &mut dyn FnMut(Finding)) -> Result<()> {
        for (earlier, entry) in repeated(&self.parts.version).chain(repeated(&self.parts.schemas)) {
            let detail = format!("duplicate entry, first at byte {}", earlier.offset());
            report(Finding::warning(entry.locate(Error::invalid(detail).at(entry.offset()))));
        }
        report_errors(self.version_text(), report)?;
        let mut budget = self.options.limits;
        for entry in &self.parts.schemas {
            if let Some(container) = report_errors(self.schema(entry, &mut budget), report)? {
                let mut report_in_entry = |finding: Finding| {
                    report(match finding.severity {
                        container_core::Severity::Error => Finding::error(entry.locate(finding.error)),
                        container_core::Severity::Warning => Finding::warning(entry.locate(finding.error)),
                    });
                };
                container.reader().verify(options, &mut report_in_entry)?;
            }
        }
        Ok(())
    }
}

/// Reports the error of an entry; unsupported ones as warnings, as they may be valid.
fn report_errors<T>(read: Result<T>, report: &mut dyn FnMut(Finding)) -> Result<Option<T>> {
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

/// Entries with a repeated name, each with the first entry of that name.
fn repeated(entries: &[Entry]) -> impl Iterator<Item = (&Entry, &Entry)> {
    let mut first = HashMap::new();
    entries.iter().filter_map(move |entry| match *first.entry(entry.name.as_str()).or_insert(entry) {
        earlier if std::ptr::eq(earlier, entry) => None,
        earlier => Some((earlier, entry)),
    })
}

/// The first word of `1.5.28711.2 @BuiltBy: ...`, if it looks like a version.
fn version_of(text: &[u8]) -> Option<String> {
    const MAX_LEN: usize = 64;
    let text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text);
    let word = text.split(u8::is_ascii_whitespace).next()?;
    let word = std::str::from_utf8(word).ok().filter(|word| word.len() <= MAX_LEN)?;
    let is_valid = |byte: u8| byte.is_ascii_alphanumeric() || b".-+".contains(&byte);
    (word.starts_with(|first: char| first.is_ascii_digit()) && word.bytes().all(is_valid)).then(|| word.to_owned())
}

#[cfg(test)]
mod tests;
