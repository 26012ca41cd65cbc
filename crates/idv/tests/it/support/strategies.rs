//! Random tables of every type.

use proptest::collection::vec;
use proptest::prelude::*;

use super::cells::{Cell, Item, Kind, PLAIN};
use super::table::{Table, TableColumn};

/// Texts of all kinds: ASCII, two to four bytes a character, combining marks, zeros, long ones, what JSON escapes.
pub fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[ -~]{0,12}",
        2 => vec(any::<char>(), 0..8).prop_map(|characters| characters.into_iter().collect()),
        1 => vec(prop_oneof![Just('é'), Just('\u{301}'), Just('한'), Just('😀'), Just('\0'), Just('"'), Just('\u{2028}')], 0..20)
            .prop_map(|characters| characters.into_iter().collect()),
        1 => (any::<char>(), 100usize..400).prop_map(|(character, n)| std::iter::repeat_n(character, n).collect()),
    ]
}

pub fn cell(item: Item, last: u64) -> BoxedStrategy<Cell> {
    let int = |least: i128, most: i128| {
        prop_oneof![1 => Just(least), 1 => Just(most), 1 => Just(0), 5 => least..=most].prop_map(Cell::Int).boxed()
    };
    let ticks = prop_oneof![Just(0), Just(i64::MAX), Just(i64::MIN + 1), any::<i64>(), 0..3_155_378_975_999_999_999i64];
    let or_missing = |strategy: BoxedStrategy<Cell>| prop_oneof![5 => strategy, 1 => Just(Cell::Missing)].boxed();
    match item {
        Item::SByte => int(i8::MIN.into(), i8::MAX.into()),
        Item::Byte => int(0, u8::MAX.into()),
        Item::Int16 => int(i16::MIN.into(), i16::MAX.into()),
        Item::UInt16 => int(0, u16::MAX.into()),
        Item::Int32 => int(i32::MIN.into(), i32::MAX.into()),
        Item::UInt32 => int(0, u32::MAX.into()),
        Item::Int64 => int(i64::MIN.into(), i64::MAX.into()),
        Item::UInt64 => int(0, u64::MAX.into()),
        Item::Single => {
            prop_oneof![any::<f32>().prop_map(|x| Cell::Single(x.to_bits())), any::<u32>().prop_map(Cell::Single)]
                .boxed()
        }
        Item::Double => {
            prop_oneof![any::<f64>().prop_map(|x| Cell::Double(x.to_bits())), any::<u64>().prop_map(Cell::Double)]
                .boxed()
        }
        Item::TimeSpan if last == 6 => prop_oneof![4 => ticks, 1 => Just(i64::MIN)].prop_map(Cell::Ticks).boxed(),
        // Up to version 1.1.1.5 the least number of a span meant missing, under either name.
        Item::TimeSpan | Item::DvTimeSpan | Item::DateTime | Item::DvDateTime => {
            or_missing(ticks.prop_map(Cell::Ticks).boxed())
        }
        Item::DateTimeOffset | Item::DvDateTimeZone => or_missing(
            (ticks, i16::MIN + 1..=i16::MAX).prop_map(|(ticks, minutes)| Cell::Zoned(ticks, minutes)).boxed(),
        ),
        Item::RowId => any::<u128>().prop_map(Cell::RowId).boxed(),
        Item::Boolean => any::<bool>().prop_map(Cell::Bool).boxed(),
        Item::DvBool => or_missing(any::<bool>().prop_map(Cell::Bool).boxed()),
        Item::Text if last <= 5 => or_missing(text().prop_map(Cell::Text).boxed()),
        Item::Text => text().prop_map(Cell::Text).boxed(),
        Item::Key2(width, _) | Item::OldKey(width, ..) => {
            let most = if width == 8 { u64::MAX } else { (1 << (8 * width)) - 1 };
            prop_oneof![3 => 0..6u64, 1 => 0..=most].prop_map(Cell::Key).boxed()
        }
    }
}

pub fn item() -> impl Strategy<Value = Item> {
    let width = prop_oneof![Just(1u8), Just(2), Just(4), Just(8)];
    prop_oneof![
        10 => proptest::sample::select(&PLAIN[..]),
        1 => (width.clone(), 1..=200u64).prop_map(|(width, count)| Item::Key2(width, count)),
        1 => (width, any::<bool>(), 0..3u64, 0..=100i32).prop_map(|(width, c, min, count)| Item::OldKey(width, c, min, count)),
    ]
}

pub fn kind() -> impl Strategy<Value = Kind> {
    prop_oneof![
        3 => item().prop_map(Kind::Item),
        2 => (item(), vec(1..4i32, 1..4)).prop_map(|(item, dimensions)| Kind::Vector(item, dimensions)),
        2 => (item(), prop_oneof![Just(vec![]), Just(vec![0]), Just(vec![3, 0]), Just(vec![0, 2, 0])])
            .prop_map(|(item, dimensions)| Kind::Vector(item, dimensions)),
    ]
}

fn vector(item: Item, size: i32, last: u64) -> BoxedStrategy<Cell> {
    let length = if size > 0 { Just(size as u32).boxed() } else { (0..12u32).boxed() };
    length
        .prop_flat_map(move |length| {
            let n = length as usize;
            let dense = vec(cell(item, last), n).prop_map(Cell::Dense);
            let slots = proptest::sample::subsequence((0..length).collect::<Vec<_>>(), 0..=n);
            let sparse = slots.prop_flat_map(move |slots| {
                let values = vec(cell(item, last), slots.len());
                (Just(slots), values).prop_map(move |(slots, values)| {
                    // A vector that stores all of its items is dense.
                    if slots.len() == n {
                        return Cell::Dense(values);
                    }
                    Cell::Sparse(length, slots.into_iter().zip(values).collect())
                })
            });
            prop_oneof![dense, sparse]
        })
        .boxed()
}

fn cells(kind: &Kind, rows: usize, last: u64) -> BoxedStrategy<Vec<Cell>> {
    let one = match kind {
        Kind::Item(item) => cell(*item, last),
        Kind::Vector(item, _) => vector(*item, kind.size(), last),
    };
    // All vectors of unknown size of one length are written otherwise: often enough by chance with few rows.
    vec(one, rows).boxed()
}

pub fn column(rows: usize, last: u64) -> impl Strategy<Value = TableColumn> {
    let name = prop_oneof![Just(String::new()), Just("a".to_owned()), Just("a#2".to_owned()), text()];
    let per_block = prop_oneof![1..=8u64, Just(8192), Just(u64::from(u32::MAX) + 5)];
    (name, kind(), 0..3u8, per_block).prop_flat_map(move |(name, kind, compression, rows_per_block)| {
        cells(&kind, rows, last).prop_map(move |cells| TableColumn {
            name: name.clone(),
            kind: kind.clone(),
            compression,
            rows_per_block,
            cells,
        })
    })
}

/// A table of some rows and columns in any version.
pub fn table() -> impl Strategy<Value = Table> {
    (0..30usize, 1..=6u64).prop_flat_map(|(rows, last)| {
        vec(column(rows, last), 1..5).prop_map(move |columns| Table { last, rows, columns })
    })
}
