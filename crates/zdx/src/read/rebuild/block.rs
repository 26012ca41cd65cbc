//! Fast scan of a block of lines that all begin with a plain `_id`, and contain no other.

use crate::read::fast_line::ID_PREFIX;
use crate::wire::index::{ENTRY_OVERHEAD, Entry, put};
use crate::wire::lines::{ESCAPE_START, lines_from};

/// Bytes of an id examined at once.
const CHUNK: usize = 16;

/// Bytes in which names are counted together: their number fits into a byte.
const COUNT_CHUNK: usize = 128;

/// Appends the entries of a block's lines to `out`, and returns their number. `None`, with `out` unchanged, unless every line begins with a
/// plain id and none can contain another `_id`. Checking that for the whole block avoids a search in each line.
pub(super) fn plain_entries(block: &[u8], offset: u64, out: &mut Vec<u8>) -> Option<u64> {
    let (before, names) = (out.len(), count_names(block));
    let count = if ESCAPE_START.find(block).is_none() { put_lines(block, offset, names, out) } else { None };
    // Each line has exactly one `_i`, before its id. An id that contains another one makes the counts differ.
    let count = count.filter(|count| *count == names);
    if count.is_none() {
        out.truncate(before);
    }
    count
}

fn put_lines(block: &[u8], offset: u64, max: u64, out: &mut Vec<u8>) -> Option<u64> {
    let (mut rest, mut at, mut count) = (block, offset, 0);
    while !rest.is_empty() {
        let end = memchr::memchr(b'\n', rest)? + 1;
        count += match put_short(rest, at, end, out).or_else(|| put_long(rest.get(..end)?, at, out)) {
            Some(some) if count + some <= max => some,
            _ => return None,
        };
        rest = rest.get(end..)?;
        at += u64::try_from(end).ok()?;
    }
    Some(count)
}

/// Appends the entry of the line of `length` bytes at the start of `bytes`, if it is as the reference writes it and its id is short.
#[inline(always)]
fn put_short(bytes: &[u8], offset: u64, length: usize, out: &mut Vec<u8>) -> Option<u64> {
    let (begin, behind) = bytes.split_first_chunk()?;
    // The chunk may reach past the line: a line feed is not part of an id, nor does it end one.
    let chunk: &[u8; CHUNK] = behind.first_chunk()?;
    let len = id_len(chunk);
    if u64::from_le_bytes(*begin) != ID_PREFIX || !(1..CHUNK).contains(&len) {
        return None;
    }
    let [b'"', b',' | b'}', ..] = behind.get(len..)? else { return None };
    let (id_len, length) = (u16::try_from(len).ok()?, u32::try_from(length).ok()?);
    // Copy a fixed number of bytes, then truncate.
    let mut entry = [0; 2 + CHUNK + ENTRY_OVERHEAD];
    let (head, rest) = entry.split_first_chunk_mut()?;
    (*head, *rest.first_chunk_mut()?) = (id_len.to_le_bytes(), *chunk);
    let (offset_field, rest) = rest.get_mut(len..)?.split_first_chunk_mut()?;
    (*offset_field, *rest.first_chunk_mut()?) = (offset.to_le_bytes(), length.to_le_bytes());
    let all = out.len() + ENTRY_OVERHEAD + len;
    out.extend_from_slice(&entry);
    out.truncate(all);
    Some(1)
}

/// Appends the entry of any line that begins with a plain id. Returns the number of entries: 0 for an empty line.
fn put_long(line: &[u8], offset: u64, out: &mut Vec<u8>) -> Option<u64> {
    let Some(line) = lines_from(line, offset, 0).next() else { return Some(0) };
    let (id, length) = (line.begins_with_id()?, u32::try_from(line.end - line.offset).ok()?);
    put(&Entry { id, offset: line.offset, length }, out).ok()?;
    Some(1)
}

/// Number of leading bytes that are allowed in an id. Examining all of them is faster than a loop with an early exit.
#[inline(always)]
fn id_len(chunk: &[u8; CHUNK]) -> usize {
    let others = chunk.iter().enumerate().fold(1 << CHUNK, |others, (at, byte)| {
        let letter = (byte | 0x20).wrapping_sub(b'a') < 26;
        let is_allowed = letter | (byte.wrapping_sub(b'0') < 10) | (byte.wrapping_sub(b'-') < 2) | (*byte == b'_');
        others | u32::from(!is_allowed) << at
    });
    others.trailing_zeros().try_into().unwrap_or(CHUNK)
}

/// Number of occurrences of `_i`. Counting bytes is faster than a search that finds many.
fn count_names(bytes: &[u8]) -> u64 {
    let behind = bytes.get(1..).unwrap_or_default();
    let (others, rest) = behind.as_chunks::<COUNT_CHUNK>();
    let (ones, _) = bytes.as_chunks::<COUNT_CHUNK>();
    let is_name = |one: u8, other: u8| u8::from(one == b'_') & u8::from(other == b'i');
    let counts = ones
        .iter()
        .zip(others)
        .map(|(one, other)| one.iter().zip(other).fold(0, |count, (one, other)| count + is_name(*one, *other)));
    let last = bytes.get(others.len() * COUNT_CHUNK..).unwrap_or_default().iter().zip(rest);
    counts.map(u64::from).sum::<u64>() + last.map(|(one, other)| u64::from(is_name(*one, *other))).sum::<u64>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::id;

    #[test]
    fn id_ends_at_first_forbidden_byte() {
        for byte in 0..=255 {
            for at in 0..CHUNK {
                let mut chunk = *b"doc_A-Z.0123zaz9";
                chunk[at] = byte;
                assert_eq!(id_len(&chunk), if id::is_allowed(byte) { CHUNK } else { at }, "{byte} {at}");
            }
        }
    }

    #[test]
    fn counts_names_at_every_position() {
        for len in [0, 1, 2, 127, 128, 129, 130, 256, 257, 500] {
            for at in 0..len {
                let mut bytes = vec![b'x'; len];
                bytes[at] = b'_';
                assert_eq!(count_names(&bytes), 0);
                if let Some(other) = bytes.get_mut(at + 1) {
                    *other = b'i';
                    assert_eq!(count_names(&bytes), 1, "{len} {at}");
                }
            }
            assert_eq!(count_names(&b"_i".repeat(len)), len as u64);
        }
    }

    #[test]
    fn agrees_with_line_parser() {
        for len in [1, 2, 14, 15, 16, 17, 100] {
            let id = "a".repeat(len);
            for line in [
                format!("{{\"_id\":\"{id}\"}}"),
                format!("{{\"_id\":\"{id}\",\"x\":1}}\r"),
                format!("{{\"_id\": \"{id}\"}}"),
            ] {
                for end in ["", "\n", " \r\n", "{\"_id\":\"last\"}\n"] {
                    let mut out = b"before".to_vec();
                    let text = format!("{line}\n{end}");
                    let count = plain_entries(text.as_bytes(), 77, &mut out);
                    let mut expected = b"before".to_vec();
                    for line in lines_from(text.as_bytes(), 77, 0) {
                        let length = u32::try_from(line.end - line.offset).unwrap();
                        let id = line.plain_id().unwrap().as_bytes();
                        put(&Entry { id, offset: line.offset, length }, &mut expected).unwrap();
                    }
                    assert_eq!(count, Some(if end.contains('{') { 2 } else { 1 }), "{text}");
                    assert_eq!(out, expected, "{text}");
                }
            }
        }
    }

    #[test]
    fn declines_unusual_lines() {
        for other in [
            "{\"_id\":\"\"}\n",
            "{\"_id\":\"b\" }\n",
            "{\"_id\":\"b\n",
            "{\"_id\":\"b\"\n",
            "{\"_id\":\"b\",\"_id\":\"c\"}\n",
            "{\"_id\":\"b\",\"\\u005fid\":\"c\"}\n",
            "{\"_id\":\"b_i\"}\n",
            "{\"_id\":\"b\"}",
            "{\"x\":1,\"_id\":\"b\"}\n",
            "{\"_Id\":\"b\"}\n",
            "x\n",
        ] {
            for text in [format!("{other}{{\"_id\":\"abcdefghijklmnop\"}}\n"), format!("{{\"_id\":\"a\"}}\n{other}")] {
                let mut out = b"before".to_vec();
                // A line without a line feed has to be the last one.
                if !other.ends_with('\n') && text.starts_with(other) {
                    continue;
                }
                assert_eq!(plain_entries(text.as_bytes(), 0, &mut out), None, "{text}");
                assert_eq!(out, b"before");
            }
        }
        assert_eq!(plain_entries("\u{feff}{\"_id\":\"a\"}\n".as_bytes(), 0, &mut Vec::new()), Some(1));
        assert_eq!(plain_entries("\u{feff}{\"_id\":\"a\"}\n".as_bytes(), 1, &mut Vec::new()), None);
    }
}
