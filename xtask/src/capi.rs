//! The C ABI: compares its header with the exported functions, and runs programs in C and Python against the library.

use std::path::PathBuf;

use crate::shell;

fn folder() -> PathBuf {
    shell::root().join("crates/wharf-capi")
}

/// The header as cbindgen generates it from the exported functions.
fn header() -> Result<String, String> {
    let folder = folder();
    let config = cbindgen::Config::from_file(folder.join("cbindgen.toml"))?;
    let builder = cbindgen::Builder::new().with_config(config);
    let sources = ["error.rs", "abi.rs"].map(|name| folder.join("src").join(name));
    let builder = sources.iter().fold(builder, |builder, source| builder.with_src(source));
    let bindings = builder.generate().map_err(|error| format!("cbindgen: {error}"))?;
    let mut header = Vec::new();
    bindings.write(&mut header);
    String::from_utf8(header).map_err(|error| format!("cbindgen: {error}"))
}
/// x
#[test]
fn x() {
    std::fs::write(folder().join("include/wharf.h"), header().unwrap()).unwrap();
}
