//! Inspects a sample's message.

use container_core::{Error, Result};

use crate::numpy;
use crate::value::RawValue;
use crate::wire::{Token, Tokens, utf8};

/// Maximum number of fields whose names are compared pairwise; more are sorted.
const PAIRWISE: usize = 16;

/// Bytes of a string that cost as much as one value.
const STRING_BYTES_PER_UNIT: u64 = 16;

/// A defect of a complete message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flaw {
    NotAMap,
    NoKey,
    KeyNotStr,
    DuplicateField,
    ReservedField,
    /// A map key is a map or an array.
    CompositeName,
    Numpy,
}

/// A complete message.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Message<'a> {
    pub(crate) bytes: &'a [u8],
    /// The key, if it is a str.
    pub(crate) key: Option<&'a str>,
    /// The value of the field `key`, of any type.
    pub(crate) key_value: Option<RawValue<'a>>,
    /// A hash of the field names in order, if [`Budget::hash_names`] is set.
    pub(crate) names: u64,
}

/// Limits of an inspection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Budget {
    /// Maximum nesting.
    pub(crate) depth: u32,
    /// Units of work left: one per value, and one per 16 bytes of a string.
    pub(crate) work: u64,
    /// Whether to compute [`Message::names`].
    pub(crate) hash_names: bool,
}

impl Budget {
    pub(crate) const fn unbounded(depth: u32) -> Self {
        Self { depth, work: u64::MAX, hash_names: false }
    }

    #[inline]
    pub(crate) fn spend(&mut self, cost: u64) -> Result<()> {
        match self.work.checked_sub(cost) {
            Some(left) => self.work = left,
            None => return Err(exhausted()),
        }
        Ok(())
    }
}

#[cold]
fn exhausted() -> Error {
    Error::limit("work per message", 1, 0)
}

/// Inspects the next message: every length, the nesting, UTF-8 in every str. `report` receives the defects of a message that is complete
/// msgpack.
///
/// # Errors
/// Why it is not complete; `report` may have been called before.
pub(crate) fn inspect<'a>(
    tokens: &mut Tokens<'a>,
    budget: &mut Budget,
    report: &mut dyn FnMut(Flaw, Error),
) -> Result<Message<'a>> {
    let start = *tokens;
    let at = start.offset();
    let Token::Map(count) = tokens.next()? else {
        *tokens = start;
        let name = start.clone().next()?.name();
        skip_value(tokens, 0, budget, &mut Contents::default())?;
        report(Flaw::NotAMap, Error::invalid(format!("expected a map as sample, found {name}")).at(at));
        return Ok(Message { bytes: bytes_between(&start, tokens), key: None, key_value: None, names: 0 });
    };
    check_members(2 * u64::from(count), tokens, at)?;
    if budget.depth == 0 {
        return Err(too_deep(1, 0, at));
    }
    let mut names = Names { hashed: budget.hash_names, ..Names::default() };
    let (mut key, mut key_value, mut contents) = (None, None, Contents::default());
    for _ in 0..count {
        let here = *tokens;
        let name = match tokens.short_str() {
            Some(name) => {
                budget.spend(2)?;
                check_utf8(name, tokens)?;
                Name { bytes: name, text: true }
            }
            None => match tokens.next()? {
                Token::Str(name) => {
                    budget.spend(2 + name.len() as u64 / STRING_BYTES_PER_UNIT)?;
                    check_utf8(name, tokens)?;
                    Name { bytes: name, text: true }
                }
                _ => {
                    *tokens = here;
                    contents.check_name(here);
                    skip_value(tokens, 1, budget, &mut contents)?;
                    Name { bytes: bytes_between(&here, tokens), text: false }
                }
            },
        };
        if !names.insert(name) {
            report(Flaw::DuplicateField, Error::invalid(format!("duplicate field {name}")).at(here.offset()));
        }
        if name.text && matches!(name.bytes, b"nd" | b"complex") {
            let detail = format!("field name {name} is reserved for numpy values");
            report(Flaw::ReservedField, Error::invalid(detail).at(here.offset()));
        }
        let value = *tokens;
        let is_key = name.text && name.bytes == b"key" && key_value.is_none();
        skip_value(tokens, 1, budget, &mut contents)?;
        if is_key {
            let raw = RawValue::at(bytes_between(&value, tokens), value.offset());
            key_value = Some(raw);
            match value.clone().next()? {
                Token::Str(bytes) => key = Some(utf8(bytes, tokens.offset())?),
                other => {
                    let detail = format!("key: expected a str, found {}", other.name());
                    report(Flaw::KeyNotStr, Error::invalid(detail).at(raw.offset()));
                }
            }
        }
    }
    if let Some(duplicate) = names.find_duplicate() {
        report(Flaw::DuplicateField, Error::invalid(format!("duplicate field {duplicate}")).at(at));
    }
    if key_value.is_none() {
        report(Flaw::NoKey, Error::invalid("the sample has no key").at(at));
    }
    if let Some(offset) = contents.composite_name {
        let detail = "map key is a map or an array, which Python cannot read";
        report(Flaw::CompositeName, Error::invalid(detail).at(offset));
    }
    let message = Message { bytes: bytes_between(&start, tokens), key, key_value, names: names.hash };
    if contents.has_maps || names.binary {
        check_numpy(&message, at, report);
    }
    Ok(message)
}

/// What the values of a sample contain.
#[derive(Default)]
struct Contents {
    has_maps: bool,
    /// The offset of the first map key that is a map or an array.
    composite_name: Option<u64>,
}

impl Contents {
    /// Checks the next token, a map key.
    #[inline]
    fn check_name(&mut self, tokens: Tokens<'_>) {
        if matches!(tokens.peek(), Some(0x80..=0x9f | 0xdc..=0xdf)) {
            self.composite_name.get_or_insert(tokens.offset());
        }
    }
}

/// Checks all maps that encode numpy values, and that the sample itself is not one.
fn check_numpy(message: &Message<'_>, at: u64, report: &mut dyn FnMut(Flaw, Error)) {
    let mut tokens = Tokens::at(message.bytes, at);
    while !tokens.is_empty() {
        let here = tokens;
        // Cannot fail: the message is complete.
        let Ok(token) = tokens.next() else { return };
        let Token::Map(count) = token else { continue };
        if !numpy::sniff(tokens, count) {
            continue;
        }
        match numpy::read(RawValue::at(here.rest(), here.offset())) {
            Err(error) => report(Flaw::Numpy, error.at(here.offset())),
            Ok(Some(_)) if here.offset() == at => {
                let detail = "Python decodes the sample as a numpy value and does not see its fields";
                report(Flaw::Numpy, Error::invalid(detail).at(at));
            }
            Ok(_) => {}
        }
    }
}

/// Skips and checks one value at nesting depth `level`.
#[inline]
fn skip_value(tokens: &mut Tokens<'_>, level: u32, budget: &mut Budget, contents: &mut Contents) -> Result<()> {
    budget.spend(1)?;
    if let Some(bytes) = tokens.short_str() {
        return check_utf8(bytes, tokens);
    }
    // Most other values are skipped by length.
    if !matches!(tokens.peek(), Some(0x80..=0x9f | 0xd9..=0xdf)) {
        return tokens.skip().map(drop);
    }
    let at = tokens.offset();
    match tokens.next()? {
        Token::Str(bytes) => {
            budget.spend(bytes.len() as u64 / STRING_BYTES_PER_UNIT)?;
            check_utf8(bytes, tokens)
        }
        Token::Array(count) => skip_members(tokens, count.into(), false, level, budget, contents, at),
        Token::Map(count) => {
            contents.has_maps = true;
            skip_members(tokens, 2 * u64::from(count), true, level, budget, contents, at)
        }
        _ => Ok(()),
    }
}

/// Skips and checks the members of an array or a map whose header was read, at any depth. Not recursive.
fn skip_members(
    tokens: &mut Tokens<'_>,
    count: u64,
    is_map: bool,
    level: u32,
    budget: &mut Budget,
    contents: &mut Contents,
    at: u64,
) -> Result<()> {
    // Values still to come on this level and whether it is a map; and the same for unfinished levels around it.
    let mut pending = 0;
    let (mut is_map, mut level) = (is_map, level);
    let mut outer_levels: Vec<(u64, bool, u32)> = Vec::new();
    let mut opened = Some((count, is_map, at));
    loop {
        if let Some((count, map, at)) = opened {
            check_members(count, tokens, at)?;
            if level >= budget.depth {
                return Err(too_deep(level + 1, budget.depth, at));
            }
            if pending > 0 {
                outer_levels.push((pending, is_map, level));
            }
            (pending, is_map, level) = (count, map, level + 1);
        }
        while pending == 0 {
            let Some(outer) = outer_levels.pop() else { return Ok(()) };
            (pending, is_map, level) = outer;
        }
        if is_map && pending.is_multiple_of(2) {
            contents.check_name(*tokens);
        }
        pending -= 1;
        budget.spend(1)?;
        let at = tokens.offset();
        opened = match tokens.next()? {
            Token::Str(bytes) => {
                budget.spend(bytes.len() as u64 / STRING_BYTES_PER_UNIT)?;
                check_utf8(bytes, tokens)?;
                None
            }
            Token::Array(count) => Some((u64::from(count), false, at)),
            Token::Map(count) => {
                contents.has_maps = true;
                Some((2 * u64::from(count), true, at))
            }
            _ => None,
        };
    }
}

/// Every member takes at least one byte.
#[inline]
fn check_members(count: u64, tokens: &Tokens<'_>, at: u64) -> Result<()> {
    let left = tokens.remaining();
    if count <= left { Ok(()) } else { Err(Error::truncated("the members of an array or a map", count, left).at(at)) }
}

#[cold]
fn too_deep(level: u32, depth: u32, at: u64) -> Error {
    Error::limit("nesting depth", level.into(), depth.into()).at(at)
}

#[inline]
fn check_utf8(bytes: &[u8], tokens: &Tokens<'_>) -> Result<()> {
    // Names and labels are mostly short and ASCII.
    if bytes.len() <= 32 && bytes.is_ascii() {
        return Ok(());
    }
    utf8(bytes, tokens.offset()).map(drop)
}

/// The bytes between two positions.
fn bytes_between<'a>(start: &Tokens<'a>, end: &Tokens<'a>) -> &'a [u8] {
    let len = start.rest().len() - end.rest().len();
    start.rest().get(..len).unwrap_or_default()
}

/// A field name: a str, or any other value in its encoding.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Name<'a> {
    bytes: &'a [u8],
    text: bool,
}

impl std::fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.text, std::str::from_utf8(self.bytes)) {
            (true, Ok(name)) => write!(f, "{name:?}"),
            _ => {
                let value = RawValue::new(self.bytes).value();
                value.map_or(Ok(()), |value| write!(f, "{value}"))
            }
        }
    }
}

/// The field names of a map: finds duplicates and hashes the names.
#[derive(Default)]
struct Names<'a> {
    first: [Name<'a>; PAIRWISE],
    len: usize,
    /// All names, once there are more than `PAIRWISE`.
    all: Vec<Name<'a>>,
    hashed: bool,
    hash: u64,
    /// One of them is a bin, as in numpy values.
    binary: bool,
}

impl<'a> Names<'a> {
    /// Adds a name; false if it is a duplicate. Past `PAIRWISE` names, only [`find_duplicate`](Self::find_duplicate) knows.
    #[inline]
    fn insert(&mut self, name: Name<'a>) -> bool {
        if self.hashed {
            for byte in name.bytes.iter().take(32) {
                self.hash = (self.hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
            }
            self.hash = (self.hash ^ name.bytes.len() as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        }
        self.binary |= !name.text;
        if let Some(slot) = self.first.get_mut(self.len) {
            *slot = name;
            self.len += 1;
            let before = self.first.get(..self.len - 1).unwrap_or_default();
            return !before.contains(&name);
        }
        if self.all.is_empty() {
            self.all.extend_from_slice(&self.first);
        }
        self.all.push(name);
        true
    }

    /// A duplicate among more than `PAIRWISE` names.
    fn find_duplicate(&mut self) -> Option<Name<'a>> {
        self.all.sort_unstable();
        let pair = self.all.windows(2).find(|pair| pair.first() == pair.last());
        pair.and_then(|pair| pair.first().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flaws(bytes: &[u8]) -> Result<Vec<(Flaw, String)>> {
        let mut flaws = Vec::new();
        let mut tokens = Tokens::at(bytes, 100);
        let message = inspect(&mut tokens, &mut Budget::unbounded(4), &mut |flaw, error| {
            flaws.push((flaw, error.to_string()));
        })?;
        assert_eq!(message.bytes.len() + tokens.rest().len(), bytes.len());
        Ok(flaws)
    }

    fn one(bytes: &[u8]) -> (Flaw, String) {
        let mut flaws = flaws(bytes).unwrap();
        assert_eq!(flaws.len(), 1, "{flaws:?}");
        flaws.pop().unwrap()
    }

    #[test]
    fn valid_samples_have_no_flaws() {
        assert_eq!(flaws(b"\x82\xa3key\xa1a\xa1x\x92\x01\x02").unwrap(), []);
        assert_eq!(flaws(b"\x82\x05\x06\xa3key\xa1a").unwrap(), []);
    }

    #[test]
    fn reports_flaws_of_complete_messages() {
        let flaw = |flaw, text: &str| (flaw, text.to_owned());
        assert_eq!(one(b"\x05"), flaw(Flaw::NotAMap, "expected a map as sample, found an integer (byte 100)"));
        assert_eq!(one(b"\x81\xa1x\x01"), flaw(Flaw::NoKey, "the sample has no key (byte 100)"));
        assert_eq!(one(b"\x81\xa3key\x01"), flaw(Flaw::KeyNotStr, "key: expected a str, found an integer (byte 105)"));
        let duplicate = one(b"\x83\xa3key\xa1a\xa1x\x01\xa1x\x02");
        assert_eq!(duplicate, flaw(Flaw::DuplicateField, r#"duplicate field "x" (byte 110)"#));
        assert_eq!(one(b"\x83\xa3key\xa1a\x07\x01\x07\x02").1, "duplicate field 7 (byte 109)");
        assert_eq!(one(b"\x82\xa3key\xa1a\xa2nd\x01").0, Flaw::ReservedField);
        let composite = "map key is a map or an array, which Python cannot read";
        assert_eq!(one(b"\x82\xa3key\xa1a\x90\x01"), flaw(Flaw::CompositeName, &format!("{composite} (byte 107)")));
        assert_eq!(one(b"\x82\xa3key\xa1a\x05\x92\x01\x82\x01\x80\x80\x02").1, format!("{composite} (byte 113)"));
        assert_eq!(flaws(b"\x82\xa3key\xa1a\x05\x92\x80\x81\x01\x90").unwrap(), []);
    }

    #[test]
    fn finds_a_duplicate_among_many_names() {
        let mut bytes = vec![0xde, 0, 41, 0xa3, b'k', b'e', b'y', 0xa1, b'a'];
        (0..40u8).for_each(|n| bytes.extend([0xa1, b'A' + n, 1]));
        assert_eq!(flaws(&bytes).unwrap(), []);
        let last = bytes.len() - 2;
        bytes[last] = b'B';
        assert_eq!(one(&bytes), (Flaw::DuplicateField, r#"duplicate field "B" (byte 100)"#.to_owned()));
    }

    #[test]
    fn rejects_incomplete_messages() {
        let error = |bytes: &[u8]| flaws(bytes).unwrap_err().to_string();
        assert_eq!(error(b"\x82\xa3key\xa1a\xa1x"), "a value: needs 1 byte, 0 available (byte 109)");
        assert_eq!(error(b"\x81\xa3key\xa1\xff"), "invalid UTF-8 in a str: byte 0xff (byte 106)");
        assert_eq!(error(b"\x81\xa3key\xdb\xff\xff\xff\xff"), "a str: needs 4294967295 bytes, 0 available (byte 110)");
        let nested = b"\x81\xa1x\x91\x91\x91\x91\x00";
        assert_eq!(error(nested), "nesting depth 5 exceeds the limit 4 (byte 106)");
        assert_eq!(error(b"\x8f\xa1x"), "the members of an array or a map: needs 30 bytes, 2 available (byte 100)");
    }

    #[test]
    fn rejects_arrays_of_the_wrong_size() {
        let mut bytes =
            b"\x82\xa3key\xa1a\xa1x\x85\xc4\x02nd\xc3\xc4\x04type\xa3<i2\xc4\x04kind\xc4\0\xc4\x05shape\x91\x02"
                .to_vec();
        bytes.extend(b"\xc4\x04data\xc4\x04\x01\x02\x03\x04");
        assert_eq!(flaws(&bytes).unwrap(), []);
        let at = bytes.len() - 5 - 7 - 1;
        assert_eq!(bytes[at..at + 2], [2, 0xc4]);
        bytes[at] = 3;
        assert_eq!(one(&bytes).0, Flaw::Numpy);
    }

    #[test]
    fn work_is_bounded() {
        let bytes = [&[0xdd, 0, 0, 0x10, 0][..], &[1; 0x1000]].concat();
        let mut budget = Budget { depth: 9, work: 100, hash_names: true };
        let error = inspect(&mut Tokens::at(&bytes, 0), &mut budget, &mut |_, _| {}).unwrap_err();
        assert_eq!(error.to_string(), "work per message 1 exceeds the limit 0");
    }
}
