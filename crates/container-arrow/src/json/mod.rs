//! Reads JSON into observations and columns, in one pass and without a tree of values.
//!
//! Input is validated against RFC 8259, including values that are skipped. Conventions:
//!
//! * Of duplicate members the last one is stored; all are observed.
//! * An integer beyond 64 bits is a float if `f64` represents it exactly; otherwise, as any number out of range, it fits no numeric column. `-0` is a
//!   float.
//! * `"NaN"`, `"Infinity"` and `"-Infinity"` are floats in a column of numbers without other text, and in a declared float column.
//! * An object whose only member is `$bytes`, with canonical base64, is binary. One whose only member is `$sparse`, with `length`, `indices` and
//!   `values`, is a sparse vector: a list of all its elements. [`JsonRows`](crate::JsonRows) writes binary this way.

mod parse;

#[cfg(test)]
mod tests;

use container_core::{Limits, Result};
use serde_json::Value;

use self::parse::{Number, Parser, Quoted, Sparse};
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
        let mut parser = Parser::new(json, &mut self.scratch, self.depth)?;
        observe(&mut parser, observer)?;
        parser.end()
    }

    /// Observes the members of an object.
    ///
    /// # Errors
    /// See above; [`Invalid`](container_core::ErrorKind::Invalid) if the text is not an object.
    pub fn observe_members(&mut self, json: &[u8], observer: &mut ObjectObserver<'_>) -> Result<()> {
        let mut parser = Parser::new(json, &mut self.scratch, self.depth)?;
        if parser.token() != Some(b'{') {
            return Err(parser.expected("an object (\"{\")"));
        }
        observe_members(&mut parser, observer)?;
        parser.end()
    }

    /// Appends a value to a slot.
    ///
    /// # Errors
    /// See above.
    pub fn append_value(&mut self, json: &[u8], slot: Slot<'_>) -> Result<()> {
        let mut parser = Parser::new(json, &mut self.scratch, self.depth)?;
        append(&mut parser, slot)?;
        parser.end()
    }

    /// Appends the members of an object to a row. [Roll the row back](crate::Columns::roll_back) after an error.
    ///
    /// # Errors
    /// See above; [`Invalid`](container_core::ErrorKind::Invalid) if the text is not an object.
    pub fn append(&mut self, json: &[u8], row: &mut ObjectSlot<'_>) -> Result<()> {
        let mut parser = Parser::new(json, &mut self.scratch, self.depth)?;
        if parser.token() != Some(b'{') {
            return Err(parser.expected("an object (\"{\")"));
        }
        append_members(&mut parser, row)?;
        parser.end()
    }
}

/// Parses JSON into a tree of values. A number that neither 64-bit integers nor floats represent becomes its text.
pub(super) fn tree(json: &str) -> Result<Value> {
    let mut scratch = String::new();
    let mut parser = Parser::new(json.as_bytes(), &mut scratch, Limits::default().depth)?;
    let value = value(&mut parser)?;
    parser.end().map(|()| value)
}

fn value(parser: &mut Parser<'_>) -> Result<Value> {
    let text = |parser: &Parser<'_>, text: Quoted<'_>| match text {
        Quoted::Plain(text) => text.to_owned(),
        Quoted::Scratch => parser.scratch.clone(),
    };
    Ok(match parser.token() {
        Some(b'"') => {
            let string = parser.string()?;
            Value::String(text(parser, string))
        }
        Some(b'{') => {
            parser.open()?;
            let mut members = serde_json::Map::new();
            let mut is_first = true;
            while let Some(name) = parser.member(&mut is_first)? {
                let name = text(parser, name);
                members.insert(name, value(parser)?);
            }
            Value::Object(members)
        }
        Some(b'[') => {
            parser.open()?;
            let mut elements = Vec::new();
            let mut is_first = true;
            while parser.element(&mut is_first)? {
                elements.push(value(parser)?);
            }
            Value::Array(elements)
        }
        Some(b't') => parser.word("true").map(|()| Value::Bool(true))?,
        Some(b'f') => parser.word("false").map(|()| Value::Bool(false))?,
        Some(b'n') => parser.word("null").map(|()| Value::Null)?,
        _ => {
            let start = parser.at;
            match parser.number()? {
                Number::I64(number) => number.into(),
                Number::U64(number) => number.into(),
                Number::F64(number) => number.into(),
                Number::Beyond => parser.since(start).into(),
            }
        }
    })
}

fn observe(parser: &mut Parser<'_>, observer: TypeObserver<'_>) -> Result<()> {
    match parser.token() {
        Some(b'"') => {
            let text = match parser.string()? {
                Quoted::Plain(text) => text,
                Quoted::Scratch => parser.scratch.as_str(),
            };
            observer.str(text);
        }
        Some(b'{') => match parser.bytes_object() {
            Some(bytes) => observer.bytes(bytes.len()),
            None => match parser.sparse_object() {
                Some(sparse) => observe_sparse(parser, &sparse, observer)?,
                None => observe_members(parser, &mut observer.object())?,
            },
        },
        Some(b'[') => {
            parser.open()?;
            let mut list = observer.list();
            let mut is_first = true;
            while parser.element(&mut is_first)? {
                observe(parser, list.element()?)?;
            }
            list.end();
        }
        Some(b't') => {
            parser.word("true")?;
            observer.bool();
        }
        Some(b'f') => {
            parser.word("false")?;
            observer.bool();
        }
        Some(b'n') => {
            parser.word("null")?;
            observer.null();
        }
        _ => match parser.number()? {
            Number::I64(value) => observer.i64(value),
            Number::U64(value) => observer.u64(value),
            Number::F64(_) => observer.f64(),
            Number::Beyond => observer.number(),
        },
    }
    Ok(())
}

/// Observes a sparse vector as a list of all its elements.
#[cold]
fn observe_sparse(parser: &mut Parser<'_>, sparse: &Sparse, observer: TypeObserver<'_>) -> Result<()> {
    let end = std::mem::replace(&mut parser.at, sparse.values);
    let mut list = observer.list();
    parser.open()?;
    let (mut is_first, mut zero) = (true, Zero::Number);
    while parser.element(&mut is_first)? {
        zero = match parser.token() {
            Some(b'"') => {
                let start = parser.at;
                let text = parser.string()?;
                let is_float = matches!(text, Quoted::Plain("NaN" | "Infinity" | "-Infinity"));
                parser.at = start;
                if is_float { zero } else { Zero::Text }
            }
            Some(b't' | b'f') => Zero::Bool,
            _ => zero,
        };
        observe(parser, list.element()?)?;
    }
    // Without explicit values the type of the zeros is unknown.
    if !sparse.indices.is_empty() && sparse.indices.len() < sparse.length {
        let element = list.element()?;
        match zero {
            Zero::Number => element.i64(0),
            Zero::Text => element.str(""),
            Zero::Bool => element.bool(),
        }
    }
    list.end_sparse(sparse.length as u64);
    parser.at = end;
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
fn append_sparse(parser: &mut Parser<'_>, sparse: &Sparse, slot: Slot<'_>) -> Result<()> {
    let Some(mut list) = slot.list()? else { return Ok(()) };
    let end = std::mem::replace(&mut parser.at, sparse.values);
    parser.open()?;
    let (mut indices, mut is_first) = (sparse.indices.iter().peekable(), true);
    for index in 0..sparse.length {
        let element = list.element()?;
        if indices.next_if(|next| **next == index).is_some() && parser.element(&mut is_first)? {
            append(parser, element)?;
        } else {
            element.zero()?;
        }
    }
    // Consume the closing bracket.
    parser.element(&mut is_first)?;
    parser.at = end;
    list.end()
}

fn observe_members(parser: &mut Parser<'_>, object: &mut ObjectObserver<'_>) -> Result<()> {
    parser.open()?;
    let mut is_first = true;
    while let Some(name) = parser.member(&mut is_first)? {
        let observer = match name {
            Quoted::Plain(name) => object.member(name)?,
            Quoted::Scratch => object.member(parser.scratch.as_str())?,
        };
        observe(parser, observer)?;
    }
    Ok(())
}

fn append_members(parser: &mut Parser<'_>, object: &mut ObjectSlot<'_>) -> Result<()> {
    parser.open()?;
    let mut is_first = true;
    while let Some(name) = parser.member(&mut is_first)? {
        let slot = match name {
            Quoted::Plain(name) => object.member(name),
            Quoted::Scratch => object.member(parser.scratch.as_str()),
        };
        match slot {
            Some(slot) => append(parser, slot)?,
            None => parser.skip_value()?,
        }
    }
    Ok(())
}

fn append(parser: &mut Parser<'_>, slot: Slot<'_>) -> Result<()> {
    let byte = parser.token();
    if byte == Some(b'n') {
        parser.word("null")?;
        slot.null();
        return Ok(());
    }
    match slot.encoding() {
        SlotEncoding::Value => {}
        SlotEncoding::Json => {
            let start = parser.at;
            parser.skip_value()?;
            return slot.json(parser.since(start));
        }
        SlotEncoding::Msgpack => {
            parser.skip_value()?;
            return slot.on_mismatch(Class::Text);
        }
    }
    match byte {
        Some(b'"') => match parser.string()? {
            Quoted::Plain(text) => slot.str(text),
            Quoted::Scratch => slot.str(parser.scratch),
        },
        Some(b'{') => {
            if !slot.is_object()
                && let Some(bytes) = parser.bytes_object()
            {
                return slot.bytes(&bytes);
            }
            if !slot.is_object()
                && let Some(sparse) = parser.sparse_object()
            {
                return append_sparse(parser, &sparse, slot);
            }
            match slot.object()? {
                Some(mut object) => {
                    append_members(parser, &mut object)?;
                    object.end();
                    Ok(())
                }
                None => parser.skip_value(),
            }
        }
        Some(b'[') => match slot.list()? {
            Some(mut list) => {
                parser.open()?;
                let mut is_first = true;
                while parser.element(&mut is_first)? {
                    append(parser, list.element()?)?;
                }
                list.end()
            }
            None => parser.skip_value(),
        },
        Some(b't') => {
            parser.word("true")?;
            slot.bool(true)
        }
        Some(b'f') => {
            parser.word("false")?;
            slot.bool(false)
        }
        _ => match parser.number()? {
            Number::I64(value) => slot.i64(value),
            Number::U64(value) => slot.u64(value),
            Number::F64(value) => slot.f64(value),
            Number::Beyond => slot.on_mismatch(Class::Number),
        },
    }
}
