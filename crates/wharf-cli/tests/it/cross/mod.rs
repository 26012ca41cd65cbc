//! Converts every golden table from every format to every other and compares the results with the table, by the rules of
//! `tests/golden/cross/allowances.json`.

mod batches;
mod forms;
mod json_csv;
mod kind;
mod table;
mod time;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use forms::{FORMS, Form, Outcome};
use table::{Rules, Table};

const TABLES: [&str; 6] = ["types", "missing", "unicode", "empty", "wide", "iris"];

/// Known failures, by table, format, output format (several with `|`, `*` for any), and reason. An entry that does work fails the test, and has
/// to become narrower, or go.
const NOT_YET: &[(&str, &str, &str, &str)] = &[];

fn not_yet(table: &str, from: Form, to: Form) -> Vec<usize> {
    let is = |pattern: &str, name: &str| pattern == "*" || pattern.split('|').any(|pattern| pattern == name);
    let places = NOT_YET.iter().enumerate().filter(|(_, (tables, source, target, _))| {
        is(tables, table) && is(source, from.extension) && is(target, to.extension)
    });
    places.map(|(place, _)| place).collect()
}

/// Files written by the reference match the tables.
#[test]
fn reference_files() {
    let mut wrong = Vec::new();
    for name in TABLES {
        let table = Table::open(name);
        for form in FORMS {
            if let Err(why) = forms::check(&form.golden(name), form, form, &table.held(form.rules, Rules::File)) {
                wrong.push(format!("{name}.{}: {why}", form.extension));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn converts_every_form_to_every_other() {
    let tables: Vec<_> = TABLES.iter().map(|name| Table::open(name)).collect();
    let jobs: Vec<_> = tables
        .iter()
        .flat_map(|table| FORMS.iter().flat_map(move |from| FORMS.iter().map(move |to| (table, *from, *to))))
        .collect();
    let (next, results) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let folder = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(4, usize::from) {
            scope.spawn(|| {
                while let Some((table, from, to)) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let target = folder.path().join(format!("{}.{}.{}", table.name, from.extension, to.extension));
                    let outcome = one(table, *from, *to, &target);
                    results.lock().unwrap().push((table.name.clone(), *from, *to, outcome));
                }
            });
        }
    });
    let mut wrong = Vec::new();
    // For each entry of NOT_YET: what works, and what does not.
    let mut entries = vec![(Vec::new(), Vec::new()); NOT_YET.len()];
    for (table, from, to, outcome) in results.into_inner().unwrap() {
        let shown = format!("{table}: {} to {}", from.extension, to.extension);
        let excused = not_yet(&table, from, to);
        match outcome {
            Err(why) if excused.is_empty() => wrong.push(format!("{shown}: {why}")),
            Err(why) => excused.iter().for_each(|place| entries[*place].1.push(format!("{shown}: {why}"))),
            Ok(()) => excused.iter().for_each(|place| entries[*place].0.push(shown.clone())),
        }
    }
    for (entry, (works, fails)) in NOT_YET.iter().zip(entries) {
        match (works.is_empty(), fails.is_empty()) {
            (true, false) => {}
            (true, true) => wrong.push(format!("NOT_YET {entry:?}: there is no such pair: remove it")),
            (false, true) => wrong.push(format!("NOT_YET {entry:?}: all of it works now: remove it")),
            (false, false) => {
                let (works, fails) = (works.join("\n    "), fails.join("\n    "));
                wrong.push(format!(
                    "NOT_YET {entry:?}: some of it works now: make it narrower\n  works:\n    {works}\n  does not:\n    {fails}"
                ));
            }
        }
    }
    wrong.sort();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), jobs.len(), wrong.join("\n"));
}

/// Converts one table from one format to another.
fn one(table: &Table, from: Form, to: Form, target: &std::path::Path) -> Outcome<()> {
    let source = table.held(from.rules, Rules::File);
    let mut expected = source.held(to.rules, Rules::Convert(from.rules));
    // Columns that the output cannot store are not selected; and arguments cannot contain NUL.
    if expected.columns.len() < source.columns.len() {
        expected.columns.retain(|column| !column.name.contains('\0'));
    }
    let names = expected.names();
    let columns =
        (source.columns.len() > names.len() && !(table.rows == 0 && from.is_schemaless())).then_some(&names[..]);
    forms::convert(table, target, (from, to), columns)?;
    forms::check(target, to, from, &expected)
}
