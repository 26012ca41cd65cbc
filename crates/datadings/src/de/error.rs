use std::fmt;

use container_core::Error;

/// A serde error: a value does not match a type, or a type cannot be encoded.
///
/// `Error::from` converts it into an [`Error`] with the offset of the value.
#[derive(Debug)]
pub struct CodecError(Error);

impl CodecError {
    /// Adds the offset of the value unless an inner layer did.
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

impl serde_core::de::Error for CodecError {
    #[cold]
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(Error::invalid(message.to_string()))
    }
}

impl serde_core::ser::Error for CodecError {
    #[cold]
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(Error::usage(message.to_string()))
    }
}
