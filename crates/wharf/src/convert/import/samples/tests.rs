use container_core::Source;
use datadings::{Reader, WriterOptions, json};
use proptest::prelude::*;

use super::*;

/// Writes a table as samples. Returns the data file, or the error.
fn written(table: &TextTable, options: &SampleOptions) -> Result<Vec<u8>, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.msgpack");
    let mut writer = Writer::create(&path, WriterOptions::default()).unwrap();
    let sampled = table.write_samples(&mut writer, options, None).map_err(|error| error.to_string())?;
    assert_eq!(writer.finish().unwrap().samples, sampled.rows);
    assert_eq!(Reader::open(&path).unwrap().len(), sampled.rows);
    Ok(std::fs::read(path).unwrap())
}

fn table(mut table: TextTable, text: &str, window: u64, threads: usize) -> TextTable {
    table.options.window = window;
    table.options.threads = threads;
    table.push("a", Source::from(text.as_bytes().to_vec()));
    table
}

/// The text of a JSON value.
fn value() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        any::<bool>().prop_map(|value| value.to_string()),
        any::<i64>().prop_map(|value| value.to_string()),
        any::<u64>().prop_map(|value| value.to_string()),
        any::<f64>().prop_filter("JSON has no others", |x| x.is_finite()).prop_map(|x| format!("{x:?}")),
        "[a-zäß \"\\\\\n{}\\[\\],:]{0,8}".prop_map(|text| serde_json::to_string(&text).unwrap()),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(|items| format!("[{}]", items.join(","))),
            prop::collection::btree_map("[a-c]{1,2}", inner, 0..4).prop_map(|members| {
                let members: Vec<_> = members.into_iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
                format!("{{{}}}", members.join(","))
            }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Whatever the chunks, lines become what `datadings::json` makes of them.
    #[test]
    fn json_samples_match_datadings_json(
        values in prop::collection::vec((value(), value()), 0..40),
        window in 1..200_u64,
        threads in 1..4_usize,
        array: bool,
    ) {
        let (mut lines, mut expected) = (Vec::new(), Vec::new());
        for (row, (a, b)) in values.iter().enumerate() {
            let line = format!("{{\"a\":{a},\"key\":\"{row}\",\"b\":{b}}}");
            json::to_msgpack(line.as_bytes(), &mut expected).unwrap();
            lines.push(line);
        }
        let text = if array { format!("[{}]", lines.join(" ,\n")) } else { lines.join("\n") };
        let table = table(TextTable::json_lines(), &text, window, threads);
        prop_assert_eq!(written(&table, &SampleOptions::default()), Ok(expected));
    }

    /// Cells keep their content, whatever type is inferred.
    #[test]
    fn csv_samples_keep_cell_content(
        columns in prop::collection::vec(
            prop_oneof![
                Just("(0|-?[1-9][0-9]{0,18})?"),
                Just("(-?[0-9]{1,3}\\.[0-9]{1,3})?"),
                Just("(true|false)?"),
                Just("[a-c\"\n,]{0,3}"),
                Just("(\\[1,2\\]|\\{\\})?"),
                Just("(NaN|1|x)?"),
            ].prop_flat_map(|pattern| prop::collection::vec(pattern, 10)),
            1..5,
        ),
        window in 1..200_u64,
        threads in 1..4_usize,
    ) {
        let mut text = "key".to_owned();
        for column in 0..columns.len() {
            text.push_str(&format!(",c{column}"));
        }
        for row in 0..10 {
            text.push_str(&format!("\n{row}"));
            for column in &columns {
                text.push_str(&format!(",\"{}\"", column[row].replace('"', "\"\"")));
            }
        }
        let written = written(&table(TextTable::csv(), &text, window, threads), &SampleOptions::default()).unwrap();
        let reader = Reader::scan(Source::from(written), datadings::OpenOptions::default()).unwrap();
        prop_assert_eq!(reader.len(), 10);
        for (row, sample) in reader.iter().enumerate() {
            let sample = sample.unwrap();
            let mut line = Vec::new();
            json::write(sample.raw(), &mut line, &container_core::Limits::default()).unwrap();
            let line: serde_json::Value = serde_json::from_slice(&line).unwrap();
            for (number, column) in columns.iter().enumerate() {
                let (cell, value) = (column[row].as_str(), &line[format!("c{number}")]);
                match value {
                    serde_json::Value::Null => prop_assert_eq!(cell, ""),
                    serde_json::Value::String(text) => prop_assert_eq!(text, cell),
                    serde_json::Value::Number(number) if number.is_f64() => {
                        prop_assert_eq!(number.as_f64(), cell.parse::<f64>().ok());
                    }
                    other => prop_assert_eq!(other.to_string(), cell),
                }
            }
        }
    }

    /// Any text gives a dataset or an error, the same for every number of threads.
    #[test]
    fn hostile_text_is_independent_of_threads(text in "[\\[\\]{},:\"a-ck0-9.e\n -]{0,60}", window in 1..20_u64, csv: bool, number: bool) {
        let options = SampleOptions::default().with_keys(if number { Keys::Number } else { Keys::Key });
        let make = || if csv { TextTable::csv() } else { TextTable::json_lines() };
        let one = written(&table(make(), &text, window, 1), &options);
        prop_assert_eq!(written(&table(make(), &text, window, 3), &options), one.clone());
        prop_assert_eq!(written(&table(make(), &text, 1 << 20, 3), &options), one);
    }
}

#[test]
fn inserts_key_into_maps_of_every_header_size() {
    for count in [0_u32, 1, 14, 15, 16, 17, 65_534, 65_535, 65_536] {
        let map: std::collections::BTreeMap<String, u32> = (0..count).map(|n| (format!("f{n:05}"), n)).collect();
        let message = datadings::ser::to_vec(&map).unwrap();
        let mut out = Vec::new();
        message::write_with_key(&mut out, "k", &message).unwrap();
        let sample = datadings::RawValue::new(&out);
        assert_eq!(sample.entries().unwrap().remaining(), count + 1);
        assert_eq!(sample.get("key").unwrap().unwrap().str().unwrap(), "k");
        assert_eq!(sample.entries().unwrap().filter(Result::is_ok).count(), count as usize + 1);
        // The same as writing the key with the fields.
        let mut again = Vec::new();
        let fields: Vec<_> =
            datadings::RawValue::new(&message).entries().unwrap().map(|entry| entry.unwrap()).collect();
        let fields: Vec<_> = fields.iter().map(|(name, value)| (name.str().unwrap(), value.as_bytes())).collect();
        message::write_sample(&mut again, Some("k"), fields.into_iter()).unwrap();
        assert_eq!(again, out);
    }
}
