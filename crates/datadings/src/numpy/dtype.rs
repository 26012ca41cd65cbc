use std::fmt;
use std::str::FromStr;

use container_core::{Error, Result};

/// The byte order of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ByteOrder {
    /// Least significant byte first: `<`.
    Little,
    /// Most significant byte first: `>`.
    Big,
    /// A single byte, or not a number: `|`.
    None,
}

impl ByteOrder {
    /// The native byte order.
    pub const NATIVE: Self = if u16::from_le(1) == 1 { Self::Little } else { Self::Big };

    const fn symbol(self) -> char {
        match self {
            Self::Little => '<',
            Self::Big => '>',
            Self::None => '|',
        }
    }
}

/// What an unstructured element holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// One byte, zero or one: `b`.
    Bool,
    /// A signed integer: `i`.
    Int,
    /// An unsigned integer: `u`.
    Uint,
    /// A float: `f`. Those of more than eight bytes (long double) differ between machines and remain opaque.
    Float,
    /// Two floats: `c`.
    Complex,
    /// A signed number of units since 1970: `M`.
    Datetime,
    /// A signed number of units: `m`.
    Timedelta,
    /// Bytes, padded with NUL: `S`.
    Bytes,
    /// Code points of four bytes, padded with NUL: `U`.
    Text,
    /// Bytes without a meaning: `V`.
    Void,
    /// Addresses of Python objects, meaningless in a file: `O`.
    Object,
}

impl Kind {
    const fn symbol(self) -> char {
        match self {
            Self::Bool => 'b',
            Self::Int => 'i',
            Self::Uint => 'u',
            Self::Float => 'f',
            Self::Complex => 'c',
            Self::Datetime => 'M',
            Self::Timedelta => 'm',
            Self::Bytes => 'S',
            Self::Text => 'U',
            Self::Void => 'V',
            Self::Object => 'O',
        }
    }
}

/// The unit of a datetime or a timedelta, such as `ns` or `25s`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TimeUnit {
    /// Multiple of the unit per step.
    pub count: u32,
    /// `Y M W D h m s ms us ns ps fs as`; empty if unspecified.
    pub name: &'static str,
}

const UNITS: [&str; 13] = ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as"];

impl TimeUnit {
    pub(crate) const GENERIC: Self = Self { count: 1, name: "" };

    fn parse(text: &str) -> Option<Self> {
        if text.is_empty() {
            return Some(Self::GENERIC);
        }
        let inner = text.strip_prefix('[')?.strip_suffix(']')?;
        if inner == "generic" {
            return Some(Self::GENERIC);
        }
        let name = inner.trim_start_matches(|c: char| c.is_ascii_digit());
        let digits = inner.get(..inner.len() - name.len())?;
        let count = if digits.is_empty() { 1 } else { digits.parse().ok().filter(|&count| count > 0)? };
        // A micro sign or mu also stands for `u`.
        let name = if name == "\u{3bc}s" { "us" } else { name };
        Some(Self { count, name: UNITS.into_iter().find(|unit| *unit == name)? })
    }
}

/// The type of unstructured elements, such as `<i2`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Primitive {
    kind: Kind,
    order: ByteOrder,
    size: usize,
    unit: TimeUnit,
}

impl Primitive {
    pub(crate) const fn of(kind: Kind, size: usize, order: ByteOrder) -> Self {
        let order = match (kind, size) {
            (Kind::Bool | Kind::Bytes | Kind::Void | Kind::Object, _) | (Kind::Int | Kind::Uint, 1) => ByteOrder::None,
            _ => order,
        };
        Self { kind, order, size, unit: TimeUnit::GENERIC }
    }

    /// What an element holds.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// The byte order.
    #[must_use]
    pub const fn order(&self) -> ByteOrder {
        self.order
    }

    /// Bytes per element.
    #[must_use]
    pub const fn size(&self) -> usize {
        self.size
    }

    /// The unit of a datetime or timedelta.
    #[must_use]
    pub fn unit(&self) -> Option<TimeUnit> {
        matches!(self.kind, Kind::Datetime | Kind::Timedelta).then_some(self.unit)
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (order, rest) = match text.as_bytes().first()? {
            b'<' => (ByteOrder::Little, text.get(1..)?),
            b'>' => (ByteOrder::Big, text.get(1..)?),
            // To numpy this is the order of the machine that reads. The one that wrote the file was little-endian in all likelihood.
            b'|' | b'=' => (ByteOrder::Little, text.get(1..)?),
            _ => (ByteOrder::Little, text),
        };
        let mut chars = rest.chars();
        let symbol = chars.next()?;
        let tail = chars.as_str();
        if let 'M' | 'm' = symbol {
            let kind = if symbol == 'M' { Kind::Datetime } else { Kind::Timedelta };
            let unit = TimeUnit::parse(tail.strip_prefix('8').unwrap_or(tail))?;
            return Some(Self { unit, ..Self::of(kind, 8, order) });
        }
        let number = match tail {
            "" => None,
            digits if digits.bytes().all(|byte| byte.is_ascii_digit()) => Some(digits.parse::<usize>().ok()?),
            _ => return None,
        };
        let (kind, size) = match (symbol, number) {
            ('?', None) | ('b', Some(1)) => (Kind::Bool, 1),
            ('i', Some(size @ (1 | 2 | 4 | 8))) => (Kind::Int, size),
            ('u', Some(size @ (1 | 2 | 4 | 8))) => (Kind::Uint, size),
            ('f', Some(size @ (2 | 4 | 8 | 12 | 16))) => (Kind::Float, size),
            ('c', Some(size @ (8 | 16 | 24 | 32))) => (Kind::Complex, size),
            ('g', None) => (Kind::Float, 16),
            ('G', None) => (Kind::Complex, 32),
            ('S' | 'a', number) => (Kind::Bytes, number.unwrap_or(0)),
            ('U', number) => (Kind::Text, number.unwrap_or(0).checked_mul(4)?),
            ('V', number) => (Kind::Void, number.unwrap_or(0)),
            ('O', None | Some(8)) => (Kind::Object, 8),
            _ => return None,
        };
        Some(Self::of(kind, size, order))
    }
}

/// In numpy's notation: `<i2`, `|b1`, `<U2`, `<M8[ns]`.
impl fmt::Display for Primitive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.order.symbol(), self.kind.symbol())?;
        match (self.kind, self.unit) {
            (Kind::Object, _) => Ok(()),
            (Kind::Text, _) => write!(f, "{}", self.size / 4),
            (Kind::Datetime | Kind::Timedelta, TimeUnit { name: "", .. }) => write!(f, "8"),
            (Kind::Datetime | Kind::Timedelta, TimeUnit { count: 1, name }) => write!(f, "8[{name}]"),
            (Kind::Datetime | Kind::Timedelta, TimeUnit { count, name }) => write!(f, "8[{count}{name}]"),
            _ => write!(f, "{}", self.size),
        }
    }
}

/// One field of a structured element.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FieldDtype {
    /// The name; empty for padding between aligned fields.
    pub name: String,
    /// A second name, called the title in numpy.
    pub title: Option<String>,
    /// The type of its elements.
    pub dtype: Dtype,
    /// The lengths of its dimensions; empty for a single element.
    pub shape: Vec<usize>,
}

impl FieldDtype {
    /// A field of a single element.
    #[must_use]
    pub fn new(name: impl Into<String>, dtype: Dtype) -> Self {
        Self { name: name.into(), title: None, dtype, shape: Vec::new() }
    }

    /// Makes it a field of arrays of this shape.
    #[must_use]
    pub fn with_shape(mut self, shape: impl Into<Vec<usize>>) -> Self {
        self.shape = shape.into();
        self
    }

    /// Bytes per element; `None` if not addressable.
    #[must_use]
    pub fn size(&self) -> Option<usize> {
        self.shape.iter().try_fold(self.dtype.item_size()?, |size, &length| size.checked_mul(length))
    }

    /// True for the unused bytes between aligned fields; numpy writes the only field of an array of plain `V` in the same way.
    #[must_use]
    pub fn is_padding(&self) -> bool {
        let void = matches!(&self.dtype, Dtype::Primitive(of) if of.kind == Kind::Void);
        self.name.is_empty() && self.title.is_none() && self.shape.is_empty() && void
    }
}

/// The type of an array's elements.
///
/// ```
/// use datadings::numpy::{ByteOrder, Dtype, Kind};
/// let dtype: Dtype = ">f4".parse()?;
/// let Dtype::Primitive(of) = &dtype else { panic!() };
/// assert_eq!((of.kind(), of.order(), of.size()), (Kind::Float, ByteOrder::Big, 4));
/// assert_eq!(dtype.to_string(), ">f4");
/// # Ok::<(), datadings::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Dtype {
    /// One value per element.
    Primitive(Primitive),
    /// Named, consecutive fields in every element.
    Structured(Vec<FieldDtype>),
}

impl Dtype {
    /// Bytes per element; `None` if not addressable.
    #[must_use]
    pub fn item_size(&self) -> Option<usize> {
        match self {
            Self::Primitive(of) => Some(of.size),
            Self::Structured(fields) => fields.iter().try_fold(0usize, |size, field| size.checked_add(field.size()?)),
        }
    }

    /// The type of unstructured elements.
    #[must_use]
    pub fn primitive(&self) -> Option<Primitive> {
        match self {
            Self::Primitive(of) => Some(*of),
            Self::Structured(_) => None,
        }
    }
}

impl FromStr for Dtype {
    type Err = Error;

    /// Accepts numpy's notation, also `=i4` and types without a byte order, which are little-endian.
    fn from_str(text: &str) -> Result<Self> {
        Primitive::parse(text).map(Self::Primitive).ok_or_else(|| {
            let head: String = text.chars().take(40).collect();
            let dots = if head.len() < text.len() { "..." } else { "" };
            Error::invalid(format!("unknown dtype {head:?}{dots}"))
        })
    }
}

/// As printed by numpy: `<i2`, or `[('a', '<i2'), ('b', '<f4', (2, 3))]`.
impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fields = match self {
            Self::Primitive(of) => return of.fmt(f),
            Self::Structured(fields) => fields,
        };
        f.write_str("[")?;
        for (i, field) in fields.iter().enumerate() {
            f.write_str(if i == 0 { "(" } else { ", (" })?;
            match &field.title {
                Some(title) => write!(f, "('{title}', '{}'), ", field.name)?,
                None => write!(f, "'{}', ", field.name)?,
            }
            match &field.dtype {
                Self::Primitive(of) => write!(f, "'{of}'")?,
                nested @ Self::Structured(_) => nested.fmt(f)?,
            }
            if !field.shape.is_empty() {
                write!(f, ", {}", Tuple(&field.shape))?;
            }
            f.write_str(")")?;
        }
        f.write_str("]")
    }
}

/// A shape as printed by Python: `()`, `(3,)`, `(2, 3)`.
pub(crate) struct Tuple<'a>(pub(crate) &'a [usize]);

impl fmt::Display for Tuple<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            [one] => write!(f, "({one},)"),
            all => {
                f.write_str("(")?;
                for (i, length) in all.iter().enumerate() {
                    write!(f, "{}{length}", if i == 0 { "" } else { ", " })?;
                }
                f.write_str(")")
            }
        }
    }
}
