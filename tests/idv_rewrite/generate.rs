//! Generates files with random schemas and values of every type of file version 1.1.1.6.

use std::io::Write as _;
use std::path::Path;

use container_core::{OutputOptions, Overwrite, Result, SyncPolicy};
use idv::{
    ColumnSchema, ColumnSlice, Compression, ItemType, KeyType, KeyWidth, Schema, Type, Values, Vectors, Writer,
    WriterOptions,
};
use serde_json::{Map, Value, json};
use wharf_tests::idv_canonical;

use crate::Arguments;
use crate::random::Rng;

/// Every item type except keys.
const ITEMS: [ItemType; 20] = [
    ItemType::SByte,
    ItemType::Byte,
    ItemType::Int16,
    ItemType::UInt16,
    ItemType::Int32,
    ItemType::UInt32,
    ItemType::Int64,
    ItemType::UInt64,
    ItemType::Single,
    ItemType::Double,
    ItemType::TimeSpan,
    ItemType::DvTimeSpan,
    ItemType::DateTime,
    ItemType::DvDateTime,
    ItemType::DateTimeOffset,
    ItemType::DvDateTimeZone,
    ItemType::RowId,
    ItemType::Boolean,
    ItemType::DvBool,
    ItemType::Text,
];

/// Approximate maximum number of items in a file.
const MAX_ITEMS: usize = 60_000;

/// The last tick of 100 ns in the year 9999.
const LAST_TICK: i64 = 3_155_378_975_999_999_999;
const TICKS_PER_MINUTE: i64 = 600_000_000;

pub(crate) fn generate(arguments: &mut Arguments) -> Result<()> {
    let seed = arguments.number("--seed")?.unwrap_or(0);
    let count = arguments.number("--count")?.unwrap_or(1);
    let directory = arguments.path("DIRECTORY")?;
    arguments.end()?;
    for index in 0..count {
        let mut rng = Rng::new(seed, index);
        let rows = match index {
            // One file with far more blocks than are processed at once.
            0 => 100_000,
            1 => 0,
            _ => {
                let known = [0, 1, 2, 7, 8, 9, 300, 1000, 8191, 8192, 8193, 20_000];
                if rng.one_in(3) { rng.below(12_000) } else { rng.pick(&known, 1) }
            }
        };
        let table = Table::random(&mut rng, rows, if index == 2 { 0 } else { 1 });
        table.write(&mut rng, &directory.join(format!("ours-{index:04}.idv")))?;
    }
    Ok(())
}

struct Table {
    rows: usize,
    schema: Schema,
    values: Vec<Values>,
}

impl Table {
    fn random(rng: &mut Rng, rows: usize, min_columns: usize) -> Self {
        let (mut columns, mut all) = (Vec::new(), Vec::new());
        let mut budget = MAX_ITEMS.max(3 * rows);
        for index in 0..if min_columns == 0 { 0 } else { rng.between(min_columns, 9) } {
            if budget < rows {
                break;
            }
            let kind = kind(rng, (budget / rows.max(1)).min(30));
            let values = values(rng, &kind, rows);
            budget -= item_count(&values).min(budget);
            let name = if index > 0 && rng.one_in(12) { "again".to_owned() } else { format!("c{}", text(rng)) };
            let mut column = ColumnSchema::new(name, kind);
            annotate(rng, &mut column);
            if rng.one_in(3) {
                let one = rng.pick(&[Compression::None, Compression::Deflate, Compression::Zlib], Compression::None);
                column = column.with_compression(one);
            }
            columns.push(column);
            all.push(values);
        }
        // Without columns there are no rows to append.
        Self { rows: if columns.is_empty() { 0 } else { rows }, schema: Schema::new(columns), values: all }
    }

    /// Writes the file, and beside it the expected dump, made from the values themselves.
    fn write(&self, rng: &mut Rng, path: &Path) -> Result<()> {
        let mut options = WriterOptions::default()
            .with_compression(rng.pick(&[Compression::None, Compression::Deflate], Compression::Deflate))
            .with_level(rng.pick(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9], 6))
            .with_threads(rng.below(5));
        match rng.below(4) {
            0 => options = options.with_rows_per_block(if self.rows <= 1000 { 1 } else { 13 }),
            1 => options = options.with_rows_per_block(rng.between(1, 20_000) as u64),
            2 => options = options.with_bytes_per_block((rng.between(1, 4000) + 100 * self.rows) as u64),
            _ => {}
        }
        let output = OutputOptions::default().with_overwrite(Overwrite::Replace).with_sync(SyncPolicy::Never);
        let mut writer = Writer::create(path, output, self.schema.clone(), options)?;
        let mut start = 0;
        while start < self.rows {
            let max_rows = rng.pick(&[1, 100, 10_000, 1_000_000], 100).max(self.rows / 100);
            let end = (start + rng.between(1, max_rows)).min(self.rows);
            let slices: Vec<_> = self.values.iter().map(|values| ColumnSlice::new(values, start..end)).collect();
            if rng.one_in(4) {
                slices.iter().enumerate().try_for_each(|(index, slice)| writer.append_column(index, slice))?;
            } else {
                writer.append_columns(&slices)?;
            }
            start = end;
        }
        writer.finish()?;
        crate::write(&path.with_extension("expected.jsonl"), self.expected())
    }

    fn expected(&self) -> Vec<u8> {
        let columns = self.schema.columns.iter().map(|column| {
            let metadata = column.metadata.iter().map(|metadata| {
                let value = idv_canonical::value(&metadata.value, 0);
                let entry = json!({"type": idv_canonical::type_name(&metadata.value_type), "value": value});
                (metadata.kind.clone(), entry)
            });
            json!({"name": column.name, "type": idv_canonical::type_name(&column.kind),
                "annotations": metadata.collect::<Map<_, _>>()})
        });
        let first = json!({"rows": self.rows, "columns": columns.collect::<Vec<_>>()});
        let mut out = format!("{first}\n").into_bytes();
        for row in 0..self.rows {
            let row: Vec<Value> = self.values.iter().map(|values| idv_canonical::value(values, row)).collect();
            let _ = writeln!(out, "{}", Value::Array(row));
        }
        out
    }
}

/// The number of items, including those of vectors.
fn item_count(values: &Values) -> usize {
    match values {
        Values::Vector(vectors) => vectors.values().len() + vectors.len(),
        other => other.len(),
    }
}

fn item(rng: &mut Rng) -> ItemType {
    let widths = [KeyWidth::Byte, KeyWidth::UInt16, KeyWidth::UInt32, KeyWidth::UInt64];
    if rng.one_in(4) {
        let width = rng.pick(&widths, KeyWidth::UInt32);
        // A few labels, or the maximum of the width.
        let count = if rng.one_in(6) { width.max() } else { rng.between(1, 200) as u64 };
        return KeyType::new(width, count).map_or(ItemType::Byte, ItemType::Key);
    }
    rng.pick(&ITEMS, ItemType::Byte)
}

fn kind(rng: &mut Rng, max_len: usize) -> Type {
    let item = item(rng);
    if rng.one_in(2) {
        return Type::Item(item);
    }
    let size = |rng: &mut Rng, max: usize| u32::try_from(rng.between(1, max.max(1))).unwrap_or(1);
    let dimensions = match rng.below(6) {
        0 | 1 => vec![0],
        2 => vec![0, size(rng, 3)],
        3 => vec![size(rng, max_len / 4), size(rng, 4)],
        _ => vec![size(rng, max_len)],
    };
    Type::Vector { item, dimensions }
}

fn values(rng: &mut Rng, kind: &Type, n: usize) -> Values {
    let mut values = Values::of(kind);
    match (&mut values, kind) {
        (Values::Vector(vectors), Type::Vector { item, dimensions }) => {
            // Dense vectors, sparse ones, or both; of equal or varying lengths.
            let (sparse, same) = (rng.below(3), rng.one_in(4));
            let step = dimensions.iter().filter(|&&d| d > 0).product::<u32>();
            let steps = rng.below(6);
            for _ in 0..n {
                let steps = if same { steps } else { rng.below(steps.max(1)) };
                let length = match kind.size() {
                    0 => step * u32::try_from(steps).unwrap_or(0),
                    fixed => fixed,
                };
                let sparse = sparse == 2 || (sparse == 1 && rng.one_in(2));
                push_vector(rng, vectors, *item, length, sparse);
            }
        }
        (items, kind) => (0..n).for_each(|_| push_item(rng, items, kind.item())),
    }
    values
}

fn push_vector(rng: &mut Rng, vectors: &mut Vectors, item: ItemType, length: u32, sparse: bool) {
    let few = rng.one_in(3);
    let slots: Vec<u32> = (0..length).filter(|_| sparse && if few { rng.one_in(8) } else { !rng.one_in(4) }).collect();
    let items = if sparse { slots.len() as u64 } else { length.into() };
    (0..items).for_each(|_| push_item(rng, vectors.items_mut(), item));
    // Slots are ascending and below the length, with one item each: closing cannot fail.
    let closed = if sparse { vectors.close_sparse(length, &slots) } else { vectors.close_dense() };
    debug_assert!(closed.is_ok(), "{closed:?}");
}

#[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "any bits are valid")]
fn push_item(rng: &mut Rng, values: &mut Values, item: ItemType) {
    if let ItemType::Key(key) = item {
        let stored = match rng.below(6) {
            0 => 0,
            1 => key.count,
            _ => rng.next() % (key.count.saturating_add(1)).max(1),
        };
        match values {
            Values::Byte(v) => v.push(stored as u8),
            Values::UInt16(v) => v.push(stored as u16),
            Values::UInt32(v) => v.push(stored as u32),
            Values::UInt64(v) => v.push(stored),
            _ => {}
        }
        return;
    }
    match values {
        Values::SByte(v) => v.push(rng.edgy() as i8),
        Values::Byte(v) => v.push(rng.edgy() as u8),
        Values::Int16(v) => v.push(rng.edgy() as i16),
        Values::UInt16(v) => v.push(rng.edgy() as u16),
        Values::Int32(v) => v.push(rng.edgy() as i32),
        Values::UInt32(v) => v.push(rng.edgy() as u32),
        Values::Int64(v) | Values::TimeSpan(v) => v.push(rng.edgy() as i64),
        Values::UInt64(v) => v.push(rng.edgy()),
        Values::Single(v) => v.push(single(rng)),
        Values::Double(v) => v.push(double(rng)),
        Values::DateTime(v) => v.push(ticks(rng)),
        Values::DateTimeOffset(v) => {
            let minutes = rng.pick(&[0, 1, -1, 840, -840, 90, -300], 0);
            // The time in UTC must also be in the years 1 to 9999.
            let margin = 840 * TICKS_PER_MINUTE;
            let ticks = ticks(rng);
            v.ticks.push(if ticks == i64::MIN { ticks } else { ticks.clamp(margin, LAST_TICK - margin) });
            v.minutes.push(if ticks == i64::MIN { i16::MIN } else { minutes });
        }
        Values::RowId(v) => v.push(u128::from(rng.edgy()) << 64 | u128::from(rng.edgy())),
        Values::Boolean(v) => v.push(rng.one_in(2)),
        Values::DvBool(v) => v.push(rng.pick(&[None, Some(false), Some(true)], None)),
        Values::Text(v) => match rng.below(12) {
            0 => v.push_missing(),
            // No text here is too long.
            _ => drop(v.push(&text(rng))),
        },
        _ => {}
    }
}

/// Edge cases and arbitrary bits, including NaN.
fn single(rng: &mut Rng) -> f32 {
    const EDGES: [f32; 7] = [0.0, -0.0, f32::MIN_POSITIVE, f32::MAX, f32::INFINITY, f32::NEG_INFINITY, f32::NAN];
    let bits = u32::try_from(rng.next() >> 32).unwrap_or(0);
    if rng.one_in(3) { rng.pick(&EDGES, 0.0) } else { f32::from_bits(bits) }
}

fn double(rng: &mut Rng) -> f64 {
    const EDGES: [f64; 7] = [0.0, -0.0, f64::MIN_POSITIVE, f64::MAX, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
    if rng.one_in(3) { rng.pick(&EDGES, 0.0) } else { f64::from_bits(rng.next()) }
}

/// A time in the years 1 to 9999, or missing.
fn ticks(rng: &mut Rng) -> i64 {
    match rng.below(8) {
        0 => i64::MIN,
        1 => 0,
        2 => LAST_TICK,
        _ => i64::try_from(rng.next() >> 1).unwrap_or(0) % (LAST_TICK + 1),
    }
}

fn text(rng: &mut Rng) -> String {
    const LETTERS: [char; 18] = [
        'a', 'b', 'Z', '0', ' ', '"', ',', '\n', '\0', 'é', 'π', '€', '日', '\u{301}', '\u{FEFF}', '\u{FFFD}', '😀',
        '𝄞',
    ];
    let plain = rng.one_in(2);
    let length = if rng.one_in(20) { rng.between(100, 400) } else { rng.below(12) };
    (0..length).map(|_| rng.pick(if plain { &LETTERS[..5] } else { &LETTERS }, 'a')).collect()
}

/// Adds key values, slot names, and sometimes values of any type.
fn annotate(rng: &mut Rng, column: &mut ColumnSchema) {
    if let ItemType::Key(key) = column.kind.item()
        && key.count <= 200
        && rng.one_in(2)
    {
        let item = if rng.one_in(2) { ItemType::Text } else { rng.pick(&ITEMS, ItemType::Text) };
        add(rng, column, "KeyValues", Type::Vector { item, dimensions: vec![u32::try_from(key.count).unwrap_or(1)] });
    }
    if column.kind.is_vector() && column.kind.size() > 0 && rng.one_in(2) {
        let dimensions = vec![column.kind.size()];
        add(rng, column, "SlotNames", Type::Vector { item: ItemType::Text, dimensions });
    }
    for index in 0..if rng.one_in(2) { 0 } else { rng.below(4) } {
        let kind = kind(rng, 300);
        let name = format!("extra {index}{}", text(rng));
        add(rng, column, &name, kind);
    }
}

fn add(rng: &mut Rng, column: &mut ColumnSchema, name: &str, kind: Type) {
    let value = values(rng, &kind, 1);
    *column = column.clone().with_metadata(name, kind, value);
}
