//! IDV files into one.

use std::sync::Arc;

use container_core::{Access, Error, Output, Progress, Result, Unit};
use serde_json::json;

use super::super::Outcome;
use super::super::bar::Bar;
use super::super::env::Env;
use super::super::human::counted;
use super::super::inputs::Location;
use super::super::output;
use super::super::report::Lost;
use super::super::select;
use super::super::writing::{self, Writing};
use super::Arguments;
use wharf::hub::pour;

/// An input, opened, with the columns wanted of it.
struct File {
    location: Location,
    reader: idv::Reader,
    columns: Vec<usize>,
    lost: Vec<Lost>,
}

pub(super) fn run(arguments: &Arguments, locations: &[Location], env: &mut Env<'_>) -> Result<Outcome> {
    if env.opener.access == Access::Auto {
        // Bytes that are only copied are copied faster so.
        env.opener.access = Access::Positional;
    }
    let mut files = Vec::with_capacity(locations.len());
    for location in locations {
        files.push(open(location, &arguments.columns, env)?);
    }
    let schema = schema(&files, &arguments.writing)?;
    let output = output::create(&arguments.output, arguments.force, locations)?;
    let name = output.path().display().to_string();
    let bar = Arc::new(Bar::new(env.report.terminal));
    bar.begin(Unit::Rows, Some(files.iter().map(|file| file.reader.row_count()).fold(0, u64::saturating_add)));
    let mut lost: Vec<Lost> = files.iter_mut().flat_map(|file| std::mem::take(&mut file.lost)).collect();
    let (output, copied, rows) =
        write(arguments, &files, schema, output, &mut lost, &bar).inspect_err(|_| bar.clear())?;
    let bytes = output.file().metadata().map_or(0, |metadata| metadata.len());
    output.finish()?;
    bar.clear();
    lost.iter().for_each(|lost| env.report.lost(lost));
    if env.json() {
        let done = json!({
            "file": name, "to": "idv", "rows": rows, "bytes": bytes, "inputs": files.len(),
            "blocks_carried": copied.carried, "blocks_encoded": copied.encoded,
        });
        env.stdout.print(&format!("{done}\n"))?;
    } else {
        let (inputs, blocks) = (counted(files.len(), "file"), counted(copied.carried + copied.encoded, "block"));
        let carried = copied.carried;
        env.report.note(format!("{name}: {} of {inputs}, {carried} of {blocks} carried over", counted(rows, "row")));
    }
    Ok(Outcome::after(&lost))
}

fn open(location: &Location, columns: &[String], env: &mut Env<'_>) -> Result<File> {
    let reader = writing::reader(location, &mut env.opener, "merge")?;
    let named = |error: Error| error.in_file(location.name());
    let container = idv::IdvContainer::new(reader.clone());
    let chosen = select::columns(&container, columns).map_err(named)?;
    let (columns, lost) = match chosen {
        Some(chosen) => (chosen, Vec::new()),
        None => {
            let readable = reader.columns().iter().filter(|column| column.kind().is_ok());
            (readable.map(idv::Column::index).collect(), pour::unreadable(location, &container))
        }
    };
    Ok(File { location: location.clone(), reader, columns, lost })
}

/// The schema of the first file, which all others have to have.
fn schema(files: &[File], writing: &Writing) -> Result<idv::Schema> {
    let schema_of =
        |file: &File| file.reader.schema(Some(&file.columns)).map_err(|error| error.in_file(file.location.name()));
    let Some((first, others)) = files.split_first() else {
        return Err(Error::usage("there are no files to merge"));
    };
    let mut schema = schema_of(first)?;
    for file in others {
        if let Some(difference) = schema.difference(&schema_of(file)?) {
            let detail = format!("its columns differ from those of {}: {difference}", first.location.name());
            return Err(Error::invalid(detail).in_file(file.location.name()));
        }
    }
    writing.apply(&mut schema);
    Ok(schema)
}

fn write(
    arguments: &Arguments,
    files: &[File],
    schema: idv::Schema,
    output: Output,
    lost: &mut Vec<Lost>,
    bar: &Arc<Bar>,
) -> Result<(Output, idv::Copied, u64)> {
    let readers: Vec<idv::Reader> = files.iter().map(|file| file.reader.clone()).collect();
    let options = arguments.writing.options(arguments.threads, Arc::clone(bar) as Arc<dyn Progress>);
    let name = output.path().display().to_string();
    let named = |error: Error| error.in_file(name.clone());
    let mut writer = idv::Writer::new(output, schema, options.with_blocks_of(&readers)).map_err(named)?;
    let mut copied = idv::Copied::default();
    for (number, file) in files.iter().enumerate() {
        bar.name(&format!("{} ({} of {})", file.location.name(), number + 1, files.len()));
        let more = writer.append_blocks(&file.reader, Some(&file.columns));
        let more = more.map_err(|error| error.in_file(file.location.name()))?;
        copied.carried += more.carried;
        copied.encoded += more.encoded;
        let losses = writer.take_losses();
        lost.extend(losses.into_iter().map(|loss| Lost { file: Some(file.location.name()), loss }));
    }
    let rows = writer.row_count();
    Ok((writer.finish().map_err(named)?, copied, rows))
}
