//! Appends to an existing dataset.

use std::path::Path;

use container_core::{Access, Error, OpenOptions, Result};

use crate::FORMAT_NAME;
use crate::read::Reader;
use crate::write::data::DataFile;
use crate::write::options::WriterOptions;
use crate::write::writer::Writer;

impl Writer {
    /// Opens a dataset to append to it in place.
    ///
    /// Until [`finish`](Self::finish) the old index remains and readers see the old samples. A dropped writer truncates the data back; a
    /// killed one leaves bytes after the last sample, which readers ignore and `verify` reports. The index files are written anew; a
    /// legacy index is converted. The MD5 sum needs a pass over the old data, which runs in the background; turn it off with
    /// [`WriterOptions::md5`].
    ///
    /// # Errors
    /// As [`Reader::open`]; [`Usage`](container_core::ErrorKind::Usage) while another process appends,
    /// [`Invalid`](container_core::ErrorKind::Invalid) when there are bytes after the last sample, or duplicate keys.
    pub fn append_to(path: impl AsRef<Path>, options: WriterOptions) -> Result<Self> {
        let name = |error: Error| error.in_format(FORMAT_NAME);
        // Positional reads keep nothing of a file that is about to grow.
        let reading = OpenOptions::default().with_access(Access::Positional);
        let reader = Reader::open_with(path.as_ref(), reading)?;
        let Some(set) = reader.set.clone() else {
            return Err(name(Error::usage("no file to append to")));
        };
        let data = DataFile::append(set.data(), reader.data_end, options.md5).map_err(name)?;
        if reader.len() > u32::MAX.into() {
            return Err(name(Error::limit("number of samples", reader.len(), u32::MAX.into())));
        }
        let mut writer = Self::start(set, options, data).map_err(name)?;
        writer.index.reserve(usize::try_from(reader.len()).unwrap_or(0));
        let mut keys = reader.keys(0..reader.len())?;
        for row in 0..reader.len() {
            let extent = reader.extent(row)?;
            let Some(key) = keys.next().transpose()? else {
                return Err(name(Error::invalid("there are fewer keys than samples").in_row(row)));
            };
            writer.add_existing(&key, extent).map_err(|error| name(error.in_row(row)))?;
        }
        Ok(writer)
    }

    /// Records a sample that is already in the file.
    fn add_existing(&mut self, key: &str, extent: std::ops::Range<u64>) -> Result<()> {
        if let Some(first) = self.index.claim(key.as_bytes())? {
            let detail = format!("duplicate key, first in sample {first}: repair the dataset first");
            return Err(Error::invalid(detail).in_key(key.to_owned()));
        }
        if extent.start != self.existing_end {
            let detail = format!(
                "sample begins at byte {}, but the previous one ends at byte {}",
                extent.start, self.existing_end
            );
            return Err(Error::invalid(detail).in_key(key.to_owned()));
        }
        self.existing_end = extent.end;
        self.index.push(key, extent.end)
    }
}
