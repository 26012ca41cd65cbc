//! Assigns lengths and offsets to the variables of a dataset, and writes the header.

use std::collections::HashMap;

use container_core::{Error, Limits, Result};

use crate::json::{Object, quoted};
use crate::read::{Reader, Variable};
use crate::types::DataType;
use crate::wire::{MAGIC, VERSION, bit_bytes};
use crate::write::emit;
use crate::write::field::{Content, Field};

/// Nesting depth of an attribute's value in the header.
const ATTRIBUTE_DEPTH: u32 = 2;

/// A variable's part of the file.
#[derive(Debug, Clone)]
pub(crate) struct Slot {
    /// Index of the field in the builder.
    pub(crate) field: usize,
    pub(crate) masked: bool,
    /// Length in bytes; `None` while unknown, for a stream.
    pub(crate) len: Option<u64>,
}

/// Checks that the fields form a valid dataset; returns them in file order.
pub(crate) fn slots(attributes: &Object, fields: &[(String, Field<'_>)]) -> Result<Vec<Slot>> {
    let limits = Limits::default();
    limits.check_columns("number of variables", fields.len() as u64)?;
    check_depth(attributes)?;
    let mut order: Vec<usize> = (0..fields.len()).collect();
    // UTF-8 order equals code point order, which Python sorts by.
    order.sort_by_key(|index| fields.get(*index).map(|(name, _)| name.as_str()));
    let mut slots: Vec<Slot> = Vec::with_capacity(fields.len());
    // Size of each dimension, and the first variable along it.
    let mut sizes: HashMap<String, (u64, &str)> = HashMap::new();
    let mut last = None;
    for index in order {
        let Some((name, field)) = fields.get(index) else { continue };
        if last.replace(name) == Some(name) {
            return Err(Error::usage(format!("duplicate variable {name:?}")));
        }
        let in_column = |error: Error| error.in_column(name.clone());
        let slot = check(index, name, field).map_err(in_column)?;
        for (dimension, size) in field.dimensions(name).iter().zip(field.shape().unwrap_or_default()) {
            let (known, first) = *sizes.entry(dimension.clone()).or_insert((*size, name));
            if known != *size {
                let detail = format!("dimension {dimension:?} has size {known} in {first:?} and {size} in {name:?}");
                return Err(Error::usage(detail));
            }
        }
        slots.push(slot);
    }
    check_copies(fields)?;
    Ok(slots)
}

/// Rejects copies that add up to many times their source file.
fn check_copies(fields: &[(String, Field<'_>)]) -> Result<()> {
    let mut by_reader: Vec<(&Reader, Vec<Variable<'_>>)> = Vec::new();
    for (_, field) in fields {
        let Content::Copy(variable) = &field.content else { continue };
        match by_reader.iter_mut().find(|(reader, _)| std::ptr::eq(*reader, variable.reader)) {
            Some((_, variables)) => variables.push(*variable),
            None => by_reader.push((variable.reader, vec![*variable])),
        }
    }
    by_reader.into_iter().try_for_each(|(reader, variables)| reader.check_declared_bytes(variables))
}

fn check_depth(object: &Object) -> Result<()> {
    let (depth, limit) = (object.depth().saturating_add(ATTRIBUTE_DEPTH), Limits::default().depth);
    if depth > limit { Err(Error::limit("JSON nesting depth", depth.into(), limit.into())) } else { Ok(()) }
}

fn check(index: usize, name: &str, field: &Field<'_>) -> Result<Slot> {
    field.check()?;
    check_depth(&field.members)?;
    let dimensions = field.dimensions(name).len();
    if let Some(shape) = field.shape().filter(|shape| shape.len() != dimensions) {
        return Err(Error::usage(format!("found {dimensions} dimension names and {} sizes", shape.len())));
    }
    let limit = Limits::default().depth;
    if dimensions > limit as usize {
        return Err(Error::limit("number of dimensions", dimensions as u64, limit.into()));
    }
    Ok(Slot { field: index, masked: field.is_masked(), len: len(field)? })
}

/// Number of elements of a shape; an error where readers would report one.
pub(crate) fn count(shape: &[u64]) -> Result<u64> {
    match shape.iter().filter(|size| **size > 0).try_fold(1u64, |all, size| all.checked_mul(*size)) {
        None => Err(Error::usage(format!("the product of the sizes {shape:?} exceeds 2^64"))),
        Some(_) if shape.contains(&0) => Ok(0),
        Some(count) => Ok(count),
    }
}

/// Length in bytes of `count` elements without a mask; `None` for strings.
pub(crate) fn data_len(data_type: DataType, count: u64) -> Result<Option<u64>> {
    match data_type.width() {
        Some(width) => {
            let too_many = || Error::usage(format!("{count} elements of {data_type} exceed 2^64 bytes"));
            count.checked_mul(width as u64).map(Some).ok_or_else(too_many)
        }
        None if data_type == DataType::Bool => Ok(Some(bit_bytes(count))),
        None => Ok(None),
    }
}

/// Length in bytes of a variable; `None` while unknown.
fn len(field: &Field<'_>) -> Result<Option<u64>> {
    let count = count(field.shape().unwrap_or_default())?;
    match (&field.content, field.appended()) {
        (_, Some(_)) if count == 0 => Ok(Some(0)),
        (_, Some(stream)) if stream.masked => Ok(None),
        (_, Some(stream)) => data_len(stream.data_type, count),
        (Content::Empty(_) | Content::Stream { .. }, None) => Ok(Some(0)),
        (Content::Copy(variable), None) => copied_len(variable).map(Some),
        (Content::Array(array), None) => {
            let mask = emit::mask_of(array);
            let stored = count - mask.map_or(0, |mask| mask.missing() as u64);
            let data = match array.values().as_strings() {
                Some(strings) => 8 * stored + emit::total(strings, mask),
                None => data_len(array.data_type(), stored)?.unwrap_or(0),
            };
            Ok(Some(data + mask.map_or(0, |mask| mask.as_bits().len() as u64)))
        }
    }
}

/// Length of a variable to copy. Strings are counted, because Python's writer may declare too many bytes.
fn copied_len(variable: &Variable<'_>) -> Result<u64> {
    if variable.shape().is_none() || !variable.data_type().is_some_and(DataType::is_text) {
        return Ok(variable.stored_bytes());
    }
    variable.with_layout(|layout| variable.text_bytes(layout))
}

/// The version line and the header, and the length of the body. All slots have a length by now.
pub(crate) fn header(attributes: &Object, fields: &[(String, Field<'_>)], slots: &[Slot]) -> Result<(String, u64)> {
    let mut out = String::new();
    out.push_str(&String::from_utf8_lossy(MAGIC));
    out.push_str(VERSION);
    out.push_str("\n{");
    let start = out.len() - 1;
    let mut offset = 0u64;
    for slot in slots {
        let Some((name, field)) = fields.get(slot.field) else { continue };
        let escape = if name.starts_with(['.', '\\']) { "\\" } else { "" };
        out.push_str(&quoted(&format!("{escape}{name}")));
        out.push_str(": ");
        let len = slot.len.unwrap_or(0);
        member(field, slot.masked, offset, len, &mut out);
        out.push_str(", ");
        offset = offset.checked_add(len).ok_or_else(|| Error::usage("the body exceeds 2^64 bytes"))?;
    }
    out.push_str("\".\": ");
    attributes.put(&mut out, &[]);
    out.push('}');
    Limits::default().check_metadata("header length", (out.len() - start) as u64)?;
    out.push('\n');
    Ok((out, offset))
}

/// Appends the header member of one variable.
fn member(field: &Field<'_>, masked: bool, offset: u64, len: u64, out: &mut String) {
    let (offset, len) = (offset.to_string(), len.to_string());
    let size = field.shape().map_or_else(|| "null".to_owned(), |shape| format!("{shape:?}"));
    let data_type = field.data_type().map_or_else(|| "null".to_owned(), |data_type| quoted(data_type.name()));
    let endian = quoted(field.endian().name());
    let all = [
        ("\".size\"", size.as_str()),
        ("\".offset\"", &offset),
        ("\".len\"", &len),
        ("\".type\"", &data_type),
        ("\".missing\"", if masked { "true" } else { "false" }),
        ("\".endian\"", &endian),
    ];
    let ordered = field.shape().is_some() && field.data_type() != Some(DataType::Bool);
    let all = if ordered { &all[..] } else { all.split_last().map_or(&all[..], |(_, before)| before) };
    field.members.put(out, all);
}
