//! Invalid headers, and unusual names.

use container_core::{ErrorKind, Limits, OpenOptions, ReadAt, Source};
use dsfmt::Reader;

use super::{file, open};

/// The error of opening the bytes.
#[track_caller]
fn open_error(bytes: impl Into<Vec<u8>>) -> String {
    let bytes = bytes.into();
    let error = Reader::from_source(bytes.clone().into(), OpenOptions::default()).unwrap_err();
    assert_eq!(error.format(), Some("ds"));
    assert!(error.position().byte.is_some_and(|byte| byte <= bytes.len() as u64), "{error}");
    error.to_string()
}

#[test]
fn rejects_invalid_version_lines() {
    for (bytes, expected) in [
        (&b""[..], r#"expected "ds-" and a version at the start (byte 0)"#),
        (b"ds", r#"expected "ds-" and a version at the start (byte 0)"#),
        (b"DS-1.0\n{}\n", r#"expected "ds-" and a version at the start (byte 0)"#),
        (b"ds-", r#"unsupported version "" (known: 1.0) (byte 3)"#),
        (b"ds-\n{}\n", r#"unsupported version "" (known: 1.0) (byte 3)"#),
        (b"ds-1", r#"unsupported version "1" (known: 1.0) (byte 3)"#),
        (b"ds-1.0", "version line: needs 1 byte, 0 available (byte 6)"),
        (b"ds-1.1\n{}\n", r#"unsupported version "1.1" (known: 1.0) (byte 3)"#),
        (b"ds-2.0\n{}\n", r#"unsupported version "2.0" (known: 1.0) (byte 3)"#),
        (b"ds-1.0\r\n{}\n", r#"unsupported version "1.0\r" (known: 1.0) (byte 3)"#),
        (b"ds-1.0 \n{}\n", r#"unsupported version "1.0 " (known: 1.0) (byte 3)"#),
        (b"ds-01.0\n{}\n", r#"unsupported version "01.0" (known: 1.0) (byte 3)"#),
        (b"ds-\xff\n{}\n", "unsupported version \"\u{fffd}\" (known: 1.0) (byte 3)"),
    ] {
        assert_eq!(open_error(bytes), format!("ds: {expected}"));
    }
    let long = [b"ds-", &[b'1'; 1 << 20][..]].concat();
    assert_eq!(open_error(long), format!("ds: unsupported version {:?} (known: 1.0) (byte 3)", "1".repeat(29)));
}

#[test]
fn rejects_invalid_headers() {
    for (header, message) in [
        (&b""[..], "expected a value, found the end (byte 7)"),
        (b"\n", "expected a value, found the end (byte 7)"),
        (b"   \t\r", "expected a value, found the end (byte 12)"),
        (b"[]\n", "the header is not a JSON object (byte 7)"),
        (b"null\n", "the header is not a JSON object (byte 7)"),
        (b"\"a\"\n", "the header is not a JSON object (byte 7)"),
        (b"{} {}\n", "unexpected '{' after the value (byte 10)"),
        (b"{\"a\": {}", "expected ',' or '}', found the end (byte 15)"),
        (b"{\"a\": {}\n}", "expected ',' or '}', found the end (byte 15)"),
        (b"{\"a\" {}}\n", "expected ':', found '{' (byte 12)"),
        (b"{\"a\": {},}\n", "expected a quoted name, found '}' (byte 16)"),
        (b"{\"a: {}}\n", "unterminated string (byte 8)"),
        (b"{\"a\": nan}\n", "expected a value, found 'n' (byte 13)"),
        (b"{\"a\": -NaN}\n", "expected a value, found '-' (byte 13)"),
        (b"{\"a\": 0x10}\n", "expected ',' or '}', found 'x' (byte 14)"),
        (b"{\"a\": \"\xff\"}\n", "the header is not valid UTF-8 (byte 14)"),
        (b"{\"a\": \"\xed\xa0\x80\"}\n", "the header is not valid UTF-8 (byte 14)"),
        (b"{\"a\": \"\xc3", "the header is not valid UTF-8 (byte 14)"),
        (b"\xef\xbb\xbf{}\n", "expected a value, found '\\u{feff}' (byte 7)"),
        (b"{\"a\0\": {}}\n", "unescaped control character 0x00 in string (byte 10)"),
    ] {
        assert_eq!(open_error([b"ds-1.0\n", header].concat()), format!("ds: {message}"), "{}", header.escape_ascii());
    }
    // Without a line feed after the header there is no body.
    let reader =
        Reader::from_source(b"ds-1.0\n{\"x\": {\".size\": [0]}}".to_vec().into(), OpenOptions::default()).unwrap();
    assert_eq!((reader.body_offset(), reader.variable("x").unwrap().read().unwrap().len()), (reader.source().len(), 0));
}

#[test]
fn limits_nesting() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        let deep = open.repeat(100_000) + "1" + &close.repeat(100_000);
        let header = format!("{{\"x\": {{\"deep\": {deep}}}}}");
        let byte = 22 + 126 * open.len();
        let expected = format!("ds: JSON nesting depth 129 exceeds the limit 128 (byte {byte})");
        assert_eq!(open_error(file(&header, b"")), expected);
        assert_eq!(open_error(file(&open.repeat(100_000), b"")).split(" (").next(), expected.split(" (").next());
    }
    let deep = "[".repeat(126) + &"]".repeat(126);
    let reader = self::open(&format!("{{\"x\": {{\"deep\": {deep}}}}}"), &[0; 8]);
    let json = reader.variable("x").unwrap().attributes().get("deep").unwrap();
    assert_eq!(serde_json::to_string(&json).unwrap(), deep);
}

#[test]
fn recognizes_escaped_special_keys() {
    let reader = open(
        r#"{"x": {"\u002esize": [3], ".s\u0069ze": [2], ".type": 7, ".type": "\u0069nt16", ".endian": "\u006c", ".note": 1, ".len": 4}}"#,
        &[1, 0, 2, 0],
    );
    let x = reader.variable("x").unwrap();
    assert_eq!(x.read().unwrap().values().as_slice::<i16>(), Some(&[1, 2][..]));
    assert_eq!(x.attributes().map(|(name, _)| name).collect::<Vec<_>>(), [".note"]);
}

#[test]
fn distinguishes_names() {
    let int = |n: u64| format!(r#"{{".type": "uint8", ".size": [], ".offset": {n}}}"#);
    let keys = [
        (r#""\\.""#, "."),
        (r#""\\.a""#, ".a"),
        (r#""\u005c.b""#, ".b"),
        (r#""\\\\""#, "\\"),
        (r#""\\\\.""#, "\\."),
        (r#""\\c""#, "\\c"),
        (r#""""#, ""),
        (r#""\u00e4\ud83d\ude00""#, "\u{e4}\u{1f600}"),
        (r#""d\ud800""#, "d\\ud800"),
        (r#""\udc00e\ud800\u0041""#, "\\udc00e\\ud800A"),
        (r#""f\u0000\n""#, "f\0\n"),
    ];
    let members: Vec<String> = keys.iter().zip(0..).map(|((key, _), n)| format!("{key}: {}", int(n))).collect();
    let header = format!(r#"{{{}, ".": {{"\ud800": "\udfff"}}}}"#, members.join(", "));
    let reader = open(&header, &(0..keys.len() as u8).collect::<Vec<_>>());
    assert_eq!(reader.variables().map(|variable| variable.name()).collect::<Vec<_>>(), keys.map(|(_, name)| name));
    for (n, (_, name)) in keys.iter().enumerate() {
        assert_eq!(reader.variable(name).unwrap().values::<u8>().unwrap()[..], [n as u8], "{name}");
    }
    assert_eq!(serde_json::to_string(&reader.attributes().next().unwrap().1).unwrap(), r#""\\udfff""#);
    // For equal names in different spellings, the last value wins, at the first position.
    let reader = open(&format!(r#"{{"a": {}, "b": {}, "\u0061": {}}}"#, int(0), int(1), int(2)), &[7, 8, 9]);
    assert_eq!(reader.variables().map(|variable| variable.offset()).collect::<Vec<_>>(), [2, 1]);
    // Unknown special members are ignored.
    let reader = open(&format!(r#"{{".x": {}, "..": 1, ".": 5, "y": {}}}"#, int(0), int(1)), &[7, 8]);
    assert_eq!((reader.len(), reader.attributes().count()), (1, 0));
}

/// A counting source of a file longer than any disk.
struct Long {
    head: &'static [u8],
    len: u64,
    asked: std::sync::Arc<std::sync::atomic::AtomicU64>,
}

impl ReadAt for Long {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> std::io::Result<()> {
        self.asked.fetch_add(buffer.len() as u64, std::sync::atomic::Ordering::Relaxed);
        for (byte, at) in buffer.iter_mut().zip(offset..) {
            *byte = usize::try_from(at).ok().and_then(|at| self.head.get(at)).copied().unwrap_or(b' ');
        }
        Ok(())
    }
}

#[test]
fn a_header_of_8_gb() {
    let asked = std::sync::Arc::<std::sync::atomic::AtomicU64>::default();
    for (head, most) in [(&b"ds-1.0\n{"[..], 1 << 20), (b"ds-1.0\n{\"a", 5 << 20)] {
        let source = Source::new(Long { head, len: 8 << 30, asked: asked.clone() });
        let options = OpenOptions::default().with_limits(Limits::default().with_metadata_bytes(most));
        let error = Reader::from_source(source, options).unwrap_err();
        let limit = format!("exceeds the limit {most} (byte 7)");
        assert!(error.to_string().starts_with("ds: header length "), "{error}");
        assert!(error.to_string().ends_with(&limit), "{error}");
        let asked = asked.swap(0, std::sync::atomic::Ordering::Relaxed);
        assert!(asked <= most + (128 << 10), "{asked} bytes were read");
    }
    let source = Source::new(Long { head: b"ds-1.", len: u64::MAX, asked: asked.clone() });
    assert_eq!(Reader::from_source(source, OpenOptions::default()).unwrap_err().kind(), ErrorKind::Unsupported);
    assert!(asked.load(std::sync::atomic::Ordering::Relaxed) <= 64);
    // Only the requested bytes of a body of 2^63 bytes are read.
    let head = b"ds-1.0\n{\"x\": {\".size\": [9223372036854775807], \".type\": \"int8\"}}\n";
    let source = Source::new(Long { head, len: u64::MAX, asked: asked.clone() });
    let reader = Reader::from_source(source, OpenOptions::default()).unwrap();
    let x = reader.variable("x").unwrap();
    let last = x.read_rows((1 << 63) - 3..(1 << 63) - 1).unwrap();
    assert_eq!(last.values().as_slice::<i8>(), Some(&[32, 32][..]));
    assert_eq!(x.read().unwrap_err().kind(), ErrorKind::Usage, "it does not fit into memory");
}
