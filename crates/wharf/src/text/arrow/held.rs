//! What the rows of a text were seen to hold, and the columns that come of it.

use std::ops::Range;
use std::sync::Arc;

use arrow_schema::Field;
use container_arrow::{Json, Mapping, Observation, OnMismatch, narrow_field, resolve};
use container_core::Result;

use super::super::cut::next_json;
use super::super::inner::Text;
use super::super::seen::typed::data_type;
use super::super::seen::{Kind, Seen};
use crate::text::records::chunk::Chunk;

/// What rows were seen to hold.
#[derive(Debug, Clone)]
pub(in crate::text) enum Held {
    Json(Arc<Observation>),
    Csv(Arc<[Seen]>),
}

/// The column of cells that are so. Arrays and objects that no column of their own holds are text.
pub(super) fn field(name: String, seen: &Seen, mapping: &Mapping) -> Field {
    let (kind, nullable) = if mapping.narrow { seen.narrow_kind() } else { (seen.kind(), true) };
    if let (Kind::Nested, Some(shape)) = (kind, &seen.shape) {
        // Nothing is null that can be text.
        let mapping = if mapping.on_mismatch == OnMismatch::Null {
            mapping.with_on_mismatch(OnMismatch::Error)
        } else {
            *mapping
        };
        if let Ok(field) = resolve(&name, shape.observed(), &mapping) {
            let missing = nullable || field.is_nullable();
            return if mapping.narrow { narrow_field(field, missing) } else { field };
        }
    }
    Field::new(name, data_type(kind, seen.longest), nullable || kind == Kind::Null)
}

pub(super) fn observe_json(text: &Text, chunk: &Chunk, rows: &Range<u64>) -> Result<Observation> {
    let mut seen = Observation::new(text.limits);
    let mut reader = Json::new(&text.limits);
    let (mut at, mut row) = (0, chunk.row);
    while row < rows.end
        && let Some(span) = next_json(chunk, at)
    {
        at = span.next;
        if row >= rows.start {
            let json = chunk.bytes.get(span.start..span.end).unwrap_or_default();
            reader
                .observe_members(json, &mut seen.row(row).object())
                .map_err(|error| text.placed(error, chunk, span.start))?;
        }
        row += 1;
    }
    Ok(seen)
}
