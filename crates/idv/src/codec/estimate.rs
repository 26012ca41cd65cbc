//! ML.NET's size estimate of a block, from which it chooses the rows per block.

use std::ops::Range;

use super::encode::count_units;
use super::text::to_usize;
use super::{Texts, Values};
use crate::wire::{ItemType, Type};

/// How UTF-16 units of text are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Units {
    /// Exactly, by scanning the text.
    Counted,
    /// By the number of bytes, an upper bound, in constant time.
    Bytes,
}

/// ML.NET's estimate of a block's length. It differs from the encoded length: text counts in UTF-16 units, a Boolean as two bits in 32-bit
/// words, and vectors of variable length always count their lengths.
pub(crate) fn estimated_len(kind: &Type, values: &Values, range: Range<usize>, units: Units) -> u64 {
    match (kind, values) {
        (Type::Vector { item, .. }, Values::Vector(vectors)) => {
            let rows = range.len() as u64;
            let items = vectors.item_start(range.start)..vectors.item_start(range.end);
            let indices = (vectors.index_start(range.end) - vectors.index_start(range.start)) as u64;
            let lengths = if kind.size() == 0 { rows } else { 0 };
            4 * (3 + lengths + rows + indices) + items_len(*item, vectors.values(), items, units)
        }
        (Type::Item(item), values) => items_len(*item, values, range, units),
        _ => 0,
    }
}

fn items_len(item: ItemType, values: &Values, range: Range<usize>, units: Units) -> u64 {
    let rows = range.len() as u64;
    match (item, values) {
        (_, Values::Text(texts)) => 4 * (1 + rows) + text_units(texts, range, units),
        (ItemType::Boolean | ItemType::DvBool, _) => 4 * rows.div_ceil(16),
        _ => super::min_len(item, rows).unwrap_or(u64::MAX),
    }
}

fn text_units(texts: &Texts, range: Range<usize>, units: Units) -> u64 {
    let (start, end) = (texts.start_of(range.start), texts.start_of(range.end));
    match units {
        Units::Bytes => u64::from(end.saturating_sub(start)),
        Units::Counted => {
            let text = texts.parts().0.get(to_usize(start)..to_usize(end));
            text.map_or(0, |text| count_units(text) as u64)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Vectors, encode, encoded_len};
    use super::*;

    fn texts(all: &[&str]) -> Values {
        let mut texts = Texts::default();
        all.iter().for_each(|text| texts.push(text).unwrap());
        Values::Text(texts)
    }

    /// Vectors of texts, dense or (with a length) sparse.
    fn vectors(all: &[(&[&str], Option<u32>)]) -> Values {
        let mut vectors = Vectors::of(ItemType::Text);
        for (items, length) in all {
            vectors.items_mut().extend_from(&texts(items), 0..items.len()).unwrap();
            match length {
                None => vectors.close_dense().unwrap(),
                Some(length) => vectors.close_sparse(*length, &(0..items.len() as u32).collect::<Vec<_>>()).unwrap(),
            }
        }
        Values::Vector(Box::new(vectors))
    }

    fn cases() -> Vec<(Type, Values)> {
        let vector = |size| Type::Vector { item: ItemType::Text, dimensions: vec![size] };
        vec![
            (Type::Item(ItemType::Int32), Values::Int32(vec![1, 2, 3])),
            (Type::Item(ItemType::Boolean), Values::Boolean(vec![true; 17])),
            (Type::Item(ItemType::DvBool), Values::DvBool(vec![None; 17])),
            (Type::Item(ItemType::Text), texts(&["a", "", "äß", "😀"])),
            (vector(0), vectors(&[])),
            (vector(0), vectors(&[(&["ä", "b"], None), (&["c", "d"], None)])),
            (vector(0), vectors(&[(&["ä"], None), (&[], None), (&["c"], Some(5))])),
            (vector(2), vectors(&[(&["ä", "b"], None), (&["c"], Some(2))])),
        ]
    }

    #[test]
    fn encoded_len_matches_encoded_block() {
        for (kind, values) in cases() {
            for range in [0..values.len(), 0..0, values.len() / 2..values.len()] {
                let mut block = Vec::new();
                encode(&kind, &values, range.clone(), &mut block).unwrap();
                assert_eq!(encoded_len(&kind, &values, range), block.len() as u64, "{kind} {values:?}");
            }
        }
    }

    #[test]
    fn estimates_match_mlnet() {
        let estimate = |units| cases().iter().map(|(kind, v)| estimated_len(kind, v, 0..v.len(), units)).collect();
        let counted: Vec<u64> = estimate(Units::Counted);
        assert_eq!(counted, [12, 8, 8, 25, 16, 52, 54, 43]);
        let bytes: Vec<u64> = estimate(Units::Bytes);
        assert_eq!(bytes, [12, 8, 8, 29, 16, 53, 55, 44]);
    }
}
