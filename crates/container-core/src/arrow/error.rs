use arrow_schema::ArrowError;

use crate::error::{Error, ErrorKind};

/// Wraps an [`Error`] in an [`ArrowError`]. [`from_arrow`] restores it unchanged.
#[must_use]
pub fn to_arrow(error: Error) -> ArrowError {
    ArrowError::ExternalError(Box::new(error))
}

/// Converts an [`ArrowError`], unwrapping an [`Error`] inside.
#[must_use]
pub fn from_arrow(error: ArrowError) -> Error {
    match error {
        ArrowError::ExternalError(cause) => match cause.downcast::<Error>() {
            Ok(error) => *error,
            Err(cause) => Error::invalid(cause.to_string()),
        },
        ArrowError::IoError(action, cause) => Error::io(action, cause),
        ArrowError::NotYetImplemented(what) => Error::unsupported(what),
        other => Error::new(ErrorKind::Invalid, other.to_string()),
    }
}
