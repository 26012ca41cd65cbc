//! Appends samples that this crate has encoded, in chunks, without parsing them again.
//!
//! The keys are recorded by another thread, since that takes as long as encoding: the set of keys does not fit into the cache.

use std::mem;
use std::ops::Range;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::thread;

use container_core::{Error, Result};

use crate::write::data::DataFile;
use crate::write::sample_index::SampleIndex;
pub(crate) use crate::write::writer::check_message;
use crate::write::writer::{Writer, duplicate, key_of};

/// Bytes of samples that are passed on together: few enough to stay in the cache.
const CHUNK: usize = 64 << 10;

/// Maximum number of chunks whose keys are to be recorded; then encoding waits.
const MAX_PENDING_CHUNKS: usize = 4;

/// The number of keys for which a large batch makes room at once, since it is rarely the last: 4 MiB.
const MIN_ROOM: usize = 1 << 18;

/// For fewer samples, starting a thread takes too long.
const MIN_PARALLEL_SAMPLES: usize = 1 << 12;

/// Messages back to back, each a map with a field `key`.
#[derive(Default)]
pub(crate) struct EncodedSamples {
    /// The messages. Bytes after the last one are ignored.
    pub(crate) bytes: Vec<u8>,
    rows: Vec<EncodedRow>,
    /// Where the first message is in the data file.
    offset: u64,
}

struct EncodedRow {
    /// The key with its header.
    key: Range<usize>,
    /// Where the key's text begins.
    text: usize,
    /// Where the message ends.
    end: usize,
}

impl EncodedSamples {
    /// Accepts the bytes since the last message as the next one, the value of its field `key` being at `key`.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) if the key is not a str.
    #[inline]
    pub(crate) fn push(&mut self, key: Range<usize>) -> Result<()> {
        let header = match self.bytes.get(key.start) {
            Some(0xa0..=0xbf) => 1,
            Some(0xd9) => 2,
            Some(0xda) => 3,
            Some(0xdb) => 5,
            _ => return Err(self.not_a_str()),
        };
        self.rows.push(EncodedRow { text: key.start + header, key, end: self.bytes.len() });
        Ok(())
    }

    /// The bytes since the last message.
    #[inline]
    pub(crate) fn unfinished(&self) -> &[u8] {
        self.bytes(self.end()..self.bytes.len())
    }

    #[inline]
    fn bytes(&self, range: Range<usize>) -> &[u8] {
        self.bytes.get(range).unwrap_or_default()
    }

    #[inline]
    fn end(&self) -> usize {
        self.rows.last().map_or(0, |row| row.end)
    }

    #[cold]
    fn not_a_str(&self) -> Error {
        key_of(self.unfinished()).err().unwrap_or_else(|| Error::usage("the sample has no key"))
    }

    /// Records the samples, up to the first duplicate key.
    fn record(&self, index: &mut SampleIndex) -> Result<()> {
        for row in &self.rows {
            let key = self.bytes(row.text..row.key.end);
            if let Some(first) = index.claim(key)? {
                return Err(duplicate(&String::from_utf8_lossy(key), first, index.len()));
            }
            index.push_encoded(self.bytes(row.key.clone()), self.offset + row.end as u64)?;
        }
        Ok(())
    }
}

impl SampleIndex {
    /// Like [`push`](Self::push), for a key that is a str in its shortest encoding already.
    #[inline]
    fn push_encoded(&mut self, key: &[u8], end: u64) -> Result<()> {
        self.offsets.put(&end.to_be_bytes())?;
        self.keys.push_encoded(key)
    }
}

/// Takes encoded samples.
pub(crate) struct Sink<'w> {
    pub(crate) samples: EncodedSamples,
    data: &'w mut DataFile,
    keys: Keys<'w>,
}

/// Who records the keys.
enum Keys<'w> {
    Inline(&'w mut SampleIndex),
    /// A thread, which returns the chunks to be filled again.
    Threaded(SyncSender<EncodedSamples>, Receiver<EncodedSamples>),
}

impl Sink<'_> {
    /// Whether the samples so far should be [passed on](Self::flush).
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.samples.bytes.len() >= CHUNK
    }

    /// Passes on the samples so far.
    pub(crate) fn flush(&mut self) -> Result<()> {
        self.samples.offset = self.data.position();
        self.data.put(self.samples.bytes(0..self.samples.end()))?;
        match &mut self.keys {
            Keys::Inline(index) => self.samples.record(index)?,
            Keys::Threaded(filled, emptied) => {
                let chunk = mem::replace(&mut self.samples, emptied.try_recv().unwrap_or_default());
                // The thread ends early because of an error, which `append_encoded` returns.
                filled.send(chunk).map_err(|_| Error::usage("the keys cannot be recorded"))?;
            }
        }
        self.samples.bytes.clear();
        self.samples.rows.clear();
        Ok(())
    }
}

impl Writer {
    /// Appends about `samples` samples, which `encode` produces. After an error the writer is not usable; [`len`](Self::len) is then the
    /// row that failed.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) for a duplicate key; [`Io`](container_core::ErrorKind::Io); those of `encode` unless an
    /// earlier sample has one.
    pub(crate) fn append_encoded(
        &mut self,
        samples: usize,
        encode: impl FnOnce(&mut Sink<'_>) -> Result<()>,
    ) -> Result<()> {
        self.check_usable()?;
        self.poisoned = true;
        let Self { data, index, options, .. } = self;
        let is_large = samples >= MIN_PARALLEL_SAMPLES;
        let room = if is_large { MIN_ROOM.saturating_sub(index.len() as usize) } else { 0 };
        index.reserve(samples.max(room));
        if options.threads == 1 || !is_large {
            encode(&mut Sink { samples: EncodedSamples::default(), data, keys: Keys::Inline(index) })?;
        } else {
            thread::scope(|scope| {
                let (filled, to_record) = sync_channel::<EncodedSamples>(MAX_PENDING_CHUNKS);
                let (recorded, emptied) = channel();
                let recorder = scope.spawn(move || {
                    to_record.into_iter().try_for_each(|chunk| {
                        chunk.record(index)?;
                        let _ = recorded.send(chunk); // fails if everything is encoded
                        Ok(())
                    })
                });
                let keys = Keys::Threaded(filled, emptied);
                let encoded = encode(&mut Sink { samples: EncodedSamples::default(), data, keys });
                recorder.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)).and(encoded)
            })?;
        }
        self.poisoned = false;
        Ok(())
    }
}
