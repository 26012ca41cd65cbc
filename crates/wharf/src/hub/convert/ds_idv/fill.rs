//! Elements of a variable as values of a column.

use std::ops::Range;

use container_core::{Error, Result};
use dsfmt::{Array, DataType, Mask, Strings, Variable};
use idv::{Cell, ColumnSchema, ItemType, KeyLabels, Type, Values, Vectors};

use super::super::super::DS;
use super::said;

/// NaN as .NET has it: what stands for a missing float.
const MISSING_SINGLE: f32 = f32::from_bits(0xFFC0_0000);
const MISSING_DOUBLE: f64 = f64::from_bits(0xFFF8_0000_0000_0000);

/// Bytes that a text takes beside its own.
const TEXT: u64 = 16;

/// How a column is made of a variable.
pub(super) struct Filler {
    kind: Type,
    how: How,
    missing: bool,
    /// The rows of the first NaN and of the first missing one.
    seen: (Option<u64>, Option<u64>),
}

enum How {
    /// As it is.
    Same,
    /// Integers of which some are missing.
    Double,
    /// By what each element means for the type that an attribute says.
    Cells {
        labels: Option<KeyLabels>,
        /// Whole microseconds become ticks.
        micros: bool,
    },
}

/// Elements that are missing.
pub(super) struct Missing {
    pub(super) count: u64,
    /// The row of the first.
    pub(super) first: Option<u64>,
}

/// The missing elements of some rows.
pub(super) fn missing(variable: &Variable<'_>, rows: &Range<u64>) -> Result<Missing> {
    let none = Missing { count: 0, first: None };
    if !variable.is_masked() {
        return Ok(none);
    }
    let Some(mask) = variable.read_mask()?.filter(|mask| mask.missing() > 0) else { return Ok(none) };
    let wide = wide(variable);
    let place = |row: u64| usize::try_from(row.saturating_mul(wide)).unwrap_or(usize::MAX);
    let mut found = (place(rows.start)..place(rows.end).min(mask.len())).filter(|place| mask.is_missing(*place));
    let Some(first) = found.next() else { return Ok(none) };
    Ok(Missing { count: 1 + found.count() as u64, first: Some(first as u64 / wide.max(1)) })
}

/// Elements of a row.
pub(super) fn wide(variable: &Variable<'_>) -> u64 {
    // The product does not overflow: that of all sizes does not.
    variable.shape().unwrap_or_default().iter().skip(1).product()
}

/// The bytes of a row in memory, about.
pub(super) fn row_bytes(variable: &Variable<'_>) -> u64 {
    let each = match variable.data_type() {
        Some(data_type) if data_type.is_text() => TEXT + variable.stored_bytes() / variable.len().max(1),
        Some(data_type) => data_type.width().map_or(1, |width| width as u64).max(8),
        None => 0,
    };
    wide(variable).saturating_mul(each)
}

impl Filler {
    /// For a variable of which some elements are missing, or none.
    pub(super) fn new(variable: &Variable<'_>, missing: bool) -> Result<Self> {
        let named = |error: Error| error.in_column(variable.name().to_owned()).in_format(DS);
        let data_type = variable.data_type().ok_or_else(|| named(Error::usage("the variable has no type")))?;
        let (mut item, mut how) = match data_type {
            DataType::Float32 => (ItemType::Single, How::Same),
            DataType::Float64 => (ItemType::Double, How::Same),
            DataType::Bool if missing => (ItemType::DvBool, How::Same),
            DataType::Bool => (ItemType::Boolean, How::Same),
            DataType::Str | DataType::Unicode => (ItemType::Text, How::Same),
            _ if missing => (ItemType::Double, How::Double),
            DataType::Int8 => (ItemType::SByte, How::Same),
            DataType::Int16 => (ItemType::Int16, How::Same),
            DataType::Int32 => (ItemType::Int32, How::Same),
            DataType::Int64 => (ItemType::Int64, How::Same),
            DataType::Uint8 => (ItemType::Byte, How::Same),
            DataType::Uint16 => (ItemType::UInt16, How::Same),
            DataType::Uint32 => (ItemType::UInt32, How::Same),
            DataType::Uint64 => (ItemType::UInt64, How::Same),
        };
        if let Some(said) = said::said_type(variable) {
            (item, how) = (said.item, How::Cells { labels: None, micros: said.micros });
        }
        let kind = match variable.shape().unwrap_or_default() {
            [] | [_] => Type::Item(item),
            [_, inner @ ..] => {
                // One that is unknown is how IDV says 0.
                let sizes = inner.iter().map(|size| u32::try_from(*size).ok()).collect::<Option<Vec<u32>>>();
                let fits = inner.iter().try_fold(1u64, |all, size| all.checked_mul((*size).max(1)));
                let sizes = sizes.filter(|_| fits.is_some_and(|all| i32::try_from(all).is_ok()));
                let detail = || format!("rows of the sizes {inner:?}: a vector of IDV has 2147483647 items at most");
                let dimensions = sizes.ok_or_else(|| named(Error::unsupported(detail())))?;
                Type::Vector { item, dimensions }
            }
        };
        Ok(Self { kind, how, missing, seen: (None, None) })
    }

    /// The type of the column.
    pub(super) fn kind(&self) -> &Type {
        &self.kind
    }

    /// True when integers become floats, as some are missing.
    pub(super) fn widens(&self) -> bool {
        matches!(self.how, How::Double)
    }

    /// True when NaN will stand for missing elements.
    pub(super) fn nan_is_missing(&self) -> bool {
        self.missing && matches!(self.kind.item(), ItemType::Single | ItemType::Double)
    }

    /// True when an attribute says the type.
    pub(super) fn is_said(&self) -> bool {
        matches!(self.how, How::Cells { .. })
    }

    /// True when the times are counted in microseconds, as attributes say.
    pub(super) fn counts_micros(&self) -> bool {
        matches!(self.how, How::Cells { micros: true, .. })
    }

    /// The same with the labels of the column.
    pub(super) fn with_labels(mut self, column: &ColumnSchema) -> Self {
        if let How::Cells { labels, .. } = &mut self.how {
            *labels = KeyLabels::of(column);
        }
        self
    }

    /// The values of some rows.
    pub(super) fn fill(&mut self, variable: &Variable<'_>, rows: &Range<u64>) -> Result<Values> {
        let array = variable.read_rows(rows.clone())?;
        let wide = wide(variable);
        let items = self.items(array, rows.start, wide).map_err(|fault| {
            let row = rows.start + fault.place as u64 / wide.max(1);
            fault.error.in_row(row).in_column(variable.name().to_owned()).in_format(DS)
        })?;
        let Type::Vector { item, .. } = &self.kind else { return Ok(items) };
        let mut vectors = Vectors::of(*item);
        let wide = usize::try_from(wide).unwrap_or(usize::MAX);
        let mut at = 0;
        for _ in rows.clone() {
            if wide > 0 {
                vectors.items_mut().extend_from(&items, at..at + wide)?;
            }
            vectors.close_dense()?;
            at += wide;
        }
        Ok(Values::Vector(Box::new(vectors)))
    }

    fn items(&mut self, array: Array<'_>, first_row: u64, wide: u64) -> Result<Values, Fault> {
        let (_, values, mask) = array.into_parts();
        let mask = mask.filter(|mask| mask.missing() > 0);
        let mask = mask.as_ref();
        if let How::Cells { labels, micros } = &self.how {
            return cells(&values, mask, &Type::Item(self.kind.item()), labels.as_ref(), *micros);
        }
        /// Integers as they are, or as floats.
        macro_rules! integers {
            ($numbers:expr, $variant:ident) => {
                match self.how {
                    How::Double => doubles(&$numbers, mask, |number| i128::from(number)),
                    _ => Ok(Values::$variant($numbers.into_owned())),
                }
            };
        }
        match values {
            dsfmt::Values::Float32(floats) => {
                let (nan, floats) = with_missing(floats.into_owned(), mask, MISSING_SINGLE, |x| x.is_nan());
                self.meanings(nan, mask, first_row, wide)?;
                Ok(Values::Single(floats))
            }
            dsfmt::Values::Float64(floats) => {
                let (nan, floats) = with_missing(floats.into_owned(), mask, MISSING_DOUBLE, |x| x.is_nan());
                self.meanings(nan, mask, first_row, wide)?;
                Ok(Values::Double(floats))
            }
            dsfmt::Values::Int8(v) => integers!(v, SByte),
            dsfmt::Values::Int16(v) => integers!(v, Int16),
            dsfmt::Values::Int32(v) => integers!(v, Int32),
            dsfmt::Values::Int64(v) => integers!(v, Int64),
            dsfmt::Values::Uint8(v) => integers!(v, Byte),
            dsfmt::Values::Uint16(v) => integers!(v, UInt16),
            dsfmt::Values::Uint32(v) => integers!(v, UInt32),
            dsfmt::Values::Uint64(v) => integers!(v, UInt64),
            dsfmt::Values::Bool(v) if self.kind.item() == ItemType::DvBool => {
                let one = |(place, truth): (usize, &bool)| (!is_missing(mask, place)).then_some(*truth);
                Ok(Values::DvBool(v.iter().enumerate().map(one).collect()))
            }
            dsfmt::Values::Bool(v) => Ok(Values::Boolean(v.into_owned())),
            dsfmt::Values::Str(strings) | dsfmt::Values::Unicode(strings) => texts(&strings, mask),
        }
    }

    /// Fails when NaN would stand for what is missing and for itself.
    fn meanings(
        &mut self,
        nan: Option<usize>,
        mask: Option<&Mask<'_>>,
        first_row: u64,
        wide: u64,
    ) -> Result<(), Fault> {
        let row = |place: usize| first_row + place as u64 / wide.max(1);
        let missing = || mask.and_then(|mask| mask.iter().position(|missing| missing));
        self.seen.0 = self.seen.0.or(nan.map(row));
        self.seen.1 = self.seen.1.or_else(|| missing().map(row));
        match self.seen {
            (Some(nan), Some(missing)) => {
                let detail = format!(
                    "NaN in row {nan}, and an element is missing in row {missing}: in IDV NaN is what is missing, and they could not be told apart"
                );
                // The later of both is one of these.
                let rows = nan.max(missing).saturating_sub(first_row);
                let place = usize::try_from(rows.saturating_mul(wide)).unwrap_or(usize::MAX);
                Err(Fault { place, error: Error::unsupported(detail) })
            }
            _ => Ok(()),
        }
    }
}

/// An element that does not fit, and its place among those that were given.
struct Fault {
    place: usize,
    error: Error,
}

fn is_missing(mask: Option<&Mask<'_>>, place: usize) -> bool {
    mask.is_some_and(|mask| mask.is_missing(place))
}

/// Floats with a value for the missing ones, and where the first other NaN is.
fn with_missing<T: Copy>(
    mut floats: Vec<T>,
    mask: Option<&Mask<'_>>,
    missing: T,
    is_nan: impl Fn(&T) -> bool,
) -> (Option<usize>, Vec<T>) {
    let nan = match mask {
        None => floats.iter().position(&is_nan),
        Some(mask) => {
            let mut nan = None;
            for (place, float) in floats.iter_mut().enumerate() {
                if mask.is_missing(place) {
                    *float = missing;
                } else if nan.is_none() && is_nan(float) {
                    nan = Some(place);
                }
            }
            nan
        }
    };
    (nan, floats)
}

/// Integers as floats that have them exactly.
fn doubles<T: Copy>(numbers: &[T], mask: Option<&Mask<'_>>, wide: impl Fn(T) -> i128) -> Result<Values, Fault> {
    let mut floats = Vec::with_capacity(numbers.len());
    for (place, number) in numbers.iter().enumerate() {
        if is_missing(mask, place) {
            floats.push(MISSING_DOUBLE);
            continue;
        }
        let number = wide(*number);
        let float = exact(number).ok_or_else(|| {
            let detail = format!(
                "the integer {number} is no Double exactly, and an integer of IDV cannot be missing, which others are"
            );
            Fault { place, error: Error::unsupported(detail) }
        })?;
        floats.push(float);
    }
    Ok(Values::Double(floats))
}

/// An integer as the float that it is.
pub(super) fn exact(number: i128) -> Option<f64> {
    #[expect(clippy::cast_precision_loss, reason = "what is lost is found in the next line")]
    let float = number as f64;
    #[expect(clippy::cast_possible_truncation, reason = "a float that was an integer of 65 bits or fewer")]
    let back = float as i128;
    (back == number).then_some(float)
}

fn texts(strings: &Strings<'_>, mask: Option<&Mask<'_>>) -> Result<Values, Fault> {
    let mut values = Values::of(&Type::Item(ItemType::Text));
    if let Values::Text(texts) = &mut values {
        for (place, string) in strings.iter().enumerate() {
            if is_missing(mask, place) {
                texts.push_missing();
                continue;
            }
            texts.push(text(string, place)?).map_err(|error| Fault { place, error })?;
        }
    }
    Ok(values)
}

/// Bytes as the text that they are.
fn text(string: &[u8], place: usize) -> Result<&str, Fault> {
    std::str::from_utf8(string).map_err(|error| {
        let at = error.valid_up_to();
        let detail = format!(
            "a string of bytes is not UTF-8 at its byte {at}, and IDV has texts alone: JSON lines keep the bytes"
        );
        Fault { place, error: Error::unsupported(detail) }
    })
}

/// Values of the type that an attribute says.
fn cells(
    values: &dsfmt::Values<'_>,
    mask: Option<&Mask<'_>>,
    kind: &Type,
    labels: Option<&KeyLabels>,
    micros: bool,
) -> Result<Values, Fault> {
    /// Microseconds have so many ticks.
    const TICKS: i128 = 10;
    let mut out = Values::of(kind);
    let mut push = |place: usize, cell: Cell<'_>| {
        let cell = match cell {
            _ if is_missing(mask, place) => Cell::Missing,
            Cell::Int(number) if micros => Cell::Int(number * TICKS),
            cell => cell,
        };
        out.push_cell(kind, labels, cell).map_err(|error| {
            let detail = format!("{} (the attribute {} says the type {kind})", error.detail(), said::TYPE);
            Fault { place, error: Error::invalid(detail) }
        })
    };
    macro_rules! all {
        ($numbers:expr, $cell:expr) => {
            $numbers.iter().enumerate().try_for_each(|(place, number)| push(place, $cell(*number)))
        };
    }
    match values {
        dsfmt::Values::Float32(v) => all!(v, Cell::Single),
        dsfmt::Values::Float64(v) => all!(v, Cell::Double),
        dsfmt::Values::Int8(v) => all!(v, |x| Cell::Int(i128::from(x))),
        dsfmt::Values::Int16(v) => all!(v, |x| Cell::Int(i128::from(x))),
        dsfmt::Values::Int32(v) => all!(v, |x| Cell::Int(i128::from(x))),
        dsfmt::Values::Int64(v) => all!(v, |x| Cell::Int(i128::from(x))),
        dsfmt::Values::Uint8(v) => all!(v, |x| Cell::Int(i128::from(x))),
        dsfmt::Values::Uint16(v) => all!(v, |x| Cell::Int(i128::from(x))),
        dsfmt::Values::Uint32(v) => all!(v, |x| Cell::Int(i128::from(x))),
        dsfmt::Values::Uint64(v) => all!(v, |x| Cell::Int(i128::from(x))),
        dsfmt::Values::Bool(v) => all!(v, Cell::Bool),
        dsfmt::Values::Str(strings) | dsfmt::Values::Unicode(strings) => {
            strings.iter().enumerate().try_for_each(|(place, string)| match is_missing(mask, place) {
                true => push(place, Cell::Missing),
                false => push(place, Cell::Text(text(string, place)?)),
            })
        }
    }?;
    Ok(out)
}
