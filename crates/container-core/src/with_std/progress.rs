/// What a [`Progress`] counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Unit {
    /// Bytes.
    Bytes,
    /// Rows, records, samples, documents.
    Rows,
}

/// Listens to work that takes a while. Readers and writers that get none call nothing.
///
/// Calls may come from several threads, some thousand times a second at most.
pub trait Progress: Send + Sync {
    /// What is worked on from now on: a file, mostly.
    fn name(&self, what: &str) {
        let _ = what;
    }

    /// Work begins; `total` where it is known.
    fn begin(&self, unit: Unit, total: Option<u64>);

    /// So many more are done.
    fn advance(&self, done: u64);
}
