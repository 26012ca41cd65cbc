//! Reads and writes ZDS stores.

mod ids;
mod output;
mod stored;
mod view;

pub use ids::{Ids, number_id, with_id};
pub use output::{NewZds, Placed, Ready, Written, is_archive, place_all, refuse};
pub(super) use stored::is_of;
pub use stored::{Stored, is_store, located, open_writer, repaired, tables, writer_options};
pub use view::View;

/// The name of the format.
pub const NAME: &str = "zds";
