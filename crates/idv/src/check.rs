//! Values that can be stored and mean nothing: keys above their count, times that .NET does not have, vectors of another length than
//! their type.

use std::ops::Range;

use container_core::{Loss, Position};

use crate::codec::{Values, Vectors};
use crate::read::ColumnSlice;
use crate::time::LAST_TICK;
use crate::wire::{ItemType, KeyType, Type};

/// A value that cannot be written as it is.
pub(crate) struct InvalidValue {
    /// Its index among the values.
    pub(crate) index: usize,
    /// What was detail and what is allowed.
    pub(crate) detail: String,
}

/// Values of a column that can be stored and mean nothing, and were taken as they are.
#[derive(Default)]
pub(crate) struct InvalidValues {
    count: u64,
    first: Option<(u64, String)>,
}

impl InvalidValues {
    /// Counts those of a slice that begins with row `first_row`. Where there are none that is a look at keys and times.
    pub(crate) fn add(&mut self, kind: &Type, slice: &ColumnSlice<'_>, first_row: u64) {
        if !can_be_invalid(kind.item()) {
            return;
        }
        let Err(invalid) = validate(kind, slice.values, slice.range.clone()) else { return };
        let row = first_row + (invalid.index - slice.range.start) as u64;
        self.first.get_or_insert((row, invalid.detail));
        let bad = |items: &Values, range: Range<usize>| {
            range.filter(|&index| describe_invalid(kind.item(), items, index).is_some()).count() as u64
        };
        self.count += match slice.values {
            Values::Vector(vectors) => {
                let rows = (invalid.index..slice.range.end).filter_map(|row| vectors.get(row));
                rows.map(|vector| bad(vector.values, vector.range)).sum()
            }
            items => bad(items, invalid.index..slice.range.end),
        };
    }

    /// The loss, if there are any.
    pub(crate) fn loss(self, name: &str) -> Option<Loss> {
        let (row, detail) = self.first?;
        let mut first = Position::default();
        first.row = Some(row);
        first.column = Some(name.to_owned().into());
        Some(Loss::new(format!("value kept that verification rejects ({detail})"), self.count, first))
    }
}

/// Checks a run of values of a type that they are known to be of.
pub(crate) fn validate(kind: &Type, values: &Values, range: Range<usize>) -> Result<(), InvalidValue> {
    match (kind, values) {
        (Type::Vector { item, .. }, Values::Vector(vectors)) => check_vectors(*item, kind.size(), vectors, range),
        (kind, values) => check_items(kind.item(), values, range),
    }
}

/// Checks a run of values also for what ML.NET could not read back: times with offset that are out of its range in UTC.
pub(crate) fn validate_for_writing(kind: &Type, run: &Values, range: Range<usize>) -> Result<(), InvalidValue> {
    validate(kind, run, range.clone())?;
    let (items, indices_of): (&Values, &dyn Fn(usize) -> Range<usize>) = match run {
        Values::Vector(vectors) => (vectors.values(), &|index| vectors.get(index).map_or(0..0, |vector| vector.range)),
        items => (items, &|index| index..index + 1),
    };
    let Values::DateTimeOffset(both) = items else { return Ok(()) };
    for index in range {
        let detail = indices_of(index).find_map(|item| describe_invalid_utc(*both.ticks.get(item)?, *both.minutes.get(item)?));
        if let Some(detail) = detail {
            return Err(InvalidValue { index, detail });
        }
    }
    Ok(())
}

/// A time with offset whose moment is out of .NET's range. Both are known to be in theirs.
fn describe_invalid_utc(ticks: i64, minutes: i16) -> Option<String> {
    if ticks == i64::MIN || minutes == i16::MIN {
        return None;
    }
    let utc = ticks.checked_sub(i64::from(minutes) * TICKS_OF_MINUTE)?;
    (!is_time(utc)).then(|| {
        format!("time of {ticks} ticks and {minutes} minutes is {utc} ticks in UTC, not between 0 and {LAST_TICK}")
    })
}

fn check_items(item: ItemType, values: &Values, range: Range<usize>) -> Result<(), InvalidValue> {
    let first = range.start;
    let index = match (item, values) {
        (ItemType::Key(key), values) => position_above(values, range, most_stored(key)),
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

/// What is invalid with a value that can be stored and means nothing.
pub(crate) fn describe_invalid(item: ItemType, values: &Values, index: usize) -> Option<String> {
    match (item, values) {
        (ItemType::Key(key), values) => {
            let stored = key.value(values.stored_key(index)?).err()?;
            Some(format!("key {stored} is above its count {}", key.count))
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

/// Whether values of a type can be stored and mean nothing.
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

/// Ticks of 100 ns.
const TICKS_OF_MINUTE: i64 = 600_000_000;

/// .NET's offsets reach 14 hours either way.
const OFFSETS: std::ops::RangeInclusive<i16> = -840..=840;

fn describe_invalid_ticks(ticks: i64) -> Option<String> {
    (!is_time(ticks)).then(|| format!("time of {ticks} ticks is not between 0 and {LAST_TICK}"))
}

/// The greatest number that a key may be stored as.
fn most_stored(key: KeyType) -> u64 {
    if key.count == 0 { key.width.max() } else { key.count }
}

/// Where a stored key above `most` is first.
fn position_above(values: &Values, range: Range<usize>, most: u64) -> Option<usize> {
    fn find<T: Copy + Into<u64>>(run: Option<&[T]>, most: u64) -> Option<usize> {
        run.unwrap_or_default().iter().position(|&stored| stored.into() > most)
    }
    match values {
        Values::Byte(v) => find(v.get(range), most),
        Values::UInt16(v) => find(v.get(range), most),
        Values::UInt32(v) => find(v.get(range), most),
        Values::UInt64(v) => find(v.get(range), most),
        _ => None,
    }
}

/// A time that .NET has, or the least number, which stands for a missing one.
fn is_time(ticks: i64) -> bool {
    (0..=LAST_TICK).contains(&ticks) || ticks == i64::MIN
}

fn check_vectors(item: ItemType, size: u32, vectors: &Vectors, range: Range<usize>) -> Result<(), InvalidValue> {
    if size != 0 && vectors.dense_length() != Some(size) {
        for index in range.clone() {
            let length = vectors.get(index).map_or(0, |vector| vector.length);
            if length != size {
                return Err(InvalidValue { index, detail: format!("a vector of {length} items where the type has {size}") });
            }
        }
    }
    if !can_be_invalid(item) {
        return Ok(());
    }
    for index in range {
        let Some(vector) = vectors.get(index) else { continue };
        check_items(item, vector.values, vector.range.clone()).map_err(|invalid| {
            let stored = invalid.index - vector.range.start;
            let slot =
                vector.indices.and_then(|indices| indices.get(stored)).map_or(stored as u64, |&slot| slot.into());
            InvalidValue { index, detail: format!("slot {slot}: {}", invalid.detail) }
        })?;
    }
    Ok(())
}
