//! Observes the values of fields to infer their types.

use std::ops::Range;

use container_arrow::{Observation, OnMismatch, TypeObserver};
use container_core::{Error, Limits, Result};

use super::lookup::Lookup;
use super::numpy_type::{NumpyType, NumpyTypes};
use super::value::{ArrayKind, Name, Shape, Value, is_nat, read, sparse};
use crate::numpy::{Item, NdArray};
use crate::read::{Reader, Sample};
use crate::sparse::Sparse;
use crate::wire::{Token, Tokens};

/// The fields to observe, and their column names.
#[derive(Debug)]
pub(super) enum Fields {
    /// All fields; their names must be str.
    Strings,
    /// These fields, with the column names by index.
    Known(Lookup, Vec<String>),
}

/// Observes samples.
#[derive(Debug)]
pub(super) struct Observer<'f> {
    fields: &'f Fields,
    limits: Limits,
    on_mismatch: OnMismatch,
    pub(super) observation: Observation,
    pub(super) numpy_types: NumpyTypes,
}

/// Why observation ended.
#[derive(Debug)]
pub(super) enum Stop {
    /// A field name is not a str, although [`Fields::Strings`] was given.
    NonStringName,
    Failed(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl<'f> Observer<'f> {
    pub(super) fn new(fields: &'f Fields, limits: Limits, on_mismatch: OnMismatch) -> Self {
        let (observation, numpy_types) = (Observation::new(limits), NumpyTypes::default());
        Self { fields, limits, on_mismatch, observation, numpy_types }
    }

    /// Observes some rows.
    pub(super) fn observe_rows(mut self, reader: &Reader, rows: Range<u64>) -> Result<Self, Stop> {
        for sample in reader.samples(rows)? {
            let sample = sample?;
            self.sample(&sample).map_err(|stop| match stop {
                Stop::NonStringName => Stop::NonStringName,
                Stop::Failed(error) => Stop::Failed(in_sample(&sample, error)),
            })?;
        }
        Ok(self)
    }

    pub(super) fn merge(&mut self, other: Self) -> Result<()> {
        self.numpy_types.merge(other.numpy_types);
        self.observation.merge(other.observation)
    }

    fn sample(&mut self, sample: &Sample<'_>) -> Result<(), Stop> {
        let mut tokens = sample.raw().tokens();
        let Self { fields, limits, observation, numpy_types, .. } = self;
        let count = match tokens.next()? {
            Token::Map(count) => count,
            other if self.on_mismatch == OnMismatch::Error => return Err(not_a_map(&other, sample.offset()).into()),
            _ => return Ok(()),
        };
        let mut object = observation.row(sample.index()).object();
        let mut expected = 0;
        for _ in 0..count {
            let name = Name::read(&mut tokens)?;
            let column = match fields {
                Fields::Strings => name.text()?.ok_or(Stop::NonStringName)?,
                Fields::Known(lookup, names) => {
                    match lookup.find(&name, expected).and_then(|index| Some((index, names.get(index)?))) {
                        Some((index, column)) => {
                            expected = index + 1;
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
            let result = read(&mut tokens).and_then(|value| {
                if let Some(numpy_type) = NumpyType::of(&value)
                    && !is_null(&value)
                {
                    numpy_types.observe(column, numpy_type);
                }
                observe(value, &mut tokens, object.member(column)?, limits)
            });
            result.map_err(|error| error.at(at).in_column(column.to_owned()))?;
        }
        Ok(())
    }
}

/// Adds the row and the key of a sample to an error.
#[cold]
pub(super) fn in_sample(sample: &Sample<'_>, error: Error) -> Error {
    let error = match sample.key() {
        Ok(key) => error.in_key(key.to_owned()),
        Err(_) => error,
    };
    sample.in_sample(error)
}

/// The error for a sample that is not a map.
#[cold]
pub(super) fn not_a_map(found: &Token<'_>, at: u64) -> Error {
    let found = found.name();
    Error::invalid(format!("expected a map as sample, found {found}"))
        .advising("{on_mismatch} null or json leaves it out")
        .at(at)
}

fn is_null(value: &Value<'_>) -> bool {
    match value {
        Value::Scalar(scalar) => scalar.item().is_ok_and(|item| is_nat(&item)),
        Value::Array(array) if array.shape().is_empty() => array.get(&[]).is_ok_and(|item| is_nat(&item)),
        _ => false,
    }
}

/// Observes a value whose header was read.
fn observe(value: Value<'_>, tokens: &mut Tokens<'_>, observer: TypeObserver<'_>, limits: &Limits) -> Result<()> {
    match value {
        Value::Nil => observer.null(),
        Value::Bool(_) => observer.bool(),
        Value::Unsigned(value) => observer.u64(value),
        Value::Negative(value) => observer.i64(value),
        Value::F32(_) => observer.f32(),
        Value::F64(_) => observer.f64(),
        // In JSON these strings can stand for floats.
        Value::Str(bytes @ (b"NaN" | b"Infinity" | b"-Infinity")) => {
            observer.str(std::str::from_utf8(bytes).unwrap_or_default())
        }
        Value::Str(bytes) => observer.text(bytes.len()),
        Value::Bin(bytes) => observer.bytes(bytes.len()),
        Value::Other => observer.other(),
        Value::Scalar(scalar) => observe_item(scalar.item(), scalar.data(), observer),
        Value::Array(array) => return observe_array(&array, observer),
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
            if let Some(sparse) = sparse(tokens, count) {
                return observe_sparse(&sparse, observer, limits);
            }
            let mut object = observer.object();
            for _ in 0..count {
                let name = Name::read(tokens)?;
                let at = tokens.offset();
                let member = match name.text()? {
                    Some(name) => object.member(name)?,
                    None => object.member(&name.display(limits)?)?,
                };
                read(tokens).and_then(|value| observe(value, tokens, member, limits)).map_err(|error| error.at(at))?;
            }
        }
    }
    Ok(())
}

/// Observes a sparse vector as the list of its elements.
fn observe_sparse(sparse: &Sparse<'_>, observer: TypeObserver<'_>, limits: &Limits) -> Result<()> {
    let mut list = observer.list();
    let mut zero: fn(TypeObserver<'_>) = |observer| observer.i64(0);
    for item in sparse.values.items()? {
        let item = item?;
        let mut tokens = item.tokens();
        let value = read(&mut tokens)?;
        match &value {
            Value::F32(_) => zero = |observer| observer.f32(),
            Value::Bool(_) => zero = |observer| observer.bool(),
            Value::Str(b"NaN" | b"Infinity" | b"-Infinity") => {}
            Value::Str(_) => zero = |observer| observer.str(""),
            _ => {}
        }
        observe(value, &mut tokens, list.element()?, limits).map_err(|error| error.at(item.offset()))?;
    }
    // Without explicit values the type of the zeros is unknown.
    if !sparse.indices.is_empty() && (sparse.indices.len() as u64) < sparse.length {
        zero(list.element()?);
    }
    list.end_sparse(sparse.length);
    Ok(())
}

/// Observes an element. Unsupported ones are observed as their bytes.
fn observe_item(item: Result<Item<'_>>, bytes: &[u8], observer: TypeObserver<'_>) {
    match item {
        Ok(item) if is_nat(&item) => observer.null(),
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

fn observe_array(array: &NdArray<'_>, observer: TypeObserver<'_>) -> Result<()> {
    match ArrayKind::of(array) {
        ArrayKind::Item => observe_item(array.get(&[]), array.data(), observer),
        ArrayKind::Tensor(element, _) => observer.tensor(element, Shape::of(array).as_slice()),
        ArrayKind::List => {
            let mut list = observer.list();
            for each in array.items() {
                observe_item(each, &[], list.element()?);
            }
            list.end();
        }
        ArrayKind::Other => observer.other(),
    }
    Ok(())
}
