//! Choosing the rows per block from the size of the first rows, as ML.NET does.

use std::io::{Seek, Write};
use std::ops::Range;

use container_core::Result;

use super::block_rows::{max_rows_within, rows_within};
use super::writer::{PendingColumn, Writer};
use crate::codec::{self, Units, Values};
use crate::wire::Type;

impl<W: Write + Seek> Writer<W> {
    /// Chooses the rows per block once enough rows are buffered, or `now`; then passes on all full blocks.
    pub(super) fn choose_rows_per_block(&mut self, now: bool) -> Result<()> {
        if self.rows_per_block.is_some() {
            return Ok(());
        }
        let limit = self.options.max_rows();
        if !now && !self.has_enough_rows(limit) {
            return Ok(());
        }
        let all: Vec<_> = self.columns.iter().map(|column| (&column.kind, &column.values)).collect();
        let longest = self.columns.iter().map(|column| column.values.len()).max().unwrap_or(0);
        let row_limit = usize::try_from(limit).unwrap_or(usize::MAX).min(longest);
        let estimate = |rows: usize| {
            let of = |(kind, values): &(&Type, &Values)| {
                codec::estimated_len(kind, values, 0..rows.min(values.len()), Units::Counted)
            };
            all.iter().map(of).fold(0, u64::saturating_add)
        };
        let mut rows = max_rows_within(row_limit, self.options.max_group_bytes(), estimate);
        // Each block must fit its lookup entry.
        for one in &all {
            rows = rows.min(rows_within(one, rows, self.options.max_block_bytes()));
        }
        let rows = rows.max(1);
        self.rows_per_block = Some(rows as u64);
        self.split_into_blocks(rows)
    }

    /// Appends values to a column, updating the size estimate incrementally.
    pub(super) fn extend_column(&mut self, index: usize, values: &Values, range: Range<usize>) -> Result<()> {
        let Some(column) = self.columns.get_mut(index) else { return Ok(()) };
        column.values.extend_from(values, range)?;
        if self.rows_per_block.is_some() {
            return Ok(());
        }
        let bytes = column.estimate();
        self.estimate = self.estimate.saturating_sub(column.estimate).saturating_add(bytes);
        column.estimate = bytes;
        let limit = self.options.max_block_bytes();
        // The estimate is an upper bound, except for a few bytes of a text length.
        self.oversized |= bytes.saturating_add(16) > limit
            && codec::encoded_len(&column.kind, &column.values, 0..column.values.len()) > limit;
        Ok(())
    }

    /// Whether enough rows are buffered. Counts UTF-16 units exactly only now and then.
    fn has_enough_rows(&mut self, limit: u64) -> bool {
        // Columns appended one at a time pass `now` when full.
        let buffered = self.columns.first().map_or(0, |column| column.values.len());
        if buffered as u64 >= limit || self.oversized {
            return true;
        }
        let (limit, bytes) = (self.options.max_group_bytes(), self.estimate);
        if bytes <= limit || bytes < self.next_check_bytes {
            return false;
        }
        // Geometric growth keeps the total work linear.
        self.next_check_bytes = bytes.saturating_add(bytes / 8);
        let counted = |c: &PendingColumn| codec::estimated_len(&c.kind, &c.values, 0..c.values.len(), Units::Counted);
        self.columns.iter().map(counted).fold(0, u64::saturating_add) > limit
    }

    /// Splits the buffered values into blocks.
    fn split_into_blocks(&mut self, rows: usize) -> Result<()> {
        let longest = self.columns.iter().map(|column| column.values.len()).max().unwrap_or(0);
        if longest <= rows {
            return Ok(());
        }
        let mut whole = Vec::with_capacity(self.columns.len());
        for column in &mut self.columns {
            let empty = Values::of(&column.kind);
            whole.push(std::mem::replace(&mut column.values, empty));
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
    /// Upper bound of ML.NET's size estimate for the buffered values.
    pub(super) fn estimate(&self) -> u64 {
        codec::estimated_len(&self.kind, &self.values, 0..self.values.len(), Units::Bytes)
    }
}
