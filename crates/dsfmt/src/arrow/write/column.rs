//! A column to write.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array as _, ArrayRef, RecordBatch};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType as ArrowType, Field as ArrowField, FieldRef};
use container_core::{Error, Limits, Loss, Position, Result};

use super::super::{bits, meta};
use super::dimensions::Dimensions;
use super::leaf::Leaf;
use super::lists::{self, Level, MaskWriter, Parents, dense, nth_valid};
use super::{Structs, WriterOptions};
use crate::FORMAT_NAME;
use crate::wire::bit_bytes;
use crate::write::assembly::Body;
use crate::write::bits::Packer;
use crate::write::field::Field;
use crate::write::layout;
use crate::write::spool::Spool;

/// Bounds for a mask in bytes: always allowed, and per byte of values. Padded lists could need any number.
const FREE_MASK_BYTES: u64 = 1 << 30;
const MASK_GROWTH: u64 = 8;

/// A column, and the values received so far.
pub(super) struct Column {
    pub(super) name: String,
    /// Index of the column in a batch, then of members in structs.
    path: Vec<usize>,
    metadata: meta::FieldMetadata,
    levels: Vec<Level>,
    leaf: Leaf,
    /// Section with the mask of the innermost items.
    mask: usize,
    packer: Packer,
    /// Number of items, and of null items, so far.
    items: u64,
    nulls: u64,
    zone: Option<Arc<str>>,
}

/// A complete column.
pub(super) struct Finished {
    pub(super) field: Field<'static>,
    pub(super) masked: bool,
    pub(super) len: u64,
    pub(super) losses: Vec<Loss>,
}

/// Adds the columns of a field: one, or those of a struct's members.
pub(super) fn columns(
    field: &FieldRef,
    name: String,
    path: Vec<usize>,
    options: &WriterOptions,
    spool: &mut Spool,
    out: &mut Vec<Column>,
) -> Result<()> {
    Limits::default().check_columns("number of variables", out.len() as u64 + 1)?;
    if let ArrowType::Struct(members) = field.data_type() {
        if options.structs == Structs::Refuse {
            let advice = "{structs} flatten makes variables of its members";
            return Err(Error::unsupported("unsupported type: struct").advising(advice).in_column(name));
        }
        if path.len() as u64 > Limits::default().depth.into() {
            return Err(Error::limit("nesting depth of structs", path.len() as u64, Limits::default().depth.into()));
        }
        for (index, member) in members.iter().enumerate() {
            let path = path.iter().copied().chain([index]).collect();
            columns(member, format!("{name}.{}", member.name()), path, options, spool, out)?;
        }
        return Ok(());
    }
    let column = Column::new(field, name.clone(), path, options, spool);
    out.push(column.map_err(|error| error.in_column(name))?);
    Ok(())
}

impl Column {
    fn new(
        field: &FieldRef,
        name: String,
        path: Vec<usize>,
        options: &WriterOptions,
        spool: &mut Spool,
    ) -> Result<Self> {
        let mut metadata = meta::FieldMetadata::from_metadata(field.metadata())?;
        let (mut levels, mut at): (Vec<Level>, &ArrowField) = (Vec::new(), field);
        loop {
            at = match at.data_type() {
                ArrowType::FixedSizeList(item, size) => {
                    let size = u64::try_from(*size).unwrap_or(0);
                    let tensor = meta::tensor(at, size)?;
                    let meta::Tensor { shape, names } =
                        tensor.unwrap_or(meta::Tensor { shape: vec![size], names: None });
                    levels.push(Level::new(Some(shape), names, spool));
                    item
                }
                ArrowType::List(item) | ArrowType::LargeList(item) => {
                    levels.push(Level::new(None, None, spool));
                    item
                }
                _ => break,
            };
            let (depth, max) = (levels.len() as u64, Limits::default().depth);
            if depth >= max.into() {
                return Err(Error::limit("nesting depth of lists", depth, max.into()));
            }
        }
        if let ArrowType::Struct(_) = at.data_type() {
            return Err(Error::unsupported("unsupported type: struct in a list"));
        }
        let zone = match at.data_type() {
            ArrowType::Timestamp(_, zone) => zone.clone(),
            _ => None,
        };
        let leaf = Leaf::new(at.data_type(), &mut metadata, options.endian, spool)?;
        let mask = spool.section();
        Ok(Self { name, path, metadata, levels, leaf, mask, packer: Packer::default(), items: 0, nulls: 0, zone })
    }

    /// Appends the column's values of a batch whose first row is `row`.
    pub(super) fn take(
        &mut self,
        batch: &RecordBatch,
        row: u64,
        options: &WriterOptions,
        spool: &mut Spool,
    ) -> Result<()> {
        let (first, members) = self.path.split_first().map_or((0, &[][..]), |(first, members)| (*first, members));
        let mismatch = || Error::usage("the batch does not have the columns of the schema");
        let mut array: ArrayRef = batch.columns().get(first).ok_or_else(mismatch)?.clone();
        let mut nulls: Option<NullBuffer> = None;
        for member in members {
            let outer = array.as_struct_opt().ok_or_else(mismatch)?.clone();
            nulls = NullBuffer::union(nulls.as_ref(), outer.nulls());
            array = outer.columns().get(*member).ok_or_else(mismatch)?.clone();
        }
        nulls = NullBuffer::union(nulls.as_ref(), array.logical_nulls().as_ref());
        let mut parents: Vec<Parents> = Vec::new();
        for level in &mut self.levels {
            let row_of = |level: &Parents, valid: usize| row + row_index(&parents, level.list(valid)) as u64;
            let (items, level_parents) = level.take(&array, nulls, options.ragged, row_of, spool)?;
            nulls = items.logical_nulls();
            array = items;
            parents.push(level_parents);
        }
        self.mask(array.len(), nulls.as_ref(), spool)?;
        let values = dense(&array, nulls.as_ref())?;
        self.leaf.take(&values, spool).map_err(|(error, at)| {
            let item = nth_valid(nulls.as_ref(), at);
            let row = row + row_index(&parents, item) as u64;
            match error.kind() {
                container_core::ErrorKind::Invalid => error.in_row(row),
                _ => error,
            }
        })
    }

    /// Appends the mask of items.
    fn mask(&mut self, count: usize, nulls: Option<&NullBuffer>, spool: &mut Spool) -> Result<()> {
        let mask = nulls.filter(|nulls| nulls.null_count() > 0).and_then(bits::mask);
        let mut tail = spool.tail(self.mask);
        match mask {
            Some(mask) => {
                if self.nulls == 0 {
                    // All earlier items were valid.
                    let mut left = self.items;
                    while left > 0 {
                        let count = usize::try_from(left).unwrap_or(usize::MAX);
                        self.packer.zeros(count, &mut tail)?;
                        left -= count as u64;
                    }
                }
                self.nulls += mask.missing() as u64;
                self.packer.mask(&mask, &mut tail)?;
            }
            None if self.nulls > 0 => self.packer.zeros(count, &mut tail)?,
            None => {}
        }
        self.items += count as u64;
        Ok(())
    }

    /// Names and sizes of the dimensions after the rows.
    fn dimensions(&self) -> (Vec<String>, Vec<u64>) {
        let (mut names, mut sizes) = (Vec::new(), Vec::new());
        for level in self.known_levels() {
            let size = level.size().map_or_else(Vec::new, |size| vec![size]);
            let shape = level.shape.clone().unwrap_or(size);
            for (index, size) in shape.into_iter().enumerate() {
                let name = level.names.as_ref().and_then(|names| names.get(index)).cloned();
                names.push(name.unwrap_or_else(|| format!("{}_{}", self.name, sizes.len() + 2)));
                sizes.push(size);
            }
        }
        if let Some(declared) = self.metadata.dimensions.as_ref().filter(|names| names.len() == sizes.len() + 1) {
            names = declared.iter().skip(1).cloned().collect();
        }
        (names, sizes)
    }

    /// The list levels of known size: not those inside lists that are all null.
    fn known_levels(&self) -> &[Level] {
        let count = self.levels.iter().take_while(|level| level.size().is_some()).count();
        self.levels.get(..count).unwrap_or_default()
    }

    /// Name of the row dimension; `None` for a scalar.
    pub(super) fn leading<'n>(&'n self, options: &'n WriterOptions, rows: u64) -> Option<&'n str> {
        let declared = self.metadata.dimensions.as_ref();
        match (&options.dimension, declared.map(|names| names.first())) {
            (Some(name), _) => Some(name),
            (None, Some(Some(name))) => Some(name),
            (None, Some(None)) if rows == 1 && self.levels.is_empty() => None,
            _ => Some("row"),
        }
    }

    /// Adds dimensions and attributes to a field.
    fn with_metadata(&self, mut field: Field<'static>, dimensions: Vec<String>) -> Field<'static> {
        field = field.with_dimensions(dimensions).with_endian(self.leaf.endian());
        if self.metadata.time {
            field = field.with_time(true);
        }
        for (name, value) in &self.metadata.attributes {
            let text = crate::json::Json::new_unchecked(name).as_str();
            match text {
                Some(text) => field = field.with_attribute(&text, value.clone()),
                None => field.members.set(name.clone(), value.clone()),
            }
        }
        field
    }

    /// The field without rows, to validate before anything is written.
    pub(super) fn preview(&self) -> Field<'static> {
        let field = Field::stream(self.leaf.data_type, [0]);
        // A unique row dimension, so that sizes are not compared.
        self.with_metadata(field, vec![format!("\0{}", self.name)])
    }

    /// Completes the column.
    pub(super) fn finish(
        &mut self,
        rows: u64,
        options: &WriterOptions,
        dimensions: &mut Dimensions,
        spool: &mut Spool,
    ) -> Result<Finished> {
        self.leaf.end(spool)?;
        self.packer.end(&mut spool.tail(self.mask))?;
        let (inner, sizes) = self.dimensions();
        let leading = self.leading(options, rows).map(str::to_owned);
        let mut losses = Vec::new();
        let [lengths, values] = self.leaf.sections().map(|section| spool.bytes(section));
        if self.metadata.empty && self.items == self.nulls && rows <= 1 {
            let names = self.metadata.dimensions.clone().unwrap_or_default();
            let field = self.with_metadata(Field::empty(), names).with_type(self.metadata.data_type);
            return Ok(Finished { field, masked: false, len: 0, losses });
        }
        let mut renamed = 0;
        let name = |(number, (requested, size)): (usize, (String, &u64))| {
            let generated = format!("{}_{}", self.name, number + 2);
            let name = dimensions.unique_name(requested.clone(), *size, &generated);
            renamed += u64::from(name != requested && requested != generated);
            name
        };
        let inner: Vec<String> = inner.into_iter().zip(&sizes).enumerate().map(name).collect();
        let shape: Vec<u64> = leading.iter().map(|_| rows).chain(sizes).collect();
        let stored = self.items - self.nulls;
        let all = layout::count(&shape)?;
        let masked = stored < all;
        let mask = if masked { bit_bytes(all) } else { 0 };
        let max = FREE_MASK_BYTES.max(values.saturating_mul(MASK_GROWTH));
        if mask > max && !lists::is_regular(self.known_levels()) {
            return Err(Error::limit("mask bytes of padded lists", mask, max));
        }
        let mut record_loss = |what: &str, count: u64| {
            if count > 0 {
                losses.push(Loss::new(what.to_owned(), count, Position::of_column(self.name.clone())));
            }
        };
        if let Some(zone) = &self.zone {
            record_loss(&format!("time zone {zone:?} dropped: times are in UTC"), 1);
        }
        record_loss("dimension renamed: another dimension of this name has another size", renamed);
        if !self.levels.is_empty() {
            record_loss("null list written as missing elements", self.levels.iter().map(|level| level.nulls).sum());
            for level in &self.levels {
                record_loss("list padded with missing elements", level.short_lists(spool)?);
            }
        }
        let names = leading.into_iter().chain(inner).collect();
        let field = self.with_metadata(Field::stream(self.leaf.data_type, shape).with_missing(masked), names);
        Ok(Finished { field, masked, len: mask + lengths + values, losses })
    }

    /// Passes the column's values to `body`.
    pub(super) fn put(&self, rows: u64, masked: bool, spool: &mut Spool, body: &mut dyn Body) -> Result<()> {
        let levels = self.known_levels();
        if masked {
            if lists::is_regular(levels) && levels.len() == self.levels.len() {
                body.section(spool, self.mask)?;
            } else {
                // All items inside lists of unknown size are null.
                let null = levels.len() < self.levels.len();
                let bits = (self.nulls > 0 && !null).then_some(self.mask);
                MaskWriter::new(levels, bits, null, spool)?.put(rows, body)?;
            }
        }
        self.leaf.sections().into_iter().try_for_each(|section| body.section(spool, section))
    }
}

/// Row within the batch of an innermost item.
fn row_index(parents: &[Parents], item: usize) -> usize {
    parents.iter().rev().fold(item, |item, level| level.parent(item))
}

/// Names the column in an error.
pub(super) fn in_column(error: Error, column: &str) -> Error {
    match error.position().column.is_some() {
        true => error,
        false => error.in_column(column.to_owned()),
    }
    .in_format(FORMAT_NAME)
}
