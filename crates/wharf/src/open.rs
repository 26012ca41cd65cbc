use std::path::PathBuf;

use container_core::{Container, Format, Input, OpenOptions, Result, detect};

/// The formats that are built in.
static FORMATS: &[&dyn Format] = &[
    #[cfg(feature = "idv")]
    idv::FORMAT,
    #[cfg(feature = "idv")]
    idv::MODEL_FORMAT,
    #[cfg(feature = "datadings")]
    datadings::FORMAT,
    #[cfg(feature = "ds")]
    dsfmt::FORMAT,
    #[cfg(feature = "zds")]
    zdx::FORMAT,
    #[cfg(feature = "parquet")]
    crate::parquet::FORMAT,
    #[cfg(feature = "arrow")]
    crate::ipc::FORMAT,
    // Last: what another format knows by its name is not taken for text.
    crate::text::JSON_LINES,
    crate::text::CSV,
    crate::text::TSV,
];

/// The formats that this build knows, in the order in which they are asked whether a file is theirs.
#[must_use]
pub fn formats() -> &'static [&'static dyn Format] {
    FORMATS
}

/// Opens a container of any known format, with default options: its content says which, or else its name.
///
/// # Errors
/// [`Io`](crate::ErrorKind::Io) when there is nothing to read, [`Unsupported`](crate::ErrorKind::Unsupported) when no
/// format recognizes it, and what the format finds wrong. The error names the file.
pub fn open(path: impl Into<PathBuf>) -> Result<Box<dyn Container>> {
    let options = OpenOptions::default();
    open_with(&Input::open(path, options.access)?, &options)
}

/// Opens a container of any known format from an [`Input`]: a path, a directory, bytes.
///
/// # Errors
/// As [`open`].
pub fn open_with(input: &Input, options: &OpenOptions) -> Result<Box<dyn Container>> {
    open_among(formats(), input, options)
}

/// Opens a container of one of these formats: the built-in ones and your own, say.
///
/// # Errors
/// As [`open`].
pub fn open_among(formats: &[&dyn Format], input: &Input, options: &OpenOptions) -> Result<Box<dyn Container>> {
    let opened = detect(formats, input)
        .and_then(|format| format.open(input, options).map_err(|error| error.in_format(format.name())));
    opened.map_err(|error| match input.path() {
        Some(path) => error.in_file(path.display().to_string()),
        None => error,
    })
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
    fn content_leads_to_the_format() {
        let container = open_among(&[MOCK], &file(br#"{"mock":1,"tables":[]}"#), &OpenOptions::default())
            .map_err(|e| e.to_string());
        assert_eq!(container.map(|container| container.format()), Ok("mock"));
    }

    #[test]
    fn errors_name_format_and_file() {
        let error = open_among(&[MOCK], &file(br#"{"mock":1,"#), &OpenOptions::default()).err().unwrap();
        assert!(error.to_string().starts_with("mock: some.file: it is no JSON"), "{error}");
        let error = open_among(&[MOCK], &file(b"plain text"), &OpenOptions::default()).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert_eq!(
            error.to_string(),
            "some.file: the format is none that is known here (mock): it begins with 70 6C 61 69 6E 20 74 65"
        );
    }
}
