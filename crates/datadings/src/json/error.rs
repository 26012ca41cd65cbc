//! Locates errors in JSON.

use container_core::Error;

/// The nesting limit of `serde_json`.
const MAX_NESTING: u64 = 127;

/// Converts an error, adding its offset, or the depth if that exceeds the limit.
#[cold]
pub(super) fn json_error(text: &[u8], cause: serde_json::Error) -> Error {
    let line = cause.line().saturating_sub(1);
    let begin = match line {
        0 => 0,
        _ => text.iter().enumerate().filter(|(_, byte)| **byte == b'\n').nth(line - 1).map_or(0, |(at, _)| at + 1),
    };
    let byte = (begin + cause.column().saturating_sub(1)).min(text.len()) as u64;
    let (mut depth, mut deepest) = (0u64, 0u64);
    for_each_outside_strings(text.get(..begin + cause.column()).unwrap_or(text), |_, byte| {
        match byte {
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    });
    if deepest > MAX_NESTING && cause.is_syntax() {
        return Error::limit("JSON nesting depth", deepest, MAX_NESTING).at(byte);
    }
    Error::invalid("invalid JSON").caused_by(cause).at(byte)
}

/// Calls `each` for every byte outside of strings, including their opening quotes.
pub(super) fn for_each_outside_strings(text: &[u8], mut each: impl FnMut(usize, u8)) {
    let mut bytes = text.iter().copied().enumerate();
    while let Some((at, byte)) = bytes.next() {
        each(at, byte);
        if byte == b'"' {
            while let Some((_, byte)) = bytes.next() {
                match byte {
                    b'\\' => drop(bytes.next()),
                    b'"' => break,
                    _ => {}
                }
            }
        }
    }
}
