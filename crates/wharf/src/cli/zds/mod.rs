//! What verbs do with ZDS stores that they do with no other.

mod view;

pub(crate) use view::View;
