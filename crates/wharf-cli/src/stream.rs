//! Standard output and standard error. Everything the command prints goes through here, and what reaches a terminal is escaped here.

use std::io::{self, Write};

use clap::builder::StyledStr;

use super::human::harmless;

/// Bytes that are looked at together.
const TOGETHER: usize = 64 << 10;

/// A stream that leaves the command. Bytes are exact in a file or a pipe; on a terminal text cannot steer it or deceive its reader.
pub(crate) struct Stream<'a> {
    out: Box<dyn Write + Send + 'a>,
    terminal: bool,
    /// The beginning of a character whose end has not been written yet.
    pending: Vec<u8>,
}

impl<'a> Stream<'a> {
    pub(crate) fn new(out: impl Write + Send + 'a, terminal: bool) -> Self {
        Self { out: Box::new(out), terminal, pending: Vec::new() }
    }

    /// Help, or an error about arguments, with its colors. The arguments it repeats must have been escaped.
    pub(crate) fn write_styled(&mut self, text: &StyledStr) -> io::Result<()> {
        // Colors are for terminals whose owner has nothing against them (https://no-color.org).
        let colored = self.terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let text = if colored { text.ansi().to_string() } else { text.to_string() };
        self.out.write_all(text.as_bytes())?;
        self.out.flush()
    }

    fn write_harmless(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(harmless(&String::from_utf8_lossy(bytes)).as_bytes())
    }
}

impl Write for Stream<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.terminal {
            return self.out.write(bytes);
        }
        let bytes = bytes.get(..TOGETHER).unwrap_or(bytes);
        let mut text = std::mem::take(&mut self.pending);
        text.extend_from_slice(bytes);
        let cut = text.utf8_chunks().last().map_or(0, |chunk| chunk.invalid().len());
        self.pending = text.split_off(text.len() - cut);
        self.write_harmless(&text)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let rest = std::mem::take(&mut self.pending);
        self.write_harmless(&rest)?;
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(terminal: bool, pieces: &[&[u8]]) -> Vec<u8> {
        let mut out = Vec::new();
        let mut stream = Stream::new(&mut out, terminal);
        for piece in pieces {
            stream.write_all(piece).unwrap();
        }
        stream.flush().unwrap();
        drop(stream);
        out
    }

    #[test]
    fn characters_are_whole_wherever_writes_end() {
        let text = "ü\u{9b}31m€\u{202e}😀\u{e0041}\tx\n";
        let expected = "ü\\u009b31m€\\u202e😀\\udb40\\udc41\tx\n".as_bytes();
        for cut in 0..=text.len() {
            let (first, second) = text.as_bytes().split_at(cut);
            assert_eq!(written(true, &[first, second]), expected, "{cut}");
            assert_eq!(written(false, &[first, second]), text.as_bytes(), "{cut}");
        }
        let bytes: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
        assert_eq!(written(true, &bytes), expected);
        let long = text.repeat(TOGETHER / 8);
        assert_eq!(written(true, &[long.as_bytes()]), expected.repeat(TOGETHER / 8));
    }

    #[test]
    fn bytes_that_are_no_text_are_replaced() {
        // A terminal that takes bytes for Latin-1 finds no control among them.
        assert_eq!(
            written(true, &[b"a\x9b31m", b"\xe2\x80", b"x\xe2\x80"]),
            "a\u{fffd}31m\u{fffd}x\u{fffd}".as_bytes()
        );
        assert_eq!(written(false, &[b"a\x9b\xe2"]), b"a\x9b\xe2");
    }
}
