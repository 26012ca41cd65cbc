//! Fast checks for the common look-up: a line as writers produce it, starting with the requested id. Few instructions and few branches let the
//! processor overlap several look-ups. Everything else is left to [`line`](crate::read::line).

/// Bytes compared at once.
const WORD: usize = 8;

/// Bytes searched for a line feed at once.
const CHUNK: usize = 64;

/// Longer lines are searched with `memchr`.
const MAX_CHUNKED: usize = 1 << 10;

/// First bytes of most documents.
pub(crate) const ID_PREFIX: u64 = u64::from_le_bytes(*b"{\"_id\":\"");

/// The line of `length` bytes at `offset`, without its line feed. `None` if it is not exactly one line, does not end with a line feed, ends
/// with CR LF, or is the first line.
#[inline(always)]
pub(crate) fn fast_line(data: &[u8], offset: u64, length: u32) -> Option<&[u8]> {
    let start = usize::try_from(offset).ok()?;
    let end = start.checked_add(usize::try_from(length).ok()?)?;
    // A line begins after a line feed.
    let [b'\n', line @ .., b'\n'] = data.get(start.checked_sub(1)?..end)? else { return None };
    (!has_feed(line) && line.last() != Some(&b'\r')).then_some(line)
}

/// Whether a line contains a line feed. Lines of similar length take the same branches, so the branch predictor can run ahead into the next
/// look-ups. (Not inlined: knowing more about the line, the compiler would go byte by byte.)
#[inline(never)]
fn has_feed(line: &[u8]) -> bool {
    let Some(last) = line.last_chunk().filter(|_| line.len() <= MAX_CHUNKED) else {
        return memchr::memchr(b'\n', line).is_some();
    };
    line.as_chunks().0.iter().fold(feeds_in_chunk(last), |found, chunk| found | feeds_in_chunk(chunk)) != 0
}

/// Branchless, so that the compiler vectorizes it.
#[inline(always)]
fn feeds_in_chunk(chunk: &[u8; CHUNK]) -> u8 {
    chunk.iter().fold(0, |found, byte| found | u8::from(*byte == b'\n'))
}

/// Whether a document begins with this `_id`, as nearly all do. A second `_id` may follow: the index decides which one counts.
#[inline(always)]
pub(crate) fn begins_with_id(document: &[u8], id: &[u8]) -> bool {
    let value = match document.split_first_chunk() {
        Some((begin, value)) if u64::from_le_bytes(*begin) == ID_PREFIX => value,
        _ => match document.strip_prefix(b"{\"_id\": \"") {
            Some(value) => value,
            None => return false,
        },
    };
    let Some((found, [b'"', b',' | b'}', ..])) = value.split_at_checked(id.len()) else { return false };
    is_same(found, id) && !has_escape(id)
}

/// As `==`, but faster for short slices.
#[inline(always)]
pub(crate) fn is_same(one: &[u8], other: &[u8]) -> bool {
    if one.len() != other.len() {
        return false;
    }
    match (first_and_last(one), first_and_last(other)) {
        (Some(one), Some(other)) => one == other,
        _ => one == other,
    }
}

/// The first and last eight bytes of a slice of 8 to 16 bytes, which cover it.
#[inline]
fn first_and_last(bytes: &[u8]) -> Option<(u64, u64)> {
    if bytes.len() > 2 * WORD {
        return None;
    }
    let (first, last) = (bytes.first_chunk()?, bytes.last_chunk()?);
    Some((u64::from_le_bytes(*first), u64::from_le_bytes(*last)))
}

/// As [`<[u8]>::is_ascii`](slice::is_ascii), but faster for short slices.
#[inline(always)]
pub(crate) fn is_ascii(bytes: &[u8]) -> bool {
    const HIGH: u64 = u64::from_le_bytes([0x80; WORD]);
    match first_and_last(bytes) {
        Some((first, last)) => (first | last) & HIGH == 0,
        None => bytes.is_ascii(),
    }
}

/// Whether an id contains bytes that JSON would escape.
#[inline(always)]
fn has_escape(id: &[u8]) -> bool {
    match first_and_last(id) {
        Some((first, last)) => has_quote_or_backslash(first) | has_quote_or_backslash(last),
        None => id.iter().any(|byte| matches!(byte, b'"' | b'\\')),
    }
}

/// Whether a byte of this word is a quotation mark or a backslash.
#[inline(always)]
const fn has_quote_or_backslash(word: u64) -> bool {
    const ONES: u64 = u64::from_le_bytes([1; WORD]);
    let (quotes, slashes) = (word ^ (ONES * b'"' as u64), word ^ (ONES * b'\\' as u64));
    // Subtracting one borrows only from zero bytes.
    let quote = quotes.wrapping_sub(ONES) & !quotes;
    let slash = slashes.wrapping_sub(ONES) & !slashes;
    (quote | slash) & (ONES << 7) != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_plain_lines_only() {
        for len in [0, 1, 15, 63, 64, 65, 127, 128, 129, 200, MAX_CHUNKED, MAX_CHUNKED + 1, 5000] {
            let line: Vec<u8> = (0..len).map(|n| b'a' + u8::try_from(n % 26).unwrap()).collect();
            let data = [b"x\n", &line[..], b"\nrest\n"].concat();
            let length = u32::try_from(len).unwrap() + 1;
            assert_eq!(fast_line(&data, 2, length), Some(&line[..]), "{len}");
            for (offset, length) in [(2, length - 1), (2, length + 1), (1, length), (3, length), (2, u32::MAX), (2, 0)]
            {
                assert!(
                    fast_line(&data, offset, length).is_none() || (len, offset) == (0, 1),
                    "{len} {offset} {length}"
                );
            }
            // A line feed is detected at every position.
            for at in 2..2 + len {
                let mut data = data.clone();
                data[at] = b'\n';
                assert_eq!(fast_line(&data, 2, length), None, "{len} {at}");
            }
        }
        assert_eq!(fast_line(b"a\n", 0, 2), None);
        assert_eq!(fast_line(b"\na\r\n", 1, 3), None);
        assert_eq!(fast_line(b"\na\n", u64::MAX, 3), None);
        assert_eq!(fast_line(b"\n", 1, 0), None);
    }

    #[test]
    fn compares_slices_of_any_length() {
        for len in 0..40 {
            let one: Vec<u8> = (0..len).collect();
            assert!(is_same(&one, &one.clone()));
            assert!(!is_same(&one, &[&one[..], b"x"].concat()));
            for at in 0..one.len() {
                let mut other = one.clone();
                other[at] ^= 1;
                assert!(!is_same(&one, &other), "{len} {at}");
            }
        }
    }

    #[test]
    fn detects_non_ascii_at_every_position() {
        for len in 0..40 {
            let bytes = vec![0x7f; len];
            assert!(is_ascii(&bytes));
            for at in 0..len {
                let mut other = bytes.clone();
                other[at] = 0x80;
                assert!(!is_ascii(&other), "{len} {at}");
            }
        }
    }

    #[test]
    fn compares_ids_verbatim() {
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
            // Ids that JSON would escape never match verbatim.
            for at in 0..=id.len() {
                for byte in ["\"", "\\"] {
                    let id = [&id[..at], byte, &id[at..]].concat();
                    let document = format!("{{\"_id\":\"{id}\"}}");
                    assert!(!begins_with_id(document.as_bytes(), id.as_bytes()), "{document}");
                }
            }
        }
        for byte in 0..=255 {
            for at in 0..8 {
                let mut word = *b"abcdefgh";
                word[at] = byte;
                assert_eq!(
                    has_quote_or_backslash(u64::from_le_bytes(word)),
                    matches!(byte, b'"' | b'\\'),
                    "{byte} {at}"
                );
            }
        }
    }
}
