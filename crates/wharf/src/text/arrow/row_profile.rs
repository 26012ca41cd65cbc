//! Profiles of a text table's rows, and the fields inferred from them.

use std::ops::Range;
use std::sync::Arc;

use arrow_schema::Field;
use container_arrow::{Json, Mapping, Observation, OnMismatch, narrow_field, resolve};
use container_core::Result;

use super::super::chunk_reader::next_json_record;
use super::super::layout::Text;
use super::super::profile::arrow_types::data_type;
use super::super::profile::{CellProfile, ColumnKind};
use crate::text::records::chunk::Chunk;

/// The profile of rows.
#[derive(Debug, Clone)]
pub(in crate::text) enum RowProfile {
    Json(Arc<Observation>),
    Csv(Arc<[CellProfile]>),
}

/// Infers the field of a CSV column. Arrays and objects that fit no common type are text.
pub(super) fn field(name: String, profile: &CellProfile, mapping: &Mapping) -> Field {
    let (kind, nullable) = if mapping.narrow { profile.narrow_kind() } else { (profile.kind(), true) };
    if let (ColumnKind::Nested, Some(nested_profile)) = (kind, &profile.nested_profile) {
        // Values that can be text must not become null.
        let mapping = if mapping.on_mismatch == OnMismatch::Null {
            mapping.with_on_mismatch(OnMismatch::Error)
        } else {
            *mapping
        };
        if let Ok(field) = resolve(&name, nested_profile.observed(), &mapping) {
            let nullable = nullable || field.is_nullable();
            return if mapping.narrow { narrow_field(field, nullable) } else { field };
        }
    }
    Field::new(name, data_type(kind, profile.longest), nullable || kind == ColumnKind::Null)
}

pub(super) fn profile_json(text: &Text, chunk: &Chunk, rows: &Range<u64>) -> Result<Observation> {
    let mut profile = Observation::new(text.limits);
    let mut reader = Json::new(&text.limits);
    let (mut at, mut row) = (0, chunk.row);
    while row < rows.end
        && let Some(span) = next_json_record(chunk, at)
    {
        at = span.next;
        if row >= rows.start {
            let json = chunk.bytes.get(span.start..span.end).unwrap_or_default();
            reader
                .observe_members(json, &mut profile.row(row).object())
                .map_err(|error| text.locate_error(error, chunk, span.start))?;
        }
        row += 1;
    }
    Ok(profile)
}
