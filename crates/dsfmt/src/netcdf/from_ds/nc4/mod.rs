//! NetCDF-4: an HDF5 file that is written from front to back, values first, then what describes them.
//!
//! The superblock comes last, into the place that was left for it. Each object keeps its members and attributes in its header, in order, which
//! the C library takes at any number; nothing here needs heaps or indexes of names.

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

use super::plan::{Plan, Planned};
use super::{WriteOptions, characters, filled, pieces, put_bytes};
use crate::array::Array;
use crate::netcdf::hdf5::NOT_AN_AXIS;
use crate::netcdf::model::{AttributeValue, NcType};
use crate::netcdf::to_ds::Converted;
use crate::types::Endian;
use crate::write::Written;
use data::{Manner, Sink, Stored};
use heap::Heap;
use object::Object;
use wire::Space;

/// Bytes that go to the file at once.
const BUFFER: usize = 1 << 20;

/// Bytes of a piece, where values lie in pieces.
const PIECE: u64 = 1 << 20;

/// A file that grows at its end.
struct Out {
    inner: BufWriter<Output>,
    /// Its bytes so far.
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

    /// Up to the next multiple of eight bytes.
    fn align(&mut self) -> Result<()> {
        let wanted = usize::try_from(self.at.wrapping_neg() % 8).unwrap_or(0);
        self.write([0; 8].get(..wanted).unwrap_or_default())
    }

    /// Writes the beginning, and gives the file its name.
    fn finish(self, head: &[u8]) -> Result<()> {
        let failed = |cause| Error::io("cannot write", cause);
        let mut output = self.inner.into_inner().map_err(|error| failed(error.into_error()))?;
        output.seek(SeekFrom::Start(0)).map_err(failed)?;
        output.write_all(head).map_err(failed)?;
        output.finish()
    }
}

pub(super) fn write(plan: Plan<'_>, path: &Path, options: &WriteOptions) -> Result<Converted> {
    write_in(PIECE, plan, path, options)
}

/// The same in pieces of about so many bytes.
fn write_in(piece: u64, plan: Plan<'_>, path: &Path, options: &WriteOptions) -> Result<Converted> {
    if let Some(level) = options.deflate.filter(|level| !(1..=9).contains(level)) {
        return Err(Error::usage(format!("levels of compression are 1 to 9, not {level}")));
    }
    let links = links(&plan)?;
    let mut out = Out::create(path, options.output)?;
    out.write(&[0; wire::SUPERBLOCK])?;
    let mut heap = Heap::default();
    let mut objects = Vec::with_capacity(links.names.len());
    for (place, dimension) in plan.dimensions.iter().enumerate() {
        if links.axes.get(place).copied().flatten().is_none() {
            objects.push(Object::dimension(dimension)?);
        }
    }
    for variable in &plan.variables {
        let name = variable.source.name();
        let object = object(variable, &plan, (options.deflate, piece), &mut heap, &mut out);
        objects.push(object.map_err(|error| error.in_column(name.to_owned()))?);
    }
    let root = object::attributes(&plan.attributes, &mut heap, &mut out)?;
    heap.flush(&mut out)?;
    let (end, root) = object::write(&plan, &links, objects, root, &mut out)?;
    out.finish(&wire::superblock(end, root))?;
    let written = Written { variables: plan.variables.len(), bytes: end };
    Ok(Converted { written, losses: plan.losses })
}

/// The members of the root, and which of them are whose scales.
struct Links {
    /// Names in the order of the objects.
    names: Vec<String>,
    /// For each dimension, the variable that is its axis.
    axes: Vec<Option<usize>>,
    /// For each dimension, the object that is its scale.
    scales: Vec<usize>,
}

fn links(plan: &Plan<'_>) -> Result<Links> {
    let known: HashMap<&str, usize> =
        plan.dimensions.iter().enumerate().map(|(place, dimension)| (dimension.name.as_str(), place)).collect();
    let mut axes = vec![None; plan.dimensions.len()];
    for (index, variable) in plan.variables.iter().enumerate() {
        if let Some(place) = known.get(variable.source.name())
            && variable.dimensions.first() == Some(place)
            && let Some(axis) = axes.get_mut(*place)
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
        let name = variable.source.name();
        let foreign = known.get(name).is_some_and(|place| axes.get(*place).copied().flatten() != Some(index));
        names.push(if foreign { format!("{NOT_AN_AXIS}{name}") } else { name.to_owned() });
    }
    let mut sorted: Vec<&String> = names.iter().collect();
    sorted.sort_unstable();
    if let Some((twice, _)) = sorted.iter().zip(sorted.iter().skip(1)).find(|(a, b)| a == b) {
        return Err(Error::usage(format!("two members of the file would be called {twice:?}")));
    }
    Ok(Links { names, axes, scales })
}

/// Writes a variable's values; gives what describes it, but for what ties it to its dimensions.
fn object(
    variable: &Planned<'_>,
    plan: &Plan<'_>,
    (deflate, piece): (Option<u8>, u64),
    heap: &mut Heap,
    out: &mut Out,
) -> Result<Object> {
    let dimensions = || variable.dimensions.iter().filter_map(|place| plan.dimensions.get(*place));
    let sizes: Vec<u64> = dimensions().map(|dimension| dimension.size).collect();
    let (data_type, width) = match &variable.nc_type {
        NcType::Char => (wire::text(1, false), 1),
        NcType::String => (wire::any_text(), 16),
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
    let manner = Manner {
        growing: dimensions().any(|dimension| dimension.unlimited),
        deflate: deflate.filter(|_| variable.nc_type != NcType::String),
        apart: variable.nc_type == NcType::String,
        piece,
    };
    let mut sink = Sink::new(&sizes, width, fill.clone(), &manner, out)?;
    if variable.is_empty {
        // The one value that a scalar has means "missing".
        let value = match &variable.nc_type {
            NcType::Char => vec![0; variable.width],
            NcType::String => heap.put(&[], out)?.to_vec(),
            _ => fill.clone(),
        };
        sink.push(&value, heap, out)?;
    }
    let mut bytes = Vec::new();
    pieces(variable, |array| match &variable.nc_type {
        NcType::Char => characters(&array, variable.width, |bytes| sink.push(bytes, heap, out)),
        NcType::String => texts(&array, |text| {
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

/// Each text, where it is missing an empty one.
fn texts(array: &Array<'_>, mut take: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
    let missing = |index| array.mask().is_some_and(|mask| mask.is_missing(index));
    let texts = array.values().as_strings().into_iter().flat_map(|strings| strings.iter());
    texts.enumerate().try_for_each(|(index, text)| take(if missing(index) { &[] } else { text }))
}
