//! Selections, and options that are strings: `name=value`, or `name` for a flag.

use std::ops::Range;

use wharf::convert::{Convert, OptionValue, ParquetTarget, Reading, Target};
use wharf::hub::Overrides;
use wharf::{BatchScan, Error, Registry, Result, Scan};

/// Which rows and columns of which table.
pub(crate) struct Selection<'a> {
    /// The table; `None` for the only one.
    pub(crate) table: Option<&'a str>,
    /// Columns by name; empty for all.
    pub(crate) columns: Vec<&'a str>,
    /// Rows, from 0.
    pub(crate) rows: Range<u64>,
    /// Maximum number of threads; 0 for one per core.
    pub(crate) threads: usize,
}

impl Default for Selection<'_> {
    fn default() -> Self {
        Self { table: None, columns: Vec::new(), rows: 0..u64::MAX, threads: 0 }
    }
}

impl Selection<'_> {
    /// The names as [`select::columns`](wharf::hub::select::columns) expects them, which splits others at commas.
    pub(crate) fn quoted_columns(&self) -> Vec<String> {
        self.columns.iter().map(|name| format!("\"{}\"", name.replace('"', "\"\""))).collect()
    }

    /// Selects the same of the inputs of a conversion.
    pub(crate) fn apply(&self, mut convert: Convert) -> Convert {
        if !self.columns.is_empty() {
            convert = convert.with_columns(self.columns.iter().copied());
        }
        if self.rows != (0..u64::MAX) {
            convert = convert.with_rows(self.rows.clone());
        }
        convert.selection.reading = Reading::new(self.table.map(str::to_owned), self.threads, false);
        convert
    }
}

/// Options of a scan. Those of inputs belong to the container.
const SCAN_OPTIONS: [&str; 4] = ["batch_rows", "times", "sparse", "on_mismatch"];

/// Options of inputs.
const INPUT_OPTIONS: [&str; 3] = ["from", "no_header", "delimiter"];

/// Sets options of a conversion and its target.
pub(crate) fn set(convert: &mut Convert, target: &mut dyn Target, options: &[&str], registry: &Registry) -> Result<()> {
    let known = registry.options();
    for option in options {
        let (name, value) = option.split_once('=').map_or((*option, None), |(name, value)| (name, Some(value)));
        let spec = known.iter().find(|known| known.name == name);
        match (spec, value) {
            (Some(spec), Some(value)) if spec.value == OptionValue::Flag => {
                return Err(Error::usage(format!("is a flag without a value, found {value:?}")).in_option(spec.name));
            }
            (Some(spec), None) if spec.value != OptionValue::Flag => {
                return Err(Error::usage("needs a value, as in name=value").in_option(spec.name));
            }
            _ => convert.set(target, name, value.unwrap_or_default(), registry)?,
        }
    }
    Ok(())
}

/// Sets options, of which only some have a meaning.
fn set_some(options: &[&str], allowed: &[&str], registry: &Registry) -> Result<Convert> {
    for option in options {
        let name = option.split_once('=').map_or(*option, |(name, _)| name);
        if !allowed.contains(&name) {
            return Err(Error::usage(format!("expected one of the options {}, found {name:?}", allowed.join(", "))));
        }
    }
    let mut convert = Convert::default();
    set(&mut convert, &mut ParquetTarget::default(), options, registry)?; // it has all options of scans
    Ok(convert)
}

/// Adds options to a scan.
pub(crate) fn scan(scan: Scan, options: &[&str]) -> Result<BatchScan> {
    let given = set_some(options, &SCAN_OPTIONS, &Registry::builtin())?.mapping;
    let mut scan = BatchScan::from(scan);
    let mapping = &mut scan.mapping;
    mapping.times = given.times.unwrap_or(mapping.times);
    mapping.sparse = given.sparse.unwrap_or(mapping.sparse);
    mapping.on_mismatch = given.on_mismatch.unwrap_or(mapping.on_mismatch);
    Ok(match given.batch_rows {
        Some(rows) => scan.with_batch_rows(usize::try_from(rows).unwrap_or(usize::MAX)),
        None => scan,
    })
}

/// What options declare about an input.
pub(crate) fn overrides(options: &[&str], registry: &Registry) -> Result<Overrides> {
    let text = set_some(options, &INPUT_OPTIONS, registry)?.text;
    let mut overrides = Overrides::default();
    overrides.is_known = true;
    overrides.no_header = text.no_header;
    if let Some(delimiter) = text.delimiter {
        let byte = u8::try_from(delimiter).ok().filter(u8::is_ascii);
        let not_ascii = || Error::usage(format!("must be ASCII, found {delimiter:?}")).in_option("delimiter");
        overrides.delimiter = Some(byte.ok_or_else(not_ascii)?);
    }
    // The values of `from` are names of formats.
    let from = options.iter().rev().find_map(|option| option.strip_prefix("from="));
    overrides.format = registry.formats().iter().map(|format| format.name()).find(|name| Some(*name) == from);
    Ok(overrides)
}
