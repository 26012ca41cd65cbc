use std::fmt;
use std::sync::Arc;

use crate::error::Result;

/// What a [`Progress`] counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Unit {
    /// Bytes.
    Bytes,
    /// Rows, records, samples, documents.
    Rows,
}

/// Receives progress reports of long operations.
///
/// Methods may be called from several threads, up to some thousand times a second.
pub trait Progress: Send + Sync {
    /// The name of what is processed from now on, usually a file.
    fn name(&self, what: &str) {
        let _ = what;
    }

    /// Work begins. `total` is the expected amount, if known.
    fn begin(&self, unit: Unit, total: Option<u64>);

    /// `done` more units are finished.
    ///
    /// # Errors
    /// [`Cancelled`](crate::ErrorKind::Cancelled) to end the work. The operation fails with this error, and leaves no output.
    fn advance(&self, done: u64) -> Result<()>;
}

/// A [`Progress`] among options; without one, nobody listens. Options are equal whoever listens.
#[derive(Clone, Default)]
pub struct Watch(Option<Arc<dyn Progress>>);

impl Watch {
    /// Reports to `progress`.
    #[must_use]
    pub fn new(progress: Arc<dyn Progress>) -> Self {
        Self(Some(progress))
    }

    /// As [`Progress::begin`].
    pub fn begin(&self, unit: Unit, total: Option<u64>) {
        if let Some(progress) = &self.0 {
            progress.begin(unit, total);
        }
    }

    /// As [`Progress::advance`].
    ///
    /// # Errors
    /// [`Cancelled`](crate::ErrorKind::Cancelled) to end the work.
    pub fn advance(&self, done: u64) -> Result<()> {
        self.0.as_ref().map_or(Ok(()), |progress| progress.advance(done))
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Watch" } else { "Nobody" })
    }
}

impl PartialEq for Watch {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Watch {}
