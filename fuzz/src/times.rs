//! Times from arbitrary units and numbers.

use dsfmt::time::{Calendar, Date, Units};

const CALENDARS: [&str; 7] =
    ["standard", "proleptic_gregorian", "julian", "noleap", "all_leap", "360_day", "gregorian"];

/// The first byte selects the calendar, eight are a number, the rest is the attribute `units`.
pub fn ds_times(data: &[u8]) {
    let Some((&calendar, rest)) = data.split_first() else { return };
    let Some((number, text)) = rest.split_first_chunk() else { return };
    let calendar = Calendar::from_name(CALENDARS[usize::from(calendar) % CALENDARS.len()]).unwrap();
    let Ok(text) = std::str::from_utf8(text) else { return };
    let Ok(units) = Units::parse(text, calendar) else { return };
    assert_eq!(units.calendar(), Units::parse(&units.to_string(), units.calendar()).unwrap().calendar());
    // Integers that are exact as floats.
    let number = i64::from_le_bytes(*number) >> 11;
    let Some(date) = units.date_of_integer(number.into()) else { return };
    assert_eq!(units.date(number as f64), Some(date), "{text:?} {number}");
    assert_eq!(units.value(date), Some(number as f64), "{text:?} {number}");
    let year = date.fields().year;
    if (0..=9999).contains(&year) {
        assert_eq!(Date::from_iso(&date.to_string(), date.calendar()).unwrap(), date, "{date}");
    }
}
