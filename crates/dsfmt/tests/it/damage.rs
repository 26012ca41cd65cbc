//! A small file truncated at every byte and with every bit flipped: no panics, errors with positions, and reproducible reads.

use container_core::testkit::every_source_agrees;
use container_core::{Container, OpenOptions, Scan, Source, VerifyOptions};
use dsfmt::container::DsContainer;
use dsfmt::{Builder, DataType, Endian, Field, Reader};

use crate::common::{Data, File};

/// A small file with every kind of variable.
fn small() -> Vec<u8> {
    let mut file = File::default();
    let missing = [false, true, false, false, true, false, false, false, true];
    let numbers: Vec<i32> = (-4..5).collect();
    let bools: Vec<bool> = (0..9).map(|n| n % 3 == 1).collect();
    file.add("f", DataType::Float64, Endian::Big, &[2], &Data::of(&[0.5, f64::NAN]), None);
    file.add("m", DataType::Int32, Endian::Little, &[3, 3], &Data::of(&numbers), Some(&missing));
    file.add("o", DataType::Bool, Endian::Big, &[9], &Data::Bools(bools.clone()), None);
    file.add("p", DataType::Bool, Endian::Big, &[9], &Data::Bools(bools), Some(&missing));
    file.add("s", DataType::Unicode, Endian::Little, &[2], &Data::texts(&["\u{e4}b", "c"]), None);
    file.add("t", DataType::Str, Endian::Big, &[3], &Data::texts(&["ab", "", "c"]), Some(&[false, true, false]));
    let mut bytes = file.bytes(0);
    let attribute = br#""u": {".size": null, "k": [1, "\u00e4"]}, ".": {"title": "a", "n": NaN}, "#;
    bytes.splice(8..8, attribute.iter().copied());
    bytes
}

/// Everything readable, as text, including errors.
fn describe(source: Source) -> dsfmt::Result<Vec<String>> {
    let reader = Reader::from_source(source, OpenOptions::default())?;
    let mut all = vec![format!("{:?}", reader.attributes().collect::<Vec<_>>()), format!("{:?}", reader.dimensions())];
    let say = |error: &dsfmt::Error| {
        assert_eq!(error.format(), Some("ds"), "{error}");
        assert!(error.position().column.is_some(), "{error}");
        assert!(error.position().byte.is_none_or(|byte| byte <= reader.source().len()), "{error}");
        error.to_string()
    };
    let mut copy = Builder::new();
    for x in reader.variables() {
        all.push(format!("{x:?} {:?}", x.attributes().collect::<Vec<_>>()));
        let whole = x.read();
        match &whole {
            Ok(array) => {
                assert_eq!(array.len() as u64, x.len());
                assert_eq!(x.problem().map(|problem| problem.to_string()), None);
                all.push(format!("{array:?}"));
                copy.field(x.name(), Field::copy(&x));
            }
            // Empty, or damaged.
            Err(error) => all.push(say(error)),
        }
        all.push(format!("{:?}", x.stats().map_err(|error| error.to_string())));
        let rows = x.shape().and_then(<[u64]>::first).copied().unwrap_or(1).min(10);
        for row in 0..rows {
            match x.read_rows(row..row + 1) {
                Ok(array) => {
                    let wide = array.len();
                    if let Ok(all) = &whole {
                        let start = usize::try_from(row).unwrap() * wide;
                        for n in 0..wide {
                            let missing =
                                |array: &dsfmt::Array<'_>, n| array.mask().is_some_and(|mask| mask.is_missing(n));
                            assert_eq!(missing(&array, n), missing(all, start + n));
                        }
                    }
                    all.push(format!("{array:?}"));
                }
                Err(error) => all.push(say(&error)),
            }
        }
    }
    // What was read can be written again unchanged, unless variables disagree on dimensions.
    let mut out = Vec::new();
    if copy.write_to(&mut out).is_ok() {
        let again = Reader::from_source(out.into(), OpenOptions::default()).unwrap();
        for x in again.variables() {
            let debug = |array: dsfmt::Array<'_>| format!("{array:?}");
            assert_eq!(debug(x.read().unwrap()), debug(reader.variable(x.name()).unwrap().read().unwrap()));
        }
    }
    // Damage is found, and earlier rows are shown.
    let whole = reader.variables().all(|x| x.shape().is_none() || x.read().is_ok());
    let container = DsContainer::new(reader);
    let mut errors = 0;
    let mut report = |finding: container_core::Finding| {
        assert_eq!(finding.error.format(), Some("ds"), "{}", finding.error);
        errors += usize::from(finding.severity == container_core::Severity::Error);
        all.push(finding.error.to_string());
    };
    container.verify(&VerifyOptions::default(), &mut report)?;
    assert!(whole || errors > 0, "what cannot be read is sound");
    for table in container.tables() {
        let mut rows = table.rows(&Scan::default())?;
        for _ in 0..20 {
            let mut row = Vec::new();
            match rows.advance().and_then(|more| if more { rows.json(&mut row).map(|()| true) } else { Ok(false) }) {
                Ok(true) => all.push(String::from_utf8(row).unwrap()),
                Ok(false) => break,
                Err(error) => {
                    all.push(error.to_string());
                    break;
                }
            }
        }
    }
    Ok(all)
}

#[test]
fn tolerates_every_prefix() {
    let whole = small();
    every_source_agrees(&whole, describe);
    let sound = describe(whole.clone().into()).unwrap();
    let body = Reader::from_source(whole.clone().into(), OpenOptions::default()).unwrap().body_offset() as usize;
    for cut in 0..whole.len() {
        let part = &whole[..cut];
        match describe(part.to_vec().into()) {
            Ok(all) => {
                assert!(cut + 1 >= body, "{cut}");
                assert_ne!(all, sound, "{cut}: something is missing");
            }
            Err(error) => {
                assert!(cut + 1 < body, "{cut}: {error}");
                assert!(error.format() == Some("ds") && error.position().byte.unwrap() <= cut as u64, "{cut}: {error}");
            }
        }
        if cut % 7 == 0 {
            every_source_agrees(part, describe);
        }
    }
}

#[test]
fn tolerates_every_flipped_bit() {
    let whole = small();
    let sound = describe(whole.clone().into()).unwrap();
    let mut same = Vec::new();
    let mut readable = 0;
    let mut copy = whole.clone();
    for bit in 0..whole.len() * 8 {
        copy[bit / 8] ^= 1 << (bit % 8);
        let found = describe(copy.clone().into());
        // The same when mapped and by position, and when repeated.
        if bit % 11 == 0 {
            every_source_agrees(&copy, describe);
        }
        match found {
            Ok(all) => {
                readable += 1;
                if all == sound {
                    same.push(bit / 8);
                }
            }
            Err(error) => {
                assert!(error.format() == Some("ds") && error.position().byte.is_some(), "{error}");
            }
        }
        copy[bit / 8] ^= 1 << (bit % 8);
    }
    // Only digits of invalid numbers: padding bits and Python's lengths are reported.
    same.dedup();
    let body = Reader::from_source(whole.clone().into(), OpenOptions::default()).unwrap().body_offset() as usize;
    assert_eq!(same, (body + 8..body + 16).collect::<Vec<_>>());
    assert!((2500..3500).contains(&readable), "{readable} of {} leave a header", whole.len() * 8);
}
