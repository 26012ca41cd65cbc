//! NetCDF-4, by the crate `netcdf-writer`, which puts the whole file together in memory.

use std::collections::HashSet;
use std::io::Write;
use std::path::Path;

use container_core::{Error, Limits, Output, Result};
use netcdf_writer::{DimensionId, NcAttrValue, NcFileBuilder, NcWriteFormat, NcWriteOptions, NcWriteType, VariableId};

use super::plan::{Plan, Planned};
use super::{WriteOptions, characters, filled, pieces};
use crate::array::{Array, Values};
use crate::netcdf::model::{AttributeValue, Dimension, NcType, product};
use crate::netcdf::to_ds::{Converted, lost};
use crate::types::Element;
use crate::wire::short;
use crate::write::Written;

fn library(error: netcdf_writer::Error) -> Error {
    Error::usage("NetCDF-4 cannot hold it").caused_by(error)
}

/// The dimension whose values a variable has: its only one, which is called as it is.
fn own_axis(variable: &Planned<'_>, plan: &Plan<'_>) -> Option<usize> {
    let [place] = variable.dimensions[..] else { return None };
    plan.dimensions.get(place).filter(|dimension| dimension.name == variable.source.name()).map(|_| place)
}

pub(super) fn write(mut plan: Plan<'_>, path: &Path, options: &WriteOptions, limits: Limits) -> Result<Converted> {
    if options.deflate.is_some_and(|level| !(1..=9).contains(&level)) {
        return Err(Error::usage(format!("levels of compression are 1 to 9, not {}", options.deflate.unwrap_or(0))));
    }
    let filled: HashSet<usize> = plan
        .variables
        .iter()
        .filter(|variable| !variable.source.is_empty())
        .flat_map(|v| v.dimensions.clone())
        .collect();
    for (place, dimension) in plan.dimensions.iter().enumerate() {
        if dimension.unlimited && dimension.size > 0 && !filled.contains(&place) {
            let Dimension { name, size, .. } = dimension;
            plan.losses
                .push(lost(format!("the size {size} of the dimension {name:?} is lost: it is unlimited, and empty")));
        }
    }
    let mut builder = NcFileBuilder::new();
    let mut total = 0u64;
    let mut dimensions = Vec::new();
    let axes: HashSet<usize> = plan.variables.iter().filter_map(|variable| own_axis(variable, &plan)).collect();
    for (place, dimension) in plan.dimensions.iter().enumerate() {
        if !axes.contains(&place) {
            // The library writes a zero of 32 bits for each of its elements, whether anything lies along it or not.
            total = total.saturating_add(dimension.size.saturating_mul(4));
            let what = format!("the bytes of a NetCDF-4 file with the dimension {:?}", short(&dimension.name));
            limits.check_block(what, total)?;
        }
        dimensions.push(match dimension.unlimited {
            true => builder.add_unlimited_dimension(&dimension.name),
            false => builder.add_dimension(&dimension.name, dimension.size),
        });
    }
    let dimensions: Vec<DimensionId> = dimensions.into_iter().collect::<Result<_, _>>().map_err(library)?;
    for attribute in &plan.attributes {
        builder.add_attribute(&attribute.name, value(&attribute.value)).map_err(library)?;
    }
    for variable in &plan.variables {
        let bytes =
            variable.source.len().saturating_mul(variable.nc_type.width().unwrap_or(16).max(variable.width) as u64);
        total = total.saturating_add(bytes);
        limits.check_block("the bytes of a NetCDF-4 file, which is put together in memory,", total)?;
        let places: Vec<DimensionId> =
            variable.dimensions.iter().filter_map(|place| dimensions.get(*place).copied()).collect();
        put(&mut builder, variable, &places, options.deflate, &plan)
            .map_err(|error| error.in_column(variable.source.name().to_owned()))?;
    }
    let (_, bytes) = builder.to_vec(NcWriteOptions { format: NcWriteFormat::Nc4 }).map_err(library)?;
    let mut output = Output::create(path, options.output)?;
    output.write_all(&bytes).map_err(|cause| Error::io("cannot write", cause))?;
    output.finish()?;
    let written = Written { variables: plan.variables.len(), bytes: bytes.len() as u64 };
    Ok(Converted { written, losses: plan.losses })
}

fn value(value: &AttributeValue) -> NcAttrValue {
    match value {
        AttributeValue::Text(text) => NcAttrValue::Chars(text.clone()),
        AttributeValue::Texts(texts) => NcAttrValue::Strings(texts.clone()),
        AttributeValue::Numbers(numbers) => match numbers {
            Values::Float32(all) => NcAttrValue::Floats(all.to_vec()),
            Values::Float64(all) => NcAttrValue::Doubles(all.to_vec()),
            Values::Int8(all) => NcAttrValue::Bytes(all.to_vec()),
            Values::Int16(all) => NcAttrValue::Shorts(all.to_vec()),
            Values::Int32(all) => NcAttrValue::Ints(all.to_vec()),
            Values::Int64(all) => NcAttrValue::Int64s(all.to_vec()),
            Values::Uint8(all) => NcAttrValue::UBytes(all.to_vec()),
            Values::Uint16(all) => NcAttrValue::UShorts(all.to_vec()),
            Values::Uint32(all) => NcAttrValue::UInts(all.to_vec()),
            Values::Uint64(all) => NcAttrValue::UInt64s(all.to_vec()),
            Values::Bool(_) | Values::Str(_) | Values::Unicode(_) => NcAttrValue::Bytes(Vec::new()), // which attributes are not made of
        },
    }
}

/// Adds a variable: its definition, attributes and values.
fn put(
    builder: &mut NcFileBuilder,
    variable: &Planned<'_>,
    dimensions: &[DimensionId],
    deflate: Option<u8>,
    plan: &Plan<'_>,
) -> Result<()> {
    let name = variable.source.name();
    let id = match &variable.nc_type {
        NcType::Char => builder.add_char_variable(name, dimensions).map_err(library)?,
        NcType::String => builder.add_string_variable(name, dimensions).map_err(library)?,
        _ => return numbers(builder, variable, dimensions, deflate, plan),
    };
    attributes(builder, variable, id, "")?;
    if variable.nc_type == NcType::Char {
        let mut all = if variable.is_empty { vec![0; variable.width] } else { Vec::new() };
        pieces(&variable.source, |array| {
            all.extend_from_slice(&characters(&array, variable.width));
            Ok(())
        })?;
        return builder.write_char_variable(id, &all).map_err(library);
    }
    let mut all: Vec<String> = if variable.is_empty { vec![String::new()] } else { Vec::new() };
    pieces(&variable.source, |array| {
        let missing = |index| array.mask().is_some_and(|mask| mask.is_missing(index));
        let texts = array.values().as_strings().into_iter().flat_map(|strings| strings.iter()).enumerate();
        all.extend(texts.map(|(index, text)| match missing(index) {
            true => String::new(),
            false => String::from_utf8_lossy(text).into_owned(), // which was checked
        }));
        Ok(())
    })?;
    builder.write_string_variable(id, &all).map_err(library)
}

fn attributes(builder: &mut NcFileBuilder, variable: &Planned<'_>, id: VariableId, but: &str) -> Result<()> {
    for attribute in variable.attributes.iter().filter(|attribute| attribute.name != but) {
        builder.add_variable_attribute(id, &attribute.name, value(&attribute.value)).map_err(library)?;
    }
    Ok(())
}

fn numbers(
    builder: &mut NcFileBuilder,
    variable: &Planned<'_>,
    dimensions: &[DimensionId],
    deflate: Option<u8>,
    plan: &Plan<'_>,
) -> Result<()> {
    macro_rules! numbers {
        ($($name:ident $number:ty;)*) => {
            match variable.fill.data_type() {
                $(crate::DataType::$name => add::<$number>(builder, variable, dimensions, deflate, plan, |builder, id, fill| {
                    builder.set_variable_fill_value::<$number>(id, fill)
                }),)*
                other => Err(Error::usage(format!("{other} is no number"))),
            }
        };
    }
    numbers! {
        Float32 f32;
        Float64 f64;
        Int8 i8;
        Int16 i16;
        Int32 i32;
        Int64 i64;
        Uint8 u8;
        Uint16 u16;
        Uint32 u32;
        Uint64 u64;
    }
}

fn add<T: Element + NcWriteType>(
    builder: &mut NcFileBuilder,
    variable: &Planned<'_>,
    dimensions: &[DimensionId],
    deflate: Option<u8>,
    plan: &Plan<'_>,
    set_fill: impl Fn(&mut NcFileBuilder, VariableId, T) -> netcdf_writer::Result<()>,
) -> Result<()> {
    let id = builder.add_variable::<T>(variable.source.name(), dimensions).map_err(library)?;
    // The library writes this attribute together with the fill value of the dataset, which C wants to agree.
    let own = variable.attributes.iter().find(|attribute| attribute.name == "_FillValue");
    let own =
        own.and_then(|attribute| attribute.value.as_numbers()).and_then(|all| all.as_slice::<T>()?.first().copied());
    if let Some(fill) = own {
        set_fill(builder, id, fill).map_err(library)?;
    }
    attributes(builder, variable, id, "_FillValue")?;
    let sizes: Vec<u64> = variable
        .dimensions
        .iter()
        .filter_map(|place| plan.dimensions.get(*place))
        .map(|dimension| dimension.size)
        .collect();
    if let Some(level) = deflate.filter(|_| !sizes.is_empty() && product(&sizes).is_some_and(|count| count > 0)) {
        builder.set_variable_chunking(id, chunks(&sizes, size_of::<T>() as u64)).map_err(library)?;
        builder.set_variable_deflate(id, Some(level), true).map_err(library)?;
    }
    let mut all: Vec<T> = Vec::new();
    let mut take = |values: Values<'_>| {
        all.extend_from_slice(values.as_slice::<T>().unwrap_or_default());
    };
    if variable.is_empty {
        take(variable.fill.clone());
    }
    pieces(&variable.source, |array: Array<'_>| {
        take(filled(array, &variable.fill)?);
        Ok(())
    })?;
    builder.write_variable::<T>(id, &all).map_err(library)
}

/// Pieces of about a MiB: whole along the last dimensions, as much as fits of the one before them.
fn chunks(sizes: &[u64], width: u64) -> Vec<u64> {
    const BYTES: u64 = 1 << 20;
    let mut room = (BYTES / width).max(1);
    let mut out: Vec<u64> = sizes
        .iter()
        .rev()
        .map(|size| {
            let taken = room.min(*size).max(1);
            room = if taken == *size { (room / taken).max(1) } else { 1 };
            taken
        })
        .collect();
    out.reverse();
    out
}
