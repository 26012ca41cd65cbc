//! The header in the file.

use alloc::format;

use container_core::{Cursor, Error, Result};

use crate::shape::{FORMAT, HEADER_BYTES, Shape, elements_error, probability_error};

/// The first bytes of a file.
pub(crate) const MAGIC: [u8; 8] = *b"SIMPBLOO";

/// Offsets of the fields.
const LENGTH_AT: u64 = 8;
const ELEMENTS_AT: u64 = 16;
const PROBABILITY_AT: u64 = 24;

/// The header of a filter.
pub(crate) fn emit(shape: &Shape) -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    let fields =
        [MAGIC, shape.file_bytes().to_be_bytes(), shape.elements().to_be_bytes(), shape.probability().to_be_bytes()];
    for (to, from) in header.as_chunks_mut::<8>().0.iter_mut().zip(fields) {
        *to = from;
    }
    header
}

/// Parses the header of a whole file and checks the file's length.
pub(crate) fn parse(file: &[u8]) -> Result<Shape> {
    parse_file(file).map_err(|error| error.in_format(FORMAT))
}

fn parse_file(file: &[u8]) -> Result<Shape> {
    let mut cursor = Cursor::new(file);
    let shape = header(&mut cursor)?;
    cursor.take_u64(shape.bits() / 8, "bits")?;
    cursor.finish("bits")?;
    Ok(shape)
}

/// Parses the header, which is followed by the bits.
pub(crate) fn header(cursor: &mut Cursor<'_>) -> Result<Shape> {
    let start = cursor.offset();
    let magic = cursor.array::<8>("magic")?;
    if magic != MAGIC {
        let (expected, found) = (MAGIC.escape_ascii(), magic.escape_ascii());
        return Err(Error::invalid(format!("magic: expected \"{expected}\", found \"{found}\"")).at(start));
    }
    let length = cursor.u64_be("total length")?;
    let elements = cursor.u64_be("number of elements")?;
    let probability = cursor.f64_be("probability")?;
    if let Some(why) = elements_error(elements) {
        return Err(Error::invalid(why).at(start + ELEMENTS_AT));
    }
    if let Some(why) = probability_error(probability) {
        return Err(Error::invalid(why).at(start + PROBABILITY_AT));
    }
    let Some(shape) = Shape::of_file(elements, probability, length) else {
        let expected = match Shape::new(elements, probability) {
            Ok(shape) => format!("{} bytes", shape.file_bytes()),
            Err(_) => "more than 2^60 bytes".into(),
        };
        let text = format!(
            "total length: expected {expected} for {elements} elements and probability {probability:?}, found {length}"
        );
        return Err(Error::invalid(text).at(start + LENGTH_AT));
    };
    Ok(shape)
}
