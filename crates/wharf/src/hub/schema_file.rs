//! Reads schema files.

use std::path::Path;

use container_core::{Error, Loss, Probe, Recognition, Result, Source};

/// Reads the schema of an IDV file or of JSON, and losses of the latter.
pub fn read(path: &Path) -> Result<(idv::Schema, Vec<Loss>)> {
    let named = |error: Error| error.in_file(path.display().to_string());
    let source = Source::open(path)?;
    let head = source.read(0..source.len().min(4096))?;
    if idv::FORMAT.recognize(&Probe::new(None, &head)) == Recognition::Content {
        let reader = idv::Reader::from_source(source, idv::OpenOptions::default());
        return Ok((reader.and_then(|reader| reader.schema(None)).map_err(named)?, Vec::new()));
    }
    let text = source.read(0..source.len())?;
    let json = serde_json::from_slice(&text)
        .map_err(|cause| named(Error::invalid("invalid JSON in the schema").caused_by(cause)))?;
    idv::Schema::from_json(&json).map_err(named)
}
