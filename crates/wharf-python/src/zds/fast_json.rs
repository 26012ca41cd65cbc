//! JSON straight into Python objects. What is rare, such as an integer of more than 64 bits, and all errors are left to Python's `json`. The tests
//! compare it with `json.loads`.

use std::cell::RefCell;

use container_core::json::{Number, Tokenizer};

use pyo3::prelude::*;
use pyo3::types::{PyAny, PyBool, PyDict, PyFloat, PyInt, PyList, PyString};

use super::json::ID;

/// Deeper values are left to Python, which has limits, too.
const MAX_DEPTH: u32 = 128;

/// Names of members that are kept as Python strings, each in a slot that some of its bytes select.
const SLOTS: usize = 1024;

/// Longer names are not kept.
const MAX_NAME: usize = 64;

/// A name, and the string of Python that it is.
type Name = (Box<str>, Py<PyString>);

/// Names repeat from document to document: a string that exists needs no allocation, and knows its hash.
struct Names(Vec<Option<Name>>);

thread_local! {
    static NAMES: RefCell<Names> = const { RefCell::new(Names(Vec::new())) };
}

impl Names {
    fn get<'py>(&mut self, py: Python<'py>, name: &str) -> Option<Bound<'py, PyString>> {
        if name.len() > MAX_NAME {
            return Some(PyString::new(py, name));
        }
        if self.0.is_empty() {
            self.0.resize_with(SLOTS, || None);
        }
        let slot = self.0.get_mut(slot_of(name.as_bytes()))?;
        match slot {
            Some((kept, string)) if **kept == *name => Some(string.bind(py).clone()),
            _ => {
                let string = PyString::new(py, name);
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
        let json = Tokenizer::new(std::str::from_utf8(json).ok()?, MAX_DEPTH);
        let mut parser = Parser { py, json, names: &mut names };
        if parser.json.token() != Some(b'{') {
            return None;
        }
        let is_selected =
            |name: &str| name != ID && fields.is_none_or(|fields| fields.iter().any(|field| field == name));
        let document = parser.members(is_selected)?;
        parser.json.token().is_none().then(|| document.into_any())
    })
}

struct Parser<'py, 'a> {
    py: Python<'py>,
    json: Tokenizer<'a>,
    names: &'a mut Names,
}

impl<'py> Parser<'py, '_> {
    /// An object; members that are not selected are passed.
    fn members(&mut self, is_selected: impl Fn(&str) -> bool) -> Option<Bound<'py, PyDict>> {
        self.json.open().ok()?;
        let dict = PyDict::new(self.py);
        let mut is_first = true;
        while let Some(name) = self.json.member(&mut is_first).ok()? {
            let name = name.unescape()?;
            if is_selected(&name) {
                let name = self.names.get(self.py, &name)?;
                dict.set_item(name, self.value()?).ok()?;
            } else {
                self.json.skip_value().ok()?;
            }
        }
        Some(dict)
    }

    fn list(&mut self) -> Option<Bound<'py, PyList>> {
        self.json.open().ok()?;
        let list = PyList::empty(self.py);
        let mut is_first = true;
        while self.json.element(&mut is_first).ok()? {
            list.append(self.value()?).ok()?;
        }
        Some(list)
    }

    fn value(&mut self) -> Option<Bound<'py, PyAny>> {
        let py = self.py;
        match self.json.token()? {
            b'"' => Some(PyString::new(py, &self.json.string().ok()?.unescape()?).into_any()),
            b'{' => self.members(|_| true).map(Bound::into_any),
            b'[' => self.list().map(Bound::into_any),
            b't' => self.json.word("true").ok().map(|()| PyBool::new(py, true).to_owned().into_any()),
            b'f' => self.json.word("false").ok().map(|()| PyBool::new(py, false).to_owned().into_any()),
            b'n' => self.json.word("null").ok().map(|()| py.None().into_bound(py)),
            _ => {
                let start = self.json.position();
                match self.json.number().ok()? {
                    Number::I64(integer) => Some(PyInt::new(py, integer).into_any()),
                    Number::U64(integer) => Some(PyInt::new(py, integer).into_any()),
                    // Not `-0` and large integers, which Python has as integers.
                    Number::F64(float) if self.json.since(start).contains(['.', 'e', 'E']) => {
                        Some(PyFloat::new(py, float).into_any())
                    }
                    _ => None,
                }
            }
        }
    }
}
