//! When to look for matches at all.
//!
//! After a chunk in which matches gained nothing, they are not looked for over a stretch, which grows from trial to trial. It ends early
//! when literals begin to cost more or less than they did, and when a scout, who remembers a few places of many, meets some again.

/// The first and the longest stretch without matches before they are looked for again.
const FIRST: usize = 64 << 10;
pub(super) const MOST: usize = 1 << 20;

/// Bytes from one place that the scout remembers to the next, and one more than from one that it compares to the next: so both meet,
/// however far apart a text and its repetition are, if that is long enough.
const STRIDE: usize = 33;
const BITS: u32 = 11;
/// Places met again in a chunk that make a trial.
const HITS: u32 = 3;

pub(super) struct Quiet {
    until: usize,
    stretch: usize,
    /// The bytes and the cost of the literals of the last trial.
    trial: (usize, u64),
    hits: u32,
    /// Places by the hash of the eight bytes there, one more than they are: 0 is none.
    seen: Box<[u32; 1 << BITS]>,
}

impl Default for Quiet {
    fn default() -> Self {
        Self { until: 0, stretch: FIRST, trial: (0, 0), hits: HITS, seen: Box::new([0; 1 << BITS]) }
    }
}

impl Quiet {
    /// Forgets everything.
    pub(super) fn start(&mut self) {
        (self.until, self.stretch, self.trial, self.hits) = (0, FIRST, (0, 0), HITS);
        self.seen.fill(0);
    }

    pub(super) const fn is_over(&self, at: usize) -> bool {
        at >= self.until
    }

    /// Whether the bytes from `at` to `end`, which cost so much as literals, call for a trial.
    pub(super) fn surprise(&mut self, data: &[u8], at: usize, end: usize, cost: u64) -> bool {
        // Costs are far below 2^32, as a chunk is short.
        let (here, trial) = (cost * self.trial.0 as u64, self.trial.1 * (end - at) as u64);
        let differs = here.abs_diff(trial) > trial / 16;
        let hits = self.scout(data, at, end);
        if hits > self.hits {
            // Should the trial find nothing, it takes more to try once more.
            self.hits = hits * 2;
        }
        differs || self.hits == hits * 2
    }

    fn scout(&mut self, data: &[u8], at: usize, end: usize) -> u32 {
        let mut hits = 0;
        let word =
            |place: usize| data.get(place..).and_then(<[u8]>::first_chunk).map(|bytes| u64::from_le_bytes(*bytes));
        let hash = |word: u64| (word.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - BITS)) as usize;
        let (mut own, mut other) = (at, at);
        while own < end {
            if let Some(now) = word(other) {
                let place = self.seen.get(hash(now)).copied().unwrap_or(0) as usize;
                if place > 0 && place <= other && place + super::symbols::WINDOW > other && word(place - 1) == Some(now)
                {
                    hits += 1;
                }
            }
            if let Some(now) = word(own)
                && let Some(slot) = self.seen.get_mut(hash(now))
            {
                *slot = u32::try_from(own + 1).unwrap_or(0);
            }
            own += STRIDE;
            other += STRIDE - 1;
        }
        hits
    }

    /// A trial of the bytes from `at` to `next`, which would have cost so much as literals: it was worth it, or not.
    pub(super) fn tried(&mut self, at: usize, next: usize, cost: u64, worth: bool) {
        if worth {
            (self.stretch, self.hits) = (FIRST, HITS);
        } else {
            self.trial = (next - at, cost);
            self.until = next + self.stretch;
            self.stretch = (self.stretch * 4).min(MOST);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(len: usize) -> Vec<u8> {
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 56) as u8
        };
        (0..len).map(|_| next()).collect()
    }

    #[test]
    fn the_scout_meets_what_repeats() {
        let new = noise(60_000);
        let again = [&new[..20_000], &new[3..20_003]].concat();
        let far = [&new[..40_000], &new[..20_000]].concat();
        for (data, is_met) in [(&new, false), (&again, true), (&far, false)] {
            let mut quiet = Quiet::default();
            assert_eq!(quiet.scout(data, 0, 20_000), 0);
            let hits = quiet.scout(data, 20_000, data.len());
            assert_eq!(hits > HITS, is_met, "{hits} places");
        }
    }

    #[test]
    fn a_failed_trial_makes_the_next_one_later() {
        let data = noise(60_000);
        let mut quiet = Quiet::default();
        assert!(quiet.is_over(0));
        quiet.tried(0, 8_000, 1_000, false);
        assert!(!quiet.is_over(8_000 + FIRST - 1) && quiet.is_over(8_000 + FIRST));
        assert!(!quiet.surprise(&data, 8_000, 16_000, 1_050), "about the same cost");
        assert!(quiet.surprise(&data, 16_000, 24_000, 1_100), "a higher cost");
        quiet.tried(16_000, 24_000, 1_100, false);
        assert!(!quiet.is_over(24_000 + 4 * FIRST - 1) && quiet.is_over(24_000 + 4 * FIRST));
        quiet.tried(24_000, 32_000, 1_100, true);
        quiet.tried(32_000, 40_000, 1_100, false);
        assert!(quiet.is_over(40_000 + FIRST), "one that succeeds makes it sooner again");
        // Nothing of that remains for other data.
        quiet.start();
        assert!(quiet.is_over(0) && quiet.seen.iter().all(|&place| place == 0));
        assert_eq!((quiet.stretch, quiet.trial, quiet.hits), (FIRST, (0, 0), HITS));
    }
}
