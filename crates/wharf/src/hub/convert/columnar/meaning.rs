//! Translates the metadata of ds fields into those of IDV fields, and back: fields in, fields and losses out. No values are read here.

mod ds;
mod idv;

use std::collections::HashMap;

use arrow_schema::extension::{EXTENSION_TYPE_METADATA_KEY, EXTENSION_TYPE_NAME_KEY};
use arrow_schema::{DataType, Field};
use container_core::{Loss, Position};
use serde_json::Value;

use super::recode::{NullCounts, Recode};
pub(super) use ds::{Profile, is_column, name_rows, no_common_type, text_type, variable, with_slot_names};
pub(super) use idv::{column, dataset_attributes, listed};

/// Metadata for the names of dimensions. It is the name of a header member, which no attribute can have.
const DIMS: &str = ".dims";

/// Values are Julian dates.
const TIME: &str = ".time";

/// NaN means missing.
const MISSING: &str = ".missing";

/// The original type of nullable integers and of byte strings.
const BEFORE: &str = ".type";

/// The attribute with the IDV type, when it does not follow from the type of the variable.
const TYPE: &str = "idv_type";

/// The units and calendar of times: whole microseconds.
const UNITS: &str = "microseconds since 0001-01-01T00:00:00";
const CALENDAR: &str = "proleptic_gregorian";

/// A column translated to the other format.
pub(super) struct Translation {
    pub(super) field: Field,
    pub(super) recode: Recode,
    pub(super) losses: Vec<Loss>,
}

impl Translation {
    /// A column that stays as it is.
    pub(super) fn unchanged(field: &Field) -> Self {
        Self { field: field.clone(), recode: Recode::Keep, losses: Vec::new() }
    }
}

/// The extension type of arrays of one shape.
const TENSOR: &str = "arrow.fixed_shape_tensor";

/// Metadata with the shape of the lists of a column.
fn with_shape(mut metadata: HashMap<String, String>, shape: &[u64]) -> HashMap<String, String> {
    metadata.insert(EXTENSION_TYPE_NAME_KEY.to_owned(), TENSOR.to_owned());
    metadata.insert(EXTENSION_TYPE_METADATA_KEY.to_owned(), serde_json::json!({ "shape": shape }).to_string());
    metadata
}

/// The shape of the lists of a column.
fn shape_of(field: &Field) -> Vec<u64> {
    let DataType::FixedSizeList(_, size) = field.data_type() else { return Vec::new() };
    let text = field.metadata().get(EXTENSION_TYPE_METADATA_KEY);
    let json: Option<Value> = text.and_then(|text| serde_json::from_str(text).ok());
    let shape = json.as_ref().and_then(|json| json.get("shape")?.as_array()?.iter().map(Value::as_u64).collect());
    shape.unwrap_or_else(|| vec![u64::try_from(*size).unwrap_or(0)])
}

fn loss(what: impl Into<String>, count: usize, column: &str) -> Loss {
    Loss::new(what.into(), count as u64, Position::of_column(column.to_owned()))
}
