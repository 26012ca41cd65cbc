//! Reads and writes ZDS stores.

mod filter;
mod ids;
mod output;
mod stored;
mod view;

use super::convert::{Streaming, TargetInfo, TargetUnit};
pub use filter::on_documents;
pub use ids::{Ids, number_id, with_id};
pub use output::{NewZds, Placed, Ready, Written, is_archive, place_all, refuse};
pub(super) use stored::is_of;
pub use stored::{
    Stored, is_store, located, matching_ids, open_writer, refuse_archive, repaired, tables, writer_options,
};
pub use view::View;

/// The name of the format.
pub const NAME: &str = "zds";

/// What operations say about it.
pub(super) const INFO: TargetInfo = TargetInfo {
    title: "ZDS",
    ..TargetInfo::new(
        NAME,
        TargetUnit::Documents,
        Streaming::Unsupported("a ZDS store is a folder or an archive of one"),
    )
};
