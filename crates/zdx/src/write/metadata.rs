//! `manifest.json` and `zds.json`: what this crate knows is kept right in them, and everything else stays as it stands, in its order.

use std::fs;
use std::io;
use std::path::Path;

use container_core::{Error, Limits, Result};
use serde_json::Value;

use crate::wire::json;
use crate::write::disk::Disk;
use crate::write::members::{find, set};

/// A file of metadata: its text, and as it is on the disk.
#[derive(Debug)]
pub(crate) struct Metadata {
    text: String,
    written: Option<String>,
}

impl Metadata {
    /// Reads it; nothing where there is none.
    ///
    /// # Errors
    /// [`Io`](container_core::ErrorKind::Io); [`Invalid`](container_core::ErrorKind::Invalid) for what is no JSON object: what is not
    /// understood cannot be kept.
    pub(crate) fn read(path: &Path) -> Result<Option<Self>> {
        let placed = |error: Error| error.in_file(path.display().to_string());
        let bytes = match fs::read(path) {
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(None),
            read => read.map_err(|cause| placed(Error::io("cannot read the metadata", cause)))?,
        };
        Limits::default().check_metadata("the length of metadata", bytes.len() as u64).map_err(placed)?;
        let wrong = |error: Error| placed(Error::invalid("the metadata are no JSON object").caused_by(error));
        json::scan(&bytes).map_err(wrong)?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        Ok(Some(Self { written: Some(text.clone()), text }))
    }

    /// One that is not on the disk yet.
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

    /// Sets a member, or one inside another.
    pub(crate) fn set(&mut self, path: &[&str], value: &Value) {
        self.text = set(&self.text, path, &value.to_string());
    }

    /// Is something in it that is not on the disk?
    pub(crate) fn is_changed(&self) -> bool {
        self.written.as_deref() != Some(&self.text)
    }

    /// Writes it where it has changed.
    pub(crate) fn write(&mut self, disk: &Disk, path: &Path) -> Result<()> {
        if self.is_changed() {
            disk.replace("metadata", path, |write| write(self.text.as_bytes()))?;
            self.written = Some(self.text.clone());
        }
        Ok(())
    }
}
