//! In what state a collection was found.

use std::sync::Arc;

use container_core::Error;

/// Where the places of a collection's documents are known from.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub enum IndexState {
    /// There are no data that an index could be about.
    #[default]
    NoData,
    /// The index, as it is.
    Valid,
    /// An index in lines of text, as older stores have it.
    Text,
    /// There is none: the data were walked over. Documents that were deleted and whose lines are still there are read again.
    Missing,
    /// It is damaged, as the error says: the data were walked over, as if there was none.
    Damaged(Arc<Error>),
    /// The data are younger than the index, and longer than it knows: what stands behind was appended later.
    Stale,
    /// A writer of this crate is at work, or has died: its journal says what it did since the index was written.
    Journal,
}

/// In what state a collection was found, and what of it is not as a writer leaves it. All of it is told by [`notes`](Self::notes).
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Condition {
    /// Where the places of documents are known from.
    pub index: IndexState,
    /// Documents that no index knows: those behind its end, or all where it is missing.
    pub unindexed: u64,
    /// Lines among them that are no documents.
    pub passed_over: u64,
    /// The first of these.
    pub first_passed_over: Option<Arc<Error>>,
    /// Lines and entries whose id comes again later, which is the one that holds.
    pub superseded: u64,
    /// Where the last line begins, if it is torn: it has no line feed and is no whole document. Bytes, from 0.
    pub torn: Option<u64>,
    /// The index names lines up to this byte, and the data end before: what stood behind is lost. Bytes, from 0.
    pub data_end_before: Option<u64>,
    /// Documents in files of their own, of ids that have a line, too: the line is the one that holds.
    pub shadowed: u64,
    /// Ids of `order.ids` that no file has.
    pub without_file: u64,
}

impl Condition {
    /// How the documents were found, in a sentence, where the index alone does not say it.
    pub(crate) fn found(&self) -> Option<String> {
        let documents = counted(self.unindexed, "document");
        let among = "deleted ones among them if their lines are still there";
        match &self.index {
            IndexState::NoData | IndexState::Valid | IndexState::Text => None,
            IndexState::Missing => Some(format!("there is no index: {documents} found in the data, {among}")),
            IndexState::Damaged(error) => {
                Some(format!("the index is damaged ({error}): {documents} found in the data, {among}"))
            }
            IndexState::Stale => Some(format!(
                "the index is older than the data: {documents} found behind the end that it knows, appended later or, if only its time is wrong, deleted"
            )),
            IndexState::Journal if self.unindexed == 0 => {
                Some("a writer is at work or was interrupted: no appended document counts yet".to_owned())
            }
            IndexState::Journal => Some(format!(
                "a writer is at work or was interrupted: {documents} found that it appended since the index was written"
            )),
        }
    }

    /// What a person should know, in sentences; empty where all is as it should be.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let mut notes: Vec<String> = self.found().into_iter().collect();
        if self.passed_over > 0 {
            let first = self.first_passed_over.as_ref().map(|error| format!(", first: {error}")).unwrap_or_default();
            notes.push(format!("{} passed over that hold no document{first}", counted(self.passed_over, "line")));
        }
        if self.superseded > 0 {
            let lines = counted(self.superseded, "document");
            notes.push(format!("{lines} left out whose id comes again later: the last one holds"));
        }
        if let Some(at) = self.torn {
            notes.push(format!("the last line is torn: it is left out (byte {at})"));
        }
        if let Some(end) = self.data_end_before {
            notes.push(format!("the index names lines up to byte {end} of the data, which end before"));
        }
        if self.shadowed > 0 {
            let files = counted(self.shadowed, "file");
            notes.push(format!("{files} in docs left out whose id has a line in data.jsonl: the line holds"));
        }
        if self.without_file > 0 {
            notes.push(format!("{} of order.ids without a file in docs", counted(self.without_file, "id")));
        }
        notes
    }
}

fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
