use super::*;

fn units(text: &str, calendar: Calendar) -> Units {
    Units::parse(text, calendar).unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn parses_all_forms_of_units() {
    let standard = Calendar::Standard;
    for (text, value, expected) in [
        ("days since 1970-01-01", 1.5, "1970-01-02T12:00:00"),
        ("milliseconds since 2000-01-01T00:00:00Z", 1.5, "2000-01-01T00:00:00.0015"),
        ("microsec since 2000-1-1 6:0", 1.5, "2000-01-01T06:00:00.000002"),
        ("hours since 2000-01-01 00:00:00 +01:30", 1.5, "2000-01-01T00:00:00"),
        ("hours since 2000-01-01 00:00 -0330", 1.5, "2000-01-01T05:00:00"),
        ("hours since 2000-01-01 00:00-3", 1.5, "2000-01-01T04:30:00"),
        ("hours since 2000-01-01 00:00 UTC", 1.5, "2000-01-01T01:30:00"),
        ("days since 1-1-1 00:00:0.5", 1.5, "0001-01-02T12:00:00.5"),
        ("days since 2000-01-01 12", 1.5, "2000-01-03T00:00:00"),
        ("  Days  Since 2000-01-01 ", 0.0, "2000-01-01T00:00:00"),
        ("s since 2000", -0.25, "1999-12-31T23:59:59.75"),
        ("weeks since 2000-02", 1.0, "2000-02-08T00:00:00"),
        ("h since -4713-01-01", 1.5, "-4713-01-01T01:30:00"),
        ("days since 1582-10-04", 1.0, "1582-10-15T00:00:00"),
        ("days since 0001-01-01", -1.0, "-0001-12-31T00:00:00"),
        ("days since 12000-02-01T0630", 0.0, "12000-02-01T06:30:00"),
        ("d since 2000-01-01T063015.25 gmt", 0.0, "2000-01-01T06:30:15.25"),
        ("days since -4712-01-01 12:00:00 UTC", 2_440_587.5, "1970-01-01T00:00:00"),
    ] {
        let units = units(text, standard);
        assert_eq!(units.date(value).unwrap().to_string(), expected, "{text}");
        let back = units.value(units.date(value).unwrap()).unwrap();
        assert!((back - value).abs() < 1.0 && text.contains("microsec") || back == value, "{text} {back}");
        // Its display form parses to the same units.
        if units.calendar() == standard {
            assert_eq!(Units::parse(&units.to_string(), standard).unwrap(), units);
        }
    }
    let months = units("months since 2000-01-30", Calendar::Day360);
    assert_eq!(
        (months.date(1.5).unwrap().to_string().as_str(), months.to_string().as_str()),
        ("2000-03-15T00:00:00", "months since 2000-01-30T00:00:00")
    );
    assert_eq!(
        units("common_years since 2001-01-01", Calendar::NoLeap).date(1.5).unwrap().to_string(),
        "2002-07-02T12:00:00"
    );
}

#[test]
fn rejects_invalid_units() {
    for (text, expected) in [
        ("days", "invalid time units \"days\": expected a form such as \"days since 1970-01-01\""),
        (
            "days from 2000-01-01",
            "invalid time units \"days from 2000-01-01\": expected a form such as \"days since 1970-01-01\"",
        ),
        ("fortnights since 2000-01-01", "unknown time unit \"fortnights\" (known: microseconds to weeks)"),
        (
            "months since 2000-01-01",
            "months have no fixed length in calendar standard (supported in: calendar 360_day)",
        ),
        ("years since 2000-01-01", "years have no fixed length in calendar standard (supported in: no calendar)"),
        ("days since x", "invalid date \"x\": expected a year, found 'x'"),
        (
            "days since 20000101",
            "invalid date \"20000101\": expected a year of up to 6 digits and a hyphen, found the end",
        ),
        ("days since 2000-01-01 24:00", "invalid time 24:00:00.000000"),
        ("days since 2000-02-30", "no day 2000-02-30 in calendar standard"),
        ("days since 1582-10-10", "no day 1582-10-10 in calendar standard"),
        ("days since 0000-01-01", "no day 0000-01-01 in calendar standard"),
        (
            "days since 2000-01-01 00:00 CET",
            "invalid date \"2000-01-01 00:00 CET\": expected Z, UTC, GMT or an offset such as +01:00, found 'C'",
        ),
        ("days since 2000-01-", "invalid date \"2000-01-\": expected a day of one or two digits, found the end"),
        ("days since 2000-01-01T", "invalid date \"2000-01-01T\": expected a time, found the end"),
        (
            "days since 2000-01-01 00:00 +25",
            "invalid date \"2000-01-01 00:00 +25\": expected an offset of up to 24 hours, found the end",
        ),
        ("days since 2000-01-01 00:00 +1 x", "invalid date \"2000-01-01 00:00 +1 x\": expected the end, found 'x'"),
    ] {
        assert_eq!(Units::parse(text, Calendar::Standard).unwrap_err().to_string(), expected);
    }
}

#[test]
fn rejects_numbers_out_of_range() {
    for number in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e30, -1e300, 4e10, f64::MAX] {
        assert_eq!(Units::JULIAN.date(number), None, "{number}");
    }
    assert_eq!(Units::JULIAN.date_of_integer(i128::MAX), None);
    assert_eq!(Units::JULIAN.date(f64::MIN_POSITIVE).unwrap().to_string(), "-4713-11-24T12:00:00");
    assert_eq!(Units::JULIAN.date(-0.0), Units::JULIAN.date_of_integer(0));
    let micro = units("microseconds since 1970-01-01", Calendar::Standard);
    for whole in [0i64, 1, -1, 1_234_567_890_123_456, -9_007_199_254_740_991, 9_007_199_254_740_991] {
        #[allow(clippy::cast_precision_loss, reason = "all are below 2^53")]
        let float = whole as f64;
        let date = micro.date(float).unwrap();
        assert_eq!((Some(date), micro.value(date)), (micro.date_of_integer(whole.into()), Some(float)));
    }
    // Ties round to the even microsecond, exactly.
    for (value, expected) in [(0.5, 0), (1.5, 2), (2.5, 2), (-0.5, 0), (-1.5, -2), (0.500_000_000_000_1, 1)] {
        assert_eq!(micro.date(value), micro.date_of_integer(expected), "{value}");
    }
}

#[test]
fn converts_between_calendars() {
    let date = |text: &str, calendar| Date::from_iso(text, calendar).unwrap();
    let fall = date("1453-05-29", Calendar::Julian);
    assert_eq!(fall.to(Calendar::ProlepticGregorian).unwrap().to_string(), "1453-06-07T00:00:00");
    assert_eq!(fall.to(Calendar::Standard).unwrap().to_string(), "1453-05-29T00:00:00");
    assert_eq!(fall.julian_date(), Some(2_251_914.5));
    assert_eq!(Date::from_julian_date(2_451_545.0).unwrap().to_string(), "2000-01-01T12:00:00");
    // A model day stands for the day of the same name, if it exists.
    let model = date("2001-02-30T06:00", Calendar::Day360);
    assert_eq!((model.to(Calendar::NoLeap), model.julian_date()), (None, None));
    assert_eq!(date("2001-02-28T06:00", Calendar::Day360).julian_date(), Some(2_451_968.75));
    assert_eq!(date("2001-03-01", Calendar::NoLeap).to(Calendar::AllLeap).unwrap().to_string(), "2001-03-01T00:00:00");
    // Digits beyond the precision of a Julian date are rounded away.
    let jd = date("2024-02-29T23:59:59.9996", Calendar::Standard);
    assert_eq!(jd.rounded(1000).to_string(), "2024-03-01T00:00:00");
    assert_eq!(jd.rounded(0), jd);
}
