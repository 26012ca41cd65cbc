//! Where every variable of a dataset comes to lie, and the header that says so.

use std::collections::HashMap;

use container_core::{Error, Limits, Result};

use crate::json::{Object, quoted};
use crate::read::{Reader, Variable};
use crate::types::DataType;
use crate::wire::{MAGIC, VERSION, bit_bytes};
use crate::write::emit;
use crate::write::field::{Content, Field};

/// Brackets around a variable's attribute: the header's and the variable's.
const AROUND: u32 = 2;

/// Bytes of a copy that are read at once where the other file is not in memory.
const STEP: u64 = 1 << 20;

/// Where a variable comes to lie.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    /// Of the field in the builder.
    pub(crate) field: usize,
    pub(crate) masked: bool,
    /// Its bytes. `None` of a stream until all of it has come, if not before.
    pub(crate) len: Option<u64>,
}

/// Checks that the fields make a dataset together; returns them in the order in which they are written.
pub(crate) fn places(attributes: &Object, fields: &[(String, Field<'_>)]) -> Result<Vec<Place>> {
    let limits = Limits::default();
    limits.check_columns("the number of variables", fields.len() as u64)?;
    depth(attributes)?;
    let mut order: Vec<usize> = (0..fields.len()).collect();
    // The order of UTF-8 is that of code points, which is Python's.
    order.sort_by_key(|index| fields.get(*index).map(|(name, _)| name.as_str()));
    let mut places: Vec<Place> = Vec::with_capacity(fields.len());
    // For each dimension its size and the first variable along it.
    let mut sizes: HashMap<String, (u64, &str)> = HashMap::new();
    let mut last = None;
    for index in order {
        let Some((name, field)) = fields.get(index) else { continue };
        if last.replace(name) == Some(name) {
            return Err(Error::usage(format!("there are two variables {name:?}")));
        }
        let in_column = |error: Error| error.in_column(name.clone());
        let place = check(index, name, field).map_err(in_column)?;
        for (dimension, size) in field.dimensions(name).iter().zip(field.shape().unwrap_or_default()) {
            let (known, first) = *sizes.entry(dimension.clone()).or_insert((*size, name));
            if known != *size {
                let detail =
                    format!("the dimension {dimension:?} has the size {known} in {first:?} and {size} in {name:?}");
                return Err(Error::usage(detail));
            }
        }
        places.push(place);
    }
    copies(fields)?;
    Ok(places)
}

/// What is copied is not many times the file that it comes from.
fn copies(fields: &[(String, Field<'_>)]) -> Result<()> {
    let mut by_reader: Vec<(&Reader, Vec<Variable<'_>>)> = Vec::new();
    for (_, field) in fields {
        let Content::Copy(variable) = &field.content else { continue };
        match by_reader.iter_mut().find(|(reader, _)| std::ptr::eq(*reader, variable.reader)) {
            Some((_, variables)) => variables.push(*variable),
            None => by_reader.push((variable.reader, vec![*variable])),
        }
    }
    by_reader.into_iter().try_for_each(|(reader, variables)| reader.check_together(variables))
}

fn depth(object: &Object) -> Result<()> {
    let (asked, limit) = (object.depth().saturating_add(AROUND), Limits::default().depth);
    if asked > limit { Err(Error::limit("the nesting of values", asked.into(), limit.into())) } else { Ok(()) }
}

fn check(index: usize, name: &str, field: &Field<'_>) -> Result<Place> {
    field.check()?;
    depth(&field.members)?;
    let dimensions = field.dimensions(name).len();
    if let Some(shape) = field.shape().filter(|shape| shape.len() != dimensions) {
        return Err(Error::usage(format!("there are {dimensions} dimensions and {} sizes", shape.len())));
    }
    let limit = Limits::default().depth;
    if dimensions > limit as usize {
        // 32 bits fit
        return Err(Error::limit("the number of dimensions", dimensions as u64, limit.into()));
    }
    Ok(Place { field: index, masked: field.is_masked(), len: len(field)? })
}

/// Elements of a shape; an error where a reader would have one.
pub(crate) fn count(shape: &[u64]) -> Result<u64> {
    match shape.iter().filter(|size| **size > 0).try_fold(1u64, |all, size| all.checked_mul(*size)) {
        None => Err(Error::usage(format!("the product of the sizes {shape:?} exceeds 2^64"))),
        Some(_) if shape.contains(&0) => Ok(0),
        Some(count) => Ok(count),
    }
}

/// The bytes that so many elements take, without a mask; `None` for strings.
pub(crate) fn data_len(data_type: DataType, count: u64) -> Result<Option<u64>> {
    match data_type.width() {
        Some(width) => {
            let too_many = || Error::usage(format!("{count} elements of {data_type} have more than 2^64 bytes"));
            count.checked_mul(width as u64).map(Some).ok_or_else(too_many)
        }
        None if data_type == DataType::Bool => Ok(Some(bit_bytes(count))),
        None => Ok(None),
    }
}

/// The bytes of a variable; `None` where that is not known yet.
fn len(field: &Field<'_>) -> Result<Option<u64>> {
    let count = count(field.shape().unwrap_or_default())?;
    match &field.content {
        Content::Empty(_) => Ok(Some(0)),
        Content::Copy(variable) => copied_len(variable).map(Some),
        Content::Stream { .. } if count == 0 => Ok(Some(0)),
        Content::Stream { masked: true, .. } => Ok(None),
        Content::Stream { data_type, .. } => data_len(*data_type, count),
        Content::Array(array) => {
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

/// The bytes of a variable of another file. Of strings they are counted, as Python's writer may state too many.
fn copied_len(variable: &Variable<'_>) -> Result<u64> {
    if variable.shape().is_none() || !variable.data_type().is_some_and(DataType::is_text) {
        return Ok(variable.stored_bytes());
    }
    variable.placed(|layout| variable.text_bytes(layout))
}

/// A range of a variable's bytes: at once where they are in memory, else in pieces of a multiple of 8.
pub(crate) fn pieces(
    variable: &Variable<'_>,
    range: std::ops::Range<u64>,
    mut take: impl FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let source = variable.reader.source();
    let step = if source.as_slice().is_some() { u64::MAX } else { STEP };
    let begin = variable.reader.body().saturating_add(variable.offset());
    let (mut at, mut buffer) = (range.start, Vec::new());
    while at < range.end {
        let end = range.end.min(at.saturating_add(step));
        let place = begin.saturating_add(at)..begin.saturating_add(end);
        take(source.view(place, &mut buffer).map_err(|error| variable.place(error))?)?;
        at = end;
    }
    Ok(())
}

/// The two lines in front of the body, and the length of the body. All lengths are known by now.
pub(crate) fn header(attributes: &Object, fields: &[(String, Field<'_>)], places: &[Place]) -> Result<(String, u64)> {
    let mut out = String::new();
    out.push_str(&String::from_utf8_lossy(MAGIC));
    out.push_str(VERSION);
    out.push_str("\n{");
    let start = out.len() - 1;
    let mut offset = 0u64;
    for place in places {
        let Some((name, field)) = fields.get(place.field) else { continue };
        let escape = if name.starts_with(['.', '\\']) { "\\" } else { "" };
        out.push_str(&quoted(&format!("{escape}{name}")));
        out.push_str(": ");
        let len = place.len.unwrap_or(0);
        member(field, place.masked, offset, len, &mut out);
        out.push_str(", ");
        offset = offset.checked_add(len).ok_or_else(|| Error::usage("there are more than 2^64 bytes"))?;
    }
    out.push_str("\".\": ");
    attributes.put(&mut out, &[]);
    out.push('}');
    Limits::default().check_metadata("the length of the header", (out.len() - start) as u64)?;
    out.push('\n');
    Ok((out, offset))
}

/// What the header says of one variable.
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
