//! What kinds of values columns have.

use arrow_schema::{DataType, Field, TimeUnit};

/// What can be compared with what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Null,
    Bool,
    Integer,
    Decimal,
    Float,
    Text,
    Binary,
    Date,
    Time,
    /// A point in time, in UTC if it has a zone.
    Timestamp {
        zoned: bool,
    },
    Duration,
    List,
    Struct,
    /// A type without comparisons.
    Other,
}

impl Kind {
    pub(super) fn of(data_type: &DataType) -> Self {
        match data_type {
            DataType::Null => Self::Null,
            DataType::Boolean => Self::Bool,
            DataType::Dictionary(_, values) => Self::of(values),
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Self::Text,
            DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
                Self::Binary
            }
            DataType::Date32 | DataType::Date64 => Self::Date,
            DataType::Time32(_) | DataType::Time64(_) => Self::Time,
            DataType::Timestamp(_, zone) => Self::Timestamp { zoned: zone.is_some() },
            DataType::Duration(_) => Self::Duration,
            DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(..) => Self::List,
            DataType::Struct(_) => Self::Struct,
            other if other.is_integer() => Self::Integer,
            other if other.is_floating() => Self::Float,
            other if other.is_decimal() => Self::Decimal,
            _ => Self::Other,
        }
    }

    pub(super) const fn is_number(self) -> bool {
        matches!(self, Self::Integer | Self::Decimal | Self::Float)
    }

    /// In a message.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool => "true or false",
            Self::Integer | Self::Decimal | Self::Float => "a number",
            Self::Text => "text",
            Self::Binary => "bytes",
            Self::Date => "a date",
            Self::Time => "a time",
            Self::Timestamp { zoned: false } => "a timestamp",
            Self::Timestamp { zoned: true } => "a timestamp with a time zone",
            Self::Duration => "a duration",
            Self::List => "a list",
            Self::Struct => "a struct",
            Self::Other => "a value without comparisons",
        }
    }
}

/// The type of the values of a dictionary; others are their own.
pub(super) fn value_type(data_type: &DataType) -> &DataType {
    match data_type {
        DataType::Dictionary(_, values) => value_type(values),
        other => other,
    }
}

/// Nanoseconds of one unit of a date, time or timestamp.
pub(super) fn nanoseconds(data_type: &DataType) -> i128 {
    match data_type {
        DataType::Date32 => 86_400_000_000_000,
        DataType::Date64 => 1_000_000,
        DataType::Time32(unit) | DataType::Time64(unit) | DataType::Timestamp(unit, _) => match unit {
            TimeUnit::Second => 1_000_000_000,
            TimeUnit::Millisecond => 1_000_000,
            TimeUnit::Microsecond => 1_000,
            TimeUnit::Nanosecond => 1,
        },
        _ => 1,
    }
}

/// Whether text is JSON, which a comparison of text would misread.
pub(super) fn is_json(field: &Field) -> bool {
    field.extension_type_name() == Some("arrow.json")
}
