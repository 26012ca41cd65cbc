#[cfg_attr(not(feature = "alloc"), path = "error/static_detail.rs")]
mod detail;

use core::fmt;

/// What is wrong with the bytes of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DecodeErrorKind {
    /// The bytes end inside a value, or before it.
    Truncated,
    /// The value does not fit the type, or takes more bytes than any value of the type needs.
    Overflow,
    /// The value is padded: it has a shorter encoding. Strict functions only.
    Overlong,
}

/// Why a value could not be decoded, and at which byte.
///
/// Small, `Copy` and usable in const code.
///
/// ```
/// let error = leb128_codec::decode::<u8>(&[0x80, 0x02]).unwrap_err();
/// assert_eq!(error.to_string(), "leb128: byte 0x02 does not fit u8 (byte 1)");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DecodeError {
    kind: DecodeErrorKind,
    /// The offending byte; 0 for a truncated value.
    found: u8,
    /// The type's width in bits, 0 for any type; with [`SIGNED`] for signed types.
    width: u8,
    /// Bytes available of a truncated value.
    available: u32,
    offset: usize,
}

/// Flag of a signed type in the width, which is even.
const SIGNED: u8 = 1;

impl DecodeError {
    /// `bits` is the type's width, or 0 for any type.
    #[expect(clippy::cast_possible_truncation, reason = "a width is at most 128")]
    pub(crate) const fn new(kind: DecodeErrorKind, offset: usize, found: u8, bits: u32, signed: bool) -> Self {
        let width = bits as u8 | if signed { SIGNED } else { 0 };
        Self { kind, found, width, available: 0, offset }
    }

    /// A value that begins at `offset`, of which `available` bytes are there.
    #[expect(clippy::cast_possible_truncation, reason = "clamped")]
    pub(crate) const fn truncated(offset: usize, available: usize, bits: u32, signed: bool) -> Self {
        let available = if available > u32::MAX as usize { u32::MAX } else { available as u32 };
        Self { available, ..Self::new(DecodeErrorKind::Truncated, offset, 0, bits, signed) }
    }

    /// What is wrong.
    #[must_use]
    pub const fn kind(&self) -> DecodeErrorKind {
        self.kind
    }

    /// The offset of the error in the bytes given to the function that failed: the first byte of a
    /// [truncated](DecodeErrorKind::Truncated) value, the byte that [overflows](DecodeErrorKind::Overflow) the type, the
    /// last byte of an [overlong](DecodeErrorKind::Overlong) value.
    #[must_use]
    pub const fn offset(&self) -> usize {
        self.offset
    }

    /// The same error with `base` added to its offset.
    #[must_use]
    pub const fn shifted(self, base: usize) -> Self {
        Self { offset: self.offset.saturating_add(base), ..self }
    }

    /// The error as one of the field `what`, in bytes that begin at offset `base` of their file.
    ///
    /// Without the feature `alloc` the message lacks the field name, except for a truncated value.
    #[cold]
    #[must_use]
    pub fn in_field(self, what: &'static str, base: u64) -> container_core::Error {
        let byte = base.saturating_add(self.offset as u64);
        match self.kind {
            DecodeErrorKind::Truncated => {
                let available = u64::from(self.available);
                container_core::Error::truncated(what, available + 1, available).at(byte)
            }
            _ => container_core::Error::invalid(detail::detail(self, what)).at(byte),
        }
    }

    fn type_name(self) -> &'static str {
        match self.width {
            8 => "u8",
            9 => "i8",
            16 => "u16",
            17 => "i16",
            32 => "u32",
            33 => "i32",
            64 => "u64",
            65 => "i64",
            128 => "u128",
            129 => "i128",
            _ => "the type",
        }
    }
}

/// Displays the message without format and position.
struct Reason(DecodeError);

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(error) = self;
        let DecodeError { found, available, .. } = *error;
        match error.kind {
            DecodeErrorKind::Truncated if available == 0 => write!(f, "value needs at least 1 byte, 0 available"),
            DecodeErrorKind::Truncated => {
                let least = u64::from(available) + 1;
                write!(f, "value needs at least {least} bytes, {available} available")
            }
            DecodeErrorKind::Overflow => write!(f, "byte 0x{found:02x} does not fit {}", error.type_name()),
            DecodeErrorKind::Overlong => write!(f, "byte 0x{found:02x} is padding, the shortest form is required"),
        }
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "leb128: {} (byte {})", Reason(*self), self.offset)
    }
}

impl core::error::Error for DecodeError {}

/// For bytes at offset 0 of an unnamed field; see [`DecodeError::in_field`].
impl From<DecodeError> for container_core::Error {
    fn from(error: DecodeError) -> Self {
        error.in_field("value", 0).in_format("leb128")
    }
}

/// Why a run of values could not be decoded: the [error](DecodeError) of a value and that value's index.
///
/// ```
/// let error = leb128_codec::decode_slice::<u32>(&[1, 2, 0x80], &mut [0; 3]).unwrap_err();
/// assert_eq!((error.index(), error.offset()), (2, 2));
/// assert_eq!(error.to_string(), "leb128: value needs at least 2 bytes, 1 available (byte 2, value 2)");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RunError {
    index: usize,
    error: DecodeError,
}

impl RunError {
    pub(crate) const fn new(index: usize, error: DecodeError) -> Self {
        Self { index, error }
    }

    /// The index of the value that failed, which is the number of values decoded before it.
    #[must_use]
    pub const fn index(&self) -> usize {
        self.index
    }

    /// What is wrong with it.
    #[must_use]
    pub const fn kind(&self) -> DecodeErrorKind {
        self.error.kind
    }

    /// Its offset from the beginning of the run; see [`DecodeError::offset`].
    #[must_use]
    pub const fn offset(&self) -> usize {
        self.error.offset
    }

    /// The error of the value, with its offset from the beginning of the run.
    #[must_use]
    pub const fn error(&self) -> DecodeError {
        self.error
    }

    /// The error as one of the field `what`, a run that begins at offset `base` of its file; the value's index becomes the
    /// row.
    #[cold]
    #[must_use]
    pub fn in_field(self, what: &'static str, base: u64) -> container_core::Error {
        self.error.in_field(what, base).in_row(self.index as u64)
    }
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { index, error } = self;
        write!(f, "leb128: {} (byte {}, value {index})", Reason(*error), error.offset)
    }
}

impl core::error::Error for RunError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        Some(&self.error)
    }
}

/// For a run at offset 0 of an unnamed field; see [`RunError::in_field`].
impl From<RunError> for container_core::Error {
    fn from(error: RunError) -> Self {
        error.in_field("value", 0).in_format("leb128")
    }
}

/// Why values could not be encoded: the slice is too small.
///
/// ```
/// let error = leb128_codec::encode_slice::<u32>(&[1, 300], &mut [0; 2]).unwrap_err();
/// assert_eq!((error.index(), error.offset()), (1, 1));
/// assert_eq!(error.to_string(), "leb128: value needs 2 bytes, 1 available (byte 1, value 1)");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct EncodeError {
    index: usize,
    offset: usize,
    needed: usize,
    available: usize,
}

impl EncodeError {
    pub(crate) const fn new(index: usize, offset: usize, needed: usize, available: usize) -> Self {
        Self { index, offset, needed, available }
    }

    /// The index of the value that did not fit, which is the number of values encoded before it.
    #[must_use]
    pub const fn index(&self) -> usize {
        self.index
    }

    /// The offset of the value: the total length of the values before it.
    #[must_use]
    pub const fn offset(&self) -> usize {
        self.offset
    }

    /// The length in bytes of the value.
    #[must_use]
    pub const fn needed(&self) -> usize {
        self.needed
    }

    /// Bytes that were left for it.
    #[must_use]
    pub const fn available(&self) -> usize {
        self.available
    }
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { index, offset, needed, available } = self;
        let s = if *needed == 1 { "" } else { "s" };
        write!(f, "leb128: value needs {needed} byte{s}, {available} available (byte {offset}, value {index})")
    }
}

impl core::error::Error for EncodeError {}

/// A usage error: the slice is too small.
impl From<EncodeError> for container_core::Error {
    fn from(error: EncodeError) -> Self {
        let at = error.offset as u64;
        Self::usage("the slice to encode into is too small").at(at).in_row(error.index as u64).in_format("leb128")
    }
}
