//! Parses JSON into a tree of values, as `serde_json` does, but faster.
//!
//! UTF-8 is validated once instead of string by string, and values are built directly instead of through serde's generic data model. Unusual
//! input (nesting deeper than 100, unpaired surrogates, large numbers) and errors are left to `serde_json`.

use std::borrow::Cow;
use std::sync::LazyLock;

use container_core::json::{Number, Quoted, Tokenizer};
use serde_json::{Map, Value};

/// Deeper values are left to `serde_json`.
const MAX_DEPTH: u32 = 100;

/// Whether `serde_json` keeps numbers as numbers, not as text. Any crate in the build may enable its feature `arbitrary_precision`.
static HAS_PLAIN_NUMBERS: LazyLock<bool> = LazyLock::new(|| {
    let number: Result<Value, _> = serde_json::from_str("1.50");
    number.is_ok_and(|number| serde_json::to_vec(&number).is_ok_and(|text| text == b"1.5"))
});

/// Parses a JSON text.
///
/// # Errors
/// Those of `serde_json`.
pub fn parse(json: &[u8]) -> serde_json::Result<Value> {
    match parse_fast(json) {
        Some(value) => Ok(value),
        None => serde_json::from_slice(json),
    }
}

/// Parses a JSON text; `None` if it has to be left to `serde_json`.
fn parse_fast(json: &[u8]) -> Option<Value> {
    if !*HAS_PLAIN_NUMBERS {
        return None;
    }
    let mut json = Tokenizer::new(std::str::from_utf8(json).ok()?, MAX_DEPTH);
    let mut value = Value::Null;
    parse_value(&mut json, |parsed| value = parsed)?;
    json.token().is_none().then_some(value)
}

/// Parses the next value and passes it to `emit`, separately for each kind: moving a freshly built value would stall until all of its parts are
/// written.
#[inline(always)]
fn parse_value(json: &mut Tokenizer<'_>, emit: impl FnOnce(Value)) -> Option<()> {
    match json.token()? {
        b'"' => emit(Value::String(string(json)?)),
        b'{' => emit(Value::Object(object(json)?)),
        b'[' => emit(Value::Array(array(json)?)),
        b't' => json.word("true").map(|()| emit(Value::Bool(true))).ok()?,
        b'f' => json.word("false").map(|()| emit(Value::Bool(false))).ok()?,
        b'n' => json.word("null").map(|()| emit(Value::Null)).ok()?,
        _ => match json.number().ok()? {
            Number::I64(number) => emit(number.into()),
            Number::U64(number) => emit(number.into()),
            Number::F64(number) => emit(serde_json::Number::from_f64(number)?.into()),
            _ => return None,
        },
    }
    Some(())
}

fn object(json: &mut Tokenizer<'_>) -> Option<Map<String, Value>> {
    json.open().ok()?;
    let (mut members, mut is_first) = (Map::new(), true);
    while let Some(name) = json.member(&mut is_first).ok()? {
        let name = owned(name)?;
        // Of duplicate members, the last one wins.
        parse_value(json, |value| drop(members.insert(name, value)))?;
    }
    Some(members)
}

fn array(json: &mut Tokenizer<'_>) -> Option<Vec<Value>> {
    json.open().ok()?;
    let (mut elements, mut is_first) = (Vec::new(), true);
    while json.element(&mut is_first).ok()? {
        parse_value(json, |value| elements.push(value))?;
    }
    Some(elements)
}

#[inline(always)] // a call takes longer than most strings
fn string(json: &mut Tokenizer<'_>) -> Option<String> {
    owned(json.string().ok()?)
}

#[inline(always)]
fn owned(quoted: Quoted<'_>) -> Option<String> {
    match quoted.plain() {
        Some(plain) => Some(plain.to_owned()),
        None => quoted.unescape().map(Cow::into_owned),
    }
}

#[cfg(test)]
mod tests;
