//! Checks the header for duplicate and invalid names.

use std::collections::HashSet;

use container_core::Error;

use super::Report;
use crate::json::{Json, JsonKind, decode_name};
use crate::read::Reader;
use crate::wire::VERSION_LINE;

pub(super) fn check(reader: &Reader, report: &mut Report<'_>) {
    let header = reader.header.root();
    let offset_of = |value: Json<'_>| VERSION_LINE + reader.header.offset_of(value);
    if !has_line_feed(reader) {
        report.warning(Error::invalid("no line feed after the header").at(reader.body));
    }
    let mut names = HashSet::new();
    for (key, value) in header.members() {
        let name = decode_name(key);
        if key.as_str().is_none() {
            let detail = format!("name {name:?} contains a lone surrogate, read as its escape");
            report.warning(Error::invalid(detail).at(offset_of(key)));
        }
        if name == "." && value.kind() != JsonKind::Object {
            report.error(Error::invalid("the dataset's attributes (\".\") are not a JSON object").at(offset_of(value)));
        } else if name.starts_with('.') && name != "." {
            let detail = format!("unknown special member {name:?} is ignored");
            report.error(Error::invalid(detail).at(offset_of(key)));
        }
        let column = name.strip_prefix('\\').filter(|name| name.starts_with(['.', '\\'])).unwrap_or(&name).to_owned();
        check_duplicates(value, &column, &offset_of, report);
        if !names.insert(name) {
            let detail = "duplicate variable: the last one is read";
            report.error(Error::invalid(detail).at(offset_of(key)).in_column(column));
        }
    }
}

/// Checks the members of a variable or of the dataset's attributes.
fn check_duplicates(object: Json<'_>, column: &str, offset_of: &dyn Fn(Json<'_>) -> u64, report: &mut Report<'_>) {
    let mut names = HashSet::new();
    for (key, _) in object.members() {
        let name = decode_name(key);
        if names.contains(&name) {
            let detail = format!("duplicate member {name:?}: the last one is read");
            report.error(Error::invalid(detail).at(offset_of(key)).in_column(column.to_owned()));
        } else {
            names.insert(name);
        }
    }
}

/// True when a line feed precedes the body.
fn has_line_feed(reader: &Reader) -> bool {
    let last = reader.body.saturating_sub(1);
    reader.body > VERSION_LINE && reader.source.read(last..reader.body).is_ok_and(|byte| *byte == *b"\n")
}
