use std::collections::HashMap;
use std::collections::hash_map::Entry;

use container_core::{Error, Result};

use super::{Cell, checked_key, display_text, integer, item_mismatch, parse_integer, push_item, quoted};
use crate::codec::{Values, VectorRef};
use crate::schema::ColumnSchema;
use crate::value::{ValueFormat, default_value};
use crate::wire::{ItemType, KeyType, Type};

/// An index of the labels of a key column, its metadata `KeyValues`.
///
/// Labels of any type are looked up by their displayed text. Takes about as much memory as the labels.
#[derive(Debug, Clone)]
pub struct KeyLabels {
    item: ItemType,
    /// Number of labels.
    count: u64,
    pub(in crate::write) by_label: HashMap<Box<str>, LabelKeys>,
}

/// The key values of a label.
#[derive(Debug, Clone, Copy)]
pub(in crate::write) struct LabelKeys {
    pub(in crate::write) first: u64,
    /// Another key with the same label.
    pub(in crate::write) second: Option<u64>,
}

impl KeyLabels {
    /// The labels of a column; `None` if it is not a key column or has no labels.
    #[must_use]
    pub fn of(column: &ColumnSchema) -> Option<Self> {
        if !matches!(column.kind.item(), ItemType::Key(_)) {
            return None;
        }
        let metadata = column.metadata.iter().find(|metadata| metadata.kind == "KeyValues")?;
        Self::new(&metadata.value_type, &metadata.value)
    }

    /// Labels from the value of the metadata `KeyValues`, a vector with one label per key value; `None` for anything else.
    #[must_use]
    pub fn new(value_type: &Type, value: &Values) -> Option<Self> {
        let Values::Vector(vectors) = value else { return None };
        let vector = vectors.get(0)?;
        let item = value_type.item();
        let mut labels = Self { item, count: vector.length.into(), by_label: HashMap::new() };
        labels.by_label.reserve(vector.range.len());
        for (place, slot) in vector.range.clone().zip(slots(&vector)) {
            if let Some(text) = display_text(&ValueFormat::plain(item).value(vector.values, place)) {
                labels.insert(&text, slot.into());
            }
        }
        let absent = absent(&vector);
        if let Some(text) = absent.iter().flatten().next().and_then(|_| display_text(&default_value(item))) {
            absent.iter().flatten().for_each(|&slot| labels.insert(&text, slot.into()));
        }
        Some(labels)
    }

    /// Number of key values with a label.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    fn insert(&mut self, text: &str, key: u64) {
        match self.by_label.entry(text.into()) {
            Entry::Vacant(vacant) => drop(vacant.insert(LabelKeys { first: key, second: None })),
            Entry::Occupied(mut occupied) => {
                let keys = occupied.get_mut();
                keys.second.get_or_insert(key);
            }
        }
    }

    /// The key value of a label; `None` if the label is unknown.
    ///
    /// # Errors
    /// [`Invalid`](container_core::ErrorKind::Invalid) when several keys have the label.
    pub fn find(&self, label: &str) -> Result<Option<u64>> {
        match self.by_label.get(label) {
            None => Ok(None),
            Some(LabelKeys { first, second: None }) => Ok(Some(*first)),
            Some(LabelKeys { first, second: Some(second) }) => {
                let detail = format!("ambiguous label {} of keys {first} and {second}", quoted(label));
                Err(Error::invalid(format!("{detail}: use the key value from 0")))
            }
        }
    }

    /// The key value of a cell: by its label, otherwise as a number from 0.
    pub(super) fn value(&self, cell: &Cell<'_>, key: KeyType) -> Result<u64> {
        if self.item == ItemType::Text {
            return match cell {
                Cell::Text(label) => self.find(label)?.ok_or_else(|| self.unknown(label)),
                Cell::Untyped(label) => match (self.find(label)?, parse_integer(label)) {
                    (Some(value), _) => Ok(value),
                    (None, Some(value)) => checked_key(value, key),
                    (None, None) => Err(self.unknown(label)),
                },
                number => checked_key(integer(number, ItemType::Key(key))?, key),
            };
        }
        // The labels are numbers or times: convert the cell to their type and compare the displayed text.
        let mut one = Values::of_item(self.item);
        let label = push_item(&mut one, self.item, None, *cell).ok();
        let label = label.and_then(|()| display_text(&ValueFormat::plain(self.item).value(&one, 0)));
        if let Some(value) = label.as_ref().map(|label| self.find(label)).transpose()?.flatten() {
            return Ok(value);
        }
        // Only key values without a label are displayed as numbers; smaller numbers would be mistaken for labels.
        let number = match cell {
            Cell::Text(_) => None,
            cell => integer(cell, ItemType::Key(key)).ok(),
        };
        match number {
            Some(number) if number >= i128::from(self.count) => checked_key(number, key),
            _ => match (label, cell) {
                (Some(label), _) => Err(self.unknown(&label)),
                (None, Cell::Text(label) | Cell::Untyped(label)) => Err(self.unknown(label)),
                (None, cell) => Err(item_mismatch(cell, ItemType::Key(key))),
            },
        }
    }

    #[cold]
    pub(crate) fn unknown(&self, label: &str) -> Error {
        /// Up to this many labels are all listed.
        const MAX_LISTED: usize = 8;
        const MAX_SIMILAR: usize = 3;
        let list =
            |by_label: Vec<(&str, u64)>| by_label.iter().map(|(text, _)| quoted(text)).collect::<Vec<_>>().join(", ");
        let mut all: Vec<_> = self.by_label.iter().map(|(text, place)| (&**text, place.first)).collect();
        all.sort_unstable_by_key(|&(_, key)| key);
        let (found, count) = (quoted(label), self.count);
        if all.len() <= MAX_LISTED {
            let all = list(all);
            return Error::invalid(format!("unknown label {found} ({count} labels: {all})"));
        }
        let mut near: Vec<_> =
            all.into_iter().filter_map(|place| Some((edit_distance(place.0, label)?, place))).collect();
        near.sort_by_key(|&(edit_distance, _)| edit_distance);
        let all: Vec<_> = near.into_iter().take(MAX_SIMILAR).map(|(_, place)| place).collect();
        let near = if all.is_empty() { String::new() } else { format!("; similar: {}", list(all)) };
        Error::invalid(format!("unknown label {found} ({count} labels{near})"))
    }
}

/// Slots of the stored values.
fn slots<'a>(vector: &VectorRef<'a>) -> Box<dyn Iterator<Item = u32> + 'a> {
    match vector.indices {
        None => Box::new(0..vector.length),
        Some(indices) => Box::new(indices.iter().copied()),
    }
}

/// The first two slots that a sparse vector does not store.
fn absent(vector: &VectorRef<'_>) -> [Option<u32>; 2] {
    let Some(indices) = vector.indices else { return [None; 2] };
    let mut stored = indices.iter().copied().peekable();
    let mut absent = (0..vector.length).filter(|slot| stored.next_if_eq(slot).is_none());
    [absent.next(), absent.next()]
}

/// Edit distance of two labels, ignoring case and surrounding whitespace, if it is at most one or two.
fn edit_distance(known: &str, found: &str) -> Option<usize> {
    const LONGEST: usize = 64;
    let (known, found) = (known.trim().to_lowercase(), found.trim().to_lowercase());
    let (known, found): (Vec<char>, Vec<char>) = (known.chars().collect(), found.chars().collect());
    let allowed = if found.len() < 4 { 1 } else { 2 };
    if known == found {
        return Some(0);
    }
    if known.len().abs_diff(found.len()) > allowed || known.len().max(found.len()) > LONGEST {
        return None;
    }
    // One row of the Levenshtein table at a time.
    let mut row: Vec<usize> = (0..=found.len()).collect();
    for (done, letter) in known.iter().enumerate() {
        let (mut diagonal, mut left) = (done, done + 1);
        for (cell, other) in row.iter_mut().skip(1).zip(&found) {
            let above = *cell;
            *cell = (diagonal + usize::from(letter != other)).min(above + 1).min(left + 1);
            (diagonal, left) = (above, *cell);
        }
    }
    row.last().copied().filter(|&edit_distance| edit_distance <= allowed)
}
