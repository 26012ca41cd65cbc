//! The reader: the header once, then every variable by itself.

pub(crate) mod fill;
pub(crate) mod foreign;
pub(crate) mod index;
mod mask;
mod reader;
mod select;
pub(crate) mod strings;
pub(crate) mod values;
mod variable;
mod view;

pub(crate) use values::Layout;

pub use reader::{Dimension, Reader};
pub use select::{Select, Selection};
pub(crate) use values::by_number;
pub use variable::{Attributes, Variable};
pub use view::View;
