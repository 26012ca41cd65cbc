//! ds files written: from text, from rows of other containers, from ds and from NetCDF.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use container_core::{Error, Progress, Result};
use dsfmt::{Builder, Field, Reader, Select, Selection, Variable, Writer};
use wharf::convert::import::DsOptions as Taken;

use super::super::Outcome;
use super::super::bar::Bar;
use super::super::edit;
use super::super::env::Env;
use super::super::inputs::Place;
use super::source::{self, Kind, Opened};
use super::text::{does_not_go, together};
use super::{Arguments, Form, refuse, wanted};

/// Options that only the output ds has.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Options for the output ds")]
pub(super) struct DsOptions {
    /// The dimension along which rows lie [default: row; of a ds file that is cut by --rows the only one there is]
    #[arg(long, value_name = "NAME")]
    dim: Option<String>,

    /// Apply scale_factor and add_offset of NetCDF; without, they stay attributes
    #[arg(long)]
    scaled: bool,

    /// What becomes of lists of different lengths in Parquet, Arrow IPC and datadings [default: refuse]
    #[arg(long, value_enum, value_name = "HOW")]
    ragged: Option<RaggedChoice>,

    /// What becomes of structs in Parquet, Arrow IPC and datadings [default: refuse]
    #[arg(long, value_enum, value_name = "HOW")]
    structs: Option<StructsChoice>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum RaggedChoice {
    /// An error
    Refuse,
    /// All are as long as the longest: filled up with missing elements, counted as a loss
    Pad,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum StructsChoice {
    /// An error
    Refuse,
    /// Each member becomes a variable, called a.b
    Flatten,
}

impl DsOptions {
    /// The dimension that is named.
    pub(super) fn dimension(&self) -> Option<&str> {
        self.dim.as_deref()
    }

    /// What becomes of columns that are no variables as they are.
    pub(super) fn shaping(&self) -> (dsfmt::arrow::Ragged, dsfmt::arrow::Structs) {
        use dsfmt::arrow::{Ragged, Structs};

        let ragged = self.ragged.map_or(Ragged::default(), |choice| match choice {
            RaggedChoice::Refuse => Ragged::Refuse,
            RaggedChoice::Pad => Ragged::Pad,
        });
        let structs = self.structs.map_or(Structs::default(), |choice| match choice {
            StructsChoice::Refuse => Structs::Refuse,
            StructsChoice::Flatten => Structs::Flatten,
        });
        (ragged, structs)
    }

    /// Options that were given and are for columns with types.
    fn for_columns(&self) -> [(&'static str, bool); 2] {
        [("--ragged", self.ragged.is_some()), ("--structs", self.structs.is_some())]
    }

    /// True when a dimension is named.
    pub(super) fn has_dimension(&self) -> bool {
        self.dim.is_some()
    }

    /// Fails when one of these is given for another output.
    pub(super) fn refuse(&self, form: Form) -> Result<()> {
        let scaled = self.scaled;
        refuse(&self.for_columns(), "the output ds", form)?;
        refuse(&[("--dim", self.dim.is_some()), ("--scaled", scaled)], "the output ds", form)
    }
}

pub(super) fn run(arguments: &Arguments, places: &[Place], env: &mut Env<'_>) -> Result<Outcome> {
    let (kind, inputs) = source::open(places, arguments.text.from, &mut env.opener)?;
    arguments.text.check(kind)?;
    if arguments.selection.reading.missing_as_null {
        return Err(Error::usage("--missing-as-null is for outputs of text: ds has its own missing values"));
    }
    if !kind.has_types() {
        does_not_go(&arguments.ds.for_columns(), kind)?;
        does_not_go(&[("--on-mismatch", arguments.columnar.has_mismatch())], kind)?;
    }
    match kind {
        Kind::Folder | Kind::Zip => Err(Error::unsupported(format!("{kind} cannot be written as ds so far"))),
        Kind::Container(edit::NAME) => copied(arguments, kind, places, env),
        Kind::Netcdf => super::netcdf::to_ds(arguments, arguments.ds.scaled, places, env),
        Kind::Columns(_) | Kind::Datadings => super::columnar::ds::run(arguments, places, env),
        Kind::Idv => super::idv_ds::run(arguments, places, &inputs, env),
        _ => rows(arguments, kind, places, inputs, env),
    }
}

/// A file with some of its variables, or all.
fn copied(arguments: &Arguments, kind: Kind, places: &[Place], env: &mut Env<'_>) -> Result<Outcome> {
    let selection = &arguments.selection;
    let cut = selection.rows.is_some() || selection.limit.is_some();
    if !cut {
        let rows = [("--dim", arguments.ds.dim.is_some()), ("--table", selection.reading.table.is_some())];
        does_not_go(&rows, kind)?;
    }
    let [place] = places else {
        return Err(Error::usage("several ds files do not become one by convert: `wharf merge` joins them"));
    };
    let reader = edit::open(place, &mut env.opener, "convert")?;
    let named = |error: Error| error.in_file(place.name());
    let chosen: Vec<Variable<'_>> = match super::columns(&selection.columns)? {
        None => reader.variables().collect(),
        Some(names) => names.iter().map(|name| reader.variable(name)).collect::<Result<_>>().map_err(named)?,
    };
    let rows = match cut {
        false => None,
        true => {
            let asked = arguments.ds.dim.as_deref().or(selection.reading.table.as_deref());
            let (dimension, size) = dimension(&reader, asked).map_err(named)?;
            let rows = wanted(selection);
            if let Some(range) = &selection.rows {
                range.check(size).map_err(named)?;
            }
            Some(Cut { dimension, rows: rows.start.min(size)..rows.end.min(size) })
        }
    };
    let mut builder = Builder::new();
    builder.attributes_of(&reader);
    for variable in &chosen {
        let shape = rows.as_ref().and_then(|cut| cut.shape(variable));
        builder.field(
            variable.name(),
            match (shape, variable.data_type()) {
                // Which is stated, as it is in what the reference selects.
                (Some(shape), Some(data_type)) => Field::stream(data_type, shape)
                    .with_missing(variable.is_masked())
                    .like(variable)
                    .with_dimensions(variable.dimensions()),
                _ => Field::copy(variable),
            },
        );
    }
    let path = Path::new(arguments.output());
    edit::put(path, arguments.force, places, env, &mut |path, options| match &rows {
        None => Ok((builder.write(path, options)?, edit::rejected(&builder, &|_| Some(place.name()))?)),
        Some(cut) => {
            let mut writer = builder.clone().begin(path, options)?;
            while let Some(variable) = writer.current().map(|name| reader.variable(name)) {
                cut.write(&variable.map_err(named)?, &mut writer).map_err(named)?;
            }
            Ok((writer.finish()?, Vec::new()))
        }
    })
}

/// The dimension of the rows: the one that is named, or else the only one that comes first in variables.
fn dimension(reader: &Reader, asked: Option<&str>) -> Result<(String, u64)> {
    let all = reader.dimensions();
    let quoted = |names: &[&str]| names.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ");
    let mut first: Vec<&str> = Vec::new();
    let name = match asked {
        Some(name) => name,
        None => {
            for variable in reader.variables().filter(|variable| variable.problem().is_none()) {
                match variable.dimensions().first() {
                    Some(name) if !first.contains(&name.as_str()) => first.push(name),
                    _ => {}
                }
            }
            match first.as_slice() {
                [name] => *name,
                [] => return Err(Error::usage("no variable has a dimension, so there are no rows")),
                names => {
                    let detail = format!("choose one with --dim: the dimensions of rows are {}", quoted(names));
                    return Err(Error::usage(detail));
                }
            }
        }
    };
    let found = all.iter().find(|dimension| dimension.name == name).map(|found| (found.name.clone(), found.size));
    found.ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(|dimension| dimension.name.as_str()).collect();
        Error::usage(format!("there is no dimension {name:?}: there are {}", quoted(&names)))
    })
}

/// Elements that are taken at once, about.
const PIECE: u64 = 256 << 10;

/// Rows along a dimension.
struct Cut {
    dimension: String,
    rows: Range<u64>,
}

impl Cut {
    /// The sizes that are left of a variable; `None` where it does not lie along the dimension.
    fn shape(&self, variable: &Variable<'_>) -> Option<Vec<u64>> {
        let mut shape = variable.shape()?.to_vec();
        let along = |(name, _): &(&String, &mut u64)| *name == &self.dimension;
        let mut found = false;
        for (_, size) in variable.dimensions().iter().zip(&mut shape).filter(along) {
            *size = self.rows.end.min(*size) - self.rows.start.min(*size);
            found = true;
        }
        found.then_some(shape)
    }

    /// Appends what is left of a variable. It takes memory for some rows of its first dimension.
    fn write(&self, variable: &Variable<'_>, writer: &mut Writer<'_>) -> Result<()> {
        let shape = self.shape(variable).unwrap_or_default();
        let first = variable.dimensions().first().is_some_and(|name| *name == self.dimension);
        let whole = variable.dimensions().iter().skip(1).all(|name| *name != self.dimension);
        let wide = shape.iter().skip(1).product::<u64>().max(1);
        let (mut at, rows) = (0, shape.first().copied().unwrap_or(1));
        let signed =
            |number: u64| i64::try_from(number).map_err(|_| Error::usage(format!("row {number} exceeds 2^63")));
        while at < rows {
            let end = rows.min(at.saturating_add((PIECE / wide).max(1)));
            let moved = if first { self.rows.start } else { 0 };
            let piece = if whole {
                variable.read_rows(at + moved..end + moved)?
            } else {
                let inner = Select::range(signed(self.rows.start)?, signed(self.rows.end)?);
                let outer = Select::range(signed(at)?, signed(end)?);
                let selection = Selection::new().with(self.dimension.as_str(), inner);
                match variable.dimensions().first() {
                    Some(name) if !first => variable.select(&selection.with(name.as_str(), outer))?,
                    // Along it twice: all of it at once.
                    _ => {
                        return writer.append(&variable.select(&selection)?);
                    }
                }
            };
            writer.append(&piece)?;
            at = end;
        }
        Ok(())
    }
}

/// Rows of text or of a container.
fn rows(
    arguments: &Arguments,
    kind: Kind,
    places: &[Place],
    inputs: Vec<Opened>,
    env: &mut Env<'_>,
) -> Result<Outcome> {
    let selection = &arguments.selection;
    let mut taken = Taken::default();
    taken.rows = wanted(selection);
    if let Some(dimension) = &arguments.ds.dim {
        taken.dimension.clone_from(dimension);
    }
    taken.columns = super::columns(&selection.columns)?;
    let bar = Arc::new(Bar::new(env.report.terminal && arguments.output() != "-"));
    let name = together(&inputs);
    let mut lost = Vec::new();
    let (kind, inputs) = match kind {
        text if text.is_text() => {
            does_not_go(&[("--table", selection.reading.table.is_some())], kind)?;
            (text, inputs)
        }
        _ => {
            let mut alike = super::Alike::default();
            let mut lines = Vec::with_capacity(inputs.len());
            for input in inputs {
                lines.push(super::lines::as_lines(input, arguments, &mut alike, &mut lost, env)?);
            }
            (Kind::Jsonl, lines)
        }
    };
    let table = arguments.text.table(kind, inputs, selection.reading.threads)?;
    bar.name(name);
    let path = Path::new(arguments.output());
    let outcome = edit::put(path, arguments.force, places, env, &mut |path, options| {
        taken.output = options;
        let imported = table.write_ds(path, &taken, Some(bar.as_ref() as &dyn Progress))?;
        if let Some(range) = &selection.rows
            && imported.passed < taken.rows.end
        {
            range.check(imported.passed)?;
        }
        Ok((imported.written, std::mem::take(&mut lost)))
    });
    bar.clear();
    outcome
}
