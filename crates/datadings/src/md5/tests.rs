use md5::Digest as _;

use super::{Md5, kernel};

/// The sum according to the crate `md-5`.
fn reference(bytes: &[u8]) -> [u8; 16] {
    md5::Md5::digest(bytes).into()
}

/// Pseudorandom bytes.
fn bytes(len: usize) -> Vec<u8> {
    let mut x = 1u32;
    let mut next = || {
        x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (x >> 24) as u8
    };
    (0..len).map(|_| next()).collect()
}

#[test]
fn rfc_vectors() {
    let vectors = [
        ("", "d41d8cd98f00b204e9800998ecf8427e"),
        ("a", "0cc175b9c0f1b6a831c399e269772661"),
        ("abc", "900150983cd24fb0d6963f7d28e17f72"),
        ("message digest", "f96b697d7cb7938d525a2f31aaf161d0"),
        ("abcdefghijklmnopqrstuvwxyz", "c3fcd3d76192e4007dfb496cca67e13b"),
        ("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", "d174ab98d277d9f5a5611c2c9f419d9f"),
        (
            "12345678901234567890123456789012345678901234567890123456789012345678901234567890",
            "57edf4a22be3c955ac49da2e2107b67a",
        ),
    ];
    for (text, hex) in vectors {
        assert_eq!(Md5::hex(&Md5::digest(text.as_bytes())), hex, "{text:?}");
    }
}

#[test]
fn all_lengths_and_splits() {
    let all = bytes(300);
    for len in 0..=all.len() {
        let whole = &all[..len];
        let sum = reference(whole);
        assert_eq!(Md5::digest(whole), sum, "{len} bytes");
        for split in 0..=len {
            let mut md5 = Md5::new();
            md5.update(&whole[..split]);
            md5.update(&whole[split..]);
            assert_eq!(md5.finish(), sum, "{split} of {len} bytes first");
        }
    }
}

#[test]
fn updates_of_all_sizes() {
    let all = bytes(5000);
    let sum = reference(&all);
    for step in 1..=200 {
        let mut md5 = Md5::default();
        all.chunks(step).for_each(|part| md5.update(part));
        assert_eq!(md5.finish(), sum, "{step} bytes at a time");
    }
}

#[test]
fn long_inputs() {
    for len in [4095, 4096, 65_537, 1 << 20] {
        let all = bytes(len);
        assert_eq!(Md5::digest(&all), reference(&all), "{len} bytes");
    }
}

#[test]
fn constants_are_sines() {
    for (i, &constant) in (1..).zip(&kernel::SINES) {
        assert_eq!(f64::from(constant), (f64::from(i).sin().abs() * 4_294_967_296.0).floor(), "constant {i}");
    }
}

/// The length field, with the compression function alone: 2^29 bytes are 2^32 bits, 2^61 bytes are 2^64.
#[test]
fn length_field_has_64_bits() {
    for (len, field) in [
        (0x1fff_ffff, 0xffff_fff8u64),
        (0x2000_0000, 0x1_0000_0000),
        (0x2000_0003, 0x1_0000_0018),
        (0x1234_5678_9abc, 0x91a2_b3c4_d5e0),
        (0x1fff_ffff_ffff_ffff, 0xffff_ffff_ffff_fff8),
        (0x2000_0000_0000_0000, 0),
        (0x2000_0000_0000_0001, 8),
    ] {
        let mut md5 = Md5 { len, ..Md5::new() };
        let buffered = md5.buffered();
        assert_eq!(buffered as u64, len % 64);
        md5.rest[..buffered].fill(7);
        let mut last = [[0; 64]; 2];
        let used = if buffered < 56 { 1 } else { 2 };
        last.as_flattened_mut()[..buffered].fill(7);
        last.as_flattened_mut()[buffered] = 0x80;
        last[used - 1][56..].copy_from_slice(&field.to_le_bytes());
        let mut state = md5.state;
        kernel::compress(&mut state, &last[..used]);
        let sum: Vec<u8> = state.iter().flat_map(|word| word.to_le_bytes()).collect();
        assert_eq!(md5.finish()[..], sum, "{len:#x} bytes");
    }
}

/// Updates continue from any length.
#[test]
fn length_grows_past_32_bits_and_wraps_at_64() {
    for len in [u64::from(u32::MAX), u64::MAX] {
        let mut md5 = Md5 { len, ..Md5::new() };
        md5.update(&[1, 2]);
        assert_eq!(md5.len, len.wrapping_add(2));
        assert_eq!(md5.rest[0], 2, "the first byte ended a block");
    }
}

#[test]
fn hex_matches_md5sum() {
    let sum = [0x00, 0x01, 0x0f, 0x10, 0x7f, 0x80, 0x99, 0xab, 0xcd, 0xef, 0xf0, 0xff, 0, 9, 0x90, 0xa0];
    assert_eq!(Md5::hex(&sum), "00010f107f8099abcdeff0ff000990a0");
}

#[test]
fn two_at_once() {
    let bytes = bytes(1000);
    for one in [0, 1, 63, 64, 65, 128, 200, 640, 1000] {
        for other in [0, 5, 64, 127, 192, 500, 1000] {
            let (one, other) = (&bytes[..one], &bytes[1000 - other..]);
            // The second part begins inside a block of one or both.
            for cut in [0, 1, 64, 100] {
                let (mut first, mut second) = (Md5::new(), Md5::new());
                let ((a, b), (c, d)) = (one.split_at(cut.min(one.len())), other.split_at(cut.min(other.len())));
                Md5::update_both([&mut first, &mut second], [a, c]);
                Md5::update_both([&mut first, &mut second], [b, d]);
                assert_eq!(first.finish(), reference(one), "{} beside {}, {cut}", one.len(), other.len());
                assert_eq!(second.finish(), reference(other), "{} beside {}, {cut}", other.len(), one.len());
            }
        }
    }
}
