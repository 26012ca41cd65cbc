//! Errors with full paths.

use std::path::Path;

use container_core::Error;

use crate::FORMAT_NAME;
use crate::layout::{DOCS, META};

/// Completes the file of an error of a [`Collection`](crate::Collection) or its writer, which is relative to the collection's directory, with
/// the `location` of that directory. An error without a file gets the directory.
#[must_use]
pub fn located(error: Error, location: &str) -> Error {
    let mut position = error.position().clone();
    match &mut position.file {
        None => return error.in_file(location.to_owned()).in_format(FORMAT_NAME),
        Some(file) if [META, DOCS].iter().any(|folder| file.split('/').next() == Some(folder)) => {
            *file = Path::new(location).join(file.as_ref()).display().to_string().into();
        }
        Some(_) => return error.in_format(FORMAT_NAME),
    }
    let whole = Error::new(error.kind(), error.detail().to_owned()).in_format(FORMAT_NAME).with_position(position);
    match std::error::Error::source(&error) {
        Some(cause) => whole.caused_by(cause.to_string()),
        None => whole,
    }
}
