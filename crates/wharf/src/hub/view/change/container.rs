//! A container whose table has changed columns.

use std::sync::Arc;

use arrow_schema::SchemaRef;
use container_arrow::{ArrowTable, BatchScan, Mapping, Times};
use container_core::{ColumnInfo, Container, Error, Finding, Loss, Position, Result, Rows, Scan, Table, VerifyOptions};
use serde_json::{Map, Value};

use super::batches::Below;
use super::plan::{self, Plan};
use super::rows::ChangedRows;
use super::{Changes, batches};
use crate::batches::RowsWithLosses;
use crate::hub::convert::idv_texts;
use crate::hub::select;
use crate::text::TextFormat;

/// How a container is changed.
#[derive(Debug, Clone, Default)]
pub(crate) struct Settings {
    pub(crate) changes: Changes,
    /// The types of some columns, by the names they have below, for tables without a schema.
    pub(crate) declared: Option<SchemaRef>,
    /// How values are mapped while columns are planned.
    pub(crate) mapping: Mapping,
    /// The changed table; `None` for the only one.
    pub(crate) table: Option<String>,
    /// Names of columns that this container lacks are ignored: another input has them.
    pub(crate) skip_unknown: bool,
    pub(crate) threads: usize,
}

/// A container that shows the only or selected table of another one, with changes.
pub(crate) struct Changed {
    inner: Arc<dyn Container>,
    table: ChangedTable,
}

/// A table with changed columns.
pub(super) struct ChangedTable {
    inner: Arc<dyn Container>,
    /// The number of the table below.
    index: usize,
    pub(super) settings: Settings,
    pub(super) plan: Plan,
    columns: Vec<ColumnInfo>,
    /// Whether cells have no types: CSV and TSV.
    pub(super) is_cells: bool,
}

impl Changed {
    /// Changes the table of a container.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) for an unknown table or column, types that cannot be cast, columns that cannot be expanded or
    /// concatenated, and names that would occur twice; errors of a table that must be read for the types of its columns.
    pub(crate) fn open(inner: Box<dyn Container>, settings: &Settings) -> Result<Self> {
        let inner: Arc<dyn Container> = Arc::from(inner);
        let name = select::table(inner.as_ref(), settings.table.as_deref())?.name().to_owned();
        let index = inner.tables().iter().position(|table| table.name() == name).unwrap_or(0);
        let is_cells = TextFormat::named(inner.format()).is_some_and(TextFormat::is_cells);
        let plan = {
            let table = *inner.tables().get(index).ok_or_else(|| Error::usage("the input has no tables"))?;
            let scan = BatchScan::from(Scan::default().with_threads(settings.threads)).with_mapping(settings.mapping);
            let below = Below { table, declared: settings.declared.as_ref() };
            let schema = |columns: &[usize]| Ok(below.scan(&scan, columns, &batches::Declared::default())?.1);
            let below = plan::Below { table, scan: &scan, schema: &schema };
            Plan::new(&below, &settings.changes, settings.skip_unknown)?
        };
        let columns = plan.columns.iter().map(|column| column.info.clone()).collect();
        let table =
            ChangedTable { inner: Arc::clone(&inner), index, settings: settings.clone(), plan, columns, is_cells };
        Ok(Self { inner, table })
    }
}

impl Container for Changed {
    fn format(&self) -> &'static str {
        self.inner.format()
    }

    fn version(&self) -> String {
        self.inner.version()
    }

    fn details(&self) -> Map<String, Value> {
        self.inner.details()
    }

    fn tables(&self) -> Vec<&dyn Table> {
        vec![&self.table]
    }

    fn verify(&self, options: &VerifyOptions, report: &mut dyn FnMut(Finding)) -> Result<()> {
        self.inner.verify(options, report)
    }
}

impl ChangedTable {
    /// The table below.
    pub(super) fn below(&self) -> Result<&dyn Table> {
        let table = self.inner.tables().into_iter().nth(self.index);
        table.ok_or_else(|| Error::usage("the table is gone")) // cannot happen: containers keep their tables
    }

    /// The table below as record batches.
    pub(super) fn arrow_below(&self) -> Result<&dyn ArrowTable> {
        self.below()?.arrow().ok_or_else(|| {
            let format = self.inner.format();
            Error::unsupported(format!("tables of the format {format} cannot be read as typed columns"))
        })
    }

    /// The column of the table below that this column shows as it is.
    fn unchanged(&self, column: usize) -> Option<usize> {
        self.plan.unchanged(column, &self.settings.changes)
    }
}

/// A notice that rows of a table without a schema are read as columns, which can change other values.
pub(crate) fn as_columns() -> Loss {
    let what = "rows are read as typed columns: missing members are null, and numbers have the type of their column";
    Loss::new(what, 0, Position::default())
}

impl Table for ChangedTable {
    fn name(&self) -> &str {
        self.below().map_or("", Table::name)
    }

    fn columns(&self) -> &[ColumnInfo] {
        &self.columns
    }

    fn columns_error(&self) -> Option<Error> {
        self.below().ok()?.columns_error()
    }

    fn has_schema(&self) -> bool {
        self.below().is_ok_and(Table::has_schema)
    }

    fn column_summary(&self, index: usize) -> Map<String, Value> {
        match (self.unchanged(index), self.below()) {
            (Some(index), Ok(below)) => below.column_summary(index),
            _ => Map::new(),
        }
    }

    fn column_details(&self, index: usize) -> Result<Map<String, Value>> {
        match self.unchanged(index) {
            Some(index) => self.below()?.column_details(index),
            None if index < self.columns.len() => Ok(Map::new()),
            None => Err(Error::usage(format!("no column {index}"))),
        }
    }

    fn len(&self) -> Option<u64> {
        self.below().ok()?.len()
    }

    fn rows<'a>(&'a self, scan: &Scan) -> Result<Box<dyn Rows + 'a>> {
        if self.settings.changes.keep_values() && self.settings.declared.is_none() {
            return Ok(Box::new(ChangedRows::new(self, scan)?));
        }
        let mapping = self.settings.mapping;
        let rows = crate::batches::rows_of(self, scan, |scan| {
            let mut scan = BatchScan::from(scan).with_mapping(mapping);
            if self.inner.format() != idv::FORMAT.name() {
                return self.batches(&scan);
            }
            // Ticks hold every time exactly.
            scan.mapping.times = Times::Ticks;
            Ok(idv_texts(self.batches(&scan)?))
        })?;
        // Cells of a column have one type in rows, too.
        let noticed = |rows| Box::new(RowsWithLosses { rows, losses: vec![as_columns()] });
        Ok(if self.has_schema() || self.is_cells { rows } else { noticed(rows) })
    }

    fn find(&self, key: &str) -> Result<Option<u64>> {
        self.below()?.find(key)
    }

    fn arrow(&self) -> Option<&dyn ArrowTable> {
        self.below().ok()?.arrow().map(|_| self as &dyn ArrowTable)
    }
}
