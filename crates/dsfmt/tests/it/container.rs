//! ds files as containers: tables, columns, rows.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use container_core::testkit::{every_bit_flip_is_handled, every_source_agrees};
use container_core::{
    Container, Format, Input, OpenOptions, Probe, Recognition, Result, Scan, Source, Table, VerifyOptions,
};
use dsfmt::container::{DsContainer, FORMAT, FORMAT_ISO, FORMAT_JULIAN};
use dsfmt::{Array, Builder, DataType, Field, JsonBuf, Mask, Reader, Values};

fn bytes(builder: &Builder<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    builder.write_to(&mut bytes).unwrap();
    bytes
}

fn open(source: impl Into<Source>) -> DsContainer {
    DsContainer::new(Reader::from_source(source.into(), OpenOptions::default()).unwrap())
}

fn lines_of(table: &dyn Table, scan: &Scan) -> Result<Vec<String>> {
    let mut rows = table.rows(scan)?;
    let mut lines = Vec::new();
    while rows.advance()? {
        let mut line = Vec::new();
        rows.json(&mut line)?;
        lines.push(String::from_utf8(line).unwrap());
    }
    Ok(lines)
}

fn lines(container: &dyn Container, table: &str) -> Vec<String> {
    let table = container.tables().into_iter().find(|found| found.name() == table).unwrap();
    lines_of(table, &Scan::default()).unwrap()
}

/// A dataset with every kind of variable.
fn sample() -> Builder<'static> {
    let mut builder = Builder::new();
    let array = |shape: &[u64], values: Values<'static>| Array::new(shape, values).unwrap();
    builder.attribute("title", "x");
    builder
        .field("a", Field::new(array(&[3], vec![0.1f32, f32::NAN, f32::NEG_INFINITY].into())).with_dimensions(["t"]));
    let missing = Mask::from_bools([false, true, false, false, false, true]);
    let grid = array(&[3, 2], vec![1i64 << 60, 0, 3, 4, 5, 0].into()).with_mask(missing).unwrap();
    let grid =
        Field::new(grid).with_dimensions(["t", "s"]).with_attribute("units", "m").with_attribute("fill", f64::NAN);
    builder.field("b", grid);
    let names: Values<'_> = ["\u{fc}", "", "c"].into_iter().collect();
    builder.field("c", Field::new(array(&[3], names)).with_dimensions(["t"]));
    let raw: Values<'_> = [&b"\xff\x00"[..], b""].into_iter().collect();
    builder.field("d", Field::new(array(&[2], raw)).with_dimensions(["s"]));
    builder.field("e", Field::empty().with_type(Some(DataType::Int8)));
    builder.field("f", Field::new(array(&[], vec![true].into())).with_dimensions::<String>([]));
    builder.field("g", Field::new(array(&[0, 2], Vec::<u8>::new().into())).with_dimensions(["none", "s"]));
    builder
}

#[test]
fn groups_variables_by_first_dimension() {
    let container = open(bytes(&sample()));
    let tables: Vec<_> =
        container.tables().iter().map(|table| (table.name().to_owned(), table.len().unwrap())).collect();
    let named = |name: &str, rows| (name.to_owned(), rows);
    assert_eq!(tables, [named("t", 3), named("s", 2), named("none", 0), named("scalars", 1)]);
    let table = container.tables()[0];
    let kinds: Vec<_> = table.columns().iter().map(|column| format!("{} {}", column.name, column.kind)).collect();
    assert_eq!(kinds, ["a float32", "b int64[s=2]", "c unicode"]);
    assert_eq!(
        lines(&container, "t"),
        [
            r#"{"a":0.1,"b":[1152921504606846976,null],"c":"ü"}"#,
            r#"{"a":"NaN","b":[3,4],"c":""}"#,
            r#"{"a":"-Infinity","b":[5,null],"c":"c"}"#,
        ]
    );
    assert_eq!(lines(&container, "s"), [r#"{"d":{"$bytes":"/wA="}}"#, r#"{"d":{"$bytes":""}}"#]);
    assert_eq!(lines(&container, "scalars"), [r#"{"e":null,"f":true}"#]);
    assert_eq!(lines(&container, "none"), Vec::<String>::new());
    let scan = Scan::default().with_columns([2, 0]).with_rows(1..9).with_missing_as_null(true);
    assert_eq!(lines_of(table, &scan).unwrap(), [r#"{"c":"","a":null}"#, r#"{"c":"c","a":"-Infinity"}"#]);
    let details = serde_json::to_value(container.details()).unwrap();
    assert_eq!(details["dimensions"], serde_json::json!({"t": 3, "s": 2, "none": 0}));
    assert_eq!(details["attributes"], serde_json::json!({"title": "x"}));
    let about = serde_json::to_value(table.column_details(1).unwrap()).unwrap();
    assert_eq!(about, serde_json::json!({"attributes": {"units": "m", "fill": "NaN"}}));
    let summary = table.column_summary(1);
    assert_eq!((summary["missing"].as_bool(), summary["shape"].to_string()), (Some(true), "[3,2]".to_owned()));
}

#[test]
fn rejects_invalid_scans() {
    let container = open(bytes(&sample()));
    let table = container.tables()[0];
    let asked = |scan: Scan| lines_of(table, &scan).unwrap_err().to_string();
    assert_eq!(asked(Scan::default().with_columns([7])), "ds: unknown column 7");
    assert_eq!(asked(Scan::default().with_rows(4..9)), "ds: row 4 is out of range: the table has 3 rows");
    assert!(table.find("x").unwrap_err().to_string().starts_with("ds: ds rows have no keys"));
    assert!(table.column_details(3).is_err());
    let mut rows = table.rows(&Scan::default()).unwrap();
    assert!(rows.json(&mut Vec::new()).is_err() && rows.losses().is_empty());
    while rows.advance().unwrap() {}
    assert!(!rows.advance().unwrap() && rows.json(&mut Vec::new()).is_err());
}

#[test]
fn lists_unreadable_columns_with_reason() {
    let header = r#"{"a": {".dims": ["t"], ".size": [2], ".type": "int8", ".offset": 0, ".len": 2},
        "b": {".dims": ["t"], ".size": [3], ".type": "int8", ".offset": 2, ".len": 3},
        "c": {".dims": ["t"], ".size": [2], ".type": "int8", ".offset": 100, ".len": 2},
        "scalars": {".dims": ["scalars"], ".size": [1], ".type": "int8", ".offset": 0, ".len": 1},
        "odd": {".type": "complex"}}"#;
    let file = format!("ds-1.0\n{}\n\x01\x02\x03\x04\x05", header.replace('\n', ""));
    let container = open(file.into_bytes());
    let tables = container.tables();
    let names: Vec<_> = tables.iter().map(|table| table.name()).collect();
    assert_eq!(names, ["t", "scalars", "scalars#2"]);
    let why: Vec<_> = tables[0].columns().iter().map(|column| column.unreadable.clone().unwrap_or_default()).collect();
    assert_eq!(
        why,
        ["", "dimension \"t\" has size 3, in \"a\" 2", "its 2 bytes at body offset 100 exceed the body of 5 bytes"]
    );
    assert_eq!(lines(&container, "t"), [r#"{"a":1}"#, r#"{"a":2}"#]);
    let mut rows = tables[0].rows(&Scan::default()).unwrap();
    assert!(rows.advance().unwrap());
    let losses: Vec<_> = rows.losses().iter().map(ToString::to_string).collect();
    assert_eq!(losses[0], "column left out (dimension \"t\" has size 3, in \"a\" 2) (column \"b\")");
    assert_eq!(losses.len(), 2);
    let error = lines_of(tables[0], &Scan::default().with_columns([2])).unwrap_err().to_string();
    assert!(
        error.starts_with("ds: the column cannot be read: its 2 bytes") && error.ends_with("(column \"c\")"),
        "{error}"
    );
    // An empty dataset still has a table.
    let empty = open(&b"ds-1.0\n{}\n"[..]);
    assert_eq!((empty.tables().len(), empty.tables()[0].len()), (1, Some(0)));
}

#[test]
fn shows_times_in_requested_form() {
    let mut builder = Builder::new();
    let times = |values: Values<'static>| Field::new(Array::new([2], values).unwrap()).with_dimensions(["t"]);
    builder.field("jd", times(vec![2_451_545.25, f64::NAN].into()).with_time(true));
    builder.field("cf", times(vec![36i32, 60].into()).with_attribute("units", "hours since 2001-02-28"));
    let model = times(vec![0.5f32, 1.5].into()).with_attribute("units", "days since 2001-02-29");
    builder.field("model", model.with_attribute("calendar", "360_day"));
    builder.field("odd", times(vec![1i8, 2].into()).with_attribute("units", "months since 2001-01-01"));
    builder.field("plain", times(vec![1i8, 2].into()).with_attribute("units", "m"));
    let packed = times(vec![1i8, 2].into()).with_attribute("units", "days since 2001-01-01");
    builder.field("tenths", packed.with_attribute("scale_factor", 0.1));
    let file = bytes(&builder);
    let ask = |format: &dyn Format| {
        let container = format.open(&Input::Stream(Source::from(file.clone())), &OpenOptions::default()).unwrap();
        let tables = container.tables();
        let mut rows = tables[0].rows(&Scan::default()).unwrap();
        let mut lines = Vec::new();
        while rows.advance().unwrap() {
            rows.json(&mut lines).unwrap();
            lines.push(b'\n');
        }
        let losses: Vec<_> = rows.losses().iter().map(ToString::to_string).collect();
        (String::from_utf8(lines).unwrap(), losses)
    };
    let (stored, losses) = ask(FORMAT);
    assert!(stored.starts_with(r#"{"cf":36,"jd":2451545.25,"model":0.5,"odd":1,"plain":1,"tenths":1}"#), "{stored}");
    assert_eq!(losses, Vec::<String>::new());
    let (iso, losses) = ask(FORMAT_ISO);
    assert_eq!(
        iso,
        "{\"cf\":\"2001-03-01T12:00:00\",\"jd\":\"2000-01-01T18:00:00\",\"model\":\"2001-02-29T12:00:00\",\"odd\":1,\"plain\":1,\"tenths\":1}\n\
         {\"cf\":\"2001-03-02T12:00:00\",\"jd\":\"NaN\",\"model\":\"2001-02-30T12:00:00\",\"odd\":2,\"plain\":2,\"tenths\":2}\n"
    );
    let reason = "times shown as stored (months have no fixed length in calendar standard (supported in: \
                   calendar 360_day)) (column \"odd\")";
    let packed =
        "times shown as stored (the numbers are packed with scale_factor, add_offset or _Unsigned) (column \"tenths\")";
    assert_eq!(losses, [reason, packed]);
    let (julian, losses) = ask(FORMAT_JULIAN);
    assert_eq!(
        julian,
        "{\"cf\":2451970.0,\"jd\":2451545.25,\"model\":null,\"odd\":1,\"plain\":1,\"tenths\":1}\n\
         {\"cf\":2451971.0,\"jd\":\"NaN\",\"model\":null,\"odd\":2,\"plain\":2,\"tenths\":2}\n"
    );
    assert_eq!(losses[0], "time without a Gregorian day shown as null (2 times, first row 0, column \"model\")");
}

/// Counts the bytes of each read.
struct Counting(Vec<u8>, Arc<AtomicU64>);

impl container_core::ReadAt for Counting {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> std::io::Result<()> {
        self.1.fetch_max(buffer.len() as u64, Ordering::Relaxed);
        let start = usize::try_from(offset).unwrap();
        buffer.copy_from_slice(&self.0[start..start + buffer.len()]);
        Ok(())
    }
}

#[test]
fn streams_wide_rows() {
    let (rows, inner, wide) = (2u64, 3u64, 200_000u64);
    let count = rows * inner * wide;
    let values: Vec<i32> = (0..i32::try_from(count).unwrap()).collect();
    let mask = Mask::from_bools((0..count).map(|n| n % 7 == 0));
    let array = |values: Vec<i32>| Array::new([rows, inner, wide], values).unwrap();
    let mut builder = Builder::new();
    builder.field("plain", Field::new(array(values.clone())).with_dimensions(["t", "y", "x"]));
    builder.field("masked", Field::new(array(values).with_mask(mask).unwrap()).with_dimensions(["t", "y", "x"]));
    let most = Arc::new(AtomicU64::new(0));
    let container = open(Source::new(Counting(bytes(&builder), most.clone())));
    let found = lines(&container, "t");
    assert!(most.load(Ordering::Relaxed) <= 300_000, "{most:?}");
    let expected = |row: u64, masked: bool| {
        let list = |y: u64| {
            let start = (row * inner + y) * wide;
            let item = |n: u64| if masked && n.is_multiple_of(7) { "null".to_owned() } else { n.to_string() };
            format!("[{}]", (start..start + wide).map(item).collect::<Vec<_>>().join(","))
        };
        format!("[{}]", (0..inner).map(list).collect::<Vec<_>>().join(","))
    };
    for (row, line) in (0..).zip(&found) {
        let line_expected = format!("{{\"masked\":{},\"plain\":{}}}", expected(row, true), expected(row, false));
        assert!(*line == line_expected, "row {row}");
    }
    assert_eq!(found.len() as u64, rows);
}

#[test]
fn recognizes_content_before_name() {
    let recognize = |path: &str, head: &[u8]| FORMAT.recognize(&Probe::new(Some(path.as_ref()), head));
    assert_eq!(recognize("x.bin", b"ds-1.0\n{}"), Recognition::Content);
    assert_eq!(recognize("x.bin", b"ds-2.0\n{}"), Recognition::Content);
    assert_eq!(recognize("x.DS", b"something"), Recognition::Name);
    assert_eq!(recognize("x.bin", b"ds-"), Recognition::No);
    let error = FORMAT.open(&Input::Stream(Source::from(&b"ds-2.0\n{}\n"[..])), &OpenOptions::default()).err().unwrap();
    assert!(error.to_string().starts_with("ds: unsupported version \"2.0\""), "{error}");
}

/// Everything readable, as text; problems are included.
fn everything(source: Source) -> Result<String> {
    let container = DsContainer::new(Reader::from_source(source, OpenOptions::default())?);
    let mut all = serde_json::to_string(&container.details()).unwrap();
    for table in container.tables() {
        for (index, column) in table.columns().iter().enumerate() {
            all.push_str(&format!("{column:?} {:?} {:?}", table.column_summary(index), table.column_details(index)));
        }
        all.push_str(&format!(
            "{:?}",
            lines_of(table, &Scan::default().with_rows(0..20)).map_err(|error| error.to_string())
        ));
    }
    container.verify(&VerifyOptions::default(), &mut |finding| all.push_str(&finding.error.to_string()))?;
    for variable in container.reader().variables() {
        all.push_str(&format!("{:?}", variable.stats().map_err(|error| error.to_string())));
    }
    Ok(all)
}

#[test]
fn tolerates_damage() {
    let mut builder = sample();
    builder.attribute("nested", JsonBuf::parse(r#"{"a": [1, NaN, "x"]}"#).unwrap());
    let full = bytes(&builder);
    every_source_agrees(&full, everything);
    let flips = every_bit_flip_is_handled(&full, |bytes| everything(Source::from(bytes.to_vec())).map(drop));
    assert!(flips > 0);
    for end in 0..full.len() {
        let _ = everything(Source::from(full[..end].to_vec()));
    }
}
