//! A session: a context of DataFusion in which files are tables.

use std::collections::HashMap;
use std::fmt;
use std::num::NonZeroUsize;
use std::sync::Arc;

use datafusion::catalog::{DynamicFileCatalog, TableFunction, TableProviderFactory};
use datafusion::execution::memory_pool::{FairSpillPool, TrackConsumersPool};
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::execution::{FunctionRegistry, SendableRecordBatchStream, SessionStateBuilder};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use datafusion::physical_plan::execute_stream;
use datafusion::prelude::{DataFrame, SessionConfig, SessionContext};
use datafusion::sql::parser::{DFParser, Statement};
use wharf::{Access, Error, Lost, Overwrite, Progress, Registry, Result};

use crate::error::from_datafusion;
use crate::files::{ExternalTables, FileNames, Files, WharfFunction};
use crate::in_order::UnionOrder;
use crate::literals::Literals;
use crate::losses::Losses;
use crate::order::FileOrder;
use crate::progress::ScanProgress;
use crate::write::TargetFormat;

/// How many consumers an error about memory names.
const NAMED_CONSUMERS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(2);

/// How a [`Session`] runs queries.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SessionOptions {
    /// The formats.
    pub registry: Registry,
    /// How files are read.
    pub access: Access,
    /// Whether `COPY` may replace files; the option `overwrite` of a statement says so, too.
    pub overwrite: Overwrite,
    /// Maximum bytes of sorts, aggregations and joins, which spill to temporary files beyond; `None` for no limit. Readers take a few batches
    /// more.
    pub memory: Option<usize>,
    /// Maximum number of partitions that are processed at once; `None` for one per core.
    pub threads: Option<usize>,
}

impl Default for SessionOptions {
    fn default() -> Self {
        Self {
            registry: Registry::builtin(),
            access: Access::Auto,
            overwrite: Overwrite::Refuse,
            memory: None,
            threads: None,
        }
    }
}

/// SQL over files. Quoted names in `FROM` are files, or patterns of files, of any format of the registry.
///
/// Identifiers are case-sensitive, as names of columns in files are.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("a.csv");
/// # std::fs::write(&path, "name,n\na,1\nb,2\na,3\n")?;
/// # let path = path.display();
/// use wharf_sql::{Session, SessionOptions};
///
/// # tokio::runtime::Runtime::new()?.block_on(async {
/// let session = Session::new(&SessionOptions::default())?;
/// let rows = session.sql(&format!("SELECT name, sum(n) FROM '{path}' GROUP BY name")).await?.collect().await?;
/// assert_eq!(rows.iter().map(|batch| batch.num_rows()).sum::<usize>(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Session {
    context: SessionContext,
    losses: Arc<Losses>,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("losses", &self.losses).finish_non_exhaustive()
    }
}

impl Session {
    /// Starts a session.
    ///
    /// # Errors
    /// The folder for temporary files cannot be used.
    pub fn new(options: &SessionOptions) -> Result<Self> {
        let files = Arc::new(Files::new(options.registry.clone(), options.access, options.overwrite));
        let losses = Arc::clone(&files.losses);
        let mut config = SessionConfig::new()
            .with_information_schema(true)
            // Rows stay in the order of their files, and columns keep their names.
            .with_round_robin_repartition(false);
        if let Some(threads) = options.threads {
            config = config.with_target_partitions(threads.max(1));
        }
        let own = config.options_mut();
        own.sql_parser.enable_ident_normalization = false;
        own.sql_parser.collect_spans = true;
        own.sql_parser.map_string_types_to_utf8view = false;
        let mut runtime = RuntimeEnvBuilder::new();
        if let Some(bytes) = options.memory {
            runtime =
                runtime.with_memory_pool(Arc::new(TrackConsumersPool::new(FairSpillPool::new(bytes), NAMED_CONSUMERS)));
        }
        let mut rules: Vec<Arc<dyn PhysicalOptimizerRule + Send + Sync>> = vec![Arc::new(FileOrder)];
        rules.extend(PhysicalOptimizer::new().rules);
        rules.push(Arc::new(UnionOrder));
        let state = SessionStateBuilder::new()
            .with_config(config)
            .with_runtime_env(runtime.build_arc().map_err(from_datafusion)?)
            .with_default_features()
            .with_physical_optimizer_rules(rules)
            .with_file_formats(TargetFormat::all(&files))
            .with_table_factories(external_tables(&files))
            .build();
        let catalogs =
            DynamicFileCatalog::new(Arc::clone(state.catalog_list()), Arc::new(FileNames(Arc::clone(&files))));
        let function = Arc::new(TableFunction::new("wharf".to_owned(), Arc::new(WharfFunction(files))));
        let mut functions = state.table_functions().clone();
        functions.insert("wharf".to_owned(), function);
        let mut state = SessionStateBuilder::new_from_existing(state)
            .with_catalog_list(Arc::new(catalogs))
            .with_table_functions(functions)
            .build();
        state.register_function_rewrite(Arc::new(Literals)).map_err(from_datafusion)?;
        Ok(Self { context: SessionContext::new_with_state(state), losses })
    }

    /// The context, for registering tables and functions.
    #[must_use]
    pub fn context(&self) -> &SessionContext {
        &self.context
    }

    /// Parses statements, separated by `;`.
    ///
    /// # Errors
    /// [`Usage`](wharf::ErrorKind::Usage), with line and column.
    pub fn parse(&self, sql: &str) -> Result<Vec<Statement>> {
        DFParser::parse_sql(sql).map(Vec::from).map_err(from_datafusion)
    }

    /// Plans a statement. Statements that define something, and `SET`, are carried out at once; rows are read when those of the result are.
    ///
    /// # Errors
    /// A mistake in the statement; a file that cannot be opened.
    pub async fn execute(&self, statement: Statement) -> Result<DataFrame> {
        if let Statement::CopyTo(copy) = &statement {
            self.check_format(copy.stored_as.as_deref(), &copy.target)?;
        }
        let plan = self.context.state().statement_to_plan(statement).await.map_err(from_datafusion)?;
        self.context.execute_logical_plan(plan).await.map_err(from_datafusion)
    }

    /// Plans one statement.
    ///
    /// # Errors
    /// Those of [`parse`](Self::parse) and [`execute`](Self::execute); there is not exactly one statement.
    pub async fn sql(&self, sql: &str) -> Result<DataFrame> {
        let mut statements = self.parse(sql)?.into_iter();
        match (statements.next(), statements.next()) {
            (Some(statement), None) => self.execute(statement).await,
            _ => Err(Error::usage("expected one SQL statement")),
        }
    }

    /// Runs a query. `progress` is told how many rows of its tables have been read, of how many if all tables know.
    ///
    /// # Errors
    /// Errors of the plan.
    pub async fn stream(
        &self,
        frame: DataFrame,
        progress: Option<Arc<dyn Progress>>,
    ) -> Result<SendableRecordBatchStream> {
        let mut context = frame.task_ctx();
        let plan = frame.create_physical_plan().await.map_err(from_datafusion)?;
        if let Some(progress) = progress {
            let progress = Arc::new(ScanProgress::begin(progress, &plan));
            let config = context.session_config().clone().with_extension(progress);
            context = context.with_session_config(config);
        }
        execute_stream(plan, Arc::new(context)).map_err(from_datafusion)
    }

    /// Removes and returns what the queries so far could not keep.
    #[must_use]
    pub fn take_losses(&self) -> Vec<Lost> {
        self.losses.take()
    }

    /// Fails for an output of an unknown format: DataFusion ignores an unknown `STORED AS`.
    fn check_format(&self, stored_as: Option<&str>, path: &str) -> Result<()> {
        let state = self.context.state();
        let extension =
            std::path::Path::new(path).extension().map(|extension| extension.to_string_lossy().into_owned());
        match (stored_as, extension) {
            (Some(name), _) if state.get_file_format_factory(&name.to_lowercase()).is_none() => {
                Err(Error::usage(format!("no format {name:?} that can be written")))
            }
            (Some(_), _) => Ok(()),
            (None, Some(extension)) if state.get_file_format_factory(&extension.to_lowercase()).is_none() => {
                let detail = format!(
                    "unknown extension {extension:?}: no format that can be written has it; STORED AS names one"
                );
                Err(Error::usage(detail).in_file(path.to_owned()))
            }
            (None, Some(_)) => Ok(()),
            (None, None) => {
                Err(Error::usage("the output has no extension; STORED AS names its format").in_file(path.to_owned()))
            }
        }
    }
}

/// The formats that `CREATE EXTERNAL TABLE ... STORED AS` knows, under their names and extensions.
fn external_tables(files: &Arc<Files>) -> HashMap<String, Arc<dyn TableProviderFactory>> {
    let mut all: HashMap<String, Arc<dyn TableProviderFactory>> = HashMap::new();
    let targets: Vec<_> = files.registry.targets().iter().map(|target| target.info()).collect();
    for target in &targets {
        for name in std::iter::once(&target.name).chain(target.extensions) {
            let table = ExternalTables { files: Arc::clone(files), target: Some(target.name), format: target.format };
            all.entry(name.to_uppercase()).or_insert_with(|| Arc::new(table));
        }
    }
    for format in files.registry.formats() {
        for name in std::iter::once(format.name()).chain(format.extensions().iter().copied()) {
            let target = targets.iter().find(|target| target.format == format.name()).map(|target| target.name);
            let table = ExternalTables { files: Arc::clone(files), target, format: format.name() };
            all.entry(name.to_uppercase()).or_insert_with(|| Arc::new(table));
        }
    }
    all
}
