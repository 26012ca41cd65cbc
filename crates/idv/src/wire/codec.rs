use std::fmt;

use container_core::{Cursor, Error, Result};

use super::toc::CodecDefinition;
use super::{leb, string};

/// The type of a column: one item or one vector of items per row.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Type {
    /// One item per row.
    Item(ItemType),
    /// One vector per row.
    Vector {
        /// Item type.
        item: ItemType,
        /// Dimensions, never empty; 0 is an unknown dimension.
        dimensions: Vec<u32>,
    },
}

/// Item type, named as in ML.NET.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ItemType {
    /// `i8`
    SByte,
    /// `u8`
    Byte,
    /// `i16`
    Int16,
    /// `u16`
    UInt16,
    /// `i32`
    Int32,
    /// `u32`
    UInt32,
    /// `i64`
    Int64,
    /// `u64`
    UInt64,
    /// `f32`
    Single,
    /// `f64`
    Double,
    /// A duration in ticks of 100 ns; `i64::MIN` is missing in files before version 1.1.1.6.
    TimeSpan,
    /// The legacy duration, which can be missing (`i64::MIN`).
    DvTimeSpan,
    /// Ticks of 100 ns since 0001-01-01T00:00:00; `i64::MIN` is missing.
    DateTime,
    /// The legacy codec of the same.
    DvDateTime,
    /// Ticks of local time and the offset from UTC in minutes; `i64::MIN` or `i16::MIN` are missing.
    DateTimeOffset,
    /// The legacy codec of the same.
    DvDateTimeZone,
    /// A 128-bit row id.
    RowId,
    /// A Boolean.
    Boolean,
    /// The legacy Boolean, which can be missing.
    DvBool,
    /// Text; can be missing up to version 1.1.1.5.
    Text,
    /// A key: a number for one of `count` values.
    Key(KeyType),
}

/// Parameters of a key type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct KeyType {
    /// Storage width.
    pub width: KeyWidth,
    /// Key count; 0, in old files, means unbounded.
    pub count: u64,
    /// Meaning of key value 0; nonzero only in old files.
    pub min: u64,
    /// Whether all values below the count are used; false only in old files.
    pub contiguous: bool,
    /// Whether the file uses the legacy `Key` codec.
    pub old: bool,
}

impl KeyType {
    /// A key type with values 0 to `count - 1`.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) when the count is 0 or exceeds the width.
    pub fn new(width: KeyWidth, count: u64) -> Result<Self> {
        if count == 0 || count > width.max() {
            let max = width.max();
            return Err(Error::usage(format!("key count {count} is not between 1 and {max}, the maximum of {width}")));
        }
        Ok(Self { width, count, min: 0, contiguous: true, old: false })
    }

    /// The key value, from 0, of a stored number; `None` for 0, a missing key.
    ///
    /// # Errors
    /// The stored number when it is above the key count.
    pub fn value(self, stored: u64) -> Result<Option<u64>, u64> {
        match stored.checked_sub(1) {
            None => Ok(None),
            Some(value) if self.count == 0 || value < self.count => Ok(Some(value)),
            Some(_) => Err(stored),
        }
    }
}

/// Storage width of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KeyWidth {
    /// `u8`
    Byte,
    /// `u16`
    UInt16,
    /// `u32`
    UInt32,
    /// `u64`
    UInt64,
}

impl KeyWidth {
    /// Maximum stored number.
    #[must_use]
    pub const fn max(self) -> u64 {
        match self {
            Self::Byte => u8::MAX as u64,
            Self::UInt16 => u16::MAX as u64,
            Self::UInt32 => u32::MAX as u64,
            Self::UInt64 => u64::MAX,
        }
    }
}

impl fmt::Display for KeyWidth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Byte => "Byte",
            Self::UInt16 => "UInt16",
            Self::UInt32 => "UInt32",
            Self::UInt64 => "UInt64",
        })
    }
}

impl Type {
    /// The type of the items.
    #[must_use]
    pub const fn item(&self) -> ItemType {
        match self {
            Self::Item(item) | Self::Vector { item, .. } => *item,
        }
    }

    /// True for vectors.
    #[must_use]
    pub const fn is_vector(&self) -> bool {
        matches!(self, Self::Vector { .. })
    }

    /// Items per row: 1 for an item type; for vectors the product of the dimensions, 0 for variable length.
    #[must_use]
    pub fn size(&self) -> u32 {
        match self {
            Self::Item(_) => 1,
            // Parsing rejects products above i32::MAX.
            Self::Vector { dimensions, .. } => dimensions.iter().fold(1, |product: u32, &d| product.saturating_mul(d)),
        }
    }
}

/// `Single`, `Key<UInt32, 5>`, `Vector<Single, 28>`; `Vector<Text>` for variable length.
impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Item(item) => item.fmt(f),
            Self::Vector { item, dimensions } if dimensions == &[0] => write!(f, "Vector<{item}>"),
            Self::Vector { item, dimensions } => {
                write!(f, "Vector<{item}")?;
                for dimension in dimensions {
                    match dimension {
                        0 => f.write_str(", *")?,
                        known => write!(f, ", {known}")?,
                    }
                }
                f.write_str(">")
            }
        }
    }
}

impl fmt::Display for ItemType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DvTimeSpan => f.write_str("TimeSpan"),
            Self::DvDateTime => f.write_str("DateTime"),
            Self::DvDateTimeZone => f.write_str("DateTimeOffset"),
            Self::RowId => f.write_str("RowId"),
            Self::DvBool => f.write_str("Boolean"),
            Self::Text => f.write_str("Text"),
            Self::Key(key) if key.count == 0 => write!(f, "Key<{}>", key.width),
            Self::Key(key) => write!(f, "Key<{}, {}>", key.width, key.count),
            // Others display as their codec name.
            plain => f.write_str(plain.codec_name()),
        }
    }
}

/// Interprets a codec definition.
///
/// # Errors
/// [`Unsupported`](container_core::ErrorKind::Unsupported) for an unknown codec name, [`Invalid`](container_core::ErrorKind::Invalid) for
/// invalid parameters.
pub fn parse_type(codec: &CodecDefinition) -> Result<Type> {
    let mut cursor = Cursor::at(&codec.parameters, codec.offset);
    let parsed = if &*codec.name == "VBuffer" {
        parse_vector(&mut cursor)?
    } else {
        Type::Item(parse_item(&codec.name, &mut cursor)?)
    };
    cursor.finish("the codec's definition")?;
    Ok(parsed)
}

/// Item types whose codec has no parameters.
const PLAIN: [ItemType; 20] = [
    ItemType::SByte,
    ItemType::Byte,
    ItemType::Int16,
    ItemType::UInt16,
    ItemType::Int32,
    ItemType::UInt32,
    ItemType::Int64,
    ItemType::UInt64,
    ItemType::Single,
    ItemType::Double,
    ItemType::TimeSpan,
    ItemType::DvTimeSpan,
    ItemType::DateTime,
    ItemType::DvDateTime,
    ItemType::DateTimeOffset,
    ItemType::DvDateTimeZone,
    ItemType::RowId,
    ItemType::Boolean,
    ItemType::DvBool,
    ItemType::Text,
];

fn parse_item(name: &str, cursor: &mut Cursor<'_>) -> Result<ItemType> {
    match name {
        "Key2" => parse_key(cursor).map(ItemType::Key),
        "Key" => parse_legacy_key(cursor).map(ItemType::Key),
        _ => PLAIN
            .into_iter()
            .find(|item| item.codec_name() == name)
            .ok_or_else(|| Error::unsupported(format!("unknown codec {name:?}")).at(cursor.offset())),
    }
}

fn parse_key_width(cursor: &mut Cursor<'_>) -> Result<KeyWidth> {
    let at = cursor.offset();
    let (name, parameters) = inner_codec(cursor)?;
    let width = match name.as_str() {
        "Byte" => KeyWidth::Byte,
        "UInt16" => KeyWidth::UInt16,
        "UInt32" => KeyWidth::UInt32,
        "UInt64" => KeyWidth::UInt64,
        _ => {
            let detail = format!("unknown key width {name:?} (known: Byte, UInt16, UInt32, UInt64)");
            return Err(Error::invalid(detail).at(at));
        }
    };
    parameters.finish("the key width's codec")?;
    Ok(width)
}

fn parse_key(cursor: &mut Cursor<'_>) -> Result<KeyType> {
    let width = parse_key_width(cursor)?;
    let at = cursor.offset();
    let count = cursor.u64_le("key count")?;
    if count == 0 || count > width.max() {
        return Err(Error::invalid(format!(
            "key count {count} is not between 1 and {}, the maximum of {width}",
            width.max()
        ))
        .at(at));
    }
    Ok(KeyType { width, count, min: 0, contiguous: true, old: false })
}

fn parse_legacy_key(cursor: &mut Cursor<'_>) -> Result<KeyType> {
    let width = parse_key_width(cursor)?;
    let at = cursor.offset();
    let contiguous = match cursor.u8("key contiguity")? {
        0 => false,
        1 => true,
        other => return Err(Error::invalid(format!("key contiguity {other} is neither 0 nor 1")).at(at)),
    };
    let min = cursor.u64_le("minimum key")?;
    let at = cursor.offset();
    let count = cursor.i32_le("key count")?;
    let count = u64::try_from(count).ok().filter(|&count| count <= width.max()).ok_or_else(|| {
        Error::invalid(format!("key count {count} is not between 0 and {}, the maximum of {width}", width.max())).at(at)
    })?;
    Ok(KeyType { width, count, min, contiguous, old: true })
}

fn parse_vector(cursor: &mut Cursor<'_>) -> Result<Type> {
    let at = cursor.offset();
    let (name, mut parameters) = inner_codec(cursor)?;
    if name == "VBuffer" {
        return Err(Error::invalid("vectors of vectors are not supported").at(at));
    }
    let item = parse_item(&name, &mut parameters)?;
    parameters.finish("the item codec's definition")?;
    let at = cursor.offset();
    let rank = cursor.i32_le("number of dimensions")?;
    // A dimension takes four bytes, so the remaining parameters bound the count.
    let rank = usize::try_from(rank)
        .ok()
        .filter(|&rank| rank <= cursor.remaining() / 4)
        .ok_or_else(|| Error::invalid(format!("{rank} dimensions in {} bytes", cursor.remaining())).at(at))?;
    let mut dimensions = Vec::with_capacity(rank.max(1));
    for _ in 0..rank {
        let at = cursor.offset();
        let dimension = cursor.i32_le("dimension")?;
        dimensions.push(
            u32::try_from(dimension)
                .map_err(|_| Error::invalid(format!("dimension {dimension} is negative")).at(at))?,
        );
    }
    // Older files omit a single unknown dimension.
    if dimensions.is_empty() {
        dimensions.push(0);
    }
    let product = dimensions.iter().try_fold(1u64, |product, &d| product.checked_mul(d.into()));
    if !dimensions.contains(&0) && product.is_none_or(|product| product > 0x7FFF_FFFF) {
        return Err(Error::invalid(format!("the product of the dimensions {dimensions:?} exceeds 2147483647")).at(at));
    }
    Ok(Type::Vector { item, dimensions })
}

/// Reads a codec definition nested in another codec's parameters.
fn inner_codec<'a>(cursor: &mut Cursor<'a>) -> Result<(String, Cursor<'a>)> {
    let name = string(cursor, "inner codec name")?.into_owned();
    let len = leb(cursor, "length of the inner codec's parameters")?;
    let parameters = cursor.sub(len, "inner codec parameters")?;
    Ok((name, parameters))
}
