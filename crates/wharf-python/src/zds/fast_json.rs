//! JSON straight into Python objects. What is rare, such as an integer of more than 18 digits, and all errors are left to Python's `json`.
//!
//! Written by hand because scans spend nearly all of their time here, and a visitor of serde_json validates every text a second time, and parses
//! every float slowly to keep its digits; `bench/bench_zds.py` measures it. The tests compare it with `json.loads`.

use std::borrow::Cow;
use std::cell::RefCell;

use pyo3::prelude::*;
use pyo3::types::{PyAny, PyBool, PyDict, PyFloat, PyInt, PyList, PyString};

use super::json::ID;

/// Deeper values are left to Python, which has limits, too.
const MAX_DEPTH: u32 = 128;

/// Integers of up to this many digits fit into `i64`.
const MAX_DIGITS: usize = 18;

/// Names of members that are kept as Python strings, each in a slot that some of its bytes select.
const SLOTS: usize = 1024;

/// Longer names are not kept.
const MAX_NAME: usize = 64;

/// A name, and the string of Python that it is.
type Name = (Box<[u8]>, Py<PyString>);

/// Names repeat from document to document: a string that exists needs no allocation, and knows its hash.
struct Names(Vec<Option<Name>>);

thread_local! {
    static NAMES: RefCell<Names> = const { RefCell::new(Names(Vec::new())) };
}

impl Names {
    fn get<'py>(&mut self, py: Python<'py>, name: &[u8]) -> Option<Bound<'py, PyString>> {
        if name.len() > MAX_NAME {
            return PyString::from_bytes(py, name).ok();
        }
        if self.0.is_empty() {
            self.0.resize_with(SLOTS, || None);
        }
        let slot = self.0.get_mut(slot_of(name))?;
        match slot {
            Some((kept, string)) if **kept == *name => Some(string.bind(py).clone()),
            _ => {
                let string = PyString::from_bytes(py, name).ok()?;
                *slot = Some((name.into(), string.clone().unbind()));
                Some(string)
            }
        }
    }
}

/// A slot for a name, by its length, its first and its last bytes.
fn slot_of(name: &[u8]) -> usize {
    let word = |bytes: &[u8]| bytes.iter().fold(0, |word: u64, byte| word << 8 | u64::from(*byte));
    let end = name.len().min(8);
    let (first, last) =
        (word(name.get(..end).unwrap_or_default()), word(name.get(name.len() - end..).unwrap_or_default()));
    let mixed = (first ^ last.rotate_left(29) ^ name.len() as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    usize::try_from(mixed >> 54).unwrap_or(0) // 10 bits: below `SLOTS`
}

/// The document as a dict, without its `_id`; only these members, if `fields` are given. `None` for whatever is not simple.
pub(super) fn document<'py>(py: Python<'py>, json: &[u8], fields: Option<&[String]>) -> Option<Bound<'py, PyAny>> {
    NAMES.with(|names| {
        // Allocating may run other Python code, which may get here, too.
        let mut names = names.try_borrow_mut().ok()?;
        let mut parser = Parser { py, json, at: 0, names: &mut names };
        let document = parser.root(fields)?;
        parser.skip_space();
        (parser.at == json.len()).then(|| document.into_any())
    })
}

struct Parser<'py, 'a> {
    py: Python<'py>,
    json: &'a [u8],
    at: usize,
    names: &'a mut Names,
}

type Value<'py> = Bound<'py, PyAny>;

impl<'py, 'a> Parser<'py, 'a> {
    fn peek(&self) -> Option<u8> {
        self.json.get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.peek() {
            self.at += 1;
        }
    }

    fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// Passes what separates elements. Returns whether another one follows, or `None` if neither that nor the end does.
    fn more(&mut self, end: u8) -> Option<bool> {
        self.skip_space();
        if self.eat(b',') {
            self.skip_space();
            return Some(true);
        }
        self.eat(end).then_some(false)
    }

    fn root(&mut self, fields: Option<&[String]>) -> Option<Bound<'py, PyDict>> {
        self.skip_space();
        self.members(0, |name| {
            name != ID.as_bytes() && fields.is_none_or(|fields| fields.iter().any(|field| field.as_bytes() == name))
        })
    }

    /// An object; members that are not selected are parsed and dropped.
    fn members(&mut self, depth: u32, select: impl Fn(&[u8]) -> bool) -> Option<Bound<'py, PyDict>> {
        if !self.eat(b'{') || depth > MAX_DEPTH {
            return None;
        }
        let dict = PyDict::new(self.py);
        self.skip_space();
        if self.eat(b'}') {
            return Some(dict);
        }
        loop {
            let name = self.text()?;
            self.skip_space();
            if !self.eat(b':') {
                return None;
            }
            self.skip_space();
            if select(&name) {
                let name = self.names.get(self.py, &name)?;
                let value = self.value(depth)?;
                dict.set_item(name, value).ok()?;
            } else {
                std::str::from_utf8(&name).ok()?;
                self.value(depth)?;
            }
            if !self.more(b'}')? {
                return Some(dict);
            }
        }
    }

    fn list(&mut self, depth: u32) -> Option<Bound<'py, PyList>> {
        if !self.eat(b'[') || depth > MAX_DEPTH {
            return None;
        }
        let list = PyList::empty(self.py);
        self.skip_space();
        if self.eat(b']') {
            return Some(list);
        }
        loop {
            list.append(self.value(depth)?).ok()?;
            if !self.more(b']')? {
                return Some(list);
            }
        }
    }

    fn value(&mut self, depth: u32) -> Option<Value<'py>> {
        match self.peek()? {
            b'"' => {
                let text = self.text()?;
                PyString::from_bytes(self.py, &text).ok().map(Bound::into_any)
            }
            b'{' => self.members(depth + 1, |_| true).map(Bound::into_any),
            b'[' => self.list(depth + 1).map(Bound::into_any),
            b't' => self.word(b"true").map(|()| PyBool::new(self.py, true).to_owned().into_any()),
            b'f' => self.word(b"false").map(|()| PyBool::new(self.py, false).to_owned().into_any()),
            b'n' => self.word(b"null").map(|()| self.py.None().into_bound(self.py)),
            _ => match self.number()? {
                Number::Integer(integer) => Some(PyInt::new(self.py, integer).into_any()),
                Number::Float(float) => Some(PyFloat::new(self.py, float).into_any()),
            },
        }
    }

    fn word(&mut self, word: &[u8]) -> Option<()> {
        let found = self.json.get(self.at..)?.starts_with(word);
        self.at += word.len();
        found.then_some(())
    }

    /// The bytes of a string. They may not be UTF-8.
    #[inline]
    fn text(&mut self) -> Option<Cow<'a, [u8]>> {
        if !self.eat(b'"') {
            return None;
        }
        let text = self.plain_text()?;
        match self.eat(b'"') {
            true => Some(Cow::Borrowed(text)),
            false => self.escaped_text(text.to_vec()).map(Cow::Owned),
        }
    }

    /// What comes before a quote, a backslash, or a control character.
    fn plain_text(&mut self) -> Option<&'a [u8]> {
        let rest = self.json.get(self.at..)?;
        let len = text_len(rest);
        self.at += len;
        rest.get(..len)
    }

    /// A string from an escape sequence on, after its beginning.
    fn escaped_text(&mut self, mut text: Vec<u8>) -> Option<Vec<u8>> {
        while !self.eat(b'"') {
            if !self.eat(b'\\') {
                return None;
            }
            let escape = self.peek()?;
            self.at += 1;
            match escape {
                b'"' | b'\\' | b'/' => text.push(escape),
                b'b' => text.push(8),
                b'f' => text.push(12),
                b'n' => text.push(b'\n'),
                b'r' => text.push(b'\r'),
                b't' => text.push(b'\t'),
                b'u' => {
                    let mut code = self.code_unit()?;
                    if let 0xD800..0xDC00 = code {
                        self.word(b"\\u")?;
                        let low = self.code_unit()?.checked_sub(0xDC00).filter(|low| *low < 0x400)?;
                        code = 0x10000 + ((code - 0xD800) << 10 | low);
                    }
                    // A lone surrogate is no character, but a string of Python may have it.
                    text.extend_from_slice(char::from_u32(code)?.encode_utf8(&mut [0; 4]).as_bytes());
                }
                _ => return None,
            }
            text.extend_from_slice(self.plain_text()?);
        }
        Some(text)
    }

    /// Four hexadecimal digits.
    fn code_unit(&mut self) -> Option<u32> {
        let digits = self.json.get(self.at..self.at + 4)?;
        self.at += 4;
        digits.iter().try_fold(0, |code, digit| Some(code << 4 | char::from(*digit).to_digit(16)?))
    }

    fn digits(&mut self) -> usize {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        self.at - start
    }

    fn number(&mut self) -> Option<Number> {
        let start = self.at;
        let is_negative = self.eat(b'-');
        let first = self.at;
        let digits = self.digits();
        if digits == 0 || digits > 1 && self.json.get(first) == Some(&b'0') {
            return None;
        }
        let mut is_integer = true;
        if self.eat(b'.') {
            is_integer = false;
            if self.digits() == 0 {
                return None;
            }
        }
        if let Some(b'e' | b'E') = self.peek() {
            is_integer = false;
            self.at += 1;
            let _ = self.eat(b'-') || self.eat(b'+');
            if self.digits() == 0 {
                return None;
            }
        }
        if !is_integer {
            let text = std::str::from_utf8(self.json.get(start..self.at)?).ok()?;
            return text.parse().ok().map(Number::Float);
        }
        if digits > MAX_DIGITS {
            return None;
        }
        let digits = self.json.get(first..self.at)?;
        let number = digits.iter().fold(0, |number: i64, digit| number * 10 + i64::from(digit - b'0'));
        Some(Number::Integer(if is_negative { -number } else { number }))
    }
}

enum Number {
    Integer(i64),
    Float(f64),
}

/// The number of bytes before a quote, a backslash, or a control character.
fn text_len(bytes: &[u8]) -> usize {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HIGH: u64 = u64::from_ne_bytes([0x80; 8]);
    let mut len = 0;
    for word in bytes.as_chunks().0 {
        let word = u64::from_le_bytes(*word);
        // The high bit of each byte that ends the text; of bytes after the first such one, it may be wrong.
        let equals = |byte: u8| {
            let other = word ^ u64::from_ne_bytes([byte; 8]);
            other.wrapping_sub(ONES) & !other
        };
        let control = word.wrapping_sub(ONES * 0x20) & !word;
        let ends = (equals(b'"') | equals(b'\\') | control) & HIGH;
        if ends != 0 {
            return len + ends.trailing_zeros() as usize / 8;
        }
        len += 8;
    }
    let rest = bytes.get(len..).unwrap_or_default();
    len + rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | ..0x20)).unwrap_or(rest.len())
}
