//! A variable that is to be written.

use std::borrow::Cow;

use container_core::{Error, Result};

use crate::array::Array;
use crate::json::{JsonBuf, Object, quoted};
use crate::read::Variable;
use crate::types::{DataType, Endian};
use crate::wire::SPECIAL;
use crate::write::emit;

/// A variable to be written: values or where they come from, dimensions, attributes.
///
/// ```
/// use dsfmt::{Array, Endian, Field};
/// let height = Field::new(Array::new([3], vec![0.5f32, 1.0, 2.0])?)
///     .with_dimensions(["time"])
///     .with_attribute("units", "m")
///     .with_endian(Endian::Big);
/// # let _ = height;
/// # Ok::<(), dsfmt::Error>(())
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct Field<'a> {
    pub(crate) content: Content<'a>,
    /// What stands in the header besides what follows from the content, and where that stands, if not last.
    pub(crate) members: Object,
    /// `None`: called after the variable.
    dimensions: Option<Vec<String>>,
    endian: Option<Endian>,
    problem: Option<String>,
}

/// Where the values come from.
#[derive(Debug, Clone)]
pub(crate) enum Content<'a> {
    /// From memory.
    Array(Array<'a>),
    /// There are none.
    Empty(Option<DataType>),
    /// They are appended later.
    Stream {
        data_type: DataType,
        shape: Vec<u64>,
        /// Elements may be missing.
        masked: bool,
    },
    /// From another file, as they lie there.
    Copy(Variable<'a>),
}

impl<'a> Field<'a> {
    fn of(content: Content<'a>) -> Self {
        Self { content, members: Object::default(), dimensions: None, endian: None, problem: None }
    }

    /// A variable with these values. A mask of which no element is missing is not written.
    pub fn new(array: Array<'a>) -> Self {
        Self::of(Content::Array(array))
    }

    /// A variable without values, and without a type until it is given one by [`with_type`](Self::with_type).
    pub fn empty() -> Self {
        Self::of(Content::Empty(None))
    }

    /// A variable whose values come later, rows along the first dimension, by [`Writer::append`](crate::Writer::append).
    pub fn stream(data_type: DataType, shape: impl Into<Vec<u64>>) -> Self {
        Self::of(Content::Stream { data_type, shape: shape.into(), masked: false })
    }

    /// A variable of another file: its bytes as they are, and its member of the header with the same texts in the same order.
    ///
    /// For strings the header may state more bytes than there are, as Python's writer does: what is there is copied.
    pub fn copy(variable: &Variable<'a>) -> Self {
        let mut field = Self::of(Content::Copy(*variable));
        field.take_over(variable);
        field
    }

    /// The type of a variable without values. Others have that of their values.
    pub fn with_type(mut self, data_type: Option<DataType>) -> Self {
        match &mut self.content {
            Content::Empty(place) => {
                *place = data_type;
                match data_type {
                    Some(data_type) => self.members.set(quoted(".type"), data_type.name().into()),
                    None => self.members.remove(&quoted(".type")),
                }
            }
            _ => self.problem = Some("a type can be given to an empty variable only".to_owned()),
        }
        self
    }

    /// Says that elements of a [`stream`](Self::stream) may be missing. Its mask, if it needs one, is known when all have come: until
    /// then the values go to a temporary file.
    pub fn with_missing(mut self, missing: bool) -> Self {
        match &mut self.content {
            Content::Stream { masked, .. } => *masked = missing,
            _ => self.problem = Some("only of a stream it can be said whether elements may be missing".to_owned()),
        }
        self
    }

    /// Names of the dimensions. A variable that has none named gets them called after itself, with `_1`, `_2`... behind, when it is read.
    pub fn with_dimensions<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        let names: Vec<String> = names.into_iter().map(Into::into).collect();
        let list = JsonBuf::list(names.iter().map(Into::into));
        self.members.set(quoted(".dims"), list);
        self.dimensions = Some(names);
        self
    }

    /// Adds an attribute, or gives another value to the one of this name.
    pub fn with_attribute(mut self, name: &str, value: impl Into<JsonBuf>) -> Self {
        if SPECIAL.contains(&name) {
            self.problem = Some(format!("the name {name:?} is the format's own, no attribute has it"));
        } else {
            self.members.set(quoted(name), value.into());
        }
        self
    }

    /// The order of a number's bytes; this machine's if nothing is said. Nothing comes of it for bools, strings and numbers of 8 bits.
    pub fn with_endian(mut self, endian: Endian) -> Self {
        self.endian = Some(endian);
        self
    }

    /// Whether the values are Julian dates: see [`Variable::is_time`].
    pub fn with_time(mut self, time: bool) -> Self {
        if time {
            self.members.set(quoted(".time"), true.into());
        } else {
            self.members.remove(&quoted(".time"));
        }
        self
    }

    /// Takes over a variable's dimensions, attributes, byte order and order of members, for new values, in place of all that was said
    /// before. An empty variable without a type gets that, too.
    pub fn like(mut self, variable: &Variable<'_>) -> Self {
        self.take_over(variable);
        self.endian = Some(variable.endian());
        if let Content::Empty(data_type @ None) = &mut self.content {
            *data_type = variable.data_type();
        }
        self
    }

    fn take_over(&mut self, variable: &Variable<'_>) {
        self.members = Object::of(variable.header());
        let named = self.members.get(&quoted(".dims")).is_some_and(|names| names != "null");
        self.dimensions = named.then(|| variable.dimensions().to_vec());
    }

    /// Other values in place of those it had; all else stays.
    pub(crate) fn replace(&mut self, array: Array<'a>) {
        if let Content::Copy(variable) = &self.content {
            self.endian.get_or_insert(variable.endian());
        }
        self.content = Content::Array(array);
    }

    /// No values and this type, in place of those it had.
    pub(crate) fn replace_type(&mut self, data_type: DataType) {
        self.content = Content::Empty(Some(data_type));
    }

    /// How many dimensions are named, where some are.
    pub(crate) fn dimension_count(&self) -> Option<usize> {
        self.dimensions.as_ref().map(Vec::len)
    }

    /// Dimensions are called after the variable.
    pub(crate) fn forget_dimensions(&mut self) {
        self.members.remove(&quoted(".dims"));
        self.dimensions = None;
    }

    /// Where the values are: in memory, or in another file.
    pub(crate) fn source(&self) -> (Option<&Array<'a>>, Option<&Variable<'a>>) {
        match &self.content {
            Content::Array(array) => (Some(array), None),
            Content::Copy(variable) => (None, Some(variable)),
            Content::Empty(_) | Content::Stream { .. } => (None, None),
        }
    }

    /// What was said and cannot be.
    pub(crate) fn check(&self) -> Result<()> {
        if let Some(problem) = &self.problem {
            return Err(Error::usage(problem.clone()));
        }
        if let Content::Copy(variable) = &self.content {
            variable.check()?;
            if self.endian.is_some_and(|endian| endian != variable.endian()) {
                return Err(Error::usage("a variable that is copied keeps its byte order"));
            }
        }
        Ok(())
    }

    /// Its sizes; `None` without values.
    pub(crate) fn shape(&self) -> Option<&[u64]> {
        match &self.content {
            Content::Array(array) => Some(array.shape()),
            Content::Empty(_) => None,
            Content::Stream { shape, .. } => Some(shape),
            Content::Copy(variable) => variable.shape(),
        }
    }

    pub(crate) fn data_type(&self) -> Option<DataType> {
        match &self.content {
            Content::Array(array) => Some(array.data_type()),
            Content::Empty(data_type) => *data_type,
            Content::Stream { data_type, .. } => Some(*data_type),
            Content::Copy(variable) => variable.data_type(),
        }
    }

    /// The order of the bytes as the header states it. Python writes strings in its machine's order, and `b` for single bytes.
    pub(crate) fn endian(&self) -> Endian {
        match (&self.content, self.data_type()) {
            (Content::Copy(variable), _) => variable.endian(),
            (_, Some(data_type)) if data_type.is_text() => Endian::NATIVE,
            (_, Some(data_type)) if data_type.width() == Some(1) => Endian::Big,
            _ => self.endian.unwrap_or(Endian::NATIVE),
        }
    }

    /// Is there a mask? Of a stream that may have one: not known yet, so there is none.
    pub(crate) fn is_masked(&self) -> bool {
        match &self.content {
            Content::Array(array) => emit::mask_of(array).is_some(),
            Content::Empty(_) | Content::Stream { .. } => false,
            Content::Copy(variable) => variable.is_masked(),
        }
    }

    /// The names of its dimensions under this name of the variable.
    pub(crate) fn dimensions(&self, name: &str) -> Cow<'_, [String]> {
        match &self.dimensions {
            Some(names) => Cow::Borrowed(names),
            None => {
                let count = self.shape().unwrap_or_default().len();
                Cow::Owned((1..=count).map(|number| format!("{name}_{number}")).collect())
            }
        }
    }
}
