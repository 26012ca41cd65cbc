//! The prompt: lines with history and completion until a statement is complete.

use std::path::{Path, PathBuf};

use rustyline::completion::{Completer, Pair};
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::DefaultHistory;
use rustyline::validate::Validator;
use rustyline::{Context, Editor, Helper};
use wharf::{Error, Result};
use wharf_cli::program::Console;

use super::{Engine, script};

const HELP: &str = "\
Statements end with ; and can have several lines. Quoted names in FROM are files: SELECT * FROM 'x.idv' LIMIT 10;
  .read FILE   run the statements of a file
  .tables      list the tables of this session
  .help        this text
  .quit        leave; Ctrl-D, too
Ctrl-C cancels the query. Tab completes keywords, tables, functions and, inside of quotes, files.
";

pub(super) fn run(engine: &Engine<'_>, console: &mut Console) -> Result<()> {
    let failed = |error: ReadlineError| Error::io("cannot read from the terminal", std::io::Error::other(error));
    let mut editor: Editor<Words, DefaultHistory> = Editor::new().map_err(failed)?;
    editor.set_helper(Some(Words::new(engine)));
    let history = history_file();
    if let Some(history) = &history {
        let _ = editor.load_history(history); // the first time, the file is missing
    }
    let mut text = String::new();
    loop {
        match editor.readline(if text.is_empty() { "wharf> " } else { "   ... " }) {
            Ok(line) if text.is_empty() && line.trim() == ".quit" => break,
            Ok(line) => {
                text.push_str(&line);
                text.push('\n');
            }
            Err(ReadlineError::Interrupted) => {
                text.clear();
                continue;
            }
            Err(ReadlineError::Eof) => break,
            Err(error) => return Err(failed(error)),
        }
        if !text.starts_with('.') && !script::is_complete(&text) {
            continue;
        }
        let entered = std::mem::take(&mut text);
        if entered.trim().is_empty() {
            continue;
        }
        let _ = editor.add_history_entry(entered.trim_end()); // a history that is full
        if let Err(error) = enter(engine, &entered, console) {
            console.fail(&error);
        }
        console.reset();
        if let Some(helper) = editor.helper_mut() {
            helper.tables = engine.tables();
        }
    }
    if let Some(history) = &history {
        let _ = editor.save_history(history); // the folder cannot be written: the next session has no history
    }
    Ok(())
}

fn enter(engine: &Engine<'_>, text: &str, console: &mut Console) -> Result<()> {
    match text.trim() {
        ".help" => console.print(HELP),
        ".tables" => {
            let own =
                "SELECT table_name, table_type FROM information_schema.tables WHERE table_schema = 'public' ORDER BY 1";
            script::run(engine, own, true, console)
        }
        _ => script::run(engine, text, true, console),
    }
}

/// Where the history is kept.
fn history_file() -> Option<PathBuf> {
    let folder = |name: &str| std::env::var_os(name).filter(|path| !path.is_empty()).map(PathBuf::from);
    let state = folder("XDG_STATE_HOME").or_else(|| Some(folder("HOME")?.join(".local/state")))?;
    let folder = state.join("wharf");
    std::fs::create_dir_all(&folder).ok()?;
    Some(folder.join("sql_history"))
}

/// Words that Tab completes.
struct Words {
    keywords: Vec<String>,
    tables: Vec<String>,
}

const KEYWORDS: &str = "ANALYZE AND AS ASC BETWEEN BY CASE CAST COPY CREATE CROSS DESC DESCRIBE DISTINCT DROP ELSE END EXCEPT EXPLAIN \
    EXTERNAL FALSE FROM FULL GROUP HAVING IN INNER INSERT INTERSECT INTO IS JOIN LEFT LIKE LIMIT LOCATION NOT NULL OFFSET ON OPTIONS OR ORDER \
    OUTER OVER PARTITION RIGHT SELECT SET SHOW STORED TABLE TABLES THEN TO TRUE UNION USING VALUES VIEW WHEN WHERE WITH";

impl Words {
    fn new(engine: &Engine<'_>) -> Self {
        let state = engine.session.context().state();
        let mut keywords: Vec<String> = KEYWORDS.split_whitespace().map(str::to_owned).collect();
        let functions = [
            state.scalar_functions().keys().cloned().collect::<Vec<_>>(),
            state.aggregate_functions().keys().cloned().collect(),
            state.window_functions().keys().cloned().collect(),
            state.table_functions().keys().cloned().collect(),
        ];
        keywords.extend(functions.into_iter().flatten().map(|name| format!("{name}(")));
        keywords.sort_unstable();
        keywords.dedup();
        Self { keywords, tables: engine.tables() }
    }

    fn complete(&self, line: &str) -> (usize, Vec<String>) {
        if line.matches('\'').count() % 2 == 1 {
            let start = line.rfind('\'').map_or(0, |quote| quote + 1);
            return (start, files(line.get(start..).unwrap_or_default()));
        }
        let start = line.rfind(|letter: char| !letter.is_alphanumeric() && letter != '_').map_or(0, |at| at + 1);
        let word = line.get(start..).unwrap_or_default();
        let is_lower = word.chars().any(char::is_lowercase);
        let keywords = self.keywords.iter().filter(|keyword| starts_with(keyword, word));
        let keywords = keywords.map(|keyword| if is_lower { keyword.to_lowercase() } else { keyword.clone() });
        let tables = self.tables.iter().filter(|table| starts_with(table, word)).cloned();
        (start, if word.is_empty() { Vec::new() } else { tables.chain(keywords).collect() })
    }
}

fn starts_with(whole: &str, start: &str) -> bool {
    whole.get(..start.len()).is_some_and(|part| part.eq_ignore_ascii_case(start))
}

/// Paths that begin like this, folders with a slash at their end.
fn files(start: &str) -> Vec<String> {
    let (folder, name) = start.rsplit_once('/').map_or(("", start), |(folder, name)| (folder, name));
    let prefix = if start.contains('/') { format!("{folder}/") } else { String::new() };
    let listed = if prefix.is_empty() { Path::new(".") } else { Path::new(&prefix) };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(listed).into_iter().flatten().flatten() {
        let Ok(own) = entry.file_name().into_string() else { continue };
        if own.starts_with(name) && (name.starts_with('.') || !own.starts_with('.')) {
            let slash = if entry.path().is_dir() { "/" } else { "" };
            found.push(format!("{prefix}{own}{slash}"));
        }
    }
    found.sort_unstable();
    found
}

impl Completer for Words {
    type Candidate = Pair;

    fn complete(&self, line: &str, position: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<Pair>)> {
        let (start, words) = Self::complete(self, line.get(..position).unwrap_or_default());
        Ok((start, words.into_iter().map(|word| Pair { display: word.clone(), replacement: word }).collect()))
    }
}

impl Hinter for Words {
    type Hint = String;
}

impl Highlighter for Words {}
impl Validator for Words {}
impl Helper for Words {}

impl Engine<'_> {
    /// The names of the tables of this session.
    fn tables(&self) -> Vec<String> {
        let state = self.session.context().state();
        let catalogs = state.catalog_list();
        let options = &state.config_options().catalog;
        let schema =
            catalogs.catalog(&options.default_catalog).and_then(|catalog| catalog.schema(&options.default_schema));
        schema.map(|schema| schema.table_names()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tab_completes_words_and_files() {
        let words =
            Words { keywords: vec!["FROM".into(), "FULL".into(), "sum(".into()], tables: vec!["flights".into()] };
        assert_eq!(words.complete("SELECT * F"), (9, vec!["flights".into(), "FROM".into(), "FULL".into()]));
        assert_eq!(words.complete("select su"), (7, vec!["sum(".into()]));
        assert_eq!(words.complete("SELECT "), (7, vec![]));
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("days.idv"), "").unwrap();
        std::fs::create_dir(folder.path().join("data")).unwrap();
        let start = format!("FROM '{}/da", folder.path().display());
        let (at, found) = words.complete(&start);
        assert_eq!(at, 6);
        let path = folder.path().display();
        assert_eq!(found, [format!("{path}/data/"), format!("{path}/days.idv")]);
    }
}
