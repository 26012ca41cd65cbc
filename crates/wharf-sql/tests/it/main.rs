//! Queries over files of every format, statements that write, and the program.

mod answers;
mod program;
mod statements;
mod support;
