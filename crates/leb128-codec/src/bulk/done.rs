//! How far kernels come.

/// How far a kernel came: `values` are decoded, from `bytes`.
///
/// The values are what the decoder of single values gives. Behind them the output may hold anything.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Done {
    pub(crate) values: usize,
    pub(crate) bytes: usize,
}

/// The kernel of types that have none.
pub(crate) fn no_run<T>(_: &[u8], _: &mut [T]) -> Done {
    Done::default()
}
