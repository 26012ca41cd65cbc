//! What verbs do with ZDS stores that they do with no other.

mod ids;
mod index;
mod output;
mod remove;
mod stored;
mod view;

pub(crate) use ids::{Ids, number_id, with_id};
pub(crate) use index::index;
pub(crate) use output::place_all;
pub(crate) use output::{NewZds, done, is_archive, refuse};
pub(crate) use remove::remove;
pub(crate) use stored::{Stored, is_store, located, open_writer, repaired, tables, writer_options};
pub(crate) use view::View;
pub(crate) use zdx::container::losses;

/// The name of the format.
pub(crate) const NAME: &str = "zds";
