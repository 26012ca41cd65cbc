//! What is said of the condition of a collection.

use container_core::{Loss, Position};

use crate::read::{Condition, IndexState};

/// What of a collection in this condition is not shown (lines that hold no document, a torn end, documents and files whose id comes again),
/// and, counted as none, how its documents were found where the index alone does not say it.
#[must_use]
pub fn losses(condition: &Condition) -> Vec<Loss> {
    let first = |byte: Option<u64>, line: Option<u64>| {
        let mut first = Position::default();
        (first.byte, first.line) = (byte, line);
        first
    };
    let mut losses: Vec<_> =
        condition.recovery_note().map(|how| Loss::new(how, 0, Position::default())).into_iter().collect();
    if condition.skipped_lines > 0 {
        let at = condition.first_skipped.as_ref().map(|error| error.position().clone()).unwrap_or_default();
        let why = condition.first_skipped.as_ref().map(|error| format!(": {}", error.detail())).unwrap_or_default();
        let what = format!("line passed over that holds no document{why}");
        losses.push(Loss::new(what, condition.skipped_lines, first(at.byte, at.line)));
    }
    // Where there is no index, older lines of a document are as they should be.
    if condition.superseded > 0 && matches!(condition.index, IndexState::Valid | IndexState::Text) {
        let what = "document left out whose id comes again later";
        losses.push(Loss::new(what, condition.superseded, first(None, None)));
    }
    if let Some(at) = condition.torn {
        losses.push(Loss::new("the last line is torn and left out", 1, first(Some(at), None)));
    }
    if condition.shadowed > 0 {
        let what = "file left out whose id has a line in data.jsonl";
        losses.push(Loss::new(what, condition.shadowed, first(None, None)));
    }
    losses
}
