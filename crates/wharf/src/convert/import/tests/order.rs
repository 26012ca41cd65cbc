//! What is inferred does not depend on the order of rows, nor on how the input is cut.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::sample::select;

use super::*;

const VALUES: &[&str] = &[
    "null",
    "true",
    "1",
    "-1",
    "-9223372036854775808",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "9007199254740993",
    "1e400",
    "0.5",
    "\"NaN\"",
    "\"a\"",
    "\"2020-02-29T00:00:00\"",
    "\"2020-02-29T00:00:00+01:00\"",
    "\"0001-01-01T00:00:00+01:00\"",
    "[]",
    "[1]",
    "[1,2]",
    "[0.5,null]",
    "[\"a\"]",
    "[[1,2]]",
    "[[1,2],[3,4]]",
    "[[1]]",
    "[[1],2]",
    "{\"$sparse\":{\"length\":2,\"indices\":[1],\"values\":[7]}}",
    "{}",
];

/// The types by name, or that there are none, which may be said of another line.
fn kinds(table: &TextTable) -> BTreeMap<String, Option<(Type, Option<&'static str>)>> {
    let inferred = table.infer(None).unwrap();
    let kind = |(index, name): (usize, &String)| {
        let column = inferred.columns(Some(&[index])).ok();
        (name.clone(), column.map(|mut columns| columns.remove(0)).map(|column| (column.kind, column.note)))
    };
    inferred.names().iter().enumerate().map(kind).collect()
}

fn record(members: &[Option<&str>]) -> String {
    let member = |(name, value): (char, &Option<&str>)| value.map(|value| format!("\"{name}\":{value}"));
    let members: Vec<String> = ('p'..).zip(members).filter_map(member).collect();
    format!("{{{}}}", members.join(","))
}

type Row = Vec<Option<&'static str>>;

fn csv_of(rows: &[Row]) -> String {
    let cell = |cell: &Option<&str>| match cell {
        Some(cell) => format!("\"{}\"", cell.trim_matches('"').replace('"', "\"\"")),
        None => String::new(),
    };
    let row = |row: &Row| row.iter().map(cell).collect::<Vec<_>>().join(",") + "\n";
    "p,q,r\n".to_owned() + &rows.iter().map(row).collect::<String>()
}

/// Rows of three columns, and the same in another order. A few values only, so that columns have a type now and then.
fn rows() -> impl Strategy<Value = (Vec<Row>, Vec<Row>)> {
    let few = proptest::collection::vec(select(VALUES), 1..4);
    few.prop_flat_map(|few| {
        let value = proptest::option::weighted(0.8, select(few));
        let rows = proptest::collection::vec(proptest::collection::vec(value, 3), 1..8);
        rows.prop_flat_map(|rows| (Just(rows.clone()), Just(rows).prop_shuffle()))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn the_order_of_rows_does_not_matter((rows, shuffled) in rows()) {
        let text = |rows: &[Row]| rows.iter().map(|row| record(row) + "\n").collect::<String>();
        prop_assert_eq!(kinds(&lines(&text(&rows))), kinds(&lines(&text(&shuffled))));
        prop_assert_eq!(kinds(&csv(&csv_of(&rows))), kinds(&csv(&csv_of(&shuffled))));
    }

    #[test]
    fn several_inputs_are_one_table((rows, _) in rows(), cut in 0..8_usize) {
        let text = |rows: &[Row]| rows.iter().map(|row| record(row) + "\n").collect::<String>();
        let (one, two) = rows.split_at(cut.min(rows.len()));
        let parts = table(TextTable::json_lines(), &[&text(one), &text(two)]);
        prop_assert_eq!(kinds(&lines(&text(&rows))), kinds(&parts));
        let parts = table(TextTable::csv(), &[&csv_of(one), &csv_of(two)]);
        prop_assert_eq!(kinds(&csv(&csv_of(&rows))), kinds(&parts));
    }

    /// Whatever a type was inferred for can be written with it.
    #[test]
    fn what_was_inferred_fits((rows, _) in rows()) {
        let text = rows.iter().map(|row| record(row) + "\n").collect::<String>();
        for table in [lines(&text), csv(&csv_of(&rows))] {
            let inferred = table.infer(None).unwrap();
            let fine: Vec<usize> =
                (0..inferred.names().len()).filter(|&index| inferred.columns(Some(&[index])).is_ok()).collect();
            let schema = inferred.schema(Some(&fine)).unwrap();
            let written = written(&table, schema, &Take::default());
            // Without columns there are no rows.
            let expected = if fine.is_empty() { 0 } else { rows.len() };
            prop_assert_eq!(written.map(|(rows, _)| rows.len()), Ok(expected));
        }
    }
}

#[test]
fn many_chunks_are_one_table() {
    // The first and the last row decide.
    let mut text = String::from("{\"a\":1,\"first\":true}\n");
    for row in 0..50_000 {
        text.push_str(&format!("{{\"a\":{row},\"b\":\"text of some length {row}\"}}\n"));
    }
    text.push_str("{\"a\":0.5,\"last\":[1]}\n");
    let expected = vec![
        "a: Double".to_owned(),
        "first: Boolean (some missing, which ML.NET reads as false)".to_owned(),
        "b: Text (some missing, which ML.NET reads as empty)".to_owned(),
        "last: Vector<Int64>".to_owned(),
    ];
    for threads in [0, 1, 3] {
        let table = lines(&text).with_threads(threads);
        assert_eq!(inferred(&table).unwrap(), expected);
        let (rows, losses) = round(&table);
        assert_eq!(rows.len(), 50_002);
        assert_eq!(rows[25_000], r#"{"a":24999.0,"first":null,"b":"text of some length 24999","last":[]}"#);
        assert_eq!(losses, ["a: null written as an empty vector (50001 times, first byte 0, line 1, column \"last\")"]);
    }
}

#[test]
fn the_first_error_is_told_whatever_the_threads() {
    let mut text = "{\"a\":1}\n".repeat(60_000);
    text.push_str("{\"a\":1,}\n");
    text.push_str(&"{\"a\":1}\n".repeat(60_000));
    text.push_str("17\n");
    for threads in [0, 1, 2] {
        let error = inferred(&lines(&text).with_threads(threads)).unwrap_err();
        assert_eq!(error, "a: the line is no JSON: trailing comma (byte 480007, line 60001)");
    }
}
