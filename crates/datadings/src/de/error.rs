use std::fmt;

use container_core::Error;

/// What serde is told when a value cannot be decoded into a type, or a type not be encoded.
///
/// It becomes an [`Error`], with the byte of the value that does not fit, by `Error::from`.
#[derive(Debug)]
pub struct CodecError(Error);

impl CodecError {
    /// Names the place of the value unless a deeper layer did.
    #[cold]
    pub(crate) fn at(self, offset: u64) -> Self {
        Self(self.0.at(offset))
    }
}

impl From<Error> for CodecError {
    #[cold]
    fn from(error: Error) -> Self {
        Self(error)
    }
}

impl From<CodecError> for Error {
    fn from(error: CodecError) -> Self {
        error.0
    }
}

impl fmt::Display for CodecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for CodecError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source()
    }
}

impl serde::de::Error for CodecError {
    #[cold]
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(Error::invalid(message.to_string()))
    }
}

impl serde::ser::Error for CodecError {
    #[cold]
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(Error::usage(message.to_string()))
    }
}
