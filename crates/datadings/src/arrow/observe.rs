//! Which values the fields of samples have.

use std::ops::Range;

use container_arrow::{Observation, OnMismatch, TypeObserver};
use container_core::{Error, Limits, Result};

use super::lookup::Lookup;
use super::mark::{Mark, Marks};
use super::value::{Form, Name, Shape, Value, is_no_time, read};
use crate::numpy::{Item, NdArray};
use crate::read::{Reader, Sample};
use crate::wire::{Token, Tokens};

/// The fields to look at, and what they are called.
#[derive(Debug)]
pub(super) enum Fields {
    /// All, as long as their names are text.
    Texts,
    /// These, by their places.
    Known(Lookup, Vec<String>),
}

/// Samples being looked at.
#[derive(Debug)]
pub(super) struct Observer<'f> {
    fields: &'f Fields,
    limits: Limits,
    on_mismatch: OnMismatch,
    pub(super) seen: Observation,
    pub(super) marks: Marks,
}

/// Why samples are not looked at any further.
#[derive(Debug)]
pub(super) enum Stop {
    /// A field has a name that is no text, and they were taken for texts.
    Odd,
    Failed(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl<'f> Observer<'f> {
    pub(super) fn new(fields: &'f Fields, limits: Limits, on_mismatch: OnMismatch) -> Self {
        Self { fields, limits, on_mismatch, seen: Observation::new(limits), marks: Marks::default() }
    }

    /// Looks at some samples.
    pub(super) fn look(mut self, reader: &Reader, rows: Range<u64>) -> Result<Self, Stop> {
        for sample in reader.samples(rows)? {
            let sample = sample?;
            self.sample(&sample).map_err(|stop| match stop {
                Stop::Odd => Stop::Odd,
                Stop::Failed(error) => Stop::Failed(placed(&sample, error)),
            })?;
        }
        Ok(self)
    }

    pub(super) fn merge(&mut self, other: Self) -> Result<()> {
        self.marks.merge(other.marks);
        self.seen.merge(other.seen)
    }

    fn sample(&mut self, sample: &Sample<'_>) -> Result<(), Stop> {
        let mut tokens = sample.raw().tokens();
        let Self { fields, limits, seen, marks, .. } = self;
        let count = match tokens.next()? {
            Token::Map(count) => count,
            other if self.on_mismatch == OnMismatch::Error => return Err(no_map(&other, sample.offset()).into()),
            _ => return Ok(()),
        };
        let mut object = seen.row(sample.index()).object();
        let mut expected = 0;
        for _ in 0..count {
            let name = Name::read(&mut tokens)?;
            let column = match fields {
                Fields::Texts => name.text()?.ok_or(Stop::Odd)?,
                Fields::Known(lookup, names) => {
                    match lookup.find(&name, expected).and_then(|place| Some((place, names.get(place)?))) {
                        Some((place, column)) => {
                            expected = place + 1;
                            column
                        }
                        None => {
                            tokens.skip()?;
                            continue;
                        }
                    }
                }
            };
            let at = tokens.offset();
            let done = read(&mut tokens).and_then(|value| {
                if let Some(mark) = Mark::of(&value)
                    && !is_null(&value)
                {
                    marks.see(column, mark);
                }
                observe(value, &mut tokens, object.member(column)?, limits)
            });
            done.map_err(|error| error.at(at).in_column(column.to_owned()))?;
        }
        Ok(())
    }
}

/// Adds to an error which sample it is about.
#[cold]
pub(super) fn placed(sample: &Sample<'_>, error: Error) -> Error {
    let error = match sample.key() {
        Ok(key) => error.in_key(key.to_owned()),
        Err(_) => error,
    };
    sample.in_sample(error)
}

/// A sample that has no fields.
#[cold]
pub(super) fn no_map(found: &Token<'_>, at: u64) -> Error {
    let found = found.name();
    Error::invalid(format!("the sample is {found} and no map"))
        .advising("{on_mismatch} null or json leaves it out")
        .at(at)
}

fn is_null(value: &Value<'_>) -> bool {
    match value {
        Value::Scalar(scalar) => scalar.item().is_ok_and(|item| is_no_time(&item)),
        Value::Array(array) if array.shape().is_empty() => array.get(&[]).is_ok_and(|item| is_no_time(&item)),
        _ => false,
    }
}

/// Looks at a value, whose head was taken.
fn observe(value: Value<'_>, tokens: &mut Tokens<'_>, observer: TypeObserver<'_>, limits: &Limits) -> Result<()> {
    match value {
        Value::Nil => observer.null(),
        Value::Bool(_) => observer.bool(),
        Value::Unsigned(value) => observer.u64(value),
        Value::Negative(value) => observer.i64(value),
        Value::F32(_) => observer.f32(),
        Value::F64(_) => observer.f64(),
        // What JSON has for floats that are not finite comes here with it.
        Value::Str(bytes @ (b"NaN" | b"Infinity" | b"-Infinity")) => {
            observer.str(std::str::from_utf8(bytes).unwrap_or_default())
        }
        Value::Str(bytes) => observer.text(bytes.len()),
        Value::Bin(bytes) => observer.bytes(bytes.len()),
        Value::Other => observer.other(),
        Value::Scalar(scalar) => item(scalar.item(), scalar.data(), observer),
        Value::Array(array) => return of_array(&array, observer),
        Value::List(count) => {
            let mut list = observer.list();
            for _ in 0..count {
                let at = tokens.offset();
                let element = list.element()?;
                read(tokens).and_then(|value| observe(value, tokens, element, limits)).map_err(|error| error.at(at))?;
            }
            list.end();
        }
        Value::Map(count) => {
            let mut object = observer.object();
            for _ in 0..count {
                let name = Name::read(tokens)?;
                let at = tokens.offset();
                let member = match name.text()? {
                    Some(name) => object.member(name)?,
                    None => object.member(&name.shown(limits)?)?,
                };
                read(tokens).and_then(|value| observe(value, tokens, member, limits)).map_err(|error| error.at(at))?;
            }
        }
    }
    Ok(())
}

/// Looks at an element. One that is nothing to columns is its bytes.
fn item(item: Result<Item<'_>>, bytes: &[u8], observer: TypeObserver<'_>) {
    match item {
        Ok(item) if is_no_time(&item) => observer.null(),
        Ok(Item::Bool(_)) => observer.bool(),
        Ok(Item::Int(value) | Item::Datetime(value, _) | Item::Timedelta(value, _)) => observer.i64(value),
        Ok(Item::Uint(value)) => observer.u64(value),
        Ok(Item::F16(_)) => observer.f16(),
        Ok(Item::F32(_)) => observer.f32(),
        Ok(Item::F64(_)) => observer.f64(),
        Ok(Item::Text(text)) => observer.text(text.len()),
        Ok(Item::Bytes(bytes)) => observer.bytes(bytes.len()),
        Ok(Item::Complex32(_) | Item::Complex64(_)) => observer.other(),
        Ok(Item::Opaque(..) | Item::Record(_)) | Err(_) => observer.bytes(bytes.len()),
    }
}

fn of_array(array: &NdArray<'_>, observer: TypeObserver<'_>) -> Result<()> {
    match Form::of(array) {
        Form::Item => item(array.get(&[]), array.data(), observer),
        Form::Tensor(element, _) => observer.tensor(element, Shape::of(array).as_slice()),
        Form::List => {
            let mut list = observer.list();
            for each in array.items() {
                item(each, &[], list.element()?);
            }
            list.end();
        }
        Form::Other => observer.other(),
    }
    Ok(())
}
