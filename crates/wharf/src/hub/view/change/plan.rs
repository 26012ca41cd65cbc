//! Which columns a changed table has, and what each is made of.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, SchemaRef};
use container_arrow::{BatchScan, OnMismatch};
use container_core::{ColumnInfo, Error, Loss, Result, Table};

use super::cast;
use super::metadata::Shared;
use super::{Changes, FloatWidth, metadata, vectors};
use crate::hub::select;

/// Maximum number of elements of a concatenated vector: each has a name.
const MAX_SLOTS: usize = 1 << 20;

/// The columns of a changed table.
pub(super) struct Plan {
    pub(super) columns: Vec<Column>,
    /// The columns of the table below that are read, by index, and their changes.
    bases: Vec<Base>,
    /// A column is a variable of ds.
    is_ds: bool,
}

/// A column of the table below.
struct Base {
    /// Its name after renaming.
    name: String,
    /// The index of the column in the table below.
    index: usize,
    to: Option<DataType>,
}

/// A column.
pub(super) struct Column {
    pub(super) info: ColumnInfo,
    pub(super) source: Source,
}

/// What a column is made of.
#[derive(Debug, Clone)]
pub(super) enum Source {
    /// The base of this number.
    Base(usize),
    /// An element of the vectors of a base.
    Slot(usize, usize),
    /// A member of the structs of a base.
    Member(usize, usize),
    /// Vectors of these.
    Vector(Vec<(String, Source)>),
}

impl Source {
    /// The bases that it needs.
    fn bases(&self, found: &mut Vec<usize>) {
        match self {
            Self::Base(base) | Self::Slot(base, _) | Self::Member(base, _) => found.push(*base),
            Self::Vector(parts) => parts.iter().for_each(|(_, part)| part.bases(found)),
        }
    }

    /// The bases whose members it needs.
    fn structs(&self, found: &mut HashSet<usize>) {
        match self {
            Self::Base(_) | Self::Slot(..) => {}
            Self::Member(base, _) => drop(found.insert(*base)),
            Self::Vector(parts) => parts.iter().for_each(|(_, part)| part.structs(found)),
        }
    }
}

/// What decides the types of new columns.
#[derive(Debug, Clone, Copy)]
pub(super) struct Policy {
    pub(super) on_mismatch: OnMismatch,
    /// The width of floats, which vectors have, too.
    pub(super) floats: Option<FloatWidth>,
}

/// What must be known of a table to plan its changes.
pub(super) struct Below<'a> {
    pub(super) table: &'a dyn Table,
    /// How columns are read whose types must be known.
    pub(super) scan: &'a BatchScan,
    /// The schema of these columns, by index.
    pub(super) schema: &'a dyn Fn(&[usize]) -> Result<SchemaRef>,
}

impl Plan {
    /// Plans the changes of a table. `skip_unknown`: names of columns that it lacks are ignored, where that is possible.
    pub(super) fn new(below: &Below<'_>, changes: &Changes, skip_unknown: bool) -> Result<Self> {
        if !below.table.has_schema() {
            below.table.infer_columns()?;
        }
        let all = below.table.columns();
        let names = rename(all, &changes.rename, skip_unknown)?;
        let bases = names.into_iter().enumerate().map(|(index, name)| Base { name, index, to: None }).collect();
        let mut plan = Self { columns: Vec::new(), bases, is_ds: false };
        plan.columns = plan.bases.iter().enumerate().map(|(base, column)| Column::of(column, base, all)).collect();
        plan.check_unique("rename")?;
        for name in &changes.drop {
            if let Some(at) = plan.find(name, "drop", skip_unknown)? {
                plan.columns.remove(at);
            }
        }
        let mut seen = HashSet::new();
        for (name, to) in &changes.cast {
            if !seen.insert(name) {
                return Err(Error::usage(format!("column {name:?} is cast twice")).in_option("cast"));
            }
            let Some(at) = plan.find(name, "cast", skip_unknown)? else { continue };
            if let Some(column) = plan.columns.get_mut(at) {
                column.info.kind = to.to_string();
                if let Source::Base(base) = column.source
                    && let Some(base) = plan.bases.get_mut(base)
                {
                    base.to = Some(to.clone());
                }
            }
        }
        for name in &changes.expand {
            if let Some(at) = plan.find(name, "expand", skip_unknown)? {
                plan.expand(below, changes, at).map_err(|error| error.in_column(name.clone()))?;
            }
        }
        plan.check_unique("expand")?;
        for (name, parts) in &changes.concat {
            plan.concat(below, changes, name, parts)?;
        }
        plan.check_unique("concat")?;
        Ok(plan)
    }

    /// The position of a column.
    fn find(&self, name: &str, option: &'static str, skip_unknown: bool) -> Result<Option<usize>> {
        let found = self.columns.iter().position(|column| column.info.name == name);
        if found.is_none() && !skip_unknown {
            let infos: Vec<ColumnInfo> = self.columns.iter().map(|column| column.info.clone()).collect();
            return Err(select::unknown_column(&infos, name).in_option(option));
        }
        Ok(found)
    }

    fn check_unique(&self, option: &'static str) -> Result<()> {
        let mut names = HashSet::new();
        match self.columns.iter().find(|column| !names.insert(&column.info.name)) {
            Some(twice) => Err(Error::usage(format!("two columns would be called {:?}", twice.info.name))
                .in_option(option)
                .advising("{rename} gives one of them another name, {drop} leaves it out")),
            None => Ok(()),
        }
    }

    /// Replaces a column by its elements or members.
    fn expand(&mut self, below: &Below<'_>, changes: &Changes, at: usize) -> Result<()> {
        let Some(Source::Base(base)) = self.columns.get(at).map(|column| column.source.clone()) else {
            return Err(Error::usage("cannot expand a column that an expansion has made").in_option("expand"));
        };
        let field = self.planned(below, changes, base)?;
        let limit = match changes.expand_limit {
            0 => Changes::DEFAULT_EXPAND_LIMIT,
            limit => limit,
        };
        let check = |count: usize| match count > limit {
            true => Err(Error::limit("columns of one that is expanded", count as u64, limit as u64)
                .advising("{expand_limit} raises the limit")),
            false => Ok(()),
        };
        let new = |name: String, data_type: &DataType, source: Source| Column {
            info: ColumnInfo::new(name, data_type.to_string()),
            source,
        };
        let parts: Vec<Column> = match field.data_type() {
            DataType::Struct(members) => {
                check(members.len())?;
                let name = |member: &FieldRef| format!("{}.{}", field.name(), member.name());
                let members = members.iter().enumerate();
                members.map(|(at, part)| new(name(part), part.data_type(), Source::Member(base, at))).collect()
            }
            DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
                let count = match field.data_type() {
                    DataType::FixedSizeList(_, size) => usize::try_from(*size).unwrap_or(0),
                    _ => self.longest(below, base)?,
                };
                check(count)?;
                let names = slot_names(&field, count).into_iter().enumerate();
                names.map(|(slot, name)| new(name, item.data_type(), Source::Slot(base, slot))).collect()
            }
            other => {
                let detail = format!("expected a vector or a struct, found {other}");
                return Err(Error::usage(detail).in_option("expand"));
            }
        };
        self.columns.splice(at..=at, parts);
        Ok(())
    }

    /// Replaces columns by a vector of their values.
    fn concat(&mut self, below: &Below<'_>, changes: &Changes, name: &str, parts: &[String]) -> Result<()> {
        let in_option = |error: Error| error.in_option("concat");
        let mut places = Vec::new();
        for part in parts {
            let at = self.find(part, "concat", false)?.unwrap_or_default();
            if places.contains(&at) {
                return Err(in_option(Error::usage(format!("column {part:?} occurs twice"))));
            }
            places.push(at);
        }
        let Some(first) = places.iter().min().copied() else {
            return Err(in_option(Error::usage("a vector consists of at least one column")));
        };
        let sources = places.iter().filter_map(|at| self.columns.get(*at));
        let sources: Vec<(String, Source)> =
            sources.map(|column| (column.info.name.clone(), column.source.clone())).collect();
        let source = Source::Vector(sources);
        // The types must go together.
        let mut needed = Vec::new();
        source.bases(&mut needed);
        let fields = self.planned_all(below, changes, &needed)?;
        let policy = Policy { on_mismatch: below.scan.mapping.on_mismatch, floats: changes.floats };
        let field = self.field(name, &source, &fields, policy).map_err(in_option)?;
        let info = ColumnInfo::new(name, field.data_type().to_string());
        let mut at = 0;
        self.columns.retain(|_| {
            at += 1;
            at - 1 == first || !places.contains(&(at - 1))
        });
        if let Some(column) = self.columns.get_mut(first) {
            *column = Column { info, source };
        }
        Ok(())
    }

    /// The field of a base as the table shows it now.
    fn planned(&mut self, below: &Below<'_>, changes: &Changes, base: usize) -> Result<FieldRef> {
        let mut fields = self.planned_all(below, changes, &[base])?;
        fields.remove(&base).ok_or_else(|| Error::usage("the column has no type"))
    }

    fn planned_all(
        &mut self,
        below: &Below<'_>,
        changes: &Changes,
        bases: &[usize],
    ) -> Result<HashMap<usize, FieldRef>> {
        let bases: Vec<usize> = distinct(bases);
        let columns: Vec<usize> =
            bases.iter().filter_map(|base| self.bases.get(*base)).map(|base| base.index).collect();
        let schema = (below.schema)(&columns)?;
        self.is_ds |= schema.fields().iter().any(|field| metadata::is_ds(field));
        let mut fields = HashMap::new();
        for (base, field) in bases.into_iter().zip(schema.fields()) {
            let changed = self.base_field(base, field, changes, below.scan.mapping.on_mismatch, &mut Vec::new())?;
            fields.insert(base, Arc::new(changed));
        }
        Ok(fields)
    }

    /// The length of the longest vector of a column: reads it.
    fn longest(&self, below: &Below<'_>, base: usize) -> Result<usize> {
        let (Some(base), Some(table)) = (self.bases.get(base), below.table.arrow()) else { return Ok(0) };
        let mut scan = below.scan.clone();
        scan.scan.columns = Some(vec![base.index]);
        let mut batches = table.batches(&scan)?;
        let mut longest = 0;
        while let Some(batch) = batches.try_next()? {
            longest = longest.max(batch.columns().first().map_or(0, vectors::longest));
        }
        Ok(longest)
    }

    /// The columns of the table below that these columns need: their bases, in the order of the table.
    pub(super) fn needed(&self, columns: &[usize]) -> Vec<usize> {
        let mut bases = Vec::new();
        columns.iter().filter_map(|at| self.columns.get(*at)).for_each(|column| column.source.bases(&mut bases));
        distinct(&bases)
    }

    /// The index in the table below, and the name in this table.
    pub(super) fn base(&self, base: usize) -> (usize, &str) {
        self.bases.get(base).map_or((0, ""), |base| (base.index, base.name.as_str()))
    }

    /// The column of the table below that a column shows as it is.
    pub(super) fn unchanged(&self, column: usize, changes: &Changes) -> Option<usize> {
        match self.columns.get(column)?.source {
            Source::Base(base) => self.bases.get(base).filter(|base| base.to.is_none()).map(|_| base),
            _ => None,
        }
        .filter(|_| changes.floats.is_none())
    }

    /// The base that a column renames or casts.
    pub(super) fn base_of(&self, column: usize) -> Option<usize> {
        match self.columns.get(column)?.source {
            Source::Base(base) => Some(base),
            _ => None,
        }
    }

    /// The type to which a base is cast.
    pub(super) fn cast_of(&self, base: usize) -> Option<&DataType> {
        self.bases.get(base)?.to.as_ref()
    }

    /// The bases whose changes depend on their type: those that are cast, and structs that are expanded.
    pub(super) fn typed(&self) -> HashSet<usize> {
        let cast = self.bases.iter().enumerate().filter(|(_, base)| base.to.is_some());
        let mut typed = cast.map(|(number, _)| number).collect();
        self.columns.iter().for_each(|column| column.source.structs(&mut typed));
        typed
    }

    /// The field of a base, renamed and cast.
    pub(super) fn base_field(
        &self,
        base: usize,
        field: &Field,
        changes: &Changes,
        on_mismatch: OnMismatch,
        lost: &mut Vec<Loss>,
    ) -> Result<Field> {
        let Some(base) = self.bases.get(base) else { return Ok(field.clone()) };
        let renamed = metadata::renamed(field, &base.name);
        let from = field.data_type();
        let to = match (&base.to, changes.floats) {
            (Some(to), _) => cast::target(from, to),
            (None, Some(width)) => cast::with_floats(from, width),
            (None, None) => return Ok(renamed),
        };
        if *from == to {
            return Ok(renamed);
        }
        let option = if base.to.is_some() { "cast" } else { "floats" };
        let in_option = |error: Error| error.in_column(base.name.clone()).in_option(option);
        cast::check(from, &to).map_err(in_option)?;
        if metadata::is_unsigned(field) {
            let detail = format!("expected {from}, found {to}: the attribute \"_Unsigned\" holds for this type alone");
            return Err(in_option(Error::usage(detail)));
        }
        let may_be_null = cast::makes_null(from, on_mismatch);
        let to = if may_be_null { cast::nullable(&to) } else { to };
        Ok(metadata::cast(&renamed, to, lost).with_nullable(field.is_nullable() || may_be_null))
    }

    /// The field of a column, given those of its bases.
    pub(super) fn field_of(&self, column: usize, bases: &HashMap<usize, FieldRef>, policy: Policy) -> Result<FieldRef> {
        let column = self.columns.get(column).ok_or_else(|| Error::usage(format!("no column {column}")))?;
        self.field(&column.info.name, &column.source, bases, policy)
    }

    /// What the columns of a vector lose by becoming part of it.
    pub(super) fn lost(
        &self,
        column: usize,
        bases: &HashMap<usize, FieldRef>,
        policy: Policy,
        lost: &mut Vec<Loss>,
    ) -> Result<()> {
        if let Some(Source::Vector(parts)) = self.columns.get(column).map(|column| &column.source) {
            let fields = self.parts(parts, bases, policy)?;
            let shared = Shared::of(&fields);
            lost.extend(fields.iter().flat_map(|field| shared.lost(field)));
        }
        Ok(())
    }

    fn field(&self, name: &str, source: &Source, bases: &HashMap<usize, FieldRef>, policy: Policy) -> Result<FieldRef> {
        let of = |base: &usize| bases.get(base).ok_or_else(|| Error::usage("the column has no type"));
        Ok(match source {
            Source::Base(base) => Arc::clone(of(base)?),
            Source::Slot(base, _) => {
                let field = of(base)?;
                match field.data_type() {
                    DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
                        let is_fixed = matches!(field.data_type(), DataType::FixedSizeList(..));
                        let nullable = field.is_nullable() || item.is_nullable() || !is_fixed;
                        Arc::new(metadata::slot(field, item, name).with_nullable(nullable))
                    }
                    other => return Err(changed_type(field.name(), other)),
                }
            }
            Source::Member(base, member) => {
                let field = of(base)?;
                let DataType::Struct(members) = field.data_type() else {
                    return Err(changed_type(field.name(), field.data_type()));
                };
                let member = members.get(*member).ok_or_else(|| changed_type(field.name(), field.data_type()))?;
                let nullable = field.is_nullable() || member.is_nullable();
                Arc::new(Field::clone(member).with_name(name).with_nullable(nullable))
            }
            Source::Vector(parts) => Arc::new(self.vector(name, &self.parts(parts, bases, policy)?, policy)?),
        })
    }

    /// The fields of the parts of a vector.
    fn parts(
        &self,
        parts: &[(String, Source)],
        bases: &HashMap<usize, FieldRef>,
        policy: Policy,
    ) -> Result<Vec<FieldRef>> {
        let field = |(name, source): &(String, Source)| {
            let field = self.field(name, source, bases, policy)?;
            Ok(if field.name() == name { field } else { Arc::new(Field::clone(&field).with_name(name)) })
        };
        parts.iter().map(field).collect()
    }

    /// The field of a vector of these columns.
    fn vector(&self, name: &str, parts: &[FieldRef], policy: Policy) -> Result<Field> {
        let shared = Shared::of(parts);
        let (mut names, mut item): (Vec<String>, Option<DataType>) = (Vec::new(), None);
        let mut nullable = policy.on_mismatch == OnMismatch::Null;
        for field in parts {
            let wrong = |detail: String| Error::usage(detail).in_column(field.name().clone());
            if shared.is_packed_otherwise(field) {
                let detail =
                    "packed numbers, with scale_factor, add_offset or _Unsigned, cannot be in a vector with others";
                return Err(wrong(detail.to_owned()));
            }
            nullable |= field.is_nullable();
            let (data_type, slots) = match field.data_type() {
                DataType::FixedSizeList(of, size) => {
                    nullable |= of.is_nullable();
                    let size = usize::try_from(*size).unwrap_or(0);
                    let all = names.len().saturating_add(size);
                    if all > MAX_SLOTS {
                        return Err(Error::limit("elements of a vector", all as u64, MAX_SLOTS as u64));
                    }
                    (of.data_type(), slot_names(field, size))
                }
                other => (other, vec![field.name().clone()]),
            };
            if !cast::is_number(data_type) {
                let detail = format!("expected numbers or vectors of one length of them, found {data_type}");
                return Err(wrong(detail).advising("{cast} changes the type"));
            }
            if let Some(before) = item.as_ref().filter(|before| *before != data_type)
                && metadata::is_unsigned(field)
            {
                let detail = format!(
                    "expected {before} like the others, found {data_type}: the attribute \"_Unsigned\" holds for one type alone"
                );
                return Err(wrong(detail));
            }
            item = Some(item.map_or_else(|| data_type.clone(), |before| common(&before, data_type)));
            names.extend(slots);
        }
        let item = match (item, policy.floats) {
            (Some(item), Some(width)) if item.is_floating() => width.data_type(),
            (item, _) => item.unwrap_or(DataType::Null),
        };
        let item = Field::new_list_field(item, nullable);
        metadata::vector(name, Arc::new(item), &names, shared, self.is_ds)
    }
}

impl Changes {
    /// Fails for a changed name that is missing among these columns of all inputs.
    pub(crate) fn check_names(&self, all: &[ColumnInfo]) -> Result<()> {
        let names = rename(all, &self.rename, false)?;
        let renamed: Vec<ColumnInfo> = names.into_iter().map(|name| ColumnInfo::new(name, "")).collect();
        let casts = self.cast.iter().map(|(name, _)| ("cast", name));
        let drops = self.drop.iter().map(|name| ("drop", name));
        let mut changed = drops.chain(casts).chain(self.expand.iter().map(|name| ("expand", name)));
        let unknown = changed.find(|(_, name)| !renamed.iter().any(|column| column.name == **name));
        match unknown {
            Some((option, name)) => Err(select::unknown_column(&renamed, name).in_option(option)),
            None => Ok(()),
        }
    }
}

impl Column {
    fn of(base: &Base, number: usize, all: &[ColumnInfo]) -> Self {
        let mut info = all.get(base.index).cloned().unwrap_or_else(|| ColumnInfo::new("", ""));
        info.name.clone_from(&base.name);
        Self { info, source: Source::Base(number) }
    }
}

/// The names of all columns after renaming.
fn rename(all: &[ColumnInfo], changes: &[(String, String)], skip_unknown: bool) -> Result<Vec<String>> {
    let mut names: HashMap<&str, &str> = HashMap::new();
    for (from, to) in changes {
        if !skip_unknown && !all.iter().any(|column| column.name == *from) {
            return Err(select::unknown_column(all, from).in_option("rename"));
        }
        if names.insert(from, to).is_some() {
            return Err(Error::usage(format!("column {from:?} is renamed twice")).in_option("rename"));
        }
    }
    let name =
        |column: &ColumnInfo| names.get(&*column.name).map_or_else(|| column.name.clone(), |to| (*to).to_owned());
    Ok(all.iter().map(name).collect())
}

/// The names of the elements of a vector: those it has, made unique, and `COLUMN_0`, `COLUMN_1`, ... for the others.
fn slot_names(field: &Field, count: usize) -> Vec<String> {
    let own = metadata::slot_names(field, count).unwrap_or_default();
    let name = |slot: usize| match own.get(slot) {
        Some(name) if !name.is_empty() => name.clone(),
        _ => format!("{}_{slot}", field.name()),
    };
    let mut names = (0..count).map(name).collect();
    crate::text::records::make_unique(&mut names);
    names
}

/// The type that holds the numbers of both: exactly, except for integers of 64 bits, which are checked one by one.
fn common(one: &DataType, other: &DataType) -> DataType {
    use DataType::{Float16, Float32, Float64, Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64};

    let bits = |data_type: &DataType| data_type.primitive_width().unwrap_or(8) * 8;
    if one == other {
        return one.clone();
    }
    match (one.is_floating(), other.is_floating()) {
        (true, true) => if bits(one) < bits(other) { other } else { one }.clone(),
        (true, false) | (false, true) => {
            let (float, integer) = if one.is_floating() { (one, other) } else { (other, one) };
            match (float, bits(integer)) {
                (Float16, 8) => Float16,
                (Float16 | Float32, 8 | 16) => Float32,
                _ => Float64,
            }
        }
        (false, false) => {
            let signed = |data_type: &DataType| data_type.is_signed_integer();
            let width = bits(one).max(bits(other));
            match (signed(one) == signed(other), signed(one)) {
                (true, true) => [Int8, Int16, Int32, Int64].into_iter().find(|wider| bits(wider) >= width),
                (true, false) => [UInt8, UInt16, UInt32, UInt64].into_iter().find(|wider| bits(wider) >= width),
                (false, _) => {
                    let unsigned = if signed(one) { bits(other) } else { bits(one) };
                    let least = width.max(unsigned * 2);
                    // As everywhere, where types are joined.
                    [Int16, Int32, Int64].into_iter().find(|wider| bits(wider) >= least).or(Some(UInt64))
                }
            }
            .unwrap_or(Int64)
        }
    }
}

fn changed_type(column: &str, found: &DataType) -> Error {
    Error::usage(format!("expected vectors or structs as in all rows, found {found}")).in_column(column.to_owned())
}

fn distinct(numbers: &[usize]) -> Vec<usize> {
    let mut known = HashSet::new();
    numbers.iter().copied().filter(|number| known.insert(*number)).collect()
}
