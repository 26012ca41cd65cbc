//! Verification of an archive.

use container_core::{Error, ErrorKind, Finding, Progress, Result, Unit};

use super::content::Local;
use super::entry::Entry;
use super::read::Archive;

impl Archive {
    /// Reads every file of the store and reports all problems: CRCs, sizes, mismatched local headers, names that escape the directory. Entries
    /// that do not belong to the store are warnings; their contents are not read.
    ///
    /// # Errors
    /// Only [`Io`](container_core::ErrorKind::Io): problems of the archive go to `report`.
    pub fn verify(&self, report: &mut dyn FnMut(Finding)) -> Result<()> {
        self.verify_with(None, report)
    }

    /// As [`verify`](Self::verify), with progress in bytes of the files' contents.
    ///
    /// # Errors
    /// As [`verify`](Self::verify).
    pub fn verify_with(&self, progress: Option<&dyn Progress>, report: &mut dyn FnMut(Finding)) -> Result<()> {
        if let Some(progress) = progress {
            let total = self.entries().iter().fold(0_u64, |total, entry| total.saturating_add(entry.size));
            progress.begin(Unit::Bytes, Some(total));
        }
        for entry in self.entries() {
            if let Err(error) = self.check(entry, progress) {
                if error.kind() == ErrorKind::Io {
                    return Err(error);
                }
                report(Finding::error(error));
            }
        }
        for foreign in self.foreign_entries() {
            let error = Error::invalid(format!("the entry does not belong to the store: {}", foreign.reason));
            let error = self.with_name(error.at(foreign.offset).in_key(foreign.name.to_owned()));
            report(if foreign.is_hostile { Finding::error(error) } else { Finding::warning(error) });
        }
        if let (trailing @ 1.., end) = self.trailing() {
            let error = Error::invalid(format!("{trailing} unexpected bytes after the end of the archive"));
            report(Finding::warning(self.with_name(error.at(end))));
        }
        Ok(())
    }

    fn check(&self, entry: &Entry, progress: Option<&dyn Progress>) -> Result<()> {
        let outcome = self.locate(entry).and_then(|local| {
            check_header(entry, &local)?;
            self.read_blocks(entry, &mut |block| {
                if let Some(progress) = progress {
                    progress.advance(block.len() as u64)?;
                }
                Ok(())
            })
        });
        outcome.map_err(|error| self.with_entry(error, entry))
    }
}

/// Compares an entry's local header with the directory. Its sizes and CRC may be missing if a data descriptor follows the data.
fn check_header(entry: &Entry, local: &Local) -> Result<()> {
    let pairs = [
        ("CRC-32", u64::from(local.crc), u64::from(entry.crc)),
        ("compressed size", local.packed, entry.packed),
        ("size", local.size, entry.size),
    ];
    for (what, here, there) in pairs {
        if here != there && !local.has_descriptor {
            let detail = format!("the {what} in the local header is {here}, but {there} in the directory");
            return Err(Error::invalid(detail));
        }
    }
    Ok(())
}
