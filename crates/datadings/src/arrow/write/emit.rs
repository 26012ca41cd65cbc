//! Encodes column values as msgpack.

use std::fmt::Write;

use container_arrow::{decimal_text, write_time};
use container_core::{Error, Limits, Loss, Position, Result};

use super::super::numpy_type::NumpyType;
use super::node::{Kind, Node};
use super::numbers::{Number, Numbers};
use super::{Keys, put_text};
use crate::numpy::{ByteOrder, Kind as DtypeKind};
use crate::wire::{Tokens, put_array_header, put_bin, put_map_header, put_nil};

/// State kept from row to row.
#[derive(Debug)]
pub(super) struct Context {
    pub(super) row: u64,
    pub(super) losses: Vec<Loss>,
    text: String,
    bytes: Vec<u8>,
}

impl Context {
    pub(super) fn new(losses: Vec<Loss>) -> Self {
        Self { row: 0, losses, text: String::new(), bytes: Vec::new() }
    }

    /// Appends the key of the current row, which is row `at` of its batch; `column` is that of [`Keys::Column`].
    pub(super) fn put_key(
        &mut self,
        keys: &Keys,
        column: Option<&Node<'_>>,
        at: usize,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        self.text.clear();
        match (keys, column) {
            (Keys::Column(name), Some(column)) if !column.key(at, &mut self.text) => {
                return Err(Error::invalid("null where a key is required").in_column(name.clone()));
            }
            (Keys::Column(_), Some(_)) => {}
            _ => {
                let _ = write!(self.text, "{:010}", self.row); // cannot fail: it is a string
            }
        }
        put_text(out, &self.text)
    }

    fn lose(&mut self, what: &'static str, column: &str) {
        let known =
            self.losses.iter_mut().find(|loss| loss.what == what && loss.first.column.as_deref() == Some(column));
        match known {
            Some(loss) => loss.count += 1,
            None => {
                self.losses.push(Loss::new(what, 1, Position::of_column(column.to_owned()).in_row(self.row)));
            }
        }
    }
}

/// A length as msgpack stores it.
fn count(length: usize) -> Result<u32> {
    u32::try_from(length).map_err(|_| Error::limit("number of members", length as u64, u32::MAX.into()))
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) -> Result<()> {
    put_bin(out, bytes).map_err(|length| Error::limit("bin length", length, u32::MAX.into()))
}

impl Node<'_> {
    /// Appends the value at index `at`.
    #[inline]
    pub(super) fn emit(&self, at: usize, out: &mut Vec<u8>, context: &mut Context) -> Result<()> {
        if self.is_null(at) {
            put_nil(out);
            return Ok(());
        }
        self.kind.emit(at, out, context, &self.path).map_err(|error| error.in_column(self.path.to_string()))
    }
}

impl Kind<'_> {
    /// The most frequent kinds are inline, the others a call.
    #[inline]
    fn emit(&self, at: usize, out: &mut Vec<u8>, context: &mut Context, path: &str) -> Result<()> {
        match self {
            Self::Numbers(numbers) => {
                numbers.put_msgpack(at, out);
                Ok(())
            }
            Self::Texts(texts) => put_text(out, texts.get(at)),
            _ => self.emit_other(at, out, context, path),
        }
    }

    #[inline(never)]
    fn emit_other(&self, at: usize, out: &mut Vec<u8>, context: &mut Context, path: &str) -> Result<()> {
        match self {
            Self::Null => put_nil(out),
            Self::Numbers(_) | Self::Texts(_) => {} // see `emit`
            Self::Scalars(numbers, numpy_type, header) => {
                let start = out.len();
                out.extend_from_slice(header);
                context.bytes.clear();
                match put_as(numbers, at, *numpy_type, &mut context.bytes) {
                    true => put_bytes(out, &context.bytes)?,
                    false => {
                        // The dtype cannot represent this number.
                        out.truncate(start);
                        numbers.put_msgpack(at, out);
                    }
                }
            }
            Self::Times(numbers, data_type) => {
                let value = match numbers.get(at) {
                    Some(Number::Signed(value)) => value,
                    _ => return Err(Error::invalid("time: expected an integer")), // unreachable: all are
                };
                context.text.clear();
                if !write_time(data_type, value, &mut context.text) {
                    return Err(Error::invalid(format!("{value} is out of range for {data_type}")));
                }
                put_text(out, &context.text)?;
            }
            Self::Json(texts) => crate::json::to_msgpack(texts.get(at).as_bytes(), out)?,
            Self::Bytes(bytes) => put_bytes(out, bytes.get(at))?,
            Self::Msgpack(bytes) => {
                let mut tokens = Tokens::at(bytes.get(at), 0);
                let value = tokens.check(Limits::default().depth)?;
                if !tokens.is_empty() {
                    return Err(Error::invalid("unexpected trailing bytes after the msgpack value").at(tokens.offset()));
                }
                out.extend_from_slice(value);
            }
            Self::Decimals(array) => {
                context.lose("decimal written as a string", path);
                let text = decimal_text(*array, at);
                let text = text.ok_or_else(|| Error::invalid("unknown decimal type"))?; // unreachable: there are four
                put_text(out, &text)?;
            }
            Self::List(spans, element) => {
                let range = spans.range(at);
                put_array_header(out, count(range.len())?);
                for at in range {
                    element.emit(at, out, context)?;
                }
            }
            Self::Arrays(arrays) => arrays.emit(at, out)?,
            Self::Struct(members) => {
                put_map_header(out, count(members.len())?);
                for (name, member) in members {
                    out.extend_from_slice(name);
                    member.emit(at, out, context)?;
                }
            }
            Self::Map(spans, parts) => {
                let range = spans.range(at);
                put_map_header(out, count(range.len())?);
                let [keys, values] = &**parts;
                for at in range {
                    keys.emit(at, out, context)?;
                    values.emit(at, out, context)?;
                }
            }
            Self::Dictionary(keys, values) => match keys.get(at) {
                Some(key) => values.emit(*key, out, context)?,
                None => put_nil(out), // unreachable: there is one per row
            },
        }
        Ok(())
    }
}

/// Appends the bytes of a number in a numpy type; false if the type cannot represent it.
fn put_as(numbers: &Numbers<'_>, at: usize, numpy_type: NumpyType, out: &mut Vec<u8>) -> bool {
    let is_big = numpy_type.of.order() == ByteOrder::Big;
    let value = match numbers.get(at) {
        Some(Number::Signed(value)) => i128::from(value),
        Some(Number::Unsigned(value)) => i128::from(value),
        Some(_) => {
            numbers.put(at..at + 1, is_big, out);
            return true;
        }
        None => return false,
    };
    let size = numpy_type.of.size().min(8);
    let bits = 8 * u32::try_from(size).unwrap_or(8); // 1 to 8 bytes
    let range = match numpy_type.of.kind() {
        DtypeKind::Uint => 0..1_i128 << bits,
        _ => -(1_i128 << (bits - 1))..1_i128 << (bits - 1),
    };
    if !range.contains(&value) {
        return false;
    }
    let bytes = value.to_le_bytes();
    let bytes = bytes.get(..size).unwrap_or_default();
    match is_big {
        true => out.extend(bytes.iter().rev()),
        false => out.extend_from_slice(bytes),
    }
    true
}
