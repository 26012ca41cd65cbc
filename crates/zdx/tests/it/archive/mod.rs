//! Archives: reading, packing, and hostile input.

mod builder;
mod folders;
mod hostile;
mod reading;
