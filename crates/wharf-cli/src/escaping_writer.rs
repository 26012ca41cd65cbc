//! The writer behind standard output and standard error. It escapes text for a terminal; everything the command prints passes through it.

use std::io::{self, Write};

use clap::builder::StyledStr;

use super::display::escape_controls;

/// Maximum bytes escaped per write.
const CHUNK: usize = 64 << 10;

/// Writes bytes unchanged to a file or pipe, and escaped (see [`escape_controls`]) to a terminal.
pub(crate) struct EscapingWriter<'a> {
    out: Box<dyn Write + Send + 'a>,
    terminal: bool,
    /// The first bytes of a UTF-8 character that is not complete yet.
    pending: Vec<u8>,
}

impl<'a> EscapingWriter<'a> {
    pub(crate) fn new(out: impl Write + Send + 'a, terminal: bool) -> Self {
        Self { out: Box::new(out), terminal, pending: Vec::new() }
    }

    /// Writes help or a usage error of clap, colored on a terminal. Arguments quoted in it must have been escaped before.
    pub(crate) fn write_styled(&mut self, text: &StyledStr) -> io::Result<()> {
        // See https://no-color.org.
        let colored = self.terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let text = if colored { text.ansi().to_string() } else { text.to_string() };
        self.out.write_all(text.as_bytes())?;
        self.out.flush()
    }

    fn write_escaped(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(escape_controls(&String::from_utf8_lossy(bytes)).as_bytes())
    }
}

impl Write for EscapingWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.terminal {
            return self.out.write(bytes);
        }
        let bytes = bytes.get(..CHUNK).unwrap_or(bytes);
        let mut text = std::mem::take(&mut self.pending);
        text.extend_from_slice(bytes);
        let cut = text.utf8_chunks().last().map_or(0, |chunk| chunk.invalid().len());
        self.pending = text.split_off(text.len() - cut);
        self.write_escaped(&text)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let rest = std::mem::take(&mut self.pending);
        self.write_escaped(&rest)?;
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(terminal: bool, chunks: &[&[u8]]) -> Vec<u8> {
        let mut out = Vec::new();
        let mut writer = EscapingWriter::new(&mut out, terminal);
        for chunk in chunks {
            writer.write_all(chunk).unwrap();
        }
        writer.flush().unwrap();
        drop(writer);
        out
    }

    #[test]
    fn joins_characters_split_between_writes() {
        let text = "ü\u{9b}31m€\u{202e}😀\u{e0041}\tx\n";
        let expected = "ü\\u009b31m€\\u202e😀\\udb40\\udc41\tx\n".as_bytes();
        for cut in 0..=text.len() {
            let (first, second) = text.as_bytes().split_at(cut);
            assert_eq!(written(true, &[first, second]), expected, "{cut}");
            assert_eq!(written(false, &[first, second]), text.as_bytes(), "{cut}");
        }
        let bytes: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
        assert_eq!(written(true, &bytes), expected);
        let long = text.repeat(CHUNK / 8);
        assert_eq!(written(true, &[long.as_bytes()]), expected.repeat(CHUNK / 8));
    }

    #[test]
    fn replaces_invalid_utf8_on_a_terminal() {
        // Even a terminal that reads the bytes as Latin-1 receives no control character.
        assert_eq!(
            written(true, &[b"a\x9b31m", b"\xe2\x80", b"x\xe2\x80"]),
            "a\u{fffd}31m\u{fffd}x\u{fffd}".as_bytes()
        );
        assert_eq!(written(false, &[b"a\x9b\xe2"]), b"a\x9b\xe2");
    }
}
