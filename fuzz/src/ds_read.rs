//! ds files: arbitrary headers, forged variables, selections.

use container_core::{ErrorKind, OpenOptions, Source};
use dsfmt::{Builder, DataType, Endian, Field, Json, JsonBuf, Reader, Select, Selection, Variable};

use super::choices::Choices;
use super::ds_model::{Cell, Medium, cells, decode, encode, some_cells};

/// Opens in memory, and from a medium that rejects ranges out of bounds.
fn open(bytes: &[u8]) -> [dsfmt::Result<Reader>; 2] {
    let open = |source| Reader::from_source(source, OpenOptions::default());
    [open(Source::from(bytes.to_vec())), open(Source::new(Medium(bytes.to_vec())))]
}

/// The bytes follow the version line.
pub fn ds_header(data: &[u8]) {
    let file = [b"ds-1.0\n", data].concat();
    let line = std::str::from_utf8(data.split(|byte| *byte == b'\n').next().unwrap_or_default()).unwrap_or("\"");
    let theirs: Result<serde_json::Value, _> = serde_json::from_str(line);
    let [reader, other] = open(&file);
    let reader = match reader {
        Ok(reader) => reader,
        Err(error) => {
            assert_eq!(error.to_string(), other.unwrap_err().to_string());
            assert!(
                error.format() == Some("ds") && error.position().byte.is_some_and(|byte| byte <= file.len() as u64)
            );
            assert!(!theirs.is_ok_and(|json| json.is_object()), "{error}");
            return;
        }
    };
    json(Json::parse(line).unwrap());
    let other = other.unwrap();
    assert_eq!((reader.body_offset(), reader.len()), (other.body_offset(), other.len()));
    let mut copy = Builder::new();
    copy.copy_attributes(&reader);
    for (x, same) in reader.variables().zip(other.variables()) {
        assert_eq!(reader.variable(x.name()).unwrap().offset(), x.offset());
        assert_eq!(text(x.problem()), text(same.problem()));
        json(x.header());
        assert!(x.attributes().count() <= x.header().members().count());
        let whole = x.read();
        assert_eq!(text(whole.as_ref().err()), text(same.read().err()));
        match whole {
            Ok(array) => assert_eq!(array.shape(), x.shape().unwrap()),
            Err(error) => check_error(&x, &error, file.len()),
        }
        if x.problem().is_none() {
            assert!(x.shape().is_none_or(|shape| shape.len() == x.dimensions().len()));
            copy.field(x.name(), Field::copy(&x));
        }
    }
    let mut out = Vec::new();
    if copy.write_to(&mut out).is_err() {
        return; // they disagree on a dimension, or strings are damaged
    }
    let again = Reader::from_source(out.into(), OpenOptions::default()).unwrap();
    let sound: Vec<_> = reader.variables().filter(|x| x.problem().is_none()).collect();
    assert_eq!(again.len(), sound.len());
    for x in sound {
        let y = again.variable(x.name()).unwrap();
        assert_eq!(text(y.problem()), None);
        assert_eq!((x.dimensions(), x.shape(), x.data_type()), (y.dimensions(), y.shape(), y.data_type()));
        assert_eq!(x.read().ok().map(|array| cells(&array)), y.read().ok().map(|array| cells(&array)));
    }
}

fn text(error: Option<impl ToString>) -> Option<String> {
    error.map(|error| error.to_string())
}

fn check_error(x: &Variable<'_>, error: &dsfmt::Error, len: usize) {
    assert_eq!((error.format(), error.position().column.as_deref()), (Some("ds"), Some(x.name())), "{error}");
    assert!(error.position().byte.is_none_or(|byte| byte <= len as u64), "{error}");
    let empty = x.shape().is_none() || x.data_type().is_none();
    assert_eq!(error.kind() == ErrorKind::Usage, empty && x.problem().is_none(), "{error}");
}

/// JSON survives a round trip, and equals serde_json's where that accepts it.
fn json(json: Json<'_>) {
    let spelled = JsonBuf::parse(json.as_text()).unwrap();
    assert_eq!(JsonBuf::parse(&spelled.to_string()).unwrap(), spelled);
    assert!(spelled.to_string().is_ascii());
    let shown = serde_json::to_string(&json).unwrap();
    assert_eq!(serde_json::to_string(&spelled.as_json()).unwrap(), shown);
    let theirs: Result<serde_json::Value, _> = serde_json::from_str(json.as_text());
    let (Ok(theirs), Ok(ours)) = (theirs, serde_json::from_str::<serde_json::Value>(&shown)) else { return };
    // serde_json reads integers beyond 64 bits as floats, and floats with an error in the last digit.
    fn rough(json: &serde_json::Value) -> serde_json::Value {
        match json {
            serde_json::Value::Array(all) => all.iter().map(rough).collect(),
            serde_json::Value::Object(all) => all.iter().map(|(name, value)| (name.clone(), rough(value))).collect(),
            serde_json::Value::Number(n) if n.is_f64() => serde_json::Value::Null,
            serde_json::Value::String(text) if text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') => {
                serde_json::Value::Null
            }
            other => other.clone(),
        }
    }
    if !json.as_text().contains("-0") {
        assert_eq!(rough(&ours), rough(&theirs));
    }
}

/// A variable from choices, and invalid fields of its header.
struct Forged {
    data_type: DataType,
    endian: Endian,
    masked: bool,
    shape: Vec<u64>,
    file: Vec<u8>,
    /// The offset of its bytes, and their declared length.
    start: usize,
    len: usize,
}

fn forged(choices: &mut Choices<'_>, lies: bool) -> Forged {
    let data_type = choices.pick(&DataType::ALL);
    let (how, ndim) = (choices.byte(), choices.below(5));
    let endian = if how & 1 == 0 { Endian::Big } else { Endian::Little };
    let masked = how & 2 != 0;
    let shape: Vec<u64> = match how & 4 {
        0 => (0..ndim).map(|_| choices.below(7) as u64).collect(),
        _ => vec![choices.word() % 600], // long enough for more than one block of what is summed up
    };
    let count: u64 = shape.iter().product();
    let all = some_cells(choices, usize::try_from(count).unwrap(), data_type, masked);
    let mut body = encode(&all, data_type, endian, masked);
    let (mut len, pad) = (body.len(), choices.below(9));
    if lies {
        for _ in 0..choices.below(4) {
            let place = usize::try_from(choices.word()).unwrap_or(0) % body.len().max(1);
            if let Some(byte) = body.get_mut(place) {
                *byte ^= choices.byte();
            }
        }
        len = len.wrapping_add(choices.pick(&[0, 0, 0, 1, 2, usize::MAX, 4, 8, 3]));
        body.truncate(body.len() - choices.pick(&[0, 0, 0, 0, 0, 0, 1, 9, 100]).min(body.len()));
        body.resize(body.len() + choices.pick(&[0, 0, 0, 2, 8, 30]), b'?');
    }
    let names: Vec<String> = (0..shape.len()).map(|n| format!("\"d{n}\"")).collect();
    let mut file = format!(
        "ds-1.0\n{{\"x\": {{\".dims\": [{}], \".size\": {shape:?}, \".type\": \"{data_type}\", \".offset\": {pad}, \".len\": {len}, \
         \".endian\": \"{}\", \".missing\": {masked}}}}}{}\n",
        names.join(", "),
        endian.name(),
        " ".repeat(choices.below(8)),
    )
    .into_bytes();
    file.resize(file.len() + pad, 0xaa);
    let start = file.len();
    file.extend(body);
    Forged { data_type, endian, masked, shape, file, start, len }
}

/// The bytes are choices for one variable.
pub fn ds_variable(data: &[u8]) {
    let forged = forged(&mut Choices::new(data), true);
    let Forged { data_type, endian, masked, shape, file, start, len } = &forged;
    let count = usize::try_from(shape.iter().product::<u64>()).unwrap();
    let room = &file[*start..];
    let wanted = decode(&room[..(*len).min(room.len())], count, *data_type, *endian, *masked);
    let utf8 = |cell: &Cell| matches!(cell, Cell::Text(text) if std::str::from_utf8(text).is_err());
    let wanted = wanted.filter(|(cells, _)| *data_type != DataType::Unicode || !cells.iter().any(utf8));
    for reader in open(file) {
        let reader = reader.unwrap();
        let x = reader.variable("x").unwrap();
        let found = x.read();
        let mask = x.read_mask();
        match &found {
            Err(error) => {
                assert!(wanted.as_ref().is_none_or(|(_, used)| used != len), "{error}");
                check_error(&x, error, file.len());
            }
            Ok(array) => {
                let (cells, used) = wanted.as_ref().unwrap();
                assert_eq!(&self::cells(array), cells);
                assert!(used == len || data_type.is_text() && used < len, "{used} {len}");
                assert_eq!((array.shape(), mask.unwrap().as_ref()), (&shape[..], array.mask()));
            }
        }
        // Rows, one at a time and by three, equal those of the whole.
        let rows = shape.first().copied().unwrap_or(1);
        let wide = count as u64 / rows.max(1);
        for step in [1, 3] {
            let mut at = 0;
            while at < rows {
                let end = rows.min(at + step);
                match (x.read_rows(at..end), &found) {
                    (Ok(array), Ok(whole)) => {
                        let range = usize::try_from(at * wide).unwrap()..usize::try_from(end * wide).unwrap();
                        assert_eq!(self::cells(&array), self::cells(whole)[range]);
                    }
                    (Err(error), Err(_)) => check_error(&x, &error, file.len()),
                    // Only the strings of these rows are checked.
                    (Ok(_), Err(error)) => assert!(error.detail().contains("UTF-8") || rows == 0, "{error}"),
                    (Err(error), Ok(_)) => panic!("{error}"),
                }
                at = end;
            }
        }
        let mut copy = Builder::new();
        copy.field("x", Field::copy(&x));
        let mut out = Vec::new();
        if copy.write_to(&mut out).is_ok() {
            let again = Reader::from_source(out.into(), OpenOptions::default()).unwrap();
            assert_eq!(again.variable("x").unwrap().read().is_ok(), found.is_ok());
        } else {
            assert!(found.is_err());
        }
    }
}

fn some_select(choices: &mut Choices<'_>, size: u64) -> Option<Select> {
    let size = i64::try_from(size).unwrap();
    let mut index = |beyond: i64| {
        let n = i64::try_from(choices.word() >> 1).unwrap() % (2 * size + 2 * beyond).max(1) - size - beyond;
        // Most of them inside.
        if beyond == 0 && n >= size { 0 } else { n }
    };
    let (some, all) = ([index(0), index(0), index(0), index(1)], [index(3), index(3)]);
    let end = |choices: &mut Choices<'_>, n: i64| (choices.below(3) > 0).then_some(n);
    match choices.below(5) {
        0 => None,
        1 => Some(Select::Index(some[choices.below(4)])),
        2 => Some(Select::List(some.into_iter().cycle().take(choices.below(9)).collect())),
        3 => Some(Select::Range { start: end(choices, all[0]), stop: end(choices, all[1]), step: None }),
        _ => {
            let step = Some(i64::from(choices.byte() as i8) / 16);
            Some(Select::Range { start: end(choices, all[0]), stop: end(choices, all[1]), step })
        }
    }
}

/// The elements that are picked of so many, and whether the dimension stays; `None` where that cannot be.
fn picked(size: u64, select: Option<&Select>) -> Option<(Vec<u64>, bool)> {
    let size = i64::try_from(size).unwrap();
    let real = |n: i64| if n < 0 { n + size } else { n };
    let index = |n: i64| u64::try_from(real(n)).ok().filter(|_| real(n) < size);
    match select {
        None => Some(((0..size.unsigned_abs()).collect(), true)),
        Some(Select::Index(n)) => Some((vec![index(*n)?], false)),
        Some(Select::List(list)) => Some((list.iter().map(|n| index(*n)).collect::<Option<_>>()?, true)),
        Some(Select::Range { start, stop, step }) => {
            let step = step.unwrap_or(1);
            let within = |n: i64| match step > 0 {
                true => start.is_none_or(|start| n >= real(start)) && stop.is_none_or(|stop| n < real(stop)),
                false => start.is_none_or(|start| n <= real(start)) && stop.is_none_or(|stop| n > real(stop)),
            };
            let mut all: Vec<u64> = (0..size).filter(|n| within(*n)).map(i64::unsigned_abs).collect();
            if step < 0 {
                all.reverse();
            }
            let step = usize::try_from(step.unsigned_abs()).ok().filter(|step| *step > 0)?;
            Some((all.into_iter().step_by(step).collect(), true))
        }
        Some(other) => panic!("{other:?} is not generated"),
    }
}

/// The bytes are decisions about a variable and what is selected of it.
pub fn ds_select(data: &[u8]) {
    let mut choices = Choices::new(data);
    let forged = forged(&mut choices, false);
    let shape = &forged.shape;
    let [reader, other] = open(&forged.file).map(Result::unwrap);
    let whole = cells(&reader.variable("x").unwrap().read().unwrap());
    for _ in 0..4 {
        let mut selection = Selection::new();
        let mut wanted = Some((vec![0u64], Vec::new()));
        for (n, size) in shape.iter().enumerate() {
            let select = some_select(&mut choices, *size);
            wanted = wanted.zip(picked(*size, select.as_ref())).map(|((places, mut sizes), (picked, stays))| {
                let each = |place: u64| picked.iter().map(move |n| place * size + n);
                let places = places.into_iter().flat_map(each).collect();
                if stays {
                    sizes.push(picked.len() as u64);
                }
                (places, sizes)
            });
            if let Some(select) = select {
                selection = selection.with(format!("d{n}"), select);
            }
        }
        for reader in [&reader, &other] {
            let found = reader.variable("x").unwrap().select(&selection);
            match (found, &wanted) {
                (Ok(array), Some((places, sizes))) => {
                    assert_eq!(array.shape(), sizes, "{selection:?}");
                    let wanted: Vec<_> = places.iter().map(|place| &whole[usize::try_from(*place).unwrap()]).collect();
                    assert_eq!(cells(&array).iter().collect::<Vec<_>>(), wanted, "{selection:?} of {shape:?}");
                }
                (Err(error), None) => assert_eq!(error.kind(), ErrorKind::Usage, "{error}"),
                (found, wanted) => panic!("{found:?} where {wanted:?} is wanted: {selection:?} of {shape:?}"),
            }
        }
    }
}
