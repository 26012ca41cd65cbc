//! Objects that stand for other values.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use container_core::json::{Number, Quoted, Tokenizer};

/// A sparse vector.
#[derive(Debug)]
pub(super) struct Sparse<'j> {
    pub(super) length: u64,
    /// Ascending indexes of the explicit elements.
    pub(super) indices: Vec<u64>,
    /// At the list of values.
    pub(super) values: Tokenizer<'j>,
}

/// The contents of a string, decoded into `scratch` if it has escapes.
#[inline]
pub(super) fn text<'t>(quoted: Quoted<'t>, scratch: &'t mut String) -> &'t str {
    match quoted.plain() {
        Some(plain) => plain,
        None => {
            scratch.clear();
            // The tokenizer accepts no lone surrogates.
            let _ = quoted.unescape_into(scratch);
            scratch
        }
    }
}

/// Whether an object begins with this name, as it is written.
#[inline]
fn is_named(json: &Tokenizer<'_>, name: &str) -> bool {
    json.rest().get(1..).is_some_and(|members| members.trim_ascii_start().starts_with(name))
}

/// Takes an object whose only member is `"$bytes"` with base64. Returns `None` without moving for any other object.
#[inline]
pub(super) fn bytes_object(json: &mut Tokenizer<'_>) -> Option<Vec<u8>> {
    if is_named(json, r#""$bytes""#) { attempt(json, bytes_member) } else { None }
}

/// Takes an object whose only member is `"$sparse"`, an object of `length`, ascending `indices`, and their `values`. Returns `None` without moving
/// for any other object.
#[inline]
pub(super) fn sparse_object<'j>(json: &mut Tokenizer<'j>) -> Option<Sparse<'j>> {
    if is_named(json, r#""$sparse""#) { attempt(json, sparse_member) } else { None }
}

/// Takes the beginning of an object whose only member is `"$escape"` with an object, up to that object, after which `}` follows. Returns false
/// without moving for any other object.
#[inline]
pub(super) fn escaped_object(json: &mut Tokenizer<'_>) -> bool {
    is_named(json, r#""$escape""#) && attempt(json, escape_member).is_some()
}

fn escape_member(json: &mut Tokenizer<'_>) -> Option<()> {
    json.open().ok()?;
    let mut is_first = true;
    json.member(&mut is_first).ok()??;
    let is_object = json.token() == Some(b'{');
    let mut after = json.clone();
    after.skip_value().ok()?;
    (is_object && after.member(&mut is_first).ok()?.is_none()).then_some(())
}

/// Moves on only if there is a result.
#[cold]
fn attempt<'j, T>(json: &mut Tokenizer<'j>, take: fn(&mut Tokenizer<'j>) -> Option<T>) -> Option<T> {
    let mut ahead = json.clone();
    let taken = take(&mut ahead)?;
    *json = ahead;
    Some(taken)
}

fn bytes_member(json: &mut Tokenizer<'_>) -> Option<Vec<u8>> {
    json.open().ok()?;
    let mut is_first = true;
    json.member(&mut is_first).ok()??;
    if json.token() != Some(b'"') {
        return None;
    }
    let bytes = STANDARD.decode(json.string().ok()?.unescape()?.as_bytes()).ok()?;
    json.member(&mut is_first).ok()?.is_none().then_some(bytes)
}

fn sparse_member<'j>(json: &mut Tokenizer<'j>) -> Option<Sparse<'j>> {
    json.open().ok()?;
    let mut is_first = true;
    json.member(&mut is_first).ok()??;
    (json.token() == Some(b'{')).then(|| json.open().ok()).flatten()?;
    let (mut length, mut indices, mut values, mut count, mut is_inner_first) = (None, None, None, 0, true);
    while let Some(name) = json.member(&mut is_inner_first).ok()? {
        let byte = json.token();
        match (name.plain()?, byte) {
            ("length", Some(b'0'..=b'9')) => length = Some(index(json)?),
            ("indices", Some(b'[')) => {
                json.open().ok()?;
                let (mut all, mut is_first) = (Vec::new(), true);
                while json.element(&mut is_first).ok()? {
                    json.token();
                    all.push(index(json)?);
                }
                indices = Some(all);
            }
            ("values", Some(b'[')) => {
                values = Some(json.clone());
                json.open().ok()?;
                let mut is_first = true;
                while json.element(&mut is_first).ok()? {
                    json.skip_value().ok()?;
                    count += 1;
                }
            }
            _ => return None,
        }
    }
    if json.member(&mut is_first).ok()?.is_some() {
        return None;
    }
    let (length, indices, values) = (length?, indices?, values?);
    let is_ascending = indices.is_sorted_by(|a, b| a < b) && indices.last().is_none_or(|last| *last < length);
    (is_ascending && indices.len() == count).then_some(Sparse { length, indices, values })
}

fn index(json: &mut Tokenizer<'_>) -> Option<u64> {
    match json.number().ok()? {
        Number::I64(number) => u64::try_from(number).ok(),
        _ => None,
    }
}
