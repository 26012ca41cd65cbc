//! Architectures without kernels: the portable loops.

use crate::digest::group::{Digest, Group, LANES};
use crate::digest::portable;
use crate::probe::{GroupIndices, Row};

#[derive(Clone, Copy)]
pub(crate) struct Kernel;

impl Kernel {
    #[allow(dead_code, reason = "for tests and benchmarks")]
    pub(crate) const fn all() -> [(&'static str, Option<Self>); 0] {
        []
    }

    pub(super) const fn best() -> Self {
        Self
    }

    #[inline]
    pub(crate) fn digest(self, group: &Group<'_>, start: &[u32; 8]) -> [Digest; LANES] {
        portable::group(group, start)
    }

    #[inline]
    pub(super) fn next_rows(self, indices: &mut GroupIndices, rows: &mut [Row]) {
        indices.next_rows(rows);
    }
}

/// Without an instruction that hints, nothing.
#[inline(always)]
pub(super) const fn prefetch(_: &u8) {}
