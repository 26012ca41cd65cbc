//! Round trips at every level, inflated by this crate and by flate2, and limits of the compressed size.

use container_core::testkit::cases;
use flate2::{Compress, Decompress, FlushCompress, FlushDecompress, Status};
use proptest::prelude::*;

use super::*;
use crate::Inflater;

const LEVELS: std::ops::RangeInclusive<u8> = 0..=9;

/// Compresses and checks the result; `deflater` may have been used before.
fn check_with(deflater: &mut Deflater, level: u8, raw: &[u8]) -> usize {
    let mut packed = b"before".to_vec();
    deflater.deflate(Format::Raw, level, raw, &mut packed);
    let packed = packed.strip_prefix(b"before").expect("existing bytes are kept");
    assert!(packed.len() <= raw.len() + 5 * raw.len().div_ceil(65_535).max(1) + 1, "{} of {}", packed.len(), raw.len());
    unpack(Format::Raw, packed, raw);

    let mut framed = Vec::new();
    deflater.deflate(Format::Zlib, level, raw, &mut framed);
    assert_eq!(framed[2..framed.len() - 4], *packed, "same data in zlib");
    unpack(Format::Zlib, &framed, raw);
    packed.len()
}

fn check(level: u8, raw: &[u8]) -> usize {
    check_with(&mut Deflater::default(), level, raw)
}

fn unpack(format: Format, packed: &[u8], raw: &[u8]) {
    let mut out = vec![0xA5; raw.len()];
    Inflater::default().inflate(format, packed, &mut out).expect("our inflater accepts it");
    assert!(out == raw, "our inflater differs");
    out.fill(0xA5);
    let mut state = Decompress::new(format == Format::Zlib);
    let status = state.decompress(packed, &mut out, FlushDecompress::Finish);
    assert_eq!(status.expect("flate2 accepts it"), Status::StreamEnd);
    assert_eq!((state.total_in(), state.total_out()), (packed.len() as u64, raw.len() as u64));
    assert!(out == raw, "flate2 differs");
}

/// The size compressed by flate2.
fn library(level: u32, raw: &[u8]) -> usize {
    let mut state = Compress::new(flate2::Compression::new(level), false);
    let mut out = Vec::with_capacity(raw.len() * 2 + 1000);
    assert_eq!(state.compress_vec(raw, &mut out, FlushCompress::Finish).unwrap(), Status::StreamEnd);
    out.len()
}

struct Noise(u64);

impl Noise {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }
    fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| (self.next() >> 56) as u8).collect()
    }
}

fn floats(len: usize) -> Vec<u8> {
    let mut noise = Noise(1);
    (0..len).flat_map(|_| ((noise.next() >> 40) as f32 / (1 << 24) as f32).to_le_bytes()).collect()
}

fn prices(len: usize) -> Vec<u8> {
    let mut noise = Noise(2);
    (0..len).flat_map(|_| ((noise.next() % 100_000) as f32 / 100.0).to_le_bytes()).collect()
}

fn counters(len: usize) -> Vec<u8> {
    let mut noise = Noise(3);
    (0..len as u64).flat_map(|i| (i * 10 + noise.next() % 10).to_le_bytes()).collect()
}

fn text(len: usize) -> Vec<u8> {
    let mut noise = Noise(4);
    (0..len).flat_map(|_| format!("customer-{}", noise.next() % 99_999).into_bytes()).collect()
}

#[test]
fn round_trips_short_data() {
    let noise = Noise(5).bytes(300);
    let letters: Vec<u8> = noise.iter().map(|byte| b'a' + byte % 3).collect();
    let mut deflater = Deflater::default();
    for len in 0..=300 {
        for level in LEVELS.step_by(cases(3, 1)) {
            for raw in [&noise[..len], &letters[..len], &[0; 300][..len]] {
                check_with(&mut deflater, level, raw);
            }
        }
    }
}

#[test]
fn compresses_empty_data() {
    for level in LEVELS {
        assert!(check(level, &[]) <= 5);
    }
    let mut out = Vec::new();
    Deflater::default().deflate(Format::Zlib, 6, &[], &mut out);
    assert_eq!(out, [0x78, 0x9C, 0x03, 0x00, 0, 0, 0, 1]);
}

#[test]
fn compresses_runs_and_periods() {
    let noise = Noise(6).bytes(40);
    for period in 1..=40 {
        for level in LEVELS {
            for len in [period + 1, 257, 258, 259, 261, 5_000] {
                let raw: Vec<u8> = noise[..period].iter().copied().cycle().take(len).collect();
                let packed = check(level, &raw);
                assert!(level == 0 || len < 5_000 || packed < 150, "{packed} at level {level}, period {period}");
            }
        }
    }
}

#[test]
fn round_trips_sizes_near_internal_limits() {
    let noise = Noise(7).bytes(140_000);
    let text = text(11_000);
    let mixed: Vec<u8> = text.iter().zip(&noise).map(|(&t, &n)| if n < 16 { n } else { t }).collect();
    let mut deflater = Deflater::default();
    for size in [258, CHUNK, 32_768, 65_535, 65_536, 2 * 65_535, 131_072, 40 << 10] {
        for len in [size - 1, size, size + 1, size + 3] {
            let some = LEVELS.step_by(cases(3, 1));
            for (level, raw) in some.flat_map(|level| [(level, &noise), (level, &text), (level, &mixed)]) {
                check_with(&mut deflater, level, &raw[..len.min(raw.len())]);
            }
        }
    }
}

#[test]
fn higher_levels_are_smaller() {
    for raw in [floats(60_000), prices(30_000), counters(30_000), text(30_000)] {
        let sizes: Vec<usize> = LEVELS.map(|level| check(level, &raw)).collect();
        assert!(sizes[1..].iter().all(|&size| size < sizes[0]), "{sizes:?}");
        assert!(sizes[9] * 1000 <= sizes[6] * 1005 && sizes[6] * 1000 <= sizes[1] * 1005, "{sizes:?}");
    }
}

#[test]
fn adapts_to_changing_statistics() {
    let parts =
        [floats(40_000), text(20_000), vec![0; 100_000], Noise(8).bytes(200_000), counters(20_000), text(10_000)];
    let raw = parts.concat();
    for level in LEVELS.step_by(cases(3, 1)) {
        let packed = check(level, &raw);
        let alone: usize = parts.iter().map(|part| check(level, part)).sum();
        assert!(packed < alone + alone / 200, "{packed} at level {level}, one by one {alone}");
    }
}

/// A trial must find matches again after a stretch without, even at large distances.
#[test]
fn finds_matches_after_noise() {
    let mut noise = Noise(9);
    let period = noise.bytes(30_000);
    let raw = [noise.bytes(3 << 20), period.repeat(40)].concat();
    for level in [1, 6, 9] {
        let packed = check(level, &raw);
        let least = (3 << 20) + period.len();
        assert!(packed < least + quiet::MAX_STRETCH + 2 * CHUNK + raw.len() / 200, "{packed} at level {level}");
    }
}

/// With quadratic time this would not end.
#[test]
fn takes_linear_time() {
    let most = cases(4, 32) << 20;
    let runs = vec![0; most];
    let short: Vec<u8> = b"ab".iter().copied().cycle().take(most).collect();
    // All positions have the same hash, but no long matches.
    let nearly: Vec<u8> = (0..most as u32 / 8).flat_map(|i| [0, 0, 0, 0, 0, 0, (i >> 8) as u8, i as u8]).collect();
    for (raw, least) in [(runs, 900), (short, 900), (nearly, 4)] {
        let mut out = Vec::new();
        for level in [1, 6] {
            out.clear();
            Deflater::default().deflate(Format::Raw, level, &raw, &mut out);
            assert!(out.len() * least < raw.len(), "{}", out.len());
        }
        unpack(Format::Raw, &out, &raw);
    }
}

/// Every length, and distances at the limits of each symbol.
#[test]
fn encodes_every_length_and_distance() {
    let mut noise = Noise(10);
    let mut raw = noise.bytes(32_768);
    for length in 3..=270 {
        let from = raw.len() - 1 - (noise.next() % 32_000) as usize;
        raw.extend_from_within(from.min(raw.len() - length)..(from + length).min(raw.len()));
        raw.extend(noise.bytes(2));
    }
    for distance in (0..15).flat_map(|bits| [1 << bits, (1 << bits) + 1, 3 << bits >> 1]) {
        let from = raw.len() - distance.min(32_767);
        raw.extend_from_within(from..(from + 20).min(raw.len()));
        raw.extend(noise.bytes(2));
    }
    for level in LEVELS {
        let packed = check(level, &raw);
        // After the noise, matches are not searched for at once.
        assert!(level == 0 || packed < 48_000, "{packed} of {} at level {level}", raw.len());
    }
}

/// Where codes are shorter than two bits, rounding to whole bits matters: more matches are worth it.
#[test]
fn compresses_small_alphabets() {
    for (letters, least) in [(2, 160), (3, 230), (4, 270)] {
        let raw: Vec<u8> = Noise(13).bytes(100_000).into_iter().map(|byte| byte % letters).collect();
        let packed = check(6, &raw);
        assert!(packed * 1000 < raw.len() * (least + 15), "{packed} of {letters} letters");
    }
}

/// The most uneven code lengths possible, which exceed the limit.
#[test]
fn round_trips_fibonacci_frequencies() {
    let (mut a, mut b) = (1usize, 1);
    let mut raw = Vec::new();
    for byte in 0..27 {
        raw.extend(std::iter::repeat_n(byte, a));
        (a, b) = (b, a + b);
    }
    // Shuffled, so that only frequencies matter.
    let mut noise = Noise(11);
    for at in (1..raw.len()).rev() {
        raw.swap(at, (noise.next() % (at as u64 + 1)) as usize);
    }
    for level in [1, 6, 9] {
        check(level, &raw);
    }
}

#[test]
fn result_is_independent_of_earlier_blocks() {
    let inputs =
        [text(9_000), floats(20_000), vec![], vec![7; 100_000], counters(9_000), text(9_000), Noise(12).bytes(70_000)];
    let mut used = Deflater::default();
    for level in LEVELS {
        for raw in &inputs {
            let (mut fresh, mut again) = (Vec::new(), Vec::new());
            Deflater::default().deflate(Format::Raw, level, raw, &mut fresh);
            used.deflate(Format::Raw, level, raw, &mut again);
            assert!(fresh == again, "level {level}, {} bytes", raw.len());
        }
    }
}

/// Position numbers restart when they overflow.
#[test]
fn position_numbers_wrap() {
    let raw = text(9_000);
    let mut expected = Vec::new();
    let mut used = Deflater::default();
    used.deflate(Format::Raw, 6, &raw, &mut expected);
    for room in [0, 1, 1000, raw.len() as u32, raw.len() as u32 + 1] {
        used.chains.as_mut().unwrap().end = u32::MAX - room;
        for _ in 0..2 {
            let mut again = Vec::new();
            used.deflate(Format::Raw, 6, &raw, &mut again);
            assert!(again == expected);
        }
    }
}

/// Real blocks, compared with flate2 and miniz_oxide at level 6.
#[test]
fn golden_blocks_are_not_larger_than_with_flate2() {
    let Some(directory) = container_core::testkit::golden(env!("CARGO_MANIFEST_DIR"), "idv") else { return };
    let (mut ours, mut theirs, mut blocks) = (0, 0, 0);
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "idv") {
            continue;
        }
        // Each whole file, and its middle.
        let bytes = std::fs::read(path).unwrap();
        for raw in [&bytes[..], &bytes[bytes.len() / 4..bytes.len() * 3 / 4]] {
            let (own, other) = (check(6, raw), library(6, raw));
            assert!(own <= other + other / 50 + 8, "{own} of {}, flate2 {other}", raw.len());
            ours += own;
            theirs += other;
            blocks += 1;
        }
    }
    println!("{blocks} blocks: {ours} bytes, flate2 {theirs}");
    assert!(blocks > 60, "{blocks}");
    assert!(ours <= theirs, "{ours}, flate2 {theirs}");
}

#[test]
fn adler32_matches_known_values() {
    for (bytes, expected) in [(&b""[..], 1), (b"a", 0x0062_0062), (b"Wikipedia", 0x11E6_0398)] {
        assert_eq!(adler32(bytes), expected);
    }
}

/// Concatenated data of all kinds.
fn mixed_data() -> impl Strategy<Value = Vec<u8>> {
    let piece = (0..6u8, any::<u64>(), 0..20_000usize, 1..40usize).prop_map(|(kind, seed, len, period)| {
        let mut noise = Noise(seed | 1);
        match kind {
            0 => noise.bytes(len),
            1 => vec![seed as u8; len],
            2 => noise.bytes(period).into_iter().cycle().take(len).collect(),
            3 => noise.bytes(len).into_iter().map(|byte| byte & byte >> 3).collect(),
            4 => text(len / 14),
            _ => counters(len / 8),
        }
    });
    prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn round_trips_mixed_data(raw in mixed_data(), level in LEVELS) {
        check(level, &raw);
    }
}
