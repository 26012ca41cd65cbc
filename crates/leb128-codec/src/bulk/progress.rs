/// How far a kernel got: `values` decoded from `bytes`.
///
/// The values equal those of the single-value decoder. The output after them is unspecified.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    pub(crate) values: usize,
    pub(crate) bytes: usize,
}

/// For types without a kernel: decodes nothing, so all values are decoded one by one.
pub(crate) fn no_kernel<T>(_: &[u8], _: &mut [T]) -> Progress {
    Progress::default()
}
