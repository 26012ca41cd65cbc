use crate::{Error, ErrorKind, Text};

impl Error {
    /// The source or sink failed while `doing`.
    #[must_use]
    #[cold]
    pub fn io(doing: impl Into<Text>, cause: std::io::Error) -> Self {
        Self::new(ErrorKind::Io, doing).caused_by(cause)
    }
}

#[cfg(test)]
mod tests {
    use crate::{Blame, Error};

    #[test]
    fn the_cause_is_kept_and_said() {
        let error = Error::io("cannot read", std::io::Error::other("disk on fire")).in_file("a.idv");
        assert_eq!(error.to_string(), "a.idv: cannot read: disk on fire");
        assert!(core::error::Error::source(&error).is_some());
        assert_eq!(error.kind().blame(), Blame::Source);
    }
}
