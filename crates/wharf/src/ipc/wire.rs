//! Where the messages of Arrow IPC lie in a file or a stream, checked before a library reserves memory by what they say.
//!
//! A stream is messages one after another: a mark of four bytes (not in old streams), a length, that many bytes of flatbuffers, and the
//! buffers. A file is a stream between two magics, with a footer that tells where the messages are.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_ipc::convert::fb_to_schema;
use arrow_ipc::{Block, CompressionType, Message, MessageHeader, MetadataVersion};
use arrow_schema::SchemaRef;
use container_core::{Bytes, Error, Limits, Result, Source};

/// At both ends of a file, in front followed by two zeros.
pub(super) const MAGIC: &[u8; 6] = b"ARROW1";
/// At both ends of a file of Feather's first version, which is no Arrow IPC.
pub(super) const FEATHER_1: &[u8; 4] = b"FEA1";
/// Before each message of a stream.
pub(super) const MARK: [u8; 4] = [0xFF; 4];

/// What a file or a stream has.
#[derive(Debug)]
pub(super) struct Index {
    pub(super) schema: SchemaRef,
    pub(super) version: MetadataVersion,
    pub(super) is_file: bool,
    pub(super) batches: Vec<Placed>,
    /// Dictionaries in their order, and how many batches stand before each.
    pub(super) dictionaries: Vec<(usize, Placed)>,
    /// Of the footer of a file.
    pub(super) metadata: HashMap<String, String>,
    /// How the buffers of the first batch are compressed.
    pub(super) compression: Option<&'static str>,
    /// Where the last message of a stream ends.
    pub(super) end: u64,
}

/// A message, and where it lies.
#[derive(Debug, Clone, Copy)]
pub(super) struct Placed {
    pub(super) offset: u64,
    /// Bytes of the mark, the length and the flatbuffers.
    pub(super) head: u32,
    pub(super) body: u64,
    /// Rows of a batch.
    pub(super) rows: u64,
    /// Rows of the batches before.
    pub(super) start: u64,
}

impl Placed {
    /// The same for the library. The numbers were checked to be in the source, whose length fits.
    pub(super) fn block(&self) -> Result<Block> {
        let too_far = |_| Error::invalid("a message lies too far behind").at(self.offset);
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
        Err(Error::unsupported("Feather of version 1 is another format; version 2 is read"))
    } else {
        stream(source, limits)
    }?;
    limits.check_columns("the count of columns", index.schema.fields().len() as u64)?;
    Ok(index)
}

fn file(source: &Source, limits: &Limits) -> Result<Index> {
    let len = source.len();
    let tail = len.checked_sub(10).filter(|tail| *tail >= 8);
    let tail = tail.ok_or_else(|| Error::truncated("an Arrow file has 18 bytes at least", 18, len).at(0))?;
    let end = source.read(tail..len)?;
    let (length, magic) = end.split_at_checked(4).unwrap_or_default();
    if magic != MAGIC {
        let detail = format!("the file ends with {magic:02X?} where ARROW1 is wanted: it is cut short");
        return Err(Error::invalid(detail).at(tail + 4));
    }
    let length = i32::from_le_bytes(length.try_into().unwrap_or_default());
    let negative = |_| Error::invalid(format!("the footer has the length {length}")).at(tail);
    let length = u64::try_from(length).map_err(negative)?;
    let Some(start) = tail.checked_sub(length).filter(|start| *start >= 8) else {
        return Err(Error::truncated("the footer, as long as the file says", length, tail - 8).at(tail));
    };
    limits.check_metadata("the length of the footer", length).map_err(|error| error.at(tail))?;
    let bytes = source.read(start..tail)?;
    let wrong = |what: String| Error::invalid(format!("the footer cannot be read: {what}")).at(start);
    let footer = arrow_ipc::root_as_footer(&bytes).map_err(|error| wrong(first_line(&error)))?;
    let schema = footer.schema().ok_or_else(|| wrong("it has no schema".to_owned()))?;
    let schema = self::schema(schema).map_err(|error| error.at(start))?;
    let mut index = Index::new(schema, footer.version(), true, start);
    for pair in footer.custom_metadata().iter().flatten() {
        if let (Some(key), Some(value)) = (pair.key(), pair.value()) {
            index.metadata.insert(key.to_owned(), value.to_owned());
        }
    }
    for block in footer.dictionaries().iter().flatten() {
        let placed = place(block, source)?;
        index.message(source, placed, true)?;
    }
    for block in footer.recordBatches().iter().flatten() {
        let placed = place(block, source)?;
        index.message(source, placed, false)?;
    }
    Ok(index)
}

/// Where a footer says that a message lies.
fn place(block: &Block, source: &Source) -> Result<Placed> {
    let (offset, head, body) = (block.offset(), block.metaDataLength(), block.bodyLength());
    let negative = || Error::invalid(format!("the footer has a message of {head} and {body} bytes at {offset}"));
    let whole = || {
        Some((
            u64::try_from(offset).ok()?,
            u32::try_from(head).ok().filter(|head| *head >= 8)?,
            u64::try_from(body).ok()?,
        ))
    };
    let (offset, head, body) = whole().ok_or_else(negative)?;
    within(offset, u64::from(head), body, source)?;
    Ok(Placed { offset, head, body, rows: 0, start: 0 })
}

/// Fails unless a message lies in the source.
fn within(offset: u64, head: u64, body: u64, source: &Source) -> Result<()> {
    let needed = head.saturating_add(body);
    let available = source.len().saturating_sub(offset);
    if needed <= available { Ok(()) } else { Err(Error::truncated("a message", needed, available).at(offset)) }
}

fn stream(source: &Source, limits: &Limits) -> Result<Index> {
    let mut index: Option<Index> = None;
    let mut at = 0_u64;
    while let Some((head, prefix)) = length(source, at)? {
        limits.check_metadata("the length of a message", head).map_err(|error| error.at(at))?;
        within(at, prefix + head, 0, source)?;
        let bytes = source.read(at + prefix..at + prefix + head)?;
        let message = message(&bytes).map_err(|error| error.at(at))?;
        let body = message.bodyLength();
        let body =
            u64::try_from(body).map_err(|_| Error::invalid(format!("a message has {body} bytes of buffers")).at(at))?;
        within(at, prefix + head, body, source)?;
        let head = u32::try_from(prefix + head).map_err(|_| Error::invalid("a message is too long").at(at))?;
        let placed = Placed { offset: at, head, body, rows: 0, start: 0 };
        match (&mut index, message.header_type()) {
            (None, MessageHeader::Schema) => {
                let none = || Error::invalid("the first message has no schema").at(at);
                let schema =
                    self::schema(message.header_as_schema().ok_or_else(none)?).map_err(|error| error.at(at))?;
                index = Some(Index::new(schema, message.version(), false, 0));
            }
            (None, other) => {
                return Err(Error::invalid(format!("the stream begins with {other:?} where a schema is wanted")).at(at));
            }
            (Some(index), kind) => index.found(&message, kind, placed, kind == MessageHeader::DictionaryBatch)?,
        }
        at = placed.offset + u64::from(placed.head) + placed.body;
    }
    let mut index = index.ok_or_else(|| Error::truncated("the first message of a stream", 8, source.len()).at(0))?;
    // The mark and the length 0 at the end may be missing.
    index.end = at + if at + 8 <= source.len() { 8 } else { source.len() - at };
    Ok(index)
}

/// The length of the flatbuffers of the message here, and of what stands before them; `None` at the end.
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
        .map_err(|error| Error::invalid(format!("a message cannot be read: {}", first_line(&error))))
}

fn schema(schema: arrow_ipc::Schema<'_>) -> Result<SchemaRef> {
    if !schema.endianness().equals_to_target_endianness() {
        return Err(Error::unsupported("the file has the byte order that this machine has not"));
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

    /// Looks at a message that the footer tells of.
    fn message(&mut self, source: &Source, placed: Placed, dictionary: bool) -> Result<()> {
        let bytes = source.read(placed.offset..placed.offset + u64::from(placed.head))?;
        let prefix = if bytes.starts_with(&MARK) { 8 } else { 4 };
        let message = message(bytes.get(prefix..).unwrap_or_default()).map_err(|error| error.at(placed.offset))?;
        self.found(&message, message.header_type(), placed, dictionary)
    }

    /// Takes a message in: of a dictionary, or of rows.
    fn found(
        &mut self,
        message: &Message<'_>,
        kind: MessageHeader,
        mut placed: Placed,
        dictionary: bool,
    ) -> Result<()> {
        let wanted = if dictionary { MessageHeader::DictionaryBatch } else { MessageHeader::RecordBatch };
        if kind != wanted {
            return Err(Error::invalid(format!("there is {kind:?} where {wanted:?} is wanted")).at(placed.offset));
        }
        if dictionary {
            self.dictionaries.push((self.batches.len(), placed));
            return Ok(());
        }
        let block = self.batches.len() as u64;
        let wrong = |what: String| Error::invalid(what).at(placed.offset).in_block(block);
        let batch = message.header_as_record_batch().ok_or_else(|| wrong("a batch has no header".to_owned()))?;
        placed.rows =
            u64::try_from(batch.length()).map_err(|_| wrong(format!("a batch has {} rows", batch.length())))?;
        placed.start = self.rows();
        if placed.start.checked_add(placed.rows).is_none_or(|rows| i64::try_from(rows).is_err()) {
            return Err(wrong("the batches have more rows together than can be counted".to_owned()));
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
        self.batches.push(placed);
        Ok(())
    }
}

/// Fails unless the buffers of a message lie in it and take no more memory, decompressed, than allowed.
pub(super) fn check_buffers(bytes: &Bytes, placed: &Placed, limits: &Limits) -> Result<()> {
    let prefix = if bytes.starts_with(&MARK) { 8 } else { 4 };
    let head = usize::try_from(placed.head).unwrap_or(usize::MAX);
    let (head, body) = bytes.split_at_checked(head).unwrap_or_default();
    let message = message(head.get(prefix..).unwrap_or_default())?;
    let batch = match message.header_type() {
        MessageHeader::DictionaryBatch => message.header_as_dictionary_batch().and_then(|dictionary| dictionary.data()),
        _ => message.header_as_record_batch(),
    };
    let batch = batch.ok_or_else(|| Error::invalid("a message has neither rows nor a dictionary"))?;
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
            let detail = format!(
                "a buffer of {length} bytes at {offset} lies outside of the {} bytes of its message",
                body.len()
            );
            Error::invalid(detail)
        };
        let range = || {
            let start = usize::try_from(offset).ok()?;
            Some(start..start.checked_add(usize::try_from(length).ok()?)?)
        };
        let part = body.get(range().ok_or_else(outside)?).ok_or_else(outside)?;
        if compressed && !part.is_empty() {
            let said = part.first_chunk::<8>().map(|eight| i64::from_le_bytes(*eight));
            let said =
                said.ok_or_else(|| Error::truncated("the length of a compressed buffer", 8, part.len() as u64))?;
            // -1 is for a buffer that is not compressed after all.
            let raw = if said == -1 {
                part.len() as u64
            } else {
                u64::try_from(said).map_err(|_| Error::invalid(format!("a compressed buffer has the length {said}")))?
            };
            total = total.saturating_add(raw);
            limits.check_block("the length of the decompressed buffers of a message", total)?;
        }
    }
    Ok(())
}
