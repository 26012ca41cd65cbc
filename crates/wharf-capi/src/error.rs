//! What a call returns, and the last error of each thread.

use std::any::Any;
use std::cell::RefCell;
use std::ffi::{CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use wharf::{Error, ErrorKind, Position, Result};

/// The outcome of a call.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Success.
    Ok = 0,
    /// Reading or writing failed: a disk, a pipe, a file that shrank. Retrying may help.
    Io = 1,
    /// The file ends in the middle of a field.
    Truncated = 2,
    /// The file violates its format, or a value does not fit the output.
    Invalid = 3,
    /// The file may be valid, but this version cannot read it.
    Unsupported = 4,
    /// A limit on memory, columns or depth would be exceeded.
    Limit = 5,
    /// The request is invalid: a null pointer, a handle that is not open, an unknown option, an output that exists.
    Usage = 6,
    /// A defect of this library.
    Internal = 7,
}

/// An error. All texts are UTF-8. Fields may be added at the end.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct ErrorInfo {
    /// What the call returned.
    pub status: Status,
    /// Its name: "io", "truncated", "invalid", "unsupported", "limit", "usage" or "internal".
    pub kind: *const c_char,
    /// The whole message: format, file, what was expected and what was found, and the position. Never NULL.
    pub message: *const c_char,
    /// The format, such as "idv"; NULL if unknown.
    pub format: *const c_char,
    /// The path of the file; NULL if unknown.
    pub file: *const c_char,
    /// The column; NULL if unknown.
    pub column: *const c_char,
    /// The key of the record; NULL if unknown.
    pub key: *const c_char,
    /// The row, from 0; WHARF_UNKNOWN if unknown.
    pub row: u64,
    /// The offset in bytes from the beginning of the file; WHARF_UNKNOWN if unknown.
    pub offset: u64,
    /// The line of a text file, from 1; WHARF_UNKNOWN if unknown.
    pub line: u64,
}

/// A number that is not known: of a row, an offset, a line, or the rows of a table.
pub(crate) const UNKNOWN: u64 = u64::MAX;

/// An [`ErrorInfo`] with the texts it points to.
pub(crate) struct OwnedError {
    info: ErrorInfo,
    /// First the message.
    texts: Vec<CString>,
}

impl OwnedError {
    pub(crate) fn new(error: &Error) -> Self {
        let (status, kind) = match error.kind() {
            ErrorKind::Io => (Status::Io, c"io"),
            ErrorKind::Truncated { .. } => (Status::Truncated, c"truncated"),
            ErrorKind::Unsupported => (Status::Unsupported, c"unsupported"),
            ErrorKind::Limit { .. } => (Status::Limit, c"limit"),
            ErrorKind::Usage => (Status::Usage, c"usage"),
            // `Invalid`, and future kinds.
            _ => (Status::Invalid, c"invalid"),
        };
        Self::with(status, kind.as_ptr(), &error.to_string(), error.format(), error.position())
    }

    pub(crate) fn of_panic(payload: &(dyn Any + Send)) -> Self {
        let message = format!("defect of wharf: {}", panic_message(payload));
        Self::with(Status::Internal, c"internal".as_ptr(), &message, None, &Position::default())
    }

    fn with(status: Status, kind: *const c_char, message: &str, format: Option<&str>, position: &Position) -> Self {
        let mut texts = Vec::new();
        let mut text = |text: Option<&str>| {
            let Some(text) = text else { return ptr::null() };
            let text = without_nul(text);
            let pointer = text.as_ptr(); // into the heap: it stays valid when the text is moved
            texts.push(text);
            pointer
        };
        let info = ErrorInfo {
            status,
            kind,
            message: text(Some(message)),
            format: text(format),
            file: text(position.file.as_deref()),
            column: text(position.column.as_deref()),
            key: text(position.key.as_deref()),
            row: position.row.unwrap_or(UNKNOWN),
            offset: position.byte.unwrap_or(UNKNOWN),
            line: position.line.unwrap_or(UNKNOWN),
        };
        Self { info, texts }
    }

    pub(crate) fn info(&self) -> &ErrorInfo {
        &self.info
    }

    pub(crate) fn message(&self) -> String {
        self.texts.first().map_or_else(String::new, |message| message.to_string_lossy().into_owned())
    }
}

pub(crate) fn panic_message(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}

/// A C string. NUL characters, which hostile names can contain, become U+FFFD.
fn without_nul(text: &str) -> CString {
    CString::new(text).or_else(|_| CString::new(text.replace('\0', "\u{FFFD}"))).unwrap_or_default()
}

thread_local! {
    static LAST: RefCell<Option<Box<OwnedError>>> = const { RefCell::new(None) };
}

/// The last error of this thread, or null. Valid until the next one.
pub(crate) fn last() -> *const ErrorInfo {
    let last = LAST.try_with(|last| last.borrow().as_deref().map_or(ptr::null(), |error| ptr::from_ref(error.info())));
    last.unwrap_or(ptr::null()) // a thread that is ending
}

/// Makes an error the last one of this thread, and returns its status.
pub(crate) fn set(error: OwnedError) -> Status {
    let status = error.info().status;
    let _ = LAST.try_with(|last| last.replace(Some(Box::new(error)))); // a thread that is ending asks for no errors
    status
}

/// The boundary that no panic crosses.
///
/// Unwind safety: what a call leaves half done is local to it, or behind a mutex whose users say why it is valid.
pub(crate) fn catch<T>(call: impl FnOnce() -> Result<T>) -> Result<T, OwnedError> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(outcome) => outcome.map_err(|error| OwnedError::new(&error)),
        Err(payload) => Err(OwnedError::of_panic(payload.as_ref())),
    }
}

/// Runs a call, and makes its error the last one of this thread.
pub(crate) fn status(call: impl FnOnce() -> Result<()>) -> Status {
    catch(call).map_or_else(set, |()| Status::Ok)
}
