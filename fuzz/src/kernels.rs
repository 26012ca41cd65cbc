//! Every kernel of the LEB128 bulk decoder that this machine can run, compared with the single-value decoder.

use leb128_codec::{Integer, decode, kernels::all};

pub fn kernels(data: &[u8]) {
    let Some((&how, bytes)) = data.split_first() else { return };
    let n = usize::from(how >> 2) * 3;
    match how & 3 {
        0 => check::<u32>(bytes, n),
        1 => check::<u64>(bytes, n),
        2 => check::<i32>(bytes, n),
        _ => check::<i64>(bytes, n),
    }
}

fn check<T: Integer>(bytes: &[u8], n: usize) {
    let (mut expected, mut at, mut end) = (Vec::new(), 0, None);
    while expected.len() < n && end.is_none() {
        match decode::<T>(&bytes[at..]) {
            Ok((value, len)) => {
                expected.push(value);
                at += len;
            }
            Err(error) => end = Some((error.kind(), at + error.offset())),
        }
    }
    for (name, kernel) in all::<T>() {
        let mut out = vec![T::default(); n];
        match (kernel(bytes, &mut out), end) {
            (Ok(used), None) => assert_eq!(used, at, "{name}"),
            (Err(error), Some(end)) => {
                assert_eq!((error.kind(), error.offset(), error.index()), (end.0, end.1, expected.len()), "{name}");
            }
            (result, _) => panic!("{name}: expected {end:?}, found {result:?}"),
        }
        assert_eq!(out[..expected.len()], expected[..], "{name}");
    }
}
