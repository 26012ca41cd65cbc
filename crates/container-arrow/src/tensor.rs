//! Tensors whose dimensions have another order in memory: `arrow.fixed_shape_tensor` with a `permutation`.

use arrow_schema::Field;
use arrow_schema::extension::{EXTENSION_TYPE_METADATA_KEY, EXTENSION_TYPE_NAME_KEY};
use serde_json::Value;

const NAME: &str = "arrow.fixed_shape_tensor";

/// The metadata of a tensor field.
pub(crate) fn metadata(field: &Field) -> Option<Value> {
    field.metadata().get(EXTENSION_TYPE_NAME_KEY).filter(|name| *name == NAME)?;
    serde_json::from_str(field.metadata().get(EXTENSION_TYPE_METADATA_KEY)?).ok()
}

/// The shape in memory of a tensor with `size` elements; `None` if the metadata has another one, or less than two dimensions.
pub(crate) fn shape(metadata: &Value, size: usize) -> Option<Vec<usize>> {
    let shape = integers(metadata.get("shape")?)?;
    let count = shape.iter().try_fold(1_usize, |count, length| count.checked_mul(*length))?;
    (count == size && size > 0 && (2..=64).contains(&shape.len())).then_some(shape)
}

fn integers(list: &Value) -> Option<Vec<usize>> {
    let integer = |value: &Value| value.as_u64().and_then(|value| usize::try_from(value).ok());
    list.as_array()?.iter().map(integer).collect()
}

/// A tensor whose dimensions have another order in memory.
#[derive(Debug, Clone)]
pub struct PermutedTensor {
    shape: Vec<usize>,
    names: Option<Vec<Value>>,
    /// The index in memory of each element, in C order.
    places: Vec<usize>,
}

impl PermutedTensor {
    /// The tensor of a field whose lists have `size` elements; `None` if it is not such a tensor, or its metadata contradicts itself.
    #[must_use]
    pub fn of(field: &Field, size: usize) -> Option<Self> {
        let metadata = metadata(field)?;
        let axes = integers(metadata.get("permutation")?)?;
        let stored = shape(&metadata, size)?;
        let mut sorted = axes.clone();
        sorted.sort_unstable();
        if axes == sorted || !sorted.into_iter().eq(0..stored.len()) {
            return None;
        }
        let (mut shape, mut places) = (Vec::with_capacity(axes.len()), vec![0]);
        for &axis in &axes {
            let length = *stored.get(axis)?;
            let stride: usize = stored.iter().skip(axis + 1).product();
            places = places.iter().flat_map(|place| (0..length).map(move |at| place + at * stride)).collect();
            shape.push(length);
        }
        let names = metadata.get("dim_names").and_then(Value::as_array);
        let names = names.and_then(|names| axes.iter().map(|&axis| names.get(axis).cloned()).collect());
        Some(Self { shape, names, places })
    }

    /// The shape.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The indexes in memory of the elements of as many tensors, each in C order.
    pub fn indexes(&self, rows: usize) -> impl Iterator<Item = usize> {
        let size = self.places.len();
        (0..rows).flat_map(move |row| self.places.iter().map(move |place| row * size + place))
    }

    /// The field of the same tensors stored in C order. Its metadata is the text that pyarrow writes for these.
    #[must_use]
    pub fn in_c_order(&self, field: &Field) -> Field {
        let axes: Vec<usize> = (0..self.shape.len()).collect();
        let mut text = format!("{{\"shape\":{},\"permutation\":{}", Value::from(&*self.shape), Value::from(axes));
        if let Some(names) = &self.names {
            text.push_str(&format!(",\"dim_names\":{}", Value::from(&**names)));
        }
        text.push('}');
        let mut metadata = field.metadata().clone();
        metadata.insert(EXTENSION_TYPE_METADATA_KEY.to_owned(), text);
        field.clone().with_metadata(metadata)
    }
}
