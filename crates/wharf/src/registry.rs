#[cfg_attr(not(feature = "convert"), path = "registry/without_convert.rs")]
mod entries;

use std::path::PathBuf;
use std::sync::Arc;

use container_core::{Container, Format, Input, OpenOptions, Result, detect};

use entries::Entries;

/// The built-in formats.
static FORMATS: &[&[&dyn Format]] = &[
    #[cfg(feature = "idv")]
    &[idv::FORMAT, idv::MODEL_FORMAT],
    #[cfg(feature = "datadings")]
    &[datadings::FORMAT],
    #[cfg(feature = "ds")]
    &[dsfmt::FORMAT],
    #[cfg(feature = "netcdf")]
    &[dsfmt::netcdf::FORMAT],
    #[cfg(feature = "zarr")]
    &[dsfmt::zarr::FORMAT],
    #[cfg(feature = "zds")]
    &[zdx::FORMAT],
    #[cfg(feature = "parquet")]
    &[crate::parquet::FORMAT],
    #[cfg(feature = "arrow")]
    &[crate::ipc::FORMAT],
    // Text last: a format that recognizes the name takes precedence.
    &[crate::text::JSON_LINES, crate::text::CSV, crate::text::TSV],
    entries::FILES,
];

/// The known formats, in the order in which they try to recognize an input.
///
/// ```
/// # use container_core::testkit::MOCK as YOURS;
/// # fn main() -> wharf::Result<()> {
/// use wharf::{Input, OpenOptions, Registry, Source};
///
/// let registry = Registry::builtin().with(YOURS);
/// let input = Input::Stream(Source::from(&br#"{"mock": 1}"#[..]));
/// let container = registry.open_with(&input, &OpenOptions::default())?;
/// assert_eq!(container.format(), YOURS.name());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Registry {
    pub(crate) entries: Entries,
}

impl Registry {
    /// The formats of this crate that its features enable.
    #[must_use]
    pub fn builtin() -> Self {
        let mut builtin = Self::empty();
        builtin.entries.formats = FORMATS.concat();
        builtin
    }

    /// No formats.
    #[must_use]
    pub const fn empty() -> Self {
        Self { entries: Entries::EMPTY }
    }

    /// Adds a format, replacing the one of the same name. A new format comes first, so that it wins over others with equal confidence.
    #[must_use]
    pub fn with(mut self, format: &'static dyn Format) -> Self {
        let formats = &mut self.entries.formats;
        match formats.iter_mut().find(|known| known.name() == format.name()) {
            Some(known) => *known = format,
            None => formats.insert(0, format),
        }
        self
    }

    /// All formats.
    #[must_use]
    pub fn formats(&self) -> &[&'static dyn Format] {
        &self.entries.formats
    }

    /// Detects the format of an input by content, or else by name.
    ///
    /// # Errors
    /// [`Unsupported`](crate::ErrorKind::Unsupported) if no format recognizes the input, with the known formats; errors of reading its
    /// beginning.
    pub fn detect(&self, input: &Input) -> Result<&'static dyn Format> {
        detect(self.formats(), input)
    }

    /// Opens a container with default options.
    ///
    /// # Errors
    /// [`Io`](crate::ErrorKind::Io) if the path cannot be read, and those of [`detect`](Self::detect) and of the format. The error names the
    /// file.
    pub fn open(&self, path: impl Into<PathBuf>) -> Result<Box<dyn Container>> {
        let options = OpenOptions::default();
        self.open_with(&Input::open(path, options.access)?, &options)
    }

    /// Opens a container from an [`Input`]: a path, a directory, or bytes.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_with(&self, input: &Input, options: &OpenOptions) -> Result<Box<dyn Container>> {
        if let Input::Container(container) = input {
            return Ok(Box::new(Arc::clone(container)));
        }
        let opened = self
            .detect(input)
            .and_then(|format| format.open(input, options).map_err(|error| error.in_format(format.name())));
        opened.map_err(|error| error.in_optional_file(input.path().map(|path| path.display().to_string())))
    }
}

impl Default for Registry {
    fn default() -> Self {
        Self::builtin()
    }
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.formats().iter().map(|format| format.name())).finish()
    }
}

/// Opens a container of any [built-in](Registry::builtin) format with default options. The format is detected by content, or else by name.
///
/// # Errors
/// Those of [`Registry::open`].
pub fn open(path: impl Into<PathBuf>) -> Result<Box<dyn Container>> {
    Registry::builtin().open(path)
}

/// Opens a container of any built-in format from an [`Input`]: a path, a directory, or bytes.
///
/// # Errors
/// Those of [`Registry::open`].
pub fn open_with(input: &Input, options: &OpenOptions) -> Result<Box<dyn Container>> {
    Registry::builtin().open_with(input, options)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ErrorKind, Source};
    use container_core::testkit::MOCK;

    fn file(content: &'static [u8]) -> Input {
        Input::File { path: "some.file".into(), source: Source::from(content) }
    }

    #[test]
    fn detects_format_by_content() {
        let container = Registry::empty()
            .with(MOCK)
            .open_with(&file(br#"{"mock":1,"tables":[]}"#), &OpenOptions::default())
            .map_err(|e| e.to_string());
        assert_eq!(container.map(|container| container.format()), Ok("mock"));
    }

    #[test]
    fn errors_name_format_and_file() {
        let error =
            Registry::empty().with(MOCK).open_with(&file(br#"{"mock":1,"#), &OpenOptions::default()).err().unwrap();
        assert!(error.to_string().starts_with("mock: some.file: invalid JSON"), "{error}");
        let error =
            Registry::empty().with(MOCK).open_with(&file(b"plain text"), &OpenOptions::default()).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert_eq!(
            error.to_string(),
            "some.file: unrecognized format (known: mock): begins with 70 6C 61 69 6E 20 74 65"
        );
    }

    #[test]
    fn added_format_comes_first_and_once() {
        let registry = Registry::builtin().with(MOCK).with(MOCK);
        assert_eq!(registry.formats().len(), Registry::builtin().formats().len() + 1);
        // JSON lines would recognize it too.
        let input = file(br#"{"mock":1,"tables":[]}"#);
        assert_eq!(registry.detect(&input).map(Format::name).unwrap(), "mock");
        assert!(format!("{registry:?}").starts_with(r#"["mock", "#), "{registry:?}");
    }
}
