//! Byte shuffles that give each of eight values a lane of four bytes.

/// The index of a byte that becomes zero: instructions for both architectures clear a lane byte whose index is this.
const ZERO: u8 = 0x80;

/// Shuffles by the mask of value ends in eight bytes: byte `4 * lane + i` holds the index of byte `i` of value `lane`.
///
/// Values are at most four bytes long. A value that does not end in the eight bytes has no lane.
pub(super) static SHUFFLES: [[u8; 32]; 256] = shuffles();

#[expect(clippy::indexing_slicing, reason = "const evaluation rejects an index out of bounds")]
const fn shuffles() -> [[u8; 32]; 256] {
    let mut table = [[ZERO; 32]; 256];
    let mut ends = 0_usize;
    while ends < table.len() {
        let (mut lane, mut position, mut byte) = (0, 0, 0_u8);
        while byte < 8 {
            if position < 4 && ends >> byte != 0 {
                table[ends][4 * lane + position] = byte;
            }
            position += 1;
            if ends >> byte & 1 == 1 {
                lane += 1;
                position = 0;
            }
            byte += 1;
        }
        ends += 1;
    }
    table
}
