//! Names of dimensions, each of which has one size in a file.

use std::collections::HashMap;

/// The names that are taken, and their sizes.
#[derive(Debug, Default)]
pub(super) struct Dimensions {
    sizes: HashMap<String, u64>,
}

impl Dimensions {
    /// A dimension that keeps its name, whatever others are called.
    pub(super) fn take(&mut self, name: &str, size: u64) {
        self.sizes.insert(name.to_owned(), size);
    }

    /// The name of a dimension that should have this one: another one where it has another size already.
    pub(super) fn name(&mut self, wanted: String, size: u64, own: &str) -> String {
        let is_free = |name: &String| self.sizes.get(name).is_none_or(|known| *known == size);
        let mut number = 1_u64;
        let mut name = wanted;
        while !is_free(&name) {
            name = if number == 1 { own.to_owned() } else { format!("{own}_{number}") };
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
    fn a_name_has_one_size() {
        let mut dimensions = Dimensions::default();
        dimensions.take("row", 8);
        let mut name = |wanted: &str, size, own| dimensions.name(wanted.to_owned(), size, own);
        assert_eq!(name("h", 2, "x_2"), "h");
        assert_eq!(name("h", 2, "y_2"), "h");
        assert_eq!(name("h", 3, "y_3"), "y_3");
        assert_eq!(name("row", 3, "y_3"), "y_3");
        assert_eq!(name("row", 4, "y_3"), "y_3_2");
        assert_eq!(name("row", 5, "y_3"), "y_3_3");
        assert_eq!(name("row", 8, "z_2"), "row");
    }
}
