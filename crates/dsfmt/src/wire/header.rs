//! The header: one line of JSON that describes the variables in the body.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use container_core::{Bytes, Error, Limits, Result};

use crate::json::{Json, JsonKind, Scanner, decode_name};
use crate::types::{DataType, Endian};

/// A parsed header.
#[derive(Debug)]
pub(crate) struct Header {
    text: Bytes,
    /// In header order.
    pub(crate) entries: Vec<Entry>,
    /// Indices into `entries`, sorted by name.
    sorted: Vec<usize>,
    /// Span of the object with the dataset's attributes.
    attributes: Option<Range<usize>>,
    /// Why the dataset's attributes are invalid.
    pub(crate) problem: Option<String>,
}

/// The header's description of one variable.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    /// Unescaped: without the backslash before a leading dot or backslash.
    pub(crate) name: Box<str>,
    /// Span of its header member.
    pub(crate) text: Range<usize>,
    pub(crate) dimensions: Arc<[String]>,
    /// `None` for an empty variable.
    pub(crate) shape: Option<Arc<[u64]>>,
    pub(crate) data_type: Option<DataType>,
    pub(crate) endian: Endian,
    pub(crate) masked: bool,
    pub(crate) time: bool,
    /// Offset and length in the body; both 0 when there is a problem.
    pub(crate) offset: u64,
    pub(crate) len: u64,
    /// Length declared in the file. Larger than `len` only for strings whose declared length runs past the end of the file.
    pub(crate) declared_len: u64,
    /// Why the variable is invalid. If set, only `name` is reliable.
    pub(crate) problem: Option<Box<str>>,
}

impl Header {
    /// Parses the line that begins at file offset `offset`. The body has `body_len` bytes.
    ///
    /// # Errors
    /// Invalid JSON, anything but an object, and more variables than the limits allow. Problems of one variable are kept in its entry.
    pub(crate) fn parse(text: Bytes, offset: u64, body_len: u64, limits: &Limits) -> Result<Self> {
        let line = std::str::from_utf8(&text)
            .map_err(|error| Error::invalid("the header is not valid UTF-8").at(offset + error.valid_up_to() as u64))?;
        let mut scanner = Scanner::new(line, offset, limits.depth);
        let json = scanner.value()?;
        scanner.expect_end()?;
        if json.kind() != JsonKind::Object {
            return Err(Error::invalid("the header is not a JSON object").at(offset));
        }
        let mut header =
            Self { entries: Vec::new(), sorted: Vec::new(), attributes: None, problem: None, text: Bytes::new() };
        let mut positions = HashMap::new();
        for (key, value) in json.members() {
            let span = span(line, value.as_text());
            let key = decode_name(key);
            match key.strip_prefix('\\').filter(|name| name.starts_with(['.', '\\'])) {
                Some(name) => header.add(name.to_owned(), value, span, body_len, limits, &mut positions)?,
                None if key == "." => match value.kind() {
                    JsonKind::Object => header.attributes = Some(span),
                    _ => header.problem = Some("the dataset's attributes (\".\") are not a JSON object".to_owned()),
                },
                // Python's reader ignores such names.
                None if key.starts_with('.') => header.problem = Some(format!("unknown special member {key:?}")),
                None => header.add(key, value, span, body_len, limits, &mut positions)?,
            }
        }
        header.sorted = (0..header.entries.len()).collect();
        let name = |index: usize| header.entries.get(index).map(|entry| &*entry.name);
        header.sorted.sort_unstable_by_key(|index| name(*index));
        header.text = text;
        Ok(header)
    }

    fn add(
        &mut self,
        name: String,
        json: Json<'_>,
        text: Range<usize>,
        body_len: u64,
        limits: &Limits,
        positions: &mut HashMap<Box<str>, usize>,
    ) -> Result<()> {
        let mut entry = Entry::parse(name, json, text, body_len, limits);
        // Python takes the last value of a repeated name, at the first position.
        if let Some(position) = positions.get(&entry.name) {
            if let Some(existing) = self.entries.get_mut(*position) {
                *existing = entry;
            }
            return Ok(());
        }
        limits.check_columns("number of variables", self.entries.len() as u64 + 1)?;
        positions.insert(entry.name.clone(), self.entries.len());
        // Share allocations: consecutive variables usually have equal dimensions and sizes.
        if let Some(last) = self.entries.last() {
            if last.dimensions == entry.dimensions {
                entry.dimensions = Arc::clone(&last.dimensions);
            }
            if last.shape == entry.shape {
                entry.shape.clone_from(&last.shape);
            }
        }
        self.entries.push(entry);
        Ok(())
    }

    /// The whole header object.
    pub(crate) fn root(&self) -> Json<'_> {
        let text = std::str::from_utf8(&self.text).unwrap_or_default(); // validated in `parse`
        Json::new_unchecked(text.trim_matches([' ', '\t', '\r', '\n']))
    }

    /// Offset of a value from the start of the line.
    pub(crate) fn offset_of(&self, value: Json<'_>) -> u64 {
        value.as_text().as_ptr().addr().saturating_sub(self.text.as_ptr().addr()) as u64
    }

    fn json(&self, span: &Range<usize>) -> Json<'_> {
        let text = self.text.get(span.clone()).unwrap_or_default();
        Json::new_unchecked(std::str::from_utf8(text).unwrap_or("null")) // validated in `parse`
    }

    /// The dataset's attributes.
    pub(crate) fn attributes(&self) -> Option<Json<'_>> {
        self.attributes.as_ref().map(|span| self.json(span))
    }

    /// The header member of a variable.
    pub(crate) fn member(&self, entry: &Entry) -> Json<'_> {
        self.json(&entry.text)
    }

    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        let name_at = |index: &usize| self.entries.get(*index).map(|entry| &*entry.name);
        let found = self.sorted.binary_search_by(|index| name_at(index).cmp(&Some(name))).ok()?;
        self.sorted.get(found).copied()
    }
}

/// Keys with a meaning of the format; every other member of a variable is an attribute.
pub(crate) const SPECIAL_KEYS: [&str; 8] =
    [".dims", ".size", ".type", ".offset", ".len", ".endian", ".missing", ".time"];

/// Generated dimension names may take at most this many times the variable's own bytes in the header.
const MAX_NAME_GROWTH: usize = 16;

/// Index in [`SPECIAL_KEYS`] of a key, escaped or not.
fn special_index(key: Json<'_>) -> Option<usize> {
    let text = key.as_text();
    let find = |name: &str| SPECIAL_KEYS.iter().position(|special| *special == name);
    match text.contains('\\') {
        true => find(&key.as_str()?),
        false => find(text.trim_matches('"')),
    }
}

/// Byte range of a substring in its text.
fn span(text: &str, piece: &str) -> Range<usize> {
    let start = piece.as_ptr().addr().saturating_sub(text.as_ptr().addr());
    start..start + piece.len()
}

/// Bytes needed for `count` bits.
pub(crate) fn bit_bytes(count: u64) -> u64 {
    count.div_ceil(8)
}

impl Entry {
    fn parse(name: String, json: Json<'_>, text: Range<usize>, body_len: u64, limits: &Limits) -> Self {
        let mut entry = Self {
            name: name.into(),
            text,
            dimensions: Arc::default(),
            shape: Some(Arc::default()),
            data_type: Some(DataType::Float64),
            endian: Endian::Big,
            masked: false,
            time: false,
            offset: 0,
            len: 0,
            declared_len: 0,
            problem: None,
        };
        if let Err(problem) = entry.read(json, body_len, limits) {
            entry.problem = Some(problem.into());
        }
        entry
    }

    /// Number of elements; 0 for an empty variable.
    pub(crate) fn count(&self) -> u64 {
        match &self.shape {
            Some(shape) => shape.iter().product(), // cannot overflow: checked in `read`
            None => 0,
        }
    }

    /// Length in bytes of the mask before the data.
    pub(crate) fn mask_len(&self) -> u64 {
        if self.masked { bit_bytes(self.count()) } else { 0 }
    }

    fn read(&mut self, json: Json<'_>, body_len: u64, limits: &Limits) -> Result<(), String> {
        if json.kind() != JsonKind::Object {
            return Err("its header member is not a JSON object".to_owned());
        }
        // Python takes the last value of a repeated name.
        let mut members = [None; SPECIAL_KEYS.len()];
        for (key, value) in json.members() {
            if let Some(member) = special_index(key).and_then(|index| members.get_mut(index)) {
                *member = Some(value);
            }
        }
        let unsigned = |name: &str, value: Json<'_>| {
            value.as_u64().ok_or_else(|| format!("{name}: expected a non-negative integer, found {}", excerpt(value)))
        };
        let boolean = |name: &str, value: Json<'_>| {
            value.as_bool().ok_or_else(|| format!("{name}: expected true or false, found {}", excerpt(value)))
        };
        let mut len = None;
        let mut dimensions = None;
        for (name, value) in SPECIAL_KEYS.into_iter().zip(members) {
            let Some(value) = value else { continue };
            match name {
                ".dims" => dimensions = names(value)?,
                ".size" => self.shape = sizes(value)?.map(Into::into),
                ".type" => self.data_type = data_type(value)?,
                ".offset" => self.offset = unsigned(name, value)?,
                ".len" => len = Some(unsigned(name, value)?),
                ".endian" => self.endian = endian(value)?,
                ".missing" => self.masked = boolean(name, value)?,
                _ => self.time = boolean(name, value)?,
            }
        }
        let sizes = self.shape.as_deref().unwrap_or_default();
        // Rows become nested arrays, so the depth limit applies.
        if sizes.len() as u64 > limits.depth.into() {
            return Err(format!("it has {} dimensions, more than the limit {}", sizes.len(), limits.depth));
        }
        self.dimensions = match dimensions {
            // Unnamed dimensions get Python's generated names. Bounded, because a long name times many sizes could dwarf the header.
            None if self.name.len().saturating_mul(sizes.len())
                > (self.name.len() + self.text.len()) * MAX_NAME_GROWTH =>
            {
                return Err(format!(
                    "its {} dimensions have no names (.dims), and its own name is too long to generate them",
                    sizes.len()
                ));
            }
            None => (1..=sizes.len()).map(|number| format!("{}_{number}", self.name)).collect(),
            Some(names) => names.into(),
        };
        if self.shape.is_some() && self.dimensions.len() != sizes.len() {
            return Err(format!(
                "found {} dimensions in .dims and {} sizes in .size",
                self.dimensions.len(),
                sizes.len()
            ));
        }
        let zero = sizes.contains(&0);
        let count = sizes.iter().try_fold(1u64, |count, size| count.checked_mul(*size));
        let count = match count {
            _ if zero || self.shape.is_none() => 0,
            Some(count) => count,
            None => return Err(format!("the product of the sizes {sizes:?} exceeds 2^64")),
        };
        if zero && sizes.iter().filter(|size| **size > 0).try_fold(1u64, |all, size| all.checked_mul(*size)).is_none() {
            return Err(format!("the product of the sizes {sizes:?} exceeds 2^64"));
        }
        let Some(data_type) = self.data_type else {
            return match count {
                0 => Ok(()), // no bytes either
                _ => Err(format!("it has {count} elements but no type")),
            };
        };
        self.declared_len = self.checked_len(data_type, count, len)?;
        self.len = self.declared_len;
        // Python's writer declares too many bytes: two per missing string, and for byte strings read from a file the length of their `repr`, up to
        // four per byte plus three per string. The real length shows when they are read.
        let missing = if self.masked && data_type.is_text() { count.saturating_mul(2) } else { 0 };
        let printable = data_type == DataType::Str || self.masked && data_type.is_text();
        let printed = if printable { (self.declared_len / 4).saturating_mul(3) } else { 0 };
        let tolerance = missing.saturating_add(printed);
        let min_len = if self.masked { self.mask_len() } else { count.saturating_mul(8) };
        let available = body_len.checked_sub(self.offset);
        match available {
            Some(available) if self.declared_len <= available => Ok(()),
            _ if self.declared_len == 0 => Ok(()), // no bytes, so the offset does not matter
            Some(available) if self.declared_len - available <= tolerance && min_len <= available => {
                self.len = available;
                Ok(())
            }
            _ => Err(format!(
                "its {} bytes at body offset {} exceed the body of {body_len} bytes",
                self.declared_len, self.offset
            )),
        }
    }

    /// The length in bytes. `declared` must agree with the type and number of elements.
    fn checked_len(&self, data_type: DataType, count: u64, declared: Option<u64>) -> Result<u64, String> {
        let too_many = || format!("{count} elements of {data_type} exceed 2^64 bytes");
        let mask = if self.masked { bit_bytes(count) } else { 0 };
        // Minimum and maximum length of the data: masked elements are not stored.
        let all = match data_type.width() {
            Some(width) => count.checked_mul(width as u64).ok_or_else(too_many)?,
            None if data_type == DataType::Bool => bit_bytes(count),
            None => count.checked_mul(8).ok_or_else(too_many)?,
        };
        let min = mask.checked_add(if self.masked { 0 } else { all }).ok_or_else(too_many)?;
        let max =
            if data_type.is_text() && count > 0 { u64::MAX } else { mask.checked_add(all).ok_or_else(too_many)? };
        let Some(len) = declared else {
            return match count {
                _ if !self.masked && !data_type.is_text() => Ok(max),
                0 => Ok(0),
                _ => Err(".len is missing".to_owned()),
            };
        };
        let width = data_type.width().unwrap_or(1) as u64;
        if (min..=max).contains(&len) && (len - mask).is_multiple_of(width) {
            return Ok(len);
        }
        let masked = if self.masked { "masked " } else { "" };
        let expected = match (min == max, max) {
            (true, _) => format!("{max} bytes"),
            (false, u64::MAX) => format!("{min} or more bytes"),
            (false, _) if width > 1 => format!("{min} to {max} bytes in steps of {width}"),
            (false, _) => format!("{min} to {max} bytes"),
        };
        Err(format!(".len: expected {expected} for {count} {masked}elements of {data_type}, found {len}"))
    }
}

/// The beginning of a value, for error messages.
fn excerpt(json: Json<'_>) -> String {
    const MAX_CHARS: usize = 40;
    let text = json.as_text();
    match text.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// Names of dimensions. Python's ds-format takes a single name, too.
fn names(json: Json<'_>) -> Result<Option<Vec<String>>, String> {
    let invalid = || format!(".dims: expected a list of names, found {}", excerpt(json));
    match json.kind() {
        JsonKind::Null => Ok(None),
        JsonKind::String => json.to_text().map(|name| Some(vec![name.into()])).ok_or_else(invalid),
        JsonKind::Array => json
            .items()
            .map(|item| item.to_text().map(Into::into).ok_or_else(invalid))
            .collect::<Result<_, _>>()
            .map(Some),
        _ => Err(invalid()),
    }
}

fn sizes(json: Json<'_>) -> Result<Option<Vec<u64>>, String> {
    let invalid = || format!(".size: expected a list of non-negative integers, found {}", excerpt(json));
    match json.kind() {
        JsonKind::Null => Ok(None),
        JsonKind::Array => {
            json.items().map(|item| item.as_u64().ok_or_else(invalid)).collect::<Result<_, _>>().map(Some)
        }
        _ => Err(invalid()),
    }
}

fn data_type(json: Json<'_>) -> Result<Option<DataType>, String> {
    if json.is_null() {
        return Ok(None);
    }
    let found = json.as_str().and_then(|name| DataType::from_name(&name));
    found.map(Some).ok_or_else(|| format!(".type: unknown type {}", excerpt(json)))
}

fn endian(json: Json<'_>) -> Result<Endian, String> {
    match json.as_str().as_deref() {
        Some("b") => Ok(Endian::Big),
        Some("l") => Ok(Endian::Little),
        _ => Err(format!(".endian: expected \"b\" or \"l\", found {}", excerpt(json))),
    }
}
