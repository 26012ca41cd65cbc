//! Values of columns from JSON text, numbers from their own digits.

use std::borrow::Cow;

use container_core::{Error, Result};

use super::shape::{Shape, check_length};
use super::{Cell, KeyLabels, cannot_be_missing, mismatch, push_item, shown};
use crate::codec::{Values, Vectors};
use crate::wire::{ItemType, Type};

impl Values {
    /// Appends one value of a type from its JSON text, in the form that rows are printed in. On an error nothing is appended.
    ///
    /// Numbers are read from their digits: an `f32` is rounded once, 64 and 128 bits are exact. Texts are [`Cell::Text`], numbers
    /// [`Cell::Int`] or floats, `null` is [`Cell::Missing`]; see [`push_cell`](Self::push_cell). A vector is an array, or arrays in each other
    /// for several dimensions, or `{"$sparse":{"length":22,"indices":[5,12],"values":[1.0,1.0]}}`.
    ///
    /// ```
    /// use idv::{Type, Values};
    /// # fn main() -> container_core::Result<()> {
    /// let kind: Type = "Vector<Single, 2, 2>".parse()?;
    /// let mut values = Values::of(&kind);
    /// values.push_json(&kind, None, r#"[[0.1, 2], ["NaN", null]]"#)?;
    /// values.push_json(&kind, None, r#"{"$sparse": {"length": 4, "indices": [3], "values": [0.5]}}"#)?;
    /// let error = values.push_json(&kind, None, "[1, 2, 3]").unwrap_err();
    /// assert_eq!(error.to_string(), "a vector of 3 items where Vector<Single, 2, 2> has 4");
    /// assert_eq!(values.len(), 2);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`push_cell`](Self::push_cell); [`Invalid`](container_core::ErrorKind::Invalid) for what is not JSON, or an array that the type does
    /// not have. The message says the byte of this text, not of the file that it may be from.
    pub fn push_json(&mut self, kind: &Type, labels: Option<&KeyLabels>, raw: &str) -> Result<()> {
        let len = self.len();
        let mut json = Json { text: raw, at: 0 };
        let pushed = push(self, kind, labels, &mut json).and_then(|()| json.end());
        pushed.map_err(|error| {
            self.truncate(len);
            placed(error)
        })
    }
}

/// The place in the value's text is said in words: the position is for places in a file.
#[cold]
fn placed(error: Error) -> Error {
    let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}")).unwrap_or_default();
    match error.position().byte {
        None => error,
        Some(0) => Error::new(error.kind(), format!("{}{cause}", error.detail())),
        Some(byte) => Error::new(error.kind(), format!("{}{cause}, at byte {byte} of its JSON", error.detail())),
    }
}

fn push(values: &mut Values, kind: &Type, labels: Option<&KeyLabels>, json: &mut Json<'_>) -> Result<()> {
    let (item, dimensions) = match kind {
        Type::Item(item) => return push_scalar(values, *item, labels, json),
        Type::Vector { item, dimensions } => (*item, dimensions.as_slice()),
    };
    let Values::Vector(vectors) = values else {
        return Err(Error::usage(format!("a value of type {kind} where {} values are held", values.variant())));
    };
    match json.peek() {
        Some(b'[') => {
            let length = push_arrays(vectors, item, dimensions, labels, json)?;
            check_length(kind, length)?;
            vectors.close_dense()
        }
        Some(b'{') => push_sparse(vectors, kind, labels, json),
        Some(b'n') if json.word("null") => Err(cannot_be_missing(kind)),
        _ => {
            let at = json.at;
            let cell = json.scalar()?;
            Err(mismatch(&cell.as_cell(), kind).at(at as u64))
        }
    }
}

/// A value that is no array and no object.
enum Scalar<'a> {
    Null,
    Bool(bool),
    Text(Cow<'a, str>),
    Number(&'a str),
}

impl Scalar<'_> {
    /// The cell that it is by itself.
    fn as_cell(&self) -> Cell<'_> {
        match self {
            Self::Null => Cell::Missing,
            Self::Bool(x) => Cell::Bool(*x),
            Self::Text(text) => Cell::Text(text),
            Self::Number(digits) => match (digits.parse(), digits.parse()) {
                (Ok(x), _) => Cell::Int(x),
                (_, Ok(x)) => Cell::RowId(x),
                // What JSON takes for a number, Rust does too.
                _ => digits.parse().map_or(Cell::Missing, Cell::Double),
            },
        }
    }
}

/// Appends an item. Numbers go the short way where they can.
fn push_scalar(values: &mut Values, item: ItemType, labels: Option<&KeyLabels>, json: &mut Json<'_>) -> Result<()> {
    if let Some(bracket @ (b'[' | b'{')) = json.peek() {
        let what = if bracket == b'[' { "an array" } else { "an object" };
        return Err(no_item(what, item).at(json.at as u64));
    }
    let at = json.at;
    let scalar = json.scalar()?;
    // By far the most common items, the short way.
    match (&scalar, item, &mut *values) {
        (Scalar::Number(digits), ItemType::Single, Values::Single(floats)) => {
            if let Some(float) = digits.parse().ok().filter(|float: &f32| float.is_finite()) {
                floats.push(float);
                return Ok(());
            }
        }
        (Scalar::Number(digits), ItemType::Double, Values::Double(floats)) => {
            if let Some(float) = digits.parse().ok().filter(|float: &f64| float.is_finite()) {
                floats.push(float);
                return Ok(());
            }
        }
        _ => {}
    }
    let pushed = match (&scalar, item) {
        // A float from its digits, rounded once.
        (Scalar::Number(digits), ItemType::Single | ItemType::Double) => {
            push_item(values, item, labels, Cell::Word(digits))
        }
        (Scalar::Number(digits), ItemType::Text | ItemType::Boolean | ItemType::DvBool) => Err(no_item(digits, item)),
        (Scalar::Number(_), _) => match scalar.as_cell() {
            // The float may be another number than the digits are.
            Cell::Double(x) if x.abs() >= EXACT => Err(no_item(&x.to_string(), item)),
            cell => push_item(values, item, labels, cell),
        },
        (scalar, _) => push_item(values, item, labels, scalar.as_cell()),
    };
    pushed.map_err(|error| error.at(at as u64))
}

#[cold]
fn no_item(found: &str, item: ItemType) -> Error {
    Error::invalid(format!("{found} where {} is wanted", super::wanted(&Type::Item(item))))
}

/// Floats hold all whole numbers below it.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Arrays in each other, from the outermost one's bracket on, and how many items there are in all. No deeper than the type's dimensions.
fn push_arrays(
    vectors: &mut Vectors,
    item: ItemType,
    dimensions: &[u32],
    labels: Option<&KeyLabels>,
    json: &mut Json<'_>,
) -> Result<u64> {
    let mut shape = Shape::new(dimensions);
    // True where an item or array may stand, false behind one.
    let mut fresh = true;
    loop {
        let at = json.peeked() as u64;
        match json.peek() {
            Some(b'[') if fresh => {
                json.at += 1;
                shape.open().map_err(|error| error.at(at))?;
                if json.skip(b']') {
                    fresh = false;
                    if shape.close().map_err(|error| error.at(at))? {
                        return Ok(shape.total());
                    }
                }
            }
            Some(b']') if !fresh => {
                json.at += 1;
                if shape.close().map_err(|error| error.at(at))? {
                    return Ok(shape.total());
                }
            }
            Some(b',') if !fresh => {
                json.at += 1;
                fresh = true;
            }
            Some(_) if fresh => {
                let count = push_run(vectors.items_mut(), item, labels, json)?;
                shape.items(count).map_err(|error| error.at(at))?;
                fresh = false;
            }
            _ => return Err(json.wanted("\",\" or \"]\"")),
        }
    }
}

/// Appends items as long as there are some with commas between, and says how many.
fn push_run(values: &mut Values, item: ItemType, labels: Option<&KeyLabels>, json: &mut Json<'_>) -> Result<u32> {
    let mut count: u32 = 0;
    loop {
        push_scalar(values, item, labels, json)?;
        count = count.checked_add(1).ok_or_else(|| Error::limit("items of a vector", u64::MAX, 0x7FFF_FFFF))?;
        let before = json.at;
        if !json.skip(b',') {
            return Ok(count);
        }
        if json.peek() == Some(b'[') {
            json.at = before;
            return Ok(count);
        }
    }
}

/// `{"$sparse": {"length", "indices", "values"}}`, the members in any order.
fn push_sparse(vectors: &mut Vectors, kind: &Type, labels: Option<&KeyLabels>, json: &mut Json<'_>) -> Result<()> {
    let at = json.peeked() as u64;
    json.expect(b'{')?;
    let form = || Error::invalid("an object that is no {\"$sparse\": {\"length\", \"indices\", \"values\"}}").at(at);
    if json.peek() != Some(b'"') || json.string()? != "$sparse" {
        return Err(form());
    }
    json.expect(b':')?;
    if json.peek() != Some(b'{') {
        return Err(form());
    }
    json.expect(b'{')?;
    let (mut length, mut indices, mut values) = (None, None, None);
    loop {
        if json.peek() != Some(b'"') {
            return Err(json.wanted("\"length\", \"indices\" or \"values\""));
        }
        let at = json.at as u64;
        let member = json.string()?;
        json.expect(b':')?;
        let twice = match &*member {
            "length" => length.replace(json.slot("length")?).is_some(),
            "indices" => indices.replace(json.slots()?).is_some(),
            "values" if values.is_some() => true,
            "values" => {
                json.expect(b'[')?;
                let mut count = 0;
                if !json.skip(b']') {
                    count = push_run(vectors.items_mut(), kind.item(), labels, json)?;
                    json.expect(b']')?;
                }
                values.replace(count).is_some()
            }
            other => {
                let detail = format!("member {} of $sparse is none of length, indices, values", shown(other));
                return Err(Error::invalid(detail).at(at));
            }
        };
        if twice {
            return Err(Error::invalid(format!("member {member:?} of $sparse is there twice")).at(at));
        }
        if !json.skip(b',') {
            break;
        }
    }
    json.expect(b'}')?;
    json.expect(b'}')?;
    let missing = |what: &str| Error::invalid(format!("$sparse has no member {what:?}")).at(at);
    let length = length.ok_or_else(|| missing("length"))?;
    let indices = indices.ok_or_else(|| missing("indices"))?;
    values.ok_or_else(|| missing("values"))?;
    close_sparse(vectors, kind, length, &indices).map_err(|error| error.at(at))
}

/// Makes a sparse vector of the items that were appended, if it is as long as the type says.
pub(in crate::write) fn close_sparse(vectors: &mut Vectors, kind: &Type, length: u32, indices: &[u32]) -> Result<()> {
    check_length(kind, length.into())?;
    // What is wrong came with the value.
    vectors
        .close_sparse(length, indices)
        .map_err(|error| Error::new(as_invalid(error.kind()), error.detail().to_owned()))
}

fn as_invalid(kind: container_core::ErrorKind) -> container_core::ErrorKind {
    match kind {
        container_core::ErrorKind::Usage => container_core::ErrorKind::Invalid,
        other => other,
    }
}

/// JSON text, read from front to back.
struct Json<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Json<'a> {
    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// The next byte behind blanks, to which it goes.
    fn peek(&mut self) -> Option<u8> {
        loop {
            match self.byte() {
                Some(b' ' | b'\t' | b'\n' | b'\r') => self.at += 1,
                other => return other,
            }
        }
    }

    /// Where the next byte behind blanks is.
    fn peeked(&mut self) -> usize {
        self.peek();
        self.at
    }

    fn skip(&mut self, byte: u8) -> bool {
        let there = self.peek() == Some(byte);
        self.at += usize::from(there);
        there
    }

    fn expect(&mut self, byte: u8) -> Result<()> {
        if self.skip(byte) {
            return Ok(());
        }
        Err(self.wanted(&format!("{:?}", char::from(byte).to_string())))
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    #[cold]
    fn wanted(&self, what: &str) -> Error {
        let rest = self.rest();
        let found = if rest.is_empty() { "the end".to_owned() } else { shown(rest) };
        Error::invalid(format!("no JSON: {what} is wanted, found {found}")).at(self.at as u64)
    }

    fn end(&mut self) -> Result<()> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.wanted("the end")),
        }
    }

    fn word(&mut self, word: &str) -> bool {
        let there = self.rest().starts_with(word);
        if there {
            self.at += word.len();
        }
        there
    }

    fn scalar(&mut self) -> Result<Scalar<'a>> {
        match self.peek() {
            Some(b'"') => self.string().map(Scalar::Text),
            Some(b'-' | b'0'..=b'9') => self.number().map(Scalar::Number),
            Some(b'n') if self.word("null") => Ok(Scalar::Null),
            Some(b't') if self.word("true") => Ok(Scalar::Bool(true)),
            Some(b'f') if self.word("false") => Ok(Scalar::Bool(false)),
            _ => Err(self.wanted("a value")),
        }
    }

    /// A number as JSON has them: no sign `+`, no zeros before it, digits on both sides of the point.
    fn number(&mut self) -> Result<&'a str> {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        let Some(len) = number_len(rest) else {
            return Err(self.wanted("a number"));
        };
        let number = self.text.get(self.at..self.at + len).unwrap_or_default();
        self.at += len;
        Ok(number)
    }

    /// A string, from its quote on; borrowed where nothing in it is escaped.
    fn string(&mut self) -> Result<Cow<'a, str>> {
        let start = self.at;
        let bytes = self.text.as_bytes();
        let mut end = start + 1;
        let mut plain = true;
        loop {
            match bytes.get(end) {
                None => return Err(self.wanted("a string that ends")),
                Some(b'"') => break,
                Some(b'\\') => {
                    plain = false;
                    end += 2;
                }
                Some(byte) => {
                    plain &= *byte >= 0x20;
                    end += 1;
                }
            }
        }
        self.at = end + 1;
        if plain {
            return Ok(Cow::Borrowed(self.text.get(start + 1..end).unwrap_or_default()));
        }
        let token = self.text.get(start..=end).unwrap_or_default();
        serde_json::from_str(token).map(Cow::Owned).map_err(|error| {
            Error::invalid(format!("no JSON: the string {} is none", shown(token))).caused_by(error).at(start as u64)
        })
    }

    /// A length or slot.
    fn slot(&mut self, what: &str) -> Result<u32> {
        self.peek();
        let digits = if matches!(self.byte(), Some(b'0'..=b'9' | b'-')) { self.number()? } else { "" };
        let slot = digits.parse().ok().filter(|&slot| i32::try_from(slot).is_ok());
        slot.ok_or_else(|| match digits {
            "" => self.wanted(&format!("{what} (a whole number)")),
            digits => Error::invalid(format!("{what} {digits} is not from 0 to 2147483647")).at(self.at as u64),
        })
    }

    fn slots(&mut self) -> Result<Vec<u32>> {
        let mut slots = Vec::new();
        self.expect(b'[')?;
        if self.skip(b']') {
            return Ok(slots);
        }
        loop {
            slots.push(self.slot("index")?);
            if !self.skip(b',') {
                self.expect(b']')?;
                return Ok(slots);
            }
        }
    }
}

/// How long the number is that a text begins with; `None` where it is none.
fn number_len(text: &[u8]) -> Option<usize> {
    /// Behind one digit or more.
    fn digits(text: &[u8]) -> Option<&[u8]> {
        let end = text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
        if end == 0 { None } else { text.get(end..) }
    }
    let whole = text.strip_prefix(b"-").unwrap_or(text);
    let mut rest = digits(whole)?;
    if whole.first() == Some(&b'0') && whole.len() - rest.len() > 1 {
        return None;
    }
    if let [b'.', fraction @ ..] = rest {
        rest = digits(fraction)?;
    }
    if let [b'e' | b'E', exponent @ ..] = rest {
        rest = match exponent {
            [b'+' | b'-', digit @ ..] => digits(digit)?,
            digit => digits(digit)?,
        };
    }
    Some(text.len() - rest.len())
}
