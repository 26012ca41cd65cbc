//! The reader: parses the header once, then reads each variable on demand.

pub(crate) mod fill;
pub(crate) mod foreign;
pub(crate) mod index;
pub(crate) mod layout;
mod mask;
pub(crate) mod packing;
mod reader;
mod select;
pub(crate) mod strings;
pub(crate) mod typed;
pub(crate) mod values;
mod variable;
mod variables;
mod view;

pub use reader::Reader;
pub(crate) use select::plan::{Axis, Plan, Run};
pub use select::{Select, Selection};
pub(crate) use values::{CHUNK_ELEMENTS, by_number, rows_at_once};
pub use variable::{Attributes, Variable};
pub use variables::Dimension;
pub use view::View;
