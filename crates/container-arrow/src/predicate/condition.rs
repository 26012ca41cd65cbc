//! The part of predicates that a format can evaluate on what it stores, or on statistics.

use super::expr::{Comparison, Expr, Literal};
use super::literal::special_float;

/// A [predicate](super::Predicate) without negations, for formats that skip rows without decoding them: those for which it is not true.
///
/// Negations are moved inwards: `not (a = 1 or b is null)` is `a <> 1 and b is not null`. A comparison of null is unknown, as in SQL.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Condition {
    /// All of these hold.
    All(Vec<Condition>),
    /// At least one of these holds.
    Any(Vec<Condition>),
    /// A column, or a field of one, compared with a value.
    Compare {
        /// The names of the column and of the fields in it: `a.b`.
        path: Vec<String>,
        /// How it is compared.
        comparison: Comparison,
        /// With what.
        value: Constant,
    },
    /// Whether a column, or a field of one, is null.
    IsNull {
        /// The names of the column and of the fields in it.
        path: Vec<String>,
        /// It must not be null.
        negated: bool,
    },
    /// Anything else: every row can match.
    Other,
}

/// A value of a comparison.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Constant {
    /// True or false.
    Bool(bool),
    /// Decimal digits with an optional sign, point and exponent.
    Number(String),
    /// Text; compared with a date or time, ISO 8601.
    Text(String),
}

impl Constant {
    /// Whether it is a text that is a number where it is compared with one: NaN or an infinity.
    #[must_use]
    pub fn is_special_float(&self) -> bool {
        matches!(self, Self::Text(text) if special_float(text).is_some())
    }
}

impl Condition {
    /// Whether it says all that the predicate does.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        match self {
            Self::All(all) | Self::Any(all) => all.iter().all(Self::is_complete),
            Self::Other => false,
            Self::Compare { .. } | Self::IsNull { .. } => true,
        }
    }
}

/// The condition of an expression, or of its negation.
pub(super) fn condition(expr: &Expr, negated: bool) -> Condition {
    let compare = |value: &Expr, comparison: Comparison, constant: &Expr| compare(value, comparison, constant, negated);
    match expr {
        Expr::Not(one) => condition(one, !negated),
        Expr::And(all) | Expr::Or(all) => {
            let parts = all.iter().map(|one| condition(one, negated)).collect();
            if matches!(expr, Expr::And(_)) == negated { Condition::Any(parts) } else { Condition::All(parts) }
        }
        Expr::Compare(left, op, right) => match (&**left, &**right) {
            (Expr::Literal(_), right) => compare(right, op.reversed(), left),
            (left, right) => compare(left, *op, right),
        },
        Expr::Between { value, low, high, negated: not } => {
            let bounds = [(Comparison::GreaterEq, low), (Comparison::LessEq, high)];
            let parts = bounds.map(|(op, bound)| super::condition::compare(value, op, bound, negated != *not)).to_vec();
            if negated == *not { Condition::All(parts) } else { Condition::Any(parts) }
        }
        Expr::In { value, list, negated: not } => {
            let parts = list.iter().map(|one| super::condition::compare(value, Comparison::Eq, one, negated != *not));
            if negated == *not { Condition::Any(parts.collect()) } else { Condition::All(parts.collect()) }
        }
        Expr::IsNull { value, negated: not } => match path(value) {
            Some(path) => Condition::IsNull { path, negated: negated != *not },
            None => Condition::Other,
        },
        // Of an unknown value both are false, so they are no negations of one another.
        Expr::IsBool { value, is, negated: false } if !negated => condition_of_bool(value, *is),
        Expr::Column(_) | Expr::Field(..) => condition_of_bool(expr, !negated),
        _ => Condition::Other,
    }
}

fn condition_of_bool(value: &Expr, is: bool) -> Condition {
    match path(value) {
        Some(path) => Condition::Compare { path, comparison: Comparison::Eq, value: Constant::Bool(is) },
        None => condition(value, !is),
    }
}

fn compare(value: &Expr, comparison: Comparison, constant: &Expr, negated: bool) -> Condition {
    let constant = match constant {
        Expr::Literal(Literal::Bool(value)) => Constant::Bool(*value),
        Expr::Literal(Literal::Number(text)) => Constant::Number(text.clone()),
        Expr::Literal(Literal::Text(text)) => Constant::Text(text.clone()),
        _ => return Condition::Other,
    };
    let comparison = if negated { comparison.negated() } else { comparison };
    match path(value) {
        Some(path) => Condition::Compare { path, comparison, value: constant },
        None => Condition::Other,
    }
}

/// The names of a column and of fields in it.
fn path(expr: &Expr) -> Option<Vec<String>> {
    match expr {
        Expr::Column(name) => Some(vec![name.clone()]),
        Expr::Field(inner, name) => {
            let mut names = path(inner)?;
            names.push(name.clone());
            Some(names)
        }
        _ => None,
    }
}
