//! Descriptions as JSON.

use serde_json::{Map, Value, json};
use wharf::convert::{OptionSpec, OptionValue, Report, Target, TargetInfo, TargetUnit};
use wharf::{Loss, Registry, Table};

/// The columns of a table.
pub(crate) fn columns(table: &dyn Table) -> Value {
    let column = |(index, column): (usize, &wharf::ColumnInfo)| {
        let mut object = Map::new();
        object.insert("name".to_owned(), column.name.as_str().into());
        object.insert("type".to_owned(), column.kind.as_str().into());
        object.extend(column.details.iter().cloned());
        object.extend(table.column_summary(index));
        if let Some(reason) = &column.unreadable {
            object.insert("unreadable".to_owned(), reason.as_str().into());
        }
        Value::Object(object)
    };
    table.columns().iter().enumerate().map(column).collect()
}

/// What could not be kept.
pub(crate) fn losses(losses: &[Loss]) -> Value {
    losses.iter().map(|loss| self::loss(loss, None)).collect()
}

fn loss(loss: &Loss, file: Option<&str>) -> Value {
    let first = &loss.first;
    json!({
        "what": loss.what,
        "count": loss.count,
        "message": loss.to_string(),
        "file": file.or(first.file.as_deref()),
        "row": first.row,
        "column": first.column.as_deref(),
        "offset": first.byte,
        "line": first.line,
    })
}

/// What a conversion did.
pub(crate) fn report(target: TargetInfo, report: Report) -> Value {
    let mut object = Map::new();
    object.insert("format".to_owned(), target.name.into());
    match target.unit {
        TargetUnit::Variables => object.insert("variables".to_owned(), report.variables.into()),
        _ => object.insert("rows".to_owned(), report.rows.into()),
    };
    if target.unit == TargetUnit::TypedRows {
        object.insert("columns".to_owned(), report.columns.into());
    }
    object.insert("bytes".to_owned(), report.bytes.into());
    let losses = report.losses.iter().map(|lost| loss(&lost.loss, lost.file.as_deref())).collect();
    object.insert("losses".to_owned(), losses);
    Value::Object(object)
}

/// The output formats and their options.
pub(crate) fn targets(registry: &Registry) -> Value {
    let target = |target: Box<dyn Target>| {
        let info = target.info();
        let options: Vec<Value> = target.options().iter().map(option).collect();
        json!({ "name": info.name, "title": info.title, "extensions": info.extensions, "options": options })
    };
    registry.targets().into_iter().map(target).collect()
}

fn option(option: &OptionSpec) -> Value {
    let (kind, values) = match option.value {
        OptionValue::Flag => ("flag", Value::Null),
        OptionValue::Integer(min, max) => ("integer", json!([min, max])),
        OptionValue::Choice(words) => {
            let current = words.iter().filter(|(_, meaning)| !meaning.is_empty());
            ("choice", current.map(|(word, _)| *word).collect())
        }
        OptionValue::File => ("file", Value::Null),
        OptionValue::Character => ("character", Value::Null),
        // `Text`, `Texts`, and future kinds.
        _ => ("text", Value::Null),
    };
    json!({ "name": option.name, "type": kind, "values": values, "help": option.help })
}
