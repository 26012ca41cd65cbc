use container_core::{Cursor, Error, Result};

/// Decodes `Boolean`: one bit each, least significant first.
pub(crate) fn decode_bools(cursor: &mut Cursor<'_>, n: usize, out: &mut Vec<bool>) -> Result<()> {
    let bytes = cursor.take(n.div_ceil(8), "bits")?;
    out.clear();
    out.reserve_exact(bytes.len().saturating_mul(8));
    for &byte in bytes {
        out.extend_from_slice(&[0, 1, 2, 3, 4, 5, 6, 7].map(|bit| byte >> bit & 1 != 0));
    }
    out.truncate(n);
    Ok(())
}

/// Decodes `DvBool`: two bits each, least significant first, sixteen values per little-endian `u32`.
pub(crate) fn decode_dv_bools(cursor: &mut Cursor<'_>, n: usize, out: &mut Vec<Option<bool>>) -> Result<()> {
    let at = cursor.offset();
    let len = n.div_ceil(16).checked_mul(4);
    let bytes = cursor.take_u64(len.map_or(u64::MAX, |len| len as u64), "two-bit values")?;
    out.clear();
    out.reserve_exact(n);
    for index in 0..n {
        // Four values per byte: little-endian words keep bytes and bits in the same order.
        let byte = bytes.get(index / 4).copied().unwrap_or(0);
        out.push(match byte >> (2 * (index % 4)) & 3 {
            0 => Some(false),
            1 => Some(true),
            2 => None,
            _ => {
                let detail =
                    format!("two-bit value of item {index}: expected 0 (false), 1 (true) or 2 (missing), found 3");
                return Err(Error::invalid(detail).at(at + index as u64 / 4));
            }
        });
    }
    Ok(())
}
