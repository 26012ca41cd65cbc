//! The checksum of ML.NET's driver, defined in `tests/reference/mlnet/README.md`.

use std::ops::Range;

use idv::Values;

/// The sum of weight x (2 x row + 1), modulo 2^64, starting with row `row`.
pub(crate) fn weighted(values: &Values, range: Range<usize>, row: u64) -> u64 {
    let rows = (row..).map(|row| row.wrapping_mul(2).wrapping_add(1));
    let mut sum = 0_u64;
    each(values, range, rows, |weight, value| sum = sum.wrapping_add(value.wrapping_mul(weight)));
    sum
}

/// The sum of the values' weights.
fn plain(values: &Values, range: Range<usize>) -> u64 {
    let mut sum = 0_u64;
    each(values, range, std::iter::repeat(()), |(), value| sum = sum.wrapping_add(value));
    sum
}

/// Calls `add` with each value's weight and the zipped element.
#[inline]
fn each<W>(values: &Values, range: Range<usize>, mut along: impl Iterator<Item = W>, mut add: impl FnMut(W, u64)) {
    macro_rules! numbers {
        ($slice:expr, $count:expr) => {
            $slice[range].iter().zip(along).for_each(|(&value, weight)| add(weight, $count(value)))
        };
    }
    match values {
        Values::SByte(v) => numbers!(v, |x: i8| i64::from(x).cast_unsigned()),
        Values::Int16(v) => numbers!(v, |x: i16| i64::from(x).cast_unsigned()),
        Values::Int32(v) => numbers!(v, |x: i32| i64::from(x).cast_unsigned()),
        Values::Int64(v) | Values::TimeSpan(v) | Values::DateTime(v) => numbers!(v, i64::cast_unsigned),
        Values::Byte(v) => numbers!(v, u64::from),
        Values::UInt16(v) => numbers!(v, u64::from),
        Values::UInt32(v) => numbers!(v, u64::from),
        Values::UInt64(v) => numbers!(v, |x: u64| x),
        Values::Single(v) => numbers!(v, |x: f32| u64::from(x.to_bits())),
        Values::Double(v) => numbers!(v, f64::to_bits),
        Values::Boolean(v) => numbers!(v, u64::from),
        Values::RowId(v) => numbers!(v, halves),
        Values::DateTimeOffset(v) => {
            let both = v.ticks[range.clone()].iter().zip(&v.minutes[range]);
            both.zip(along).for_each(|((&ticks, &minutes), weight)| {
                add(weight, ticks.cast_unsigned().wrapping_add(i64::from(minutes).cast_unsigned()));
            });
        }
        Values::Text(v) => {
            let texts = range.map(|index| v.get(index).unwrap_or(""));
            texts.zip(along).for_each(|(value, weight)| add(weight, text(value)));
        }
        Values::Vector(v) => {
            if let (Some(width), Values::Single(floats)) = (v.dense_length().filter(|&width| width > 0), v.values()) {
                let width = width as usize;
                let rows = floats[range.start * width..range.end * width].chunks_exact(width);
                return rows.zip(along).for_each(|(row, weight)| {
                    let bits: u64 = row.iter().map(|value| u64::from(value.to_bits())).sum();
                    add(weight, bits + width as u64);
                });
            }
            for index in range {
                let (vector, weight) = (v.get(index).unwrap(), along.next().unwrap());
                add(weight, plain(vector.values, vector.range).wrapping_add(vector.length.into()));
            }
        }
        other => panic!("no checksum of {other:?}"),
    }
}

#[expect(clippy::cast_possible_truncation, reason = "each half is taken by itself")]
fn halves(value: u128) -> u64 {
    (value as u64).wrapping_add((value >> 64) as u64)
}

/// The weight of a text: number and sum of its UTF-16 units.
fn text(value: &str) -> u64 {
    if value.is_ascii() {
        return value.len() as u64 + value.bytes().map(u64::from).sum::<u64>();
    }
    value.encode_utf16().map(|unit| u64::from(unit) + 1).sum()
}
