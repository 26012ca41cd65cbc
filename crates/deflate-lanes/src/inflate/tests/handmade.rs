//! Handmade streams: everything that the format allows, and each violation.

use super::pack::{Codes, END, Pack, random};
use super::{Format, both};

/// Inflates as raw DEFLATE.
fn made(pack: &Pack, len: usize) -> Option<Vec<u8>> {
    both(Format::Raw, &pack.done(), len)
}

#[test]
fn inflates_stored_blocks() {
    let bytes: Vec<u8> = random(1).take(9000).flat_map(u64::to_le_bytes).collect();
    for len in [0, 1, 7, 65_535] {
        assert_eq!(made(Pack::default().stored(true, &bytes[..len]), len).unwrap(), bytes[..len]);
        assert_eq!(made(Pack::default().stored(true, &bytes[..len]), len + 1), None, "fewer bytes than declared");
        let mut cut = Pack::default().stored(true, &bytes[..len]).done();
        cut.pop();
        assert_eq!(both(Format::Raw, &cut, len), None, "cut");
    }
    assert_eq!(made(Pack::default().stored(true, b"more"), 3), None, "more bytes than declared");
    let mut damaged = Pack::default().stored(true, b"length").done();
    damaged[3] ^= 1;
    assert_eq!(both(Format::Raw, &damaged, 6), None, "the length and its complement differ");
}

#[test]
fn inflates_blocks_of_all_kinds_in_one_stream() {
    let fixed = Codes::fixed();
    let own = Codes::of(&[(b'a'.into(), 1), (b'b'.into(), 2), (END, 3), (257, 3)], &[(0, 1), (5, 1)]);
    let mut pack = Pack::default();
    pack.fixed(false).literals(&fixed, b"Hello, \xFF").symbol(&fixed.litlens, END);
    pack.stored(false, b"stored").stored(false, b"");
    pack.codes(false, &own).literals(&own, b"ab").match_of(&own, 3, 8).symbol(&own.litlens, END);
    pack.fixed(true).match_of(&fixed, 5, 1).symbol(&fixed.litlens, END);
    let expected = b"Hello, \xFFstoredabstoooooo";
    assert_eq!(made(&pack, expected.len()).unwrap(), expected);
    for len in [0, expected.len() - 1, expected.len() + 1] {
        assert_eq!(made(&pack, len), None, "{len} bytes declared");
    }
    let trailing = [pack.done(), vec![0xFF; 20]].concat();
    assert_eq!(both(Format::Raw, &trailing, expected.len()).unwrap(), expected, "with bytes behind the end");
    assert_eq!(made(Pack::default().number(7, 3), 0), None, "a block of the fourth kind");
    assert_eq!(made(&Pack::default(), 0), None, "nothing at all");
}

/// A stretch without bounds checks ends early enough for the literals and the match of one step.
#[test]
fn inflates_a_long_match_near_the_end() {
    let codes = Codes::fixed();
    for (literals, tail) in (0..9).flat_map(|literals| (0..40).map(move |tail| (literals, tail))) {
        let mut pack = Pack::default();
        let (before, after) = (&b"beginning"[..literals], vec![b'.'; tail]);
        pack.stored(false, &[b'-'; 16]).fixed(true).literals(&codes, before).match_of(&codes, 258, 16 + literals);
        pack.literals(&codes, &after).symbol(&codes.litlens, END);
        let start = [&[b'-'; 16], before].concat();
        let copied: Vec<u8> = start.iter().copied().cycle().take(258).collect();
        let expected = [start, copied, after].concat();
        let trailing = [pack.done(), vec![0; 20]].concat();
        let found = both(Format::Raw, &trailing, expected.len());
        assert_eq!(found.as_ref(), Some(&expected), "{literals} literals before, {tail} after");
    }
}

/// Every length, at near and far distances, in the middle of the output and at its end.
#[test]
fn inflates_every_match_length() {
    let codes = Codes::fixed();
    let start: Vec<u8> = random(2).map(|n| n as u8).take(32_768).collect();
    for distance in (1..40).chain([64, 255, 256, 257, 4096, 24_576, 24_577, 32_767, 32_768]) {
        let mut pack = Pack::default();
        pack.stored(false, &start).fixed(true);
        let mut expected = start.clone();
        for length in 3..=258 {
            pack.match_of(&codes, length, distance).literals(&codes, &[length as u8]);
            (0..length).for_each(|_| expected.push(expected[expected.len() - distance]));
            expected.push(length as u8);
        }
        pack.symbol(&codes.litlens, END);
        assert_eq!(made(&pack, expected.len()).unwrap(), expected, "distance {distance}");
        for length in [3, 7, 8, 9, 100, 258] {
            let mut pack = Pack::default();
            pack.stored(false, &start[..distance]).fixed(true).match_of(&codes, length, distance);
            pack.symbol(&codes.litlens, END);
            let expected: Vec<u8> = (0..distance + length).map(|i| start[i % distance]).collect();
            assert_eq!(made(&pack, expected.len()).unwrap(), expected, "length {length}, distance {distance}");
            assert_eq!(made(&pack, expected.len() - 1), None, "a byte less declared");
            assert_eq!(made(&pack, distance), None, "no room at all");
        }
        // A distance before the first byte, with much room and with little.
        for behind in [0, 1000] {
            let mut pack = Pack::default();
            pack.stored(false, &start[..distance - 1]).fixed(true).match_of(&codes, 3, distance);
            pack.literals(&codes, &vec![0; behind]).symbol(&codes.litlens, END);
            assert_eq!(made(&pack, distance + 2 + behind), None, "distance {distance} after one byte less");
        }
    }
    // 258 has its own symbol, but can also be encoded with the previous one.
    let mut pack = Pack::default();
    pack.fixed(true).literals(&codes, b"x").symbol(&codes.litlens, 284).number(31, 5).distance(&codes, 1);
    assert_eq!(made(pack.symbol(&codes.litlens, END), 259).unwrap(), [b'x'; 259]);
}

/// Codes of all lengths up to 15 bits, many longer than a table index.
#[test]
fn inflates_long_codes() {
    let ladder = |symbols: &[usize]| -> Vec<(usize, u8)> {
        (1..).zip(symbols).map(|(len, &symbol)| (symbol, len.min(15))).collect()
    };
    for turn in 0..16 {
        let mut litlens = vec![0, 1, 2, 3, 4, 5, 255, END, 257, 258, 264, 265, 284, 285, 7, 8];
        let mut distances = vec![0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 28, 29];
        litlens.rotate_left(turn);
        distances.rotate_right(turn);
        let codes = Codes::of(&ladder(&litlens), &ladder(&distances));
        let literals = [0, 1, 2, 3, 4, 5, 255, 7, 8];
        let mut expected: Vec<u8> = random(3).map(|n| n as u8).take(33_000).collect();
        let mut pack = Pack::default();
        pack.stored(false, &expected).codes(true, &codes);
        for (n, m) in random(turn as u64).zip(random(99)).take(500) {
            let literal = literals[n as usize % literals.len()];
            pack.literals(&codes, &[literal]);
            expected.push(literal);
            if n >> 32 & 1 == 1 {
                let length = [3, 4, 10, 11, 12, 227, 242, 258][(n >> 40 & 7) as usize];
                let distance = [1, 2, 3, 4, 5, 8, 17, 24, 33, 49, 128, 16_385, 24_576, 24_577, 32_768][m as usize % 15];
                pack.match_of(&codes, length, distance);
                (0..length).for_each(|_| expected.push(expected[expected.len() - distance]));
            }
        }
        pack.symbol(&codes.litlens, END);
        assert_eq!(made(&pack, expected.len()).unwrap(), expected);
        let packed = pack.done();
        for cut in 1..40 {
            assert_eq!(both(Format::Raw, &packed[..packed.len() - cut], expected.len()), None, "{cut} cut");
        }
    }
}

#[test]
fn accepts_some_incomplete_distance_codes() {
    // The fourth byte is a symbol or the rest of a length, so that what is refused is refused for its distance.
    for (distances, used, fine) in [
        (vec![], None, true),
        (vec![(0, 1)], None, true),
        (vec![(0, 1)], Some(0), true),
        (vec![(0, 1)], Some(1), false),
        (vec![(3, 1)], Some(0), true),
        (vec![(0, 1), (1, 1)], Some(1), true),
        (vec![], Some(0), false),
        (vec![(0, 2)], None, false),
        (vec![(0, 2), (1, 2), (2, 2)], None, false),
        (vec![(0, 1), (1, 1), (2, 1)], None, false),
        (vec![(0, 1), (1, 2), (2, 2), (3, 15)], None, false),
    ] {
        for behind in [0, 600] {
            let codes = Codes::of(&[(b'a'.into(), 1), (END, 2), (257, 2)], &distances);
            let mut pack = Pack::default();
            pack.codes(true, &codes).literals(&codes, b"aaaa");
            if let Some(bit) = used {
                pack.symbol(&codes.litlens, 257).number(bit, 1);
            }
            pack.literals(&codes, &vec![b'a'; behind]).symbol(&codes.litlens, END);
            let len = 4 + if used.is_some() { 3 } else { 0 } + behind;
            assert_eq!(made(&pack, len), fine.then(|| vec![b'a'; len]), "{distances:?}, used: {used:?}");
        }
    }
}

#[test]
fn rejects_incomplete_literal_codes() {
    let a = usize::from(b'a');
    for (litlens, fine) in [
        (vec![(a, 1), (END, 1)], true),
        (vec![(a, 1)], false),
        (vec![(a, 1), (END, 2)], false),
        (vec![(a, 2), (END, 2)], false),
        (vec![(a, 1), (END, 1), (257, 1)], false),
        (vec![(a, 1), (END, 2), (257, 2), (258, 15)], false),
        (vec![(a, 1), (98, 2), (99, 2)], false),
    ] {
        let codes = Codes::of(&litlens, &[(0, 1)]);
        let mut pack = Pack::default();
        pack.codes(true, &codes).literals(&codes, b"aaa");
        // A zero or one where the end has no code.
        pack.number(!0, 20);
        assert_eq!(made(&pack, 3), fine.then(|| b"aaa".to_vec()), "{litlens:?}");
    }
    // Only the end, of one bit, and the invalid bit.
    let codes = Codes::of(&[(END, 1)], &[]);
    assert_eq!(made(Pack::default().codes(true, &codes).number(0, 1), 0).unwrap(), b"");
    assert_eq!(made(Pack::default().codes(true, &codes).number(1, 1).number(0, 70), 0), None);
}

/// Symbols that have a fixed code but are reserved.
#[test]
fn rejects_reserved_symbols() {
    let codes = Codes::fixed();
    for behind in [0, 600] {
        for symbol in [286, 287] {
            let mut pack = Pack::default();
            pack.fixed(true).literals(&codes, b"aaaa").symbol(&codes.litlens, symbol).number(0, 5 + 9 * behind);
            assert_eq!(made(pack.symbol(&codes.litlens, END), 7 + behind), None, "symbol {symbol}");
        }
        for distance in [30, 31] {
            let mut pack = Pack::default();
            pack.fixed(true).literals(&codes, b"aaaa").symbol(&codes.litlens, 257).symbol(&codes.distances, distance);
            pack.literals(&codes, &vec![0; behind]);
            assert_eq!(made(pack.symbol(&codes.litlens, END), 7 + behind), None, "distance {distance}");
        }
    }
}

#[test]
fn checks_headers_of_dynamic_blocks() {
    let fine = [0, 0, 0, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4];
    // Too many codes.
    for (litlens, distances, allowed) in
        [(286, 30, true), (287, 1, false), (288, 1, false), (257, 31, false), (257, 32, false)]
    {
        let mut pack = Pack::default();
        pack.code_lengths(true, litlens, distances, &fine);
        for symbol in 0..litlens + distances {
            pack.symbol(&[4; 16], usize::from(symbol == 0 || symbol == END));
        }
        assert_eq!(made(pack.number(1, 1), 0).is_some(), allowed, "{litlens} and {distances}");
    }
    // The code length code: empty, a single bit, incomplete, over-subscribed.
    for lens in [vec![0; 19], vec![1, 0, 0, 0], vec![0, 0, 0, 1], vec![2, 2, 2, 0], vec![1, 1, 1, 0], vec![7; 19]] {
        let mut pack = Pack::default();
        pack.code_lengths(true, 257, 1, &lens).number(0, 2000);
        assert_eq!(made(&pack, 0), None, "{lens:?}");
    }
    // Repetitions: 16 of the previous length, 17 and 18 of zero. The only other length is 1.
    let given = [2, 2, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2];
    let mut lens = [0; 19];
    [1, 16, 17, 18].iter().for_each(|&symbol: &usize| lens[symbol] = 2);
    for (steps, fine) in [
        // 256 zeros, the end, no distance; with 17 and 18 across the boundary of the two codes.
        (vec![(18, 127), (18, 107), (1, 0), (1, 0)], true),
        (vec![(18, 127), (18, 106), (1, 0), (16, 0)], false),
        (vec![(18, 127), (18, 105), (1, 0), (1, 0), (1, 0), (1, 0)], false),
        (vec![(1, 0), (18, 127), (18, 106), (1, 0), (1, 0)], true),
        (vec![(1, 0), (18, 127), (18, 106), (1, 0), (17, 0)], false),
        (vec![(1, 0), (18, 127), (18, 106), (1, 0), (18, 0)], false),
        (vec![(16, 0), (18, 127), (18, 103), (1, 0), (1, 0)], false),
        (vec![(18, 127), (18, 104), (1, 0), (16, 0)], false),
        (vec![(18, 127), (18, 107), (17, 0)], false),
    ] {
        let mut pack = Pack::default();
        pack.code_lengths(true, 257, 1, &given);
        for &(symbol, extra) in &steps {
            pack.symbol(&lens, symbol).number(extra, [0, 2, 3, 7][symbol.saturating_sub(15)]);
        }
        // The end has the only code, or the second of two.
        let first = steps[0].0 == 1;
        assert_eq!(made(pack.number(first.into(), 1), 0).is_some(), fine, "{steps:?}");
    }
}

#[test]
fn checks_zlib_headers_and_checksums() {
    let body = Pack::default().stored(true, b"Wikipedia").done();
    let sum = [0x11, 0xE6, 0x03, 0x98];
    let frame = |head: [u8; 2], sum: &[u8]| both(Format::Zlib, &[&head, body.as_slice(), sum].concat(), 9);
    for head in [[0x78, 0x9C], [0x78, 0x01], [0x08, 0x1D]] {
        assert_eq!(frame(head, &sum).unwrap(), b"Wikipedia", "{head:x?}");
        assert_eq!(frame(head, &[&sum[..], b"trailing"].concat()).unwrap(), b"Wikipedia");
    }
    for (head, why) in [
        ([0x78, 0x9D], "a wrong check"),
        ([0x79, 0x9A], "an unknown method"),
        ([0x88, 0x1C], "a window of more than 32768 bytes"),
        ([0x78, 0xBB], "a preset dictionary"),
    ] {
        assert_eq!(frame(head, &sum), None, "{why}");
    }
    for bit in 0..32 {
        let mut wrong = sum;
        wrong[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(frame([0x78, 0x9C], &wrong), None, "a wrong sum");
    }
    for len in 0..4 {
        assert_eq!(frame([0x78, 0x9C], &sum[..len]), None, "a sum that is cut");
    }
    for len in 0..2 {
        assert_eq!(both(Format::Zlib, &[0x78, 0x9C][..len], 0), None, "a header that is cut");
    }
}
