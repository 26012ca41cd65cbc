//! A dataset that is there, and grows.

use std::path::Path;

use container_core::{Access, Error, OpenOptions, Result};

use crate::FORMAT_NAME;
use crate::read::Reader;
use crate::write::data::DataFile;
use crate::write::options::WriterOptions;
use crate::write::writer::Writer;

impl Writer {
    /// Opens a dataset to append to it, in place: the samples that are there stay where they are.
    ///
    /// Until [`finish`](Self::finish) the old index stands and readers see the old samples; a writer that is dropped cuts the data back,
    /// and one that is killed leaves bytes behind the last sample, which readers pass over and `verify` reports. The index
    /// files are written anew. The sum of the data takes a pass over the old ones, beside the writing;
    /// [`WriterOptions::md5`] saves it.
    ///
    /// A legacy index becomes one of today.
    ///
    /// # Errors
    /// As [`Reader::open`]; [`Usage`](container_core::ErrorKind::Usage) while another process appends,
    /// [`Invalid`](container_core::ErrorKind::Invalid) when there are bytes behind the last sample, or keys that occur twice.
    pub fn append_to(path: impl AsRef<Path>, options: WriterOptions) -> Result<Self> {
        let name = |error: Error| error.in_format(FORMAT_NAME);
        // The file will grow while it is mapped, which a map bears; what is read of it by position is not held.
        let reading = OpenOptions::default().with_access(Access::Positional);
        let reader = Reader::open_with(path.as_ref(), reading)?;
        let Some(set) = reader.set.clone() else {
            return Err(name(Error::usage("there is no file to append to")));
        };
        let data = DataFile::append(set.data(), reader.data_end, options.md5).map_err(name)?;
        if reader.len() > u32::MAX.into() {
            return Err(name(Error::limit("the number of samples", reader.len(), u32::MAX.into())));
        }
        let mut writer = Self::start(set, options, data).map_err(name)?;
        let mut keys = reader.keys(0..reader.len())?;
        for row in 0..reader.len() {
            let extent = reader.extent(row)?;
            let Some(key) = keys.next().transpose()? else {
                return Err(name(Error::invalid("there are fewer keys than samples").in_row(row)));
            };
            writer.take_old(&key, extent).map_err(|error| name(error.in_row(row)))?;
        }
        Ok(writer)
    }

    /// A sample that is in the file already.
    fn take_old(&mut self, key: &str, extent: std::ops::Range<u64>) -> Result<()> {
        let row = self.keys.len();
        let keys = &self.keys;
        if let Some(first) = self.seen.claim(key, row, |row| keys.is(row, key))? {
            let detail = format!("the key is that of sample {first} too: the dataset has to be repaired first");
            return Err(Error::invalid(detail).in_key(key.to_owned()));
        }
        if extent.start != self.old_end {
            let detail = format!("the sample begins at {} where the one before ends at {}", extent.start, self.old_end);
            return Err(Error::invalid(detail).in_key(key.to_owned()));
        }
        self.old_end = extent.end;
        self.offsets.put(&extent.end.to_be_bytes())?;
        self.keys.push(key)
    }
}
