//! Places as messages and losses tell them.

use container_core::Position;

use crate::text::records::place::Place;

impl Place {
    pub(crate) fn position(self, names: &[String]) -> Position {
        let mut position = Position::at(self.byte);
        position.line = Some(self.line);
        position.file = names.get(self.input).cloned().map(Into::into);
        position
    }

    /// `line 3`, or `line 3 of b.jsonl` where there are several inputs.
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
pub(crate) fn first(one: Option<Place>, other: Option<Place>) -> Option<Place> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}
