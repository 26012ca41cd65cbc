//! Failure injection point before each write.

use container_core::Result;

#[expect(clippy::unnecessary_wraps, reason = "it fails in tests")]
pub(super) const fn step() -> Result<()> {
    Ok(())
}
