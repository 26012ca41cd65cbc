//! Writes CDF-1, CDF-2 and CDF-5, sequentially.

use std::io::{BufWriter, Write};
use std::path::Path;

use container_core::{Error, Output, Result};

use super::plan::{Plan, PlannedVariable};
use super::{WriteOptions, characters, filled, for_each_chunk, put_bytes, rows_at_once};
use crate::netcdf::classic::header::{ATTRIBUTES, CODES, DIMENSIONS, VARIABLES};
use crate::netcdf::model::{Attribute, AttributeValue, Kind, NcType, product};
use crate::netcdf::to_ds::Converted;
use crate::types::Endian;
use crate::write::Written;

/// Size of the write buffer.
const BUFFER: usize = 1 << 20;

/// Location of a variable, in bytes.
#[derive(Debug, Clone, Copy, Default)]
struct Extent {
    begin: u64,
    /// Length without padding: of one row of a record variable, otherwise of the whole variable.
    bytes: u64,
}

/// Locations of all variables.
struct Layout {
    extents: Vec<Extent>,
    /// Bytes from one record to the next.
    stride: u64,
    records: u64,
    end: u64,
}

pub(super) fn write(mut plan: Plan<'_>, path: &Path, options: &WriteOptions) -> Result<Converted> {
    let layout = layout(&mut plan, options)?;
    let output = Output::create(path, options.output)?;
    let mut out = BufWriter::with_capacity(BUFFER, output);
    let failed = |cause| Error::io("cannot write", cause);
    out.write_all(&header(&plan, &layout)?).map_err(failed)?;
    for (variable, extent) in plan.variables.iter().zip(&layout.extents) {
        if !is_record(&plan, variable) {
            write_fixed(variable, *extent, &mut out)?;
        }
    }
    write_records(&plan, &layout, &mut out)?;
    let output = out.into_inner().map_err(|error| Error::io("cannot write", error.into_error()))?;
    output.finish()?;
    let written = Written { variables: plan.variables.len(), bytes: layout.end };
    Ok(Converted { written, losses: plan.losses })
}

/// True when the first dimension is that of the records.
fn is_record(plan: &Plan<'_>, variable: &PlannedVariable<'_>) -> bool {
    let first = variable.dimensions.first().and_then(|index| plan.dimensions.get(*index));
    first.is_some_and(|dimension| dimension.unlimited)
}

fn too_large() -> Error {
    Error::usage("the file exceeds 2^63 bytes")
}

/// Lays out the variables, and chooses the first kind that holds them unless one is requested.
fn layout(plan: &mut Plan<'_>, options: &WriteOptions) -> Result<Layout> {
    let mut layout = Layout { extents: Vec::new(), stride: 0, records: 0, end: 0 };
    let mut only = None;
    for variable in &plan.variables {
        let record = is_record(plan, variable);
        let sizes: Vec<u64> = variable
            .dimensions
            .iter()
            .skip(usize::from(record))
            .filter_map(|index| plan.dimensions.get(*index).map(|dimension| dimension.size))
            .collect();
        let width = variable.nc_type.width().unwrap_or(1) as u64;
        let bytes = product(&sizes).and_then(|count| count.checked_mul(width)).filter(|bytes| *bytes < i64::MAX as u64);
        let bytes = bytes.ok_or_else(too_large)?;
        if record {
            only = if layout.stride == 0 && only.is_none() { Some(bytes) } else { Some(u64::MAX) };
            layout.stride = layout.stride.checked_add(bytes.next_multiple_of(4)).ok_or_else(too_large)?;
        }
        layout.extents.push(Extent { begin: 0, bytes });
    }
    // Records of a single variable are not padded.
    if let Some(bytes) = only.filter(|bytes| *bytes != u64::MAX) {
        layout.stride = bytes;
    }
    layout.records = plan.dimensions.iter().find(|dimension| dimension.unlimited).map_or(0, |dimension| dimension.size);
    loop {
        assign_offsets(plan, &mut layout)?;
        match unsupported(plan, &layout) {
            None => return Ok(layout),
            Some(error) if options.kind.is_some() => return Err(error),
            Some(_) if plan.kind == Kind::Classic => plan.kind = Kind::Offset64,
            Some(_) => plan.kind = Kind::Data64,
        }
    }
}

/// Why the plan's kind cannot hold the layout, by the rules of the C library.
///
/// CDF-1 has offsets of 31 bits; CDF-1 and CDF-2 have variable sizes (per record for record variables) of 31 and 32 bits. The size of the last
/// variable is not needed, so it may be larger; so may that of the last record variable.
fn unsupported(plan: &Plan<'_>, layout: &Layout) -> Option<Error> {
    let max = match plan.kind {
        Kind::Classic => u64::from(i32::MAX.unsigned_abs()) - 3,
        Kind::Offset64 => u64::from(u32::MAX) - 3,
        _ => return None,
    };
    let variables = |records: bool| {
        plan.variables.iter().zip(&layout.extents).filter(move |(variable, _)| is_record(plan, variable) == records)
    };
    let kind = plan.kind;
    let others = if kind == Kind::Classic { "CDF-2 and CDF-5" } else { "CDF-5" };
    let error = |detail: String, variable: &PlannedVariable<'_>| {
        Some(Error::usage(detail).in_column(variable.source.name().to_owned()))
    };
    for records in [false, true] {
        let last_is_free = records || variables(true).next().is_none();
        let mut all = variables(records).peekable();
        while let Some((variable, extent)) = all.next() {
            if extent.bytes > max && !(last_is_free && all.peek().is_none()) {
                let able = if extent.bytes > u64::from(u32::MAX) - 3 { "CDF-5" } else { others };
                let what = if records { "a record of a variable" } else { "a variable" };
                let bytes = extent.bytes;
                let detail = format!(
                    "{kind} cannot hold {what} of {bytes} bytes that is not the last (at most {max}); {able} can"
                );
                return error(detail, variable);
            }
        }
    }
    let far = |(_, extent): &(&PlannedVariable<'_>, &Extent)| extent.begin > i32::MAX.unsigned_abs().into();
    let (variable, extent) = plan.variables.iter().zip(&layout.extents).find(far).filter(|_| kind == Kind::Classic)?;
    let detail =
        format!("CDF-1 cannot hold a variable at offset {} (at most {}); CDF-2 and CDF-5 can", extent.begin, i32::MAX);
    error(detail, variable)
}

/// Assigns offsets for the plan's kind.
fn assign_offsets(plan: &Plan<'_>, layout: &mut Layout) -> Result<()> {
    let mut at = header(plan, layout)?.len() as u64;
    for records in [false, true] {
        for (variable, extent) in plan.variables.iter().zip(&mut layout.extents) {
            if is_record(plan, variable) != records {
                continue;
            }
            extent.begin = at;
            at = at.checked_add(extent.bytes.next_multiple_of(4)).ok_or_else(too_large)?;
        }
    }
    let records = plan.variables.iter().zip(&layout.extents).filter(|(variable, _)| is_record(plan, variable));
    if let Some(begin) = records.map(|(_, extent)| extent.begin).min() {
        at = layout.stride.checked_mul(layout.records).and_then(|all| all.checked_add(begin)).ok_or_else(too_large)?;
    }
    layout.end = at;
    Ok(())
}

/// Writes header fields.
struct HeaderWriter {
    kind: Kind,
    bytes: Vec<u8>,
}

impl HeaderWriter {
    fn u32(&mut self, number: u32) {
        self.bytes.extend_from_slice(&number.to_be_bytes());
    }

    /// A count or length: 32 bits, 64 in CDF-5.
    fn size(&mut self, number: u64) -> Result<()> {
        if self.kind == Kind::Data64 {
            self.bytes.extend_from_slice(&number.to_be_bytes());
        } else {
            let kind = self.kind;
            self.u32(u32::try_from(number).map_err(|_| Error::usage(format!("{kind} cannot hold the size {number}")))?);
        }
        Ok(())
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    fn text(&mut self, text: &str) -> Result<()> {
        self.size(text.len() as u64)?;
        self.bytes.extend_from_slice(text.as_bytes());
        self.pad();
        Ok(())
    }

    fn list(&mut self, tag: u32, count: usize) -> Result<()> {
        self.u32(if count == 0 { 0 } else { tag });
        self.size(count as u64)
    }

    fn code(&mut self, nc_type: &NcType) -> Result<()> {
        let code = CODES.into_iter().find(|(_, known)| known == nc_type).map(|(code, _)| code);
        self.u32(code.ok_or_else(|| Error::usage(format!("{} cannot hold type {nc_type}", self.kind)))?);
        Ok(())
    }

    fn attributes(&mut self, all: &[Attribute]) -> Result<()> {
        self.list(ATTRIBUTES, all.len())?;
        for attribute in all {
            self.text(&attribute.name)?;
            match &attribute.value {
                AttributeValue::Text(text) => {
                    self.code(&NcType::Char)?;
                    self.text(text)?;
                }
                AttributeValue::Texts(_) => {
                    return Err(Error::usage("classic files have no attributes of several strings"));
                }
                AttributeValue::Json(_) => return Err(Error::usage("NetCDF has no attributes of JSON")),
                AttributeValue::Numbers(numbers) => {
                    self.code(&NcType::Number(numbers.data_type()))?;
                    self.size(numbers.len() as u64)?;
                    put_bytes(numbers, Endian::Big, &mut self.bytes);
                    self.pad();
                }
            }
        }
        Ok(())
    }
}

fn header(plan: &Plan<'_>, layout: &Layout) -> Result<Vec<u8>> {
    let version = match plan.kind {
        Kind::Classic => 1,
        Kind::Offset64 => 2,
        _ => 5,
    };
    let mut head = HeaderWriter { kind: plan.kind, bytes: vec![b'C', b'D', b'F', version] };
    head.size(layout.records)?;
    head.list(DIMENSIONS, plan.dimensions.len())?;
    for dimension in &plan.dimensions {
        head.text(&dimension.name)?;
        head.size(if dimension.unlimited { 0 } else { dimension.size })?;
    }
    head.attributes(&plan.attributes)?;
    head.list(VARIABLES, plan.variables.len())?;
    for (variable, extent) in plan.variables.iter().zip(&layout.extents) {
        head.text(&variable.name)?;
        head.size(variable.dimensions.len() as u64)?;
        for dimension in &variable.dimensions {
            head.size(*dimension as u64)?;
        }
        head.attributes(&variable.attributes)?;
        head.code(&variable.nc_type)?;
        let padded = extent.bytes.next_multiple_of(4);
        match plan.kind {
            Kind::Data64 => head.size(padded)?,
            // Redundant: readers compute it.
            _ => head.u32(u32::try_from(padded).unwrap_or(u32::MAX)),
        }
        match plan.kind {
            // An offset out of range selects a larger kind later.
            Kind::Classic => head.u32(u32::try_from(extent.begin).unwrap_or(u32::MAX)),
            _ => head.bytes.extend_from_slice(&extent.begin.to_be_bytes()),
        }
    }
    Ok(head.bytes)
}

/// Encodes an array and passes the bytes to `take` in chunks.
fn encode(
    variable: &PlannedVariable<'_>,
    array: crate::Array<'_>,
    bytes: &mut Vec<u8>,
    mut take: impl FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    if variable.nc_type == NcType::Char {
        return characters(&array, variable.width, take);
    }
    bytes.clear();
    put_bytes(&filled(array, &variable.fill)?, Endian::Big, bytes);
    take(bytes)
}

/// Padding to a multiple of four bytes: fill values.
fn padding(variable: &PlannedVariable<'_>, bytes: u64) -> Vec<u8> {
    let len = usize::try_from(bytes.wrapping_neg() % 4).unwrap_or(0);
    let mut fill = Vec::new();
    put_bytes(&variable.fill, Endian::Big, &mut fill);
    fill.push(0);
    let width = (fill.len() - 1).max(1);
    fill.into_iter().take(width).cycle().take(len).collect()
}

fn write_fixed(variable: &PlannedVariable<'_>, extent: Extent, out: &mut impl Write) -> Result<()> {
    let failed = |cause| Error::io("cannot write", cause);
    let mut bytes = Vec::new();
    if variable.is_empty {
        // A missing scalar.
        match variable.nc_type {
            NcType::Char => bytes.resize(variable.width, 0),
            _ => put_bytes(&variable.fill, Endian::Big, &mut bytes),
        }
        out.write_all(&bytes).map_err(failed)?;
    }
    for_each_chunk(variable, |array| {
        encode(variable, array, &mut bytes, |bytes| out.write_all(bytes).map_err(failed))
    })?;
    out.write_all(&padding(variable, extent.bytes)).map_err(failed)
}

/// Writes the records: a row of each variable in turn. Reads about one chunk of all of them at a time.
fn write_records(plan: &Plan<'_>, layout: &Layout, out: &mut impl Write) -> Result<()> {
    let variables: Vec<(&PlannedVariable<'_>, u64)> = plan
        .variables
        .iter()
        .zip(&layout.extents)
        .filter(|(variable, _)| is_record(plan, variable))
        .map(|(variable, extent)| (variable, extent.bytes))
        .collect();
    let share = super::CHUNK_BYTES / (variables.len().max(1) as u64);
    // Strings may have far more characters than bytes.
    let rows = |(variable, bytes): &(&PlannedVariable<'_>, u64)| {
        rows_at_once(&variable.source, share).min(share / bytes.max(&1))
    };
    let step = variables.iter().map(rows).min().unwrap_or(1).max(1);
    let padded = variables.len() > 1;
    let failed = |cause| Error::io("cannot write", cause);
    let mut bytes = Vec::new();
    let mut start = 0;
    while start < layout.records && !variables.is_empty() {
        let end = layout.records.min(start.saturating_add(step));
        if step == 1 {
            // Rows may be large: write them directly.
            for (variable, len) in &variables {
                let array = variable.source.read_rows(start..end)?;
                encode(variable, array, &mut bytes, |bytes| out.write_all(bytes).map_err(failed))?;
                if padded {
                    out.write_all(&padding(variable, *len)).map_err(failed)?;
                }
            }
            start = end;
            continue;
        }
        let mut blocks = Vec::with_capacity(variables.len());
        for (variable, len) in &variables {
            let mut block = Vec::new();
            encode(variable, variable.source.read_rows(start..end)?, &mut bytes, |bytes| {
                block.extend_from_slice(bytes);
                Ok(())
            })?;
            let row = usize::try_from(*len).map_err(|_| too_large())?;
            blocks.push((block, row, if padded { padding(variable, *len) } else { Vec::new() }));
        }
        for row in 0..usize::try_from(end - start).unwrap_or(0) {
            for (block, len, padding) in &blocks {
                let bytes = block.get(row * len..(row + 1) * len).unwrap_or_default();
                out.write_all(bytes).and_then(|()| out.write_all(padding)).map_err(failed)?;
            }
        }
        start = end;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
