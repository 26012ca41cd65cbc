use container_core::{Error, Result};

use crate::wire::Type;

/// Checks the shape of nested arrays for one vector: arrays of equal depth must have equal length, matching the type's dimensions.
///
/// A flat array is accepted for any dimensions; otherwise the nesting must equal the number of dimensions.
#[derive(Debug)]
pub(in crate::write) struct Shape<'a> {
    dimensions: &'a [u32],
    /// Length of the outermost array so far; all that one-dimensional vectors need.
    outer: Option<u32>,
    /// Lengths so far of the open inner arrays.
    inner: Vec<u32>,
    /// Length of closed inner arrays, by depth.
    lengths: Vec<Option<u32>>,
    /// Nesting depth of the items.
    depth: Option<usize>,
    /// Total number of items.
    total: u64,
}

impl<'a> Shape<'a> {
    pub(in crate::write) const fn new(dimensions: &'a [u32]) -> Self {
        Self { dimensions, outer: None, inner: Vec::new(), lengths: Vec::new(), depth: None, total: 0 }
    }

    /// Number of open arrays.
    fn open_arrays(&self) -> usize {
        usize::from(self.outer.is_some()) + self.inner.len()
    }

    /// Opens an array, at most as deep as the dimensions.
    pub(in crate::write) fn open(&mut self) -> Result<()> {
        let open = self.open_arrays();
        if open >= self.dimensions.len() || self.depth.is_some_and(|depth| open >= depth) {
            return Err(self.too_deep());
        }
        if self.outer.is_none() {
            self.outer = Some(0);
            return Ok(());
        }
        self.count(1)?;
        self.inner.push(0);
        Ok(())
    }

    /// Adds items to the innermost array.
    pub(in crate::write) fn items(&mut self, more: u32) -> Result<()> {
        if more == 0 {
            return Ok(());
        }
        let depth = self.open_arrays();
        match self.depth {
            None => {
                if depth != 1 && depth != self.dimensions.len() {
                    return Err(self.too_flat(depth));
                }
                self.depth = Some(depth);
            }
            Some(known) if known != depth => {
                return Err(Error::invalid(format!("inconsistent nesting: items at depth {depth} and {known}")));
            }
            Some(_) => {}
        }
        if depth == 1 && !self.lengths.is_empty() {
            return Err(Error::invalid("inconsistent nesting: an item next to an array"));
        }
        self.total += u64::from(more);
        self.count(more)
    }

    /// Total number of items.
    pub(in crate::write) const fn total(&self) -> u64 {
        self.total
    }

    /// Closes the innermost array. True if it was the outermost.
    pub(in crate::write) fn close(&mut self) -> Result<bool> {
        let Some(length) = self.inner.pop() else {
            return self.close_outer().map(|()| true);
        };
        let depth = self.inner.len();
        if self.lengths.len() <= depth {
            self.lengths.resize(depth + 1, None);
        }
        let before = self.lengths.get_mut(depth).map(|before| *before.get_or_insert(length));
        let dimension = self.dimensions.get(depth + 1).copied().filter(|&known| known > 0);
        if let Some(expected) = dimension.or(before).filter(|&expected| expected != length) {
            return Err(length_mismatch(length, expected, dimension.is_some(), depth + 2));
        }
        Ok(false)
    }

    fn close_outer(&mut self) -> Result<()> {
        let length = self.outer.take().unwrap_or(0);
        // Flat: the caller checks the total against the product of the dimensions.
        if self.lengths.is_empty() {
            return Ok(());
        }
        let depth = self.lengths.len() + 1;
        if self.depth.is_none() && depth != self.dimensions.len() {
            return Err(self.too_flat(depth));
        }
        match self.dimensions.first() {
            Some(&expected) if expected > 0 && expected != length => Err(length_mismatch(length, expected, true, 1)),
            _ => Ok(()),
        }
    }

    fn count(&mut self, more: u32) -> Result<()> {
        if let Some(count) = self.inner.last_mut().or(self.outer.as_mut()) {
            *count = count.checked_add(more).ok_or_else(too_many)?;
        }
        Ok(())
    }

    #[cold]
    fn too_deep(&self) -> Error {
        let depth = self.open_arrays() + 1;
        match self.depth {
            Some(known) => Error::invalid(format!("inconsistent nesting: an array next to items at depth {known}")),
            None => Error::invalid(format!(
                "expected {}, found arrays nested {depth} deep",
                dimensions(self.dimensions.len())
            )),
        }
    }

    #[cold]
    fn too_flat(&self, depth: usize) -> Error {
        let expected = dimensions(self.dimensions.len());
        Error::invalid(format!("expected {expected} or a flat array, found arrays nested {depth} deep"))
    }
}

#[cold]
fn length_mismatch(found: u32, expected: u32, by_type: bool, depth: usize) -> Error {
    let reason = if by_type { "by the dimension" } else { "as in its siblings" };
    Error::invalid(format!("expected {expected} items {reason}, found {found} (array at depth {depth})"))
}

fn dimensions(n: usize) -> String {
    if n == 1 { "1 dimension".to_owned() } else { format!("{n} dimensions") }
}

#[cold]
fn too_many() -> Error {
    Error::limit("items of a vector", u64::from(u32::MAX) + 1, 0x7FFF_FFFF)
}

/// Checks the length of a vector against its type.
pub(in crate::write) fn check_length(kind: &Type, length: u64) -> Result<()> {
    let size = u64::from(kind.size());
    if size == 0 || size == length {
        return Ok(());
    }
    Err(Error::invalid(format!("expected {size} items for {kind}, found {length}")))
}
