//! Arrays from JSON.

use container_core::{Error, Result};

use crate::array::{Array, Mask, Strings, Values};
use crate::edit::convert::converted;
use crate::json::{Json, JsonKind};
use crate::types::DataType;

/// What the values of a JSON text are.
#[derive(Debug, Default)]
struct Leaves<'j> {
    shape: Vec<u64>,
    /// Where the shape is known: as deep as the first value.
    depth: Option<usize>,
    all: Vec<Json<'j>>,
}

impl Array<'static> {
    /// An array from JSON: a value, or lists in lists that are equally long; `null` is a missing element.
    ///
    /// Without a type it is inferred: `bool`; `int64`, or `uint64` where one is above and none below 0; `float64` for numbers with a point
    /// or exponent among them; `unicode`. The texts `NaN`, `Infinity` and `-Infinity` are floats where a float is wanted, and texts of type
    /// `str` are their UTF-8.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) for lists that are no array, and for values that have no type in common or do not have
    /// the type that is wanted, with their element, counted from 0 in C order.
    ///
    /// ```
    /// use dsfmt::{Array, DataType, Json};
    /// let array = Array::from_json(Json::parse("[[1, null], [3, 4]]")?, Some(DataType::Float32))?;
    /// assert_eq!((array.shape(), array.missing()), (&[2, 2][..], 1));
    /// # Ok::<(), dsfmt::Error>(())
    /// ```
    pub fn from_json(json: Json<'_>, data_type: Option<DataType>) -> Result<Self> {
        let mut leaves = Leaves::default();
        leaves.walk(json, 0)?;
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
    fn walk(&mut self, json: Json<'j>, depth: usize) -> Result<()> {
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
            self.walk(item, depth + 1)?;
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
        let mut found: Option<DataType> = None;
        for (index, leaf) in self.all.iter().enumerate() {
            let kind = match leaf.kind() {
                JsonKind::Null => continue,
                JsonKind::Bool => DataType::Bool,
                JsonKind::Integer if leaf.as_i64().is_some() => DataType::Int64,
                JsonKind::Integer if leaf.as_u64().is_some() => DataType::Uint64,
                JsonKind::Integer | JsonKind::Float => DataType::Float64,
                JsonKind::String => DataType::Unicode,
                JsonKind::Array | JsonKind::Object => return Err(no_value(index, "an object")),
            };
            let negative = |this: &Self| this.all.iter().any(|leaf| leaf.as_i64().is_some_and(|number| number < 0));
            found = Some(match (found, kind) {
                (None, kind) => kind,
                (Some(one), other) if one == other => one,
                (Some(DataType::Float64), DataType::Int64 | DataType::Uint64)
                | (Some(DataType::Int64 | DataType::Uint64), DataType::Float64) => DataType::Float64,
                (Some(DataType::Int64 | DataType::Uint64), DataType::Int64 | DataType::Uint64) if !negative(self) => {
                    DataType::Uint64
                }
                (Some(one), other) => {
                    let detail = format!("a value of the type {other} stands beside {one}; say which type is meant");
                    return Err(Error::usage(format!("{detail} (element {index})")));
                }
            });
        }
        Ok(found.unwrap_or(DataType::Float64))
    }

    /// The values in a type that holds what is there; not yet the one that is wanted.
    fn values(&self, wanted: DataType) -> Result<Values<'static>> {
        let leaves = || self.all.iter().enumerate();
        Ok(match wanted {
            DataType::Bool => {
                let truth = |(index, leaf): (usize, &Json<'_>)| match leaf.as_bool() {
                    Some(truth) => Ok(truth),
                    None if leaf.is_null() => Ok(false),
                    None => Err(no_value(index, leaf.as_text())),
                };
                Values::from(leaves().map(truth).collect::<Result<Vec<bool>>>()?)
            }
            DataType::Str | DataType::Unicode => {
                let mut strings = Strings::default();
                for (index, leaf) in leaves() {
                    match leaf.as_str() {
                        Some(text) => strings.push(text.as_bytes()),
                        None if leaf.is_null() => strings.push(b""),
                        None => return Err(no_value(index, leaf.as_text())),
                    }
                }
                if wanted == DataType::Str { Values::Str(strings) } else { Values::Unicode(strings) }
            }
            DataType::Float32 | DataType::Float64 => {
                let float = |(index, leaf): (usize, &Json<'_>)| match (leaf.as_f64(), leaf.as_text()) {
                    (Some(number), _) => Ok(number),
                    (None, "null") => Ok(0.0),
                    (None, "\"NaN\"") => Ok(f64::NAN),
                    (None, "\"Infinity\"") => Ok(f64::INFINITY),
                    (None, "\"-Infinity\"") => Ok(f64::NEG_INFINITY),
                    (None, text) => Err(no_value(index, text)),
                };
                Values::from(leaves().map(float).collect::<Result<Vec<f64>>>()?)
            }
            DataType::Uint64 => Values::from(self.integers(Json::as_u64)?),
            _ => Values::from(self.integers(Json::as_i64)?),
        })
    }

    fn integers<T: Default>(&self, as_integer: impl Fn(&Json<'j>) -> Option<T>) -> Result<Vec<T>> {
        let integer = |(index, leaf): (usize, &Json<'j>)| match as_integer(leaf) {
            Some(number) => Ok(number),
            None if leaf.is_null() => Ok(T::default()),
            None => Err(no_value(index, leaf.as_text())),
        };
        self.all.iter().enumerate().map(integer).collect()
    }
}

#[cold]
fn ragged(element: usize) -> Error {
    Error::usage(format!("the lists are no array: they are not equally long or deep at element {element}"))
}

#[cold]
fn no_value(element: usize, found: &str) -> Error {
    let shown: String = found.chars().take(40).collect();
    Error::usage(format!("element {element} is {shown}, which is no value of the type that is wanted"))
}
