//! Scripts: statements separated by `;`, and lines with commands such as `.read FILE`.

use std::path::Path;

use wharf::{Error, Result};
use wharf_cli::program::Console;

use super::{Engine, read};

/// Maximum depth of scripts that read others: one that reads itself ends.
const MAX_DEPTH: usize = 16;

/// A part of a script.
#[derive(Debug, PartialEq, Eq)]
enum Part<'s> {
    /// Statements, and the number of lines before them.
    Sql(&'s str, usize),
    /// The file of `.read`.
    Read(&'s str),
}

/// Runs a script. `is_last` says that the result of its last statement is that of the program.
pub(super) fn run(engine: &Engine<'_>, text: &str, is_last: bool, console: &mut Console) -> Result<()> {
    run_at(engine, text, is_last, MAX_DEPTH, console)
}

fn run_at(engine: &Engine<'_>, text: &str, is_last: bool, depth: usize, console: &mut Console) -> Result<()> {
    let parts = parts(text)?;
    let last = parts.len().saturating_sub(1);
    for (number, part) in parts.into_iter().enumerate() {
        let is_last = is_last && number == last;
        match part {
            Part::Sql(sql, lines) => engine.statements(sql, lines, is_last, console)?,
            Part::Read(file) if depth == 0 => {
                return Err(
                    Error::usage(format!("more than {MAX_DEPTH} scripts read one another")).in_file(file.to_owned())
                );
            }
            Part::Read(file) => run_at(engine, &read(Path::new(file))?, is_last, depth - 1, console)?,
        }
    }
    Ok(())
}

/// Divides a script at lines that begin with a dot.
fn parts(text: &str) -> Result<Vec<Part<'_>>> {
    let mut parts = Vec::new();
    let (mut start, mut first_line, mut at) = (0, 0, 0);
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let before = text.get(start..at).unwrap_or_default();
        at += line.len();
        if !line.starts_with('.') || !is_complete(before) {
            continue;
        }
        if !before.trim().is_empty() {
            parts.push(Part::Sql(before, first_line));
        }
        match line.trim_end().strip_prefix(".read ").map(str::trim) {
            Some(file) if !file.is_empty() => parts.push(Part::Read(file.trim_matches('\''))),
            _ => {
                let detail = format!("unknown command {:?}: a script has .read FILE", line.trim_end());
                return Err(Error::usage(detail).in_line(number as u64 + 1));
            }
        }
        (start, first_line) = (at, number + 1);
    }
    let rest = text.get(start..).unwrap_or_default();
    if !rest.trim().is_empty() {
        parts.push(Part::Sql(rest, first_line));
    }
    Ok(parts)
}

/// Whether the text ends after a statement: outside of quotes and comments, at a `;`, or has no statement.
pub(super) fn is_complete(text: &str) -> bool {
    let mut rest = text;
    let mut ended = true;
    while let Some(letter) = rest.chars().next() {
        let (closing, skipped) = match letter {
            '\'' | '"' | '`' => (letter.to_string(), 1),
            _ if rest.starts_with("--") => ("\n".to_owned(), 2),
            _ if rest.starts_with("/*") => ("*/".to_owned(), 2),
            _ => {
                ended = letter == ';' || (ended && letter.is_whitespace());
                rest = rest.get(letter.len_utf8()..).unwrap_or_default();
                continue;
            }
        };
        let is_comment = skipped == 2;
        ended &= is_comment;
        let inside = rest.get(skipped..).unwrap_or_default();
        match inside.find(&closing) {
            Some(end) => rest = inside.get(end + closing.len()..).unwrap_or_default(),
            None => return ended && closing == "\n",
        }
    }
    ended
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_end_at_semicolons_outside_of_quotes_and_comments() {
        for complete in
            ["", " \n", "SELECT 1;", "SELECT ';' ; -- it is", "/* ; */", "SELECT 1; /* ' */ ", "SELECT 'it''s';"]
        {
            assert!(is_complete(complete), "{complete}");
        }
        for open in
            ["SELECT 1", "SELECT ';", "SELECT 1; SELECT", "/* ;", "SELECT \";\"", "SELECT 1 -- ;", "SELECT 'a;\nb"]
        {
            assert!(!is_complete(open), "{open}");
        }
    }

    #[test]
    fn lines_with_a_dot_are_commands() {
        let found = parts("SELECT 1;\n.read 'a b.sql'\n\nSELECT '\n.read no\n';\n").unwrap();
        let expected = [Part::Sql("SELECT 1;\n", 0), Part::Read("a b.sql"), Part::Sql("\nSELECT '\n.read no\n';\n", 2)];
        assert_eq!(found, expected);
        assert!(parts(".tables\n").unwrap_err().to_string().contains("unknown command"));
        assert_eq!(parts("SELECT 1\n.5").unwrap(), [Part::Sql("SELECT 1\n.5", 0)]);
    }
}
