//! Local files, read by position straight into arrays.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use container_core::{Error, ReadAt, Result, Source};

use crate::process;

/// Files up to this size are read when they are opened.
const SMALL: u64 = 256 << 10;

/// Bytes that a thread reads at once: huge pages, which it clears, and which still are in the cache when they are filled.
const STEP: usize = 16 << 20;

/// Threads that read one array.
const MAX_THREADS: usize = 4;

/// A local file.
pub(super) struct LocalFile {
    file: File,
    len: u64,
}

impl ReadAt for LocalFile {
    fn len(&self) -> u64 {
        self.len
    }

    #[cfg(unix)]
    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(&self.file, buffer, offset)
    }

    #[cfg(windows)]
    fn read_exact_at(&self, mut offset: u64, mut buffer: &mut [u8]) -> io::Result<()> {
        while !buffer.is_empty() {
            let read = std::os::windows::fs::FileExt::seek_read(&self.file, buffer, offset)?;
            if read == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            offset += read as u64;
            buffer = buffer.get_mut(read..).unwrap_or_default();
        }
        Ok(())
    }
}

/// The medium of a source.
struct Shared(Arc<LocalFile>);

impl ReadAt for Shared {
    fn len(&self) -> u64 {
        self.0.len
    }

    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.0.read_exact_at(offset, buffer)
    }
}

/// Opens a file: its bytes, and the file itself unless it is small.
pub(super) fn open(path: &Path) -> Result<(Source, Option<Arc<LocalFile>>)> {
    let failed = |action: &'static str| move |cause| Error::io(action, cause).in_file(path.display().to_string());
    let mut file = File::open(path).map_err(failed("cannot open"))?;
    let metadata = file.metadata().map_err(failed("cannot open"))?;
    if metadata.is_dir() {
        return Err(failed("cannot open")(io::ErrorKind::IsADirectory.into()));
    }
    let len = metadata.len();
    if !metadata.is_file() {
        return Ok((Source::from_reader(file).map_err(|error| error.in_file(path.display().to_string()))?, None));
    }
    if len <= SMALL {
        let mut bytes = vec![0; usize::try_from(len).unwrap_or(0)];
        file.read_exact(&mut bytes).map_err(failed("cannot read"))?;
        return Ok((Source::from(bytes), None));
    }
    let file = Arc::new(LocalFile { file, len });
    Ok((Source::new(Shared(Arc::clone(&file))), Some(file)))
}

/// Reads the bytes from `offset` into `out`: large ones of a local file with several threads.
pub(super) fn read_into(source: &Source, file: Option<&LocalFile>, offset: u64, out: &mut [u8]) -> Result<()> {
    let Some(file) = file else {
        let mut buffer = Vec::new();
        out.copy_from_slice(source.view(offset..offset.saturating_add(out.len() as u64), &mut buffer)?);
        return Ok(());
    };
    let read = |(number, part): (usize, &mut [u8])| {
        let at = offset + (number * STEP) as u64;
        let len = part.len() as u64;
        file.read_exact_at(at, part).map_err(|cause| match cause.kind() {
            io::ErrorKind::UnexpectedEof => Error::truncated("values", len, file.len.saturating_sub(at)).at(at),
            _ => Error::io("cannot read", cause).at(at),
        })
    };
    let threads = match process::threads(0) {
        // A few cores use up the bandwidth of the memory.
        0 => std::thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS).min(out.len() / STEP),
        one => one,
    };
    let queue = Mutex::new(out.chunks_mut(STEP).enumerate());
    let work = || {
        // The lock is released before the part is read.
        let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
        while let Some(part) = next() {
            read(part)?;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let others: Vec<_> =
            (1..threads).map_while(|_| std::thread::Builder::new().spawn_scoped(scope, work).ok()).collect();
        let mut done = work();
        for other in others {
            let result = other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            done = done.and(result);
        }
        done
    })
}
