//! Datasets of datadings as JSON lines in a temporary file: what types IDV gets is then found as for any text, but for numbers and times of numpy and
//! floats of 32 bits, which keep theirs.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufWriter, Write};

use container_core::{Access, Error, Input, Limits, OpenOptions, Result, Source, Unit};
use datadings::numpy::{Dtype, Item, Kind, Numpy};
use datadings::{RawValue, Reader, json};
use idv::{DateTime, ItemType, TimeSpan};

use super::super::Bar;
use super::source::Opened;

/// The first bytes of floats in msgpack.
const FLOAT_32: u8 = 0xca;
const FLOAT_64: u8 = 0xcb;

/// Ticks of IDV in a second, and at the beginning of 1970.
const TICKS: u64 = 10_000_000;
const EPOCH: i64 = 621_355_968_000_000_000;

/// Samples between two words to the bar.
const STRIDE: u64 = 256;

/// Turns datasets into texts of the same names. Arrays of numpy become arrays of JSON, all else what `cat` prints; of `columns`, where there are
/// some, these alone. Also the types of numbers that all values of a field have.
pub(super) fn lines(
    inputs: Vec<Opened>,
    columns: Option<&[String]>,
    access: Access,
    bar: &Bar,
) -> Result<(Vec<Opened>, HashMap<String, ItemType>)> {
    let mut types = HashMap::new();
    let lines = inputs.into_iter().map(|input| one(input, columns, access, bar, &mut types)).collect::<Result<_>>()?;
    let known = |(name, of)| match of {
        Numbers::Of(item) => Some((name, item)),
        Numbers::None | Numbers::Mixed => None,
    };
    Ok((lines, types.into_iter().filter_map(known).collect()))
}

/// The type of the numbers in some values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Numbers {
    /// There are no values.
    None,
    /// All have this one.
    Of(ItemType),
    /// They have several, or values are no numbers, or plain ones, whose type follows from how large they are.
    Mixed,
}

impl Numbers {
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::None, one) | (one, Self::None) => one,
            (one, other) if one == other => one,
            (one, other) if one.are_floats() && other.are_floats() => Self::Of(ItemType::Double),
            _ => Self::Mixed,
        }
    }

    fn are_floats(self) -> bool {
        matches!(self, Self::Of(ItemType::Single | ItemType::Double))
    }

    fn of(value: RawValue<'_>) -> Result<Self> {
        match value.as_bytes().first() {
            Some(&FLOAT_32) => return Ok(Self::Of(ItemType::Single)),
            Some(&FLOAT_64) => return Ok(Self::Of(ItemType::Double)),
            _ => {}
        }
        match value.kind()? {
            datadings::Kind::Nil => Ok(Self::None),
            datadings::Kind::Array => {
                let mut all = Self::None;
                for item in value.items()? {
                    all = all.and(Self::of(item?)?);
                    if all == Self::Mixed {
                        break;
                    }
                }
                Ok(all)
            }
            datadings::Kind::Map => Ok(match value.numpy()? {
                Some(Numpy::Array(array)) => Self::of_dtype(array.dtype()),
                Some(Numpy::Scalar(scalar)) if time(&scalar.item()?)?.is_some() => match scalar.item()? {
                    Item::Timedelta(..) => Self::Of(ItemType::TimeSpan),
                    _ => Self::Of(ItemType::DateTime),
                },
                // Nothing is told by what is missing.
                Some(Numpy::Scalar(scalar)) if is_no_time(&scalar.item()?) => Self::None,
                // Integers of all sizes become one type of column, as they do in Arrow.
                Some(Numpy::Scalar(scalar)) => match Self::of_dtype(scalar.dtype()) {
                    floats if floats.are_floats() => floats,
                    _ => Self::Mixed,
                },
                _ => Self::Mixed,
            }),
            _ => Ok(Self::Mixed),
        }
    }

    fn of_dtype(dtype: &Dtype) -> Self {
        let Some(of) = dtype.primitive() else { return Self::Mixed };
        Self::Of(match (of.kind(), of.size()) {
            (Kind::Int, 1) => ItemType::SByte,
            (Kind::Int, 2) => ItemType::Int16,
            (Kind::Int, 4) => ItemType::Int32,
            (Kind::Int, 8) => ItemType::Int64,
            (Kind::Uint, 1) => ItemType::Byte,
            (Kind::Uint, 2) => ItemType::UInt16,
            (Kind::Uint, 4) => ItemType::UInt32,
            (Kind::Uint, 8) => ItemType::UInt64,
            (Kind::Float, 2 | 4) => ItemType::Single,
            (Kind::Float, 8) => ItemType::Double,
            _ => return Self::Mixed,
        })
    }
}

fn one(
    input: Opened,
    columns: Option<&[String]>,
    access: Access,
    bar: &Bar,
    types: &mut HashMap<String, Numbers>,
) -> Result<Opened> {
    let named = |error: Error| error.in_file(input.name.clone());
    let temporary = |cause| Error::io("cannot keep the rows in a temporary file", cause);
    let options = OpenOptions::default().with_access(access);
    let reader = match input.input.path() {
        Some(path) => Reader::open_with(path, options),
        None => Reader::walk(input.source()?.clone(), options),
    };
    let reader = reader.map_err(named)?;
    bar.name(&format!("{}: reading", input.name));
    bar.begin(Unit::Rows, Some(reader.len()));
    let mut file = BufWriter::with_capacity(1 << 18, tempfile::tempfile().map_err(temporary)?);
    let mut line = Vec::new();
    for sample in &reader {
        let sample = sample.map_err(named)?;
        line.clear();
        put(sample.raw(), columns, types, &mut line).map_err(|error| named(error.in_row(sample.index())))?;
        line.push(b'\n');
        file.write_all(&line).map_err(temporary)?;
        if (sample.index() + 1).is_multiple_of(STRIDE) {
            bar.advance(STRIDE);
        }
    }
    let file: File = file.into_inner().map_err(|error| temporary(error.into_error()))?;
    Ok(Opened { input: Input::Stream(Source::from_file_with(file, access)?), name: input.name })
}

fn put(
    sample: RawValue<'_>,
    columns: Option<&[String]>,
    types: &mut HashMap<String, Numbers>,
    out: &mut Vec<u8>,
) -> Result<()> {
    let limits = Limits::default();
    out.push(b'{');
    let start = out.len();
    for entry in sample.entries()? {
        let (name, value) = entry?;
        if let (Some(columns), Ok(name)) = (columns, name.str())
            && !columns.iter().any(|column| column == name)
        {
            continue;
        }
        if out.len() > start {
            out.push(b',');
        }
        match name.str() {
            Ok(_) => json::write(name, out, &limits)?,
            // A name that is no text is called by its own.
            Err(_) => {
                let mut text = Vec::new();
                json::write(name, &mut text, &limits)?;
                serde_json::to_writer(&mut *out, &String::from_utf8_lossy(&text)).map_err(no_json)?;
            }
        }
        out.push(b':');
        match value.numpy()? {
            Some(Numpy::Array(array)) if !array.is_empty() && Numbers::of_dtype(array.dtype()).are_floats() => {
                put_floats(array.shape(), &mut array.items(), out)?;
            }
            Some(Numpy::Scalar(scalar)) if is_no_time(&scalar.item()?) => out.extend_from_slice(b"null"),
            Some(Numpy::Scalar(scalar)) if let Some(text) = time(&scalar.item()?)? => {
                serde_json::to_writer(&mut *out, &text).map_err(no_json)?;
            }
            Some(Numpy::Array(_)) => {
                let list: serde_json::Value = value.decode()?;
                serde_json::to_writer(&mut *out, &list).map_err(no_json)?;
            }
            _ => json::write(value, out, &limits)?,
        }
        // The value was written, so its nesting is within the limits.
        if let Ok(text) = name.str() {
            match types.get_mut(text) {
                Some(Numbers::Mixed) => {}
                Some(own) => *own = own.and(Numbers::of(value)?),
                None => drop(types.insert(text.to_owned(), Numbers::of(value)?)),
            }
        }
    }
    out.push(b'}');
    Ok(())
}

/// Is it the datetime or timedelta that stands for a missing one?
fn is_no_time(item: &Item<'_>) -> bool {
    matches!(item, Item::Datetime(i64::MIN, _) | Item::Timedelta(i64::MIN, _))
}

/// A datetime or timedelta as IDV's text for it; `None` for other values, and where the unit is not of one length, or not said.
fn time(item: &Item<'_>) -> Result<Option<String>> {
    let (value, unit, is_span) = match *item {
        Item::Timedelta(value, unit) => (value, unit, true),
        Item::Datetime(value, unit) => (value, unit, false),
        _ => return Ok(None),
    };
    if value == i64::MIN || !unit.is_fixed() {
        return Ok(None);
    }
    let since_year_1 = if is_span { 0 } else { EPOCH };
    let ticks = unit.rescaled(value, TICKS).and_then(|ticks| ticks.checked_add(since_year_1)).ok_or_else(|| {
        let name = if is_span { "timedelta" } else { "datetime" };
        Error::invalid(format!("the {name} {value} {unit} is finer than the 100 ns that IDV has, or beyond its range"))
    })?;
    Ok(Some(if is_span { TimeSpan(ticks).to_string() } else { DateTime(ticks).to_string() }))
}

/// The next elements of an array of floats as nested lists. Those that are not finite are texts, as everywhere in JSON.
fn put_floats<'a>(shape: &[usize], items: &mut dyn Iterator<Item = Result<Item<'a>>>, out: &mut Vec<u8>) -> Result<()> {
    if let Some((len, shape)) = shape.split_first() {
        out.push(b'[');
        for index in 0..*len {
            if index > 0 {
                out.push(b',');
            }
            put_floats(shape, items, out)?;
        }
        out.push(b']');
        return Ok(());
    }
    let number = match items.next().transpose()? {
        Some(Item::F16(number)) => number.to_f32().into(),
        Some(Item::F32(number)) => number.into(),
        Some(Item::F64(number)) => number,
        _ => return Err(Error::invalid("the array has an element that is no float")),
    };
    match number {
        number if number.is_nan() => out.extend_from_slice(b"\"NaN\""),
        f64::INFINITY => out.extend_from_slice(b"\"Infinity\""),
        f64::NEG_INFINITY => out.extend_from_slice(b"\"-Infinity\""),
        number => serde_json::to_writer(&mut *out, &number).map_err(no_json)?,
    }
    Ok(())
}

#[cold]
fn no_json(cause: serde_json::Error) -> Error {
    Error::invalid("the value cannot be written as JSON").caused_by(cause)
}

#[cfg(test)]
mod tests {
    use datadings::numpy::TimeUnit;

    use super::*;

    #[test]
    fn times_of_numpy() {
        let unit = |count, name| TimeUnit { count, name };
        let text = |item: Item<'_>| time(&item).map_err(|error| error.to_string());
        assert_eq!(text(Item::Datetime(1, unit(1, "D"))), Ok(Some("1970-01-02T00:00:00".to_owned())));
        assert_eq!(text(Item::Datetime(-1, unit(100, "ns"))), Ok(Some("1969-12-31T23:59:59.9999999".to_owned())));
        assert_eq!(text(Item::Timedelta(-3, unit(500, "ms"))), Ok(Some("-PT1.5S".to_owned())));
        assert_eq!(text(Item::Timedelta(1, unit(1, "M"))), Ok(None));
        assert_eq!(text(Item::Datetime(1, unit(1, ""))), Ok(None));
        assert_eq!(text(Item::Int(5)), Ok(None));
        let finer = "the timedelta 150 ns is finer than the 100 ns that IDV has, or beyond its range";
        assert_eq!(text(Item::Timedelta(150, unit(1, "ns"))), Err(finer.to_owned()));
        let beyond = "the datetime 9223372036854775807 s is finer than the 100 ns that IDV has, or beyond its range";
        assert_eq!(text(Item::Datetime(i64::MAX, unit(1, "s"))), Err(beyond.to_owned()));
    }
}
