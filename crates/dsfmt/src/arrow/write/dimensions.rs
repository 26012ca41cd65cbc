//! Assigns dimension names: each has one size per file.

use std::collections::HashMap;

/// Names in use, and their sizes.
#[derive(Debug, Default)]
pub(super) struct Dimensions {
    sizes: HashMap<String, u64>,
}

impl Dimensions {
    /// Reserves a name.
    pub(super) fn reserve(&mut self, name: &str, size: u64) {
        self.sizes.insert(name.to_owned(), size);
    }

    /// Returns `requested`, or a name derived from `fallback` if it is taken with another size.
    pub(super) fn unique_name(&mut self, requested: String, size: u64, fallback: &str) -> String {
        let is_free = |name: &String| self.sizes.get(name).is_none_or(|known| *known == size);
        let mut number = 1_u64;
        let mut name = requested;
        while !is_free(&name) {
            name = if number == 1 { fallback.to_owned() } else { format!("{fallback}_{number}") };
            number += 1;
        }
        self.sizes.insert(name.clone(), size);
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_one_size() {
        let mut dimensions = Dimensions::default();
        dimensions.reserve("row", 8);
        let mut name = |name: &str, size, fallback| dimensions.unique_name(name.to_owned(), size, fallback);
        assert_eq!(name("h", 2, "x_2"), "h");
        assert_eq!(name("h", 2, "y_2"), "h");
        assert_eq!(name("h", 3, "y_3"), "y_3");
        assert_eq!(name("row", 3, "y_3"), "y_3");
        assert_eq!(name("row", 4, "y_3"), "y_3_2");
        assert_eq!(name("row", 5, "y_3"), "y_3_3");
        assert_eq!(name("row", 8, "z_2"), "row");
    }
}
