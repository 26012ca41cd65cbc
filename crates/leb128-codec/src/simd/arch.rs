//! Architectures without kernels: the portable loops.

use crate::bulk::portable;
use crate::bulk::progress::Progress;
use crate::integer::Integer;

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

    pub(crate) fn run<T: Integer>(self, input: &[u8], out: &mut [T]) -> Progress {
        portable::run(input, out)
    }

    pub(super) fn count(self, bytes: &[u8]) -> usize {
        portable::count(bytes)
    }
}
