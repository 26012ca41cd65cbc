//! Four keys side by side in arrays, which compilers vectorize for any machine.

use super::group::{BLOCK, Digest, Group, LANES, pair};
use super::rounds::{IV, compress};
use super::single::words;

const WIDTH: usize = 4;

type Wide = [u32; WIDTH];

/// The digests of a group; `start` is the state before the first block.
pub(crate) fn group(group: &Group<'_>, start: &[u32; 8]) -> [Digest; LANES] {
    let mut digests = [[0; 2]; LANES];
    let (fours, _) = digests.as_chunks_mut::<WIDTH>();
    for (at, four) in fours.iter_mut().enumerate() {
        *four = four_digests(group, at * WIDTH, start);
    }
    digests
}

fn four_digests(group: &Group<'_>, first: usize, start: &[u32; 8]) -> [Digest; WIDTH] {
    let mut h: [Wide; 8] = start.map(|word| [word; WIDTH]);
    for block in 0..group.blocks() {
        let (mut t, mut f, mut active) = ([0; WIDTH], [0; WIDTH], [0; WIDTH]);
        let mut m = [[0; WIDTH]; 16];
        for lane in 0..WIDTH {
            let mut bytes = [0; BLOCK];
            let input = group.block(first + lane, block);
            for (to, from) in bytes.iter_mut().zip(input.bytes) {
                *to = *from;
            }
            for (wide, word) in m.iter_mut().zip(words(&bytes)) {
                set(wide, lane, word);
            }
            set(&mut t, lane, input.counter);
            set(&mut f, lane, input.last);
            set(&mut active, lane, input.active);
        }
        let next: [Wide; 8] = compress!(
            h,
            m,
            t,
            [0; WIDTH],
            f,
            IV.map(|word| [word; WIDTH]),
            add,
            xor,
            rotate_right::<16>,
            rotate_right::<12>,
            rotate_right::<8>,
            rotate_right::<7>
        );
        for (h, next) in h.iter_mut().zip(next) {
            *h = core::array::from_fn(|lane| {
                word(&active, lane) & word(&next, lane) | !word(&active, lane) & word(h, lane)
            });
        }
    }
    core::array::from_fn(|lane| pair(&h.map(|wide| word(&wide, lane))))
}

#[inline(always)]
fn set(wide: &mut Wide, lane: usize, word: u32) {
    if let Some(to) = wide.get_mut(lane) {
        *to = word;
    }
}

#[inline(always)]
fn word(wide: &Wide, lane: usize) -> u32 {
    wide.get(lane).copied().unwrap_or_default()
}

#[inline(always)]
fn add(a: Wide, b: Wide) -> Wide {
    core::array::from_fn(|lane| word(&a, lane).wrapping_add(word(&b, lane)))
}

#[inline(always)]
fn xor(a: Wide, b: Wide) -> Wide {
    core::array::from_fn(|lane| word(&a, lane) ^ word(&b, lane))
}

#[inline(always)]
fn rotate_right<const BITS: u32>(a: Wide) -> Wide {
    a.map(|word| word.rotate_right(BITS))
}
