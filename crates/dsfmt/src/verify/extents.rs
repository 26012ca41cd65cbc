//! Checks the variables' ranges in the body for overlaps and gaps.

use std::borrow::Cow;
use std::collections::HashMap;

use container_core::Error;

use super::Report;
use crate::read::{Reader, Variable};
use crate::wire::short;

/// `surplus` maps variables to the number of bytes they declare but do not take.
pub(super) fn check(reader: &Reader, surplus: &HashMap<&str, u64>, report: &mut Report<'_>) {
    let mut all: Vec<Variable<'_>> =
        reader.variables().filter(|variable| variable.problem().is_none() && variable.stored_bytes() > 0).collect();
    all.sort_by_key(|variable| (variable.offset(), variable.stored_bytes()));
    let body = reader.source.len().saturating_sub(reader.body);
    let (mut end, mut last) = (0, Cow::Borrowed(""));
    // Number of bytes by which later variables were written before their declared offset, and the variable that causes it.
    let (mut displaced, mut cause) = (0u64, Cow::Borrowed(""));
    for variable in &all {
        let start = variable.offset();
        let offset = reader.body.saturating_add(start);
        let finding = |detail: String| variable.in_variable(Error::invalid(detail)).at(offset);
        if start < end {
            let shared = (end - start).min(variable.stored_bytes());
            report.error(finding(format!("its bytes overlap those of {last:?} by {}", bytes(shared))));
        } else if start > end {
            let detail = format!("no variable uses the {} before it", bytes(start - end));
            report.warning(finding(detail));
        }
        if displaced > 0 {
            let detail =
                format!("its offset is {} too large: {cause:?} before it is shorter than its .len", bytes(displaced));
            report.error(finding(detail));
        }
        if let Some(unused) = surplus.get(variable.name()) {
            displaced = displaced.saturating_add(*unused);
            cause = short(variable.name());
        }
        let stop = start.saturating_add(variable.stored_bytes());
        if stop > end {
            (end, last) = (stop, short(variable.name()));
        }
    }
    if end < body {
        let detail = format!("no variable uses the last {}", bytes(body - end));
        report.warning(Error::invalid(detail).at(reader.body.saturating_add(end)));
    }
}

fn bytes(count: u64) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("{count} byte{s}")
}
