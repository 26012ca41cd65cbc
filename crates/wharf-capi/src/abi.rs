//! The exported functions, and all `unsafe` of the crate: reading arguments, writing results, calling callbacks.
//!
//! What callers promise, in `include/wharf.h`, is what every block relies on: a pointer is null, or points to what its type says for the length of
//! the call; texts end with NUL, lists with NULL; a stream follows the Arrow C stream interface. What can be checked is checked: null pointers,
//! alignment, UTF-8, handles (which are never dereferenced, see `handles`), and the values of imported arrays.
#![allow(unsafe_code, reason = "C has no other pointers; see the module's documentation")]
#![allow(clippy::missing_safety_doc, reason = "the same for all: the promises above")]

mod arguments;
mod imported;

use std::ffi::{c_char, c_int, c_void};
use std::ptr;
use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_schema::ffi::FFI_ArrowSchema;
use serde_json::Value;
use wharf::hub::select;
use wharf::{Container, Error, Input, Registry, Result, VerifyOptions};

use self::arguments::{CallerBytes, Out, list, optional_out, optional_text, text};
use self::imported::ImportedStream;
use crate::error::{self, ErrorInfo, OwnedError, Status, UNKNOWN, status};
use crate::files::{self, Output};
use crate::handles::{self, CONTAINERS, READERS};
use crate::json;
use crate::options::Selection;
use crate::reader::Reader;

/// An open file, or bytes. Close it with wharf_close.
pub struct ContainerHandle(());

/// A selection of a table that is open for reading. Close it with wharf_reader_close.
pub struct ReaderHandle(());

/// Which rows and columns of which table. WHARF_SELECT_ALL is the initial value of a selection of everything, and NULL stands for it.
#[repr(C)]
pub struct RawSelection {
    /// The name of the table; NULL for the only one.
    pub table: *const c_char,
    /// The names of the columns in the order of the result, ending with NULL; NULL for all. An empty list is an error.
    pub columns: *const *const c_char,
    /// The first row, from 0.
    pub first_row: u64,
    /// The row after the last one; UINT64_MAX for the end. Larger values than the number of rows stand for it.
    pub end_row: u64,
    /// The maximum number of threads; 0 for one per core.
    pub threads: usize,
}

/// The severity of a finding.
#[repr(C)]
pub enum Severity {
    /// The file violates its format: data is lost or cannot be trusted.
    Error = 0,
    /// All data is readable, but the file differs from what the format's writers produce.
    Warning = 1,
}

/// Frees borrowed bytes. Called once, from any thread, with the context given to wharf_open_bytes.
pub type ReleaseBytes = Option<unsafe extern "C" fn(context: *mut c_void)>;

/// Receives a finding, which is valid during the call, on the thread that called wharf_verify.
pub type ReceiveFinding =
    Option<unsafe extern "C" fn(context: *mut c_void, severity: Severity, finding: *const ErrorInfo)>;

/// The version of this library, such as "0.1.0". Never NULL, and never freed.
#[unsafe(no_mangle)]
pub extern "C" fn wharf_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}

/// The error of the last call on this thread that failed; NULL if none has. It is valid until the next failure on this thread. Errors of a stream
/// are last errors too, of the thread that called get_next.
#[unsafe(no_mangle)]
pub extern "C" fn wharf_last_error() -> *const ErrorInfo {
    error::last()
}

/// Frees a text that a function of this library has returned; NULL is ignored.
#[unsafe(no_mangle)]
pub extern "C" fn wharf_text_free(text: *const c_char) -> Status {
    status(|| handles::remove_text(text))
}

/// Opens a file or folder. Its content shows the format, or else its extension.
///
/// options: "from=FORMAT" declares the format; "no_header" and "delimiter=CHARACTER" describe CSV. May be NULL.
/// out: receives the container; NULL after an error.
///
/// The file is read when it is needed, and must not change while the container or one of its streams is open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wharf_open(
    path: *const c_char,
    options: *const *const c_char,
    out: *mut *mut ContainerHandle,
) -> Status {
    status(|| {
        // SAFETY: the promises of the caller.
        let (out, path, options) =
            unsafe { (Out::new(out, ptr::null_mut(), "out")?, text(path, "path")?, list(options, "options")?) };
        out.set(container_handle(files::open_path(path, &options)?)?);
        Ok(())
    })
}

/// Opens a file in memory. Its content shows the format, unless an option declares it.
///
/// data: size bytes; may be NULL if size is 0.
/// release: NULL to copy the bytes. Otherwise they are borrowed: they must stay unchanged until release(context) is called, once: when this
///     function fails, or after the container is closed, all its readers, streams and arrays are released, and no thread reads ahead any more.
/// options, out: as for wharf_open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wharf_open_bytes(
    data: *const c_void,
    size: usize,
    release: ReleaseBytes,
    context: *mut c_void,
    options: *const *const c_char,
    out: *mut *mut ContainerHandle,
) -> Status {
    status(|| {
        // SAFETY: the promises of the caller. First the bytes, which are released whatever fails.
        let bytes = unsafe { CallerBytes::new(data.cast(), size, release, context) };
        // SAFETY: as above.
        let (out, options) = unsafe { (Out::new(out, ptr::null_mut(), "out")?, list(options, "options")?) };
        let input = Input::Stream(bytes.into_bytes()?.into());
        out.set(container_handle(files::open(&input, &options)?)?);
        Ok(())
    })
}

/// Closes a container; NULL is ignored. Its readers and streams stay valid.
#[unsafe(no_mangle)]
pub extern "C" fn wharf_close(container: *mut ContainerHandle) -> Status {
    status(|| if container.is_null() { Ok(()) } else { CONTAINERS.remove(container.addr()).map(drop) })
}

/// The name of the format, such as "idv". Free it with wharf_text_free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wharf_container_format(container: *mut ContainerHandle, out: *mut *const c_char) -> Status {
    // SAFETY: the promises of the caller.
    unsafe { return_text(out, || Ok(self::container(container)?.format().to_owned())) }
}

/// The version of the format that the file states, such as "1.1.1.6". Free it with wharf_text_free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wharf_container_version(container: *mut ContainerHandle, out: *mut *const c_char) -> Status {
    // SAFETY: the promises of the caller.
    unsafe { return_text(out, || Ok(self::container(container)?.version())) }
}

/// Properties of the container as a JSON object, which depend on the format. Free it with wharf_text_free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wharf_container_details(container: *mut ContainerHandle, out: *mut *const c_char) -> Status {
    // SAFETY: the promises of the caller.
    unsafe { return_text(out, || Ok(Value::Object(self::container(container)?.details()).to_string())) }
}

/// The number of tables.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wharf_table_count(container: *mut ContainerHandle, out: *mut usize) -> Status {
    status(|| {
        // SAFETY: the promises of the caller.
        let out = unsafe { Out::new(out, 0, "out")? };
        out.set(self::container(container)?.tables().len());
        Ok(())
    })
}

/// The name of a table, which are numbered from 0. Free it with wharf_text_free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wharf_table_name(
    container: *mut ContainerHandle,
    index: usize,
    out: *mut *const c_char,
) -> Status {
    let name = || {
        let container = self::container(container)?;
        let tables = container.tables();
        let table = tables.get(index);
        let missing = || Error::usage(format!("no table {index}: there are {}, counted from 0", tables.len()));
        Ok(table.ok_or_else(missing)?.name().to_owned())
    };
    // SAFETY: the promises of the caller.
    unsafe { return_text(out, name) }
}

/// The columns of a table as a JSON array of objects with the members "name", "type" (in the terms of the format) and, for a column that cannot
/// be read, "unreadable" (the reason); others depend on the format. Columns of files without a schema are those of the first rows;
/// wharf_reader_schema has all. Free it with wharf_text_free.
///
/// table: its name; NULL for the only one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wharf_table_columns(
    container: *mut ContainerHandle,
    table: *const c_char,
    out: *mut *const c_char,
) -> Status {
    let columns = || {
        let container = self::container(container)?;
        // SAFETY: the promises of the caller.
        let table = unsafe { optional_text(table, "table")? };
        Ok(json::columns(select::table(container.as_ref(), table)?).to_string())
    };
    // SAFETY: the promises of the caller.
    unsafe { return_text(out, columns) }
}

/// The number of rows of a table; WHARF_UNKNOWN if counting them would take reading them.
///
/// table: its name; NULL for the only one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wharf_table_rows(
    container: *mut ContainerHandle,
    table: *const c_char,
    out: *mut u64,
) -> Status {
    status(|| {
        // SAFETY: the promises of the caller.
        let (out, table) = unsafe { (Out::new(out, UNKNOWN, "out")?, optional_text(table, "table")?) };
        let container = self::container(container)?;
        out.set(select::table(container.as_ref(), table)?.len().unwrap_or(UNKNOWN));
        Ok(())
    })
}

/// Opens a table for reading. Types of files without a schema are inferred now, from all selected rows.
///
/// selection: may be NULL.
/// options: "batch_rows=N", the maximum number of rows of a batch; "times=POLICY", "sparse=LAYOUT" and "on_mismatch=POLICY", how values are mapped
///     to Arrow, as for wharf convert. May be NULL.
/// out: receives the reader; NULL after an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wharf_reader_open(
    container: *mut ContainerHandle,
    selection: *const RawSelection,
    options: *const *const c_char,
    out: *mut *mut ReaderHandle,
) -> Status {
    status(|| {
        // SAFETY: the promises of the caller.
        let (out, selection, options) = unsafe {
            (Out::new(out, ptr::null_mut(), "out")?, RawSelection::read(selection)?, list(options, "options")?)
        };
        let reader = Reader::open(self::container(container)?, &selection, &options)?;
        out.set(ptr::without_provenance_mut(READERS.insert(Arc::new(reader))?));
        Ok(())
    })
}

/// The schema of the stream, which can be asked for at any time.
///
/// out: uninitialized or released; the caller calls its release.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wharf_reader_schema(reader: *mut ReaderHandle, out: *mut FFI_ArrowSchema) -> Status {
    status(|| {
        // SAFETY: the promises of the caller.
        let out = unsafe { Out::new(out, FFI_ArrowSchema::empty(), "out")? };
        let reader = READERS.get(reader.addr())?;
        let schema = FFI_ArrowSchema::try_from(reader.schema().as_ref());
        out.set(schema.map_err(|error| Error::unsupported(error.to_string()))?);
        Ok(())
    })
}

/// The rows as record batches. A reader can be streamed once.
///
/// out: uninitialized or released; the caller calls its release, before or after closing the reader and the container. The stream can be used from
///     any thread, by one at a time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wharf_reader_stream(reader: *mut ReaderHandle, out: *mut FFI_ArrowArrayStream) -> Status {
    status(|| {
        // SAFETY: the promises of the caller.
        let out = unsafe { Out::new(out, FFI_ArrowArrayStream::empty(), "out")? };
        let stream = READERS.get(reader.addr())?.stream()?;
        out.set(FFI_ArrowArrayStream::new(Box::new(stream)));
        Ok(())
    })
}

/// What could not be represented exactly in the batches so far: all losses, once the stream has ended. A JSON array of objects with the members
/// "what", "count" (0 for a notice), "message", and the first occurrence: "file", "row", "column", "offset", "line", each null if unknown. Free it
/// with wharf_text_free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wharf_reader_losses(reader: *mut ReaderHandle, out: *mut *const c_char) -> Status {
    // SAFETY: the promises of the caller.
    unsafe { return_text(out, || Ok(json::losses(&READERS.get(reader.addr())?.losses()).to_string())) }
}

/// Closes a reader; NULL is ignored. Its stream stays valid.
#[unsafe(no_mangle)]
pub extern "C" fn wharf_reader_close(reader: *mut ReaderHandle) -> Status {
    status(|| if reader.is_null() { Ok(()) } else { READERS.remove(reader.addr()).map(drop) })
}

/// Writes all batches of a stream to a file, which appears complete or not at all.
///
/// stream: taken over, and released before this function returns, also when it fails. Its callbacks may be called from other threads, one at a
///     time.
/// path: the file, or the folder of a format that is one.
/// format: the name of an output format of wharf_formats; NULL for the one of the extension.
/// options: of this format, as wharf_formats lists them. May be NULL.
/// overwrite: 0 to fail if the file exists; any other value to replace it.
/// report: receives a JSON object with the members "format", "rows" (or "variables"), "bytes" (the size of the file) and "losses" (as of
///     wharf_reader_losses); NULL after an error. Free it with wharf_text_free. May be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wharf_write(
    stream: *mut FFI_ArrowArrayStream,
    path: *const c_char,
    format: *const c_char,
    options: *const *const c_char,
    overwrite: c_int,
    report: *mut *const c_char,
) -> Status {
    status(|| {
        // SAFETY: the promises of the caller. First the stream, which is released whatever fails.
        let stream = unsafe { ImportedStream::take(stream) };
        // SAFETY: as above.
        let (report, output) = unsafe { (optional_out(report)?, self::output(path, format, options, overwrite)?) };
        let written = files::write(Box::new(stream?.open()?), &output)?;
        return_report(report, &written)
    })
}

/// Converts files. Their rows follow one another; their columns must be the same.
///
/// inputs: paths of files, ending with NULL.
/// selection: rows are counted from 0 over all inputs. May be NULL.
/// path, format, overwrite, report: as for wharf_write.
/// options: those of wharf_open, and of the format as for wharf_write. May be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wharf_convert(
    inputs: *const *const c_char,
    selection: *const RawSelection,
    path: *const c_char,
    format: *const c_char,
    options: *const *const c_char,
    overwrite: c_int,
    report: *mut *const c_char,
) -> Status {
    status(|| {
        // SAFETY: the promises of the caller.
        let (report, inputs, selection, output) = unsafe {
            (
                optional_out(report)?,
                list(inputs, "inputs")?,
                RawSelection::read(selection)?,
                self::output(path, format, options, overwrite)?,
            )
        };
        return_report(report, &files::convert(&inputs, &selection, &output)?)
    })
}

/// Checks a whole file, and passes every problem to a function. Succeeds if the file could be checked, whatever was found.
///
/// receive: not NULL.
/// context: passed on; may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wharf_verify(
    container: *mut ContainerHandle,
    receive: ReceiveFinding,
    context: *mut c_void,
) -> Status {
    status(|| {
        let receive = receive.ok_or_else(|| Error::usage("receive is NULL"))?;
        self::container(container)?.verify(&VerifyOptions::default(), &mut |finding| {
            let severity = match finding.severity {
                wharf::Severity::Error => Severity::Error,
                wharf::Severity::Warning => Severity::Warning,
            };
            let found = OwnedError::new(&finding.error);
            // SAFETY: a function of this type, by the promise of the caller, with a finding that lives longer than the call.
            unsafe { receive(context, severity, found.info()) };
        })
    })
}

/// The output formats: a JSON array of objects with the members "name", "title", "extensions" and "options". An option has the members "name", "type"
/// ("flag", "text", "file", "character", "integer" or "choice"), "values" (the minimum and maximum of an integer, or the words of a choice) and
/// "help". Free it with wharf_text_free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wharf_formats(out: *mut *const c_char) -> Status {
    // SAFETY: the promises of the caller.
    unsafe { return_text(out, || Ok(json::targets(&Registry::builtin()).to_string())) }
}

impl RawSelection {
    /// # Safety
    /// The promises of the module.
    unsafe fn read<'a>(pointer: *const Self) -> Result<Selection<'a>> {
        // SAFETY: the promises of the caller.
        let Some(raw) = (unsafe { pointer.as_ref() }) else { return Ok(Selection::default()) };
        // SAFETY: as above.
        let (table, columns) = unsafe { (optional_text(raw.table, "table")?, list(raw.columns, "columns")?) };
        if !raw.columns.is_null() && columns.is_empty() {
            return Err(Error::usage("columns is an empty list; NULL selects all columns"));
        }
        if raw.first_row > raw.end_row {
            let detail = format!("first_row is {}, after end_row, which is {}", raw.first_row, raw.end_row);
            return Err(Error::usage(detail));
        }
        Ok(Selection { table, columns, rows: raw.first_row..raw.end_row, threads: raw.threads })
    }
}

fn container(handle: *mut ContainerHandle) -> Result<Arc<dyn Container>> {
    CONTAINERS.get(handle.addr())
}

fn container_handle(container: Arc<dyn Container>) -> Result<*mut ContainerHandle> {
    Ok(ptr::without_provenance_mut(CONTAINERS.insert(container)?))
}

/// # Safety
/// The promises of the module.
unsafe fn output<'a>(
    path: *const c_char,
    format: *const c_char,
    options: *const *const c_char,
    overwrite: c_int,
) -> Result<Output<'a>> {
    // SAFETY: the promises of the caller.
    let (path, format, options) =
        unsafe { (text(path, "path")?, optional_text(format, "format")?, list(options, "options")?) };
    Ok(Output { path, format, options, overwrite: overwrite != 0 })
}

/// Runs a call that returns a text.
///
/// # Safety
/// The promises of the module.
unsafe fn return_text(out: *mut *const c_char, call: impl FnOnce() -> Result<String>) -> Status {
    status(|| {
        // SAFETY: the promises of the caller.
        let out = unsafe { Out::new(out, ptr::null(), "out")? };
        out.set(handles::insert_text(call()?)?);
        Ok(())
    })
}

fn return_report(out: Option<Out<*const c_char>>, report: &Value) -> Result<()> {
    if let Some(out) = out {
        out.set(handles::insert_text(report.to_string())?);
    }
    Ok(())
}
