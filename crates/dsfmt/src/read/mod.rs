//! The reader: the header once, then every variable by itself.

mod reader;
mod variable;

pub use reader::{Dimension, Reader};
pub use variable::{Attributes, Variable};
