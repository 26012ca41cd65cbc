//! A value that is made at its first use, where making it may fail.

use std::sync::{Mutex, OnceLock, PoisonError};

use container_core::Result;

#[derive(Debug)]
pub(crate) struct Once<T> {
    value: OnceLock<T>,
    /// Held while it is made: others wait instead of making it, too.
    making: Mutex<()>,
}

impl<T> Default for Once<T> {
    fn default() -> Self {
        Self { value: OnceLock::new(), making: Mutex::new(()) }
    }
}

impl<T> Once<T> {
    /// The value, if it was made.
    #[inline]
    pub(crate) fn get(&self) -> Option<&T> {
        self.value.get()
    }

    /// The value; after an error it is tried again.
    #[inline]
    pub(crate) fn get_or_try(&self, make: impl FnOnce() -> Result<T>) -> Result<&T> {
        match self.value.get() {
            Some(value) => Ok(value),
            None => self.made(make),
        }
    }

    #[cold]
    fn made(&self, make: impl FnOnce() -> Result<T>) -> Result<&T> {
        let _making = self.making.lock().unwrap_or_else(PoisonError::into_inner); // there is nothing in it
        if let Some(value) = self.value.get() {
            return Ok(value);
        }
        let value = make()?;
        Ok(self.value.get_or_init(|| value))
    }
}
