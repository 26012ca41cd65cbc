//! A file of the set while it is written: a buffered temporary file that can be read back.

use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;

use container_core::{Bytes, Error, Output, OutputOptions, Overwrite, Result, Source, SyncPolicy};

/// Bytes buffered before they are written.
const BUFFER: usize = 256 << 10;

/// A file written sequentially.
pub(crate) struct Spool {
    output: Output,
    buffer: Vec<u8>,
    /// Bytes already in the file, without the buffer.
    written: u64,
    sync: SyncPolicy,
}

impl Spool {
    /// Begins a file that will replace whatever is at `path`.
    ///
    /// Symbolic links are rejected: users name the data file only, and a link at a derived name would redirect the output to a file that
    /// they did not name.
    ///
    /// # Errors
    /// [`Unsupported`](container_core::ErrorKind::Unsupported) for a symbolic link; those of [`Output::create`].
    pub(crate) fn create(path: &Path, sync: SyncPolicy) -> Result<Self> {
        if path.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink()) {
            let detail = "cannot write through a symbolic link: files beside the data must be regular files";
            return Err(Error::unsupported(detail).in_file(path.display().to_string()));
        }
        let options = OutputOptions::default().with_overwrite(Overwrite::Replace).with_sync(sync);
        Ok(Self { output: Output::create(path, options)?, buffer: Vec::with_capacity(BUFFER), written: 0, sync })
    }

    /// Bytes so far, including the buffer.
    pub(crate) fn len(&self) -> u64 {
        self.written + self.buffer.len() as u64
    }

    /// Appends bytes.
    #[inline]
    pub(crate) fn put(&mut self, bytes: &[u8]) -> Result<()> {
        if self.buffer.len() + bytes.len() > BUFFER {
            self.flush()?;
            if bytes.len() >= BUFFER {
                self.write(bytes)?;
                return Ok(());
            }
        }
        self.buffer.extend_from_slice(bytes);
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.output.write_all(bytes).map_err(|cause| failed(&self.output, cause))?;
        self.written += bytes.len() as u64;
        Ok(())
    }

    /// Writes the buffer.
    pub(crate) fn flush(&mut self) -> Result<()> {
        let buffer = std::mem::take(&mut self.buffer);
        let result = self.write(&buffer);
        self.buffer = buffer;
        self.buffer.clear();
        result
    }

    /// Overwrites earlier bytes; `bytes` must not extend past the end of the file.
    pub(crate) fn patch(&mut self, at: u64, bytes: &[u8]) -> Result<()> {
        self.flush()?;
        let output = &mut self.output;
        let result = output
            .seek(SeekFrom::Start(at))
            .and_then(|_| output.write_all(bytes))
            .and_then(|()| output.seek(SeekFrom::End(0)));
        result.map(drop).map_err(|cause| failed(&self.output, cause))
    }

    /// Reads back earlier bytes, from the file, the buffer or both.
    pub(crate) fn read(&self, at: u64, len: usize) -> Result<Bytes> {
        let end = at.saturating_add(len as u64).min(self.len());
        let in_buffer = |offset: u64| usize::try_from(offset.saturating_sub(self.written)).unwrap_or(usize::MAX);
        let buffered = self.buffer.get(in_buffer(at)..in_buffer(end)).unwrap_or_default();
        if at >= self.written {
            return Ok(Bytes::copy_from_slice(buffered));
        }
        let from_file = self.output.read_back()?.read(at..end.min(self.written))?;
        match buffered {
            [] => Ok(from_file),
            _ => Ok(Bytes::from([&from_file, buffered].concat())),
        }
    }

    /// The whole contents so far.
    pub(crate) fn read_all(&mut self) -> Result<Source> {
        self.flush()?;
        self.output.read_back()
    }

    pub(crate) fn sync(&self) -> SyncPolicy {
        self.sync
    }

    /// Appends everything from a reader.
    pub(crate) fn put_all(&mut self, from: &mut dyn Read) -> Result<()> {
        let mut chunk = vec![0; BUFFER];
        loop {
            let read = match from.read(&mut chunk) {
                Ok(0) => return Ok(()),
                Ok(read) => read,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(cause) => return Err(Error::io("cannot read", cause)),
            };
            self.put(chunk.get(..read).unwrap_or_default())?;
        }
    }

    /// Writes everything, and syncs it if requested: only the file's name is missing then.
    pub(crate) fn flush_and_sync(&mut self) -> Result<()> {
        self.flush()?;
        match self.sync {
            SyncPolicy::Never => Ok(()),
            _ => self.output.file().sync_all().map_err(|cause| failed(&self.output, cause)),
        }
    }

    /// Gives the file its name.
    pub(crate) fn finish(mut self) -> Result<()> {
        self.flush()?;
        self.output.finish()
    }

    /// The final path.
    pub(crate) fn path(&self) -> &Path {
        self.output.path()
    }
}

fn failed(output: &Output, cause: std::io::Error) -> Error {
    Error::io("cannot write", cause).in_file(output.path().display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn rejects_symbolic_links() {
        let folder = tempfile::tempdir().unwrap();
        let (link, target) = (folder.path().join("x.offsets"), folder.path().join("target"));
        std::fs::write(&target, "precious").unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        let error = Spool::create(&link, SyncPolicy::Never).err().unwrap().to_string();
        assert!(
            error.ends_with(
                "x.offsets: cannot write through a symbolic link: files beside the data must be regular files"
            ),
            "{error}"
        );
        assert_eq!(std::fs::read(&target).unwrap(), b"precious");
    }

    #[test]
    fn bytes_are_read_back_from_buffer_and_file() {
        let folder = tempfile::tempdir().unwrap();
        let mut spool = Spool::create(&folder.path().join("x"), SyncPolicy::Never).unwrap();
        let all: Vec<u8> = (0..700_000u32).map(|n| (n % 251) as u8).collect();
        for chunk in all.chunks(1000) {
            spool.put(chunk).unwrap();
        }
        spool.put(&all[..300_000]).unwrap();
        spool.put(b"tail").unwrap();
        assert_eq!(spool.len(), 1_000_004);
        assert_eq!(spool.read(5, 10).unwrap(), all[5..15]);
        assert_eq!(spool.read(1_000_000, 100).unwrap(), &b"tail"[..]);
        assert_eq!(spool.read(1_000_004, 1).unwrap(), &b""[..]);
        let flushed = spool.written;
        assert!((1..1_000_004).contains(&flushed), "some are in the file, some in the buffer: {flushed}");
        let whole = [&all[..], &all[..300_000], b"tail"].concat();
        for before in [0, 1, 7, 500] {
            let at = usize::try_from(flushed).unwrap() - before;
            assert_eq!(
                spool.read(at as u64, 600).unwrap(),
                whole[at..whole.len().min(at + 600)],
                "{before} in the file"
            );
        }
        spool.patch(3, &[7, 7]).unwrap();
        spool.put(b"!").unwrap();
        assert_eq!(spool.read_all().unwrap().len(), 1_000_005);
        spool.flush_and_sync().unwrap();
        spool.finish().unwrap();
        let written = std::fs::read(folder.path().join("x")).unwrap();
        assert_eq!((&written[..6], &written[1_000_000..]), (&[0, 1, 2, 7, 7, 5][..], &b"tail!"[..]));
    }
}
