//! Batches that keep their container open.

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use container_arrow::{BatchReader, BatchScan};
use container_core::{Container, Error, Loss, Result};
use self_cell::self_cell;

use super::select;

type Reader<'a> = Box<dyn BatchReader + 'a>;

self_cell!(
    struct Cell {
        owner: Arc<dyn Container>,
        #[not_covariant]
        dependent: Reader,
    }
);

/// The batches of a table, which own its container: for callers that hand them on, such as through the Arrow C stream interface.
///
/// ```
/// use std::sync::Arc;
/// use wharf::{BatchScan, OwnedBatches};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("a.csv");
/// # std::fs::write(&path, "x\n1\n2\n")?;
/// let container = Arc::from(wharf::open(path)?);
/// let batches = OwnedBatches::new(container, None, &BatchScan::default())?;
/// let rows: usize = batches.map(|batch| batch.map(|batch| batch.num_rows())).sum::<Result<_, _>>()?;
/// assert_eq!(rows, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct OwnedBatches {
    cell: Cell,
    schema: SchemaRef,
}

impl OwnedBatches {
    /// Reads the table of this name, or the only one.
    ///
    /// # Errors
    /// [`Usage`](crate::ErrorKind::Usage) if there is no such table; [`Unsupported`](crate::ErrorKind::Unsupported) if it has no Arrow mapping;
    /// those of [`ArrowTable::batches`](container_arrow::ArrowTable::batches).
    pub fn new(container: Arc<dyn Container>, table: Option<&str>, scan: &BatchScan) -> Result<Self> {
        let cell = Cell::try_new(container, |container| {
            let table = select::table(container.as_ref(), table)?;
            let arrow = table.arrow().ok_or_else(|| {
                let format = container.format();
                Error::unsupported(format!("tables of the format {format} cannot be read as record batches"))
            })?;
            arrow.batches(scan)
        })?;
        let schema = cell.with_dependent(|_, reader| reader.schema());
        Ok(Self { cell, schema })
    }

    /// Values of the batches so far that could not be represented exactly.
    #[must_use]
    pub fn losses(&self) -> Vec<Loss> {
        self.cell.with_dependent(|_, reader| reader.losses())
    }
}

impl Iterator for OwnedBatches {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.cell.with_dependent_mut(|_, reader| reader.next())
    }
}

impl RecordBatchReader for OwnedBatches {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

impl BatchReader for OwnedBatches {
    fn losses(&self) -> Vec<Loss> {
        Self::losses(self)
    }
}
