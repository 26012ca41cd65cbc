//! Rust types to msgpack and back, compared with rmpv; hostile bytes.

use std::collections::{BTreeMap, HashMap};

use container_core::{ErrorKind, Limits};
use datadings::RawValue;
use datadings::ser::{extend, from_rmpv, to_vec};
use proptest::prelude::*;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};

fn decode<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, String> {
    RawValue::new(bytes).decode().map_err(|error| error.to_string())
}

#[track_caller]
fn same<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(value: T, bytes: &[u8]) {
    let packed = to_vec(&value).unwrap();
    assert_eq!(packed, bytes, "{value:?}");
    assert_eq!(decode::<T>(&packed).unwrap(), value);
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
enum Shape {
    Point,
    Circle(f64),
    Line(u8, u8),
    Rectangle { width: u8, height: u8 },
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Unit;

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Wrapped(u16);

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Sample {
    key: String,
    label: Option<u32>,
    #[serde(default)]
    more: BTreeMap<String, f32>,
}

#[test]
fn round_trips_every_kind_of_value() {
    same(true, b"\xc3");
    same(Some(5u8), b"\x05");
    same(None::<u8>, b"\xc0");
    same((), b"\xc0");
    same(Unit, b"\xc0");
    same(Wrapped(300), b"\xcd\x01\x2c");
    same(-33i64, b"\xd0\xdf");
    same(u64::MAX, b"\xcf\xff\xff\xff\xff\xff\xff\xff\xff");
    same(i64::MIN, b"\xd3\x80\0\0\0\0\0\0\0");
    same(i128::from(i64::MIN), b"\xd3\x80\0\0\0\0\0\0\0");
    same(u128::from(u64::MAX), b"\xcf\xff\xff\xff\xff\xff\xff\xff\xff");
    same(1.5f32, b"\xca\x3f\xc0\0\0");
    same(1.5f64, b"\xcb\x3f\xf8\0\0\0\0\0\0");
    same('ä', b"\xa2\xc3\xa4");
    same("x".repeat(32), &[b"\xd9\x20".as_slice(), &[b'x'; 32]].concat());
    same((1u8, "a".to_owned(), [2u8, 3]), b"\x93\x01\xa1a\x92\x02\x03");
    same(Shape::Point, b"\xa5Point");
    same(Shape::Circle(0.0), b"\x81\xa6Circle\xcb\0\0\0\0\0\0\0\0");
    same(Shape::Line(1, 2), b"\x81\xa4Line\x92\x01\x02");
    same(Shape::Rectangle { width: 1, height: 2 }, b"\x81\xa9Rectangle\x82\xa5width\x01\xa6height\x02");
    same(HashMap::from([(7u8, Some(vec![-1i8]))]), b"\x81\x07\x91\xff");
    let more = BTreeMap::from([("f".to_owned(), 0.5)]);
    same(
        Sample { key: "k".into(), label: None, more },
        b"\x83\xa3key\xa1k\xa5label\xc0\xa4more\x81\xa1f\xca\x3f\0\0\0",
    );
    assert!(to_vec(&(u128::from(u64::MAX) + 1)).unwrap_err().to_string().contains("18446744073709551616 exceeds"));
    assert!(to_vec(&(i128::from(i64::MIN) - 1)).is_err());
}

#[test]
fn accepts_encodings_of_other_writers() {
    assert_eq!(decode::<Shape>(b"\x00").unwrap(), Shape::Point);
    assert_eq!(decode::<Shape>(b"\xc4\x05Point").unwrap(), Shape::Point);
    assert_eq!(decode::<Shape>(b"\x81\xa5Point\xc0").unwrap(), Shape::Point);
    assert_eq!(decode::<Shape>(b"\x81\x02\x92\x01\x02").unwrap(), Shape::Line(1, 2));
    // Names as bin, unknown fields, longer encodings than necessary, an array for a struct.
    let sample = Sample { key: "k".into(), label: Some(7), more: BTreeMap::new() };
    for bytes in [
        &b"\x83\xc4\x03key\xa1k\xa1x\x91\x81\xc0\xc0\xc4\x05label\x07"[..],
        b"\xdf\0\0\0\x02\xdb\0\0\0\x03key\xd9\x01k\xda\0\x05label\xcf\0\0\0\0\0\0\0\x07",
        b"\x92\xa1k\x07",
    ] {
        assert_eq!(decode::<Sample>(bytes).unwrap(), sample);
    }
    assert_eq!(decode::<Vec<u8>>(b"\xc4\x03\x01\x02\xff").unwrap(), [1, 2, 255]);
    assert_eq!(decode::<[u8; 3]>(b"\xc4\x03\x01\x02\xff").unwrap(), [1, 2, 255]);
    assert_eq!(decode::<&[u8]>(b"\xc4\x03\x01\x02\xff").unwrap(), [1, 2, 255]);
    assert_eq!(decode::<&[u8]>(b"\xa1\xff").unwrap(), [255]);
    assert_eq!(decode::<f64>(b"\x07").unwrap(), 7.0);
    assert_eq!(decode::<f32>(b"\xcb\x3f\xf8\0\0\0\0\0\0").unwrap(), 1.5);
    #[derive(Deserialize, Serialize, PartialEq, Debug)]
    #[serde(rename = "_ExtStruct")]
    struct Ext((i8, Bytes));
    let ext = Ext((5, Bytes(b"ab".to_vec())));
    same(ext, b"\xd5\x05ab");
    #[derive(Deserialize)]
    struct Flat<'a> {
        key: &'a str,
        #[serde(flatten)]
        rest: BTreeMap<String, u8>,
    }
    let flat: Flat<'_> = RawValue::new(b"\x82\xa3key\xa1k\xa1a\x01").decode().unwrap();
    assert_eq!((flat.key, flat.rest), ("k", BTreeMap::from([("a".to_owned(), 1)])));
}

#[derive(PartialEq, Debug)]
struct Bytes(Vec<u8>);

impl Serialize for Bytes {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <&[u8]>::deserialize(deserializer).map(|bytes| Self(bytes.to_vec()))
    }
}

#[test]
fn fixes_headers_of_unknown_or_wrong_length() {
    struct Unknown(usize, Option<usize>);
    impl Serialize for Unknown {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            use serde::ser::SerializeSeq;
            let mut seq = serializer.serialize_seq(self.1)?;
            (0..self.0).try_for_each(|i| seq.serialize_element(&i))?;
            seq.end()
        }
    }
    for count in [0, 1, 15, 16, 17, 65_535, 65_536] {
        for declared in [None, Some(count), Some(0), Some(20), Some(70_000)] {
            let packed = to_vec(&("before", Unknown(count, declared), "after")).unwrap();
            assert_eq!(packed, to_vec(&("before", (0..count).collect::<Vec<_>>(), "after")).unwrap());
        }
    }
}

#[test]
fn errors_leave_the_buffer_unchanged() {
    let mut out = b"kept".to_vec();
    assert!(extend(&mut out, &(1, "text", u128::MAX)).is_err());
    assert_eq!(out, b"kept");
}

#[test]
fn raw_values_pass_through() {
    #[derive(Serialize, Deserialize)]
    struct Holder<'a> {
        a: u8,
        #[serde(borrow)]
        rest: RawValue<'a>,
    }
    let packed = b"\x82\xa1a\x01\xa4rest\x93\xcd\0\x01\xc0\x81\xa1x\xc4\x01\xff";
    let holder: Holder<'_> = RawValue::at(packed, 50).decode().unwrap();
    assert_eq!((holder.a, holder.rest.offset()), (1, 59));
    assert_eq!(to_vec(&holder).unwrap(), packed);
    for size in [0, 255, 256, 65_535, 65_536] {
        let packed = to_vec(&"x".repeat(size)).unwrap();
        assert_eq!(to_vec(&RawValue::new(&packed)).unwrap(), packed);
    }
    assert!(to_vec(&RawValue::new(b"\x92\x01")).is_err());
}

#[test]
fn errors_have_the_offset_of_the_value() {
    let at = |bytes: &[u8]| RawValue::at(bytes, 100).decode::<Sample>().unwrap_err().to_string();
    assert_eq!(at(b"\x82\xa3key\xa1k\xa5label\xa1x"), "invalid type: string \"x\", expected u32 (byte 113)");
    assert_eq!(at(b"\x82\xa3key\xa1k\xa5label\xff"), "invalid value: integer `-1`, expected u32 (byte 113)");
    assert_eq!(at(b"\x81\xa5label\x01"), "missing field `key` (byte 100)");
    assert_eq!(at(b"\x07"), "invalid type: integer `7`, expected struct Sample (byte 100)");
    assert_eq!(at(b"\x82\xa3key\xa1\xff"), "invalid UTF-8 in a str: byte 0xff (byte 106)");
    assert_eq!(at(b"\x82\xa3key\xa5k"), "a str: needs 5 bytes, 1 available (byte 106)");
    assert_eq!(at(b"\x82\xa3key\xc1\x01"), "reserved msgpack marker 0xc1 (byte 105)");
    assert_eq!(at(b"\x82\xa3key\xa1k\xa4more\x81\xa1f\xc3"), "invalid type: boolean `true`, expected f32 (byte 115)");
    assert_eq!(decode::<(u8, u8)>(b"\x93\x01\x02\x03").unwrap_err(), "expected 2 values, found 3 (byte 0)");
    assert_eq!(decode::<(u8, u8)>(b"\x91\x01").unwrap_err(), "invalid length 1, expected a tuple of size 2 (byte 0)");
    assert_eq!(
        decode::<Shape>(b"\xa1x").unwrap_err(),
        "unknown variant `x`, expected one of `Point`, `Circle`, `Line`, `Rectangle` (byte 0)"
    );
    assert!(decode::<Shape>(b"\xa6Circle").unwrap_err().contains("unit variant"));
    assert!(
        decode::<Shape>(b"\x82\x01\x01\x01\x01")
            .unwrap_err()
            .contains("expected a variant name, or a map from it to its content, found a map")
    );
    // A count that is too large by one is detected before the first value is decoded.
    let short = "the members of an array or a map: needs 2 bytes, 1 available (byte 0)";
    assert_eq!(decode::<Vec<u8>>(b"\x92\xc1").unwrap_err(), short);
    assert_eq!(decode::<HashMap<u8, u8>>(b"\x81\xc1").unwrap_err(), short);
    assert_eq!(decode::<u8>(b"").unwrap_err(), "a value: needs 1 byte, 0 available (byte 0)");
    for (bytes, error) in [
        (&b"\xa1x"[..], "expected a non-negative integer, found a str (byte 9)"),
        (b"\xff", "expected a non-negative integer, found -1 (byte 9)"),
        (b"\xca\0\0\0\0", "expected a non-negative integer, found a float (byte 9)"),
        (b"\x80", "expected a non-negative integer, found a map (byte 9)"),
    ] {
        assert_eq!(RawValue::at(bytes, 9).u64().unwrap_err().to_string(), error);
    }
}

#[test]
fn nesting_is_limited() {
    let nested = |head: &[u8], depth: usize| [head.repeat(depth), b"\xc0".to_vec()].concat();
    for head in [&b"\x91"[..], b"\x81\x01", b"\x81\xa1a", b"\xdc\0\x01"] {
        let deep = nested(head, 128);
        let raw = RawValue::new(&deep);
        assert!(raw.value().is_ok());
        assert!(raw.decode::<IgnoredAny>().is_ok());
        datadings::json::write(raw, &mut Vec::new(), &Limits::default()).unwrap();
        for depth in [129, 1_000_000] {
            let deep = nested(head, depth);
            let raw = RawValue::new(&deep);
            let limit = ErrorKind::Limit { asked: 129, limit: 128 };
            assert_eq!(raw.value().unwrap_err().kind(), limit);
            assert_eq!(raw.decode::<Nested>().unwrap_err().kind(), limit);
            assert_eq!(datadings::json::write(raw, &mut Vec::new(), &Limits::default()).unwrap_err().kind(), limit);
            assert!(serde_json::to_string(&datadings::json::Json(raw)).unwrap_err().to_string().contains("nesting"));
            assert_eq!(raw.numpy().unwrap(), None);
            // No level is entered.
            assert!(raw.decode::<IgnoredAny>().is_ok());
        }
        let three = nested(head, 3);
        assert!(RawValue::new(&three).decode_with::<Nested>(&Limits::default().with_depth(3)).is_ok());
        assert!(RawValue::new(&three).decode_with::<Nested>(&Limits::default().with_depth(2)).is_err());
    }
}

/// Accepts any value completely.
#[derive(Debug)]
struct Nested;

impl<'de> Deserialize<'de> for Nested {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> serde::de::Visitor<'de> for Any {
            type Value = Nested;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("anything")
            }

            fn visit_unit<E>(self) -> Result<Nested, E> {
                Ok(Nested)
            }

            fn visit_u64<E>(self, _: u64) -> Result<Nested, E> {
                Ok(Nested)
            }

            fn visit_str<E>(self, _: &str) -> Result<Nested, E> {
                Ok(Nested)
            }

            fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut seq: A) -> Result<Nested, A::Error> {
                while seq.next_element::<Nested>()?.is_some() {}
                Ok(Nested)
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Nested, A::Error> {
                while map.next_entry::<Nested, Nested>()?.is_some() {}
                Ok(Nested)
            }
        }
        deserializer.deserialize_any(Any)
    }
}

#[test]
fn declared_lengths_allocate_nothing() {
    for bytes in [
        &b"\xdb\xff\xff\xff\xffab"[..],
        b"\xc6\xff\xff\xff\xff",
        b"\xc9\xff\xff\xff\xff\x01",
        b"\xdd\xff\xff\xff\xff\xc0",
        b"\xdf\xff\xff\xff\xff\xc0\xc0",
    ] {
        let raw = RawValue::new(bytes);
        let truncated =
            |kind: ErrorKind| matches!(kind, ErrorKind::Truncated { needed, .. } if needed >= u64::from(u32::MAX));
        assert!(truncated(raw.value().unwrap_err().kind()));
        assert!(truncated(raw.decode::<Nested>().unwrap_err().kind()));
        assert!(truncated(raw.decode::<IgnoredAny>().unwrap_err().kind()));
        assert!(truncated(datadings::json::write(raw, &mut Vec::new(), &Limits::default()).unwrap_err().kind()));
    }
}

/// Any rmpv value, a few levels deep.
fn values() -> impl Strategy<Value = rmpv::Value> {
    let leaf = prop_oneof![
        Just(rmpv::Value::Nil),
        any::<bool>().prop_map(rmpv::Value::from),
        any::<u64>().prop_map(rmpv::Value::from),
        any::<i64>().prop_map(rmpv::Value::from),
        (0u64..300).prop_map(rmpv::Value::from),
        (-300i64..0).prop_map(rmpv::Value::from),
        any::<f32>().prop_map(rmpv::Value::from),
        any::<f64>().prop_map(rmpv::Value::from),
        ".{0,40}".prop_map(rmpv::Value::from),
        proptest::collection::vec(any::<u8>(), 0..300).prop_map(rmpv::Value::from),
        (any::<i8>(), proptest::collection::vec(any::<u8>(), 0..20))
            .prop_map(|(kind, data)| rmpv::Value::Ext(kind, data)),
    ];
    leaf.prop_recursive(4, 40, 20, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..20).prop_map(rmpv::Value::Array),
            proptest::collection::vec((inner.clone(), inner), 0..18).prop_map(rmpv::Value::Map),
        ]
    })
}

proptest! {
    #[test]
    fn rmpv_and_this_crate_agree(value in values()) {
        let mut packed = Vec::new();
        from_rmpv(&mut packed, &value).unwrap();
        let raw = RawValue::new(&packed);
        prop_assert_eq!(raw.value().unwrap().to_owned(), value);
        prop_assert_eq!(to_vec(&raw).unwrap(), packed.clone());
        for cut in 0..packed.len() {
            let cut = RawValue::new(&packed[..cut]);
            prop_assert!(cut.value().is_err());
            prop_assert!(cut.decode::<IgnoredAny>().is_err());
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
        let raw = RawValue::new(&bytes);
        let ours = raw.value().ok();
        let mut rest = bytes.as_slice();
        if let Some(ours) = ours {
            prop_assert_eq!(Some(ours), rmpv::decode::read_value_ref(&mut rest).ok());
        }
        let _ = raw.decode::<serde_json::Value>();
        let _ = raw.decode::<Sample>();
        let _ = (raw.numpy(), raw.get("a"), raw.u64(), raw.f64());
    }

    #[test]
    fn samples_round_trip(key in ".*", label in any::<Option<u32>>(), more in proptest::collection::btree_map(".{0,5}", -1e30f32..1e30, 0..20)) {
        let sample = Sample { key, label, more };
        let packed = to_vec(&sample).unwrap();
        prop_assert_eq!(decode::<Sample>(&packed).unwrap(), sample);
    }
}
