//! Comparison with flate2.

mod handmade;
mod lanes;
mod pack;
mod same;

use flate2::{Decompress, FlushDecompress, Status};

use self::pack::{Codes, END, Pack, deflate};
use super::*;

fn library(format: Format, packed: &[u8], len: usize) -> Option<Vec<u8>> {
    // One more byte, so that a longer stream does not end.
    let mut out = vec![0xA5; len + 1];
    let mut state = Decompress::new(format == Format::Zlib);
    let status = state.decompress(packed, &mut out, FlushDecompress::Finish);
    out.truncate(len);
    (matches!(status, Ok(Status::StreamEnd)) && state.total_out() == len as u64).then_some(out)
}

fn fast(format: Format, packed: &[u8], len: usize) -> Option<Vec<u8>> {
    let mut out = vec![0xA5; len];
    Inflater::default().inflate(format, packed, &mut out).ok().map(|()| out)
}

/// The result of both, which must be the same.
fn both(format: Format, packed: &[u8], len: usize) -> Option<Vec<u8>> {
    let (fast, library) = (fast(format, packed, len), library(format, packed, len));
    assert!(fast == library, "fast: {:?}, library: {:?}", fast.map(|f| f.len()), library.map(|l| l.len()));
    fast
}

#[test]
fn requires_the_exact_length() {
    for len in [0, 1, 100, 70_000] {
        let bytes: Vec<u8> = (0..len).map(|i: u32| (i.wrapping_mul(i) >> 3) as u8).collect();
        let packed = deflate(&bytes, 9);
        assert_eq!(fast(Format::Raw, &packed, bytes.len()).as_ref(), Some(&bytes));
        assert_eq!(fast(Format::Raw, &packed, bytes.len() + 1), None);
        if len > 0 {
            assert_eq!(fast(Format::Raw, &packed, bytes.len() - 1), None);
            assert_eq!(fast(Format::Raw, &packed[..packed.len() - 1], bytes.len()), None, "truncated stream");
        }
    }
}

#[test]
fn recovers_after_damaged_data() {
    let packed = deflate(b"hello hello hello", 9);
    let mut inflater = Inflater::default();
    let mut out = [0; 17];
    assert_eq!(inflater.inflate(Format::Raw, &[0xFF; 9], &mut out), Err(Damaged));
    inflater.inflate(Format::Raw, &packed, &mut out).unwrap();
    assert_eq!(&out, b"hello hello hello");
    assert_eq!(inflater.inflate(Format::Zlib, &packed, &mut out), Err(Damaged));
}

#[test]
fn most_inflated_is_an_upper_bound() {
    let packed = deflate(&vec![0; 10_000_000], 9);
    assert!(most_inflated(packed.len() as u64) >= 10_000_000);
}

#[test]
fn rejects_distance_before_the_first_byte() {
    let codes = Codes::fixed();
    for distance in [2, 32_768] {
        let packed = Pack::default()
            .fixed(true)
            .literals(&codes, b"x")
            .match_of(&codes, 3, distance)
            .symbol(&codes.litlens, END)
            .done();
        assert_eq!(both(Format::Raw, &packed, 4), None);
    }
}
