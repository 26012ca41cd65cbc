//! Members of the header that are there twice, or are no names.

use std::collections::HashSet;

use container_core::Error;

use super::Report;
use crate::json::{Json, JsonKind, name_of};
use crate::read::Reader;
use crate::wire::VERSION_LINE;

pub(super) fn check(reader: &Reader, report: &mut Report<'_>) {
    let header = reader.header.whole();
    // Where a piece of the header stands in the file.
    let place = |piece: Json<'_>| VERSION_LINE + reader.header.place(piece);
    if !ends(reader) {
        report.warning(Error::invalid("the line of the header does not end").at(reader.body));
    }
    let mut seen = HashSet::new();
    for (key, value) in header.members() {
        let name = name_of(key);
        if key.as_str().is_none() {
            let detail =
                format!("the name {name:?} holds half a surrogate pair: it is read with the escape in its place");
            report.warning(Error::invalid(detail).at(place(key)));
        }
        if name == "." && value.kind() != JsonKind::Object {
            report.error(Error::invalid("the dataset's attributes (\".\") are no object").at(place(value)));
        } else if name.starts_with('.') && name != "." {
            let detail = format!("{name:?} is neither \".\" nor a variable: nothing of it is read");
            report.error(Error::invalid(detail).at(place(key)));
        }
        let column = name.strip_prefix('\\').filter(|name| name.starts_with(['.', '\\'])).unwrap_or(&name).to_owned();
        twice(value, &column, &place, report);
        if !seen.insert(name) {
            let detail = "the header has it twice: the last one is read";
            report.error(Error::invalid(detail).at(place(key)).in_column(column));
        }
    }
}

/// Members of a variable, or attributes of the dataset.
fn twice(object: Json<'_>, column: &str, place: &dyn Fn(Json<'_>) -> u64, report: &mut Report<'_>) {
    let mut seen = HashSet::new();
    for (key, _) in object.members() {
        let name = name_of(key);
        if seen.contains(&name) {
            let detail = format!("{name:?} is there twice: the last one is read");
            report.error(Error::invalid(detail).at(place(key)).in_column(column.to_owned()));
        } else {
            seen.insert(name);
        }
    }
}

/// Does a line feed stand before the body?
fn ends(reader: &Reader) -> bool {
    let last = reader.body.saturating_sub(1);
    reader.body > VERSION_LINE && reader.source.read(last..reader.body).is_ok_and(|byte| *byte == *b"\n")
}
