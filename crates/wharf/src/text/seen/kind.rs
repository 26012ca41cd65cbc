/// What the cells of a column are, all of them.
#[cfg_attr(not(feature = "arrow"), expect(dead_code, reason = "only Arrow knows times"))]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Null,
    Bool,
    Integer,
    Unsigned,
    Float,
    Date,
    /// In nanoseconds?
    Time(bool),
    /// Also whether they tell how far they are from UTC.
    Stamp(bool, bool),
    /// Arrays or objects of JSON.
    Nested,
    Text,
}

impl Kind {
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
