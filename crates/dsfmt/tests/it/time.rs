//! Compares times with a table from cftime (`tests/golden/ds-time`).

use std::path::Path;

use dsfmt::time::{Calendar, Date, Units};

/// Equal or adjacent.
fn near(one: f64, other: f64) -> bool {
    one == other || (one - other).abs() <= one.abs() * f64::EPSILON
}

#[test]
fn dates_match_cftime() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/ds-time");
    let mut compared = 0;
    for calendar in Calendar::ALL {
        let table = std::fs::read_to_string(folder.join(format!("{calendar}.csv"))).unwrap();
        for line in table.lines().skip(1) {
            let cells: Vec<&str> = line.split(',').collect();
            let [text, value, date, julian] = cells[..] else { panic!("{line}") };
            let units = Units::parse(text, calendar);
            if value.is_empty() {
                assert!(units.is_err(), "{calendar} {line}");
                continue;
            }
            let units = units.unwrap_or_else(|error| panic!("{calendar} {line}: {error}"));
            let value: f64 = value.parse().unwrap();
            let found = units.date(value).unwrap();
            assert_eq!(found.to_string(), date, "{calendar} {line}");
            // And back: from text, value and Julian date.
            assert_eq!(Date::from_iso(date, calendar).unwrap(), found);
            let back = units.value(found).unwrap();
            assert_eq!(units.date(back), Some(found), "{calendar} {line} {back}");
            match found.julian_date() {
                None => assert_eq!(julian, "", "{calendar} {line}"),
                Some(date) => {
                    assert!(near(date, julian.parse().unwrap()), "{calendar} {line} {date}");
                    let again = Date::from_julian_date(date).unwrap().rounded(1000);
                    let expected = found.to(Calendar::ProlepticGregorian).unwrap().rounded(1000);
                    let apart = Units::JULIAN.value(again).unwrap() - Units::JULIAN.value(expected).unwrap();
                    assert!(apart.abs() < 1.1e-3 / 86400.0, "{calendar} {line} {again} {expected}");
                }
            }
            compared += 1;
        }
    }
    assert!(compared > 1500, "{compared}");
}
