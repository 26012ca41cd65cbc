//! Vectors that a column has been seen to hold.

use std::collections::HashMap;

use container_core::{Error, Result};
use idv::Type;
use serde_json::value::RawValue;

use super::{Found, Resolved, Seen, Syntax, earlier};
use crate::convert::import::walk::Walk;
use crate::text::records::place::Place;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Arrays {
    pub(super) first: Place,
    items: Seen,
    /// One without items, which fits every shape.
    empty: bool,
    /// The lengths of arrays of items.
    flat: Option<(Place, Length)>,
    nested: Option<Nested>,
    /// Arrays that have no shape, or a `$sparse` that is none.
    wrong: Option<Found>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Length {
    Same(u32),
    Varies,
}

/// Arrays of arrays: the outer length may vary, the others not.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Nested {
    first: Place,
    length: Length,
    inner: Vec<u32>,
    /// The first whose inner lengths are others.
    other: Option<(Place, Vec<u32>)>,
}

const NESTED_SPARSE: &str = "the values of a $sparse vector are nested";

impl Length {
    fn with(self, other: Self) -> Self {
        if self == other { self } else { Self::Varies }
    }

    const fn dimension(self) -> u32 {
        match self {
            Self::Same(length) => length,
            Self::Varies => 0,
        }
    }
}

impl Arrays {
    /// What has been seen of arrays, and that there is one here.
    pub(super) fn at(slot: &mut Option<Box<Self>>, place: Place) -> &mut Self {
        let arrays = slot.get_or_insert_with(|| Box::new(Self::new(place)));
        arrays.first = arrays.first.min(place);
        arrays
    }

    fn new(place: Place) -> Self {
        Self { first: place, items: Seen::default(), empty: false, flat: None, nested: None, wrong: None }
    }

    /// Notes an array.
    ///
    /// # Errors
    /// Of an item, which is an error of the file. Other errors are of the column, which need not be wanted.
    pub(super) fn see(&mut self, text: &str, place: Place, walk: &mut Walk) -> Result<()> {
        let mut fatal = None;
        let items = &mut self.items;
        let outcome = walk.array(text, |item| {
            items.see_item(item, place).map_err(|error| {
                fatal = Some(error);
                Error::invalid("a damaged item")
            })
        });
        match (outcome, fatal) {
            (_, Some(error)) => return Err(error),
            (Err(error), None) => earlier(&mut self.wrong, Some(Found { place, text: error.to_string() })),
            (Ok([Some(0)]), None) => self.empty = true,
            (Ok([length]), None) => self.see_flat(length.unwrap_or(0), place),
            (Ok([length, inner @ ..]), None) => {
                let inner = inner.iter().map(|length| length.unwrap_or(0)).collect();
                let length = Length::Same(length.unwrap_or(0));
                self.merge_nested(Nested { first: place, length, inner, other: None });
            }
            (Ok([]), None) => {}
        }
        Ok(())
    }

    /// Notes a sparse vector.
    ///
    /// # Errors
    /// As [`see`](Self::see).
    pub(super) fn see_sparse(&mut self, sparse: Result<Sparse<'_>>, place: Place, walk: &mut Walk) -> Result<()> {
        let sparse = match sparse {
            Ok(sparse) => sparse,
            Err(error) => {
                earlier(&mut self.wrong, Some(Found { place, text: error.to_string() }));
                return Ok(());
            }
        };
        // The values first, by themselves: their number is not the vector's length.
        let mut values = Self::new(place);
        values.see(sparse.values, place, walk)?;
        let nested = values.nested.map(|nested| Found { place: nested.first, text: NESTED_SPARSE.to_owned() });
        self.items.merge(values.items);
        earlier(&mut self.wrong, values.wrong.or(nested));
        match sparse.length {
            0 => self.empty = true,
            length => self.see_flat(length, place),
        }
        Ok(())
    }

    fn see_flat(&mut self, length: u32, place: Place) {
        self.merge_flat((place, Length::Same(length)));
    }

    fn merge_flat(&mut self, (place, length): (Place, Length)) {
        self.flat = Some(match self.flat {
            None => (place, length),
            Some((before, all)) => (before.min(place), all.with(length)),
        });
    }

    fn merge_nested(&mut self, mut theirs: Nested) {
        let Some(mine) = &mut self.nested else {
            self.nested = Some(theirs);
            return;
        };
        if theirs.first < mine.first {
            std::mem::swap(mine, &mut theirs);
        }
        mine.length = mine.length.with(theirs.length);
        let differing = [(theirs.first, theirs.inner)].into_iter().chain(theirs.other);
        let differing = differing.filter(|(_, inner)| *inner != mine.inner).min();
        mine.other = match (mine.other.take(), differing) {
            (Some(one), Some(two)) => Some(one.min(two)),
            (one, two) => one.or(two),
        };
    }

    /// Adds what was seen elsewhere.
    pub(super) fn merge(&mut self, other: Self) {
        self.first = self.first.min(other.first);
        self.items.merge(other.items);
        self.empty |= other.empty;
        if let Some(flat) = other.flat {
            self.merge_flat(flat);
        }
        if let Some(nested) = other.nested {
            self.merge_nested(nested);
        }
        earlier(&mut self.wrong, other.wrong);
    }

    /// The type; `also_empty` says that nulls become vectors without items.
    ///
    /// # Errors
    /// As [`Seen::resolve`].
    pub(super) fn resolve(&self, also_empty: bool, names: &[String]) -> Result<Resolved> {
        if let Some(Found { place, text }) = &self.wrong {
            return Err(place.mark(Error::invalid(text.clone()), names));
        }
        let (item, missing) = self.items.resolve_item(Syntax::Json, names)?;
        let length = |length: Length| if self.empty || also_empty { 0 } else { length.dimension() };
        let dimensions = match (&self.flat, &self.nested) {
            (None, None) => vec![0],
            (Some((_, all)), None) => vec![length(*all)],
            (None, Some(nested)) => {
                if let Some((place, inner)) = &nested.other {
                    let detail = format!(
                        "the nested array has inner lengths {inner:?}, those of {} have {:?}",
                        nested.first.said(names),
                        nested.inner
                    );
                    return Err(place.mark(Error::invalid(detail), names));
                }
                let mut dimensions = vec![length(nested.length)];
                dimensions.extend(&nested.inner);
                dimensions
            }
            (Some((flat, _)), Some(nested)) => {
                let (one, two) = (nested.first.min(*flat), nested.first.max(*flat));
                let detail =
                    format!("one of this array and that of {} is nested and the other is not", one.said(names));
                return Err(two.mark(Error::invalid(detail), names));
            }
        };
        // Without items nothing can be missing.
        let missing = missing.filter(|_| self.items.nulls.is_some());
        Ok(Resolved { kind: Type::Vector { item, dimensions }, missing })
    }
}

/// A sparse vector as it is printed.
pub(super) struct Sparse<'a> {
    length: u32,
    values: &'a str,
}

/// The vector of `{"$sparse": ...}`; `None` for other objects.
pub(super) fn sparse(text: &str) -> Option<Result<Sparse<'_>>> {
    let members: HashMap<String, &RawValue> = serde_json::from_str(text).ok()?;
    let inner = members.get("$sparse").filter(|_| members.len() == 1)?;
    let wrong = || Error::invalid("a $sparse vector has other members than length, indices and values");
    let parse = || {
        let members: HashMap<String, &RawValue> = serde_json::from_str(inner.get()).map_err(|_| wrong())?;
        let number = |name: &str| members.get(name).and_then(|raw| raw.get().parse().ok());
        let array = |name: &str| members.get(name).map(|raw| raw.get()).filter(|raw| raw.starts_with('['));
        match (number("length"), array("indices"), array("values")) {
            (Some(length), Some(_), Some(values)) if members.len() == 3 => Ok(Sparse { length, values }),
            _ => Err(wrong()),
        }
    };
    Some(parse())
}
