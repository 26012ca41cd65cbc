//! Digests of the keys of numpy arrays of strings, which have a fixed width: read in place, by several threads.
#![allow(unsafe_code, reason = "a slice of the memory of an array: see the argument below")]

use std::panic::resume_unwind;
use std::thread::ScopedJoinHandle;

use ::simplebloom::digest::{Digest, Salt, digest_many};
use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyAny;

use crate::process;

/// Keys that are hashed side by side.
const GROUP: usize = 16;

/// Fewer keys are not worth a thread.
const KEYS_PER_THREAD: usize = 4096;

/// The keys of a contiguous array in native byte order.
pub(super) struct FixedKeys {
    buffer: PyUntypedBuffer,
    /// Bytes of a key with its padding, at least 1.
    width: usize,
    /// Keys are UTF-32, else bytes.
    wide: bool,
}

impl FixedKeys {
    pub(super) fn new(array: &Bound<'_, PyAny>, width: usize, wide: bool) -> PyResult<Self> {
        let buffer = PyUntypedBuffer::get(array)?;
        match width > 0 && buffer.is_c_contiguous() && buffer.len_bytes().is_multiple_of(width) {
            true => Ok(Self { buffer, width, wide }),
            false => Err(PyValueError::new_err(format!("expected a contiguous array of keys of {width} bytes"))),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.buffer.len_bytes() / self.width
    }

    /// The digests of keys from `first` on. Must be called detached. An error is the row, from the start of the array, and the code that is not a
    /// character.
    pub(super) fn digest(&self, first: usize, digests: &mut [Digest]) -> Result<(), (usize, u32)> {
        if self.buffer.len_bytes() == 0 {
            return Ok(());
        }
        // SAFETY: the buffer is C-contiguous, `len_bytes` long, not empty, and alive as long as `self`. As with functions of numpy that read
        // without the GIL, a thread of the caller that changes the array meanwhile makes the keys undefined; their bytes are only hashed, and codes
        // of characters are checked after they were read.
        let all = unsafe { std::slice::from_raw_parts(self.buffer.buf_ptr().cast::<u8>(), self.buffer.len_bytes()) };
        let keys = all.get(first * self.width..).unwrap_or_default();
        let threads = match process::threads(0) {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            one => one,
        };
        let part = digests.len().div_ceil(threads).max(KEYS_PER_THREAD).next_multiple_of(GROUP);
        let parts = (0..).step_by(part).zip(digests.chunks_mut(part).zip(keys.chunks(part * self.width)));
        let work = |(start, (digests, keys)): (usize, (&mut [Digest], &[u8]))| {
            self.digest_part(keys, digests).map_err(|(row, code)| (first + start + row, code))
        };
        std::thread::scope(|scope| {
            let mut parts = parts.collect::<Vec<_>>().into_iter();
            let own = parts.next();
            let others: Vec<_> = parts.map(|part| scope.spawn(move || work(part))).collect();
            let done = own.map_or(Ok(()), work);
            let join = |other: ScopedJoinHandle<'_, _>| other.join().unwrap_or_else(|panic| resume_unwind(panic));
            others.into_iter().fold(done, |done, other| done.and(join(other)))
        })
    }

    /// The digests of these keys. An error is the row and the code that is not a character.
    fn digest_part(&self, keys: &[u8], digests: &mut [Digest]) -> Result<(), (usize, u32)> {
        let chars = self.width.div_ceil(4);
        let mut text = vec![0; if self.wide { chars * GROUP } else { 0 }];
        for (group, (keys, digests)) in keys.chunks(self.width * GROUP).zip(digests.chunks_mut(GROUP)).enumerate() {
            if !self.wide {
                hash(keys, self.width, digests);
            } else if let Some(text) = text.get_mut(..keys.len() / 4)
                && narrow(keys, text)
            {
                hash(text, chars, digests);
            } else {
                hash_wide(keys, self.width, digests).map_err(|(row, code)| (group * GROUP + row, code))?;
            }
        }
        Ok(())
    }
}

/// Writes UTF-32 as ASCII. Returns whether it is ASCII.
fn narrow(keys: &[u8], text: &mut [u8]) -> bool {
    let mut all = 0;
    for (out, code) in text.iter_mut().zip(keys.as_chunks().0) {
        let code = u32::from_ne_bytes(*code);
        all |= code;
        let [low, ..] = code.to_le_bytes();
        *out = low;
    }
    all < 0x80
}

/// Hashes keys of `width` bytes, padded with zeros.
fn hash(keys: &[u8], width: usize, digests: &mut [Digest]) {
    let mut unpadded = [&[][..]; GROUP];
    for (out, key) in unpadded.iter_mut().zip(keys.chunks(width)) {
        let len = key.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        *out = key.get(..len).unwrap_or_default();
    }
    digest(unpadded.get(..digests.len()).unwrap_or_default(), digests);
}

/// Hashes keys in UTF-32 as UTF-8.
fn hash_wide(keys: &[u8], width: usize, digests: &mut [Digest]) -> Result<(), (usize, u32)> {
    let mut texts: [Vec<u8>; GROUP] = Default::default();
    for (row, (text, key)) in texts.iter_mut().zip(keys.chunks(width)).enumerate() {
        let codes = key.as_chunks().0;
        let len = codes.iter().rposition(|code| *code != [0; 4]).map_or(0, |last| last + 1);
        for code in codes.iter().take(len) {
            let code = u32::from_ne_bytes(*code);
            let character = char::from_u32(code).ok_or((row, code))?;
            text.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }
    digest(texts.get(..digests.len()).unwrap_or_default(), digests);
    Ok(())
}

fn digest<K: AsRef<[u8]>>(keys: &[K], digests: &mut [Digest]) {
    // There are as many digests as keys: the callers cut both alike.
    let _ = digest_many(keys, Salt::NONE, digests);
}
