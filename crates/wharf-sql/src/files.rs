//! Names of files as tables.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use arrow_schema::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::{
    Session, TableFunctionArgs, TableFunctionImpl, TableProvider, TableProviderFactory, UrlTableFactory,
};
use datafusion::common::{DataFusionError, Result, ScalarValue};
use datafusion::logical_expr::{CreateExternalTable, Expr};
use wharf::convert::{Location, Opener};
use wharf::hub::inputs::expand_one;
use wharf::hub::select;
use wharf::{Access, Convert, Error, Overwrite, Registry};

use crate::error::to_datafusion;
use crate::losses::Losses;
use crate::options::{Options, is_true};
use crate::table::{OpenTable, SEVERAL_FILES, WharfTable};
use crate::write::{Destination, NewTable};

/// Opens files as tables. Tables are kept until one of their files changes.
pub(crate) struct Files {
    pub(crate) registry: Registry,
    pub(crate) access: Access,
    pub(crate) overwrite: Overwrite,
    pub(crate) losses: Arc<Losses>,
    opened: Mutex<HashMap<Request, Opened>>,
}

/// A table, and the versions of its files.
type Opened = (Vec<Version>, Arc<WharfTable>);

/// What is opened: one or more files, and how they are read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Request {
    /// Paths and glob patterns.
    pub(crate) names: Vec<String>,
    pub(crate) table: Option<String>,
    pub(crate) options: Options,
}

/// Which content a file had: its length and time of change.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Version(PathBuf, u64, SystemTime);

/// Where an open table comes from. Tables with a name, and views, outlive changes of their files.
#[derive(Debug)]
pub(crate) struct Origin {
    files: Arc<Files>,
    request: Request,
    /// Of an external table: its format, and its columns if they are declared.
    external: Option<(&'static str, Option<SchemaRef>)>,
    /// The versions of the files when they were opened; `None` if they have none, as a folder.
    versions: Option<Vec<Version>>,
    is_read: AtomicBool,
}

impl Origin {
    /// The table as it is now: opened again if a file has changed, or may have.
    ///
    /// # Errors
    /// A file that cannot be opened; columns that differ.
    pub(crate) async fn current(self: &Arc<Self>, open: &Arc<OpenTable>) -> Result<Arc<OpenTable>> {
        let (origin, known) = (Arc::clone(self), Arc::clone(open));
        let current = blocking(move || {
            let request = &origin.request;
            let locations = request.locations()?;
            let versions = versions(&locations);
            let was_read = origin.is_read.swap(true, Ordering::Relaxed);
            if versions == origin.versions && (versions.is_some() || !was_read) {
                return Ok(known);
            }
            let table = match &origin.external {
                None => origin.files.open_locations(locations, request)?,
                Some((format, declared)) => origin.files.open_as(format, locations, request, declared.clone())?,
            };
            if table.open_table().schema().fields() != known.schema().fields() {
                let error = Error::usage("the columns of the file are others than when the table was opened");
                return Err(error.in_file(known.label().to_owned()));
            }
            Ok(Arc::clone(table.open_table()))
        });
        current.await
    }
}

impl std::fmt::Debug for Files {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Files").field("registry", &self.registry).finish_non_exhaustive()
    }
}

impl Files {
    pub(crate) fn new(registry: Registry, access: Access, overwrite: Overwrite) -> Self {
        Self { registry, access, overwrite, losses: Arc::default(), opened: Mutex::default() }
    }

    /// Opens a table, or returns the one that is open.
    fn open(self: &Arc<Self>, request: &Request) -> wharf::Result<Arc<WharfTable>> {
        let locations = request.locations()?;
        let versions = versions(&locations);
        if let Some(versions) = &versions {
            let opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some((_, table)) = opened.get(request).filter(|(known, _)| known == versions) {
                return Ok(Arc::clone(table));
            }
        }
        let table = self.open_locations(locations, request)?;
        let table = Arc::new(table.with_origin(self.origin(request.clone(), None, versions.clone())));
        if let Some(versions) = versions {
            let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
            opened.insert(request.clone(), (versions, Arc::clone(&table)));
        }
        Ok(table)
    }

    fn origin(
        self: &Arc<Self>,
        request: Request,
        external: Option<(&'static str, Option<SchemaRef>)>,
        versions: Option<Vec<Version>>,
    ) -> Origin {
        Origin { files: Arc::clone(self), request, external, versions, is_read: AtomicBool::new(false) }
    }

    /// Opens these files as a table.
    fn open_locations(&self, locations: Vec<Location>, request: &Request) -> wharf::Result<WharfTable> {
        let mut convert = convert(locations, request);
        request.options.apply_to_inputs(&mut convert)?;
        let table = convert.open(&mut self.opener())?;
        Ok(WharfTable::with_losses(table, Arc::clone(&self.losses)))
    }

    /// Opens files as a table, which is not kept.
    pub(crate) fn open_paths(
        &self,
        paths: &[PathBuf],
        table: Option<&str>,
        options: impl IntoIterator<Item = (String, String)>,
    ) -> wharf::Result<WharfTable> {
        let mut request = Request { table: table.map(str::to_owned), ..Request::default() };
        for (name, value) in options {
            request.options.set(&name, value);
        }
        let mut locations = Vec::new();
        for path in paths {
            locations.extend(expand_one(path.as_os_str())?);
        }
        self.open_locations(locations, &request)
    }

    /// Opens these files, which must be of this format, as a table with the declared columns.
    pub(crate) fn open_as(
        &self,
        format: &str,
        locations: Vec<Location>,
        request: &Request,
        declared: Option<SchemaRef>,
    ) -> wharf::Result<WharfTable> {
        let mut convert = convert(locations, request);
        // Content and name do not always show it.
        let _ = convert.set_input("from", format); // other formats are recognized by their content
        request.options.apply_to_inputs(&mut convert)?;
        let table = convert.open_with(&mut self.opener(), declared)?;
        let mut names = (0..table.inputs()).filter_map(|input| Some((table.name(input)?, table.format(input)?)));
        match names.find(|(_, found)| *found != format) {
            Some((name, found)) => {
                Err(Error::usage(format!("expected {format}, found {found}")).in_file(name.to_owned()))
            }
            None => Ok(WharfTable::with_losses(table, Arc::clone(&self.losses))),
        }
    }

    /// Whether a file, which must be of this format, declares the types of its columns.
    pub(crate) fn has_schema(
        &self,
        format: &'static str,
        location: &Location,
        request: &Request,
    ) -> wharf::Result<bool> {
        let mut opener = self.opener();
        opener.overrides.format = Some(format);
        let container = location.open(&mut opener)?.container;
        let table = select::table(container.as_ref(), request.table.as_deref());
        Ok(table.map_err(|error| error.in_file(location.name()))?.has_schema())
    }

    fn opener(&self) -> Opener<'static> {
        let mut opener = Opener::new(self.registry.clone());
        opener.access = self.access;
        opener
    }
}

fn convert(locations: Vec<Location>, request: &Request) -> Convert {
    let mut convert = Convert::default();
    convert.inputs = locations;
    convert.selection.reading.table.clone_from(&request.table);
    convert
}

impl Request {
    /// The files that its names and patterns mean now.
    fn locations(&self) -> wharf::Result<Vec<Location>> {
        let mut locations = Vec::new();
        for name in &self.names {
            locations.extend(expand_one(OsStr::new(name))?);
        }
        Ok(locations)
    }
}

fn versions(locations: &[Location]) -> Option<Vec<Version>> {
    locations.iter().map(version).collect()
}

/// The version of a regular file; `None` for what must be opened again each time, such as a folder.
fn version(location: &Location) -> Option<Version> {
    let Location::Path(path) = location else { return None };
    let metadata = path.metadata().ok().filter(std::fs::Metadata::is_file)?;
    Some(Version(path.clone(), metadata.len(), metadata.modified().ok()?))
}

/// Whether a name that is no table can be meant as that of a file.
fn is_file_name(name: &str) -> bool {
    name.contains(['/', '\\', '.', '*', '?', '[']) || Path::new(name).exists()
}

/// Runs blocking work of wharf on a thread where it may block.
pub(crate) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> wharf::Result<T> + Send + 'static) -> Result<T> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| DataFusionError::ExecutionJoin(Box::new(error)))?.map_err(to_datafusion)
}

/// Quoted names in `FROM` that no table has: files, or patterns of files.
#[derive(Debug)]
pub(crate) struct FileNames(pub(crate) Arc<Files>);

#[async_trait]
impl UrlTableFactory for FileNames {
    async fn try_new(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        if !is_file_name(name) {
            return Ok(None);
        }
        let (files, request) = (Arc::clone(&self.0), Request { names: vec![name.to_owned()], ..Request::default() });
        let table = blocking(move || files.open(&request)).await?;
        Ok(Some(table))
    }
}

/// `wharf('x.zds', 'collection', 'option', 'value', ...)`
#[derive(Debug)]
pub(crate) struct WharfFunction(pub(crate) Arc<Files>);

impl TableFunctionImpl for WharfFunction {
    fn call_with_args(&self, arguments: TableFunctionArgs<'_, '_>) -> Result<Arc<dyn TableProvider>> {
        let usage = || {
            let usage =
                "wharf() takes strings: a file or pattern, then a table or '', then names and values of options";
            to_datafusion(Error::usage(usage))
        };
        let texts = arguments.exprs().iter().map(text).collect::<Option<Vec<String>>>().ok_or_else(usage)?;
        let mut texts = texts.into_iter();
        let name = texts.next().ok_or_else(usage)?;
        let table = texts.next().filter(|name| !name.is_empty());
        let mut options = Options::default();
        while let Some(option) = texts.next() {
            options.set(&option, texts.next().ok_or_else(usage)?);
        }
        Ok(self.0.open(&Request { names: vec![name], table, options }).map_err(to_datafusion)?)
    }
}

/// A literal string, or number.
fn text(expression: &Expr) -> Option<String> {
    match expression {
        Expr::Literal(ScalarValue::Utf8(text) | ScalarValue::LargeUtf8(text) | ScalarValue::Utf8View(text), _) => {
            text.clone()
        }
        Expr::Literal(value, _) if !value.is_null() => Some(value.to_string()),
        _ => None,
    }
}

/// `CREATE EXTERNAL TABLE ... STORED AS format`
#[derive(Debug)]
pub(crate) struct ExternalTables {
    pub(crate) files: Arc<Files>,
    /// The name of the target that `INSERT` writes; `None` for a format that is only read.
    pub(crate) target: Option<&'static str>,
    /// The name of the format.
    pub(crate) format: &'static str,
}

#[async_trait]
impl TableProviderFactory for ExternalTables {
    async fn create(&self, _: &dyn Session, command: &CreateExternalTable) -> Result<Arc<dyn TableProvider>> {
        let refuse = |what: &str| Err(to_datafusion(Error::usage(format!("{what} is not supported"))));
        if !command.table_partition_cols.is_empty() {
            return refuse("PARTITIONED BY");
        }
        if !command.order_exprs.is_empty() {
            return refuse("WITH ORDER");
        }
        if command.unbounded {
            return refuse("UNBOUNDED");
        }
        if !command.column_defaults.is_empty() {
            return refuse("DEFAULT");
        }
        if !command.constraints.is_empty() {
            return refuse("a constraint such as PRIMARY KEY or UNIQUE");
        }
        let mut options = Options::default();
        for (name, value) in &command.options {
            options.set(name, value.clone());
        }
        let target = self.target.and_then(|name| self.files.registry.target(name));
        let (reading, writing) = options.split(self.format, target.as_deref()).map_err(to_datafusion)?;
        let table = reading.table.clone();
        let request = Request { names: command.locations.clone(), table, options: reading.options };
        let fields = command.schema.as_arrow();
        let declared = (!fields.fields().is_empty()).then(|| Arc::new(fields.clone()));
        let destination = self.destination(&request, writing).map_err(to_datafusion)?;
        if let (Some(schema), Ok(destination)) = (&declared, &destination)
            && !destination.exists()
        {
            return Ok(Arc::new(NewTable::new(Arc::clone(schema), destination.clone(), request)));
        }
        let (files, format) = (Arc::clone(&self.files), self.format);
        let table = blocking(move || {
            let locations = request.locations()?;
            let versions = versions(&locations);
            let table = files.open_as(format, locations, &request, declared.clone())?;
            Ok(table.with_origin(files.origin(request, Some((format, declared)), versions)))
        });
        let table = table.await?;
        Ok(Arc::new(table.with_destination(destination)))
    }
}

impl ExternalTables {
    /// Where `INSERT` into a table writes, or why it cannot.
    fn destination(&self, request: &Request, options: Options) -> wharf::Result<Result<Destination, &'static str>> {
        let ([path], Some(target)) = (request.names.as_slice(), self.target) else {
            return Ok(Err(if self.target.is_some() { SEVERAL_FILES } else { "its format is only read" }));
        };
        if request.options.reads_other_text()? {
            return Ok(Err("its options describe text that is only read"));
        }
        Destination::new(Arc::clone(&self.files), target, path, options).map(Ok)
    }
}

/// Whether a file may be replaced, by the option `overwrite`.
pub(crate) fn overwrite(options: &mut Options, files: &Files) -> wharf::Result<Overwrite> {
    Ok(match options.remove("overwrite") {
        Some(value) if is_true("overwrite", &value)? => Overwrite::Replace,
        Some(_) => Overwrite::Refuse,
        None => files.overwrite,
    })
}
