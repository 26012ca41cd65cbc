//! What nearly every look-up meets: a line as writers leave it, that begins with the id that was asked for. It is made out in few steps, so that
//! a processor that waits for one line goes on to the next look-up; whatever is otherwise is left to [`line`](crate::read::line).

/// Bytes that are compared at once.
const WORD: usize = 8;

/// Bytes of a line that are looked at together.
const CHUNK: usize = 64;

/// Longer lines are searched as any bytes.
const LONG: usize = 1 << 10;

/// With which a document begins.
pub(crate) const BEGIN: u64 = u64::from_le_bytes(*b"{\"_id\":\"");

/// The line of so many bytes from `offset` on, without the line feed that is its last byte. Nothing where it is no such line, or the first one,
/// or a carriage return is in front of the line feed.
#[inline(always)]
pub(crate) fn plain_line(data: &[u8], offset: u64, length: u32) -> Option<&[u8]> {
    let start = usize::try_from(offset).ok()?;
    let end = start.checked_add(usize::try_from(length).ok()?)?;
    // A line begins behind a line feed.
    let [b'\n', line @ .., b'\n'] = data.get(start.checked_sub(1)?..end)? else { return None };
    (!has_feed(line) && line.last() != Some(&b'\r')).then_some(line)
}

/// Is there a line feed? Lines of about one length take the same way, so that the processor foresees it: what it does beforehand for the next
/// look-ups is not in vain. (It is a function of its own, as the compiler makes single bytes of it where it knows more of the line.)
#[inline(never)]
fn has_feed(line: &[u8]) -> bool {
    let Some(last) = line.last_chunk().filter(|_| line.len() <= LONG) else {
        return memchr::memchr(b'\n', line).is_some();
    };
    line.as_chunks().0.iter().fold(feeds(last), |found, chunk| found | feeds(chunk)) != 0
}

/// Nothing is decided within: so all of it is done by few steps.
#[inline(always)]
fn feeds(chunk: &[u8; CHUNK]) -> u8 {
    chunk.iter().fold(0, |found, byte| found | u8::from(*byte == b'\n'))
}

/// Does a document begin with this `_id`, as nearly all do? Another one may follow: it is the index that says which of them holds.
#[inline(always)]
pub(crate) fn begins_with_id(document: &[u8], id: &[u8]) -> bool {
    let value = match document.split_first_chunk() {
        Some((begin, value)) if u64::from_le_bytes(*begin) == BEGIN => value,
        _ => match document.strip_prefix(b"{\"_id\": \"") {
            Some(value) => value,
            None => return false,
        },
    };
    let Some((found, [b'"', b',' | b'}', ..])) = value.split_at_checked(id.len()) else { return false };
    is_same(found, id) && !has_escape(id)
}

/// The same as `==`, for what is mostly a few bytes long.
#[inline(always)]
pub(crate) fn is_same(one: &[u8], other: &[u8]) -> bool {
    if one.len() != other.len() {
        return false;
    }
    match (ends(one), ends(other)) {
        (Some(one), Some(other)) => one == other,
        _ => one == other,
    }
}

/// The first and the last word of 8 to 16 bytes: all of them.
#[inline]
fn ends(bytes: &[u8]) -> Option<(u64, u64)> {
    if bytes.len() > 2 * WORD {
        return None;
    }
    let (first, last) = (bytes.first_chunk()?, bytes.last_chunk()?);
    Some((u64::from_le_bytes(*first), u64::from_le_bytes(*last)))
}

/// The same as of the standard library, for what is mostly a few bytes long.
#[inline(always)]
pub(crate) fn is_ascii(bytes: &[u8]) -> bool {
    const HIGH: u64 = u64::from_le_bytes([0x80; WORD]);
    match ends(bytes) {
        Some((first, last)) => (first | last) & HIGH == 0,
        None => bytes.is_ascii(),
    }
}

/// Are there bytes that JSON would have escaped?
#[inline(always)]
fn has_escape(id: &[u8]) -> bool {
    match ends(id) {
        Some((first, last)) => has(first) | has(last),
        None => id.iter().any(|byte| matches!(byte, b'"' | b'\\')),
    }
}

/// Is a byte of this word a quotation mark or a backslash?
#[inline(always)]
const fn has(word: u64) -> bool {
    const ONES: u64 = u64::from_le_bytes([1; WORD]);
    let (quotes, slashes) = (word ^ (ONES * b'"' as u64), word ^ (ONES * b'\\' as u64));
    // A byte of zeros takes a one from the next higher place.
    let quote = quotes.wrapping_sub(ONES) & !quotes;
    let slash = slashes.wrapping_sub(ONES) & !slashes;
    (quote | slash) & (ONES << 7) != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_lines_are_taken_and_no_others() {
        for len in [0, 1, 15, 63, 64, 65, 127, 128, 129, 200, LONG, LONG + 1, 5000] {
            let line: Vec<u8> = (0..len).map(|n| b'a' + u8::try_from(n % 26).unwrap()).collect();
            let data = [b"x\n", &line[..], b"\nrest\n"].concat();
            let length = u32::try_from(len).unwrap() + 1;
            assert_eq!(plain_line(&data, 2, length), Some(&line[..]), "{len}");
            for (offset, length) in [(2, length - 1), (2, length + 1), (1, length), (3, length), (2, u32::MAX), (2, 0)]
            {
                assert!(
                    plain_line(&data, offset, length).is_none() || (len, offset) == (0, 1),
                    "{len} {offset} {length}"
                );
            }
            // Wherever a line feed stands, it is seen.
            for place in 2..2 + len {
                let mut data = data.clone();
                data[place] = b'\n';
                assert_eq!(plain_line(&data, 2, length), None, "{len} {place}");
            }
        }
        assert_eq!(plain_line(b"a\n", 0, 2), None);
        assert_eq!(plain_line(b"\na\r\n", 1, 3), None);
        assert_eq!(plain_line(b"\na\n", u64::MAX, 3), None);
        assert_eq!(plain_line(b"\n", 1, 0), None);
    }

    #[test]
    fn bytes_are_the_same_or_not() {
        for len in 0..40 {
            let one: Vec<u8> = (0..len).collect();
            assert!(is_same(&one, &one.clone()));
            assert!(!is_same(&one, &[&one[..], b"x"].concat()));
            for place in 0..one.len() {
                let mut other = one.clone();
                other[place] ^= 1;
                assert!(!is_same(&one, &other), "{len} {place}");
            }
        }
    }

    #[test]
    fn ascii_is_told_at_every_place() {
        for len in 0..40 {
            let bytes = vec![0x7f; len];
            assert!(is_ascii(&bytes));
            for place in 0..len {
                let mut other = bytes.clone();
                other[place] = 0x80;
                assert!(!is_ascii(&other), "{len} {place}");
            }
        }
    }

    #[test]
    fn ids_are_compared_as_they_stand() {
        for id in ["a", "doc-1234", "doc-12345678", "doc-123456789012", "doc-1234567890123", &"long".repeat(60)] {
            for end in [",\"x\":1}", "}"] {
                for begin in ["{\"_id\":\"", "{\"_id\": \""] {
                    let document = format!("{begin}{id}\"{end}");
                    assert!(begins_with_id(document.as_bytes(), id.as_bytes()), "{document}");
                    assert!(!begins_with_id(document.as_bytes(), format!("{id}x").as_bytes()));
                    assert!(!begins_with_id(document.as_bytes(), &id.as_bytes()[1..]));
                    assert!(!begins_with_id(&document.as_bytes()[..begin.len() + id.len() + 1], id.as_bytes()));
                }
            }
            for other in
                [format!("{{\"_id\":\"{id}\" }}"), format!("{{\"_Id\":\"{id}\"}}"), format!("{{\"_id\":  \"{id}\"}}")]
            {
                assert!(!begins_with_id(other.as_bytes(), id.as_bytes()), "{other}");
            }
            // What would have an escape is no id that stands there, wherever it is.
            for place in 0..=id.len() {
                for byte in ["\"", "\\"] {
                    let odd = [&id[..place], byte, &id[place..]].concat();
                    let document = format!("{{\"_id\":\"{odd}\"}}");
                    assert!(!begins_with_id(document.as_bytes(), odd.as_bytes()), "{document}");
                }
            }
        }
        for byte in 0..=255 {
            for place in 0..8 {
                let mut word = *b"abcdefgh";
                word[place] = byte;
                assert_eq!(has(u64::from_le_bytes(word)), matches!(byte, b'"' | b'\\'), "{byte} {place}");
            }
        }
    }
}
