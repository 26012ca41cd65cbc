//! Generated conditions over generated tables, against an evaluator of single rows that shares no code with the kernels.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow_array::types::Int8Type;
use arrow_array::{
    ArrayRef, BooleanArray, DictionaryArray, Float32Array, Float64Array, Int8Array, Int64Array, RecordBatch,
    StringArray, UInt64Array,
};
use proptest::prelude::*;

use super::Predicate;

#[derive(Debug, Clone)]
struct Row {
    i: Option<i64>,
    u: Option<u64>,
    s: Option<i8>,
    f: Option<f64>,
    g: Option<f32>,
    t: Option<String>,
    d: Option<String>,
    b: Option<bool>,
}

#[derive(Debug, Clone)]
enum Value {
    Null,
    Integer(i128),
    Float(f64),
    Text(String),
}

/// A value: its SQL, and what it is in a row.
#[derive(Debug, Clone)]
enum Term {
    Column(&'static str),
    Integer(i64),
    Text(String),
    /// Of small integers, which never overflow.
    Sum(Box<Term>, i64),
    Product(Box<Term>, i64),
    Quotient(Box<Term>, i64),
    Remainder(Box<Term>, i64),
    Length(Box<Term>),
    Lower(Box<Term>),
}

#[derive(Debug, Clone)]
enum Test {
    Compare(Term, &'static str, Term),
    In(Term, Vec<Term>, bool),
    Between(Term, Term, Term),
    Like(Term, String, bool),
    IsNull(Term, bool),
    Bool,
    Not(Box<Test>),
    And(Vec<Test>),
    Or(Vec<Test>),
    Is(Box<Test>, bool),
}

impl Term {
    fn sql(&self) -> String {
        match self {
            Self::Column(name) => (*name).to_owned(),
            Self::Integer(value) => value.to_string(),
            Self::Text(text) => format!("'{}'", text.replace('\'', "''")),
            Self::Sum(term, by) => format!("({} + {by})", term.sql()),
            Self::Product(term, by) => format!("({} * {by})", term.sql()),
            Self::Quotient(term, by) => format!("({} / {by})", term.sql()),
            Self::Remainder(term, by) => format!("({} % {by})", term.sql()),
            Self::Length(term) => format!("length({})", term.sql()),
            Self::Lower(term) => format!("lower({})", term.sql()),
        }
    }

    fn of(&self, row: &Row) -> Value {
        let integer = |value: Option<i128>| value.map_or(Value::Null, Value::Integer);
        let text = |value: &Option<String>| value.clone().map_or(Value::Null, Value::Text);
        match self {
            Self::Column("i") => integer(row.i.map(i128::from)),
            Self::Column("u") => integer(row.u.map(i128::from)),
            Self::Column("s") => integer(row.s.map(i128::from)),
            Self::Column("f") => row.f.map_or(Value::Null, Value::Float),
            Self::Column("g") => row.g.map_or(Value::Null, |value| Value::Float(value.into())),
            Self::Column("t") => text(&row.t),
            Self::Column(_) => text(&row.d),
            Self::Integer(value) => Value::Integer((*value).into()),
            Self::Text(text) => Value::Text(text.clone()),
            Self::Sum(term, by) => term.of(row).map(|value| Value::Integer(value + i128::from(*by))),
            Self::Product(term, by) => term.of(row).map(|value| Value::Integer(value * i128::from(*by))),
            Self::Quotient(term, by) => term.of(row).map(|value| Value::Float(value as f64 / *by as f64)),
            Self::Remainder(_, 0) => Value::Null,
            Self::Remainder(term, by) => term.of(row).map(|value| Value::Integer(value % i128::from(*by))),
            Self::Length(term) => term.of(row).text(|text| Value::Integer(text.chars().count() as i128)),
            Self::Lower(term) => term.of(row).text(|text| Value::Text(text.to_lowercase())),
        }
    }
}

impl Value {
    fn map(self, change: impl Fn(i128) -> Self) -> Self {
        match self {
            Self::Integer(value) => change(value),
            _ => Self::Null,
        }
    }

    fn text(self, change: impl Fn(&str) -> Self) -> Self {
        match self {
            Self::Text(text) => change(&text),
            _ => Self::Null,
        }
    }

    /// The order, with NaN above all; `None` for null.
    fn order(&self, other: &Self) -> Option<Ordering> {
        Some(match (self, other) {
            (Self::Null, _) | (_, Self::Null) => return None,
            (Self::Integer(a), Self::Integer(b)) => a.cmp(b),
            (Self::Text(a), Self::Text(b)) => a.chars().cmp(b.chars()),
            (Self::Float(a), Self::Float(b)) => match (a.is_nan(), b.is_nan()) {
                (true, true) => Ordering::Equal,
                (true, false) => Ordering::Greater,
                (false, true) => Ordering::Less,
                (false, false) => a.partial_cmp(b).unwrap(),
            },
            (Self::Integer(a), Self::Float(b)) => against(*a, *b),
            (Self::Float(a), Self::Integer(b)) => against(*b, *a).reverse(),
            other => panic!("{other:?}"),
        })
    }
}

/// An integer against a number: by digits of both.
fn against(integer: i128, float: f64) -> Ordering {
    if float.is_nan() || float == f64::INFINITY {
        return Ordering::Less;
    }
    if float == f64::NEG_INFINITY {
        return Ordering::Greater;
    }
    let text = format!("{float:.1100}");
    let (whole, fraction) = text.split_once('.').unwrap();
    let negative = whole.starts_with('-');
    let Ok(whole) = whole.parse::<i128>() else { return if negative { Ordering::Greater } else { Ordering::Less } };
    match integer.cmp(&whole) {
        Ordering::Equal if fraction.bytes().any(|digit| digit != b'0') => {
            if negative {
                Ordering::Greater
            } else {
                Ordering::Less
            }
        }
        order => order,
    }
}

/// `like` by recursion over characters.
fn is_like(text: &[char], pattern: &[char]) -> bool {
    match pattern.split_first() {
        None => text.is_empty(),
        Some(('%', rest)) => (0..=text.len()).any(|skipped| is_like(&text[skipped..], rest)),
        Some(('_', rest)) => !text.is_empty() && is_like(&text[1..], rest),
        Some((character, rest)) => text.first() == Some(character) && is_like(&text[1..], rest),
    }
}

fn compare(op: &str, order: Ordering) -> bool {
    match op {
        "=" => order == Ordering::Equal,
        "<>" => order != Ordering::Equal,
        "<" => order == Ordering::Less,
        "<=" => order != Ordering::Greater,
        ">" => order == Ordering::Greater,
        _ => order != Ordering::Less,
    }
}

impl Test {
    fn sql(&self) -> String {
        let joined =
            |all: &[Self], word: &str| all.iter().map(|one| format!("({})", one.sql())).collect::<Vec<_>>().join(word);
        match self {
            Self::Compare(a, op, b) => format!("{} {op} {}", a.sql(), b.sql()),
            Self::In(term, list, negated) => {
                let list = list.iter().map(Term::sql).collect::<Vec<_>>().join(", ");
                format!("{} {}in ({list})", term.sql(), if *negated { "not " } else { "" })
            }
            Self::Between(term, low, high) => format!("{} between {} and {}", term.sql(), low.sql(), high.sql()),
            Self::Like(term, pattern, folds) => {
                format!("{} {}like '{}'", term.sql(), if *folds { "i" } else { "" }, pattern.replace('\'', "''"))
            }
            Self::IsNull(term, negated) => format!("{} is {}null", term.sql(), if *negated { "not " } else { "" }),
            Self::Bool => "b".to_owned(),
            Self::Not(one) => format!("not ({})", one.sql()),
            Self::And(all) => joined(all, " and "),
            Self::Or(all) => joined(all, " OR "),
            Self::Is(one, value) => format!("({}) is {value}", one.sql()),
        }
    }

    /// True, false or unknown.
    fn of(&self, row: &Row) -> Option<bool> {
        let equal = |a: &Value, b: &Value| a.order(b).map(|order| order == Ordering::Equal);
        match self {
            Self::Compare(a, op, b) => a.of(row).order(&b.of(row)).map(|order| compare(op, order)),
            Self::In(term, list, negated) => {
                let value = term.of(row);
                let any = any(list.iter().map(|one| equal(&value, &one.of(row))));
                any.map(|any| any != *negated)
            }
            Self::Between(term, low, high) => {
                let value = term.of(row);
                let above = value.order(&low.of(row)).map(|order| order != Ordering::Less);
                let below = value.order(&high.of(row)).map(|order| order != Ordering::Greater);
                all([above, below].into_iter())
            }
            Self::Like(term, pattern, folds) => match term.of(row) {
                Value::Text(text) => {
                    let fold = |text: &str| if *folds { text.to_lowercase() } else { text.to_owned() };
                    let chars = |text: &str| fold(text).chars().collect::<Vec<_>>();
                    Some(is_like(&chars(&text), &chars(pattern)))
                }
                _ => None,
            },
            Self::IsNull(term, negated) => Some(matches!(term.of(row), Value::Null) != *negated),
            Self::Bool => row.b,
            Self::Not(one) => one.of(row).map(|is| !is),
            Self::And(list) => all(list.iter().map(|one| one.of(row))),
            Self::Or(list) => any(list.iter().map(|one| one.of(row))),
            Self::Is(one, value) => Some(one.of(row) == Some(*value)),
        }
    }
}

fn any(values: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let values: Vec<Option<bool>> = values.collect();
    if values.contains(&Some(true)) {
        return Some(true);
    }
    (!values.contains(&None)).then_some(false)
}

fn all(values: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    any(values.map(|one| one.map(|is| !is))).map(|is| !is)
}

fn words() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec![
            "",
            "a",
            "ab",
            "Ab",
            "aXb",
            "ß",
            "Ü",
            "ü",
            "\u{1F600}",
            "%",
            "_",
            "\\",
            "it's",
            "a\nb",
            "z"
        ])
        .prop_map(str::to_owned),
        "[aAbB%_]{0,4}",
    ]
}

fn integers() -> impl Strategy<Value = i64> {
    prop_oneof![
        -3..4_i64,
        prop::sample::select(vec![
            i64::MIN,
            i64::MAX,
            i64::MAX - 1,
            1 << 53,
            (1 << 53) + 1,
            -(1 << 53) - 1,
            1 << 24,
            (1 << 24) + 1,
            127,
            -128,
            128
        ]),
        any_integer(),
    ]
}

fn any_integer() -> impl Strategy<Value = i64> {
    prop::num::i64::ANY
}

fn floats() -> impl Strategy<Value = f64> {
    prop_oneof![
        (-3..4_i32).prop_map(f64::from),
        prop::sample::select(vec![
            f64::NAN,
            -f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
            0.0,
            -0.0,
            0.5,
            9_007_199_254_740_992.0,
            9_223_372_036_854_775_808.0,
            -9_223_372_036_854_775_808.0,
            1e300,
            16_777_216.0,
            0.1
        ]),
        prop::num::f64::NORMAL,
    ]
}

fn maybe<T: std::fmt::Debug>(strategy: impl Strategy<Value = T>) -> impl Strategy<Value = Option<T>> {
    prop::option::weighted(0.8, strategy)
}

#[expect(clippy::cast_possible_truncation, reason = "rounds")]
fn narrow(float: f64) -> f32 {
    float as f32
}

fn row() -> impl Strategy<Value = Row> {
    let unsigned = prop_oneof![0..4_u64, prop::sample::select(vec![u64::MAX, 1 << 63, (1 << 63) - 1, (1 << 53) + 1])];
    let columns = (
        maybe(integers()),
        maybe(unsigned),
        maybe(prop::num::i8::ANY),
        maybe(floats()),
        maybe(floats()),
        maybe(words()),
        maybe(words()),
        maybe(prop::bool::ANY),
    );
    columns.prop_map(|(i, u, s, f, g, t, d, b)| Row { i, u, s, f, g: g.map(narrow), t, d, b })
}

fn numbers() -> impl Strategy<Value = Term> {
    let small = || Box::new(Term::Column("s"));
    prop_oneof![
        3 => prop::sample::select(vec!["i", "u", "s", "f", "g"]).prop_map(Term::Column),
        2 => integers().prop_map(Term::Integer),
        1 => (-9..9_i64).prop_map(move |by| Term::Sum(small(), by)),
        1 => (-9..9_i64).prop_map(move |by| Term::Product(small(), by)),
        1 => (1..9_i64).prop_map(move |by| Term::Quotient(small(), by)),
        1 => (-5..5_i64).prop_map(move |by| Term::Remainder(small(), by)),
        1 => prop::sample::select(vec!["t", "d"]).prop_map(|name| Term::Length(Box::new(Term::Column(name)))),
    ]
}

fn texts() -> impl Strategy<Value = Term> {
    prop_oneof![
        2 => prop::sample::select(vec!["t", "d"]).prop_map(Term::Column),
        1 => prop::sample::select(vec!["t", "d"]).prop_map(|name| Term::Lower(Box::new(Term::Column(name)))),
        2 => words().prop_map(Term::Text),
    ]
}

/// A text that is not a literal.
fn text_columns() -> impl Strategy<Value = Term> {
    prop::sample::select(vec!["t", "d"]).prop_map(Term::Column)
}

fn tests() -> impl Strategy<Value = Test> {
    let op = || prop::sample::select(vec!["=", "<>", "<", "<=", ">", ">="]);
    let leaf = prop_oneof![
        4 => (numbers(), op(), numbers()).prop_map(|(a, op, b)| Test::Compare(a, op, b)),
        2 => (texts(), op(), texts()).prop_map(|(a, op, b)| Test::Compare(a, op, b)),
        1 => (numbers(), prop::collection::vec(numbers(), 1..4), prop::bool::ANY).prop_map(|(a, list, not)| Test::In(a, list, not)),
        1 => (texts(), prop::collection::vec(texts(), 1..4), prop::bool::ANY).prop_map(|(a, list, not)| Test::In(a, list, not)),
        1 => (numbers(), numbers(), numbers()).prop_map(|(a, b, c)| Test::Between(a, b, c)),
        1 => (text_columns(), "[aAbBxX%_ü\\\\]{0,5}", prop::bool::ANY).prop_map(|(a, pattern, folds)| Test::Like(a, pattern, folds)),
        1 => (numbers(), prop::bool::ANY).prop_map(|(a, not)| Test::IsNull(a, not)),
        1 => Just(Test::Bool),
    ];
    leaf.prop_recursive(3, 16, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(|one| Test::Not(Box::new(one))),
            prop::collection::vec(inner.clone(), 1..4).prop_map(Test::And),
            prop::collection::vec(inner.clone(), 1..4).prop_map(Test::Or),
            (inner, prop::bool::ANY).prop_map(|(one, value)| Test::Is(Box::new(one), value)),
        ]
    })
}

fn batch(rows: &[Row]) -> RecordBatch {
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("i", Arc::new(rows.iter().map(|row| row.i).collect::<Int64Array>())),
        ("u", Arc::new(rows.iter().map(|row| row.u).collect::<UInt64Array>())),
        ("s", Arc::new(rows.iter().map(|row| row.s).collect::<Int8Array>())),
        ("f", Arc::new(rows.iter().map(|row| row.f).collect::<Float64Array>())),
        ("g", Arc::new(rows.iter().map(|row| row.g).collect::<Float32Array>())),
        ("t", Arc::new(rows.iter().map(|row| row.t.as_deref()).collect::<StringArray>())),
        ("d", Arc::new(rows.iter().map(|row| row.d.as_deref()).collect::<DictionaryArray<Int8Type>>())),
        ("b", Arc::new(rows.iter().map(|row| row.b).collect::<BooleanArray>())),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn kernels_agree_with_single_rows(rows in prop::collection::vec(row(), 1..30), test in tests(), cut in 0..30_usize) {
        let text = test.sql();
        let predicate = Predicate::parse(&text).unwrap();
        prop_assert_eq!(&Predicate::parse(&predicate.to_string()).unwrap(), &predicate);
        let whole = batch(&rows);
        // A slice, too: kernels see offsets.
        let cut = cut.min(rows.len());
        for (batch, rows) in [(whole.clone(), &rows[..]), (whole.slice(cut, rows.len() - cut), &rows[cut..])] {
            let mask = predicate.bind(batch.schema_ref()).unwrap().mask(&batch).unwrap();
            for (number, row) in rows.iter().enumerate() {
                prop_assert_eq!(mask.value(number), test.of(row) == Some(true), "{} in {:?}", text, row);
            }
        }
    }
}
