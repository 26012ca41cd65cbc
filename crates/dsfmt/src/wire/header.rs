//! The header: one line of JSON that says what the body holds.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use container_core::{Bytes, Error, Limits, Result};

use crate::json::{Json, JsonKind, Scanner, name_of};
use crate::types::{DataType, Endian};

/// A header, parsed.
#[derive(Debug)]
pub(crate) struct Header {
    text: Bytes,
    /// In the order of the header.
    pub(crate) entries: Vec<Entry>,
    /// Places of the entries, by their names.
    sorted: Vec<usize>,
    /// The dataset's attributes: an object.
    attributes: Option<Range<usize>>,
    /// What is wrong with the dataset's attributes.
    pub(crate) problem: Option<String>,
}

/// What a header says of a variable.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    /// Without the escape of a name that begins with a dot or a backslash.
    pub(crate) name: String,
    /// Its member of the header.
    pub(crate) text: Range<usize>,
    pub(crate) dimensions: Arc<[String]>,
    /// `None` for an empty variable.
    pub(crate) shape: Option<Arc<[u64]>>,
    pub(crate) data_type: Option<DataType>,
    pub(crate) endian: Endian,
    pub(crate) masked: bool,
    pub(crate) time: bool,
    /// Where it begins in the body, and its bytes there. With a problem: nothing.
    pub(crate) offset: u64,
    pub(crate) len: u64,
    /// Its bytes as the file states them. Only of strings this may be more than `len`: where it runs past the end.
    pub(crate) stated: u64,
    /// What is wrong with it: then nothing else but the name is to be relied on.
    pub(crate) problem: Option<String>,
}

impl Header {
    /// Parses the line, which begins at `offset` of the file. The body has `body` bytes.
    ///
    /// # Errors
    /// What is no JSON, and no object; more variables than the limits allow. What is wrong with one variable is kept with it.
    pub(crate) fn parse(text: Bytes, offset: u64, body: u64, limits: &Limits) -> Result<Self> {
        let line = std::str::from_utf8(&text)
            .map_err(|error| Error::invalid("the header is not UTF-8 there").at(offset + error.valid_up_to() as u64))?;
        let mut scanner = Scanner::new(line, offset, limits.depth);
        let json = scanner.value()?;
        scanner.end()?;
        if json.kind() != JsonKind::Object {
            return Err(Error::invalid("the header is no object").at(offset));
        }
        let mut header =
            Self { entries: Vec::new(), sorted: Vec::new(), attributes: None, problem: None, text: Bytes::new() };
        let mut places = HashMap::new();
        for (key, value) in json.members() {
            let span = span(line, value.as_text());
            let key = name_of(key);
            match key.strip_prefix('\\').filter(|name| name.starts_with(['.', '\\'])) {
                Some(name) => header.add(name.to_owned(), value, span, body, limits, &mut places)?,
                None if key == "." => match value.kind() {
                    JsonKind::Object => header.attributes = Some(span),
                    _ => header.problem = Some("the dataset's attributes (\".\") are no object".to_owned()),
                },
                // Python's reader passes over such names, too.
                None if key.starts_with('.') => {
                    header.problem = Some(format!("{key:?} is neither \".\" nor a variable"))
                }
                None => header.add(key, value, span, body, limits, &mut places)?,
            }
        }
        header.sorted = (0..header.entries.len()).collect();
        let name = |place: usize| header.entries.get(place).map(|entry| entry.name.as_str());
        header.sorted.sort_unstable_by_key(|place| name(*place));
        header.text = text;
        Ok(header)
    }

    fn add(
        &mut self,
        name: String,
        json: Json<'_>,
        text: Range<usize>,
        body: u64,
        limits: &Limits,
        places: &mut HashMap<String, usize>,
    ) -> Result<()> {
        let mut entry = Entry::parse(name, json, text, body, limits);
        // Of a name that occurs twice Python takes the last value and the first place.
        if let Some(known) = places.get(&entry.name) {
            if let Some(place) = self.entries.get_mut(*known) {
                *place = entry;
            }
            return Ok(());
        }
        limits.check_columns("the number of variables", self.entries.len() as u64 + 1)?;
        places.insert(entry.name.clone(), self.entries.len());
        // Variables mostly have the dimensions and sizes of the one before.
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

    /// All of it.
    pub(crate) fn whole(&self) -> Json<'_> {
        let text = std::str::from_utf8(&self.text).unwrap_or_default(); // it was checked
        Json::checked(text.trim_matches([' ', '\t', '\r', '\n']))
    }

    /// Where a piece of it begins, in bytes from the beginning of the line.
    pub(crate) fn place(&self, piece: Json<'_>) -> u64 {
        piece.as_text().as_ptr().addr().saturating_sub(self.text.as_ptr().addr()) as u64
    }

    fn json(&self, span: &Range<usize>) -> Json<'_> {
        let text = self.text.get(span.clone()).unwrap_or_default();
        Json::checked(std::str::from_utf8(text).unwrap_or("null")) // it was checked
    }

    /// The dataset's attributes.
    pub(crate) fn attributes(&self) -> Option<Json<'_>> {
        self.attributes.as_ref().map(|span| self.json(span))
    }

    /// All that is said of a variable.
    pub(crate) fn member(&self, entry: &Entry) -> Json<'_> {
        self.json(&entry.text)
    }

    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        let named = |place: &usize| self.entries.get(*place).map(|entry| entry.name.as_str());
        let found = self.sorted.binary_search_by(|place| named(place).cmp(&Some(name))).ok()?;
        self.sorted.get(found).copied()
    }
}

/// What the format says of a variable.
pub(crate) const SPECIAL: [&str; 8] = [".dims", ".size", ".type", ".offset", ".len", ".endian", ".missing", ".time"];

/// So many times what a variable takes in the header the names may take that are made for its dimensions.
const NAMES_GROWTH: usize = 16;

/// Which of the format's own names it is, escaped or not.
fn special(key: Json<'_>) -> Option<usize> {
    let text = key.as_text();
    let find = |name: &str| SPECIAL.iter().position(|special| *special == name);
    match text.contains('\\') {
        true => find(&key.as_str()?),
        false => find(text.trim_matches('"')),
    }
}

/// Where a piece stands in the text that it is of.
fn span(text: &str, piece: &str) -> Range<usize> {
    let start = piece.as_ptr().addr().saturating_sub(text.as_ptr().addr());
    start..start + piece.len()
}

/// `ceil(count / 8)`: the bytes of so many bits.
pub(crate) fn bit_bytes(count: u64) -> u64 {
    count.div_ceil(8)
}

impl Entry {
    fn parse(name: String, json: Json<'_>, text: Range<usize>, body: u64, limits: &Limits) -> Self {
        let mut entry = Self {
            name,
            text,
            dimensions: Arc::default(),
            shape: Some(Arc::default()),
            data_type: Some(DataType::Float64),
            endian: Endian::Big,
            masked: false,
            time: false,
            offset: 0,
            len: 0,
            stated: 0,
            problem: None,
        };
        if let Err(problem) = entry.fill(json, body, limits) {
            entry.problem = Some(problem);
        }
        entry
    }

    /// Elements; 0 for an empty variable.
    pub(crate) fn count(&self) -> u64 {
        match &self.shape {
            Some(shape) => shape.iter().product(), // which does not overflow: that was checked
            None => 0,
        }
    }

    /// Bytes of the mask in front of the data.
    pub(crate) fn mask_len(&self) -> u64 {
        if self.masked { bit_bytes(self.count()) } else { 0 }
    }

    fn fill(&mut self, json: Json<'_>, body: u64, limits: &Limits) -> Result<(), String> {
        if json.kind() != JsonKind::Object {
            return Err("its member of the header is no object".to_owned());
        }
        // Of a name that occurs twice Python takes the last value.
        let mut members = [None; SPECIAL.len()];
        for (key, value) in json.members() {
            if let Some(place) = special(key).and_then(|place| members.get_mut(place)) {
                *place = Some(value);
            }
        }
        let whole = |name: &str, value: Json<'_>| {
            value.as_u64().ok_or_else(|| format!("{name} is {}, no whole number from 0 on", shown(value)))
        };
        let truth = |name: &str, value: Json<'_>| {
            value.as_bool().ok_or_else(|| format!("{name} is {}, neither true nor false", shown(value)))
        };
        let mut len = None;
        let mut dimensions = None;
        for (name, value) in SPECIAL.into_iter().zip(members) {
            let Some(value) = value else { continue };
            match name {
                ".dims" => dimensions = names(value)?,
                ".size" => self.shape = sizes(value)?.map(Into::into),
                ".type" => self.data_type = data_type(value)?,
                ".offset" => self.offset = whole(name, value)?,
                ".len" => len = Some(whole(name, value)?),
                ".endian" => self.endian = endian(value)?,
                ".missing" => self.masked = truth(name, value)?,
                _ => self.time = truth(name, value)?,
            }
        }
        let sizes = self.shape.as_deref().unwrap_or_default();
        // Rows are shown as arrays in arrays.
        if sizes.len() as u64 > limits.depth.into() {
            return Err(format!("it has {} dimensions, more than {}", sizes.len(), limits.depth));
        }
        self.dimensions = match dimensions {
            // As Python names them where nobody did. A long name for each of many sizes would be far more than the header.
            None if self.name.len().saturating_mul(sizes.len())
                > (self.name.len() + self.text.len()) * NAMES_GROWTH =>
            {
                return Err(format!(
                    "its {} dimensions have no names (.dims) and its own is too long for theirs",
                    sizes.len()
                ));
            }
            None => (1..=sizes.len()).map(|number| format!("{}_{number}", self.name)).collect(),
            Some(names) => names.into(),
        };
        if self.shape.is_some() && self.dimensions.len() != sizes.len() {
            return Err(format!(
                "there are {} dimensions (.dims) and {} sizes (.size)",
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
                0 => Ok(()), // and no bytes
                _ => Err(format!("it has {count} elements and no type")),
            };
        };
        self.stated = self.checked_len(data_type, count, len)?;
        self.len = self.stated;
        // Python's writer states too many bytes: two for each missing text, and for strings of bytes that it has read from a file those of
        // their `repr`, up to four for one and three for each. What is really there is seen when they are read.
        let missing = if self.masked && data_type.is_text() { count.saturating_mul(2) } else { 0 };
        let printable = data_type == DataType::Str || self.masked && data_type.is_text();
        let printed = if printable { (self.stated / 4).saturating_mul(3) } else { 0 };
        let spare = missing.saturating_add(printed);
        let fewest = if self.masked { self.mask_len() } else { count.saturating_mul(8) };
        let room = body.checked_sub(self.offset);
        match room {
            Some(room) if self.stated <= room => Ok(()),
            _ if self.stated == 0 => Ok(()), // nothing is there wherever it is
            Some(room) if self.stated - room <= spare && fewest <= room => {
                self.len = room;
                Ok(())
            }
            _ => Err(format!("it takes {} bytes from {} of the body on, which has {body}", self.stated, self.offset)),
        }
    }

    /// The bytes it takes: `stated`, which must fit the type and the number of elements.
    fn checked_len(&self, data_type: DataType, count: u64, stated: Option<u64>) -> Result<u64, String> {
        let too_many = || format!("{count} elements of {data_type} have more than 2^64 bytes");
        let mask = if self.masked { bit_bytes(count) } else { 0 };
        // Fewest and most bytes of the data, which the masked elements are not part of.
        let all = match data_type.width() {
            Some(width) => count.checked_mul(width as u64).ok_or_else(too_many)?,
            None if data_type == DataType::Bool => bit_bytes(count),
            None => count.checked_mul(8).ok_or_else(too_many)?,
        };
        let fewest = mask.checked_add(if self.masked { 0 } else { all }).ok_or_else(too_many)?;
        let most =
            if data_type.is_text() && count > 0 { u64::MAX } else { mask.checked_add(all).ok_or_else(too_many)? };
        let Some(len) = stated else {
            return match count {
                _ if !self.masked && !data_type.is_text() => Ok(most),
                0 => Ok(0),
                _ => Err("it has no .len".to_owned()),
            };
        };
        let width = data_type.width().unwrap_or(1) as u64;
        if (fewest..=most).contains(&len) && (len - mask).is_multiple_of(width) {
            return Ok(len);
        }
        let masked = if self.masked { "masked " } else { "" };
        let wanted = match (fewest == most, most) {
            (true, _) => format!("{most} bytes"),
            (false, u64::MAX) => format!("{fewest} or more bytes"),
            (false, _) if width > 1 => format!("{fewest} to {most} bytes in steps of {width}"),
            (false, _) => format!("{fewest} to {most} bytes"),
        };
        Err(format!("its .len is {len} where {count} {masked}elements of {data_type} take {wanted}"))
    }
}

/// A value for an error: not too much of it.
fn shown(json: Json<'_>) -> String {
    const MOST: usize = 40;
    let text = json.as_text();
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

fn names(json: Json<'_>) -> Result<Option<Vec<String>>, String> {
    let wrong = || format!(".dims is {}, no list of names", shown(json));
    match json.kind() {
        JsonKind::Null => Ok(None),
        JsonKind::Array => json
            .items()
            .map(|item| item.to_text().map(Into::into).ok_or_else(wrong))
            .collect::<Result<_, _>>()
            .map(Some),
        _ => Err(wrong()),
    }
}

fn sizes(json: Json<'_>) -> Result<Option<Vec<u64>>, String> {
    let wrong = || format!(".size is {}, no list of whole numbers from 0 on", shown(json));
    match json.kind() {
        JsonKind::Null => Ok(None),
        JsonKind::Array => json.items().map(|item| item.as_u64().ok_or_else(wrong)).collect::<Result<_, _>>().map(Some),
        _ => Err(wrong()),
    }
}

fn data_type(json: Json<'_>) -> Result<Option<DataType>, String> {
    if json.is_null() {
        return Ok(None);
    }
    let found = json.as_str().and_then(|name| DataType::from_name(&name));
    found.map(Some).ok_or_else(|| format!(".type is {}, which is none of the format's types", shown(json)))
}

fn endian(json: Json<'_>) -> Result<Endian, String> {
    match json.as_str().as_deref() {
        Some("b") => Ok(Endian::Big),
        Some("l") => Ok(Endian::Little),
        _ => Err(format!(".endian is {}, neither \"b\" nor \"l\"", shown(json))),
    }
}
