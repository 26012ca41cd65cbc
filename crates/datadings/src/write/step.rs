//! A step of a commit; tests replace it to inject failures.

use container_core::Result;

#[expect(clippy::unnecessary_wraps, reason = "fails in tests")]
pub(super) const fn step() -> Result<()> {
    Ok(())
}
