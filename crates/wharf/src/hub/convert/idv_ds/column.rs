//! What a column becomes: found out before anything is written.

use container_core::{Error, Limits, Result, Scan};
use dsfmt::{DataType, JsonBuf};
use idv::{ItemType, KeyType, KeyWidth, Type, Values, Version};

use super::File;

/// Bytes of an element that is a text, about.
const TEXT: u64 = 16;

/// What the columns of one name are, over all files.
pub(super) struct Survey {
    name: String,
    item: ItemType,
    /// The sizes of vectors; `None` for items.
    inner: Option<Vec<u64>>,
    becomes: Becomes,
    may_miss: bool,
    labelled: bool,
    /// Any rows have been seen: of vectors whose length varies nothing is known before.
    rows: bool,
}

/// What values become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Becomes {
    /// Numbers and truth values as they are.
    Same(DataType),
    /// What rows show: texts, labels and keys; times and row ids as texts.
    Shown(DataType),
    /// Times as whole microseconds.
    Micros,
}

impl Becomes {
    pub(super) const fn data_type(self) -> DataType {
        match self {
            Self::Same(data_type) | Self::Shown(data_type) => data_type,
            Self::Micros => DataType::Int64,
        }
    }
}

/// A variable to be written.
pub(super) struct Plan {
    pub(super) name: String,
    pub(super) item: ItemType,
    pub(super) becomes: Becomes,
    pub(super) data_type: DataType,
    pub(super) may_miss: bool,
    /// Keys are told by their labels.
    pub(super) labelled: bool,
    /// Sizes but for the first.
    pub(super) inner: Vec<u64>,
    /// It has no dimension, and one row.
    pub(super) scalar: bool,
    pub(super) dimensions: Option<Vec<String>>,
    pub(super) time: bool,
    /// NaN is what is missing.
    pub(super) nan_is_missing: bool,
    pub(super) attributes: Vec<(String, JsonBuf)>,
}

impl Plan {
    /// Elements of a row.
    pub(super) fn wide(&self) -> u64 {
        self.inner.iter().product() // which was found not to overflow
    }
}

impl Survey {
    /// Looks at a column of a file: at its values only where the type does not tell enough.
    pub(super) fn of(file: &File<'_>, slot: usize, threads: usize) -> Result<Self> {
        let column = file.column(slot)?;
        let name = column.unique_name().to_owned();
        let kind = column.kind().map_err(|why| why.to_error().in_column(name.clone()))?;
        let old = file.reader.header().version < Version::V6;
        let item = match kind.item() {
            ItemType::TimeSpan if old => ItemType::DvTimeSpan,
            item => item,
        };
        let (mut becomes, may_miss) = match item {
            ItemType::SByte => (Becomes::Same(DataType::Int8), false),
            ItemType::Byte => (Becomes::Same(DataType::Uint8), false),
            ItemType::Int16 => (Becomes::Same(DataType::Int16), false),
            ItemType::UInt16 => (Becomes::Same(DataType::Uint16), false),
            ItemType::Int32 => (Becomes::Same(DataType::Int32), false),
            ItemType::UInt32 => (Becomes::Same(DataType::Uint32), false),
            ItemType::Int64 => (Becomes::Same(DataType::Int64), false),
            ItemType::UInt64 => (Becomes::Same(DataType::Uint64), false),
            ItemType::Single => (Becomes::Same(DataType::Float32), false),
            ItemType::Double => (Becomes::Same(DataType::Float64), false),
            ItemType::Boolean => (Becomes::Same(DataType::Bool), false),
            ItemType::DvBool => (Becomes::Shown(DataType::Bool), true),
            ItemType::Key(key) => (Becomes::Shown(label_type(file, slot)?.unwrap_or(key_type(key))), true),
            ItemType::TimeSpan | ItemType::RowId => (Becomes::Shown(DataType::Unicode), false),
            // Text and times; of what is to come it is not known.
            _ => (Becomes::Shown(DataType::Unicode), true),
        };
        let labelled = matches!(item, ItemType::Key(_)) && label_type(file, slot)?.is_some();
        if matches!(item, ItemType::DateTime | ItemType::DvDateTime) && whole_micros(file, slot, threads)? {
            becomes = Becomes::Micros;
        }
        let inner = match kind {
            Type::Vector { dimensions, .. } if kind.size() > 0 => {
                Some(dimensions.iter().map(|size| u64::from(*size)).collect())
            }
            Type::Vector { dimensions, .. } => Some(with_unknown(dimensions, common_length(file, slot, threads)?)),
            _ => None,
        };
        Ok(Self { name, item, inner, becomes, may_miss, labelled, rows: !file.rows.is_empty() })
    }

    /// Adds the same column of another file; what differs.
    pub(super) fn merge(&mut self, other: &Self) -> Result<(), String> {
        let name = &self.name;
        self.becomes = match (self.becomes, other.becomes) {
            (Becomes::Micros, other) if !self.rows => other,
            (mine, Becomes::Micros) if !other.rows => mine,
            // Those that are whole microseconds are told as the others then.
            (Becomes::Micros, text @ Becomes::Shown(DataType::Unicode))
            | (text @ Becomes::Shown(DataType::Unicode), Becomes::Micros) => text,
            (mine, other) if mine == other => mine,
            (mine, other) => {
                let (found, expected) = (other.data_type(), mine.data_type());
                return Err(format!("column {name:?} becomes {found} where the other becomes {expected}"));
            }
        };
        if std::mem::discriminant(&self.item) != std::mem::discriminant(&other.item) {
            return Err(format!("column {name:?}: type {} where {} is expected", other.item, self.item));
        }
        match (&self.inner, &other.inner) {
            (Some(_), Some(theirs)) if !self.rows => self.inner = Some(theirs.clone()),
            (Some(_), Some(_)) if !other.rows => {}
            (mine, theirs) if mine == theirs => {}
            (mine, theirs) => {
                let sizes = |sizes: &Option<Vec<u64>>| sizes.clone().unwrap_or_default();
                let (found, expected) = (sizes(theirs), sizes(mine));
                return Err(format!("column {name:?}: vectors of the sizes {found:?} where {expected:?} are expected"));
            }
        }
        self.rows |= other.rows;
        self.labelled |= other.labelled;
        self.may_miss |= other.may_miss;
        Ok(())
    }

    /// The variable that it becomes.
    pub(super) fn plan(self, rows: u64) -> Result<Plan> {
        let inner = self.inner.unwrap_or_default();
        let data_type = self.becomes.data_type();
        let each = data_type.width().map_or(TEXT, |width| width as u64);
        let named = |error: Error| error.in_column(self.name.clone());
        let row = inner.iter().try_fold(each, |all, size| all.checked_mul(*size)).unwrap_or(u64::MAX);
        // Of a sparse vector all slots of a row are held, twice while it is written.
        let most = Limits::default().memory_bytes / 2;
        if row > most {
            return Err(named(Error::limit("bytes of a row, all slots of its vector among them", row, most)));
        }
        if rows.checked_mul(row).is_none() {
            return Err(named(Error::unsupported("a dense array of so many items has more than 2^64 bytes")));
        }
        let may_miss = self.may_miss;
        Ok(Plan {
            name: self.name,
            item: self.item,
            becomes: self.becomes,
            data_type,
            may_miss,
            labelled: self.labelled,
            inner,
            scalar: false,
            dimensions: None,
            time: false,
            nan_is_missing: false,
            attributes: Vec::new(),
        })
    }
}

/// The type of a key's numbers, of the same width.
const fn key_type(key: KeyType) -> DataType {
    match key.width {
        KeyWidth::Byte => DataType::Uint8,
        KeyWidth::UInt16 => DataType::Uint16,
        KeyWidth::UInt32 => DataType::Uint32,
        KeyWidth::UInt64 => DataType::Uint64,
    }
}

/// The type of a key's labels, where it has any that can be read.
fn label_type(file: &File<'_>, slot: usize) -> Result<Option<DataType>> {
    let index = file.column(slot)?.index();
    let metadata = file.reader.metadata(index)?;
    let labels = metadata.iter().find(|metadata| metadata.kind() == "KeyValues");
    let Some(Ok(Type::Vector { item, .. })) = labels.map(idv::Metadata::value_type) else { return Ok(None) };
    Ok(Some(match item {
        ItemType::SByte => DataType::Int8,
        ItemType::Byte => DataType::Uint8,
        ItemType::Int16 => DataType::Int16,
        ItemType::UInt16 => DataType::Uint16,
        ItemType::Int32 => DataType::Int32,
        ItemType::UInt32 => DataType::Uint32,
        ItemType::Int64 => DataType::Int64,
        ItemType::UInt64 => DataType::Uint64,
        ItemType::Single => DataType::Float32,
        ItemType::Double => DataType::Float64,
        ItemType::Boolean | ItemType::DvBool => DataType::Bool,
        ItemType::Key(key) => key_type(*key),
        _ => DataType::Unicode,
    }))
}

/// Walks over the values of one column.
fn walk(
    file: &File<'_>,
    slot: usize,
    threads: usize,
    mut look: impl FnMut(&idv::Batch<'_>) -> Result<bool>,
) -> Result<()> {
    let index = file.column(slot)?.index();
    let scan = Scan::default().with_columns([index]).with_rows(file.rows.clone()).with_threads(threads);
    let mut batches = file.reader.batches(&scan)?;
    while let Some(batch) = batches.try_next()? {
        if !look(&batch)? {
            break;
        }
    }
    Ok(())
}

/// Whether all times are missing or whole microseconds.
fn whole_micros(file: &File<'_>, slot: usize, threads: usize) -> Result<bool> {
    let mut whole = true;
    walk(file, slot, threads, |batch| {
        let Some(slice) = batch.column(0) else { return Ok(false) };
        let (items, range) = match slice.values {
            Values::Vector(vectors) => {
                let last = slice.range.end.checked_sub(1).and_then(|last| vectors.get(last));
                let first = vectors.get(slice.range.start);
                let start = first.map_or(0, |vector| vector.range.start);
                (vectors.values(), start..last.map_or(start, |vector| vector.range.end))
            }
            values => (values, slice.range.clone()),
        };
        if let Values::DateTime(ticks) = items {
            let ticks = ticks.get(range).unwrap_or_default();
            whole = ticks.iter().all(|ticks| *ticks == i64::MIN || ticks % 10 == 0);
        }
        Ok(whole)
    })?;
    Ok(whole)
}

/// The length that all vectors have; 0 where there are none.
fn common_length(file: &File<'_>, slot: usize, threads: usize) -> Result<u64> {
    let name = file.column(slot)?.unique_name();
    let mut common: Option<u32> = None;
    walk(file, slot, threads, |batch| {
        let Some(slice) = batch.column(0) else { return Ok(false) };
        let Values::Vector(vectors) = slice.values else { return Ok(false) };
        for place in slice.range.clone() {
            let Some(vector) = vectors.get(place) else { continue };
            let first = *common.get_or_insert(vector.length);
            if first != vector.length {
                let row = batch.rows().start + (place - slice.range.start) as u64;
                let detail = format!(
                    "a vector of {} items where that of row {} has {first}: a variable has one size",
                    vector.length, file.rows.start
                );
                return Err(Error::unsupported(detail).in_row(row).in_column(name.to_owned()).in_format("ds"));
            }
        }
        Ok(true)
    })?;
    Ok(common.unwrap_or(0).into())
}

/// The sizes of a vector whose length was not known, where the one that is unknown follows from it.
fn with_unknown(dimensions: &[u32], length: u64) -> Vec<u64> {
    let sizes = dimensions.iter().map(|size| u64::from(*size));
    let known: u64 = sizes.clone().filter(|size| *size > 0).fold(1, u64::saturating_mul);
    match sizes.clone().filter(|size| *size == 0).count() {
        1 if length.is_multiple_of(known) => sizes.map(|size| if size == 0 { length / known } else { size }).collect(),
        // Which of them is 0 is not known.
        _ if length == 0 => sizes.collect(),
        _ => vec![length],
    }
}
