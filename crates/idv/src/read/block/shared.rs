//! Blocks as record batches need them: in the bytes they lie in.

use std::ops::Range;

use container_core::{Bytes, Cursor, Error, Limits, Result};

use super::{BlockRequest, Scratch, inside, rows_of, too_many};
use crate::FORMAT_NAME;
use crate::codec::Values;
use crate::codec::shared::{SharedBlock, decode_shared, is_shared};
use crate::read::{Column, Reader};
use crate::wire::{Compression, Type};

impl Reader {
    /// What may be spent on the file.
    pub(crate) fn limits(&self) -> Limits {
        self.0.options.limits
    }

    /// The values of a block as far as its rows are wanted, in the bytes they lie in: those of an uncompressed block share the source's
    /// memory.
    pub(crate) fn shared_block(&self, place: &BlockRequest, scratch: &mut Scratch) -> Result<SharedBlock> {
        let column = self.column_at(place.column)?;
        let named = |error: Error| {
            error.in_column(column.unique_name().to_owned()).in_block(place.block).in_format(FORMAT_NAME)
        };
        let kind = column.kind().map_err(|unreadable| named(unreadable.to_error()))?;
        let rows = rows_of(column, place.block, self.row_count())?;
        if !is_shared(kind.item()) {
            let mut values = Values::default();
            self.decode_block(column, kind, place.block, &rows, place.rows.end, &mut values, scratch).map_err(named)?;
            return Ok(values.into());
        }
        self.take_block(column, kind, place, &rows, scratch).map_err(named)
    }

    fn take_block(
        &self,
        column: &Column,
        kind: &Type,
        place: &BlockRequest,
        rows: &Range<u64>,
        scratch: &mut Scratch,
    ) -> Result<SharedBlock> {
        let entry = self.lookup(column, place.block, &mut scratch.packed)?;
        let prefix = self.prefix(column, kind, rows, place.rows.end, &entry)?;
        let n = usize::try_from(prefix.values).map_err(|_| too_many(rows).at(entry.offset))?;
        if column.compression() == Some(Compression::None) {
            let bytes = self.source().read(entry.offset..entry.offset + prefix.bytes)?;
            return decode_shared(kind, n, &bytes, Cursor::at(&bytes, entry.offset));
        }
        // The memory goes to whoever gets the values.
        scratch.raw = Vec::new();
        self.raw_block(column, &entry, &prefix, scratch)?;
        let bytes = Bytes::from(std::mem::take(&mut scratch.raw));
        decode_shared(kind, n, &bytes, Cursor::new(&bytes)).map_err(|error| inside(&error, entry.offset))
    }
}
