//! The parts of verbs that are specific to ZDS stores.

mod remove;

pub(crate) use remove::remove;
pub(crate) use wharf::hub::zds::{
    Ids, Stored, is_archive, is_store, located, number_id, open_writer, refuse, repaired, tables, with_id,
    writer_options,
};
