//! Expressions, as they were written, and their text.

use std::fmt;

/// An expression.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Expr {
    /// A column of the table.
    Column(String),
    Literal(Literal),
    /// A field of a struct: `a.b`.
    Field(Box<Expr>, String),
    /// An element of a list, counted from 1: `a[1]`.
    Element(Box<Expr>, u64),
    Not(Box<Expr>),
    Negate(Box<Expr>),
    /// All of them hold.
    And(Vec<Expr>),
    /// At least one of them holds.
    Or(Vec<Expr>),
    Compare(Box<Expr>, Comparison, Box<Expr>),
    Arithmetic(Box<Expr>, Arithmetic, Box<Expr>),
    Between {
        value: Box<Expr>,
        low: Box<Expr>,
        high: Box<Expr>,
        negated: bool,
    },
    In {
        value: Box<Expr>,
        list: Vec<Expr>,
        negated: bool,
    },
    Like {
        value: Box<Expr>,
        pattern: Pattern,
        negated: bool,
    },
    IsNull {
        value: Box<Expr>,
        negated: bool,
    },
    /// `is [not] true`, `is [not] false`.
    IsBool {
        value: Box<Expr>,
        is: bool,
        negated: bool,
    },
    Call(Function, Vec<Expr>),
}

/// A literal.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Literal {
    Null,
    Bool(bool),
    /// Decimal digits with an optional sign, point and exponent.
    Number(String),
    Text(String),
    Bytes(Vec<u8>),
    /// ISO 8601 text.
    Time(TimeKind, String),
}

/// What an ISO 8601 text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TimeKind {
    Date,
    Time,
    Timestamp,
}

/// The pattern of `like`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Pattern {
    pub(super) text: String,
    /// The character before a `%` or `_` that stands for itself.
    pub(super) escape: Option<char>,
    pub(super) ignores_case: bool,
}

/// How two values are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// `=`
    Eq,
    /// `<>`
    NotEq,
    /// `<`
    Less,
    /// `<=`
    LessEq,
    /// `>`
    Greater,
    /// `>=`
    GreaterEq,
}

impl Comparison {
    /// As SQL writes it.
    #[must_use]
    pub const fn symbol(self) -> &'static str {
        match self {
            Self::Eq => "=",
            Self::NotEq => "<>",
            Self::Less => "<",
            Self::LessEq => "<=",
            Self::Greater => ">",
            Self::GreaterEq => ">=",
        }
    }

    /// The comparison that holds where this one does not, of values that are not null.
    #[must_use]
    pub const fn negated(self) -> Self {
        match self {
            Self::Eq => Self::NotEq,
            Self::NotEq => Self::Eq,
            Self::Less => Self::GreaterEq,
            Self::LessEq => Self::Greater,
            Self::Greater => Self::LessEq,
            Self::GreaterEq => Self::Less,
        }
    }

    /// Whether it holds for values in this order.
    #[must_use]
    pub fn holds(self, order: std::cmp::Ordering) -> bool {
        match self {
            Self::Eq => order.is_eq(),
            Self::NotEq => order.is_ne(),
            Self::Less => order.is_lt(),
            Self::LessEq => order.is_le(),
            Self::Greater => order.is_gt(),
            Self::GreaterEq => order.is_ge(),
        }
    }

    /// The comparison of the operands in the other order.
    pub(super) const fn reversed(self) -> Self {
        match self {
            Self::Less => Self::Greater,
            Self::LessEq => Self::GreaterEq,
            Self::Greater => Self::Less,
            Self::GreaterEq => Self::LessEq,
            Self::Eq | Self::NotEq => self,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

impl Arithmetic {
    pub(super) const fn symbol(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Remainder => "%",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Function {
    Abs,
    Coalesce,
    IsNan,
    Length,
    Lower,
    Upper,
}

impl Function {
    pub(super) const ALL: [Self; 6] = [Self::Abs, Self::Coalesce, Self::IsNan, Self::Length, Self::Lower, Self::Upper];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Abs => "abs",
            Self::Coalesce => "coalesce",
            Self::IsNan => "isnan",
            Self::Length => "length",
            Self::Lower => "lower",
            Self::Upper => "upper",
        }
    }
}

impl Expr {
    /// Calls `visit` with the name of each column.
    pub(super) fn columns<'e>(&'e self, visit: &mut dyn FnMut(&'e str)) {
        match self {
            Self::Column(name) => visit(name),
            Self::Literal(_) => {}
            Self::Field(value, _)
            | Self::Element(value, _)
            | Self::Not(value)
            | Self::Negate(value)
            | Self::Like { value, .. }
            | Self::IsNull { value, .. }
            | Self::IsBool { value, .. } => value.columns(visit),
            Self::And(all) | Self::Or(all) | Self::Call(_, all) => all.iter().for_each(|one| one.columns(visit)),
            Self::Compare(left, _, right) | Self::Arithmetic(left, _, right) => {
                left.columns(visit);
                right.columns(visit);
            }
            Self::Between { value, low, high, .. } => {
                value.columns(visit);
                low.columns(visit);
                high.columns(visit);
            }
            Self::In { value, list, .. } => {
                value.columns(visit);
                list.iter().for_each(|one| one.columns(visit));
            }
        }
    }

    /// Whether a value that is no literal is compared with the column of this name.
    pub(super) fn is_compared(&self, name: &str) -> bool {
        let is = |expr: &Self| matches!(expr, Self::Column(column) if column == name);
        match self {
            Self::Compare(left, _, right) => {
                let is_literal = matches!(**left, Self::Literal(_)) || matches!(**right, Self::Literal(_));
                !is_literal && is(right)
            }
            Self::In { list, .. } => list.iter().any(is),
            Self::Not(one) => one.is_compared(name),
            Self::And(all) | Self::Or(all) => all.iter().any(|one| one.is_compared(name)),
            _ => false,
        }
    }

    /// Whether it stands alone where an operand is expected.
    fn is_operand(&self) -> bool {
        match self {
            Self::Literal(Literal::Number(text)) => !text.starts_with('-'),
            Self::Column(_) | Self::Literal(_) | Self::Field(..) | Self::Element(..) | Self::Call(..) => true,
            _ => false,
        }
    }
}

/// An operand, in parentheses unless it stands alone.
struct Operand<'e>(&'e Expr);

impl fmt::Display for Operand<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_operand() { self.0.fmt(f) } else { write!(f, "({})", self.0) }
    }
}

/// ` not`, or nothing.
const fn not(negated: bool) -> &'static str {
    if negated { " not" } else { "" }
}

/// SQL that [`parse`](super::parse::parse) reads back.
impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Column(name) => f.write_str(&identifier(name)),
            Self::Literal(literal) => literal.fmt(f),
            Self::Field(value, name) => write!(f, "{}.{}", Operand(value), identifier(name)),
            Self::Element(value, number) => write!(f, "{}[{number}]", Operand(value)),
            Self::Not(value) => write!(f, "not {}", Operand(value)),
            Self::Negate(value) => write!(f, "-{}", Operand(value)),
            Self::And(all) => joined(all, " and ", f),
            Self::Or(all) => joined(all, " or ", f),
            Self::Compare(left, op, right) => write!(f, "{} {} {}", Operand(left), op.symbol(), Operand(right)),
            Self::Arithmetic(left, op, right) => write!(f, "{} {} {}", Operand(left), op.symbol(), Operand(right)),
            Self::Between { value, low, high, negated } => {
                write!(f, "{}{} between {} and {}", Operand(value), not(*negated), Operand(low), Operand(high))
            }
            Self::In { value, list, negated } => {
                write!(f, "{}{} in (", Operand(value), not(*negated))?;
                joined(list, ", ", f)?;
                f.write_str(")")
            }
            Self::Like { value, pattern, negated } => {
                let word = if pattern.ignores_case { "ilike" } else { "like" };
                write!(f, "{}{} {word} {}", Operand(value), not(*negated), quoted(&pattern.text))?;
                match pattern.escape {
                    Some(escape) => write!(f, " escape {}", quoted(&escape.to_string())),
                    None => Ok(()),
                }
            }
            Self::IsNull { value, negated } => write!(f, "{} is{} null", Operand(value), not(*negated)),
            Self::IsBool { value, is, negated } => write!(f, "{} is{} {is}", Operand(value), not(*negated)),
            Self::Call(function, arguments) => {
                write!(f, "{}(", function.name())?;
                joined(arguments, ", ", f)?;
                f.write_str(")")
            }
        }
    }
}

fn joined(all: &[Expr], separator: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for (number, one) in all.iter().enumerate() {
        f.write_str(if number == 0 { "" } else { separator })?;
        write!(f, "{}", Operand(one))?;
    }
    Ok(())
}

impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(value) => value.fmt(f),
            Self::Number(text) => f.write_str(text),
            Self::Text(text) => f.write_str(&quoted(text)),
            Self::Bytes(bytes) => {
                f.write_str("x'")?;
                bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
                f.write_str("'")
            }
            Self::Time(kind, text) => {
                let word = match kind {
                    TimeKind::Date => "date",
                    TimeKind::Time => "time",
                    TimeKind::Timestamp => "timestamp",
                };
                write!(f, "{word} {}", quoted(text))
            }
        }
    }
}

/// A text in single quotes.
pub(super) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// A name, in double quotes unless it is a plain word.
pub(super) fn identifier(name: &str) -> String {
    let is_plain = name
        .starts_with(|first: char| first.is_ascii_lowercase() || first.is_ascii_uppercase() || first == '_')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && !super::parse::is_reserved(name)
        && !Function::ALL.iter().any(|function| function.name().eq_ignore_ascii_case(name));
    if is_plain { name.to_owned() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}
