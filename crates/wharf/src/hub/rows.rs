//! Outputs in the format of the inputs.

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
    let own = own.info();
    Ok(target_of_format(path, own.format, registry)?.filter(|target| target.info().name != own.name))
}

/// Fails when the extension of an output at `path` stands for another format than `format`, that of the inputs.
pub(super) fn refuse_other_format(path: &Path, format: &str, registry: &Registry) -> Result<()> {
    target_of_format(path, format, registry).map(drop)
}

/// The target that the extension of `path` stands for, which must write `format`.
fn target_of_format(path: &Path, format: &str, registry: &Registry) -> Result<Option<Box<dyn Target>>> {
    match registry.target_for(path) {
        Some(target) if target.info().format != format => {
            let name = target.info().name;
            let detail =
                format!("its extension stands for {name}, and the input is {format}: `wharf convert` does that");
            Err(Error::usage(detail).in_file(path.display().to_string()))
        }
        target => Ok(target),
    }
}
