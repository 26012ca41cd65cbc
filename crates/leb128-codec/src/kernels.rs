//! Every kernel by name, for tests and benchmarks. Not part of the public API.

use std::boxed::Box;
use std::vec::Vec;

use crate::bulk::progress::{Progress, no_kernel};
use crate::bulk::{decode_slice_with, portable};
use crate::error::RunError;
use crate::integer::Integer;

/// A kernel's name, and [`decode_slice`](crate::decode_slice) by means of it.
pub type NamedKernel<T> = (&'static str, Box<dyn Fn(&[u8], &mut [T]) -> Result<usize, RunError>>);

/// The kernels this machine can run for a type of 32 or 64 bits, slowest first. Other types do not compile.
#[must_use]
pub fn all<T: Integer>() -> Vec<NamedKernel<T>> {
    fn named<T: Integer>(name: &'static str, run: impl Fn(&[u8], &mut [T]) -> Progress + 'static) -> NamedKernel<T> {
        (name, Box::new(move |input, out| decode_slice_with(input, out, &run)))
    }
    let mut all = Vec::from([named("one by one", no_kernel), named("portable", portable::run)]);
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
    #[cfg(all(target_arch = "aarch64", target_feature = "neon", target_endian = "little"))]
    if let Some(kernel) = crate::simd::neon::Kernel::new() {
        all.push(named("neon", move |input, out| kernel.run(input, out)));
    }
    all
}
