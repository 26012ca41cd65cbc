//! Sorting a million entries by name, most of them in one directory and with a common prefix.

use super::entry::{Entry, name_in, usize_of};
use super::names::split;

/// Sorts entries by name. Returns two entries with the same name, if any.
///
/// Names in the directory with most entries are compared by an eight-byte key, taken after their common prefix; full names are only compared if
/// the keys are equal. This takes less than half the time of comparing names, which are scattered in memory.
pub(super) fn sort(names: &str, entries: &mut Vec<Entry>) -> Option<(Entry, Entry)> {
    let name = |entry: &Entry| name_in(names, entry);
    if entries.windows(2).all(|pair| matches!(pair, [one, two] if name(one) < name(two))) {
        return None;
    }
    let folder = |entry: &Entry| split(name(entry)).0;
    let majority_folder = majority(entries.iter().map(folder));
    let (mut rest, mut same) = (Vec::new(), Vec::with_capacity(entries.len()));
    let mut common_prefix: Option<&str> = None;
    for (index, entry) in (0_u32..).zip(entries.iter()) {
        if folder(entry) == majority_folder {
            let name = name(entry);
            common_prefix =
                Some(common_prefix.map_or(name, |common_prefix| longest_common_prefix(common_prefix, name)));
            same.push((0_u64, index));
        } else {
            rest.push(*entry);
        }
    }
    let skipped = common_prefix.map_or(0, str::len);
    let of = |index: u32| entries.get(usize_of(index));
    let bytes = |index: u32| of(index).map_or(&[][..], |entry| name(entry).as_bytes());
    for (key, index) in &mut same {
        *key = key_of(bytes(*index).get(skipped..).unwrap_or_default());
    }
    same.sort_unstable_by(|(one, a), (two, b)| one.cmp(two).then_with(|| bytes(*a).cmp(bytes(*b))));
    let duplicate = same.windows(2).find_map(|pair| match pair {
        [(one, a), (two, b)] if one == two && bytes(*a) == bytes(*b) => of(*a).copied().zip(of(*b).copied()),
        _ => None,
    });
    rest.sort_unstable_by(|one, two| name(one).cmp(name(two)));
    let duplicate = duplicate.or_else(|| {
        rest.windows(2).find_map(|pair| match pair {
            [one, two] if name(one) == name(two) => Some((*one, *two)),
            _ => None,
        })
    });
    // Merge; names in different directories differ.
    let mut sorted = Vec::with_capacity(entries.len());
    let mut rest = rest.into_iter().peekable();
    for entry in same.iter().filter_map(|(_, index)| of(*index)) {
        while let Some(other) = rest.next_if(|other| name(other) < name(entry)) {
            sorted.push(other);
        }
        sorted.push(*entry);
    }
    sorted.extend(rest);
    *entries = sorted;
    duplicate
}

/// The element that makes up more than half of all, if there is one; otherwise any.
fn majority<'n>(all: impl Iterator<Item = &'n str>) -> &'n str {
    let (mut candidate, mut lead) = ("", 0_u64);
    for one in all {
        if lead == 0 {
            candidate = one;
        }
        lead = if one == candidate { lead + 1 } else { lead - 1 };
    }
    candidate
}

/// The longest common prefix of two names, on a character boundary.
fn longest_common_prefix<'n>(one: &'n str, two: &str) -> &'n str {
    let len = one.as_bytes().iter().zip(two.as_bytes()).take_while(|(one, two)| one == two).count();
    (0..=len).rev().find_map(|end| one.get(..end)).unwrap_or_default()
}

/// Eight bytes as a number with the same order. Names contain no zeros, so shorter names sort first.
fn key_of(bytes: &[u8]) -> u64 {
    let mut eight = [0; 8];
    eight.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    u64::from_be_bytes(eight)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_prefix_majority_and_key() {
        assert_eq!(longest_common_prefix("abc", "abd"), "ab");
        assert_eq!(longest_common_prefix("abc", "ab"), "ab");
        assert_eq!(longest_common_prefix("\u{e9}x", "\u{e8}x"), "", "not within a character");
        assert_eq!(majority(["a", "b", "b", "c", "b"].into_iter()), "b");
        assert!(
            key_of(b"a") < key_of(b"a-")
                && key_of(b"a-") < key_of(b"a-b")
                && key_of(b"abcdefgh") == key_of(b"abcdefghi")
        );
    }
}
