//! Every kernel by name, for tests and benchmarks. Not part of the interface.

use std::boxed::Box;
use std::vec::Vec;

use crate::bulk::done::{Done, no_run};
use crate::bulk::{decode_slice_by, portable};
use crate::error::RunError;
use crate::integer::Integer;

/// A kernel's name, and [`decode_slice`](crate::decode_slice) with it.
pub type Named<T> = (&'static str, Box<dyn Fn(&[u8], &mut [T]) -> Result<usize, RunError>>);

/// The kernels this machine can run for a type of 32 or 64 bits, the slowest first. Others do not compile.
#[must_use]
pub fn all<T: Integer>() -> Vec<Named<T>> {
    fn named<T: Integer>(name: &'static str, run: impl Fn(&[u8], &mut [T]) -> Done + 'static) -> Named<T> {
        (name, Box::new(move |input, out| decode_slice_by(input, out, &run)))
    }
    let mut all = Vec::from([named("one by one", no_run), named("portable", portable::run)]);
    #[cfg(target_arch = "x86_64")]
    {
        use crate::simd::{avx2, avx512};
        if let Some(kernel) = avx2::Kernel::new() {
            all.push(named("avx2", move |input, out| kernel.run(input, out)));
        }
        if let Some(kernel) = avx512::Kernel::new() {
            all.push(named("avx512", move |input, out| kernel.run(input, out)));
        }
    }
    all
}
