//! Deciding when to search for matches.
//!
//! After a chunk in which matches gained nothing, no matches are searched for over a stretch, which grows from trial to trial. It ends early
//! if the cost of literals changes, or if sparse sampling of the data finds repetitions.

/// The minimum and maximum stretch without a search.
const MIN_STRETCH: usize = 64 << 10;
pub(super) const MAX_STRETCH: usize = 1 << 20;

/// Bytes between the positions that sampling records; those that it compares are one byte closer. So they coincide for any distance of a
/// repetition that is long enough.
const STRIDE: usize = 33;
const BITS: u32 = 11;
/// Sampled repetitions in a chunk that start a trial.
const MIN_HITS: u32 = 3;

pub(super) struct Quiet {
    until: usize,
    stretch: usize,
    /// Length of the last trial, and its cost as literals.
    trial: (usize, u64),
    hits: u32,
    /// Recorded positions plus one, by the hash of the eight bytes there; 0 means no position.
    positions: Box<[u32; 1 << BITS]>,
}

impl Default for Quiet {
    fn default() -> Self {
        Self { until: 0, stretch: MIN_STRETCH, trial: (0, 0), hits: MIN_HITS, positions: Box::new([0; 1 << BITS]) }
    }
}

impl Quiet {
    /// Forgets everything.
    pub(super) fn start(&mut self) {
        (self.until, self.stretch, self.trial, self.hits) = (0, MIN_STRETCH, (0, 0), MIN_HITS);
        self.positions.fill(0);
    }

    pub(super) const fn is_over(&self, at: usize) -> bool {
        at >= self.until
    }

    /// Whether to start a trial at the bytes from `at` to `end`, which cost `cost` as literals.
    pub(super) fn needs_trial(&mut self, data: &[u8], at: usize, end: usize, cost: u64) -> bool {
        // No overflow: chunks are short, so costs are far below 2^32.
        let (here, trial) = (cost * self.trial.0 as u64, self.trial.1 * (end - at) as u64);
        let differs = here.abs_diff(trial) > trial / 16;
        let hits = self.sample(data, at, end);
        if hits > self.hits {
            // If the trial finds nothing, the next one needs more hits.
            self.hits = hits * 2;
        }
        differs || self.hits == hits * 2
    }

    fn sample(&mut self, data: &[u8], at: usize, end: usize) -> u32 {
        let mut hits = 0;
        let word = |position: usize| {
            data.get(position..).and_then(<[u8]>::first_chunk).map(|bytes| u64::from_le_bytes(*bytes))
        };
        let hash = |word: u64| (word.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - BITS)) as usize;
        let (mut own, mut other) = (at, at);
        while own < end {
            if let Some(now) = word(other) {
                let position = self.positions.get(hash(now)).copied().unwrap_or(0) as usize;
                if position > 0
                    && position <= other
                    && position + super::symbols::WINDOW > other
                    && word(position - 1) == Some(now)
                {
                    hits += 1;
                }
            }
            if let Some(now) = word(own)
                && let Some(slot) = self.positions.get_mut(hash(now))
            {
                *slot = u32::try_from(own + 1).unwrap_or(0);
            }
            own += STRIDE;
            other += STRIDE - 1;
        }
        hits
    }

    /// Records whether the trial of the bytes from `at` to `next` was worth it; `cost` is their cost as literals.
    pub(super) fn record_trial(&mut self, at: usize, next: usize, cost: u64, worth: bool) {
        if worth {
            (self.stretch, self.hits) = (MIN_STRETCH, MIN_HITS);
        } else {
            self.trial = (next - at, cost);
            self.until = next + self.stretch;
            self.stretch = (self.stretch * 4).min(MAX_STRETCH);
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
    fn sampling_finds_repetitions() {
        let new = noise(60_000);
        let again = [&new[..20_000], &new[3..20_003]].concat();
        let far = [&new[..40_000], &new[..20_000]].concat();
        for (data, repeats) in [(&new, false), (&again, true), (&far, false)] {
            let mut quiet = Quiet::default();
            assert_eq!(quiet.sample(data, 0, 20_000), 0);
            let hits = quiet.sample(data, 20_000, data.len());
            assert_eq!(hits > MIN_HITS, repeats, "{hits} hits");
        }
    }

    #[test]
    fn failed_trial_delays_the_next() {
        let data = noise(60_000);
        let mut quiet = Quiet::default();
        assert!(quiet.is_over(0));
        quiet.record_trial(0, 8_000, 1_000, false);
        assert!(!quiet.is_over(8_000 + MIN_STRETCH - 1) && quiet.is_over(8_000 + MIN_STRETCH));
        assert!(!quiet.needs_trial(&data, 8_000, 16_000, 1_050), "about the same cost");
        assert!(quiet.needs_trial(&data, 16_000, 24_000, 1_100), "a higher cost");
        quiet.record_trial(16_000, 24_000, 1_100, false);
        assert!(!quiet.is_over(24_000 + 4 * MIN_STRETCH - 1) && quiet.is_over(24_000 + 4 * MIN_STRETCH));
        quiet.record_trial(24_000, 32_000, 1_100, true);
        quiet.record_trial(32_000, 40_000, 1_100, false);
        assert!(quiet.is_over(40_000 + MIN_STRETCH), "a successful trial resets the stretch");
        // `start` resets everything.
        quiet.start();
        assert!(quiet.is_over(0) && quiet.positions.iter().all(|&position| position == 0));
        assert_eq!((quiet.stretch, quiet.trial, quiet.hits), (MIN_STRETCH, (0, 0), MIN_HITS));
    }
}
