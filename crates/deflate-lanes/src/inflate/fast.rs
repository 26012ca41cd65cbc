//! Inflates a whole buffer of DEFLATE (RFC 1951) or zlib (RFC 1950) into a slice of the expected length. Any error is `None`.

use super::bits::Bits;
use super::lanes::Lanes;
use super::stream::{Stream, Token, token};
use super::tables::{CodeLengthCode, Tables};
use crate::adler::adler32;

/// Input bytes of a block that are decoded before lanes may start.
const BEFORE_LANES: usize = 512;

/// The order of the code lengths of the code length code.
const CODE_LENGTH_ORDER: [usize; 19] = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

/// Decoding tables, reused from stream to stream.
pub(super) struct Fast {
    code_lengths: CodeLengthCode,
    pub(super) tables: Tables,
    lanes: Lanes,
}

impl Default for Fast {
    fn default() -> Self {
        Self { code_lengths: CodeLengthCode::new(), tables: Tables::new(), lanes: Lanes::default() }
    }
}

impl Fast {
    /// Inflates a stream into all of `out`. Bytes after its end are allowed.
    pub(super) fn inflate(&mut self, zlib: bool, packed: &[u8], out: &mut [u8]) -> Option<()> {
        if !zlib {
            return self.raw(packed, out).map(|_| ());
        }
        let (&[method, flags], packed) = packed.split_first_chunk()?;
        let deflate = method & 15 == 8 && method >> 4 <= 7;
        let preset = flags & 32 != 0;
        if !deflate || preset || u16::from_be_bytes([method, flags]) % 31 != 0 {
            return None;
        }
        let rest = self.raw(packed, out)?;
        (u32::from_be_bytes(*rest.first_chunk()?) == adler32(out)).then_some(())
    }

    /// Inflates a stream without zlib header; returns the bytes after it.
    fn raw<'a>(&mut self, packed: &'a [u8], out: &mut [u8]) -> Option<&'a [u8]> {
        let mut stream = Stream { bits: Bits::new(packed), out, made: 0 };
        loop {
            let header = stream.bits.take(3)?;
            match header >> 1 {
                0 => stream.stored_block()?,
                1 => stream.block(Tables::fixed()?, &mut self.lanes)?,
                2 => {
                    self.read_tables(&mut stream.bits)?;
                    stream.block(&self.tables, &mut self.lanes)?;
                }
                _ => return None,
            }
            if header & 1 == 1 {
                return (stream.made == stream.out.len()).then(|| stream.bits.rest());
            }
        }
    }

    /// Reads the codes of a dynamic block.
    pub(super) fn read_tables(&mut self, bits: &mut Bits<'_>) -> Option<()> {
        let litlens = bits.take(5)? as usize + 257;
        let distances = bits.take(5)? as usize + 1;
        if litlens > 286 || distances > 30 {
            return None;
        }
        let mut lens = [0; 19];
        let stored = bits.take(4)? as usize + 4;
        for &symbol in CODE_LENGTH_ORDER.get(..stored)? {
            *lens.get_mut(symbol)? = u8::try_from(bits.take(3)?).ok()?;
        }
        self.code_lengths.build(&lens)?;
        if !self.code_lengths.is_complete() {
            return None;
        }
        let mut lens = [0; 286 + 30];
        let lens = lens.get_mut(..litlens + distances)?;
        let mut done = 0;
        while done < lens.len() {
            bits.refill();
            let entry = self.code_lengths.look_up(bits.word());
            bits.count().checked_sub(entry & 63)?;
            bits.drop(entry);
            let (len, times) = match entry >> 8 {
                16 => (*lens.get(done.checked_sub(1)?)?, bits.take(2)? as usize + 3),
                17 => (0, bits.take(3)? as usize + 3),
                18 => (0, bits.take(7)? as usize + 11),
                len => (u8::try_from(len).ok()?, 1),
            };
            lens.get_mut(done..done + times)?.fill(len);
            done += times;
        }
        let (litlens, distances) = lens.split_at_checked(litlens)?;
        // The end of the block must have a code.
        if *litlens.get(256)? == 0 {
            return None;
        }
        self.tables.litlen.build(litlens)?;
        self.tables.distance.build(distances)
    }
}

impl Stream<'_, '_> {
    fn stored_block(&mut self) -> Option<()> {
        let (&[a, b, c, d], rest) = self.bits.rest().split_first_chunk()?;
        let len = u16::from_le_bytes([a, b]);
        if len != !u16::from_le_bytes([c, d]) {
            return None;
        }
        self.put(rest.get(..usize::from(len))?)?;
        self.bits.skip_bytes(4 + usize::from(len));
        Some(())
    }

    fn block(&mut self, tables: &Tables, lanes: &mut Lanes) -> Option<()> {
        // Starting lanes is not worth it for short blocks.
        if self.run(tables, self.bits.at().saturating_add(BEFORE_LANES))? {
            return Some(());
        }
        while let Some(fence) = lanes.decode(self, tables)? {
            if self.run(tables, fence)? {
                return Some(());
            }
        }
        if self.run(tables, usize::MAX)? {
            return Some(());
        }
        loop {
            match token(&mut self.bits, tables)? {
                Token::Literal(byte) => self.put(&[byte])?,
                Token::Match(found) => self.copy(found)?,
                Token::End => return Some(()),
            }
        }
    }
}
