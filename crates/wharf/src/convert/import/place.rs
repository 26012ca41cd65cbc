use container_core::Error;
#[cfg(feature = "idv")]
use container_core::Position;

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
    pub(crate) fn mark(self, error: Error, names: &[String]) -> Error {
        let error = error.in_line(self.line).at(self.byte);
        match names.get(self.input) {
            Some(name) => error.in_file(name.clone()),
            None => error,
        }
    }

    #[cfg(feature = "idv")]
    pub(crate) fn position(self, names: &[String]) -> Position {
        let mut position = Position::at(self.byte);
        position.line = Some(self.line);
        position.file = names.get(self.input).cloned().map(Into::into);
        position
    }

    /// `line 3`, or `line 3 of b.jsonl` where there are several inputs.
    #[cfg(feature = "idv")]
    pub(crate) fn said(self, names: &[String]) -> String {
        match names {
            [_, _, ..] => {
                let name = names.get(self.input).map(String::as_str).unwrap_or_default();
                format!("line {} of {name}", self.line)
            }
            _ => format!("line {}", self.line),
        }
    }
}

/// The earlier of two.
#[cfg(feature = "idv")]
pub(crate) fn first(one: Option<Place>, other: Option<Place>) -> Option<Place> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}
