//! Header, table of contents and metadata of IDV, which are parsed before any value.

use super::forge::{HEADER, SIGNATURE, TAIL, leb, version};
use super::reader::open;

/// The first byte selects what is put around the others: nothing; header and tail, so they are the table of contents; also a column, so they are a
/// metadata table.
pub fn idv_wire(data: &[u8]) {
    let Some((&how, body)) = data.split_first() else { return };
    let last = u64::from(how >> 4) % 6 + 1;
    let bytes = match how % 4 {
        0 => body.to_vec(),
        1 | 2 => file(last, i32::from(how >> 2 & 3) + 1, body, HEADER),
        _ => {
            // The body, then an entry whose metadata is the body.
            let mut entry = [&leb(1)[..], b"x", &leb(4), b"Byte", &[0, 0, 1], &[0; 8]].concat();
            entry.extend((HEADER as i64).to_le_bytes());
            let toc = HEADER + body.len();
            file(last.max(4), 1, &[body, &entry].concat(), toc)
        }
    };
    let Some(reader) = open(bytes) else { return };
    for column in reader.columns() {
        let _ = (column.unique_name(), column.kind().map(ToString::to_string), column.compression());
        if let Ok(list) = reader.metadata(column.index()) {
            // An entry takes at least 13 bytes, which bounds their number.
            assert!(list.len() as u64 <= reader.source().len());
            for item in list.iter().take(8) {
                let _ = (item.kind(), reader.metadata_value(column.index(), item).is_ok());
            }
        }
    }
}

fn file(last: u64, columns: i32, body: &[u8], toc: usize) -> Vec<u8> {
    let mut bytes = vec![0; HEADER];
    bytes[..8].copy_from_slice(SIGNATURE);
    let version = version(last).to_le_bytes();
    let tail = (HEADER + body.len()) as i64;
    let fields: [&[u8]; 6] = [
        &version,
        &version,
        &(toc as i64).to_le_bytes(),
        &tail.to_le_bytes(),
        &7i64.to_le_bytes(),
        &columns.to_le_bytes(),
    ];
    let fields = fields.concat();
    bytes[8..8 + fields.len()].copy_from_slice(&fields);
    bytes.extend(body);
    bytes.extend(TAIL);
    bytes
}
