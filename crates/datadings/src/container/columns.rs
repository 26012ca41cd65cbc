//! Infers the columns of a dataset: the fields of its samples and their types.

use std::collections::{HashMap, HashSet};

use container_core::{ColumnInfo, Error, Limits, Result, Watch};
use serde_json::{Map, Value};

use crate::json;
use crate::numpy::{self, Numpy};
use crate::read::{Reader, Sample};
use crate::value::RawValue;
use crate::wire::Token;

/// Maximum number of dtypes listed individually.
const MAX_DTYPES: usize = 4;

/// A field name: a str, or any other value in its encoding.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct FieldName {
    pub(crate) bytes: Box<[u8]>,
    pub(crate) text: bool,
}

/// A field of the samples.
#[derive(Debug, Clone)]
pub(crate) struct Field {
    pub(crate) name: FieldName,
    /// The column name.
    pub(crate) unique: String,
    kinds: Kinds,
    /// Number of samples that have it, and of samples inspected.
    count: u64,
    of: u64,
}

/// A dtype of arrays, and their lengths as far as all have the same.
#[derive(Debug, Clone, PartialEq)]
struct Arrays {
    dtype: String,
    /// `None` if the number of dimensions differs.
    shape: Option<Vec<Option<usize>>>,
}

/// Kinds of values other than numpy arrays and scalars, in display order.
const PLAIN: [&str; 11] =
    ["bool", "bytes", "complex", "ext", "float32", "float64", "int", "list", "map", "pickle", "str"];

/// The kinds of values of a field.
#[derive(Debug, Clone, Default)]
struct Kinds {
    /// A bit for each kind in [`PLAIN`].
    plain: u16,
    scalars: Vec<String>,
    arrays: Vec<Arrays>,
    nil: bool,
    /// There are more dtypes than listed.
    others: bool,
}

impl Kinds {
    fn add(&mut self, value: RawValue<'_>) -> Result<()> {
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
                    self.add_array(array.dtype().to_string(), array.shape());
                    return Ok(());
                }
                Ok(Some(Numpy::Scalar(scalar))) => {
                    self.add_scalar(scalar.dtype().to_string());
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

    fn add_scalar(&mut self, dtype: String) {
        if !self.scalars.contains(&dtype) {
            match self.scalars.len() < MAX_DTYPES {
                true => self.scalars.push(dtype),
                false => self.others = true,
            }
        }
    }

    fn add_array(&mut self, dtype: String, shape: &[usize]) {
        let has_room = self.arrays.len() < MAX_DTYPES;
        match self.arrays.iter_mut().find(|arrays| arrays.dtype == dtype) {
            Some(arrays) => match &mut arrays.shape {
                Some(known) if known.len() == shape.len() => {
                    for (known, length) in known.iter_mut().zip(shape) {
                        *known = known.filter(|known| known == length);
                    }
                }
                known => *known = None,
            },
            None if has_room => {
                self.arrays.push(Arrays { dtype, shape: Some(shape.iter().copied().map(Some).collect()) });
            }
            None => self.others = true,
        }
    }

    /// For example `int or nil`, `ndarray <f4 [?, 3]`.
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
        if self.others {
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

/// Collects the fields of samples.
pub(super) struct Fields {
    fields: Vec<Field>,
    indexes: HashMap<FieldName, usize>,
    max_columns: u64,
    inspected: u64,
    /// The last sample that had each field, so that a duplicate counts once.
    last: Vec<u64>,
}

impl Fields {
    pub(super) fn new(max_columns: u64) -> Self {
        Self { fields: Vec::new(), indexes: HashMap::new(), max_columns, inspected: 0, last: Vec::new() }
    }

    /// Starts with the names of known fields.
    pub(super) fn keep(&mut self, known: &[Field]) {
        for field in known {
            self.indexes.insert(field.name.clone(), self.fields.len());
            let name = field.name.clone();
            self.fields.push(Field { name, unique: field.unique.clone(), kinds: Kinds::default(), count: 0, of: 0 });
            self.last.push(0);
        }
    }

    /// Inspects every `step`th sample. `on_error` decides whether to go on after an invalid one.
    pub(super) fn inspect_all(
        &mut self,
        reader: &Reader,
        step: u64,
        watch: &Watch,
        on_error: &mut dyn FnMut(Error) -> Result<()>,
    ) -> Result<()> {
        /// Samples between two progress reports.
        const REPORTED: u64 = 256;
        let mut samples = reader.iter();
        let mut inspected = 0;
        let skip = usize::try_from(step.saturating_sub(1)).unwrap_or(usize::MAX);
        let mut next = samples.next();
        while let Some(sample) = next {
            inspected += 1;
            if inspected % REPORTED == 0 {
                watch.advance(REPORTED)?;
            }
            match sample.and_then(|sample| self.inspect(&sample).map_err(|error| sample.in_sample(error))) {
                Err(error) if matches!(error.kind(), container_core::ErrorKind::Io) => return Err(error),
                Err(error) => on_error(error)?,
                Ok(()) => {}
            }
            next = samples.nth(skip);
        }
        Ok(())
    }

    fn inspect(&mut self, sample: &Sample<'_>) -> Result<()> {
        self.inspected += 1;
        let raw = sample.raw();
        if !matches!(raw.tokens().next()?, Token::Map(_)) {
            return Ok(());
        }
        for (position, entry) in raw.entries()?.enumerate() {
            let (name, value) = entry?;
            let index = self.index_of(position, name)?;
            if let (Some(field), Some(last)) = (self.fields.get_mut(index), self.last.get_mut(index)) {
                field.kinds.add(value)?;
                field.count += u64::from(*last != self.inspected);
                *last = self.inspected;
            }
        }
        Ok(())
    }

    /// The index of a field, which is added if it is new.
    fn index_of(&mut self, position: usize, name: RawValue<'_>) -> Result<usize> {
        let (bytes, text) = match name.tokens().next()? {
            Token::Str(bytes) => (bytes, true),
            _ => (name.as_bytes(), false),
        };
        // Samples usually have the same fields in the same order.
        let is_same =
            self.fields.get(position).is_some_and(|field| field.name.text == text && *field.name.bytes == *bytes);
        if is_same {
            return Ok(position);
        }
        let key = FieldName { bytes: bytes.into(), text };
        if let Some(&index) = self.indexes.get(&key) {
            return Ok(index);
        }
        let index = self.fields.len();
        if index as u64 >= self.max_columns {
            return Err(Error::limit("number of columns", index as u64 + 1, self.max_columns).at(name.offset()));
        }
        self.indexes.insert(key.clone(), index);
        let unique = display_name(&key, name);
        self.fields.push(Field { name: key, unique, kinds: Kinds::default(), count: 0, of: 0 });
        self.last.push(0);
        Ok(index)
    }

    /// The fields, with unique column names.
    pub(super) fn finish(mut self) -> Vec<Field> {
        let mut taken: HashSet<String> = HashSet::new();
        // The next suffix of each name, which keeps renaming linear even if all names are the same.
        let mut next_suffixes: HashMap<String, u64> = HashMap::new();
        for field in &mut self.fields {
            field.of = self.inspected;
            if taken.insert(field.unique.clone()) {
                continue;
            }
            let suffix = next_suffixes.entry(field.unique.clone()).or_insert(2);
            loop {
                let unique = format!("{}#{suffix}", field.unique);
                *suffix += 1;
                if taken.insert(unique.clone()) {
                    field.unique = unique;
                    break;
                }
            }
        }
        self.fields
    }
}

/// A name for display and in whole rows: strings unchanged, other values as JSON.
fn display_name(name: &FieldName, value: RawValue<'_>) -> String {
    if name.text {
        return String::from_utf8_lossy(&name.bytes).into_owned();
    }
    let mut out = Vec::new();
    match json::write(value, &mut out, &Limits::default()) {
        Ok(()) => String::from_utf8_lossy(&out).into_owned(),
        Err(_) => "?".to_owned(),
    }
}
