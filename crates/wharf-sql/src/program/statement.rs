//! Statements, and the rows that they return.

use std::future::Future;

use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch, RecordBatchOptions, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use datafusion::execution::SendableRecordBatchStream;
use datafusion::prelude::DataFrame;
use datafusion::sql::parser::Statement;
use futures::StreamExt;
use tokio::runtime::Handle;
use wharf::{Error, ErrorKind, Result};
use wharf_cli::program::{Console, ReadingLine};
use wharf_sql::from_datafusion;

use super::Engine;

impl Engine<'_> {
    /// Runs statements that begin after `lines` lines of a script. `is_last` says that the result of the last one is that of the program.
    pub(super) fn statements(&self, sql: &str, lines: usize, is_last: bool, console: &mut Console) -> Result<()> {
        // Errors count lines from the beginning of the text.
        let text = "\n".repeat(lines) + sql;
        let statements = self.session.parse(&text)?;
        let last = statements.len().saturating_sub(1);
        for (number, statement) in statements.into_iter().enumerate() {
            let outcome = self.statement(statement, is_last && number == last, console);
            console.lost(&self.session.take_losses());
            outcome?;
            if console.is_closed() {
                break;
            }
        }
        Ok(())
    }

    fn statement(&self, statement: Statement, is_last: bool, console: &mut Console) -> Result<()> {
        let options = &self.arguments.rows;
        let is_plan = matches!(statement, Statement::Explain(_));
        let frame = self.wait(self.session.execute(statement))?;
        if frame.schema().fields().is_empty() {
            return self.wait(async { frame.collect().await.map(drop).map_err(from_datafusion) });
        }
        if options.is_file() && !is_last {
            let error = Error::usage("a statement before the last one returns rows");
            return Err(error.advising("{output} writes those of the last one"));
        }
        if is_plan && !options.is_file() && console.prints_tables(options) {
            return self.plan(frame, console);
        }
        let line = console.reading_line();
        let stream = self.wait(self.session.stream(frame, Some(line.progress())))?;
        let (schema, handle) = (stream.schema(), self.runtime.handle().clone());
        let is_interruptible = self.is_interruptible;
        let rows = Rows { stream, schema, handle, line: Some(line), is_interruptible, is_done: false };
        console.rows(Box::new(rows), options)
    }

    /// Prints plans as text: a cell of a table has one line.
    fn plan(&self, frame: DataFrame, console: &mut Console) -> Result<()> {
        let batches = self.wait(async { frame.collect().await.map_err(from_datafusion) })?;
        for batch in &batches {
            let columns = batch.columns().iter().filter_map(|column| column.as_string_opt::<i32>()).collect::<Vec<_>>();
            for row in 0..batch.num_rows() {
                let texts =
                    columns.iter().filter(|column| column.is_valid(row)).map(|column| column.value(row).trim_end());
                let text = texts.collect::<Vec<_>>().join(":\n");
                console.print(&format!("{text}\n\n"))?;
            }
        }
        Ok(())
    }

    fn wait<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        self.runtime.block_on(until_interrupted(work, self.is_interruptible))
    }
}

/// Waits for work, at a prompt until Ctrl-C.
async fn until_interrupted<T>(work: impl Future<Output = Result<T>>, is_interruptible: bool) -> Result<T> {
    if !is_interruptible {
        return work.await;
    }
    tokio::select! {
        done = work => done,
        _ = tokio::signal::ctrl_c() => Err(Error::new(ErrorKind::Cancelled, "the query was cancelled")),
    }
}

/// The rows of a query, as a reader of batches. It runs the query on this thread, and what the query started on those of the runtime.
struct Rows {
    stream: SendableRecordBatchStream,
    schema: SchemaRef,
    handle: Handle,
    /// Until the first rows arrive: then they are the progress.
    line: Option<ReadingLine>,
    is_interruptible: bool,
    is_done: bool,
}

impl Iterator for Rows {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_done {
            return None;
        }
        let stream = &mut self.stream;
        let next = async { stream.next().await.transpose().map_err(from_datafusion) };
        let next = self.handle.block_on(until_interrupted(next, self.is_interruptible)).transpose();
        self.line = None;
        self.is_done = !matches!(next, Some(Ok(_)));
        let options = |batch: &RecordBatch| RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        next.map(|batch| match batch {
            // Operators may declare other metadata and nullability than their batches have.
            Ok(batch) => {
                let options = options(&batch);
                RecordBatch::try_new_with_options(self.schema.clone(), batch.columns().to_vec(), &options)
            }
            Err(error) => Err(ArrowError::ExternalError(Box::new(error))),
        })
    }
}

impl RecordBatchReader for Rows {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}
