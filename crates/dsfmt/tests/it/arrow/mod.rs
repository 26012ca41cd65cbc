//! Arrow record batches in and out.
#![allow(unreachable_pub, reason = "shared among the files of the test")]

mod read;
mod rows_json;
mod times;
mod write;
