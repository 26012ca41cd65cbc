//! Copying the intact rows into the new file.

use std::io::{Seek, Write};
use std::ops::Range;

use container_core::{Result, Scan};

use super::Recovery;
use super::repair::RepairedValues;
use crate::FORMAT_NAME;
use crate::codec::Values;
use crate::read::{BlockRequest, ColumnSlice, SAME_ROWS, Scratch};
use crate::wire::Type;
use crate::write::Writer;

/// Appends all recoverable rows.
pub(super) fn copy<W: Write + Seek>(
    recovery: &Recovery,
    writer: &mut Writer<W>,
    kinds: &[Type],
    repaired: &mut [RepairedValues],
    threads: usize,
) -> Result<()> {
    let mut per_block = recovery.selected.iter().filter_map(|&index| recovery.reader.columns().get(index));
    let first = per_block.next().map(crate::Column::rows_per_block);
    if recovery.rows.len() > 1 && per_block.any(|column| Some(column.rows_per_block()) != first) {
        // Ranges may share blocks: decode each block once.
        return copy_in_turn(recovery, writer, kinds, repaired);
    }
    for rows in &recovery.rows {
        let scan =
            Scan::default().with_columns(recovery.selected.clone()).with_rows(rows.clone()).with_threads(threads);
        let mut batches = recovery.reader.batches(&scan)?;
        while let Some(batch) = batches.try_next()? {
            let slices: Vec<_> = (0..batch.column_count()).filter_map(|index| batch.column(index)).collect();
            append(writer, kinds, repaired, &slices, &batch.rows())?;
        }
    }
    Ok(())
}

/// The decoded block of a column.
struct ColumnBuffer {
    column: usize,
    values: Values,
    rows: Range<u64>,
    /// Memory in bytes.
    bytes: u64,
}

fn copy_in_turn<W: Write + Seek>(
    recovery: &Recovery,
    writer: &mut Writer<W>,
    kinds: &[Type],
    repaired: &mut [RepairedValues],
) -> Result<()> {
    let reader = &recovery.reader;
    let empty_buffer = |&column: &usize| ColumnBuffer { column, values: Values::default(), rows: 0..0, bytes: 0 };
    let mut buffers: Vec<ColumnBuffer> = recovery.selected.iter().map(empty_buffer).collect();
    let mut scratch = Scratch::default();
    let mut budget = reader.memory_budget();
    for rows in &recovery.rows {
        let mut start = rows.start;
        while start < rows.end {
            let mut end = rows.end;
            for buffer in &mut buffers {
                if buffer.rows.end <= start {
                    let block = reader.block_of_row(buffer.column, start)?;
                    let bytes = reader.block_cost(&BlockRequest::whole(buffer.column, block)).decoded;
                    budget.release(buffer.bytes);
                    buffer.bytes = bytes.max(buffer.bytes);
                    if !budget.try_take(buffer.bytes) {
                        (buffer.values, buffer.bytes) = (Values::default(), bytes);
                        let name = reader.column_at(buffer.column)?.unique_name().to_owned();
                        let charged = budget.take(SAME_ROWS, bytes);
                        charged.map_err(|error| error.in_column(name).in_block(block).in_format(FORMAT_NAME))?;
                    }
                    buffer.rows = reader.read_block(buffer.column, block, &mut buffer.values, &mut scratch)?;
                }
                end = end.min(buffer.rows.end);
            }
            let slice = |buffer: &'_ ColumnBuffer| {
                // Both ends are in the block, whose length is a usize.
                let offset = |row: u64| usize::try_from(row - buffer.rows.start).unwrap_or(usize::MAX);
                offset(start)..offset(end)
            };
            let slices: Vec<_> = buffers.iter().map(|buffer| ColumnSlice::new(&buffer.values, slice(buffer))).collect();
            append(writer, kinds, repaired, &slices, &(start..end))?;
            start = end;
        }
    }
    Ok(())
}

/// Appends rows, with invalid values replaced by missing ones.
fn append<W: Write + Seek>(
    writer: &mut Writer<W>,
    kinds: &[Type],
    repaired: &mut [RepairedValues],
    slices: &[ColumnSlice<'_>],
    rows: &Range<u64>,
) -> Result<()> {
    if slices.is_empty() {
        writer.append_columnless_rows(rows.end - rows.start);
        return Ok(());
    }
    let mut replaced: Vec<Option<Values>> = Vec::with_capacity(slices.len());
    for ((slice, kind), repaired) in slices.iter().zip(kinds).zip(repaired) {
        replaced.push(repaired.repair(kind, slice, rows.start)?);
    }
    let slices = replaced
        .iter()
        .zip(slices)
        .map(|(replaced, slice)| replaced.as_ref().map_or_else(|| slice.clone(), ColumnSlice::from));
    writer.append_unchecked(&slices.collect::<Vec<_>>())
}
