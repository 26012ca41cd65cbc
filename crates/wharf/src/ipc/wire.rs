//! Locates the messages of an Arrow IPC file or stream, and checks them before the library allocates by declared sizes.
//!
//! A stream is a sequence of messages: a continuation marker of four bytes (not in old streams), a length, that many bytes of flatbuffers, and
//! the buffers. A file is a stream between magic bytes, with a footer that locates the messages.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_ipc::convert::fb_to_schema;
use arrow_ipc::{Block, CompressionType, Message, MessageHeader, MetadataVersion};
use arrow_schema::SchemaRef;
use container_core::{Bytes, Error, Limits, Result, Source};

/// Magic bytes at both ends of a file; at the beginning followed by two zeros.
pub(super) const MAGIC: &[u8; 6] = b"ARROW1";
/// Magic bytes of Feather version 1, which is not Arrow IPC.
pub(super) const FEATHER_1: &[u8; 4] = b"FEA1";
/// The continuation marker before each message of a stream.
pub(super) const MARK: [u8; 4] = [0xFF; 4];

/// The contents of a file or stream.
#[derive(Debug)]
pub(super) struct Index {
    pub(super) schema: SchemaRef,
    pub(super) version: MetadataVersion,
    pub(super) is_file: bool,
    pub(super) batches: Vec<MessageLocation>,
    /// Dictionaries in order, with the number of batches before each.
    pub(super) dictionaries: Vec<(usize, MessageLocation)>,
    /// Custom metadata of a file's footer.
    pub(super) metadata: HashMap<String, String>,
    /// Compression of the first batch.
    pub(super) compression: Option<&'static str>,
    /// End offset of a stream's last message.
    pub(super) end: u64,
}

/// The location of a message.
#[derive(Debug, Clone, Copy)]
pub(super) struct MessageLocation {
    pub(super) offset: u64,
    /// Bytes of the marker, the length and the flatbuffers.
    pub(super) head: u32,
    pub(super) body: u64,
    /// Rows, for a batch.
    pub(super) rows: u64,
    /// Rows in the batches before.
    pub(super) start: u64,
}

impl MessageLocation {
    /// The location as the library's type. Cannot fail for checked locations: they lie in the source.
    pub(super) fn block(&self) -> Result<Block> {
        let too_far = |_| Error::invalid("message offset out of range").at(self.offset);
        let offset = i64::try_from(self.offset).map_err(too_far)?;
        let head = i32::try_from(self.head).map_err(too_far)?;
        Ok(Block::new(offset, head, i64::try_from(self.body).map_err(too_far)?))
    }

    /// The bytes of the message.
    pub(super) fn read(&self, source: &Source) -> Result<Bytes> {
        source.read(self.offset..self.offset + u64::from(self.head) + self.body)
    }
}

pub(super) fn index(source: &Source, limits: &Limits) -> Result<Index> {
    let head = source.read(0..source.len().min(8))?;
    let index = if head.starts_with(MAGIC) {
        file(source, limits)
    } else if head.starts_with(FEATHER_1) {
        Err(Error::unsupported("Feather version 1 is not supported, only version 2"))
    } else {
        stream(source, limits)
    }?;
    limits.check_columns("the count of columns", index.schema.fields().len() as u64)?;
    Ok(index)
}

fn file(source: &Source, limits: &Limits) -> Result<Index> {
    let len = source.len();
    let tail = len.checked_sub(10).filter(|tail| *tail >= 8);
    let tail = tail.ok_or_else(|| Error::truncated("an Arrow file", 18, len).at(0))?;
    let end = source.read(tail..len)?;
    let (length, magic) = end.split_at_checked(4).unwrap_or_default();
    if magic != MAGIC {
        let detail = format!("expected ARROW1 at the end, found {magic:02X?}: truncated");
        return Err(Error::invalid(detail).at(tail + 4));
    }
    let length = i32::from_le_bytes(length.try_into().unwrap_or_default());
    let negative = |_| Error::invalid(format!("the footer has the length {length}")).at(tail);
    let length = u64::try_from(length).map_err(negative)?;
    let Some(start) = tail.checked_sub(length).filter(|start| *start >= 8) else {
        return Err(Error::truncated("the footer, by its declared length", length, tail - 8).at(tail));
    };
    limits.check_metadata("the length of the footer", length).map_err(|error| error.at(tail))?;
    let bytes = source.read(start..tail)?;
    let wrong = |what: String| Error::invalid(format!("cannot read the footer: {what}")).at(start);
    let footer = arrow_ipc::root_as_footer(&bytes).map_err(|error| wrong(first_line(&error)))?;
    let schema = footer.schema().ok_or_else(|| wrong("missing schema".to_owned()))?;
    let schema = self::schema(schema).map_err(|error| error.at(start))?;
    let mut index = Index::new(schema, footer.version(), true, start);
    for pair in footer.custom_metadata().iter().flatten() {
        if let (Some(key), Some(value)) = (pair.key(), pair.value()) {
            index.metadata.insert(key.to_owned(), value.to_owned());
        }
    }
    for block in footer.dictionaries().iter().flatten() {
        let location = block_location(block, source)?;
        index.read_message(source, location, true)?;
    }
    for block in footer.recordBatches().iter().flatten() {
        let location = block_location(block, source)?;
        index.read_message(source, location, false)?;
    }
    Ok(index)
}

/// The location of a message that a footer declares.
fn block_location(block: &Block, source: &Source) -> Result<MessageLocation> {
    let (offset, head, body) = (block.offset(), block.metaDataLength(), block.bodyLength());
    let negative =
        || Error::invalid(format!("the footer declares a message of {head} and {body} bytes at offset {offset}"));
    let whole = || {
        Some((
            u64::try_from(offset).ok()?,
            u32::try_from(head).ok().filter(|head| *head >= 8)?,
            u64::try_from(body).ok()?,
        ))
    };
    let (offset, head, body) = whole().ok_or_else(negative)?;
    check_within(offset, u64::from(head), body, source)?;
    Ok(MessageLocation { offset, head, body, rows: 0, start: 0 })
}

/// Checks that a message lies in the source.
fn check_within(offset: u64, head: u64, body: u64, source: &Source) -> Result<()> {
    let needed = head.saturating_add(body);
    let available = source.len().saturating_sub(offset);
    if needed <= available { Ok(()) } else { Err(Error::truncated("a message", needed, available).at(offset)) }
}

fn stream(source: &Source, limits: &Limits) -> Result<Index> {
    let mut index: Option<Index> = None;
    let mut at = 0_u64;
    while let Some((head, prefix)) = length(source, at)? {
        limits.check_metadata("the length of a message", head).map_err(|error| error.at(at))?;
        check_within(at, prefix + head, 0, source)?;
        let bytes = source.read(at + prefix..at + prefix + head)?;
        let message = message(&bytes).map_err(|error| error.at(at))?;
        let body = message.bodyLength();
        let body =
            u64::try_from(body).map_err(|_| Error::invalid(format!("a message has {body} bytes of buffers")).at(at))?;
        check_within(at, prefix + head, body, source)?;
        let head = u32::try_from(prefix + head).map_err(|_| Error::invalid("a message is too long").at(at))?;
        let location = MessageLocation { offset: at, head, body, rows: 0, start: 0 };
        match (&mut index, message.header_type()) {
            (None, MessageHeader::Schema) => {
                let none = || Error::invalid("the first message has no schema").at(at);
                let schema =
                    self::schema(message.header_as_schema().ok_or_else(none)?).map_err(|error| error.at(at))?;
                index = Some(Index::new(schema, message.version(), false, 0));
            }
            (None, other) => {
                return Err(Error::invalid(format!("expected a schema as the first message, found {other:?}")).at(at));
            }
            (Some(index), kind) => {
                index.add_message(&message, kind, location, kind == MessageHeader::DictionaryBatch)?
            }
        }
        at = location.offset + u64::from(location.head) + location.body;
    }
    let mut index = index.ok_or_else(|| Error::truncated("the first message of a stream", 8, source.len()).at(0))?;
    // The end marker, a continuation marker and length 0, may be missing.
    index.end = at + if at + 8 <= source.len() { 8 } else { source.len() - at };
    Ok(index)
}

/// The length of the flatbuffers of the message at `at`, and of the prefix before them; `None` at the end.
fn length(source: &Source, at: u64) -> Result<Option<(u64, u64)>> {
    let left = source.len().saturating_sub(at);
    if left < 4 {
        return if left == 0 { Ok(None) } else { Err(Error::truncated("the length of a message", 4, left).at(at)) };
    }
    let bytes = source.read(at..at + left.min(8))?;
    let number = |place: usize| {
        let four = bytes.get(place..place + 4).and_then(|four| four.try_into().ok()).map(i32::from_le_bytes);
        four.ok_or_else(|| Error::truncated("the length of a message", 8, left).at(at))
    };
    let (length, prefix) = if bytes.starts_with(&MARK) { (number(4)?, 8) } else { (number(0)?, 4) };
    match u64::try_from(length) {
        Ok(0) => Ok(None),
        Ok(length) => Ok(Some((length, prefix))),
        Err(_) => Err(Error::invalid(format!("a message has the length {length}")).at(at)),
    }
}

fn message(bytes: &[u8]) -> Result<Message<'_>> {
    arrow_ipc::root_as_message(bytes)
        .map_err(|error| Error::invalid(format!("cannot read a message: {}", first_line(&error))))
}

fn schema(schema: arrow_ipc::Schema<'_>) -> Result<SchemaRef> {
    if !schema.endianness().equals_to_target_endianness() {
        return Err(Error::unsupported("the file has the opposite byte order of this machine"));
    }
    crate::batches::guarded("the schema", || Ok(Arc::new(fb_to_schema(schema))))
}

fn first_line(error: &impl std::fmt::Display) -> String {
    error.to_string().lines().next().unwrap_or_default().trim_end_matches('.').to_owned()
}

impl Index {
    fn new(schema: SchemaRef, version: MetadataVersion, is_file: bool, end: u64) -> Self {
        let (batches, dictionaries, metadata) = (Vec::new(), Vec::new(), HashMap::new());
        Self { schema, version, is_file, batches, dictionaries, metadata, compression: None, end }
    }

    pub(super) fn rows(&self) -> u64 {
        self.batches.last().map_or(0, |last| last.start + last.rows)
    }

    /// Reads the header of a message that the footer declares.
    fn read_message(&mut self, source: &Source, location: MessageLocation, dictionary: bool) -> Result<()> {
        let bytes = source.read(location.offset..location.offset + u64::from(location.head))?;
        let prefix = if bytes.starts_with(&MARK) { 8 } else { 4 };
        let message = message(bytes.get(prefix..).unwrap_or_default()).map_err(|error| error.at(location.offset))?;
        self.add_message(&message, message.header_type(), location, dictionary)
    }

    /// Adds a dictionary or a record batch.
    fn add_message(
        &mut self,
        message: &Message<'_>,
        kind: MessageHeader,
        mut location: MessageLocation,
        dictionary: bool,
    ) -> Result<()> {
        let expected = if dictionary { MessageHeader::DictionaryBatch } else { MessageHeader::RecordBatch };
        if kind != expected {
            return Err(Error::invalid(format!("expected {expected:?}, found {kind:?}")).at(location.offset));
        }
        if dictionary {
            self.dictionaries.push((self.batches.len(), location));
            return Ok(());
        }
        let block = self.batches.len() as u64;
        let wrong = |what: String| Error::invalid(what).at(location.offset).in_block(block);
        let batch = message.header_as_record_batch().ok_or_else(|| wrong("batch without a header".to_owned()))?;
        location.rows =
            u64::try_from(batch.length()).map_err(|_| wrong(format!("a batch has {} rows", batch.length())))?;
        location.start = self.rows();
        if location.start.checked_add(location.rows).is_none_or(|rows| i64::try_from(rows).is_err()) {
            return Err(wrong("the total number of rows overflows".to_owned()));
        }
        if let Some(compression) = batch.compression()
            && self.batches.is_empty()
        {
            self.compression = Some(match compression.codec() {
                CompressionType::LZ4_FRAME => "lz4",
                CompressionType::ZSTD => "zstd",
                _ => "unknown",
            });
        }
        self.batches.push(location);
        Ok(())
    }
}

/// Checks that the buffers of a message lie in it, and that their decompressed size is within the limits.
pub(super) fn check_buffers(bytes: &Bytes, location: &MessageLocation, limits: &Limits) -> Result<()> {
    let prefix = if bytes.starts_with(&MARK) { 8 } else { 4 };
    let head = usize::try_from(location.head).unwrap_or(usize::MAX);
    let (head, body) = bytes.split_at_checked(head).unwrap_or_default();
    let message = message(head.get(prefix..).unwrap_or_default())?;
    let batch = match message.header_type() {
        MessageHeader::DictionaryBatch => message.header_as_dictionary_batch().and_then(|dictionary| dictionary.data()),
        _ => message.header_as_record_batch(),
    };
    let batch = batch.ok_or_else(|| Error::invalid("message with neither rows nor a dictionary"))?;
    for node in batch.nodes().iter().flatten() {
        if node.length() < 0 || !(0..=node.length()).contains(&node.null_count()) {
            return Err(Error::invalid(format!(
                "an array has {} values, {} of them null",
                node.length(),
                node.null_count()
            )));
        }
    }
    let compressed = batch.compression().is_some();
    let mut total = 0_u64;
    for buffer in batch.buffers().iter().flatten() {
        let (offset, length) = (buffer.offset(), buffer.length());
        let outside = || {
            let detail =
                format!("a buffer of {length} bytes at offset {offset} exceeds its message of {} bytes", body.len());
            Error::invalid(detail)
        };
        let range = || {
            let start = usize::try_from(offset).ok()?;
            Some(start..start.checked_add(usize::try_from(length).ok()?)?)
        };
        let part = body.get(range().ok_or_else(outside)?).ok_or_else(outside)?;
        if compressed && !part.is_empty() {
            let declared = part.first_chunk::<8>().map(|eight| i64::from_le_bytes(*eight));
            let declared =
                declared.ok_or_else(|| Error::truncated("the length of a compressed buffer", 8, part.len() as u64))?;
            // -1 marks a buffer that is not compressed.
            let raw = if declared == -1 {
                part.len() as u64
            } else {
                u64::try_from(declared)
                    .map_err(|_| Error::invalid(format!("a compressed buffer has the length {declared}")))?
            };
            total = total.saturating_add(raw);
            limits.check_block("the length of the decompressed buffers of a message", total)?;
        }
    }
    Ok(())
}
