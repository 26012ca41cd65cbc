//! Writes datasets in all ways: at once, by streams, by copies; and with failures in between.

use std::path::Path;

use container_core::Source;
use dsfmt::{
    Array, Builder, DataType, Endian, Field, Mask, OutputOptions, Overwrite, Reader, Result, Strings, SyncPolicy,
    Values,
};
use proptest::prelude::*;

fn options() -> OutputOptions {
    OutputOptions::default().with_sync(SyncPolicy::Never)
}

/// Pseudorandom numbers.
fn number(seed: u64, index: u64) -> u64 {
    (seed ^ index).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ seed.rotate_left(17)
}

fn values(data_type: DataType, seed: u64, elements: std::ops::Range<u64>) -> Values<'static> {
    let numbers = elements.map(|index| number(seed, index) >> 7);
    let texts = numbers.clone().map(|n| "\u{fc}x\u{1f600}".repeat((n % 5) as usize) + &n.to_string());
    match data_type {
        DataType::Float32 => numbers.map(|n| n as f32).collect::<Vec<_>>().into(),
        DataType::Float64 => numbers.map(|n| n as f64).collect::<Vec<_>>().into(),
        DataType::Int8 => numbers.map(|n| n as i8).collect::<Vec<_>>().into(),
        DataType::Int16 => numbers.map(|n| n as i16).collect::<Vec<_>>().into(),
        DataType::Int32 => numbers.map(|n| n as i32).collect::<Vec<_>>().into(),
        DataType::Int64 => numbers.map(|n| n as i64).collect::<Vec<_>>().into(),
        DataType::Uint8 => numbers.map(|n| n as u8).collect::<Vec<_>>().into(),
        DataType::Uint16 => numbers.map(|n| n as u16).collect::<Vec<_>>().into(),
        DataType::Uint32 => numbers.map(|n| n as u32).collect::<Vec<_>>().into(),
        DataType::Uint64 => numbers.collect::<Vec<_>>().into(),
        DataType::Bool => numbers.map(|n| n % 3 == 0).collect::<Vec<_>>().into(),
        DataType::Unicode => texts.collect::<Vec<_>>().iter().map(String::as_str).collect(),
        DataType::Str => Values::Str(
            numbers
                .map(|n| n.to_le_bytes()[..(n % 9) as usize].to_vec())
                .collect::<Vec<_>>()
                .iter()
                .map(Vec::as_slice)
                .collect::<Strings<'_>>(),
        ),
    }
}

/// A variable to write in any way.
#[derive(Debug, Clone)]
struct Made {
    data_type: DataType,
    shape: Vec<u64>,
    endian: Endian,
    /// A mask, possibly without any set bit.
    masked: Option<bool>,
    seed: u64,
    /// Rows per append.
    step: u64,
}

impl Made {
    fn rows(&self, rows: std::ops::Range<u64>) -> Array<'static> {
        let row: u64 = self.shape.iter().skip(1).product();
        let mut shape = self.shape.clone();
        if let Some(first) = shape.first_mut() {
            *first = rows.end - rows.start;
        }
        let elements = rows.start * row..rows.end * row;
        let array = Array::new(shape, values(self.data_type, self.seed, elements.clone())).unwrap();
        match self.masked {
            None => array,
            Some(some) => {
                let missing = elements.map(|index| some && number(self.seed ^ 77, index) >> 9 & 3 == 0);
                array.with_mask(Mask::from_bools(missing)).unwrap()
            }
        }
    }

    fn all(&self) -> Array<'static> {
        self.rows(0..self.shape.first().copied().unwrap_or(1))
    }

    fn dress<'a>(&self, field: Field<'a>) -> Field<'a> {
        field.with_attribute("seed", self.seed).with_endian(self.endian)
    }

    fn stream(&self) -> Field<'static> {
        self.dress(Field::stream(self.data_type, self.shape.clone()).with_missing(self.masked.is_some()))
    }
}

fn made() -> impl Strategy<Value = Made> {
    let shape = prop_oneof![
        Just(vec![]),
        prop::collection::vec(0..5u64, 1..4),
        (0..70u64).prop_map(|n| vec![n]),
        (0..30u64, 1..9u64).prop_map(|(n, m)| vec![n, m]),
    ];
    let endian = prop_oneof![Just(Endian::Big), Just(Endian::Little)];
    let masked = prop_oneof![Just(None), Just(Some(false)), Just(Some(true))];
    (prop::sample::select(DataType::ALL.to_vec()), shape, endian, masked, any::<u64>(), 1..11u64).prop_map(
        |(data_type, shape, endian, masked, seed, step)| Made { data_type, shape, endian, masked, seed, step },
    )
}

/// Appends all rows of all streams in steps.
fn append(writer: &mut dsfmt::Writer<'_>, variables: &[(String, Made, bool)]) -> Result<()> {
    while let Some(name) = writer.current() {
        let made = &variables.iter().find(|(found, ..)| found == name).unwrap().1;
        let rows = made.shape.first().copied().unwrap_or(1);
        let at = rows - writer.rows_left();
        writer.append(&made.rows(at..rows.min(at + made.step)))?;
    }
    Ok(())
}

fn bytes(builder: &Builder<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    builder.write_to(&mut out).unwrap();
    out
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn all_ways_of_writing_agree(
        variables in prop::collection::vec((made(), any::<bool>()), 0..6),
    ) {
        let variables: Vec<(String, Made, bool)> =
            variables.into_iter().enumerate().map(|(n, (made, stream))| (format!("v{}", n * 7 % 6), made, stream)).collect();
        let (mut whole, mut streams) = (Builder::new(), Builder::new());
        for (name, made, stream) in &variables {
            whole.field(name.clone(), made.dress(Field::new(made.all())));
            let field = if *stream { made.stream() } else { made.dress(Field::new(made.all())) };
            streams.field(name.clone(), field);
        }
        let file = bytes(&whole);

        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("streams.ds");
        let mut unwritten = streams.clone().begin_unwritten(&path).unwrap();
        append(&mut unwritten, &variables).unwrap();
        prop_assert!(read_whole(&unwritten.into_reader().unwrap()) == file);
        let mut writer = streams.begin(&path, options()).unwrap();
        append(&mut writer, &variables).unwrap();
        let written = writer.finish().unwrap();
        prop_assert_eq!((written.variables, written.bytes), (variables.len(), file.len() as u64));
        prop_assert!(std::fs::read(&path).unwrap() == file, "{}", String::from_utf8_lossy(&file));

        let reader = Reader::open(&path).unwrap();
        let mut copies = Builder::new();
        copies.copy_attributes(&reader);
        for (name, made, _) in &variables {
            let variable = reader.variable(name).unwrap();
            let (read, expected) = (variable.read().unwrap(), made.all());
            prop_assert_eq!(read.shape(), expected.shape());
            prop_assert_eq!(variable.is_masked(), expected.missing() > 0);
            prop_assert_eq!(read.missing(), expected.missing());
            same(&read, &expected);
            copies.field(name.clone(), Field::copy(&variable));
        }
        prop_assert!(bytes(&copies) == file);
        let unwritten = copies.begin_unwritten(&path).unwrap().into_reader().unwrap();
        prop_assert!(read_whole(&unwritten) == file);
    }
}

/// The bytes of a dataset that was not written.
fn read_whole(reader: &Reader) -> Vec<u8> {
    reader.source().read(0..reader.source().len()).unwrap().to_vec()
}

/// Asserts equality of masks and of present values.
fn same(read: &Array<'_>, expected: &Array<'_>) {
    let missing = |array: &Array<'_>, index| array.mask().is_some_and(|mask| mask.is_missing(index));
    let texts = |array: &Array<'_>| -> Vec<String> {
        macro_rules! shown {
            ($($number:ty)*) => {$(
                if let Some(numbers) = array.values().as_slice::<$number>() {
                    return numbers.iter().map(|number| format!("{number:?}")).collect();
                }
            )*};
        }
        shown! { f32 f64 i8 i16 i32 i64 u8 u16 u32 u64 }
        match (array.values().as_bools(), array.values().as_strings()) {
            (Some(bools), _) => bools.iter().map(|bool| format!("{bool}")).collect(),
            (_, Some(strings)) => strings.iter().map(|string| format!("{string:x?}")).collect(),
            _ => panic!("of no type"),
        }
    };
    assert_eq!(read.data_type(), expected.data_type());
    for (index, (read_as, made_as)) in texts(read).iter().zip(texts(expected)).enumerate() {
        assert_eq!(missing(read, index), missing(expected, index), "{index}");
        assert!(missing(read, index) || *read_as == made_as, "{index}: {read_as} {made_as}");
    }
}

/// Large enough for copies between files.
#[test]
fn assembles_large_streams() {
    let made =
        |data_type, masked| Made { data_type, shape: vec![90_007], endian: Endian::Big, masked, seed: 5, step: 7777 };
    let variables = [
        ("a", made(DataType::Unicode, Some(true))),
        ("b", made(DataType::Int16, Some(false))),
        ("c", made(DataType::Float64, Some(true))),
        ("d", made(DataType::Bool, None)),
        ("e", made(DataType::Str, None)),
    ]
    .map(|(name, made)| (name.to_owned(), made, true));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.ds");
    let (mut whole, mut streams) = (Builder::new(), Builder::new());
    for (name, made, _) in &variables {
        whole.field(name.clone(), made.dress(Field::new(made.all())));
        streams.field(name.clone(), made.stream());
    }
    let mut writer = streams.begin(&path, options()).unwrap();
    append(&mut writer, &variables).unwrap();
    writer.finish().unwrap();
    assert!(std::fs::read(&path).unwrap() == bytes(&whole));
}

fn ones(shape: &[u64]) -> Array<'static> {
    Array::new(shape, vec![1i32; shape.iter().product::<u64>() as usize]).unwrap()
}

#[test]
fn rejects_arrays_that_do_not_fit_the_stream() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.ds");
    let mut builder = Builder::new();
    builder.field("s", Field::stream(DataType::Int32, [3, 2])).field("n", Field::stream(DataType::Int32, [0, 2]));
    assert!(
        builder
            .write(&path, options())
            .unwrap_err()
            .to_string()
            .ends_with("a.ds: values of a stream must be appended after begin() (column \"s\")")
    );
    let mut writer = builder.begin(&path, options()).unwrap();
    assert_eq!((writer.current(), writer.rows_left()), (Some("s"), 3));
    let mut check_error = |array: &Array<'_>, expected: &str| {
        let error = writer.append(array).unwrap_err().to_string();
        assert!(error.ends_with(&format!("a.ds: {expected}")), "{error}");
    };
    check_error(&ones(&[1, 3]), "an array of shape [1, 3] does not fit after 0 rows of [3, 2] (column \"s\")");
    check_error(&ones(&[4, 2]), "an array of shape [4, 2] does not fit after 0 rows of [3, 2] (column \"s\")");
    check_error(&ones(&[2]), "an array of shape [2] does not fit after 0 rows of [3, 2] (column \"s\")");
    check_error(
        &Array::new([1, 2], vec![1u32; 2]).unwrap(),
        "expected values of type int32, found uint32 (column \"s\")",
    );
    check_error(
        &ones(&[1, 2]).with_mask(Mask::from_bools([false, true])).unwrap(),
        "missing elements in a stream that was not declared to have any (column \"s\")",
    );
    writer.append(&ones(&[2, 2]).with_mask(Mask::from_bools([false; 4])).unwrap()).unwrap();
    writer.append(&ones(&[0, 2])).unwrap();
    writer.append(&ones(&[1, 2])).unwrap();
    assert_eq!((writer.current(), writer.rows_left()), (None, 0));
    let error = writer.append(&ones(&[1, 2])).unwrap_err().to_string();
    assert!(error.ends_with("all streams are complete"), "{error}");
    writer.finish().unwrap();
    let reader = Reader::open(&path).unwrap();
    assert_eq!(reader.variable("n").unwrap().shape(), Some(&[0, 2][..]));
    same(&reader.variable("s").unwrap().read().unwrap(), &ones(&[3, 2]));
}

fn begun(path: &Path, masked: bool) -> dsfmt::Writer<'static> {
    let mut builder = Builder::new();
    builder.field("s", Field::stream(DataType::Int32, [300_000]).with_missing(masked));
    builder.begin(path, options().with_overwrite(Overwrite::Replace)).unwrap()
}

#[test]
fn unfinished_writer_keeps_old_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.ds");
    std::fs::write(&path, "old").unwrap();
    for masked in [false, true] {
        let mut writer = begun(&path, masked);
        writer.append(&ones(&[200_000])).unwrap();
        drop(writer);
        let mut writer = begun(&path, masked);
        writer.append(&ones(&[200_000])).unwrap();
        let error = writer.finish().unwrap_err().to_string();
        assert!(error.ends_with("a.ds: expected 300000 rows, found 200000 (column \"s\")"), "{error}");
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "no temporary file stays");
    }
    for masked in [false, true] {
        let mut writer = begun(&path, masked);
        writer.append(&ones(&[300_000])).unwrap();
        writer.finish().unwrap();
        let reader = Reader::open(&path).unwrap();
        assert!(!reader.variable("s").unwrap().is_masked());
    }
}

/// Python declares two bytes too many per missing string; a copy declares the correct length.
#[test]
fn copies_masked_strings_with_correct_length() {
    for (endian, word) in [("l", u64::to_le_bytes as fn(u64) -> [u8; 8]), ("b", u64::to_be_bytes)] {
        let mut body = vec![0b0101_0000];
        body.extend([word(1), word(2)].concat());
        body.extend(b"abc");
        let file = |len: usize| {
            let header = format!(
                "ds-1.0\n{{\"x\": {{\".size\": [4], \".offset\": 0, \".len\": {len}, \".type\": \"unicode\", \".missing\": true, \".endian\": \"{endian}\"}}, \".\": {{}}}}\n"
            );
            [header.as_bytes(), &body].concat()
        };
        let reader = Reader::from_source(Source::from(file(body.len() + 4)), Default::default()).unwrap();
        let variable = reader.variable("x").unwrap();
        let mut builder = Builder::new();
        builder.field("x", Field::copy(&variable));
        assert_eq!(bytes(&builder), file(body.len()));
        let short = Reader::from_source(Source::from(file(body.len() - 1)), Default::default()).unwrap();
        let mut builder = Builder::new();
        builder.field("x", Field::copy(&short.variable("x").unwrap()));
        let error = builder.validate().unwrap_err().to_string();
        assert!(error.starts_with("ds: a string of 2 bytes at offset 1 exceeds the 2 bytes of all strings"), "{error}");
    }
}
