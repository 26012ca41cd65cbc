//! How many rows a block has: decided by the first rows, as ML.NET does.

use std::io::{Seek, Write};
use std::ops::Range;

use container_core::Result;

use super::block_rows::{max_rows_within, rows_within};
use super::writer::{PendingColumn, Writer};
use crate::codec::{self, Units, Values};
use crate::wire::Type;

impl<W: Write + Seek> Writer<W> {
    /// Decides how many rows a block has, when enough rows are there to say it or no more will come; then all blocks that
    /// are full by that go on.
    pub(super) fn choose_rows_per_block(&mut self, now: bool) -> Result<()> {
        if self.rows_per_block.is_some() {
            return Ok(());
        }
        let most = self.options.max_rows();
        if !now && !self.has_enough_rows(most) {
            return Ok(());
        }
        let all: Vec<_> = self.columns.iter().map(|column| (&column.kind, &column.values)).collect();
        let longest = self.columns.iter().map(|column| column.values.len()).max().unwrap_or(0);
        let asked = usize::try_from(most).unwrap_or(usize::MAX).min(longest);
        let estimate = |rows: usize| {
            let of = |(kind, values): &(&Type, &Values)| {
                codec::estimated_len(kind, values, 0..rows.min(values.len()), Units::Counted)
            };
            all.iter().map(of).fold(0, u64::saturating_add)
        };
        let mut rows = max_rows_within(asked, self.options.max_group_bytes(), estimate);
        // What a lookup entry can say holds for each block by itself.
        for one in &all {
            rows = rows.min(rows_within(one, rows, self.options.max_block_bytes()));
        }
        let rows = rows.max(1);
        self.rows_per_block = Some(rows as u64);
        self.split_into_blocks(rows)
    }

    /// Appends rows to the values of a column, and keeps count of what decides how many rows a block has: so that not all columns are
    /// looked at whenever one of them grows.
    pub(super) fn extend_column(&mut self, index: usize, values: &Values, range: Range<usize>) -> Result<()> {
        let Some(column) = self.columns.get_mut(index) else { return Ok(()) };
        column.values.extend_from(values, range)?;
        if self.rows_per_block.is_some() {
            return Ok(());
        }
        let bytes = column.estimate();
        self.estimate = self.estimate.saturating_sub(column.estimate).saturating_add(bytes);
        column.estimate = bytes;
        let most = self.options.max_block_bytes();
        // No block is larger than the estimate, but for the few bytes of a text's length.
        self.oversized |= bytes.saturating_add(16) > most
            && codec::encoded_len(&column.kind, &column.values, 0..column.values.len()) > most;
        Ok(())
    }

    /// Whether no more rows are needed to say it. That texts may have fewer units than bytes is looked at only now and then.
    fn has_enough_rows(&mut self, most: u64) -> bool {
        // Columns that come one at a time say it themselves when they are full.
        let there = self.columns.first().map_or(0, |column| column.values.len());
        if there as u64 >= most || self.oversized {
            return true;
        }
        let (most, bytes) = (self.options.max_group_bytes(), self.estimate);
        if bytes <= most || bytes < self.next_check_bytes {
            return false;
        }
        // An eighth more each time: the work stays in proportion to the bytes.
        self.next_check_bytes = bytes.saturating_add(bytes / 8);
        let counted = |c: &PendingColumn| codec::estimated_len(&c.kind, &c.values, 0..c.values.len(), Units::Counted);
        self.columns.iter().map(counted).fold(0, u64::saturating_add) > most
    }

    /// Cuts what has come so far into blocks of so many rows.
    fn split_into_blocks(&mut self, rows: usize) -> Result<()> {
        let longest = self.columns.iter().map(|column| column.values.len()).max().unwrap_or(0);
        if longest <= rows {
            return Ok(());
        }
        let mut whole = Vec::with_capacity(self.columns.len());
        for column in &mut self.columns {
            let fresh = Values::of(&column.kind);
            whole.push(std::mem::replace(&mut column.values, fresh));
        }
        let mut start = 0;
        while start < longest {
            for index in 0..whole.len() {
                let (Some(column), Some(values)) = (self.columns.get_mut(index), whole.get(index)) else { continue };
                let end = values.len().min(start + rows);
                if start >= end {
                    continue;
                }
                column.values.extend_from(values, start..end)?;
                if end - start == rows {
                    self.push_block(index)?;
                }
            }
            start += rows;
        }
        Ok(())
    }
}

impl PendingColumn {
    /// How large ML.NET takes the values' block to be, at most.
    pub(super) fn estimate(&self) -> u64 {
        codec::estimated_len(&self.kind, &self.values, 0..self.values.len(), Units::Bytes)
    }
}
