//! A file made from choices: valid at first, then with some invalid fields.

use super::cells::{Cell, Item, Kind, PLAIN};
use super::choices::Choices;
use super::forge::{Codec, Forge, Forged, Meta, Order, leb};
use super::reader::{exercise, open};
use super::table::{Table, TableColumn};

/// Valid files read back exactly; invalid ones are read without a panic.
pub fn idv_forged(data: &[u8]) {
    let mut choices = Choices::new(data);
    let table = table(&mut choices);
    let mut forge = table.forge();
    forge.order = choices.pick(&[Order::Straight, Order::Backwards, Order::Mixed]);
    forge.gap = choices.below(3);
    let how = choices.byte();
    (forge.tables_first, forge.stored) = (how & 1 == 1, how < 0xE0);
    for index in 0..forge.columns.len() {
        metadata(&mut choices, &mut forge, index);
    }
    let lies = choices.below(8);
    if lies == 0 {
        let reader = open(forge.bytes()).unwrap();
        table.check(&reader);
        return exercise(reader);
    }
    for _ in 0..lies {
        lie_before(&mut choices, &mut forge);
    }
    let mut forged = forge.build();
    for _ in 0..lies {
        lie_after(&mut choices, &mut forged);
    }
    if let Some(reader) = open(forged.bytes) {
        exercise(reader);
    }
}

fn item(choices: &mut Choices<'_>) -> Item {
    let width = |choices: &mut Choices<'_>| choices.pick(&[1, 2, 4, 8]);
    match choices.below(24) {
        at @ 0..20 => PLAIN[at],
        20 | 21 => Item::Key2(width(choices), u64::from(choices.byte()).max(1)),
        _ => Item::OldKey(width(choices), choices.byte() & 1 == 1, choices.number(), i32::from(choices.byte())),
    }
}

pub(crate) fn kind(choices: &mut Choices<'_>) -> Kind {
    let item = item(choices);
    match choices.below(8) {
        0..4 => Kind::Item(item),
        4 => Kind::Vector(item, vec![]),
        5 => Kind::Vector(item, vec![0]),
        6 => Kind::Vector(item, vec![choices.below(3) as i32, 1 + choices.below(3) as i32]),
        _ => Kind::Vector(item, vec![1 + choices.below(6) as i32]),
    }
}

fn cell(choices: &mut Choices<'_>, item: Item, last: u64) -> Cell {
    let ticks = |choices: &mut Choices<'_>| choices.number() as i64;
    let int = |choices: &mut Choices<'_>, bits: u32, signed: bool| {
        let number = choices.number();
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
        Item::SByte => int(choices, 8, true),
        Item::Byte => int(choices, 8, false),
        Item::Int16 => int(choices, 16, true),
        Item::UInt16 => int(choices, 16, false),
        Item::Int32 => int(choices, 32, true),
        Item::UInt32 => int(choices, 32, false),
        Item::Int64 => int(choices, 64, true),
        Item::UInt64 => int(choices, 64, false),
        Item::Single => Cell::Single(choices.number() as u32),
        Item::Double => Cell::Double(choices.number()),
        // Under this name, the minimum is a missing value in old files only.
        Item::TimeSpan => match ticks(choices) {
            i64::MIN if last <= 5 => Cell::Missing,
            ticks => Cell::Ticks(ticks),
        },
        Item::DvTimeSpan | Item::DateTime | Item::DvDateTime => Cell::Ticks(ticks(choices)),
        Item::DateTimeOffset | Item::DvDateTimeZone => Cell::Zoned(ticks(choices), choices.number() as i16),
        Item::RowId => Cell::RowId(u128::from(choices.number()) << 64 | u128::from(choices.number())),
        Item::Boolean => Cell::Bool(choices.byte() & 1 == 1),
        Item::DvBool => choices.pick(&[&Cell::Missing, &Cell::Bool(true), &Cell::Bool(false)]).clone(),
        Item::Text => match choices.byte() {
            0..16 => Cell::Missing,
            n => Cell::Text(
                (0..n % 8).map(|_| choices.pick(&['a', 'Z', '\0', 'é', '한', '😀', '"', '\u{FFFD}'])).collect(),
            ),
        },
        Item::Key2(width, _) | Item::OldKey(width, ..) => {
            let mask = if width == 8 { u64::MAX } else { (1 << (8 * width)) - 1 };
            Cell::Key(choices.number() & mask)
        }
    }
}

pub(crate) fn row(choices: &mut Choices<'_>, kind: &Kind, last: u64) -> Cell {
    let Kind::Vector(item, _) = kind else { return cell(choices, kind.item(), last) };
    let length = match kind.size() {
        0 => choices.below(7) as u32,
        size => size as u32,
    };
    if choices.byte() & 1 == 0 {
        return Cell::Dense((0..length).map(|_| cell(choices, *item, last)).collect());
    }
    let slots: Vec<u32> = (0..length).filter(|_| choices.byte() & 1 == 1).collect();
    if slots.len() == length as usize {
        return Cell::Dense(slots.iter().map(|_| cell(choices, *item, last)).collect());
    }
    Cell::Sparse(length, slots.into_iter().map(|slot| (slot, cell(choices, *item, last))).collect())
}

fn table(choices: &mut Choices<'_>) -> Table {
    let last = 1 + choices.below(6) as u64;
    let rows = choices.below(20);
    let columns = (0..1 + choices.below(4))
        .map(|_| {
            let kind = kind(choices);
            let cells = (0..rows).map(|_| row(choices, &kind, last)).collect();
            let rows_per_block = choices.pick(&[1, 2, 3, 5, 8, 13, 8192, u64::MAX]);
            TableColumn::new(
                choices.pick(&["", "x", "x#2", "é", "label"]),
                kind,
                choices.byte() % 3,
                rows_per_block,
                cells,
            )
        })
        .collect();
    Table { last, rows, columns }
}

/// Valid metadata: labels for keys, slot names, and more.
fn metadata(choices: &mut Choices<'_>, forge: &mut Forge, index: usize) {
    let column = &mut forge.columns[index];
    for _ in 0..choices.below(3) {
        let kind = kind(choices);
        let value = row(choices, &kind, 5);
        let name = choices.pick(&["KeyValues", "SlotNames", "IsNormalized", ""]);
        // Invalid labels are shown as numbers, which the table's check does not expect.
        let name = if name == "KeyValues" { "Labels" } else { name };
        column.metadata.push(Meta::new(name, kind.codec(), choices.byte() % 3, kind.encode(&[value])));
    }
    for slot in 0..choices.below(3) {
        column.slot_names.push((slot as i32 * 2, vec![b'a'; choices.below(4)]));
    }
}

/// Invalid fields that change the layout of the file.
fn lie_before(choices: &mut Choices<'_>, forge: &mut Forge) {
    let len = forge.columns.len();
    let column = &mut forge.columns[choices.below(len)];
    match choices.below(13) {
        0 => column.codec.length = Some(leb(choices.number())),
        1 => column.rows_per_block_leb = Some(leb(choices.number())),
        2 => column.metadata_count = Some(leb(choices.number())),
        3 => column.compression = choices.byte() % 4,
        4 => column.name = choices.number().to_le_bytes().to_vec(),
        5 => {
            let at = choices.below(256);
            let parameters = &mut column.codec.parameters;
            match parameters.len() {
                0 => parameters.push(choices.byte()),
                len => parameters[at % len] = choices.byte(),
            }
        }
        6 => {
            column.codec =
                Codec::plain(choices.pick(&["Byte", "TextSpan", "DvBool", "Half", "VBuffer", "Key2", "Boolean"]))
        }
        7 => {
            if let Some(meta) = column.metadata.first_mut() {
                meta.length = Some(leb(choices.number()));
            }
        }
        8 => {
            for meta in &mut column.metadata {
                meta.kind = b"KeyValues".to_vec();
            }
        }
        9 => forge.rows = choices.number() as i64,
        // The rest is in blocks, where compression would hide it from a fuzzer.
        10 => {
            let blocks = column.blocks.len().max(1);
            if let Some(block) = column.blocks.get_mut(choices.below(blocks.min(256))) {
                block.declared = Some(choices.number() as i32);
            }
        }
        _ => {
            let blocks = column.blocks.len().max(1);
            if let Some(block) = column.blocks.get_mut(choices.below(blocks.min(256))) {
                change(choices, &mut block.raw);
            }
        }
    }
}

/// Overwrites a number, or inserts or removes bytes.
fn change(choices: &mut Choices<'_>, raw: &mut Vec<u8>) {
    let at = choices.below(256);
    match choices.below(4) {
        0 => raw.truncate(at % (raw.len() + 1)),
        1 => raw.extend(std::iter::repeat_n(choices.byte(), at % 16)),
        width => {
            let bytes = choices.number().to_le_bytes();
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

/// Invalid fields of fixed width.
fn lie_after(choices: &mut Choices<'_>, forged: &mut Forged) {
    let columns = forged.columns.len();
    let placed = forged.columns[choices.below(columns)].clone();
    let blocks = placed.blocks.len().max(1);
    let entry = placed.lookup_entry(choices.below(blocks.min(256)));
    let (at, width) = match choices.below(16) {
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
        // Another offset of the file, or any.
        14 => {
            let places = [256, forged.toc, placed.lookup, placed.metadata_toc, placed.entry, forged.tail];
            let offset = (choices.pick(&places) as u64).to_le_bytes();
            let field = choices.pick(&[24, placed.lookup_field, placed.metadata_field, entry, placed.slot_names_field]);
            return put(forged, field, &offset);
        }
        _ => (256 + usize::from(choices.byte()) * 7, 1),
    };
    let bytes = choices.number().to_le_bytes();
    put(forged, at, &bytes[..width]);
}

/// Fields that this version lacks have offset 0, where the signature is kept.
fn put(forged: &mut Forged, at: usize, bytes: &[u8]) {
    if at >= 24 && at + bytes.len() <= forged.bytes.len() {
        forged.set(at, bytes);
    }
}
