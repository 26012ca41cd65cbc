//! The same values give the same types and values on every conversion route.
//!
//! An Arrow file is converted to format C directly and via format B, and the results are compared. [`RULES`] lists the unavoidable differences,
//! each with its reason. A rule that no column needs any more fails the test as well.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow_array::builder::{
    FixedSizeListBuilder, Float32Builder, Int32Builder, Int64Builder, ListBuilder, StringBuilder,
};
use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Date32Array, DictionaryArray, DurationMicrosecondArray,
    DurationSecondArray, Float32Array, Float64Array, Int8Array, Int16Array, Int32Array, Int64Array, NullArray,
    RecordBatch, StringArray, StructArray, Time32SecondArray, Time64MicrosecondArray, Time64NanosecondArray,
    TimestampMicrosecondArray, TimestampMillisecondArray, TimestampNanosecondArray, TimestampSecondArray, UInt8Array,
    UInt16Array, UInt32Array, UInt64Array,
};
use arrow_ipc::writer::FileWriter;
use arrow_schema::{DataType, Field, Schema};
use container_core::testkit::cases;
use proptest::prelude::*;
use wharf::{Convert, Overwrite, Registry, Scan};

/// The formats, by extension. The input is an Arrow file. TSV behaves like CSV; NetCDF is written only from ds.
const FORMATS: [&str; 8] = ["csv", "jsonl", "parquet", "arrows", "idv", "ds", "msgpack", "zds"];

/// The kinds of values that columns are made of.
fn kinds() -> Vec<(&'static str, ArrayRef)> {
    let mut pairs = FixedSizeListBuilder::new(Float32Builder::new(), 2);
    for pair in [[0.1f32, -0.0], [f32::NAN, f32::INFINITY], [f32::MIN_POSITIVE / 2.0, f32::MAX]] {
        pair.iter().for_each(|value| pairs.values().append_value(*value));
        pairs.append(true);
    }
    let mut whole_pairs = FixedSizeListBuilder::new(Int32Builder::new(), 2);
    for pair in [[1, -1], [i32::MIN, i32::MAX]] {
        pair.iter().for_each(|value| whole_pairs.values().append_value(*value));
        whole_pairs.append(true);
    }
    let mut lists = ListBuilder::new(Int64Builder::new());
    lists.append_value([Some(1), Some((1 << 53) + 1)]);
    lists.append_value([]);
    lists.append_value([Some(i64::MIN)]);
    let mut texts = ListBuilder::new(StringBuilder::new());
    texts.append_value([Some("a"), Some("")]);
    texts.append_value([] as [Option<&str>; 0]);
    texts.append_value([Some("1")]);
    let members: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None]));
    let words: ArrayRef = Arc::new(StringArray::from(vec!["x", ""]));
    let text = |values: &[&str]| Arc::new(StringArray::from(values.to_vec())) as ArrayRef;
    let seconds = vec![0, 1_700_000_000, -1];
    let micros = vec![0, 1_700_000_000_123_456, -1];
    let nanos = vec![0, 1_700_000_000_123_456_789, -1];
    let hundreds = vec![0, 1_700_000_000_123_456_700, -100];
    vec![
        ("bool", Arc::new(BooleanArray::from(vec![true, false]))),
        ("i8", Arc::new(Int8Array::from(vec![0, i8::MIN + 1, i8::MAX]))),
        ("i16", Arc::new(Int16Array::from(vec![0, i16::MIN + 1, i16::MAX]))),
        ("i32", Arc::new(Int32Array::from(vec![0, i32::MIN + 1, i32::MAX]))),
        ("i64", Arc::new(Int64Array::from(vec![0, i64::MIN + 1, i64::MAX, (1 << 53) + 1]))),
        ("i64 minimum", Arc::new(Int64Array::from(vec![i64::MIN, 5]))),
        ("u8", Arc::new(UInt8Array::from(vec![0, u8::MAX]))),
        ("u16", Arc::new(UInt16Array::from(vec![0, u16::MAX]))),
        ("u32", Arc::new(UInt32Array::from(vec![0, u32::MAX]))),
        ("u64", Arc::new(UInt64Array::from(vec![0, u64::MAX]))),
        ("f32", Arc::new(Float32Array::from(vec![0.1, -0.0, 1.0, f32::MIN_POSITIVE / 2.0, f32::MAX]))),
        ("f32 special", Arc::new(Float32Array::from(vec![0.5, f32::NAN, f32::INFINITY, f32::NEG_INFINITY]))),
        ("f64", Arc::new(Float64Array::from(vec![0.1, -0.0, 1.0, 5e-324, f64::MAX, 1e16, 1e-7]))),
        ("f64 whole", Arc::new(Float64Array::from(vec![1.0, 2.0, 9_007_199_254_740_992.0]))),
        ("f64 special", Arc::new(Float64Array::from(vec![0.5, f64::NAN, f64::INFINITY, f64::NEG_INFINITY]))),
        ("text", text(&["a", "b c", "\u{e4}\u{1f600}", "a,b", "\"q\"", "two\nlines", " x "])),
        ("text empty", text(&["", "x"])),
        ("text only empty", text(&[""])),
        ("text numbers", text(&["1", "2"])),
        ("text codes", text(&["00712", "1e5"])),
        ("text dates", text(&["2024-01-01"])),
        ("text times", text(&["12:30:00"])),
        ("text timestamps", text(&["2024-01-01T00:00:00Z"])),
        ("text bools", text(&["true", "False"])),
        ("text NaN", text(&["NaN", "Infinity"])),
        ("text lists", text(&["[1]", "[2,3]"])),
        ("text null", text(&["null", "None"])),
        ("binary", Arc::new(BinaryArray::from(vec![&b"\x00\xff"[..], b"", b"abc"]))),
        ("date", Arc::new(Date32Array::from(vec![0, 19_000, -1]))),
        ("time s", Arc::new(Time32SecondArray::from(vec![0, 86_399]))),
        ("time us", Arc::new(Time64MicrosecondArray::from(vec![0, 86_399_999_999]))),
        ("time ns", Arc::new(Time64NanosecondArray::from(vec![0, 86_399_999_999_999]))),
        ("timestamp s", Arc::new(TimestampSecondArray::from(seconds.clone()))),
        ("timestamp ms", Arc::new(TimestampMillisecondArray::from(vec![0, 1_700_000_000_123]))),
        ("timestamp us", Arc::new(TimestampMicrosecondArray::from(micros.clone()))),
        ("timestamp 100ns", Arc::new(TimestampNanosecondArray::from(hundreds))),
        ("timestamp ns", Arc::new(TimestampNanosecondArray::from(nanos))),
        ("timestamp utc", Arc::new(TimestampMicrosecondArray::from(micros.clone()).with_timezone("UTC"))),
        ("timestamp +02:00", Arc::new(TimestampMicrosecondArray::from(micros).with_timezone("+02:00"))),
        ("duration s", Arc::new(DurationSecondArray::from(vec![0, 5, -5]))),
        ("duration us", Arc::new(DurationMicrosecondArray::from(vec![0, 1_500_000, -1]))),
        ("dictionary", Arc::new(["x", "y", "x"].into_iter().collect::<DictionaryArray<Int32Type>>())),
        ("pairs f32", Arc::new(pairs.finish())),
        ("pairs i32", Arc::new(whole_pairs.finish())),
        ("lists", Arc::new(lists.finish())),
        ("lists of text", Arc::new(texts.finish())),
        (
            "struct",
            Arc::new(StructArray::from(vec![
                (Arc::new(Field::new("n", DataType::Int64, true)), members),
                (Arc::new(Field::new("w", DataType::Utf8, true)), words),
            ])),
        ),
        ("null", Arc::new(NullArray::new(1))),
    ]
}

/// A column of values of a kind, by index; `None` is null.
fn column(values: &ArrayRef, rows: &[Option<u64>]) -> ArrayRef {
    if values.data_type() == &DataType::Null {
        return Arc::new(NullArray::new(rows.len()));
    }
    let modulus = values.len() as u64;
    let at: UInt64Array = rows.iter().map(|row| row.map(|row| row % modulus)).collect();
    arrow_select::take::take(values, &at, None).unwrap()
}

fn write(path: &Path, columns: &[(String, ArrayRef)]) {
    let fields = columns.iter().map(|(name, array)| {
        Field::new(name, array.data_type().clone(), array.null_count() > 0 || array.data_type() == &DataType::Null)
    });
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let arrays = columns.iter().map(|(_, array)| Arc::clone(array)).collect();
    let batch = RecordBatch::try_new(Arc::clone(&schema), arrays).unwrap();
    let mut writer = FileWriter::try_new(File::create(path).unwrap(), &schema).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
}

/// How a column differs on another route.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Change {
    /// In its values, possibly also in its type.
    Value,
    /// In its type only.
    Type,
    /// The last format rejects it.
    Refused,
    /// The last format accepts it, but rejects it directly.
    Taken,
}

/// An expected difference, and its reason.
struct Rule {
    change: Change,
    /// The intermediate formats.
    via: &'static [&'static str],
    /// The final formats.
    into: &'static [&'static str],
    /// The kinds of columns, nullable or not; only nullable if the name ends with `?`.
    kinds: &'static [&'static [&'static str]],
    /// Changed values are not reported.
    silent: bool,
    reason: &'static str,
}

const SCHEMALESS: &[&str] = &["csv", "jsonl", "msgpack", "zds"];
const TEXTS: &[&str] = &["csv", "jsonl", "zds"];
const JSON: &[&str] = &["jsonl", "msgpack", "zds"];
const TYPED: &[&str] = &["parquet", "arrows", "idv", "ds"];
const ARROW: &[&str] = &["parquet", "arrows"];
const NOT_DS: &[&str] = &["csv", "jsonl", "parquet", "arrows", "idv", "msgpack", "zds"];
const NOT_IDV: &[&str] = &["csv", "jsonl", "parquet", "arrows", "ds", "msgpack", "zds"];

const NARROW: &[&str] = &["i8", "i16", "i32", "u8", "u16", "u32"];
const SINGLES: &[&str] = &["f32", "f32 special"];
const PAIRS: &[&str] = &["pairs f32", "pairs i32"];
const DAYS: &[&str] = &["date", "time s", "time us"];
const INSTANTS: &[&str] = &["timestamp s", "timestamp ms", "timestamp us"];
const ZONED: &[&str] = &["timestamp utc", "timestamp +02:00"];
const SPANS: &[&str] = &["duration s", "duration us"];

/// All expected differences.
const RULES: &[Rule] = &[
    Rule {
        change: Change::Type,
        via: SCHEMALESS,
        into: TYPED,
        kinds: &[NARROW, PAIRS],
        silent: true,
        reason: "digits and samples have no width, and lists no fixed length: integers get 64 bits, lists those that they have",
    },
    Rule {
        change: Change::Type,
        via: TEXTS,
        into: &["parquet", "arrows", "idv", "ds", "msgpack"],
        kinds: &[SINGLES],
        silent: true,
        reason: "digits have no width: floats get 64 bits",
    },
    Rule {
        change: Change::Taken,
        via: &["csv"],
        into: &["idv"],
        kinds: &[&["binary"]],
        silent: true,
        reason: "a cell is text, which IDV holds, and not bytes",
    },
    Rule {
        change: Change::Type,
        via: &["csv", "jsonl", "msgpack", "zds", "ds", "idv"],
        into: ARROW,
        kinds: &[&["dictionary"]],
        silent: true,
        reason: "labels are texts where there are no dictionaries; those of IDV are counted by its own type",
    },
    Rule {
        change: Change::Type,
        via: &["csv", "jsonl", "msgpack", "zds", "ds"],
        into: &["idv"],
        kinds: &[&["dictionary"]],
        silent: true,
        reason: "a text is no key",
    },
    Rule {
        change: Change::Type,
        via: TEXTS,
        into: &["parquet", "arrows", "idv", "msgpack"],
        kinds: &[SPANS],
        silent: true,
        reason: "durations are not found in text",
    },
    Rule {
        change: Change::Value,
        via: &["ds"],
        into: &["msgpack"],
        kinds: &[SPANS],
        silent: true,
        reason: "ds has a number and its units",
    },
    Rule {
        change: Change::Type,
        via: &["idv"],
        into: &["msgpack"],
        kinds: &[SPANS],
        silent: true,
        reason: "rows of IDV have spans as text",
    },
    Rule {
        change: Change::Value,
        via: TEXTS,
        into: &["ds"],
        kinds: &[SPANS],
        silent: true,
        reason: "durations are not found in text",
    },
    Rule {
        change: Change::Type,
        via: JSON,
        into: &["parquet", "arrows", "idv"],
        kinds: &[INSTANTS, &["timestamp +02:00", "timestamp 100ns"]],
        silent: true,
        reason: "a string of JSON or a sample stays a string",
    },
    Rule {
        change: Change::Type,
        via: JSON,
        into: ARROW,
        kinds: &[&["date", "time s", "time us", "time ns", "timestamp utc", "timestamp ns"]],
        silent: true,
        reason: "a string of JSON or a sample stays a string",
    },
    Rule {
        change: Change::Value,
        via: JSON,
        into: &["idv"],
        kinds: &[DAYS, &["timestamp utc"]],
        silent: true,
        reason: "a string of JSON or a sample stays a string, with its characters",
    },
    Rule {
        change: Change::Value,
        via: &["csv", "jsonl", "msgpack", "zds"],
        into: &["ds"],
        kinds: &[DAYS, INSTANTS, ZONED, &["time ns"]],
        silent: true,
        reason: "ds has units for numbers alone: a time that became text stays text",
    },
    Rule {
        change: Change::Taken,
        via: SCHEMALESS,
        into: &["ds", "idv"],
        kinds: &[&["timestamp ns"]],
        silent: true,
        reason: "text holds any time",
    },
    Rule {
        change: Change::Taken,
        via: JSON,
        into: &["ds"],
        kinds: &[&["timestamp 100ns"]],
        silent: true,
        reason: "text holds any time",
    },
    Rule {
        change: Change::Taken,
        via: SCHEMALESS,
        into: &["idv"],
        kinds: &[&["time ns"]],
        silent: true,
        reason: "text holds any time",
    },
    Rule {
        change: Change::Type,
        via: &["csv"],
        into: ARROW,
        kinds: &[&["text dates", "text times", "text timestamps", "time s", "timestamp s", "timestamp ms"]],
        silent: true,
        reason: "cells have no type: times are found in them, in microseconds",
    },
    Rule {
        change: Change::Value,
        via: &["csv"],
        into: &["idv", "ds"],
        kinds: &[&["text dates", "text times", "text timestamps"]],
        silent: true,
        reason: "cells have no type: times are found in them",
    },
    Rule {
        change: Change::Value,
        via: &["csv"],
        into: ARROW,
        kinds: &[&["timestamp +02:00"]],
        silent: true,
        reason: "times found in cells are in UTC: a column may have several differences",
    },
    Rule {
        change: Change::Value,
        via: &["csv"],
        into: &["jsonl", "parquet", "arrows", "idv", "ds", "msgpack", "zds"],
        kinds: &[&["text bools", "text numbers"]],
        silent: true,
        reason: "cells have no type: quotes make no text",
    },
    Rule {
        change: Change::Value,
        via: &["csv"],
        into: &["jsonl", "parquet", "arrows", "idv", "msgpack", "zds"],
        kinds: &[&["text lists"]],
        silent: true,
        reason: "cells have no type: arrays are found in them",
    },
    Rule {
        change: Change::Refused,
        via: &["csv"],
        into: &["ds"],
        kinds: &[&["text lists"]],
        silent: true,
        reason: "cells have no type: arrays are found in them, of several lengths here",
    },
    Rule {
        change: Change::Taken,
        via: &["csv"],
        into: &["idv"],
        kinds: &[&["struct"]],
        silent: true,
        reason: "a cell is text, which IDV holds",
    },
    Rule {
        change: Change::Taken,
        via: &["csv", "jsonl", "msgpack", "zds", "ds"],
        into: &["idv"],
        kinds: &[&["i8?", "i16?", "i32?", "i64 minimum?", "u8?", "u16?", "u32?"]],
        silent: true,
        reason: "integers that text or ds lack become floats, where columns of Arrow are refused",
    },
    Rule {
        change: Change::Taken,
        via: &["csv"],
        into: &["idv"],
        kinds: &[&["i64?", "u64?"]],
        silent: true,
        reason: "integers that text or ds lack become floats",
    },
    Rule {
        change: Change::Taken,
        via: &["csv", "jsonl", "msgpack", "zds", "ds"],
        into: &["idv"],
        kinds: &[&["pairs i32?"]],
        silent: true,
        reason: "a null list is an empty vector of variable length, or of ds one of missing floats",
    },
    Rule {
        change: Change::Taken,
        via: &["csv", "jsonl", "msgpack", "zds"],
        into: &["idv"],
        kinds: &[&["pairs f32?"]],
        silent: true,
        reason: "a null list is an empty vector of variable length",
    },
    Rule {
        change: Change::Taken,
        via: &["ds"],
        into: &["idv"],
        kinds: &[&["time ns"]],
        silent: true,
        reason: "ds has a number and its units",
    },
    Rule {
        change: Change::Value,
        via: &["ds"],
        into: NOT_DS,
        kinds: &[DAYS, INSTANTS, ZONED],
        silent: true,
        reason: "ds has a number and its units, which is a time only where it is asked for",
    },
    Rule {
        change: Change::Value,
        via: &["ds"],
        into: &["csv", "jsonl", "parquet", "arrows", "msgpack", "zds"],
        kinds: &[&["time ns"]],
        silent: true,
        reason: "ds has a number and its units",
    },
    Rule {
        change: Change::Value,
        via: &["ds"],
        into: &["csv", "jsonl", "parquet", "arrows", "idv", "zds"],
        kinds: &[SPANS],
        silent: true,
        reason: "ds has a number and its units",
    },
    Rule {
        change: Change::Value,
        via: &["ds"],
        into: &["csv", "jsonl", "parquet", "arrows", "msgpack", "zds"],
        kinds: &[&["pairs f32?", "pairs i32?"]],
        silent: false,
        reason: "ds has missing elements, and no missing lists",
    },
    Rule {
        change: Change::Type,
        via: &["ds", "idv"],
        into: ARROW,
        kinds: &[PAIRS],
        silent: true,
        reason: "elements of a variable or a vector are not nullable where none is missing",
    },
    Rule {
        change: Change::Type,
        via: &["idv"],
        into: ARROW,
        kinds: &[&["lists", "duration s", "timestamp s", "timestamp ms"]],
        silent: true,
        reason: "IDV has ticks, in Arrow microseconds; its vectors lack no elements",
    },
    Rule {
        change: Change::Type,
        via: &["ds"],
        into: ARROW,
        kinds: &[&["null"]],
        silent: true,
        reason: "ds has floats that are all missing",
    },
    Rule {
        change: Change::Type,
        via: &["idv"],
        into: &["parquet", "arrows", "ds"],
        kinds: &[&["null"]],
        silent: true,
        reason: "IDV has texts that are all missing",
    },
    Rule {
        change: Change::Value,
        via: &["ds"],
        into: &["idv"],
        kinds: &[&["null"]],
        silent: true,
        reason: "ds has floats that are all missing, which are NaN in IDV",
    },
    Rule {
        change: Change::Refused,
        via: &["ds"],
        into: &["idv"],
        kinds: &[&["f32 special?", "f64 special?"]],
        silent: false,
        reason: "NaN in IDV is what is missing: ds with both is refused",
    },
    Rule {
        change: Change::Refused,
        via: &["idv"],
        into: ARROW,
        kinds: &[&["timestamp 100ns"]],
        silent: true,
        reason: "ticks are finer than microseconds, and Convert::columnar says what becomes of them",
    },
    Rule {
        change: Change::Taken,
        via: &["idv"],
        into: &["ds"],
        kinds: &[&["timestamp 100ns"]],
        silent: true,
        reason: "ds keeps ticks",
    },
    Rule {
        change: Change::Value,
        via: &["idv"],
        into: NOT_IDV,
        kinds: &[DAYS],
        silent: true,
        reason: "a date is a DateTime in IDV, and a time of day a TimeSpan",
    },
    Rule {
        change: Change::Value,
        via: &["idv"],
        into: &["csv", "jsonl", "parquet", "arrows", "ds", "msgpack", "zds"],
        kinds: &[&["timestamp utc"]],
        silent: true,
        reason: "a time with a zone is a DateTimeOffset in IDV",
    },
    Rule {
        change: Change::Value,
        via: &["idv"],
        into: &["parquet", "arrows", "ds"],
        kinds: &[&["timestamp +02:00"]],
        silent: true,
        reason: "a DateTimeOffset is a struct of time and offset",
    },
    Rule {
        change: Change::Value,
        via: &["idv"],
        into: &["ds"],
        kinds: &[SPANS],
        silent: true,
        reason: "a TimeSpan has ticks",
    },
    Rule {
        change: Change::Value,
        via: &["idv"],
        into: &["ds"],
        kinds: &[INSTANTS],
        silent: true,
        reason: "a DateTime has ticks",
    },
    Rule {
        change: Change::Value,
        via: &["idv"],
        into: NOT_IDV,
        kinds: &[&["f32?", "f32 special?", "f64?", "f64 whole?", "f64 special?"]],
        silent: false,
        reason: "a missing float is NaN in IDV",
    },
    Rule {
        change: Change::Value,
        via: &["idv"],
        into: &["csv", "jsonl", "parquet", "arrows", "msgpack", "zds"],
        kinds: &[&["lists?", "lists of text?"]],
        silent: false,
        reason: "IDV has no missing vector: it is empty",
    },
];

type Found = (Change, String, &'static str, &'static str, bool, Result<Column, String>, Result<Column, String>);

/// Checks that every difference has a rule. Returns the parts of rules without differences.
fn check(found: &[Found]) -> Vec<String> {
    let mut unused: BTreeSet<(usize, &str)> = RULES
        .iter()
        .enumerate()
        .flat_map(|(at, rule)| {
            let kinds = rule.kinds.iter().copied().flatten();
            rule.via.iter().chain(rule.into).chain(kinds).map(move |part| (at, *part))
        })
        .collect();
    let mut unexplained = Vec::new();
    for (change, name, via, into, reported, direct, other) in found {
        let mut explained = false;
        for (at, rule) in RULES.iter().enumerate() {
            let of_kind = |kind: &&&str| name == **kind || name.strip_suffix('?') == Some(**kind);
            let kind = rule.kinds.iter().copied().flatten().find(of_kind);
            let (true, Some(kind)) =
                (rule.change == *change && rule.via.contains(via) && rule.into.contains(into), kind)
            else {
                continue;
            };
            if *reported || rule.silent || *change > Change::Value {
                explained = true;
                for part in [*via, *into, *kind] {
                    unused.remove(&(at, part));
                }
            }
        }
        if !explained {
            let reported = if *reported { "reported" } else { "silent" };
            unexplained.push(format!("{name} {via} -> {into}: {change:?}, {reported}: {direct:?}, then {other:?}"));
        }
    }
    assert!(unexplained.is_empty(), "{}", unexplained.join("\n"));
    unused.into_iter().map(|(at, part)| format!("{part:?} of: {}", RULES[at].reason)).collect()
}

/// A column of a file: its type, and its values as JSON.
#[derive(Debug, Clone, PartialEq)]
struct Column {
    kind: String,
    values: Vec<String>,
}

/// The columns of a file. In formats without a schema, a missing member is null.
fn read(path: &Path) -> BTreeMap<String, Column> {
    let container = Registry::builtin().open(path).unwrap();
    let table = container.tables()[0];
    table.infer_columns().unwrap();
    let mut columns: BTreeMap<_, _> = table
        .columns()
        .iter()
        .map(|column| (column.name.to_string(), Column { kind: column.kind.to_string(), values: Vec::new() }))
        .collect();
    let mut rows = table.rows(&Scan::default()).unwrap();
    while rows.advance().unwrap() {
        let mut line = Vec::new();
        rows.json(&mut line).unwrap();
        let row: serde_json::Value = serde_json::from_slice(&line).unwrap();
        for (name, column) in &mut columns {
            column.values.push(row.get(name.as_str()).map_or_else(|| "null".to_owned(), ToString::to_string));
        }
    }
    columns
}

/// The outcome of converting columns.
#[derive(Default)]
struct Outcome {
    columns: BTreeMap<String, Result<Column, String>>,
    losses: Vec<String>,
}

impl Outcome {
    fn reports(&self, name: &str) -> bool {
        self.losses.iter().any(|loss| loss.contains(&format!("{name:?}")))
    }
}

/// Converts columns. If they are rejected together, bisects to find which ones are.
fn convert(from: &Path, names: &[String], to: &Path, outcome: &mut Outcome) {
    if names.is_empty() {
        return;
    }
    let (conversion, registry) = (Convert::new([from]).with_columns(names.iter().cloned()), Registry::builtin());
    let mut target = registry.target_for(to).unwrap();
    // Samples of datadings keep their keys.
    if target.info().name == "datadings" && from.extension() != to.extension() {
        target.set("number", "".as_ref()).unwrap();
    }
    match conversion.write_as(target.as_ref(), to, Overwrite::Replace, &registry) {
        Ok(report) => {
            outcome.losses.extend(report.losses.iter().map(ToString::to_string));
            let mut columns = read(to);
            for name in names {
                let column = columns.remove(name).ok_or_else(|| "it is not there".to_owned());
                outcome.columns.insert(name.clone(), column);
            }
        }
        Err(error) if names.len() == 1 => {
            outcome.columns.insert(names[0].clone(), Err(error.to_string()));
        }
        Err(_) => {
            let (one, other) = names.split_at(names.len() / 2);
            convert(from, one, to, outcome);
            convert(from, other, to, outcome);
        }
    }
}

/// All differences between the direct route from Arrow and every other route.
fn differences(columns: &[(String, ArrayRef)], via: &[&'static str], into: &[&'static str]) -> Vec<Found> {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let start = path("a.arrow");
    write(&start, columns);
    let names: Vec<String> = columns.iter().map(|(name, _)| name.clone()).collect();
    let directly: BTreeMap<_, _> = via
        .iter()
        .chain(into)
        .map(|c| {
            let mut outcome = Outcome::default();
            convert(&start, &names, &path(&format!("direct.{c}")), &mut outcome);
            (*c, outcome)
        })
        .collect();
    let mut found = Vec::new();
    for &b in via {
        let first = &directly[b];
        // The columns that it accepts, in one file.
        let accepted: Vec<String> =
            first.columns.iter().filter(|(_, column)| column.is_ok()).map(|(name, _)| name.clone()).collect();
        let between = path(&format!("between.{b}"));
        convert(&start, &accepted, &between, &mut Outcome::default());
        for &c in into {
            let (direct, mut via) = (&directly[c], Outcome::default());
            convert(&between, &accepted, &path(&format!("via.{c}")), &mut via);
            for name in &accepted {
                let reported = first.reports(name) || via.reports(name) || direct.reports(name);
                let what = match (&direct.columns[name], &via.columns[name]) {
                    (Ok(one), Ok(other)) if one.values != other.values => Change::Value,
                    (Ok(one), Ok(other)) if one.kind != other.kind => Change::Type,
                    (Ok(_), Err(_)) => Change::Refused,
                    (Err(_), Ok(_)) => Change::Taken,
                    _ => continue,
                };
                found.push((
                    what,
                    name.clone(),
                    b,
                    c,
                    reported,
                    direct.columns[name].clone(),
                    via.columns[name].clone(),
                ));
            }
        }
    }
    found
}

#[test]
fn routes_differ_only_by_the_rules() {
    let mut columns = Vec::new();
    for (kind, values) in kinds() {
        let rows: Vec<_> = (0..8).map(Some).collect();
        columns.push((kind.to_owned(), column(&values, &rows)));
        let gaps: Vec<_> = (0..8).map(|row| Some(row).filter(|&row| row != 7)).collect();
        columns.push((format!("{kind}?"), column(&values, &gaps)));
    }
    let unused = check(&differences(&columns, &FORMATS, &FORMATS));
    assert!(unused.is_empty(), "rules that nothing needs:\n{}", unused.join("\n"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(3, 100), failure_persistence: None, ..ProptestConfig::default() })]

    /// The same for any order of rows, repetition of values and position of nulls. Every value occurs, as types are inferred from them.
    #[test]
    fn routes_do_not_depend_on_the_order_of_rows(
        rows in proptest::collection::vec(proptest::option::weighted(0.8, 0..60_u64), 0..40)
            .prop_map(|more| (0..8).map(Some).chain(more).collect::<Vec<_>>())
            .prop_shuffle(),
        via in 0..FORMATS.len(),
    ) {
        let has_gaps = rows.contains(&None);
        let columns = kinds().into_iter().map(|(kind, values)| {
            let name = if has_gaps { format!("{kind}?") } else { kind.to_owned() };
            (name, column(&values, &rows))
        });
        let columns: Vec<_> = columns.collect();
        check(&differences(&columns, &[FORMATS[via]], &FORMATS));
    }
}
