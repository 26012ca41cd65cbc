//! A dataset as `ncdump -h` lays it out.

use dsfmt::{Attributes, Json, JsonKind, Reader, Variable};

use crate::human::{abbreviated, clean, size};
use crate::inputs::Location;

/// Characters of an attribute that are shown.
const SHOWN: usize = 200;

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

/// `float32 temp(time, lat)`, and what else there is to say.
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
        (variable.is_masked(), "some may be missing"),
        (variable.is_time(), "Julian dates"),
    ];
    let notes: Vec<_> = notes.iter().filter(|(said, _)| *said).map(|(_, note)| *note).collect();
    if !notes.is_empty() {
        line.push_str(&format!("  // {}", notes.join(", ")));
    }
    line
}

fn attributes(text: &mut String, of: &str, attributes: Attributes<'_>) {
    for (name, value) in attributes {
        text.push_str(&format!("        {}:{} = {}\n", clean(of), clean(&name), shown(value)));
    }
}

/// A value as it stands in the header, texts without their escapes.
fn shown(value: Json<'_>) -> String {
    let text = match (value.kind(), value.to_text()) {
        (JsonKind::String, Some(text)) => format!("\"{}\"", text.replace('"', "\\\"")),
        _ => value.as_text().to_owned(),
    };
    clean(&abbreviated(&text, SHOWN)).into_owned()
}
