//! All features of the workspace, as far as this machine can build them.

use serde_json::Value;

use crate::{registry, shell};

/// The one feature that needs more than Rust and a C compiler: its build asks for cmake.
const NEEDS_CMAKE: &str = "zlib-ng";

/// The arguments that make cargo build the whole workspace with all features. Without cmake, which is installed where that can
/// be done, they leave out what needs it, and a line says so.
pub(crate) fn all() -> Result<Vec<String>, String> {
    if shell::works("cmake", "--version") {
        return Ok(vec!["--workspace".to_owned(), "--all-features".to_owned()]);
    }
    match registry::apt_install("cmake", &format!("feature {NEEDS_CMAKE} is built with it")) {
        Ok(()) => all(),
        Err(trouble) => {
            println!("SKIPPED: feature {NEEDS_CMAKE}: {trouble}");
            let features = without(&shell::metadata()?, NEEDS_CMAKE);
            Ok(vec!["--workspace".to_owned(), "--features".to_owned(), features.join(",")])
        }
    }
}

/// All features of all packages but one, as `package/feature`.
fn without(metadata: &Value, name: &str) -> Vec<String> {
    let mut all = Vec::new();
    for package in metadata.get("packages").and_then(Value::as_array).into_iter().flatten() {
        let features = package.get("features").and_then(Value::as_object);
        let Some((features, package)) = features.zip(package.get("name").and_then(Value::as_str)) else { continue };
        all.extend(features.keys().filter(|feature| *feature != name).map(|feature| format!("{package}/{feature}")));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_but_one() {
        let metadata = serde_json::json!({"packages": [
            {"name": "a", "features": {"default": ["std"], "std": []}},
            {"name": "b", "features": {"zlib-ng": [], "zlib-rs": []}},
            {"name": "c", "features": {}},
        ]});
        assert_eq!(without(&metadata, "zlib-ng"), ["a/default", "a/std", "b/zlib-rs"]);
    }

    #[test]
    fn the_workspace_has_that_feature() {
        let metadata = shell::metadata().unwrap();
        assert!(without(&metadata, "").contains(&format!("idv/{NEEDS_CMAKE}")));
    }
}
