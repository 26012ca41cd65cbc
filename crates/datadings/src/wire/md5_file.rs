//! `.md5`: lines of 32 hexadecimal digits, two spaces and a file name, as `md5sum` writes them.

use container_core::{Error, Result};

/// One line of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Md5Line<'a> {
    pub(crate) sum: [u8; 16],
    pub(crate) name: &'a str,
    /// Line number, from 1.
    pub(crate) line: u64,
}

/// The lines of a `.md5` file. An invalid line is an error; iteration continues after it.
pub(crate) fn md5_lines(bytes: &[u8]) -> impl Iterator<Item = Result<Md5Line<'_>>> {
    let text = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let lines = (!bytes.is_empty()).then(|| text.split(|&byte| byte == b'\n'));
    lines.into_iter().flatten().zip(1..).map(|(line, number)| one(line, number))
}

fn one(line: &[u8], number: u64) -> Result<Md5Line<'_>> {
    let (sum, name) = sum_and_name(line).map_err(|error| error.in_line(number))?;
    Ok(Md5Line { sum, name, line: number })
}

/// Parses one line, without its line feed.
pub(crate) fn sum_and_name(line: &[u8]) -> Result<([u8; 16], &str)> {
    let line = std::str::from_utf8(line).map_err(|_| Error::invalid("invalid UTF-8"))?;
    let line = line.strip_suffix('\r').unwrap_or(line);
    // `md5sum -b` writes a star instead of the second space.
    let split = line.split_once(' ').and_then(|(digits, name)| Some((digits, name.strip_prefix([' ', '*'])?)));
    let Some((digits, name)) = split else {
        return Err(Error::invalid(format!("expected an MD5 sum, two spaces and a file name, found {line:?}")));
    };
    let sum = parse_sum(digits)
        .ok_or_else(|| Error::invalid(format!("MD5 sum: expected 32 hexadecimal digits, found {digits:?}")))?;
    Ok((sum, name))
}

fn parse_sum(digits: &str) -> Option<[u8; 16]> {
    let digits: &[u8; 32] = digits.as_bytes().try_into().ok()?;
    let mut sum = [0; 16];
    for (byte, pair) in sum.iter_mut().zip(digits.chunks_exact(2)) {
        let text = std::str::from_utf8(pair).ok().filter(|text| text.bytes().all(|b| b.is_ascii_hexdigit()))?;
        *byte = u8::from_str_radix(text, 16).ok()?;
    }
    Some(sum)
}

/// Appends one line.
pub(crate) fn put_md5_line(out: &mut String, sum: &[u8; 16], name: &str) {
    use std::fmt::Write;
    for byte in sum {
        let _ = write!(out, "{byte:02x}"); // writing to a String cannot fail
    }
    out.push_str("  ");
    out.push_str(name);
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trips_lines() {
        let mut text = String::new();
        let sum = std::array::from_fn(|i| i as u8 * 17);
        put_md5_line(&mut text, &sum, "d e.msgpack");
        put_md5_line(&mut text, &[255; 16], "x");
        assert!(text.starts_with("00112233445566778899aabbccddeeff  d e.msgpack\n"));
        let lines: Vec<_> = md5_lines(text.as_bytes()).map(Result::unwrap).collect();
        assert_eq!(lines[0], Md5Line { sum, name: "d e.msgpack", line: 1 });
        assert_eq!(lines[1], Md5Line { sum: [255; 16], name: "x", line: 2 });
        assert_eq!(lines.len(), 2);
        assert_eq!(md5_lines(b"").count(), 0);
    }

    #[test]
    fn an_invalid_line_does_not_hide_the_next() {
        let text = b"nonsense\n00112233445566778899AABBCCDDEEFF *b\n+0112233445566778899aabbccddeeff  c";
        let lines: Vec<_> = md5_lines(text).map(|line| line.map_err(|error| error.to_string())).collect();
        assert_eq!(
            lines[0],
            Err(r#"expected an MD5 sum, two spaces and a file name, found "nonsense" (line 1)"#.to_owned())
        );
        assert_eq!(lines[1].as_ref().unwrap().name, "b");
        assert!(lines[2].as_ref().unwrap_err().contains("expected 32 hexadecimal digits"));
        for name in ["two  spaces", " first", "*", "a *b"] {
            for flag in [' ', '*'] {
                let text = format!("00112233445566778899aabbccddeeff {flag}{name}");
                assert_eq!(md5_lines(text.as_bytes()).next().unwrap().unwrap().name, name);
            }
        }
    }
}
