//! Mutations inside ZIP archives, with repaired checksums.

use crate::random::Random;

/// A member of the central directory.
struct Member {
    /// Offsets of its central directory entry, local header and data.
    entry: usize,
    header: usize,
    data: std::ops::Range<usize>,
    stored: bool,
}

/// Changes one member and repairs its checksum; `None` for archives that this parser does not understand.
pub(super) fn mutate(archive: &[u8], random: &mut Random) -> Option<Vec<u8>> {
    let members = members(archive)?;
    let member = random.pick(&members)?;
    let mut archive = archive.to_vec();
    if member.stored && random.below(4) > 0 {
        // The length stays, so that nothing else moves.
        let data = archive.get(member.data.clone())?;
        let mut changed = data.to_vec();
        for _ in 0..=random.below(3) {
            if random.below(2) == 0 {
                super::mutations::mutate_text(&mut changed, random);
            } else {
                super::mutations::mutate_anywhere(&mut changed, data, random);
            }
        }
        changed.resize(data.len(), b' ');
        let sum = crc32(&changed).to_le_bytes();
        archive.get_mut(member.data.clone())?.copy_from_slice(&changed);
        archive.get_mut(member.entry + 16..member.entry + 20)?.copy_from_slice(&sum);
        archive.get_mut(member.header + 14..member.header + 18)?.copy_from_slice(&sum);
        return Some(archive);
    }
    // A field of the central directory or local header: lengths, method, flags, offset, name.
    const EXTREMES: [u32; 7] = [0, 1, 8, 0xffff, 0x7fff_ffff, 0xffff_fffe, u32::MAX];
    let start = if random.below(3) == 0 { member.header } else { member.entry };
    let at = start + 4 + random.below(60);
    let width = random.pick(&[1, 2, 4])?;
    let number = random.pick(&EXTREMES)?.to_le_bytes();
    for (byte, new) in archive.iter_mut().skip(at).zip(number.iter().take(*width)) {
        *byte = *new;
    }
    // Another archive after the end.
    if random.below(8) == 0 {
        archive.extend_from_within(..);
    }
    Some(archive)
}

fn number(bytes: &[u8], at: usize, width: usize) -> Option<usize> {
    let bytes = bytes.get(at..at + width)?;
    Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte)))
}

/// Reads the central directory.
fn members(archive: &[u8]) -> Option<Vec<Member>> {
    let end = archive.windows(4).rposition(|window| window == b"PK\x05\x06")?;
    let (count, mut entry) = (number(archive, end + 10, 2)?, number(archive, end + 16, 4)?);
    let mut members = Vec::new();
    for _ in 0..count {
        if archive.get(entry..entry + 4)? != b"PK\x01\x02" {
            return None;
        }
        let header = number(archive, entry + 42, 4)?;
        let data = header + 30 + number(archive, header + 26, 2)? + number(archive, header + 28, 2)?;
        let (method, size) = (number(archive, entry + 10, 2)?, number(archive, entry + 20, 4)?);
        archive.get(data..data + size)?;
        members.push(Member { entry, header, data: data..data + size, stored: method == 0 });
        entry +=
            46 + number(archive, entry + 28, 2)? + number(archive, entry + 30, 2)? + number(archive, entry + 32, 2)?;
    }
    Some(members)
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| (sum >> 1) ^ (0xedb8_8320 & (sum & 1).wrapping_neg()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell;

    #[test]
    fn repairs_checksums() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        let archive = std::fs::read(shell::root().join("tests/golden/cross/iris.zds")).unwrap();
        let intact = members(&archive).unwrap();
        assert!(intact.len() > 1);
        let repaired = (0..200).filter(|seed| {
            let mutant = mutate(&archive, &mut Random::new(*seed)).unwrap();
            let sound = |member: &Member| {
                let sum = number(&mutant, member.entry + 16, 4).unwrap();
                sum == crc32(&mutant[member.data.clone()]) as usize
            };
            mutant.len() == archive.len() && mutant != archive && intact.iter().filter(|one| one.stored).all(sound)
        });
        assert!(repaired.count() > 20 || intact.iter().all(|member| !member.stored));
    }
}
