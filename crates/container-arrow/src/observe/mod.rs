//! Which values a column has had, gathered value by value.

mod observer;
mod profile;

pub(crate) use self::observer::is_exact;
pub use self::observer::{ListObserver, ObjectObserver, Observation, TypeObserver};
pub use self::profile::{Class, ColumnProfile, Element};
pub(crate) use self::profile::{ClassProfile, Members, TensorProfile};
