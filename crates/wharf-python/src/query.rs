//! Questions to inputs of any format: statistics of columns, numbers of rows, differences. Answers are JSON of the library as Python values.

use std::ffi::CString;
use std::path::Path;

use container_core::{Error, Overwrite};
use pyo3::prelude::*;
use pyo3::types::{PyAny, PyList};
use serde::Serialize;
use wharf::convert::{Convert, Opener, Report};
use wharf::{Count, Diff, Extract, Lost, Registry, Stats};

use crate::container::Container;
use crate::convert::{OpenFiles, inputs, select};
use crate::error::Result;
use crate::interrupt::interruptible;
use crate::table::Table;
use crate::{map, process};

/// What opens inputs. These files are open already.
pub(crate) fn opener(files: OpenFiles) -> Opener<'static> {
    let mut opener = Opener::new(Registry::builtin());
    opener.access = map::access(true);
    files.into_iter().for_each(|(path, input)| opener.reuse(path, input));
    opener
}

fn json(value: &impl Serialize) -> container_core::Result<String> {
    serde_json::to_string(value).map_err(|cause| Error::invalid("the answer has no JSON form").caused_by(cause))
}

fn loads<'py>(py: Python<'py>, text: &str) -> Result<Bound<'py, PyAny>> {
    Ok(py.import("json")?.call_method1("loads", (text,))?)
}

/// Issues a `LossWarning` for each loss that is not a mere note.
fn warn(py: Python<'_>, losses: &[Lost]) -> Result<()> {
    let category = py.import("wharf_data")?.getattr("LossWarning")?;
    for lost in losses.iter().filter(|lost| lost.loss.count > 0) {
        let message = CString::new(lost.to_string().replace('\0', "\u{fffd}")).unwrap_or_default();
        PyErr::warn(py, &category, &message, 1)?;
    }
    Ok(())
}

/// The statistics of the selected columns.
pub(crate) fn stats<'py>(
    py: Python<'py>,
    (convert, files): (Convert, OpenFiles),
    top: usize,
) -> Result<Bound<'py, PyAny>> {
    let mut report = Report::default();
    let answer = interruptible(py, |cancel| {
        let mut stats = Stats::of(convert.with_progress(cancel));
        stats.top = top;
        let columns = stats.run(&mut opener(files), &mut report)?;
        json(&columns.into_iter().collect::<container_core::Result<Vec<_>>>()?)
    })?;
    warn(py, &report.losses)?;
    loads(py, &answer)
}

/// The number of the selected rows; of each group, if columns are selected.
pub(crate) fn count(py: Python<'_>, convert: Convert) -> Result<Bound<'_, PyAny>> {
    if convert.selection.columns.is_empty() {
        let rows =
            interruptible(py, |cancel| Count::of(convert.with_progress(cancel)).run(&mut opener(OpenFiles::new())))?;
        return Ok(rows.into_pyobject(py).map_err(PyErr::from)?.into_any());
    }
    let mut report = Report::default();
    let answer = interruptible(py, |cancel| {
        json(&Count::of(convert.with_progress(cancel)).run_groups(&mut opener(OpenFiles::new()), &mut report)?)
    })?;
    warn(py, &report.losses)?;
    loads(py, &answer)
}

/// Writes fields of rows into files. Returns their number.
pub(crate) fn extract(
    py: Python<'_>,
    convert: Convert,
    (output, overwrite): (&Path, bool),
    fields: Vec<String>,
    name: Option<String>,
) -> Result<u64> {
    let overwrite = if overwrite { Overwrite::Replace } else { Overwrite::Refuse };
    let mut report = Report::default();
    interruptible(py, |cancel| {
        let mut extract = Extract::of(convert.with_progress(cancel), fields);
        extract.name = name;
        extract.run(output, overwrite, &mut opener(OpenFiles::new()), &mut report)
    })?;
    warn(py, &report.losses)?;
    Ok(report.rows)
}

/// Compares two inputs. Each is a path, an open `Container`, or a `Table`.
#[pyfunction]
#[pyo3(signature = (one, other, *, key=None, tolerance=0.0, relative=0.0, exact=false, types=false, show=10, columns=None, r#where=None, rows=None, table=None))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments")]
pub(crate) fn diff<'py>(
    one: &Bound<'py, PyAny>,
    other: &Bound<'py, PyAny>,
    key: Option<String>,
    tolerance: f64,
    relative: f64,
    exact: bool,
    types: bool,
    show: usize,
    columns: Option<Vec<String>>,
    r#where: Option<&str>,
    rows: Option<(u64, Option<u64>)>,
    table: Option<String>,
) -> Result<Bound<'py, PyAny>> {
    process::remember();
    for (name, number) in [("tolerance", tolerance), ("relative", relative)] {
        if !(number >= 0.0 && number.is_finite()) {
            let detail = format!("must be a number that is not negative, found {number}");
            return Err(Error::usage(detail).in_option(name).into());
        }
    }
    let py = one.py();
    let side = |input: &Bound<'py, PyAny>| -> Result<Convert> {
        let mut convert = match input.cast::<Table>() {
            Ok(table) => table.get().as_input(),
            // An open file is compared as it was opened, even with what its path stands for now.
            Err(_) => match input.cast::<Container>() {
                Ok(container) => container.get().as_input(),
                Err(_) => inputs(PyList::new(py, [input])?.as_any(), None, &mut OpenFiles::new())?,
            },
        };
        if let Some(table) = &table {
            convert.selection.reading.table = Some(table.clone());
        }
        select(convert, columns.clone(), r#where, rows)
    };
    let (one, other) = (side(one)?, side(other)?);
    let mut reports = [Report::default(), Report::default()];
    let answer = interruptible(py, |cancel| {
        let mut diff = Diff::of(one.with_progress(cancel.clone()), other.with_progress(cancel));
        diff.key = key;
        diff.tolerance.absolute = tolerance;
        diff.tolerance.relative = relative;
        diff.tolerance.signed_zero = exact;
        (diff.exact_types, diff.limit) = (types, show);
        json(&diff.run(&mut opener(OpenFiles::new()), &mut reports)?)
    })?;
    for report in &reports {
        warn(py, &report.losses)?;
    }
    loads(py, &answer)
}
