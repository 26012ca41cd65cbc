//! Writing: `COPY ... TO` and `INSERT`, into every target of the registry.

use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions, RecordBatchReader};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Fields, Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::file_options::file_type::GetExt;
use datafusion::common::{DataFusionError, Result, Statistics, not_impl_err};
use datafusion::datasource::file_format::file_compression_type::FileCompressionType;
use datafusion::datasource::file_format::{FileFormat, FileFormatFactory};
use datafusion::datasource::physical_plan::{ArrowSource, FileScanConfig, FileSinkConfig, FileSource};
use datafusion::datasource::sink::{DataSink, DataSinkExec};
use datafusion::datasource::table_schema::TableSchema;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::dml::InsertOp;
use datafusion::logical_expr::{Expr, TableType};
use datafusion::object_store::{ObjectMeta, ObjectStore};
use datafusion::physical_expr::expressions::{CastExpr, Column};
use datafusion::physical_expr::{LexRequirement, PhysicalExpr};
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::projection::{ProjectionExec, ProjectionExpr};
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan};
use futures::StreamExt;
use tokio::sync::mpsc::{Receiver, channel};
use wharf::convert::{Location, Opener, Report, Target, To};
use wharf::{BatchContainer, Convert, Error, ErrorKind, Overwrite};

use crate::error::to_datafusion;
use crate::files::{Files, Request, blocking, overwrite};
use crate::options::Options;

/// A file, set of files or folder to write, and how.
#[derive(Debug, Clone)]
pub(crate) struct Destination {
    files: Arc<Files>,
    /// The name of the target.
    target: &'static str,
    path: PathBuf,
    options: Options,
    overwrite: Overwrite,
}

impl Destination {
    /// Checks the options.
    pub(crate) fn new(
        files: Arc<Files>,
        target: &'static str,
        path: &str,
        mut options: Options,
    ) -> wharf::Result<Self> {
        let overwrite = overwrite(&mut options, &files)?;
        let destination = Self { files, target, path: PathBuf::from(path), options, overwrite };
        destination.prepare(&mut Convert::default())?;
        Ok(destination)
    }

    pub(crate) fn exists(&self) -> bool {
        let target = self.files.registry.target(self.target);
        target.is_some_and(|target| target.files(&self.path).iter().any(|file| file.symlink_metadata().is_ok()))
    }

    /// The target, with its options set; those of the conversion are set, too.
    fn prepare(&self, convert: &mut Convert) -> wharf::Result<Box<dyn Target>> {
        let unknown = || Error::usage(format!("no format {:?} that can be written", self.target));
        let mut target = self.files.registry.target(self.target).ok_or_else(unknown)?;
        self.options.apply_to_target(convert, target.as_mut(), &self.files.registry)?;
        Ok(target)
    }

    /// Writes all batches. The output is there whole, or not at all.
    fn write(&self, batches: ChannelReader) -> wharf::Result<()> {
        let container = Arc::new(BatchContainer::from_reader(Box::new(batches)));
        let mut convert = Convert::of("query", container);
        let target = self.prepare(&mut convert)?;
        let mut opener = Opener::new(self.files.registry.clone());
        let mut report = Report::default();
        let outcome = convert.run(target.as_ref(), To::Path(&self.path, self.overwrite), &mut opener, &mut report);
        self.files.losses.add(report.losses);
        outcome
    }

    /// The plan of an `INSERT` of these rows.
    pub(crate) fn insert(
        &self,
        input: Arc<dyn ExecutionPlan>,
        operation: InsertOp,
        schema: &SchemaRef,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let mut destination = self.clone();
        match operation {
            InsertOp::Append if self.exists() => {
                let error = Error::usage(
                    "INSERT INTO a file that exists would write it anew; INSERT OVERWRITE replaces its rows",
                );
                return Err(to_datafusion(error.in_file(self.path.display().to_string())));
            }
            InsertOp::Append => {}
            InsertOp::Overwrite => destination.overwrite = Overwrite::Replace,
            InsertOp::Replace => {
                let error = Error::usage("REPLACE INTO is not supported; INSERT OVERWRITE replaces all rows");
                return Err(to_datafusion(error.in_file(self.path.display().to_string())));
            }
        }
        Ok(destination.plan(input, Arc::clone(schema), None))
    }

    fn plan(
        self,
        input: Arc<dyn ExecutionPlan>,
        schema: SchemaRef,
        order: Option<LexRequirement>,
    ) -> Arc<dyn ExecutionPlan> {
        Arc::new(DataSinkExec::new(input, Arc::new(Sink { destination: self, schema }), order))
    }
}

/// Writes the rows of a plan.
#[derive(Debug)]
struct Sink {
    destination: Destination,
    schema: SchemaRef,
}

impl DisplayAs for Sink {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Destination { target, path, .. } = &self.destination;
        write!(f, "wharf target={target}, path={}", path.display())
    }
}

#[async_trait]
impl DataSink for Sink {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    async fn write_all(&self, mut data: SendableRecordBatchStream, _: &Arc<TaskContext>) -> Result<u64> {
        let (sender, receiver) = channel(2);
        let reader = ChannelReader { schema: Arc::clone(&self.schema), receiver, is_done: false };
        let destination = self.destination.clone();
        let writer = blocking(move || destination.write(reader));
        let feed = async move {
            let mut rows = 0_u64;
            while let Some(batch) = data.next().await {
                let batch = batch?;
                rows += batch.num_rows() as u64;
                // A writer that failed receives no more.
                if sender.send(Some(batch)).await.is_err() {
                    return Ok(rows);
                }
            }
            let _ = sender.send(None).await; // as above
            Ok::<u64, DataFusionError>(rows)
        };
        let (fed, written) = futures::join!(feed, writer);
        let rows = fed?;
        written.map(|()| rows)
    }
}

/// Batches that another thread sends, `None` after the last one. A channel that closes before is a query that failed or was cancelled.
struct ChannelReader {
    schema: SchemaRef,
    receiver: Receiver<Option<RecordBatch>>,
    is_done: bool,
}

impl Iterator for ChannelReader {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_done {
            return None;
        }
        match self.receiver.blocking_recv() {
            Some(Some(batch)) => Some(with_schema(&batch, &self.schema)),
            Some(None) => {
                self.is_done = true;
                None
            }
            None => {
                self.is_done = true;
                let error = Error::new(ErrorKind::Cancelled, "the query ended early");
                Some(Err(ArrowError::ExternalError(Box::new(error))))
            }
        }
    }
}

/// The batch with a schema of the same types: operators of DataFusion may declare other metadata and nullability than their batches have.
pub(crate) fn with_schema(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, ArrowError> {
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::clone(schema), batch.columns().to_vec(), &options)
}

impl RecordBatchReader for ChannelReader {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

/// A target of the registry, under one of its names: `COPY ... TO 'x.EXTENSION'` and `STORED AS NAME` find it.
#[derive(Debug)]
pub(crate) struct TargetFormat {
    pub(crate) files: Arc<Files>,
    /// The name of the target.
    pub(crate) target: &'static str,
    /// Its name, or one of its extensions.
    pub(crate) name: &'static str,
}

impl TargetFormat {
    /// All targets, under all their names and extensions.
    pub(crate) fn all(files: &Arc<Files>) -> Vec<Arc<dyn FileFormatFactory>> {
        let mut all: Vec<Arc<dyn FileFormatFactory>> = Vec::new();
        let mut names: Vec<&str> = Vec::new();
        for target in files.registry.targets() {
            let info = target.info();
            for name in std::iter::once(&info.name).chain(info.extensions).copied() {
                if !names.contains(&name) {
                    names.push(name);
                    all.push(Arc::new(Self { files: Arc::clone(files), target: info.name, name }));
                }
            }
        }
        all
    }

    fn format(&self, options: Options) -> Arc<dyn FileFormat> {
        Arc::new(WriteFormat { files: Arc::clone(&self.files), target: self.target, options })
    }
}

impl GetExt for TargetFormat {
    fn get_ext(&self) -> String {
        self.name.to_owned()
    }
}

impl FileFormatFactory for TargetFormat {
    fn create(&self, _: &dyn Session, given: &HashMap<String, String>) -> Result<Arc<dyn FileFormat>> {
        let mut options = Options::default();
        for (name, value) in given {
            options.set(name, value.clone());
        }
        Ok(self.format(options))
    }

    fn default(&self) -> Arc<dyn FileFormat> {
        self.format(Options::default())
    }
}

/// A target with options, as DataFusion's `COPY` knows formats. It only writes: wharf's tables read.
#[derive(Debug)]
struct WriteFormat {
    files: Arc<Files>,
    target: &'static str,
    options: Options,
}

#[async_trait]
impl FileFormat for WriteFormat {
    fn get_ext(&self) -> String {
        self.target.to_owned()
    }

    fn get_ext_with_compression(&self, _: &FileCompressionType) -> Result<String> {
        Ok(self.get_ext())
    }

    fn compression_type(&self) -> Option<FileCompressionType> {
        None
    }

    async fn infer_schema(&self, _: &dyn Session, _: &Arc<dyn ObjectStore>, _: &[ObjectMeta]) -> Result<SchemaRef> {
        not_impl_err!("{} as a listing table", self.target)
    }

    async fn infer_stats(
        &self,
        _: &dyn Session,
        _: &Arc<dyn ObjectStore>,
        schema: SchemaRef,
        _: &ObjectMeta,
    ) -> Result<Statistics> {
        Ok(Statistics::new_unknown(&schema))
    }

    async fn create_physical_plan(&self, _: &dyn Session, _: FileScanConfig) -> Result<Arc<dyn ExecutionPlan>> {
        not_impl_err!("{} as a listing table", self.target)
    }

    async fn create_writer_physical_plan(
        &self,
        input: Arc<dyn ExecutionPlan>,
        _: &dyn Session,
        config: FileSinkConfig,
        order: Option<LexRequirement>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if !config.table_partition_cols.is_empty() {
            return Err(to_datafusion(Error::usage("PARTITIONED BY is not supported")));
        }
        let destination =
            Destination::new(Arc::clone(&self.files), self.target, &config.original_url, self.options.clone());
        let schema = input.schema();
        Ok(destination.map_err(to_datafusion)?.plan(input, schema, order))
    }

    /// DataFusion asks for it only to read listing tables, which [`create_physical_plan`](Self::create_physical_plan) refuses.
    fn file_source(&self, schema: TableSchema) -> Arc<dyn FileSource> {
        Arc::new(ArrowSource::new_file_source(schema))
    }
}

/// A table with declared columns whose file is written by the first `INSERT`.
#[derive(Debug)]
pub(crate) struct NewTable {
    schema: SchemaRef,
    destination: Destination,
    request: Request,
}

impl NewTable {
    pub(crate) const fn new(schema: SchemaRef, destination: Destination, request: Request) -> Self {
        Self { schema, destination, request }
    }

    /// The columns as a file without types is read: decimals, which readers cannot build, as the texts that they were written as.
    fn read_schema(&self) -> SchemaRef {
        let field = |field: &FieldRef| match field.data_type().is_decimal() {
            true => Arc::new(Field::clone(field).with_data_type(DataType::Utf8)),
            false => Arc::clone(field),
        };
        Arc::new(Schema::new(self.schema.fields().iter().map(field).collect::<Fields>()))
    }

    /// The columns of an opened file, converted to the declared types.
    fn converted(&self, plan: Arc<dyn ExecutionPlan>, columns: &[usize]) -> Result<Arc<dyn ExecutionPlan>> {
        let found = plan.schema();
        let mut expressions = Vec::new();
        for (number, index) in columns.iter().enumerate() {
            let (declared, own) = (self.schema.field(*index), found.field(number));
            let column: Arc<dyn PhysicalExpr> = Arc::new(Column::new(own.name(), number));
            let expr = match own.data_type() == declared.data_type() {
                true => column,
                false => Arc::new(CastExpr::new(column, declared.data_type().clone(), None)) as Arc<dyn PhysicalExpr>,
            };
            expressions.push(ProjectionExpr { expr, alias: declared.name().clone() });
        }
        Ok(Arc::new(ProjectionExec::try_new(expressions, plan)?))
    }
}

#[async_trait]
impl TableProvider for NewTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let columns = projection.cloned().unwrap_or_else(|| (0..self.schema.fields().len()).collect());
        if !self.destination.exists() {
            return Ok(Arc::new(EmptyExec::new(Arc::new(self.schema.project(&columns)?))));
        }
        let (files, request) = (Arc::clone(&self.destination.files), self.request.clone());
        let (location, declared) = (Location::Path(self.destination.path.clone()), self.read_schema());
        let target = files.registry.target(self.destination.target);
        let format = target.map_or(self.destination.target, |target| target.info().format);
        let table = blocking(move || {
            // A file with types is read with these.
            let is_inferred = !files.has_schema(format, &location, &request)?;
            files.open_as(format, vec![location], &request, is_inferred.then_some(declared))
        });
        let table = table.await?;
        let found = table.schema();
        let mut indexes = Vec::new();
        for field in columns.iter().map(|index| self.schema.field(*index)) {
            let index = found.index_of(field.name()).map_err(|_| {
                let error = Error::invalid("the file lacks a declared column").in_column(field.name().clone());
                to_datafusion(error.in_file(self.destination.path.display().to_string()))
            })?;
            indexes.push(index);
        }
        let plan = table.scan(state, Some(&indexes), filters, limit).await?;
        self.converted(plan, &columns)
    }

    async fn insert_into(
        &self,
        _: &dyn Session,
        input: Arc<dyn ExecutionPlan>,
        operation: InsertOp,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.destination.insert(input, operation, &self.schema)
    }
}
