//! Copying rows from other files: re-encoded, or as whole blocks.

use std::collections::VecDeque;
use std::io::{Seek, Write};

use container_core::{Error, Loss, Result, Scan};

use super::pipeline::CopiedBlock;
use super::writer::Writer;
use crate::FORMAT_NAME;
use crate::codec::Values;
use crate::read::{ColumnSlice, Reader, Scratch};
use crate::wire::{LOOKUP_ENTRY_LEN, LookupEntry};

/// Approximate size in bytes of the chunks in which contiguous blocks are copied.
const COPY_CHUNK: u64 = 512 << 10;

/// ML.NET's maximum rows per block.
pub(super) const MAX_ROWS_PER_BLOCK: u64 = 0x7FFF_FFFF;

/// Lookup table entries read at a time.
const LOOKUP_BATCH: u64 = 256;

impl<W: Write + Seek> Writer<W> {
    /// Appends rows of another file, decoding and re-encoding them. The scan's columns must match the schema, in its order. Invalid values
    /// (keys above their count, times outside .NET's range) are copied unchanged and reported by [`take_losses`](Self::take_losses).
    /// Returns the number of rows.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) when types differ; any defect of the other file's blocks; as
    /// [`append_columns`](Self::append_columns).
    pub fn append_reader(&mut self, reader: &Reader, scan: &Scan) -> Result<u64> {
        self.flush_rows()?;
        self.check_not_failed()?;
        let columns = self.check_columns(reader, scan.columns.as_deref())?;
        let mut batches = reader.batches(&scan.clone().with_columns(columns))?;
        let mut rows = 0;
        while let Some(batch) = batches.try_next()? {
            rows += batch.row_count() as u64;
            let slices: Vec<_> = (0..batch.column_count()).filter_map(|index| batch.column(index)).collect();
            for (column, slice) in self.columns.iter_mut().zip(&slices) {
                column.invalid.add(&column.kind, slice, batch.rows().start);
            }
            if slices.is_empty() {
                self.append_columnless_rows(batch.row_count() as u64);
            } else {
                self.append_checked(&slices, batch.row_count())?;
            }
        }
        Ok(rows)
    }

    /// Returns and resets the counts of invalid values copied unchanged, per column, with the row of the first in its file.
    /// [`Reader::verify`] reports such values. Blocks copied without decoding are not counted.
    pub fn take_losses(&mut self) -> Vec<Loss> {
        let names = self.schema.columns.iter().map(|column| &column.name);
        let bad = self.columns.iter_mut().map(|column| std::mem::take(&mut column.invalid));
        names.zip(bad).filter_map(|(name, bad)| bad.loss(name)).collect()
    }

    /// Appends all rows of another file, whose `columns` (default: all readable ones) must match the schema. Copies blocks byte for byte
    /// where possible; re-encodes the others. Returns the numbers of both.
    ///
    /// A block is copied when it covers the same rows as a block of this file and its column has the same codec and compression here. It is
    /// not checked: damage is copied, too. Copying is faster with [`Access::Positional`](container_core::Access::Positional) than from a
    /// mapped file.
    ///
    /// # Errors
    /// As [`append_reader`](Self::append_reader).
    pub fn append_blocks(&mut self, reader: &Reader, columns: Option<&[usize]>) -> Result<CopyStats> {
        self.flush_rows()?;
        self.check_not_failed()?;
        let columns = self.check_columns(reader, columns)?;
        let same: Vec<bool> =
            columns.iter().enumerate().map(|(index, &theirs)| self.is_same(index, reader, theirs)).collect();
        let mut copied = CopyStats::default();
        let mut rows = 0;
        if let Some(per_block) = rows_per_block(reader, &columns).filter(|_| same.contains(&true)) {
            let unset = self.rows_per_block.is_none() && self.row_count() == 0;
            if unset && self.options.bytes_per_block.is_none() {
                // The requested number, otherwise that of the first file; for a single block, its actual rows.
                let rows = self.options.rows_per_block.unwrap_or_else(|| per_block.min(reader.row_count()).max(1));
                self.rows_per_block = Some(rows).filter(|&rows| rows <= reader.row_count().min(MAX_ROWS_PER_BLOCK));
            }
            let aligned = self.columns.iter().all(|column| column.values.is_empty());
            let mine = self.rows_per_block.filter(|&mine| {
                // A single block may have fewer rows than its table declares.
                let single = mine == reader.row_count() && mine <= per_block;
                aligned && (mine == per_block || single)
            });
            if let Some(mine) = mine {
                let blocks = reader.row_count() / mine;
                let outcome = self.copy_whole_blocks(reader, &columns, &same, blocks, &mut copied);
                self.poison_on_error(outcome)?;
                rows = blocks * mine;
            }
        }
        if rows < reader.row_count() {
            let left = |&index: &usize| {
                let column = reader.columns().get(index);
                column.map_or(0, |c| c.block_count() - rows.checked_div(c.rows_per_block()).unwrap_or(0))
            };
            copied.reencoded += columns.iter().map(left).sum::<u64>();
            let scan = Scan::default().with_rows(rows..reader.row_count()).with_threads(self.options.threads);
            self.append_reader(reader, &scan.with_columns(columns))?;
        }
        Ok(copied)
    }

    /// Copies blocks that match the blocks of this file, in row order. Blocks of columns that are not the `same` are re-encoded.
    fn copy_whole_blocks(
        &mut self,
        reader: &Reader,
        columns: &[usize],
        same: &[bool],
        blocks: u64,
        copied: &mut CopyStats,
    ) -> Result<()> {
        let mut run = BlockRun::default();
        let (mut values, mut scratch) = (Values::default(), Scratch::default());
        let rows = self.rows_per_block.unwrap_or(0);
        let mut entries: Vec<VecDeque<LookupEntry>> = vec![VecDeque::new(); columns.len()];
        // Bounds the output: overlapping blocks could make a large file of a small one.
        let mut left = reader.source().len();
        for block in 0..blocks {
            for (((index, &theirs), &same), ahead) in columns.iter().enumerate().zip(same).zip(&mut entries) {
                if !same {
                    self.flush_run(&mut run, reader)?;
                    reader.read_block(theirs, block, &mut values, &mut scratch)?;
                    self.append_checked_column(index, &ColumnSlice::from(&values))?;
                    copied.reencoded += 1;
                    continue;
                }
                if ahead.is_empty() {
                    reader.lookup_entries(theirs, block..blocks.min(block + LOOKUP_BATCH), ahead)?;
                }
                let Some(entry) = ahead.pop_front() else { continue };
                left = left.checked_sub(LOOKUP_ENTRY_LEN + u64::from(entry.len)).ok_or_else(|| {
                    let detail = "blocks or lookup tables overlap: together they are longer than the file";
                    let error = Error::invalid(detail);
                    error.at(entry.offset).in_block(block).in_column(self.name(index)).in_format(FORMAT_NAME)
                })?;
                if run.end != entry.offset || run.end - run.start >= COPY_CHUNK {
                    self.flush_run(&mut run, reader)?;
                    (run.start, run.end) = (entry.offset, entry.offset);
                }
                run.end += u64::from(entry.len);
                run.blocks.push(CopiedBlock { column: index, len: entry.len, raw_len: entry.raw_len });
                if let Some(column) = self.columns.get_mut(index) {
                    column.rows += rows;
                }
                copied.copied += 1;
            }
            if let Some(progress) = &self.options.progress {
                progress.advance(rows)?;
            }
        }
        self.flush_run(&mut run, reader)
    }

    /// Writes the collected run of blocks.
    fn flush_run(&mut self, run: &mut BlockRun, reader: &Reader) -> Result<()> {
        let BlockRun { start, end, blocks } = std::mem::take(run);
        if blocks.is_empty() {
            return Ok(());
        }
        if !self.pipeline.is_idle() {
            return self.pipeline.push_copied(reader.source().read(start..end)?, blocks);
        }
        // Nothing is queued before them: copy through a reused buffer.
        self.pipeline.record_copied(&blocks);
        let mut at = start;
        while at < end {
            let chunk_rows = at..end.min(at + COPY_CHUNK);
            at = chunk_rows.end;
            self.pipeline.write(reader.source().view(chunk_rows, &mut self.buffer)?)?;
        }
        Ok(())
    }

    /// The columns to copy, checked against the schema.
    fn check_columns(&self, reader: &Reader, columns: Option<&[usize]>) -> Result<Vec<usize>> {
        let columns = columns.map_or_else(|| reader.readable_columns(), |columns| Ok(columns.to_vec()))?;
        if columns.len() != self.columns.len() {
            let detail = format!("expected {} columns, found {}", self.columns.len(), columns.len());
            return Err(Error::usage(detail).in_format(FORMAT_NAME));
        }
        for (index, &theirs) in columns.iter().enumerate() {
            let found = reader.column_schema(theirs, None)?.kind;
            if self.columns.get(index).is_none_or(|column| column.kind != found) {
                let expected = self.columns.get(index).map(|column| column.kind.to_string()).unwrap_or_default();
                let detail = format!("expected {expected} values, found {found}");
                return Err(Error::usage(detail).in_column(self.name(index)).in_format(FORMAT_NAME));
            }
        }
        Ok(columns)
    }

    /// Whether a column of another file has the same codec and compression in this file.
    fn is_same(&self, index: usize, reader: &Reader, theirs: usize) -> bool {
        let (Some(mine), Some(theirs)) = (self.schema.columns.get(index), reader.columns().get(theirs)) else {
            return false;
        };
        let compression = mine.compression.unwrap_or(self.options.compression);
        theirs.compression() == Some(compression) && theirs.kind() == Ok(&mine.kind)
    }
}

/// Number of blocks copied and re-encoded by [`Writer::append_blocks`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CopyStats {
    /// Copied byte for byte.
    pub copied: u64,
    /// Decoded and re-encoded.
    pub reencoded: u64,
}

/// Contiguous blocks of the other file.
#[derive(Default)]
struct BlockRun {
    start: u64,
    end: u64,
    blocks: Vec<CopiedBlock>,
}

/// The common rows per block of the columns, if any.
fn rows_per_block(reader: &Reader, columns: &[usize]) -> Option<u64> {
    let mut all = columns.iter().filter_map(|&index| reader.columns().get(index));
    let first = all.next()?.rows_per_block();
    all.all(|column| column.rows_per_block() == first).then_some(first)
}
