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
