//! A NetCDF file as a ds file.

use std::collections::HashMap;
use std::path::Path;

use container_core::{Error, Loss, OutputOptions, Position, Result};

use super::attributes::json;
use super::model::{NcType, Variable};
use super::reader::{ReadOptions, Reader, held_bytes, joined};
use super::scale::Scaling;
use crate::array::Array;
use crate::types::Endian;
use crate::wire::SPECIAL_KEYS;
use crate::write::{Builder, Field, Written};

/// Values that are held in memory until the file is written, all variables together, in bytes. Larger ones go through piece by piece.
const HELD: u64 = 64 << 20;

/// Bytes of a piece.
const PIECE: u64 = 8 << 20;

/// Attributes that speak of values as they are stored, and so say nothing true of those that are scaled.
const OF_STORED: [&str; 8] =
    ["scale_factor", "add_offset", "_Unsigned", "_FillValue", "missing_value", "valid_min", "valid_max", "valid_range"];

/// A conversion that was done.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Converted {
    /// Variables and bytes that were written.
    pub written: Written,
    /// What could not be kept, and why. Empty when all was.
    pub losses: Vec<Loss>,
}

pub(crate) fn lost(what: String) -> Loss {
    Loss::new(what, 1, Position::default())
}

/// Writes a ds file with all that ds has a place for.
///
/// With [`scaled`](ReadOptions::scaled) values the attributes that describe the stored ones (`scale_factor`, `_FillValue`, `valid_range` and
/// so on) are left out of the variables that are scaled: whoever reads them would apply them again. ds-format leaves them in. Memory is
/// taken for 64 MiB of values, and for a piece of 8 MiB, or a row, of a variable that is larger.
///
/// # Errors
/// As [`Reader::read`] and [`Builder::write`]. A variable that has a [`problem`](Variable::problem) is left out and named among the losses.
pub fn to_ds(
    reader: &Reader,
    path: impl AsRef<Path>,
    options: &ReadOptions,
    output: OutputOptions,
) -> Result<Converted> {
    check_declared_bytes(reader, options)?;
    let mut losses = reader.losses().to_vec();
    let mut builder = Builder::new();
    for attribute in reader.attributes() {
        builder.attribute(&attribute.name, json(&attribute.value));
    }
    let (mut held, mut texts) = (0u64, 0u64);
    let mut streams: HashMap<&str, &Variable> = HashMap::new();
    for variable in reader.variables() {
        let Some(data_type) = reader.data_type(variable, options) else { continue };
        if let Some(problem) = &variable.problem {
            losses.push(lost(format!("the variable {:?} is left out: {problem}", variable.name)));
            continue;
        }
        let bytes = bytes(reader, variable, options)?;
        let field = if held.saturating_add(bytes) <= HELD {
            held += bytes;
            let array = reader.read(variable, 0..variable.rows(), options)?;
            if let Some(strings) = array.values().as_strings() {
                // How long texts are is seen when they are there: many may be one and the same in the file.
                texts += strings.as_bytes().len() as u64;
                reader.limits().check_block("the bytes of all texts", texts).map_err(|error| variable.error(error))?;
            }
            // A scalar that is missing is a variable without values, as ds-format has it.
            if array.shape().is_empty() && array.missing() == 1 {
                Field::empty().with_type(variable.nc_type.data_type())
            } else {
                Field::new(array)
            }
        } else {
            let masked = !data_type.is_text() && has_missing(reader, variable, options)?;
            streams.insert(&variable.name, variable);
            Field::stream(data_type, reader.shape(variable, options)).with_missing(masked)
        };
        builder.field(variable.name.clone(), described(reader, variable, options, field, &mut losses));
    }
    if streams.is_empty() {
        let written = builder.write(path, output)?;
        return Ok(Converted { written, losses });
    }
    let mut writer = builder.begin(path, output)?;
    while let Some(name) = writer.current() {
        let Some(variable) = streams.get(name).copied() else {
            return Err(Error::usage("a variable that was not asked for"));
        };
        pieces(reader, variable, options, |array| writer.append(&array))?;
    }
    Ok(Converted { written: writer.finish()?, losses })
}

/// So many times what the file justifies for one variable all of them may take: each may be nothing but fill values, or all may have the same bytes.
const TOGETHER: u64 = 16;

/// Bytes of values that the file justifies.
fn most(reader: &Reader, times: u64) -> u64 {
    /// The best that deflate does.
    const DEFLATE: u64 = 1032;
    /// A character becomes a string, whose length is kept, too.
    const CHARACTERS: u64 = 32;
    let growth = if reader.kind() == super::Kind::Hdf5 { DEFLATE } else { CHARACTERS };
    reader.source().len().saturating_mul(growth).max(reader.limits().block_bytes).saturating_mul(times)
}

/// What the values take in memory. More than the file can hold, even where it is compressed, is refused.
fn bytes(reader: &Reader, variable: &Variable, options: &ReadOptions) -> Result<u64> {
    let bytes = held_bytes(variable, variable.rows(), options);
    let most = most(reader, 1);
    match bytes {
        Some(bytes) if bytes <= most => Ok(bytes),
        _ => Err(variable.error(Error::limit("the bytes of the variable", bytes.unwrap_or(u64::MAX), most))),
    }
}

/// Refuses what makes far more of a file than it can hold, with all variables together.
pub(super) fn check_declared_bytes(reader: &Reader, options: &ReadOptions) -> Result<()> {
    let sound = reader.variables().iter().filter(|variable| variable.problem.is_none());
    let bytes = sound.map(|variable| held_bytes(variable, variable.rows(), options).unwrap_or(u64::MAX));
    let (together, most) = (bytes.fold(0, u64::saturating_add), most(reader, TOGETHER));
    match together > most {
        true => Err(Error::limit("the bytes of all variables", together, most).in_format(super::FORMAT_NAME)),
        false => Ok(()),
    }
}

/// Gives the values piece by piece along the first dimension.
pub(super) fn pieces(
    reader: &Reader,
    variable: &Variable,
    options: &ReadOptions,
    mut take: impl FnMut(Array<'static>) -> Result<()>,
) -> Result<()> {
    let step = reader.rows_at_once(variable, PIECE);
    let mut start = 0;
    while start < variable.rows() {
        let end = variable.rows().min(start.saturating_add(step));
        take(reader.read(variable, start..end, options)?)?;
        start = end;
    }
    Ok(())
}

/// Is any element of a large variable missing? A classic file is read through for that, which saves going through a temporary file
/// mostly; for one that is compressed that would be dear, there it may be.
fn has_missing(reader: &Reader, variable: &Variable, options: &ReadOptions) -> Result<bool> {
    if reader.kind() == super::Kind::Hdf5 {
        return Ok(true);
    }
    let mut found = false;
    pieces(reader, variable, options, |array| {
        found |= array.missing() > 0;
        Ok(())
    })?;
    Ok(found)
}

/// Dimensions, attributes and byte order.
pub(super) fn described<'a>(
    reader: &Reader,
    variable: &Variable,
    options: &ReadOptions,
    mut field: Field<'a>,
    losses: &mut Vec<Loss>,
) -> Field<'a> {
    let scaling = if options.scaled { Scaling::of(variable) } else { Scaling::default() };
    let is_scaled = scaling != Scaling::default();
    for attribute in &variable.attributes {
        if is_scaled && OF_STORED.contains(&attribute.name.as_str()) {
            continue;
        }
        if SPECIAL_KEYS.contains(&attribute.name.as_str()) {
            let what = format!(
                "the attribute {:?} of variable {:?} has a name that is ds's own: it is left out",
                attribute.name, variable.name
            );
            losses.push(lost(what));
            continue;
        }
        field = field.with_attribute(&attribute.name, json(&attribute.value));
    }
    let mut names: Vec<&str> = reader.dimension_names(variable).collect();
    if joined(variable, options) {
        names.pop();
    }
    if variable.nc_type != NcType::String && variable.big_endian && !is_scaled && reader.kind() == super::Kind::Hdf5 {
        field = field.with_endian(Endian::Big);
    }
    field.with_dimensions(names)
}
