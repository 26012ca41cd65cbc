//! Record batches out of files and into them.

mod property;
mod reading;
mod show;
mod writing;
