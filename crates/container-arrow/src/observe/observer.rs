//! Rows told value by value.

use container_core::{Error, Limits, Result};

use super::profile::{Class, ColumnProfile, Element, ListProfile, Member, Members, TensorProfile};

/// Rows being looked at: an [`ColumnProfile`] that grows, and what bounds it.
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
    /// Members met in this row, and one: 0 is of what stands in front of them.
    met: u64,
    columns: u64,
    limits: Limits,
}

impl Observation {
    /// Nothing was seen yet. Of the limits [`columns`](Limits::columns) (over all levels) and [`depth`](Limits::depth) hold.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self { root: ColumnProfile::default(), context: Context { row: 0, met: 0, columns: 0, limits } }
    }

    /// The place where a row's value is told, whole and once for each row. Rows can come in any order.
    pub fn row(&mut self, row: u64) -> TypeObserver<'_> {
        (self.context.row, self.context.met) = (row, 1);
        TypeObserver { observed: &mut self.root, context: &mut self.context, depth: 0 }
    }

    /// What was seen of the rows: objects, where a table is to come of them.
    #[must_use]
    pub fn profile(&self) -> &ColumnProfile {
        &self.root
    }

    /// Adds what another has seen of other rows.
    ///
    /// # Errors
    /// [`Limit`](container_core::ErrorKind::Limit) for too many columns in both.
    pub fn merge(&mut self, other: Self) -> Result<()> {
        self.root.merge(other.root);
        self.context.columns = self.root.columns();
        self.context.limits.check_columns("the number of columns", self.context.columns)
    }
}

/// A place of a value that is looked at: one of the methods says what it is.
#[derive(Debug)]
pub struct TypeObserver<'o> {
    observed: &'o mut ColumnProfile,
    context: &'o mut Context,
    depth: u32,
}

impl<'o> TypeObserver<'o> {
    #[inline]
    fn see(&mut self, class: Class) {
        self.observed.see(class, self.context.row);
    }

    /// Null.
    #[inline]
    pub fn null(mut self) {
        self.see(Class::Null);
    }

    /// A boolean.
    #[inline]
    pub fn bool(mut self) {
        self.see(Class::Bool);
    }

    /// An integer.
    #[inline]
    pub fn i64(mut self, value: i64) {
        if let Ok(value) = u64::try_from(value) {
            return self.u64(value);
        }
        self.see(Class::Integer);
        self.observed.least = self.observed.least.min(value);
        self.exact(value.unsigned_abs());
    }

    /// An integer.
    #[inline]
    pub fn u64(mut self, value: u64) {
        self.see(Class::Integer);
        self.observed.most = self.observed.most.max(value);
        self.exact(value);
    }

    #[inline]
    fn exact(&mut self, size: u64) {
        if size > 1 << 53 && !is_exact(size) {
            let row = self.context.row;
            self.observed.inexact = Some(self.observed.inexact.map_or(row, |first| first.min(row)));
        }
    }

    #[inline]
    fn float(mut self, width: u8) {
        self.see(Class::Float);
        self.observed.width = self.observed.width.max(width);
    }

    /// A float of 16 bits.
    pub fn f16(self) {
        self.float(16);
    }

    /// A float of 32 bits.
    pub fn f32(self) {
        self.float(32);
    }

    /// A float of 64 bits.
    #[inline]
    pub fn f64(self) {
        self.float(64);
    }

    /// A number that is neither: see [`Class::Number`].
    pub fn number(mut self) {
        self.see(Class::Number);
    }

    /// A value that no column has a type for.
    pub fn other(mut self) {
        self.see(Class::Other);
    }

    /// A text of so many bytes, whatever it is.
    #[inline]
    pub fn text(mut self, bytes: usize) {
        self.see(Class::Text);
        self.observed.longest = self.observed.longest.max(bytes as u64);
    }

    /// A text. In a format that has no other form for floats that are not finite, `NaN`, `Infinity` and `-Infinity` may be such: where a column
    /// has numbers and no other texts they are, see [`resolve`](crate::resolve()).
    #[inline]
    pub fn str(self, text: &str) {
        self.observed.words += u64::from(is_float_word(text));
        self.text(text.len());
    }

    /// So many bytes.
    pub fn bytes(mut self, bytes: usize) {
        self.see(Class::Bytes);
        self.observed.longest = self.observed.longest.max(bytes as u64);
    }

    /// A tensor.
    pub fn tensor(mut self, element: Element, shape: &[u64]) {
        self.see(Class::Tensor);
        let row = self.context.row;
        let first = || TensorProfile { elements: vec![], shape: Some(shape.to_vec()), dimensions: Some(shape.len()) };
        let tensor = self.observed.tensor.get_or_insert_with(|| Box::new(first()));
        tensor.see(element, 1, row);
        if tensor.shape.as_deref().is_some_and(|own| own != shape) {
            tensor.shape = None;
        }
        tensor.dimensions = tensor.dimensions.filter(|own| *own == shape.len());
    }

    /// A list, whose elements are told one by one, and [ended](ListObserver::end).
    pub fn list(mut self) -> ListObserver<'o> {
        self.see(Class::List);
        let element = ColumnProfile::default;
        let first = || Box::new(ListProfile { element: element(), shortest: u64::MAX, longest: 0, sparse: false });
        let list = self.observed.list.get_or_insert_with(first);
        ListObserver { list, context: self.context, depth: self.depth + 1, len: 0 }
    }

    /// An object, whose members are told one by one. Of one that comes more than once each value is seen.
    #[inline]
    pub fn object(mut self) -> ObjectObserver<'o> {
        self.see(Class::Object);
        let members = self.observed.object.get_or_insert_default();
        ObjectObserver { members, context: self.context, depth: self.depth + 1, expected: 0 }
    }
}

/// Does an `f64` hold this integer?
pub(crate) const fn is_exact(size: u64) -> bool {
    size == 0 || u64::BITS - size.leading_zeros() - size.trailing_zeros() <= f64::MANTISSA_DIGITS
}

/// Is this what a float is written as in JSON that is not finite?
#[inline]
fn is_float_word(text: &str) -> bool {
    matches!(text.len(), 3 | 8 | 9) && matches!(text, "NaN" | "Infinity" | "-Infinity")
}

/// A list that is looked at.
#[derive(Debug)]
pub struct ListObserver<'o> {
    list: &'o mut ListProfile,
    context: &'o mut Context,
    depth: u32,
    len: u64,
}

impl ListObserver<'_> {
    /// The next element.
    ///
    /// # Errors
    /// [`Limit`](container_core::ErrorKind::Limit) for more nesting than the limits allow.
    #[inline]
    pub fn element(&mut self) -> Result<TypeObserver<'_>> {
        check_depth(self.depth, self.context)?;
        self.len += 1;
        Ok(TypeObserver { observed: &mut self.list.element, context: self.context, depth: self.depth })
    }

    /// It is a sparse vector of this length, of whose elements not all were told.
    pub(crate) fn end_sparse(mut self, len: u64) {
        self.list.sparse = true;
        self.len = len;
        self.end();
    }

    /// There are no more.
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

/// An object that is looked at.
#[derive(Debug)]
pub struct ObjectObserver<'o> {
    members: &'o mut Members,
    context: &'o mut Context,
    depth: u32,
    /// Where the next member is, if the object is like those before.
    expected: usize,
}

impl ObjectObserver<'_> {
    /// A member.
    ///
    /// # Errors
    /// [`Limit`](container_core::ErrorKind::Limit) for more columns, over all levels, or more nesting than the limits allow.
    #[inline]
    pub fn member(&mut self, name: &str) -> Result<TypeObserver<'_>> {
        let place = match self.members.find(name, self.expected) {
            Some(place) => place,
            None => self.add(name)?,
        };
        self.expected = place + 1;
        let met = self.context.met;
        self.context.met += 1;
        self.observer(place, met)
    }

    /// A member that the row does not state, and that stands in front of the others all the same.
    ///
    /// # Errors
    /// As [`member`](Self::member).
    pub fn leading_member(&mut self, name: &str) -> Result<TypeObserver<'_>> {
        let place = match self.members.find(name, 0) {
            Some(place) => place,
            None => self.add(name)?,
        };
        self.observer(place, 0)
    }

    /// Was this member seen in this row? For members of rows, not of objects in them.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        let place = self.members.find(name, 0);
        place.and_then(|place| self.members.list.get(place)).is_some_and(|member| member.last == self.context.row)
    }

    #[inline]
    fn observer(&mut self, place: usize, met: u64) -> Result<TypeObserver<'_>> {
        match self.members.list.get_mut(place) {
            Some(member) => {
                member.first = member.first.min((self.context.row, met));
                member.last = self.context.row;
                Ok(TypeObserver { observed: &mut member.observed, context: self.context, depth: self.depth })
            }
            None => Err(Error::usage("no such member")), // it was found or added
        }
    }

    #[cold]
    fn add(&mut self, name: &str) -> Result<usize> {
        check_depth(self.depth, self.context)?;
        let columns = self.context.columns + 1;
        self.context.limits.check_columns("the number of columns", columns)?;
        self.context.columns = columns;
        let (first, last) = ((u64::MAX, u64::MAX), u64::MAX);
        Ok(self.members.push(Member { name: name.into(), first, last, observed: ColumnProfile::default() }))
    }
}
