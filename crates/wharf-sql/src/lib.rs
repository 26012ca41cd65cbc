//! SQL over dataset containers: every format of [wharf](mod@wharf) as tables of [DataFusion](mod@datafusion).
//!
//! | you want to | use |
//! |---|---|
//! | query files, and write them with `COPY` | [`Session`] |
//! | register a file in a context of your own | [`WharfTable`] |
//! | show how much a query has read | [`Session::stream`] |
//! | know what could not be kept | [`Session::take_losses`], [`Losses`] |
//! | word errors as wharf does | [`from_datafusion`] |
//!
//! # A first program
//!
//! ```no_run
//! use wharf_sql::{Session, SessionOptions};
//!
//! # tokio::runtime::Runtime::new()?.block_on(async {
//! let session = Session::new(&SessionOptions::default())?;
//! session.sql("SELECT species, count(*) FROM 'iris.idv' GROUP BY species").await?.show().await?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # How a table is read
//!
//! A table is opened once, with the schema of all its files. A scan reads the columns and rows of the query with wharf's readers, on threads where
//! they may block, and sends batches through a bounded channel; dropping the stream stops them. Aggregations and joins get ranges of rows as
//! partitions; where the result has the order of the rows, one partition keeps it. Conditions that mean the same in wharf and DataFusion for every
//! value are evaluated by the readers, which skip what cannot match; an equal key is looked up.
#![forbid(unsafe_code)]

mod error;
mod files;
mod filter;
mod in_order;
mod literals;
mod losses;
mod options;
mod order;
mod progress;
mod read;
mod session;
mod settle;
mod source;
mod table;
mod write;

pub use error::{from_datafusion, to_datafusion};
pub use losses::Losses;
pub use session::{Session, SessionOptions};
pub use table::WharfTable;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
