//! Visits the objects of an HDF5 file before the libraries read it, and rejects what would cost them more than the file size justifies.
//!
//! The libraries limit their depth, but not how often they read the same bytes: groups with many links to them, headers that share parts,
//! attributes that share values. Here every object is visited once, and its cost is counted. What merely makes the libraries fail is not an
//! error here: they report it.
//!
//! Many attributes or links of an object are stored in a fractal heap. The libraries see header messages instead, see
//! [`BoundedStorage`](super::storage::BoundedStorage). Attributes of nested lists, which would take exponential time and which ds does not
//! have, are hidden from them.

mod attributes;

use std::collections::HashMap;

use byteorder::{ByteOrder, LittleEndian};
use container_core::{Error, Limits, Result};
use hdf5_reader::btree_v2::{BTreeV2Header, BTreeV2Record, collect_btree_v2_records_storage};
use hdf5_reader::io::Cursor;
use hdf5_reader::local_heap::LocalHeap;
use hdf5_reader::messages::layout::{ChunkIndexing, DataLayout};
use hdf5_reader::messages::link::LinkTarget;
use hdf5_reader::messages::shared::SharedMessage;
use hdf5_reader::symbol_table::SymbolTableNode;
use hdf5_reader::{Hdf5File, Storage, btree_v1, filters, messages};

use super::header::{self, Edit, Header, MAX_BODY, Sizes};
use super::heap::Heap;
use super::storage::Blocks;

/// Maximum nesting of groups: the library's limit.
const MAX_DEPTH: u64 = 64;

/// Maximum number of messages in all headers. The library takes some 200 bytes for each.
const MAX_MESSAGES: u64 = 2 << 20;

/// Maximum number of path components of all soft links, and of steps to resolve them.
const MAX_SOFT_PARTS: u64 = 1 << 20;
const MAX_SOFT_STEPS: u64 = 100 << 20;

/// Maximum number of global heap objects that are scanned to find others.
const MAX_HEAP_STEPS: u64 = 100 << 20;

/// Bytes of metadata that are allowed whatever the file size.
const FREE_METADATA: u64 = 16 << 20;

/// Results of the visit.
#[derive(Default)]
pub(super) struct Findings {
    /// Blocks to show instead of the file's bytes, by file offset.
    pub(super) blocks: Blocks,
    /// Names of hidden attributes, by object address.
    pub(super) hidden: HashMap<u64, Vec<String>>,
    /// Number of attributes whose names are unreadable, by object address; 0 if unknown.
    pub(super) unreadable: HashMap<u64, u64>,
    /// Why the values of a dataset are unreadable, by its address.
    pub(super) problems: HashMap<u64, String>,
}

/// A hard link, with the index of the link to its group.
struct Link {
    parent: usize,
    name: String,
    address: u64,
    depth: u64,
}

struct SoftLink {
    name: String,
    path: String,
}

/// Lengths of a global heap's objects.
#[derive(Default)]
struct GlobalHeap {
    lengths: HashMap<u16, u64>,
    /// Object `n` is the `n`th, which the library finds at once.
    is_in_order: bool,
}

/// Objects of a fractal heap.
struct Dense {
    /// In index order.
    objects: Vec<Vec<u8>>,
    /// Number of unreadable objects.
    lost: u64,
    /// True when the library can read the heap.
    is_flat: bool,
}
struct Walk<'a> {
    storage: &'a dyn Storage,
    /// Offset of the HDF5 file in the source, which addresses are relative to.
    base: u64,
    sizes: Sizes,
    limits: &'a Limits,
    /// Limit in bytes for each kind of metadata.
    max_bytes: u64,
    header_bytes: u64,
    messages: u64,
    value_bytes: u64,
    name_bytes: u64,
    heap_steps: u64,
    heaps: HashMap<u64, GlobalHeap>,
    /// Hard links in the order to visit.
    links: Vec<Link>,
    soft_links: Vec<SoftLink>,
    /// Largest number of links in a group.
    max_links: u64,
    /// Bytes of metadata of each visited object.
    visited: HashMap<u64, u64>,
    next_block: u64,
    findings: Findings,
}

/// Visits all objects of a file.
pub(super) fn walk(file: &Hdf5File, limits: &Limits) -> Result<Findings> {
    let superblock = file.superblock();
    let Ok(root) = superblock.root_object_header_address() else { return Ok(Findings::default()) };
    let len = file.storage().len();
    let sizes = Sizes { offset: superblock.offset_size, length: superblock.length_size };
    // The last quarter of the address space lies beyond any file, except for maliciously placed addresses.
    let beyond = (u64::MAX >> (64 - 8 * u32::from(sizes.offset.clamp(1, 8)))) / 4 * 3;
    let mut walk = Walk {
        storage: file.storage(),
        base: superblock.base_address,
        sizes,
        limits,
        max_bytes: limits.metadata_bytes.min(len.saturating_mul(4).saturating_add(FREE_METADATA)),
        header_bytes: 0,
        messages: 0,
        value_bytes: 0,
        name_bytes: 0,
        heap_steps: 0,
        heaps: HashMap::new(),
        links: vec![Link { parent: 0, name: String::new(), address: root, depth: 0 }],
        soft_links: Vec::new(),
        max_links: 0,
        visited: HashMap::new(),
        next_block: beyond,
        findings: Findings::default(),
    };
    let mut next = 0;
    while let Some(link) = walk.links.get(next) {
        let (address, depth) = (link.address, link.depth);
        if !walk.visited.contains_key(&address) {
            walk.object(address, depth, next).map_err(|error| error.in_column(walk.path(next)).at(address))?;
        }
        next += 1;
    }
    walk.check_links()?;
    if walk.findings.blocks.keys().any(|at| *at < len && *at >= beyond) {
        return Err(Error::unsupported("HDF5 file fills its address space"));
    }
    Ok(walk.findings)
}

/// Adds to a cost; an error beyond `max`.
fn spend(total: &mut u64, amount: u64, max: u64, what: &'static str) -> Result<()> {
    *total = total.saturating_add(amount);
    if *total > max { Err(Error::limit(what, *total, max)) } else { Ok(()) }
}

impl Walk<'_> {
    /// Path of an object, by the first link to it.
    fn path(&self, link: usize) -> String {
        let mut names = Vec::new();
        let mut at = link;
        while let Some(link) = self.links.get(at).filter(|link| link.depth > 0) {
            names.push(link.name.as_str());
            at = link.parent;
        }
        names.reverse();
        format!("/{}", names.join("/"))
    }

    fn is_undefined(&self, address: u64) -> bool {
        Cursor::is_undefined_offset(address, self.sizes.offset)
    }

    fn object(&mut self, address: u64, depth: u64, link: usize) -> Result<()> {
        self.visited.insert(address, 0);
        if depth > MAX_DEPTH {
            return Err(Error::limit("nesting depth of groups", depth, MAX_DEPTH));
        }
        self.limits.check_columns("number of objects", self.visited.len() as u64)?;
        let Some(header) = self.header(address)? else { return Ok(()) };
        let before = self.value_bytes;
        let (mut edits, mut links) = (Vec::new(), Vec::new());
        for (index, message) in header.messages.iter().enumerate() {
            let target;
            let body = if message.shared {
                target = self.shared(message.kind, header.body(message))?;
                target.as_slice()
            } else {
                header.body(message)
            };
            match message.kind {
                header::ATTRIBUTE => edits.extend((!self.attribute(address, body)?).then_some((index, Edit::Hide))),
                header::ATTRIBUTE_INFO => edits.extend(self.attribute_info(address, body)?.map(|edit| (index, edit))),
                header::LINK_INFO => {
                    if let Some(all) = self.link_info(body)? {
                        for link in &all {
                            links.extend(self.link(link)?);
                        }
                        edits.push((index, Edit::Replace(header::LINK, all)));
                    }
                }
                header::LINK => links.extend(self.link(body)?),
                header::SYMBOL_TABLE => self.symbol_table(body, &mut links)?,
                header::FILTERS => self.problem(address, self.filters(body)),
                header::LAYOUT => self.problem(address, self.layout(body)),
                _ => {}
            }
        }
        header.edit(edits, self.sizes, self.base, &mut self.next_block, &mut self.findings.blocks);
        self.visited.insert(address, header.len + (self.value_bytes - before));
        self.max_links = self.max_links.max(links.len() as u64);
        for (name, target) in links {
            match target {
                LinkTarget::Hard { address } => self.links.push(Link { parent: link, name, address, depth: depth + 1 }),
                LinkTarget::Soft { path } => self.soft_links.push(SoftLink { name, path }),
                // Other files are not opened.
                LinkTarget::External { .. } => {}
            }
        }
        Ok(())
    }

    fn problem(&mut self, address: u64, problem: Option<String>) {
        if let Some(problem) = problem {
            self.findings.problems.insert(address, problem);
        }
    }

    fn header(&mut self, address: u64) -> Result<Option<Header>> {
        let (bytes, messages, max) = (&mut self.header_bytes, &mut self.messages, self.max_bytes);
        Header::read(self.storage, self.sizes, address, |len, count| {
            spend(bytes, len, max, "bytes of object headers")?;
            spend(messages, count, MAX_MESSAGES, "messages of object headers")
        })
    }

    /// The body of a shared message; empty when it cannot be read.
    fn shared(&mut self, kind: u16, body: &[u8]) -> Result<Vec<u8>> {
        let target =
            messages::shared::parse(&mut Cursor::new(body), kind, self.sizes.offset, self.sizes.length, body.len());
        let address = match target {
            Ok(SharedMessage::SharedInOhdr { address, .. }) => address,
            Ok(SharedMessage::SharedInSohm { .. }) => {
                return Err(Error::unsupported("unsupported shared message table"));
            }
            Err(_) => return Ok(Vec::new()),
        };
        // Counted for each reference, because the library reads it each time. Without a message of that kind the library takes any other.
        let Some(header) = self.header(address)? else { return Ok(Vec::new()) };
        let mut own = header.messages.iter().filter(|message| !message.shared);
        let message = own.clone().find(|message| message.kind == kind);
        let links = [header::LINK, header::LINK_INFO, header::SYMBOL_TABLE, header::ATTRIBUTE_INFO];
        if message.is_none() && own.any(|message| links.contains(&message.kind)) || links.contains(&kind) {
            return Err(Error::invalid("object header shares links or attributes of another"));
        }
        Ok(message.map(|message| header.body(message).to_vec()).unwrap_or_default())
    }

    // Heaps

    /// The objects of a heap, by the first readable index; `None` if there is none.
    fn dense(&mut self, heap: u64, indexes: [Option<u64>; 2], kinds: [u8; 2]) -> Result<Option<Dense>> {
        /// A heap id has at least eight bytes, next to a hash or creation index.
        const MIN_RECORD: u16 = 11;
        let Some(mut heap) = Heap::read(self.storage, self.sizes, heap) else { return Ok(None) };
        if heap.is_compressed() {
            return Err(Error::unsupported("unsupported compressed fractal heap"));
        }
        let Sizes { offset, length } = self.sizes;
        let records = indexes.into_iter().flatten().filter(|index| !self.is_undefined(*index)).find_map(|index| {
            let header = BTreeV2Header::parse_at_storage(self.storage, index, offset, length).ok()?;
            let is_known = kinds.contains(&header.btree_type) && header.record_size >= MIN_RECORD;
            let read = || collect_btree_v2_records_storage(self.storage, &header, offset, length, None, &[], None).ok();
            is_known.then(read)?
        });
        let Some(records) = records else { return Ok(None) };
        let (mut objects, mut lost) = (Vec::new(), 0);
        for record in records {
            let (BTreeV2Record::LinkNameHash { heap_id, .. }
            | BTreeV2Record::CreationOrder { heap_id, .. }
            | BTreeV2Record::AttributeNameHash { heap_id, .. }
            | BTreeV2Record::AttributeCreationOrder { heap_id, .. }) = record
            else {
                continue;
            };
            match heap.object(&heap_id) {
                Some(object) => {
                    // Counted as parts of the header that they become.
                    spend(&mut self.header_bytes, object.len() as u64, self.max_bytes, "bytes of object headers")?;
                    spend(&mut self.messages, 1, MAX_MESSAGES, "messages of object headers")?;
                    objects.push(object);
                }
                None => lost += 1,
            }
        }
        Ok(Some(Dense { is_flat: heap.is_flat(), objects, lost }))
    }

    // Links

    fn link(&mut self, body: &[u8]) -> Result<Option<(String, LinkTarget)>> {
        let parsed = messages::link::parse(&mut Cursor::new(body), self.sizes.offset, self.sizes.length, body.len());
        let Ok(link) = parsed else { return Ok(None) };
        spend(&mut self.name_bytes, link.name.len() as u64, self.max_bytes, "bytes of link names")?;
        Ok(Some((link.name, link.target)))
    }

    /// Links in a fractal heap.
    fn link_info(&mut self, body: &[u8]) -> Result<Option<Vec<Vec<u8>>>> {
        let parsed =
            messages::link_info::parse(&mut Cursor::new(body), self.sizes.offset, self.sizes.length, body.len());
        let Some(info) = parsed.ok().filter(|info| !self.is_undefined(info.fractal_heap_address)) else {
            return Ok(None);
        };
        let indexes = [Some(info.btree_name_index_address), None];
        match self.dense(info.fractal_heap_address, indexes, [5, 6])? {
            Some(Dense { objects, lost: 0, .. }) if objects.iter().all(|link| link.len() <= MAX_BODY) => {
                Ok(Some(objects))
            }
            _ => Err(Error::invalid("invalid links of a group")),
        }
    }

    /// Links of an old-style group.
    fn symbol_table(&mut self, body: &[u8], links: &mut Vec<(String, LinkTarget)>) -> Result<()> {
        let Sizes { offset, length } = self.sizes;
        let Ok(table) = messages::symbol_table_msg::parse(&mut Cursor::new(body), offset, length, body.len()) else {
            return Ok(());
        };
        let Ok(heap) = LocalHeap::parse_at_storage(self.storage, table.heap_address, offset, length) else {
            return Ok(());
        };
        let leaves = btree_v1::collect_btree_v1_leaves_storage(
            self.storage,
            table.btree_address,
            offset,
            length,
            None,
            &[],
            None,
        );
        let Ok(leaves) = leaves else { return Ok(()) };
        let names = usize::try_from(heap.data_segment_size).ok();
        let names = names.and_then(|len| self.storage.read_range(heap.data_segment_address, len).ok());
        let name = |at: u64| {
            let rest = names.as_ref()?.get(usize::try_from(at).ok()?..)?;
            let name = rest.get(..rest.iter().position(|byte| *byte == 0)?)?;
            std::str::from_utf8(name).ok()
        };
        for (_, node) in leaves {
            let Some(node) = self.symbol_table_node(node) else { return Ok(()) };
            for entry in &node.entries {
                /// The entry is a soft link, whose path lies in the heap.
                /// Cache type of a soft link, whose path is in the heap.
                const SOFT: u32 = 2;
                let Some(link_name) = name(entry.link_name_offset) else { return Ok(()) };
                let target = match entry.cache_type {
                    SOFT => match name(LittleEndian::read_u32(&entry.scratch).into()) {
                        Some(path) => LinkTarget::Soft { path: path.to_owned() },
                        None => return Ok(()),
                    },
                    _ => LinkTarget::Hard { address: entry.object_header_address },
                };
                let path_len = if let LinkTarget::Soft { path } = &target { path.len() } else { 0 };
                spend(
                    &mut self.name_bytes,
                    (link_name.len() + path_len) as u64,
                    self.max_bytes,
                    "bytes of link names",
                )?;
                links.push((link_name.to_owned(), target));
            }
        }
        Ok(())
    }

    fn symbol_table_node(&self, address: u64) -> Option<SymbolTableNode> {
        let entry = 2 * usize::from(self.sizes.offset) + 4 + 4 + 16;
        let head = self.storage.read_range(address, 8).ok()?;
        let count = LittleEndian::read_u16(head.get(6..8)?);
        let bytes = self.storage.read_range(address, 8 + usize::from(count) * entry).ok()?;
        SymbolTableNode::parse(&mut Cursor::new(&bytes), self.sizes.offset, self.sizes.length).ok()
    }

    /// Bounds the cost of following all links: an object is read for each link to it, and soft links may lead to others.
    fn check_links(&self) -> Result<()> {
        /// Maximum length of a chain of soft links: the library's limit.
        const CHAIN: usize = 16;
        let parts = |path: &str| path.split('/').filter(|part| !part.is_empty()).count() as u64;
        let (mut linked, mut all_parts, mut bytes_by_name) = (0, 0, HashMap::<&str, u64>::new());
        let max = self.max_bytes.saturating_mul(4);
        for link in &self.links {
            let bytes = self.visited.get(&link.address).copied().unwrap_or(0);
            spend(&mut linked, bytes, max, "bytes of all objects, per link to them")?;
            let heaviest = bytes_by_name.entry(&link.name).or_default();
            *heaviest = bytes.max(*heaviest);
        }
        for link in &self.soft_links {
            spend(&mut all_parts, parts(&link.path), MAX_SOFT_PARTS, "path components of soft links")?;
        }
        // By name, whatever the group: steps, and bytes of the target object.
        let mut costs = HashMap::<&str, (u64, u64)>::new();
        for round in 0..=CHAIN {
            let mut next = HashMap::<&str, (u64, u64)>::new();
            for link in &self.soft_links {
                let cost = next.entry(&link.name).or_default();
                for part in link.path.split('/').filter(|part| !part.is_empty()) {
                    let steps = costs.get(part).map_or(0, |cost| cost.0).saturating_add(self.max_links);
                    cost.0 = cost.0.saturating_add(steps);
                }
                let last = link.path.rsplit('/').find(|part| !part.is_empty()).unwrap_or_default();
                let bytes = bytes_by_name.get(last).copied().unwrap_or(0);
                cost.1 = cost.1.max(bytes).max(costs.get(last).map_or(0, |cost| cost.1));
            }
            if next == costs || round == CHAIN {
                break;
            }
            costs = next;
        }
        let mut steps = 0;
        for link in &self.soft_links {
            let (own, bytes) = costs.get(link.name.as_str()).copied().unwrap_or_default();
            spend(&mut steps, own, MAX_SOFT_STEPS, "steps of soft links")?;
            spend(&mut linked, bytes, max, "bytes of all objects, per link to them")?;
        }
        Ok(())
    }

    // Values

    /// Checks the filters of a dataset for those that make the library allocate without limit.
    fn filters(&self, body: &[u8]) -> Option<String> {
        /// The C library's limit.
        const MAX_FILTERS: usize = 32;
        let parsed =
            messages::filter_pipeline::parse(&mut Cursor::new(body), self.sizes.offset, self.sizes.length, body.len());
        let all = parsed.ok()?.filters;
        if all.len() > MAX_FILTERS {
            return Some(format!("it has {} filters, more than the limit {MAX_FILTERS}", all.len()));
        }
        let is_bounded = |id: u16| {
            [
                filters::FILTER_DEFLATE,
                filters::FILTER_SHUFFLE,
                filters::FILTER_FLETCHER32,
                filters::FILTER_NBIT,
                filters::FILTER_SCALEOFFSET,
            ]
            .contains(&id)
        };
        // Each filter is undone within the bound declared by those before it.
        let unbounded = all.iter().position(|filter| !is_bounded(filter.id)).unwrap_or(all.len());
        let expands = |id: u16| id != filters::FILTER_SHUFFLE && id != filters::FILTER_FLETCHER32;
        if let Some(filter) = all.iter().skip(unbounded + 1).find(|filter| expands(filter.id)) {
            return Some(format!("its filter {} follows one of unbounded length", filter.id));
        }
        let nbit = all.iter().filter(|filter| filter.id == filters::FILTER_NBIT);
        nbit.filter(|filter| !is_number(&filter.client_data))
            .map(|_| "its n-bit filter does not apply to numbers".to_owned())
            .next()
    }

    /// Checks the chunk index of a dataset.
    fn layout(&self, body: &[u8]) -> Option<String> {
        let Sizes { offset, length } = self.sizes;
        let parsed = messages::layout::parse(&mut Cursor::new(body), offset, length, body.len());
        let DataLayout::Chunked { address, chunk_indexing, .. } = parsed.ok()?.layout else { return None };
        let is_sound = match chunk_indexing? {
            // Record types of chunks, uncompressed or compressed.
            ChunkIndexing::BTreeV2 => match BTreeV2Header::parse_at_storage(self.storage, address, offset, length) {
                Ok(header) => matches!(header.btree_type, 10 | 11) && header.record_size >= u16::from(offset),
                Err(_) => true,
            },
            ChunkIndexing::ExtensibleArray { .. } => match self.storage.read_range(address, 8) {
                Ok(head) => head.get(6).is_some_and(|size| *size >= offset),
                Err(_) => true,
            },
            _ => true,
        };
        (!is_sound).then(|| "its chunk index has too short records".to_owned())
    }
}

/// True for a number of at least one byte. For nested types the library trusts counts, and recurses to any depth.
fn is_number(nbit_parameters: &[u32]) -> bool {
    const NUMBER: u32 = 1;
    matches!(nbit_parameters, [_, _, _, NUMBER, size, ..] if *size > 0)
}
