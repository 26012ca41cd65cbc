//! Reads JSON into observations and columns, in one pass and without a tree of values.
//!
//! Input is validated against RFC 8259, including values that are skipped. Conventions:
//!
//! * Of duplicate members the last one is stored; all are observed.
//! * An integer beyond 64 bits is a float if `f64` represents it exactly; otherwise, as any number out of range, it fits no numeric column. `-0` is a
//!   float.
//! * `"NaN"`, `"Infinity"` and `"-Infinity"` are floats in a column of numbers without other text, and in a declared float column.
//! * An object whose only member is `$bytes`, with canonical base64, is binary. One whose only member is `$sparse`, with `length`, `indices` and
//!   `values`, is a sparse vector: a list of all its elements. [`JsonRows`](crate::JsonRows) writes binary this way. An object that only has these
//!   names is the member of one whose only member is `$escape`.

mod parse;

#[cfg(test)]
mod tests;

use container_core::json::{Number, Tokenizer};
use container_core::{Error, Limits, Result};
use serde_json::Value;

use self::parse::{Sparse, bytes_object, escaped_object, sparse_object, text};
use crate::build::{ObjectSlot, Slot, SlotEncoding};
use crate::observe::{Class, ObjectObserver, TypeObserver};

/// A JSON reader. Reuse it to avoid allocations.
///
/// ```
/// use std::sync::Arc;
/// use container_core::Limits;
/// use container_arrow::{BatchScan, Columns, Json, Observation, resolve_schema};
///
/// let (limits, scan) = (Limits::default(), BatchScan::default());
/// let mut json = Json::new(&limits);
/// let texts = [r#"{"a":1,"b":["x"]}"#, r#"{"a":2.5}"#];
/// let mut observation = Observation::new(limits);
/// for (row, text) in (0..).zip(texts) {
///     json.observe(text.as_bytes(), observation.row(row))?;
/// }
/// let schema = resolve_schema(&observation, &scan.mapping)?;
/// let mut columns = Columns::new(Arc::new(schema), &scan, &limits)?;
/// for (row, text) in (0..).zip(texts) {
///     let mut object = columns.row(row);
///     json.append(text.as_bytes(), &mut object)?;
///     object.end();
/// }
/// assert_eq!(columns.finish()?.num_rows(), 2);
/// # Ok::<(), container_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Json {
    scratch: String,
    depth: u32,
}

/// # Errors
/// All methods return [`Invalid`](container_core::ErrorKind::Invalid) or [`Truncated`](container_core::ErrorKind::Truncated) with the offset in the text
/// for invalid JSON; [`Limit`](container_core::ErrorKind::Limit) for nesting beyond the limits; and errors of the observer or slot.
impl Json {
    /// Creates a reader. [`Limits::depth`] bounds nesting.
    #[must_use]
    pub fn new(limits: &Limits) -> Self {
        Self { scratch: String::new(), depth: limits.depth }
    }

    /// Observes a value.
    ///
    /// # Errors
    /// See above.
    pub fn observe(&mut self, json: &[u8], observer: TypeObserver<'_>) -> Result<()> {
        let mut json = tokens(json, self.depth)?;
        observe(&mut json, &mut self.scratch, observer)?;
        json.end(END)
    }

    /// Observes the members of an object.
    ///
    /// # Errors
    /// See above; [`Invalid`](container_core::ErrorKind::Invalid) if the text is not an object.
    pub fn observe_members(&mut self, json: &[u8], observer: &mut ObjectObserver<'_>) -> Result<()> {
        let mut json = object(json, self.depth)?;
        observe_members(&mut json, &mut self.scratch, observer)?;
        json.end(END)
    }

    /// Appends a value to a slot.
    ///
    /// # Errors
    /// See above.
    pub fn append_value(&mut self, json: &[u8], slot: Slot<'_>) -> Result<()> {
        let mut json = tokens(json, self.depth)?;
        append(&mut json, &mut self.scratch, slot)?;
        json.end(END)
    }

    /// Appends the members of an object to a row. [Roll the row back](crate::Columns::roll_back) after an error.
    ///
    /// # Errors
    /// See above; [`Invalid`](container_core::ErrorKind::Invalid) if the text is not an object.
    pub fn append(&mut self, json: &[u8], row: &mut ObjectSlot<'_>) -> Result<()> {
        let mut json = object(json, self.depth)?;
        append_members(&mut json, &mut self.scratch, row)?;
        json.end(END)
    }
}

/// What is expected after a value.
const END: &str = "the end of the JSON";

fn tokens(json: &[u8], depth: u32) -> Result<Tokenizer<'_>> {
    let text = std::str::from_utf8(json)
        .map_err(|error| Error::invalid("invalid UTF-8 in JSON").at(error.valid_up_to() as u64))?;
    Ok(Tokenizer::new(text, depth))
}

fn object(json: &[u8], depth: u32) -> Result<Tokenizer<'_>> {
    let mut json = tokens(json, depth)?;
    if json.token() == Some(b'{') { Ok(json) } else { Err(json.expected("an object (\"{\")")) }
}

/// Parses JSON into a tree of values. A number that neither 64-bit integers nor floats represent becomes its text.
pub(super) fn tree(json: &str) -> Result<Value> {
    let mut json = Tokenizer::new(json, Limits::default().depth);
    let value = value(&mut json, &mut String::new())?;
    json.end(END).map(|()| value)
}

fn value(json: &mut Tokenizer<'_>, scratch: &mut String) -> Result<Value> {
    Ok(match json.token() {
        Some(b'"') => text(json.string()?, scratch).into(),
        Some(b'{') => {
            json.open()?;
            let (mut members, mut is_first) = (serde_json::Map::new(), true);
            while let Some(name) = json.member(&mut is_first)? {
                let name = text(name, scratch).to_owned();
                members.insert(name, value(json, scratch)?);
            }
            Value::Object(members)
        }
        Some(b'[') => {
            json.open()?;
            let (mut elements, mut is_first) = (Vec::new(), true);
            while json.element(&mut is_first)? {
                elements.push(value(json, scratch)?);
            }
            Value::Array(elements)
        }
        Some(b't') => json.word("true").map(|()| Value::Bool(true))?,
        Some(b'f') => json.word("false").map(|()| Value::Bool(false))?,
        Some(b'n') => json.word("null").map(|()| Value::Null)?,
        _ => {
            let start = json.position();
            match json.number()? {
                Number::I64(number) => number.into(),
                Number::U64(number) => number.into(),
                Number::F64(number) => number.into(),
                _ => json.since(start).into(),
            }
        }
    })
}

fn observe(json: &mut Tokenizer<'_>, scratch: &mut String, observer: TypeObserver<'_>) -> Result<()> {
    match json.token() {
        Some(b'"') => observer.str(text(json.string()?, scratch)),
        Some(b'{') if escaped_object(json) => {
            observe_members(json, scratch, &mut observer.object())?;
            json.member(&mut false)?; // the end of the outer object
        }
        Some(b'{') => match bytes_object(json) {
            Some(bytes) => observer.bytes(bytes.len()),
            None => match sparse_object(json) {
                Some(sparse) => observe_sparse(sparse, scratch, observer)?,
                None => observe_members(json, scratch, &mut observer.object())?,
            },
        },
        Some(b'[') => {
            json.open()?;
            let mut list = observer.list();
            let mut is_first = true;
            while json.element(&mut is_first)? {
                observe(json, scratch, list.element()?)?;
            }
            list.end();
        }
        Some(b't') => {
            json.word("true")?;
            observer.bool();
        }
        Some(b'f') => {
            json.word("false")?;
            observer.bool();
        }
        Some(b'n') => {
            json.word("null")?;
            observer.null();
        }
        _ => match json.number()? {
            Number::I64(value) => observer.i64(value),
            Number::U64(value) => observer.u64(value),
            Number::F64(_) => observer.f64(),
            _ => observer.number(),
        },
    }
    Ok(())
}

/// Observes a sparse vector as a list of all its elements.
#[cold]
fn observe_sparse(sparse: Sparse<'_>, scratch: &mut String, observer: TypeObserver<'_>) -> Result<()> {
    let Sparse { length, indices, values: mut json } = sparse;
    let mut list = observer.list();
    json.open()?;
    let (mut is_first, mut zero) = (true, Zero::Number);
    while json.element(&mut is_first)? {
        zero = match json.token() {
            Some(b'"') => match json.clone().string()?.plain() {
                Some("NaN" | "Infinity" | "-Infinity") => zero,
                _ => Zero::Text,
            },
            Some(b't' | b'f') => Zero::Bool,
            _ => zero,
        };
        observe(&mut json, scratch, list.element()?)?;
    }
    // Without explicit values the type of the zeros is unknown.
    if !indices.is_empty() && (indices.len() as u64) < length {
        let element = list.element()?;
        match zero {
            Zero::Number => element.i64(0),
            Zero::Text => element.str(""),
            Zero::Bool => element.bool(),
        }
    }
    list.end_sparse(length);
    Ok(())
}

/// The type of the implicit elements of a sparse vector.
#[derive(Clone, Copy)]
enum Zero {
    Number,
    Text,
    Bool,
}

#[cold]
fn append_sparse(sparse: Sparse<'_>, scratch: &mut String, slot: Slot<'_>) -> Result<()> {
    let Some(mut list) = slot.list()? else { return Ok(()) };
    let Sparse { length, indices, values: mut json } = sparse;
    json.open()?;
    let (mut indices, mut is_first) = (indices.into_iter().peekable(), true);
    for index in 0..length {
        let element = list.element()?;
        if indices.next_if_eq(&index).is_some() && json.element(&mut is_first)? {
            append(&mut json, scratch, element)?;
        } else {
            element.zero()?;
        }
    }
    list.end()
}

fn observe_members(json: &mut Tokenizer<'_>, scratch: &mut String, object: &mut ObjectObserver<'_>) -> Result<()> {
    json.open()?;
    let mut is_first = true;
    while let Some(name) = json.member(&mut is_first)? {
        let observer = object.member(text(name, scratch))?;
        observe(json, scratch, observer)?;
    }
    Ok(())
}

fn append_members(json: &mut Tokenizer<'_>, scratch: &mut String, object: &mut ObjectSlot<'_>) -> Result<()> {
    json.open()?;
    let mut is_first = true;
    while let Some(name) = json.member(&mut is_first)? {
        match object.member(text(name, scratch)) {
            Some(slot) => append(json, scratch, slot)?,
            None => json.skip_value()?,
        }
    }
    Ok(())
}

fn append_object(json: &mut Tokenizer<'_>, scratch: &mut String, slot: Slot<'_>) -> Result<()> {
    match slot.object()? {
        Some(mut object) => {
            append_members(json, scratch, &mut object)?;
            object.end();
            Ok(())
        }
        None => json.skip_value(),
    }
}

fn append(json: &mut Tokenizer<'_>, scratch: &mut String, slot: Slot<'_>) -> Result<()> {
    let byte = json.token();
    if byte == Some(b'n') {
        json.word("null")?;
        slot.null();
        return Ok(());
    }
    match slot.encoding() {
        SlotEncoding::Value => {}
        SlotEncoding::Json => {
            let start = json.position();
            json.skip_value()?;
            return slot.json(json.since(start));
        }
        SlotEncoding::Msgpack => {
            json.skip_value()?;
            return slot.on_mismatch(Class::Text);
        }
    }
    match byte {
        Some(b'"') => slot.str(text(json.string()?, scratch)),
        Some(b'{') => {
            if escaped_object(json) {
                append_object(json, scratch, slot)?;
                return json.member(&mut false).map(drop); // the end of the outer object
            }
            if !slot.is_object()
                && let Some(bytes) = bytes_object(json)
            {
                return slot.bytes(&bytes);
            }
            if !slot.is_object()
                && let Some(sparse) = sparse_object(json)
            {
                return append_sparse(sparse, scratch, slot);
            }
            append_object(json, scratch, slot)
        }
        Some(b'[') => match slot.list()? {
            Some(mut list) => {
                json.open()?;
                let mut is_first = true;
                while json.element(&mut is_first)? {
                    append(json, scratch, list.element()?)?;
                }
                list.end()
            }
            None => json.skip_value(),
        },
        Some(b't') => {
            json.word("true")?;
            slot.bool(true)
        }
        Some(b'f') => {
            json.word("false")?;
            slot.bool(false)
        }
        _ => match json.number()? {
            Number::I64(value) => slot.i64(value),
            Number::U64(value) => slot.u64(value),
            Number::F64(value) => slot.f64(value),
            _ => slot.on_mismatch(Class::Number),
        },
    }
}
