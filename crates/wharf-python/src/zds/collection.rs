//! The class `ZdsCollection`.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use container_core::{Error, Source};
use pyo3::exceptions::{PyKeyError, PyTypeError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::sync::RwLockExt;
use pyo3::types::{PyAny, PyDict, PyList, PyString, PyTuple};
use zdx::{Collection, CollectionWriter, Filter, LoadOptions, OnDuplicate, Predicate};

use super::LibraryResult;
use super::json::{decode, encode};
use super::located;
use super::root::{Root, State, read_only};
use super::scan::{Cell, Yields, ZdsScan, condition};
use super::store::ZdsStore;
use crate::error::{Failure, Result};
use crate::{map, process, source};

/// Bytes of lines that are put at once.
const BLOCK_BYTES: usize = 64 << 20;

/// A collection of documents.
#[pyclass(module = "wharf_data._native", frozen, subclass, mapping)]
pub(crate) struct ZdsCollection {
    pub(super) root: Arc<Root>,
    pub(super) name: String,
    pub(super) state: Arc<RwLock<State>>,
}

impl ZdsCollection {
    /// The collection with all changes so far; `None` if it does not exist yet.
    fn reader(&self, py: Python<'_>) -> Result<Option<Arc<Collection>>> {
        let state = self.state.read_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        if let (Some(reader), false) = (&state.reader, state.is_changed) {
            return Ok(Some(Arc::clone(reader)));
        }
        drop(state);
        Ok(py.detach(|| {
            let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
            if state.is_changed {
                state.flush()?;
            }
            if state.reader.is_none() {
                state.reader = self.root.open_reader(&self.name)?;
            }
            LibraryResult::Ok(state.reader.clone())
        })?)
    }

    /// Asks the writer, if there are changes that the reader does not show.
    fn ask_writer<T>(
        &self,
        py: Python<'_>,
        ask: impl FnOnce(&CollectionWriter) -> LibraryResult<T>,
    ) -> Result<Option<T>> {
        let state = self.state.read_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        let is_current = state.is_changed && !state.has_parents_changes();
        Ok(state.writer.as_ref().filter(|_| is_current).map(ask).transpose()?)
    }

    /// Changes the collection.
    fn change<T: Send>(
        &self,
        py: Python<'_>,
        change: impl FnOnce(&mut CollectionWriter) -> LibraryResult<T> + Send,
    ) -> Result<T> {
        Ok(py.detach(|| {
            let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
            state.leave_to_parent();
            let changed = change(self.writer(&mut state)?);
            state.is_changed = true;
            state.drop_failed_writer(&changed);
            changed
        })?)
    }

    /// The open writer, or else a new one.
    fn writer<'s>(&self, state: &'s mut State) -> LibraryResult<&'s mut CollectionWriter> {
        match &mut state.writer {
            Some(writer) => Ok(writer),
            None if state.is_in_transaction => Err(failed_transaction()),
            none => {
                let store = self.root.writer()?;
                let store = store.as_ref().ok_or_else(|| read_only(&self.root.path))?;
                Ok(none.insert(store.collection(&self.name)?))
            }
        }
    }

    /// Ends the transaction. That of the parent goes on there, if this process was forked.
    fn end_transaction(&self, py: Python<'_>, end: impl FnOnce(&mut State) -> LibraryResult<()> + Send) -> Result<()> {
        Ok(py.detach(|| {
            let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
            state.leave_to_parent();
            if !state.is_in_transaction {
                return Ok(());
            }
            state.is_in_transaction = false;
            state.reader = None;
            end(&mut state)
        })?)
    }

    fn put_lines(&self, py: Python<'_>, lines: &mut Vec<u8>) -> Result<()> {
        // The lines were encoded here.
        let options = LoadOptions::default().with_validate(false).with_threads(process::threads(0));
        let lines = Source::from(std::mem::take(lines));
        self.change(py, |writer| writer.load(&lines, &options))?;
        Ok(py.check_signals()?)
    }

    fn scanned(&self, py: Python<'_>, yields: Yields) -> Result<ZdsScan> {
        self.scan_with(py, yields, None, None)
    }

    fn scan_with(
        &self,
        py: Python<'_>,
        yields: Yields,
        fields: Option<Vec<String>>,
        filter: Option<Filter>,
    ) -> Result<ZdsScan> {
        let reader = self.reader(py)?;
        let cell =
            py.detach(|| reader.map(|reader| Cell::try_new(reader, |collection| collection.documents())).transpose())?;
        Ok(ZdsScan { cell: Mutex::new(cell), yields, fields, filter })
    }
}

fn failed_transaction() -> Error {
    Error::usage("the transaction failed, and its changes were rolled back").in_format("zds")
}

fn missing(id: &str) -> Failure {
    PyKeyError::new_err(format!("Document not found: {id}")).into()
}

#[pymethods]
impl ZdsCollection {
    #[new]
    fn new(py: Python<'_>, store: PyRef<'_, ZdsStore>, name: String) -> Result<Self> {
        let root = Arc::clone(&store.root);
        let state = root.state(&name);
        let collection = Self { root, name, state };
        if collection.root.options.is_none() {
            // It must exist.
            collection.reader(py)?;
        } else if !collection.root.has_collection(&collection.name) {
            collection.change(py, |writer| writer.flush())?;
        }
        Ok(collection)
    }

    /// The name.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// The path of the store.
    #[getter]
    fn _root(&self) -> &Path {
        &self.root.path
    }

    /// The document of this id, without its ``_id``.
    ///
    /// Raises:
    ///     KeyError: no document has this id, and no default is given.
    #[pyo3(signature = (doc_id, *default))]
    fn get<'py>(&self, py: Python<'py>, doc_id: &str, default: &Bound<'py, PyTuple>) -> Result<Bound<'py, PyAny>> {
        if default.len() > 1 {
            return Err(PyTypeError::new_err(format!("expected at most one default, found {}", default.len())).into());
        }
        match self.find(py, doc_id)? {
            Some(document) => Ok(document),
            None => default.get_item(0).map_err(|_| missing(doc_id)),
        }
    }

    fn __getitem__<'py>(&self, py: Python<'py>, doc_id: &str) -> Result<Bound<'py, PyAny>> {
        self.find(py, doc_id)?.ok_or_else(|| missing(doc_id))
    }

    /// Whether there is a document of this id.
    fn exists(&self, py: Python<'_>, doc_id: &str) -> Result<bool> {
        if let Some(found) = self.ask_writer(py, |writer| Ok(writer.contains(doc_id)))? {
            return Ok(found);
        }
        Ok(self.reader(py)?.map_or(Ok(false), |reader| reader.contains(doc_id))?)
    }

    fn __contains__(&self, py: Python<'_>, doc_id: &Bound<'_, PyAny>) -> Result<bool> {
        match doc_id.cast::<PyString>() {
            Ok(doc_id) => self.exists(py, doc_id.to_str()?),
            Err(_) => Ok(false),
        }
    }

    fn __len__(&self, py: Python<'_>) -> Result<usize> {
        let len = match self.ask_writer(py, |writer| Ok(writer.len()))? {
            Some(len) => len,
            None => self.reader(py)?.map_or(Ok(0), |reader| py.detach(|| reader.len()))?,
        };
        Ok(usize::try_from(len).unwrap_or(usize::MAX))
    }

    fn __bool__(&self) -> bool {
        true
    }

    /// The number of documents.
    fn count(&self, py: Python<'_>) -> Result<usize> {
        self.__len__(py)
    }

    /// All ids, in the order of the documents.
    fn list_doc_ids<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        if let Some(reader) = self.reader(py)? {
            py.detach(|| reader.documents().map(drop))?; // reads the index
            for id in reader.ids()? {
                list.append(id)?;
            }
        }
        Ok(list)
    }

    fn __iter__(&self, py: Python<'_>) -> Result<ZdsScan> {
        self.scanned(py, Yields::Documents)
    }

    /// An iterator over pairs of id and document.
    fn items(&self, py: Python<'_>) -> Result<ZdsScan> {
        self.scanned(py, Yields::Items)
    }

    /// The documents as stored: a list of JSON texts, including ``_id``.
    fn scan_raw<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for line in self.scanned(py, Yields::Raw)?.into_iter(py) {
            list.append(line?)?;
        }
        Ok(list)
    }

    /// An iterator over documents, and the conditions of ``predicate`` that it does not check.
    fn _scan<'py>(
        &self,
        py: Python<'py>,
        fields: Option<Vec<String>>,
        predicate: Option<&Bound<'py, PyDict>>,
    ) -> Result<(ZdsScan, Bound<'py, PyDict>)> {
        let (mut conditions, unchecked) = (Vec::new(), PyDict::new(py));
        for (name, value) in predicate.into_iter().flatten() {
            match condition(&name, &value) {
                Some(condition) => conditions.push(condition),
                None => unchecked.set_item(name, value)?,
            }
        }
        let filter = (!conditions.is_empty()).then(|| Filter::new(&Predicate::And(conditions)));
        // Unchecked conditions may concern other members.
        let fields = fields.filter(|_| unchecked.is_empty());
        Ok((self.scan_with(py, Yields::Documents, fields, filter)?, unchecked))
    }

    /// Puts a document, replacing that of the same id.
    ///
    /// Raises:
    ///     ValueError: the id is invalid, the document has another ``_id``, or a number that JSON does not have.
    ///     TypeError: the document has a value that JSON does not have.
    fn put(&self, py: Python<'_>, doc_id: &str, doc: &Bound<'_, PyDict>) -> Result<()> {
        let mut line = Vec::new();
        encode(doc_id, doc, &mut line)?;
        self.change(py, |writer| writer.put_raw(doc_id, &line))
    }

    fn __setitem__(&self, py: Python<'_>, doc_id: &str, doc: &Bound<'_, PyDict>) -> Result<()> {
        self.put(py, doc_id, doc)
    }

    /// Puts many documents: an iterable of pairs of id and document. Returns their number.
    ///
    /// They are put in blocks of 64 MiB, each of which is put as a whole or not at all.
    ///
    /// Raises:
    ///     ValueError, TypeError: as ``put``.
    fn put_batch(&self, py: Python<'_>, items: &Bound<'_, PyAny>) -> Result<usize> {
        let (mut lines, mut count) = (Vec::new(), 0);
        for item in items.try_iter()? {
            let item = item?;
            let (id, document): (Bound<'_, PyString>, Bound<'_, PyDict>) = item.extract()?;
            encode(id.to_str()?, &document, &mut lines)?;
            count += 1;
            if lines.len() >= BLOCK_BYTES {
                self.put_lines(py, &mut lines)?;
            }
        }
        if !lines.is_empty() {
            self.put_lines(py, &mut lines)?;
        }
        Ok(count)
    }

    /// Puts many documents as JSON texts with their ``_id``: pairs of id and ``bytes``. Returns their number.
    ///
    /// Raises:
    ///     ValueError: a text is not an object with this ``_id``; those before it were put.
    fn put_raw_batch(&self, py: Python<'_>, items: Vec<(String, PyBackedBytes)>) -> Result<usize> {
        self.change(py, |writer| items.iter().try_for_each(|(id, line)| writer.put_raw(id, line)))?;
        Ok(items.len())
    }

    /// Puts all documents of JSON lines: a path, ``bytes``, or a binary file. All, or none if one is invalid.
    #[pyo3(signature = (lines, *, id_field=None, on_duplicate="replace", validate=true))]
    fn load<'py>(
        &self,
        py: Python<'py>,
        lines: &Bound<'py, PyAny>,
        id_field: Option<String>,
        on_duplicate: &str,
        validate: bool,
    ) -> Result<Bound<'py, PyDict>> {
        let on_duplicate = match on_duplicate {
            "replace" => OnDuplicate::Replace,
            "refuse" => OnDuplicate::Refuse,
            "keep" => OnDuplicate::Keep,
            other => {
                let detail = format!("must be replace, refuse or keep, found {other:?}");
                return Err(Error::usage(detail).in_option("on_duplicate").into());
            }
        };
        let mut options = LoadOptions::default().with_on_duplicate(on_duplicate).with_validate(validate);
        options.id_field = id_field;
        options.threads = process::threads(0);
        let input = source::input(lines, map::access(true))?;
        let loaded = {
            let source = input.source().ok_or_else(|| Error::usage("expected a file of JSON lines, found a folder"))?;
            self.change(py, |writer| writer.load(source, &options))?
        };
        let summary = PyDict::new(py);
        summary.set_item("documents", loaded.documents)?;
        summary.set_item("bytes", loaded.bytes)?;
        summary.set_item("replaced", loaded.replaced)?;
        summary.set_item("kept", loaded.kept)?;
        Ok(summary)
    }

    /// Deletes a document.
    ///
    /// Raises:
    ///     KeyError: no document has this id.
    fn delete(&self, py: Python<'_>, doc_id: &str) -> Result<()> {
        match self.change(py, |writer| writer.delete(doc_id))? {
            true => Ok(()),
            false => Err(missing(doc_id)),
        }
    }

    fn __delitem__(&self, py: Python<'_>, doc_id: &str) -> Result<()> {
        self.delete(py, doc_id)
    }

    /// Writes all changes: afterwards every reader sees them, and no crash loses them. Then sees the changes of other processes.
    fn flush(&self, py: Python<'_>) -> Result<()> {
        Ok(py.detach(|| {
            let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
            state.flush()?;
            state.reader = None;
            LibraryResult::Ok(())
        })?)
    }

    /// Flushes, and releases the lock of a store that was not opened by itself. The collection may be used again.
    fn close(&self, py: Python<'_>) -> Result<()> {
        Ok(py.detach(|| {
            self.state.write().unwrap_or_else(PoisonError::into_inner).close()?;
            self.root.release()
        })?)
    }

    /// Rewrites the data without the lines of deleted and replaced documents.
    fn compact(&self, py: Python<'_>) -> Result<()> {
        Ok(py.detach(|| {
            let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
            // In a transaction, compacting would end it.
            state.flush()?;
            let compacted = self.writer(&mut state)?.compact().map(drop);
            state.is_changed = true;
            state.drop_failed_writer(&compacted);
            compacted
        })?)
    }

    /// Starts a transaction: changes up to ``_commit`` count together or not at all.
    fn _begin(&self, py: Python<'_>) -> Result<()> {
        Ok(py.detach(|| {
            let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
            // Earlier changes are not part of it, so that readers may see them.
            state.flush()?;
            let begun = self.writer(&mut state)?.begin();
            state.drop_failed_writer(&begun);
            state.is_in_transaction = begun.is_ok();
            begun
        })?)
    }

    /// Writes all changes since ``_begin``.
    fn _commit(&self, py: Python<'_>) -> Result<()> {
        self.end_transaction(py, |state| match &state.writer {
            Some(_) => state.flush(),
            None => Err(failed_transaction()),
        })
    }

    /// Discards all changes since ``_begin``.
    fn _roll_back(&self, py: Python<'_>) -> Result<()> {
        self.end_transaction(py, |state| {
            // After a failed write they were discarded already.
            let Some(writer) = &mut state.writer else { return Ok(()) };
            let rolled_back = writer.roll_back();
            state.is_changed = false;
            state.drop_failed_writer(&rolled_back);
            rolled_back
        })
    }
}

impl ZdsCollection {
    fn find<'py>(&self, py: Python<'py>, id: &str) -> Result<Option<Bound<'py, PyAny>>> {
        if let Some(line) = self.ask_writer(py, |writer| writer.get(id))? {
            return Ok(line.map(|line| decode(py, &line, None)).transpose()?);
        }
        let Some(reader) = self.reader(py)? else { return Ok(None) };
        let Some(document) = reader.get(id)? else { return Ok(None) };
        decode(py, document.bytes(), None).map(Some).map_err(|error| located(error, &document))
    }
}
