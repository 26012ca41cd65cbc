//! What callers hold: containers, readers and texts.
//!
//! A handle is a number, passed as a pointer, which is looked up and never dereferenced: one that was closed, is of another kind or never
//! was a handle is an error. The numbers are odd, which addresses of objects are not, and none is used twice. A call shares what its handle
//! stands for, so that another thread can close the handle meanwhile.

use std::collections::BTreeMap;
use std::ffi::{CString, c_char};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use wharf::{Container, Error, Result};

use crate::reader::Reader;

/// The open handles of one kind.
pub(crate) struct Handles<T: ?Sized> {
    open: Mutex<BTreeMap<usize, Arc<T>>>,
    kind: &'static str,
}

pub(crate) static CONTAINERS: Handles<dyn Container> = Handles::new("container");
pub(crate) static READERS: Handles<Reader> = Handles::new("reader");

/// The last handle of any kind.
static LAST: AtomicUsize = AtomicUsize::new(1);

/// A map is valid between any two operations, whatever panicked.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<T: ?Sized> Handles<T> {
    const fn new(kind: &'static str) -> Self {
        Self { open: Mutex::new(BTreeMap::new()), kind }
    }

    pub(crate) fn insert(&self, value: Arc<T>) -> Result<usize> {
        let last = LAST.fetch_update(Relaxed, Relaxed, |last| last.checked_add(2));
        let handle = last.map_err(|last| Error::limit("number of handles", last as u64, last as u64))?;
        lock(&self.open).insert(handle, value);
        Ok(handle)
    }

    pub(crate) fn get(&self, handle: usize) -> Result<Arc<T>> {
        lock(&self.open).get(&handle).map(Arc::clone).ok_or_else(|| self.not_open(handle))
    }

    /// Closes a handle.
    pub(crate) fn remove(&self, handle: usize) -> Result<Arc<T>> {
        lock(&self.open).remove(&handle).ok_or_else(|| self.not_open(handle))
    }

    fn not_open(&self, handle: usize) -> Error {
        let kind = self.kind;
        Error::usage(match handle {
            0 => format!("the {kind} is NULL"),
            _ => format!("expected an open {kind}, found a closed one or another pointer"),
        })
    }
}

/// The texts that callers hold, by address.
static TEXTS: Mutex<BTreeMap<usize, CString>> = Mutex::new(BTreeMap::new());

/// Hands out a text.
pub(crate) fn insert_text(text: impl Into<Vec<u8>>) -> Result<*const c_char> {
    let text = CString::new(text).map_err(|_| Error::unsupported("the text contains the character U+0000"))?;
    let pointer = text.as_ptr(); // into the heap: it stays valid when the text is moved
    lock(&TEXTS).insert(pointer.addr(), text);
    Ok(pointer)
}

/// Frees a text. Null is allowed.
pub(crate) fn remove_text(text: *const c_char) -> Result<()> {
    if text.is_null() || lock(&TEXTS).remove(&text.addr()).is_some() {
        return Ok(());
    }
    Err(Error::usage("expected a text of this library, found one that was freed or another pointer"))
}
