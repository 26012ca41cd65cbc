//! Every kernel by name, for tests and benchmarks. Not part of the public API.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::digest::group::{Group, LANES};
use crate::digest::{Digest, Salt, digest, portable};
use crate::simd;

/// The digests of sixteen keys.
pub type Kernel = Box<dyn Fn([&[u8]; LANES], Salt) -> [Digest; LANES]>;

/// The kernels this machine can run, slowest first.
#[must_use]
pub fn all() -> Vec<(&'static str, Kernel)> {
    fn boxed(run: impl Fn(&Group<'_>, &[u32; 8]) -> [Digest; LANES] + 'static) -> Kernel {
        Box::new(move |keys, salt| run(&Group { keys }, &salt.start()))
    }
    let one_by_one: Kernel = Box::new(|keys, salt| keys.map(|key| digest(key, salt)));
    let mut all = Vec::from([("one by one", one_by_one), ("portable", boxed(portable::group))]);
    for (name, kernel) in simd::Kernel::all() {
        if let Some(kernel) = kernel {
            all.push((name, boxed(move |group, start| kernel.digest(group, start))));
        }
    }
    all
}
