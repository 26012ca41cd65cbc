//! Converting single values, as from CSV or serde, to the type of a column.

mod json;
mod labels;
pub(crate) mod numbers;
mod shape;

use std::borrow::Cow;

use container_core::{Error, Result};

pub(super) use json::close_sparse;
pub use labels::KeyLabels;
pub(super) use shape::{Shape, check_length};

use self::numbers::{double, integer, parse_integer, single};
use crate::codec::{DateTimeOffsets, Values};
use crate::time::{DateTime, DateTimeOffset, LAST_TICK, TimeSpan};
use crate::wire::{ItemType, KeyType, Type};

/// One external value, for [`Values::push_cell`].
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Cell<'a> {
    /// A missing value.
    Missing,
    /// A Boolean.
    Bool(bool),
    /// An integer: a number, the ticks of a duration or time (100 ns), or a key value from 0.
    Int(i128),
    /// A 128-bit number; equivalent to [`Int`](Self::Int) where that can hold it.
    RowId(u128),
    /// A float.
    Single(f32),
    /// A float.
    Double(f64),
    /// A local time with its offset.
    Time(DateTimeOffset),
    /// Text from a typed source such as JSON: never a number.
    Text(&'a str),
    /// Text from an untyped source such as CSV: parsed as the column's type.
    Untyped(&'a str),
}

impl Values {
    /// Appends one value, converted to the type if that is lossless. On an error nothing is appended.
    ///
    /// | type | accepted |
    /// |---|---|
    /// | integers | `Int` in range; a float without fraction; an `Untyped` of either form |
    /// | `Single`, `Double` | floats (a `Double` is rounded to `Single`); an exactly representable `Int`; `NaN`, `Infinity`, `-Infinity`; an `Untyped` as Rust parses floats, rounded once |
    /// | times | text that [`TimeSpan`], [`DateTime`] and [`DateTimeOffset`] parse; `Int` ticks; `Time` |
    /// | `RowId` | a 128-bit number; 32 hex digits |
    /// | Booleans | `Bool`; `Untyped` `true`, `false` (in any case), `1`, `0` |
    /// | `Text` | `Text` and `Untyped`, unchanged |
    /// | keys | a label; otherwise an `Int` or `Untyped` is the key value from 0. For labels other than text, any cell of their type is a label |
    /// | vectors | `Text` or `Untyped` with the JSON of [`push_json`](Self::push_json) |
    ///
    /// `Missing` becomes NaN in floats, with .NET's bits. Integers, `TimeSpan`, `RowId`, `Boolean` and vectors cannot be missing. ML.NET reads
    /// missing text as empty.
    ///
    /// ```
    /// use idv::{Cell, Type, Values};
    /// # fn main() -> container_core::Result<()> {
    /// let kind: Type = "Byte".parse()?;
    /// let mut values = Values::of(&kind);
    /// values.push_cell(&kind, None, Cell::Int(255))?;
    /// values.push_cell(&kind, None, Cell::Untyped("3.0"))?;
    /// let error = values.push_cell(&kind, None, Cell::Int(300)).unwrap_err();
    /// assert_eq!(error.to_string(), "300 does not fit Byte (0 to 255)");
    /// assert_eq!(values, Values::Byte(vec![255, 3]));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Invalid`](container_core::ErrorKind::Invalid) for a value outside the type, [`Usage`](container_core::ErrorKind::Usage) when
    /// `self` does not match the type, [`Limit`](container_core::ErrorKind::Limit) for 2^31 bytes of text or more.
    pub fn push_cell(&mut self, kind: &Type, labels: Option<&KeyLabels>, cell: Cell<'_>) -> Result<()> {
        match kind {
            Type::Item(item) => push_item(self, *item, labels, cell),
            Type::Vector { .. } => match cell {
                Cell::Text(json) | Cell::Untyped(json) => self.push_json(kind, labels, json),
                Cell::Missing => Err(cannot_be_missing(kind)),
                other => Err(mismatch(&other, kind)),
            },
        }
    }
}

/// Whether values of a type can be missing.
pub(super) fn can_be_missing(kind: &Type) -> bool {
    match kind {
        Type::Vector { .. } => false,
        Type::Item(item) => match item {
            ItemType::SByte
            | ItemType::Byte
            | ItemType::Int16
            | ItemType::UInt16
            | ItemType::Int32
            | ItemType::UInt32
            | ItemType::Int64
            | ItemType::UInt64
            | ItemType::TimeSpan
            | ItemType::RowId
            | ItemType::Boolean => false,
            ItemType::Single
            | ItemType::Double
            | ItemType::DvTimeSpan
            | ItemType::DateTime
            | ItemType::DvDateTime
            | ItemType::DateTimeOffset
            | ItemType::DvDateTimeZone
            | ItemType::DvBool
            | ItemType::Text
            | ItemType::Key(_) => true,
        },
    }
}

#[cold]
pub(super) fn cannot_be_missing(kind: &Type) -> Error {
    let hint = match kind {
        Type::Item(ItemType::Boolean) => " (DvBool can)",
        Type::Item(ItemType::TimeSpan) => " (DvTimeSpan can)",
        _ => "",
    };
    Error::invalid(format!("{kind} cannot be missing{hint}"))
}

/// The error for a cell that does not convert to the type.
#[cold]
fn mismatch(cell: &Cell<'_>, kind: &Type) -> Error {
    if *cell == Cell::Missing {
        return cannot_be_missing(kind);
    }
    Error::invalid(format!("expected {}, found {}", expected(kind), describe(cell)))
}

#[cold]
fn item_mismatch(cell: &Cell<'_>, item: ItemType) -> Error {
    mismatch(cell, &Type::Item(item))
}

fn describe(cell: &Cell<'_>) -> String {
    match cell {
        Cell::Missing => "a missing value".to_owned(),
        Cell::Bool(x) => x.to_string(),
        Cell::Int(x) => x.to_string(),
        Cell::RowId(x) => x.to_string(),
        Cell::Single(x) => x.to_string(),
        Cell::Double(x) => x.to_string(),
        Cell::Time(x) => format!("time {x}"),
        Cell::Text(x) => format!("text {}", quoted(x)),
        Cell::Untyped(x) => quoted(x),
    }
}

/// Quotes the text, truncated if long.
pub(super) fn quoted(text: &str) -> String {
    const MAX: usize = 60;
    match text.char_indices().nth(MAX) {
        Some((end, _)) => format!("{:?}...", text.get(..end).unwrap_or_default()),
        None => format!("{text:?}"),
    }
}

/// A type with examples of its values.
fn expected(kind: &Type) -> String {
    let Type::Item(item) = kind else { return format!("{kind} (an array)") };
    match item {
        ItemType::Single | ItemType::Double => format!("{kind} (a number, NaN, Infinity or -Infinity)"),
        ItemType::TimeSpan | ItemType::DvTimeSpan => format!("{kind} (such as PT12.5S, or ticks of 100 ns)"),
        ItemType::DateTime | ItemType::DvDateTime => {
            format!("{kind} (such as 2020-12-31T23:59:59.5, or ticks of 100 ns)")
        }
        ItemType::DateTimeOffset | ItemType::DvDateTimeZone => {
            format!("{kind} (such as 2020-12-31T23:59:59.5+01:00)")
        }
        ItemType::RowId => format!("{kind} (32 hex digits, or a 128-bit number)"),
        ItemType::Boolean | ItemType::DvBool => format!("{kind} (true or false)"),
        ItemType::Text => format!("{kind}"),
        ItemType::Key(_) => format!("{kind} (a label, or a key value from 0)"),
        _ => {
            let (first, last) = range(*item);
            format!("{kind} (an integer from {first} to {last})")
        }
    }
}

/// Minimum and maximum of a type stored as an integer.
fn range(item: ItemType) -> (i128, i128) {
    match item {
        ItemType::SByte => (i8::MIN.into(), i8::MAX.into()),
        ItemType::Byte => (0, u8::MAX.into()),
        ItemType::Int16 => (i16::MIN.into(), i16::MAX.into()),
        ItemType::UInt16 => (0, u16::MAX.into()),
        ItemType::Int32 => (i32::MIN.into(), i32::MAX.into()),
        ItemType::UInt32 => (0, u32::MAX.into()),
        ItemType::UInt64 => (0, u64::MAX.into()),
        // The minimum is missing.
        ItemType::DvTimeSpan => (i128::from(i64::MIN) + 1, i64::MAX.into()),
        ItemType::DateTime | ItemType::DvDateTime => (0, LAST_TICK.into()),
        _ => (i64::MIN.into(), i64::MAX.into()),
    }
}

#[cold]
fn does_not_fit(found: &str, item: ItemType) -> Error {
    let (first, last) = range(item);
    Error::invalid(format!("{found} does not fit {item} ({first} to {last})"))
}

/// Appends one item.
pub(super) fn push_item(values: &mut Values, item: ItemType, labels: Option<&KeyLabels>, cell: Cell<'_>) -> Result<()> {
    /// Pushes an integer, range-checked.
    macro_rules! integer {
        ($v:expr) => {{
            let number = integer(&cell, item)?;
            $v.push(number.try_into().map_err(|_| does_not_fit(&number.to_string(), item))?);
        }};
    }
    if let ItemType::Key(key) = item {
        return push_key(values, key, labels, cell);
    }
    match (values, item) {
        (Values::Single(v), ItemType::Single) => v.push(single(&cell)?),
        (Values::Double(v), ItemType::Double) => v.push(double(&cell)?),
        (Values::Text(v), ItemType::Text) => match cell {
            Cell::Text(text) | Cell::Untyped(text) => v.push(text)?,
            Cell::Missing => v.push_missing(),
            other => return Err(item_mismatch(&other, item)),
        },
        (Values::SByte(v), ItemType::SByte) => integer!(v),
        (Values::Byte(v), ItemType::Byte) => integer!(v),
        (Values::Int16(v), ItemType::Int16) => integer!(v),
        (Values::UInt16(v), ItemType::UInt16) => integer!(v),
        (Values::Int32(v), ItemType::Int32) => integer!(v),
        (Values::UInt32(v), ItemType::UInt32) => integer!(v),
        (Values::Int64(v), ItemType::Int64) => integer!(v),
        (Values::UInt64(v), ItemType::UInt64) => integer!(v),
        (Values::Boolean(v), ItemType::Boolean) => v.push(boolean(&cell, item)?),
        (Values::DvBool(v), ItemType::DvBool) => v.push(match cell {
            Cell::Missing => None,
            other => Some(boolean(&other, item)?),
        }),
        (Values::TimeSpan(v), ItemType::TimeSpan | ItemType::DvTimeSpan) => v.push(match cell {
            Cell::Text(text) | Cell::Untyped(text) => {
                let TimeSpan(ticks) = text.parse()?;
                ticks_in_range(ticks.into(), item, || text.to_owned())?
            }
            other => ticks(&other, item)?,
        }),
        (Values::DateTime(v), ItemType::DateTime | ItemType::DvDateTime) => v.push(match cell {
            Cell::Text(text) | Cell::Untyped(text) => {
                let DateTime(ticks) = text.parse()?;
                ticks_in_range(ticks.into(), item, || text.to_owned())?
            }
            other => ticks(&other, item)?,
        }),
        (Values::DateTimeOffset(v), ItemType::DateTimeOffset | ItemType::DvDateTimeZone) => {
            push_zoned(v, &cell, item)?;
        }
        (Values::RowId(v), ItemType::RowId) => v.push(row_id(&cell)?),
        (values, item) => return Err(other_variant(values, item)),
    }
    Ok(())
}

#[cold]
fn other_variant(values: &Values, item: ItemType) -> Error {
    Error::usage(format!("expected {} values, found a value of type {item}", values.variant()))
}

fn boolean(cell: &Cell<'_>, item: ItemType) -> Result<bool> {
    let parse_bool = |word: &str| match word {
        "1" => Some(true),
        "0" => Some(false),
        _ if word.eq_ignore_ascii_case("true") => Some(true),
        _ if word.eq_ignore_ascii_case("false") => Some(false),
        _ => None,
    };
    match cell {
        Cell::Bool(x) => Some(*x),
        Cell::Untyped(word) => parse_bool(word.trim()),
        _ => None,
    }
    .ok_or_else(|| item_mismatch(cell, item))
}

/// Ticks of a duration or time from a number or a missing value.
fn ticks(cell: &Cell<'_>, item: ItemType) -> Result<i64> {
    match *cell {
        Cell::Int(x) => ticks_in_range(x, item, || x.to_string()),
        Cell::Missing if item != ItemType::TimeSpan => Ok(i64::MIN),
        _ => Err(item_mismatch(cell, item)),
    }
}

fn ticks_in_range(ticks: i128, item: ItemType, found: impl FnOnce() -> String) -> Result<i64> {
    let (first, last) = range(item);
    match i64::try_from(ticks) {
        Ok(ticks) if (first..=last).contains(&ticks.into()) => Ok(ticks),
        _ if last == LAST_TICK.into() => {
            Err(Error::invalid(format!("{} does not fit {item} ({} to {})", found(), DateTime(0), DateTime(LAST_TICK))))
        }
        _ => Err(does_not_fit(&found(), item)),
    }
}

fn push_zoned(both: &mut DateTimeOffsets, cell: &Cell<'_>, item: ItemType) -> Result<()> {
    /// .NET's maximum offset in minutes: 14 hours.
    const MAX: i16 = 14 * 60;
    const MINUTE: i64 = 60 * 10_000_000;
    let time = match *cell {
        Cell::Time(time) => time,
        Cell::Text(text) | Cell::Untyped(text) => text.parse()?,
        Cell::Missing => DateTimeOffset::new(i64::MIN, i16::MIN),
        _ => return Err(item_mismatch(cell, item)),
    };
    if *cell != Cell::Missing {
        let utc = i128::from(time.ticks) - i128::from(time.minutes) * i128::from(MINUTE);
        let times = 0..=LAST_TICK;
        let utc_fits = (0..=i128::from(LAST_TICK)).contains(&utc);
        if !(-MAX..=MAX).contains(&time.minutes) || !times.contains(&time.ticks) || !utc_fits {
            let (first, last) = (DateTime(0), DateTime(LAST_TICK));
            let detail =
                format!("{time} does not fit {item} ({first} to {last}, local and in UTC; offsets up to 14:00)");
            return Err(Error::invalid(detail));
        }
    }
    both.ticks.push(time.ticks);
    both.minutes.push(time.minutes);
    Ok(())
}

fn row_id(cell: &Cell<'_>) -> Result<u128> {
    let hex = |text: &str| {
        let digits = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        digits.then(|| u128::from_str_radix(text, 16).ok()).flatten()
    };
    match cell {
        Cell::RowId(x) => Some(*x),
        Cell::Int(x) => u128::try_from(*x).ok(),
        Cell::Text(text) => hex(text),
        Cell::Untyped(word) => hex(word.trim()),
        _ => None,
    }
    .ok_or_else(|| item_mismatch(cell, ItemType::RowId))
}

fn push_key(values: &mut Values, key: KeyType, labels: Option<&KeyLabels>, cell: Cell<'_>) -> Result<()> {
    let item = ItemType::Key(key);
    let value = match (labels, cell) {
        (_, Cell::Missing) => None,
        (Some(labels), cell) => Some(labels.value(&cell, key)?),
        (None, Cell::Int(value)) => Some(checked_key(value, key)?),
        (None, Cell::Untyped(word)) => {
            let value = parse_integer(word).ok_or_else(|| item_mismatch(&cell, item))?;
            Some(checked_key(value, key)?)
        }
        (None, Cell::Text(text)) => {
            let detail = format!("label {} for {item}, which has no labels (KeyValues)", quoted(text));
            return Err(Error::invalid(detail));
        }
        (None, Cell::Single(_) | Cell::Double(_)) => Some(checked_key(integer(&cell, item)?, key)?),
        (None, other) => return Err(item_mismatch(&other, item)),
    };
    let stored = value.map_or(0, |value| value + 1);
    // Values below the key count fit the width.
    let too_wide = |_| Error::invalid(format!("key value {} does not fit {}", stored - 1, key.width));
    match values {
        Values::Byte(v) => v.push(stored.try_into().map_err(too_wide)?),
        Values::UInt16(v) => v.push(stored.try_into().map_err(too_wide)?),
        Values::UInt32(v) => v.push(stored.try_into().map_err(too_wide)?),
        Values::UInt64(v) => v.push(stored),
        other => return Err(other_variant(other, item)),
    }
    Ok(())
}

/// Checks a key value, from 0, against the key count.
fn checked_key(value: i128, key: KeyType) -> Result<u64> {
    let count = if key.count == 0 { key.width.max() } else { key.count };
    u64::try_from(value).ok().filter(|&value| value < count).ok_or_else(|| {
        let max = count - 1;
        Error::invalid(format!("key value {value} is out of range for {} (0 to {max})", ItemType::Key(key)))
    })
}

/// A value's JSON without quotes; `None` if missing.
pub(crate) fn display_text<'a>(value: &crate::Value<'a>) -> Option<Cow<'a, str>> {
    match value {
        crate::Value::Missing => None,
        crate::Value::Text(text) => Some(Cow::Borrowed(text)),
        other => {
            let json = serde_json::to_string(other).ok()?;
            // Times, row ids and floats need no escapes.
            let bare = json.strip_prefix('"').and_then(|json| json.strip_suffix('"'));
            Some(Cow::Owned(bare.map_or_else(|| json.clone(), str::to_owned)))
        }
    }
}

#[cfg(test)]
mod tests;
