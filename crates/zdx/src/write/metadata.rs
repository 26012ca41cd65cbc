//! `manifest.json` and `zds.json`: known members are kept up to date, everything else stays verbatim and in order.

use std::io::Read;

use container_core::{Error, Limits, Result};
use serde_json::Value;

use crate::wire::json;
use crate::write::disk::Disk;
use crate::write::folder::{Folder, Mode};
use crate::write::members::{find, set};

/// A metadata file: its current text, and the text on disk.
#[derive(Debug)]
pub(crate) struct Metadata {
    text: String,
    written: Option<String>,
}

impl Metadata {
    /// Reads a metadata file; `None` if it does not exist.
    ///
    /// # Errors
    /// [`Io`](container_core::ErrorKind::Io); [`Invalid`](container_core::ErrorKind::Invalid) if it is not a JSON object, as it could not be
    /// preserved; [`Unsupported`](container_core::ErrorKind::Unsupported) for a symbolic link.
    pub(crate) fn read(folder: &Folder, name: &str) -> Result<Option<Self>> {
        let placed = |error: Error| error.in_file(folder.path(name).display().to_string());
        let Some(mut file) = folder.open(name, Mode::Read)? else { return Ok(None) };
        let failed = |cause| placed(Error::io("cannot read the metadata", cause));
        let len = file.metadata().map_err(failed)?.len();
        Limits::default().check_metadata("the length of metadata", len).map_err(placed)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(failed)?;
        let invalid = |error: Error| placed(Error::invalid("the metadata is not a JSON object").caused_by(error));
        json::scan(&bytes).map_err(invalid)?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        Ok(Some(Self { written: Some(text.clone()), text }))
    }

    /// Creates metadata that is not on disk yet.
    pub(crate) fn new(members: &[(&str, Value)]) -> Self {
        let lines: Vec<String> =
            members.iter().map(|(name, value)| format!("  {}: {value}", Value::from(*name))).collect();
        Self { text: format!("{{\n{}\n}}", lines.join(",\n")), written: None }
    }

    /// The value of a member.
    pub(crate) fn get(&self, name: &str) -> Option<Value> {
        let member = find(self.text.as_bytes(), name)?;
        serde_json::from_str(self.text.get(member.value)?).ok()
    }

    /// Sets a member, or a nested one, given by its path.
    pub(crate) fn set(&mut self, path: &[&str], value: &Value) {
        self.text = set(&self.text, path, &value.to_string());
    }

    /// Notes that the file was removed.
    pub(crate) fn forget_written(&mut self) {
        self.written = None;
    }

    /// Whether the text differs from the file.
    pub(crate) fn is_changed(&self) -> bool {
        self.written.as_deref() != Some(&self.text)
    }

    /// Writes the file if the text has changed.
    pub(crate) fn write(&mut self, disk: &Disk, folder: &Folder, name: &str) -> Result<()> {
        if self.is_changed() {
            disk.replace("metadata", folder, name, |write| write(self.text.as_bytes()))?;
            self.written = Some(self.text.clone());
        }
        Ok(())
    }
}
