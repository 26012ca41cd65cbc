//! Errors with full paths.

use std::path::Path;

use container_core::Error;

use crate::FORMAT_NAME;
use crate::layout::{DOCS, META};

/// Completes the file of an error of a [`Collection`](crate::Collection) or its writer, which is relative to the collection's directory, with
/// the `location` of that directory. An error without a file gets the directory.
#[must_use]
pub fn located(error: Error, location: &str) -> Error {
    let position = error.position().clone();
    let file = match &position.file {
        None => return error.in_file(location.to_owned()).in_format(FORMAT_NAME),
        Some(file) if [META, DOCS].iter().any(|folder| file.split('/').next() == Some(folder)) => {
            Path::new(location).join(file.as_ref()).display().to_string()
        }
        Some(_) => return error.in_format(FORMAT_NAME),
    };
    let mut whole = Error::new(error.kind(), error.detail().to_owned()).in_format(FORMAT_NAME).in_file(file);
    if let Some(cause) = std::error::Error::source(&error) {
        whole = whole.caused_by(cause.to_string());
    }
    if let Some(byte) = position.byte {
        whole = whole.at(byte);
    }
    if let Some(row) = position.row {
        whole = whole.in_row(row);
    }
    if let Some(line) = position.line {
        whole = whole.in_line(line);
    }
    if let Some(column) = position.column {
        whole = whole.in_column(column);
    }
    match position.key {
        Some(key) => whole.in_key(key),
        None => whole,
    }
}
