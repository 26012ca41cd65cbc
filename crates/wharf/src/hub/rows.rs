//! Files whose rows are all they have, written in their own format.

use std::path::Path;

use container_core::{Error, Input, Result};

use super::convert::Target;
use crate::Registry;

/// A target that writes files like this input.
pub(super) fn target_like(format: &str, input: &Input, registry: &Registry) -> Result<Box<dyn Target>> {
    let target = registry.targets().into_iter().find(|target| target.info().format == format);
    let target = target.ok_or_else(|| Error::unsupported(format!("files of the format {format} cannot be written")))?;
    Ok(target.like(input)?.unwrap_or(target))
}

/// The target of an output at `path` when it is not `own`, the target like the inputs: another form of the same format, by its extension.
///
/// # Errors
/// The extension stands for another format.
pub(super) fn other_form(path: &Path, own: &dyn Target, registry: &Registry) -> Result<Option<Box<dyn Target>>> {
    let (own, Some(target)) = (own.info(), registry.target_for(path)) else { return Ok(None) };
    if target.info().format == own.format {
        return Ok(Some(target).filter(|target| target.info().name != own.name));
    }
    let detail = format!(
        "its extension stands for {}, and the input is {}: `wharf convert` does that",
        target.info().name,
        own.format
    );
    Err(Error::usage(detail).in_file(path.display().to_string()))
}
