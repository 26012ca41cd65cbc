//! Writing an archive: local headers with sizes and CRC in front of the data, a sorted directory, nothing that depends on the day.

mod records;

use std::fmt;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;

use container_core::{Error, Output, OutputOptions, Result, Source};
use flate2::{Compress, FlushCompress, Status};

use super::content::{DEFLATE, PIECE, Pieces, STORE};
use super::names::{Why, check_name, check_path};
use records::{Record, local, shared};

/// Collected before it is written; a header that is still here is completed without a seek.
const BUFFER: usize = 1 << 20;

/// A regular file that its owner may write and all may read; a folder.
const FILE: u32 = 0o100_644 << 16;
const FOLDER: u32 = (0o40_755 << 16) | 0x10;

/// How files are laid into an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Compression {
    /// As they are: documents can be read in place.
    #[default]
    Store,
    /// By DEFLATE with this level, 0 to 9. The bytes are the same every time, but not with another backend of `flate2`.
    Deflate(u32),
}

/// How an archive is written.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct WriteOptions {
    /// How files are laid into it.
    pub compression: Compression,
    /// What happens when the file exists, and whether to wait for the disk.
    pub output: OutputOptions,
}

impl WriteOptions {
    /// Replaces [`compression`](Self::compression).
    #[must_use]
    pub const fn with_compression(mut self, compression: Compression) -> Self {
        self.compression = compression;
        self
    }

    /// Replaces [`output`](Self::output).
    #[must_use]
    pub const fn with_output(mut self, output: OutputOptions) -> Self {
        self.output = output;
        self
    }
}

/// Writes an archive file by file, in any order: the same calls make the same bytes. Holds some 60 bytes and the name of each.
///
/// Without [`finish`](Self::finish) there is no archive, and what was there before is as it was.
#[must_use = "without finish() the archive does not appear"]
pub struct ArchiveWriter<W = Output> {
    sink: W,
    /// Bytes that have gone to the sink.
    gone: u64,
    buffer: Vec<u8>,
    names: String,
    records: Vec<Record>,
    level: Option<flate2::Compression>,
    deflater: Option<Compress>,
    deflated: Vec<u8>,
    failed: bool,
    /// Numbers from here on need ZIP64.
    large: u64,
    many: u64,
}

impl ArchiveWriter {
    /// Begins an archive that will appear at `path` when it is finished.
    ///
    /// # Errors
    /// Those of [`Output::create`]; [`Usage`](container_core::ErrorKind::Usage) for a level that there is not.
    pub fn create(path: impl AsRef<Path>, options: &WriteOptions) -> Result<Self> {
        let output = Output::create(path.as_ref(), options.output).map_err(|error| error.in_format("zds"))?;
        Self::new(output, options.compression)
    }

    /// Completes the archive and gives it its name. Returns its length in bytes.
    ///
    /// # Errors
    /// [`Io`](container_core::ErrorKind::Io); [`Usage`](container_core::ErrorKind::Usage) for two files of one name, when a file could not be
    /// added before, and when the target has come into being meanwhile. The old file is then as it was.
    pub fn finish(self) -> Result<u64> {
        let path = self.sink.path().display().to_string();
        let (output, len) = self.end().map_err(|error| error.in_file(path))?;
        output.finish().map_err(|error| error.in_format("zds"))?;
        Ok(len)
    }
}

impl<W: Write + Seek> ArchiveWriter<W> {
    /// Begins an archive at the first byte of a sink, to be completed by [`end`](Self::end).
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) for a level that there is not.
    pub fn new(sink: W, compression: Compression) -> Result<Self> {
        let level = match compression {
            Compression::Store => None,
            Compression::Deflate(level @ 0..=9) => Some(flate2::Compression::new(level)),
            Compression::Deflate(level) => {
                return Err(Error::usage(format!("the level of DEFLATE is 0 to 9, not {level}")).in_format("zds"));
            }
        };
        Ok(Self {
            sink,
            gone: 0,
            buffer: Vec::with_capacity(BUFFER),
            names: String::new(),
            records: Vec::new(),
            level,
            deflater: None,
            deflated: Vec::new(),
            failed: false,
            large: u32::MAX.into(),
            many: u16::MAX.into(),
        })
    }

    /// Adds a file under a path of the store, such as `collections/a/meta/data.jsonl`. It is read once, piece by piece.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) for a path that is none of the format's; [`Io`](container_core::ErrorKind::Io). After an
    /// error from reading or writing the archive cannot be finished any more.
    pub fn add(&mut self, path: &str, content: &Source) -> Result<()> {
        self.add_from(path, content.len(), |sink| {
            let mut pieces = Pieces::new(content.clone());
            loop {
                let piece = pieces.fill()?;
                let len = piece.len();
                if len == 0 {
                    return Ok(());
                }
                sink(piece)?;
                pieces.used(len);
            }
        })
    }

    /// The same from whatever hands over `size` bytes.
    pub(super) fn add_from(
        &mut self,
        path: &str,
        size: u64,
        produce: impl FnOnce(&mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()>,
    ) -> Result<()> {
        let name_len = check(path, path).map_err(|error| error.in_format("zds"))?;
        let done = self.put_file(path, name_len, size, produce);
        self.failed |= done.is_err();
        done.map_err(|error| error.in_format("zds").in_key(path.to_owned()))
    }

    /// Adds a folder, for one that nothing else tells of: the name ends in a slash.
    pub(super) fn add_folder(&mut self, name: &str) -> Result<()> {
        let name_len = check(name, &format!("{name}any")).map_err(|error| error.in_format("zds"))?;
        let record = self.record(name, name_len, true);
        let done = self.put(&local(name, &record, STORE, false));
        self.failed |= done.is_err();
        self.records.push(record);
        done
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
            return Err(Error::usage("the archive is not whole: a file could not be added before"));
        }
        let mut record = self.record(path, name_len, false);
        // What DEFLATE cannot make smaller becomes a little larger.
        let most = if self.level.is_some() { size.saturating_add(size / 1024).saturating_add(1 << 10) } else { size };
        let large = most >= self.large;
        let method = if self.level.is_some() { DEFLATE } else { STORE };
        // It takes its place, and is written again when all is known.
        self.put(&local(path, &record, method, large))?;
        let begun = self.position();
        let mut crc = crc32fast::Hasher::new();
        let mut total = 0_u64;
        let mut deflater = self.deflater();
        produce(&mut |piece| {
            total = total.saturating_add(piece.len() as u64);
            if total > size {
                return Err(Error::invalid(format!("the file has more than the {size} bytes that it had before")));
            }
            crc.update(piece);
            match &mut deflater {
                None => self.put(piece),
                Some(deflater) => self.deflate(deflater, piece, FlushCompress::None),
            }
        })?;
        if total < size {
            return Err(Error::invalid(format!("the file has {total} bytes, and had {size} before")));
        }
        if let Some(mut deflater) = deflater {
            self.deflate(&mut deflater, &[], FlushCompress::Finish)?;
            self.deflater = Some(deflater);
        }
        (record.crc, record.size, record.packed) = (crc.finalize(), size, self.position() - begun);
        self.patch(record.offset, &local(path, &record, method, large))?;
        self.records.push(record);
        Ok(())
    }

    fn deflater(&mut self) -> Option<Compress> {
        let level = self.level?;
        Some(match self.deflater.take() {
            Some(mut used) => {
                used.reset();
                used
            }
            None => Compress::new(level, false),
        })
    }

    fn deflate(&mut self, deflater: &mut Compress, mut piece: &[u8], flush: FlushCompress) -> Result<()> {
        let mut out = std::mem::take(&mut self.deflated);
        out.reserve(PIECE);
        loop {
            let before = deflater.total_in();
            let status = deflater.compress_vec(piece, &mut out, flush);
            let status = status.map_err(|cause| Error::invalid("the file cannot be compressed").caused_by(cause))?;
            let used = usize::try_from(deflater.total_in() - before).unwrap_or(usize::MAX);
            piece = piece.get(used..).unwrap_or_default();
            self.put(&out)?;
            let full = out.len() == out.capacity();
            out.clear();
            let done = match flush {
                FlushCompress::Finish => status == Status::StreamEnd,
                _ => piece.is_empty() && !full,
            };
            if done {
                self.deflated = out;
                return Ok(());
            }
        }
    }

    /// Writes the directory, and what tells where it is. Returns the sink and the archive's length; the sink is flushed.
    ///
    /// # Errors
    /// [`Io`](container_core::ErrorKind::Io); [`Usage`](container_core::ErrorKind::Usage) for two files of one name, and when a file could not
    /// be added before.
    pub fn end(mut self) -> Result<(W, u64)> {
        self.put_directory().map_err(|error| error.in_format("zds"))?;
        let len = self.gone;
        Ok((self.sink, len))
    }

    fn put_directory(&mut self) -> Result<()> {
        if self.failed {
            return Err(Error::usage("the archive is not whole: a file could not be added before"));
        }
        let mut records = std::mem::take(&mut self.records);
        let names = std::mem::take(&mut self.names);
        let name =
            |record: &Record| names.get(record.name..record.name + usize::from(record.name_len)).unwrap_or_default();
        records.sort_by(|one, two| name(one).cmp(name(two)));
        let twice = records.windows(2).find_map(|pair| match pair {
            [one, two] if name(one) == name(two) => Some(name(one)),
            _ => None,
        });
        if let Some(twice) = twice {
            return Err(Error::usage("two files were added under one name").in_key(twice.to_owned()));
        }
        let start = self.position();
        for record in &records {
            let central = self.central(name(record), record);
            self.put(&central)?;
        }
        let end = self.position();
        let count = records.len() as u64;
        let len = end - start;
        if count >= self.many || len >= self.large || start >= self.large {
            let mut large = Vec::with_capacity(76);
            large.extend_from_slice(b"PK\x06\x06");
            large.extend_from_slice(&44_u64.to_le_bytes());
            large.extend_from_slice(&[45, 3, 45, 0]);
            large.extend_from_slice(&[0; 8]);
            for number in [count, count, len, start] {
                large.extend_from_slice(&number.to_le_bytes());
            }
            large.extend_from_slice(b"PK\x06\x07\0\0\0\0");
            large.extend_from_slice(&end.to_le_bytes());
            large.extend_from_slice(&1_u32.to_le_bytes());
            self.put(&large)?;
        }
        let mut last = Vec::with_capacity(22);
        last.extend_from_slice(b"PK\x05\x06\0\0\0\0");
        let count = if count >= self.many { u16::MAX } else { u16::try_from(count).unwrap_or(u16::MAX) };
        last.extend_from_slice(&count.to_le_bytes());
        last.extend_from_slice(&count.to_le_bytes());
        last.extend_from_slice(&self.short(len).to_le_bytes());
        last.extend_from_slice(&self.short(start).to_le_bytes());
        last.extend_from_slice(&[0; 2]);
        self.put(&last)?;
        self.flush()?;
        self.sink.flush().map_err(failed)
    }

    /// A number where it fits, else what says that it stands in the ZIP64 field.
    fn short(&self, number: u64) -> u32 {
        if number >= self.large { u32::MAX } else { u32::try_from(number).unwrap_or(u32::MAX) }
    }

    /// An entry's record in the directory.
    fn central(&self, name: &str, record: &Record) -> Vec<u8> {
        let large = [record.size, record.packed, record.offset].map(|number| (number, number >= self.large));
        let field = 8 * large.iter().filter(|(_, large)| *large).count();
        let needed: u16 = if field > 0 { 45 } else { 20 };
        let method = if self.level.is_some() && !record.folder { DEFLATE } else { STORE };
        let mut out = Vec::with_capacity(46 + name.len() + 28);
        out.extend_from_slice(b"PK\x01\x02");
        // Made by a Unix, which is whose modes these are.
        out.extend_from_slice(&[needed.to_le_bytes()[0], 3]);
        shared(&mut out, name, record, method, needed);
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
            for (number, _) in large.iter().filter(|(_, large)| *large) {
                out.extend_from_slice(&number.to_le_bytes());
            }
        }
        out
    }

    fn position(&self) -> u64 {
        self.gone + self.buffer.len() as u64
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        if self.buffer.len() + bytes.len() > BUFFER {
            self.flush()?;
        }
        if bytes.len() > BUFFER {
            self.sink.write_all(bytes).map_err(failed)?;
            self.gone += bytes.len() as u64;
        } else {
            self.buffer.extend_from_slice(bytes);
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        self.sink.write_all(&self.buffer).map_err(failed)?;
        self.gone += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    /// Writes over what has been written.
    fn patch(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        let here = offset.checked_sub(self.gone).and_then(|start| usize::try_from(start).ok());
        if let Some(place) = here.and_then(|start| self.buffer.get_mut(start..start + bytes.len())) {
            place.copy_from_slice(bytes);
            return Ok(());
        }
        self.flush()?;
        self.sink.seek(SeekFrom::Start(offset)).map_err(failed)?;
        self.sink.write_all(bytes).map_err(failed)?;
        self.sink.seek(SeekFrom::Start(self.gone)).map_err(failed)?;
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

/// Checks a name that is to be added, and measures it.
fn check(name: &str, path: &str) -> Result<u16> {
    let refuse = |why: &str| Error::usage(format!("this file cannot be in an archive: {why}")).in_key(name.to_owned());
    check_name(name).and_then(|()| check_path(path)).map_err(|why: Why| refuse(why.text()))?;
    u16::try_from(name.len()).map_err(|_| refuse("its path has more than 65535 bytes"))
}

#[cfg(test)]
mod tests;
