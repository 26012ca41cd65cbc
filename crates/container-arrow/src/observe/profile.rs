//! Column profiles: counts and ranges of profile values.

use std::collections::HashMap;

/// The class of a value. With equal counts, the first class in this order is preferred.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Class {
    /// No value.
    Null,
    /// True or false.
    Bool,
    /// A signed or unsigned 64-bit integer.
    Integer,
    /// A floating-point number.
    Float,
    /// A number that neither a 64-bit integer nor a float represents, such as 2^64 + 1 or 1e400.
    Number,
    /// Text.
    Text,
    /// Bytes.
    Bytes,
    /// A list of values.
    List,
    /// Named members.
    Object,
    /// An n-dimensional array of numbers.
    Tensor,
    /// A value without a column type, such as a complex number.
    Other,
}

impl Class {
    /// A noun for messages, such as `an integer`.
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
#[allow(missing_docs, reason = "self-explanatory")]
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
    /// Size in bytes. A bool takes one.
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

/// Count and first row of a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClassProfile {
    pub(crate) class: Class,
    pub(crate) count: u64,
    pub(crate) row: u64,
}

/// The profile of the values of a column: counts per class, ranges, nested profiles. Independent of the order of the values.
#[derive(Debug, Clone, Default)]
pub struct ColumnProfile {
    /// Unordered, but the most frequent class comes first.
    pub(crate) classes: Vec<ClassProfile>,
    /// The least integer (at most 0) and the greatest (at least 0).
    pub(crate) min_integer: i64,
    pub(crate) max_integer: u64,
    /// The first rows with these integers, if they are not 0.
    pub(crate) min_row: u64,
    pub(crate) max_row: u64,
    /// The first row with an integer that `f64` cannot represent.
    pub(crate) first_inexact: Option<u64>,
    /// Bits of the widest float.
    pub(crate) float_bits: u8,
    /// Bytes of the longest text or binary value.
    pub(crate) longest: u64,
    /// Number of texts that may be non-finite floats.
    pub(crate) float_words: u64,
    pub(crate) list: Option<Box<ListProfile>>,
    pub(crate) object: Option<Box<Members>>,
    pub(crate) tensor: Option<Box<TensorProfile>>,
}

/// The profile of lists.
#[derive(Debug, Clone)]
pub(crate) struct ListProfile {
    pub(crate) element: ColumnProfile,
    /// Lengths of the shortest and the longest list.
    pub(crate) shortest: u64,
    pub(crate) longest: u64,
    /// At least one list was a sparse vector.
    pub(crate) sparse: bool,
}

/// The profile of tensors.
#[derive(Debug, Clone)]
pub(crate) struct TensorProfile {
    /// Element types with count and first row.
    pub(crate) elements: Vec<(Element, u64, u64)>,
    /// The shape, if all tensors have the same.
    pub(crate) shape: Option<Vec<u64>>,
    /// The number of dimensions, if all tensors have the same.
    pub(crate) dimensions: Option<usize>,
}

/// The profiles of object members.
#[derive(Debug, Clone, Default)]
pub(crate) struct Members {
    pub(crate) list: Vec<Member>,
    /// Indexes by name, once there are more than [`MAX_SCANNED`].
    by_name: HashMap<Box<str>, u32>,
}

/// The profile of an object member.
#[derive(Debug, Clone)]
pub(crate) struct Member {
    pub(crate) name: Box<str>,
    /// First occurrence: row, and order within the row.
    pub(crate) first: (u64, u64),
    /// Row of the latest occurrence.
    pub(super) last: u64,
    pub(crate) profile: ColumnProfile,
}

/// Up to this many members are searched linearly, without a hash table.
const MAX_SCANNED: usize = 8;

impl Members {
    /// Finds the index of a member, trying `expected` first.
    #[inline]
    pub(super) fn find(&self, name: &str, expected: usize) -> Option<usize> {
        if self.list.get(expected).is_some_and(|member| *member.name == *name) {
            return Some(expected);
        }
        if self.by_name.is_empty() {
            return self.list.iter().position(|member| *member.name == *name);
        }
        self.by_name.get(name).map(|index| *index as usize) // u32 fits into usize
    }

    pub(super) fn push(&mut self, member: Member) -> usize {
        let index = self.list.len();
        self.list.push(member);
        let from = match index {
            MAX_SCANNED => 0,
            more if more > MAX_SCANNED => more,
            _ => return index,
        };
        for (index, member) in self.list.iter().enumerate().skip(from) {
            // Never more than u32::MAX: each member has a ColumnProfile in memory.
            self.by_name.insert(member.name.clone(), u32::try_from(index).unwrap_or(u32::MAX));
        }
        index
    }

    /// The members in the order of first occurrence.
    pub(crate) fn sorted(&self) -> Vec<&Member> {
        let mut members: Vec<&Member> = self.list.iter().collect();
        members.sort_by_key(|member| member.first);
        members
    }
}

impl ColumnProfile {
    #[inline]
    pub(super) fn record(&mut self, class: Class, row: u64) {
        match self.classes.first_mut() {
            Some(first) if first.class == class => {
                first.count += 1;
                first.row = first.row.min(row);
            }
            _ => self.record_other(class, 1, row),
        }
    }

    pub(super) fn record_other(&mut self, class: Class, count: u64, row: u64) {
        let known = self.classes.iter().position(|profile| profile.class == class);
        match known.and_then(|at| self.classes.get_mut(at)) {
            Some(profile) => {
                profile.count += count;
                profile.row = profile.row.min(row);
            }
            None => self.classes.push(ClassProfile { class, count, row }),
        }
        // Keep the most frequent class first, for the fast path of record().
        if let Some(at) = known
            && let (Some(first), Some(this)) = (self.classes.first(), self.classes.get(at))
            && this.count > first.count
        {
            self.classes.swap(0, at);
        }
    }

    /// The number of values of a class.
    #[must_use]
    pub fn count(&self, class: Class) -> u64 {
        self.classes.iter().find(|profile| profile.class == class).map_or(0, |profile| profile.count)
    }

    /// The number of values that are not null.
    #[must_use]
    pub fn values(&self) -> u64 {
        self.classes.iter().filter(|profile| profile.class != Class::Null).map(|profile| profile.count).sum()
    }

    /// The names of object members, in the order of first occurrence.
    #[must_use]
    pub fn members(&self) -> Vec<&str> {
        let members = self.object.iter().flat_map(|members| members.sorted());
        members.map(|member| &*member.name).collect()
    }

    /// The profile of an object member.
    #[must_use]
    pub fn member(&self, name: &str) -> Option<&Self> {
        let members = self.object.as_deref()?;
        members.list.get(members.find(name, 0)?).map(|member| &member.profile)
    }

    #[inline]
    pub(super) fn record_negative(&mut self, value: i64, row: u64) {
        if value < self.min_integer || value == self.min_integer && row < self.min_row {
            (self.min_integer, self.min_row) = (value, row);
        }
    }

    #[inline]
    pub(super) fn record_positive(&mut self, value: u64, row: u64) {
        if value > self.max_integer || value == self.max_integer && row < self.max_row {
            (self.max_integer, self.max_row) = (value, row);
        }
    }

    /// Merges the profile of other rows.
    pub fn merge(&mut self, other: Self) {
        for profile in other.classes {
            self.record_other(profile.class, profile.count, profile.row);
        }
        self.record_negative(other.min_integer, other.min_row);
        self.record_positive(other.max_integer, other.max_row);
        self.first_inexact = [self.first_inexact, other.first_inexact].into_iter().flatten().min();
        self.float_bits = self.float_bits.max(other.float_bits);
        self.longest = self.longest.max(other.longest);
        self.float_words += other.float_words;
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

    /// The number of nested columns, over all levels.
    pub(crate) fn columns(&self) -> u64 {
        let list = self.list.iter().map(|list| list.element.columns());
        let members = self.object.iter().flat_map(|members| &members.list);
        list.chain(members.map(|member| 1 + member.profile.columns())).sum()
    }
}

impl Members {
    pub(super) fn merge(&mut self, other: Self) {
        for (expected, member) in other.list.into_iter().enumerate() {
            match self.find(&member.name, expected).and_then(|index| self.list.get_mut(index)) {
                Some(own) => {
                    own.first = own.first.min(member.first);
                    own.profile.merge(member.profile);
                }
                None => drop(self.push(member)),
            }
        }
    }
}

impl TensorProfile {
    pub(super) fn record(&mut self, element: Element, count: u64, row: u64) {
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
            self.record(element, count, row);
        }
        self.shape = self.shape.take().filter(|shape| other.shape.as_ref() == Some(shape));
        self.dimensions = self.dimensions.filter(|dimensions| other.dimensions == Some(*dimensions));
    }
}
