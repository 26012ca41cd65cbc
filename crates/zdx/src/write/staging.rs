//! Where the changes of a transaction are until they count.

use std::fs::File;
use std::time::SystemTime;

use crate::write::folder::Folder;
use crate::write::schema::Schema;

/// Data that are to take the place of empty ones.
pub(crate) const STAGED_DATA: &str = "wharf-data.tmp";

/// A transaction that is open, and what is needed to go back.
#[derive(Debug)]
pub(crate) struct Transaction {
    pub(super) before: Before,
    pub(super) staging: Staging,
    /// Somebody asked for it; otherwise it is one of loading.
    pub(super) is_explicit: bool,
    /// Documents in files of their own that have got a line.
    pub(crate) shadowed: Vec<String>,
    /// Documents whose own files are removed at the end, and whether they had no line.
    pub(crate) removed: Vec<(String, bool)>,
}

/// The writer's state when it began.
#[derive(Debug)]
pub(super) struct Before {
    pub(super) written: u64,
    pub(super) covered: u64,
    pub(super) is_tail_alive: bool,
    pub(super) needs_feed: bool,
    pub(super) is_changed: bool,
    pub(super) schema: Option<Schema>,
}

/// Where its changes are until they count. What was made there is `None` before the first change.
#[derive(Debug)]
pub(super) enum Staging {
    /// Behind the data, and the journal says that they do not count.
    Appended(Option<Appended>),
    /// In a file that takes the place of data without documents; and the old data.
    ///
    /// A reader of the reference takes an index without documents for a missing one, and would take what is behind the data for documents.
    Data(Option<Option<File>>),
    /// In a folder that becomes the new collection, and which of those beside the lock it is in.
    Collection(Option<(Folder, String)>),
}

#[derive(Debug)]
pub(super) struct Appended {
    /// Was there a journal of earlier changes?
    pub(super) had_journal: bool,
    /// Bytes of the journal in front of the transaction.
    pub(super) journal_bytes: u64,
    /// When the data were written last.
    pub(super) modified: Option<SystemTime>,
}

impl Transaction {
    /// Where the folder of a new collection is kept until it is seen; `None` where it need not be hidden.
    pub(crate) fn unseen(&mut self) -> Option<&mut Option<(Folder, String)>> {
        match &mut self.staging {
            Staging::Collection(unseen) => Some(unseen),
            _ => None,
        }
    }

    /// There was something to be flushed before it began.
    pub(crate) fn found_changes(&mut self) {
        self.before.is_changed = true;
    }

    /// Are the data in a file that no reader sees?
    pub(crate) const fn stages_data(&self) -> bool {
        matches!(self.staging, Staging::Data(_))
    }

    pub(crate) const fn stages_collection(&self) -> bool {
        matches!(self.staging, Staging::Collection(_))
    }
}
