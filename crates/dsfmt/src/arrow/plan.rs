//! Plans a scan: which columns are read, and as which Arrow types.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_schema::{DataType as ArrowType, Field, Schema, SchemaRef, TimeUnit};
use container_arrow::{BatchScan, Times};
use container_core::{Error, Loss, Position, Result};

use super::meta::{self, Representation};
use super::structs;
use super::times::{Clock, Instant, Unit};
use crate::FORMAT_NAME;
use crate::array::Values;
use crate::container::rows::{self, ColumnLayout};
use crate::container::{DsTable, TimeForm};
use crate::read::Variable;
use crate::time::{self, Units};
use crate::types::DataType;

/// Elements checked at once.
const STEP: u64 = 64 << 10;

/// Bytes of strings above which offsets take 64 bits.
const MAX_OFFSET: u64 = i32::MAX as u64;

/// The conversion of a column's values.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    /// No values.
    Empty,
    /// Unchanged.
    Plain(DataType),
    /// Strings with 64-bit offsets.
    Large(DataType),
    Timestamp(Clock),
    Julian(Units),
}

/// Counts events in rows, from several threads.
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
        (count > 0).then(|| {
            let first = Position::of_column(column.to_owned()).in_row(self.first.load(Ordering::Relaxed));
            Loss::new(what.to_owned(), count, first)
        })
    }
}

#[derive(Debug)]
pub(super) struct Column<'a> {
    pub(super) layout: ColumnLayout<'a>,
    pub(super) kind: Kind,
    pub(super) field: Arc<Field>,
    /// NaN becomes null.
    pub(super) missing_as_null: bool,
    /// Times that were truncated, or have no Julian date.
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
        let rows = rows::row_range(table, &scan.scan)?;
        let (selected, mut notes) = rows::selected_columns(table, &scan.scan)?;
        let layouts: Vec<ColumnLayout<'a>> = table.leaves(&selected)?.into_iter().map(ColumnLayout::new).collect();
        rows::check_bounds(table, &layouts, &rows)?;
        let mut columns = Vec::with_capacity(layouts.len());
        for layout in layouts {
            let kind = kind(&layout, table, scan, &rows, &mut notes)?;
            let masked = layout.variable.is_masked() && (!scan.mapping.narrow || is_any_missing(&layout, &rows)?);
            let field = field(&layout, kind, masked, scan.scan.missing_as_null);
            let field = field.map_err(|error| layout.variable.in_variable(error))?;
            let missing_as_null = scan.scan.missing_as_null;
            columns.push(Column { layout, kind, field: Arc::new(field), missing_as_null, changed: Count::new() });
        }
        let fields: Vec<Arc<Field>> = structs::trees(&columns).iter().filter_map(|tree| tree.field(&columns)).collect();
        let schema = Arc::new(Schema::new_with_metadata(fields, meta::of_dataset(&table.reader)));
        Ok(Self { columns, schema, rows, notes })
    }

    /// Bits per row, without the bytes of strings.
    pub(super) fn row_bits(&self) -> u64 {
        let bits = |column: &Column<'_>| {
            let mask = u64::from(column.layout.variable.is_masked());
            column.layout.row_len.max(1).saturating_mul(column.kind.bits().saturating_add(mask))
        };
        self.columns.iter().map(bits).fold(0, u64::saturating_add)
    }

    pub(super) fn losses(&self) -> Vec<Loss> {
        let mut losses = self.notes.clone();
        losses.extend(self.columns.iter().filter_map(|column| {
            let what = match column.kind {
                Kind::Julian(_) => "time without a Gregorian day shown as null",
                _ => "time truncated to microseconds",
            };
            column.changed.loss(what, column.layout.variable.name())
        }));
        losses
    }
}

impl Kind {
    /// Bits per element, without the bytes of a string.
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

    /// True for strings, whose size varies by row.
    pub(super) fn is_text(self) -> bool {
        matches!(self, Self::Plain(data_type) | Self::Large(data_type) if data_type.is_text())
    }
}

fn kind(
    layout: &ColumnLayout<'_>,
    table: &DsTable,
    scan: &BatchScan,
    rows: &Range<u64>,
    notes: &mut Vec<Loss>,
) -> Result<Kind> {
    let variable = &layout.variable;
    let (Some(data_type), Some(_)) = (variable.data_type(), variable.shape()) else { return Ok(Kind::Empty) };
    if data_type.is_text() {
        let large = variable.stored_bytes() > MAX_OFFSET;
        return Ok(if large { Kind::Large(data_type) } else { Kind::Plain(data_type) });
    }
    let mut as_numbers = |why: String, row: Option<u64>| {
        let mut first = Position::default();
        (first.column, first.row) = (Some(variable.name().to_owned().into()), row);
        notes.push(Loss::new(format!("times kept as stored numbers ({why})"), 1, first));
        Ok(Kind::Plain(data_type))
    };
    let units = match (table.times, time::of_stored(variable)) {
        (TimeForm::Stored, _) | (_, Ok(None)) => return Ok(Kind::Plain(data_type)),
        (_, Ok(Some(units))) => units,
        (_, Err(error)) => return as_numbers(error.detail().to_owned(), None),
    };
    if table.times == TimeForm::Julian {
        return Ok(Kind::Julian(units));
    }
    if scan.mapping.times == Times::Ticks {
        return Ok(Kind::Plain(data_type));
    }
    let Some(clock) = Clock::new(units, scan.mapping.times) else {
        return as_numbers(format!("calendar {} has no real days", units.calendar()), None);
    };
    match first_mismatch(layout, clock, scan, rows)? {
        None => Ok(Kind::Timestamp(clock)),
        Some((row, why)) => as_numbers(why.to_owned(), Some(row)),
    }
}

/// The first row with a number that is not an Arrow time, and the reason.
fn first_mismatch(
    layout: &ColumnLayout<'_>,
    clock: Clock,
    scan: &BatchScan,
    rows: &Range<u64>,
) -> Result<Option<(u64, &'static str)>> {
    let truncated = scan.mapping.times == Times::Floor;
    let mut at = rows.start * layout.row_len;
    let end = rows.end * layout.row_len;
    while at < end {
        let next = end.min(at.saturating_add(STEP));
        let array = layout.variable.read_elements(at..next)?;
        let (values, mask) = (array.values(), array.mask());
        for (index, element) in (at..next).enumerate() {
            if mask.is_some_and(|mask| mask.is_missing(index)) {
                continue;
            }
            let why = match clock.instant(values, index) {
                Instant::Exact(_) => continue,
                Instant::Truncated(_) if truncated => continue,
                Instant::Truncated(_) => "a time is finer than a microsecond",
                Instant::None if scan.scan.missing_as_null && is_nan(values, index) => continue,
                Instant::None => "a number exceeds the range of 64-bit times",
            };
            return Ok(Some((element / layout.row_len.max(1), why)));
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

/// True when an element of these rows is missing.
fn is_any_missing(layout: &ColumnLayout<'_>, rows: &Range<u64>) -> Result<bool> {
    let elements = rows.start * layout.row_len..rows.end * layout.row_len;
    if layout.variable.reader.foreign.is_some() {
        // A foreign source derives the mask from the values.
        let (mut at, mut found) = (elements.start, false);
        while at < elements.end && !found {
            let next = elements.end.min(at.saturating_add(STEP));
            found = layout.variable.read_elements(at..next)?.missing() > 0;
            at = next;
        }
        return Ok(found);
    }
    let mask = layout.variable.with_layout(|file| layout.variable.mask_bits(file, elements))?;
    Ok(mask.is_some_and(|mask| mask.missing() > 0))
}

fn field(layout: &ColumnLayout<'_>, kind: Kind, masked: bool, missing_as_null: bool) -> Result<Field> {
    let variable = &layout.variable;
    let is_float = matches!(variable.data_type(), Some(DataType::Float32 | DataType::Float64));
    let nullable = matches!(kind, Kind::Empty | Kind::Julian(_)) || masked || missing_as_null && is_float;
    let representation = match kind {
        Kind::Julian(_) => Representation::Julian,
        _ => Representation::Stored,
    };
    let element = element_type(kind, variable);
    let (arrow_type, nullable, mut metadata) = match layout.shape {
        [] => (element, nullable, std::collections::HashMap::new()),
        shape => {
            let size = i32::try_from(layout.row_len).map_err(|_| {
                Error::unsupported(format!(
                    "a row has {} elements, more than the limit {} of Arrow lists",
                    layout.row_len,
                    i32::MAX
                ))
            })?;
            let item = Arc::new(Field::new(Field::LIST_FIELD_DEFAULT_NAME, element, nullable));
            let names = variable.dimensions().get(1..).unwrap_or_default();
            (ArrowType::FixedSizeList(item, size), false, meta::of_tensor(shape, names))
        }
    };
    metadata.insert(FORMAT_NAME.to_owned(), meta::of_variable(variable, representation));
    Ok(Field::new(variable.name(), arrow_type, nullable).with_metadata(metadata))
}

/// True for NaN.
pub(super) fn is_nan(values: &Values<'_>, at: usize) -> bool {
    match values {
        Values::Float32(numbers) => numbers.get(at).is_some_and(|number| number.is_nan()),
        Values::Float64(numbers) => numbers.get(at).is_some_and(|number| number.is_nan()),
        _ => false,
    }
}
