//! Which fields samples have, and of what kinds.

use std::collections::{HashMap, HashSet};

use container_core::{ColumnInfo, Error, Limits, Result};
use serde_json::{Map, Value};

use crate::json;
use crate::numpy::{self, Numpy};
use crate::read::{Reader, Sample};
use crate::value::RawValue;
use crate::wire::Token;

/// Kinds that are told one by one.
const FEW: usize = 4;

/// What a field is called in a message: a text, or any other value as it is encoded.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct FieldName {
    pub(crate) bytes: Box<[u8]>,
    pub(crate) text: bool,
}

/// A field of samples.
#[derive(Debug, Clone)]
pub(crate) struct Field {
    pub(crate) name: FieldName,
    /// Its name as a column.
    pub(crate) unique: String,
    kinds: Kinds,
    /// Samples that have it, of how many.
    count: u64,
    of: u64,
}

/// An array's type, and its lengths as far as they are always the same.
#[derive(Debug, Clone, PartialEq)]
struct Arrays {
    dtype: String,
    /// Nothing where they differ in their number of dimensions.
    shape: Option<Vec<Option<usize>>>,
}

/// Kinds of values that are no arrays or scalars of NumPy, in the order in which they are shown.
const PLAIN: [&str; 11] =
    ["bool", "bytes", "complex", "ext", "float32", "float64", "int", "list", "map", "pickle", "str"];

#[derive(Debug, Clone, Default)]
struct Kinds {
    /// Of [`PLAIN`], a bit each.
    plain: u16,
    scalars: Vec<String>,
    arrays: Vec<Arrays>,
    nil: bool,
    /// There are more than are told.
    more: bool,
}

impl Kinds {
    fn take(&mut self, value: RawValue<'_>) -> Result<()> {
        let mut tokens = value.tokens();
        let plain = match tokens.next()? {
            Token::Nil => {
                self.nil = true;
                return Ok(());
            }
            Token::Bool(_) => "bool",
            Token::Unsigned(_) | Token::Negative(_) => "int",
            Token::F32(_) => "float32",
            Token::F64(_) => "float64",
            Token::Str(_) => "str",
            Token::Bin(_) => "bytes",
            Token::Array(_) => "list",
            Token::Ext(..) => "ext",
            Token::Map(count) if numpy::sniff(tokens, count) => match value.numpy() {
                Ok(Some(Numpy::Array(array))) => {
                    self.array(array.dtype().to_string(), array.shape());
                    return Ok(());
                }
                Ok(Some(Numpy::Scalar(scalar))) => {
                    self.scalar(scalar.dtype().to_string());
                    return Ok(());
                }
                Ok(Some(Numpy::Complex(_))) => "complex",
                Ok(Some(Numpy::Pickle(_))) => "pickle",
                Ok(None) | Err(_) => "map",
            },
            Token::Map(_) => "map",
        };
        self.plain |= PLAIN.iter().position(|kind| *kind == plain).map_or(0, |bit| 1 << bit);
        Ok(())
    }

    fn scalar(&mut self, dtype: String) {
        if !self.scalars.contains(&dtype) {
            match self.scalars.len() < FEW {
                true => self.scalars.push(dtype),
                false => self.more = true,
            }
        }
    }

    fn array(&mut self, dtype: String, shape: &[usize]) {
        let room = self.arrays.len() < FEW;
        match self.arrays.iter_mut().find(|arrays| arrays.dtype == dtype) {
            Some(arrays) => match &mut arrays.shape {
                Some(known) if known.len() == shape.len() => {
                    for (known, length) in known.iter_mut().zip(shape) {
                        *known = known.filter(|known| known == length);
                    }
                }
                known => *known = None,
            },
            None if room => {
                self.arrays.push(Arrays { dtype, shape: Some(shape.iter().copied().map(Some).collect()) });
            }
            None => self.more = true,
        }
    }

    /// `int or nil`, `ndarray <f4 [?, 3]`.
    fn text(&self) -> String {
        let plain = PLAIN.iter().enumerate().filter(|(bit, _)| self.plain & 1 << bit != 0);
        let mut parts: Vec<String> = plain.map(|(_, kind)| (*kind).to_owned()).collect();
        parts.extend(self.scalars.iter().map(|dtype| format!("scalar {dtype}")));
        parts.extend(self.arrays.iter().map(|arrays| {
            let length = |length: &Option<usize>| length.map_or_else(|| "?".to_owned(), |length| length.to_string());
            match &arrays.shape {
                Some(shape) => {
                    let lengths: Vec<String> = shape.iter().map(length).collect();
                    format!("ndarray {} [{}]", arrays.dtype, lengths.join(", "))
                }
                None => format!("ndarray {} [...]", arrays.dtype),
            }
        }));
        if self.more {
            parts.push("others".to_owned());
        }
        if self.nil {
            parts.push("nil".to_owned());
        }
        parts.join(" or ")
    }
}

impl Field {
    pub(super) fn info(&self) -> ColumnInfo {
        ColumnInfo::new(self.unique.clone(), self.kinds.text())
    }

    pub(super) fn summary(&self) -> Map<String, Value> {
        let members = [("samples", self.count), ("samples_looked_at", self.of)];
        members.into_iter().map(|(name, count)| (name.to_owned(), count.into())).collect()
    }
}

/// Gathers fields.
pub(super) struct Fields {
    fields: Vec<Field>,
    places: HashMap<FieldName, usize>,
    most: u64,
    looked: u64,
    /// The sample that each field was seen in last, so that one that is there twice counts once.
    last: Vec<u64>,
}

impl Fields {
    pub(super) fn new(most: u64) -> Self {
        Self { fields: Vec::new(), places: HashMap::new(), most, looked: 0, last: Vec::new() }
    }

    /// Begins with the names of known fields.
    pub(super) fn keep(&mut self, known: &[Field]) {
        for field in known {
            self.places.insert(field.name.clone(), self.fields.len());
            let name = field.name.clone();
            self.fields.push(Field { name, unique: field.unique.clone(), kinds: Kinds::default(), count: 0, of: 0 });
            self.last.push(0);
        }
    }

    /// Looks at every `step`th sample. `failed` says whether to go on behind one that is wrong.
    pub(super) fn take_all(
        &mut self,
        reader: &Reader,
        step: u64,
        failed: &mut dyn FnMut(Error) -> Result<()>,
    ) -> Result<()> {
        let mut samples = reader.iter();
        let between = usize::try_from(step.saturating_sub(1)).unwrap_or(usize::MAX);
        let mut next = samples.next();
        while let Some(sample) = next {
            match sample.and_then(|sample| self.take(&sample).map_err(|error| sample.in_sample(error))) {
                Err(error) if matches!(error.kind(), container_core::ErrorKind::Io) => return Err(error),
                Err(error) => failed(error)?,
                Ok(()) => {}
            }
            next = samples.nth(between);
        }
        Ok(())
    }

    fn take(&mut self, sample: &Sample<'_>) -> Result<()> {
        self.looked += 1;
        let raw = sample.raw();
        if !matches!(raw.tokens().next()?, Token::Map(_)) {
            return Ok(());
        }
        for (position, entry) in raw.entries()?.enumerate() {
            let (name, value) = entry?;
            let place = self.place(position, name)?;
            if let (Some(field), Some(last)) = (self.fields.get_mut(place), self.last.get_mut(place)) {
                field.kinds.take(value)?;
                field.count += u64::from(*last != self.looked);
                *last = self.looked;
            }
        }
        Ok(())
    }

    /// Where a field is in the list; it is added if it is new.
    fn place(&mut self, position: usize, name: RawValue<'_>) -> Result<usize> {
        let (bytes, text) = match name.tokens().next()? {
            Token::Str(bytes) => (bytes, true),
            _ => (name.as_bytes(), false),
        };
        // Samples mostly have the same fields in the same order.
        let guess =
            self.fields.get(position).is_some_and(|field| field.name.text == text && *field.name.bytes == *bytes);
        if guess {
            return Ok(position);
        }
        let key = FieldName { bytes: bytes.into(), text };
        if let Some(&place) = self.places.get(&key) {
            return Ok(place);
        }
        let place = self.fields.len();
        if place as u64 >= self.most {
            return Err(Error::limit("the number of columns", place as u64 + 1, self.most).at(name.offset()));
        }
        self.places.insert(key.clone(), place);
        let unique = shown(&key, name);
        self.fields.push(Field { name: key, unique, kinds: Kinds::default(), count: 0, of: 0 });
        self.last.push(0);
        Ok(place)
    }

    /// The fields, under names of which no two are the same.
    pub(super) fn finish(mut self) -> Vec<Field> {
        let mut taken: HashSet<String> = HashSet::new();
        // Where the numbers for a name go on, or a million fields of the same name would be counted through again and again.
        let mut numbers: HashMap<String, u64> = HashMap::new();
        for field in &mut self.fields {
            field.of = self.looked;
            if taken.insert(field.unique.clone()) {
                continue;
            }
            let number = numbers.entry(field.unique.clone()).or_insert(2);
            loop {
                let unique = format!("{}#{number}", field.unique);
                *number += 1;
                if taken.insert(unique.clone()) {
                    field.unique = unique;
                    break;
                }
            }
        }
        self.fields
    }
}

/// A name as people read it, and as whole rows have it: text as it is, other values as JSON.
fn shown(name: &FieldName, value: RawValue<'_>) -> String {
    if name.text {
        return String::from_utf8_lossy(&name.bytes).into_owned();
    }
    let mut out = Vec::new();
    match json::write(value, &mut out, &Limits::default()) {
        Ok(()) => String::from_utf8_lossy(&out).into_owned(),
        Err(_) => "?".to_owned(),
    }
}
