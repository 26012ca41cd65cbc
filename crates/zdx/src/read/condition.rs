//! The state a collection was found in.

use std::sync::Arc;

use container_core::Error;

/// Where the list of documents comes from.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub enum IndexState {
    /// There are no data to index.
    #[default]
    NoData,
    /// The index, which is complete.
    Valid,
    /// A text index, as older stores have.
    Text,
    /// There is no index: the data were scanned. Deleted documents whose lines remain are back.
    Missing,
    /// The index is damaged, for the reason given: the data were scanned. Deleted documents whose lines remain are back.
    Damaged(Arc<Error>),
    /// The data are newer than the index and longer than it covers: the rest was scanned.
    Stale,
    /// A writer of this crate is at work or was interrupted: its journal lists the changes since the index was written, or the
    /// documents whose files are still to be removed.
    Journal,
}

/// The state a collection was found in, and what had to be recovered or skipped. [`notes`](Self::notes) says it in words.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Condition {
    /// Where the list of documents comes from.
    pub index: IndexState,
    /// Documents found by scanning the data, because the index does not list them.
    pub unindexed: u64,
    /// Scanned lines that are not documents, and were skipped.
    pub skipped_lines: u64,
    /// Why the first of these lines is not a document.
    pub first_skipped: Option<Arc<Error>>,
    /// Lines and index entries replaced by a later one with the same id.
    pub superseded: u64,
    /// Offset of the last line if it is torn: it has no line feed and is not a whole document.
    pub torn: Option<u64>,
    /// End of the last line that the index lists, in bytes, if the data end before: the lines in between are lost.
    pub lost_until: Option<u64>,
    /// Files in `docs` ignored because a line has the same id.
    pub shadowed: u64,
    /// Ids in `order.ids` without a file in `docs`.
    pub missing_files: u64,
    /// Deleted documents whose files in `docs` a writer has yet to remove. They are not listed.
    pub pending_removals: u64,
}

impl Condition {
    /// How the documents were found, unless from the index alone.
    pub(crate) fn recovery_note(&self) -> Option<String> {
        let documents = counted(self.unindexed, "document");
        let deleted = "including deleted ones whose lines remain";
        match &self.index {
            IndexState::NoData | IndexState::Valid | IndexState::Text => None,
            IndexState::Missing => Some(format!("no index: recovered {documents} from the data, {deleted}")),
            IndexState::Damaged(error) => {
                Some(format!("the index is damaged ({error}): recovered {documents} from the data, {deleted}"))
            }
            IndexState::Stale => Some(format!(
                "the index is older than the data: recovered {documents} past its end, appended later (or deleted, if only the modification time is wrong)"
            )),
            IndexState::Journal if self.pending_removals > 0 => Some(format!(
                "a writer is at work or was interrupted: it has yet to remove the files of {}",
                counted(self.pending_removals, "deleted document")
            )),
            IndexState::Journal if self.unindexed == 0 => {
                Some("a writer is at work or was interrupted: no appended documents yet".to_owned())
            }
            IndexState::Journal => Some(format!(
                "a writer is at work or was interrupted: recovered {documents} appended since the index was written"
            )),
        }
    }

    /// Notes for a person, one per finding; empty if there is nothing to report.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let mut notes: Vec<String> = self.recovery_note().into_iter().collect();
        if self.skipped_lines > 0 {
            let first = self.first_skipped.as_ref().map(|error| format!(", first: {error}")).unwrap_or_default();
            notes.push(format!("skipped {} without a document{first}", counted(self.skipped_lines, "line")));
        }
        if self.superseded > 0 {
            let documents = counted(self.superseded, "document");
            notes.push(format!("ignored {documents} replaced by a later one with the same id"));
        }
        if let Some(at) = self.torn {
            notes.push(format!("ignored the last line, which is torn (byte {at})"));
        }
        if let Some(end) = self.lost_until {
            notes.push(format!("the index lists lines up to byte {end}, past the end of the data"));
        }
        if self.shadowed > 0 {
            let files = counted(self.shadowed, "file");
            notes.push(format!("ignored {files} in docs: data.jsonl has a line with the same id"));
        }
        if self.missing_files > 0 {
            notes.push(format!("order.ids lists {} without a file in docs", counted(self.missing_files, "id")));
        }
        notes
    }
}

fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
