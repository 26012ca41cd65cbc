//! The profile of a column: which values it has had.

use std::collections::HashMap;

/// What kind of value something is. In this order one is taken where two are equally frequent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Class {
    /// No value.
    Null,
    /// True or false.
    Bool,
    /// An integer of 64 bits, signed or not.
    Integer,
    /// A floating-point number.
    Float,
    /// A number that neither an integer of 64 bits nor a float holds exactly, such as 2^64 + 1, or not at all, such as 1e400.
    Number,
    /// Text.
    Text,
    /// Bytes.
    Bytes,
    /// A list of values.
    List,
    /// Members with names.
    Object,
    /// Numbers of one type in a shape.
    Tensor,
    /// A value that no column has a type for, such as a complex number.
    Other,
}

impl Class {
    /// A word for it, such as `text`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool => "a boolean",
            Self::Integer => "an integer",
            Self::Float => "a float",
            Self::Number => "a number beyond 64 bits",
            Self::Text => "text",
            Self::Bytes => "bytes",
            Self::List => "a list",
            Self::Object => "an object",
            Self::Tensor => "a tensor",
            Self::Other => "an unsupported value",
        }
    }
}

/// The type of a tensor's elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the names say it")]
pub enum Element {
    Bool,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F16,
    F32,
    F64,
}

impl Element {
    /// Bytes of an element; of a bool one.
    #[must_use]
    pub const fn width(self) -> usize {
        match self {
            Self::Bool | Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 | Self::F16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
        }
    }
}

/// How often a class was seen, and in which row first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClassProfile {
    pub(crate) class: Class,
    pub(crate) count: u64,
    pub(crate) row: u64,
}

/// Which values a column has had. Nothing of it depends on the order in which they came.
#[derive(Debug, Clone, Default)]
pub struct ColumnProfile {
    /// The classes, in no order.
    pub(crate) seen: Vec<ClassProfile>,
    /// Of integers: the least one, at most 0, and the greatest, at least 0.
    pub(crate) least: i64,
    pub(crate) most: u64,
    /// The first row with an integer that no `f64` holds.
    pub(crate) inexact: Option<u64>,
    /// Of floats: the bits of the widest.
    pub(crate) width: u8,
    /// Bytes of the longest text or bytes.
    pub(crate) longest: u64,
    /// Of texts: how many are [words](is_float_word) that stand for floats.
    pub(crate) words: u64,
    pub(crate) list: Option<Box<ListProfile>>,
    pub(crate) object: Option<Box<Members>>,
    pub(crate) tensor: Option<Box<TensorProfile>>,
}

/// What lists had.
#[derive(Debug, Clone)]
pub(crate) struct ListProfile {
    pub(crate) element: ColumnProfile,
    /// Elements of the shortest and of the longest.
    pub(crate) shortest: u64,
    pub(crate) longest: u64,
    /// One was sparse.
    pub(crate) sparse: bool,
}

/// What tensors had.
#[derive(Debug, Clone)]
pub(crate) struct TensorProfile {
    /// Types of elements, how often, and in which row first.
    pub(crate) elements: Vec<(Element, u64, u64)>,
    /// The shape, if it is the same of all.
    pub(crate) shape: Option<Vec<u64>>,
    /// The number of dimensions, if it is.
    pub(crate) dimensions: Option<usize>,
}

/// The members that objects had.
#[derive(Debug, Clone, Default)]
pub(crate) struct Members {
    pub(crate) list: Vec<Member>,
    /// Places by name: only where there are more than a few.
    by_name: HashMap<Box<str>, u32>,
}

/// A member.
#[derive(Debug, Clone)]
pub(crate) struct Member {
    pub(crate) name: Box<str>,
    /// Where it was seen first: the row, and the how manieth member that was met in it.
    pub(crate) first: (u64, u64),
    /// The row in which it was seen last.
    pub(super) last: u64,
    pub(crate) observed: ColumnProfile,
}

/// So many members are looked through without a table.
const FEW: usize = 8;

impl Members {
    /// The place of a member; `expected` is where it most likely is.
    #[inline]
    pub(super) fn find(&self, name: &str, expected: usize) -> Option<usize> {
        if self.list.get(expected).is_some_and(|member| *member.name == *name) {
            return Some(expected);
        }
        if self.by_name.is_empty() {
            return self.list.iter().position(|member| *member.name == *name);
        }
        self.by_name.get(name).map(|place| *place as usize) // a u32 fits
    }

    pub(super) fn push(&mut self, member: Member) -> usize {
        let place = self.list.len();
        self.list.push(member);
        let from = match place {
            FEW => 0,
            more if more > FEW => more,
            _ => return place,
        };
        for (place, member) in self.list.iter().enumerate().skip(from) {
            // There are never so many: each has an ColumnProfile in memory.
            self.by_name.insert(member.name.clone(), u32::try_from(place).unwrap_or(u32::MAX));
        }
        place
    }

    /// The members in the order of their first appearance.
    pub(crate) fn sorted(&self) -> Vec<&Member> {
        let mut members: Vec<&Member> = self.list.iter().collect();
        members.sort_by_key(|member| member.first);
        members
    }
}

impl ColumnProfile {
    #[inline]
    pub(super) fn see(&mut self, class: Class, row: u64) {
        match self.seen.first_mut() {
            Some(first) if first.class == class => {
                first.count += 1;
                first.row = first.row.min(row);
            }
            _ => self.see_other(class, 1, row),
        }
    }

    pub(super) fn see_other(&mut self, class: Class, count: u64, row: u64) {
        let known = self.seen.iter().position(|seen| seen.class == class);
        match known.and_then(|at| self.seen.get_mut(at)) {
            Some(seen) => {
                seen.count += count;
                seen.row = seen.row.min(row);
            }
            None => self.seen.push(ClassProfile { class, count, row }),
        }
        // What comes most often is found at once.
        if let Some(at) = known
            && let (Some(first), Some(this)) = (self.seen.first(), self.seen.get(at))
            && this.count > first.count
        {
            self.seen.swap(0, at);
        }
    }

    /// How many values of a class there were.
    #[must_use]
    pub fn count(&self, class: Class) -> u64 {
        self.seen.iter().find(|seen| seen.class == class).map_or(0, |seen| seen.count)
    }

    /// How many values there were that are not null.
    #[must_use]
    pub fn values(&self) -> u64 {
        self.seen.iter().filter(|seen| seen.class != Class::Null).map(|seen| seen.count).sum()
    }

    /// The names of the members that objects had, in the order of their first appearance.
    #[must_use]
    pub fn members(&self) -> Vec<&str> {
        let members = self.object.iter().flat_map(|members| members.sorted());
        members.map(|member| &*member.name).collect()
    }

    /// What a member of objects had.
    #[must_use]
    pub fn member(&self, name: &str) -> Option<&Self> {
        let members = self.object.as_deref()?;
        members.list.get(members.find(name, 0)?).map(|member| &member.observed)
    }

    /// Adds what another has seen, of rows that need not be behind these.
    pub fn merge(&mut self, other: Self) {
        for seen in other.seen {
            self.see_other(seen.class, seen.count, seen.row);
        }
        self.least = self.least.min(other.least);
        self.most = self.most.max(other.most);
        self.inexact = [self.inexact, other.inexact].into_iter().flatten().min();
        self.width = self.width.max(other.width);
        self.longest = self.longest.max(other.longest);
        self.words += other.words;
        match (&mut self.list, other.list) {
            (Some(own), Some(other)) => {
                own.shortest = own.shortest.min(other.shortest);
                own.longest = own.longest.max(other.longest);
                own.sparse |= other.sparse;
                own.element.merge(other.element);
            }
            (own @ None, other) => *own = other,
            (Some(_), None) => {}
        }
        match (&mut self.object, other.object) {
            (Some(own), Some(other)) => own.merge(*other),
            (own @ None, other) => *own = other,
            (Some(_), None) => {}
        }
        match (&mut self.tensor, other.tensor) {
            (Some(own), Some(other)) => own.merge(*other),
            (own @ None, other) => *own = other,
            (Some(_), None) => {}
        }
    }

    /// Columns in it, over all levels.
    pub(crate) fn columns(&self) -> u64 {
        let list = self.list.iter().map(|list| list.element.columns());
        let members = self.object.iter().flat_map(|members| &members.list);
        list.chain(members.map(|member| 1 + member.observed.columns())).sum()
    }
}

impl Members {
    pub(super) fn merge(&mut self, other: Self) {
        for (expected, member) in other.list.into_iter().enumerate() {
            match self.find(&member.name, expected).and_then(|place| self.list.get_mut(place)) {
                Some(own) => {
                    own.first = own.first.min(member.first);
                    own.observed.merge(member.observed);
                }
                None => drop(self.push(member)),
            }
        }
    }
}

impl TensorProfile {
    pub(super) fn see(&mut self, element: Element, count: u64, row: u64) {
        match self.elements.iter_mut().find(|(own, ..)| *own == element) {
            Some((_, own, first)) => {
                *own += count;
                *first = (*first).min(row);
            }
            None => self.elements.push((element, count, row)),
        }
    }

    pub(super) fn merge(&mut self, other: Self) {
        for (element, count, row) in other.elements {
            self.see(element, count, row);
        }
        self.shape = self.shape.take().filter(|shape| other.shape.as_ref() == Some(shape));
        self.dimensions = self.dimensions.filter(|dimensions| other.dimensions == Some(*dimensions));
    }
}
