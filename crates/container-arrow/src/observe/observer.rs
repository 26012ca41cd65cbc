//! Collects a profile of rows value by value.

use container_core::{Error, Limits, Result};

use super::profile::{Class, ColumnProfile, Element, ListProfile, Member, Members, TensorProfile};

/// Collects a [`ColumnProfile`] of rows for [`resolve_schema`](crate::resolve_schema).
///
/// Rows may come in any order, and observations of different rows can be [merged](Self::merge): the result is the same.
///
/// ```
/// use container_core::Limits;
/// use container_arrow::{Class, Observation};
///
/// let mut rows = Observation::new(Limits::default());
/// let mut row = rows.row(0).object();
/// row.member("a")?.i64(1);
/// row.member("b")?.text(3);
/// let mut row = rows.row(1).object();
/// row.member("a")?.null();
/// assert_eq!(rows.profile().members(), ["a", "b"]);
/// assert_eq!(rows.profile().member("a").map(|a| a.count(Class::Integer)), Some(1));
/// # Ok::<(), container_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Observation {
    root: ColumnProfile,
    context: Context,
}

#[derive(Debug, Clone)]
struct Context {
    row: u64,
    /// Number of the next member in this row, from 1; 0 is for [leading members](ObjectObserver::leading_member).
    next_member: u64,
    columns: u64,
    limits: Limits,
}

impl Observation {
    /// Creates an empty observation, bounded by [`columns`](Limits::columns) (over all levels) and [`depth`](Limits::depth) of the limits.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self { root: ColumnProfile::default(), context: Context { row: 0, next_member: 0, columns: 0, limits } }
    }

    /// Returns the observer for the value of a row. Call it once per row.
    pub fn row(&mut self, row: u64) -> TypeObserver<'_> {
        (self.context.row, self.context.next_member) = (row, 1);
        TypeObserver { profile: &mut self.root, context: &mut self.context, depth: 0 }
    }

    /// The profile of all rows so far. Rows of a table are objects.
    #[must_use]
    pub fn profile(&self) -> &ColumnProfile {
        &self.root
    }

    /// Merges an observation of other rows.
    ///
    /// # Errors
    /// [`Limit`](container_core::ErrorKind::Limit) for too many columns.
    pub fn merge(&mut self, other: Self) -> Result<()> {
        self.root.merge(other.root);
        self.context.columns = self.root.columns();
        self.context.limits.check_columns("the number of columns", self.context.columns)
    }
}

/// Observes one value: call the method of its type.
#[derive(Debug)]
pub struct TypeObserver<'o> {
    profile: &'o mut ColumnProfile,
    context: &'o mut Context,
    depth: u32,
}

impl<'o> TypeObserver<'o> {
    #[inline]
    fn record(&mut self, class: Class) {
        self.profile.record(class, self.context.row);
    }

    /// Observes null.
    #[inline]
    pub fn null(mut self) {
        self.record(Class::Null);
    }

    /// Observes a boolean.
    #[inline]
    pub fn bool(mut self) {
        self.record(Class::Bool);
    }

    /// Observes an integer.
    #[inline]
    pub fn i64(mut self, value: i64) {
        if let Ok(value) = u64::try_from(value) {
            return self.u64(value);
        }
        self.record(Class::Integer);
        self.profile.record_negative(value, self.context.row);
        self.check_exact(value.unsigned_abs());
    }

    /// Observes an integer.
    #[inline]
    pub fn u64(mut self, value: u64) {
        self.record(Class::Integer);
        self.profile.record_positive(value, self.context.row);
        self.check_exact(value);
    }

    #[inline]
    fn check_exact(&mut self, magnitude: u64) {
        if magnitude > 1 << 53 && !is_exact(magnitude) {
            let row = self.context.row;
            self.profile.first_inexact = Some(self.profile.first_inexact.map_or(row, |first| first.min(row)));
        }
    }

    #[inline]
    fn float(mut self, bits: u8) {
        self.record(Class::Float);
        self.profile.float_bits = self.profile.float_bits.max(bits);
    }

    /// Observes a float of 16 bits.
    pub fn f16(self) {
        self.float(16);
    }

    /// Observes a float of 32 bits.
    pub fn f32(self) {
        self.float(32);
    }

    /// Observes a float of 64 bits.
    #[inline]
    pub fn f64(self) {
        self.float(64);
    }

    /// Observes a number out of range: see [`Class::Number`].
    pub fn number(mut self) {
        self.record(Class::Number);
    }

    /// Observes a value without a column type: see [`Class::Other`].
    pub fn other(mut self) {
        self.record(Class::Other);
    }

    /// Observes text of `bytes` bytes, never a [number word](Self::str).
    #[inline]
    pub fn text(mut self, bytes: usize) {
        self.record(Class::Text);
        self.profile.longest = self.profile.longest.max(bytes as u64);
    }

    /// Observes text in a format that writes non-finite floats as `NaN`, `Infinity` and `-Infinity`. These count as floats in a column of numbers
    /// without other text: see [`resolve`](crate::resolve()).
    #[inline]
    pub fn str(self, text: &str) {
        self.profile.float_words += u64::from(is_float_word(text));
        self.text(text.len());
    }

    /// Observes binary data of `bytes` bytes.
    pub fn bytes(mut self, bytes: usize) {
        self.record(Class::Bytes);
        self.profile.longest = self.profile.longest.max(bytes as u64);
    }

    /// Observes a tensor.
    pub fn tensor(mut self, element: Element, shape: &[u64]) {
        self.record(Class::Tensor);
        let row = self.context.row;
        let first = || TensorProfile { elements: vec![], shape: Some(shape.to_vec()), dimensions: Some(shape.len()) };
        let tensor = self.profile.tensor.get_or_insert_with(|| Box::new(first()));
        tensor.record(element, 1, row);
        if tensor.shape.as_deref().is_some_and(|known| known != shape) {
            tensor.shape = None;
        }
        tensor.dimensions = tensor.dimensions.filter(|known| *known == shape.len());
    }

    /// Observes a list. Observe its elements one by one, then call [`end`](ListObserver::end).
    pub fn list(mut self) -> ListObserver<'o> {
        self.record(Class::List);
        let element = ColumnProfile::default;
        let first = || Box::new(ListProfile { element: element(), shortest: u64::MAX, longest: 0, sparse: false });
        let list = self.profile.list.get_or_insert_with(first);
        ListObserver { list, context: self.context, depth: self.depth + 1, len: 0 }
    }

    /// Observes an object. Observe its members one by one; all values of duplicate members count.
    #[inline]
    pub fn object(mut self) -> ObjectObserver<'o> {
        self.record(Class::Object);
        let members = self.profile.object.get_or_insert_default();
        ObjectObserver { members, context: self.context, depth: self.depth + 1, expected: 0 }
    }
}

/// Returns true if an `f64` represents this integer exactly.
pub(crate) const fn is_exact(magnitude: u64) -> bool {
    magnitude == 0 || u64::BITS - magnitude.leading_zeros() - magnitude.trailing_zeros() <= f64::MANTISSA_DIGITS
}

/// Returns true for the JSON forms of non-finite floats.
#[inline]
fn is_float_word(text: &str) -> bool {
    matches!(text.len(), 3 | 8 | 9) && matches!(text, "NaN" | "Infinity" | "-Infinity")
}

/// Observes a list.
#[derive(Debug)]
pub struct ListObserver<'o> {
    list: &'o mut ListProfile,
    context: &'o mut Context,
    depth: u32,
    len: u64,
}

impl ListObserver<'_> {
    /// Returns the observer for the next element.
    ///
    /// # Errors
    /// [`Limit`](container_core::ErrorKind::Limit) if nesting exceeds the limits.
    #[inline]
    pub fn element(&mut self) -> Result<TypeObserver<'_>> {
        check_depth(self.depth, self.context)?;
        self.len += 1;
        Ok(TypeObserver { profile: &mut self.list.element, context: self.context, depth: self.depth })
    }

    /// Ends a sparse vector of length `len`, whose zeros were not all observed.
    pub fn end_sparse(mut self, len: u64) {
        self.list.sparse = true;
        self.len = len;
        self.end();
    }

    /// Ends the list.
    pub fn end(self) {
        self.list.shortest = self.list.shortest.min(self.len);
        self.list.longest = self.list.longest.max(self.len);
    }
}

#[inline]
fn check_depth(depth: u32, context: &Context) -> Result<()> {
    let limit = context.limits.depth;
    match depth > limit {
        true => Err(Error::limit("the nesting of values", depth.into(), limit.into()).in_row(context.row)),
        false => Ok(()),
    }
}

/// Observes an object.
#[derive(Debug)]
pub struct ObjectObserver<'o> {
    members: &'o mut Members,
    context: &'o mut Context,
    depth: u32,
    /// Expected index of the next member, if members come in the usual order.
    expected: usize,
}

impl ObjectObserver<'_> {
    /// Returns the observer for a member.
    ///
    /// # Errors
    /// [`Limit`](container_core::ErrorKind::Limit) if the number of columns over all levels, or nesting, exceeds the limits.
    #[inline]
    pub fn member(&mut self, name: &str) -> Result<TypeObserver<'_>> {
        let index = match self.members.find(name, self.expected) {
            Some(index) => index,
            None => self.add(name)?,
        };
        self.expected = index + 1;
        let order = self.context.next_member;
        self.context.next_member += 1;
        self.observer(index, order)
    }

    /// Returns the observer for an implicit member that comes before all others.
    ///
    /// # Errors
    /// As [`member`](Self::member).
    pub fn leading_member(&mut self, name: &str) -> Result<TypeObserver<'_>> {
        let index = match self.members.find(name, 0) {
            Some(index) => index,
            None => self.add(name)?,
        };
        self.observer(index, 0)
    }

    /// Returns true if this member was profile in the current row. For members of rows, not of nested objects.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        let index = self.members.find(name, 0);
        index.and_then(|index| self.members.list.get(index)).is_some_and(|member| member.last == self.context.row)
    }

    #[inline]
    fn observer(&mut self, index: usize, order: u64) -> Result<TypeObserver<'_>> {
        match self.members.list.get_mut(index) {
            Some(member) => {
                member.first = member.first.min((self.context.row, order));
                member.last = self.context.row;
                Ok(TypeObserver { profile: &mut member.profile, context: self.context, depth: self.depth })
            }
            None => Err(Error::usage("no such member")), // cannot happen: found or added
        }
    }

    #[cold]
    fn add(&mut self, name: &str) -> Result<usize> {
        check_depth(self.depth, self.context)?;
        let columns = self.context.columns + 1;
        self.context.limits.check_columns("the number of columns", columns)?;
        self.context.columns = columns;
        let (first, last) = ((u64::MAX, u64::MAX), u64::MAX);
        Ok(self.members.push(Member { name: name.into(), first, last, profile: ColumnProfile::default() }))
    }
}
