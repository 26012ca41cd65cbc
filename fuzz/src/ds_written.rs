//! ds datasets from choices: written, read, copied, and written by rows.

use container_core::{OpenOptions, OutputOptions, Overwrite, SyncPolicy};
use dsfmt::{Array, Builder, DataType, Endian, Field, JsonBuf, Reader};

use super::choices::Choices;
use super::ds_model::{Cell, array, cells, some_cells};

struct Made {
    name: String,
    data_type: DataType,
    shape: Vec<u64>,
    cells: Vec<Cell>,
    masked: bool,
    endian: Endian,
    time: bool,
    dimensions: Option<Vec<String>>,
    attributes: Vec<(String, JsonBuf)>,
    empty: bool,
}

fn some_json(choices: &mut Choices<'_>, depth: usize) -> JsonBuf {
    match choices.below(if depth > 0 { 11 } else { 9 }) {
        0 => JsonBuf::null(),
        1 => (choices.below(2) == 1).into(),
        2 => choices.word().into(),
        3 => choices.word().cast_signed().into(),
        4 => f64::from_bits(choices.word()).into(),
        5 => f32::from_bits(choices.word() as u32).into(),
        6 => [f64::NAN, f64::INFINITY, -0.0, 1e16, 1e-5, 123_456.75][choices.below(6)].into(),
        7 => ["", "a\"b\\", "\u{e4}\n\0\u{7f}", "\u{1f600}", "NaN", "\\ud800"][choices.below(6)].into(),
        8 => JsonBuf::parse(["\"\\ud800\"", "123456789012345678901234567890", "1E5", "[ 1,2 ]"][choices.below(4)])
            .unwrap(),
        9 => JsonBuf::list((0..choices.below(4)).map(|_| some_json(choices, depth - 1)).collect::<Vec<_>>()),
        _ => JsonBuf::object(
            (0..choices.below(4))
                .map(|n| (["", ".", "b", "\u{e4}"][n], some_json(choices, depth - 1)))
                .collect::<Vec<_>>(),
        ),
    }
}

fn some_attributes(choices: &mut Choices<'_>) -> Vec<(String, JsonBuf)> {
    const NAMES: [&str; 8] = ["units", "", ".x", "\u{e4}\"", "_FillValue", ".", "\\", "long_name"];
    (0..choices.below(4)).map(|_| (NAMES[choices.below(8)].to_owned(), some_json(choices, 3))).collect()
}

fn some_dataset(choices: &mut Choices<'_>) -> Vec<Made> {
    const NAMES: [&str; 8] = ["x", ".a", "\\b", "", "\u{e4}", "time", ".", "\\.c"];
    const DIMENSIONS: [&str; 4] = ["time", "lat", "\u{1f600}", ""];
    let sizes: [u64; 4] = std::array::from_fn(|_| choices.below(12) as u64);
    (0..choices.below(6))
        .map(|n| {
            let how = choices.byte();
            let data_type = choices.pick(&DataType::ALL);
            let along: Vec<usize> = (0..choices.below(4)).map(|_| choices.below(4)).collect();
            let shape: Vec<u64> = along.iter().map(|which| sizes[*which]).collect();
            let masked = how & 1 != 0;
            let cells = some_cells(choices, usize::try_from(shape.iter().product::<u64>()).unwrap(), data_type, masked);
            let named = along.iter().map(|which| DIMENSIONS[*which].to_owned()).collect();
            Made {
                // One dimension name each; some shapes are empty.
                name: format!("{}{}", NAMES[choices.below(8)], if n == 0 { String::new() } else { n.to_string() }),
                data_type,
                shape,
                cells,
                masked,
                endian: if how & 2 == 0 { Endian::Big } else { Endian::Little },
                time: how & 4 != 0,
                dimensions: (how & 8 == 0).then_some(named),
                attributes: some_attributes(choices),
                empty: how & 0xf0 == 0xf0,
            }
        })
        .collect()
}

impl Made {
    fn array(&self) -> Array<'static> {
        array(&self.cells, &self.shape, self.data_type, self.masked)
    }

    /// Attributes.
    fn described<'a>(&self, mut field: Field<'a>) -> Field<'a> {
        if let Some(names) = self.dimensions.as_ref().filter(|_| !self.empty) {
            field = field.with_dimensions(names);
        }
        for (name, value) in &self.attributes {
            field = field.with_attribute(name, value.clone());
        }
        field.with_endian(self.endian).with_time(self.time)
    }

    fn field(&self) -> Field<'static> {
        match self.empty {
            true => self.described(Field::empty().with_type(Some(self.data_type).filter(|_| self.masked))),
            false => self.described(Field::new(self.array())),
        }
    }
}

fn bytes(builder: &Builder<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    let written = builder.write_to(&mut out).unwrap();
    assert_eq!(written.bytes, out.len() as u64);
    out
}

/// The bytes are choices for a dataset.
pub fn ds_write_read(data: &[u8]) {
    let mut choices = Choices::new(data);
    let attributes = some_attributes(&mut choices);
    let made = some_dataset(&mut choices);
    let mut builder = Builder::new();
    for (name, value) in &attributes {
        builder.attribute(name, value.clone());
    }
    let bare = builder.clone();
    for made in &made {
        builder.field(&made.name, made.field());
    }
    let file = bytes(&builder);

    let reader = Reader::from_source(file.clone().into(), OpenOptions::default()).unwrap();
    assert_eq!(reader.len(), made.len());
    let last =
        |all: &[(String, JsonBuf)], name: &str| all.iter().rfind(|(known, _)| known == name).unwrap().1.to_string();
    for (name, value) in reader.attributes() {
        assert_eq!(value.as_text(), last(&attributes, &name));
    }
    let (mut copy, mut anew) = (Builder::new(), Builder::new());
    copy.copy_attributes(&reader);
    anew.copy_attributes(&reader);
    for made in made.iter().rev() {
        let x = reader.variable(&made.name).unwrap();
        assert!(x.problem().is_none());
        assert_eq!((x.is_time(), x.shape()), (made.time, Some(&made.shape[..]).filter(|_| !made.empty)));
        for (name, value) in x.attributes() {
            assert_eq!(value.as_text(), last(&made.attributes, &name));
        }
        if !made.empty {
            let array = x.read().unwrap();
            assert_eq!(cells(&array), made.cells);
            assert_eq!(x.is_masked(), made.cells.contains(&Cell::Missing));
            if let Some(names) = &made.dimensions {
                assert_eq!(x.dimensions(), names);
            }
            anew.field(&made.name, Field::new(array).with_metadata_of(&x));
        } else {
            anew.field(&made.name, Field::empty().with_metadata_of(&x));
        }
        copy.field(&made.name, Field::copy(&x));
    }
    assert!(bytes(&copy) == file, "a copy has other bytes");
    assert!(bytes(&anew) == file, "what was read is written otherwise");
    if choices.below(4) == 1 {
        by_rows(&mut choices, bare, &made, &file);
    }
}

/// Writing some variables by rows gives the same file.
fn by_rows(choices: &mut Choices<'_>, mut builder: Builder<'static>, made: &[Made], file: &[u8]) {
    let mut streams = Vec::new();
    for made in made {
        if made.empty || choices.below(2) == 0 {
            builder.field(&made.name, made.field());
            continue;
        }
        let stream = Field::stream(made.data_type, made.shape.clone()).with_missing(made.masked);
        builder.field(&made.name, made.described(stream));
        if !made.cells.is_empty() {
            streams.push(made);
        }
    }
    streams.sort_by_key(|made| &made.name);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.ds");
    let options = OutputOptions::default().with_sync(SyncPolicy::Never).with_overwrite(Overwrite::Refuse);
    let mut writer = builder.begin(&path, options).unwrap();
    for made in streams {
        assert_eq!(writer.current(), Some(made.name.as_str()));
        let rows = made.shape.first().map_or(1, |rows| usize::try_from(*rows).unwrap());
        let wide = made.cells.len() / rows;
        let mut at = 0;
        while at < rows {
            assert_eq!(writer.rows_left(), (rows - at) as u64);
            let end = rows.min(at + 1 + choices.below(4));
            let mut shape = made.shape.clone();
            if let Some(first) = shape.first_mut() {
                *first = (end - at) as u64;
            }
            let part = array(&made.cells[at * wide..end * wide], &shape, made.data_type, made.masked);
            writer.append(&part).unwrap();
            at = end;
        }
    }
    assert_eq!(writer.current(), None);
    assert_eq!(writer.finish().unwrap().bytes, file.len() as u64);
    assert!(std::fs::read(&path).unwrap() == file, "by rows the bytes are others");
}
