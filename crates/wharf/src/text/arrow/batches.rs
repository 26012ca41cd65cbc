//! A walk over the batches of a text.

use std::collections::VecDeque;

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use container_arrow::{BatchReader, add_losses, to_arrow};
use container_core::{Error, Loss, Result};

use super::super::cut::Feeder;
use super::super::seen::Seen;
use super::super::table::TextTable;
use super::held::field;
use super::plan::{Done, Plan, Task, missed};
use crate::workers::Workers;

pub(super) struct TextBatches<'a> {
    table: &'a TextTable,
    feeder: Feeder<'a>,
    workers: Workers,
    plan: Plan<'a>,
    /// In the order of chunks.
    slots: VecDeque<Done>,
    pending: Option<Error>,
    losses: Vec<Loss>,
    /// What the columns of CSV hold so far, where the schema is a guess.
    seen: Vec<Seen>,
    /// There are no more chunks with rows that are wanted.
    over: bool,
    done: bool,
}

impl<'a> TextBatches<'a> {
    pub(super) fn new(table: &'a TextTable, workers: Workers, plan: Plan<'a>) -> Self {
        Self {
            table,
            feeder: Feeder::new(&table.text),
            workers,
            seen: vec![Seen::default(); if plan.scan.is_sampled { table.text.names.len() } else { 0 }],
            plan,
            slots: VecDeque::new(),
            pending: None,
            losses: Vec::new(),
            over: false,
            done: false,
        }
    }

    /// Would all cells of some column make another one of it?
    fn contradicts_sample(&self) -> bool {
        let names = self.table.text.names.iter();
        let mut columns = names.zip(&self.seen).zip(self.plan.schema.fields());
        columns.any(|((name, seen), guess)| field(name.clone(), seen, &self.plan.scan.mapping) != **guess)
    }

    fn end(&self) -> Result<Option<RecordBatch>> {
        if self.contradicts_sample() { Err(missed().in_format(self.table.text.format)) } else { Ok(None) }
    }

    fn step(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if let Some(slot) = self.slots.front_mut() {
                add_losses(&mut self.losses, std::mem::take(&mut slot.losses));
                self.seen.iter_mut().zip(slot.seen.drain(..)).for_each(|(own, seen)| own.merge(seen));
                if let Some(batch) = slot.batches.pop_front() {
                    return Ok(Some(batch));
                }
                if let Some(rest) = slot.rest.take() {
                    *slot = self.plan.run(rest);
                } else if let Some(error) = slot.error.take() {
                    return Err(error);
                } else {
                    self.slots.pop_front();
                }
                continue;
            }
            if let Some(error) = self.pending.take() {
                return Err(error);
            }
            if self.over {
                return self.end();
            }
            let rows = &self.plan.scan.scan.rows;
            let (mut chunks, result) = self.feeder.next(&self.workers);
            let Some(last) = chunks.last() else {
                result?;
                self.table.check_rows(rows)?;
                return self.end();
            };
            self.over = last.row + last.records >= rows.end;
            self.pending = result.err().filter(|_| !self.over);
            chunks.retain(|chunk| chunk.row < rows.end && chunk.row + chunk.records > rows.start);
            let tasks = chunks.into_iter().map(|chunk| Task { at: 0, row: chunk.row, chunk }).collect();
            self.slots.extend(self.workers.map(tasks, |task| self.plan.run(task)));
        }
    }
}

impl Iterator for TextBatches<'_> {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.try_next().map_err(to_arrow).transpose()
    }
}

impl RecordBatchReader for TextBatches<'_> {
    fn schema(&self) -> SchemaRef {
        self.plan.schema.clone()
    }
}

impl BatchReader for TextBatches<'_> {
    fn losses(&self) -> Vec<Loss> {
        self.losses.clone()
    }

    fn try_next(&mut self) -> Result<Option<RecordBatch>> {
        if self.done {
            return Ok(None);
        }
        let step = self.step();
        self.done = !matches!(step, Ok(Some(_)));
        step
    }
}
