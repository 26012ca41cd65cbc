use arrow_schema::ArrowError;

use crate::error::{Error, ErrorKind};

/// An error of this workspace as Arrow's; [`from_arrow`] takes it out again, whole.
#[must_use]
pub fn to_arrow(error: Error) -> ArrowError {
    ArrowError::ExternalError(Box::new(error))
}

/// Arrow's error as one of this workspace.
#[must_use]
pub fn from_arrow(error: ArrowError) -> Error {
    match error {
        ArrowError::ExternalError(cause) => match cause.downcast::<Error>() {
            Ok(own) => *own,
            Err(cause) => Error::invalid(cause.to_string()),
        },
        ArrowError::IoError(doing, cause) => Error::io(doing, cause),
        ArrowError::NotYetImplemented(what) => Error::unsupported(what),
        other => Error::new(ErrorKind::Invalid, other.to_string()),
    }
}
