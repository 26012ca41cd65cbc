//! The pool without the feature `parallel`: there is none.

pub(crate) const IS_PARALLEL: bool = false;

/// Uninhabited.
#[derive(Debug)]
pub(super) enum Pool {}

impl Pool {
    pub(super) const fn new(_: usize) -> Option<Self> {
        None
    }

    pub(super) const fn count(&self) -> usize {
        match *self {}
    }

    pub(super) fn map<T, R>(&self, _: Vec<T>, _: impl Fn(T) -> R) -> Vec<R> {
        match *self {}
    }

    pub(super) const fn may_wait(&self) -> bool {
        match *self {}
    }

    pub(super) fn spawn(&self, _: impl FnOnce()) {
        match *self {}
    }
}
