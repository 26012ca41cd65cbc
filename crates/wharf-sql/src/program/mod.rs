//! Arguments in, statements to a session, rows out.

mod prompt;
mod script;
mod statement;

use std::path::{Path, PathBuf};

use clap::Parser;
use tokio::runtime::{Builder, Runtime};
use wharf::{Error, Registry, Result};
use wharf_cli::program::{Console, RowOptions, flag, is_interactive};
use wharf_sql::{Session, SessionOptions};

const EXAMPLES: &str = "\
Examples:
  wharf sql \"SELECT Label, count(*) FROM 'adult.idv' GROUP BY Label\"
  wharf sql \"SELECT * FROM 'days/*.ds' WHERE t2m > 300\" -o hot.parquet     any format; options as for convert
  wharf sql \"COPY (SELECT * FROM 'a.csv' ORDER BY id) TO 'a.idv'\"          the same, as a statement
  wharf sql \"SELECT * FROM wharf('people.zds', 'collection')\"              one table of several
  wharf sql -f queries.sql --csv
  wharf sql                                                                a prompt

Quoted names are files, or patterns of files: 'x.idv', 'days/*.ds'. Names are case-sensitive, as columns in files are.

Exit codes: 0 success; 1 failure; 2 wrong usage, such as an error in the SQL; 3 success with loss (see the warnings).";

/// Query files of any format with SQL
///
/// Rows are printed as a table on a terminal, and as JSON lines into a pipe. Without SQL and files, statements are read from standard input:
/// at a prompt if it is a terminal. The engine is DataFusion.
#[derive(Debug, Parser)]
#[command(name = "wharf sql", version, after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Statements, separated by ;
    #[arg(value_name = "SQL")]
    sql: Option<String>,

    /// Run the statements of a file first; a line `.read FILE` runs another one
    #[arg(short, long, value_name = "FILE")]
    file: Vec<PathBuf>,

    /// Maximum memory of sorts, aggregations and joins, such as 512M or 8G; beyond it they use temporary files
    #[arg(long, value_name = "SIZE", default_value = "2G", value_parser = size)]
    memory: usize,

    /// Maximum number of threads [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,

    #[command(flatten)]
    rows: RowOptions,
}

/// Whether the program shows a prompt.
pub(crate) fn is_prompt() -> bool {
    is_interactive() && Arguments::try_parse().is_ok_and(|arguments| arguments.is_prompt())
}

impl Arguments {
    fn is_prompt(&self) -> bool {
        self.sql.is_none() && self.file.is_empty() && is_interactive()
    }

    fn runtime(&self) -> Result<Runtime> {
        let mut builder = Builder::new_multi_thread();
        if let Some(threads) = self.threads {
            builder.worker_threads(usize::from(threads));
        }
        builder.enable_all().build().map_err(|cause| Error::io("cannot start threads", cause))
    }
}

/// What runs statements.
pub(crate) struct Engine<'a> {
    runtime: Runtime,
    session: Session,
    arguments: &'a Arguments,
    /// Ctrl-C ends the statement, not the program.
    is_interruptible: bool,
}

pub(crate) fn run(arguments: &Arguments, console: &mut Console) -> Result<()> {
    let mut options = SessionOptions::default();
    options.registry = Registry::builtin();
    options.access = arguments.rows.access();
    options.overwrite = arguments.rows.overwrite();
    options.memory = Some(arguments.memory);
    options.threads = arguments.threads.map(usize::from);
    console.name_options(if arguments.rows.is_file() { name_of_output } else { name_in_sql });
    let runtime = arguments.runtime()?;
    let session = {
        let _entered = runtime.enter();
        Session::new(&options)?
    };
    let engine = Engine { runtime, session, arguments, is_interruptible: arguments.is_prompt() };
    let outcome = engine.run(console);
    // Readers of a query that ended early may still be at work.
    engine.runtime.shutdown_background();
    outcome
}

impl Engine<'_> {
    fn run(&self, console: &mut Console) -> Result<()> {
        if self.is_interruptible {
            return prompt::run(self, console);
        }
        let mut scripts = Vec::new();
        for file in &self.arguments.file {
            scripts.push(read(file)?);
        }
        match &self.arguments.sql {
            Some(sql) if sql == "-" => scripts.push(console.read_input()?),
            Some(sql) => scripts.push(sql.clone()),
            None if scripts.is_empty() => scripts.push(console.read_input()?),
            None => {}
        }
        let last = scripts.len().saturating_sub(1);
        for (number, text) in scripts.iter().enumerate() {
            script::run(self, text, number == last, console)?;
        }
        Ok(())
    }
}

/// An option as a flag of this program, unless it is one of an input.
fn name_of_output(option: &str) -> String {
    match option {
        "table" | "from" | "delimiter" | "no_header" => name_in_sql(option),
        _ => flag(option),
    }
}

/// An option as SQL has it, unless it is one of this program.
fn name_in_sql(option: &str) -> String {
    match option {
        "output" | "memory" | "force" => flag(option),
        "table" => "wharf('FILE', 'TABLE')".to_owned(),
        "no_header" => "OPTIONS (header false)".to_owned(),
        _ => format!("OPTIONS ({option} ...)"),
    }
}

fn read(file: &Path) -> Result<String> {
    let text = std::fs::read_to_string(file);
    text.map_err(|cause| Error::io("cannot read", cause).in_file(file.display().to_string()))
}

/// A number of bytes: `1000`, `512M`, `2G`.
fn size(text: &str) -> Result<usize, String> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let shift = match text.get(digits.len()..).unwrap_or_default().to_ascii_uppercase().as_str() {
        "" | "B" => 0,
        "K" | "KB" | "KIB" => 10,
        "M" | "MB" | "MIB" => 20,
        "G" | "GB" | "GIB" => 30,
        "T" | "TB" | "TIB" => 40,
        unit => return Err(format!("unknown unit {unit}: expected K, M, G or T")),
    };
    let number: usize = digits.parse().map_err(|_| "expected a number and a unit, such as 512M".to_owned())?;
    let bytes = number.checked_shl(shift).filter(|bytes| bytes >> shift == number && *bytes > 0);
    bytes.ok_or_else(|| "out of range".to_owned())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn sizes_have_units() {
        assert_eq!((size("1000"), size("512M"), size("2g")), (Ok(1000), Ok(512 << 20), Ok(2 << 30)));
        assert_eq!(size("3KiB"), Ok(3 << 10));
        for wrong in ["", "M", "1X", "0", "99999999999T", "-1", "1.5G"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn arguments_are_consistent() {
        Arguments::command().debug_assert();
    }
}
