//! Where the changes of a transaction are kept until they count.

use std::fs::File;
use std::time::SystemTime;

use crate::write::folder::Folder;
use crate::write::schema::Schema;

/// Temporary file for the data of a collection that has no documents.
pub(crate) const STAGED_DATA: &str = "wharf-data.tmp";

/// An open transaction, and what is needed to roll it back.
#[derive(Debug)]
pub(crate) struct Transaction {
    pub(super) before: Before,
    pub(super) staging: Staging,
    /// Begun by the user; otherwise by a load.
    pub(super) is_explicit: bool,
    /// File-per-document documents that have been given a line.
    pub(crate) shadowed: Vec<String>,
    /// Documents whose files are removed at the end, and whether they had no line.
    pub(crate) removed: Vec<(String, bool)>,
}

/// The writer's state at the beginning.
#[derive(Debug)]
pub(super) struct Before {
    pub(super) written: u64,
    pub(super) lines_end: u64,
    pub(super) is_last_line_live: bool,
    pub(super) needs_feed: bool,
    pub(super) is_changed: bool,
    pub(super) schema: Option<Schema>,
}

/// Where changes are kept. The payload is `None` before the first change.
#[derive(Debug)]
pub(super) enum Staging {
    /// At the end of the data, ignored because of a record in the journal.
    Appended(Option<Append>),
    /// In a file that will replace the data of a collection without documents; and the previous data.
    ///
    /// The reference treats an index without documents as missing, and would read appended lines as documents.
    Data(Option<Option<File>>),
    /// In a directory that will become the collection, and the name of its parent beside the lock.
    Collection(Option<(Folder, String)>),
}

#[derive(Debug)]
pub(super) struct Append {
    /// Whether there was a journal of earlier changes.
    pub(super) had_journal: bool,
    /// Length of the journal before the transaction.
    pub(super) journal_bytes: u64,
    /// Modification time of the data.
    pub(super) modified: Option<SystemTime>,
}

impl Transaction {
    /// Where the directory of a new collection is kept; `None` if it need not be hidden.
    pub(crate) fn hidden(&mut self) -> Option<&mut Option<(Folder, String)>> {
        match &mut self.staging {
            Staging::Collection(hidden) => Some(hidden),
            _ => None,
        }
    }

    /// Notes that there were unflushed changes before the transaction.
    pub(crate) fn mark_changed(&mut self) {
        self.before.is_changed = true;
    }

    /// Whether the data are staged in a file of their own.
    pub(crate) const fn stages_data(&self) -> bool {
        matches!(self.staging, Staging::Data(_))
    }

    pub(crate) const fn stages_collection(&self) -> bool {
        matches!(self.staging, Staging::Collection(_))
    }
}
