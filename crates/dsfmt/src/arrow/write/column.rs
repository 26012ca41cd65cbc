//! A column that is written.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array as _, ArrayRef, RecordBatch};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType as ArrowType, Field as ArrowField, FieldRef};
use container_core::{Error, Limits, Loss, Output, Position, Result};

use super::super::{bits, meta};
use super::dimensions::Dimensions;
use super::leaf::Leaf;
use super::lists::{self, Level, Trail, Walk, dense, nth_valid};
use super::spool::Spool;
use super::{Structs, WriterOptions};
use crate::FORMAT_NAME;
use crate::wire::bit_bytes;
use crate::write::bits::Packer;
use crate::write::field::Field;
use crate::write::layout;
use crate::write::put::Buffered;

/// So many bytes a mask may take whatever it is of, and so many times the bytes of the values: lists that are filled up could take any.
const MASK: u64 = 1 << 30;
const MASK_GROWTH: u64 = 8;

/// A column, and what has come of it.
pub(super) struct Column {
    pub(super) name: String,
    /// The place of the column in a batch, and those of members in structs.
    path: Vec<usize>,
    said: meta::FieldMetadata,
    levels: Vec<Level>,
    leaf: Leaf,
    /// What was null among the items of the deepest lists.
    mask: usize,
    packer: Packer,
    /// The items so far, and those that were null.
    items: u64,
    nulls: u64,
    zone: Option<Arc<str>>,
}

/// What is known of a column when all of it has come.
pub(super) struct Finished {
    pub(super) field: Field<'static>,
    pub(super) masked: bool,
    pub(super) len: u64,
    pub(super) losses: Vec<Loss>,
}

/// The columns of a field: one, or those of the members of a struct.
pub(super) fn columns(
    field: &FieldRef,
    name: String,
    path: Vec<usize>,
    options: &WriterOptions,
    spool: &mut Spool,
    out: &mut Vec<Column>,
) -> Result<()> {
    Limits::default().check_columns("the number of variables", out.len() as u64 + 1)?;
    if let ArrowType::Struct(members) = field.data_type() {
        if options.structs == Structs::Refuse {
            let advice = "{structs} flatten makes variables of its members";
            return Err(Error::unsupported("a struct is no variable").advising(advice).in_column(name));
        }
        if path.len() as u64 > Limits::default().depth.into() {
            return Err(Error::limit("the depth of structs", path.len() as u64, Limits::default().depth.into()));
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
        let mut said = meta::FieldMetadata::of(field.metadata())?;
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
            let (depth, most) = (levels.len() as u64, Limits::default().depth);
            if depth >= most.into() {
                return Err(Error::limit("the depth of lists", depth, most.into()));
            }
        }
        if let ArrowType::Struct(_) = at.data_type() {
            return Err(Error::unsupported("structs in lists are not written as ds"));
        }
        let zone = match at.data_type() {
            ArrowType::Timestamp(_, zone) => zone.clone(),
            _ => None,
        };
        let leaf = Leaf::new(at.data_type(), &mut said, options.endian, spool)?;
        let mask = spool.section();
        Ok(Self { name, path, said, levels, leaf, mask, packer: Packer::default(), items: 0, nulls: 0, zone })
    }

    /// Takes its part of a batch, whose first row is this one.
    pub(super) fn take(
        &mut self,
        batch: &RecordBatch,
        row: u64,
        options: &WriterOptions,
        spool: &mut Spool,
    ) -> Result<()> {
        let (first, members) = self.path.split_first().map_or((0, &[][..]), |(first, members)| (*first, members));
        let gone = || Error::usage("the batch has not the columns of the schema");
        let mut array: ArrayRef = batch.columns().get(first).ok_or_else(gone)?.clone();
        let mut nulls: Option<NullBuffer> = None;
        for member in members {
            let outer = array.as_struct_opt().ok_or_else(gone)?.clone();
            nulls = NullBuffer::union(nulls.as_ref(), outer.nulls());
            array = outer.columns().get(*member).ok_or_else(gone)?.clone();
        }
        nulls = NullBuffer::union(nulls.as_ref(), array.logical_nulls().as_ref());
        let mut trails: Vec<Trail> = Vec::new();
        for level in &mut self.levels {
            let row_of = |trail: &Trail, there: usize| row + up(&trails, trail.list(there)) as u64;
            let (items, trail) = level.take(&array, nulls, options.ragged, row_of, spool)?;
            nulls = items.logical_nulls();
            array = items;
            trails.push(trail);
        }
        self.mask(array.len(), nulls.as_ref(), spool)?;
        let values = dense(&array, nulls.as_ref())?;
        self.leaf.take(&values, spool).map_err(|(error, at)| {
            let item = nth_valid(nulls.as_ref(), at);
            let place = row + up(&trails, item) as u64;
            match error.kind() {
                container_core::ErrorKind::Invalid => error.in_row(place),
                _ => error,
            }
        })
    }

    /// Takes note of which items are null.
    fn mask(&mut self, count: usize, nulls: Option<&NullBuffer>, spool: &mut Spool) -> Result<()> {
        let mask = nulls.filter(|nulls| nulls.null_count() > 0).and_then(bits::mask);
        let mut tail = spool.tail(self.mask);
        match mask {
            Some(mask) => {
                if self.nulls == 0 {
                    // Before this none was.
                    let mut left = self.items;
                    while left > 0 {
                        let some = usize::try_from(left).unwrap_or(usize::MAX);
                        self.packer.zeros(some, &mut tail)?;
                        left -= some as u64;
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

    /// Names of the dimensions behind the rows, and their sizes.
    fn dimensions(&self) -> (Vec<String>, Vec<u64>) {
        let (mut names, mut sizes) = (Vec::new(), Vec::new());
        for level in self.seen() {
            let made = level.size().map_or_else(Vec::new, |size| vec![size]);
            let shape = level.shape.clone().unwrap_or(made);
            for (index, size) in shape.into_iter().enumerate() {
                let name = level.names.as_ref().and_then(|names| names.get(index)).cloned();
                names.push(name.unwrap_or_else(|| format!("{}_{}", self.name, sizes.len() + 2)));
                sizes.push(size);
            }
        }
        if let Some(said) = self.said.dimensions.as_ref().filter(|said| said.len() == sizes.len() + 1) {
            names = said.iter().skip(1).cloned().collect();
        }
        (names, sizes)
    }

    /// The lists of which it is known how long they are: not those within lists that are all null.
    fn seen(&self) -> &[Level] {
        let count = self.levels.iter().take_while(|level| level.size().is_some()).count();
        self.levels.get(..count).unwrap_or_default()
    }

    /// The name of the dimension of the rows; `None` of a scalar.
    pub(super) fn leading<'n>(&'n self, options: &'n WriterOptions, rows: u64) -> Option<&'n str> {
        let said = self.said.dimensions.as_ref();
        match (&options.dimension, said.map(|names| names.first())) {
            (Some(name), _) => Some(name),
            (None, Some(Some(name))) => Some(name),
            (None, Some(None)) if rows == 1 && self.levels.is_empty() => None,
            _ => Some("row"),
        }
    }

    /// The field with dimensions and attributes.
    fn dressed(&self, mut field: Field<'static>, dimensions: Vec<String>) -> Field<'static> {
        field = field.with_dimensions(dimensions).with_endian(self.leaf.endian());
        if self.said.time {
            field = field.with_time(true);
        }
        for (name, value) in &self.said.attributes {
            let text = crate::json::Json::checked(name).as_str();
            match text {
                Some(text) => field = field.with_attribute(&text, value.clone()),
                None => field.members.set(name.clone(), value.clone()),
            }
        }
        field
    }

    /// As it would be without rows, for checks before anything is written.
    pub(super) fn sketch(&self) -> Field<'static> {
        let field = Field::stream(self.leaf.data_type, [0]);
        // The name of the rows is not to be compared with any other.
        self.dressed(field, vec![format!("\0{}", self.name)])
    }

    /// All has come.
    pub(super) fn finish(
        &mut self,
        rows: u64,
        options: &WriterOptions,
        taken: &mut Dimensions,
        spool: &mut Spool,
    ) -> Result<Finished> {
        self.leaf.end(spool)?;
        self.packer.end(&mut spool.tail(self.mask))?;
        let (inner, sizes) = self.dimensions();
        let leading = self.leading(options, rows).map(str::to_owned);
        let mut losses = Vec::new();
        let [lengths, values] = self.leaf.sections().map(|section| spool.bytes(section));
        if self.said.empty && self.items == self.nulls && rows <= 1 {
            let dimensions = self.said.dimensions.clone().unwrap_or_default();
            let field = self.dressed(Field::empty(), dimensions).with_type(self.said.data_type);
            return Ok(Finished { field, masked: false, len: 0, losses });
        }
        let mut renamed = 0;
        let name = |(number, (wanted, size)): (usize, (String, &u64))| {
            let own = format!("{}_{}", self.name, number + 2);
            let name = taken.name(wanted.clone(), *size, &own);
            renamed += u64::from(name != wanted && wanted != own);
            name
        };
        let inner: Vec<String> = inner.into_iter().zip(&sizes).enumerate().map(name).collect();
        let shape: Vec<u64> = leading.iter().map(|_| rows).chain(sizes).collect();
        let stored = self.items - self.nulls;
        let all = layout::count(&shape)?;
        let masked = stored < all;
        let mask = if masked { bit_bytes(all) } else { 0 };
        let most = MASK.max(values.saturating_mul(MASK_GROWTH));
        if mask > most && !lists::are_even(self.seen()) {
            return Err(Error::limit("the bytes of the mask of lists that are filled up", mask, most));
        }
        let mut lost = |what: &str, count: u64| {
            let mut first = Position::default();
            first.column = Some(self.name.clone().into());
            if count > 0 {
                losses.push(Loss::new(what.to_owned(), count, first));
            }
        };
        if let Some(zone) = &self.zone {
            lost(&format!("time zone {zone:?} not kept: times are in UTC"), 1);
        }
        lost("name of a dimension that has another size in another place", renamed);
        if !self.levels.is_empty() {
            lost("null list as one of missing elements", self.levels.iter().map(|level| level.nulls).sum());
            for level in &self.levels {
                lost("list filled up with missing elements", level.shorter(spool)?);
            }
        }
        let dimensions = leading.into_iter().chain(inner).collect();
        let field = self.dressed(Field::stream(self.leaf.data_type, shape).with_missing(masked), dimensions);
        Ok(Finished { field, masked, len: mask + lengths + values, losses })
    }

    /// Writes all that has come.
    pub(super) fn put(&self, rows: u64, masked: bool, spool: &Spool, out: &mut Buffered<Output>) -> Result<()> {
        let levels = self.seen();
        if masked {
            if lists::are_even(levels) && levels.len() == self.levels.len() {
                spool.copy(self.mask, out)?;
            } else {
                // Items of lists that were never seen are all null.
                let null = levels.len() < self.levels.len();
                let bits = (self.nulls > 0 && !null).then_some(self.mask);
                Walk::new(levels, bits, null, spool)?.put(rows, out)?;
            }
        }
        self.leaf.sections().into_iter().try_for_each(|section| spool.copy(section, out))
    }
}

/// The row of an item of the deepest of these lists, from the first of the batch.
fn up(trails: &[Trail], item: usize) -> usize {
    trails.iter().rev().fold(item, |item, trail| trail.parent(item))
}

/// An error of a column.
pub(super) fn placed(error: Error, column: &str) -> Error {
    match error.position().column.is_some() {
        true => error,
        false => error.in_column(column.to_owned()),
    }
    .in_format(FORMAT_NAME)
}
