//! Zero-copy reading of blocks, for record batches.

use std::ops::Range;

use container_core::{Bytes, Cursor, Error, Limits, Result};

use super::{BlockRequest, Scratch, inside, rows_of, too_many};
use crate::FORMAT_NAME;
use crate::codec::Values;
use crate::codec::shared::{SharedBlock, decode_shared, is_shared};
use crate::read::{Column, Reader};
use crate::wire::{Compression, Type};

impl Reader {
    /// The reader's limits.
    pub(crate) fn limits(&self) -> Limits {
        self.0.options.limits
    }

    /// Reads the requested rows of a block without copying: items of an uncompressed block share the source's memory.
    pub(crate) fn shared_block(&self, request: &BlockRequest, scratch: &mut Scratch) -> Result<SharedBlock> {
        let column = self.column_at(request.column)?;
        let located = |error: Error| {
            error.in_column(column.unique_name().to_owned()).in_block(request.block).in_format(FORMAT_NAME)
        };
        let kind = column.kind().map_err(|unreadable| located(unreadable.to_error()))?;
        let rows = rows_of(column, request.block, self.row_count())?;
        if !is_shared(kind.item()) {
            let mut values = Values::default();
            self.decode_block(column, kind, request.block, &rows, request.rows.end, &mut values, scratch)
                .map_err(located)?;
            return Ok(values.into());
        }
        self.read_shared(column, kind, request, &rows, scratch).map_err(located)
    }

    fn read_shared(
        &self,
        column: &Column,
        kind: &Type,
        request: &BlockRequest,
        rows: &Range<u64>,
        scratch: &mut Scratch,
    ) -> Result<SharedBlock> {
        let entry = self.lookup(column, request.block, &mut scratch.packed)?;
        let prefix = self.prefix(column, kind, rows, request.rows.end, &entry)?;
        let n = usize::try_from(prefix.values).map_err(|_| too_many(rows).at(entry.offset))?;
        if column.compression() == Some(Compression::None) {
            let bytes = self.source().read(entry.offset..entry.offset + prefix.bytes)?;
            return decode_shared(kind, n, &bytes, Cursor::at(&bytes, entry.offset));
        }
        // The buffer's memory becomes part of the result.
        scratch.raw = Vec::new();
        self.raw_block(column, &entry, &prefix, scratch)?;
        let bytes = Bytes::from(std::mem::take(&mut scratch.raw));
        decode_shared(kind, n, &bytes, Cursor::new(&bytes)).map_err(|error| inside(&error, entry.offset))
    }
}
