//! Decoding every block of a file to find the damaged ones.

use std::ops::Range;

use container_core::{Error, ErrorKind, Result};

use super::RecoverOptions;
use crate::read::{Reader, each_block};

/// Blocks decoded together.
const WINDOW: u64 = 256;

/// Maximum bytes of blocks, as a multiple of the file length, as in [`Reader::verify`]. Overlapping blocks could otherwise make a small
/// file take forever.
const MAX_CLAIMS: u64 = 2;

/// The damage of a column.
pub(super) struct ColumnDamage {
    pub(super) name: String,
    /// Why the whole column is unreadable.
    pub(super) unreadable: Option<String>,
    /// Rows of damaged blocks: increasing, disjoint ranges.
    pub(super) damaged: Vec<Range<u64>>,
    /// Number of damaged blocks, and the error of the first.
    pub(super) blocks: u64,
    pub(super) first: Option<Error>,
}

impl ColumnDamage {
    /// Adds rows after all previous ones.
    fn add(&mut self, rows: Range<u64>) {
        match self.damaged.last_mut() {
            Some(last) if last.end == rows.start => last.end = rows.end,
            _ => self.damaged.push(rows),
        }
    }

    /// Describes the error of the first damaged block.
    pub(super) fn why(&self) -> String {
        let Some(error) = &self.first else { return String::new() };
        let mut position = error.position().clone();
        position.column = None;
        format!("{position}: {}", error.detail())
    }
}

/// Decodes all blocks of all columns.
pub(super) fn scan(reader: &Reader, options: &RecoverOptions) -> Result<Vec<ColumnDamage>> {
    let mut left = reader.source().len().saturating_mul(MAX_CLAIMS);
    (0..reader.columns().len()).map(|index| scan_column(reader, index, options, &mut left)).collect()
}

/// Decodes all blocks of a column; `left` is the budget of block bytes.
fn scan_column(reader: &Reader, index: usize, options: &RecoverOptions, left: &mut u64) -> Result<ColumnDamage> {
    let mut damage =
        ColumnDamage { name: String::new(), unreadable: None, damaged: Vec::new(), blocks: 0, first: None };
    let Some(column) = reader.columns().get(index) else { return Ok(damage) };
    column.unique_name().clone_into(&mut damage.name);
    if let Err(why) = column.kind() {
        damage.unreadable = Some(why.to_string());
        return Ok(damage);
    }
    let (blocks, per_block, rows) = (column.block_count(), column.rows_per_block(), reader.row_count());
    let mut start = 0;
    while start < blocks {
        let end = start.saturating_add(WINDOW).min(blocks);
        let taken = (start..end).map(|block| reader.stored_len(column, block)).fold(0, u64::saturating_add);
        *left = left.saturating_sub(taken);
        if *left == 0 {
            let why = "its blocks overlap others: the blocks so far take more bytes than the file has";
            damage.unreadable = Some(why.to_owned());
            return Ok(damage);
        }
        for (block, outcome) in (start..end).zip(try_blocks(reader, index, start..end, options.threads)) {
            let range = reader.block_rows(index, block)?;
            if let Some(progress) = &options.progress {
                progress.advance(range.end - range.start)?;
            }
            match outcome {
                None => {}
                // An I/O error is not damage.
                Some(error) if error.kind() == ErrorKind::Io => return Err(error),
                Some(error) => {
                    damage.blocks += 1;
                    damage.add(range);
                    damage.first.get_or_insert(error);
                }
            }
        }
        start = end;
    }
    // Rows whose lookup entries are outside the file.
    let reached = blocks.saturating_mul(per_block).min(rows);
    if reached < rows {
        damage.blocks += (rows - reached).div_ceil(per_block.max(1));
        damage.add(reached..rows);
        damage.first.get_or_insert_with(|| {
            Error::invalid("the lookup table ends before this block").at(column.entry.lookup_offset).in_block(blocks)
        });
    }
    Ok(damage)
}

/// The error of each block, if any.
fn try_blocks(reader: &Reader, column: usize, blocks: Range<u64>, threads: usize) -> Vec<Option<Error>> {
    each_block(reader, column, blocks, threads, |(values, scratch), block| {
        reader.read_block(column, block, values, scratch).err()
    })
}
