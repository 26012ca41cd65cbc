//! A column that is filled.

use container_core::{Error, Result};
use dsfmt::{Array, DataType, Json, JsonKind, Mask, Strings, Values};

use super::super::json::{Kind, shortened, unescaped};
use super::seen::Resolved;

/// Values of one column, row by row.
#[derive(Debug)]
pub(super) struct Column {
    pub(super) name: String,
    resolved: Resolved,
    data: Data,
    missing: Vec<bool>,
    /// Some element is missing.
    masked: bool,
    /// The row has its value.
    filled: bool,
    expected: u64,
}

#[derive(Debug)]
enum Data {
    Bool(Vec<bool>),
    Int64(Vec<i64>),
    Uint64(Vec<u64>),
    Float64(Vec<f64>),
    Float32(Vec<f32>),
    Strings(Strings<'static>),
}

impl Data {
    fn of(data_type: DataType) -> Self {
        match data_type {
            DataType::Bool => Self::Bool(Vec::new()),
            DataType::Int64 => Self::Int64(Vec::new()),
            DataType::Uint64 => Self::Uint64(Vec::new()),
            DataType::Float32 => Self::Float32(Vec::new()),
            DataType::Str | DataType::Unicode => Self::Strings(Strings::default()),
            _ => Self::Float64(Vec::new()),
        }
    }
}

impl Column {
    pub(super) fn new(name: String, mut resolved: Resolved, hint: Option<DataType>, absent: bool, rows: u64) -> Self {
        resolved.missing |= absent;
        // Numbers of a float that was short stay short: their digits say no more.
        if let (Some(DataType::Float32), DataType::Float64 | DataType::Int64 | DataType::Uint64) =
            (hint, resolved.data_type)
        {
            resolved.data_type = DataType::Float32;
        }
        let data = Data::of(resolved.data_type);
        let mut column = Self { name, resolved, data, missing: Vec::new(), masked: false, filled: false, expected: 0 };
        column.expected = column.leaves().saturating_mul(rows);
        column
    }

    pub(super) fn data_type(&self) -> DataType {
        self.resolved.data_type
    }

    pub(super) fn may_miss(&self) -> bool {
        self.resolved.missing
    }

    /// Elements of a row.
    pub(super) fn leaves(&self) -> u64 {
        self.resolved.sizes.iter().product() // as many as an array in memory had
    }

    pub(super) fn shape(&self, rows: u64) -> Vec<u64> {
        std::iter::once(rows).chain(self.resolved.sizes.iter().copied()).collect()
    }

    /// The dimension of the rows, and others called after the column.
    pub(super) fn dimensions(&self, rows: &str) -> Vec<String> {
        let others = (2..self.resolved.sizes.len() + 2).map(|number| format!("{}_{number}", self.name));
        std::iter::once(rows.to_owned()).chain(others).collect()
    }

    /// The memory that its values take, about.
    pub(super) fn bytes(&self) -> u64 {
        let texts = if self.resolved.data_type.is_text() { self.resolved.text_bytes } else { 0 };
        self.expected.saturating_mul(9).saturating_add(texts)
    }

    pub(super) fn push_json(&mut self, text: &str) -> Result<()> {
        self.filled = true;
        match Kind::of(text) {
            Kind::Null => self.push_missing_row(),
            Kind::Array => self.push_items(Json::parse(text)?)?,
            _ => self.push_item(text)?,
        }
        Ok(())
    }

    fn push_items(&mut self, json: Json<'_>) -> Result<()> {
        if json.kind() == JsonKind::Array {
            return json.items().try_for_each(|item| self.push_items(item));
        }
        self.push_item(json.as_text())
    }

    fn push_item(&mut self, text: &str) -> Result<()> {
        let kind = Kind::of(text);
        if kind == Kind::Null {
            self.push_missing();
            return Ok(());
        }
        match (&mut self.data, kind) {
            (Data::Strings(strings), Kind::String) => strings.push(unescaped(text)?.as_bytes()),
            (Data::Strings(strings), _) => strings.push(&bytes_of(text).ok_or_else(|| changed(text))?),
            (_, Kind::String) => return self.push_plain(&unescaped(text)?),
            _ => return self.push_plain(text),
        }
        self.missing.push(false);
        Ok(())
    }

    pub(super) fn push_word(&mut self, text: &str) -> Result<()> {
        self.filled = true;
        if let (Data::Strings(strings), true) = (&mut self.data, self.resolved.sizes.is_empty()) {
            strings.push(text.as_bytes());
            self.missing.push(false);
            return Ok(());
        }
        if text.is_empty() {
            self.push_missing_row();
            return Ok(());
        }
        if text.starts_with('[') { self.push_items(Json::parse(text)?) } else { self.push_plain(text) }
    }

    /// A bool or a number.
    fn push_plain(&mut self, text: &str) -> Result<()> {
        let changed = || changed(text);
        match &mut self.data {
            Data::Bool(bools) => bools.push(match text {
                _ if text.eq_ignore_ascii_case("true") => true,
                _ if text.eq_ignore_ascii_case("false") => false,
                _ => return Err(changed()),
            }),
            Data::Int64(numbers) => numbers.push(text.parse().map_err(|_| changed())?),
            Data::Uint64(numbers) => numbers.push(text.parse().map_err(|_| changed())?),
            Data::Float64(numbers) => numbers.push(text.parse().map_err(|_| changed())?),
            Data::Float32(numbers) => numbers.push(text.parse().map_err(|_| changed())?),
            Data::Strings(_) => return Err(changed()),
        }
        self.missing.push(false);
        Ok(())
    }

    fn push_missing(&mut self) {
        match &mut self.data {
            Data::Bool(bools) => bools.push(false),
            Data::Int64(numbers) => numbers.push(0),
            Data::Uint64(numbers) => numbers.push(0),
            Data::Float64(numbers) => numbers.push(0.0),
            Data::Float32(numbers) => numbers.push(0.0),
            Data::Strings(strings) => strings.push(b""),
        }
        self.missing.push(true);
        self.masked = true;
    }

    fn push_missing_row(&mut self) {
        (0..self.leaves()).for_each(|_| self.push_missing());
    }

    /// A row is over: a value that did not come is missing.
    pub(super) fn end_row(&mut self) {
        if !std::mem::take(&mut self.filled) {
            self.push_missing_row();
        }
    }

    /// All values, which are then gone from here.
    pub(super) fn take(&mut self, rows: u64) -> Result<Array<'static>> {
        let data = std::mem::replace(&mut self.data, Data::of(self.resolved.data_type));
        let values = match data {
            Data::Bool(values) => Values::from(values),
            Data::Int64(values) => Values::from(values),
            Data::Uint64(values) => Values::from(values),
            Data::Float64(values) => Values::from(values),
            Data::Float32(values) => Values::from(values),
            Data::Strings(strings) if self.resolved.data_type == DataType::Str => Values::Str(strings),
            Data::Strings(strings) => Values::Unicode(strings),
        };
        // A file that grew or shrank meanwhile is seen here.
        let array = Array::new(self.shape(rows), values)
            .map_err(|error| Error::invalid(error.detail().to_owned()).in_column(self.name.clone()))?;
        let missing = std::mem::take(&mut self.missing);
        if self.masked { array.with_mask(Mask::from_bools(missing)) } else { Ok(array) }
    }
}

/// What was seen the first time is not what is seen the second time.
#[cold]
fn changed(text: &str) -> Error {
    Error::invalid(format!("{} is not of the type that the column had before: the input changed", shortened(text)))
}

/// The bytes of `{"$bytes": base64}`.
pub(super) fn bytes_of(text: &str) -> Option<Vec<u8>> {
    let json = Json::parse(text).ok()?;
    let mut members = json.members();
    let (name, value) = members.next()?;
    if members.next().is_some() || name.as_text() != "\"$bytes\"" {
        return None;
    }
    from_base64(value.as_str()?.as_bytes())
}

fn from_base64(text: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    if !text.len().is_multiple_of(4) {
        return None;
    }
    let padding = text.iter().rev().take(2).take_while(|byte| **byte == b'=').count();
    let text = text.get(..text.len() - padding)?;
    let mut out = Vec::with_capacity(text.len() / 4 * 3 + 2);
    for group in text.chunks(4) {
        let mut word = 0u32;
        for byte in group {
            word = word << 6 | u32::from(digit(*byte)?);
        }
        let bytes = (word << (6 * (4 - group.len()))).to_be_bytes();
        out.extend_from_slice(bytes.get(1..group.len())?);
    }
    Some(out)
}
