//! Converts NetCDF to ds.

use std::collections::HashMap;
use std::path::Path;

use container_core::{Error, Loss, OutputOptions, Position, Result};

use super::attributes::json;
use super::model::{NcType, Variable};
use super::reader::{ReadOptions, Reader, joins_characters, memory_bytes};
use super::scale::Scaling;
use crate::array::Array;
use crate::types::{DataType, Endian};
use crate::wire::SPECIAL_KEYS;
use crate::write::{Builder, Field, Written};

/// Bytes of values held in memory until the file is written, over all variables. Others are streamed.
const MAX_IN_MEMORY: u64 = 64 << 20;

/// Bytes per streamed chunk.
const CHUNK_BYTES: u64 = 8 << 20;

/// Attributes that describe packed values, and do not apply to unpacked ones.
const PACKED_ATTRIBUTES: [&str; 8] =
    ["scale_factor", "add_offset", "_Unsigned", "_FillValue", "missing_value", "valid_min", "valid_max", "valid_range"];

/// The result of a conversion.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Converted {
    /// Summary of the written file.
    pub written: Written,
    /// What could not be kept, and why.
    pub losses: Vec<Loss>,
}

pub(crate) fn loss(what: String) -> Loss {
    Loss::new(what, 1, Position::default())
}

/// Converts a NetCDF file to ds.
///
/// With [`scaled`](ReadOptions::scaled) values, attributes that describe packed values (`scale_factor`, `_FillValue`, `valid_range` and so on)
/// are left out of unpacked variables, because readers would apply them again; ds-format keeps them. Holds up to 64 MiB of values in memory,
/// and a chunk of 8 MiB, or a row, of larger variables.
///
/// # Errors
/// As [`Reader::read`] and [`Builder::write`]. A variable with a [`problem`](Variable::problem) is left out and reported as a loss.
pub fn to_ds(
    reader: &Reader,
    path: impl AsRef<Path>,
    options: &ReadOptions,
    output: OutputOptions,
) -> Result<Converted> {
    let mut losses = Vec::new();
    let mut texts = 0u64;
    let mut streams: HashMap<&str, &Variable> = HashMap::new();
    check_declared_bytes(reader, options)?;
    let builder = fields(reader, options, &mut losses, |_, variable, data_type, in_memory| {
        check_variable_bytes(reader, variable, options)?;
        if !in_memory {
            let masked = !data_type.is_text() && has_missing(reader, variable, options)?;
            streams.insert(&variable.name, variable);
            return Ok(Field::stream(data_type, reader.shape(variable, options)).with_missing(masked));
        }
        let array = reader.read(variable, 0..variable.rows(), options)?;
        if let Some(strings) = array.values().as_strings() {
            // String lengths are known only now: many may share the same bytes in the file.
            texts += strings.as_bytes().len() as u64;
            reader.limits().check_block("bytes of all strings", texts).map_err(|error| variable.error(error))?;
        }
        Ok(match is_missing_scalar(&array) {
            true => Field::empty().with_type(variable.nc_type.data_type()),
            false => Field::new(array),
        })
    })?;
    if streams.is_empty() {
        let written = builder.write(path, output)?;
        return Ok(Converted { written, losses });
    }
    let mut writer = builder.begin(path, output)?;
    while let Some(name) = writer.current() {
        let Some(variable) = streams.get(name).copied() else {
            return Err(Error::usage("unexpected variable"));
        };
        for_each_chunk(reader, variable, options, |array| writer.append(&array))?;
    }
    Ok(Converted { written: writer.finish()?, losses })
}

/// A missing scalar becomes an empty variable, as in ds-format.
pub(super) fn is_missing_scalar(array: &Array<'_>) -> bool {
    array.shape().is_empty() && array.missing() == 1
}

/// The dataset of a NetCDF file. `field` makes the field of a readable variable from its index, type, and whether its values can be held in memory
/// until the file is written.
pub(super) fn fields<'r>(
    reader: &'r Reader,
    options: &ReadOptions,
    losses: &mut Vec<Loss>,
    mut field: impl FnMut(usize, &'r Variable, DataType, bool) -> Result<Field<'static>>,
) -> Result<Builder<'static>> {
    losses.extend_from_slice(reader.losses());
    let mut builder = Builder::new();
    for attribute in reader.attributes() {
        builder.attribute(&attribute.name, json(&attribute.value));
    }
    let mut held = 0u64;
    for (index, variable) in reader.variables().iter().enumerate() {
        let Some(data_type) = reader.data_type(variable, options) else { continue };
        if let Some(problem) = &variable.problem {
            losses.push(loss(format!("variable {:?} left out: {problem}", variable.name)));
            continue;
        }
        let bytes = memory_bytes(variable, variable.rows(), options).unwrap_or(u64::MAX);
        let in_memory = held.saturating_add(bytes) <= MAX_IN_MEMORY;
        held += if in_memory { bytes } else { 0 };
        let field = field(index, variable, data_type, in_memory)?;
        builder.field(variable.name.clone(), with_metadata(reader, variable, options, field, losses));
    }
    Ok(builder)
}

/// All variables together may take this many times what one may: each may consist of fill values only, or share its bytes with others.
const MAX_SHARING: u64 = 16;

/// Bytes of values that the file size justifies. For `asked` bytes, no more of the files of a Zarr store are counted than necessary.
fn max_bytes(reader: &Reader, times: u64, asked: u64) -> u64 {
    /// Maximum compression ratio of deflate.
    const DEFLATE: u64 = 1032;
    /// A character becomes a string with an end offset.
    const CHARACTERS: u64 = 32;
    /// Maximum compression ratio of Zstandard: 4 bytes for 128 KiB. Chunks that are not stored hold the fill value.
    const ZSTD: u64 = 32 << 10;
    let growth = match reader.kind() {
        super::Kind::Hdf5 => DEFLATE,
        super::Kind::Zarr => ZSTD,
        _ => CHARACTERS,
    };
    let stored = reader.stored_bytes(asked / growth + 1);
    stored.saturating_mul(growth).max(reader.limits().block_bytes).saturating_mul(times)
}

/// Rejects values of more bytes in memory than the file can hold, even if compressed.
fn check_variable_bytes(reader: &Reader, variable: &Variable, options: &ReadOptions) -> Result<()> {
    let bytes = memory_bytes(variable, variable.rows(), options);
    let max = max_bytes(reader, 1, bytes.unwrap_or(u64::MAX));
    match bytes {
        Some(bytes) if bytes <= max => Ok(()),
        _ => Err(variable.error(Error::limit("bytes of the variable", bytes.unwrap_or(u64::MAX), max))),
    }
}

/// Rejects files whose variables together take far more memory than the file can hold.
pub(super) fn check_declared_bytes(reader: &Reader, options: &ReadOptions) -> Result<()> {
    let readable = reader.variables().iter().filter(|variable| variable.problem.is_none());
    let bytes = readable.map(|variable| memory_bytes(variable, variable.rows(), options).unwrap_or(u64::MAX));
    check_bytes(reader, bytes.fold(0, u64::saturating_add))
}

/// Rejects reading this many bytes of values of several variables when the file can hold far less.
pub(super) fn check_bytes(reader: &Reader, total: u64) -> Result<()> {
    let max = max_bytes(reader, MAX_SHARING, total);
    match total > max {
        true => Err(Error::limit("bytes of all variables", total, max).in_format(reader.kind().format())),
        false => Ok(()),
    }
}

/// Passes the values to `take` in chunks along the first dimension.
pub(super) fn for_each_chunk(
    reader: &Reader,
    variable: &Variable,
    options: &ReadOptions,
    mut take: impl FnMut(Array<'static>) -> Result<()>,
) -> Result<()> {
    let step = reader.rows_at_once(variable, CHUNK_BYTES);
    let mut start = 0;
    while start < variable.rows() {
        let end = variable.rows().min(start.saturating_add(step));
        take(reader.read(variable, start..end, options)?)?;
        start = end;
    }
    Ok(())
}

/// True when an element of a large variable is missing. Scans a classic file, which usually avoids a temporary file; for NetCDF-4 and
/// Zarr, where decompression is expensive, assumes it.
fn has_missing(reader: &Reader, variable: &Variable, options: &ReadOptions) -> Result<bool> {
    if matches!(reader.kind(), super::Kind::Hdf5 | super::Kind::Zarr) {
        return Ok(true);
    }
    let mut found = false;
    for_each_chunk(reader, variable, options, |array| {
        found |= array.missing() > 0;
        Ok(())
    })?;
    Ok(found)
}

/// Adds dimensions, attributes and byte order to a field.
pub(super) fn with_metadata<'a>(
    reader: &Reader,
    variable: &Variable,
    options: &ReadOptions,
    mut field: Field<'a>,
    losses: &mut Vec<Loss>,
) -> Field<'a> {
    let scaling = if options.scaled { Scaling::new(variable) } else { Scaling::default() };
    let is_scaled = scaling != Scaling::default();
    for attribute in &variable.attributes {
        if is_scaled && PACKED_ATTRIBUTES.contains(&attribute.name.as_str()) {
            continue;
        }
        if SPECIAL_KEYS.contains(&attribute.name.as_str()) {
            let what = format!(
                "attribute {:?} of variable {:?} left out: the name is reserved in ds",
                attribute.name, variable.name
            );
            losses.push(loss(what));
            continue;
        }
        field = field.with_attribute(&attribute.name, json(&attribute.value));
    }
    let mut names: Vec<&str> = reader.dimension_names(variable).collect();
    if joins_characters(variable, options) {
        names.pop();
    }
    if variable.nc_type != NcType::String && variable.big_endian && !is_scaled && reader.kind() == super::Kind::Hdf5 {
        field = field.with_endian(Endian::Big);
    }
    field.with_dimensions(names)
}
