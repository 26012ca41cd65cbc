//! A table as a source of a physical plan: which columns and rows each partition reads.

use std::any::Any;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use datafusion::common::stats::Precision;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, Statistics};
use datafusion::config::ConfigOptions;
use datafusion::datasource::source::{DataSource, OpenArgs};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::projection::ProjectionExprs;
use datafusion::physical_expr::{EquivalenceProperties, LexOrdering, Partitioning, PhysicalExpr};
use datafusion::physical_plan::DisplayFormatType;
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use datafusion::physical_plan::projection::{all_alias_free_columns, new_projections_for_columns};
use wharf::convert::InputPart;

use crate::progress::ScanProgress;
use crate::read::{ReadMetrics, Scan, SharedReader};
use crate::table::{OpenTable, TableFilter};

/// A partition of fewer rows is not worth a thread.
const MIN_PARTITION_ROWS: u64 = 8192;

/// A range of at least this many blocks ends with one: its last block is not decoded for two ranges.
const MIN_BLOCKS: u64 = 4;

/// One of this many rows is assumed to match a filter, as DataFusion does.
const FILTER_SELECTIVITY: usize = 5;

/// Reads a table.
#[derive(Debug, Clone)]
pub(crate) struct TableSource {
    scan: Scan,
    /// Columns, by index into the schema of the table.
    projection: Vec<usize>,
    layout: Layout,
    limit: Option<usize>,
    /// Rows must come in the order of the file: see [`keep_order`](Self::keep_order).
    in_order: bool,
    metrics: ExecutionPlanMetricsSet,
}

/// How rows are divided into partitions.
#[derive(Debug, Clone)]
enum Layout {
    /// One partition with all rows in order. Formats decode it with all cores.
    Whole,
    /// Contiguous ranges of rows, each decoded with one core.
    Ranges(Vec<Vec<InputPart>>),
    /// This many partitions share one reader, and each takes the next batch. For tables of unknown length.
    Shared(usize),
}

impl TableSource {
    pub(crate) fn new(
        table: Arc<OpenTable>,
        projection: Option<&Vec<usize>>,
        filter: Option<TableFilter>,
        limit: Option<usize>,
    ) -> Result<Self> {
        let all = || (0..table.schema().fields().len()).collect();
        let projection = projection.cloned().unwrap_or_else(all);
        let schema = Arc::new(table.schema().project(&projection)?);
        let scan = Scan { table, schema, filter: filter.map(Arc::new) };
        let (layout, metrics) = (Layout::Whole, ExecutionPlanMetricsSet::new());
        Ok(Self { scan, projection, layout, limit, in_order: false, metrics })
    }

    /// Keeps all rows in one partition, in the order of the file.
    pub(crate) fn keep_order(&self) -> Self {
        Self { in_order: true, ..self.clone() }
    }

    fn table(&self) -> &OpenTable {
        &self.scan.table
    }

    pub(crate) fn label(&self) -> &str {
        self.table().label()
    }

    /// The number of rows that are read, or skipped by a filter, if it is known.
    pub(crate) fn rows_to_read(&self) -> Option<u64> {
        let limit = self.limit.filter(|_| self.scan.filter.is_none());
        Some(self.table().rows()?.min(limit.map_or(u64::MAX, |limit| limit as u64)))
    }

    fn is_lookup(&self) -> bool {
        self.scan.filter.as_ref().is_some_and(|filter| filter.is_lookup)
    }

    /// All inputs, one after the other, up to the limit. Decoded with all cores, unless single rows are looked up.
    fn whole(&self) -> Vec<InputPart> {
        let threads = usize::from(self.is_lookup());
        (0..self.table().inputs()).map(|input| self.part(input, 0..u64::MAX).with_threads(threads)).collect()
    }

    fn part(&self, input: usize, rows: Range<u64>) -> InputPart {
        InputPart::new(input).with_columns(self.projection.clone()).with_rows(rows).with_threads(1)
    }

    /// The number of rows before the filter and the limit, if it is known.
    fn rows(&self, partition: Option<usize>) -> Option<u64> {
        match (&self.layout, partition) {
            (Layout::Ranges(all), Some(partition)) => {
                Some(all.get(partition)?.iter().map(|part| part.rows.end - part.rows.start).sum())
            }
            (Layout::Shared(_), _) => None,
            _ => self.table().rows(),
        }
    }

    /// Divides all rows into at most this many ranges of about equal length, between blocks if they are small. `None` if the length is unknown.
    fn ranges(&self, partitions: usize) -> Option<Vec<Vec<InputPart>>> {
        let total = self.table().rows()?;
        let count = (partitions as u64).min(total / MIN_PARTITION_ROWS).max(1);
        let step = total.div_ceil(count).max(1);
        let mut all: Vec<Vec<InputPart>> = Vec::new();
        let mut room = 0;
        for input in 0..self.table().inputs() {
            let len = self.table().input_rows(input)?;
            let block =
                self.table().block_rows(input).filter(|block| (1..=step / MIN_BLOCKS).contains(block)).unwrap_or(1);
            let mut start = 0;
            while start < len {
                if room == 0 {
                    all.push(Vec::new());
                    room = step;
                }
                let end = start.saturating_add(room);
                let end = len.min(end.checked_next_multiple_of(block).unwrap_or(end));
                room = room.saturating_sub(end - start);
                if let Some(last) = all.last_mut() {
                    last.push(self.part(input, start..end));
                }
                start = end;
            }
        }
        Some(all)
    }
}

impl DataSource for TableSource {
    fn open(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        self.open_with_args(OpenArgs::new(partition, context))
    }

    fn open_with_args(&self, args: OpenArgs) -> Result<SendableRecordBatchStream> {
        let progress = args.context.session_config().get_extension::<ScanProgress>();
        let metrics = ReadMetrics::new(&self.metrics, args.partition, self.scan.filter.is_some(), progress);
        let parts = match &self.layout {
            Layout::Whole => self.whole(),
            Layout::Ranges(all) => all.get(args.partition).cloned().unwrap_or_default(),
            Layout::Shared(_) => {
                let state = args.sibling_state.and_then(|state| state.downcast::<SharedReader>().ok());
                let reader = state.unwrap_or_default();
                return Ok(reader.stream(&self.scan, self.whole(), metrics));
            }
        };
        Ok(self.scan.stream(parts, self.limit, metrics))
    }

    fn create_sibling_state(&self, _: &ConfigOptions) -> Option<Arc<dyn Any + Send + Sync>> {
        match self.layout {
            Layout::Shared(_) => Some(Arc::new(SharedReader::default())),
            _ => None,
        }
    }

    fn fmt_as(&self, kind: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (table, partitions) = (self.table(), self.output_partitioning().partition_count());
        if kind == DisplayFormatType::TreeRender {
            writeln!(f, "table={}", table.label())?;
            return writeln!(f, "partitions={partitions}");
        }
        let names: Vec<&str> = self.scan.schema.fields().iter().map(|field| field.name().as_str()).collect();
        write!(f, "wharf table={}, columns=[{}], partitions={partitions}", table.label(), names.join(", "))?;
        if let Some(filter) = &self.scan.filter {
            let how = if filter.is_lookup { "lookup" } else { "filter" };
            write!(f, ", {how}={}", filter.predicate)?;
        }
        match self.limit {
            Some(limit) => write!(f, ", limit={limit}"),
            None => Ok(()),
        }
    }

    fn repartitioned(
        &self,
        partitions: usize,
        _: usize,
        _: Option<LexOrdering>,
    ) -> Result<Option<Arc<dyn DataSource>>> {
        if self.in_order
            || self.is_lookup()
            || self.limit.is_some()
            || partitions < 2
            || !matches!(self.layout, Layout::Whole)
        {
            return Ok(None);
        }
        let layout = match self.ranges(partitions) {
            Some(all) if all.len() < 2 => return Ok(None),
            Some(all) => Layout::Ranges(all),
            None => Layout::Shared(partitions),
        };
        Ok(Some(Arc::new(Self { layout, ..self.clone() })))
    }

    fn output_partitioning(&self) -> Partitioning {
        Partitioning::UnknownPartitioning(match &self.layout {
            Layout::Whole => 1,
            Layout::Ranges(all) => all.len(),
            Layout::Shared(count) => *count,
        })
    }

    fn eq_properties(&self) -> EquivalenceProperties {
        EquivalenceProperties::new(Arc::clone(&self.scan.schema))
    }

    fn partition_statistics(&self, partition: Option<usize>) -> Result<Arc<Statistics>> {
        let rows = self.rows(partition).and_then(|rows| usize::try_from(rows).ok());
        let limited = |rows: usize| self.limit.map_or(rows, |limit| rows.min(limit));
        let rows = match (rows, &self.scan.filter) {
            (None, _) => Precision::Absent,
            (Some(rows), None) => Precision::Exact(limited(rows)),
            (Some(rows), Some(filter)) => {
                let matching = if filter.is_lookup { 1 } else { rows / FILTER_SELECTIVITY };
                Precision::Inexact(limited(matching.min(rows)))
            }
        };
        Ok(Arc::new(Statistics::new_unknown(&self.scan.schema).with_num_rows(rows)))
    }

    fn with_fetch(&self, limit: Option<usize>) -> Option<Arc<dyn DataSource>> {
        // Partitions that share a reader cannot count together.
        let is_shared = matches!(self.layout, Layout::Shared(_));
        (!is_shared).then(|| Arc::new(Self { limit, ..self.clone() }) as Arc<dyn DataSource>)
    }

    fn fetch(&self) -> Option<usize> {
        self.limit
    }

    fn metrics(&self) -> ExecutionPlanMetricsSet {
        self.metrics.clone()
    }

    fn try_swapping_with_projection(&self, projection: &ProjectionExprs) -> Result<Option<Arc<dyn DataSource>>> {
        let expressions: Vec<_> = projection.iter().cloned().collect();
        if !all_alias_free_columns(&expressions) || !matches!(self.layout, Layout::Whole) {
            return Ok(None);
        }
        let projection = new_projections_for_columns(&expressions, &self.projection);
        let schema = Arc::new(self.table().schema().project(&projection)?);
        let scan = Scan { schema, ..self.scan.clone() };
        Ok(Some(Arc::new(Self { projection, scan, ..self.clone() })))
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue) // it has no expressions
    }
}
