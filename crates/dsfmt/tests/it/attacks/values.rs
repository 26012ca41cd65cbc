//! Masks and strings of wrong lengths.

use container_core::OpenOptions;
use dsfmt::{Builder, DataType, Endian, Field, Reader};

use super::open;
use crate::common::File;

/// Python counts the `repr` of byte strings that it has read from a file.
#[test]
fn accepts_python_repr_lengths() {
    let strings: [&[u8]; 6] = [b"ab", b"", b"it's", b"a\"'\\", b"\x00\xff\n", b"\"'\""];
    let printed = [5, 3, 7, 9, 13, 7];
    // The first counts `b'ab'`, the third `b"it's"`, the fourth `b'a"\'\\'`, the fifth `b'\x00\xff\n'`, the last `b'"\'"'`.
    let real: u64 = strings.iter().map(|string| 8 + string.len() as u64).sum();
    let lengths = strings.iter().flat_map(|string| (string.len() as u64).to_le_bytes());
    let bytes: Vec<u8> = lengths.chain(strings.concat()).collect();
    let python = 48 + printed.iter().sum::<u64>();
    for (data_type, declared, more, fits) in [
        (DataType::Str, real, 0, true),
        (DataType::Str, python, 0, true),
        (DataType::Str, python, 100, true),
        (DataType::Str, python - 1, 0, false),
        (DataType::Str, python + 1, 100, false),
        (DataType::Str, real + 1, 100, false),
        (DataType::Unicode, python, 100, false),
    ] {
        let mut file = File::default();
        let all = [&bytes[..], &vec![b'?'; more]].concat();
        file.add_bytes("x", data_type, Endian::Little, &[6], &all, false, declared);
        let reader = file.reader();
        let x = reader.variable("x").unwrap();
        let found = x.read();
        assert_eq!(found.is_ok(), fits, "{declared} {found:?}");
        assert_eq!(x.read_rows(2..3).is_ok(), fits);
        if let Ok(array) = found {
            assert_eq!(array.values().as_strings().unwrap().iter().collect::<Vec<_>>(), strings);
            let mut copy = Builder::new();
            copy.field("x", Field::copy(&x));
            let mut out = Vec::new();
            copy.write_to(&mut out).unwrap();
            assert!(out.ends_with(&bytes), "without what is behind it");
            assert!(String::from_utf8_lossy(&out).contains(&format!("\".len\": {real},")));
        }
    }
}

/// Padding bits are ignored, also in a copy.
#[test]
fn ignores_mask_padding() {
    let mut body = vec![0b0101_1111];
    body.extend([1u64.to_le_bytes(), 2u64.to_le_bytes()].concat());
    body.extend(b"abc");
    for (data_type, body) in [("unicode", &body[..]), ("int8", &[0b0101_1111, 7, 8]), ("bool", &[0b0101_1111, 0xff])] {
        let header = format!(
            r#"{{"x": {{".size": [4], ".len": {}, ".type": "{data_type}", ".missing": true, ".endian": "l"}}}}"#,
            body.len()
        );
        let reader = open(&header, body);
        let x = reader.variable("x").unwrap();
        let array = x.read().unwrap();
        assert_eq!(array.mask().unwrap().iter().collect::<Vec<_>>(), [false, true, false, true]);
        let mut copy = Builder::new();
        copy.field("x", Field::copy(&x));
        let mut out = Vec::new();
        copy.write_to(&mut out).unwrap();
        assert!(out.ends_with(body));
        let again = Reader::from_source(out.into(), OpenOptions::default()).unwrap();
        assert_eq!(again.variable("x").unwrap().read().unwrap(), array);
    }
}
