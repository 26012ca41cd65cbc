//! Appends CSV cells to columns.

use arrow_schema::extension::EXTENSION_TYPE_NAME_KEY;
use arrow_schema::{DataType, Field};
use container_arrow::{Class, Json, Slot, SlotEncoding};
use container_core::Result;
use serde::de::IgnoredAny;

use super::super::records::csv::cell_text;
use super::super::scalar::Scalar;
use super::super::values::{nested, write_json_string};

/// How cells are appended to a column.
#[derive(Debug, Clone, Copy)]
pub(super) enum AppendMode {
    Integer,
    Float,
    Bool,
    Text,
    /// As the JSON array or object that each cell is; binary values are objects.
    Nested,
    /// The same, but cells have not been checked.
    MaybeNested,
    Other,
}

impl AppendMode {
    /// The mode for a field that was declared, or inferred from all cells.
    pub(super) fn for_field(field: &Field, is_declared: bool) -> Self {
        let is_extended = field.metadata().contains_key(EXTENSION_TYPE_NAME_KEY);
        match field.data_type() {
            DataType::Int64 | DataType::Int32 | DataType::UInt64 => Self::Integer,
            DataType::Float64 => Self::Float,
            DataType::Boolean => Self::Bool,
            // Extension types may be JSON.
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View if is_extended => Self::Other,
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Dictionary(..) => Self::Text,
            DataType::List(_)
            | DataType::LargeList(_)
            | DataType::FixedSizeList(..)
            | DataType::Struct(_)
            | DataType::Binary
            | DataType::LargeBinary
            | DataType::BinaryView
            | DataType::FixedSizeBinary(_) => {
                if is_declared {
                    Self::MaybeNested
                } else {
                    Self::Nested
                }
            }
            _ => Self::Other,
        }
    }
}

/// A cell of CSV.
#[derive(Clone, Copy)]
pub(super) struct Cell<'t> {
    pub(super) text: &'t str,
    pub(super) quoted: bool,
    /// Its scalar, if already parsed.
    pub(super) scalar: Option<Scalar>,
}

impl Cell<'_> {
    #[inline]
    fn scalar(&self) -> Scalar {
        self.scalar.unwrap_or_else(|| Scalar::parse(self.text))
    }
}

/// Appends a cell.
#[inline]
pub(super) fn append_cell(slot: Slot<'_>, cell: Cell<'_>, mode: AppendMode, json: &mut Json) -> Result<()> {
    let Cell { text, quoted, .. } = cell;
    if text.is_empty() {
        if quoted && matches!(mode, AppendMode::Text) {
            return slot.str("");
        }
        slot.null();
        return Ok(());
    }
    match mode {
        AppendMode::Text => slot.str(text),
        AppendMode::Integer => match cell.scalar() {
            Scalar::Integer(value) => slot.i64(value),
            scalar => append_scalar(slot, text, scalar),
        },
        AppendMode::Float => match cell.scalar() {
            Scalar::Float(Some(value)) => slot.f64(value),
            scalar => append_scalar(slot, text, scalar),
        },
        AppendMode::Bool => append_scalar(slot, text, cell.scalar()),
        AppendMode::Nested => json.append_value(text.as_bytes(), slot),
        AppendMode::MaybeNested if nested(text).is_some() => json.append_value(text.as_bytes(), slot),
        AppendMode::MaybeNested => slot.str(text),
        AppendMode::Other => append_other(slot, text),
    }
}

fn append_other(slot: Slot<'_>, text: &str) -> Result<()> {
    match (slot.encoding(), slot.data_type()) {
        (SlotEncoding::Json, _) if serde_json::from_str::<IgnoredAny>(text).is_ok() => slot.json(text),
        (SlotEncoding::Json, _) => {
            let mut json = Vec::new();
            write_json_string(text, &mut json);
            slot.json(cell_text(&json))
        }
        (SlotEncoding::Msgpack, _) => slot.on_mismatch(Class::Text),
        (
            _,
            DataType::Int8
            | DataType::Int16
            | DataType::UInt8
            | DataType::UInt16
            | DataType::UInt32
            | DataType::Float16
            | DataType::Float32,
        ) => append_scalar(slot, text, Scalar::parse(text)),
        _ => slot.str(text),
    }
}

/// Appends a scalar to a column of booleans or numbers.
fn append_scalar(slot: Slot<'_>, text: &str, scalar: Scalar) -> Result<()> {
    match scalar {
        Scalar::Bool(value) => slot.bool(value),
        Scalar::Integer(value) => slot.i64(value),
        Scalar::Large(value, exact) => match u64::try_from(value) {
            Ok(value) => slot.u64(value),
            Err(_) if exact => slot.f64(text.parse().unwrap_or(f64::NAN)),
            Err(_) => slot.on_mismatch(Class::Number),
        },
        Scalar::Float(value) => slot.f64(value.or_else(|| text.parse().ok()).unwrap_or(f64::NAN)),
        Scalar::Overflow => slot.on_mismatch(Class::Number),
        Scalar::NonFinite | Scalar::Text => slot.str(text),
    }
}
