//! Lines near each other, which are read together from data that are not in memory.

use std::ops::Range;

use crate::read::line::surroundings;

/// Maximum bytes read together, except for a longer line. A window stays in the L2 cache until its lines have been used.
const MAX_WINDOW: u64 = 256 << 10;

/// Maximum bytes between two lines that are read together: copying them takes as long as another system call.
const MAX_GAP: u64 = 4 << 10;

/// Number of lines that are looked at together, if they are short.
const STRIDE: usize = 64;

/// Maximum bytes from the first of these lines to the last one.
const MAX_STRIDE: u64 = 32 << 10;

/// The range that the first of these lines share, including their [`surroundings`], and the number of these lines: at least one, if there are
/// any. `lines` are sorted by offset, in data of `len` bytes; `at` returns a line's offset and length. Lines of a wrong index may overlap, and
/// then reach past the range.
pub(crate) fn window<T>(len: u64, lines: &[T], at: impl Fn(&T) -> (u64, u32)) -> (Range<u64>, usize) {
    let range = |line: &T| {
        let (offset, length) = at(line);
        surroundings(len, offset, length)
    };
    let Some(mut window) = lines.first().map(range) else { return (0..0, 0) };
    let mut count = 1;
    let mut add = |line: &T, max_gap| {
        let Range { start, end } = range(line);
        let is_near = start <= window.end + max_gap && end <= window.start + MAX_WINDOW;
        if is_near {
            window.end = window.end.max(end);
        }
        is_near
    };
    while lines.get(count - 1 + STRIDE).is_some_and(|line| add(line, MAX_STRIDE)) {
        count += STRIDE;
    }
    count += lines.get(count..).unwrap_or_default().iter().take_while(|line| add(line, MAX_GAP)).count();
    (window, count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_near_each_other_share_a_window() {
        let len = 1 << 30;
        let shared = |lines: &[(u64, u32)]| window(len, lines, |line| *line);
        assert_eq!(shared(&[]), (0..0, 0));
        assert_eq!(shared(&[(0, 10)]), (0..12, 1));
        assert_eq!(shared(&[(100, 10), (105, 1), (110, 10), (110, 10)]), (97..122, 4));
        // A gap.
        let far = 112 + MAX_GAP + 3;
        assert_eq!(shared(&[(100, 10), (far, 10)]), (97..far + 12, 2));
        assert_eq!(shared(&[(100, 10), (far + 1, 10)]), (97..112, 1));
        // The maximum.
        let rest = u32::try_from(MAX_WINDOW).unwrap() - 15;
        assert_eq!(shared(&[(3, 10), (13, rest), (14, 1)]), (0..MAX_WINDOW, 3));
        assert_eq!(shared(&[(3, 10), (13, rest + 1), (14, 1)]), (0..15, 1));
        assert_eq!(shared(&[(3, 10 << 20), (4, 1), (10 << 20, 100)]), (0..(10 << 20) + 5, 2));
        // Past the end of the data.
        assert_eq!(window(50, &[(40, 100), (u64::MAX, u32::MAX)], |line| *line), (37..50, 2));
    }

    #[test]
    fn short_lines_are_looked_at_together() {
        let lines: Vec<(u64, u32)> = (0..5000).map(|n| (n * 100, 100)).collect();
        let (range, count) = window(500_000, &lines, |line| *line);
        assert_eq!((range, count), (0..262_102, 2621));
        // A gap within a stride, and one at its end.
        for before in [70, 65] {
            let far: Vec<_> =
                lines.iter().map(|(at, len)| (at + if *at < before * 100 { 0 } else { 40_000 }, *len)).collect();
            let (range, count) = window(600_000, &far, |line| *line);
            assert_eq!((range.end, count as u64), (before * 100 + 2, before));
        }
    }
}
