//! Types and values of the golden tables.

use serde_json::Value as Json;

/// The type of a column in `tests/golden/cross/NAME.expected.json`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A column without values, whose type is unknown.
    None,
    Bool,
    /// Bits, and whether it is signed.
    Int(u8, bool),
    Float(u8),
    Text,
    Bytes,
    Date,
    Timestamp,
    Duration,
    Labels,
    List(Box<Self>),
    Fixed(Box<Self>, usize),
    Tensor(Box<Self>, Vec<usize>),
    Struct(Vec<(String, Self)>),
}

/// A value. Floats of all widths are stored as `f64`, exactly; times are numbers since 1970.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    Int(i128),
    Float(f64),
    Text(String),
    Bytes(Vec<u8>),
    Days(i64),
    Micros(i64),
    /// Flat elements of tensors; members of structs.
    List(Vec<Self>),
}

impl Kind {
    /// Parses `list<f32>`, `struct<a:i32,b:text>`.
    pub(crate) fn parse(text: &str) -> Self {
        let (word, inside) = match text.strip_suffix('>') {
            Some(text) => text.split_once('<').unwrap(),
            None => (text, ""),
        };
        let parts = parts(inside);
        let item = || Box::new(Self::parse(parts[0]));
        let sizes = || parts[1..].iter().map(|size| size.parse().unwrap()).collect::<Vec<_>>();
        match word {
            "none" => Self::None,
            "bool" => Self::Bool,
            "i8" | "i16" | "i32" | "i64" | "u8" | "u16" | "u32" | "u64" => {
                Self::Int(word[1..].parse().unwrap(), word.starts_with('i'))
            }
            "f16" | "f32" | "f64" => Self::Float(word[1..].parse().unwrap()),
            "text" => Self::Text,
            "bytes" => Self::Bytes,
            "date" => Self::Date,
            "timestamp" => Self::Timestamp,
            "duration" => Self::Duration,
            "labels" => Self::Labels,
            "list" => Self::List(item()),
            "fixed" => Self::Fixed(item(), sizes()[0]),
            "tensor" => Self::Tensor(item(), sizes()),
            "struct" => {
                let members = parts.iter().map(|part| part.split_once(':').unwrap());
                Self::Struct(members.map(|(name, kind)| (name.to_owned(), Self::parse(kind))).collect())
            }
            _ => panic!("no kind {text}"),
        }
    }

    /// The first word, by which rules are selected.
    pub(crate) fn word(&self) -> String {
        let shown = self.to_string();
        shown.split('<').next().unwrap().to_owned()
    }

    /// Parses a value of the table's file.
    pub(crate) fn value(&self, json: &Json) -> Value {
        if json.is_null() {
            return Value::Null;
        }
        let list = |item: &Self| Value::List(json.as_array().unwrap().iter().map(|each| item.value(each)).collect());
        let int = || json.as_i64().unwrap();
        match self {
            Self::None => panic!("a column without a value has one"),
            Self::Bool => Value::Bool(json.as_bool().unwrap()),
            Self::Int(..) => Value::Int(json.as_i64().map_or_else(|| json.as_u64().unwrap().into(), i128::from)),
            Self::Float(width) => {
                let bits = u64::from_str_radix(json.as_str().unwrap().strip_prefix("0x").unwrap(), 16).unwrap();
                Value::Float(float(*width, bits))
            }
            Self::Text | Self::Labels => Value::Text(json.as_str().unwrap().to_owned()),
            Self::Bytes => {
                let digits = json.as_str().unwrap();
                let byte = |at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
                Value::Bytes((0..digits.len()).step_by(2).map(byte).collect())
            }
            Self::Date => Value::Days(int()),
            Self::Timestamp | Self::Duration => Value::Micros(int()),
            Self::List(item) | Self::Fixed(item, _) | Self::Tensor(item, _) => list(item),
            Self::Struct(members) => {
                let items = members.iter().zip(json.as_array().unwrap());
                Value::List(items.map(|((_, kind), each)| kind.value(each)).collect())
            }
        }
    }
}

/// A float of the given width, from its bits.
fn float(width: u8, bits: u64) -> f64 {
    match width {
        64 => f64::from_bits(bits),
        32 => f32::from_bits(u32::try_from(bits).unwrap()).into(),
        _ => half(u16::try_from(bits).unwrap()),
    }
}

/// A float of 16 bits.
pub(crate) fn half(bits: u16) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
    let size = match exponent {
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        0 => fraction * 2f64.powi(-24),
        _ => (1.0 + fraction / 1024.0) * 2f64.powi(exponent - 15),
    };
    if bits >> 15 == 1 { -size } else { size }
}

/// Splits at commas outside of brackets.
fn parts(text: &str) -> Vec<&str> {
    let mut depth = 0;
    text.split(|character| {
        depth += match character {
            '<' => 1,
            '>' => -1,
            _ => 0,
        };
        character == ',' && depth == 0
    })
    .collect()
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Bool => f.write_str("bool"),
            Self::Int(bits, signed) => write!(f, "{}{bits}", if *signed { 'i' } else { 'u' }),
            Self::Float(bits) => write!(f, "f{bits}"),
            Self::Text => f.write_str("text"),
            Self::Bytes => f.write_str("bytes"),
            Self::Date => f.write_str("date"),
            Self::Timestamp => f.write_str("timestamp"),
            Self::Duration => f.write_str("duration"),
            Self::Labels => f.write_str("labels"),
            Self::List(item) => write!(f, "list<{item}>"),
            Self::Fixed(item, size) => write!(f, "fixed<{item},{size}>"),
            Self::Tensor(item, sizes) => {
                write!(f, "tensor<{item}")?;
                sizes.iter().try_for_each(|size| write!(f, ",{size}"))?;
                f.write_str(">")
            }
            Self::Struct(members) => {
                let members: Vec<_> = members.iter().map(|(name, kind)| format!("{name}:{kind}")).collect();
                write!(f, "struct<{}>", members.join(","))
            }
        }
    }
}

#[test]
fn kinds_round_trip_through_display() {
    for text in [
        "none",
        "bool",
        "i8",
        "u64",
        "f16",
        "list<text>",
        "fixed<f32,3>",
        "tensor<f64,2,3>",
        "struct<a:i32,b:list<fixed<i8,2>>,c:text>",
    ] {
        assert_eq!(Kind::parse(text).to_string(), text);
    }
}
