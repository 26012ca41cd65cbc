//! Values of files round-trip through text.

use container_core::{Error, Scan};
use idv::{ItemType, KeyLabels, KeyType, Reader, Type, Value, Values};
use proptest::prelude::*;

use crate::support::golden;
use crate::support::strategies::table;

/// Whether the text of a value says all of it: not which NaN it is, nor which of several keys has the label, nor of what type something
/// missing or without a range in .NET is.
fn keeps(value: &Value<'_>, labels: Option<&KeyLabels>) -> bool {
    match value {
        Value::Single(x) => !x.is_nan() || x.to_bits() == 0xFFC0_0000,
        Value::Double(x) => !x.is_nan() || x.to_bits() == 0xFFF8_0000_0000_0000,
        Value::Vector(vector) => {
            vector.stored().all(|item| keeps(&item, labels)) && !(vector.length() == 0 && vector.indices().is_some())
        }
        Value::Label(_, all) => {
            let text = |label: Value<'_>| match serde_json::to_value(label).unwrap() {
                serde_json::Value::String(text) => Some(text),
                serde_json::Value::Null => None,
                other => Some(other.to_string()),
            };
            let Value::Label(key, _) = value else { return false };
            all.get(*key).and_then(text).is_some_and(|label| labels.unwrap().find(&label).is_ok())
        }
        _ => true,
    }
}

/// Pushes all values of a file as their JSON text and counts those that became themselves, and those whose text does not say all.
fn through_json(reader: &Reader) -> (u64, u64) {
    let schema = reader.schema(None).unwrap();
    let columns: Vec<usize> = reader.columns().iter().filter(|c| c.kind().is_ok()).map(idv::Column::index).collect();
    let (mut same, mut lossy) = (0, 0);
    for (column, &index) in schema.columns.iter().zip(&columns) {
        let labels = KeyLabels::of(column);
        let scan = Scan::default().with_columns([index]).with_threads(1);
        let (mut rows, mut batches) = (reader.rows(&scan).unwrap(), reader.batches(&scan).unwrap());
        while let Some(batch) = batches.try_next().unwrap() {
            let slice = batch.column(0).unwrap();
            for place in slice.range.clone() {
                let row = rows.try_next().unwrap().unwrap();
                let value = row.get(0).unwrap();
                let mut expected = Values::of(&column.kind);
                expected.extend_from(slice.values, place..place + 1).unwrap();
                let json = serde_json::to_string(&value).unwrap();
                let mut found = Values::of(&column.kind);
                let pushed = found.push_json(&column.kind, labels.as_ref(), &json);
                let out_of_range = is_out_of_range(&expected, &column.kind) || pushed.as_ref().is_err_and(is_no_time);
                if out_of_range || !keeps(&value, labels.as_ref()) {
                    lossy += 1;
                    continue;
                }
                pushed.unwrap_or_else(|error| panic!("{json} as {}: {error}", column.kind));
                assert!(found == expected, "{json} as {}: {found:?}", column.kind);
                same += 1;
            }
        }
    }
    (same, lossy)
}

/// Whether a key is above its key count, which is shown as missing, or a time is missing by one of its halves only.
fn is_out_of_range(values: &Values, kind: &Type) -> bool {
    let (stored, places) = match values {
        Values::Vector(vectors) => {
            let vector = vectors.get(0).unwrap();
            (vector.values, vector.range)
        }
        values => (values, 0..1),
    };
    let above = |key: KeyType| places.clone().any(|at| stored.stored_key(at).is_some_and(|k| key.value(k).is_err()));
    match (kind.item(), stored) {
        (ItemType::Key(key), _) => above(key),
        (_, Values::DateTimeOffset(both)) => {
            places.clone().any(|at| (both.ticks[at] == i64::MIN) != (both.minutes[at] == i16::MIN))
        }
        _ => false,
    }
}

/// Whether the time is outside .NET's range, which is then an error.
fn is_no_time(error: &Error) -> bool {
    ["does not fit DateTime", "does not fit DateTimeOffset"].iter().any(|why| error.detail().contains(why))
}

#[test]
fn golden_values_round_trip_through_text() {
    let (mut same, mut lossy) = (0, 0);
    for path in golden() {
        let (file_same, file_lossy) = through_json(&Reader::open(&path).unwrap());
        same += file_same;
        lossy += file_lossy;
    }
    // Labels that several keys have, NaN of other bits, keys above their count.
    assert!(same > 26_000 && (1..60).contains(&lossy), "{same} values, {lossy} of which the text does not say all");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn values_of_every_type_round_trip_through_text(table in table()) {
        through_json(&table.reader());
    }
}
