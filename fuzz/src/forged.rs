//! A file made up from decisions: sound at first, then with some lies in places that matter.

use super::cells::{Cell, Item, Kind, PLAIN};
use super::dice::Dice;
use super::forge::{Codec, Forge, Forged, Meta, Order, leb};
use super::reader::{open, walk};
use super::table::{Table, TableColumn};

/// Sound files are read back exactly; files that lie are walked over.
pub fn idv_forged(data: &[u8]) {
    let mut dice = Dice::new(data);
    let table = table(&mut dice);
    let mut forge = table.forge();
    forge.order = dice.pick(&[Order::Straight, Order::Backwards, Order::Mixed]);
    forge.gap = dice.below(3);
    let how = dice.byte();
    (forge.tables_first, forge.stored) = (how & 1 == 1, how < 0xE0);
    for index in 0..forge.columns.len() {
        metadata(&mut dice, &mut forge, index);
    }
    let lies = dice.below(8);
    if lies == 0 {
        let reader = open(forge.bytes()).unwrap();
        table.check(&reader);
        return walk(reader);
    }
    for _ in 0..lies {
        lie_before(&mut dice, &mut forge);
    }
    let mut forged = forge.build();
    for _ in 0..lies {
        lie_after(&mut dice, &mut forged);
    }
    if let Some(reader) = open(forged.bytes) {
        walk(reader);
    }
}

fn item(dice: &mut Dice<'_>) -> Item {
    let width = |dice: &mut Dice<'_>| dice.pick(&[1, 2, 4, 8]);
    match dice.below(24) {
        at @ 0..20 => PLAIN[at],
        20 | 21 => Item::Key2(width(dice), u64::from(dice.byte()).max(1)),
        _ => Item::OldKey(width(dice), dice.byte() & 1 == 1, dice.number(), i32::from(dice.byte())),
    }
}

pub(crate) fn kind(dice: &mut Dice<'_>) -> Kind {
    let item = item(dice);
    match dice.below(8) {
        0..4 => Kind::Item(item),
        4 => Kind::Vector(item, vec![]),
        5 => Kind::Vector(item, vec![0]),
        6 => Kind::Vector(item, vec![dice.below(3) as i32, 1 + dice.below(3) as i32]),
        _ => Kind::Vector(item, vec![1 + dice.below(6) as i32]),
    }
}

fn cell(dice: &mut Dice<'_>, item: Item, last: u64) -> Cell {
    let ticks = |dice: &mut Dice<'_>| dice.number() as i64;
    let int = |dice: &mut Dice<'_>, bits: u32, signed: bool| {
        let number = dice.number();
        Cell::Int(match (bits, signed) {
            (8, true) => i128::from(number as i8),
            (8, false) => i128::from(number as u8),
            (16, true) => i128::from(number as i16),
            (16, false) => i128::from(number as u16),
            (32, true) => i128::from(number as i32),
            (32, false) => i128::from(number as u32),
            (_, true) => i128::from(number as i64),
            (_, false) => i128::from(number),
        })
    };
    match item {
        Item::SByte => int(dice, 8, true),
        Item::Byte => int(dice, 8, false),
        Item::Int16 => int(dice, 16, true),
        Item::UInt16 => int(dice, 16, false),
        Item::Int32 => int(dice, 32, true),
        Item::UInt32 => int(dice, 32, false),
        Item::Int64 => int(dice, 64, true),
        Item::UInt64 => int(dice, 64, false),
        Item::Single => Cell::Single(dice.number() as u32),
        Item::Double => Cell::Double(dice.number()),
        // Under this name the least number is missing in old files only.
        Item::TimeSpan => match ticks(dice) {
            i64::MIN if last <= 5 => Cell::Missing,
            ticks => Cell::Ticks(ticks),
        },
        Item::DvTimeSpan | Item::DateTime | Item::DvDateTime => Cell::Ticks(ticks(dice)),
        Item::DateTimeOffset | Item::DvDateTimeZone => Cell::Zoned(ticks(dice), dice.number() as i16),
        Item::RowId => Cell::RowId(u128::from(dice.number()) << 64 | u128::from(dice.number())),
        Item::Boolean => Cell::Bool(dice.byte() & 1 == 1),
        Item::DvBool => dice.pick(&[&Cell::Missing, &Cell::Bool(true), &Cell::Bool(false)]).clone(),
        Item::Text => match dice.byte() {
            0..16 => Cell::Missing,
            n => {
                Cell::Text((0..n % 8).map(|_| dice.pick(&['a', 'Z', '\0', 'é', '한', '😀', '"', '\u{FFFD}'])).collect())
            }
        },
        Item::Key2(width, _) | Item::OldKey(width, ..) => {
            let mask = if width == 8 { u64::MAX } else { (1 << (8 * width)) - 1 };
            Cell::Key(dice.number() & mask)
        }
    }
}

pub(crate) fn row(dice: &mut Dice<'_>, kind: &Kind, last: u64) -> Cell {
    let Kind::Vector(item, _) = kind else { return cell(dice, kind.item(), last) };
    let length = match kind.size() {
        0 => dice.below(7) as u32,
        size => size as u32,
    };
    if dice.byte() & 1 == 0 {
        return Cell::Dense((0..length).map(|_| cell(dice, *item, last)).collect());
    }
    let slots: Vec<u32> = (0..length).filter(|_| dice.byte() & 1 == 1).collect();
    if slots.len() == length as usize {
        return Cell::Dense(slots.iter().map(|_| cell(dice, *item, last)).collect());
    }
    Cell::Sparse(length, slots.into_iter().map(|slot| (slot, cell(dice, *item, last))).collect())
}

fn table(dice: &mut Dice<'_>) -> Table {
    let last = 1 + dice.below(6) as u64;
    let rows = dice.below(20);
    let columns = (0..1 + dice.below(4))
        .map(|_| {
            let kind = kind(dice);
            let cells = (0..rows).map(|_| row(dice, &kind, last)).collect();
            let rows_per_block = dice.pick(&[1, 2, 3, 5, 8, 13, 8192, u64::MAX]);
            TableColumn::new(dice.pick(&["", "x", "x#2", "é", "label"]), kind, dice.byte() % 3, rows_per_block, cells)
        })
        .collect();
    Table { last, rows, columns }
}

/// Sound metadata: labels for keys, a name for each slot, some more.
fn metadata(dice: &mut Dice<'_>, forge: &mut Forge, index: usize) {
    let column = &mut forge.columns[index];
    for _ in 0..dice.below(3) {
        let kind = kind(dice);
        let value = row(dice, &kind, 5);
        let name = dice.pick(&["KeyValues", "SlotNames", "IsNormalized", ""]);
        // Labels that cannot be are shown as numbers: what the table's check does not know of.
        let name = if name == "KeyValues" { "Labels" } else { name };
        column.metadata.push(Meta::new(name, kind.codec(), dice.byte() % 3, kind.encode(&[value])));
    }
    for slot in 0..dice.below(3) {
        column.slot_names.push((slot as i32 * 2, vec![b'a'; dice.below(4)]));
    }
}

/// Lies that have a length: they are laid out with the file.
fn lie_before(dice: &mut Dice<'_>, forge: &mut Forge) {
    let len = forge.columns.len();
    let column = &mut forge.columns[dice.below(len)];
    match dice.below(13) {
        0 => column.codec.length = Some(leb(dice.number())),
        1 => column.rows_per_block_leb = Some(leb(dice.number())),
        2 => column.metadata_count = Some(leb(dice.number())),
        3 => column.compression = dice.byte() % 4,
        4 => column.name = dice.number().to_le_bytes().to_vec(),
        5 => {
            let at = dice.below(256);
            let parameters = &mut column.codec.parameters;
            match parameters.len() {
                0 => parameters.push(dice.byte()),
                len => parameters[at % len] = dice.byte(),
            }
        }
        6 => {
            column.codec =
                Codec::plain(dice.pick(&["Byte", "TextSpan", "DvBool", "Half", "VBuffer", "Key2", "Boolean"]))
        }
        7 => {
            if let Some(meta) = column.metadata.first_mut() {
                meta.length = Some(leb(dice.number()));
            }
        }
        8 => {
            for meta in &mut column.metadata {
                meta.kind = b"KeyValues".to_vec();
            }
        }
        9 => forge.rows = dice.number() as i64,
        // The rest is in the blocks, where compression would hide it from a fuzzer.
        10 => {
            let blocks = column.blocks.len().max(1);
            if let Some(block) = column.blocks.get_mut(dice.below(blocks.min(256))) {
                block.declared = Some(dice.number() as i32);
            }
        }
        _ => {
            let blocks = column.blocks.len().max(1);
            if let Some(block) = column.blocks.get_mut(dice.below(blocks.min(256))) {
                change(dice, &mut block.raw);
            }
        }
    }
}

/// Overwrites a number, or makes bytes more or fewer.
fn change(dice: &mut Dice<'_>, raw: &mut Vec<u8>) {
    let at = dice.below(256);
    match dice.below(4) {
        0 => raw.truncate(at % (raw.len() + 1)),
        1 => raw.extend(std::iter::repeat_n(dice.byte(), at % 16)),
        width => {
            let bytes = dice.number().to_le_bytes();
            let width = if width == 2 { 4 } else { 1 };
            let len = raw.len();
            for (place, byte) in bytes.iter().take(width).enumerate() {
                if len > 0 {
                    raw[(at * width + place) % len] = *byte;
                }
            }
        }
    }
}

/// Lies in fields of a fixed width.
fn lie_after(dice: &mut Dice<'_>, forged: &mut Forged) {
    let columns = forged.columns.len();
    let placed = forged.columns[dice.below(columns)].clone();
    let blocks = placed.blocks.len().max(1);
    let entry = placed.lookup_entry(dice.below(blocks.min(256)));
    let (at, width) = match dice.below(16) {
        0 => (24, 8),
        1 => (32, 8),
        2 => (40, 8),
        3 => (48, 4),
        4 => (placed.lookup_field, 8),
        5 => (placed.metadata_field, 8),
        6 => (placed.slot_names_field, 8),
        7 => (placed.slot_names_field + 8, 8),
        8 => (placed.slot_names_field + 16, 4),
        9 => (entry, 8),
        10 => (entry + 8, 4),
        11 => (entry + 12, 4),
        12 => (placed.metadata.first().map_or(0, |meta| meta.offset), 8),
        13 => (placed.compression, 1),
        // Another place of the file, and anywhere.
        14 => {
            let places = [256, forged.toc, placed.lookup, placed.metadata_toc, placed.entry, forged.tail];
            let offset = (dice.pick(&places) as u64).to_le_bytes();
            let field = dice.pick(&[24, placed.lookup_field, placed.metadata_field, entry, placed.slot_names_field]);
            return put(forged, field, &offset);
        }
        _ => (256 + usize::from(dice.byte()) * 7, 1),
    };
    let bytes = dice.number().to_le_bytes();
    put(forged, at, &bytes[..width]);
}

/// Fields that this version has not are at 0, where the signature stays.
fn put(forged: &mut Forged, at: usize, bytes: &[u8]) {
    if at >= 24 && at + bytes.len() <= forged.bytes.len() {
        forged.set(at, bytes);
    }
}
