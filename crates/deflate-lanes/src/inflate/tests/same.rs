//! Valid and damaged data of all kinds: this crate and flate2 agree.

use proptest::prelude::*;

use super::pack::{Kind, deflate, zlib};
use super::{Format, Inflater, both};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn inflates_compressed_data(kind in prop::sample::select(&Kind::ALL), seed: u64, len in 0usize..150_000, level in 0u32..10) {
        let bytes = kind.make(seed, len);
        let packed = both(Format::Raw, &deflate(&bytes, level), len);
        prop_assert!(packed == Some(bytes.clone()));
        let packed = both(Format::Zlib, &zlib(&bytes, level), len);
        prop_assert!(packed == Some(bytes));
    }

    #[test]
    fn reuses_an_inflater(seeds in prop::collection::vec((any::<u64>(), 0usize..40_000), 1..8)) {
        let mut fast = Inflater::default();
        for (i, (seed, len)) in seeds.into_iter().enumerate() {
            let kind = Kind::ALL[seed as usize % Kind::ALL.len()];
            let bytes = kind.make(seed, len);
            let mut packed = zlib(&bytes, 6);
            let mut out = vec![0xA5; len];
            if i % 3 == 2 {
                let at = (seed >> 32) as usize % packed.len();
                packed[at] ^= 4;
                let _ = fast.inflate(Format::Zlib, &packed, &mut out);
            } else {
                prop_assert!(fast.inflate(Format::Zlib, &packed, &mut out).is_ok());
                prop_assert!(out == bytes);
            }
        }
    }

    #[test]
    fn agrees_on_random_bytes(bytes in prop::collection::vec(any::<u8>(), 0..300), len in 0usize..1000) {
        both(Format::Raw, &bytes, len);
        both(Format::Zlib, &bytes, len);
    }
}

#[test]
fn inflates_short_data() {
    for kind in Kind::ALL {
        for len in (0..70).chain(4080..4112) {
            for level in [0, 1, 6] {
                let bytes = kind.make(7, len);
                assert_eq!(both(Format::Raw, &deflate(&bytes, level), len).as_ref(), Some(&bytes));
                assert_eq!(both(Format::Zlib, &zlib(&bytes, level), len).as_ref(), Some(&bytes));
            }
        }
    }
    let bytes = vec![0xFF; 1_000_000];
    assert!(both(Format::Zlib, &zlib(&bytes, 6), bytes.len()).unwrap() == bytes, "maximum checksum sums");
}

#[test]
fn agrees_on_every_prefix_and_bit_flip() {
    for (kind, len) in
        [(Kind::Text, 40), (Kind::Text, 1500), (Kind::Skewed, 700), (Kind::Counters, 2000), (Kind::Random, 50)]
    {
        let bytes = kind.make(11, len);
        for (format, packed) in [(Format::Raw, deflate(&bytes, 6)), (Format::Zlib, zlib(&bytes, 9))] {
            for cut in 0..packed.len() {
                assert_eq!(both(format, &packed[..cut], len), None, "{kind:?} cut at {cut}");
            }
            let mut flipped = packed;
            for bit in 0..flipped.len() * 8 {
                flipped[bit / 8] ^= 1 << (bit % 8);
                both(format, &flipped, len);
                flipped[bit / 8] ^= 1 << (bit % 8);
            }
        }
    }
}
