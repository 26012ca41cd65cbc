use container_core::{Error, Result};

use crate::wire::Type;

/// How deep the arrays of one vector are, and how long: those of one depth must agree with each other and with the type's dimensions.
///
/// All items in one array are a vector of any dimensions; otherwise there must be as many arrays in each other as there are dimensions.
#[derive(Debug)]
pub(in crate::write) struct Shape<'a> {
    dimensions: &'a [u32],
    /// What the outermost array has so far. Vectors of one dimension need nothing more.
    outer: Option<u32>,
    /// What the open arrays in it have so far.
    inner: Vec<u32>,
    /// The length of closed arrays in it, by depth.
    lengths: Vec<Option<u32>>,
    /// How many arrays are around each item.
    depth: Option<usize>,
    /// How many items there are in all.
    total: u64,
}

impl<'a> Shape<'a> {
    pub(in crate::write) const fn new(dimensions: &'a [u32]) -> Self {
        Self { dimensions, outer: None, inner: Vec::new(), lengths: Vec::new(), depth: None, total: 0 }
    }

    /// How many arrays are open.
    fn open_arrays(&self) -> usize {
        usize::from(self.outer.is_some()) + self.inner.len()
    }

    /// An array begins. No more of them than dimensions can be open.
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

    /// So many items in the innermost array.
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
                return Err(Error::invalid(format!("an item in {depth} arrays beside items in {known}")));
            }
            Some(_) => {}
        }
        if depth == 1 && !self.lengths.is_empty() {
            return Err(Error::invalid("an item beside an array"));
        }
        self.total += u64::from(more);
        self.count(more)
    }

    /// How many items there were in all.
    pub(in crate::write) const fn total(&self) -> u64 {
        self.total
    }

    /// The innermost array ends. True when it was the outermost too.
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
        if let Some(wanted) = dimension.or(before).filter(|&wanted| wanted != length) {
            return Err(other_length(length, wanted, dimension.is_some(), depth + 2));
        }
        Ok(false)
    }

    fn close_outer(&mut self) -> Result<()> {
        let length = self.outer.take().unwrap_or(0);
        // All items in one array: who counts them checks their number against the product of the dimensions.
        if self.lengths.is_empty() {
            return Ok(());
        }
        let depth = self.lengths.len() + 1;
        if self.depth.is_none() && depth != self.dimensions.len() {
            return Err(self.too_flat(depth));
        }
        match self.dimensions.first() {
            Some(&wanted) if wanted > 0 && wanted != length => Err(other_length(length, wanted, true, 1)),
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
            Some(known) => Error::invalid(format!("an array beside items, {known} deep")),
            None => {
                Error::invalid(format!("arrays {depth} deep where the type has {}", dimensions(self.dimensions.len())))
            }
        }
    }

    #[cold]
    fn too_flat(&self, depth: usize) -> Error {
        let wanted = dimensions(self.dimensions.len());
        Error::invalid(format!(
            "arrays {depth} deep where the type has {wanted} (all items in one array are taken too)"
        ))
    }
}

#[cold]
fn other_length(found: u32, wanted: u32, by_type: bool, depth: usize) -> Error {
    let of = if by_type { "where the dimension is" } else { "beside one of" };
    Error::invalid(format!("an array of {found} {of} {wanted} (array {depth} deep)"))
}

fn dimensions(n: usize) -> String {
    if n == 1 { "1 dimension".to_owned() } else { format!("{n} dimensions") }
}

#[cold]
fn too_many() -> Error {
    Error::limit("items of a vector", u64::from(u32::MAX) + 1, 0x7FFF_FFFF)
}

/// Fails when a vector does not have as many items as the type says.
pub(in crate::write) fn check_length(kind: &Type, length: u64) -> Result<()> {
    let size = u64::from(kind.size());
    if size == 0 || size == length {
        return Ok(());
    }
    Err(Error::invalid(format!("a vector of {length} items where {kind} has {size}")))
}
