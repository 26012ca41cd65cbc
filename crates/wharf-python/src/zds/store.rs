//! The class `ZdsStore`.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use zdx::{Durability, WriterOptions};

use super::LibraryResult;
use super::root::{Root, open_store};
use crate::error::Result;
use crate::process;

/// A store of collections of JSON documents: a folder, or an archive.
#[pyclass(module = "wharf_data._native", frozen, subclass)]
pub(crate) struct ZdsStore {
    pub(super) root: Arc<Root>,
    mode: &'static str,
}

#[pymethods]
impl ZdsStore {
    #[new]
    #[pyo3(signature = (path, mode="r", *, create=true, strict=false, sync_writes=false, lock=true))]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        mode: &str,
        create: bool,
        strict: bool,
        sync_writes: bool,
        lock: bool,
    ) -> Result<Self> {
        let options = match mode {
            "r" => None,
            "rw" => {
                let durability = if sync_writes { Durability::EveryPut } else { Durability::Flush };
                let options = WriterOptions::default().with_create(create).with_strict(strict);
                Some(options.with_durability(durability).with_threads(process::threads(0)))
            }
            other => return Err(PyValueError::new_err(format!("mode must be \"r\" or \"rw\", found {other:?}")).into()),
        };
        let root = py.detach(|| {
            let root = Root::open(path, options)?;
            if mode == "rw" && lock {
                root.is_pinned.store(true, Ordering::Relaxed);
                drop(root.writer()?);
            }
            LibraryResult::Ok(root)
        })?;
        Ok(Self { root, mode: if mode == "r" { "r" } else { "rw" } })
    }

    /// The path.
    #[getter]
    fn path(&self) -> &Path {
        &self.root.path
    }

    /// ``"r"`` or ``"rw"``.
    #[getter]
    fn mode(&self) -> &str {
        self.mode
    }

    /// Whether all documents of a collection must have one schema.
    #[getter]
    fn strict(&self) -> bool {
        self.root.options.as_ref().is_some_and(|options| options.strict)
    }

    /// The names of the collections, sorted.
    fn list_collections(&self, py: Python<'_>) -> Result<Vec<String>> {
        Ok(py.detach(|| match &self.root.reader {
            Some(store) => store.names(),
            None if self.root.path.join("collections").is_dir() => open_store(&self.root.path)?.names(),
            None => Ok(Vec::new()),
        })?)
    }

    /// Whether there is a collection of this name.
    fn collection_exists(&self, py: Python<'_>, name: &str) -> Result<bool> {
        Ok(self.list_collections(py)?.iter().any(|other| other == name))
    }

    /// Flushes all collections and releases the lock. The store may be used again.
    fn close(&self, py: Python<'_>) -> Result<()> {
        Ok(py.detach(|| self.root.close())?)
    }
}
