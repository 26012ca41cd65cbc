//! Tables as record batches, and files from them.
#![allow(unreachable_pub, reason = "shared among the files of the test")]

mod read;
mod shown;
mod times;
mod write;
