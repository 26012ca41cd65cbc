//! Parsing values of a column from JSON, numbers directly from their digits.

mod scan;

use container_core::{Error, Result};

use self::scan::{Json, Scalar};
use super::shape::{Shape, check_length};
use super::{Cell, KeyLabels, cannot_be_missing, mismatch, push_item, quoted};
use crate::codec::{Values, Vectors};
use crate::wire::{ItemType, Type};

impl Values {
    /// Appends one value of a type from its JSON, in the form of [`Row::json`](crate::Row::json). On an error nothing is appended.
    ///
    /// Numbers are parsed from their digits: an `f32` is rounded once, 64-bit and 128-bit integers are exact. Strings are [`Cell::Text`],
    /// numbers [`Cell::Int`] or floats, `null` is [`Cell::Missing`]; see [`push_cell`](Self::push_cell). A vector is an array, nested arrays
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
    /// assert_eq!(error.to_string(), "expected 4 items for Vector<Single, 2, 2>, found 3");
    /// assert_eq!(values.len(), 2);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`push_cell`](Self::push_cell); [`Invalid`](container_core::ErrorKind::Invalid) for invalid JSON or an array of the wrong shape. The
    /// message has the byte within `raw`.
    pub fn push_json(&mut self, kind: &Type, labels: Option<&KeyLabels>, raw: &str) -> Result<()> {
        let len = self.len();
        let mut json = Json::new(raw);
        let pushed = push(self, kind, labels, &mut json).and_then(|()| json.end());
        pushed.map_err(|error| {
            self.truncate(len);
            with_json_byte(error)
        })
    }
}

/// Moves the byte within the JSON into the message, as the position is for offsets in a file.
#[cold]
fn with_json_byte(error: Error) -> Error {
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
        return Err(Error::usage(format!("expected {} values, found a value of type {kind}", values.variant())));
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
            let at = json.at();
            let cell = json.scalar()?;
            Err(mismatch(&cell.as_cell(), kind).at(at))
        }
    }
}

/// Appends an item.
fn push_scalar(values: &mut Values, item: ItemType, labels: Option<&KeyLabels>, json: &mut Json<'_>) -> Result<()> {
    if let Some(bracket @ (b'[' | b'{')) = json.peek() {
        let what = if bracket == b'[' { "an array" } else { "an object" };
        return Err(item_mismatch_for(what, item).at(json.at()));
    }
    let at = json.at();
    let scalar = json.scalar()?;
    // Fast path for the most common items.
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
        // Parsed from the digits, rounded once.
        (Scalar::Number(digits), ItemType::Single | ItemType::Double) => {
            push_item(values, item, labels, Cell::Untyped(digits))
        }
        (Scalar::Number(digits), ItemType::Text | ItemType::Boolean | ItemType::DvBool) => {
            Err(item_mismatch_for(digits, item))
        }
        (Scalar::Number(_), _) => match scalar.as_cell() {
            // The float may differ from the digits.
            Cell::Double(x) if x.abs() >= EXACT => Err(item_mismatch_for(&x.to_string(), item)),
            cell => push_item(values, item, labels, cell),
        },
        (scalar, _) => push_item(values, item, labels, scalar.as_cell()),
    };
    pushed.map_err(|error| error.at(at))
}

#[cold]
fn item_mismatch_for(found: &str, item: ItemType) -> Error {
    Error::invalid(format!("expected {}, found {found}", super::expected(&Type::Item(item))))
}

/// Floats represent all integers below it.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Appends nested arrays, no deeper than the type's dimensions. Returns the total number of items.
fn push_arrays(
    vectors: &mut Vectors,
    item: ItemType,
    dimensions: &[u32],
    labels: Option<&KeyLabels>,
    json: &mut Json<'_>,
) -> Result<u64> {
    let mut shape = Shape::new(dimensions);
    // True where an item or array may start.
    let mut fresh = true;
    loop {
        let at = json.at();
        match json.peek() {
            Some(b'[') if fresh => {
                json.skip(b'[');
                shape.open().map_err(|error| error.at(at))?;
                if json.skip(b']') {
                    fresh = false;
                    if shape.close().map_err(|error| error.at(at))? {
                        return Ok(shape.total());
                    }
                }
            }
            Some(b']') if !fresh => {
                json.skip(b']');
                if shape.close().map_err(|error| error.at(at))? {
                    return Ok(shape.total());
                }
            }
            Some(b',') if !fresh => {
                json.skip(b',');
                fresh = true;
            }
            Some(_) if fresh => {
                let count = push_items(vectors.items_mut(), item, labels, json)?;
                shape.items(count).map_err(|error| error.at(at))?;
                fresh = false;
            }
            _ => return Err(json.expected("\",\" or \"]\"")),
        }
    }
}

/// Appends comma-separated items and returns their number.
fn push_items(values: &mut Values, item: ItemType, labels: Option<&KeyLabels>, json: &mut Json<'_>) -> Result<u32> {
    let mut count: u32 = 0;
    loop {
        push_scalar(values, item, labels, json)?;
        count = count.checked_add(1).ok_or_else(|| Error::limit("items of a vector", u64::MAX, 0x7FFF_FFFF))?;
        let before = json.clone();
        if !json.skip(b',') {
            return Ok(count);
        }
        if json.peek() == Some(b'[') {
            *json = before;
            return Ok(count);
        }
    }
}

/// `{"$sparse": {"length", "indices", "values"}}`, the members in any order.
fn push_sparse(vectors: &mut Vectors, kind: &Type, labels: Option<&KeyLabels>, json: &mut Json<'_>) -> Result<()> {
    let at = json.at();
    json.expect(b'{')?;
    let not_sparse =
        || Error::invalid("expected {\"$sparse\": {\"length\", \"indices\", \"values\"}}, found another object").at(at);
    if json.peek() != Some(b'"') || json.string()? != "$sparse" {
        return Err(not_sparse());
    }
    json.expect(b':')?;
    if json.peek() != Some(b'{') {
        return Err(not_sparse());
    }
    json.expect(b'{')?;
    let (mut length, mut indices, mut values) = (None, None, None);
    loop {
        if json.peek() != Some(b'"') {
            return Err(json.expected("\"length\", \"indices\" or \"values\""));
        }
        let at = json.at();
        let member = json.string()?;
        json.expect(b':')?;
        let duplicate = match &*member {
            "length" => length.replace(json.slot("length")?).is_some(),
            "indices" => indices.replace(json.slots()?).is_some(),
            "values" if values.is_some() => true,
            "values" => {
                json.expect(b'[')?;
                let mut count = 0;
                if !json.skip(b']') {
                    count = push_items(vectors.items_mut(), kind.item(), labels, json)?;
                    json.expect(b']')?;
                }
                values.replace(count).is_some()
            }
            other => {
                let detail = format!("unknown member {} of $sparse (known: length, indices, values)", quoted(other));
                return Err(Error::invalid(detail).at(at));
            }
        };
        if duplicate {
            return Err(Error::invalid(format!("duplicate member {member:?} of $sparse")).at(at));
        }
        if !json.skip(b',') {
            break;
        }
    }
    json.expect(b'}')?;
    json.expect(b'}')?;
    let missing = |what: &str| Error::invalid(format!("missing member {what:?} of $sparse")).at(at);
    let length = length.ok_or_else(|| missing("length"))?;
    let indices = indices.ok_or_else(|| missing("indices"))?;
    values.ok_or_else(|| missing("values"))?;
    close_sparse(vectors, kind, length, &indices).map_err(|error| error.at(at))
}

/// Closes a sparse vector if its length matches the type.
pub(in crate::write) fn close_sparse(vectors: &mut Vectors, kind: &Type, length: u32, indices: &[u32]) -> Result<()> {
    check_length(kind, length.into())?;
    // The caller's value is at fault, not the call.
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
