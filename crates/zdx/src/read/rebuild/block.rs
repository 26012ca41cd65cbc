//! Lines as nearly all are: each begins with a plain id, and nothing in them can be another one.

use crate::read::plain::BEGIN;
use crate::wire::index::{AROUND, Entry, put};
use crate::wire::lines::{ESCAPE, lines_from};

/// Bytes of an id that are looked at together.
const CHUNK: usize = 16;

/// Bytes in which names are counted together: of so few the number fits into a byte.
const NAMES: usize = 128;

/// Puts the entries of all lines of a block behind what there is, if each begins with a plain id and none can have another one: then nothing has
/// to be searched in each of them. How many they are; nothing, and nothing is put there, where that is not so.
pub(super) fn plain_entries(block: &[u8], offset: u64, out: &mut Vec<u8>) -> Option<u64> {
    let (before, names) = (out.len(), count_names(block));
    let count = if ESCAPE.find(block).is_none() { put_lines(block, offset, names, out) } else { None };
    // Each line has one `_i`, in front of its id; an id may have more of them, and then it is not known where they are.
    let count = count.filter(|count| *count == names);
    if count.is_none() {
        out.truncate(before);
    }
    count
}

fn put_lines(block: &[u8], offset: u64, most: u64, out: &mut Vec<u8>) -> Option<u64> {
    let (mut rest, mut at, mut count) = (block, offset, 0);
    while !rest.is_empty() {
        let end = memchr::memchr(b'\n', rest)? + 1;
        count += match put_plain(rest, at, end, out).or_else(|| put_other(rest.get(..end)?, at, out)) {
            Some(some) if count + some <= most => some,
            _ => return None,
        };
        rest = rest.get(end..)?;
        at += u64::try_from(end).ok()?;
    }
    Some(count)
}

/// The entry of the line of so many bytes with which these begin, if it is as the reference writes it and its id is short.
#[inline(always)]
fn put_plain(bytes: &[u8], offset: u64, length: usize, out: &mut Vec<u8>) -> Option<u64> {
    let (begin, behind) = bytes.split_first_chunk()?;
    // What is behind the line cannot be taken for it: a line feed is in no id, and is not what ends one.
    let chunk: &[u8; CHUNK] = behind.first_chunk()?;
    let len = id_len(chunk);
    if u64::from_le_bytes(*begin) != BEGIN || !(1..CHUNK).contains(&len) {
        return None;
    }
    let [b'"', b',' | b'}', ..] = behind.get(len..)? else { return None };
    let (id_len, length) = (u16::try_from(len).ok()?, u32::try_from(length).ok()?);
    // Of a known number of bytes, and what is too much is taken back.
    let mut entry = [0; 2 + CHUNK + AROUND];
    let (head, rest) = entry.split_first_chunk_mut()?;
    (*head, *rest.first_chunk_mut()?) = (id_len.to_le_bytes(), *chunk);
    let (place, rest) = rest.get_mut(len..)?.split_first_chunk_mut()?;
    (*place, *rest.first_chunk_mut()?) = (offset.to_le_bytes(), length.to_le_bytes());
    let all = out.len() + AROUND + len;
    out.extend_from_slice(&entry);
    out.truncate(all);
    Some(1)
}

/// The entry of any line that begins with a plain id; none where it is empty.
fn put_other(line: &[u8], offset: u64, out: &mut Vec<u8>) -> Option<u64> {
    let Some(line) = lines_from(line, offset, 0).next() else { return Some(0) };
    let (id, length) = (line.begins_with_id()?, u32::try_from(line.end - line.offset).ok()?);
    put(&Entry { id, offset: line.offset, length }, out).ok()?;
    Some(1)
}

/// With how many bytes that may stand in an id these begin: a look at all of them takes fewer steps than one at each.
#[inline(always)]
fn id_len(chunk: &[u8; CHUNK]) -> usize {
    let others = chunk.iter().enumerate().fold(1 << CHUNK, |others, (place, byte)| {
        let letter = (byte | 0x20).wrapping_sub(b'a') < 26;
        let is_allowed = letter | (byte.wrapping_sub(b'0') < 10) | (byte.wrapping_sub(b'-') < 2) | (*byte == b'_');
        others | u32::from(!is_allowed) << place
    });
    others.trailing_zeros().try_into().unwrap_or(CHUNK)
}

/// How often `_i` stands there. Counted by bytes, which is faster than a search where there are many.
fn count_names(bytes: &[u8]) -> u64 {
    let behind = bytes.get(1..).unwrap_or_default();
    let (others, rest) = behind.as_chunks::<NAMES>();
    let (ones, _) = bytes.as_chunks::<NAMES>();
    let is_name = |one: u8, other: u8| u8::from(one == b'_') & u8::from(other == b'i');
    let counts = ones
        .iter()
        .zip(others)
        .map(|(one, other)| one.iter().zip(other).fold(0, |count, (one, other)| count + is_name(*one, *other)));
    let last = bytes.get(others.len() * NAMES..).unwrap_or_default().iter().zip(rest);
    counts.map(u64::from).sum::<u64>() + last.map(|(one, other)| u64::from(is_name(*one, *other))).sum::<u64>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::id;

    #[test]
    fn ids_end_at_what_is_in_none() {
        for byte in 0..=255 {
            for place in 0..CHUNK {
                let mut chunk = *b"doc_A-Z.0123zaz9";
                chunk[place] = byte;
                assert_eq!(id_len(&chunk), if id::allowed(byte) { CHUNK } else { place }, "{byte} {place}");
            }
        }
    }

    #[test]
    fn names_are_counted_wherever_they_stand() {
        for len in [0, 1, 2, 127, 128, 129, 130, 256, 257, 500] {
            for place in 0..len {
                let mut bytes = vec![b'x'; len];
                bytes[place] = b'_';
                assert_eq!(count_names(&bytes), 0);
                if let Some(other) = bytes.get_mut(place + 1) {
                    *other = b'i';
                    assert_eq!(count_names(&bytes), 1, "{len} {place}");
                }
            }
            assert_eq!(count_names(&b"_i".repeat(len)), len as u64);
        }
    }

    #[test]
    fn entries_are_those_of_the_lines() {
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
                    let mut wanted = b"before".to_vec();
                    for line in lines_from(text.as_bytes(), 77, 0) {
                        let length = u32::try_from(line.end - line.offset).unwrap();
                        let id = line.plain_id().unwrap().as_bytes();
                        put(&Entry { id, offset: line.offset, length }, &mut wanted).unwrap();
                    }
                    assert_eq!(count, Some(if end.contains('{') { 2 } else { 1 }), "{text}");
                    assert_eq!(out, wanted, "{text}");
                }
            }
        }
    }

    #[test]
    fn what_could_be_otherwise_is_not_taken() {
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
                // A line that is not ended has to be the last one.
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
