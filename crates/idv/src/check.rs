//! Validation of stored values: keys above their key count, times outside the .NET range, vectors whose length differs from their type.
//! Such values can be encoded but are not valid. Readers pass them through; `verify` reports them; writers reject them.

use std::ops::Range;

use container_core::{Loss, Position};

use crate::codec::{Values, Vectors};
use crate::read::ColumnSlice;
use crate::time::LAST_TICK;
use crate::wire::{ItemType, KeyType, Type};

/// The first invalid value of a range.
pub(crate) struct InvalidValue {
    /// Row within the values, from 0.
    pub(crate) index: usize,
    /// Found and allowed value.
    pub(crate) detail: String,
}

/// Counts invalid values of a column that were copied unchanged.
#[derive(Default)]
pub(crate) struct InvalidValues {
    count: u64,
    first: Option<(u64, String)>,
}

impl InvalidValues {
    /// Counts the invalid values of a slice that begins with row `first_row`.
    pub(crate) fn add(&mut self, kind: &Type, slice: &ColumnSlice<'_>, first_row: u64) {
        if !can_be_invalid(kind.item()) {
            return;
        }
        let Err(invalid) = validate(kind, slice.values, slice.range.clone()) else { return };
        let row = first_row + (invalid.index - slice.range.start) as u64;
        self.first.get_or_insert((row, invalid.detail));
        let count_invalid = |items: &Values, range: Range<usize>| {
            range.filter(|&index| describe_invalid(kind.item(), items, index).is_some()).count() as u64
        };
        self.count += match slice.values {
            Values::Vector(vectors) => {
                let rows = (invalid.index..slice.range.end).filter_map(|row| vectors.get(row));
                rows.map(|vector| count_invalid(vector.values, vector.range)).sum()
            }
            items => count_invalid(items, invalid.index..slice.range.end),
        };
    }

    /// The loss, if there are any.
    pub(crate) fn loss(self, name: &str) -> Option<Loss> {
        let (row, detail) = self.first?;
        let first = Position::of_column(name.to_owned()).in_row(row);
        Some(Loss::new(format!("invalid value kept ({detail})"), self.count, first))
    }
}

/// Validates a range of values, which must match the type's variant.
pub(crate) fn validate(kind: &Type, values: &Values, range: Range<usize>) -> Result<(), InvalidValue> {
    match (kind, values) {
        (Type::Vector { item, .. }, Values::Vector(vectors)) => check_vectors(*item, kind.size(), vectors, range),
        (kind, values) => check_items(kind.item(), values, range),
    }
}

/// Like [`validate`], and also rejects what ML.NET cannot read back: times with offset whose UTC instant is out of range.
pub(crate) fn validate_for_writing(kind: &Type, run: &Values, range: Range<usize>) -> Result<(), InvalidValue> {
    validate(kind, run, range.clone())?;
    let (items, indices_of): (&Values, &dyn Fn(usize) -> Range<usize>) = match run {
        Values::Vector(vectors) => (vectors.values(), &|index| vectors.get(index).map_or(0..0, |vector| vector.range)),
        items => (items, &|index| index..index + 1),
    };
    let Values::DateTimeOffset(both) = items else { return Ok(()) };
    for index in range {
        let detail =
            indices_of(index).find_map(|item| describe_invalid_utc(*both.ticks.get(item)?, *both.minutes.get(item)?));
        if let Some(detail) = detail {
            return Err(InvalidValue { index, detail });
        }
    }
    Ok(())
}

/// Describes a time with offset whose UTC instant is outside .NET's range. Ticks and offset themselves must be valid.
fn describe_invalid_utc(ticks: i64, minutes: i16) -> Option<String> {
    if ticks == i64::MIN || minutes == i16::MIN {
        return None;
    }
    let utc = ticks.checked_sub(i64::from(minutes) * TICKS_PER_MINUTE)?;
    (!is_time(utc)).then(|| {
        format!("time of {ticks} ticks and {minutes} minutes is {utc} ticks in UTC, not between 0 and {LAST_TICK}")
    })
}

fn check_items(item: ItemType, values: &Values, range: Range<usize>) -> Result<(), InvalidValue> {
    let first = range.start;
    let index = match (item, values) {
        (ItemType::Key(key), values) => position_above(values, range, max_stored(key)),
        (ItemType::DateTime | ItemType::DvDateTime, Values::DateTime(ticks)) => {
            ticks.get(range).unwrap_or_default().iter().position(|&ticks| !is_time(ticks))
        }
        (ItemType::DateTimeOffset | ItemType::DvDateTimeZone, Values::DateTimeOffset(_)) => {
            range.clone().position(|index| describe_invalid(item, values, index).is_some())
        }
        _ => None,
    };
    let Some(index) = index.map(|index| first + index) else { return Ok(()) };
    Err(InvalidValue { index, detail: describe_invalid(item, values, index).unwrap_or_default() })
}

/// Describes an invalid value; `None` for a valid one.
pub(crate) fn describe_invalid(item: ItemType, values: &Values, index: usize) -> Option<String> {
    match (item, values) {
        (ItemType::Key(key), values) => {
            let stored = key.value(values.stored_key(index)?).err()?;
            Some(format!("key {stored} is above its key count {}", key.count))
        }
        (_, Values::DateTime(ticks)) => describe_invalid_ticks(*ticks.get(index)?),
        (_, Values::DateTimeOffset(both)) => {
            let (&ticks, &minutes) = (both.ticks.get(index)?, both.minutes.get(index)?);
            if minutes == i16::MIN || OFFSETS.contains(&minutes) {
                return describe_invalid_ticks(ticks);
            }
            Some(format!("offset of {minutes} minutes is not between -840 and 840"))
        }
        _ => None,
    }
}

/// True for types whose encoding has invalid values.
pub(crate) fn can_be_invalid(item: ItemType) -> bool {
    matches!(
        item,
        ItemType::Key(_)
            | ItemType::DateTime
            | ItemType::DvDateTime
            | ItemType::DateTimeOffset
            | ItemType::DvDateTimeZone
    )
}

/// Ticks of 100 ns per minute.
const TICKS_PER_MINUTE: i64 = 600_000_000;

/// .NET's range of UTC offsets in minutes: 14 hours in either direction.
const OFFSETS: std::ops::RangeInclusive<i16> = -840..=840;

fn describe_invalid_ticks(ticks: i64) -> Option<String> {
    (!is_time(ticks)).then(|| format!("time of {ticks} ticks is not between 0 and {LAST_TICK}"))
}

/// Maximum stored number of a key.
fn max_stored(key: KeyType) -> u64 {
    if key.count == 0 { key.width.max() } else { key.count }
}

/// Index of the first stored key above `max`, relative to the range.
fn position_above(values: &Values, range: Range<usize>, max: u64) -> Option<usize> {
    fn find<T: Copy + Into<u64>>(run: Option<&[T]>, max: u64) -> Option<usize> {
        run.unwrap_or_default().iter().position(|&stored| stored.into() > max)
    }
    match values {
        Values::Byte(v) => find(v.get(range), max),
        Values::UInt16(v) => find(v.get(range), max),
        Values::UInt32(v) => find(v.get(range), max),
        Values::UInt64(v) => find(v.get(range), max),
        _ => None,
    }
}

/// True for a time in .NET's range and for `i64::MIN`, a missing time.
fn is_time(ticks: i64) -> bool {
    (0..=LAST_TICK).contains(&ticks) || ticks == i64::MIN
}

fn check_vectors(item: ItemType, size: u32, vectors: &Vectors, range: Range<usize>) -> Result<(), InvalidValue> {
    if size != 0 && vectors.dense_length() != Some(size) {
        for index in range.clone() {
            let length = vectors.get(index).map_or(0, |vector| vector.length);
            if length != size {
                return Err(InvalidValue {
                    index,
                    detail: format!("expected a vector of {size} items, found {length}"),
                });
            }
        }
    }
    if !can_be_invalid(item) {
        return Ok(());
    }
    for index in range {
        let Some(vector) = vectors.get(index) else { continue };
        check_items(item, vector.values, vector.range.clone()).map_err(|invalid| {
            let offset = invalid.index - vector.range.start;
            let slot =
                vector.indices.and_then(|indices| indices.get(offset)).map_or(offset as u64, |&slot| slot.into());
            InvalidValue { index, detail: format!("slot {slot}: {}", invalid.detail) }
        })?;
    }
    Ok(())
}
