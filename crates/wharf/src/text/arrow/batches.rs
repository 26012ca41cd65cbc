//! Reads a text table as record batches, parsing chunks in parallel.

use std::collections::VecDeque;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use container_arrow::{BatchSteps, add_losses};
use container_core::{Error, Loss, Result};

use super::super::chunk_reader::ChunkReader;
use super::super::profile::CellProfile;
use super::super::table::RecordsTable;
use super::plan::{ChunkTask, ParsePlan, ParsedChunk, schema_mismatch};
use super::row_profile::field;
use crate::workers::Workers;

pub(super) struct TextBatches<'a> {
    table: &'a RecordsTable,
    chunk_reader: ChunkReader<'a>,
    workers: Workers,
    plan: ParsePlan<'a>,
    /// Parsed chunks, in order.
    parsed: VecDeque<ParsedChunk>,
    pending: Option<Error>,
    losses: Vec<Loss>,
    /// Profiles of the CSV columns so far, if the schema was inferred from a sample.
    profiles: Vec<CellProfile>,
    /// No more chunks with selected rows.
    at_end: bool,
}

impl<'a> TextBatches<'a> {
    pub(super) fn new(table: &'a RecordsTable, workers: Workers, plan: ParsePlan<'a>) -> Self {
        Self {
            table,
            chunk_reader: ChunkReader::new(&table.text),
            workers,
            profiles: vec![CellProfile::default(); if plan.scan.is_sampled { table.text.names.len() } else { 0 }],
            plan,
            parsed: VecDeque::new(),
            pending: None,
            losses: Vec::new(),
            at_end: false,
        }
    }

    /// Whether all cells together give a different schema than the sample did.
    fn contradicts_sample(&self) -> bool {
        let names = self.table.text.names.iter();
        let mut columns = names.zip(&self.profiles).zip(self.plan.schema.fields());
        columns.any(|((name, profile), inferred)| field(name.clone(), profile, &self.plan.scan.mapping) != **inferred)
    }

    fn end(&self) -> Result<Option<RecordBatch>> {
        if self.contradicts_sample() { Err(schema_mismatch().in_format(self.table.text.format)) } else { Ok(None) }
    }
}

impl BatchSteps for TextBatches<'_> {
    fn step(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if let Some(chunk) = self.parsed.front_mut() {
                add_losses(&mut self.losses, std::mem::take(&mut chunk.losses));
                self.profiles.iter_mut().zip(chunk.profiles.drain(..)).for_each(|(own, profile)| own.merge(profile));
                if let Some(batch) = chunk.batches.pop_front() {
                    return Ok(Some(batch));
                }
                if let Some(rest) = chunk.rest.take() {
                    *chunk = self.plan.run(rest);
                } else if let Some(error) = chunk.error.take() {
                    return Err(error);
                } else {
                    self.parsed.pop_front();
                }
                continue;
            }
            if let Some(error) = self.pending.take() {
                return Err(error);
            }
            if self.at_end {
                return self.end();
            }
            let rows = &self.plan.scan.scan.rows;
            let (mut chunks, result) = self.chunk_reader.next(&self.workers);
            let Some(last) = chunks.last() else {
                result?;
                self.table.check_rows(rows)?;
                return self.end();
            };
            self.at_end = last.row + last.records >= rows.end;
            self.pending = result.err().filter(|_| !self.at_end);
            chunks.retain(|chunk| chunk.row < rows.end && chunk.row + chunk.records > rows.start);
            let tasks = chunks.into_iter().map(|chunk| ChunkTask { at: 0, row: chunk.row, chunk }).collect();
            self.parsed.extend(self.workers.map(tasks, |task| self.plan.run(task)));
        }
    }

    fn schema(&self) -> SchemaRef {
        self.plan.schema.clone()
    }

    fn losses(&self) -> Vec<Loss> {
        self.losses.clone()
    }
}
