//! Streams that end, fail, or are interrupted, and container-core's cursor.

use std::io::{self, Read, Write};

use container_core::{Cursor, Encode};
use leb128_codec::io::{ReadError, read, read_strict, write};
use leb128_codec::{DecodeErrorKind, Leb128, Leb128Strict, read_slice};

/// Returns one byte per read, each after an interruption; after the last byte it ends or fails.
struct Slow<'a> {
    bytes: &'a [u8],
    interrupted: bool,
    fails: bool,
}

impl<'a> Slow<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, interrupted: false, fails: false }
    }
}

impl Read for Slow<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.interrupted = !self.interrupted;
        if self.interrupted {
            return Err(io::ErrorKind::Interrupted.into());
        }
        match (self.bytes, buffer) {
            ([], _) if self.fails => Err(io::Error::other("the line is dead")),
            ([first, rest @ ..], [slot, ..]) => {
                *slot = *first;
                self.bytes = rest;
                Ok(1)
            }
            _ => Ok(0),
        }
    }
}

#[test]
fn retries_interrupted_reads() {
    let mut stream = Slow::new(&[0xe5, 0x8e, 0x26, 0x7f]);
    assert_eq!(read::<u32, _>(&mut stream).unwrap(), Some(624_485));
    assert_eq!(read::<i8, _>(&mut stream).unwrap(), Some(-1));
    assert_eq!(read::<u32, _>(&mut stream).unwrap(), None);
    assert_eq!(read::<u32, _>(&mut stream).unwrap(), None);
}

#[test]
fn rejects_truncated_value() {
    let error = read::<u64, _>(&mut Slow::new(&[0x80, 0x80])).unwrap_err();
    let ReadError::Value(inner) = &error else { panic!("{error}") };
    assert_eq!((inner.kind(), inner.offset()), (DecodeErrorKind::Truncated, 0));
    assert_eq!(error.to_string(), "leb128: value needs at least 3 bytes, 2 available (byte 0)");
    assert_eq!(io::Error::from(error).kind(), io::ErrorKind::UnexpectedEof);
}

#[test]
fn reads_no_byte_past_a_value() {
    let mut stream = &[0xff, 0xff, 0xff, 0xff, 0xff, 1, 2][..];
    let error = read::<u32, _>(&mut stream).unwrap_err();
    assert_eq!(error.to_string(), "leb128: byte 0xff does not fit u32 (byte 4)");
    assert_eq!(stream, [1, 2]);
    assert_eq!(read::<u32, _>(&mut stream).unwrap(), Some(1));
    assert_eq!(stream, [2]);
}

#[test]
fn strict_rejects_padding() {
    assert_eq!(read::<u32, _>(&mut &[0x80, 0x00][..]).unwrap(), Some(0));
    let error = read_strict::<u32, _>(&mut &[0x80, 0x00][..]).unwrap_err();
    assert!(matches!(&error, ReadError::Value(e) if e.kind() == DecodeErrorKind::Overlong && e.offset() == 1));
    assert_eq!(io::Error::from(error).kind(), io::ErrorKind::InvalidData);
    assert_eq!(read_strict::<u32, _>(&mut &[0x05][..]).unwrap(), Some(5));
}

#[test]
fn reports_stream_errors() {
    let mut stream = Slow { fails: true, ..Slow::new(&[0x80]) };
    let error = read::<u64, _>(&mut stream).unwrap_err();
    assert_eq!(error.to_string(), "leb128: cannot read: the line is dead");
    assert!(std::error::Error::source(&error).is_some());
    let error = container_core::Error::from(error);
    assert_eq!(error.kind(), container_core::ErrorKind::Io);
    assert!(std::error::Error::source(&error).is_some());
}

/// Accepts `room` bytes and counts the calls.
struct Narrow {
    room: usize,
    calls: usize,
}

impl Write for Narrow {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.calls += 1;
        let taken = bytes.len().min(self.room);
        self.room -= taken;
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn writes_each_value_with_one_call() {
    let mut sink = Narrow { room: 12, calls: 0 };
    assert_eq!(write(&mut sink, u64::MAX).unwrap(), 10);
    assert_eq!((sink.room, sink.calls), (2, 1));
    assert_eq!(write(&mut sink, -65_i16).unwrap(), 2);
    assert_eq!(write(&mut sink, 0_u8).unwrap_err().kind(), io::ErrorKind::WriteZero);
}

#[test]
fn reads_fields_from_a_cursor() {
    let bytes = [0xac, 0x02, 0x80, 0x00, 0x01, 0x02, 0x80, 0x01, 0xff];
    let mut cursor = Cursor::at(&bytes, 100);
    assert_eq!(cursor.read::<Leb128<u16>>("a").unwrap(), Leb128(300));
    let error = cursor.read::<Leb128Strict<u16>>("b").unwrap_err();
    assert_eq!(error.to_string(), "b: LEB128 byte 0x00 is padding, the shortest form is required (byte 103)");
    assert_eq!(cursor.offset(), 102);
    assert_eq!(cursor.read::<Leb128<i16>>("b").unwrap(), Leb128(0));
    let mut run = [0_u32; 4];
    let error = read_slice(&mut cursor, &mut run, "lengths").unwrap_err();
    assert_eq!(error.to_string(), "lengths: needs 2 bytes, 1 available (byte 108, row 3)");
    assert_eq!(cursor.offset(), 104);
    read_slice(&mut cursor, &mut run[..3], "lengths").unwrap();
    assert_eq!((cursor.offset(), &run[..3]), (108, &[1, 2, 128][..]));
}

#[test]
fn puts_fields_in_their_shortest_form() {
    let mut out = Vec::new();
    Leb128(300_u32).encode(&mut out).unwrap();
    Leb128Strict(-1_i64).encode(&mut out).unwrap();
    assert_eq!(out, [0xac, 0x02, 0x7f]);
    assert_eq!((Leb128(300_u32).encoded_len(), Leb128Strict(-1_i64).encoded_len()), (2, 1));
    let mut narrow = [0; 1];
    assert!(Leb128(300_u32).encode(&mut &mut narrow[..]).is_err());
}
