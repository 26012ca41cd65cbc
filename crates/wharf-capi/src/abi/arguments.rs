//! Arguments of calls: checked pointers.

use std::ffi::{CStr, c_char, c_void};
use std::{ptr, slice};

use bytes::Bytes;
use wharf::{Error, Result};

use super::ReleaseBytes;

/// A pointer to a result.
pub(super) struct Out<T>(*mut T);

impl<T> Out<T> {
    /// Sets the initial value, which stays there if the call fails.
    ///
    /// # Safety
    /// The pointer is null, or can be written until the end of the call. What is there is not dropped.
    pub(super) unsafe fn new(pointer: *mut T, initial: T, name: &str) -> Result<Self> {
        check(pointer, name)?;
        let out = Self(pointer);
        out.write(initial);
        Ok(out)
    }

    /// Sets the result. The initial value needs no drop: it is a null pointer, a number, or a released structure.
    pub(super) fn set(self, value: T) {
        self.write(value);
    }

    fn write(&self, value: T) {
        // SAFETY: `new` has checked the pointer as far as possible, and its caller has promised the rest.
        unsafe { self.0.write(value) };
    }
}

/// A pointer to a text that the caller may not want.
///
/// # Safety
/// As [`Out::new`].
pub(super) unsafe fn optional_out(pointer: *mut *const c_char) -> Result<Option<Out<*const c_char>>> {
    if pointer.is_null() {
        return Ok(None);
    }
    // SAFETY: the promise of the caller.
    unsafe { Out::new(pointer, ptr::null(), "report") }.map(Some)
}

/// Fails for a pointer that cannot be one to a `T`.
pub(super) fn check<T>(pointer: *const T, name: &str) -> Result<()> {
    match pointer {
        null if null.is_null() => Err(Error::usage(format!("{name} is NULL"))),
        aligned if aligned.is_aligned() => Ok(()),
        _ => Err(Error::usage(format!("{name} is not aligned"))),
    }
}

/// # Safety
/// The pointer is null, or one to bytes that end with 0, and do not change before the end of the call.
pub(super) unsafe fn text<'a>(pointer: *const c_char, name: &str) -> Result<&'a str> {
    check(pointer, name)?;
    // SAFETY: the promise of the caller.
    let bytes = unsafe { CStr::from_ptr(pointer) };
    bytes.to_str().map_err(|error| {
        Error::usage(format!("{name} must be UTF-8, found an invalid byte at offset {}", error.valid_up_to()))
    })
}

/// # Safety
/// As [`text`].
pub(super) unsafe fn optional_text<'a>(pointer: *const c_char, name: &str) -> Result<Option<&'a str>> {
    if pointer.is_null() {
        return Ok(None);
    }
    // SAFETY: the promise of the caller.
    unsafe { text(pointer, name) }.map(Some)
}

/// Texts; none for a null pointer.
///
/// # Safety
/// The pointer is null, or one to pointers as for [`text`], the last of which is the only null.
pub(super) unsafe fn list<'a>(pointer: *const *const c_char, name: &str) -> Result<Vec<&'a str>> {
    let mut texts = Vec::new();
    if pointer.is_null() {
        return Ok(texts);
    }
    check(pointer, name)?;
    loop {
        // SAFETY: all pointers before this one were not null, so it belongs to the list.
        let next = unsafe { *pointer.add(texts.len()) };
        if next.is_null() {
            return Ok(texts);
        }
        // SAFETY: the promise of the caller.
        texts.push(unsafe { text(next, name)? });
    }
}

/// Bytes that the caller owns.
pub(super) struct CallerBytes {
    data: *const u8,
    size: usize,
    release: ReleaseBytes,
    context: *mut c_void,
}

// SAFETY: the caller promises that the bytes do not change before the release, which can be called from any thread.
unsafe impl Send for CallerBytes {}

impl CallerBytes {
    /// # Safety
    /// The pointer is null, or one to `size` bytes. Without `release` they are valid until the end of the call; otherwise until it is called, which may
    /// be on another thread.
    pub(super) unsafe fn new(data: *const u8, size: usize, release: ReleaseBytes, context: *mut c_void) -> Self {
        Self { data, size, release, context }
    }

    /// The bytes, copied unless they are released later.
    pub(super) fn into_bytes(self) -> Result<Bytes> {
        if self.size > 0 {
            check(self.data, "data")?;
        }
        if isize::try_from(self.size).is_err() {
            return Err(Error::limit("size of the data in bytes", self.size as u64, isize::MAX as u64));
        }
        Ok(match self.release {
            Some(_) => Bytes::from_owner(self),
            None => Bytes::copy_from_slice(self.as_ref()),
        })
    }
}

impl AsRef<[u8]> for CallerBytes {
    fn as_ref(&self) -> &[u8] {
        match self.size {
            0 => &[],
            // SAFETY: `new` was promised that many bytes, and `into_bytes` has checked what can be checked.
            size => unsafe { slice::from_raw_parts(self.data, size) },
        }
    }
}

impl Drop for CallerBytes {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: the function and the context of the caller, once.
            unsafe { release(self.context) };
        }
    }
}
