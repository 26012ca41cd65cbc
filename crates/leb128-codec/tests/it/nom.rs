//! The nom parsers, complete and streaming.

use leb128_codec::nom::{complete, streaming};
use nom::error::{Error, ErrorKind};
use nom::{Err, IResult, Needed, Parser, multi::length_data, sequence::pair};

#[test]
fn parses_values_and_returns_the_rest() {
    let (rest, pair) =
        pair(complete::leb128::<u32, Error<_>>, complete::leb128::<i8, _>).parse(&[0xac, 2, 0x7f, 9]).unwrap();
    assert_eq!((pair, rest), ((300, -1), &[9][..]));
    let (rest, value) = streaming::leb128::<u128, Error<_>>(&[0x80, 0x01, 5]).unwrap();
    assert_eq!((value, rest), (128, &[5][..]));
    let text: IResult<_, _> = length_data(streaming::leb128_strict::<u16, _>).parse(&b"\x02hi!"[..]);
    assert_eq!(text, Ok((&b"!"[..], &b"hi"[..])));
}

#[test]
fn handles_the_end_of_input() {
    let bytes = &[0x80, 0x80][..];
    let eof = Err(Err::Error(Error::new(bytes, ErrorKind::Eof)));
    assert_eq!(complete::leb128::<u32, _>(bytes), eof);
    assert_eq!(complete::leb128_strict::<u32, _>(bytes), eof);
    let more: IResult<_, u32> = Err(Err::Incomplete(Needed::new(1)));
    assert_eq!(streaming::leb128(bytes), more);
    assert_eq!(streaming::leb128_strict(bytes), more);
    assert_eq!(streaming::leb128::<u32, Error<_>>(&[]), Err(Err::Incomplete(Needed::new(1))));
}

#[test]
fn errors_point_at_the_offending_byte() {
    let bytes = &[0xff, 0x02, 7][..];
    let large = Err(Err::Error(Error::new(&bytes[1..], ErrorKind::TooLarge)));
    assert_eq!(complete::leb128::<u8, _>(bytes), large);
    assert_eq!(streaming::leb128::<u8, _>(bytes), large);
    let bytes = &[0x80, 0x80, 0x00][..];
    let padded = Err(Err::Error(Error::new(&bytes[2..], ErrorKind::Verify)));
    assert_eq!(complete::leb128_strict::<u32, _>(bytes), padded);
    assert_eq!(streaming::leb128_strict::<u32, _>(bytes), padded);
    assert_eq!(complete::leb128::<u32, Error<_>>(bytes), Ok((&[][..], 0)));
}
