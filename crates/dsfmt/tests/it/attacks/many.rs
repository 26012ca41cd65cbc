//! Excessive numbers of variables, dimensions and names.

use container_core::testkit::{Stopwatch, cases};
use container_core::{Limits, OpenOptions, VerifyOptions};
use dsfmt::{Builder, Field, Reader, Select, Selection};

use super::members::variable_error;
use super::{file, open};

#[test]
fn bounds_generated_names() {
    // 60,000 names of 60,000 bytes each would be 3.6 GB.
    let (name, ones) = ("n".repeat(60_000), vec!["1"; 100].join(","));
    let reader = open(&format!(r#"{{"{name}": {{".size": [{ones}], ".len": 8}}, "n": {{".size": [1]}}}}"#), &[0; 8]);
    let problem = reader.variable(&name).unwrap().problem().unwrap();
    assert_eq!(
        problem.detail(),
        "its 100 dimensions have no names (.dims), and its own name is too long to generate them"
    );
    assert_eq!(reader.variable("n").unwrap().dimensions(), ["n_1"]);
    let many = vec!["1"; 60_000].join(",");
    assert_eq!(
        variable_error(&format!(r#"".size": [{many}], ".len": 8"#)),
        "it has 60000 dimensions, more than the limit 128"
    );
    let names = vec!["\"a\""; 128].join(",");
    let ones = vec!["1"; 128].join(",");
    let reader = open(&format!(r#"{{"x": {{".dims": [{names}], ".size": [{ones}], ".len": 8}}}}"#), &[0; 8]);
    assert_eq!(reader.variable("x").unwrap().read().unwrap().shape().len(), 128);
}

/// A million variables are opened; one more than the limit is not.
#[test]
fn a_million_variables() {
    let count = cases(100_000, 1_000_000);
    let header = many(count);
    let reader = open(&header, b"");
    assert_eq!(reader.len(), count);
    let last = (count - 1).to_string();
    assert_eq!(reader.variable(&last).unwrap().dimensions(), [format!("{last}_1")]);
    let error = reader.variable("no").unwrap_err().to_string();
    assert!(error.starts_with("ds: unknown variable \"no\" (known: \"0\", \"1\", "), "{error}");
    assert!(error.ends_with(&format!("\"19\", and {} more)", count - 20)), "{error}");
    let few = OpenOptions::default().with_limits(Limits::default().with_columns(count as u64 - 1));
    let error = Reader::from_source(file(&header, b"").into(), few).unwrap_err();
    assert_eq!(error.to_string(), format!("ds: number of variables {count} exceeds the limit {last}"));
}

fn many(variables: usize) -> String {
    let members: Vec<String> = (0..variables).map(|n| format!("\"{n}\":{{\".size\":[0]}}")).collect();
    format!("{{{}}}", members.join(","))
}

/// Would take minutes with quadratic comparisons.
#[test]
fn handles_many_names() {
    const MANY: usize = 100_000;
    let reader = open(&many(MANY), b"");
    assert_eq!(reader.dimensions().len(), MANY);
    // A dimension of the last variable only.
    let selection = Selection::new().with(format!("{}_1", MANY - 1), Select::all());
    assert_eq!(reader.variables().filter(|variable| variable.select(&selection).is_ok()).count(), MANY);
    // One name many times is one variable.
    let reader = open(&format!("{{{}}}", vec!["\"x\":{\".size\":[0]}"; MANY].join(",")), b"");
    assert_eq!(reader.len(), 1);
    let attributes: Vec<String> = (0..MANY).map(|n| format!("\"a{n}\":{n}")).collect();
    let reader = open(&format!("{{\"x\":{{\".size\":[0],{0}}},\".\":{{{0}}}}}", attributes.join(",")), b"");
    let mut copy = Builder::new();
    copy.copy_attributes(&reader).field("x", Field::copy(&reader.variable("x").unwrap()));
    copy.write_to(&mut std::io::sink()).unwrap();
    assert_eq!((reader.attributes().count(), reader.variable("x").unwrap().attributes().count()), (MANY, MANY));
}

/// Ten thousand variables over the same million bytes: one can be read, scans of all are rejected.
#[test]
fn limits_variables_that_share_bytes() {
    const MANY: u64 = 10_000;
    const EACH: u64 = 1_000_000;
    let member = |n: u64| format!(r#""{n}":{{".size":[{EACH}],".dims":["t"],".len":{EACH},".type":"int8"}}"#);
    let header = format!("{{{}}}", (0..MANY).map(member).collect::<Vec<_>>().join(","));
    let reader = open(&header, &vec![7; EACH as usize]);
    assert_eq!(reader.variable("7777").unwrap().values::<i8>().unwrap()[999_999], 7);
    let all = format!("total declared bytes of the variables {} exceeds the limit ", MANY * EACH);
    let four = reader.source().len() * 4;
    let check_limit = |error: dsfmt::Error| assert_eq!(error.to_string(), format!("ds: {all}{four}"));
    check_limit(reader.check_declared_bytes(reader.variables()).unwrap_err());
    assert!(reader.check_declared_bytes(reader.variables().take(5)).is_ok());
    let mut builder = Builder::new();
    for variable in reader.variables() {
        builder.field(variable.name(), Field::copy(&variable));
    }
    check_limit(builder.write_to(&mut Vec::new()).unwrap_err());
    let mut found = Vec::new();
    reader.verify(&VerifyOptions::default(), &mut |finding| found.push(finding.error.to_string())).unwrap();
    assert_eq!(found.iter().filter(|finding| finding.contains(&all)).count(), 1);
    assert_eq!(found.iter().filter(|finding| finding.contains("its bytes overlap those of")).count(), 9_999);
    // Strings would be scanned.
    let member = |n: u64| format!(r#""{n}":{{".size":[{}],".len":{EACH},".type":"unicode"}}"#, EACH / 8);
    let header = format!("{{{}}}", (0..MANY).map(member).collect::<Vec<_>>().join(","));
    let reader = open(&header, &vec![0; EACH as usize]);
    let begun = Stopwatch::start();
    reader.verify(&VerifyOptions::default(), &mut |_| {}).unwrap();
    assert!(begun.elapsed().as_secs() < 20, "{:?}", begun.elapsed());
}
