use container_core::Error;

/// A location in the inputs. Ordered as inputs are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Location {
    /// Index of the input.
    pub(crate) input: usize,
    /// Line number, from 1.
    pub(crate) line: u64,
    /// Offset in that input.
    pub(crate) byte: u64,
}

impl Location {
    /// `bytes` further on the same line.
    pub(crate) const fn ahead(self, bytes: u64) -> Self {
        Self { byte: self.byte + bytes, ..self }
    }

    /// Adds this location to an error that has none.
    pub(crate) fn locate(self, error: Error, input: Option<&str>) -> Error {
        error.in_line(self.line).at(self.byte).in_optional_file(input.map(str::to_owned))
    }
}
