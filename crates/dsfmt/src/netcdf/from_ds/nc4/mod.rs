//! Writes NetCDF-4: an HDF5 file, sequentially, values before the headers that describe them.
//!
//! The superblock is written last, into the space reserved for it. Objects have all members and attributes in their headers, in creation order,
//! which the C library accepts in any number; so no heaps or name indexes are needed.

mod data;
mod heap;
mod object;
#[cfg(test)]
mod tests;
mod wire;

use std::collections::HashMap;
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::path::Path;

use container_core::{Error, Output, OutputOptions, Result};

use super::plan::{Plan, PlannedVariable};
use super::{WriteOptions, characters, filled, for_each_chunk, put_bytes};
use crate::array::Array;
use crate::netcdf::hdf5::NOT_AN_AXIS;
use crate::netcdf::model::{AttributeValue, NcType};
use crate::netcdf::to_ds::Converted;
use crate::types::Endian;
use crate::write::Written;
use data::{Sink, StorageOptions, Stored};
use heap::Heap;
use object::Object;
use wire::Space;

/// Size of the write buffer.
const BUFFER: usize = 1 << 20;

/// Bytes per chunk of chunked values.
const CHUNK_BYTES: u64 = 1 << 20;

/// An append-only output.
struct Out {
    inner: BufWriter<Output>,
    /// Current length.
    at: u64,
}

impl Out {
    fn create(path: &Path, options: OutputOptions) -> Result<Self> {
        let inner = BufWriter::with_capacity(BUFFER, Output::create(path, options)?);
        Ok(Self { inner, at: 0 })
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.inner.write_all(bytes).map_err(|cause| Error::io("cannot write", cause))?;
        self.at += bytes.len() as u64;
        Ok(())
    }

    /// Pads to a multiple of eight bytes.
    fn align(&mut self) -> Result<()> {
        let len = usize::try_from(self.at.wrapping_neg() % 8).unwrap_or(0);
        self.write([0; 8].get(..len).unwrap_or_default())
    }

    /// Writes the superblock, and moves the file to its path.
    fn finish(self, head: &[u8]) -> Result<()> {
        let failed = |cause| Error::io("cannot write", cause);
        let mut output = self.inner.into_inner().map_err(|error| failed(error.into_error()))?;
        output.seek(SeekFrom::Start(0)).map_err(failed)?;
        output.write_all(head).map_err(failed)?;
        output.finish()
    }
}

pub(super) fn write(plan: Plan<'_>, path: &Path, options: &WriteOptions) -> Result<Converted> {
    write_chunked(CHUNK_BYTES, plan, path, options)
}

/// [`write`] with another chunk size, for tests.
fn write_chunked(chunk_bytes: u64, plan: Plan<'_>, path: &Path, options: &WriteOptions) -> Result<Converted> {
    if let Some(level) = options.deflate.filter(|level| !(1..=9).contains(level)) {
        return Err(Error::usage(format!("compression level: expected 1 to 9, found {level}")));
    }
    let links = links(&plan)?;
    let mut out = Out::create(path, options.output)?;
    out.write(&[0; wire::SUPERBLOCK])?;
    let mut heap = Heap::default();
    let mut objects = Vec::with_capacity(links.names.len());
    for (index, dimension) in plan.dimensions.iter().enumerate() {
        if links.axes.get(index).copied().flatten().is_none() {
            objects.push(Object::dimension(dimension)?);
        }
    }
    for variable in &plan.variables {
        let name = variable.name.as_str();
        let object = object(variable, &plan, (options.deflate, chunk_bytes), &mut heap, &mut out);
        objects.push(object.map_err(|error| error.in_column(name.to_owned()))?);
    }
    let root = object::attributes(&plan.attributes, &mut heap, &mut out)?;
    heap.flush(&mut out)?;
    let (end, root) = object::write(&plan, &links, objects, root, &mut out)?;
    out.finish(&wire::superblock(end, root))?;
    let written = Written { variables: plan.variables.len(), bytes: end };
    Ok(Converted { written, losses: plan.losses })
}

/// Members of the root group, and dimension scales.
struct Links {
    /// Names in object order.
    names: Vec<String>,
    /// For each dimension, the index of its coordinate variable.
    axes: Vec<Option<usize>>,
    /// For each dimension, the index of the object that is its scale.
    scales: Vec<usize>,
}

fn links(plan: &Plan<'_>) -> Result<Links> {
    let known: HashMap<&str, usize> =
        plan.dimensions.iter().enumerate().map(|(index, dimension)| (dimension.name.as_str(), index)).collect();
    let mut axes = vec![None; plan.dimensions.len()];
    for (index, variable) in plan.variables.iter().enumerate() {
        if let Some(dimension) = known.get(variable.name.as_str())
            && variable.dimensions.first() == Some(dimension)
            && let Some(axis) = axes.get_mut(*dimension)
        {
            *axis = Some(index);
        }
    }
    let (mut names, mut scales) = (Vec::new(), Vec::new());
    let bare = axes.iter().filter(|axis| axis.is_none()).count();
    for (dimension, axis) in plan.dimensions.iter().zip(&axes) {
        scales.push(axis.map_or(names.len(), |index| bare + index));
        if axis.is_none() {
            names.push(dimension.name.clone());
        }
    }
    for (index, variable) in plan.variables.iter().enumerate() {
        let name = variable.name.as_str();
        let foreign = known.get(name).is_some_and(|dimension| axes.get(*dimension).copied().flatten() != Some(index));
        names.push(if foreign { format!("{NOT_AN_AXIS}{name}") } else { name.to_owned() });
    }
    let mut sorted: Vec<&String> = names.iter().collect();
    sorted.sort_unstable();
    if let Some((duplicate, _)) = sorted.iter().zip(sorted.iter().skip(1)).find(|(a, b)| a == b) {
        return Err(Error::usage(format!("duplicate name {duplicate:?} in the file")));
    }
    Ok(Links { names, axes, scales })
}

/// Writes a variable's values; returns its description, without links to dimensions.
fn object(
    variable: &PlannedVariable<'_>,
    plan: &Plan<'_>,
    (deflate, chunk_bytes): (Option<u8>, u64),
    heap: &mut Heap,
    out: &mut Out,
) -> Result<Object> {
    let dimensions = || variable.dimensions.iter().filter_map(|index| plan.dimensions.get(*index));
    let sizes: Vec<u64> = dimensions().map(|dimension| dimension.size).collect();
    let (data_type, width) = match &variable.nc_type {
        NcType::Char => (wire::text(1, false), 1),
        NcType::String => (wire::variable_text(), 16),
        _ => (wire::number(variable.fill.data_type()), variable.fill.data_type().width().unwrap_or(1)),
    };
    let mut fill = Vec::new();
    match &variable.nc_type {
        NcType::Char => fill.push(match variable.attribute("_FillValue").and_then(AttributeValue::as_text) {
            Some(text) if text.len() == 1 => text.as_bytes().first().copied().unwrap_or(0),
            _ => 0,
        }),
        NcType::String => {}
        _ => put_bytes(&variable.fill, Endian::Little, &mut fill),
    }
    let options = StorageOptions {
        growing: dimensions().any(|dimension| dimension.unlimited),
        deflate: deflate.filter(|_| variable.nc_type != NcType::String),
        has_references: variable.nc_type == NcType::String,
        chunk_bytes,
    };
    let mut sink = Sink::new(&sizes, width, fill.clone(), &options, out)?;
    if variable.is_empty {
        // A missing scalar.
        let value = match &variable.nc_type {
            NcType::Char => vec![0; variable.width],
            NcType::String => heap.put(&[], out)?.to_vec(),
            _ => fill.clone(),
        };
        sink.push(&value, heap, out)?;
    }
    let mut bytes = Vec::new();
    for_each_chunk(variable, |array| match &variable.nc_type {
        NcType::Char => characters(&array, variable.width, |bytes| sink.push(bytes, heap, out)),
        NcType::String => for_each_string(&array, |text| {
            let element = heap.put(text, out)?;
            sink.push(&element, heap, out)
        }),
        _ => {
            bytes.clear();
            put_bytes(&filled(array, &variable.fill)?, Endian::Little, &mut bytes);
            sink.push(&bytes, heap, out)
        }
    })?;
    let Stored { layout, filters } = sink.finish(out)?;
    let chunked = layout.get(1) == Some(&2);
    let space = match sizes.is_empty() {
        true => Space::Scalar,
        false => Space::Simple(dimensions().map(|dimension| (dimension.size, dimension.unlimited)).collect()),
    };
    let fill = (variable.nc_type != NcType::String).then_some(fill.as_slice());
    let mut messages = vec![
        (wire::DATASPACE, space.message()?),
        (wire::DATATYPE, data_type),
        (wire::FILL, wire::fill(fill, chunked)),
        (wire::LAYOUT, layout),
    ];
    messages.extend(filters.map(|filters| (wire::FILTERS, filters)));
    Ok(Object { messages, attributes: object::attributes(&variable.attributes, heap, out)? })
}

/// Passes each string to `take`, an empty one if missing.
fn for_each_string(array: &Array<'_>, mut take: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
    let missing = |index| array.mask().is_some_and(|mask| mask.is_missing(index));
    let texts = array.values().as_strings().into_iter().flat_map(|strings| strings.iter());
    texts.enumerate().try_for_each(|(index, text)| take(if missing(index) { &[] } else { text }))
}
