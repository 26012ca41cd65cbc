//! Values as a test states them, the block bytes they are in a file, and what a reader must make of them.

use serde_json::{Value as Json, json};

use super::forge::{Codec, string};

/// One value.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    Missing,
    Int(i128),
    /// By its bits.
    Single(u32),
    /// By its bits.
    Double(u64),
    /// Ticks: `TimeSpan` and `DateTime`.
    Ticks(i64),
    /// Local ticks and minutes.
    Zoned(i64, i16),
    RowId(u128),
    Bool(bool),
    Text(String),
    /// As it is stored: 0 is missing.
    Key(u64),
    Dense(Vec<Cell>),
    /// Length, slots and their values.
    Sparse(u32, Vec<(u32, Cell)>),
}

/// The type of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Item {
    SByte,
    Byte,
    Int16,
    UInt16,
    Int32,
    UInt32,
    Int64,
    UInt64,
    Single,
    Double,
    TimeSpan,
    DvTimeSpan,
    DateTime,
    DvDateTime,
    DateTimeOffset,
    DvDateTimeZone,
    RowId,
    Boolean,
    DvBool,
    Text,
    /// Width in bytes and count.
    Key2(u8, u64),
    /// Width in bytes, contiguous, min, count.
    OldKey(u8, bool, u64, i32),
}

/// The codecs that every version has, and the newer ones, by themselves.
pub const PLAIN: [Item; 20] = [
    Item::SByte,
    Item::Byte,
    Item::Int16,
    Item::UInt16,
    Item::Int32,
    Item::UInt32,
    Item::Int64,
    Item::UInt64,
    Item::Single,
    Item::Double,
    Item::TimeSpan,
    Item::DvTimeSpan,
    Item::DateTime,
    Item::DvDateTime,
    Item::DateTimeOffset,
    Item::DvDateTimeZone,
    Item::RowId,
    Item::Boolean,
    Item::DvBool,
    Item::Text,
];

/// The type of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    Item(Item),
    /// With its dimensions as they are written.
    Vector(Item, Vec<i32>),
}

fn number_codec(width: u8) -> &'static str {
    match width {
        1 => "Byte",
        2 => "UInt16",
        4 => "UInt32",
        _ => "UInt64",
    }
}

impl Item {
    pub fn codec(self) -> Codec {
        Codec::plain(match self {
            Self::SByte => "SByte",
            Self::Byte => "Byte",
            Self::Int16 => "Int16",
            Self::UInt16 => "UInt16",
            Self::Int32 => "Int32",
            Self::UInt32 => "UInt32",
            Self::Int64 => "Int64",
            Self::UInt64 => "UInt64",
            Self::Single => "Single",
            Self::Double => "Double",
            Self::TimeSpan => "TimeSpan",
            Self::DvTimeSpan => "DvTimeSpan",
            Self::DateTime => "DateTime",
            Self::DvDateTime => "DvDateTime",
            Self::DateTimeOffset => "DateTimeOffset",
            Self::DvDateTimeZone => "DvDateTimeZone",
            Self::RowId => "DataViewRowId",
            Self::Boolean => "Boolean",
            Self::DvBool => "DvBool",
            Self::Text => "TextSpan",
            Self::Key2(width, count) => return Codec::key(number_codec(width), count),
            Self::OldKey(width, contiguous, min, count) => {
                return Codec::old_key(number_codec(width), contiguous.into(), min, count);
            }
        })
    }

    /// What a slot that a sparse vector does not store holds.
    pub fn default_cell(self) -> Cell {
        match self {
            Self::Single => Cell::Single(0),
            Self::Double => Cell::Double(0),
            Self::TimeSpan | Self::DvTimeSpan | Self::DateTime | Self::DvDateTime => Cell::Ticks(0),
            Self::DateTimeOffset | Self::DvDateTimeZone => Cell::Zoned(0, 0),
            Self::RowId => Cell::RowId(0),
            Self::Boolean | Self::DvBool => Cell::Bool(false),
            Self::Text => Cell::Text(String::new()),
            Self::Key2(..) | Self::OldKey(..) => Cell::Missing,
            _ => Cell::Int(0),
        }
    }

    /// The bytes of some items in a block.
    pub fn encode(self, cells: &[&Cell]) -> Vec<u8> {
        let width = match self {
            Self::SByte | Self::Byte => 1,
            Self::Int16 | Self::UInt16 => 2,
            Self::Int32 | Self::UInt32 | Self::Single => 4,
            Self::RowId => 16,
            Self::Boolean => return bits(cells, 1, 1),
            Self::DvBool => return bits(cells, 2, 4),
            Self::Text => return texts(cells),
            Self::DateTimeOffset | Self::DvDateTimeZone => return zoned(cells),
            Self::Key2(width, _) | Self::OldKey(width, ..) => width.into(),
            _ => 8,
        };
        cells.iter().flat_map(|cell| number(cell).to_le_bytes().into_iter().take(width)).collect()
    }
}

/// A value of a fixed width as a number whose lowest bytes are its bytes.
fn number(cell: &Cell) -> u128 {
    match cell {
        Cell::Missing => i128::from(i64::MIN) as u128,
        Cell::Int(x) => *x as u128,
        Cell::Single(bits) => (*bits).into(),
        Cell::Double(bits) | Cell::Key(bits) => (*bits).into(),
        Cell::Ticks(ticks) => *ticks as u128,
        Cell::RowId(id) => *id,
        other => panic!("{other:?} is no number"),
    }
}

/// Values of `width` bits, least significant first, in words of `word` bytes.
fn bits(cells: &[&Cell], width: usize, word: usize) -> Vec<u8> {
    let mut out = vec![0; (cells.len() * width).div_ceil(8 * word) * word];
    for (index, cell) in cells.iter().enumerate() {
        let value = match cell {
            Cell::Bool(x) => u8::from(*x),
            Cell::Missing => 2,
            other => panic!("{other:?} is no bool"),
        };
        let at = index * width;
        out[at / 8] |= value << (at % 8);
    }
    out
}

fn zoned(cells: &[&Cell]) -> Vec<u8> {
    let pairs: Vec<(i64, i16)> = cells
        .iter()
        .map(|cell| match cell {
            Cell::Zoned(ticks, minutes) => (*ticks, *minutes),
            Cell::Missing => (i64::MIN, i16::MIN),
            other => panic!("{other:?} is no time with offset"),
        })
        .collect();
    let minutes = pairs.iter().flat_map(|pair| pair.1.to_le_bytes());
    minutes.chain(pairs.iter().flat_map(|pair| pair.0.to_le_bytes())).collect()
}

fn texts(cells: &[&Cell]) -> Vec<u8> {
    let (mut joined, mut ends, mut end) = (String::new(), Vec::new(), 0u32);
    for cell in cells {
        match cell {
            Cell::Text(text) => {
                joined.push_str(text);
                end += text.encode_utf16().count() as u32;
                ends.push(end);
            }
            Cell::Missing => ends.push(end | 1 << 31),
            other => panic!("{other:?} is no text"),
        }
    }
    text_block(cells.len() as i32, &ends, joined.as_bytes())
}

/// A block of texts from its parts.
pub fn text_block(n: i32, ends: &[u32], joined: &[u8]) -> Vec<u8> {
    let ends = ends.iter().flat_map(|end| end.to_le_bytes()).collect();
    [n.to_le_bytes().to_vec(), ends, string(joined)].concat()
}

/// A block of vectors from its parts; `lengths` are encoded only when `length` is 0.
pub fn vector_block(
    n: i32,
    length: i32,
    lengths: &[i32],
    counts: &[i32],
    total: i32,
    slots: &[i32],
    values: &[u8],
) -> Vec<u8> {
    let numbers = |numbers: &[i32]| numbers.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>();
    let lengths = if length == 0 { lengths } else { &[] };
    [numbers(&[n, length]), numbers(lengths), numbers(counts), numbers(&[total]), numbers(slots), values.to_vec()]
        .concat()
}

impl Kind {
    pub fn codec(&self) -> Codec {
        match self {
            Self::Item(item) => item.codec(),
            Self::Vector(item, dimensions) => Codec::vector(&item.codec(), dimensions),
        }
    }

    /// How many items every row has, 0 where it varies.
    pub fn size(&self) -> i32 {
        match self {
            Self::Item(_) => 1,
            Self::Vector(_, dimensions) if dimensions.is_empty() => 0,
            Self::Vector(_, dimensions) => dimensions.iter().product(),
        }
    }

    /// The bytes of a block of some rows.
    pub fn encode(&self, rows: &[Cell]) -> Vec<u8> {
        let item = match self {
            Self::Item(item) => return item.encode(&rows.iter().collect::<Vec<_>>()),
            Self::Vector(item, _) => item,
        };
        let (mut lengths, mut counts, mut slots, mut values) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for row in rows {
            match row {
                Cell::Dense(cells) => {
                    lengths.push(cells.len() as i32);
                    counts.push(-1);
                    values.extend(cells);
                }
                Cell::Sparse(length, cells) => {
                    lengths.push(*length as i32);
                    counts.push(cells.len() as i32);
                    slots.extend(cells.iter().map(|(slot, _)| *slot as i32));
                    values.extend(cells.iter().map(|(_, cell)| cell));
                }
                other => panic!("{other:?} is no vector"),
            }
        }
        let common = lengths.first().copied().filter(|first| lengths.iter().all(|length| length == first));
        let length = if self.size() > 0 { self.size() } else { common.unwrap_or(0) };
        let total = slots.len() as i32;
        vector_block(rows.len() as i32, length, &lengths, &counts, total, &slots, &item.encode(&values))
    }
}

/// True when the reader's value is the cell; floats by their bits.
pub fn is_cell(value: &idv::Value<'_>, cell: &Cell, item: Item) -> bool {
    use idv::Value as V;
    let int = |x: i128| *cell == Cell::Int(x);
    match value {
        V::Missing => missing(cell, item),
        V::SByte(x) => int((*x).into()),
        V::Byte(x) => int((*x).into()),
        V::Int16(x) => int((*x).into()),
        V::UInt16(x) => int((*x).into()),
        V::Int32(x) => int((*x).into()),
        V::UInt32(x) => int((*x).into()),
        V::Int64(x) => int((*x).into()),
        V::UInt64(x) => int((*x).into()),
        V::Single(x) => *cell == Cell::Single(x.to_bits()),
        V::Double(x) => *cell == Cell::Double(x.to_bits()),
        V::TimeSpan(x) => *cell == Cell::Ticks(x.0),
        V::DateTime(x) => *cell == Cell::Ticks(x.0) && x.0 != i64::MIN,
        V::DateTimeOffset(x) => *cell == Cell::Zoned(x.ticks, x.minutes),
        V::RowId(x) => *cell == Cell::RowId(*x),
        V::Boolean(x) => *cell == Cell::Bool(*x),
        V::Text(x) => matches!(cell, Cell::Text(text) if text == x),
        V::Key(x) | V::Label(x, _) => *cell == Cell::Key(x + 1) && *x < key_count(item),
        V::Vector(vector) => match cell {
            Cell::Dense(cells) => {
                vector.indices().is_none()
                    && vector.length() as usize == cells.len()
                    && all_cells(vector.stored(), cells.iter(), item)
                    && all_cells(vector.items(), cells.iter(), item)
            }
            Cell::Sparse(length, cells) => {
                let mut all = vec![item.default_cell(); *length as usize];
                for (slot, cell) in cells {
                    all[*slot as usize] = cell.clone();
                }
                vector.indices().is_some_and(|slots| slots.iter().eq(cells.iter().map(|(slot, _)| slot)))
                    && vector.length() == *length
                    && all_cells(vector.stored(), cells.iter().map(|(_, cell)| cell), item)
                    && all_cells(vector.items(), all.iter(), item)
            }
            _ => false,
        },
        _ => false,
    }
}

fn all_cells<'a>(
    values: impl Iterator<Item = idv::Value<'a>>,
    cells: impl Iterator<Item = &'a Cell>,
    item: Item,
) -> bool {
    let (values, cells): (Vec<_>, Vec<_>) = (values.collect(), cells.collect());
    values.len() == cells.len() && values.iter().zip(&cells).all(|(value, cell)| is_cell(value, cell, item))
}

fn key_count(item: Item) -> u64 {
    match item {
        Item::Key2(_, count) => count,
        Item::OldKey(.., count) if count > 0 => count as u64,
        _ => u64::MAX,
    }
}

/// Whether a cell of this type reads as missing.
fn missing(cell: &Cell, item: Item) -> bool {
    match cell {
        Cell::Missing => true,
        Cell::Key(stored) => *stored == 0 || *stored > key_count(item),
        Cell::Ticks(ticks) => *ticks == i64::MIN && item != Item::TimeSpan,
        Cell::Zoned(ticks, minutes) => *ticks == i64::MIN || *minutes == i16::MIN,
        _ => false,
    }
}

/// Whether this is the cell as rows write it in JSON, without labels.
pub fn is_json(found: &Json, cell: &Cell, item: Item) -> bool {
    if missing(cell, item) {
        return found.is_null();
    }
    let every = |found: &Json, cells: &mut dyn ExactSizeIterator<Item = &Cell>| {
        let found = found.as_array().map_or(&[][..], |found| found);
        found.len() == cells.len() && found.iter().zip(cells).all(|(found, cell)| is_json(found, cell, item))
    };
    match cell {
        Cell::Missing => found.is_null(),
        Cell::Int(x) => found.is_number() && format!("{found}") == x.to_string(),
        // The shortest digits are not always one choice; back as a float they are the same.
        Cell::Single(bits) => match f32::from_bits(*bits) {
            x if x.is_finite() => found.as_f64().is_some_and(|found| (found as f32).to_bits() == *bits),
            x => *found == words(&x.to_string()),
        },
        Cell::Double(bits) => match f64::from_bits(*bits) {
            // serde_json may parse a float inexactly; `floats_are_written_exactly` parses the text itself.
            x if x.is_finite() => found.as_f64().is_some_and(|found| found.to_bits().abs_diff(*bits) <= 16),
            x => *found == words(&x.to_string()),
        },
        Cell::Ticks(ticks) => match item {
            Item::TimeSpan | Item::DvTimeSpan => *found == idv::TimeSpan(*ticks).to_string(),
            _ => *found == idv::DateTime(*ticks).to_string(),
        },
        Cell::Zoned(ticks, minutes) => *found == idv::DateTimeOffset::new(*ticks, *minutes).to_string(),
        Cell::RowId(id) => *found == format!("{id:032x}"),
        Cell::Bool(x) => found == x,
        Cell::Text(text) => found == text,
        Cell::Key(stored) => found.as_u64() == stored.checked_sub(1),
        Cell::Dense(cells) => every(found, &mut cells.iter()),
        Cell::Sparse(length, cells) => {
            let slots: Vec<u32> = cells.iter().map(|(slot, _)| *slot).collect();
            let mut found = found.clone();
            let values = found["$sparse"]["values"].take();
            found == json!({"$sparse": {"length": length, "indices": slots, "values": null}})
                && every(&values, &mut cells.iter().map(|(_, cell)| cell))
        }
    }
}

fn words(float: &str) -> &'static str {
    match float {
        "inf" => "Infinity",
        "-inf" => "-Infinity",
        _ => "NaN",
    }
}

impl Kind {
    pub fn item(&self) -> Item {
        match self {
            Self::Item(item) | Self::Vector(item, _) => *item,
        }
    }
}
