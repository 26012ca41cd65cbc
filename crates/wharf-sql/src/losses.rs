//! What reading and writing could not keep, over all queries of a session.

use std::sync::{Mutex, PoisonError};

use wharf::{Loss, Lost, Position};

/// Losses of the queries so far. Partitions of a table report theirs separately; equal ones are added up.
#[derive(Debug, Default)]
pub struct Losses(Mutex<Vec<Lost>>);

impl Losses {
    /// Removes and returns all losses, in the order in which they were first reported.
    pub fn take(&self) -> Vec<Lost> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Adds losses of one file.
    pub(crate) fn add(&self, losses: impl IntoIterator<Item = Lost>) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for lost in losses {
            match known.iter_mut().find(|other| is_same(other, &lost)) {
                Some(other) => merge(&mut other.loss, lost.loss),
                None => known.push(lost),
            }
        }
    }
}

fn is_same(one: &Lost, other: &Lost) -> bool {
    one.file == other.file && one.loss.what == other.loss.what && one.loss.first.column == other.loss.first.column
}

fn merge(known: &mut Loss, found: Loss) {
    // A column that is left out is left out once, however many partitions report it.
    if is_column(&known.first) && is_column(&found.first) {
        known.count = known.count.max(found.count);
        return;
    }
    known.count = known.count.saturating_add(found.count);
    let order = |position: &Position| (position.row, position.line, position.byte);
    if order(&found.first) < order(&known.first) {
        known.first = found.first;
    }
}

/// Whether the position is that of a column, in no particular row.
fn is_column(position: &Position) -> bool {
    let others = (position.row, position.line, position.byte, position.block);
    position.column.is_some() && others == (None, None, None, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost(what: &str, count: u64, row: Option<u64>, column: Option<&str>) -> Lost {
        let mut first = Position::default();
        first.row = row;
        first.column = column.map(|name| name.to_owned().into());
        Lost { file: Some("a".to_owned()), loss: Loss::new(what.to_owned(), count, first) }
    }

    #[test]
    fn partitions_add_up() {
        let losses = Losses::default();
        losses.add([lost("NaN", 3, Some(70), Some("x")), lost("column left out", 1, None, Some("y"))]);
        losses.add([lost("NaN", 2, Some(5), Some("x")), lost("column left out", 1, None, Some("y"))]);
        losses.add([lost("NaN", 1, Some(1), Some("z"))]);
        let all: Vec<String> = losses.take().iter().map(ToString::to_string).collect();
        let expected = [
            "a: NaN (5 times, first row 5, column \"x\")",
            "a: column left out (column \"y\")",
            "a: NaN (row 1, column \"z\")",
        ];
        assert_eq!(all, expected);
        assert!(losses.take().is_empty());
    }
}
