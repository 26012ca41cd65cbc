//! Writes archives: local headers with sizes and CRC before the data, a sorted directory, fixed timestamps.

mod records;

use std::fmt;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;

use container_core::{Error, Output, OutputOptions, Result, Source};
use flate2::{Compress, FlushCompress, Status};

use super::content::{BLOCK_BYTES, Blocks, DEFLATE, STORE};
use super::names::{Rejection, check_name, check_path};
use records::{Record, common_fields, local_header};

/// Output is buffered up to this many bytes; a header still in the buffer is completed without a seek.
const BUFFER_BYTES: usize = 1 << 20;

/// Attributes of a regular file (mode 0644) and a directory (mode 0755).
const FILE: u32 = 0o100_644 << 16;
const FOLDER: u32 = (0o40_755 << 16) | 0x10;

/// Compression of files in an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Compression {
    /// None: documents can be read in place.
    #[default]
    Store,
    /// DEFLATE with this level, 0 to 9. Reproducible, but depends on the backend of `flate2`.
    Deflate(u32),
}

/// Options for writing an archive.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct WriteOptions {
    /// Compression of files.
    pub compression: Compression,
    /// What to do if the file exists, and whether to sync it.
    pub output: OutputOptions,
}

impl WriteOptions {
    /// Sets [`compression`](Self::compression).
    #[must_use]
    pub const fn with_compression(mut self, compression: Compression) -> Self {
        self.compression = compression;
        self
    }

    /// Sets [`output`](Self::output).
    #[must_use]
    pub const fn with_output(mut self, output: OutputOptions) -> Self {
        self.output = output;
        self
    }
}

/// Writes an archive file by file, in any order, reproducibly. Uses about 60 bytes plus the name of memory per file.
///
/// Without [`finish`](Self::finish) there is no archive, and an existing file is unchanged.
#[must_use = "without finish() the archive does not appear"]
pub struct ArchiveWriter<W = Output> {
    sink: W,
    /// Bytes written to the sink.
    flushed: u64,
    buffer: Vec<u8>,
    names: String,
    records: Vec<Record>,
    level: Option<flate2::Compression>,
    deflater: Option<Compress>,
    deflated: Vec<u8>,
    failed: bool,
    /// Values from here on need ZIP64 fields.
    zip64_from: u64,
    zip64_count: u64,
}

impl ArchiveWriter {
    /// Creates an archive, which appears at `path` once finished.
    ///
    /// # Errors
    /// Those of [`Output::create`]; [`Usage`](container_core::ErrorKind::Usage) for an invalid level.
    pub fn create(path: impl AsRef<Path>, options: &WriteOptions) -> Result<Self> {
        let output = Output::create(path.as_ref(), options.output).map_err(|error| error.in_format("zds"))?;
        Self::new(output, options.compression)
    }

    /// Completes the archive and moves it into place. Returns its length in bytes.
    ///
    /// # Errors
    /// [`Io`](container_core::ErrorKind::Io); [`Usage`](container_core::ErrorKind::Usage) for duplicate names, if adding a file failed before, or
    /// if the target has appeared in the meantime. Then an existing file is unchanged.
    pub fn finish(self) -> Result<u64> {
        let path = self.sink.path().display().to_string();
        let (output, len) = self.end().map_err(|error| error.in_file(path))?;
        output.finish().map_err(|error| error.in_format("zds"))?;
        Ok(len)
    }
}

impl<W: Write + Seek> ArchiveWriter<W> {
    /// Starts an archive at the start of a sink, completed by [`end`](Self::end).
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) for an invalid level.
    pub fn new(sink: W, compression: Compression) -> Result<Self> {
        let level = match compression {
            Compression::Store => None,
            Compression::Deflate(level @ 0..=9) => Some(flate2::Compression::new(level)),
            Compression::Deflate(level) => {
                return Err(Error::usage(format!("DEFLATE level: expected 0 to 9, found {level}")).in_format("zds"));
            }
        };
        Ok(Self {
            sink,
            flushed: 0,
            buffer: Vec::with_capacity(BUFFER_BYTES),
            names: String::new(),
            records: Vec::new(),
            level,
            deflater: None,
            deflated: Vec::new(),
            failed: false,
            zip64_from: u32::MAX.into(),
            zip64_count: u16::MAX.into(),
        })
    }

    /// Adds a file at a path in the store, such as `collections/a/meta/data.jsonl`. Reads it once, block by block.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) for a path that is not one of a store; [`Io`](container_core::ErrorKind::Io). After an I/O
    /// error the archive cannot be finished.
    pub fn add(&mut self, path: &str, content: &Source) -> Result<()> {
        self.add_from(path, content.len(), |sink| {
            let mut blocks = Blocks::new(content.clone());
            loop {
                let block = blocks.fill()?;
                let len = block.len();
                if len == 0 {
                    return Ok(());
                }
                sink(block)?;
                blocks.consume(len);
            }
        })
    }

    /// As [`add`](Self::add), for `size` bytes passed to a closure by `produce`.
    pub(super) fn add_from(
        &mut self,
        path: &str,
        size: u64,
        produce: impl FnOnce(&mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()>,
    ) -> Result<()> {
        let name_len = check(path, path).map_err(|error| error.in_format("zds"))?;
        let result = self.put_file(path, name_len, size, produce);
        self.failed |= result.is_err();
        result.map_err(|error| error.in_format("zds").in_key(path.to_owned()))
    }

    /// Adds a directory, needed only if it is empty. The name ends in a slash.
    pub(super) fn add_folder(&mut self, name: &str) -> Result<()> {
        let name_len = check(name, &format!("{name}any")).map_err(|error| error.in_format("zds"))?;
        let record = self.record(name, name_len, true);
        let result = self.put(&local_header(name, &record, STORE, false));
        self.failed |= result.is_err();
        self.records.push(record);
        result
    }

    fn record(&mut self, name: &str, name_len: u16, folder: bool) -> Record {
        let start = self.names.len();
        self.names.push_str(name);
        Record { name: start, name_len, folder, crc: 0, size: 0, packed: 0, offset: self.position() }
    }

    fn put_file(
        &mut self,
        path: &str,
        name_len: u16,
        size: u64,
        produce: impl FnOnce(&mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()>,
    ) -> Result<()> {
        if self.failed {
            return Err(Error::usage("the archive is incomplete: adding a file failed before"));
        }
        let mut record = self.record(path, name_len, false);
        // Incompressible data grow slightly.
        let max_packed =
            if self.level.is_some() { size.saturating_add(size / 1024).saturating_add(1 << 10) } else { size };
        let is_zip64 = max_packed >= self.zip64_from;
        let method = if self.level.is_some() { DEFLATE } else { STORE };
        // A placeholder, rewritten once sizes and CRC are known.
        self.put(&local_header(path, &record, method, is_zip64))?;
        let start = self.position();
        let mut crc = crc32fast::Hasher::new();
        let mut total = 0_u64;
        let mut deflater = self.deflater();
        produce(&mut |block| {
            total = total.saturating_add(block.len() as u64);
            if total > size {
                return Err(Error::invalid(format!("the file has grown from {size} bytes")));
            }
            crc.update(block);
            match &mut deflater {
                None => self.put(block),
                Some(deflater) => self.deflate(deflater, block, FlushCompress::None),
            }
        })?;
        if total < size {
            return Err(Error::invalid(format!("the file has shrunk from {size} to {total} bytes")));
        }
        if let Some(mut deflater) = deflater {
            self.deflate(&mut deflater, &[], FlushCompress::Finish)?;
            self.deflater = Some(deflater);
        }
        (record.crc, record.size, record.packed) = (crc.finalize(), size, self.position() - start);
        self.patch(record.offset, &local_header(path, &record, method, is_zip64))?;
        self.records.push(record);
        Ok(())
    }

    fn deflater(&mut self) -> Option<Compress> {
        let level = self.level?;
        Some(match self.deflater.take() {
            Some(mut deflater) => {
                deflater.reset();
                deflater
            }
            None => Compress::new(level, false),
        })
    }

    fn deflate(&mut self, deflater: &mut Compress, mut input: &[u8], flush: FlushCompress) -> Result<()> {
        let mut out = std::mem::take(&mut self.deflated);
        out.reserve(BLOCK_BYTES);
        loop {
            let before = deflater.total_in();
            let status = deflater.compress_vec(input, &mut out, flush);
            let status = status.map_err(|cause| Error::invalid("cannot compress the file").caused_by(cause))?;
            let read = usize::try_from(deflater.total_in() - before).unwrap_or(usize::MAX);
            input = input.get(read..).unwrap_or_default();
            self.put(&out)?;
            let is_full = out.len() == out.capacity();
            out.clear();
            let done = match flush {
                FlushCompress::Finish => status == Status::StreamEnd,
                _ => input.is_empty() && !is_full,
            };
            if done {
                self.deflated = out;
                return Ok(());
            }
        }
    }

    /// Writes the directory and the end records, and flushes the sink. Returns the sink and the archive's length.
    ///
    /// # Errors
    /// [`Io`](container_core::ErrorKind::Io); [`Usage`](container_core::ErrorKind::Usage) for duplicate names, or if adding a file failed before.
    pub fn end(mut self) -> Result<(W, u64)> {
        self.put_directory().map_err(|error| error.in_format("zds"))?;
        let len = self.flushed;
        Ok((self.sink, len))
    }

    fn put_directory(&mut self) -> Result<()> {
        if self.failed {
            return Err(Error::usage("the archive is incomplete: adding a file failed before"));
        }
        let mut records = std::mem::take(&mut self.records);
        let names = std::mem::take(&mut self.names);
        let name =
            |record: &Record| names.get(record.name..record.name + usize::from(record.name_len)).unwrap_or_default();
        records.sort_by(|one, two| name(one).cmp(name(two)));
        let duplicate = records.windows(2).find_map(|pair| match pair {
            [one, two] if name(one) == name(two) => Some(name(one)),
            _ => None,
        });
        if let Some(duplicate) = duplicate {
            return Err(Error::usage("duplicate file name").in_key(duplicate.to_owned()));
        }
        let start = self.position();
        for record in &records {
            let central_header = self.central_header(name(record), record);
            self.put(&central_header)?;
        }
        let end = self.position();
        let count = records.len() as u64;
        let len = end - start;
        if count >= self.zip64_count || len >= self.zip64_from || start >= self.zip64_from {
            let mut zip64 = Vec::with_capacity(76);
            zip64.extend_from_slice(b"PK\x06\x06");
            zip64.extend_from_slice(&44_u64.to_le_bytes());
            zip64.extend_from_slice(&[45, 3, 45, 0]);
            zip64.extend_from_slice(&[0; 8]);
            for number in [count, count, len, start] {
                zip64.extend_from_slice(&number.to_le_bytes());
            }
            zip64.extend_from_slice(b"PK\x06\x07\0\0\0\0");
            zip64.extend_from_slice(&end.to_le_bytes());
            zip64.extend_from_slice(&1_u32.to_le_bytes());
            self.put(&zip64)?;
        }
        let mut last = Vec::with_capacity(22);
        last.extend_from_slice(b"PK\x05\x06\0\0\0\0");
        let count = if count >= self.zip64_count { u16::MAX } else { u16::try_from(count).unwrap_or(u16::MAX) };
        last.extend_from_slice(&count.to_le_bytes());
        last.extend_from_slice(&count.to_le_bytes());
        last.extend_from_slice(&self.short(len).to_le_bytes());
        last.extend_from_slice(&self.short(start).to_le_bytes());
        last.extend_from_slice(&[0; 2]);
        self.put(&last)?;
        self.flush()?;
        self.sink.flush().map_err(failed)
    }

    /// A number that fits, or else the marker for the ZIP64 field.
    fn short(&self, number: u64) -> u32 {
        if number >= self.zip64_from { u32::MAX } else { u32::try_from(number).unwrap_or(u32::MAX) }
    }

    /// An entry's record in the directory.
    fn central_header(&self, name: &str, record: &Record) -> Vec<u8> {
        let large = [record.size, record.packed, record.offset].map(|number| (number, number >= self.zip64_from));
        let field = 8 * large.iter().filter(|(_, is_large)| *is_large).count();
        let version: u16 = if field > 0 { 45 } else { 20 };
        let method = if self.level.is_some() && !record.folder { DEFLATE } else { STORE };
        let mut out = Vec::with_capacity(46 + name.len() + 28);
        out.extend_from_slice(b"PK\x01\x02");
        // "Made by" Unix, for the file modes.
        out.extend_from_slice(&[version.to_le_bytes()[0], 3]);
        common_fields(&mut out, name, record, method, version);
        out.extend_from_slice(&self.short(record.packed).to_le_bytes());
        out.extend_from_slice(&self.short(record.size).to_le_bytes());
        out.extend_from_slice(&record.name_len.to_le_bytes());
        let extra: u16 = if field > 0 { 4 + u16::try_from(field).unwrap_or(0) } else { 0 };
        out.extend_from_slice(&extra.to_le_bytes());
        out.extend_from_slice(&[0; 6]);
        out.extend_from_slice(&if record.folder { FOLDER } else { FILE }.to_le_bytes());
        out.extend_from_slice(&self.short(record.offset).to_le_bytes());
        out.extend_from_slice(name.as_bytes());
        if field > 0 {
            out.extend_from_slice(&1_u16.to_le_bytes());
            out.extend_from_slice(&(extra - 4).to_le_bytes());
            for (number, _) in large.iter().filter(|(_, is_large)| *is_large) {
                out.extend_from_slice(&number.to_le_bytes());
            }
        }
        out
    }

    fn position(&self) -> u64 {
        self.flushed + self.buffer.len() as u64
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        if self.buffer.len() + bytes.len() > BUFFER_BYTES {
            self.flush()?;
        }
        if bytes.len() > BUFFER_BYTES {
            self.sink.write_all(bytes).map_err(failed)?;
            self.flushed += bytes.len() as u64;
        } else {
            self.buffer.extend_from_slice(bytes);
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        self.sink.write_all(&self.buffer).map_err(failed)?;
        self.flushed += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    /// Overwrites earlier output.
    fn patch(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        let here = offset.checked_sub(self.flushed).and_then(|start| usize::try_from(start).ok());
        if let Some(target) = here.and_then(|start| self.buffer.get_mut(start..start + bytes.len())) {
            target.copy_from_slice(bytes);
            return Ok(());
        }
        self.flush()?;
        self.sink.seek(SeekFrom::Start(offset)).map_err(failed)?;
        self.sink.write_all(bytes).map_err(failed)?;
        self.sink.seek(SeekFrom::Start(self.flushed)).map_err(failed)?;
        Ok(())
    }
}

impl<W> fmt::Debug for ArchiveWriter<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArchiveWriter").field("files", &self.records.len()).finish_non_exhaustive()
    }
}

fn failed(cause: std::io::Error) -> Error {
    Error::io("cannot write the archive", cause)
}

/// Checks a name, and returns its length.
fn check(name: &str, path: &str) -> Result<u16> {
    let refuse = |reason: &str| Error::usage(format!("invalid path in an archive: {reason}")).in_key(name.to_owned());
    check_name(name).and_then(|()| check_path(path)).map_err(|rejection: Rejection| refuse(rejection.text()))?;
    u16::try_from(name.len()).map_err(|_| refuse("longer than 65535 bytes"))
}

#[cfg(test)]
mod tests;
