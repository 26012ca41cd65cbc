//! A sample of fixed shape, as Rust has it: made from numbers that Python tells, written by serde.

use std::collections::BTreeMap;

use datadings::numpy::{ByteOrder, Complex, Dtype, Scalar};
use serde::{Deserialize, Serialize, Serializer};

/// What Python tells: floats by their bits, bytes as numbers.
#[derive(Deserialize)]
pub(crate) struct Told {
    key: String,
    label: i64,
    big: u64,
    weight: u64,
    name: Option<String>,
    flags: Vec<bool>,
    boxes: Vec<Place>,
    meta: BTreeMap<String, u32>,
    shape: [usize; 2],
    pixels: Vec<u8>,
    mean: u32,
    phase: [u64; 2],
    blob: Vec<u8>,
}

#[derive(Serialize, Deserialize, PartialEq, Debug)]
struct Place {
    x: i16,
    y: u32,
}

/// The sample. Its fields stand in the order of Python's dict.
#[derive(Serialize)]
pub(crate) struct Scene<'a> {
    key: &'a str,
    label: i64,
    big: u64,
    weight: f64,
    name: Option<&'a str>,
    flags: &'a [bool],
    boxes: &'a [Place],
    meta: &'a BTreeMap<String, u32>,
    image: datadings::numpy::Array,
    mean: Scalar<'static>,
    phase: Complex,
    blob: Blob<'a>,
}

/// Bytes, where serde would make a list of numbers.
struct Blob<'a>(&'a [u8]);

impl Serialize for Blob<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(self.0)
    }
}

/// The same, as it is read again.
#[derive(Deserialize)]
struct Seen<'a> {
    key: &'a str,
    label: i64,
    big: u64,
    weight: f64,
    name: Option<String>,
    flags: Vec<bool>,
    boxes: Vec<Place>,
    meta: BTreeMap<String, u32>,
    #[serde(borrow)]
    image: datadings::numpy::NdArray<'a>,
    mean: f32,
    phase: Complex,
    blob: &'a [u8],
}

impl Told {
    /// The sample that was told.
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

    /// Reads a sample of Python's into a struct, and says whether it is what was told.
    pub(crate) fn is(&self, sample: &datadings::Sample<'_>) -> Result<bool, datadings::Error> {
        let seen: Seen<'_> = sample.decode()?;
        let [re, im] = self.phase.map(f64::from_bits);
        Ok(seen.key == self.key
            && seen.label == self.label
            && seen.big == self.big
            && seen.weight.to_bits() == self.weight
            && seen.name == self.name
            && seen.flags == self.flags
            && seen.boxes == self.boxes
            && seen.meta == self.meta
            && seen.image.shape() == self.shape
            && seen.image.to_vec::<u8>()? == self.pixels
            && seen.mean.to_bits() == self.mean
            && (seen.phase.re.to_bits(), seen.phase.im.to_bits()) == (re.to_bits(), im.to_bits())
            && seen.blob == self.blob)
    }
}
