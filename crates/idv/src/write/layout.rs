//! How many rows a block has: decided by the first rows, as ML.NET does.

use std::io::{Seek, Write};

use container_core::Result;

use super::writer::Writer;
use crate::codec::{self, Values};
use crate::wire::Type;

impl<W: Write + Seek> Writer<W> {
    /// Decides how many rows a block has, when enough rows are there to say it or no more will come; then all blocks that
    /// are full by that go on.
    pub(super) fn decide(&mut self, now: bool) -> Result<()> {
        if self.rows_per_block.is_some() {
            return Ok(());
        }
        let most = self.options.most_rows();
        let most_bytes = self.options.most_bytes_of_all();
        let there = self.columns.iter().map(|column| column.values.len()).min().unwrap_or(0);
        let bytes: u64 = self
            .columns
            .iter()
            .map(|column| codec::encoded_len(&column.kind, &column.values, 0..column.values.len()))
            .max()
            .unwrap_or(0);
        let all: Vec<_> = self.columns.iter().map(|column| (&column.kind, &column.values)).collect();
        let total: u64 = all.iter().map(|(kind, values)| codec::encoded_len(kind, values, 0..values.len())).sum();
        let enough = there as u64 >= most || total > most_bytes || bytes > self.options.most_bytes();
        if !enough && !now {
            return Ok(());
        }
        let longest = self.columns.iter().map(|column| column.values.len()).max().unwrap_or(0);
        let asked = usize::try_from(most).unwrap_or(usize::MAX).min(longest);
        let mut rows = rows_within(&all, asked, most_bytes);
        // What a lookup entry can say holds for each block by itself.
        for one in &all {
            rows = rows.min(rows_within(&[*one], rows, self.options.most_bytes()));
        }
        let rows = rows.max(1);
        self.rows_per_block = Some(rows as u64);
        self.cut(rows)
    }

    /// Cuts what has come so far into blocks of so many rows.
    fn cut(&mut self, rows: usize) -> Result<()> {
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

/// How many of the first `rows` rows of all columns have blocks of at most `bytes` together; 0 when one row is too large.
pub(super) fn rows_within(columns: &[(&Type, &Values)], rows: usize, bytes: u64) -> usize {
    let fits = |rows: usize| {
        let of = |(kind, values): &(&Type, &Values)| codec::encoded_len(kind, values, 0..rows.min(values.len()));
        columns.iter().map(of).fold(0, u64::saturating_add) <= bytes
    };
    let (mut least, mut most) = (0, rows);
    while least < most {
        let middle = most - (most - least) / 2;
        if fits(middle) {
            least = middle;
        } else {
            most = middle - 1;
        }
    }
    least
}
