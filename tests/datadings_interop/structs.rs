//! A sample as a Rust struct: made from values that Python prints, and written by serde.

use std::collections::BTreeMap;

use datadings::numpy::{ByteOrder, Complex, Dtype, Scalar};
use serde::{Deserialize, Serialize, Serializer};

/// The values that Python prints: floats as bits, bytes as numbers.
#[derive(Deserialize)]
pub(crate) struct Expected {
    key: String,
    label: i64,
    big: u64,
    weight: u64,
    name: Option<String>,
    flags: Vec<bool>,
    boxes: Vec<BoxCorner>,
    meta: BTreeMap<String, u32>,
    shape: [usize; 2],
    pixels: Vec<u8>,
    mean: u32,
    phase: [u64; 2],
    blob: Vec<u8>,
}

#[derive(Serialize, Deserialize, PartialEq, Debug)]
struct BoxCorner {
    x: i16,
    y: u32,
}

/// The sample, with its fields in the order of Python's dict.
#[derive(Serialize)]
pub(crate) struct Scene<'a> {
    key: &'a str,
    label: i64,
    big: u64,
    weight: f64,
    name: Option<&'a str>,
    flags: &'a [bool],
    boxes: &'a [BoxCorner],
    meta: &'a BTreeMap<String, u32>,
    image: datadings::numpy::Array,
    mean: Scalar<'static>,
    phase: Complex,
    blob: Blob<'a>,
}

/// Serialized as bytes rather than as a list of numbers.
struct Blob<'a>(&'a [u8]);

impl Serialize for Blob<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(self.0)
    }
}

/// The same sample for decoding.
#[derive(Deserialize)]
struct DecodedScene<'a> {
    key: &'a str,
    label: i64,
    big: u64,
    weight: f64,
    name: Option<String>,
    flags: Vec<bool>,
    boxes: Vec<BoxCorner>,
    meta: BTreeMap<String, u32>,
    #[serde(borrow)]
    image: datadings::numpy::NdArray<'a>,
    mean: f32,
    phase: Complex,
    blob: &'a [u8],
}

impl Expected {
    /// The sample with these values.
    pub(crate) fn scene(&self) -> Result<Scene<'_>, String> {
        let image = datadings::numpy::Array::from_slice(&self.pixels, &self.shape, ByteOrder::Little);
        let dtype: Dtype = "<f4".parse().map_err(|error: datadings::Error| error.to_string())?;
        let mean = Scalar::from_bytes(dtype, self.mean.to_le_bytes().to_vec());
        let [re, im] = self.phase.map(f64::from_bits);
        Ok(Scene {
            key: &self.key,
            label: self.label,
            big: self.big,
            weight: f64::from_bits(self.weight),
            name: self.name.as_deref(),
            flags: &self.flags,
            boxes: &self.boxes,
            meta: &self.meta,
            image: image.map_err(|error| error.to_string())?,
            mean: mean.map_err(|error| error.to_string())?,
            phase: Complex { re, im },
            blob: Blob(&self.blob),
        })
    }

    /// Whether a sample decodes to these values.
    pub(crate) fn matches(&self, sample: &datadings::Sample<'_>) -> Result<bool, datadings::Error> {
        let decoded: DecodedScene<'_> = sample.decode()?;
        let [re, im] = self.phase.map(f64::from_bits);
        Ok(decoded.key == self.key
            && decoded.label == self.label
            && decoded.big == self.big
            && decoded.weight.to_bits() == self.weight
            && decoded.name == self.name
            && decoded.flags == self.flags
            && decoded.boxes == self.boxes
            && decoded.meta == self.meta
            && decoded.image.shape() == self.shape
            && decoded.image.to_vec::<u8>()? == self.pixels
            && decoded.mean.to_bits() == self.mean
            && (decoded.phase.re.to_bits(), decoded.phase.im.to_bits()) == (re.to_bits(), im.to_bits())
            && decoded.blob == self.blob)
    }
}
