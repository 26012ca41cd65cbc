//! The ranges that variables take in the body.

use std::borrow::Cow;
use std::collections::HashMap;

use container_core::Error;

use super::Report;
use crate::read::{Reader, Variable};
use crate::wire::short;

/// `spare` says of variables how many bytes less they take than they state.
pub(super) fn check(reader: &Reader, spare: &HashMap<&str, u64>, report: &mut Report<'_>) {
    let mut all: Vec<Variable<'_>> =
        reader.variables().filter(|variable| variable.problem().is_none() && variable.stored_bytes() > 0).collect();
    all.sort_by_key(|variable| (variable.offset(), variable.stored_bytes()));
    let body = reader.source.len().saturating_sub(reader.body);
    let (mut end, mut last) = (0, Cow::Borrowed(""));
    // Bytes by which what follows was written before the place that is stated.
    let (mut displaced, mut by) = (0u64, Cow::Borrowed(""));
    for variable in &all {
        let start = variable.offset();
        let place = reader.body.saturating_add(start);
        let find = |detail: String| variable.place(Error::invalid(detail)).at(place);
        if start < end {
            let shared = (end - start).min(variable.stored_bytes());
            report.error(find(format!("its bytes overlap those of {last:?} by {}", bytes(shared))));
        } else if start > end {
            let detail = format!("no variable takes the {} in front of it", bytes(start - end));
            report.warning(find(detail));
        }
        if displaced > 0 {
            let detail = format!(
                "it is stated to begin {} behind the place where it was written: {by:?} before it takes less than its .len says",
                bytes(displaced)
            );
            report.error(find(detail));
        }
        if let Some(less) = spare.get(variable.name()) {
            displaced = displaced.saturating_add(*less);
            by = short(variable.name());
        }
        let stop = start.saturating_add(variable.stored_bytes());
        if stop > end {
            (end, last) = (stop, short(variable.name()));
        }
    }
    if end < body {
        let detail = format!("no variable takes the last {}", bytes(body - end));
        report.warning(Error::invalid(detail).at(reader.body.saturating_add(end)));
    }
}

fn bytes(count: u64) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("{count} byte{s}")
}
