//! Profiles the values of rows, as input for schema inference.

mod observer;
mod profile;

pub(crate) use self::observer::is_exact;
pub use self::observer::{ListObserver, ObjectObserver, Observation, TypeObserver};
pub use self::profile::{Class, ColumnProfile, Element};
pub(crate) use self::profile::{ClassProfile, Members, TensorProfile};
