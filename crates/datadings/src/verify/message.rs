//! One message of a sample, looked at whole.

use container_core::{Error, Result};

use crate::numpy;
use crate::value::RawValue;
use crate::wire::{Token, Tokens, utf8};

/// Names of fields that are compared one by one; more are sorted.
const FEW: usize = 16;

/// Bytes of a text that cost as much as a value.
const TEXT: u64 = 16;

/// What can be wrong with a message that is whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flaw {
    NoMap,
    NoKey,
    KeyNoStr,
    NameTwice,
    Reserved,
    /// The name in some map is a map or an array.
    OddName,
    Numpy,
}

/// A message that is whole.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Message<'a> {
    /// Its bytes.
    pub(crate) bytes: &'a [u8],
    /// The key that it states, where it is text.
    pub(crate) key: Option<&'a str>,
    /// The value of the field `key`, whatever it is.
    pub(crate) key_value: Option<RawValue<'a>>,
    /// A hash of the names of its fields in their order, where it is wanted.
    pub(crate) names: u64,
}

/// What may be spent on looking.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Allowance {
    /// Nesting.
    pub(crate) depth: u32,
    /// Values, and texts by their length.
    pub(crate) fuel: u64,
    /// Whether [`Message::names`] is wanted.
    pub(crate) names: bool,
}

impl Allowance {
    pub(crate) const fn unbounded(depth: u32) -> Self {
        Self { depth, fuel: u64::MAX, names: false }
    }

    #[inline]
    pub(crate) fn spend(&mut self, cost: u64) -> Result<()> {
        match self.fuel.checked_sub(cost) {
            Some(left) => self.fuel = left,
            None => return Err(spent()),
        }
        Ok(())
    }
}

#[cold]
fn spent() -> Error {
    Error::limit("the work for a message", 1, 0)
}

/// Goes through the message that stands next: every length, the nesting, UTF-8 in every text. `found` is told what is wrong with a
/// message that is whole as msgpack goes.
///
/// # Errors
/// Why it is not whole. Then `found` may have been told something before.
pub(crate) fn inspect<'a>(
    tokens: &mut Tokens<'a>,
    allowance: &mut Allowance,
    found: &mut dyn FnMut(Flaw, Error),
) -> Result<Message<'a>> {
    let start = *tokens;
    let at = start.offset();
    let Token::Map(count) = tokens.next()? else {
        *tokens = start;
        let name = start.clone().next()?.name();
        pass(tokens, 0, allowance, &mut Inside::default())?;
        found(Flaw::NoMap, Error::invalid(format!("{name} stands where the map of a sample is expected")).at(at));
        return Ok(Message { bytes: taken(&start, tokens), key: None, key_value: None, names: 0 });
    };
    members(2 * u64::from(count), tokens, at)?;
    if allowance.depth == 0 {
        return Err(too_deep(1, 0, at));
    }
    let mut names = Names { hashed: allowance.names, ..Names::default() };
    let (mut key, mut key_value, mut inside) = (None, None, Inside::default());
    for _ in 0..count {
        let here = *tokens;
        let name = match tokens.short_str() {
            Some(name) => {
                allowance.spend(2)?;
                text(name, tokens)?;
                Name { bytes: name, text: true }
            }
            None => match tokens.next()? {
                Token::Str(name) => {
                    allowance.spend(2 + name.len() as u64 / TEXT)?;
                    text(name, tokens)?;
                    Name { bytes: name, text: true }
                }
                _ => {
                    *tokens = here;
                    inside.name(here);
                    pass(tokens, 1, allowance, &mut inside)?;
                    Name { bytes: taken(&here, tokens), text: false }
                }
            },
        };
        if !names.is_new(name) {
            found(Flaw::NameTwice, Error::invalid(format!("the field {name} is there twice")).at(here.offset()));
        }
        if name.text && matches!(name.bytes, b"nd" | b"complex") {
            let detail = format!("a field is called {name}, which is reserved for values of numpy");
            found(Flaw::Reserved, Error::invalid(detail).at(here.offset()));
        }
        let value = *tokens;
        let is_key = name.text && name.bytes == b"key" && key_value.is_none();
        pass(tokens, 1, allowance, &mut inside)?;
        if is_key {
            let raw = RawValue::at(taken(&value, tokens), value.offset());
            key_value = Some(raw);
            match value.clone().next()? {
                Token::Str(bytes) => key = Some(utf8(bytes, tokens.offset())?),
                other => {
                    let detail = format!("the key is {} and no str", other.name());
                    found(Flaw::KeyNoStr, Error::invalid(detail).at(raw.offset()));
                }
            }
        }
    }
    if let Some(twice) = names.twice() {
        found(Flaw::NameTwice, Error::invalid(format!("the field {twice} is there twice")).at(at));
    }
    if key_value.is_none() {
        found(Flaw::NoKey, Error::invalid("the sample has no key").at(at));
    }
    if let Some(odd) = inside.odd {
        found(Flaw::OddName, Error::invalid("the name in a map is a map or an array: Python cannot read it").at(odd));
    }
    let message = Message { bytes: taken(&start, tokens), key, key_value, names: names.hash };
    if inside.maps || names.binary {
        numpy_maps(&message, at, found);
    }
    Ok(message)
}

/// What was seen in the values of a sample.
#[derive(Default)]
struct Inside {
    maps: bool,
    /// Where the first name stands that is a map or an array.
    odd: Option<u64>,
}

impl Inside {
    /// Looks at what stands where a name is expected.
    #[inline]
    fn name(&mut self, tokens: Tokens<'_>) {
        if matches!(tokens.peek(), Some(0x80..=0x9f | 0xdc..=0xdf)) {
            self.odd.get_or_insert(tokens.offset());
        }
    }
}

/// All maps that are values of numpy must be sound ones; and the sample itself must not be one.
fn numpy_maps(message: &Message<'_>, at: u64, found: &mut dyn FnMut(Flaw, Error)) {
    let mut tokens = Tokens::at(message.bytes, at);
    while !tokens.is_empty() {
        let here = tokens;
        // The walk before has seen that all is whole.
        let Ok(token) = tokens.next() else { return };
        let Token::Map(count) = token else { continue };
        if !numpy::sniff(tokens, count) {
            continue;
        }
        match numpy::read(RawValue::at(here.rest(), here.offset())) {
            Err(error) => found(Flaw::Numpy, error.at(here.offset())),
            Ok(Some(_)) if here.offset() == at => {
                let detail = "the sample is a value of numpy to Python, which does not see its fields";
                found(Flaw::Numpy, Error::invalid(detail).at(at));
            }
            Ok(_) => {}
        }
    }
}

/// Passes over one value that stands on a level of nesting, checking all of it.
#[inline]
fn pass(tokens: &mut Tokens<'_>, level: u32, allowance: &mut Allowance, inside: &mut Inside) -> Result<()> {
    allowance.spend(1)?;
    if let Some(bytes) = tokens.short_str() {
        return text(bytes, tokens);
    }
    // Most others are passed over by their lengths.
    if !matches!(tokens.peek(), Some(0x80..=0x9f | 0xd9..=0xdf)) {
        return tokens.skip().map(drop);
    }
    let at = tokens.offset();
    match tokens.next()? {
        Token::Str(bytes) => {
            allowance.spend(bytes.len() as u64 / TEXT)?;
            text(bytes, tokens)
        }
        Token::Array(count) => nested(tokens, count.into(), false, level, allowance, inside, at),
        Token::Map(count) => {
            inside.maps = true;
            nested(tokens, 2 * u64::from(count), true, level, allowance, inside, at)
        }
        _ => Ok(()),
    }
}

/// The members of an array or a map whose head was taken, and all that is in them.
fn nested(
    tokens: &mut Tokens<'_>,
    count: u64,
    is_map: bool,
    level: u32,
    allowance: &mut Allowance,
    inside: &mut Inside,
    at: u64,
) -> Result<()> {
    // Values still to come on this level and whether it is a map; and those on the levels around it that are not at their end.
    let mut pending = 0;
    let (mut is_map, mut level) = (is_map, level);
    let mut around: Vec<(u64, bool, u32)> = Vec::new();
    let mut more = Some((count, is_map, at));
    loop {
        if let Some((count, map, at)) = more {
            members(count, tokens, at)?;
            if level >= allowance.depth {
                return Err(too_deep(level + 1, allowance.depth, at));
            }
            if pending > 0 {
                around.push((pending, is_map, level));
            }
            (pending, is_map, level) = (count, map, level + 1);
        }
        while pending == 0 {
            let Some(outer) = around.pop() else { return Ok(()) };
            (pending, is_map, level) = outer;
        }
        if is_map && pending.is_multiple_of(2) {
            inside.name(*tokens);
        }
        pending -= 1;
        allowance.spend(1)?;
        let at = tokens.offset();
        more = match tokens.next()? {
            Token::Str(bytes) => {
                allowance.spend(bytes.len() as u64 / TEXT)?;
                text(bytes, tokens)?;
                None
            }
            Token::Array(count) => Some((u64::from(count), false, at)),
            Token::Map(count) => {
                inside.maps = true;
                Some((2 * u64::from(count), true, at))
            }
            _ => None,
        };
    }
}

/// Every member takes a byte at least.
#[inline]
fn members(count: u64, tokens: &Tokens<'_>, at: u64) -> Result<()> {
    let left = tokens.remaining();
    if count <= left { Ok(()) } else { Err(Error::truncated("the members of an array or a map", count, left).at(at)) }
}

#[cold]
fn too_deep(level: u32, depth: u32, at: u64) -> Error {
    Error::limit("nesting depth", level.into(), depth.into()).at(at)
}

#[inline]
fn text(bytes: &[u8], tokens: &Tokens<'_>) -> Result<()> {
    // Names and labels are mostly short and plain.
    if bytes.len() <= 32 && bytes.is_ascii() {
        return Ok(());
    }
    utf8(bytes, tokens.offset()).map(drop)
}

/// The bytes between two places of a walk.
fn taken<'a>(start: &Tokens<'a>, end: &Tokens<'a>) -> &'a [u8] {
    let len = start.rest().len() - end.rest().len();
    start.rest().get(..len).unwrap_or_default()
}

/// The name of a field: text, or another value as it is encoded.
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

/// The names of a map: which is there twice, and a hash of them all.
#[derive(Default)]
struct Names<'a> {
    first: [Name<'a>; FEW],
    len: usize,
    /// All of them, once they are many.
    all: Vec<Name<'a>>,
    hashed: bool,
    hash: u64,
    /// One of them is a bin, as those of numpy are.
    binary: bool,
}

impl<'a> Names<'a> {
    /// Takes a name; false when it is known already. Of many names nothing is known before the end.
    #[inline]
    fn is_new(&mut self, name: Name<'a>) -> bool {
        if self.hashed {
            for byte in name.bytes.iter().take(32) {
                self.hash = (self.hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
            }
            self.hash = (self.hash ^ name.bytes.len() as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        }
        self.binary |= !name.text;
        if let Some(place) = self.first.get_mut(self.len) {
            *place = name;
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

    /// A name that is there twice, among many.
    fn twice(&mut self) -> Option<Name<'a>> {
        self.all.sort_unstable();
        let twice = self.all.windows(2).find(|pair| pair.first() == pair.last());
        // Those of the first few were told before.
        twice.and_then(|pair| pair.first().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flaws(bytes: &[u8]) -> Result<Vec<(Flaw, String)>> {
        let mut flaws = Vec::new();
        let mut tokens = Tokens::at(bytes, 100);
        let message = inspect(&mut tokens, &mut Allowance::unbounded(4), &mut |flaw, error| {
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
    fn a_sound_sample_has_no_flaw() {
        assert_eq!(flaws(b"\x82\xa3key\xa1a\xa1x\x92\x01\x02").unwrap(), []);
        assert_eq!(flaws(b"\x82\x05\x06\xa3key\xa1a").unwrap(), []);
    }

    #[test]
    fn flaws_of_whole_messages() {
        let says = |flaw, text: &str| (flaw, text.to_owned());
        assert_eq!(
            one(b"\x05"),
            says(Flaw::NoMap, "an integer stands where the map of a sample is expected (byte 100)")
        );
        assert_eq!(one(b"\x81\xa1x\x01"), says(Flaw::NoKey, "the sample has no key (byte 100)"));
        assert_eq!(one(b"\x81\xa3key\x01"), says(Flaw::KeyNoStr, "the key is an integer and no str (byte 105)"));
        let twice = one(b"\x83\xa3key\xa1a\xa1x\x01\xa1x\x02");
        assert_eq!(twice, says(Flaw::NameTwice, r#"the field "x" is there twice (byte 110)"#));
        assert_eq!(one(b"\x83\xa3key\xa1a\x07\x01\x07\x02").1, "the field 7 is there twice (byte 109)");
        assert_eq!(one(b"\x82\xa3key\xa1a\xa2nd\x01").0, Flaw::Reserved);
        let odd = "the name in a map is a map or an array: Python cannot read it";
        assert_eq!(one(b"\x82\xa3key\xa1a\x90\x01"), says(Flaw::OddName, &format!("{odd} (byte 107)")));
        assert_eq!(one(b"\x82\xa3key\xa1a\x05\x92\x01\x82\x01\x80\x80\x02").1, format!("{odd} (byte 113)"));
        assert_eq!(flaws(b"\x82\xa3key\xa1a\x05\x92\x80\x81\x01\x90").unwrap(), []);
    }

    #[test]
    fn a_name_of_very_many_that_is_there_twice() {
        let mut bytes = vec![0xde, 0, 41, 0xa3, b'k', b'e', b'y', 0xa1, b'a'];
        (0..40u8).for_each(|n| bytes.extend([0xa1, b'A' + n, 1]));
        assert_eq!(flaws(&bytes).unwrap(), []);
        let last = bytes.len() - 2;
        bytes[last] = b'B';
        assert_eq!(one(&bytes), (Flaw::NameTwice, r#"the field "B" is there twice (byte 100)"#.to_owned()));
    }

    #[test]
    fn what_is_not_whole_is_an_error() {
        let error = |bytes: &[u8]| flaws(bytes).unwrap_err().to_string();
        assert_eq!(error(b"\x82\xa3key\xa1a\xa1x"), "a value: needs 1 byte, 0 available (byte 109)");
        assert_eq!(error(b"\x81\xa3key\xa1\xff"), "a str holds 0xff, which is not UTF-8 there (byte 106)");
        assert_eq!(error(b"\x81\xa3key\xdb\xff\xff\xff\xff"), "a str: needs 4294967295 bytes, 0 available (byte 110)");
        let nested = b"\x81\xa1x\x91\x91\x91\x91\x00";
        assert_eq!(error(nested), "nesting depth 5 exceeds the limit 4 (byte 106)");
        assert_eq!(error(b"\x8f\xa1x"), "the members of an array or a map: needs 30 bytes, 2 available (byte 100)");
    }

    #[test]
    fn arrays_whose_data_do_not_fit() {
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
        let mut allowance = Allowance { depth: 9, fuel: 100, names: true };
        let error = inspect(&mut Tokens::at(&bytes, 0), &mut allowance, &mut |_, _| {}).unwrap_err();
        assert_eq!(error.to_string(), "the work for a message 1 exceeds the limit 0");
    }
}
