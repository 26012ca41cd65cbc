//! numpy arrays with fields from arbitrary bytes.

use container_core::Limits;
use datadings::numpy::{Complex, Dtype, Kind, Numpy};
use datadings::ser::to_vec;
use datadings::{RawValue, json};

/// The first byte selects what the rest is: a complex number as text; or the length of a dtype, the dtype, the number of dimensions, their lengths of
/// a byte each, and the data.
pub fn datadings_numpy(data: &[u8]) {
    let Some((&how, rest)) = data.split_first() else { return };
    if how == 0 {
        let Ok(text) = str::from_utf8(rest) else { return };
        if let Ok(number) = text.parse::<Complex>() {
            let again: Complex = number.to_string().parse().unwrap();
            assert!(again.re.to_bits() == number.re.to_bits() || again.re.is_nan() && number.re.is_nan());
            assert!(again.im.to_bits() == number.im.to_bits() || again.im.is_nan() && number.im.is_nan());
        }
        if let Ok(dtype) = text.parse::<Dtype>() {
            assert_eq!(dtype.to_string().parse::<Dtype>().unwrap(), dtype);
        }
        return;
    }
    let Some((dtype, rest)) = rest.split_at_checked(usize::from(how)) else { return };
    let Some((&dimensions, rest)) = rest.split_first() else { return };
    let Some((shape, elements)) = rest.split_at_checked(usize::from(dimensions)) else { return };

    let is_list = dtype.first().is_some_and(|byte| byte & 0xf0 == 0x90);
    let mut packed = b"\x85\xc4\x02nd\xc3\xc4\x04type".to_vec();
    match is_list {
        true => packed.extend_from_slice(dtype),
        false => packed.extend([&[0xd9, how], dtype].concat()),
    }
    packed.extend_from_slice(b"\xc4\x04kind\xc4\x00\xc4\x05shape\xdc\x00");
    packed.push(dimensions);
    for length in shape {
        packed.extend([0xcc, *length]);
    }
    packed.extend_from_slice(b"\xc4\x04data\xc6");
    packed.extend(u32::try_from(elements.len()).unwrap().to_be_bytes());
    packed.extend_from_slice(elements);

    let raw = RawValue::new(&packed);
    let Ok(Some(Numpy::Array(array))) = raw.numpy() else {
        let _ = (raw.decode::<f64>(), raw.decode::<Vec<f64>>());
        return;
    };
    assert_eq!(array.data().len(), array.len() * array.item_size());
    assert_eq!(array.items().count(), array.len());
    let written = to_vec(&array).unwrap();
    let again = RawValue::new(&written).ndarray().unwrap();
    assert_eq!((again.shape(), again.data()), (array.shape(), array.data()));
    if let Dtype::Structured(fields) = array.dtype() {
        for field in fields.iter().filter(|field| !field.is_padding()) {
            let Ok(view) = array.field(&field.name) else { continue };
            assert_eq!(view.bytes().count(), array.len());
            let _ = view.to_array();
        }
    }
    let _ = (raw.decode::<serde_json::Value>(), raw.decode::<f64>(), raw.decode::<Vec<Vec<String>>>());
    let mut text = Vec::new();
    json::write(RawValue::new(&written), &mut text, &Limits::default()).unwrap();
    // The bits of a NaN are not kept.
    let is_float = matches!(array.dtype(), Dtype::Primitive(of) if matches!(of.kind(), Kind::Float | Kind::Complex));
    if !is_float || !text.windows(3).any(|part| part == b"NaN") {
        let mut back = Vec::new();
        json::to_msgpack(&text, &mut back).unwrap();
        assert_eq!(back, written, "{}", String::from_utf8_lossy(&text));
    }
}
