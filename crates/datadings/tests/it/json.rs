//! Conversion to JSON and back.

use std::path::Path;

use container_core::{ErrorKind, Limits};
use datadings::numpy::{Array, ByteOrder, Complex, Dtype, NdArray, Pickle, Scalar};
use datadings::ser::to_vec;
use datadings::{RawValue, json};
use proptest::prelude::*;
use serde::Serialize;

fn written(bytes: &[u8]) -> String {
    let mut out = b"before".to_vec();
    json::write(RawValue::new(bytes), &mut out, &Limits::default()).unwrap();
    let text = String::from_utf8(out).unwrap();
    let text = text.strip_prefix("before").unwrap().to_owned();
    assert_eq!(
        serde_json::to_string(&json::Json(RawValue::new(bytes))).unwrap(),
        text,
        "both serializers write the same"
    );
    text
}

fn read(text: &str) -> Result<Vec<u8>, String> {
    let mut out = b"before".to_vec();
    let result = json::to_msgpack(text.as_bytes(), &mut out).map_err(|error| error.to_string());
    if result.is_err() {
        assert_eq!(out, b"before", "an error leaves the buffer unchanged");
    }
    result.map(|()| out.split_off(6))
}

/// Checks a round trip.
#[track_caller]
fn same<T: Serialize + ?Sized>(value: &T, text: &str) {
    let packed = to_vec(value).unwrap();
    assert_eq!(written(&packed), text);
    assert_eq!(read(text).unwrap(), packed, "{text}");
}

#[test]
fn round_trips_plain_values() {
    same(&(None::<u8>, true, 0, -1, u64::MAX, i64::MIN), "[null,true,0,-1,18446744073709551615,-9223372036854775808]");
    same(&(0.1f64, -0.0f64, 1e300f64, 1e16f64, 5e-324f64), "[0.1,-0.0,1e+300,1e+16,5e-324]");
    same(&["", "ä\"\\\n\u{1}\u{7f}", "\u{10ffff}"], "[\"\",\"ä\\\"\\\\\\n\\u0001\u{7f}\",\"\u{10ffff}\"]");
    same(&Vec::<u8>::new(), "[]");
    same(&std::collections::BTreeMap::<String, u8>::new(), "{}");
    same(&RawValue::new(b"\xc4\x03\0\xff\x01"), r#"{"$bytes":"AP8B"}"#);
    same(&RawValue::new(b"\xd6\xff\0\0\0\x01"), r#"{"$ext":{"type":-1,"data":"AAAAAQ=="}}"#);
    same(&RawValue::new(b"\xc7\x00\x05"), r#"{"$ext":{"type":5,"data":""}}"#);
    // Not in alphabetical order, and with a duplicate key.
    same(&RawValue::new(b"\x83\xa1b\x01\xa1a\x02\xa1b\x03"), r#"{"b":1,"a":2,"b":3}"#);
    for count in [15u32, 16, 65_535, 65_536] {
        let all: Vec<u32> = (0..count).collect();
        let packed = to_vec(&all).unwrap();
        assert_eq!(read(&written(&packed)).unwrap(), packed);
        let map: std::collections::BTreeMap<String, u32> = all.iter().map(|i| (i.to_string(), *i)).collect();
        let packed = to_vec(&map).unwrap();
        assert_eq!(read(&written(&packed)).unwrap(), packed);
    }
}

#[test]
fn known_changes_of_a_round_trip() {
    let one_way = |packed: &[u8], text: &str, back: &[u8]| {
        assert_eq!(written(packed), text);
        assert_eq!(read(text).unwrap(), back, "{text}");
    };
    one_way(b"\xca\x3d\xcc\xcc\xcd", "0.1", &to_vec(&0.1f64).unwrap());
    one_way(&to_vec(&f64::NEG_INFINITY).unwrap(), r#""-Infinity""#, b"\xa9-Infinity");
    one_way(&to_vec(&f32::NAN).unwrap(), r#""NaN""#, b"\xa3NaN");
    one_way(
        b"\x84\x01\x02\xa11\x03\xc0\x04\xc4\x01x\x05",
        r#"{"1":2,"1":3,"null":4,"{\"$bytes\":\"eA==\"}":5}"#,
        b"\x84\xa11\x02\xa11\x03\xa4null\x04\xb1{\"$bytes\":\"eA==\"}\x05",
    );
    one_way(&to_vec(&Scalar::from(7i16)).unwrap(), "7", b"\x07");
    one_way(&to_vec(&Scalar::from(0.1f32)).unwrap(), "0.1", &to_vec(&0.1f64).unwrap());
    one_way(
        &to_vec(&Scalar::from([1.5f32, -2.0])).unwrap(),
        r#"{"$complex":[1.5,-2.0]}"#,
        &to_vec(&Complex { re: 1.5, im: -2.0 }).unwrap(),
    );
    one_way(
        &to_vec(&Pickle::new(&[3], b"xyz")).unwrap(),
        r#"{"$pickle":"eHl6"}"#,
        &to_vec(&Pickle::new(&[], b"xyz")).unwrap(),
    );
    one_way(b"\xcd\x00\x01", "1", b"\x01");
    let scalar = |dtype: &str, value: i64| {
        written(&to_vec(&Scalar::from_bytes(dtype.parse().unwrap(), value.to_le_bytes().to_vec()).unwrap()).unwrap())
    };
    for (dtype, value, expected) in [
        ("<M8[ms]", 1500, r#""1970-01-01T00:00:01.5""#),
        ("<M8[D]", -1, r#""1969-12-31""#),
        ("<M8[M]", 13, r#""1971-02-01""#),
        ("<m8[ms]", 1500, r#""PT1.5S""#),
        ("<m8[ns]", i64::MIN, r#""NaT""#),
        ("<m8", 7, "7"),
    ] {
        assert_eq!(scalar(dtype, value), expected, "{dtype}");
    }
    let long = Scalar::from_bytes("<f16".parse().unwrap(), vec![0; 16]).unwrap();
    assert_eq!(written(&to_vec(&long).unwrap()), r#"{"$bytes":"AAAAAAAAAAAAAAAAAAAAAA=="}"#);
}

#[test]
fn round_trips_numpy_values() {
    let of =
        |dtype: &str, shape: &[usize], data: &[u8]| Array::new(dtype.parse().unwrap(), shape, data.to_vec()).unwrap();
    let array = |dtype: &str, shape: &str, data: &str| {
        format!(r#"{{"$ndarray":{{"dtype":"{dtype}","shape":{shape},"data":{data}}}}}"#)
    };
    same(&Array::from_slice(&[0i16, 1, -2], &[3], ByteOrder::Little).unwrap(), &array("<i2", "[3]", "[0,1,-2]"));
    same(&Array::from_slice(&[u64::MAX], &[], ByteOrder::Big).unwrap(), &array(">u8", "[]", "[18446744073709551615]"));
    same(&Array::from_slice::<u8>(&[], &[2, 0], ByteOrder::None).unwrap(), &array("|u1", "[2,0]", "[]"));
    same(&Array::from_slice(&[true, false], &[2], ByteOrder::None).unwrap(), &array("|b1", "[2]", "[true,false]"));
    same(&of("|b1", &[2], &[1, 2]), &array("|b1", "[2]", r#""AQI=""#));
    same(
        &Array::from_slice(&[0.1f32, f32::INFINITY, f32::MIN_POSITIVE], &[3], ByteOrder::Big).unwrap(),
        &array(">f4", "[3]", r#"[0.1,"Infinity",1.1754944e-38]"#),
    );
    same(
        &Array::from_slice(&[0.1f64, f64::NAN, -0.0], &[3], ByteOrder::Little).unwrap(),
        &array("<f8", "[3]", r#"[0.1,"NaN",-0.0]"#),
    );
    // 0.1, the smallest, the largest, one third, infinity.
    same(
        &of("<f2", &[5], &[0x66, 0x2e, 1, 0, 0xff, 0x7b, 0x55, 0x35, 0, 0xfc]),
        &array("<f2", "[5]", r#"[0.099975586,5.9604645e-8,65504.0,0.33325195,"-Infinity"]"#),
    );
    same(&Array::from_slice(&[[1.5f32, -0.0]], &[1], ByteOrder::Big).unwrap(), &array(">c8", "[1]", "[[1.5,-0.0]]"));
    same(
        &Array::from_slice(&[[0.1f64, f64::NEG_INFINITY]], &[1], ByteOrder::Big).unwrap(),
        &array(">c16", "[1]", r#"[[0.1,"-Infinity"]]"#),
    );
    same(&of("|S3", &[2], b"a\0bxy\0"), &array("|S3", "[2]", r#"["a\u0000b","xy"]"#));
    same(&of("|S1", &[2], b"a\xff"), &array("|S1", "[2]", r#""Yf8=""#));
    same(&Array::from_texts(&["ä", "xyz", ""], &[3]).unwrap(), &array("<U3", "[3]", r#"["ä","xyz",""]"#));
    same(&of(">U1", &[], &[0, 0, 0xd8, 0]), &array(">U1", "[]", r#""AADYAA==""#));
    same(&of("<M8[ns]", &[1], &i64::MIN.to_le_bytes()), &array("<M8[ns]", "[1]", "[-9223372036854775808]"));
    same(&of("<f16", &[1], &[7; 16]), &array("<f16", "[1]", r#""BwcHBwcHBwcHBwcHBwcHBw==""#));
    same(&Complex { re: 0.0, im: -1.5 }, r#"{"$complex":[0.0,-1.5]}"#);
    same(&Complex { re: f64::NAN, im: f64::INFINITY }, r#"{"$complex":["NaN","Infinity"]}"#);
    let mut fields = Vec::new();
    json::to_msgpack(
        br#"{"$ndarray":{"dtype":[["a","<i2",[2]],["b",[["c","|u1"]]]],"shape":[1],"data":"AQACAAM="}}"#,
        &mut fields,
    )
    .unwrap();
    let structured = RawValue::new(&fields).ndarray().unwrap();
    assert!(matches!(structured.dtype(), Dtype::Structured(fields) if fields.len() == 2));
    same(&structured, r#"{"$ndarray":{"dtype":[["a","<i2",[2]],["b",[["c","|u1"]]]],"shape":[1],"data":"AQACAAM="}}"#);
    // The same through a human-readable serializer.
    let view = NdArray::from_slice(&[1u8, 2], &[2]).unwrap();
    assert_eq!(serde_json::to_string(&view).unwrap(), array("|u1", "[2]", "[1,2]"));
}

#[test]
fn escapes_maps_with_reserved_keys() {
    let map = |pairs: &[(&str, u8)]| {
        let mut packed = vec![0x80 | pairs.len() as u8];
        for (key, value) in pairs {
            datadings::ser::extend(&mut packed, key).unwrap();
            packed.push(*value);
        }
        packed
    };
    let same = |packed: &[u8], text: &str| same(&RawValue::new(packed), text);
    same(&map(&[("$bytes", 1)]), r#"{"$escape":{"$bytes":1}}"#);
    same(&map(&[("$", 1)]), r#"{"$escape":{"$":1}}"#);
    same(&map(&[("$escape", 1)]), r#"{"$escape":{"$escape":1}}"#);
    same(&map(&[("$escape", 1), ("a", 2)]), r#"{"$escape":{"$escape":1,"a":2}}"#);
    same(&map(&[("$bytes", 1), ("a", 2)]), r#"{"$bytes":1,"a":2}"#);
    same(&map(&[("a", 2), ("$escape", 1)]), r#"{"a":2,"$escape":1}"#);
    // Values inside are escaped separately.
    same(b"\x81\xa6$bytes\xc4\x01x", r#"{"$escape":{"$bytes":{"$bytes":"eA=="}}}"#);
    same(b"\x81\xa7$escape\x81\xa7$escape\xc4\x00", r#"{"$escape":{"$escape":{"$escape":{"$escape":{"$bytes":""}}}}}"#);
    // Unknown `$` keys are kept.
    assert_eq!(read(r#"{"$oid":"x"}"#).unwrap(), b"\x81\xa4$oid\xa1x");
}

#[test]
fn reports_invalid_json_with_its_offset() {
    let cases = [
        ("", "EOF while parsing a value at line 1 column 0 (byte 0)"),
        ("[1,\n 2,x]", "expected value at line 2 column 4 (byte 7)"),
        ("[1] 2", "trailing characters at line 1 column 5 (byte 4)"),
        (r#"{"$bytes":"?"}"#, "$bytes: invalid base64"),
        (r#"{"$bytes":5}"#, "$bytes: expected a str, found an integer"),
        (r#"{"$escape":5}"#, "$escape: expected an object"),
        (r#"{"$escape":{"a":1},"b":2}"#, "$escape must be the only key"),
        (r#"{"$ext":{"type":200,"data":""}}"#, "$ext: type: expected -128 to 127, found 200"),
        (r#"{"$ext":{"type":1}}"#, "$ext: missing key \"data\""),
        (r#"{"$complex":[1]}"#, "$complex: complex number: expected a pair"),
        (r#"{"$complex":[1,"x"]}"#, "$complex: expected a float or an integer that is exact as one, found a str"),
        (
            r#"{"$ndarray":{"dtype":"<i2","shape":[2],"data":[1]}}"#,
            "$ndarray: an array of shape (2,) and dtype <i2 (2 bytes per element): expected 4 bytes of data, found 2",
        ),
        (r#"{"$ndarray":{"dtype":"|i1","shape":[1],"data":[200]}}"#, "$ndarray: 200 is out of range for dtype |i1"),
        (
            r#"{"$ndarray":{"dtype":"|u1","shape":[1],"data":[-1]}}"#,
            "$ndarray: expected a non-negative integer, found -1",
        ),
        (r#"{"$ndarray":{"dtype":"<f4","shape":[1],"data":[1e300]}}"#, "is out of range for dtype <f4"),
        (
            r#"{"$ndarray":{"dtype":"|S1","shape":[1],"data":["ab"]}}"#,
            "$ndarray: string of length 2 is too long for dtype |S1",
        ),
        (
            r#"{"$ndarray":{"dtype":"<f16","shape":[1],"data":[1]}}"#,
            "$ndarray: elements of dtype <f16 must be given in base64",
        ),
        (r#"{"$ndarray":{"dtype":"x","shape":[1],"data":[1]}}"#, "$ndarray: unknown dtype \"x\""),
        (
            r#"{"a":[1.5,"99999999999999999999",-9223372036854775809]}"#,
            "integer -9223372036854775809 exceeds 64 bits (byte 33)",
        ),
        ("18446744073709551616", "integer 18446744073709551616 exceeds 64 bits (byte 0)"),
        ("1e400", "number out of range"),
    ];
    for (text, expected) in cases {
        let error = read(text).unwrap_err();
        assert!(error.contains(expected), "{text}: {error}");
    }
    assert_eq!(read("[1e19,18446744073709551615.0]").unwrap(), to_vec(&[1e19, 18446744073709551615.0]).unwrap());
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        let nested = |depth: usize| format!("{}1{}", open.repeat(depth), close.repeat(depth));
        assert!(read(&nested(127)).is_ok());
        for depth in [128, 1_000_000] {
            let error = json::to_msgpack(nested(depth).as_bytes(), &mut Vec::new()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Limit { asked: 128, limit: 127 });
        }
    }
    let mut out = b"kept".to_vec();
    let wrong = b"\x81\xc4\x02nd\xc3".as_slice();
    assert!(json::write(RawValue::new(&wrong[..5]), &mut out, &Limits::default()).is_err());
    // An array with too few data.
    let packed = b"\x92\x01\x84\xc4\x02nd\xc3\xc4\x04type\xa3<i2\xc4\x05shape\x91\x02\xc4\x04data\xc4\x01x";
    let error = json::write(RawValue::at(packed, 10), &mut out, &Limits::default()).unwrap_err();
    assert!(error.to_string().ends_with("expected 4 bytes of data, found 1 (byte 12)"), "{error}");
    assert_eq!((error.kind(), out), (ErrorKind::Invalid, b"kept".to_vec()));
}

#[test]
fn golden_files_match_the_json_of_python() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/datadings");
    let mut samples = 0;
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let Some(name) = name.strip_suffix(".expected.jsonl") else { continue };
        let data = std::fs::read(path.with_file_name(format!("{name}.msgpack"))).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let mut at = 0;
        for line in text.lines() {
            // {"key":..,"sample":..}
            let line: &str = line;
            let sample = RawValue::new(&data[at..]).decode::<RawValue<'_>>().unwrap();
            let message = written(sample.as_bytes());
            assert!(line.ends_with(&format!("\"sample\":{message}}}")), "{name}: {line}\n{message}");
            at += sample.as_bytes().len();
            samples += 1;
        }
        assert_eq!(at, data.len(), "{name}");
    }
    assert!(samples > 900, "{samples}");
}

proptest! {
    #[test]
    fn f32_round_trips(bits in proptest::collection::vec(any::<u32>(), 200)) {
        let values: Vec<f32> = bits.iter().map(|&bits| f32::from_bits(bits)).filter(|value| !value.is_nan()).collect();
        let packed = to_vec(&NdArray::from_slice(&values, &[values.len()]).unwrap()).unwrap();
        prop_assert_eq!(read(&written(&packed)).unwrap(), packed);
    }

    #[test]
    fn f64_round_trips(bits in proptest::collection::vec(any::<u64>(), 200)) {
        let values: Vec<f64> = bits.iter().map(|&bits| f64::from_bits(bits)).filter(|value| value.is_finite()).collect();
        let packed = to_vec(&values).unwrap();
        prop_assert_eq!(read(&written(&packed)).unwrap(), packed);
    }

    #[test]
    fn values_round_trip(value in values()) {
        let mut packed = Vec::new();
        datadings::ser::from_rmpv(&mut packed, &value).unwrap();
        let mut text = Vec::new();
        match json::write(RawValue::new(&packed), &mut text, &Limits::default()) {
            Ok(()) => {
                let text = written(&packed);
                prop_assert_eq!(read(&text).unwrap(), packed, "{}", text);
            }
            // As in Python, such a map must be a valid numpy value.
            Err(error) => prop_assert!(is_numpy_named(&value), "{}: {}", value, error),
        }
    }

    #[test]
    fn arbitrary_text_never_panics(text in "[\\[\\]{}:,\"$a-z0-9.eE+-]{0,40}") {
        if let Ok(packed) = read(&text) {
            let text = written(&packed);
            prop_assert_eq!(read(&text).unwrap(), packed);
        }
    }

    #[test]
    fn reserved_objects_with_arbitrary_content(tag in "\\$(bytes|ext|ndarray|complex|pickle|escape)", name in "dtype|shape|data|type", content in "[\\[\\]{}:,\"0-9<ifb]{0,12}") {
        let _ = read(&format!(r#"{{"{tag}":{content}}}"#));
        let _ = read(&format!(r#"{{"{tag}":{{"dtype":"<i2","shape":[1],"data":[1],"type":1,"{name}":{content}}}}}"#));
    }
}

/// Whether a map has a key that marks numpy values.
fn is_numpy_named(value: &rmpv::Value) -> bool {
    match value {
        rmpv::Value::Array(items) => items.iter().any(is_numpy_named),
        rmpv::Value::Map(pairs) => {
            pairs.iter().any(|(key, value)| matches!(key.as_str(), Some("nd" | "complex")) || is_numpy_named(value))
        }
        _ => false,
    }
}

/// Values that round-trip unless [`is_numpy_named`]: finite 64-bit floats, str keys.
fn values() -> impl Strategy<Value = rmpv::Value> {
    let leaf = prop_oneof![
        Just(rmpv::Value::Nil),
        any::<bool>().prop_map(rmpv::Value::from),
        any::<u64>().prop_map(rmpv::Value::from),
        any::<i64>().prop_map(rmpv::Value::from),
        (-1e300f64..1e300).prop_map(rmpv::Value::from),
        ".{0,10}".prop_map(rmpv::Value::from),
        proptest::collection::vec(any::<u8>(), 0..30).prop_map(rmpv::Value::from),
        (any::<i8>(), proptest::collection::vec(any::<u8>(), 0..20))
            .prop_map(|(kind, data)| rmpv::Value::Ext(kind, data)),
    ];
    leaf.prop_recursive(4, 40, 20, |inner| {
        let key = prop_oneof![".{0,4}", "\\$(bytes|ext|ndarray|complex|pickle|escape|x)?", "nd|complex|data|type"];
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..20).prop_map(rmpv::Value::Array),
            proptest::collection::vec((key.prop_map(rmpv::Value::from), inner), 0..4).prop_map(rmpv::Value::Map),
        ]
    })
}

#[test]
fn array_elements_are_limited_in_size() {
    let of = |dtype: &str| format!(r#"{{"$ndarray":{{"dtype":"{dtype}","shape":[1],"data":["a"]}}}}"#);
    let error = |text: &str| read(text).unwrap_err().to_string();
    let message = error(&of("|S4000000000"));
    assert!(
        message.contains("elements of dtype |S4000000000 need 4000000000 bytes, but only 1073741824 are left"),
        "{message}"
    );
    assert!(error(&of("<U268435457")).contains("need 1073741828 bytes"));
    // The limit is shared by all arrays of a value.
    let message = error(&format!("[{},{}]", of("|S16777216"), of("|S1057000000")));
    assert!(message.contains("need 1057000000 bytes, but only 1056964608 are left"), "{message}");
    assert_eq!(written(&read(&of("|S3")).unwrap()), of("|S3"));
}

#[test]
fn f16_has_the_digits_of_the_same_f32() {
    for (data, expected) in [("1.0205", "1.0205078"), ("65504", "65504.0"), ("0.1", "0.099975586")] {
        let of = |data: &str| format!(r#"{{"$ndarray":{{"dtype":"<f2","shape":[1],"data":[{data}]}}}}"#);
        let sample = read(&of(data)).unwrap();
        assert_eq!(written(&sample), of(expected));
        assert_eq!(read(&of(expected)).unwrap(), sample);
    }
}
