//! Labels and their numbers, sorted naturally.

use std::cmp::Ordering;
use std::collections::HashMap;

use container_core::{Error, Result};
use unicode_normalization::UnicodeNormalization;

/// Sorts like Python's `natsorted`: runs of digits compare as numbers, accents sort after their letters. Ties are sorted by bytes. Unlike
/// `natsorted`, only ASCII digits count as digits.
fn sort(names: &[String]) -> Vec<String> {
    let mut keyed: Vec<(String, &String)> = names.iter().map(|name| (name.nfd().collect(), name)).collect();
    keyed.sort_by(|(one, name), (other, other_name)| natural(one, other).then_with(|| name.cmp(other_name)));
    keyed.into_iter().map(|(_, name)| name.clone()).collect()
}

fn natural(one: &str, other: &str) -> Ordering {
    let (mut a, mut b) = (one, other);
    loop {
        match (a.is_empty(), b.is_empty()) {
            (true, true) => return one.cmp(other),
            (true, false) => return Ordering::Less,
            (false, true) => return Ordering::Greater,
            (false, false) => {}
        }
        let text = |text: &str| text.find(|c: char| c.is_ascii_digit()).unwrap_or(text.len());
        let ((text_a, rest_a), (text_b, rest_b)) = (a.split_at(text(a)), b.split_at(text(b)));
        let digits = |text: &str| text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let ((number_a, rest_a), (number_b, rest_b)) =
            (rest_a.split_at(digits(rest_a)), rest_b.split_at(digits(rest_b)));
        let order = text_a.cmp(text_b).then_with(|| match (number_a, number_b) {
            ("", "") => Ordering::Equal,
            ("", _) => Ordering::Less,
            (_, "") => Ordering::Greater,
            (a, b) => {
                let (a, b) = (a.trim_start_matches('0'), b.trim_start_matches('0'));
                a.len().cmp(&b.len()).then_with(|| a.cmp(b))
            }
        });
        if order != Ordering::Equal {
            return order;
        }
        (a, b) = (rest_a, rest_b);
    }
}

/// Unique labels, numbered.
#[derive(Debug, Default)]
pub(super) struct Labels {
    names: Vec<String>,
    numbers: HashMap<String, usize>,
}

impl Labels {
    /// Labels of a list, in order.
    pub(super) fn of(list: &str) -> Result<Self> {
        let mut labels = Self::default();
        for (line, name) in list.lines().enumerate() {
            let name = name.trim_matches(' ');
            if labels.numbers.contains_key(name) {
                return Err(Error::invalid(format!("duplicate label {name:?}")).in_line(line as u64 + 1));
            }
            labels.add(name);
        }
        Ok(labels)
    }

    /// Adds a label if it is new, and returns its number.
    pub(super) fn add(&mut self, name: &str) -> usize {
        if let Some(&number) = self.numbers.get(name) {
            return number;
        }
        let number = self.names.len();
        self.names.push(name.to_owned());
        self.numbers.insert(name.to_owned(), number);
        number
    }

    pub(super) fn get(&self, name: &str) -> Option<usize> {
        self.numbers.get(name).copied()
    }

    pub(super) fn name(&self, number: usize) -> &str {
        self.names.get(number).map(String::as_str).unwrap_or_default()
    }

    /// All labels, sorted naturally.
    pub(super) fn sorted(&self) -> Self {
        let names = sort(&self.names);
        let numbers = names.iter().cloned().zip(0..).collect();
        Self { names, numbers }
    }

    pub(super) fn names(&self) -> &[String] {
        &self.names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorts_naturally() {
        // The order of natsort 8.
        let sorted = [
            "1", "1a", "2", "9z", "10", "A", "a", "a1", "a1b", "a2", "a10", "a10.5", "ä2", "ä10", "b", "e", "ez",
            "été", "fox", "ǆ",
        ];
        let mut names = sorted.map(str::to_owned);
        names.reverse();
        assert_eq!(sort(&names), sorted);
        assert_eq!(natural("a01", "a1"), Ordering::Less, "equal to natsort: the bytes decide");
        assert_eq!(natural("x99999999999999999999999", "x100000000000000000000000"), Ordering::Less);
    }
}
