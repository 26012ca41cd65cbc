use crate::{Error, ErrorKind, Text};

impl Error {
    /// Creates an [`Io`](ErrorKind::Io) error. `action` is what failed, such as `cannot read`.
    #[must_use]
    #[cold]
    pub fn io(action: impl Into<Text>, cause: std::io::Error) -> Self {
        Self::new(ErrorKind::Io, action).caused_by(cause)
    }
}

#[cfg(test)]
mod tests {
    use crate::{Blame, Error};

    #[test]
    fn io_error_keeps_and_displays_its_cause() {
        let error = Error::io("cannot read", std::io::Error::other("disk on fire")).in_file("a.idv");
        assert_eq!(error.to_string(), "a.idv: cannot read: disk on fire");
        assert!(core::error::Error::source(&error).is_some());
        assert_eq!(error.kind().blame(), Blame::Source);
    }
}
