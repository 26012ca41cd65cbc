//! Messages about names that do not exist.

use container_core::Error;

/// The error for a name that no column has: the similar ones, or some of all.
#[cold]
#[must_use]
pub fn unknown_column(names: &[String], name: &str) -> Error {
    Error::usage(unknown_name("column", name, names))
}

/// `no column "agee"; similar: "age"`
#[must_use]
pub fn unknown_name(what: &str, name: &str, names: &[String]) -> String {
    let near = near(name, names);
    let hint = if near.is_empty() { listed(&format!("the {what}s are"), names) } else { listed("similar:", &near) };
    format!("no {what} {name:?}; {hint}")
}

/// `the columns are "a", "b" and 5 more`.
#[must_use]
pub fn listed(what: &str, names: &[String]) -> String {
    const SHOWN: usize = 10;
    let quoted: Vec<_> = names.iter().take(SHOWN).map(|name| format!("{name:?}")).collect();
    match names.len().checked_sub(SHOWN) {
        _ if names.is_empty() => format!("{what} none"),
        Some(more @ 1..) => format!("{what} {} and {more} more", quoted.join(", ")),
        _ => format!("{what} {}", quoted.join(", ")),
    }
}

/// At most five names similar to `name`, the nearest first.
fn near(name: &str, names: &[String]) -> Vec<String> {
    /// A hint must not take time: later names are not compared.
    const MAX_COMPARED: usize = 10_000;
    let target: Vec<char> = name.to_lowercase().chars().take(64).collect();
    let max_distance = target.len() / 3 + 1;
    let mut found: Vec<(usize, &String)> = Vec::new();
    for candidate in names.iter().take(MAX_COMPARED) {
        let other: Vec<char> = candidate.to_lowercase().chars().take(64).collect();
        let distance = distance(&target, &other);
        let contains = target.len() > 2 && other.len() > 2 && (contains(&other, &target) || contains(&target, &other));
        if distance <= max_distance {
            found.push((distance, candidate));
        } else if contains {
            found.push((max_distance + distance, candidate));
        }
    }
    found.sort_by_key(|(distance, _)| *distance);
    found.into_iter().take(5).map(|(_, name)| name.clone()).collect()
}

fn contains(whole: &[char], part: &[char]) -> bool {
    whole.windows(part.len()).any(|window| window == part)
}

/// The Levenshtein distance.
fn distance(one: &[char], other: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.iter().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        if let Some(first) = row.first_mut() {
            *first = left;
        }
        for (cell, b) in row.iter_mut().skip(1).zip(other) {
            let changed = diagonal + usize::from(a != b);
            diagonal = *cell;
            left = changed.min(diagonal + 1).min(left + 1);
            *cell = left;
        }
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_similar_names() {
        let names: Vec<String> =
            ["SepalLength", "SepalWidth", "PetalLength", "Label", "Id"].map(str::to_owned).to_vec();
        assert_eq!(near("sepallenght", &names), ["SepalLength", "PetalLength"]);
        assert_eq!(near("sepal", &names)[..2], ["SepalWidth", "SepalLength"]);
        assert_eq!(near("lable", &names), ["Label"]);
        assert_eq!(near("ID", &names), ["Id"]);
        assert_eq!(near("nothing like it", &names), Vec::<String>::new());
    }

    #[test]
    fn computes_levenshtein_distances() {
        let distance = |a: &str, b: &str| distance(&a.chars().collect::<Vec<_>>(), &b.chars().collect::<Vec<_>>());
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("abc", ""), 3);
        assert_eq!(distance("abc", "abc"), 0);
    }
}
