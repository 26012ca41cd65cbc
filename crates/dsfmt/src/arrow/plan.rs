//! What a scan reads, and as what.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_schema::{DataType as ArrowType, Field, Schema, SchemaRef, TimeUnit};
use container_arrow::{BatchScan, Times};
use container_core::{Error, Loss, Position, Result};

use super::meta::{self, Shown};
use super::times::{Clock, Instant, Unit};
use crate::FORMAT_NAME;
use crate::array::Values;
use crate::container::rows::{self, Part};
use crate::container::{DsTable, TimeForm};
use crate::read::Variable;
use crate::time::{self, Units};
use crate::types::DataType;

/// Elements of a time variable that are looked at at once.
const STEP: u64 = 64 << 10;

/// Bytes of strings from which on their ends take 64 bits.
const LARGE: u64 = i32::MAX as u64;

/// What the values of a column become.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    /// There are none.
    Empty,
    /// What they are.
    Plain(DataType),
    /// Strings whose ends take 64 bits.
    Large(DataType),
    Timestamp(Clock),
    Julian(Units),
}

/// Something that happened in rows, counted by several threads.
#[derive(Debug)]
pub(super) struct Count {
    count: AtomicU64,
    first: AtomicU64,
}

impl Count {
    fn new() -> Self {
        Self { count: AtomicU64::new(0), first: AtomicU64::new(u64::MAX) }
    }

    pub(super) fn add(&self, row: u64) {
        self.count.fetch_add(1, Ordering::Relaxed);
        self.first.fetch_min(row, Ordering::Relaxed);
    }

    fn loss(&self, what: &str, column: &str) -> Option<Loss> {
        let count = self.count.load(Ordering::Relaxed);
        let mut first = Position::default();
        first.column = Some(column.to_owned().into());
        first.row = Some(self.first.load(Ordering::Relaxed));
        (count > 0).then(|| Loss::new(what.to_owned(), count, first))
    }
}

#[derive(Debug)]
pub(super) struct Column<'a> {
    pub(super) part: Part<'a>,
    pub(super) kind: Kind,
    pub(super) field: Arc<Field>,
    /// NaN is null.
    pub(super) missing_as_null: bool,
    /// Times that were cut off, or have no Julian date.
    pub(super) changed: Count,
}

#[derive(Debug)]
pub(super) struct Plan<'a> {
    pub(super) columns: Vec<Column<'a>>,
    pub(super) schema: SchemaRef,
    pub(super) rows: Range<u64>,
    notes: Vec<Loss>,
}

impl<'a> Plan<'a> {
    pub(super) fn new(table: &'a DsTable, scan: &BatchScan) -> Result<Self> {
        let rows = rows::wanted(table, &scan.scan)?;
        let (chosen, mut notes) = rows::chosen(table, &scan.scan)?;
        let parts: Vec<Part<'a>> = chosen.iter().map(|index| Part::new(table, *index)).collect::<Result<_>>()?;
        rows::check(table, &parts, &rows)?;
        let mut columns = Vec::with_capacity(parts.len());
        for part in parts {
            let kind = kind(&part, table, scan, &rows, &mut notes)?;
            let masked = part.variable.is_masked() && (!scan.mapping.narrow || is_any_missing(&part, &rows)?);
            let field = field(&part, kind, masked, scan.scan.missing_as_null);
            let field = field.map_err(|error| part.variable.place(error))?;
            let missing_as_null = scan.scan.missing_as_null;
            columns.push(Column { part, kind, field: Arc::new(field), missing_as_null, changed: Count::new() });
        }
        let fields: Vec<Arc<Field>> = columns.iter().map(|column| column.field.clone()).collect();
        let schema = Arc::new(Schema::new_with_metadata(fields, meta::of_dataset(&table.reader)));
        Ok(Self { columns, schema, rows, notes })
    }

    /// Bits that a row takes, but for the bytes of strings.
    pub(super) fn row_bits(&self) -> u64 {
        let bits = |column: &Column<'_>| {
            let mask = u64::from(column.part.variable.is_masked());
            column.part.wide.max(1).saturating_mul(column.kind.bits().saturating_add(mask))
        };
        self.columns.iter().map(bits).fold(0, u64::saturating_add)
    }

    pub(super) fn losses(&self) -> Vec<Loss> {
        let mut losses = self.notes.clone();
        losses.extend(self.columns.iter().filter_map(|column| {
            let what = match column.kind {
                Kind::Julian(_) => "time of a day that the Gregorian calendar has not shown as null",
                _ => "time cut off to microseconds",
            };
            column.changed.loss(what, column.part.variable.name())
        }));
        losses
    }
}

impl Kind {
    /// Bits of an element, but for the bytes of a string.
    fn bits(self) -> u64 {
        match self {
            Self::Empty => 0,
            Self::Plain(data_type) => match data_type.width() {
                Some(width) => width as u64 * 8,
                None if data_type == DataType::Bool => 1,
                None => 32,
            },
            Self::Large(_) | Self::Timestamp(_) | Self::Julian(_) => 64,
        }
    }

    /// True for strings, whose bytes are not the same in every row.
    pub(super) fn is_text(self) -> bool {
        matches!(self, Self::Plain(data_type) | Self::Large(data_type) if data_type.is_text())
    }
}

fn kind(part: &Part<'_>, table: &DsTable, scan: &BatchScan, rows: &Range<u64>, notes: &mut Vec<Loss>) -> Result<Kind> {
    let variable = &part.variable;
    let (Some(data_type), Some(_)) = (variable.data_type(), variable.shape()) else { return Ok(Kind::Empty) };
    if data_type.is_text() {
        let large = variable.stored_bytes() > LARGE;
        return Ok(if large { Kind::Large(data_type) } else { Kind::Plain(data_type) });
    }
    let mut kept = |why: String, row: Option<u64>| {
        let mut first = Position::default();
        (first.column, first.row) = (Some(variable.name().to_owned().into()), row);
        notes.push(Loss::new(format!("times kept as the numbers that are stored ({why})"), 1, first));
        Ok(Kind::Plain(data_type))
    };
    let units = match (table.times, time::of(variable)) {
        (TimeForm::Stored, _) | (_, Ok(None)) => return Ok(Kind::Plain(data_type)),
        (_, Ok(Some(units))) => units,
        (_, Err(error)) => return kept(error.detail().to_owned(), None),
    };
    if table.times == TimeForm::Julian {
        return Ok(Kind::Julian(units));
    }
    if scan.mapping.times == Times::Ticks {
        return Ok(Kind::Plain(data_type));
    }
    let Some(clock) = Clock::new(units, scan.mapping.times) else {
        return kept(format!("days of the calendar {} are none of Arrow's", units.calendar()), None);
    };
    match on_mismatch(part, clock, scan, rows)? {
        None => Ok(Kind::Timestamp(clock)),
        Some((row, why)) => kept(why.to_owned(), Some(row)),
    }
}

/// The first row with a number that is no time of Arrow's, and why.
fn on_mismatch(
    part: &Part<'_>,
    clock: Clock,
    scan: &BatchScan,
    rows: &Range<u64>,
) -> Result<Option<(u64, &'static str)>> {
    let truncated = scan.mapping.times == Times::Floor;
    let mut at = rows.start * part.wide;
    let end = rows.end * part.wide;
    while at < end {
        let next = end.min(at.saturating_add(STEP));
        let array = part.variable.read_elements(at..next)?;
        let (values, mask) = (array.values(), array.mask());
        for (index, element) in (at..next).enumerate() {
            if mask.is_some_and(|mask| mask.is_missing(index)) {
                continue;
            }
            let why = match clock.instant(values, index) {
                Instant::Exact(_) => continue,
                Instant::Cut(_) if truncated => continue,
                Instant::Cut(_) => "a time is finer than a microsecond",
                Instant::None if scan.scan.missing_as_null && is_nan(values, index) => continue,
                Instant::None => "a number is no time that 64 bits hold",
            };
            return Ok(Some((element / part.wide.max(1), why)));
        }
        at = next;
    }
    Ok(None)
}

fn plain(data_type: DataType) -> ArrowType {
    match data_type {
        DataType::Float32 => ArrowType::Float32,
        DataType::Float64 => ArrowType::Float64,
        DataType::Int8 => ArrowType::Int8,
        DataType::Int16 => ArrowType::Int16,
        DataType::Int32 => ArrowType::Int32,
        DataType::Int64 => ArrowType::Int64,
        DataType::Uint8 => ArrowType::UInt8,
        DataType::Uint16 => ArrowType::UInt16,
        DataType::Uint32 => ArrowType::UInt32,
        DataType::Uint64 => ArrowType::UInt64,
        DataType::Bool => ArrowType::Boolean,
        DataType::Str => ArrowType::Binary,
        DataType::Unicode => ArrowType::Utf8,
    }
}

/// The Arrow type of a column's elements.
pub(super) fn element_type(kind: Kind, variable: &Variable<'_>) -> ArrowType {
    match kind {
        Kind::Empty => variable.data_type().map_or(ArrowType::Null, plain),
        Kind::Plain(data_type) => plain(data_type),
        Kind::Large(DataType::Str) => ArrowType::LargeBinary,
        Kind::Large(_) => ArrowType::LargeUtf8,
        Kind::Timestamp(clock) => {
            let unit = match clock.unit() {
                Unit::Micros => TimeUnit::Microsecond,
                Unit::Nanos => TimeUnit::Nanosecond,
            };
            ArrowType::Timestamp(unit, None)
        }
        Kind::Julian(_) => ArrowType::Float64,
    }
}

/// Whether an element of these rows is missing.
fn is_any_missing(part: &Part<'_>, rows: &Range<u64>) -> Result<bool> {
    let elements = rows.start * part.wide..rows.end * part.wide;
    if part.variable.reader.foreign.is_some() {
        // Its mask is made from its values.
        let (mut at, mut found) = (elements.start, false);
        while at < elements.end && !found {
            let next = elements.end.min(at.saturating_add(STEP));
            found = part.variable.read_elements(at..next)?.missing() > 0;
            at = next;
        }
        return Ok(found);
    }
    let mask = part.variable.placed(|layout| part.variable.mask_bits(layout, elements))?;
    Ok(mask.is_some_and(|mask| mask.missing() > 0))
}

fn field(part: &Part<'_>, kind: Kind, masked: bool, missing_as_null: bool) -> Result<Field> {
    let variable = &part.variable;
    let of_float = matches!(variable.data_type(), Some(DataType::Float32 | DataType::Float64));
    let nullable = matches!(kind, Kind::Empty | Kind::Julian(_)) || masked || missing_as_null && of_float;
    let shown = if matches!(kind, Kind::Julian(_)) { Shown::Julian } else { Shown::Stored };
    let element = element_type(kind, variable);
    let (arrow_type, nullable, mut metadata) = match part.shape {
        [] => (element, nullable, std::collections::HashMap::new()),
        shape => {
            let size = i32::try_from(part.wide).map_err(|_| {
                let most = i32::MAX;
                Error::unsupported(format!("a row has {} elements; a list of Arrow's has up to {most}", part.wide))
            })?;
            let item = Arc::new(Field::new(Field::LIST_FIELD_DEFAULT_NAME, element, nullable));
            let names = variable.dimensions().get(1..).unwrap_or_default();
            (ArrowType::FixedSizeList(item, size), false, meta::of_tensor(shape, names))
        }
    };
    metadata.insert(FORMAT_NAME.to_owned(), meta::of_variable(variable, shown));
    Ok(Field::new(variable.name(), arrow_type, nullable).with_metadata(metadata))
}

/// Is it a float that is no number?
pub(super) fn is_nan(values: &Values<'_>, at: usize) -> bool {
    match values {
        Values::Float32(numbers) => numbers.get(at).is_some_and(|number| number.is_nan()),
        Values::Float64(numbers) => numbers.get(at).is_some_and(|number| number.is_nan()),
        _ => false,
    }
}
