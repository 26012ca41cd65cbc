//! Fields of many samples as columns, without Python objects between. Of a key that occurs twice in a sample the last value counts, as in a
//! dict: samples are read to their ends.

use std::ops::Range;

use container_core::{Error, Result};
use datadings::Reader;
use pyo3::prelude::*;
use pyo3::types::PyAny;

use super::lex::{Lexer, Numpy, Token};

/// Rows in the order in which they are collated.
pub(super) enum Rows {
    Range(Range<u64>),
    List(Vec<u64>),
}

impl<'a, 'py> FromPyObject<'a, 'py> for Rows {
    type Error = PyErr;

    /// A pair is a range; anything else a list of indexes.
    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        match object.extract::<(u64, u64)>() {
            Ok((start, end)) => Ok(Self::Range(start..end.max(start))),
            Err(_) => object.extract().map(Self::List),
        }
    }
}

impl Rows {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Range(range) => usize::try_from(range.end - range.start).unwrap_or(usize::MAX),
            Self::List(list) => list.len(),
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = u64> {
        self.part(0, self.len())
    }

    /// The rows from the `first` on, at most `count`.
    fn part(&self, first: usize, count: usize) -> impl Iterator<Item = u64> {
        let (range, list) = match self {
            Self::Range(range) => (range.clone(), &[][..]),
            Self::List(list) => (0..0, list.as_slice()),
        };
        let (range, list) = (range.skip(first).take(count), list.iter().skip(first).take(count));
        range.chain(list.copied())
    }
}

/// A column to fill.
pub(super) struct Column {
    name: String,
    dtype: String,
    shape: Vec<usize>,
    /// Bytes of one value.
    size: usize,
    number: Number,
}

/// What plain numbers a column takes, beside numpy values of its dtype.
#[derive(Clone, Copy, PartialEq)]
enum Number {
    Bool,
    Int,
    Float,
    None,
}

const BOOL: &str = "|b1";
const INT: &str = "<i8";
const FLOAT: &str = "<f8";

impl Column {
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) when `bytes` cannot be divided among the rows.
    pub(super) fn new(name: String, dtype: String, shape: Vec<usize>, bytes: usize, rows: usize) -> Result<Self> {
        let size = bytes.checked_div(rows).unwrap_or(0);
        if size * rows != bytes {
            return Err(Error::usage(format!("{bytes} bytes are not those of {rows} rows")).in_column(name));
        }
        let number = match (dtype.as_str(), shape.is_empty()) {
            (BOOL, true) => Number::Bool,
            (INT, true) => Number::Int,
            (FLOAT, true) => Number::Float,
            _ => Number::None,
        };
        Ok(Self { name, dtype, shape, size, number })
    }

    /// Writes the next value of a message, whose first token was read.
    fn write(&self, lexer: &mut Lexer<'_>, token: &Token<'_>, out: &mut [u8]) -> Result<()> {
        let number: [u8; 8] = match (*token, self.number) {
            (Token::Signed(value), Number::Int) => value.to_le_bytes(),
            (Token::Unsigned(value), Number::Int) if i64::try_from(value).is_ok() => value.to_le_bytes(),
            (Token::Float(value), Number::Float) => value.to_le_bytes(),
            (Token::Bool(value), Number::Bool) => {
                out.fill(value.into());
                return Ok(());
            }
            (Token::Map(len), _) => return self.write_numpy(lexer, len, out),
            _ => return Err(self.mismatch(describe(token))),
        };
        out.copy_from_slice(&number);
        Ok(())
    }

    fn write_numpy(&self, lexer: &mut Lexer<'_>, len: usize, out: &mut [u8]) -> Result<()> {
        let (dtype, shape, data) = match lexer.numpy(len)? {
            Some(Numpy::Array { dtype, shape, data, .. }) => (dtype, shape, data),
            Some(Numpy::Scalar { dtype, data }) => (dtype, Vec::new(), data),
            _ => return Err(self.mismatch("a map".to_owned())),
        };
        match data.get(..self.size) {
            Some(data) if dtype == self.dtype && shape == self.shape => {
                out.copy_from_slice(data);
                Ok(())
            }
            _ => Err(self.mismatch(format!("dtype {dtype}, shape {shape:?} and {} bytes", data.len()))),
        }
    }

    #[cold]
    fn mismatch(&self, found: String) -> Error {
        let Self { dtype, shape, .. } = self;
        Error::invalid(format!("expected dtype {dtype} and shape {shape:?} as in the first sample, found {found}"))
    }
}

#[cold]
fn describe(token: &Token<'_>) -> String {
    match token {
        Token::Nil => "None".to_owned(),
        Token::Bool(_) => "a bool".to_owned(),
        Token::Unsigned(value) => format!("the int {value}"),
        Token::Signed(value) => format!("the int {value}"),
        Token::Float(_) => "a float".to_owned(),
        Token::Str(_) => "a str".to_owned(),
        Token::Bin(_) => "bytes".to_owned(),
        Token::Ext(..) => "an ext".to_owned(),
        Token::Array(_) => "a list".to_owned(),
        Token::Map(_) => "a dict".to_owned(),
    }
}

/// Number of members of a sample.
fn members(lexer: &mut Lexer<'_>) -> Result<usize> {
    match lexer.token()? {
        Token::Map(len) => Ok(len),
        _ => Err(lexer.invalid("the sample is not a map", 0)),
    }
}

/// The next key, if it is a str.
fn key<'a>(lexer: &mut Lexer<'a>) -> Result<Option<&'a [u8]>> {
    let at = lexer.at;
    match lexer.token()? {
        Token::Str(key) => Ok(Some(key)),
        _ => {
            lexer.at = at;
            lexer.skip()?;
            Ok(None)
        }
    }
}

/// The bytes of a field.
pub(super) fn field(sample: &[u8], name: &str) -> Result<Range<usize>> {
    let mut lexer = Lexer::new(sample);
    let mut value = None;
    for _ in 0..members(&mut lexer)? {
        let found = key(&mut lexer)? == Some(name.as_bytes());
        let start = lexer.at;
        lexer.skip()?;
        if found {
            value = Some(start..lexer.at);
        }
    }
    value.ok_or_else(|| missing(name))
}

#[cold]
fn missing(name: &str) -> Error {
    Error::invalid("the sample does not have this field").in_column(name.to_owned())
}

/// Name, dtype and shape of fields.
pub(super) type Layout = Vec<(String, Option<String>, Option<Vec<usize>>)>;

/// Name, dtype and shape of the fields of a sample.
pub(super) fn layout(sample: &[u8], fields: Option<&[String]>) -> Result<Layout> {
    let mut lexer = Lexer::new(sample);
    let mut found: Layout = Vec::new();
    for _ in 0..members(&mut lexer)? {
        let Some(name) = key(&mut lexer)? else {
            lexer.skip()?;
            continue;
        };
        let name = lexer.text(name)?.to_owned();
        let start = lexer.at;
        let numeric = |dtype: &str, shape| (Some(dtype.to_owned()), Some(shape));
        let (dtype, shape) = match lexer.token()? {
            Token::Bool(_) => numeric(BOOL, Vec::new()),
            Token::Unsigned(_) | Token::Signed(_) => numeric(INT, Vec::new()),
            Token::Float(_) => numeric(FLOAT, Vec::new()),
            Token::Map(len) => match lexer.numpy(len) {
                Ok(Some(Numpy::Array { dtype, shape, .. })) => numeric(dtype, shape),
                Ok(Some(Numpy::Scalar { dtype, .. })) => numeric(dtype, Vec::new()),
                // A pickle, too: it is refused if it is read.
                _ => (None, None),
            },
            _ => (None, None),
        };
        lexer.at = start;
        lexer.skip()?;
        match found.iter_mut().find(|(known, ..)| *known == name) {
            Some(known) => *known = (name, dtype, shape),
            None => found.push((name, dtype, shape)),
        }
    }
    let Some(fields) = fields else { return Ok(found) };
    for (number, name) in fields.iter().enumerate() {
        if fields.iter().take(number).any(|other| other == name) {
            return Err(Error::usage(format!("the field {name:?} is selected twice")));
        }
    }
    let wanted = |name: &String| {
        let found = found.iter().find(|(known, ..)| known == name);
        found.cloned().ok_or_else(|| missing(name))
    };
    fields.iter().map(wanted).collect()
}

/// Fills the values of columns, row by row. An error comes with its row.
pub(super) fn fill(
    reader: &Reader,
    rows: &Rows,
    columns: &[Column],
    out: Vec<&mut [u8]>,
    threads: usize,
) -> Result<(), (Error, u64)> {
    let threads = match threads {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        threads => threads,
    };
    let part = rows.len().div_ceil(threads).max(ROWS_PER_THREAD);
    if part >= rows.len() {
        return fill_part(reader, rows.iter(), columns, out);
    }
    // The values of each part: those of every column.
    let mut parts: Vec<Vec<&mut [u8]>> = Vec::new();
    parts.resize_with(rows.len().div_ceil(part), Vec::new);
    for (column, mut out) in columns.iter().zip(out) {
        for parts in &mut parts {
            let (head, tail) = out.split_at_mut((part * column.size).min(out.len()));
            parts.push(head);
            out = tail;
        }
    }
    std::thread::scope(|scope| {
        let filled: Vec<_> = (0..)
            .zip(parts)
            .map(|(number, out)| scope.spawn(move || fill_part(reader, rows.part(number * part, part), columns, out)))
            .collect();
        let done =
            filled.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        done.collect()
    })
}

/// Fewer rows are not worth a thread.
const ROWS_PER_THREAD: usize = 256;

fn fill_part(
    reader: &Reader,
    rows: impl Iterator<Item = u64>,
    columns: &[Column],
    out: Vec<&mut [u8]>,
) -> Result<(), (Error, u64)> {
    let mut out: Vec<_> =
        columns.iter().zip(out).map(|(column, out)| out.chunks_exact_mut(column.size.max(1))).collect();
    let mut plan = Plan::new();
    // The values of the current row, and whether they are there.
    let mut slots: Vec<(&mut [u8], bool)> = Vec::with_capacity(columns.len());
    for row in rows {
        slots.clear();
        slots.extend(out.iter_mut().map(|out| (out.next().unwrap_or_default(), false)));
        let sample = reader.get(row).map_err(|error| (error, row))?;
        fill_row(sample.as_bytes(), columns, &mut plan, &mut slots)
            .map_err(|error| (error.shifted(sample.offset()), row))?;
    }
    Ok(())
}

/// The encoded keys of the first fields of samples, and their columns: most samples have the same fields in the same order.
type Plan = Vec<(Box<[u8]>, Option<usize>)>;

/// Fields that are planned.
const MOST_PLANNED: usize = 64;

fn fill_row(sample: &[u8], columns: &[Column], plan: &mut Plan, slots: &mut [(&mut [u8], bool)]) -> Result<()> {
    let mut lexer = Lexer::new(sample);
    for member in 0..members(&mut lexer)? {
        let column = match plan.get(member) {
            Some((key, column)) if lexer.accept(key) => *column,
            _ => {
                let start = lexer.at;
                let name = key(&mut lexer)?;
                let column = columns.iter().position(|column| Some(column.name.as_bytes()) == name);
                if plan.len() == member && member < MOST_PLANNED {
                    plan.push((sample.get(start..lexer.at).unwrap_or_default().into(), column));
                }
                column
            }
        };
        let Some((column, (slot, is_there))) = column.and_then(|number| columns.get(number).zip(slots.get_mut(number)))
        else {
            lexer.skip()?;
            continue;
        };
        let start = lexer.at;
        let token = lexer.token()?;
        let done = column.write(&mut lexer, &token, slot);
        done.map_err(|error| error.at(start as u64).in_column(column.name.clone()))?;
        *is_there = true;
    }
    match columns.iter().zip(slots).find(|(_, (_, is_there))| !*is_there) {
        Some((column, _)) => Err(missing(&column.name)),
        None => Ok(()),
    }
}
