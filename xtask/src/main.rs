//! Every chore of the workspace.
fn main() {}
