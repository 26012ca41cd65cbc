//! A table as a source of a physical plan: which columns and rows each partition reads.

use std::any::Any;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use arrow_schema::SchemaRef;
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

use crate::read::{self, ReadMetrics, SharedReader};
use crate::table::OpenTable;

/// A partition of fewer rows is not worth a thread.
const MIN_PARTITION_ROWS: u64 = 8192;

/// Reads a table.
#[derive(Debug, Clone)]
pub(crate) struct TableSource {
    table: Arc<OpenTable>,
    /// Columns, by index into the schema of the table.
    projection: Vec<usize>,
    /// The projected schema.
    schema: SchemaRef,
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
    pub(crate) fn new(table: Arc<OpenTable>, projection: Option<&Vec<usize>>, limit: Option<usize>) -> Result<Self> {
        let all = || (0..table.schema().fields().len()).collect();
        let projection = projection.cloned().unwrap_or_else(all);
        let schema = Arc::new(table.schema().project(&projection)?);
        let (layout, metrics) = (Layout::Whole, ExecutionPlanMetricsSet::new());
        Ok(Self { table, projection, schema, layout, limit, in_order: false, metrics })
    }

    /// Keeps all rows in one partition, in the order of the file.
    pub(crate) fn keep_order(&self) -> Self {
        Self { in_order: true, ..self.clone() }
    }

    /// All inputs, one after the other, up to the limit.
    fn whole(&self) -> Vec<InputPart> {
        (0..self.table.inputs()).map(|input| self.part(input, 0..u64::MAX).with_threads(0)).collect()
    }

    fn part(&self, input: usize, rows: Range<u64>) -> InputPart {
        InputPart::new(input).with_columns(self.projection.clone()).with_rows(rows).with_threads(1)
    }

    /// The number of rows before the limit, if it is known.
    fn rows(&self, partition: Option<usize>) -> Option<u64> {
        match (&self.layout, partition) {
            (Layout::Ranges(all), Some(partition)) => {
                Some(all.get(partition)?.iter().map(|part| part.rows.end - part.rows.start).sum())
            }
            (Layout::Shared(_), _) => None,
            _ => self.table.rows(),
        }
    }

    /// Divides all rows into at most this many ranges of about equal length. `None` if the length is unknown.
    fn ranges(&self, partitions: usize) -> Option<Vec<Vec<InputPart>>> {
        let total = self.table.rows()?;
        let count = (partitions as u64).min(total / MIN_PARTITION_ROWS).max(1);
        let step = total.div_ceil(count).max(1);
        let mut all: Vec<Vec<InputPart>> = Vec::new();
        let mut room = 0;
        for input in 0..self.table.inputs() {
            let len = self.table.input_rows(input)?;
            let mut start = 0;
            while start < len {
                if room == 0 {
                    all.push(Vec::new());
                    room = step;
                }
                let end = len.min(start.saturating_add(room));
                room -= end - start;
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
        let metrics = ReadMetrics::new(&self.metrics, args.partition);
        let parts = match &self.layout {
            Layout::Whole => self.whole(),
            Layout::Ranges(all) => all.get(args.partition).cloned().unwrap_or_default(),
            Layout::Shared(_) => {
                let state = args.sibling_state.and_then(|state| state.downcast::<SharedReader>().ok());
                let reader = state.unwrap_or_default();
                return Ok(reader.stream(&self.table, &self.schema, self.whole(), metrics));
            }
        };
        Ok(read::stream(&self.table, &self.schema, parts, self.limit, metrics))
    }

    fn create_sibling_state(&self, _: &ConfigOptions) -> Option<Arc<dyn Any + Send + Sync>> {
        match self.layout {
            Layout::Shared(_) => Some(Arc::new(SharedReader::default())),
            _ => None,
        }
    }

    fn fmt_as(&self, kind: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (table, partitions) = (&self.table, self.output_partitioning().partition_count());
        if kind == DisplayFormatType::TreeRender {
            writeln!(f, "table={}", table.label())?;
            return writeln!(f, "partitions={partitions}");
        }
        let names: Vec<&str> = self.schema.fields().iter().map(|field| field.name().as_str()).collect();
        write!(f, "wharf table={}, columns=[{}], partitions={partitions}", table.label(), names.join(", "))?;
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
        if self.in_order || self.limit.is_some() || partitions < 2 || !matches!(self.layout, Layout::Whole) {
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
        EquivalenceProperties::new(Arc::clone(&self.schema))
    }

    fn partition_statistics(&self, partition: Option<usize>) -> Result<Arc<Statistics>> {
        let rows = self.rows(partition).and_then(|rows| usize::try_from(rows).ok());
        let rows = rows.map(|rows| self.limit.map_or(rows, |limit| rows.min(limit)));
        let rows = rows.map_or(Precision::Absent, Precision::Exact);
        Ok(Arc::new(Statistics::new_unknown(&self.schema).with_num_rows(rows)))
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
        let schema = Arc::new(self.table.schema().project(&projection)?);
        Ok(Some(Arc::new(Self { projection, schema, ..self.clone() })))
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue) // it has no expressions
    }
}
