//! Any text at all, cut anywhere: an answer or an error, and always the same.

use proptest::prelude::*;

use super::*;

/// Types, rows and losses.
type Told = (Vec<String>, Vec<String>, Vec<String>);

/// What comes of a table, or the error.
fn outcome(table: &TextTable) -> Result<Told, String> {
    let kinds = inferred(table)?;
    let schema = table.infer(None).map_err(told)?.schema(None).map_err(told)?;
    // A column without a name cannot be written; that is found when the writer is made.
    if schema.columns.iter().any(|column| column.name.is_empty()) {
        return Ok((kinds, Vec::new(), Vec::new()));
    }
    let (rows, losses) = written(table, schema, &Take::default())?;
    Ok((kinds, rows, losses))
}

fn with_window(mut table: TextTable, window: u64) -> TextTable {
    table.options.window = window;
    table
}

fn same_for_any_cut(table: &TextTable) {
    let whole = outcome(table);
    for window in [1, 2, 3, 5, 8, 13] {
        assert_eq!(outcome(&with_window(table.clone(), window)), whole, "window {window}");
    }
    assert_eq!(outcome(&with_window(table.clone().with_threads(1), 4)), whole);
}

#[test]
fn records_are_found_wherever_a_window_ends() {
    same_for_any_cut(&lines("\u{feff}\n {\"a\":\"x\\\\\\\"}\"}\r\n\n{\"a\":\"ü\"}\n\n"));
    same_for_any_cut(&lines("\u{feff} [ {\"a\":\"]\\\\\\\"}\" , \"b\":[[1],[2]]}\n ,\n{} , {\"b\":[]}\n] \n "));
    same_for_any_cut(&csv("\u{feff}\r\na,\"b\"\"\n\"\r\n1,\"x,\"\"\r\ny\"\r\n\r\n2,z\"\r3,"));
    same_for_any_cut(&table(TextTable::csv(), &["a\r\n1\r\n", "a\r\n", "a\n\"2\n\""]));
    same_for_any_cut(&lines("{\"a\":1}\n{\"a\":1,\"a\":2}\n17"));
    same_for_any_cut(&lines("[{\"a\":1},\n{\"a\":2}"));
    same_for_any_cut(&lines("[{\"a\":1}\n,\n{\"a\":2}] ]"));
    same_for_any_cut(&csv("a\n1\n\n1,2\n\"3"));
    same_for_any_cut(&csv("a\n1\n\n\"3\n\n"));
}

/// Pieces of JSON lines, most of them whole.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => Just("{\"a\":1}\n"),
        2 => Just("{\"a\":[1,\"]}\"]}\n"),
        2 => Just("{\"b\":{\"c\":[{}]}}\n"),
        1 => Just("{\"a\":\"ü\\\"\\\\\"}\r\n"),
        1 => Just("{"),
        1 => Just("}"),
        1 => Just("["),
        1 => Just("]"),
        2 => Just(","),
        1 => Just("\""),
        1 => Just("\\"),
        2 => Just("\n"),
        1 => Just(" "),
        1 => Just("7"),
    ];
    proptest::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn any_lines(text in pieces()) {
        same_for_any_cut(&lines(&text));
    }

    #[test]
    fn any_array(text in pieces()) {
        same_for_any_cut(&lines(&format!("[{}]", text.replace('\n', ",\n"))));
        same_for_any_cut(&lines(&format!("[{text}")));
    }

    #[test]
    fn any_csv(text in "(a,b\n)?([a1\\[\\]\"]{0,4}[,\n\r\"]){0,8}") {
        same_for_any_cut(&csv(&text));
        same_for_any_cut(&csv(&text).with_header(false));
    }

    #[test]
    fn any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..60), brace: bool) {
        let mut text = if brace { b"{\"a".to_vec() } else { Vec::new() };
        text.extend(bytes);
        for mut table in [TextTable::json_lines(), TextTable::csv()] {
            table.push("a", Source::from(text.clone()));
            let _ = outcome(&table);
        }
    }
}
