//! CDF-1, CDF-2 and CDF-5, written from front to back.

use std::io::{BufWriter, Write};
use std::path::Path;

use container_core::{Error, Output, Result};

use super::plan::{Plan, Planned};
use super::{WriteOptions, characters, filled, pieces, put_bytes, rows_at_once};
use crate::netcdf::classic::header::{ATTRIBUTES, CODES, DIMENSIONS, VARIABLES};
use crate::netcdf::model::{Attribute, AttributeValue, Kind, NcType, product};
use crate::netcdf::to_ds::Converted;
use crate::types::Endian;
use crate::write::Written;

/// Bytes that go to the file at once.
const BUFFER: usize = 1 << 20;

/// Where a variable lies, in bytes.
#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    begin: u64,
    /// One row of a record variable, all of another; without padding.
    bytes: u64,
}

/// Where everything lies.
struct Layout {
    slots: Vec<Slot>,
    /// From one record to the next.
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
    for (variable, slot) in plan.variables.iter().zip(&layout.slots) {
        if !is_record(&plan, variable) {
            fixed(variable, *slot, &mut out)?;
        }
    }
    records(&plan, &layout, &mut out)?;
    let output = out.into_inner().map_err(|error| Error::io("cannot write", error.into_error()))?;
    output.finish()?;
    let written = Written { variables: plan.variables.len(), bytes: layout.end };
    Ok(Converted { written, losses: plan.losses })
}

/// Is its first dimension that of the records?
fn is_record(plan: &Plan<'_>, variable: &Planned<'_>) -> bool {
    let first = variable.dimensions.first().and_then(|place| plan.dimensions.get(*place));
    first.is_some_and(|dimension| dimension.unlimited)
}

fn too_large() -> Error {
    Error::usage("the file would have more than 2^63 bytes")
}

/// Lays the variables out, and chooses the first kind that holds them, if the kind is free.
fn layout(plan: &mut Plan<'_>, options: &WriteOptions) -> Result<Layout> {
    let mut layout = Layout { slots: Vec::new(), stride: 0, records: 0, end: 0 };
    let mut only = None;
    for variable in &plan.variables {
        let record = is_record(plan, variable);
        let sizes: Vec<u64> = variable
            .dimensions
            .iter()
            .skip(usize::from(record))
            .filter_map(|place| plan.dimensions.get(*place).map(|dimension| dimension.size))
            .collect();
        let width = variable.nc_type.width().unwrap_or(1) as u64;
        let bytes = product(&sizes).and_then(|count| count.checked_mul(width)).filter(|bytes| *bytes < i64::MAX as u64);
        let bytes = bytes.ok_or_else(too_large)?;
        if record {
            only = if layout.stride == 0 && only.is_none() { Some(bytes) } else { Some(u64::MAX) };
            layout.stride = layout.stride.checked_add(bytes.next_multiple_of(4)).ok_or_else(too_large)?;
        }
        layout.slots.push(Slot { begin: 0, bytes });
    }
    // Records of one variable only lie side by side.
    if let Some(bytes) = only.filter(|bytes| *bytes != u64::MAX) {
        layout.stride = bytes;
    }
    layout.records = plan.dimensions.iter().find(|dimension| dimension.unlimited).map_or(0, |dimension| dimension.size);
    loop {
        place(plan, &mut layout)?;
        match refusal(plan, &layout) {
            None => return Ok(layout),
            Some(error) if options.kind.is_some() => return Err(error),
            Some(_) if plan.kind == Kind::Classic => plan.kind = Kind::Offset64,
            Some(_) => plan.kind = Kind::Data64,
        }
    }
}

/// Why the plan's kind does not hold what lies so: the rules of the C library.
///
/// CDF-1 states positions in 31 bits; it and CDF-2 state the bytes of a variable, or of one record of it, in 31 and 32. Nobody needs to
/// know those of the variable that everything ends with: it may be of any size, and so may the last one of the records.
fn refusal(plan: &Plan<'_>, layout: &Layout) -> Option<Error> {
    let most = match plan.kind {
        Kind::Classic => u64::from(i32::MAX.unsigned_abs()) - 3,
        Kind::Offset64 => u64::from(u32::MAX) - 3,
        _ => return None,
    };
    let of = |records: bool| {
        plan.variables.iter().zip(&layout.slots).filter(move |(variable, _)| is_record(plan, variable) == records)
    };
    let kind = plan.kind;
    let others = if kind == Kind::Classic { "CDF-2 and CDF-5" } else { "CDF-5" };
    let error = |detail: String, variable: &Planned<'_>| {
        Some(Error::usage(detail).in_column(variable.source.name().to_owned()))
    };
    for records in [false, true] {
        let last_may = records || of(true).next().is_none();
        let mut all = of(records).peekable();
        while let Some((variable, slot)) = all.next() {
            if slot.bytes > most && !(last_may && all.peek().is_none()) {
                let able = if slot.bytes > u64::from(u32::MAX) - 3 { "CDF-5" } else { others };
                let what = if records { "a record of a variable" } else { "a variable" };
                let bytes = slot.bytes;
                let detail = format!(
                    "{kind} cannot hold {what} of {bytes} bytes that is not the last, {most} are allowed; {able} can"
                );
                return error(detail, variable);
            }
        }
    }
    let far = |(_, slot): &(&Planned<'_>, &Slot)| slot.begin > i32::MAX.unsigned_abs().into();
    let (variable, slot) = plan.variables.iter().zip(&layout.slots).find(far).filter(|_| kind == Kind::Classic)?;
    let detail = format!(
        "CDF-1 cannot hold a variable that begins at byte {}, {} is allowed; CDF-2 and CDF-5 can",
        slot.begin,
        i32::MAX
    );
    error(detail, variable)
}

/// Gives everything its place, under the plan's kind.
fn place(plan: &Plan<'_>, layout: &mut Layout) -> Result<()> {
    let mut at = header(plan, layout)?.len() as u64;
    for of_records in [false, true] {
        for (variable, slot) in plan.variables.iter().zip(&mut layout.slots) {
            if is_record(plan, variable) != of_records {
                continue;
            }
            slot.begin = at;
            at = at.checked_add(slot.bytes.next_multiple_of(4)).ok_or_else(too_large)?;
        }
    }
    let of_records = plan.variables.iter().zip(&layout.slots).filter(|(variable, _)| is_record(plan, variable));
    if let Some(begin) = of_records.map(|(_, slot)| slot.begin).min() {
        at = layout.stride.checked_mul(layout.records).and_then(|all| all.checked_add(begin)).ok_or_else(too_large)?;
    }
    layout.end = at;
    Ok(())
}

/// Bytes of a header.
struct Head {
    kind: Kind,
    bytes: Vec<u8>,
}

impl Head {
    fn u32(&mut self, number: u32) {
        self.bytes.extend_from_slice(&number.to_be_bytes());
    }

    /// A count or a length.
    fn size(&mut self, number: u64) -> Result<()> {
        if self.kind == Kind::Data64 {
            self.bytes.extend_from_slice(&number.to_be_bytes());
        } else {
            let kind = self.kind;
            self.u32(
                u32::try_from(number).map_err(|_| Error::usage(format!("{kind} cannot hold a size of {number}")))?,
            );
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
        self.u32(code.ok_or_else(|| Error::usage(format!("{} cannot hold elements of type {nc_type}", self.kind)))?);
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
                    return Err(Error::usage("a list of texts is no attribute of a classic file"));
                }
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
    let mut head = Head { kind: plan.kind, bytes: vec![b'C', b'D', b'F', version] };
    head.size(layout.records)?;
    head.list(DIMENSIONS, plan.dimensions.len())?;
    for dimension in &plan.dimensions {
        head.text(&dimension.name)?;
        head.size(if dimension.unlimited { 0 } else { dimension.size })?;
    }
    head.attributes(&plan.attributes)?;
    head.list(VARIABLES, plan.variables.len())?;
    for (variable, slot) in plan.variables.iter().zip(&layout.slots) {
        head.text(variable.source.name())?;
        head.size(variable.dimensions.len() as u64)?;
        for dimension in &variable.dimensions {
            head.size(*dimension as u64)?;
        }
        head.attributes(&variable.attributes)?;
        head.code(&variable.nc_type)?;
        let padded = slot.bytes.next_multiple_of(4);
        match plan.kind {
            Kind::Data64 => head.size(padded)?,
            // Readers know it from the sizes.
            _ => head.u32(u32::try_from(padded).unwrap_or(u32::MAX)),
        }
        match plan.kind {
            // Too far is found out later: a larger kind is taken then.
            Kind::Classic => head.u32(u32::try_from(slot.begin).unwrap_or(u32::MAX)),
            _ => head.bytes.extend_from_slice(&slot.begin.to_be_bytes()),
        }
    }
    Ok(head.bytes)
}

/// Gives the bytes of some rows, some at a time.
fn encoded(
    variable: &Planned<'_>,
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

/// What stands behind values up to a multiple of four bytes: fill values.
fn padding(variable: &Planned<'_>, bytes: u64) -> Vec<u8> {
    let wanted = usize::try_from(bytes.wrapping_neg() % 4).unwrap_or(0);
    let mut fill = Vec::new();
    put_bytes(&variable.fill, Endian::Big, &mut fill);
    fill.push(0);
    let width = (fill.len() - 1).max(1);
    fill.into_iter().take(width).cycle().take(wanted).collect()
}

fn fixed(variable: &Planned<'_>, slot: Slot, out: &mut impl Write) -> Result<()> {
    let failed = |cause| Error::io("cannot write", cause);
    let mut bytes = Vec::new();
    if variable.is_empty {
        // The one value that a scalar has means "missing".
        match variable.nc_type {
            NcType::Char => bytes.resize(variable.width, 0),
            _ => put_bytes(&variable.fill, Endian::Big, &mut bytes),
        }
        out.write_all(&bytes).map_err(failed)?;
    }
    pieces(variable, |array| encoded(variable, array, &mut bytes, |bytes| out.write_all(bytes).map_err(failed)))?;
    out.write_all(&padding(variable, slot.bytes)).map_err(failed)
}

/// The records: a row of each variable in turn. So many rows are read at once that together they are a piece.
fn records(plan: &Plan<'_>, layout: &Layout, out: &mut impl Write) -> Result<()> {
    let of_records: Vec<(&Planned<'_>, u64)> = plan
        .variables
        .iter()
        .zip(&layout.slots)
        .filter(|(variable, _)| is_record(plan, variable))
        .map(|(variable, slot)| (variable, slot.bytes))
        .collect();
    let share = super::PIECE / (of_records.len().max(1) as u64);
    // Texts may make far more characters than they have bytes.
    let rows =
        |(variable, bytes): &(&Planned<'_>, u64)| rows_at_once(&variable.source, share).min(share / bytes.max(&1));
    let step = of_records.iter().map(rows).min().unwrap_or(1).max(1);
    let padded = of_records.len() > 1;
    let failed = |cause| Error::io("cannot write", cause);
    let mut bytes = Vec::new();
    let mut start = 0;
    while start < layout.records && !of_records.is_empty() {
        let end = layout.records.min(start.saturating_add(step));
        if step == 1 {
            // A row may be long.
            for (variable, len) in &of_records {
                let array = variable.source.read_rows(start..end)?;
                encoded(variable, array, &mut bytes, |bytes| out.write_all(bytes).map_err(failed))?;
                if padded {
                    out.write_all(&padding(variable, *len)).map_err(failed)?;
                }
            }
            start = end;
            continue;
        }
        let mut blocks = Vec::with_capacity(of_records.len());
        for (variable, len) in &of_records {
            let mut block = Vec::new();
            encoded(variable, variable.source.read_rows(start..end)?, &mut bytes, |bytes| {
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
