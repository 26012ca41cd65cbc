//! Damaged NetCDF files cause errors, not panics, and no memory use that the file size does not justify.

use std::path::Path;

use container_core::testkit::cases;
use container_core::{Limits, OpenOptions, Source};
use dsfmt::netcdf::{Kind, ReadOptions, Reader, WriteOptions, from_ds, to_ds};
use dsfmt::{Array, Builder, Field, OutputOptions, Values};

fn golden(name: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/netcdf").join(name)).unwrap()
}

/// Opens the bytes and reads everything; returns the error message, if any.
fn read_all(bytes: Vec<u8>) -> Result<u64, String> {
    let limits = Limits::default().with_block_bytes(4 << 20);
    let mut read = 0u64;
    let reader = Reader::from_source(Source::from(bytes), OpenOptions::default().with_limits(limits));
    let reader = reader.map_err(|error| error.to_string())?;
    let mut failed = None;
    for variable in reader.variables() {
        for scaled in [false, true] {
            let options = ReadOptions::default().with_scaled(scaled);
            // A size declared by a damaged header costs nothing without data.
            match reader.read(variable, 0..variable.rows(), &options) {
                Ok(array) => read += array.len() as u64,
                Err(error) => failed = Some(error.to_string()),
            }
        }
    }
    failed.map_or(Ok(read), Err)
}

const FILES: [&str; 8] = [
    "odd-records-cdf1.nc",
    "odd-records-cdf5.nc",
    "no-records-cdf2.nc",
    "basic-cdf1.nc",
    "basic-cdf2.nc",
    "basic-cdf5.nc",
    "odd-records-nc4.nc",
    "no-records-nc4.nc",
];

#[test]
fn prefixes_fail_or_read_less() {
    for name in FILES {
        let whole = golden(name);
        let all = read_all(whole.clone()).unwrap();
        let (mut errors, lengths) = (0, (0..whole.len()).step_by(cases(5, 1)));
        for len in lengths.clone() {
            match read_all(whole[..len].to_vec()) {
                Ok(read) => assert!(read <= all, "{name} {len}"),
                Err(error) => {
                    assert!(error.starts_with("netcdf: "), "{name} {len}: {error}");
                    errors += 1;
                }
            }
        }
        // Only padding may be missing without an error.
        let slack = if name.contains("nc4") { lengths.len() } else { 4 };
        assert!(errors + slack >= lengths.len(), "{name}: {errors} of {}", lengths.len());
        assert!(errors > 0);
    }
}

#[test]
fn flipped_bits_do_not_panic() {
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        usize::try_from(seed >> 33).unwrap()
    };
    for name in FILES {
        let whole = golden(name);
        let mut errors = 0;
        for round in 0..3000 {
            let mut bytes = whole.clone();
            for _ in 0..1 + round % 3 {
                let place = next() % bytes.len();
                bytes[place] ^= if round % 2 == 0 { 1 << (next() % 8) } else { u8::try_from(next() % 256).unwrap() };
            }
            if let Err(error) = read_all(bytes) {
                assert!(error.starts_with("netcdf: "), "{name}: {error}");
                errors += 1;
            }
        }
        assert!(errors > 20, "{name}: {errors}");
    }
}

#[test]
fn reports_contradictions() {
    let classic = |bytes: &[u8]| read_all(bytes.to_vec()).unwrap_err();
    assert_eq!(classic(b""), "netcdf: expected \"CDF\" or an HDF5 signature at the start (byte 0)");
    assert_eq!(
        classic(b"CDF\x03\0\0\0\0"),
        "netcdf: unsupported version CDF-3 (known: CDF-1, CDF-2, CDF-5, NetCDF-4) (byte 3)"
    );
    // Four billion dimensions declared in twelve bytes.
    assert_eq!(
        classic(b"CDF\x01\0\0\0\0\0\0\0\x0a\xff\xff\xff\xff"),
        "netcdf: dimension name: needs 4 bytes, 0 available (byte 16)"
    );
    assert_eq!(
        classic(b"CDF\x01\0\0\0\0\0\0\0\x0b\0\0\0\x01"),
        "netcdf: dimensions: expected tag 10 or 0, found 11 (byte 8)"
    );
    let mut file = golden("odd-records-cdf1.nc");
    let records = 4..8;
    file[records.clone()].copy_from_slice(&[0x7f, 0, 0, 0]);
    let error = read_all(file.clone()).unwrap_err();
    assert!(error.starts_with("netcdf: its 6392119296 bytes at offset "), "{error}");
    assert!(error.ends_with("(column \"only\")"), "{error}");
    // Uncounted records: as many as the file holds.
    file[records].copy_from_slice(&[0xff; 4]);
    assert_eq!(read_all(file).unwrap(), 2 * 15);
}

/// Empty strings take no bytes in the file, but an offset each in memory.
#[test]
fn limits_empty_strings() {
    let folder = tempfile::tempdir().unwrap();
    let (ds, nc) = (folder.path().join("a.ds"), folder.path().join("a.nc"));
    let none: Values<'static> = std::iter::empty::<&[u8]>().collect();
    let field = Field::new(Array::new([1_000_000, 0], none).unwrap()).with_dimensions(["n", "m"]);
    let mut builder = Builder::new();
    builder.field("x", field.with_attribute("_Encoding", "utf-8"));
    builder.write(&ds, OutputOptions::default()).unwrap();
    let options = WriteOptions::default().with_kind(Some(Kind::Hdf5));
    from_ds(&dsfmt::Reader::open(&ds).unwrap(), &nc, &options).unwrap();
    let bytes = std::fs::read(&nc).unwrap();
    assert_eq!(
        read_all(bytes.clone()).unwrap_err(),
        "netcdf: bytes of the rows 8000000 exceeds the limit 4194304 (column \"x\")"
    );
    let reader = Reader::from_source(Source::from(bytes), OpenOptions::default()).unwrap();
    let read = |rows| reader.read(&reader.variables()[0], rows, &ReadOptions::default()).unwrap();
    assert_eq!(read(999_999..1_000_000).values().as_strings().unwrap().iter().collect::<Vec<_>>(), [b""]);
    assert_eq!(read(0..1_000_000).len(), 1_000_000);
}

#[test]
fn errors_have_variable_and_offset() {
    // The type of the only variable in a classic header.
    let mut classic = golden("odd-records-cdf1.nc");
    let name = classic.windows(4).position(|found| found == b"only").unwrap();
    let at = name + 4 + 4 + 8 + 8; // after the number of its dimensions, these, and its attributes, of which there are none
    classic[at + 3] = 9;
    let error = read_all(classic).unwrap_err();
    let expected = format!("netcdf: variable type: expected 1 to 6, found 9 (byte {at}, column \"only\")");
    assert_eq!(error, expected);
    // In HDF5: a variable whose name follows the header signature.
    let mut hdf5 = golden("basic-nc4.nc");
    let header = u64_at(&hdf5, b"fixed_i1");
    let begin = usize::try_from(header).unwrap();
    assert_eq!(&hdf5[begin..begin + 4], b"OHDR");
    hdf5[begin + 40] ^= 1;
    let error = read_all(hdf5).unwrap_err();
    assert!(error.contains("checksum mismatch"), "{error}");
    assert!(error.ends_with(&format!(" (byte {header}, column \"fixed_i1\")")), "{error}");
}

/// The address after a link's name.
fn u64_at(file: &[u8], name: &[u8]) -> u64 {
    let at = file.windows(name.len()).position(|found| found == name).unwrap() + name.len();
    u64::from_le_bytes(file[at..at + 8].try_into().unwrap())
}

/// Ten thousand variables declared over the same bytes of a classic file.
#[test]
fn limits_variables_that_share_bytes() {
    const MANY: u32 = 10_000;
    const EACH: u32 = 2_000_000;
    let mut file = b"CDF\x01\0\0\0\0".to_vec();
    let words = |file: &mut Vec<u8>, words: &[u32]| words.iter().for_each(|word| file.extend(word.to_be_bytes()));
    // A dimension, no attributes, and the variables, each of a name of four characters.
    words(&mut file, &[10, 1, 1]);
    file.extend(b"x\0\0\0");
    words(&mut file, &[EACH, 0, 0, 11, MANY]);
    let begin = u32::try_from(file.len()).unwrap() + MANY * 36;
    for number in 0..MANY {
        words(&mut file, &[4]);
        file.extend(format!("{number:04}").bytes());
        words(&mut file, &[1, 0, 0, 0, 1, EACH, begin]);
    }
    file.resize(begin as usize + EACH as usize, 7);
    let reader = Reader::from_source(Source::from(file), OpenOptions::default()).unwrap();
    assert_eq!(reader.variables().len(), MANY as usize);
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("out.ds");
    let error = to_ds(&reader, &to, &ReadOptions::default(), OutputOptions::default()).unwrap_err().to_string();
    assert!(error.starts_with("netcdf: bytes of all variables ") && error.contains(" exceeds the limit "), "{error}");
    assert!(!to.exists());
}
