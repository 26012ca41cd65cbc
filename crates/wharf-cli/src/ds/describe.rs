//! Describes a dataset in the layout of `ncdump -h`.

use dsfmt::{Attributes, Json, JsonKind, Reader, Variable};

use crate::display::{abbreviated, clean, size};
use crate::inputs::Location;

/// Maximum characters shown of an attribute.
const MAX_CHARS: usize = 200;

pub(crate) fn describe(location: &Location, reader: &Reader) -> String {
    let bytes = size(reader.source().len());
    let mut text = format!("{}: ds {}, {bytes}\n", clean(&location.name()), reader.version());
    let dimensions = reader.dimensions();
    if !dimensions.is_empty() {
        text.push_str("dimensions:\n");
    }
    for dimension in dimensions {
        text.push_str(&format!("    {} = {}\n", clean(&dimension.name), dimension.size));
    }
    if !reader.is_empty() {
        text.push_str("variables:\n");
    }
    for variable in reader.variables() {
        text.push_str(&format!("    {}\n", line(&variable)));
        attributes(&mut text, variable.name(), variable.attributes());
    }
    let mut global = reader.attributes().peekable();
    if global.peek().is_some() {
        text.push_str("global attributes:\n");
        attributes(&mut text, "", reader.attributes());
    }
    text
}

/// `float32 temp(time, lat)  // NOTES`.
fn line(variable: &Variable<'_>) -> String {
    let name = clean(variable.name());
    if let Some(problem) = variable.problem() {
        return format!("{name}  // cannot be read: {}", clean(problem.detail()));
    }
    let mut line = format!("{} {name}", variable.data_type().map_or("none", dsfmt::DataType::name));
    if !variable.dimensions().is_empty() {
        let dimensions: Vec<_> = variable.dimensions().iter().map(|name| clean(name)).collect();
        line.push_str(&format!("({})", dimensions.join(", ")));
    }
    let notes = [
        (variable.shape().is_none(), "empty"),
        (variable.is_masked(), "may have missing values"),
        (variable.is_time(), "Julian dates"),
    ];
    let notes: Vec<_> = notes.iter().filter(|(applies, _)| *applies).map(|(_, note)| *note).collect();
    if !notes.is_empty() {
        line.push_str(&format!("  // {}", notes.join(", ")));
    }
    line
}

fn attributes(text: &mut String, owner: &str, attributes: Attributes<'_>) {
    for (name, value) in attributes {
        text.push_str(&format!("        {}:{} = {}\n", clean(owner), clean(&name), attribute_text(value)));
    }
}

/// A value as JSON, but strings without escapes.
fn attribute_text(value: Json<'_>) -> String {
    let text = match (value.kind(), value.to_text()) {
        (JsonKind::String, Some(text)) => format!("\"{}\"", text.replace('"', "\\\"")),
        _ => value.as_text().to_owned(),
    };
    clean(&abbreviated(&text, MAX_CHARS)).into_owned()
}
