//! The numpy type of a column's values, stored in the metadata of its field.

use std::collections::HashMap;

use arrow_schema::{DataType, Field, TimeUnit};
use container_arrow::ColumnProfile;
use serde_json::{Value as Json, json};

use super::value::{self, Value};
use crate::FORMAT_NAME;
use crate::numpy::{Kind, Primitive};

/// How numpy values are encoded in samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    Scalar,
    Array,
    /// An array without dimensions.
    Point,
}

impl Style {
    const ALL: [Self; 3] = [Self::Scalar, Self::Array, Self::Point];

    const fn name(self) -> &'static str {
        match self {
            Self::Scalar => "scalar",
            Self::Array => "array",
            Self::Point => "point",
        }
    }
}

/// The encoding and the dtype of a numpy value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NumpyType {
    pub(super) style: Style,
    pub(super) of: Primitive,
}

impl NumpyType {
    #[inline]
    pub(super) fn of(value: &Value<'_>) -> Option<Self> {
        let (style, dtype) = match value {
            Value::Scalar(scalar) => (Style::Scalar, scalar.dtype()),
            Value::Array(array) if array.shape().is_empty() => (Style::Point, array.dtype()),
            Value::Array(array) => (Style::Array, array.dtype()),
            _ => return None,
        };
        let of = dtype.primitive()?;
        value::element(of).map(|_| Self { style, of })
    }

    /// Reads the metadata of a field.
    pub(super) fn read(field: &Field) -> Option<Self> {
        let metadata: Json = serde_json::from_str(field.metadata().get(FORMAT_NAME)?).ok()?;
        let style =
            Style::ALL.into_iter().find(|style| metadata.get("numpy").and_then(Json::as_str) == Some(style.name()))?;
        let of = Primitive::parse(metadata.get("dtype")?.as_str()?)?;
        value::element(of).map(|_| Self { style, of })
    }

    /// The column type, if Arrow has a more specific one than that of the numbers.
    fn specific_type(self, resolved: &DataType) -> Option<DataType> {
        let unit = match self.of.unit() {
            Some(unit) if unit.count == 1 => time_unit(unit.name)?,
            _ => return None,
        };
        match (self.style, self.of.kind(), resolved) {
            (Style::Array, ..) => None,
            (_, Kind::Datetime, DataType::Int64) => Some(DataType::Timestamp(unit, None)),
            (_, Kind::Timedelta, DataType::Int64) => Some(DataType::Duration(unit)),
            _ => None,
        }
    }

    /// Whether values are single times or durations.
    pub(super) fn is_time(self) -> bool {
        self.specific_type(&DataType::Int64).is_some()
    }

    /// Adds this type to a field's metadata, and refines its data type.
    pub(super) fn apply(self, field: Field) -> Field {
        let field = match self.specific_type(field.data_type()) {
            Some(data_type) => field.with_data_type(data_type),
            None => field,
        };
        let mut metadata = field.metadata().clone();
        let value = json!({ "numpy": self.style.name(), "dtype": self.of.to_string() });
        metadata.insert(FORMAT_NAME.to_owned(), value.to_string());
        field.with_metadata(metadata)
    }
}

/// The Arrow unit of a numpy unit.
pub(super) fn time_unit(name: &str) -> Option<TimeUnit> {
    Some(match name {
        "s" => TimeUnit::Second,
        "ms" => TimeUnit::Millisecond,
        "us" => TimeUnit::Microsecond,
        "ns" => TimeUnit::Nanosecond,
        _ => return None,
    })
}

/// The numpy types of columns. Independent of the order of observation.
#[derive(Debug, Default)]
pub(super) struct NumpyTypes {
    /// The common type (`None` if there are several) and the number of values that have one.
    columns: HashMap<Box<str>, (Option<NumpyType>, u64)>,
}

impl NumpyTypes {
    pub(super) fn observe(&mut self, column: &str, numpy_type: NumpyType) {
        match self.columns.get_mut(column) {
            Some((own, count)) => {
                *own = own.filter(|own| *own == numpy_type);
                *count += 1;
            }
            None => drop(self.columns.insert(column.into(), (Some(numpy_type), 1))),
        }
    }

    pub(super) fn merge(&mut self, other: Self) {
        for (column, (numpy_type, count)) in other.columns {
            match self.columns.get_mut(&column) {
                Some((own, sum)) => {
                    *own = own.filter(|own| Some(*own) == numpy_type);
                    *sum += count;
                }
                None => drop(self.columns.insert(column, (numpy_type, count))),
            }
        }
    }

    /// The type that all values of a column have in common.
    pub(super) fn of(&self, column: &str, rows: &ColumnProfile) -> Option<NumpyType> {
        let (numpy_type, count) = self.columns.get(column)?;
        let values = rows.member(column).map_or(0, ColumnProfile::values);
        numpy_type.filter(|_| values == *count)
    }
}
