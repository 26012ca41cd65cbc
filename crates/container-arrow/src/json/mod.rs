//! JSON texts, looked at and put into columns, in one pass each and without a tree of values.
//!
//! A text is what RFC 8259 says, and nothing else: everything is checked, also what goes into no column. Of members of the same name the last one
//! is put (and all are looked at). An integer beyond 64 bits is a float if one holds it exactly; else, and where a number is greater than any float, it
//! fits no column of numbers. `-0` is a float. The texts `NaN`, `Infinity` and `-Infinity` are floats in a column that has numbers and no other
//! texts, and in one that is declared to be of floats. An object whose only member is `$bytes`, with base64 in its canonical form, is bytes, and one
//! whose only member is `$sparse`, with the `length`, `indices` and `values` of a sparse vector, is a list of all its slots: rows show them so. Nothing
//! else has a meaning of its own.

mod parse;

#[cfg(test)]
mod tests;

use container_core::{Limits, Result};
use serde_json::Value;

use self::parse::{Number, Parser, Quoted, Sparse};
use crate::build::{ObjectSlot, Slot, SlotEncoding};
use crate::observe::{Class, ObjectObserver, TypeObserver};

/// A reader of JSON texts. What it keeps is room for strings with escapes.
///
/// ```
/// use std::sync::Arc;
/// use container_core::Limits;
/// use container_arrow::{BatchScan, Columns, Json, Observation, resolve_schema};
///
/// let (limits, scan) = (Limits::default(), BatchScan::default());
/// let mut json = Json::new(&limits);
/// let texts = [r#"{"a":1,"b":["x"]}"#, r#"{"a":2.5}"#];
/// let mut seen = Observation::new(limits);
/// for (row, text) in (0..).zip(texts) {
///     json.observe(text.as_bytes(), seen.row(row))?;
/// }
/// let schema = resolve_schema(&seen, &scan.mapping)?;
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
/// Those of each method: [`Invalid`](container_core::ErrorKind::Invalid) or [`Truncated`](container_core::ErrorKind::Truncated) with the byte of the text, from 0,
/// for what is no JSON; [`Limit`](container_core::ErrorKind::Limit) for more brackets in each other than the limits allow; and those of the places where values
/// are told or put.
impl Json {
    /// A reader that goes as deep as these limits allow.
    #[must_use]
    pub fn new(limits: &Limits) -> Self {
        Self { scratch: String::new(), depth: limits.depth }
    }

    /// Looks at a text, whatever value it is.
    ///
    /// # Errors
    /// See above.
    pub fn observe(&mut self, json: &[u8], observer: TypeObserver<'_>) -> Result<()> {
        let mut parser = Parser::new(json, &mut self.scratch, self.depth)?;
        observe(&mut parser, observer)?;
        parser.end()
    }

    /// Looks at the members of a text that is an object.
    ///
    /// # Errors
    /// See above; [`Invalid`](container_core::ErrorKind::Invalid) for another value.
    pub fn observe_members(&mut self, json: &[u8], observer: &mut ObjectObserver<'_>) -> Result<()> {
        let mut parser = Parser::new(json, &mut self.scratch, self.depth)?;
        if parser.token() != Some(b'{') {
            return Err(parser.expected("an object (\"{\")"));
        }
        observe_members(&mut parser, observer)?;
        parser.end()
    }

    /// Puts a text, whatever value it is, into a place.
    ///
    /// # Errors
    /// See above.
    pub fn append_value(&mut self, json: &[u8], slot: Slot<'_>) -> Result<()> {
        let mut parser = Parser::new(json, &mut self.scratch, self.depth)?;
        append(&mut parser, slot)?;
        parser.end()
    }

    /// Puts the members of a text that is an object into a row. Behind an error it is to be [rolled back](crate::Columns::roll_back).
    ///
    /// # Errors
    /// See above; [`Invalid`](container_core::ErrorKind::Invalid) for another value.
    pub fn append(&mut self, json: &[u8], row: &mut ObjectSlot<'_>) -> Result<()> {
        let mut parser = Parser::new(json, &mut self.scratch, self.depth)?;
        if parser.token() != Some(b'{') {
            return Err(parser.expected("an object (\"{\")"));
        }
        append_members(&mut parser, row)?;
        parser.end()
    }
}

/// A text as a tree of values: floats are exact, and a number that neither 64 bits nor a float holds is its text.
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

/// A sparse vector is a list of all its slots.
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
    // Where nothing has a value nobody knows what the others would be.
    if !sparse.indices.is_empty() && sparse.indices.len() < sparse.length {
        let other = list.element()?;
        match zero {
            Zero::Number => other.i64(0),
            Zero::Text => other.str(""),
            Zero::Bool => other.bool(),
        }
    }
    list.end_sparse(sparse.length as u64);
    parser.at = end;
    Ok(())
}

/// What the slots of a sparse vector are that have no value.
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
    for place in 0..sparse.length {
        let element = list.element()?;
        if indices.next_if(|index| **index == place).is_some() && parser.element(&mut is_first)? {
            append(parser, element)?;
        } else {
            element.zero()?;
        }
    }
    // Behind the last: the bracket that closes.
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
            None => parser.pass_over()?,
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
            parser.pass_over()?;
            return slot.json(parser.since(start));
        }
        SlotEncoding::Msgpack => {
            parser.pass_over()?;
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
                None => parser.pass_over(),
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
            None => parser.pass_over(),
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
