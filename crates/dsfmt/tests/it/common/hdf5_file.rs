//! HDF5 files made by hand, for what no library writes.
#![allow(dead_code, reason = "each test program uses its part")]

#[allow(dead_code, reason = "tests use the checksum, and some the mutants")]
#[allow(unreachable_pub, clippy::cast_possible_truncation, reason = "shared with the fuzz targets")]
#[path = "../../../../../fuzz/src/hdf5_mutate.rs"]
pub(crate) mod hdf5_mutate;

use hdf5_mutate::lookup3;

pub(crate) const UNDEFINED: u64 = u64::MAX;

/// A message of an object header.
pub(crate) struct Message {
    pub(crate) kind: u8,
    pub(crate) shared: bool,
    pub(crate) body: Vec<u8>,
}

pub(crate) fn message(kind: u8, body: Vec<u8>) -> Message {
    Message { kind, shared: false, body }
}

/// The bytes at one address.
pub(crate) enum Part {
    Object(Vec<Message>),
    Raw(Vec<u8>),
}

impl Part {
    fn bytes(&self) -> Vec<u8> {
        let messages = match self {
            Self::Raw(bytes) => return bytes.clone(),
            Self::Object(messages) => messages,
        };
        let mut all = Vec::new();
        for message in messages {
            all.push(message.kind);
            all.extend(u16::try_from(message.body.len()).unwrap().to_le_bytes());
            all.push(if message.shared { 2 } else { 0 });
            all.extend(&message.body);
        }
        let len = u32::try_from(all.len()).unwrap();
        checked([&b"OHDR\x02\x02"[..], &len.to_le_bytes(), &all].concat())
    }
}

fn checked(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.extend(lookup3(&bytes).to_le_bytes());
    bytes
}

/// A file of `count` parts, the first of which is the root. The parts' lengths must not depend on addresses.
pub(crate) fn file(count: usize, part: impl Fn(usize, &[u64]) -> Part) -> Vec<u8> {
    const SUPERBLOCK: u64 = 48;
    let unknown = vec![0; count];
    let mut at = SUPERBLOCK;
    let addresses: Vec<u64> = (0..count)
        .map(|index| {
            let address = at;
            at += part(index, &unknown).bytes().len() as u64;
            address
        })
        .collect();
    let numbers = [0, UNDEFINED, at, SUPERBLOCK].map(u64::to_le_bytes).concat();
    let mut file = checked([&b"\x89HDF\r\n\x1a\n\x02\x08\x08\0"[..], &numbers].concat());
    (0..count).for_each(|index| file.extend(part(index, &addresses).bytes()));
    file
}

/// A link to an object.
pub(crate) fn hard_link(name: &str, address: u64) -> Message {
    let len = u8::try_from(name.len()).unwrap();
    message(6, [&[1, 0, len], name.as_bytes(), &address.to_le_bytes()].concat())
}

/// A link to a path.
pub(crate) fn soft_link(name: &str, path: &str) -> Message {
    let (len, path_len) = (u8::try_from(name.len()).unwrap(), u16::try_from(path.len()).unwrap());
    message(6, [&[1, 8, 1, len], name.as_bytes(), &path_len.to_le_bytes(), path.as_bytes()].concat())
}

/// The message that makes an object without links a group.
pub(crate) fn no_links() -> Message {
    message(2, [vec![0, 0], vec![0xff; 16]].concat())
}

/// `depth` nested groups, each linked by all of `names`.
pub(crate) fn nested(names: &[&str], depth: usize) -> Vec<u8> {
    file(depth + 1, |index, addresses| {
        let links = addresses.get(index + 1).into_iter();
        let mut messages: Vec<_> = links.flat_map(|inner| names.iter().map(|name| hard_link(name, *inner))).collect();
        messages.push(no_links());
        Part::Object(messages)
    })
}

pub(crate) fn linked_to_itself() -> Vec<u8> {
    file(1, |_, addresses| Part::Object(vec![hard_link("self", addresses[0])]))
}

/// Variable-length lists nested `depth` deep, of strings if `texts`.
pub(crate) fn list_type(texts: bool, depth: usize) -> Vec<u8> {
    let list = [0x19, u8::from(texts), 0, 0, 16, 0, 0, 0];
    [list.repeat(depth), vec![0x10, 0, 0, 0, 1, 0, 0, 0, 0, 0, 8, 0]].concat()
}

/// A one-dimensional attribute.
pub(crate) fn attribute(name: &str, datatype: &[u8], count: u64, data: &[u8]) -> Message {
    let lengths = [name.len() + 1, datatype.len(), 12].map(|len| u16::try_from(len).unwrap().to_le_bytes()).concat();
    let space = [&[2, 1, 0, 1][..], &count.to_le_bytes()].concat();
    message(0x0c, [&[3, 0], &lengths[..], &[0], name.as_bytes(), &[0], datatype, &space, data].concat())
}

/// A reference to object 1 of a heap.
pub(crate) fn reference(len: u32, heap: u64) -> Vec<u8> {
    [&len.to_le_bytes()[..], &heap.to_le_bytes(), &1u32.to_le_bytes()].concat()
}

/// A global heap of one object.
pub(crate) fn global_heap(object: &[u8]) -> Vec<u8> {
    let padded = object.len().next_multiple_of(8);
    let len = 16 + 16 + padded as u64;
    let mut heap = [
        &b"GCOL\x01\0\0\0"[..],
        &len.to_le_bytes(),
        &[1, 0, 1, 0, 0, 0, 0, 0],
        &(object.len() as u64).to_le_bytes(),
        object,
    ]
    .concat();
    heap.resize(16 + 16 + padded, 0);
    heap
}
