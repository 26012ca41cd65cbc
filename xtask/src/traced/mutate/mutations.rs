//! Mutations of a file's bytes: generic ones, and some aimed at the readers of a format.

use super::subjects::Format;
use crate::random::Random;

/// Extreme numbers for lengths, counts and offsets.
const EXTREMES: [u64; 12] = [
    0,
    1,
    0x7f,
    0xff,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x1_0000_0000,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    0xffff_ffff_ffff_fff0,
    u64::MAX,
];

/// Maximum number of bytes that a mutation appends.
const MAX_APPENDED: usize = 1 << 20;

/// Mutates a file of the format or one of its companion files; `other` is a file of the same kind.
pub(super) fn mutate(format: Format, name: &str, bytes: &[u8], other: &[u8], random: &mut Random) -> Vec<u8> {
    let zip = matches!(format, Format::Archive | Format::IdvModel | Format::Zip);
    if zip
        && random.below(4) > 0
        && let Some(mutant) = super::zip::mutate(bytes, random)
    {
        return mutant;
    }
    let text = matches!(format, Format::Csv | Format::JsonLines) || name.ends_with("json") || name.ends_with("jsonl");
    let mut bytes = bytes.to_vec();
    for _ in 0..=random.below(3) {
        match random.below(if text { 4 } else { 2 }) {
            0 => mutate_anywhere(&mut bytes, other, random),
            1 => mutate_number(format, &mut bytes, random),
            _ => mutate_text(&mut bytes, random),
        }
    }
    bytes
}

/// A random range, at most `longest` bytes long.
fn range(bytes: &[u8], longest: usize, random: &mut Random) -> std::ops::Range<usize> {
    let start = random.below(bytes.len() + 1);
    let end = start + random.below(longest.min(bytes.len() - start) + 1);
    start..end
}

/// Generic mutations.
pub(super) fn mutate_anywhere(bytes: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    let at = random.below(bytes.len());
    match random.below(9) {
        0 | 1 => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << random.below(8);
            }
        }
        2 => bytes.truncate(random.below(bytes.len() + 1)),
        3 => {
            // Only the end is missing.
            let cut = random.below(40);
            bytes.truncate(bytes.len().saturating_sub(cut));
        }
        4 => {
            let range = range(bytes, 4096, random);
            bytes.drain(range);
        }
        5 => {
            let copied = range(bytes, 4096, random);
            let copied = bytes.get(copied).unwrap_or_default().to_vec();
            for _ in 0..=random.below(3) {
                bytes.splice(at..at, copied.iter().copied());
            }
        }
        6 => {
            let (to, from) = (range(bytes, bytes.len(), random), range(other, other.len(), random));
            bytes.splice(to, other.get(from).unwrap_or_default().iter().copied());
        }
        7 => {
            let filled = range(bytes, 64, random);
            let with = random.pick(&[0, 0xff, 0x20, 0x80]).copied().unwrap_or_default();
            bytes.get_mut(filled).unwrap_or_default().fill(with);
        }
        _ => {
            let more: Vec<u8> = other.iter().copied().take(MAX_APPENDED).collect();
            bytes.extend(more);
        }
    }
}

/// Overwrites a number where the format keeps lengths, counts or offsets.
fn mutate_number(format: Format, bytes: &mut [u8], random: &mut Random) {
    let len = bytes.len();
    let at = match (format, random.below(4)) {
        // The length of the footer.
        (Format::Parquet, 0) => len.saturating_sub(8),
        (Format::Arrow, 0) => len.saturating_sub(10),
        (Format::Idv, 0) => 8 * random.below(32),
        // Headers and footers describe the content.
        (_, 1) => random.below(len.min(256)),
        (_, 2) => len.saturating_sub(1 + random.below(len.min(2048))),
        _ => random.below(len),
    };
    let at = if random.below(2) == 0 { at & !3 } else { at };
    let mut number = random.pick(&EXTREMES).copied().unwrap_or_default();
    let length = u64::try_from(len).unwrap_or_default();
    match random.below(4) {
        0 => number = length.wrapping_add(number % 3).wrapping_sub(1),
        1 => number = length.wrapping_sub(u64::try_from(at).unwrap_or_default()).wrapping_add(number % 17),
        _ => {}
    }
    let width = random.pick(&[1, 2, 4, 4, 8, 8]).copied().unwrap_or(8);
    let mut encoded = number.to_le_bytes();
    // Classic NetCDF and msgpack are big-endian.
    let reversed = matches!(format, Format::NetCdf | Format::Datadings) || random.below(4) == 0;
    if reversed {
        encoded.get_mut(..width).unwrap_or_default().reverse();
    }
    for (byte, new) in bytes.iter_mut().skip(at).zip(encoded.iter().take(width)) {
        *byte = *new;
    }
    // Turns the byte before into a msgpack type with a length.
    if format == Format::Datadings && random.below(3) == 0 {
        let kind = random.pick(&[0xdc, 0xdd, 0xde, 0xdf, 0xc4, 0xc6, 0xc9, 0xdb, 0xd9]).copied().unwrap_or(0xdd);
        if let Some(byte) = at.checked_sub(1).and_then(|before| bytes.get_mut(before)) {
            *byte = kind;
        }
    }
}

/// Text that is difficult for CSV and JSON readers.
pub(super) fn mutate_text(bytes: &mut Vec<u8>, random: &mut Random) {
    const WORDS: [&str; 30] = [
        "\"",
        ",",
        "\n",
        "\r",
        "\0",
        "\t",
        "{",
        "}",
        "[",
        "]",
        ":",
        "null",
        "NaN",
        "-0",
        "1e999999999",
        "1e-999999999",
        "123456789012345678901234567890",
        "0.1234567890123456789012345678901234567890",
        "\\u0000",
        "\\ud800",
        "\\",
        "-",
        "{\"_id\":\"x\"}\n",
        "\u{feff}",
        "\u{9b}31m",
        "\u{202e}",
        "9223372036854775808",
        "-9223372036854775809",
        "\"\"\"",
        "2024-02-30T25:61:61Z",
    ];
    const DEEP: [&str; 4] = ["[", "{\"a\":", "[{\"a\":", "\"\","];
    let at = random.below(bytes.len() + 1);
    let added: Vec<u8> = match random.below(8) {
        0 => random.pick(&DEEP).copied().unwrap_or_default().repeat(1 << random.below(17)).into_bytes(),
        1 => {
            // Deeply nested, but valid.
            let depth = 1 << random.below(16);
            let open = format!("{{\"_id\":\"deep\",\"deep\":{}1{}}}\n", "[".repeat(depth), "]".repeat(depth));
            let at =
                bytes.get(..at).unwrap_or_default().iter().rposition(|byte| *byte == b'\n').map_or(0, |feed| feed + 1);
            bytes.splice(at..at, open.into_bytes());
            return;
        }
        2 => vec![0xff, 0xfe, 0xc3, 0x28],
        3 => vec![b'9'; 1 << random.below(17)],
        _ => random.pick(&WORDS).copied().unwrap_or_default().into(),
    };
    let end = if random.below(2) == 0 { at } else { (at + added.len().min(8)).min(bytes.len()) };
    bytes.splice(at..end, added);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mutants_are_reproducible_and_differ() {
        let bytes: Vec<u8> = (0..=255).collect();
        let of = |number| mutate(Format::Idv, "m.idv", &bytes, &bytes[..100], &mut Random::new(number));
        let changed = (0..1000).filter(|number| of(*number) != bytes).count();
        assert!(changed > 950, "{changed}");
        assert!((0..1000).all(|number| of(number) == of(number)));
        // Empty and very short files must not panic.
        for number in 0..1000 {
            for format in [Format::Idv, Format::Parquet, Format::JsonLines, Format::Datadings, Format::Archive] {
                mutate(format, "m", &[], &[], &mut Random::new(number));
                mutate(format, "m", &[1], &[2], &mut Random::new(number));
            }
        }
    }
}
