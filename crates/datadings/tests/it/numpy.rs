//! Numpy values: decoded and encoded as Python does; invalid ones are rejected.
#![allow(clippy::type_complexity, reason = "a table of cases")]

use std::path::Path;

use container_core::ErrorKind;
use datadings::RawValue;
use datadings::numpy::{Array, ByteOrder, Complex, Dtype, F16, Item, Kind, NdArray, Numpy, Primitive, Scalar};
use datadings::ser::to_vec;
use proptest::prelude::*;
use serde_json::{Value, json};

struct Golden {
    name: String,
    packed: Vec<u8>,
    of: Value,
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

fn hex(bytes: &[u8]) -> Value {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>().into()
}

fn golden() -> Vec<Golden> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/datadings-values/values.jsonl");
    let lines: Vec<Golden> = std::fs::read_to_string(path)
        .unwrap()
        .lines()
        .map(|line| {
            let of: Value = serde_json::from_str(line).unwrap();
            Golden { name: of["name"].as_str().unwrap().into(), packed: unhex(of["packed"].as_str().unwrap()), of }
        })
        .collect();
    assert_eq!(lines.len(), 732);
    lines
}

/// The bytes of numbers, most significant first.
fn to_big_endian(of: Primitive, bytes: &[u8]) -> Vec<u8> {
    let width = if of.kind() == Kind::Complex { of.size() / 2 } else { of.size() };
    match (of.kind(), of.order()) {
        // Long doubles: six of their 16 bytes are undefined.
        (Kind::Float | Kind::Complex, ByteOrder::Little) => {
            bytes.chunks(width).flat_map(|part| part[..10].iter().rev().copied()).collect()
        }
        (Kind::Float | Kind::Complex, _) => bytes.chunks(width).flat_map(|part| part[6..].to_vec()).collect(),
        _ => bytes.to_vec(),
    }
}

/// An element in the notation of the Python script.
fn to_script_json(item: &Item<'_>) -> Value {
    match item {
        Item::Bool(value) => json!(value),
        Item::Int(value) | Item::Datetime(value, _) | Item::Timedelta(value, _) => value.to_string().into(),
        Item::Uint(value) => value.to_string().into(),
        Item::F16(value) => hex(&value.0.to_be_bytes()),
        Item::F32(value) => hex(&value.to_be_bytes()),
        Item::F64(value) => hex(&value.to_be_bytes()),
        Item::Complex32(parts) => hex(parts.map(f32::to_be_bytes).as_flattened()),
        Item::Complex64(parts) => hex(parts.map(f64::to_be_bytes).as_flattened()),
        Item::Bytes(bytes) => hex(bytes),
        Item::Text(text) => hex(text.as_bytes()),
        Item::Opaque(of, bytes) => hex(&to_big_endian(*of, bytes)),
        Item::Record(record) => record
            .fields()
            .map(|(field, bytes)| {
                let one = |bytes: &[u8]| {
                    let array = NdArray::new(field.dtype.clone(), &[], bytes).unwrap();
                    to_script_json(&array.get(&[]).unwrap())
                };
                let size = field.dtype.item_size().unwrap();
                let value =
                    if field.shape.is_empty() { one(bytes) } else { bytes.chunks(size).map(one).collect::<Value>() };
                (field.name.clone(), value)
            })
            .collect(),
        other => panic!("{other:?}"),
    }
}

/// Numpy names nameless fields by their number.
fn named(mut value: Value) -> Value {
    if let Some(map) = value.as_object_mut()
        && let Some(field) = map.remove("f0")
    {
        map.insert(String::new(), field);
    }
    value
}

#[test]
fn golden_values_decode_and_encode_like_python() {
    let mut kinds = [0; 6];
    for Golden { name, packed, of } in golden() {
        let raw = RawValue::at(&packed, 1000);
        let read = raw.numpy();
        let again = of["again"].as_bool().unwrap();
        let elements = || of["elements"].as_array().unwrap().iter().cloned().map(named).collect::<Vec<_>>();
        let at = match of["kind"].as_str().unwrap() {
            "array" => {
                let array = raw.ndarray().unwrap_or_else(|error| panic!("{name}: {error}"));
                let found: Vec<Value> = array.items().map(|item| to_script_json(&item.unwrap())).collect();
                assert_eq!(found, elements(), "{name}");
                assert_eq!(json!(array.shape()), of["shape"], "{name}");
                if let Dtype::Primitive(dtype) = array.dtype() {
                    assert_eq!(dtype.to_string(), of["dtype"].as_str().unwrap(), "{name}");
                }
                assert_eq!(array.to_array().view(), array);
                assert!(!again || to_vec(&array.to_array()).unwrap() == packed, "{name}");
                0
            }
            "scalar" => {
                let scalar = raw.scalar().unwrap_or_else(|error| panic!("{name}: {error}"));
                assert_eq!(vec![to_script_json(&scalar.item().unwrap())], elements(), "{name}");
                // Numpy converts a scalar to native order, and strips NULs from strings.
                let dtype = scalar.dtype().to_string().replace('>', "<").replace("S3", "S2");
                assert_eq!(dtype, of["dtype"].as_str().unwrap(), "{name}");
                1
            }
            "complex" => {
                let number = raw.complex().unwrap_or_else(|error| panic!("{name}: {error}"));
                // The text of a NaN does not determine its bits.
                for (part, bits) in [number.re, number.im].into_iter().zip(elements()) {
                    let expected = f64::from_be_bytes(unhex(bits.as_str().unwrap()).try_into().unwrap());
                    assert!(part.to_bits() == expected.to_bits() || part.is_nan() && expected.is_nan(), "{name}");
                }
                assert_eq!(number.to_string(), of["repr"].as_str().unwrap(), "{name}");
                2
            }
            "pickle" => {
                let pickle = raw.pickle().unwrap();
                assert_eq!(vec![hex(pickle.as_bytes())], elements());
                assert_eq!(json!(pickle.shape()), of["shape"]);
                3
            }
            "plain" => {
                assert_eq!(read.as_ref().unwrap(), &None, "{name}");
                assert_eq!(raw.decode::<RawValue<'_>>().unwrap(), raw);
                4
            }
            _ => {
                let error = read.as_ref().unwrap_err();
                assert!(error.to_string().contains("(byte 10"), "{name}: {error}");
                5
            }
        };
        kinds[at] += 1;
        if let (true, Ok(Some(value))) = (again, read) {
            let written = to_vec(&value).unwrap();
            assert_eq!(written, packed, "{name}");
        }
    }
    assert_eq!(kinds, [297, 34, 373, 1, 9, 18]);
}

#[test]
fn truncated_and_damaged_values_do_not_panic() {
    for Golden { packed, .. } in golden().into_iter().filter(|of| of.packed.len() < 200).step_by(5) {
        let look = |bytes: &[u8]| {
            let raw = RawValue::new(bytes);
            if let Ok(Some(Numpy::Array(array))) = raw.numpy() {
                assert_eq!(array.items().count(), array.len());
                let written = to_vec(&array).unwrap();
                assert_eq!(RawValue::new(&written).ndarray().unwrap().data(), array.data());
            }
            let _ = raw.decode::<serde_json::Value>();
            let _ = raw.decode::<Vec<u8>>();
            let _ = raw.decode::<f64>();
            let _ = datadings::json::write(raw, &mut Vec::new(), &container_core::Limits::default());
        };
        for cut in 0..packed.len() {
            look(&packed[..cut]);
        }
        let mut flipped = packed.clone();
        for bit in 0..packed.len() * 8 {
            flipped[bit / 8] ^= 1 << (bit % 8);
            look(&flipped);
            flipped[bit / 8] ^= 1 << (bit % 8);
        }
    }
}

/// The map of an array with these encoded members.
fn map_of(dtype: &[u8], shape: &[u8], data: &[u8]) -> Vec<u8> {
    let names: [&[u8]; 4] = [b"\xc4\x02nd\xc3\xc4\x04type", b"\xc4\x05shape", b"\xc4\x04data", b""];
    [b"\x84", names[0], dtype, names[1], shape, names[2], data].concat()
}

#[test]
fn rejects_inconsistent_members() {
    let cases: &[(&[u8], &[u8], &[u8], &str)] = &[
        (
            b"\xa3<i2",
            b"\x92\x02\x03",
            b"\xc4\x0a0123456789",
            "an array of shape (2, 3) and dtype <i2 (2 bytes per element): expected 12 bytes of data, found 10 (byte 7)",
        ),
        (
            b"\xa3<i2",
            b"\x91\x05",
            b"\xc4\x090123456789",
            "an array of shape (5,) and dtype <i2 (2 bytes per element): expected 10 bytes of data, found 9 (byte 7)",
        ),
        #[cfg(target_pointer_width = "64")] // elsewhere the dimension alone is an error
        (
            b"\xa3<i2",
            b"\x92\xcf\0\0\x01\0\0\0\0\0\xcf\0\0\x01\0\0\0\0\0",
            b"\xc4\x00",
            "an array of shape (1099511627776, 1099511627776) and dtype <i2 (2 bytes per element): expected an overflowing number of bytes of data, found 0 (byte 7)",
        ),
        #[cfg(target_pointer_width = "64")] // elsewhere the dimension alone is an error
        (
            b"\xa3<i2",
            b"\x91\xcf\x80\0\0\0\0\0\0\0",
            b"\xc4\x00",
            "an array of shape (9223372036854775808,) and dtype <i2 (2 bytes per element): expected an overflowing number of bytes of data, found 0 (byte 7)",
        ),
        (
            b"\xa3<i2",
            b"\x91\x01",
            b"\xc4\x040123",
            "an array of shape (1,) and dtype <i2 (2 bytes per element): expected 2 bytes of data, found 4 (byte 7)",
        ),
        (b"\xa3<i2", b"\x91\xff", b"\xc4\x00", "expected the length of a dimension, found an integer (byte 31)"),
        (b"\xa3<i2", b"\xa1x", b"\xc4\x00", "expected a shape, found a str (byte 30)"),
        (b"\xa3<i3", b"\x91\x00", b"\xc4\x00", "unknown dtype \"<i3\" (byte 19)"),
        (b"\x05", b"\x91\x00", b"\xc4\x00", "expected a dtype, found an integer (byte 19)"),
        (b"\xa3<i2", b"\x91\x00", b"\x05", "expected the data of an array, found an integer (byte 38)"),
        (
            b"\xa3|S0",
            b"\x91\xce\0\x10\0\0",
            b"\xc4\x00",
            "number of zero-sized elements 1048576 exceeds the limit 65536 (byte 7)",
        ),
        (b"\x91\x92\xa1a\x05", b"\x91\x00", b"\xc4\x00", "expected a dtype, found an integer (byte 23)"),
        (
            b"\x91\x91\xa1a",
            b"\x91\x00",
            b"\xc4\x00",
            "structure field: expected [name, dtype] or [name, dtype, shape] (byte 20)",
        ),
        (
            b"\x91\x93\xa1a\xa3|V0\x91\xcd\xff\xff",
            b"\x91\x00",
            b"\xc4\x00",
            "number of zero-sized fields 65535 exceeds the limit 16 (byte 19)",
        ),
    ];
    for (dtype, shape, data, expected) in cases {
        let packed = map_of(dtype, shape, data);
        let error = RawValue::at(&packed, 7).numpy().unwrap_err();
        assert_eq!(error.to_string(), *expected);
        assert!(RawValue::new(&packed).decode::<Vec<f64>>().is_err());
    }
}

#[test]
fn rejects_invalid_dtypes() {
    let long = "i".repeat(100_000);
    for text in [
        "",
        "<",
        "i",
        "<i",
        "<i16",
        "f3",
        "c4",
        "<b2",
        "U99999999999999999999",
        "U4611686018427387904",
        "M8[",
        "M8[]",
        "M8[xs]",
        "M8[0s]",
        "M8[-1s]",
        "M8[99999999999s]",
        "<é2",
        "é",
        "\0",
        "|V-1",
        "|V+1",
        "O16",
        "u8 ",
        " u8",
        "(2,)i4",
        &long,
    ] {
        let error = text.parse::<Dtype>().unwrap_err();
        assert!(error.to_string().len() < 200, "{text}");
    }
    for (text, expected) in [
        ("?", "|b1"),
        ("=i4", "<i4"),
        ("i4", "<i4"),
        ("|i4", "<i4"),
        ("<i1", "|i1"),
        (">S3", "|S3"),
        ("a3", "|S3"),
        ("V", "|V0"),
        ("M8", "<M8"),
        ("M8[generic]", "<M8"),
        ("<m8[1ns]", "<m8[ns]"),
        (">m8[25s]", ">m8[25s]"),
        ("g", "<f16"),
        ("O", "|O"),
        ("U", "<U0"),
        (">U7", ">U7"),
    ] {
        if cfg!(target_endian = "little") {
            assert_eq!(text.parse::<Dtype>().unwrap().to_string(), expected);
        }
    }
}

#[test]
fn nesting_of_structures_is_limited() {
    let nested = |depth: usize| {
        let dtype = [b"\x91\x92\xa1a".repeat(depth), b"\xa3<u2".to_vec()].concat();
        map_of(&dtype, b"\x91\x01", b"\xc4\x02\x07\x00")
    };
    let packed = nested(64);
    let array = RawValue::new(&packed).ndarray().unwrap();
    assert_eq!((array.item_size(), array.len()), (2, 1));
    assert_eq!(to_vec(&array).unwrap().len(), packed.len() + b"\xc4\x04kind\xc4\x01V".len());
    assert!(RawValue::new(&packed).decode::<serde_json::Value>().unwrap().to_string().contains(r#""a":7}"#));
    for depth in [65, 100_000] {
        let error = RawValue::new(&nested(depth)).numpy().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit { asked: 65, limit: 64 });
    }
}

#[test]
fn empty_sequences_are_limited() {
    let packed = map_of(b"\xa3<i2", b"\x92\xce\x40\0\0\0\x00", b"\xc4\x00");
    let raw = RawValue::new(&packed);
    assert!(raw.ndarray().unwrap().is_empty());
    let error = raw.decode::<Vec<Vec<i16>>>().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit { asked: 1 << 30, limit: 1 << 16 });
    let packed = map_of(b"\xa3<i2", b"\x92\x02\x00", b"\xc4\x00");
    assert_eq!(RawValue::new(&packed).decode::<Vec<Vec<i16>>>().unwrap(), [[], []] as [[i16; 0]; 2]);
}

#[test]
fn pickles_remain_bytes() {
    // Would run a command if decoded.
    let pickle = b"\x80\x04\x8c\x05posix\x8c\x06system\x93\x8c\x04true\x85R.";
    let data = [&[0xc4, u8::try_from(pickle.len()).unwrap()], &pickle[..]].concat();
    let packed = [b"\x84\xc4\x02nd\xc3\xc4\x04type\xa1?\xc4\x04kind\xc4\x01O\xc4\x04data".as_slice(), &data].concat();
    let raw = RawValue::new(&packed);
    assert_eq!(raw.pickle().unwrap().as_bytes(), pickle);
    let error = raw.ndarray().unwrap_err();
    assert_eq!(error.to_string(), "expected a numpy array, found a pickled array of Python objects (byte 0)");
    let mut out = Vec::new();
    datadings::json::write(raw, &mut out, &container_core::Limits::default()).unwrap();
    assert!(out.starts_with(br#"{"$pickle":"gASM"#), "{}", String::from_utf8_lossy(&out));
    // Before `kind` existed, the type marked object arrays.
    let packed = map_of(b"\xa2|O", b"\x91\x03", &data);
    assert_eq!(RawValue::new(&packed).pickle().unwrap().shape(), [3]);
}

#[test]
fn void_arrays_are_written_as_structures_like_python() {
    let Golden { packed, .. } = golden().into_iter().find(|of| of.name == "<V5 1-d").unwrap();
    let read = RawValue::new(&packed).ndarray().unwrap();
    assert_eq!(read.dtype().to_string(), "[('', '|V5')]");
    let plain = NdArray::new("|V5".parse().unwrap(), read.shape(), read.data()).unwrap();
    assert_eq!(to_vec(&plain).unwrap(), packed);
}

#[test]
fn sign_of_nan_is_not_written() {
    for (re, im, text) in [(1.0, -f64::NAN, "(1+nanj)"), (-f64::NAN, -f64::NAN, "(nan+nanj)"), (0.0, -f64::NAN, "nanj")]
    {
        assert_eq!(Complex { re, im }.to_string(), text);
    }
}

#[test]
fn legacy_files_have_str_keys() {
    let old = b"\x84\xa2nd\xc3\xa4type\xa3<i2\xa5shape\x91\x02\xa4data\xa4\x01\x00\x02\x00";
    assert_eq!(RawValue::new(old).ndarray().unwrap().to_vec::<i16>().unwrap(), [1, 2]);
    assert_eq!(RawValue::new(old).decode::<Vec<i16>>().unwrap(), [1, 2]);
    assert_eq!(RawValue::new(old).decode::<serde_json::Value>().unwrap(), json!([1, 2]));
    let one = b"\x82\xa4data\xa21j\xa7complex\xc3";
    assert_eq!(RawValue::new(one).decode::<serde_json::Value>().unwrap(), json!([0.0, 1.0]));
    let with_key = b"\x85\xa3key\xa1a\xa2nd\xc3\xa4type\xa3<i2\xa5shape\x91\x02\xa4data\xa4\x01\x00\x02\x00";
    assert_eq!(RawValue::new(with_key).numpy().unwrap(), None);
    assert_eq!(RawValue::new(b"\x82\xa7complex\xc3\xa4data\xa21j").complex().unwrap(), Complex { re: 0.0, im: 1.0 });
    for plain in [
        &b"\x82\xa7complex\xc2\xa4data\xa21j"[..],
        b"\x82\xa7complex\xc3\xa4data\xa2xx",
        b"\x82\xa2nd\x02\xa4data\xa2xx",
        b"\x82\xa2nd\xc3\xa4data\xa2xx",
    ] {
        assert_eq!(RawValue::new(plain).numpy().unwrap(), None);
    }
}

#[test]
fn numbers_convert_exactly_or_fail() {
    let packed = |scalar: Scalar<'_>| to_vec(&scalar).unwrap();
    let f16 = packed(F16(0x3e00).into());
    assert_eq!(RawValue::new(&f16).f64().unwrap(), 1.5);
    assert_eq!(RawValue::new(&f16).decode::<f32>().unwrap(), 1.5);
    let error = RawValue::at(&f16, 5).u64().unwrap_err().to_string();
    assert_eq!(error, "expected a non-negative integer, found the float 1.5 (byte 5)");
    let int = packed(7i16.into());
    assert_eq!((RawValue::new(&int).u64().unwrap(), RawValue::new(&int).i64().unwrap()), (7, 7));
    assert_eq!(RawValue::new(&int).f64().unwrap(), 7.0);
    assert_eq!(RawValue::new(&int).decode::<Option<u8>>().unwrap(), Some(7));
    let negative = packed((-7i64).into());
    assert_eq!(RawValue::new(&negative).i64().unwrap(), -7);
    let error = RawValue::at(&negative, 5).u64().unwrap_err().to_string();
    assert_eq!(error, "expected a non-negative integer, found -7 (byte 5)");
    assert!(RawValue::new(&packed(true.into())).bool().unwrap());
    let inexact = packed(((1u64 << 53) + 1).into());
    assert_eq!(RawValue::new(&inexact).u64().unwrap(), (1 << 53) + 1);
    assert!(RawValue::new(&inexact).f64().is_err());
    let zero = to_vec(&Array::from_slice(&[2.5f32], &[], ByteOrder::Big).unwrap()).unwrap();
    assert_eq!(RawValue::new(&zero).f64().unwrap(), 2.5);
    assert_eq!(RawValue::new(&zero).decode::<f64>().unwrap(), 2.5);
    let long = packed(Scalar::from_bytes("<f16".parse().unwrap(), vec![0; 16]).unwrap());
    let error = RawValue::at(&long, 3).decode::<f64>().unwrap_err();
    assert_eq!(error.to_string(), "an element of dtype <f16 has a meaning only on the machine that wrote it (byte 3)");
    // Plain ones.
    let f64 = |value: u64| RawValue::new(&to_vec(&value).unwrap()).f64().ok();
    assert_eq!(f64(0), Some(0.0));
    assert_eq!(f64(u64::MAX), None);
    assert_eq!(f64(u64::MAX << 11), Some(18_446_744_073_709_549_568.0));
    assert_eq!(f64(u64::MAX << 10), None);
    assert_eq!(RawValue::new(&to_vec(&i64::MIN).unwrap()).f64().unwrap(), -9_223_372_036_854_775_808.0);
}

#[test]
fn arrays_decode_as_sequences_bytes_and_views() {
    let foreign = if cfg!(target_endian = "big") { ByteOrder::Little } else { ByteOrder::Big };
    let array = Array::from_slice(&[1u16, 2, 3, 4, 5, 0xfffe], &[2, 3], foreign).unwrap();
    let packed = to_vec(&array).unwrap();
    let raw = RawValue::new(&packed);
    assert_eq!(raw.decode::<Vec<Vec<u16>>>().unwrap(), [[1, 2, 3], [4, 5, 0xfffe]]);
    assert_eq!(raw.decode::<[(f32, f32, u64); 2]>().unwrap()[1], (4.0, 5.0, 0xfffe));
    assert_eq!(raw.decode::<serde_json::Value>().unwrap(), json!([[1, 2, 3], [4, 5, 0xfffe]]));
    assert!(raw.decode::<Vec<Vec<u8>>>().unwrap_err().to_string().contains("integer `65534`"));
    assert!(raw.decode::<Vec<(u16, u16)>>().is_err());
    assert_eq!(raw.decode::<Array>().unwrap(), array);
    let view: NdArray<'_> = raw.decode().unwrap();
    assert_eq!(view.as_slice::<u16>(), None);
    assert_eq!(view.to_vec::<u16>().unwrap(), [1, 2, 3, 4, 5, 0xfffe]);
    assert_eq!(view.get_as::<u16>(&[1, 2]).unwrap(), 0xfffe);
    assert_eq!(view.get(&[0, 1]).unwrap(), Item::Uint(2));
    assert_eq!(view.get(&[0, 3]).unwrap_err().to_string(), "index (0, 3) is out of bounds for shape (2, 3)");
    assert!(view.get(&[1]).is_err() && view.get(&[0, 0, 0]).is_err());
    let expected = "expected elements of <i2, found >u2";
    let expected = if foreign == ByteOrder::Big { expected } else { "expected elements of >i2, found <u2" };
    assert_eq!(view.to_vec::<i16>().unwrap_err().to_string(), expected);
    let values = [1.5f64, f64::NAN];
    let native = NdArray::from_slice(&values, &[2]).unwrap();
    assert_eq!(native.as_slice::<f64>().unwrap().as_ptr(), values.as_ptr());
    let texts = Array::from_texts(&["ä", "", "xyz"], &[3]).unwrap();
    assert_eq!(RawValue::new(&to_vec(&texts).unwrap()).decode::<Vec<String>>().unwrap(), ["ä", "", "xyz"]);
    let surrogate =
        NdArray::new("<U1".parse().unwrap(), &[], &[0, 0xd8, 0, 0]).unwrap().get(&[]).unwrap_err().to_string();
    assert_eq!(surrogate, "invalid code point 0xd800");
}

#[test]
fn reads_fields_of_structures() {
    let Golden { packed, .. } = golden().into_iter().find(|of| of.name == "structured aligned").unwrap();
    let array = RawValue::new(&packed).ndarray().unwrap();
    assert_eq!(array.dtype().to_string(), "[('a', '|u1'), ('', '|V7'), ('b', '<f8'), ('c', '<i2'), ('', '|V6')]");
    assert_eq!(array.field("b").unwrap().iter::<f64>().unwrap().collect::<Vec<_>>(), [0.5, 1.5, 2.5, 3.5]);
    assert_eq!(array.field("c").unwrap().to_array().unwrap().view().to_vec::<i16>().unwrap(), [-1, -2, -3, -4]);
    assert!(array.field("").is_err() && array.field("d").is_err() && array.field("a").unwrap().iter::<i8>().is_err());
    #[derive(serde::Deserialize, PartialEq, Debug)]
    struct Row {
        a: u8,
        b: f32,
        c: i64,
    }
    let rows: Vec<Row> = RawValue::new(&packed).decode().unwrap();
    assert_eq!(rows[3], Row { a: 4, b: 3.5, c: -4 });
    let Golden { packed, .. } = golden().into_iter().find(|of| of.name == "structured nested").unwrap();
    let array = RawValue::new(&packed).ndarray().unwrap();
    assert_eq!(array.field("e").unwrap().to_array().unwrap().view().shape(), [6, 2, 3]);
    let Item::Record(record) = array.get(&[2]).unwrap() else { panic!() };
    assert_eq!(record.fields().count(), 3);
}

#[test]
fn every_float_of_16_bits() {
    for bits in 0..=u16::MAX {
        let (half, wide) = (F16(bits), F16(bits).to_f32());
        assert_eq!(wide.is_nan(), bits & 0x7fff > 0x7c00);
        if !wide.is_nan() {
            assert_eq!(F16::from_f64(wide.into()), half);
        }
        // Ties go to the even neighbor, other values to the nearest.
        if bits & 0x7fff < 0x7bff {
            let next = F16(bits + 1).to_f32();
            let middle = (f64::from(wide) + f64::from(next)) / 2.0;
            assert_eq!(F16::from_f64(middle).0, bits + (bits & 1));
            assert_eq!(F16::from_f64(middle + (f64::from(wide) - middle) * 1e-6), half);
        }
    }
    assert_eq!((F16(0x3c00).to_f32(), F16(1).to_f32(), F16(0xfbff).to_f32()), (1.0, 5.960_464_5e-8, -65504.0));
    assert_eq!(F16::from_f64(65_519.99), F16(0x7bff));
    assert_eq!(F16::from_f64(-65_520.0), F16(0xfc00));
}

macro_rules! round_trips {
    ($($name:ident: $type:ty),*) => { proptest! {$(
        #[test]
        fn $name(values in proptest::collection::vec(any::<$type>(), 0..40), big in any::<bool>(), shift in 0usize..8) {
            let order = if big { ByteOrder::Big } else { ByteOrder::Little };
            let array = Array::from_slice(&values, &[values.len(), 1], order).unwrap();
            // At every alignment.
            let mut packed = vec![0; shift];
            datadings::ser::extend(&mut packed, &array).unwrap();
            let view = RawValue::at(&packed[shift..], shift as u64).ndarray().unwrap();
            let bits = |values: &[$type]| to_vec(&NdArray::from_slice(values, &[values.len()]).unwrap()).unwrap();
            prop_assert_eq!(bits(&view.to_vec::<$type>().unwrap()), bits(&values));
            prop_assert_eq!(bits(&view.iter::<$type>().unwrap().collect::<Vec<_>>()), bits(&values));
            prop_assert_eq!(view.shape(), &[values.len(), 1]);
        }
    )*}};
}

round_trips!(i8s: i8, i16s: i16, i32s: i32, i64s: i64, u8s: u8, u16s: u16, u32s: u32, u64s: u64, f32s: f32, f64s: f64,
    bools: bool, complex32s: [f32; 2], complex64s: [f64; 2]);

proptest! {
    #[test]
    fn complex_numbers_round_trip(re in any::<f64>(), im in any::<f64>()) {
        let number = Complex { re, im };
        let again: Complex = number.to_string().parse().unwrap();
        prop_assert!(again.re.to_bits() == re.to_bits() || re.is_nan());
        prop_assert!(again.im.to_bits() == im.to_bits() || im.is_nan());
    }

    #[test]
    fn parsing_dtypes_never_panics(text in "[<>|=]?[biufcMmSUVOgG?a]{0,2}[0-9]{0,3}(\\[[0-9]{0,2}[a-zA-Z]{0,2}\\])?") {
        if let Ok(dtype) = text.parse::<Dtype>() {
            prop_assert_eq!(dtype.to_string().parse::<Dtype>().unwrap(), dtype);
        }
    }
}
