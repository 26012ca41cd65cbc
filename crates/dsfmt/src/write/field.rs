//! Variables to write.

use std::borrow::Cow;

use container_core::{Error, Result};

use crate::array::Array;
use crate::json::{JsonBuf, Object, quoted};
use crate::read::Variable;
use crate::types::{DataType, Endian};
use crate::wire::SPECIAL_KEYS;
use crate::write::emit;

/// A variable to write: values or their source, dimensions, attributes.
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
    /// Header members that do not follow from the content, and positions of those that do.
    pub(crate) members: Object,
    /// `None`: named after the variable.
    dimensions: Option<Vec<String>>,
    endian: Option<Endian>,
    problem: Option<String>,
}

/// The source of the values.
#[derive(Debug, Clone)]
pub(crate) enum Content<'a> {
    /// In memory.
    Array(Array<'a>),
    /// No values.
    Empty(Option<DataType>),
    /// Appended later.
    Stream {
        data_type: DataType,
        shape: Vec<u64>,
        /// True when elements may be missing.
        masked: bool,
    },
    /// Copied verbatim from another file.
    Copy(Variable<'a>),
}

/// What is declared of values that are appended.
#[derive(Clone, Copy)]
pub(crate) struct Appended<'f> {
    pub(crate) data_type: DataType,
    pub(crate) shape: &'f [u64],
    /// True when elements may be missing.
    pub(crate) masked: bool,
}

impl Appended<'_> {
    /// Number of rows; a scalar has one.
    pub(crate) fn rows(&self) -> u64 {
        if self.shape.contains(&0) { 0 } else { self.shape.first().copied().unwrap_or(1) }
    }
}

impl<'a> Field<'a> {
    fn with_content(content: Content<'a>) -> Self {
        Self { content, members: Object::default(), dimensions: None, endian: None, problem: None }
    }

    /// A variable with these values. A mask without missing elements is not written.
    pub fn new(array: Array<'a>) -> Self {
        Self::with_content(Content::Array(array))
    }

    /// A variable without values; without a type unless [`with_type`](Self::with_type) sets one.
    pub fn empty() -> Self {
        Self::with_content(Content::Empty(None))
    }

    /// A variable whose rows along the first dimension are appended by [`Writer::append`](crate::Writer::append).
    pub fn stream(data_type: DataType, shape: impl Into<Vec<u64>>) -> Self {
        Self::with_content(Content::Stream { data_type, shape: shape.into(), masked: false })
    }

    /// Copies a variable of another file: the same bytes, and the same header text in the same order.
    ///
    /// Python's writer may declare too many bytes for strings; only the real ones are copied. A variable of another format, such as NetCDF, is
    /// read and encoded, which needs [`Builder::begin`](crate::Builder::begin).
    pub fn copy(variable: &Variable<'a>) -> Self {
        let mut field = Self::with_content(Content::Copy(*variable));
        field.copy_metadata(variable);
        field
    }

    /// Sets the type of an empty variable. Others have the type of their values.
    pub fn with_type(mut self, data_type: Option<DataType>) -> Self {
        match &mut self.content {
            Content::Empty(current) => {
                *current = data_type;
                match data_type {
                    Some(data_type) => self.members.set(quoted(".type"), data_type.name().into()),
                    None => self.members.remove(&quoted(".type")),
                }
            }
            _ => self.problem = Some("only an empty variable can be given a type".to_owned()),
        }
        self
    }

    /// Declares whether elements of a [`stream`](Self::stream) may be missing. The mask is complete only at the end, so the values go to a
    /// temporary file until then.
    pub fn with_missing(mut self, missing: bool) -> Self {
        match &mut self.content {
            Content::Stream { masked, .. } => *masked = missing,
            _ => self.problem = Some("only a stream can declare missing elements".to_owned()),
        }
        self
    }

    /// Names the dimensions. Without names, readers generate them from the variable's name with `_1`, `_2`... appended.
    pub fn with_dimensions<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        let names: Vec<String> = names.into_iter().map(Into::into).collect();
        let list = JsonBuf::list(names.iter().map(Into::into));
        self.members.set(quoted(".dims"), list);
        self.dimensions = Some(names);
        self
    }

    /// Sets an attribute.
    pub fn with_attribute(mut self, name: &str, value: impl Into<JsonBuf>) -> Self {
        if SPECIAL_KEYS.contains(&name) {
            self.problem = Some(format!("attribute name {name:?} is reserved"));
        } else {
            self.members.set(quoted(name), value.into());
        }
        self
    }

    /// Sets the byte order of numbers; native by default. Ignored for booleans, strings and 8-bit numbers.
    pub fn with_endian(mut self, endian: Endian) -> Self {
        self.endian = Some(endian);
        self
    }

    /// Declares the values to be Julian dates: see [`Variable::is_time`].
    pub fn with_time(mut self, time: bool) -> Self {
        if time {
            self.members.set(quoted(".time"), true.into());
        } else {
            self.members.remove(&quoted(".time"));
        }
        self
    }

    /// Takes dimensions, attributes, byte order and member order from another variable, replacing all set before. An empty variable without a type
    /// also takes the type.
    pub fn with_metadata_of(mut self, variable: &Variable<'_>) -> Self {
        self.copy_metadata(variable);
        self.endian = Some(variable.endian());
        if let Content::Empty(data_type @ None) = &mut self.content {
            *data_type = variable.data_type();
        }
        self
    }

    fn copy_metadata(&mut self, variable: &Variable<'_>) {
        self.members = Object::from_json(variable.header());
        let named = self.members.get(&quoted(".dims")).is_some_and(|names| names != "null");
        self.dimensions = named.then(|| variable.dimensions().to_vec());
    }

    /// Replaces the values and keeps the metadata.
    pub(crate) fn replace(&mut self, array: Array<'a>) {
        if let Content::Copy(variable) = &self.content {
            self.endian.get_or_insert(variable.endian());
        }
        self.content = Content::Array(array);
    }

    /// Replaces the content with an empty variable of this type.
    pub(crate) fn replace_type(&mut self, data_type: DataType) {
        self.content = Content::Empty(Some(data_type));
    }

    /// Number of named dimensions, if any are named.
    pub(crate) fn dimension_count(&self) -> Option<usize> {
        self.dimensions.as_ref().map(Vec::len)
    }

    /// Removes the dimension names, so that readers generate them.
    pub(crate) fn clear_dimensions(&mut self) {
        self.members.remove(&quoted(".dims"));
        self.dimensions = None;
    }

    /// The values in memory or the variable to copy.
    pub(crate) fn source(&self) -> (Option<&Array<'a>>, Option<&Variable<'a>>) {
        match &self.content {
            Content::Array(array) => (Some(array), None),
            Content::Copy(variable) => (None, Some(variable)),
            Content::Empty(_) | Content::Stream { .. } => (None, None),
        }
    }

    /// Reports a contradictory declaration.
    pub(crate) fn check(&self) -> Result<()> {
        if let Some(problem) = &self.problem {
            return Err(Error::usage(problem.clone()));
        }
        if let Content::Copy(variable) = &self.content {
            variable.check()?;
            if self.endian.is_some_and(|endian| endian != variable.endian()) {
                return Err(Error::usage("a copied variable keeps its byte order"));
            }
        }
        Ok(())
    }

    /// The values of a stream, and of a copy from a file of another format, which has no bytes to copy; `None` for others.
    pub(crate) fn appended(&self) -> Option<Appended<'_>> {
        match &self.content {
            Content::Stream { data_type, shape, masked } => {
                Some(Appended { data_type: *data_type, shape, masked: *masked })
            }
            Content::Copy(variable) if variable.reader.foreign.is_some() => Some(Appended {
                data_type: variable.data_type()?,
                shape: variable.shape()?,
                masked: variable.is_masked(),
            }),
            _ => None,
        }
    }

    /// Its sizes; `None` for an empty variable.
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

    /// The byte order to declare. Python writes strings in native order, and `b` for single bytes.
    pub(crate) fn endian(&self) -> Endian {
        match (&self.content, self.data_type()) {
            (Content::Copy(variable), _) => variable.endian(),
            (_, Some(data_type)) if data_type.is_text() => Endian::NATIVE,
            (_, Some(data_type)) if data_type.width() == Some(1) => Endian::Big,
            _ => self.endian.unwrap_or(Endian::NATIVE),
        }
    }

    /// True when it has a mask. False while the mask is not known yet.
    pub(crate) fn is_masked(&self) -> bool {
        match &self.content {
            _ if self.appended().is_some() => false,
            Content::Array(array) => emit::mask_of(array).is_some(),
            Content::Empty(_) | Content::Stream { .. } => false,
            Content::Copy(variable) => variable.is_masked(),
        }
    }

    /// Its dimension names, generated from `name` if not set.
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
