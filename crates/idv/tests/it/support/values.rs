//! Converts a test's types and values to those of the writer.

use idv::{ItemType, KeyType, KeyWidth, Type, Values, Vectors};

use super::cells::{Cell, Item, Kind};

/// The last tick of the year 9999.
const LAST_TICK: i64 = 3_155_378_975_999_999_999;

/// The same kind as a writer writes it: no older keys, vectors have a dimension.
pub fn written_kind(kind: &Kind) -> Kind {
    let item = match kind.item() {
        Item::OldKey(width, _, _, count) => Item::Key2(width, u64::from(count.max(1).unsigned_abs())),
        other => other,
    };
    match kind {
        Kind::Item(_) => Kind::Item(item),
        Kind::Vector(_, dimensions) if dimensions.is_empty() => Kind::Vector(item, vec![0]),
        Kind::Vector(_, dimensions) => Kind::Vector(item, dimensions.clone()),
    }
}

/// The nearest cell that a writer accepts: keys within their count, times within .NET's range.
pub fn written_cell(item: Item, cell: &Cell) -> Cell {
    match (item, cell) {
        (Item::Key2(_, count), Cell::Key(stored)) if *stored > count => Cell::Key(stored % (count + 1)),
        (Item::DateTime | Item::DvDateTime, Cell::Ticks(ticks)) => Cell::Ticks(written_ticks(*ticks)),
        (_, Cell::Zoned(ticks, minutes @ i16::MIN)) => Cell::Zoned(written_ticks(*ticks), *minutes),
        (_, Cell::Zoned(ticks, minutes)) => {
            // In UTC, too, a time of the years 1 to 9999.
            let (ticks, minutes) = (written_ticks(*ticks), minutes % 841);
            let utc = ticks.saturating_sub(i64::from(minutes) * 600_000_000);
            let minutes = if ticks == i64::MIN || (0..=LAST_TICK).contains(&utc) { minutes } else { 0 };
            Cell::Zoned(ticks, minutes)
        }
        (item, Cell::Dense(cells)) => Cell::Dense(cells.iter().map(|cell| written_cell(item, cell)).collect()),
        (item, Cell::Sparse(length, cells)) => {
            let cells = cells.iter().map(|(slot, cell)| (*slot, written_cell(item, cell)));
            Cell::Sparse(*length, cells.collect())
        }
        (_, cell) => cell.clone(),
    }
}

fn written_ticks(ticks: i64) -> i64 {
    if ticks == i64::MIN { ticks } else { ticks.rem_euclid(LAST_TICK + 1) }
}

/// The type of a kind that is written.
pub fn type_of(kind: &Kind) -> Type {
    let item = item_type(kind.item());
    match kind {
        Kind::Item(_) => Type::Item(item),
        Kind::Vector(_, dimensions) => {
            Type::Vector { item, dimensions: dimensions.iter().map(|&d| d as u32).collect() }
        }
    }
}

fn item_type(item: Item) -> ItemType {
    match item {
        Item::SByte => ItemType::SByte,
        Item::Byte => ItemType::Byte,
        Item::Int16 => ItemType::Int16,
        Item::UInt16 => ItemType::UInt16,
        Item::Int32 => ItemType::Int32,
        Item::UInt32 => ItemType::UInt32,
        Item::Int64 => ItemType::Int64,
        Item::UInt64 => ItemType::UInt64,
        Item::Single => ItemType::Single,
        Item::Double => ItemType::Double,
        Item::TimeSpan => ItemType::TimeSpan,
        Item::DvTimeSpan => ItemType::DvTimeSpan,
        Item::DateTime => ItemType::DateTime,
        Item::DvDateTime => ItemType::DvDateTime,
        Item::DateTimeOffset => ItemType::DateTimeOffset,
        Item::DvDateTimeZone => ItemType::DvDateTimeZone,
        Item::RowId => ItemType::RowId,
        Item::Boolean => ItemType::Boolean,
        Item::DvBool => ItemType::DvBool,
        Item::Text => ItemType::Text,
        Item::Key2(width, count) => {
            let width = match width {
                1 => KeyWidth::Byte,
                2 => KeyWidth::UInt16,
                4 => KeyWidth::UInt32,
                _ => KeyWidth::UInt64,
            };
            ItemType::Key(KeyType::new(width, count).unwrap())
        }
        Item::OldKey(..) => panic!("older keys are not written"),
    }
}

/// The values of some rows.
pub fn values_of(kind: &Kind, cells: &[Cell]) -> Values {
    let mut values = Values::of(&type_of(kind));
    match &mut values {
        Values::Vector(vectors) => cells.iter().for_each(|cell| push_vector(vectors, cell)),
        items => cells.iter().for_each(|cell| push(items, cell)),
    }
    values
}

fn push_vector(vectors: &mut Vectors, cell: &Cell) {
    match cell {
        Cell::Dense(cells) => {
            cells.iter().for_each(|cell| push(vectors.items_mut(), cell));
            vectors.close_dense().unwrap();
        }
        Cell::Sparse(length, cells) => {
            cells.iter().for_each(|(_, cell)| push(vectors.items_mut(), cell));
            let slots: Vec<u32> = cells.iter().map(|(slot, _)| *slot).collect();
            vectors.close_sparse(*length, &slots).unwrap();
        }
        other => panic!("{other:?} is no vector"),
    }
}

fn push(values: &mut Values, cell: &Cell) {
    match (values, cell) {
        (Values::SByte(v), Cell::Int(x)) => v.push(*x as i8),
        (Values::Byte(v), Cell::Int(x)) => v.push(*x as u8),
        (Values::Int16(v), Cell::Int(x)) => v.push(*x as i16),
        (Values::UInt16(v), Cell::Int(x)) => v.push(*x as u16),
        (Values::Int32(v), Cell::Int(x)) => v.push(*x as i32),
        (Values::UInt32(v), Cell::Int(x)) => v.push(*x as u32),
        (Values::Int64(v), Cell::Int(x)) => v.push(*x as i64),
        (Values::UInt64(v), Cell::Int(x)) => v.push(*x as u64),
        (Values::Byte(v), Cell::Key(x)) => v.push(*x as u8),
        (Values::UInt16(v), Cell::Key(x)) => v.push(*x as u16),
        (Values::UInt32(v), Cell::Key(x)) => v.push(*x as u32),
        (Values::UInt64(v), Cell::Key(x)) => v.push(*x),
        (Values::Single(v), Cell::Single(bits)) => v.push(f32::from_bits(*bits)),
        (Values::Double(v), Cell::Double(bits)) => v.push(f64::from_bits(*bits)),
        (Values::TimeSpan(v) | Values::DateTime(v), Cell::Ticks(ticks)) => v.push(*ticks),
        (Values::TimeSpan(v) | Values::DateTime(v), Cell::Missing) => v.push(i64::MIN),
        (Values::DateTimeOffset(v), Cell::Zoned(ticks, minutes)) => {
            v.ticks.push(*ticks);
            v.minutes.push(*minutes);
        }
        (Values::DateTimeOffset(v), Cell::Missing) => {
            v.ticks.push(i64::MIN);
            v.minutes.push(i16::MIN);
        }
        (Values::RowId(v), Cell::RowId(id)) => v.push(*id),
        (Values::Boolean(v), Cell::Bool(x)) => v.push(*x),
        (Values::DvBool(v), Cell::Bool(x)) => v.push(Some(*x)),
        (Values::DvBool(v), Cell::Missing) => v.push(None),
        (Values::Text(v), Cell::Text(text)) => v.push(text).unwrap(),
        (Values::Text(v), Cell::Missing) => v.push_missing(),
        (values, cell) => panic!("{cell:?} where {values:?} are held"),
    }
}
