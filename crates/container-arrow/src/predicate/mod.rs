//! Filters in SQL syntax, evaluated on record batches with three-valued logic.
//!
//! ```
//! use std::sync::Arc;
//! use arrow_array::{Int64Array, RecordBatch, StringArray};
//! use container_arrow::Predicate;
//!
//! let (age, name) = (Int64Array::from(vec![Some(39), None, Some(50)]), StringArray::from(vec!["Ada", "Bo", "Cy"]));
//! let batch = RecordBatch::try_from_iter([("age", Arc::new(age) as _), ("name", Arc::new(name) as _)])?;
//! let predicate = Predicate::parse("age > 30 and name like 'A%'")?;
//! let mask = predicate.bind(&batch.schema())?.mask(&batch)?;
//! assert_eq!(mask.iter().collect::<Vec<_>>(), [Some(true), Some(false), Some(false)]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Syntax
//!
//! | | |
//! |---|---|
//! | columns | `age`, `"with a space"`, fields `a.b`, elements of lists `a[1]` (counted from 1). Names are case-sensitive; words of SQL are not |
//! | values | `1`, `1.5e3`, `'text'` (a quote in it is doubled), `true`, `null`, `x'00ff'`, `date '2024-05-01'`, `time '12:30:00'`, `timestamp '2024-05-01 12:30:00'` |
//! | comparisons | `= <> != < <= > >=`, `between a and b`, `in (a, b)`, `is [not] null`, `is [not] true`, `is [not] false` |
//! | texts | `like 'a%'` (`%` any characters, `_` one), `ilike` (ignores case), `escape '!'` |
//! | logic | `and`, `or`, `not` |
//! | arithmetic | `+ - * / %` |
//! | functions | `abs(number)`, `coalesce(a, b)`, `isnan(number)`, `length(text, bytes or list)`, `lower(text)`, `upper(text)` |
//!
//! # Meaning
//!
//! As in DuckDB, apart from what is marked with (*).
//!
//! * A comparison with null is neither true nor false; rows are selected where the predicate is true. Every operator takes a
//!   column that is null in all rows.
//! * NaN equals itself and is greater than all other numbers. -0.0 equals 0.0.
//! * Numbers are compared exactly, also integers with floating-point numbers (*). A literal with a point or an exponent is rounded to the width of
//!   the floating-point column it is compared with: `x = 0.1` finds what is shown as 0.1.
//! * Integers are added, subtracted and multiplied in 64 bits, where overflow is an error that names the row (*), `UInt64` as decimals. `/` divides
//!   as floating-point numbers, `%` by 0 is null (*) for integers and decimals. Floating-point numbers of 32 bits stay that with one another and
//!   with literals: `abs(x) = 0.1`, `x - 0.1 = 0`. With columns of other types, and with literals that have an exponent or are integers beyond 32
//!   bits, the result has 64 bits (*).
//! * A text compared with a date, time or timestamp is read as one: `day >= '2024-05-01'`. A timestamp without an offset is one in UTC if the column
//!   has a time zone (*). `'NaN'`, `'Infinity'` and `'-Infinity'` are numbers where they are compared with one. Other types are not converted (*): a
//!   comparison of text and a number is an error.
//! * Texts are compared by code points.
//! * `length` counts characters of texts, bytes of binary values, elements of lists.
//! * `lower` and `upper` map as Unicode does: `upper('ß')` is `SS` (*).
//! * An element beyond the end of a list is null.

mod bind;
mod compare;
mod condition;
mod evaluate;
mod expr;
mod literal;
mod numbers;
mod parse;
mod types;

#[cfg(test)]
mod tests;

use std::fmt;
use std::str::FromStr;

use arrow_schema::Schema;
use container_core::{Error, Result};

pub use condition::{Condition, Constant};
pub use evaluate::Filter;
pub use expr::Comparison;
use expr::{Expr, Literal};

/// A condition on rows, in [SQL syntax](self).
#[derive(Debug, Clone, PartialEq)]
pub struct Predicate(Expr);

impl Predicate {
    /// Parses a condition.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) with the character for invalid syntax and unknown functions;
    /// [`Limit`](container_core::ErrorKind::Limit) for text above 1 MiB, patterns above 1 KiB, and expressions deeper than 128.
    pub fn parse(text: &str) -> Result<Self> {
        parse::parse(text).map(Self)
    }

    /// The condition that all of these hold; `None` without any.
    #[must_use]
    pub fn all(predicates: impl IntoIterator<Item = Self>) -> Option<Self> {
        let mut all: Vec<Expr> = predicates.into_iter().map(|predicate| predicate.0).collect();
        match all.len() {
            0 | 1 => all.pop().map(Self),
            _ => Some(Self(Expr::And(all))),
        }
    }

    /// A column compared with a value.
    #[must_use]
    pub fn compare(column: impl Into<String>, comparison: Comparison, value: &Constant) -> Self {
        let literal = match value {
            Constant::Bool(value) => Literal::Bool(*value),
            Constant::Number(digits) => Literal::Number(digits.clone()),
            Constant::Text(text) => Literal::Text(text.clone()),
        };
        let (column, literal) = (Expr::Column(column.into()), Expr::Literal(literal));
        Self(Expr::Compare(Box::new(column), comparison, Box::new(literal)))
    }

    /// The columns it mentions, each once, in order of appearance.
    #[must_use]
    pub fn columns(&self) -> Vec<&str> {
        let (mut columns, mut known) = (Vec::new(), std::collections::HashSet::new());
        self.0.columns(&mut |name| {
            if known.insert(name) {
                columns.push(name);
            }
        });
        columns
    }

    /// If this name is compared with a column, as a value without quotes would be: the text that may be meant.
    #[must_use]
    pub fn as_text(&self, name: &str) -> Option<String> {
        self.0.is_compared(name).then(|| expr::quoted(name))
    }

    /// What a format can evaluate on what it stores, or on statistics: rows for which this is not true do not match.
    #[must_use]
    pub fn condition(&self) -> Condition {
        condition::condition(&self.0, false)
    }

    /// Compiles it for batches of this schema, of which only the mentioned columns are used.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) naming the column: it is unknown, it cannot be compared with that value, or its type has no
    /// comparison.
    pub fn bind(&self, schema: &Schema) -> Result<Filter> {
        bind::bind(&self.0, schema, &|_| false)
    }

    /// As [`bind`](Self::bind); where `may_lack` is true of a column that the schema lacks, it is null in all rows.
    ///
    /// # Errors
    /// Those of [`bind`](Self::bind).
    pub fn bind_lacking(&self, schema: &Schema, may_lack: impl Fn(&str) -> bool) -> Result<Filter> {
        bind::bind(&self.0, schema, &may_lack)
    }
}

/// SQL that parses to the same predicate.
impl fmt::Display for Predicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Predicate {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::parse(text)
    }
}
