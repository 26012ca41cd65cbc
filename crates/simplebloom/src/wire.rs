//! The header as it lies in the file.

use alloc::format;

use container_core::{Cursor, Error, Result};

use crate::shape::{FORMAT, HEADER_BYTES, Shape, wrong_elements, wrong_probability};

/// What a file begins with.
pub(crate) const MAGIC: [u8; 8] = *b"SIMPBLOO";

/// Where the fields are.
const LENGTH_AT: u64 = 8;
const ELEMENTS_AT: u64 = 16;
const PROBABILITY_AT: u64 = 24;

/// A filter's first bytes.
pub(crate) fn emit(shape: &Shape) -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    let fields =
        [MAGIC, shape.file_bytes().to_be_bytes(), shape.elements().to_be_bytes(), shape.probability().to_be_bytes()];
    for (to, from) in header.as_chunks_mut::<8>().0.iter_mut().zip(fields) {
        *to = from;
    }
    header
}

/// Checks a whole file, of which only the header is looked at and the length.
pub(crate) fn parse(file: &[u8]) -> Result<Shape> {
    parse_here(file).map_err(|error| error.in_format(FORMAT))
}

fn parse_here(file: &[u8]) -> Result<Shape> {
    let mut cursor = Cursor::new(file);
    let shape = header(&mut cursor)?;
    cursor.take_u64(shape.bits() / 8, "bits")?;
    cursor.finish("bits")?;
    Ok(shape)
}

/// Reads the header, which bits follow.
pub(crate) fn header(cursor: &mut Cursor<'_>) -> Result<Shape> {
    let start = cursor.offset();
    let magic = cursor.array::<8>("magic")?;
    if magic != MAGIC {
        let (found, wanted) = (magic.escape_ascii(), MAGIC.escape_ascii());
        return Err(Error::invalid(format!("the file begins with \"{found}\" and not \"{wanted}\"")).at(start));
    }
    let length = cursor.u64_be("total length")?;
    let elements = cursor.u64_be("number of elements")?;
    let probability = cursor.f64_be("probability")?;
    if let Some(why) = wrong_elements(elements) {
        return Err(Error::invalid(why).at(start + ELEMENTS_AT));
    }
    if let Some(why) = wrong_probability(probability) {
        return Err(Error::invalid(why).at(start + PROBABILITY_AT));
    }
    let Some(shape) = Shape::of_file(elements, probability, length) else {
        let wanted = match Shape::new(elements, probability) {
            Ok(shape) => format!("takes {}", shape.file_bytes()),
            Err(_) => "is larger than any file".into(),
        };
        let text = format!(
            "the total length is {length} bytes where a filter for {elements} elements and the probability \
             {probability:?} {wanted}"
        );
        return Err(Error::invalid(text).at(start + LENGTH_AT));
    };
    Ok(shape)
}
