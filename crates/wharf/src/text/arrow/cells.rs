//! Cells of CSV put into columns.

use arrow_schema::extension::EXTENSION_TYPE_NAME_KEY;
use arrow_schema::{DataType, Field};
use container_arrow::{Class, Json, Slot, SlotEncoding};
use container_core::Result;
use serde::de::IgnoredAny;

use super::super::records::csv::cell_text;
use super::super::values::{nested, put_text};
use super::super::words::Word;

/// How words get into a column.
#[derive(Debug, Clone, Copy)]
pub(super) enum Put {
    Integer,
    Float,
    Text,
    /// As the array or object of JSON that each is; bytes are an object.
    Nested,
    /// The same, where nobody has looked whether they are.
    Maybe,
    Other,
}

impl Put {
    /// How they get into this one, which was declared, or is made for what is there.
    pub(super) fn into(field: &Field, is_declared: bool) -> Self {
        let is_extended = field.metadata().contains_key(EXTENSION_TYPE_NAME_KEY);
        match field.data_type() {
            DataType::Int64 | DataType::Int32 | DataType::UInt64 => Self::Integer,
            DataType::Float64 => Self::Float,
            // Text may be JSON.
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View if is_extended => Self::Other,
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Dictionary(..) => Self::Text,
            DataType::List(_)
            | DataType::LargeList(_)
            | DataType::FixedSizeList(..)
            | DataType::Struct(_)
            | DataType::Binary
            | DataType::LargeBinary => {
                if is_declared {
                    Self::Maybe
                } else {
                    Self::Nested
                }
            }
            _ => Self::Other,
        }
    }
}

/// A cell.
#[derive(Clone, Copy)]
pub(super) struct Cell<'t> {
    pub(super) text: &'t str,
    pub(super) quoted: bool,
    /// Which word it is, where somebody has looked.
    pub(super) word: Option<Word>,
}

impl Cell<'_> {
    #[inline]
    fn word(&self) -> Word {
        self.word.unwrap_or_else(|| Word::of(self.text))
    }
}

/// Puts a cell.
#[inline]
pub(super) fn cell_into(slot: Slot<'_>, cell: Cell<'_>, put: Put, json: &mut Json) -> Result<()> {
    let Cell { text, quoted, .. } = cell;
    if text.is_empty() {
        if quoted && matches!(put, Put::Text) {
            return slot.str("");
        }
        slot.null();
        return Ok(());
    }
    match put {
        Put::Text => slot.str(text),
        Put::Integer => match cell.word() {
            Word::Integer(value) => slot.i64(value),
            word => word_into(slot, text, word),
        },
        Put::Float => match cell.word() {
            Word::Float => slot.f64(text.parse().unwrap_or(f64::NAN)),
            word => word_into(slot, text, word),
        },
        Put::Nested => json.append_value(text.as_bytes(), slot),
        Put::Maybe if nested(text).is_some() => json.append_value(text.as_bytes(), slot),
        Put::Maybe => slot.str(text),
        Put::Other => other_into(slot, text),
    }
}

fn other_into(slot: Slot<'_>, text: &str) -> Result<()> {
    match (slot.encoding(), slot.data_type()) {
        (SlotEncoding::Json, _) if serde_json::from_str::<IgnoredAny>(text).is_ok() => slot.json(text),
        (SlotEncoding::Json, _) => {
            let mut json = Vec::new();
            put_text(text, &mut json);
            slot.json(cell_text(&json))
        }
        (SlotEncoding::Msgpack, _) => slot.on_mismatch(Class::Text),
        (
            _,
            DataType::Boolean
            | DataType::Int8
            | DataType::Int16
            | DataType::UInt8
            | DataType::UInt16
            | DataType::UInt32
            | DataType::Float16
            | DataType::Float32,
        ) => word_into(slot, text, Word::of(text)),
        _ => slot.str(text),
    }
}

/// Puts a word into a column of booleans or numbers.
fn word_into(slot: Slot<'_>, text: &str, word: Word) -> Result<()> {
    match word {
        Word::Bool(value) => slot.bool(value),
        Word::Integer(value) => slot.i64(value),
        Word::Large(value, exact) => match u64::try_from(value) {
            Ok(value) => slot.u64(value),
            Err(_) if exact => slot.f64(text.parse().unwrap_or(f64::NAN)),
            Err(_) => slot.on_mismatch(Class::Number),
        },
        Word::Float => slot.f64(text.parse().unwrap_or(f64::NAN)),
        Word::Beyond => slot.on_mismatch(Class::Number),
        Word::NoNumber | Word::Text => slot.str(text),
    }
}
