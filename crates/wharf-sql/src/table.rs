//! Tables of DataFusion over the inputs of wharf.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_schema::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::stats::Precision;
use datafusion::common::{Result, Statistics, internal_err};
use datafusion::datasource::source::DataSourceExec;
use datafusion::logical_expr::dml::InsertOp;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use wharf::convert::{InputPart, InputTable, MatchObserver};
use wharf::{Access, BatchReader, Lost, Overwrite, Predicate, Registry};

use crate::error::to_datafusion;
use crate::files::{Files, Origin};
use crate::filter::predicate;
use crate::losses::Losses;
use crate::source::TableSource;
use crate::write::Destination;

/// Which rows of a table are read.
#[derive(Debug)]
pub(crate) struct TableFilter {
    pub(crate) predicate: Predicate,
    /// It compares the key of rows: they are looked up.
    pub(crate) is_lookup: bool,
}

/// An opened table, and what is known about it without reading rows.
pub(crate) struct OpenTable {
    table: InputTable,
    /// Rows of each input.
    rows: Vec<Option<u64>>,
    losses: Arc<Losses>,
    label: String,
}

impl OpenTable {
    pub(crate) fn new(table: InputTable, losses: Arc<Losses>) -> Self {
        let rows = (0..table.inputs()).map(|input| table.len(input)).collect();
        let first = table.name(0).unwrap_or_default();
        let label = match table.inputs() {
            0 | 1 => first.to_owned(),
            more => format!("{first} and {} more", more - 1),
        };
        Self { table, rows, losses, label }
    }

    pub(crate) fn schema(&self) -> &SchemaRef {
        self.table.schema()
    }

    /// A name for plans.
    pub(crate) fn label(&self) -> &str {
        &self.label
    }

    pub(crate) fn inputs(&self) -> usize {
        self.rows.len()
    }

    pub(crate) fn input_name(&self, input: usize) -> Option<&str> {
        self.table.name(input)
    }

    /// The number of rows of an input, if it is known without reading them.
    pub(crate) fn input_rows(&self, input: usize) -> Option<u64> {
        self.rows.get(input).copied().flatten()
    }

    /// The number of rows of all inputs, if it is known without reading them.
    pub(crate) fn rows(&self) -> Option<u64> {
        self.rows.iter().copied().sum()
    }

    pub(crate) fn losses(&self) -> &Losses {
        &self.losses
    }

    /// The number of rows of an input that are read together.
    pub(crate) fn block_rows(&self, input: usize) -> Option<u64> {
        self.table.block_rows(input)
    }

    /// Reads a part, with a filter those of its rows for which it holds. `observer` is told what is read for the filter.
    pub(crate) fn batches<'a>(
        &'a self,
        part: &InputPart,
        filter: Option<&TableFilter>,
        observer: &Arc<dyn MatchObserver>,
    ) -> wharf::Result<Box<dyn BatchReader + 'a>> {
        match filter {
            None => self.table.batches(part),
            Some(filter) => self.table.matching(part, &filter.predicate, observer),
        }
    }

    /// The filter that means the same as all of these conditions; `None` where they cannot be translated.
    fn filter<'e>(&self, conditions: impl IntoIterator<Item = &'e Expr>) -> Option<TableFilter> {
        let predicate = predicate(conditions, self.schema())?;
        let is_lookup = self.table.is_lookup(&predicate);
        Some(TableFilter { predicate, is_lookup })
    }

    /// Whether reading is faster with a filter.
    fn gains(&self, filter: &TableFilter) -> bool {
        filter.is_lookup || self.table.can_skip()
    }
}

impl fmt::Debug for OpenTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.label.fmt(f)
    }
}

/// A table of one or more files, of any format of the registry.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("a.csv");
/// # std::fs::write(&path, "x,y\n1,a\n2,b\n")?;
/// use std::sync::Arc;
/// use datafusion::prelude::SessionContext;
/// use wharf::convert::Opener;
/// use wharf::{Convert, Registry};
/// use wharf_sql::WharfTable;
///
/// # tokio::runtime::Runtime::new()?.block_on(async {
/// let inputs = Convert::new([path]).open(&mut Opener::new(Registry::builtin()))?;
/// let context = SessionContext::new();
/// context.register_table("a", Arc::new(WharfTable::new(inputs)))?;
/// let sums = context.sql("SELECT sum(x) FROM a").await?.collect().await?;
/// assert_eq!(sums[0].num_rows(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct WharfTable {
    table: Arc<OpenTable>,
    /// Where it comes from, if its files may have changed when it is read.
    origin: Option<Arc<Origin>>,
    /// Where `INSERT` writes, or why it cannot.
    destination: Result<Destination, &'static str>,
}

/// Why `INSERT` cannot write a table.
pub(crate) const SEVERAL_FILES: &str = "it is several files";

impl WharfTable {
    /// A table of these inputs.
    #[must_use]
    pub fn new(inputs: InputTable) -> Self {
        Self::with_losses(inputs, Arc::default())
    }

    /// A table of these inputs, whose readers report what they could not keep to `losses`.
    #[must_use]
    pub fn with_losses(inputs: InputTable, losses: Arc<Losses>) -> Self {
        Self { table: Arc::new(OpenTable::new(inputs, losses)), origin: None, destination: Err(SEVERAL_FILES) }
    }

    /// Opens files as a table: paths, folders and glob patterns, whose columns agree. `table` names one of several tables in a file; `options` are
    /// names and values as in `CREATE EXTERNAL TABLE ... OPTIONS (...)`.
    ///
    /// # Errors
    /// A file that cannot be opened; files that do not fit; an unknown option.
    pub fn open(
        registry: Registry,
        access: Access,
        paths: &[PathBuf],
        table: Option<&str>,
        options: impl IntoIterator<Item = (String, String)>,
    ) -> wharf::Result<Self> {
        Files::new(registry, access, Overwrite::Refuse).open_paths(paths, table, options)
    }

    /// The names of the columns.
    pub fn columns(&self) -> impl Iterator<Item = &str> {
        self.table.schema().fields().iter().map(|field| field.name().as_str())
    }

    /// A name for people: that of the first file, and how many more there are.
    #[must_use]
    pub fn label(&self) -> &str {
        self.table.label()
    }

    /// What its readers could not keep so far.
    #[must_use]
    pub fn losses(&self) -> &Losses {
        self.table.losses()
    }

    pub(crate) fn open_table(&self) -> &Arc<OpenTable> {
        &self.table
    }

    /// Sets what is opened again when a file has changed.
    #[must_use]
    pub(crate) fn with_origin(mut self, origin: Origin) -> Self {
        self.origin = Some(Arc::new(origin));
        self
    }

    /// Sets where `INSERT` writes, or why it cannot.
    #[must_use]
    pub(crate) fn with_destination(mut self, destination: Result<Destination, &'static str>) -> Self {
        self.destination = destination;
        self
    }
}

#[async_trait]
impl TableProvider for WharfTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(self.table.schema())
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        let one = |condition: &&Expr| match self.table.filter([*condition]).filter(|filter| self.table.gains(filter)) {
            Some(_) => TableProviderFilterPushDown::Exact,
            None => TableProviderFilterPushDown::Unsupported,
        };
        Ok(filters.iter().map(one).collect())
    }

    async fn scan(
        &self,
        _: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let table = match &self.origin {
            Some(origin) => origin.current(&self.table).await?,
            None => Arc::clone(&self.table),
        };
        let filter = table.filter(filters);
        if filter.is_none() && !filters.is_empty() {
            return internal_err!("conditions that were not accepted");
        }
        // A query of some columns does not miss those that cannot be read.
        if projection.is_none_or(|columns| columns.len() == table.schema().fields().len()) {
            table.losses.add(table.table.left_out().cloned().collect::<Vec<Lost>>());
        }
        let source = TableSource::new(table, projection, filter, limit)?;
        Ok(DataSourceExec::from_data_source(source))
    }

    fn statistics(&self) -> Option<Statistics> {
        let rows = usize::try_from(self.table.rows()?).ok()?;
        Some(Statistics::new_unknown(self.table.schema()).with_num_rows(Precision::Exact(rows)))
    }

    async fn insert_into(
        &self,
        _: &dyn Session,
        input: Arc<dyn ExecutionPlan>,
        operation: InsertOp,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let refused = |why: &&str| {
            to_datafusion(
                wharf::Error::usage(format!("cannot be written: {why}")).in_file(self.table.label().to_owned()),
            )
        };
        let destination = self.destination.as_ref().map_err(refused)?;
        destination.insert(input, operation, self.table.schema())
    }
}
