//! leb128-codec beside the other crates of its kind, decoding one value at a time and in bulk.
//!
//! Every contestant does the same work and its values are compared with the ones encoded. One at a
//! time means a loop over the buffer that calls the crate's decoder of one value; in bulk means
//! filling a slice, for which the rivals have nothing but that same loop.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a benchmark that cannot go on says why and ends"
)]

mod harness;
mod values;

use harness::{Contest, Options, Side};
use values::{Draw, Int, count, patterns};

/// A crate's single-value decoder in a loop that sums the values, or writes them to a slice.
trait Decoder<T> {
    const NAME: &'static str;
    /// `COPY` changes only where the compiler puts the loop.
    fn sum<const COPY: u32>(input: &[u8]) -> T;
    fn fill(input: &[u8], out: &mut [T]);
}

/// A decoder that shortens the slice: `$next` takes `&mut &[u8]` and gives the value.
macro_rules! by_rest {
    ($name:ident, $label:literal, $($int:ident $next:expr),+) => {
        struct $name;
        $(impl Decoder<$int> for $name {
            const NAME: &'static str = $label;
            fn sum<const COPY: u32>(input: &[u8]) -> $int {
                let next: fn(&mut &[u8]) -> $int = $next;
                let (mut rest, mut sum) = (input, $int::from(COPY));
                while !rest.is_empty() {
                    sum = sum.wrapping_add(next(&mut rest));
                }
                sum.wrapping_sub($int::from(COPY))
            }
            fn fill(input: &[u8], out: &mut [$int]) {
                let next: fn(&mut &[u8]) -> $int = $next;
                let mut rest = input;
                for slot in out {
                    *slot = next(&mut rest);
                }
            }
        })+
    };
}

/// A decoder that keeps the slice: `$next` takes `&[u8], &mut usize` and gives the value.
macro_rules! by_position {
    ($name:ident, $label:literal, $($int:ident $next:expr),+) => {
        struct $name;
        $(impl Decoder<$int> for $name {
            const NAME: &'static str = $label;
            fn sum<const COPY: u32>(input: &[u8]) -> $int {
                let next: fn(&[u8], &mut usize) -> $int = $next;
                let (mut at, mut sum) = (0, $int::from(COPY));
                while at < input.len() {
                    sum = sum.wrapping_add(next(input, &mut at));
                }
                sum.wrapping_sub($int::from(COPY))
            }
            fn fill(input: &[u8], out: &mut [$int]) {
                let next: fn(&[u8], &mut usize) -> $int = $next;
                let mut at = 0;
                for slot in out {
                    *slot = next(input, &mut at);
                }
            }
        })+
    };
}

/// Adapts a decoder that returns value and length.
macro_rules! advance {
    ($decode:expr) => {
        |input, at| {
            let (value, len) = $decode(&input[*at..]).unwrap();
            *at += len;
            value
        }
    };
}

by_position!(Ours, "leb128-codec", u32 advance!(leb128_codec::decode), u64 advance!(leb128_codec::decode));
#[cfg(target_arch = "x86_64")]
by_position!(VarintSimd, "varint-simd", u32 advance!(varint_simd::decode), u64 advance!(varint_simd::decode));
/// varint-simd compiles for x86-64 only. Elsewhere it is not entered, and the alias merely satisfies the bounds.
#[cfg(not(target_arch = "x86_64"))]
type VarintSimd = Leb128;
by_position!(
    IntegerEncoding, "integer-encoding",
    u32 advance!(integer_encoding::VarInt::decode_var), u64 advance!(integer_encoding::VarInt::decode_var)
);
by_position!(
    Leb128Fmt,
    "leb128fmt",
    u32 | input,
    at | leb128fmt::decode_uint_slice::<u32, 32>(input, at).unwrap(),
    u64 | input,
    at | leb128fmt::decode_uint_slice::<u64, 64>(input, at).unwrap()
);
by_rest!(
    Leb128,
    "leb128",
    u32 | rest | leb128::read::unsigned(rest).unwrap().try_into().unwrap(),
    u64 | rest | leb128::read::unsigned(rest).unwrap()
);
by_rest!(
    Prost,
    "prost",
    u32 | rest | prost::encoding::decode_varint(rest).unwrap().try_into().unwrap(),
    u64 | rest | prost::encoding::decode_varint(rest).unwrap()
);
by_rest!(
    UnsignedVarint,
    "unsigned-varint",
    u32 | rest | {
        let value;
        (value, *rest) = unsigned_varint::decode::u32(rest).unwrap();
        value
    },
    u64 | rest | {
        let value;
        (value, *rest) = unsigned_varint::decode::u64(rest).unwrap();
        value
    }
);

/// One pattern's input, the values in it, and the two contests about it.
struct Arena<'a, T: Int> {
    input: &'a [u8],
    single: Contest<'a, T>,
    bulk: Contest<'a, Vec<T>>,
}

impl<'a, T: Int> Arena<'a, T> {
    fn new(pattern: &'a str, input: &'a [u8], values: &'a [T]) -> Self {
        let sum =
            values.iter().fold(0, |sum: u64, &value| sum.wrapping_add(value.into())) & (u64::MAX >> (64 - T::BITS));
        let single = Contest::new(
            ["leb128", pattern, "single"],
            input.len(),
            T::default(),
            |state| *state = T::default(),
            move |&state| state.into() == sum,
        );
        let bulk = Contest::new(
            ["leb128", pattern, "bulk"],
            input.len(),
            vec![T::default(); values.len()],
            |out: &mut Vec<T>| out.fill(T::default()),
            move |out| out == values,
        );
        Self { input, single, bulk }
    }

    fn enter_single<D: Decoder<T>>(&mut self, side: Side) {
        // The alignment of a loop of a few instructions can halve or double its speed. Each contestant has four copies,
        // and the fastest counts.
        let copies = [D::sum::<0>, D::sum::<1>, D::sum::<0x100>, D::sum::<0x1_0000>];
        for sum in copies {
            let input = self.input;
            self.single.enter(side, D::NAME, move |state| *state = sum(input));
        }
    }

    fn enter_bulk(&mut self, name: &'a str, decode: impl Fn(&[u8], &mut [T]) + 'a) {
        let input = self.input;
        self.bulk.enter(Side::Ours, name, move |out| decode(input, out));
    }

    fn enter_rival<D: Decoder<T>>(&mut self) {
        self.enter_single::<D>(Side::Rival);
        let input = self.input;
        self.bulk.enter(Side::Rival, D::NAME, move |out| D::fill(input, out));
    }
}

fn contests<T: Int>(options: &Options)
where
    Ours: Decoder<T>,
    Leb128: Decoder<T>,
    Leb128Fmt: Decoder<T>,
    UnsignedVarint: Decoder<T>,
    IntegerEncoding: Decoder<T>,
    VarintSimd: Decoder<T>,
    Prost: Decoder<T>,
{
    for (pattern, draw_one) in patterns::<T>() {
        let mut draw = Draw(42);
        let count = count(options);
        let values: Vec<T> = (0..count).map(|_| draw_one(&mut draw)).collect();
        let mut input = Vec::new();
        for &value in &values {
            leb128::write::unsigned(&mut input, value.into()).expect("a vector takes every byte");
        }
        let pattern = format!("{pattern}-{}", T::NAME);
        let mut arena = Arena::new(&pattern, &input, &values);
        arena.enter_single::<Ours>(Side::Ours);
        arena.enter_bulk("leb128-codec", |input, out| {
            leb128_codec::decode_slice(input, out).unwrap();
        });
        #[cfg(feature = "_kernels")]
        for (name, decode) in leb128_codec::kernels::all() {
            arena.enter_bulk(name, move |input, out| {
                decode(input, out).unwrap();
            });
        }
        arena.enter_rival::<Leb128>();
        arena.enter_rival::<Leb128Fmt>();
        arena.enter_rival::<UnsignedVarint>();
        arena.enter_rival::<IntegerEncoding>();
        #[cfg(target_arch = "x86_64")]
        arena.enter_rival::<VarintSimd>();
        arena.enter_rival::<Prost>();
        arena.single.run(options);
        arena.bulk.run(options);
    }
}

fn main() {
    let options = Options::from_args();
    contests::<u32>(&options);
    contests::<u64>(&options);
}
