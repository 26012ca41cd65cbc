//! What `split`, `sample` and `shuffle` share: options, and the report of what was written.

use container_core::{Overwrite, Result};
use serde_json::{Map, Value};
pub(crate) use wharf::hub::dataset::Dataset;
use wharf::subset::{Copying, Report, Written};

use super::Outcome;
use super::display::{clean, counted};
use super::env::Env;
use super::select::Condition;

/// Options for writing records.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct WriteOptions {
    /// Overwrite existing output
    #[arg(long)]
    pub(crate) force: bool,

    /// Write no .md5 file (datadings). Faster where MD5 is slower than the disk
    #[arg(long)]
    pub(crate) no_md5: bool,

    /// Maximum number of threads; 0 for all processors
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) threads: usize,

    #[command(flatten)]
    pub(crate) condition: Condition,
}

impl WriteOptions {
    pub(crate) fn copying(&self, choice: &TableChoice) -> Result<Copying> {
        let mut copying = Copying::default();
        copying.filter = self.condition.predicate()?;
        copying.table.clone_from(&choice.table);
        (copying.no_md5, copying.threads) = (self.no_md5, self.threads);
        Ok(copying)
    }

    pub(crate) const fn overwrite(&self) -> Overwrite {
        if self.force { Overwrite::Replace } else { Overwrite::Refuse }
    }
}

/// Selects a collection of a ZDS store.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct TableChoice {
    /// The collection, if the store has several
    #[arg(long, value_name = "NAME", help_heading = "Options for ZDS")]
    table: Option<String>,
}

/// A written output as a JSON object.
pub(crate) fn output_object(format: &str, written: &Written) -> Map<String, Value> {
    let mut object = Map::new();
    object.insert("file".into(), written.path.display().to_string().into());
    object.insert("to".into(), format.into());
    object.insert("rows".into(), written.rows.into());
    object.insert("bytes".into(), written.bytes.into());
    object
}

/// Reports losses and outputs. With `show_total`, also how many records the input has.
pub(crate) fn report_outputs(report: &Report, show_total: bool, env: &mut Env<'_>) -> Result<Outcome> {
    let outcome = env.lost(&report.losses);
    for output in &report.outputs {
        let mut object = output_object(report.format, output);
        let mut line = format!("{}: {}", output.path.display(), counted(output.rows, report.unit.words().0));
        if show_total {
            object.insert("of".into(), report.of.into());
            line.push_str(&format!(" of {}", report.of));
        }
        if let Some(seed) = report.seed {
            object.insert("seed".into(), seed.into());
            line.push_str(&format!(", seed {seed}"));
        }
        print_result(object, &line, env)?;
    }
    Ok(outcome)
}

/// Prints a result: the object with `--json`, otherwise the line.
pub(crate) fn print_result(object: impl Into<Value>, line: &str, env: &mut Env<'_>) -> Result<()> {
    let text = if env.json() { object.into().to_string() } else { clean(line).into_owned() };
    env.stdout.print(&format!("{text}\n"))
}
