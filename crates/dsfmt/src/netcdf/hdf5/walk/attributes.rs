//! Visits attributes: hides unsupported ones, and counts their values.

use container_core::Result;
use hdf5_reader::io::Cursor;
use hdf5_reader::messages;
use hdf5_reader::messages::attribute::AttributeMessage;
use hdf5_reader::messages::datatype::{Datatype, StringSize, VarLenKind};

use super::super::describe::INTERNAL;
use super::{Dense, Edit, GlobalHeap, MAX_BODY, MAX_HEAP_STEPS, Walk, header, spend};

impl Walk<'_> {
    /// Counts an attribute; false when it must be hidden.
    pub(super) fn attribute(&mut self, address: u64, body: &[u8]) -> Result<bool> {
        let parsed =
            messages::attribute::parse(&mut Cursor::new(body), self.sizes.offset, self.sizes.length, body.len());
        // The library fails on it too.
        let Ok(attribute) = parsed else { return Ok(true) };
        let is_text = is_text(&attribute.datatype);
        if has_lists(&attribute.datatype) && !is_text && !INTERNAL.contains(&attribute.name.as_str()) {
            self.findings.hidden.entry(address).or_default().push(attribute.name);
            return Ok(false);
        }
        if has_lists(&attribute.datatype) || is_text {
            self.count_references(&attribute)?;
        }
        spend(&mut self.value_bytes, body.len() as u64, self.max_bytes, "bytes of attributes")?;
        Ok(true)
    }

    /// Counts the strings or lists that an attribute refers to.
    fn count_references(&mut self, attribute: &AttributeMessage) -> Result<()> {
        let offset_len = usize::from(self.sizes.offset);
        for reference in attribute.raw_data.chunks_exact(4 + offset_len + 4) {
            let mut fields = Cursor::new(reference);
            let Ok((address, index)) =
                fields.skip(4).and_then(|()| Ok((fields.read_offset(self.sizes.offset)?, fields.read_u32_le()?)))
            else {
                break;
            };
            // The library takes the lower half too.
            let [low, high, ..] = index.to_le_bytes();
            let index = u16::from_le_bytes([low, high]);
            if self.is_undefined(address) || index == 0 {
                continue;
            }
            if !self.heaps.contains_key(&address) {
                let heap = self.global_heap(address).unwrap_or_default();
                self.heaps.insert(address, heap);
            }
            let Some(heap) = self.heaps.get(&address) else { continue };
            let steps = if heap.is_in_order { 1 } else { heap.lengths.len() as u64 };
            spend(&mut self.heap_steps, steps, MAX_HEAP_STEPS, "scanned objects of global heaps")?;
            let len = heap.lengths.get(&index).copied().unwrap_or(0);
            spend(&mut self.value_bytes, len, self.max_bytes, "bytes of attributes")?;
        }
        Ok(())
    }

    fn global_heap(&self, address: u64) -> Option<GlobalHeap> {
        let head = self.storage.read_range(address, 8 + usize::from(self.sizes.length)).ok()?;
        let mut fields = Cursor::new(&head);
        fields.skip(8).ok()?;
        let len = usize::try_from(fields.read_length(self.sizes.length).ok()?).ok()?;
        let bytes = self.storage.read_range(address, len).ok()?;
        let mut fields = Cursor::new(&bytes);
        fields.skip(8 + usize::from(self.sizes.length)).ok()?;
        let mut heap = GlobalHeap { is_in_order: true, ..GlobalHeap::default() };
        while fields.remaining() >= 8 + u64::from(self.sizes.length) {
            let index = fields.read_u16_le().ok()?;
            if index == 0 {
                break;
            }
            fields.skip(6).ok()?;
            let len = fields.read_length(self.sizes.length).ok()?;
            fields.skip(usize::try_from(len.min(fields.remaining())).ok()?).ok()?;
            fields.skip(usize::try_from((len.wrapping_neg() % 8).min(fields.remaining())).ok()?).ok()?;
            heap.is_in_order &= usize::from(index) == heap.lengths.len() + 1;
            // Objects with equal indexes may have different lengths.
            let longest = heap.lengths.entry(index).or_default();
            *longest = len.max(*longest);
        }
        Some(heap)
    }

    /// Attributes in a fractal heap, as messages.
    pub(super) fn attribute_info(&mut self, address: u64, body: &[u8]) -> Result<Option<Edit>> {
        let parsed =
            messages::attribute_info::parse(&mut Cursor::new(body), self.sizes.offset, self.sizes.length, body.len());
        let Some(info) = parsed.ok().filter(|info| !self.is_undefined(info.fractal_heap_address)) else {
            return Ok(None);
        };
        let indexes = [info.btree_creation_order_address, Some(info.btree_name_index_address)];
        let Some(Dense { objects, lost, is_flat }) = self.dense(info.fractal_heap_address, indexes, [8, 9])? else {
            self.findings.unreadable.insert(address, 0);
            return Ok(Some(Edit::Hide));
        };
        let (mut bodies, mut hides, mut lost) = (Vec::new(), false, lost);
        for object in objects {
            let (offset, length) = (self.sizes.offset, self.sizes.length);
            if messages::attribute::parse(&mut Cursor::new(&object), offset, length, object.len()).is_err() {
                lost += 1;
            } else if self.attribute(address, &object)? {
                bodies.push(object);
            } else {
                hides = true;
            }
        }
        let has_long = bodies.iter().any(|body| body.len() > MAX_BODY);
        // Long attributes only fit in a heap; the library can read this one.
        if has_long && is_flat && lost == 0 && !hides {
            return Ok(None);
        }
        lost += bodies.iter().filter(|body| body.len() > MAX_BODY).count() as u64;
        if lost > 0 {
            self.findings.unreadable.insert(address, lost);
        }
        Ok(Some(Edit::Replace(header::ATTRIBUTE, bodies)))
    }
}

/// True for variable-length strings.
fn is_text(datatype: &Datatype) -> bool {
    match datatype {
        Datatype::String { size: StringSize::Variable, .. } => true,
        Datatype::VarLen { base, kind: VarLenKind::String, .. } => base.is_vlen_string_base(),
        _ => false,
    }
}

fn has_lists(datatype: &Datatype) -> bool {
    match datatype {
        Datatype::VarLen { .. } => true,
        Datatype::Compound { fields, .. } => fields.iter().any(|field| has_lists(&field.datatype)),
        Datatype::Array { base, .. } | Datatype::Enum { base, .. } => has_lists(base),
        _ => false,
    }
}
