//! Record batches as IDV: typed columns keep their types, and those of inputs without a schema are inferred.

use std::collections::HashMap;
use std::io::{Seek, Write};
use std::path::Path;
use std::sync::Arc;

use arrow_schema::extension::{EXTENSION_TYPE_METADATA_KEY, EXTENSION_TYPE_NAME_KEY};
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};
use container_arrow::SPARSE;
use container_core::{ColumnInfo, Error, ErrorKind, Loss, Position, Result};
use idv::arrow::{ArrowOptions, ArrowWriter, NullIntegers};
use idv::{ColumnSchema, ItemType, Type};
use serde_json::Value;

use super::super::super::idv_file::item_type;
use super::super::super::{DS, Lost, schema_file};
use super::super::job::{Context, Job, Report};
use super::super::targets::IdvTarget;
use super::copy::copy;
use super::declared;
use super::inputs::{JoinOptions, Joined};
use super::meaning::{self, Translation};
use super::recode::Recoder;
use super::widen;
use crate::text::records::make_unique;

/// Counts attributes of ds and NetCDF variables that IDV does not get, when they come through another format or with times.
fn attributes(joined: &Joined) -> Option<Lost> {
    let counted = |metadata: &HashMap<String, String>| -> usize {
        let header = metadata.get(DS).and_then(|text| serde_json::from_str::<Value>(text).ok());
        header.as_ref().and_then(|header| header.get("attributes")?.as_object()).map_or(0, |all| all.len())
    };
    let schema = &joined.schema;
    let count =
        counted(schema.metadata()) + schema.fields().iter().map(|field| counted(field.metadata())).sum::<usize>();
    let loss = Loss::new("attribute left out: IDV gets only values and types", count as u64, Position::default());
    (count > 0).then(|| Lost { file: joined.file().map(str::to_owned), loss })
}

/// Writes the rows of all inputs, which have the same columns, to an IDV file.
pub(in super::super) fn write<W: Write + Seek>(
    job: &Job<'_>,
    target: &IdvTarget,
    sink: W,
    context: &mut Context<'_, '_>,
    report: &mut Report,
) -> Result<W> {
    let declared = match &job.text.schema {
        Some(path) => Some(read_schema(path, &job.selection.columns, &mut report.losses)?),
        None => None,
    };
    let mut joined =
        Joined::open_with(job, context.opener, &JoinOptions { declared: declared.clone(), ..JoinOptions::default() })?;
    let is_ds = job.selection.reading.time.is_none() && joined.are_variables();
    match is_ds {
        true => joined.recoder = Some(of_ds(job, &joined, report)?),
        false => report.losses.extend(attributes(&joined)),
    }
    report.columns = joined.output_schema().fields().len();
    let untyped = joined.is_schemaless();
    if untyped {
        let cells = joined.is_cells();
        let fields = joined.schema.fields().iter();
        let fields = fields.map(|field| match (is_declared(field), cells) {
            (true, true) => Ok(Arc::clone(field)),
            (true, false) => Ok(as_json(field)),
            (false, _) => reading_type(field, cells),
        });
        joined.declare(Arc::new(Schema::new(fields.collect::<Result<Vec<_>>>()?)));
    }
    let mut options = target.writer_options(job.selection.reading.threads, Arc::clone(context.progress));
    // Progress counts the rows that are read.
    options.progress = None;
    let integers = if target.missing_as_double { NullIntegers::Double } else { NullIntegers::Error };
    let options = ArrowOptions::from(options)
        .with_null_integers(integers)
        .with_times(job.mapping.times.unwrap_or_default())
        .with_untyped(untyped)
        .with_convert(is_ds);
    let file = joined.file();
    let named = |error: Error| {
        let has_no_type = untyped && error.kind() == ErrorKind::Unsupported;
        let error =
            if has_no_type { error.advising("{schema} can declare it Text, which keeps its JSON") } else { error };
        error.in_optional_file(file.map(str::to_owned))
    };
    let mut writer = ArrowWriter::new(sink, joined.output_schema(), options).map_err(named)?;
    if untyped {
        report.schema = Some(writer.schema().to_json()?).filter(|_| job.text.schema.is_none());
        let columns = writer.schema().columns.iter().zip(joined.schema.fields());
        let declared = declared.unwrap_or_else(|| Arc::new(Schema::empty()));
        let inferred = columns.filter(|(_, field)| declared.column_with_name(field.name()).is_none());
        report.inferred = inferred.map(|(column, field)| described(column, field)).collect();
    }
    copy(job, &joined, context.progress.as_ref(), report, &mut |batch| writer.write(batch))?;
    let (sink, losses) = writer.into_inner()?;
    report.losses.extend(Lost::all(losses, file));
    Ok(sink)
}

/// Translates variables of ds and their attributes. Empty variables are left out; selecting one is an error.
fn of_ds(job: &Job<'_>, joined: &Joined, report: &mut Report) -> Result<Recoder> {
    let file = joined.inputs.first().map(|input| input.name.as_str());
    for input in &joined.inputs {
        let names = meaning::dataset_attributes(&input.metadata)?;
        if !names.is_empty() {
            let what =
                format!("attribute of the dataset left out, IDV has no place for it: {}", meaning::listed(&names));
            let loss = Loss::new(what, names.len() as u64, Position::default());
            report.losses.push(Lost { file: Some(input.name.clone()), loss });
        }
    }
    let (mut fields, mut columns) = (Vec::new(), Vec::new());
    for (index, field) in joined.schema.fields().iter().enumerate() {
        let in_column = |error: Error| {
            error.in_column(field.name().clone()).in_format(DS).in_optional_file(file.map(str::to_owned))
        };
        match meaning::column(field).map_err(in_column)? {
            Some(Translation { field, recode, losses }) => {
                report.losses.extend(Lost::all(losses, file));
                fields.push(field);
                columns.push((index, recode));
            }
            None if !job.selection.columns.is_empty() => {
                let error = Error::usage("variable is empty: an IDV column needs values");
                return Err(in_column(error));
            }
            None => {
                let first = Position::of_column(field.name().clone());
                let loss = Loss::new("empty variable left out: an IDV column needs values", 1, first);
                report.losses.push(Lost { file: file.map(str::to_owned), loss });
            }
        }
    }
    Ok(Recoder { schema: Arc::new(Schema::new(fields)), columns })
}

/// Reads a schema file, reduced to the selected columns. Columns are strings whose metadata carry the IDV type to parse them as.
pub(in super::super) fn read_schema(path: &Path, selected: &[String], losses: &mut Vec<Lost>) -> Result<SchemaRef> {
    let (schema, lost) = schema_file::read(path)?;
    let file = path.display().to_string();
    losses.extend(lost.into_iter().map(|loss| Lost { file: Some(file.clone()), loss }));
    let mut names = schema.columns.iter().map(|column| column.name.clone()).collect();
    make_unique(&mut names);
    let infos: Vec<ColumnInfo> = names.iter().map(|name| ColumnInfo::new(name.clone(), String::new())).collect();
    let chosen = declared::named(&infos, selected)?;
    let columns = chosen.into_iter().filter_map(|index| names.get(index).zip(schema.columns.get(index)));
    let fields = columns.map(|(name, column)| string_for(name, column.clone())).collect::<Result<Vec<_>>>()?;
    Ok(Arc::new(Schema::new(fields)))
}

/// A string column that is parsed as an IDV column.
fn string_for(name: &str, column: ColumnSchema) -> Result<Field> {
    let json = idv::Schema::new([column]).to_json()?;
    let column = json.get(0).map(ToString::to_string).unwrap_or_default();
    let metadata = HashMap::from([(idv::FORMAT.name().to_owned(), column)]);
    Ok(Field::new(name, DataType::Utf8, true).with_metadata(metadata))
}

/// Whether a column is a string that is parsed as a declared IDV column.
fn is_declared(field: &Field) -> bool {
    let is_text = matches!(field.data_type(), DataType::Utf8 | DataType::LargeUtf8);
    is_text && field.metadata().contains_key(idv::FORMAT.name())
}

/// The same column, with each value as JSON.
fn as_json(field: &Field) -> FieldRef {
    let json = widen::json(field.name(), false);
    let mut metadata = field.metadata().clone();
    metadata.extend(json.metadata().clone());
    Arc::new(Field::clone(&json).with_metadata(metadata).with_nullable(field.is_nullable()))
}

/// How a column with an inferred type is read. Times, and vectors that are sparse or have dimensions, stay strings or JSON, which the IDV writer
/// parses without loss; cells of other types without an IDV equivalent stay text.
fn reading_type(field: &FieldRef, cells: bool) -> Result<FieldRef> {
    let parsed_as = |kind| {
        let field = string_for(field.name(), ColumnSchema::new(field.name(), kind))?.with_nullable(field.is_nullable());
        Ok(if cells { Arc::new(field) } else { as_json(&field) })
    };
    let missing = field.is_nullable();
    let text = || Ok(Arc::new(Field::new(field.name(), DataType::Utf8, missing)));
    match field.data_type() {
        DataType::Timestamp(_, zone) if cells => {
            parsed_as(Type::Item(if zone.is_none() { ItemType::DateTime } else { ItemType::DateTimeOffset }))
        }
        DataType::Time64(_) if cells => {
            parsed_as(Type::Item(if missing { ItemType::DvTimeSpan } else { ItemType::TimeSpan }))
        }
        DataType::Struct(_) | DataType::Binary | DataType::LargeBinary if cells => text(),
        // An IDV vector of fixed size cannot be missing; one of variable size can be empty.
        DataType::FixedSizeList(item, _) if field.metadata().contains_key(EXTENSION_TYPE_NAME_KEY) => {
            match item_of(item).zip(shape(field)).filter(|_| missing) {
                Some((item, shape)) => {
                    let kind = Type::Vector { item, dimensions: [0].into_iter().chain(shape).collect() };
                    let column = string_for(field.name(), ColumnSchema::new(field.name(), kind))?;
                    let metadata = field.metadata().iter().chain(column.metadata());
                    let metadata = metadata.map(|(key, value)| (key.clone(), value.clone())).collect();
                    Ok(Arc::new(Field::clone(field).with_metadata(metadata)))
                }
                None => Ok(Arc::clone(field)),
            }
        }
        DataType::List(item) | DataType::FixedSizeList(item, _) => {
            let is_nested = matches!(item.data_type(), DataType::List(_) | DataType::FixedSizeList(..));
            let is_sparse = field.metadata().contains_key(SPARSE);
            match vector(field) {
                Some(kind) if is_nested || is_sparse => parsed_as(kind),
                None if cells => text(),
                _ => Ok(Arc::clone(field)),
            }
        }
        _ => Ok(Arc::clone(field)),
    }
}

/// The vector type of nested lists whose inner lists have fixed sizes.
fn vector(field: &Field) -> Option<Type> {
    let (mut inner, mut dimensions) = (field, Vec::new());
    let item = loop {
        inner = match inner.data_type() {
            DataType::List(item) if dimensions.is_empty() => {
                dimensions.push(0);
                item
            }
            DataType::FixedSizeList(item, size) => {
                dimensions.push(u32::try_from(*size).ok()?);
                item
            }
            _ => break item_of(inner)?,
        };
    };
    Some(Type::Vector { item, dimensions })
}

/// The type of the items of a vector.
fn item_of(field: &Field) -> Option<ItemType> {
    match field.data_type() {
        DataType::Null => Some(ItemType::Text),
        DataType::Utf8View => None,
        _ => item_type(field),
    }
}

/// The sizes of a fixed-shape tensor, without the first.
fn shape(field: &Field) -> Option<Vec<u32>> {
    let tensor: Value = serde_json::from_str(field.metadata().get(EXTENSION_TYPE_METADATA_KEY)?).ok()?;
    let sizes = tensor.get("shape")?.as_array()?.iter().skip(1);
    sizes.map(|size| u32::try_from(size.as_u64()?).ok()).collect()
}

/// An inferred type for reports, and how ML.NET reads its missing values.
fn described(column: &ColumnSchema, field: &Field) -> (String, String) {
    let item = match field.data_type() {
        DataType::List(item) | DataType::FixedSizeList(item, _) => item,
        _ => field,
    };
    let read = match column.kind.item() {
        _ if !item.is_nullable() => None,
        ItemType::Text => Some("empty"),
        ItemType::DvBool => Some("false"),
        ItemType::DvTimeSpan => Some("00:00:00"),
        ItemType::DateTime | ItemType::DateTimeOffset => Some("0001-01-01T00:00:00"),
        _ => None,
    };
    let kind = match read {
        Some(read) => format!("{} (some missing, which ML.NET reads as {read})", column.kind),
        None => column.kind.to_string(),
    };
    (field.name().clone(), kind)
}
