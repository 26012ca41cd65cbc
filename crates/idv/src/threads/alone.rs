//! The calling thread alone.

pub(crate) const fn count() -> usize {
    1
}

/// Nobody takes it: whoever needs the outcome does the work.
pub(crate) fn spawn(_: impl FnOnce() + Send + 'static) {}

pub(crate) fn map<S: Default, T>(items: Vec<u64>, work: impl Fn(&mut S, u64) -> T) -> Vec<T> {
    let mut state = S::default();
    items.into_iter().map(|item| work(&mut state, item)).collect()
}
