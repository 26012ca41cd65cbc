//! SQL over dataset containers: every format of [wharf](mod@wharf) as tables of [DataFusion](mod@datafusion).
#![forbid(unsafe_code)]

mod error;
mod files;
mod losses;
mod options;
mod order;
mod read;
mod session;
mod source;
mod table;
mod write;

pub use error::{from_datafusion, to_datafusion};
pub use losses::Losses;
pub use session::{Session, SessionOptions};
pub use table::WharfTable;
