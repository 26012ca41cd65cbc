//! Reads values of every type, byte order, shape and mask from files made by hand.

use container_core::ErrorKind;
use container_core::testkit::every_source_agrees;
use dsfmt::{Array, DataType, Element, Endian, Reader, Values};

use crate::common::{Data, File, missing};

const SHAPES: [&[u64]; 8] = [&[], &[1], &[7], &[8], &[1000], &[3, 5], &[2, 3, 37], &[70_000]];

fn count(shape: &[u64]) -> usize {
    shape.iter().product::<u64>() as usize
}

/// Checks all ways to read a numeric variable.
fn check_numbers<T: Element>(make: impl Fn(u64) -> T)
where
    Values<'static>: From<Vec<T>>,
{
    for (seed, shape) in (0u64..).zip(SHAPES.into_iter().chain(SHAPES)) {
        let all: Vec<T> = (0..count(shape) as u64).map(|n| make(n.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect();
        for endian in [Endian::Big, Endian::Little] {
            for mask in [None, Some(missing(all.len(), seed))] {
                let mut file = File::default();
                file.add("before", DataType::Int8, endian, &[3], &Data::of(&[1i8, 2, 3]), None);
                file.add("x", T::TYPE, endian, shape, &Data::of(&all), mask.as_deref());
                file.add("y", DataType::Bool, endian, &[1], &Data::Bools(vec![true]), None);
                let is_missing = |n: usize| mask.as_ref().is_some_and(|mask| mask[n]);
                let with =
                    |fill: T| (0..all.len()).map(|n| if is_missing(n) { fill } else { all[n] }).collect::<Vec<T>>();
                let expected = with(T::default());
                let stored: Vec<T> = (0..all.len()).filter(|n| !is_missing(*n)).map(|n| all[n]).collect();
                for aligned in [true, false] {
                    let check = |source| {
                        let reader = Reader::from_source(source, Default::default())?;
                        let x = reader.variable("x")?;
                        let array = x.read()?;
                        assert_eq!((array.shape(), array.values()), (shape, &Values::from(expected.clone())));
                        let found: Option<Vec<bool>> = array.mask().map(|mask| mask.iter().collect());
                        assert_eq!(found, mask);
                        assert_eq!(x.read_mask()?.as_ref(), array.mask());
                        assert_eq!(x.values::<T>()?[..], stored);
                        assert_eq!(x.filled(make(99))?, with(make(99)));
                        if let Some(view) = x.view::<T>()? {
                            assert_eq!((view.iter().collect(), mask.is_none()), (expected.clone(), true));
                        }
                        rows_agree(&array, |rows| x.read_rows(rows));
                        let rows = shape.first().copied().unwrap_or(1);
                        let (half, wide) = (rows / 2, all.len() / rows as usize);
                        let mut some = vec![make(7); all.len() - half as usize * wide];
                        x.read_into(half..rows, make(99), &mut some)?;
                        assert_eq!(some, with(make(99))[half as usize * wide..]);
                        assert!(reader.variable("y")?.bools()?[0]);
                        Ok(array.into_owned())
                    };
                    // Unaligned: the variable starts 3 bytes into the body.
                    let bytes = file.bytes(if aligned { 5 } else { 4 });
                    check(bytes.clone().into()).unwrap();
                    if shape == [3, 5] {
                        every_source_agrees(&bytes, check);
                    }
                }
            }
        }
    }
}

/// Checks that row ranges equal slices of the whole.
fn rows_agree<'r>(array: &Array<'r>, read: impl Fn(std::ops::Range<u64>) -> dsfmt::Result<Array<'r>>) {
    let rows = array.shape().first().copied().unwrap_or(1);
    let wide = array.len() as u64 / rows.max(1);
    for range in [0..rows, 0..rows / 2, rows / 3..rows, rows / 2..rows / 2 + (rows > 0) as u64, rows..rows, 0..0] {
        if array.shape().is_empty() && range.is_empty() {
            assert_eq!(read(range).unwrap_err().kind(), ErrorKind::Usage);
            continue;
        }
        let part = read(range.clone()).unwrap();
        let elements = (range.start * wide) as usize..(range.end * wide) as usize;
        assert_eq!(part.len(), elements.len());
        assert_eq!(part.shape().iter().product::<u64>() as usize, elements.len());
        for (n, m) in elements.enumerate().step_by(1 + part.len() / 50) {
            assert_eq!(shown(part.values(), n), shown(array.values(), m));
            assert_eq!(part.mask().map(|mask| mask.is_missing(n)), array.mask().map(|mask| mask.is_missing(m)));
        }
    }
    assert_eq!(read(0..rows + 1).unwrap_err().kind(), ErrorKind::Usage);
    #[allow(clippy::reversed_empty_ranges, reason = "a range that cannot be is what is tested")]
    let reversed = 1..0;
    assert_eq!(read(reversed).unwrap_err().kind(), ErrorKind::Usage);
}

/// One element.
fn shown(values: &Values<'_>, n: usize) -> String {
    match values {
        Values::Float32(all) => format!("{:?}", all[n]),
        Values::Float64(all) => format!("{:?}", all[n]),
        Values::Int8(all) => format!("{:?}", all[n]),
        Values::Int16(all) => format!("{:?}", all[n]),
        Values::Int32(all) => format!("{:?}", all[n]),
        Values::Int64(all) => format!("{:?}", all[n]),
        Values::Uint8(all) => format!("{:?}", all[n]),
        Values::Uint16(all) => format!("{:?}", all[n]),
        Values::Uint32(all) => format!("{:?}", all[n]),
        Values::Uint64(all) => format!("{:?}", all[n]),
        Values::Bool(all) => format!("{:?}", all[n]),
        Values::Str(all) | Values::Unicode(all) => format!("{:?}", all.get(n).unwrap()),
    }
}

#[test]
fn floats() {
    check_numbers(|n| (n >> 40) as f32 / 3.0);
    check_numbers(|n| (n >> 11) as f64 / 7.0);
}

#[test]
fn integers() {
    check_numbers(|n| n as i8);
    check_numbers(|n| n as u8);
    check_numbers(|n| n as i16);
    check_numbers(|n| n as u16);
    check_numbers(|n| n as i32);
    check_numbers(|n| n as u32);
    check_numbers(|n| n as i64);
    check_numbers(|n| n);
}

#[test]
fn reads_bools_of_any_count() {
    for count in (0..70).chain([1000, 70_001]) {
        let all: Vec<bool> = (0..count as u64).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 63 == 1).collect();
        for mask in [None, Some(missing(count, count as u64))] {
            let mut file = File::default();
            file.add("x", DataType::Bool, Endian::Big, &[count as u64], &Data::Bools(all.clone()), mask.as_deref());
            let check = |source| {
                let reader = Reader::from_source(source, Default::default())?;
                let x = reader.variable("x")?;
                let array = x.read()?;
                let is_missing = |n: usize| mask.as_ref().is_some_and(|mask| mask[n]);
                let expected: Vec<bool> = (0..count).map(|n| all[n] && !is_missing(n)).collect();
                assert_eq!(array.values().as_bools().unwrap(), expected);
                assert_eq!(x.bools()?, expected);
                for rows in [0..count, count / 3..count, count / 2..count - count / 4] {
                    let mut some = vec![true; rows.len()];
                    x.bools_into(rows.start as u64..rows.end as u64, &mut some)?;
                    assert_eq!(some, expected[rows]);
                }
                assert_eq!(array.mask().map(|mask| mask.iter().collect::<Vec<_>>()), mask);
                rows_agree(&array, |rows| x.read_rows(rows));
                Ok(array.into_owned())
            };
            check(file.bytes(0).into()).unwrap();
            if count % 13 == 0 {
                every_source_agrees(&file.bytes(1), check);
            }
        }
    }
}

#[test]
fn reads_str_and_unicode() {
    let words = ["", "a", "\u{e9}t\u{e9}", "\u{1f600}", "plain", "zz"];
    for (seed, count) in [0usize, 1, 5, 64, 511, 512, 513, 3000, 70_000].into_iter().enumerate() {
        for (ascii, data_type) in [(true, DataType::Str), (true, DataType::Unicode), (false, DataType::Unicode)] {
            let of = |n: usize| if ascii { ["", "x", "longer than others"][n % 3] } else { words[n * 7 % 6] };
            let texts: Vec<&str> = (0..count).map(of).collect();
            for endian in [Endian::Big, Endian::Little] {
                for mask in [None, Some(missing(count, seed as u64 + 1))] {
                    let mut file = File::default();
                    file.add("x", data_type, endian, &[count as u64], &Data::texts(&texts), mask.as_deref());
                    let check = |source| {
                        let reader = Reader::from_source(source, Default::default())?;
                        let x = reader.variable("x")?;
                        let array = x.read()?;
                        let is_missing = |n: usize| mask.as_ref().is_some_and(|mask| mask[n]);
                        let found = x.strings()?;
                        assert_eq!(found.len(), count);
                        for (n, text) in found.iter().enumerate() {
                            assert_eq!(text, if is_missing(n) { &[] } else { texts[n].as_bytes() });
                        }
                        assert_eq!((array.values().as_strings(), array.data_type()), (Some(&found), data_type));
                        rows_agree(&array, |rows| x.read_rows(rows));
                        Ok(array.into_owned())
                    };
                    check(file.bytes(0).into()).unwrap();
                    if count == 513 {
                        every_source_agrees(&file.bytes(1), check);
                    }
                }
            }
        }
    }
}

#[test]
fn zero_elements_keep_their_shape() {
    for data_type in DataType::ALL {
        for masked in [false, true] {
            let mut file = File::default();
            file.add_bytes("x", data_type, Endian::Little, &[4, 0, 2], &[], masked, 0);
            let reader = file.reader();
            let array = reader.variable("x").unwrap().read().unwrap();
            assert_eq!((array.shape(), array.len(), array.data_type()), (&[4, 0, 2][..], 0, data_type));
            assert_eq!(array.mask().map(|mask| mask.len()), masked.then_some(0));
            let rows = reader.variable("x").unwrap().read_rows(1..3).unwrap();
            assert_eq!((rows.shape(), rows.len()), (&[2, 0, 2][..], 0));
        }
    }
}

/// The error of reading a variable, whole or by row.
fn error_of(data_type: DataType, sizes: &[u64], bytes: &[u8], masked: bool, declared: u64) -> String {
    let mut file = File::default();
    file.add_bytes("x", data_type, Endian::Little, sizes, bytes, masked, declared);
    let reader = file.reader();
    let x = reader.variable("x").unwrap();
    let error = x.read().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    // A row needs the prefix sums, but not the other rows' strings.
    if (data_type.is_text() || masked) && !error.detail().contains("UTF-8") {
        assert_eq!(x.read_rows(0..1).unwrap_err().kind(), ErrorKind::Invalid);
    }
    let text = error.to_string();
    let (text, place) = text.split_once(" (byte ").unwrap_or((&text, "0, "));
    let byte: u64 = place.split(',').next().unwrap().parse().unwrap();
    assert!(place.ends_with("column \"x\")"), "{place}");
    format!("{text} @{}", byte - reader.body_offset())
}

#[test]
fn rejects_mask_that_contradicts_length() {
    let few = "ds: expected 16 bytes for the 2 of 3 elements that its mask leaves, found 8 @1";
    assert_eq!(error_of(DataType::Float64, &[3], &[0x40, 0, 0, 0, 0, 0, 0, 0, 0], true, 9), few);
    let many = "ds: expected 2 bytes for the 1 of 3 elements that its mask leaves, found 4 @1";
    assert_eq!(error_of(DataType::Int16, &[3], &[0xc0, 1, 0, 1, 0], true, 5), many);
    let bools = "ds: expected 2 bytes for the 9 of 10 elements that its mask leaves, found 1 @2";
    assert_eq!(error_of(DataType::Bool, &[10], &[0x40, 0, 7], true, 3), bools);
    let texts = "ds: expected 16 bytes or more for the 2 of 2 elements that its mask leaves, found 8 @1";
    assert_eq!(error_of(DataType::Str, &[2], &[0, 0, 0, 0, 0, 0, 0, 0, 0], true, 9), texts);
}

/// Lengths followed by bytes.
fn strings(lengths: &[u64], bytes: &[u8]) -> Vec<u8> {
    lengths.iter().flat_map(|len| len.to_le_bytes()).chain(bytes.iter().copied()).collect()
}

#[test]
fn rejects_strings_beyond_the_variable() {
    let bytes = strings(&[1, 3], b"abc");
    let beyond = "ds: a string of 3 bytes at offset 1 exceeds the 3 bytes of all strings @8";
    assert_eq!(error_of(DataType::Unicode, &[2], &bytes, false, 19), beyond);
    let bytes = strings(&[1, u64::MAX], b"abc");
    let wraps = "ds: a string of 18446744073709551615 bytes at offset 1 exceeds the 3 bytes of all strings @8";
    assert_eq!(error_of(DataType::Str, &[2], &bytes, false, 19), wraps);
    let bytes = strings(&[1, 1], b"abc");
    let short = "ds: .len: expected 18 bytes for its 2 strings and their lengths, found 19 @0";
    assert_eq!(error_of(DataType::Str, &[2], &bytes, false, 19), short);
    let bytes = strings(&[1, 1, 2], b"a\xc3\xa9z");
    let half = "ds: element 1 is not valid UTF-8 at byte 0 @25";
    assert_eq!(error_of(DataType::Unicode, &[3], &bytes, false, 28), half);
    let bytes = strings(&[1, 3], b"ab\xffz");
    let wrong = "ds: element 1 is not valid UTF-8 at byte 1 @18";
    let mut file = File::default();
    file.add_bytes("x", DataType::Unicode, Endian::Little, &[2], &bytes, false, 20);
    let reader = file.reader();
    let x = reader.variable("x").unwrap();
    assert_eq!(x.read_rows(0..1).unwrap().len(), 1);
    let found = x.read_rows(1..2).unwrap_err();
    assert_eq!(found.position().byte, Some(reader.body_offset() + 18));
    assert_eq!(format!("ds: {} @18", found.detail()), wrong);
}

#[test]
fn tolerates_hyphens_counted_by_python() {
    let mut bytes = vec![0b0101_0000];
    bytes.extend(strings(&[1, 2], b"abc"));
    let real = bytes.len() as u64;
    for (declared, more, fits) in
        [(real, 0, true), (real + 4, 0, true), (real + 4, 4, true), (real + 2, 2, false), (real + 5, 5, false)]
    {
        let mut file = File::default();
        let mut all = bytes.clone();
        all.extend(vec![b'?'; more]);
        file.add_bytes("x", DataType::Unicode, Endian::Little, &[4], &all, true, declared);
        let reader = file.reader();
        let found = reader.variable("x").unwrap().read();
        assert_eq!(found.is_ok(), fits, "{declared} {more} {found:?}");
        assert_eq!(reader.variable("x").unwrap().read_rows(2..3).is_ok(), fits);
        if let Ok(array) = found {
            let strings = array.values().as_strings().unwrap();
            assert_eq!(strings.iter().collect::<Vec<_>>(), [&b"a"[..], b"", b"bc", b""]);
        }
    }
    // Of others no byte may be behind the file's end.
    let mut file = File::default();
    file.add_bytes("x", DataType::Unicode, Endian::Little, &[2], &strings(&[1, 2], b"abc"), false, 21);
    let reader = file.reader();
    assert!(reader.variable("x").unwrap().problem().is_some());
}

#[test]
fn rejects_invalid_requests() {
    let text = "ds-1.0\n{\"e\": {\".size\": null, \".type\": null}, \"x\": {\".size\": [1], \".dims\": [\"n\"], \".len\": 8}}\n\0\0\0\0\0\0\0\0";
    let reader = Reader::from_source(text.as_bytes().to_vec().into(), Default::default()).unwrap();
    let empty = reader.variable("e").unwrap().read().unwrap_err();
    assert_eq!(empty.to_string(), "ds: the variable is empty (column \"e\")");
    assert_eq!(empty.kind(), ErrorKind::Usage);
    let x = reader.variable("x").unwrap();
    let text = |error: dsfmt::Error| error.to_string();
    assert_eq!(text(x.view::<f32>().unwrap_err()), "ds: expected values of type float32, found float64 (column \"x\")");
    assert_eq!(text(x.values::<i8>().unwrap_err()), "ds: expected values of type int8, found float64 (column \"x\")");
    assert_eq!(text(x.filled(7u64).unwrap_err()), "ds: expected values of type uint64, found float64 (column \"x\")");
    assert_eq!(text(x.bools().unwrap_err()), "ds: expected values of type bool, found float64 (column \"x\")");
    let bools = x.bools_into(0..1, &mut [true]).unwrap_err();
    assert_eq!(text(bools), "ds: expected values of type bool, found float64 (column \"x\")");
    assert_eq!(
        text(x.strings().unwrap_err()),
        "ds: expected values of type str or unicode, found float64 (column \"x\")"
    );
    assert_eq!(text(x.read_rows(0..2).unwrap_err()), "ds: rows 0..2 are out of range for 1 (column \"x\")");
    assert_eq!(x.values::<f64>().unwrap()[..], [0.0]);
    let room = x.read_into(0..1, 0.0f64, &mut [0.0; 2]).unwrap_err();
    assert_eq!(text(room), "ds: expected a buffer of 1 elements, found 2 (column \"x\")");
    assert_eq!(
        text(x.read_into(0..1, 0i8, &mut [0]).unwrap_err()),
        "ds: expected values of type int8, found float64 (column \"x\")"
    );
}

#[test]
fn bounds_memory_by_file_size() {
    let mut file = File::default();
    let mask = vec![0xff; 1 << 14];
    file.add_bytes("x", DataType::Float64, Endian::Little, &[1 << 17], &mask, true, mask.len() as u64);
    let options = container_core::OpenOptions::default();
    let small = options.with_limits(options.limits.with_block_bytes((1 << 20) - 1));
    let reader = Reader::from_source(file.bytes(0).into(), small).unwrap();
    let x = reader.variable("x").unwrap();
    let error = x.read().unwrap_err().to_string();
    assert_eq!(error, "ds: size of its values in memory 1048576 exceeds the limit 1048575 (column \"x\")");
    assert_eq!(x.read_rows(5..1000).unwrap().missing(), 995);
    assert_eq!(
        Reader::from_source(file.bytes(0).into(), options).unwrap().variable("x").unwrap().read().unwrap().missing(),
        1 << 17
    );
}
