//! The condition of a collection as losses.

use container_core::{Loss, Position};

use crate::read::{Condition, IndexState};

/// What is not shown of a collection in this condition (lines without a document, a torn line, replaced duplicates), and, with a count of 0, how
/// its documents were found if not from the index alone.
#[must_use]
pub fn losses(condition: &Condition) -> Vec<Loss> {
    let first = |byte: Option<u64>, line: Option<u64>| {
        let mut first = Position::default();
        (first.byte, first.line) = (byte, line);
        first
    };
    let mut losses: Vec<_> =
        condition.recovery_note().map(|note| Loss::new(note, 0, Position::default())).into_iter().collect();
    if condition.skipped_lines > 0 {
        let at = condition.first_skipped.as_ref().map(|error| error.position().clone()).unwrap_or_default();
        let why = condition.first_skipped.as_ref().map(|error| format!(": {}", error.detail())).unwrap_or_default();
        let what = format!("line skipped, not a document{why}");
        losses.push(Loss::new(what, condition.skipped_lines, first(at.byte, at.line)));
    }
    // Without an index, older lines of a document are normal.
    if condition.superseded > 0 && matches!(condition.index, IndexState::Valid | IndexState::Text) {
        let what = "document ignored, replaced by a later one with the same id";
        losses.push(Loss::new(what, condition.superseded, first(None, None)));
    }
    if let Some(at) = condition.torn {
        losses.push(Loss::new("the last line is torn and ignored", 1, first(Some(at), None)));
    }
    if condition.shadowed > 0 {
        let what = "file ignored, data.jsonl has a line with the same id";
        losses.push(Loss::new(what, condition.shadowed, first(None, None)));
    }
    losses
}
