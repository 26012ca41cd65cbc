//! Conversions, and writing record batches.

use std::ffi::OsString;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use container_core::arrow::Mapping;
use container_core::{Error, Input, Loss, Overwrite};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyAny, PyDict, PyList, PyString, PyTuple};
use wharf::convert::{Location, OptionSpec, OptionValue, Report, Target};
use wharf::hub::convert::ChangeOptions;
use wharf::hub::select::RowRange;
use wharf::{BatchContainer, Convert, Registry};

use crate::batches::imported;
use crate::container::Container;
use crate::error::{Failure, Result};
use crate::interrupt::{Calls, interruptible_with};
use crate::process;
use crate::query::opener;
use crate::region::Part;

/// Converts files to a file of any format.
///
/// `inputs` is a path, an open `Container`, or a list of these. `where` is a condition in SQL syntax, such as `"age > 30"`. Returns a dict: what was written, and the losses.
#[pyfunction]
#[pyo3(signature = (inputs, output, *, to=None, overwrite=false, columns=None, r#where=None, rows=None, table=None, part=None, options=None))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments")]
pub(crate) fn convert<'py>(
    py: Python<'py>,
    inputs: &Bound<'py, PyAny>,
    output: PathBuf,
    to: Option<&str>,
    overwrite: bool,
    columns: Option<Vec<String>>,
    r#where: Option<&str>,
    rows: Option<(u64, Option<u64>)>,
    table: Option<String>,
    part: Option<&Bound<'py, PyDict>>,
    options: Option<&Bound<'py, PyDict>>,
) -> Result<Bound<'py, PyAny>> {
    let mut files = OpenFiles::new();
    let mut convert = select(self::inputs(inputs, part, &mut files)?, columns, r#where, rows)?;
    convert.selection.reading.table = table;
    run(py, (convert, files, Calls::new()), output, to, overwrite, options)
}

/// Files of inputs that are open, with their paths.
pub(crate) type OpenFiles = Vec<(PathBuf, Input)>;

/// The inputs of a list, or the only one, of which a part of the variables is selected.
pub(crate) fn inputs(
    inputs: &Bound<'_, PyAny>,
    part: Option<&Bound<'_, PyDict>>,
    files: &mut OpenFiles,
) -> Result<Convert> {
    let mut part = Part::new(part)?;
    let all = match inputs.cast::<PyList>() {
        Ok(list) => list.iter().collect(),
        Err(_) => vec![inputs.clone()],
    };
    let mut convert = Convert::default();
    for input in &all {
        let Ok(container) = input.cast::<Container>() else {
            convert.inputs.push(Location::Path(input.extract()?));
            continue;
        };
        let container = container.get();
        // Variables are selected while a file is opened. What an open container shows is a table.
        let is_view = container.part.is_tidy() || all.len() > 1 && !container.part.is_whole();
        let path = container.variables_path().filter(|_| !is_view);
        if let Some(path) = path {
            files.push((path.to_owned(), container.input.clone()));
        }
        if let (Some(_), false) = (path, container.part.is_whole()) {
            if !part.is_whole() {
                return Err(Error::usage("the container shows a part already: select all of it at once").into());
            }
            part = container.part.clone();
        }
        convert.inputs.push(match path {
            Some(path) => Location::Path(path.to_owned()),
            None => Location::open_container(container.name.clone(), Arc::clone(&container.container)),
        });
    }
    convert.selection.reading.threads = process::threads(0);
    part.apply(&mut convert.selection);
    Ok(convert)
}

/// Selects columns and rows.
pub(crate) fn select(
    mut convert: Convert,
    columns: Option<Vec<String>>,
    condition: Option<&str>,
    rows: Option<(u64, Option<u64>)>,
) -> Result<Convert> {
    if let Some(names) = columns {
        if names.is_empty() {
            return Err(Error::usage("names no column").in_option("columns").into());
        }
        if !convert.selection.columns.is_empty() {
            let error = Error::usage("names the variables of long rows already").in_option("tidy");
            return Err(error.advising("leave out {columns}").into());
        }
        convert = convert.with_columns(names);
    }
    if let Some(condition) = condition {
        convert = convert.with_filter(condition).map_err(|error| error.in_option("where"))?;
    }
    convert.selection.rows = match rows {
        Some((first, end)) => Some(RowRange { rows: row_range(first, end)?, one: false }),
        None => None,
    };
    Ok(convert)
}

/// The range of a pair of the first row and the end.
pub(crate) fn row_range(first: u64, end: Option<u64>) -> Result<Range<u64>> {
    match end {
        Some(end) if end < first => {
            let detail = format!("the range ends at {end}, before its start {first}");
            Err(Error::usage(detail).in_option("rows").into())
        }
        end => Ok(first..end.unwrap_or(u64::MAX)),
    }
}

/// Writes record batches to a file of any format. `data` has `__arrow_c_stream__` or `__arrow_c_array__`.
#[pyfunction]
#[pyo3(signature = (data, output, *, to=None, overwrite=false, options=None))]
pub(crate) fn write<'py>(
    py: Python<'py>,
    data: &Bound<'py, PyAny>,
    output: PathBuf,
    to: Option<&str>,
    overwrite: bool,
    options: Option<&Bound<'py, PyDict>>,
) -> Result<Bound<'py, PyAny>> {
    let calls = Calls::new();
    let container = Arc::new(BatchContainer::from_reader(imported(data, calls.caller())?));
    run(py, (Convert::of("<data>", container), OpenFiles::new(), calls), output, to, overwrite, options)
}

fn run<'py>(
    py: Python<'py>,
    (mut convert, files, calls): (Convert, OpenFiles, Calls),
    output: PathBuf,
    to: Option<&str>,
    overwrite: bool,
    options: Option<&Bound<'py, PyDict>>,
) -> Result<Bound<'py, PyAny>> {
    process::remember();
    let registry = Registry::builtin();
    let mut target = target(&registry, to, &output)?;
    convert.selection.reading.threads = process::threads(0);
    for (name, value) in options.into_iter().flatten() {
        set(&mut convert, target.as_mut(), &name.extract::<String>()?, &value, &registry)?;
    }
    let overwrite = if overwrite { Overwrite::Replace } else { Overwrite::Refuse };
    let mut report = Report::default();
    interruptible_with(py, calls, |cancel| {
        let convert = convert.with_progress(cancel);
        let to = wharf::convert::To::Path(&output, overwrite);
        convert.run(target.as_ref(), to, &mut opener(files), &mut report)
    })?;
    let made = PyDict::new(py);
    made.set_item("path", output.display().to_string())?;
    made.set_item("format", target.info().name)?;
    made.set_item("rows", report.rows)?;
    made.set_item("variables", report.variables)?;
    made.set_item("bytes", report.bytes)?;
    made.set_item("losses", losses(py, report.losses.iter().map(|lost| (lost.file.as_deref(), &lost.loss)))?)?;
    Ok(made.into_any())
}

fn target(registry: &Registry, to: Option<&str>, output: &std::path::Path) -> Result<Box<dyn Target>> {
    let found = match to {
        Some(name) => registry.target(name),
        None => registry.target_for(output),
    };
    found.ok_or_else(|| {
        let known: Vec<_> = registry.targets().iter().map(|target| target.info().name).collect();
        let what = match to {
            Some(name) => format!("unknown format {name:?}"),
            None => format!("the extension of {:?} stands for no format", output.display()),
        };
        Failure::from(Error::usage(format!("{what}; the formats are {}", known.join(", "))).in_option("to"))
    })
}

/// Sets an option from a Python value: `True` sets a flag, `False` and `None` leave it; lists repeat an option.
fn set(
    convert: &mut Convert,
    target: &mut dyn Target,
    name: &str,
    value: &Bound<'_, PyAny>,
    registry: &Registry,
) -> Result<()> {
    // An option that does not exist is an error, whatever its value.
    let Some(spec) = registry.options().into_iter().find(|option| option.name == name) else {
        return Ok(convert.set(target, name, "", registry)?);
    };
    if value.is_none() {
        return Ok(());
    }
    if spec.value == OptionValue::Flag {
        return match value.extract::<bool>() {
            Ok(true) => Ok(convert.set(target, name, "", registry)?),
            Ok(false) => Ok(()),
            Err(_) => {
                let detail = format!("must be True or False, found {}", value.repr()?);
                Err(Error::usage(detail).in_option(spec.name).into())
            }
        };
    }
    let is_names = spec.value == OptionValue::Names;
    if let Ok(pairs) = value.cast::<PyDict>() {
        for (key, value) in pairs {
            let text = format!("{}={}", text(&key)?, listed(&value)?);
            convert.set(target, name, text, registry)?;
        }
        return Ok(());
    }
    let values: Vec<Bound<'_, PyAny>> = match (value.cast::<PyList>(), value.cast::<PyTuple>()) {
        (Ok(list), _) => list.iter().collect(),
        (_, Ok(tuple)) => tuple.iter().collect(),
        _ => vec![value.clone()],
    };
    if is_names && !value.is_instance_of::<PyString>() {
        // Each is one name, whatever it contains.
        return values.iter().try_for_each(|column| Ok(convert.set(target, name, text(column)?, registry)?));
    }
    for value in values {
        let text: OsString = match value.is_instance_of::<PyString>() {
            true => value.extract()?,
            // A path, a number, or a flag.
            false => match value.extract::<PathBuf>() {
                Ok(path) => path.into_os_string(),
                Err(_) => value.str()?.to_string().into(),
            },
        };
        convert.set(target, name, text, registry)?;
    }
    Ok(())
}

/// A name in double quotes, so that it can contain anything.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn text(name: &Bound<'_, PyAny>) -> Result<String> {
    Ok(quoted(name.str()?.to_str()?))
}

/// A name, or several separated by commas.
fn listed(value: &Bound<'_, PyAny>) -> Result<String> {
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        let names = value.try_iter()?.map(|name| text(&name?)).collect::<Result<Vec<_>>>()?;
        return Ok(names.join(","));
    }
    text(value)
}

/// The options that change columns.
pub(crate) fn changes(options: Option<&Bound<'_, PyDict>>) -> Result<ChangeOptions> {
    let registry = Registry::builtin();
    let (mut convert, mut target) = (Convert::default(), wharf::convert::ParquetTarget::default());
    for (name, value) in options.into_iter().flatten() {
        let name: String = name.extract()?;
        if !registry.change_options().iter().any(|option| option.name == name) {
            return Err(PyTypeError::new_err(format!("unexpected keyword argument {name:?}")).into());
        }
        set(&mut convert, &mut target, &name, &value, &registry)?;
    }
    if convert.union {
        return Err(Error::usage("is for several inputs").in_option("union").into());
    }
    let mut options = ChangeOptions::default();
    (options.changes, options.on_mismatch) = (convert.changes, convert.mapping.on_mismatch);
    Ok(options)
}

/// The mapping of these options, checked as those of a conversion.
pub(crate) fn mapping(times: Option<&str>, sparse: Option<&str>, on_mismatch: Option<&str>) -> Result<Mapping> {
    let registry = Registry::builtin();
    let (mut convert, mut target) = (Convert::default(), wharf::convert::ParquetTarget::default());
    for (name, value) in [("times", times), ("sparse", sparse), ("on_mismatch", on_mismatch)] {
        if let Some(value) = value {
            convert.set(&mut target, name, value, &registry)?;
        }
    }
    let (defaults, chosen) = (Mapping::default(), convert.mapping);
    Ok(defaults
        .with_times(chosen.times.unwrap_or(defaults.times))
        .with_sparse(chosen.sparse.unwrap_or(defaults.sparse))
        .with_on_mismatch(chosen.on_mismatch.unwrap_or(defaults.on_mismatch)))
}

/// Losses as dicts: `what`, `count` (0 for a note), `path`, `row`, `column`.
pub(crate) fn losses<'py, 'a>(
    py: Python<'py>,
    found: impl Iterator<Item = (Option<&'a str>, &'a Loss)>,
) -> PyResult<Bound<'py, PyAny>> {
    let list = PyList::empty(py);
    for (file, loss) in found {
        let entry = PyDict::new(py);
        entry.set_item("what", &loss.what)?;
        entry.set_item("count", loss.count)?;
        entry.set_item("path", file.or(loss.first.file.as_deref()))?;
        entry.set_item("row", loss.first.row)?;
        entry.set_item("column", loss.first.column.as_deref())?;
        list.append(entry)?;
    }
    Ok(list.into_any())
}

/// The options of conversions: name, type of the value, choices, formats that have it, help.
#[pyfunction]
pub(crate) fn options(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let registry = Registry::builtin();
    let list = PyList::empty(py);
    for option in registry.options() {
        list.append(describe(py, &option, &registry)?)?;
    }
    Ok(list)
}

fn describe<'py>(py: Python<'py>, option: &OptionSpec, registry: &Registry) -> PyResult<Bound<'py, PyDict>> {
    let entry = PyDict::new(py);
    entry.set_item("name", option.name)?;
    let (kind, choices) = match option.value {
        OptionValue::Flag => ("bool", None),
        OptionValue::Integer(..) => ("int", None),
        OptionValue::File => ("path", None),
        OptionValue::Texts | OptionValue::Names => ("list", None),
        OptionValue::Pairs => ("dict", None),
        OptionValue::Choice(words) => {
            let words = words.iter().filter(|(_, meaning)| !meaning.is_empty()).map(|(word, _)| *word);
            ("str", Some(words.collect::<Vec<_>>()))
        }
        _ => ("str", None),
    };
    entry.set_item("type", kind)?;
    entry.set_item("choices", choices)?;
    if let OptionValue::Integer(min, max) = option.value {
        entry.set_item("range", (min, max))?;
    }
    let mut targets = registry.targets();
    targets.retain(|target| target.options().iter().any(|known| known.name == option.name));
    entry.set_item("formats", targets.iter().map(|target| target.info().name).collect::<Vec<_>>())?;
    entry.set_item("help", option.help)?;
    Ok(entry)
}

/// The formats that can be read, and those that can be written: name, title, extensions.
#[pyfunction]
pub(crate) fn formats(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let registry = Registry::builtin();
    let formats = PyDict::new(py);
    let readable: Vec<&str> = registry.formats().iter().map(|format| format.name()).collect();
    formats.set_item("read", readable)?;
    let written = PyList::empty(py);
    for target in registry.targets() {
        let info = target.info();
        let entry = PyDict::new(py);
        entry.set_item("name", info.name)?;
        entry.set_item("title", info.title)?;
        entry.set_item("extensions", info.extensions.to_vec())?;
        written.append(entry)?;
    }
    formats.set_item("write", written)?;
    Ok(formats)
}
