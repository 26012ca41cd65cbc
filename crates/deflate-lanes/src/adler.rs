//! Adler-32, the checksum of zlib.

/// The checksum of RFC 1950: the sum of the bytes, and the sum of its values after each byte, both modulo 65521.
#[must_use]
pub fn adler32(bytes: &[u8]) -> u32 {
    const LANES: usize = 16;
    let (mut a, mut b) = (1u32, 0u32);
    // Chunks whose sums fit into 32 bits, in rows that are added side by side.
    for chunk in bytes.chunks(4096) {
        let (rows, rest) = chunk.as_chunks::<LANES>();
        let (mut sums, mut earlier) = ([0u32; LANES], [0u32; LANES]);
        for row in rows {
            b += a * 16;
            for ((sum, earlier), &byte) in sums.iter_mut().zip(&mut earlier).zip(row) {
                *earlier += *sum;
                *sum += u32::from(byte);
            }
        }
        for (weight, (sum, earlier)) in (1u32..).zip(sums.into_iter().zip(earlier).rev()) {
            a += sum;
            b += earlier * 16 + sum * weight;
        }
        for &byte in rest {
            a += u32::from(byte);
            b += a;
        }
        a %= 65_521;
        b %= 65_521;
    }
    b << 16 | a
}
