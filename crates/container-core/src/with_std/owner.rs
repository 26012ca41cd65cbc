//! The process that owns a file being written. A forked child has a copy of its parent's writers, whose files it must leave alone.

use crate::error::{Error, Result};

/// The process that created a value, such as a writer or a lock.
///
/// ```
/// let owner = container_core::Owner::current();
/// assert!(owner.is_current()); // not so in a child of `fork`
/// owner.check()?;
/// # Ok::<(), container_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Owner(u32);

impl Owner {
    /// This process.
    #[must_use]
    pub fn current() -> Self {
        Self(std::process::id())
    }

    /// Whether this is the process that created the value, not a forked child of it.
    #[must_use]
    pub fn is_current(self) -> bool {
        self == Self::current()
    }

    /// Refuses to write in a forked child.
    ///
    /// # Errors
    /// [`Usage`](crate::ErrorKind::Usage) in another process than the one that created the value.
    pub fn check(self) -> Result<()> {
        match self.is_current() {
            true => Ok(()),
            false => {
                Err(Error::usage("the parent process opened this for writing: a forked process cannot write to it"))
            }
        }
    }

    /// An owner that is another process.
    #[cfg(test)]
    pub(crate) fn other() -> Self {
        Self(std::process::id() ^ 1)
    }
}
