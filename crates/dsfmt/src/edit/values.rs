//! Builds arrays from JSON.

use container_core::{Error, Result};

use crate::array::{Array, Mask, Strings, Values};
use crate::edit::convert::converted;
use crate::json::{Json, JsonKind};
use crate::types::DataType;

/// The values of nested lists.
#[derive(Debug, Default)]
struct Leaves<'j> {
    shape: Vec<u64>,
    /// Nesting of the values, known from the first one.
    depth: Option<usize>,
    all: Vec<Json<'j>>,
}

impl Array<'static> {
    /// Creates an array from JSON: a value, or nested lists of equal lengths; `null` is a missing element.
    ///
    /// Without a type it is inferred: `bool`; `int64`, or `uint64` if a value exceeds it and none is negative; `float64` if any number has a point
    /// or an exponent; `unicode`. For float types the strings `NaN`, `Infinity` and `-Infinity` are accepted; for `str`, strings become UTF-8.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) for ragged lists, mixed types, and values that do not have the type, with their element
    /// index in C order.
    ///
    /// ```
    /// use dsfmt::{Array, DataType, Json};
    /// let array = Array::from_json(Json::parse("[[1, null], [3, 4]]")?, Some(DataType::Float32))?;
    /// assert_eq!((array.shape(), array.missing()), (&[2, 2][..], 1));
    /// # Ok::<(), dsfmt::Error>(())
    /// ```
    pub fn from_json(json: Json<'_>, data_type: Option<DataType>) -> Result<Self> {
        let mut leaves = Leaves::default();
        leaves.collect(json, 0)?;
        let missing: Vec<bool> = leaves.all.iter().map(Json::is_null).collect();
        let data_type = match data_type {
            Some(data_type) => data_type,
            None => leaves.infer()?,
        };
        let array = Array::new(leaves.shape.clone(), leaves.values(data_type)?)?;
        let array = if missing.contains(&true) { array.with_mask(Mask::from_bools(missing))? } else { array };
        converted(array, data_type).map(|(array, _)| array).map_err(|error| Error::usage(error.detail().to_owned()))
    }
}

impl<'j> Leaves<'j> {
    fn collect(&mut self, json: Json<'j>, depth: usize) -> Result<()> {
        if json.kind() != JsonKind::Array {
            if *self.depth.get_or_insert(depth) != depth {
                return Err(ragged(self.all.len()));
            }
            self.all.push(json);
            return Ok(());
        }
        if self.depth.is_some_and(|deepest| depth >= deepest) {
            return Err(ragged(self.all.len()));
        }
        let first = self.shape.len() == depth;
        if first {
            self.shape.push(0);
        }
        let mut count = 0;
        for item in json.items() {
            self.collect(item, depth + 1)?;
            count += 1;
        }
        match self.shape.get_mut(depth) {
            Some(size) if first => *size = count,
            Some(size) if *size == count => {}
            _ => return Err(ragged(self.all.len())),
        }
        Ok(())
    }

    fn infer(&self) -> Result<DataType> {
        let mut inferred: Option<DataType> = None;
        for (index, leaf) in self.all.iter().enumerate() {
            let kind = match leaf.kind() {
                JsonKind::Null => continue,
                JsonKind::Bool => DataType::Bool,
                JsonKind::Integer if leaf.as_i64().is_some() => DataType::Int64,
                JsonKind::Integer if leaf.as_u64().is_some() => DataType::Uint64,
                JsonKind::Integer | JsonKind::Float => DataType::Float64,
                JsonKind::String => DataType::Unicode,
                JsonKind::Array | JsonKind::Object => return Err(unexpected(index, "a value", "an object")),
            };
            let negative = |leaves: &Self| leaves.all.iter().any(|leaf| leaf.as_i64().is_some_and(|number| number < 0));
            inferred = Some(match (inferred, kind) {
                (None, kind) => kind,
                (Some(one), other) if one == other => one,
                (Some(DataType::Float64), DataType::Int64 | DataType::Uint64)
                | (Some(DataType::Int64 | DataType::Uint64), DataType::Float64) => DataType::Float64,
                (Some(DataType::Int64 | DataType::Uint64), DataType::Int64 | DataType::Uint64) if !negative(self) => {
                    DataType::Uint64
                }
                (Some(one), other) => {
                    let detail = format!("mixed types {one} and {other}: give a type (element {index})");
                    return Err(Error::usage(detail));
                }
            });
        }
        Ok(inferred.unwrap_or(DataType::Float64))
    }

    /// The values, in a type wide enough for any JSON value of `target`'s kind.
    fn values(&self, target: DataType) -> Result<Values<'static>> {
        let leaves = || self.all.iter().enumerate();
        Ok(match target {
            DataType::Bool => {
                let truth = |(index, leaf): (usize, &Json<'_>)| match leaf.as_bool() {
                    Some(truth) => Ok(truth),
                    None if leaf.is_null() => Ok(false),
                    None => Err(unexpected(index, target.name(), leaf.as_text())),
                };
                Values::from(leaves().map(truth).collect::<Result<Vec<bool>>>()?)
            }
            DataType::Str | DataType::Unicode => {
                let mut strings = Strings::default();
                for (index, leaf) in leaves() {
                    match leaf.as_str() {
                        Some(text) => strings.push(text.as_bytes()),
                        None if leaf.is_null() => strings.push(b""),
                        None => return Err(unexpected(index, target.name(), leaf.as_text())),
                    }
                }
                if target == DataType::Str { Values::Str(strings) } else { Values::Unicode(strings) }
            }
            DataType::Float32 | DataType::Float64 => {
                let float = |(index, leaf): (usize, &Json<'_>)| match (leaf.as_f64(), leaf.as_text()) {
                    (Some(number), _) => Ok(number),
                    (None, "null") => Ok(0.0),
                    (None, "\"NaN\"") => Ok(f64::NAN),
                    (None, "\"Infinity\"") => Ok(f64::INFINITY),
                    (None, "\"-Infinity\"") => Ok(f64::NEG_INFINITY),
                    (None, text) => Err(unexpected(index, target.name(), text)),
                };
                Values::from(leaves().map(float).collect::<Result<Vec<f64>>>()?)
            }
            DataType::Uint64 => Values::from(self.integers(target, Json::as_u64)?),
            _ => Values::from(self.integers(target, Json::as_i64)?),
        })
    }

    fn integers<T: Default>(&self, target: DataType, as_integer: impl Fn(&Json<'j>) -> Option<T>) -> Result<Vec<T>> {
        let integer = |(index, leaf): (usize, &Json<'j>)| match as_integer(leaf) {
            Some(number) => Ok(number),
            None if leaf.is_null() => Ok(T::default()),
            None => Err(unexpected(index, target.name(), leaf.as_text())),
        };
        self.all.iter().enumerate().map(integer).collect()
    }
}

#[cold]
fn ragged(element: usize) -> Error {
    Error::usage(format!("ragged lists: length or depth differs at element {element}"))
}

#[cold]
fn unexpected(element: usize, expected: &str, found: &str) -> Error {
    let excerpt: String = found.chars().take(40).collect();
    Error::usage(format!("expected {expected}, found {excerpt} (element {element})"))
}
