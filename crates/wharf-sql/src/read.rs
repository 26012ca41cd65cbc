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
use wharf::convert::{InputPart, MatchObserver};

use crate::error::to_datafusion;
use crate::progress::ScanProgress;
use crate::settle;
use crate::table::{OpenTable, TableFilter};

/// Batches between a reader and its stream. A reader that is ahead waits: memory stays bounded.
const CHANNEL_BATCHES: usize = 2;

/// What `EXPLAIN ANALYZE` shows of a partition, and who listens to its progress.
#[derive(Clone)]
pub(crate) struct ReadMetrics {
    rows: Count,
    output_rows: Count,
    bytes: Count,
    batches: Count,
    time: Time,
    filter: Option<FilterMetrics>,
    progress: Option<Arc<ScanProgress>>,
}

/// What a filter saves. Rows that were read but are not in the output are pruned; others were skipped: not read at all.
#[derive(Clone)]
struct FilterMetrics {
    pruned: Count,
    skipped: Count,
    /// Rows whose columns beyond those of the filter were read.
    decoded: Count,
}

impl ReadMetrics {
    pub(crate) fn new(
        metrics: &ExecutionPlanMetricsSet,
        partition: usize,
        is_filtered: bool,
        progress: Option<Arc<ScanProgress>>,
    ) -> Self {
        let new = || MetricBuilder::new(metrics);
        let counter = |name: &'static str| new().counter(name, partition);
        Self {
            rows: counter("rows_read"),
            output_rows: new().output_rows(partition),
            bytes: counter("bytes_decoded"),
            batches: counter("batches_read"),
            time: new().subset_time("time_reading", partition),
            filter: is_filtered.then(|| FilterMetrics {
                pruned: counter("rows_pruned"),
                skipped: counter("rows_skipped"),
                decoded: counter("rows_decoded_late"),
            }),
            progress,
        }
    }

    fn advance(&self, rows: u64) -> wharf::Result<()> {
        self.progress.as_ref().map_or(Ok(()), |progress| progress.advance(rows))
    }
}

fn add(count: &Count, more: u64) {
    count.add(usize::try_from(more).unwrap_or(usize::MAX));
}

impl MatchObserver for ReadMetrics {
    fn tested(&self, rows: u64, bytes: u64) -> wharf::Result<()> {
        add(&self.rows, rows);
        add(&self.bytes, bytes);
        self.batches.add(1);
        self.advance(rows)
    }

    fn decoded(&self, rows: u64, bytes: u64) -> wharf::Result<()> {
        add(&self.bytes, bytes);
        if let Some(filter) = &self.filter {
            add(&filter.decoded, rows);
        }
        Ok(())
    }
}

/// What a scan reads from its table.
#[derive(Debug, Clone)]
pub(crate) struct Scan {
    pub(crate) table: Arc<OpenTable>,
    /// The selected columns.
    pub(crate) schema: SchemaRef,
    pub(crate) filter: Option<Arc<TableFilter>>,
}

impl Scan {
    /// A stream of the batches of these parts, one after the other, with at most `limit` rows. The reader stops when the stream is dropped.
    pub(crate) fn stream(
        &self,
        parts: Vec<InputPart>,
        limit: Option<usize>,
        metrics: ReadMetrics,
    ) -> SendableRecordBatchStream {
        let mut builder = RecordBatchReceiverStreamBuilder::new(Arc::clone(&self.schema), CHANNEL_BATCHES);
        let (sender, scan) = (builder.tx(), self.clone());
        builder.spawn_blocking(move || {
            let mut room = limit.unwrap_or(usize::MAX);
            let observer: Arc<dyn MatchObserver> = Arc::new(metrics.clone());
            for part in &parts {
                let send = |batch| sender.blocking_send(Ok(batch)).is_ok();
                if room == 0 || !scan.read(part, &mut room, (&metrics, &observer), &send)? {
                    break;
                }
            }
            Ok(())
        });
        builder.build()
    }

    /// Reads a part, up to `room` rows. Returns false when nobody receives the batches any more.
    fn read(
        &self,
        part: &InputPart,
        room: &mut usize,
        (metrics, observer): (&ReadMetrics, &Arc<dyn MatchObserver>),
        send: &dyn Fn(RecordBatch) -> bool,
    ) -> Result<bool> {
        let mut part = part.clone();
        if self.filter.is_none() {
            part.rows.end = part.rows.end.min(part.rows.start.saturating_add(*room as u64));
        }
        let (read_before, mut found) = (metrics.rows.value(), 0);
        let mut batches = {
            let _timer = metrics.time.timer();
            self.table.batches(&part, self.filter.as_deref(), observer).map_err(to_datafusion)?
        };
        let outcome = loop {
            let next = {
                let _timer = metrics.time.timer();
                batches.try_next()
            };
            let batch = match next {
                Ok(Some(batch)) => batch,
                Ok(None) => {
                    self.finish(&part, metrics, metrics.rows.value() - read_before, found).map_err(to_datafusion)?;
                    break Ok(true);
                }
                Err(error) => break Err(to_datafusion(error)),
            };
            found += batch.num_rows();
            let batch = batch.slice(0, batch.num_rows().min(*room));
            let batch = match settle::settled(&batch, &self.schema) {
                Ok(batch) => batch,
                Err(error) => break Err(DataFusionError::from(error)),
            };
            metrics.output_rows.add(batch.num_rows());
            if self.filter.is_none() {
                let (rows, bytes) = (batch.num_rows() as u64, batch.get_array_memory_size() as u64);
                observer.tested(rows, bytes).map_err(to_datafusion)?;
            }
            *room -= batch.num_rows();
            if !send(batch) {
                break Ok(false);
            }
            if *room == 0 {
                break Ok(true);
            }
        };
        let file = self.table.input_name(part.input).map(str::to_owned);
        self.table.losses().add(batches.losses().into_iter().map(|loss| Lost { file: file.clone(), loss }));
        outcome
    }

    /// Counts what the filter saved in a part that was read to its end: of `read` rows, `found` match.
    fn finish(&self, part: &InputPart, metrics: &ReadMetrics, read: usize, found: usize) -> wharf::Result<()> {
        let Some(filter) = &metrics.filter else { return Ok(()) };
        filter.pruned.add(read.saturating_sub(found));
        let Some(len) = self.table.input_rows(part.input) else { return Ok(()) };
        let rows = part.rows.end.min(len).saturating_sub(part.rows.start);
        let skipped = rows.saturating_sub(read as u64);
        add(&filter.skipped, skipped);
        metrics.advance(skipped)
    }
}

type SharedStream = Arc<AsyncMutex<SendableRecordBatchStream>>;

/// One reader for several partitions: each takes the next batch. The first partition starts it.
#[derive(Default)]
pub(crate) struct SharedReader(Mutex<Option<SharedStream>>);

impl SharedReader {
    /// A stream of the batches that no other partition has taken.
    pub(crate) fn stream(&self, scan: &Scan, parts: Vec<InputPart>, metrics: ReadMetrics) -> SendableRecordBatchStream {
        let mut started = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || Arc::new(AsyncMutex::new(scan.stream(parts, None, metrics)));
        let shared = Arc::clone(started.get_or_insert_with(new));
        let batches = unfold(shared, |shared| async move {
            let next = shared.lock().await.next().await;
            next.map(|batch| (batch, shared))
        });
        Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&scan.schema), batches))
    }
}
