//! Values that no file can have, or that ML.NET could not read back.

use std::ops::Range;

use crate::codec::{Values, Vectors};
use crate::time::LAST_TICK;
use crate::wire::{ItemType, KeyType, Type};

/// A value that cannot be written as it is.
pub(super) struct Wrong {
    /// Its place among the values.
    pub(super) place: usize,
    /// What was found and what is allowed.
    pub(super) detail: String,
}

/// Checks a run of values of a type that they are known to be of.
pub(super) fn values(kind: &Type, values: &Values, range: Range<usize>) -> Result<(), Wrong> {
    match (kind, values) {
        (Type::Vector { item, .. }, Values::Vector(vectors)) => check_vectors(*item, kind.size(), vectors, range),
        (kind, values) => check_items(kind.item(), values, range),
    }
}

fn check_items(item: ItemType, values: &Values, range: Range<usize>) -> Result<(), Wrong> {
    let first = range.start;
    let wrong = |place: Option<usize>, detail: &dyn Fn(usize) -> String| match place {
        None => Ok(()),
        Some(place) => Err(Wrong { place: first + place, detail: detail(first + place) }),
    };
    match (item, values) {
        (ItemType::Key(key), values) => {
            let place = position_above(values, range, most_stored(key));
            let stored = |place: usize| values.stored_key(place).unwrap_or(0);
            wrong(place, &|place| {
                let (value, count) = (stored(place) - 1, key.count);
                format!("key value {value} (stored as {}) is not below the count {count}", stored(place))
            })
        }
        (ItemType::DateTime | ItemType::DvDateTime, Values::DateTime(ticks)) => {
            let ticks = ticks.get(range).unwrap_or_default();
            let place = ticks.iter().position(|&ticks| !is_time(ticks));
            wrong(place, &|place| time_detail(ticks.get(place - first).copied().unwrap_or(0)))
        }
        (ItemType::DateTimeOffset | ItemType::DvDateTimeZone, Values::DateTimeOffset(both)) => {
            let ticks = both.ticks.get(range).unwrap_or_default();
            let place = ticks.iter().position(|&ticks| !is_time(ticks));
            wrong(place, &|place| time_detail(ticks.get(place - first).copied().unwrap_or(0)))
        }
        _ => Ok(()),
    }
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

fn time_detail(ticks: i64) -> String {
    format!("time of {ticks} ticks is not between 0 and {LAST_TICK}, the years 1 to 9999 that .NET has")
}

fn check_vectors(item: ItemType, size: u32, vectors: &Vectors, range: Range<usize>) -> Result<(), Wrong> {
    if size != 0 && vectors.dense_length() != Some(size) {
        for place in range.clone() {
            let length = vectors.get(place).map_or(0, |vector| vector.length);
            if length != size {
                return Err(Wrong { place, detail: format!("a vector of {length} items where the type has {size}") });
            }
        }
    }
    if !matches!(
        item,
        ItemType::Key(_)
            | ItemType::DateTime
            | ItemType::DvDateTime
            | ItemType::DateTimeOffset
            | ItemType::DvDateTimeZone
    ) {
        return Ok(());
    }
    for place in range {
        let Some(vector) = vectors.get(place) else { continue };
        check_items(item, vector.values, vector.range.clone()).map_err(|wrong| {
            let stored = wrong.place - vector.range.start;
            let slot =
                vector.indices.and_then(|indices| indices.get(stored)).map_or(stored as u64, |&slot| slot.into());
            Wrong { place, detail: format!("slot {slot}: {}", wrong.detail) }
        })?;
    }
    Ok(())
}
