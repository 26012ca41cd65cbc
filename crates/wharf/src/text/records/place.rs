use container_core::Error;

/// Where something stands in the inputs. Ordered as they are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    /// Which input, from 0.
    pub(crate) input: usize,
    /// The line, from 1.
    pub(crate) line: u64,
    /// The byte of that input, from 0.
    pub(crate) byte: u64,
}

impl Place {
    /// So many bytes further on the same line.
    pub(crate) const fn ahead(self, bytes: u64) -> Self {
        Self { byte: self.byte + bytes, ..self }
    }

    /// Tells an error where it is, as far as it does not know.
    pub(crate) fn mark(self, error: Error, input: Option<&str>) -> Error {
        let error = error.in_line(self.line).at(self.byte);
        match input {
            Some(name) => error.in_file(name.to_owned()),
            None => error,
        }
    }
}
