//! Encoding a slice of values beside the other crates' loops over their encoders of one value.
#![allow(clippy::expect_used, clippy::indexing_slicing, reason = "a benchmark that cannot go on says why and ends")]

mod harness;
mod values;

use harness::{Contest, Options, Side};
use values::{Draw, Int, count, patterns};

/// Encodes the values into the buffer, which has room, and returns how many bytes they took.
type Encode<T> = fn(&[T], &mut [u8]) -> usize;

fn contests<T: Int>(options: &Options, rivals: &[(&str, Encode<T>)]) {
    for (pattern, draw_one) in patterns::<T>() {
        let mut draw = Draw(42);
        let values: Vec<T> = (0..count(options)).map(|_| draw_one(&mut draw)).collect();
        let mut expected = Vec::new();
        for &value in &values {
            leb128::write::unsigned(&mut expected, value.into()).expect("a vector takes every byte");
        }
        let pattern = format!("{pattern}-{}", T::NAME);
        let mut contest = Contest::new(
            ["leb128", &pattern, "encode"],
            expected.len(),
            (vec![0; values.len() * T::MAX_LEN], 0),
            |(out, used)| {
                out.fill(0xaa);
                *used = 0;
            },
            |(out, used)| out[..*used] == expected,
        );
        contest.enter(Side::Ours, "leb128-codec", |(out, used)| {
            *used = leb128_codec::encode_slice(&values, out).expect("there is room");
        });
        contest.enter(Side::Ours, "leb128-codec one by one", |(out, used)| {
            *used = 0;
            for &value in &values {
                *used += leb128_codec::encode_into(value, &mut out[*used..]).expect("there is room");
            }
        });
        for (name, encode) in rivals {
            contest.enter(Side::Rival, name, |(out, used)| *used = encode(&values, out));
        }
        contest.run(options);
    }
}

fn leb128<T: Int>(values: &[T], out: &mut [u8]) -> usize {
    let room = out.len();
    let mut free = &mut out[..];
    for &value in values {
        leb128::write::unsigned(&mut free, value.into()).expect("there is room");
    }
    room - free.len()
}

fn integer_encoding<T: Int + integer_encoding::VarInt>(values: &[T], out: &mut [u8]) -> usize {
    let mut used = 0;
    for value in values {
        used += value.encode_var(&mut out[used..]);
    }
    used
}

#[cfg(target_arch = "x86_64")]
fn varint_simd<T: Int + varint_simd::VarIntTarget>(values: &[T], out: &mut [u8]) -> usize {
    let mut used = 0;
    for &value in values {
        let (bytes, len) = varint_simd::encode(value);
        let len = usize::from(len);
        out[used..used + len].copy_from_slice(&bytes[..len]);
        used += len;
    }
    used
}

fn prost<T: Int>(values: &[T], out: &mut [u8]) -> usize {
    let room = out.len();
    let mut free = &mut out[..];
    for &value in values {
        prost::encoding::encode_varint(value.into(), &mut free);
    }
    room - free.len()
}

/// The same names for any type.
macro_rules! rivals {
    () => {
        &[
            ("leb128", leb128),
            ("integer-encoding", integer_encoding),
            #[cfg(target_arch = "x86_64")] // varint-simd does not compile for other processors
            ("varint-simd", varint_simd),
            ("prost", prost),
        ]
    };
}

fn main() {
    let options = Options::from_args();
    contests::<u32>(&options, rivals!());
    contests::<u64>(&options, rivals!());
}
