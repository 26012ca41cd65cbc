//! The content of a dataset, one line per sample, as the scripts in `tests/reference/python` print it.

use container_core::Limits;
use datadings::{Error, Reader, Sample, json};

/// A sample as JSON with its key, without a line end.
///
/// # Errors
/// When the sample cannot be decoded.
pub fn line(key: &str, sample: &Sample<'_>) -> Result<Vec<u8>, Error> {
    let mut line = b"{\"key\":".to_vec();
    serde_json::to_writer(&mut line, key)
        .map_err(|cause| Error::usage("cannot write the key as JSON").caused_by(cause))?;
    line.extend_from_slice(b",\"sample\":");
    json::write(sample.raw(), &mut line, &Limits::default())?;
    line.push(b'}');
    Ok(line)
}

/// All samples in order, one line each.
///
/// # Errors
/// When the dataset cannot be read.
pub fn lines(reader: &Reader) -> Result<Vec<u8>, Error> {
    let mut all = Vec::new();
    for (key, sample) in reader.keys(0..reader.len())?.zip(reader) {
        all.append(&mut line(&key?, &sample?)?);
        all.push(b'\n');
    }
    Ok(all)
}

/// Describes the first line, counted from 1, in which two texts differ.
#[must_use]
pub fn difference(ours: &[u8], theirs: &[u8]) -> Option<String> {
    let (ours, theirs) = (String::from_utf8_lossy(ours), String::from_utf8_lossy(theirs));
    let (mut left, mut right) = (ours.lines(), theirs.lines());
    for number in 1.. {
        match (left.next(), right.next()) {
            (None, None) => break,
            (ours, theirs) if ours == theirs => {}
            (ours, theirs) => {
                let none = "(end)";
                return Some(format!(
                    "line {number}: found\n{}\nexpected, as in Python,\n{}",
                    ours.unwrap_or(none),
                    theirs.unwrap_or(none)
                ));
            }
        }
    }
    None
}
