//! Checking an archive as a whole.

use container_core::{Error, ErrorKind, Finding, Progress, Result, Unit};

use super::content::Local;
use super::entry::Entry;
use super::read::Archive;

impl Archive {
    /// Reads every file of the store and reports all that is wrong: CRCs, sizes, what entries' own headers say, names that lead out of the
    /// tree. Entries that are none of the store's are warnings; what they hold is not read.
    ///
    /// # Errors
    /// Only [`Io`](container_core::ErrorKind::Io): what is wrong with the archive goes to `report`.
    pub fn verify(&self, report: &mut dyn FnMut(Finding)) -> Result<()> {
        self.verify_with(None, report)
    }

    /// The same with somebody who listens to the progress, in bytes of the files' content.
    ///
    /// # Errors
    /// As [`verify`](Self::verify).
    pub fn verify_with(&self, progress: Option<&dyn Progress>, report: &mut dyn FnMut(Finding)) -> Result<()> {
        if let Some(progress) = progress {
            let total = self.entries().iter().fold(0_u64, |total, entry| total.saturating_add(entry.size));
            progress.begin(Unit::Bytes, Some(total));
        }
        for entry in self.entries() {
            let found = self.check(entry, progress);
            if let Err(error) = found {
                if error.kind() == ErrorKind::Io {
                    return Err(error);
                }
                report(Finding::error(error));
            }
        }
        for stranger in self.strangers() {
            let error = Error::invalid(format!("the entry is none of the store's: {}", stranger.why));
            let error = self.named(error.at(stranger.offset).in_key(stranger.name.to_owned()));
            report(if stranger.hostile { Finding::error(error) } else { Finding::warning(error) });
        }
        if let (behind @ 1.., end) = self.behind() {
            let error = Error::invalid(format!("{behind} bytes follow the archive's end"));
            report(Finding::warning(self.named(error.at(end))));
        }
        Ok(())
    }

    fn check(&self, entry: &Entry, progress: Option<&dyn Progress>) -> Result<()> {
        let outcome = self.locate(entry).and_then(|local| {
            agree(entry, &local)?;
            self.pieces(entry, &mut |piece| {
                if let Some(progress) = progress {
                    progress.advance(piece.len() as u64);
                }
                Ok(())
            })
        });
        outcome.map_err(|error| self.explain(error, entry))
    }
}

/// Does the entry's own header say the same as the directory? It may be silent where the numbers stand behind the data.
fn agree(entry: &Entry, local: &Local) -> Result<()> {
    let pairs = [
        ("CRC-32", u64::from(local.crc), u64::from(entry.crc)),
        ("compressed size", local.packed, entry.packed),
        ("size", local.size, entry.size),
    ];
    for (what, here, there) in pairs {
        if here != there && !local.described_behind {
            let detail = format!("the {what} in the entry's own header is {here}, in the directory {there}");
            return Err(Error::invalid(detail));
        }
    }
    Ok(())
}
