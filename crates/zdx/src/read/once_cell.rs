//! A cell initialized on first use, by a closure that may fail.

use std::sync::{Mutex, OnceLock, PoisonError};

use container_core::Result;

#[derive(Debug)]
pub(crate) struct OnceCell<T> {
    value: OnceLock<T>,
    /// Held during initialization, so that other threads wait instead of repeating it.
    initializing: Mutex<()>,
}

impl<T> Default for OnceCell<T> {
    fn default() -> Self {
        Self { value: OnceLock::new(), initializing: Mutex::new(()) }
    }
}

impl<T> OnceCell<T> {
    /// The value, if initialized.
    #[inline]
    pub(crate) fn get(&self) -> Option<&T> {
        self.value.get()
    }

    /// The value, initialized if necessary. After an error the next call tries again.
    #[inline]
    pub(crate) fn get_or_try(&self, make: impl FnOnce() -> Result<T>) -> Result<&T> {
        match self.value.get() {
            Some(value) => Ok(value),
            None => self.initialize(make),
        }
    }

    #[cold]
    fn initialize(&self, make: impl FnOnce() -> Result<T>) -> Result<&T> {
        let _initializing = self.initializing.lock().unwrap_or_else(PoisonError::into_inner); // guards no data
        if let Some(value) = self.value.get() {
            return Ok(value);
        }
        let value = make()?;
        Ok(self.value.get_or_init(|| value))
    }
}
