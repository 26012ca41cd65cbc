/// The one type that all cells of a CSV column have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ColumnKind {
    Null,
    Bool,
    Integer,
    Unsigned,
    Float,
    Date,
    /// Whether it needs nanoseconds.
    Time(bool),
    /// Whether it needs nanoseconds, and whether it has a UTC offset.
    Stamp(bool, bool),
    /// JSON arrays or objects.
    Nested,
    Text,
}

impl ColumnKind {
    pub(in crate::text) const fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool => "boolean",
            Self::Integer | Self::Unsigned => "integer",
            Self::Float => "float",
            Self::Date => "date",
            Self::Time(_) => "time",
            Self::Stamp(..) => "timestamp",
            Self::Nested => "JSON",
            Self::Text => "text",
        }
    }
}
