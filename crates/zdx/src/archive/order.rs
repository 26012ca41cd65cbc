//! A million entries in order of their names, of which most are in one folder and begin alike.

use super::entry::{Entry, name_in, usize_of};
use super::names::split;

/// Sorts entries by name. Two that have one name come back.
///
/// The names of the folder that most entries are in are compared by eight bytes each, those behind what they all begin with; only names that
/// are alike in these are looked at. That takes less than half the time of comparing names, which lie all over the memory.
pub(super) fn sort(names: &str, entries: &mut Vec<Entry>) -> Option<(Entry, Entry)> {
    let name = |entry: &Entry| name_in(names, entry);
    if entries.windows(2).all(|pair| matches!(pair, [one, two] if name(one) < name(two))) {
        return None;
    }
    let folder = |entry: &Entry| split(name(entry)).0;
    let most = majority(entries.iter().map(folder));
    let (mut rest, mut same) = (Vec::new(), Vec::with_capacity(entries.len()));
    let mut alike: Option<&str> = None;
    for (which, entry) in (0_u32..).zip(entries.iter()) {
        if folder(entry) == most {
            let name = name(entry);
            alike = Some(alike.map_or(name, |alike| common(alike, name)));
            same.push((0_u64, which));
        } else {
            rest.push(*entry);
        }
    }
    let skipped = alike.map_or(0, str::len);
    let of = |which: u32| entries.get(usize_of(which));
    let bytes = |which: u32| of(which).map_or(&[][..], |entry| name(entry).as_bytes());
    for (key, which) in &mut same {
        *key = first(bytes(*which).get(skipped..).unwrap_or_default());
    }
    same.sort_unstable_by(|(one, a), (two, b)| one.cmp(two).then_with(|| bytes(*a).cmp(bytes(*b))));
    let twice = same.windows(2).find_map(|pair| match pair {
        [(one, a), (two, b)] if one == two && bytes(*a) == bytes(*b) => of(*a).copied().zip(of(*b).copied()),
        _ => None,
    });
    rest.sort_unstable_by(|one, two| name(one).cmp(name(two)));
    let twice = twice.or_else(|| {
        rest.windows(2).find_map(|pair| match pair {
            [one, two] if name(one) == name(two) => Some((*one, *two)),
            _ => None,
        })
    });
    // Both in one: names of different folders are different.
    let mut sorted = Vec::with_capacity(entries.len());
    let mut rest = rest.into_iter().peekable();
    for entry in same.iter().filter_map(|(_, which)| of(*which)) {
        while let Some(other) = rest.next_if(|other| name(other) < name(entry)) {
            sorted.push(other);
        }
        sorted.push(*entry);
    }
    sorted.extend(rest);
    *entries = sorted;
    twice
}

/// What more than half of them are, or any.
fn majority<'n>(all: impl Iterator<Item = &'n str>) -> &'n str {
    let (mut most, mut ahead) = ("", 0_u64);
    for one in all {
        if ahead == 0 {
            most = one;
        }
        ahead = if one == most { ahead + 1 } else { ahead - 1 };
    }
    most
}

/// What both begin with, by bytes: it is not asked for text.
fn common<'n>(one: &'n str, two: &str) -> &'n str {
    let alike = one.as_bytes().iter().zip(two.as_bytes()).take_while(|(one, two)| one == two).count();
    // Inside a character it ends in front of it.
    (0..=alike).rev().find_map(|end| one.get(..end)).unwrap_or_default()
}

/// Eight bytes as a number that compares as they do. Names have no zeros, so what is missing is less than what is there.
fn first(bytes: &[u8]) -> u64 {
    let mut eight = [0; 8];
    eight.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    u64::from_be_bytes(eight)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_names_have_in_common() {
        assert_eq!(common("abc", "abd"), "ab");
        assert_eq!(common("abc", "ab"), "ab");
        assert_eq!(common("\u{e9}x", "\u{e8}x"), "", "half a character is none");
        assert_eq!(majority(["a", "b", "b", "c", "b"].into_iter()), "b");
        assert!(
            first(b"a") < first(b"a-") && first(b"a-") < first(b"a-b") && first(b"abcdefgh") == first(b"abcdefghi")
        );
    }
}
