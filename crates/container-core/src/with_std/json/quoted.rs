//! Strings as they are written.

use std::borrow::Cow;

/// A string as it is written, without its quotes. Its escapes are valid.
///
/// Two words, as others would be returned through memory: a text with escapes keeps its opening quote, which no other text begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quoted<'j>(&'j str);

pub(super) const fn is_surrogate(code: u32) -> bool {
    matches!(code, 0xd800..0xe000)
}

pub(super) const fn is_high_surrogate(code: u32) -> bool {
    matches!(code, 0xd800..0xdc00)
}

pub(super) const fn is_low_surrogate(code: u32) -> bool {
    matches!(code, 0xdc00..0xe000)
}

impl<'j> Quoted<'j> {
    /// A text without escapes, or one with escapes and its opening quote.
    #[inline(always)]
    pub(super) const fn new(text: &'j str) -> Self {
        Self(text)
    }

    /// The text as it is written.
    #[inline]
    #[must_use]
    pub fn raw(self) -> &'j str {
        self.0.strip_prefix('"').unwrap_or(self.0)
    }

    /// The text, if it has no escapes.
    #[inline]
    #[must_use]
    pub fn plain(self) -> Option<&'j str> {
        if self.0.as_bytes().first() == Some(&b'"') { None } else { Some(self.0) }
    }

    /// The text; `None` if it has a [lone surrogate](super::Tokenizer::with_lone_surrogates).
    #[must_use]
    pub fn unescape(self) -> Option<Cow<'j, str>> {
        if let Some(plain) = self.plain() {
            return Some(Cow::Borrowed(plain));
        }
        let mut text = String::new();
        self.unescape_into(&mut text).then_some(Cow::Owned(text))
    }

    /// Appends the text; false if it has a [lone surrogate](super::Tokenizer::with_lone_surrogates), up to which it is appended.
    #[must_use]
    pub fn unescape_into(self, text: &mut String) -> bool {
        let mut rest = self.raw();
        while let Some((plain, escape)) = rest.split_once('\\') {
            text.push_str(plain);
            let Some((character, after)) = decode(escape) else { return false };
            text.push(character);
            rest = after;
        }
        text.push_str(rest);
        true
    }
}

/// The character of an escape, given from after its backslash, and what follows it; `None` for a lone surrogate.
fn decode(escape: &str) -> Option<(char, &str)> {
    let after = escape.get(1..)?;
    let character = match escape.as_bytes().first()? {
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'u' => return decode_code(after),
        other => char::from(*other), // a quote, a slash or a backslash
    };
    Some((character, after))
}

fn decode_code(digits: &str) -> Option<(char, &str)> {
    let (mut code, mut after) = split_code(digits)?;
    if is_high_surrogate(code)
        && let Some(low) = after.strip_prefix("\\u")
    {
        let (low, end) = split_code(low)?;
        if is_low_surrogate(low) {
            (code, after) = (0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00), end);
        }
    }
    Some((char::from_u32(code)?, after))
}

fn split_code(digits: &str) -> Option<(u32, &str)> {
    let (digits, after) = digits.split_at_checked(4)?;
    Some((u32::from_str_radix(digits, 16).ok()?, after))
}
