//! Human-readable output: aligned tables, abbreviated values, escaped control characters.

use std::borrow::Cow;
use std::fmt::Display;

use comfy_table::{CellAlignment, ContentArrangement, Table, TableComponent, presets};
use serde_json::Value;
use wharf::convert::{Cell, CellKind};

/// Maximum bytes of a value shown in a record.
pub(crate) const MAX_CELL_BYTES: usize = 2000;

/// An empty table with a rule below the header and no other lines.
pub(crate) fn table(width: Option<u16>) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    table.set_style(TableComponent::HeaderLines, '─');
    table.set_style(TableComponent::MiddleHeaderIntersections, '─');
    table.set_truncation_indicator("…");
    match width {
        Some(width) => table.set_width(width).set_content_arrangement(ContentArrangement::Dynamic),
        None => table.set_content_arrangement(ContentArrangement::Disabled),
    };
    table
}

/// Renders the table: two spaces between columns, no trailing spaces.
pub(crate) fn render(table: &mut Table) -> String {
    let last = table.column_count().saturating_sub(1);
    for (index, column) in table.column_iter_mut().enumerate() {
        // The second space is the position of the (invisible) vertical line.
        column.set_padding((0, u16::from(index < last)));
    }
    let mut text = table.trim_fmt();
    text.push('\n');
    text
}

/// Renders one record, a line per column: its name, type and value.
pub(crate) fn record<'a>(lines: impl Iterator<Item = (&'a str, &'a str, Cell<'a>)>, width: Option<u16>) -> String {
    let mut table = table(width);
    table.set_header(["column", "type", "value"]);
    for (name, kind, cell) in lines {
        table.add_row([clean(name).as_ref(), clean(kind).as_ref(), &cell_text(&cell)]);
    }
    render(&mut table)
}

/// The alignment of columns that contain only numbers.
pub(crate) const ALIGN_RIGHT: CellAlignment = CellAlignment::Right;

/// The text of a table cell.
pub(crate) fn cell_text(cell: &Cell<'_>) -> String {
    if cell.kind == CellKind::Null {
        return "null".to_owned();
    }
    let text = String::from_utf8_lossy(cell.bytes);
    if cell.kind == CellKind::Nested
        && !cell.cut
        && text.starts_with("{\"$sparse\":")
        && let Some(sparse) = serde_json::from_str(&text).ok().as_ref().and_then(sparse_text)
    {
        return clean(&sparse).into_owned();
    }
    let mut text = clean(&text).into_owned();
    if cell.cut {
        text.push('…');
    }
    text
}

/// A sparse vector as `sparse(LENGTH) INDEX:VALUE ...`. `None` if the value is not one.
pub(crate) fn sparse_text(value: &Value) -> Option<String> {
    let sparse = value.get("$sparse")?;
    let (indices, values) = (sparse.get("indices")?.as_array()?, sparse.get("values")?.as_array()?);
    let mut text = format!("sparse({})", sparse.get("length")?);
    for (index, value) in indices.iter().zip(values) {
        text.push_str(&format!(" {index}:{value}"));
    }
    (indices.len() == values.len()).then_some(text)
}

/// Whether the cell is a number or null, which are right-aligned.
pub(crate) fn is_numeric(cell: &Cell<'_>) -> bool {
    match cell.kind {
        CellKind::Plain | CellKind::Null => true,
        // JSON writes these numbers as strings.
        CellKind::Text => matches!(cell.bytes, b"NaN" | b"Infinity" | b"-Infinity"),
        CellKind::Nested => false,
    }
}

/// Escapes control characters like [`escape_controls`], and line feeds and tabs too: the text fits one line.
pub(crate) fn clean(text: &str) -> Cow<'_, str> {
    escaped(text, is_unsafe)
}

/// Escapes characters that could control a terminal or mislead its reader, except line feeds and tabs.
///
/// The escapes are those of JSON. In JSON such characters occur only inside strings, so escaped JSON stays valid and equal.
pub(crate) fn escape_controls(text: &str) -> Cow<'_, str> {
    escaped(text, |character| !matches!(character, '\n' | '\t') && is_unsafe(character))
}

/// Control characters, bidirectional controls and invisible characters, except U+200C and U+200D, which Persian, Indic scripts and emoji
/// require.
fn is_unsafe(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{AD}' | '\u{34F}' | '\u{61C}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}' | '\u{180E}' | '\u{200B}' | '\u{200E}'
            | '\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{3164}' | '\u{FEFF}' | '\u{FFA0}'
            | '\u{FFF9}'..='\u{FFFB}' | '\u{1BCA0}'..='\u{1BCA3}' | '\u{1D173}'..='\u{1D17A}' | '\u{E0000}'..='\u{E007F}')
}

fn escaped(text: &str, is_escaped: fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        match character {
            other if !is_escaped(other) => escaped.push(other),
            '\n' => escaped.push_str("\\n"),
            '\r' => escaped.push_str("\\r"),
            '\t' => escaped.push_str("\\t"),
            other => {
                for unit in other.encode_utf16(&mut [0; 2]) {
                    escaped.push_str(&format!("\\u{unit:04x}"));
                }
            }
        }
    }
    Cow::Owned(escaped)
}

/// The text truncated to `max` characters, the last of which is then an ellipsis.
pub(crate) fn abbreviated(text: &str, max: usize) -> Cow<'_, str> {
    match text.char_indices().nth(max.saturating_sub(1)) {
        Some((cut, _)) if text.chars().count() > max => Cow::Owned(format!("{}…", text.get(..cut).unwrap_or_default())),
        _ => Cow::Borrowed(text),
    }
}

/// `1 row`, `12,345 rows`.
pub(crate) fn counted(count: impl TryInto<u64>, noun: &str) -> String {
    let count = count.try_into().unwrap_or(u64::MAX);
    let s = if count == 1 { "" } else { "s" };
    format!("{} {noun}{s}", grouped(count))
}

/// `12,345`.
pub(crate) fn grouped(number: impl Display) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// `4.2 kB`: decimal units, like `ls --si`.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["kB", "MB", "GB", "TB", "PB", "EB"];
    if bytes < 1000 {
        return counted(bytes, "byte");
    }
    let (mut tenths, mut unit) = (bytes / 100, 0);
    while tenths >= 10_000 && unit + 1 < UNITS.len() {
        tenths /= 1000;
        unit += 1;
    }
    let unit = UNITS.get(unit).copied().unwrap_or_default();
    if tenths >= 1000 { format!("{} {unit}", tenths / 10) } else { format!("{}.{} {unit}", tenths / 10, tenths % 10) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_unsafe_characters() {
        assert_eq!(clean("plain ü"), "plain ü");
        assert_eq!(clean("a\u{1b}[31m\n\tb\u{202e}\u{9b}"), "a\\u001b[31m\\n\\tb\\u202e\\u009b");
        assert_eq!(clean("\u{61c}\u{200b}\u{ad}\u{e0041}"), "\\u061c\\u200b\\u00ad\\udb40\\udc41");
        assert_eq!(clean("\u{200d}👩\u{200d}🚀"), "\u{200d}👩\u{200d}🚀");
        assert_eq!(escape_controls("a\r\n\tb\u{85}"), "a\\r\n\tb\\u0085");
    }

    #[test]
    fn formats_counts_and_sizes() {
        assert_eq!(counted(1_u64, "row"), "1 row");
        assert_eq!(counted(0_u64, "row"), "0 rows");
        assert_eq!(counted(1_234_567_usize, "row"), "1,234,567 rows");
        assert_eq!(grouped(123), "123");
        assert_eq!(size(999), "999 bytes");
        assert_eq!(size(1000), "1.0 kB");
        assert_eq!(size(123_456), "123 kB");
        assert_eq!(size(999_999), "999 kB");
        assert_eq!(size(1_000_000), "1.0 MB");
        assert_eq!(size(u64::MAX), "18.4 EB");
    }

    #[test]
    fn truncates_long_text_with_an_ellipsis() {
        assert_eq!(abbreviated("abc", 3), "abc");
        assert_eq!(abbreviated("abcd", 3), "ab…");
        assert_eq!(abbreviated("üüüü", 3), "üü…");
        assert_eq!(abbreviated("", 3), "");
    }
}
