//! Compression of one block.
//!
//! Why not with a library: at level 6, zlib-rs 0.6 deflates floats at 56 MB/s to 0.728 of their size, miniz_oxide at 32, libdeflate (C) at 103 to
//! 0.721, and this at 109 to 0.719; text at 104 to 0.265, and this at 116 to 0.194. `cargo bench -p idv --bench deflate` compares them.
//!
//! Most bytes of a dataset are numbers, with hardly any repetition and only skewed byte frequencies. So data is processed in chunks, and
//! where matches gain nothing, the next chunks are encoded without searching for any, over growing stretches, until a trial finds some
//! again. Adjacent chunks share a block of the stream unless separate codes are cheaper.

mod bits;
mod blocks;
mod costs;
mod huffman;
mod matches;
mod parse;
mod quiet;
mod stats;
mod symbols;

use self::bits::Writer;
use self::blocks::{Coder, MAX_STORED, stored_blocks};
use self::costs::Costs;
use self::matches::{Chains, Effort};
use self::parse::{Sequences, Style, parse};
use self::quiet::Quiet;
use self::stats::Histogram;
use crate::Format;
use crate::adler::adler32;

/// Bytes per chunk.
const CHUNK: usize = 8 << 10;
/// Bytes per chunk while no matches are searched for.
const QUIET_CHUNK: usize = 16 << 10;
/// Bytes of a trial, which searches for matches again.
const TRIAL: usize = 3 << 10;
/// Maximum bytes of a block of the stream.
const MAX_BLOCK: usize = 4 << 20;
/// Maximum matches of a block of the stream.
const MAX_SEQUENCES: usize = 48 << 10;
/// Maximum bytes compressed together; more data is split into independent segments.
const MAX_SEGMENT: usize = 1 << 30;

/// Compresses blocks. Its tables are reused from block to block, but not their content.
#[derive(Default)]
pub struct Deflater {
    chains: Option<Box<Chains>>,
    coder: Option<Box<Coder>>,
    sequences: Sequences,
    quiet: Quiet,
    costs: Option<Box<Costs>>,
}

impl Deflater {
    /// Appends the compressed form of `raw`, which does not depend on earlier blocks.
    ///
    /// Level 0 stores, 1 is the fastest compression, 9 and above the smallest. Incompressible data grows by 5 bytes per 65,535.
    pub fn deflate(&mut self, format: Format, level: u8, raw: &[u8], out: &mut Vec<u8>) {
        match format {
            Format::Raw => self.raw(level, raw, out),
            Format::Zlib => {
                // A window of 32 KiB; the level in the upper bits, then padding to a multiple of 31.
                let class: u16 = match level {
                    0..=1 => 0,
                    2..=5 => 1,
                    6 => 2,
                    _ => 3,
                };
                let head = 0x7800 | class << 6;
                out.extend_from_slice(&(head + 31 - head % 31).to_be_bytes());
                self.raw(level, raw, out);
                out.extend_from_slice(&adler32(raw).to_be_bytes());
            }
        }
    }

    fn raw(&mut self, level: u8, raw: &[u8], out: &mut Vec<u8>) {
        let start = out.len();
        let bytes = out;
        let mut out = Writer::new(bytes);
        match style(level) {
            None => stored_blocks(&mut out, raw, true),
            Some(style) => {
                let mut rest = raw;
                loop {
                    let (segment, tail) = rest.split_at(rest.len().min(MAX_SEGMENT));
                    rest = tail;
                    self.segment(style, segment, &mut out, rest.is_empty());
                    if rest.is_empty() {
                        break;
                    }
                }
            }
        }
        out.finish();
        // Many small blocks can take more than a few stored ones.
        let stored = raw.len() + 5 * raw.len().div_ceil(MAX_STORED).max(1);
        if bytes.len() - start > stored {
            bytes.truncate(start);
            let mut out = Writer::new(bytes);
            stored_blocks(&mut out, raw, true);
            out.finish();
        }
    }

    fn segment(&mut self, style: Style, data: &[u8], out: &mut Writer<'_>, last: bool) {
        let chains = self.chains.get_or_insert_default();
        let coder = self.coder.get_or_insert_default();
        let sequences = &mut self.sequences;
        let quiet = &mut self.quiet;
        let costs = self.costs.get_or_insert_default();
        let mut learned = false;
        sequences.clear();
        quiet.start();
        chains.start(u32::try_from(data.len()).unwrap_or(u32::MAX));
        // The start of the block, and its content.
        let mut begin = 0;
        let mut block = Histogram::new();
        let mut cost = block.cost();
        let mut at = 0;
        while at < data.len() {
            let mark = sequences.mark();
            let is_quiet = !quiet.is_over(at);
            let mut end = data.len().min(
                at + if is_quiet {
                    QUIET_CHUNK
                } else if at == 0 || learned {
                    CHUNK
                } else {
                    TRIAL
                },
            );
            let mut chunk = Histogram::new();
            chunk.literals(data.get(at..end).unwrap_or_default());
            let mut chunk_cost = chunk.cost();
            let mut next = end;
            if is_quiet && !quiet.needs_trial(data, at, end, chunk_cost) {
                sequences.literals(end - at);
                learned = false;
            } else {
                if !learned {
                    costs.start(&chunk);
                }
                if is_quiet {
                    end = data.len().min(at + TRIAL);
                    chunk = Histogram::new();
                    chunk.literals(data.get(at..end).unwrap_or_default());
                }
                let mut parsed = Histogram::new();
                next = parse(chains, costs, style, data, at..end, sequences, &mut parsed);
                chunk.literals(data.get(end..next).unwrap_or_default());
                chunk_cost = chunk.cost();
                let parsed_cost = parsed.cost();
                costs.learn(&parsed, next - at, parsed_cost);
                learned = true;
                quiet.record_trial(at, next, chunk_cost, parsed_cost + parsed_cost / 128 < chunk_cost);
                if parsed_cost < chunk_cost {
                    (chunk, chunk_cost) = (parsed, parsed_cost);
                } else {
                    sequences.reset(mark);
                    sequences.literals(next - at);
                }
            }
            let together = block.cost_with(&chunk);
            let full = next - begin > MAX_BLOCK || sequences.list.len() > MAX_SEQUENCES;
            if at > begin && (full || together > cost + chunk_cost) {
                // End the block before this chunk.
                coder.block(out, data.get(begin..at).unwrap_or_default(), sequences.before(mark), &mut block, false);
                sequences.forget(mark);
                (begin, block, cost) = (at, chunk, chunk_cost);
            } else {
                block.add(&chunk);
                cost = together;
            }
            at = next;
        }
        coder.block(out, data.get(begin..).unwrap_or_default(), &sequences.list, &mut block, last);
    }
}

/// The search parameters of each level; `None` stores.
const fn style(level: u8) -> Option<Style> {
    let (depth, nice, lazy, patience, worth) = match level {
        0 => return None,
        1 => (1, 16, 0, 0, 4),
        2 => (3, 24, 0, 0, 4),
        3 => (8, 32, 0, 0, 4),
        4 => (4, 32, 1, 6, 5),
        5 => (6, 48, 1, 8, 5),
        6 => (12, 64, 1, 10, 5),
        7 => (32, 130, 1, 32, 6),
        8 => (100, 200, 2, 130, 6),
        _ => (400, 258, 2, 258, 6),
    };
    Some(Style { effort: Effort { depth, nice }, lazy, patience, worth })
}

#[cfg(test)]
mod tests;
