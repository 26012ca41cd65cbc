//! Huffman codes: length-limited code lengths from frequencies, and codes from lengths.

/// The maximum code length of literals, lengths and distances. The format allows 15; four codes of 14 bits fit into a word.
pub(super) const MAX_BITS: usize = 14;

/// Code lengths for symbols of these frequencies, at most `limit`; 0 for unused symbols.
///
/// A single symbol gets one bit. `limit` must be large enough for the number of symbols.
pub(super) fn code_lengths(frequencies: &[u32], limit: usize, lens: &mut [u8]) {
    lens.fill(0);
    let mut order = [0u64; 288];
    let mut used = 0;
    for ((symbol, &frequency), slot) in (0u64..).zip(frequencies).filter(|(_, f)| **f > 0).zip(&mut order) {
        *slot = u64::from(frequency) << 16 | symbol;
        used += 1;
    }
    let order = order.get_mut(..used).unwrap_or_default();
    order.sort_unstable();
    let mut counts = [0u32; 64];
    match used {
        0 => return,
        1 => counts[1] = 1,
        _ => {
            let mut depths = [0u32; 288];
            let depths = depths.get_mut(..used).unwrap_or_default();
            for (depth, &key) in depths.iter_mut().zip(order.iter()) {
                *depth = u32::try_from(key >> 16).unwrap_or(u32::MAX);
            }
            tree_depths(depths);
            for &depth in depths.iter() {
                if let Some(count) = counts.get_mut((depth as usize).min(limit)) {
                    *count += 1;
                }
            }
            shorten(&mut counts, limit);
        }
    }
    // The rarest symbols get the longest codes.
    let mut rarest = order.iter();
    for (len, &count) in (0u8..64).zip(&counts).rev() {
        for &key in rarest.by_ref().take(count as usize) {
            if let Some(slot) = usize::try_from(key & 0xFFFF).ok().and_then(|symbol| lens.get_mut(symbol)) {
                *slot = len;
            }
        }
    }
}

/// Replaces ascending weights with the depths of their leaves in an optimal tree, in place (Moffat and Katajainen). There must
/// be at least two.
fn tree_depths(a: &mut [u32]) {
    let n = a.len();
    let get = |a: &[u32], i: usize| a.get(i).copied().unwrap_or(0);
    let set = |a: &mut [u32], i: usize, value: u32| {
        if let Some(slot) = a.get_mut(i) {
            *slot = value;
        }
    };
    let index = |i: usize| u32::try_from(i).unwrap_or(0);
    // Pair the lightest two repeatedly. Weights of inner nodes replace those of paired leaves, then parent indexes replace these.
    let (mut leaf, mut root) = (0, 0);
    for next in 0..n.saturating_sub(1) {
        let mut sum = 0u32;
        for _ in 0..2 {
            if leaf >= n || (root < next && get(a, root) < get(a, leaf)) {
                sum = sum.saturating_add(get(a, root));
                set(a, root, index(next));
                root += 1;
            } else {
                sum = sum.saturating_add(get(a, leaf));
                leaf += 1;
            }
        }
        set(a, next, sum);
    }
    // Parents become depths of the inner nodes.
    set(a, n - 2, 0);
    for next in (0..n - 2).rev() {
        let parent = get(a, next) as usize;
        let depth = get(a, parent) + 1;
        set(a, next, depth);
    }
    // Depths of the inner nodes become depths of the leaves.
    let (mut available, mut depth) = (1usize, 0);
    let (mut inner, mut next) = (n - 1, n);
    while available > 0 {
        let mut taken = 0;
        while inner > 0 && get(a, inner - 1) == depth {
            taken += 1;
            inner -= 1;
        }
        while available > taken && next > 0 {
            next -= 1;
            set(a, next, depth);
            available -= 1;
        }
        available = 2 * taken;
        depth += 1;
    }
}

/// Makes codes out of counts by length whose overlong ones were cut to `limit`: a code cut off takes the place of a shorter one,
/// which moves down beside it.
fn shorten(counts: &mut [u32; 64], limit: usize) {
    let whole = 1u64 << limit;
    let mut total: u64 =
        counts.iter().enumerate().take(limit + 1).skip(1).map(|(len, &count)| u64::from(count) << (limit - len)).sum();
    while total > whole {
        let Some(shorter) = (1..limit).rev().find(|&len| counts.get(len).is_some_and(|&count| count > 0)) else {
            return;
        };
        for (len, change) in [(limit, -1), (shorter, -1), (shorter + 1, 2)] {
            if let Some(count) = counts.get_mut(len) {
                *count = count.saturating_add_signed(change);
            }
        }
        total -= 1;
    }
}

/// The canonical codes of these lengths, first bit lowest.
pub(super) fn codes(lens: &[u8], codes: &mut [u16]) {
    let mut counts = [0u16; 16];
    for &len in lens {
        if let Some(count) = counts.get_mut(usize::from(len)) {
            *count += 1;
        }
    }
    counts[0] = 0;
    let mut next = [0u16; 16];
    let mut code = 0u16;
    for (first, &count) in next.iter_mut().skip(1).zip(counts.iter().skip(1)) {
        *first = code;
        code = (code.wrapping_add(count)) << 1;
    }
    for (slot, &len) in codes.iter_mut().zip(lens) {
        *slot = 0;
        if let Some(code) = next.get_mut(usize::from(len)).filter(|_| len > 0) {
            *slot = code.reverse_bits() >> (16 - u32::from(len));
            *code = code.wrapping_add(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lens(frequencies: &[u32], limit: usize) -> Vec<u8> {
        let mut lens = vec![9; frequencies.len()];
        code_lengths(frequencies, limit, &mut lens);
        lens
    }

    fn cost(frequencies: &[u32], lens: &[u8]) -> u64 {
        frequencies.iter().zip(lens).map(|(&f, &len)| u64::from(f) * u64::from(len)).sum()
    }

    /// The cost of an optimal tree: the sum of the weights of its inner nodes.
    fn least_cost(frequencies: &[u32]) -> u64 {
        let mut heap: Vec<u64> = frequencies.iter().filter(|&&f| f > 0).map(|&f| f.into()).collect();
        let mut cost = 0;
        while heap.len() > 1 {
            heap.sort_unstable_by(|a, b| b.cmp(a));
            let sum = heap.pop().unwrap() + heap.pop().unwrap();
            cost += sum;
            heap.push(sum);
        }
        cost
    }

    #[test]
    fn assigns_lengths_to_few_symbols() {
        assert_eq!(lens(&[0, 0, 0], 7), [0, 0, 0]);
        assert_eq!(lens(&[0, 5, 0], 7), [0, 1, 0]);
        assert_eq!(lens(&[1, 5, 0], 7), [1, 1, 0]);
        assert_eq!(lens(&[1, 5, 1], 7), [2, 1, 2]);
        assert_eq!(lens(&[4; 8], 7), [3; 8]);
        assert_eq!(lens(&[1; 256], 8), [8; 256]);
    }

    #[test]
    fn fibonacci_frequencies_reach_every_limit() {
        let mut frequencies = vec![1u32, 1];
        while frequencies.len() < 40 {
            let [.., a, b] = frequencies[..] else { unreachable!() };
            frequencies.push(a + b);
        }
        for limit in 6..=20 {
            for used in [2, 3, 7, 19, 30, 40] {
                let frequencies = &frequencies[..used];
                let lens = lens(frequencies, limit);
                assert!(lens.iter().all(|&len| len >= 1 && usize::from(len) <= limit));
                let sum: u64 = lens.iter().map(|&len| 1u64 << (limit - usize::from(len))).sum();
                assert_eq!(sum, 1 << limit, "complete, of {used} within {limit}");
                assert!(lens.is_sorted_by(|a, b| a >= b), "rarer symbols have longer codes");
                if used <= limit + 1 {
                    assert_eq!(cost(frequencies, &lens), least_cost(frequencies), "of {used} within {limit}");
                }
            }
        }
    }

    #[test]
    fn lengths_are_optimal() {
        let mut noise = 1u64;
        // Miri needs minutes for the others.
        let (alphabets, spreads): (&[u32], _) =
            if cfg!(miri) { (&[2, 3, 4, 19], 4) } else { (&[2, 3, 4, 19, 100, 286], 20) };
        for &symbols in alphabets {
            for spread in 0..spreads {
                let frequencies: Vec<u32> = (0..symbols)
                    .map(|_| {
                        noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                        (noise >> 40) as u32 >> (noise >> 33 & 127).min(spread)
                    })
                    .collect();
                let lens = lens(&frequencies, 40);
                assert_eq!(cost(&frequencies, &lens), least_cost(&frequencies));
            }
        }
    }

    #[test]
    fn codes_are_canonical() {
        let mut made = [9; 8];
        codes(&[3, 3, 3, 3, 3, 2, 4, 4], &mut made);
        // The example of RFC 1951, 3.2.2, with reversed bits.
        assert_eq!(made, [0b010, 0b110, 0b001, 0b101, 0b011, 0b00, 0b0111, 0b1111]);
        let mut made = [9; 3];
        codes(&[0, 1, 0], &mut made);
        assert_eq!(made, [0, 0, 0]);
    }
}
