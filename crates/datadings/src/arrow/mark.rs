//! Which type of numpy the values of a column have: what the metadata of its field says of it.

use std::collections::HashMap;

use arrow_schema::{DataType, Field, TimeUnit};
use container_arrow::ColumnProfile;
use serde_json::{Value as Json, json};

use super::value::{self, Value};
use crate::FORMAT_NAME;
use crate::numpy::{Kind, Primitive};

/// How values of numpy stand in samples.
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

/// A value of numpy, by its type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) style: Style,
    pub(super) of: Primitive,
}

impl Mark {
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

    /// What the metadata of a field says.
    pub(super) fn read(field: &Field) -> Option<Self> {
        let said: Json = serde_json::from_str(field.metadata().get(FORMAT_NAME)?).ok()?;
        let style =
            Style::ALL.into_iter().find(|style| said.get("numpy").and_then(Json::as_str) == Some(style.name()))?;
        let of = Primitive::parse(said.get("dtype")?.as_str()?)?;
        value::element(of).map(|_| Self { style, of })
    }

    /// The type of the column of such values, where Arrow has a better one than their numbers.
    fn retyped(self, resolved: &DataType) -> Option<DataType> {
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

    /// Are they times or durations, one in each place?
    pub(super) fn is_time(self) -> bool {
        self.retyped(&DataType::Int64).is_some()
    }

    /// Adds to a field what its values have in common.
    pub(super) fn put(self, field: Field) -> Field {
        let field = match self.retyped(field.data_type()) {
            Some(data_type) => field.with_data_type(data_type),
            None => field,
        };
        let mut metadata = field.metadata().clone();
        let said = json!({ "numpy": self.style.name(), "dtype": self.of.to_string() });
        metadata.insert(FORMAT_NAME.to_owned(), said.to_string());
        field.with_metadata(metadata)
    }
}

/// Arrow's unit of the same name.
pub(super) fn time_unit(name: &str) -> Option<TimeUnit> {
    Some(match name {
        "s" => TimeUnit::Second,
        "ms" => TimeUnit::Millisecond,
        "us" => TimeUnit::Microsecond,
        "ns" => TimeUnit::Nanosecond,
        _ => return None,
    })
}

/// The marks of values, by columns; of the order in which they come nothing depends.
#[derive(Debug, Default)]
pub(super) struct Marks {
    /// The mark, nothing where there are several; and how many values have one.
    columns: HashMap<Box<str>, (Option<Mark>, u64)>,
}

impl Marks {
    pub(super) fn see(&mut self, column: &str, mark: Mark) {
        match self.columns.get_mut(column) {
            Some((own, count)) => {
                *own = own.filter(|own| *own == mark);
                *count += 1;
            }
            None => drop(self.columns.insert(column.into(), (Some(mark), 1))),
        }
    }

    pub(super) fn merge(&mut self, other: Self) {
        for (column, (mark, count)) in other.columns {
            match self.columns.get_mut(&column) {
                Some((own, sum)) => {
                    *own = own.filter(|own| Some(*own) == mark);
                    *sum += count;
                }
                None => drop(self.columns.insert(column, (mark, count))),
            }
        }
    }

    /// What all values of a column have in common.
    pub(super) fn of(&self, column: &str, rows: &ColumnProfile) -> Option<Mark> {
        let (mark, count) = self.columns.get(column)?;
        let values = rows.member(column).map_or(0, ColumnProfile::values);
        mark.filter(|_| values == *count)
    }
}
