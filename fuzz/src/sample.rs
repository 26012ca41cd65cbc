//! datadings samples from arbitrary bytes, through every method.

use container_core::Limits;
use datadings::ser::{from_rmpv, to_vec};
use datadings::{RawValue, json};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Sample<'a> {
    key: &'a str,
    label: Option<u32>,
    #[serde(borrow)]
    image: Option<RawValue<'a>>,
}

/// The bytes are a msgpack value, and JSON text.
pub fn datadings_sample(data: &[u8]) {
    let raw = RawValue::at(data, 1000);
    let whole = raw.decode::<RawValue<'_>>().map(|value| value.as_bytes());
    assert_eq!(raw.decode::<IgnoredAny>().is_ok(), whole.is_ok());
    let _ = (raw.kind(), raw.str(), raw.bin(), raw.bool(), raw.u64(), raw.i64(), raw.f64(), raw.numpy());
    let _ = (raw.decode::<serde_json::Value>(), raw.decode::<Vec<u8>>(), raw.decode::<(f32, i16)>());
    for name in ["", "key", "label", "nd"] {
        if let Ok(Some(value)) = raw.get(name) {
            assert!(value.offset() >= 1000 && value.offset() <= 1000 + data.len() as u64);
        }
    }
    if let Ok(sample) = raw.decode::<Sample<'_>>() {
        let packed = to_vec(&sample).unwrap();
        let again: Sample<'_> = RawValue::new(&packed).decode().unwrap();
        assert_eq!((again.key, again.label), (sample.key, sample.label));
        assert_eq!(to_vec(&again).unwrap(), packed);
    }

    let mut text = Vec::new();
    let shown = json::write(raw, &mut text, &Limits::default());
    match raw.value() {
        Ok(value) => {
            let bytes = whole.unwrap();
            let mut rest = data;
            let theirs = rmpv::decode::read_value_ref(&mut rest).unwrap();
            assert_eq!(data.len() - rest.len(), bytes.len());
            // By bytes, because NaN is not equal to itself.
            let (mut a, mut b) = (Vec::new(), Vec::new());
            from_rmpv(&mut a, &value.to_owned()).unwrap();
            from_rmpv(&mut b, &theirs.to_owned()).unwrap();
            assert_eq!(a, b);
            if shown.is_ok() {
                comes_back(&text);
            }
        }
        Err(_) => assert!(shown.is_err(), "{}", String::from_utf8_lossy(&text)),
    }
    comes_back(data);
}

/// A sample read from JSON survives another round trip.
fn comes_back(text: &[u8]) {
    let mut packed = Vec::new();
    if json::to_msgpack(text, &mut packed).is_err() {
        assert!(packed.is_empty());
        return;
    }
    let mut again = Vec::new();
    // Field names of older arrays turn some maps into arrays.
    let is_older = |name: &[u8]| text.windows(name.len()).any(|part| part == name);
    if is_older(b"nd") || is_older(b"complex") || text.contains(&b'\\') {
        let _ = json::write(RawValue::new(&packed), &mut again, &Limits::default());
        return;
    }
    json::write(RawValue::new(&packed), &mut again, &Limits::default()).unwrap();
    let mut twice = Vec::new();
    if json::to_msgpack(&again, &mut twice).is_ok() {
        assert_eq!(twice, packed);
    }
}
