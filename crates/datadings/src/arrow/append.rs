//! Appends samples to columns.

use arrow_schema::{DataType, TimeUnit};
use container_arrow::{Class, Columns, Element, ListSlot, ObjectSlot, Slot, SlotEncoding, Tensor};
use container_core::{Error, Limits, Loss, Position, Result};

use super::lookup::Lookup;
use super::observe::{in_sample, not_a_map};
use super::plan::Plan;
use super::value::{ArrayKind, Name, Shape, Value, is_nat, read, skip_values, sparse};
use crate::numpy::unit::{Unit, rescaled};
use crate::numpy::{ByteOrder, Item, Kind, NdArray};
use crate::read::Sample;
use crate::sparse::Sparse;
use crate::value::RawValue;
use crate::wire::{Token, Tokens, utf8};

/// How often a loss occurred, and its first row.
#[derive(Debug, Clone, Copy, Default)]
struct Count {
    times: u64,
    first: u64,
}

impl Count {
    #[cold]
    fn add(&mut self, row: u64) {
        if self.times == 0 {
            self.first = row;
        }
        self.times += 1;
    }

    fn loss(self, what: &'static str) -> Option<Loss> {
        (self.times > 0).then(|| Loss::new(what, self.times, Position::of_row(self.first)))
    }
}

/// Losses since the last report.
#[derive(Debug, Clone, Copy, Default)]
struct LossCounts {
    duplicates: Count,
    nat: Count,
    /// NaT in an array of numbers, which has no nulls.
    nat_number: Count,
    /// Times as numbers of a unit that Arrow lacks, or of several units.
    unitless: Count,
    not_a_map: Count,
}

/// Appends samples to the columns of a lookup.
#[derive(Debug)]
pub(super) struct Appender<'l> {
    lookup: &'l Lookup,
    limits: Limits,
    /// Samples may have fields outside the lookup.
    has_other_fields: bool,
    /// For each column, the row that set it last, plus one.
    stamps: Vec<u64>,
    scratch: Scratch,
}

#[derive(Debug)]
struct Scratch {
    json: Vec<u8>,
    limits: Limits,
    is_declared: bool,
    row: u64,
    losses: LossCounts,
}

impl Scratch {
    /// A slot for a list; an inferred tensor column accepts no other lists.
    fn list<'c>(&self, slot: Slot<'c>) -> Result<Option<ListSlot<'c>>> {
        match slot.data_type() {
            DataType::FixedSizeList(..) if !self.is_declared => slot.on_mismatch(Class::List).map(|()| None),
            _ => slot.list(),
        }
    }

    /// Counts what an array of times loses as numbers.
    fn count_times(&mut self, array: &NdArray<'_>) {
        for item in array.items().flatten() {
            match is_nat(&item) {
                true => self.losses.nat_number.add(self.row),
                false => self.losses.unitless.add(self.row),
            }
        }
    }
}

impl<'l> Appender<'l> {
    pub(super) fn new(plan: &'l Plan, limits: Limits) -> Self {
        let is_declared = plan.is_declared;
        let scratch = Scratch { json: Vec::new(), limits, is_declared, row: 0, losses: LossCounts::default() };
        let stamps = vec![0; plan.lookup.len()];
        Self { lookup: &plan.lookup, limits, has_other_fields: plan.has_other_fields, stamps, scratch }
    }

    /// Appends a sample as a row. An error leaves the columns unchanged.
    pub(super) fn append(&mut self, sample: &Sample<'_>, columns: &mut Columns) -> Result<()> {
        let result = self.sample(sample, columns);
        result.map_err(|error| {
            columns.roll_back();
            in_sample(sample, error)
        })
    }

    fn sample(&mut self, sample: &Sample<'_>, columns: &mut Columns) -> Result<()> {
        let mut tokens = sample.raw().tokens();
        let (row, strict) = (sample.index(), columns.is_strict());
        let mut object = columns.row(row);
        self.scratch.row = row;
        let count = match tokens.next()? {
            Token::Map(count) => Some(count),
            other if strict => return Err(not_a_map(&other, sample.offset())),
            _ => {
                self.scratch.losses.not_a_map.add(row);
                None
            }
        };
        let mut left = self.lookup.len();
        let mut expected = 0;
        let mut is_complete = count.is_some();
        for _ in 0..count.unwrap_or(0) {
            if left == 0 && self.has_other_fields {
                // Skip the rest, such as an image, without touching it.
                is_complete = false;
                break;
            }
            let name = Name::read(&mut tokens)?;
            let index = self.lookup.find(&name, expected);
            let slot = index.and_then(|index| Some((index, self.stamps.get_mut(index)?)));
            let Some((index, stamp)) = slot else {
                tokens.skip()?;
                continue;
            };
            expected = index + 1;
            if *stamp == row + 1 {
                self.scratch.losses.duplicates.add(row);
                tokens.skip()?;
                continue;
            }
            *stamp = row + 1;
            left -= 1;
            let Some(slot) = object.at(index) else { return Err(Error::usage("no such column")) };
            append(&mut tokens, slot, &mut self.scratch).map_err(|error| match name.display(&self.limits) {
                Ok(name) => error.in_column(name.into_owned()),
                Err(_) => error,
            })?;
        }
        if is_complete {
            tokens.end()?;
        }
        object.end();
        Ok(())
    }

    /// Returns the losses since the last call.
    pub(super) fn take_losses(&mut self) -> Vec<Loss> {
        let LossCounts { duplicates, nat, nat_number, unitless, not_a_map } = std::mem::take(&mut self.scratch.losses);
        let losses = [
            duplicates.loss("duplicate field dropped"),
            nat.loss("NaT converted to null"),
            nat_number.loss("NaT in an array written as the smallest integer"),
            unitless.loss("datetime or timedelta written as an integer, without its unit"),
            not_a_map.loss("sample that is not a map converted to a row of nulls"),
        ];
        losses.into_iter().flatten().collect()
    }
}

/// Appends the next value.
#[inline]
fn append(tokens: &mut Tokens<'_>, slot: Slot<'_>, scratch: &mut Scratch) -> Result<()> {
    let at = tokens.offset();
    let result = match slot.encoding() {
        SlotEncoding::Value => value(tokens, slot, scratch),
        SlotEncoding::Msgpack => {
            let limit = scratch.limits.depth;
            match tokens.peek() {
                Some(0xc0) => tokens.skip().map(|_| slot.null()),
                _ => tokens.check(limit).and_then(|bytes| slot.msgpack(bytes)),
            }
        }
        _ => json(tokens, slot, scratch),
    };
    result.map_err(|error| error.at(at))
}

fn json(tokens: &mut Tokens<'_>, slot: Slot<'_>, scratch: &mut Scratch) -> Result<()> {
    let at = tokens.offset();
    let raw = RawValue::at(tokens.skip()?, at);
    if raw.as_bytes() == [0xc0] {
        slot.null();
        return Ok(());
    }
    scratch.json.clear();
    crate::json::write(raw, &mut scratch.json, &scratch.limits)?;
    let text = std::str::from_utf8(&scratch.json).map_err(|_| Error::invalid("JSON: invalid UTF-8"))?;
    slot.json(text)
}

fn value(tokens: &mut Tokens<'_>, slot: Slot<'_>, scratch: &mut Scratch) -> Result<()> {
    match read(tokens)? {
        Value::Nil => {
            slot.null();
            Ok(())
        }
        Value::Bool(value) => slot.bool(value),
        Value::Unsigned(value) => slot.u64(value),
        Value::Negative(value) => slot.i64(value),
        Value::F32(value) => slot.f32(value),
        Value::F64(value) => slot.f64(value),
        Value::Str(bytes) => slot.str(utf8(bytes, tokens.offset())?),
        Value::Bin(bytes) => slot.bytes(bytes),
        Value::Other => slot.on_mismatch(Class::Other),
        Value::Scalar(scalar) => append_item(scalar.item(), scalar.data(), slot, scratch),
        Value::Array(array) => append_array(&array, slot, scratch),
        Value::List(count) => match scratch.list(slot)? {
            Some(mut list) => {
                for _ in 0..count {
                    append(tokens, list.element()?, scratch)?;
                }
                list.end()
            }
            None => skip_values(tokens, count.into()),
        },
        Value::Map(count) => {
            if !slot.is_object()
                && let Some(sparse) = sparse(tokens, count)
            {
                return append_sparse(&sparse, slot, scratch);
            }
            append_map(tokens, count, slot, scratch)
        }
    }
}

fn append_map(tokens: &mut Tokens<'_>, count: u32, slot: Slot<'_>, scratch: &mut Scratch) -> Result<()> {
    match slot.object()? {
        Some(mut object) => {
            members(tokens, count, &mut object, scratch)?;
            object.end();
            Ok(())
        }
        None => skip_values(tokens, 2 * u64::from(count)),
    }
}

/// Appends all elements of a sparse vector.
fn append_sparse(sparse: &Sparse<'_>, slot: Slot<'_>, scratch: &mut Scratch) -> Result<()> {
    let Some(mut list) = scratch.list(slot)? else { return Ok(()) };
    let (mut indices, mut values) = (sparse.indices.iter().peekable(), sparse.values.items()?);
    for index in 0..sparse.length {
        let element = list.element()?;
        match indices.next_if_eq(&&index).and_then(|_| values.next()) {
            Some(value) => append(&mut value?.tokens(), element, scratch)?,
            None => element.zero()?,
        }
    }
    list.end()
}

fn members(tokens: &mut Tokens<'_>, count: u32, object: &mut ObjectSlot<'_>, scratch: &mut Scratch) -> Result<()> {
    for _ in 0..count {
        let name = Name::read(tokens)?;
        let name = match name.text()? {
            Some(name) => name.into(),
            None => name.display(&scratch.limits)?,
        };
        if object.has(&name) {
            scratch.losses.duplicates.add(scratch.row);
            tokens.skip()?;
            continue;
        }
        match object.member(&name) {
            Some(slot) => append(tokens, slot, scratch)?,
            None => drop(tokens.skip()?),
        }
    }
    Ok(())
}

/// Appends an element. Unsupported ones are appended as their bytes.
fn append_item(item: Result<Item<'_>>, bytes: &[u8], slot: Slot<'_>, scratch: &mut Scratch) -> Result<()> {
    match item {
        Ok(item) if is_nat(&item) => {
            scratch.losses.nat.add(scratch.row);
            slot.null();
            Ok(())
        }
        Ok(Item::Bool(value)) => slot.bool(value),
        Ok(Item::Int(value)) => slot.i64(value),
        Ok(Item::Datetime(value, unit) | Item::Timedelta(value, unit)) => match unit_of(slot.data_type()) {
            None => {
                scratch.losses.unitless.add(scratch.row);
                slot.i64(value)
            }
            Some(target) => match rescaled(value, unit, target) {
                Some(value) => slot.i64(value),
                None => slot.on_mismatch(Class::Integer),
            },
        },
        Ok(Item::Uint(value)) => slot.u64(value),
        Ok(Item::F16(value)) => slot.f16(value.0),
        Ok(Item::F32(value)) => slot.f32(value),
        Ok(Item::F64(value)) => slot.f64(value),
        Ok(Item::Text(text)) => slot.str(&text),
        Ok(Item::Bytes(bytes)) => slot.bytes(bytes),
        Ok(Item::Complex32(_) | Item::Complex64(_)) => slot.on_mismatch(Class::Other),
        Ok(Item::Opaque(..) | Item::Record(_)) | Err(_) => slot.bytes(bytes),
    }
}

fn append_array(array: &NdArray<'_>, slot: Slot<'_>, scratch: &mut Scratch) -> Result<()> {
    match ArrayKind::of(array) {
        ArrayKind::Item => append_item(array.get(&[]), array.data(), slot, scratch),
        ArrayKind::Tensor(element, of) => match is_nested(slot.data_type(), element, array.shape().len()) {
            true => append_nested(array, slot, scratch),
            false => {
                if matches!(of.kind(), Kind::Datetime | Kind::Timedelta) {
                    scratch.count_times(array);
                }
                slot.tensor(&Tensor {
                    element,
                    shape: Shape::of(array).as_slice(),
                    data: array.data(),
                    big_endian: of.order() == ByteOrder::Big,
                })
            }
        },
        ArrayKind::List => match scratch.list(slot)? {
            Some(mut list) => {
                for each in array.items() {
                    append_item(each, &[], list.element()?, scratch)?;
                }
                list.end()
            }
            None => Ok(()),
        },
        ArrayKind::Other => slot.on_mismatch(Class::Other),
    }
}

/// Whether elements are appended one by one: for nested lists, or lists of another number type.
fn is_nested(data_type: &DataType, element: Element, dimensions: usize) -> bool {
    use DataType::{FixedSizeList, LargeList, List};
    match data_type {
        List(inner) | LargeList(inner) => dimensions > 1 || *inner.data_type() != element.data_type(),
        FixedSizeList(inner, _) => matches!(inner.data_type(), List(_) | LargeList(_) | FixedSizeList(..)),
        _ => false,
    }
}

/// Appends an array as nested lists.
fn append_nested(array: &NdArray<'_>, slot: Slot<'_>, scratch: &mut Scratch) -> Result<()> {
    let shape = array.shape();
    // Nested empty lists are not backed by bytes, so their number is not bounded.
    if array.is_empty() && shape.len() > 1 {
        return slot.on_mismatch(Class::Tensor);
    }
    append_dimension(array, shape, 0, slot, scratch)
}

/// Appends the last dimensions of an array, whose lengths are `shape`, from element `start` on.
fn append_dimension(
    array: &NdArray<'_>,
    shape: &[usize],
    start: usize,
    slot: Slot<'_>,
    scratch: &mut Scratch,
) -> Result<()> {
    let Some((length, inner)) = shape.split_first() else {
        return append_item(array.item(start), &[], slot, scratch);
    };
    let size: usize = inner.iter().product(); // at most the number of elements
    let Some(mut list) = slot.list()? else { return Ok(()) };
    for at in 0..*length {
        append_dimension(array, inner, start + at * size, list.element()?, scratch)?;
    }
    list.end()
}

/// The unit of a time column; `None` for other columns.
fn unit_of(data_type: &DataType) -> Option<Unit> {
    Some(match data_type {
        DataType::Timestamp(unit, _) | DataType::Duration(unit) => Unit::PerSecond(match unit {
            TimeUnit::Second => 1,
            TimeUnit::Millisecond => 1_000,
            TimeUnit::Microsecond => 1_000_000,
            TimeUnit::Nanosecond => 1_000_000_000,
        }),
        DataType::Date32 => Unit::Seconds(86_400),
        DataType::Date64 => Unit::PerSecond(1_000),
        _ => return None,
    })
}
