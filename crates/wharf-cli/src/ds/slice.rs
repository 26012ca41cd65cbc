//! Options that select a part of variables.

use container_core::{Error, Result};
use dsfmt::{Reader, Region, Selection};

/// `--sel`, `--at`, `--between` and `--tolerance`.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Part of the variables of ds and NetCDF")]
pub(crate) struct SliceOptions {
    /// Select by index along a dimension, as in Python: DIM=2, DIM=-1, DIM=0,3,5 or DIM=FROM:TO:STEP. Repeatable
    #[arg(long, value_name = "DIM=...", allow_hyphen_values = true)]
    sel: Vec<String>,

    /// Select one value of a coordinate variable, a number, a date or a name, or several separated by commas. Repeatable
    #[arg(long, value_name = "VAR=VALUE", allow_hyphen_values = true)]
    at: Vec<String>,

    /// Select the values of a coordinate variable from A to B, both included; either may be omitted. A date stands for its whole year, month,
    /// day, hour, minute or second; longitudes may cross the end of the axis, as -10..20 where it runs from 0 to 360. Repeatable
    #[arg(long, value_name = "VAR=A..B", allow_hyphen_values = true)]
    between: Vec<String>,

    /// How far the nearest value may be from that of --at, which otherwise must be equal: a number, for times also 6h; inf for any. With VAR=, only
    /// along this coordinate. Repeatable
    #[arg(long, value_name = "[VAR=]NUMBER", requires = "at")]
    tolerance: Vec<String>,
}

impl SliceOptions {
    /// Fails if an option was given: the input has no variables.
    pub(crate) fn refuse(&self) -> Result<()> {
        match self.is_all() {
            true => Ok(()),
            false => Err(Error::usage("--sel, --at and --between require a variable of a ds or NetCDF file")),
        }
    }

    /// Whether no option was given.
    pub(crate) fn is_all(&self) -> bool {
        self.sel.is_empty() && self.at.is_empty() && self.between.is_empty()
    }

    /// The selected part.
    pub(crate) fn region(&self) -> Result<Region> {
        type Parse = fn(Region, &str) -> Result<Region>;
        let options: [(&str, &[String], Parse); 4] = [
            ("sel", &self.sel, Region::parse_indexes),
            ("between", &self.between, Region::parse_between),
            ("at", &self.at, Region::parse_points),
            ("tolerance", &self.tolerance, Region::parse_tolerance),
        ];
        let mut region = Region::new();
        for (name, texts, parse) in options {
            for text in texts {
                region = parse(region, text).map_err(|error| error.in_option(name))?;
            }
        }
        Ok(region)
    }

    /// The selection, with coordinates resolved to indexes.
    pub(crate) fn selection(&self, reader: &Reader) -> Result<Selection> {
        self.region()?.resolve(reader)
    }
}

/// Which part of variables, and in which form.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct PartOptions {
    #[command(flatten)]
    slice: SliceOptions,

    /// Long rows: one for each combination of the dimensions, with the coordinates and the values there. --columns selects variables; without
    /// it, all must share their dimensions
    #[arg(long, help_heading = "Part of the variables of ds and NetCDF")]
    tidy: bool,

    #[command(flatten)]
    packed: PackedOption,
}

/// Whether packed numbers of NetCDF stay packed.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub(crate) struct PackedOption {
    /// Packed numbers as they are stored, not the values that they mean by scale_factor and add_offset (NetCDF)
    #[arg(long, help_heading = "Part of the variables of ds and NetCDF")]
    pub(crate) packed: bool,
}

impl PartOptions {
    /// Adds these options to a selection.
    pub(crate) fn select(&self, mut selection: wharf::hub::select::Selection) -> Result<wharf::hub::select::Selection> {
        selection.reading.packed = self.packed.packed;
        Ok(selection.with_region(self.slice.region()?).with_tidy(self.tidy))
    }
}
