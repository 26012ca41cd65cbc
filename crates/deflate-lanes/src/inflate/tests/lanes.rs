//! Blocks of literals, which are decoded in several lanes: the result does not depend on the guessed offsets.

use container_core::testkit::cases;
use proptest::prelude::*;

use super::super::bits::Bits;
use super::super::lanes::Lanes;
use super::super::stream::Stream;
use super::pack::{Codes, END, Kind, Pack, deflate, random};
use super::{Fast, Format, both};

/// The number of bytes of a stream's first block that one call of the lanes decodes.
fn made_by_lanes(packed: &[u8], len: usize) -> usize {
    let mut fast = Fast::default();
    let mut out = vec![0; len];
    let mut stream = Stream { bits: Bits::new(packed), out: &mut out, made: 0 };
    stream.bits.take(3).unwrap();
    fast.read_tables(&mut stream.bits).unwrap();
    Lanes::default().decode(&mut stream, &fast.tables).unwrap();
    stream.made
}

/// Codes of equal lengths: all literals below `1 << bits` but the last, and the end.
fn even(bits: u8) -> Codes {
    let symbols = (0..(1 << bits) - 1).chain([END]);
    Codes::of(&symbols.map(|symbol| (symbol, bits)).collect::<Vec<_>>(), &[])
}

/// Few literals and a match of three, mostly with short codes.
fn steep() -> Codes {
    Codes::of(&[(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (END, 6), (257, 6)], &[(0, 1), (1, 1)])
}

/// One literal of one bit, the others of eight.
fn lopsided() -> Codes {
    let others = (1..128).chain([END]).map(|symbol| (symbol, 8));
    Codes::of(&others.chain([(0, 1)]).collect::<Vec<_>>(), &[])
}

/// A block of literals only.
fn block(pack: &mut Pack, last: bool, codes: &Codes, literals: &[u8]) -> Vec<u8> {
    pack.codes(last, codes).literals(codes, literals).symbol(&codes.litlens, END).done()
}

#[test]
fn lanes_decode_most_of_a_numeric_block() {
    for len in [5000, 16_000, 70_000] {
        let bytes = Kind::Floats.make(5, len);
        let packed = deflate(&bytes, 6);
        let (made, most) = (made_by_lanes(&packed, len), len.min(16_383));
        assert!(made > most * 9 / 10, "{made} of {len}");
        assert!(both(Format::Raw, &packed, len) == Some(bytes));
    }
    let text = Kind::Text.make(5, 100_000);
    assert_eq!(made_by_lanes(&deflate(&text, 6), text.len()), 0, "matches");
}

#[test]
fn agrees_on_damaged_blocks() {
    let bytes = Kind::Floats.make(6, 9000);
    let packed = deflate(&bytes, 6);
    for cut in (0..packed.len()).step_by(61) {
        assert_eq!(both(Format::Raw, &packed[..cut], bytes.len()), None, "cut at {cut}");
    }
    let mut flipped = packed;
    for bit in (0..flipped.len() * 8).step_by(67) {
        flipped[bit / 8] ^= 1 << (bit % 8);
        both(Format::Raw, &flipped, bytes.len());
        flipped[bit / 8] ^= 1 << (bit % 8);
    }
}

/// With codes of equal lengths, a lane that starts inside a code never synchronizes, and one that starts between two does at
/// once.
#[test]
fn handles_lanes_that_never_meet() {
    let (mut alone, mut together) = (0, 0);
    for bits in 5..8 {
        let codes = even(bits);
        for len in (15_000..16_383).step_by(97) {
            let literals: Vec<u8> = random(len as u64).map(|n| (n % ((1 << bits) - 1)) as u8).take(len).collect();
            let packed = block(&mut Pack::default(), true, &codes, &literals);
            let made = made_by_lanes(&packed, len);
            alone += usize::from(made < len / 2);
            together += usize::from(made > len * 9 / 10);
            assert!(both(Format::Raw, &packed, len) == Some(literals));
        }
    }
    assert!(alone > 0 && together > 0, "{alone}, {together}");
}

/// The block ends before the last lanes start, which therefore decode other data.
#[test]
fn handles_blocks_shorter_than_expected() {
    let bytes: Vec<u8> = random(1).map(|n| n as u8).take(60_000).collect();
    for len in [0, 1, 100, 3000, 4500, 9000, 15_000] {
        let literals: Vec<u8> = bytes[..len].iter().map(|byte| byte % 127).collect();
        let mut pack = Pack::default();
        block(&mut pack, false, &even(7), &literals);
        let packed = pack.stored(true, &bytes).done();
        let expected = [literals, bytes.clone()].concat();
        assert!(both(Format::Raw, &packed, expected.len()) == Some(expected), "{len} literals");
    }
}

/// More literals or matches than the capacity of a lane.
#[test]
fn handles_full_lanes() {
    let literals = vec![0; 100_000];
    let packed = block(&mut Pack::default(), true, &lopsided(), &literals);
    let made = made_by_lanes(&packed, literals.len());
    assert!(made > 5000 && made < 4 * 8192, "{made}");
    assert!(both(Format::Raw, &packed, literals.len()) == Some(literals));

    let codes = steep();
    let mut pack = Pack::default();
    pack.codes(true, &codes).literals(&codes, &[1]);
    for _ in 0..30_000 {
        pack.match_of(&codes, 3, 1);
    }
    let packed = pack.symbol(&codes.litlens, END).done();
    let made = made_by_lanes(&packed, 90_001);
    assert!(made > 1000 && made < 4 * 3 * 520, "{made}");
    assert!(both(Format::Raw, &packed, 90_001) == Some(vec![1; 90_001]));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(30, 100)))]

    #[test]
    fn decodes_blocks_with_some_matches(seed: u64, symbols in 1usize..40_000, one_in in 2u64..500) {
        let codes = steep();
        let mut pack = Pack::default();
        pack.codes(true, &codes);
        let mut expected = Vec::new();
        for n in random(seed).take(symbols) {
            let distance = 1 + (n & 1) as usize;
            if (n >> 8) % one_in == 0 && expected.len() >= distance {
                pack.match_of(&codes, 3, distance);
                (0..3).for_each(|_| expected.push(expected[expected.len() - distance]));
            } else {
                let literal = (n >> 1).trailing_zeros().min(4) as u8;
                pack.literals(&codes, &[literal]);
                expected.push(literal);
            }
        }
        let packed = pack.symbol(&codes.litlens, END).done();
        prop_assert!(both(Format::Raw, &packed, expected.len()) == Some(expected));
    }
}
