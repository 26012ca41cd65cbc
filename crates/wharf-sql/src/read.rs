//! Reads parts of a table on threads of their own, and hands the batches to a stream.

use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::metrics::{Count, ExecutionPlanMetricsSet, MetricBuilder, Time};
use datafusion::physical_plan::stream::{RecordBatchReceiverStreamBuilder, RecordBatchStreamAdapter};
use futures::StreamExt;
use futures::lock::Mutex as AsyncMutex;
use futures::stream::unfold;
use wharf::Lost;
use wharf::convert::InputPart;

use crate::error::to_datafusion;
use crate::table::OpenTable;

/// Batches between a reader and its stream. A reader that is ahead waits: memory stays bounded.
const CHANNEL_BATCHES: usize = 2;

/// What `EXPLAIN ANALYZE` shows of a partition.
#[derive(Clone)]
pub(crate) struct ReadMetrics {
    rows: Count,
    output_rows: Count,
    bytes: Count,
    batches: Count,
    time: Time,
}

impl ReadMetrics {
    pub(crate) fn new(metrics: &ExecutionPlanMetricsSet, partition: usize) -> Self {
        let new = || MetricBuilder::new(metrics);
        Self {
            rows: new().counter("rows_read", partition),
            output_rows: new().output_rows(partition),
            bytes: new().counter("bytes_decoded", partition),
            batches: new().counter("batches_read", partition),
            time: new().subset_time("time_reading", partition),
        }
    }

    fn count(&self, batch: &RecordBatch) {
        self.rows.add(batch.num_rows());
        self.output_rows.add(batch.num_rows());
        self.bytes.add(batch.get_array_memory_size());
        self.batches.add(1);
    }
}

/// A stream of the batches of these parts, one after the other, with at most `limit` rows. The reader stops when the stream is dropped.
pub(crate) fn stream(
    table: &Arc<OpenTable>,
    schema: &SchemaRef,
    parts: Vec<InputPart>,
    limit: Option<usize>,
    metrics: ReadMetrics,
) -> SendableRecordBatchStream {
    let mut builder = RecordBatchReceiverStreamBuilder::new(Arc::clone(schema), CHANNEL_BATCHES);
    let (sender, table, schema) = (builder.tx(), Arc::clone(table), Arc::clone(schema));
    builder.spawn_blocking(move || {
        let mut room = limit.unwrap_or(usize::MAX);
        for part in &parts {
            if room == 0
                || !read_part(&table, &schema, part, &mut room, &metrics, &|batch| {
                    sender.blocking_send(Ok(batch)).is_ok()
                })?
            {
                break;
            }
        }
        Ok(())
    });
    builder.build()
}

/// Reads a part, up to `room` rows. Returns false when nobody receives the batches any more.
fn read_part(
    table: &OpenTable,
    schema: &SchemaRef,
    part: &InputPart,
    room: &mut usize,
    metrics: &ReadMetrics,
    send: &dyn Fn(RecordBatch) -> bool,
) -> Result<bool> {
    let mut part = part.clone();
    part.rows.end = part.rows.end.min(part.rows.start.saturating_add(*room as u64));
    let mut batches = {
        let _timer = metrics.time.timer();
        table.batches(&part).map_err(to_datafusion)?
    };
    let outcome = loop {
        let next = {
            let _timer = metrics.time.timer();
            batches.try_next()
        };
        let batch = match next {
            Ok(Some(batch)) => batch,
            Ok(None) => break Ok(true),
            Err(error) => break Err(to_datafusion(error)),
        };
        let batch = batch.slice(0, batch.num_rows().min(*room));
        // The metadata of the schema of a batch may differ from that of the plan.
        let batch = match batch.with_schema(Arc::clone(schema)) {
            Ok(batch) => batch,
            Err(error) => break Err(DataFusionError::from(error)),
        };
        metrics.count(&batch);
        *room -= batch.num_rows();
        if !send(batch) {
            break Ok(false);
        }
        if *room == 0 {
            break Ok(true);
        }
    };
    let file = table.input_name(part.input).map(str::to_owned);
    table.losses().add(batches.losses().into_iter().map(|loss| Lost { file: file.clone(), loss }));
    outcome
}

type SharedStream = Arc<AsyncMutex<SendableRecordBatchStream>>;

/// One reader for several partitions: each takes the next batch. The first partition starts it.
#[derive(Default)]
pub(crate) struct SharedReader(Mutex<Option<SharedStream>>);

impl SharedReader {
    /// A stream of the batches that no other partition has taken.
    pub(crate) fn stream(
        &self,
        table: &Arc<OpenTable>,
        schema: &SchemaRef,
        parts: Vec<InputPart>,
        metrics: ReadMetrics,
    ) -> SendableRecordBatchStream {
        let mut started = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || Arc::new(AsyncMutex::new(stream(table, schema, parts, None, metrics)));
        let shared = Arc::clone(started.get_or_insert_with(new));
        let batches = unfold(shared, |shared| async move {
            let next = shared.lock().await.next().await;
            next.map(|batch| (batch, shared))
        });
        Box::pin(RecordBatchStreamAdapter::new(Arc::clone(schema), batches))
    }
}
