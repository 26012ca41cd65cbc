//! Decoding of JSON strings.

use std::borrow::Cow;

/// What to do with a lone surrogate.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LoneSurrogate {
    Reject,
    KeepEscape,
}

/// Decodes a validated, quoted string; `None` for anything else.
pub(super) fn unescaped(text: &str, lone: LoneSurrogate) -> Option<Cow<'_, str>> {
    let inner = text.strip_prefix('"')?.strip_suffix('"')?;
    let Some(first) = inner.find('\\') else { return Some(Cow::Borrowed(inner)) };
    let (plain, mut rest) = inner.split_at_checked(first)?;
    let mut out = plain.to_owned();
    while let Some(place) = rest.find('\\') {
        let (plain, escaped) = rest.split_at_checked(place)?;
        out.push_str(plain);
        let kind = escaped.as_bytes().get(1)?;
        let mut len = 2;
        match kind {
            b'b' => out.push('\u{8}'),
            b'f' => out.push('\u{c}'),
            b'n' => out.push('\n'),
            b'r' => out.push('\r'),
            b't' => out.push('\t'),
            b'u' => {
                len = 6;
                let unit = unit(escaped)?;
                let next =
                    escaped.get(6..).and_then(|next| next.starts_with("\\u").then(|| self::unit(next)).flatten());
                let units = [unit, next.unwrap_or(0)];
                match char::decode_utf16(units).next() {
                    Some(Ok(found)) => {
                        len *= found.len_utf16();
                        out.push(found);
                    }
                    _ if lone == LoneSurrogate::Reject => return None,
                    _ => out.push_str(escaped.get(..6)?),
                }
            }
            other => out.push(char::from(*other)),
        }
        rest = escaped.get(len..)?;
    }
    out.push_str(rest);
    Some(Cow::Owned(out))
}

/// The four hexadecimal digits of an escape.
fn unit(escape: &str) -> Option<u16> {
    u16::from_str_radix(escape.get(2..6)?, 16).ok()
}
