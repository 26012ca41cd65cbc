use std::cell::Cell;

use container_core::{Access, Error, OpenOptions, OutputOptions, Overwrite, Result, Source, SyncPolicy};

use super::*;
use crate::{Array, DataType, Element, Endian, JsonBuf, Mask, Reader, Values};

thread_local! {
    /// Writes left before one fails; `None` never fails.
    static STEPS: Cell<Option<u32>> = const { Cell::new(None) };
}

/// Counts a write; fails when the test asked for it.
pub(super) fn step() -> Result<()> {
    match STEPS.get() {
        None => Ok(()),
        Some(0) => Err(Error::usage("injected failure")),
        Some(left) => {
            STEPS.set(Some(left - 1));
            Ok(())
        }
    }
}

fn bytes(builder: &Builder<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    let written = builder.write_to(&mut out).unwrap();
    assert_eq!(written.bytes, out.len() as u64);
    out
}

fn strings(strings: &[&str]) -> Values<'static> {
    strings.iter().copied().collect()
}

#[test]
fn writes_documented_bytes() {
    let mut builder = Builder::new();
    builder
        .attribute("title", "a\u{fc}")
        .attribute(".x", f64::NAN)
        .field("z", Field::new(Array::new([3], vec![true, false, true]).unwrap()).with_attribute("n", 1))
        .field("b", Field::empty())
        .field(
            ".a",
            Field::new(
                Array::new([3], vec![1.0f64, 9.0, 3.0])
                    .unwrap()
                    .with_mask(Mask::from_bools([false, true, false]))
                    .unwrap(),
            )
            .with_attribute("m", "x")
            .with_dimensions(["t"])
            .with_endian(Endian::Big),
        )
        .field("\\s", Field::new(Array::new([2], strings(&["a", "bc"])).unwrap()).with_time(true))
        .field("one", Field::new(Array::new([], vec![7u8]).unwrap()).with_endian(Endian::Little));
    let file = bytes(&builder);
    let expected = concat!(
        "ds-1.0\n{",
        r#""\\.a": {"m": "x", ".dims": ["t"], ".size": [3], ".offset": 0, ".len": 17, ".type": "float64", ".missing": true, ".endian": "b"}, "#,
        r#""\\\\s": {".time": true, ".size": [2], ".offset": 17, ".len": 19, ".type": "unicode", ".missing": false, ".endian": "l"}, "#,
        r#""b": {".size": null, ".offset": 36, ".len": 0, ".type": null, ".missing": false}, "#,
        r#""one": {".size": [], ".offset": 36, ".len": 1, ".type": "uint8", ".missing": false, ".endian": "b"}, "#,
        r#""z": {"n": 1, ".size": [3], ".offset": 37, ".len": 1, ".type": "bool", ".missing": false}, "#,
        r#"".": {"title": "a\u00fc", ".x": NaN}}"#,
        "\n"
    );
    let header = expected.replace("\"l\"", if Endian::NATIVE == Endian::Little { "\"l\"" } else { "\"b\"" });
    assert_eq!(String::from_utf8_lossy(&file[..header.len()]), header);
    let mut body = vec![0x40];
    body.extend(1f64.to_be_bytes());
    body.extend(3f64.to_be_bytes());
    body.extend(1u64.to_ne_bytes());
    body.extend(2u64.to_ne_bytes());
    body.extend(b"abc\x07\xa0");
    assert_eq!(&file[header.len()..], body);

    // A copy has the same bytes, whatever the order of fields and the source.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.ds");
    let options = OutputOptions::default().with_sync(SyncPolicy::Never);
    assert_eq!(builder.write(&path, options).unwrap().variables, 5);
    assert_eq!(std::fs::read(&path).unwrap(), file);
    for access in [Access::Positional, container_core::testkit::mapped()] {
        let reader = Reader::open_with(&path, OpenOptions::default().with_access(access)).unwrap();
        let mut copy = Builder::new();
        copy.copy_attributes(&reader);
        for variable in reader.variables() {
            copy.field(variable.name(), Field::copy(&variable));
        }
        copy.fields.reverse();
        assert_eq!(bytes(&copy), file);
    }
    let error = builder.write(&path, options).unwrap_err().to_string();
    assert!(error.ends_with("a.ds: the output exists"), "{error}");
}

#[test]
fn writes_all_types_in_both_orders() {
    fn check<T: Element>(values: &[T])
    where
        for<'v> Values<'v>: From<&'v [T]>,
    {
        let width = size_of::<T>();
        let mut expected: Vec<u8> = bytemuck::cast_slice(values).to_vec();
        let mask = Mask::from_bools((0..values.len()).map(|index| index % 3 == 1 || (96..160).contains(&index)));
        for endian in [Endian::NATIVE, if Endian::NATIVE == Endian::Big { Endian::Little } else { Endian::Big }] {
            let body = |array: Array<'_>| {
                let mut builder = Builder::new();
                builder.field("x", Field::new(array).with_endian(endian));
                let file = bytes(&builder);
                let start = file.iter().enumerate().filter(|(_, byte)| **byte == b'\n').nth(1).unwrap().0;
                let header = String::from_utf8_lossy(&file[..start]).into_owned();
                let declared = if width == 1 { Endian::Big } else { endian };
                assert!(header.contains(&format!("\".type\": \"{}\"", T::TYPE)), "{header}");
                assert!(
                    header.ends_with(&format!("\".endian\": \"{}\"}}, \".\": {{}}}}", declared.name())),
                    "{header}"
                );
                file[start + 1..].to_vec()
            };
            let array = || Array::new([values.len() as u64], values).unwrap();
            if endian != Endian::NATIVE {
                expected.chunks_mut(width).for_each(<[u8]>::reverse);
            }
            assert_eq!(body(array()), expected, "{} {endian:?}", T::TYPE);
            let none = Mask::from_bools(values.iter().map(|_| false));
            assert_eq!(body(array().with_mask(none).unwrap()), expected);
            let stored = expected.chunks(width).enumerate().filter(|(index, _)| !mask.is_missing(*index));
            let stored: Vec<u8> = stored.flat_map(|(_, bytes)| bytes.iter().copied()).collect();
            let masked = body(array().with_mask(mask.clone()).unwrap());
            let (bits, data) = masked.split_at(values.len().div_ceil(8));
            assert_eq!((bits, data), (mask.as_bits(), &stored[..]));
        }
    }
    // More than one chunk of each type.
    let numbers = || (0..100_003u64).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    check(&numbers().map(|n| n as f32).collect::<Vec<_>>());
    check(&numbers().map(|n| n as f64).collect::<Vec<_>>());
    check(&numbers().map(|n| n as i8).collect::<Vec<_>>());
    check(&numbers().map(|n| n as i16).collect::<Vec<_>>());
    check(&numbers().map(|n| n as i32).collect::<Vec<_>>());
    check(&numbers().map(|n| n as i64).collect::<Vec<_>>());
    check(&numbers().map(|n| n as u8).collect::<Vec<_>>());
    check(&numbers().map(|n| n as u16).collect::<Vec<_>>());
    check(&numbers().map(|n| n as u32).collect::<Vec<_>>());
    check(&numbers().collect::<Vec<_>>());
}

#[test]
fn rejects_invalid_datasets() {
    let ones = |shape: &[u64]| {
        let count = shape.iter().product::<u64>() as usize;
        Field::new(Array::new(shape, vec![1u8; count]).unwrap())
    };
    let error = |fields: Vec<(&str, Field<'static>)>| {
        let mut builder = Builder::new();
        fields.into_iter().for_each(|(name, field)| {
            builder.field(name, field);
        });
        let error = builder.validate().unwrap_err().to_string();
        assert_eq!(builder.write_to(&mut Vec::new()).unwrap_err().to_string(), error);
        error
    };
    assert_eq!(error(vec![("x", ones(&[2])), ("x", ones(&[2]))]), "ds: duplicate variable \"x\"");
    assert_eq!(
        error(vec![("x", ones(&[2]).with_dimensions(["a", "b"]))]),
        "ds: found 2 dimension names and 1 sizes (column \"x\")"
    );
    assert_eq!(
        error(vec![("x", ones(&[2]).with_dimensions(["t"])), ("a", ones(&[5, 3]).with_dimensions(["z", "t"]))]),
        "ds: dimension \"t\" has size 3 in \"a\" and 2 in \"x\""
    );
    assert_eq!(
        error(vec![("x", ones(&[2])), ("y", ones(&[3]).with_dimensions(["x_1"]))]),
        "ds: dimension \"x_1\" has size 2 in \"x\" and 3 in \"y\""
    );
    assert_eq!(
        error(vec![("x", ones(&[2, 3]).with_dimensions(["t", "t"]))]),
        "ds: dimension \"t\" has size 2 in \"x\" and 3 in \"x\""
    );
    assert_eq!(
        error(vec![("x", ones(&[2]).with_attribute(".len", 3))]),
        "ds: attribute name \".len\" is reserved (column \"x\")"
    );
    assert_eq!(
        error(vec![("x", ones(&[2]).with_type(Some(DataType::Bool)))]),
        "ds: only an empty variable can be given a type (column \"x\")"
    );
    assert_eq!(
        error(vec![("x", Field::new(Array::new([u64::MAX, 3, 0], Vec::<u8>::new()).unwrap()))]),
        "ds: the product of the sizes [18446744073709551615, 3, 0] exceeds 2^64 (column \"x\")"
    );
    assert_eq!(
        error(vec![("x", Field::stream(DataType::Int64, [1 << 61]))]),
        "ds: 2305843009213693952 elements of int64 exceed 2^64 bytes (column \"x\")"
    );
    let deep = (0..126).fold(JsonBuf::null(), |inner, _| JsonBuf::list([inner]));
    let mut builder = Builder::new();
    builder.field("x", ones(&[2]).with_attribute("deep", deep.clone())).attribute("deep", deep.clone());
    let reader = Reader::from_source(Source::from(bytes(&builder)), OpenOptions::default()).unwrap();
    assert_eq!(reader.attributes().get("deep"), Some(deep.as_json()));
    builder.attribute("deeper", JsonBuf::list([deep]));
    assert_eq!(builder.validate().unwrap_err().to_string(), "ds: JSON nesting depth 129 exceeds the limit 128");
}

#[test]
fn takes_metadata_of_another_variable() {
    let file = concat!(
        "ds-1.0\n",
        r#"{"x": {".len": 4, "a": 1.50, ".dims": ["t"], ".endian": "b", "a": 2.50, ".size": [2], ".type": "int16", "b": [ 1,2]},"#,
        r#" "e": {".size": null, ".type": "str", "k": 1}, ".": {"t": 1e5, "t\u00fc": "\ud800"}}"#,
        "\n\0\x01\0\x02"
    );
    let reader = Reader::from_source(Source::from(file.as_bytes().to_vec()), OpenOptions::default()).unwrap();
    let (x, e) = (reader.variable("x").unwrap(), reader.variable("e").unwrap());
    let mut builder = Builder::new();
    builder.copy_attributes(&reader).attribute("u", 1);
    builder.field("x", Field::new(Array::new([1], vec![258i32]).unwrap()).with_metadata_of(&x).with_attribute("b", 0));
    builder.field("c", Field::copy(&x).with_dimensions(["u"]));
    builder.field("e", Field::empty().with_metadata_of(&e));
    let expected = concat!(
        "ds-1.0\n{",
        r#""c": {".len": 4, "a": 2.50, ".dims": ["u"], ".endian": "b", ".size": [2], ".type": "int16", "b": [ 1,2], ".offset": 0, ".missing": false}, "#,
        r#""e": {".size": null, ".type": "str", "k": 1, ".offset": 4, ".len": 0, ".missing": false}, "#,
        r#""x": {".len": 4, "a": 2.50, ".dims": ["t"], ".endian": "b", ".size": [1], ".type": "int32", "b": 0, ".offset": 4, ".missing": false}, "#,
        r#"".": {"t": 1e5, "t\u00fc": "\ud800", "u": 1}}"#,
        "\n\0\x01\0\x02\0\0\x01\x02"
    );
    assert_eq!(String::from_utf8_lossy(&bytes(&builder)), expected);
    builder.field("d", Field::copy(&x).with_endian(Endian::Little));
    let error = builder.validate().unwrap_err().to_string();
    assert_eq!(error, "ds: a copied variable keeps its byte order (column \"d\")");
}

#[test]
fn reports_write_failure_at_any_byte() {
    struct Full(usize);
    impl std::io::Write for Full {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            let taken = bytes.len().min(self.0);
            self.0 -= taken;
            if taken == 0 { Err(std::io::ErrorKind::StorageFull.into()) } else { Ok(taken) }
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut builder = Builder::new();
    builder.field("x", Field::new(Array::new([300], vec![1i64; 300]).unwrap()));
    let len = bytes(&builder).len();
    for room in 0..len {
        let error = builder.write_to(&mut Full(room)).unwrap_err();
        assert_eq!(error.to_string(), "ds: cannot write: no storage space", "{room}");
    }
    assert!(builder.write_to(&mut Full(len)).is_ok());
}

/// Fails each write in turn: the old file stays, and no temporary file remains.
#[test]
fn failed_write_keeps_old_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.ds");
    let options = OutputOptions::default().with_sync(SyncPolicy::Never).with_overwrite(Overwrite::Replace);
    let write = |masked: bool| -> Result<Written> {
        let mut builder = Builder::new();
        builder.field("a", Field::stream(DataType::Int64, [400_000]).with_missing(masked));
        builder.field("b", Field::new(Array::new([50_000], vec![7u64; 50_000])?));
        builder.field("c", Field::stream(DataType::Bool, [100_000]));
        let mut writer = builder.begin(&path, options)?;
        let rows = Array::new([200_000], vec![5i64; 200_000])?;
        let mask = Mask::from_bools((0..200_000).map(|index| index % 7 == 0));
        for _ in 0..2 {
            writer.append(&if masked { rows.clone().with_mask(mask.clone())? } else { rows.clone() })?;
        }
        writer.append(&Array::new([100_000], vec![true; 100_000])?)?;
        writer.finish()
    };
    for masked in [false, true] {
        let mut fails = 0;
        loop {
            std::fs::write(&path, "old").unwrap();
            STEPS.set(Some(fails));
            let written = write(masked);
            STEPS.set(None);
            if written.is_ok() {
                break;
            }
            assert!(written.unwrap_err().to_string().contains("a.ds: injected failure"));
            assert_eq!(std::fs::read(&path).unwrap(), b"old", "{masked} {fails}");
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
            fails += 1;
        }
        assert!(fails >= if masked { 8 } else { 4 }, "{fails} writes");
        let reader = Reader::open(&path).unwrap();
        assert_eq!(reader.variable("a").unwrap().read().unwrap().missing(), if masked { 57_144 } else { 0 });
    }
}

#[test]
fn limits_number_of_dimensions() {
    for (count, is_right) in [(128, true), (129, false)] {
        let array = Array::new(vec![1; count], vec![7u8]).unwrap();
        let mut builder = Builder::new();
        builder.field("a", Field::new(array));
        let mut file = Vec::new();
        match builder.write_to(&mut file) {
            Ok(_) => assert!(is_right && Reader::from_source(file.into(), Default::default()).is_ok()),
            Err(error) => {
                let expected = "ds: number of dimensions 129 exceeds the limit 128 (column \"a\")";
                assert_eq!((is_right, error.to_string().as_str()), (false, expected));
            }
        }
    }
}
