//! Archives: what is read out of them, and what no archive can do.

mod builder;
mod folders;
mod hostile;
mod reading;
