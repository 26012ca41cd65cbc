//! Every kernel by name, for tests and benchmarks. Not part of the public API.

use std::boxed::Box;
use std::vec::Vec;

use crate::bulk::progress::{Progress, no_kernel};
use crate::bulk::{decode_slice_with, portable};
use crate::error::RunError;
use crate::integer::Integer;
use crate::simd::Kernel;

/// A kernel's name, and [`decode_slice`](crate::decode_slice) by means of it.
pub type NamedKernel<T> = (&'static str, Box<dyn Fn(&[u8], &mut [T]) -> Result<usize, RunError>>);

/// The kernels this machine can run for a type of 32 or 64 bits, slowest first. Other types do not compile.
#[must_use]
pub fn all<T: Integer>() -> Vec<NamedKernel<T>> {
    fn named<T: Integer>(name: &'static str, run: impl Fn(&[u8], &mut [T]) -> Progress + 'static) -> NamedKernel<T> {
        (name, Box::new(move |input, out| decode_slice_with(input, out, &run)))
    }
    let mut all = Vec::from([named("one by one", no_kernel), named("portable", portable::run)]);
    for (name, kernel) in Kernel::all() {
        if let Some(kernel) = kernel {
            all.push(named(name, move |input, out| kernel.run(input, out)));
        }
    }
    all
}
