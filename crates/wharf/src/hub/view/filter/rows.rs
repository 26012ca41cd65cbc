//! Matching rows, one by one.

use std::collections::VecDeque;
use std::ops::Range;

use container_arrow::{BatchScan, add_losses};
use container_core::{Error, Loss, Result, Rows, Scan};

use super::masks::Masks;
use super::{FilteredTable, MIN_GAP};

/// The rows of a table that match, exactly as the table has them.
pub(super) struct FilteredRows<'a> {
    table: &'a FilteredTable,
    /// The projection; its row range is that of the stretch that is read.
    scan: Scan,
    masks: Masks<'a>,
    /// Matching rows that are yet to come, by number, in stretches that are read together.
    stretches: VecDeque<(Range<u64>, Vec<u64>)>,
    /// The hits of the current stretch.
    hits: std::vec::IntoIter<u64>,
    rows: Option<Box<dyn Rows + 'a>>,
    /// The number of the row that the next step leads to.
    next: u64,
    /// Rows between two hits from which on reading starts anew; `None` when the table is read from its first row on.
    gap: Option<u64>,
    /// Matching rows to skip, and to show.
    skip: u64,
    left: u64,
    skipped: u64,
    losses: Vec<Loss>,
    is_done: bool,
}

impl<'a> FilteredRows<'a> {
    pub(super) fn new(table: &'a FilteredTable, scan: &Scan) -> Result<Self> {
        let gap = table.table()?.block_rows().map(|rows| rows.max(MIN_GAP));
        let mut own = BatchScan::from(scan.clone());
        own.scan.columns = None;
        Ok(Self {
            table,
            masks: table.masks(&own)?,
            scan: scan.clone().with_rows(0..u64::MAX),
            stretches: VecDeque::new(),
            hits: Vec::new().into_iter(),
            // Without a row, too, it says which columns it leaves out.
            rows: Some(table.table()?.rows(&scan.clone().with_rows(if gap.is_some() { 0..0 } else { 0..u64::MAX }))?),
            next: 0,
            gap,
            skip: scan.rows.start,
            left: scan.rows.end.saturating_sub(scan.rows.start),
            skipped: 0,
            losses: Vec::new(),
            is_done: false,
        })
    }

    /// The number of the next matching row that is shown.
    fn hit(&mut self) -> Result<Option<u64>> {
        loop {
            if self.left == 0 {
                return Ok(None);
            }
            if let Some(hit) = self.hits.next() {
                if self.skip > 0 {
                    (self.skip, self.skipped) = (self.skip - 1, self.skipped + 1);
                    continue;
                }
                self.left -= 1;
                return Ok(Some(hit));
            }
            if let Some((stretch, hits)) = self.stretches.pop_front() {
                self.hits = hits.into_iter();
                if self.gap.is_some() && self.skip < self.hits.len() as u64 {
                    self.open(stretch)?;
                }
                continue;
            }
            let Some(mask) = self.masks.try_next()? else {
                return match self.skip {
                    0 => Ok(None),
                    _ => Err(Error::usage(format!("no row {}: {} rows match", self.skip + self.skipped, self.skipped))),
                };
            };
            let mut hits = mask.hits().peekable();
            for stretch in mask.stretches(self.gap.unwrap_or(u64::MAX)) {
                let mut own = Vec::new();
                while let Some(hit) = hits.next_if(|hit| *hit < stretch.end) {
                    own.push(hit);
                }
                self.stretches.push_back((stretch, own));
            }
        }
    }

    /// Starts to read a stretch, unless the rows before it lead there.
    fn open(&mut self, stretch: Range<u64>) -> Result<()> {
        if let Some(rows) = self.rows.take() {
            add_losses(&mut self.losses, rows.losses());
        }
        self.next = stretch.start;
        self.rows = Some(self.table.table()?.rows(&self.scan.clone().with_rows(stretch))?);
        Ok(())
    }

    fn step(&mut self) -> Result<bool> {
        let Some(hit) = self.hit()? else { return Ok(false) };
        let Some(rows) = &mut self.rows else { return Ok(false) };
        while self.next <= hit {
            if !rows.advance()? {
                return Err(Error::invalid("the table has fewer rows than before").in_row(hit));
            }
            self.next += 1;
        }
        Ok(true)
    }
}

impl Rows for FilteredRows<'_> {
    fn advance(&mut self) -> Result<bool> {
        if self.is_done {
            return Ok(false);
        }
        let stepped = self.step();
        self.is_done = !matches!(stepped, Ok(true));
        stepped
    }

    fn index(&self) -> u64 {
        self.next.saturating_sub(1)
    }

    fn locate(&self, error: Error) -> Error {
        match &self.rows {
            Some(rows) => rows.locate(error),
            None => error,
        }
    }

    fn row(&self) -> &dyn erased_serde::Serialize {
        match &self.rows {
            Some(rows) => rows.row(),
            None => &(),
        }
    }

    fn json(&self, out: &mut Vec<u8>) -> Result<()> {
        match &self.rows {
            Some(rows) => rows.json(out),
            None => Err(Error::usage("no current row")),
        }
    }

    fn losses(&self) -> Vec<Loss> {
        let mut losses = self.losses.clone();
        add_losses(&mut losses, self.rows.as_ref().map(|rows| rows.losses()).unwrap_or_default());
        losses
    }
}
