//! Samples into columns.

use arrow_schema::{DataType, TimeUnit};
use container_arrow::{Class, Columns, Element, ListSlot, ObjectSlot, Slot, SlotEncoding, Tensor};
use container_core::{Error, Limits, Loss, Position, Result};

use super::lookup::Lookup;
use super::observe::{no_map, placed};
use super::plan::Plan;
use super::value::{Form, Name, Shape, Value, is_no_time, pass, read};
use crate::numpy::unit::{Unit, rescaled};
use crate::numpy::{ByteOrder, Item, NdArray};
use crate::read::Sample;
use crate::value::RawValue;
use crate::wire::{Token, Tokens, utf8};

/// Something that happened, how often, and in which sample first.
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
        let mut first = Position::default();
        first.row = Some(self.first);
        (self.times > 0).then(|| Loss::new(what, self.times, first))
    }
}

/// What could not be shown as it is.
#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    repeated: Count,
    no_time: Count,
    no_map: Count,
}

/// Puts samples into columns whose places are those of a lookup.
#[derive(Debug)]
pub(super) struct Appender<'l> {
    lookup: &'l Lookup,
    limits: Limits,
    /// Samples may have other fields, too.
    is_part: bool,
    /// By places: the sample whose field was put last, and one.
    stamps: Vec<u64>,
    scratch: Scratch,
}

#[derive(Debug)]
struct Scratch {
    json: Vec<u8>,
    limits: Limits,
    is_declared: bool,
    row: u64,
    tally: Tally,
}

impl Scratch {
    /// The place for a list: what was found to hold tensors takes nothing else.
    fn list<'c>(&self, slot: Slot<'c>) -> Result<Option<ListSlot<'c>>> {
        match slot.data_type() {
            DataType::FixedSizeList(..) if !self.is_declared => slot.on_mismatch(Class::List).map(|()| None),
            _ => slot.list(),
        }
    }
}

impl<'l> Appender<'l> {
    pub(super) fn new(plan: &'l Plan, limits: Limits) -> Self {
        let is_declared = plan.is_declared;
        let scratch = Scratch { json: Vec::new(), limits, is_declared, row: 0, tally: Tally::default() };
        let stamps = vec![0; plan.lookup.len()];
        Self { lookup: &plan.lookup, limits, is_part: plan.is_part, stamps, scratch }
    }

    /// Appends a sample as a row. Behind an error the columns are as they were.
    pub(super) fn append(&mut self, sample: &Sample<'_>, columns: &mut Columns) -> Result<()> {
        let done = self.sample(sample, columns);
        done.map_err(|error| {
            columns.roll_back();
            placed(sample, error)
        })
    }

    fn sample(&mut self, sample: &Sample<'_>, columns: &mut Columns) -> Result<()> {
        let mut tokens = sample.raw().tokens();
        let (row, strict) = (sample.index(), columns.is_strict());
        let mut object = columns.row(row);
        self.scratch.row = row;
        let count = match tokens.next()? {
            Token::Map(count) => count,
            other if strict => return Err(no_map(&other, sample.offset())),
            _ => {
                self.scratch.tally.no_map.add(row);
                0
            }
        };
        let mut left = self.lookup.len();
        let mut expected = 0;
        for _ in 0..count {
            if left == 0 && self.is_part {
                // An image that was not asked for is not even passed over.
                break;
            }
            let name = Name::read(&mut tokens)?;
            let place = self.lookup.find(&name, expected);
            let slot = place.and_then(|place| Some((place, self.stamps.get_mut(place)?)));
            let Some((place, stamp)) = slot else {
                tokens.skip()?;
                continue;
            };
            expected = place + 1;
            if *stamp == row + 1 {
                self.scratch.tally.repeated.add(row);
                tokens.skip()?;
                continue;
            }
            *stamp = row + 1;
            left -= 1;
            let Some(slot) = object.at(place) else { return Err(Error::usage("there is no such column")) };
            append(&mut tokens, slot, &mut self.scratch).map_err(|error| match name.shown(&self.limits) {
                Ok(name) => error.in_column(name.into_owned()),
                Err(_) => error,
            })?;
        }
        object.end();
        Ok(())
    }

    /// What could not be shown as it is, since this was asked last.
    pub(super) fn take_losses(&mut self) -> Vec<Loss> {
        let Tally { repeated, no_time, no_map } = std::mem::take(&mut self.scratch.tally);
        let told = [
            repeated.loss("field of a name that the map has already left out"),
            no_time.loss("NaT shown as null"),
            no_map.loss("sample that is no map shown as a row of nulls"),
        ];
        told.into_iter().flatten().collect()
    }
}

/// Puts the next value.
#[inline]
fn append(tokens: &mut Tokens<'_>, slot: Slot<'_>, scratch: &mut Scratch) -> Result<()> {
    let at = tokens.offset();
    let done = match slot.encoding() {
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
    done.map_err(|error| error.at(at))
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
    let text = std::str::from_utf8(&scratch.json).map_err(|_| Error::invalid("the JSON is not UTF-8"))?;
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
        Value::Scalar(scalar) => item(scalar.item(), scalar.data(), slot, scratch),
        Value::Array(array) => of_array(&array, slot, scratch),
        Value::List(count) => match scratch.list(slot)? {
            Some(mut list) => {
                for _ in 0..count {
                    append(tokens, list.element()?, scratch)?;
                }
                list.end()
            }
            None => pass(tokens, count.into()),
        },
        Value::Map(count) => match slot.object()? {
            Some(mut object) => {
                members(tokens, count, &mut object, scratch)?;
                object.end();
                Ok(())
            }
            None => pass(tokens, 2 * u64::from(count)),
        },
    }
}

fn members(tokens: &mut Tokens<'_>, count: u32, object: &mut ObjectSlot<'_>, scratch: &mut Scratch) -> Result<()> {
    for _ in 0..count {
        let name = Name::read(tokens)?;
        let name = match name.text()? {
            Some(name) => name.into(),
            None => name.shown(&scratch.limits)?,
        };
        if object.has(&name) {
            scratch.tally.repeated.add(scratch.row);
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

/// Puts an element. One that is nothing to columns is its bytes.
fn item(item: Result<Item<'_>>, bytes: &[u8], slot: Slot<'_>, scratch: &mut Scratch) -> Result<()> {
    match item {
        Ok(item) if is_no_time(&item) => {
            scratch.tally.no_time.add(scratch.row);
            slot.null();
            Ok(())
        }
        Ok(Item::Bool(value)) => slot.bool(value),
        Ok(Item::Int(value)) => slot.i64(value),
        Ok(Item::Datetime(value, unit) | Item::Timedelta(value, unit)) => match unit_of(slot.data_type()) {
            None => slot.i64(value),
            Some(wanted) => match rescaled(value, unit, wanted) {
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

fn of_array(array: &NdArray<'_>, slot: Slot<'_>, scratch: &mut Scratch) -> Result<()> {
    match Form::of(array) {
        Form::Item => item(array.get(&[]), array.data(), slot, scratch),
        Form::Tensor(element, of) => match is_nested(slot.data_type(), element, array.shape().len()) {
            true => nested(array, slot, scratch),
            false => slot.tensor(&Tensor {
                element,
                shape: Shape::of(array).as_slice(),
                data: array.data(),
                big_endian: of.order() == ByteOrder::Big,
            }),
        },
        Form::List => match scratch.list(slot)? {
            Some(mut list) => {
                for each in array.items() {
                    item(each, &[], list.element()?, scratch)?;
                }
                list.end()
            }
            None => Ok(()),
        },
        Form::Other => slot.on_mismatch(Class::Other),
    }
}

/// Are the elements put one by one: lists in lists, or numbers into lists of another type?
fn is_nested(data_type: &DataType, element: Element, dimensions: usize) -> bool {
    use DataType::{FixedSizeList, LargeList, List};
    match data_type {
        List(inner) | LargeList(inner) => dimensions > 1 || *inner.data_type() != element.data_type(),
        FixedSizeList(inner, _) => matches!(inner.data_type(), List(_) | LargeList(_) | FixedSizeList(..)),
        _ => false,
    }
}

/// Puts an array as lists in lists.
fn nested(array: &NdArray<'_>, slot: Slot<'_>, scratch: &mut Scratch) -> Result<()> {
    let shape = array.shape();
    // Lists that have nothing in them are backed by nothing.
    if array.is_empty() && shape.len() > 1 {
        return slot.on_mismatch(Class::Tensor);
    }
    dimension(array, shape, 0, slot, scratch)
}

/// Puts what lies in the last dimensions of an array from its element `start` on.
fn dimension(array: &NdArray<'_>, shape: &[usize], start: usize, slot: Slot<'_>, scratch: &mut Scratch) -> Result<()> {
    let Some((length, inner)) = shape.split_first() else {
        return item(array.item(start), &[], slot, scratch);
    };
    let size: usize = inner.iter().product(); // no more than the elements there are
    let Some(mut list) = slot.list()? else { return Ok(()) };
    for at in 0..*length {
        dimension(array, inner, start + at * size, list.element()?, scratch)?;
    }
    list.end()
}

/// The unit of a column of times; `None` for any other.
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
