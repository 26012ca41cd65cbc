use std::io::{Seek, SeekFrom};

use super::*;
use crate::netcdf::{ReadOptions, Reader};
use crate::{Array, Builder, Field, OutputOptions};

/// Factors `size` into two dimensions of up to 31 bits, if possible.
fn factors(size: u64) -> (u64, u64) {
    let max = u64::from(i32::MAX.unsigned_abs());
    let inner = (1..10_000).find(|inner| size.is_multiple_of(*inner) && size / inner <= max).unwrap_or(1);
    (size / inner, inner)
}

/// Plans variables of the given byte sizes; names that begin with r are record variables.
fn with_plan<T>(
    sizes: &[(&str, u64)],
    records: u64,
    kind: Option<Kind>,
    then: impl FnOnce(Result<Layout>, &Plan<'_>) -> T,
) -> T {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.ds");
    let mut builder = Builder::new();
    for (name, _) in sizes {
        let names = ["t".to_owned(), format!("d_{name}"), format!("e_{name}")];
        let names = names.iter().skip(usize::from(!name.starts_with('r')));
        let array = Array::new(vec![1; names.len()], vec![1i8]).unwrap();
        builder.field(*name, Field::new(array).with_dimensions(names.map(String::as_str)));
    }
    builder.write(&path, OutputOptions::default()).unwrap();
    let source = crate::Reader::open(&path).unwrap();
    let unlimited = sizes.iter().any(|(name, _)| name.starts_with('r')).then(|| "t".to_owned());
    let options = WriteOptions::default().with_kind(kind).with_unlimited(unlimited);
    let mut plan = Plan::new(&source, &options).unwrap();
    // Replace the sizes by ones too large to create.
    for dimension in &mut plan.dimensions {
        let of = sizes.iter().find(|(name, _)| dimension.name.get(2..) == Some(name));
        let of = of.map(|(_, size)| factors(*size));
        dimension.size =
            of.map_or(records, |(outer, inner)| if dimension.name.starts_with('d') { outer } else { inner });
    }
    let found = layout(&mut plan, &options);
    then(found, &plan)
}

const GIB: u64 = 1 << 30;

#[test]
fn chooses_first_sufficient_kind() {
    let kind = |sizes: &[(&str, u64)], records| {
        with_plan(sizes, records, None, |found, plan| found.map(|_| plan.kind).unwrap())
    };
    // The last variable may have any size, others up to 31 bits; all begin within 31 bits.
    assert_eq!(kind(&[("a", 8), ("b", 100 * GIB)], 0), Kind::Classic);
    assert_eq!(kind(&[("a", 2 * GIB - 4), ("b", 1)], 0), Kind::Offset64); // begins beyond 31 bits
    assert_eq!(kind(&[("a", 2 * GIB - 400), ("b", 1)], 0), Kind::Classic);
    assert_eq!(kind(&[("a", 2 * GIB - 3), ("b", 1)], 0), Kind::Offset64);
    assert_eq!(kind(&[("a", 4 * GIB - 4), ("b", 100 * GIB)], 0), Kind::Offset64);
    assert_eq!(kind(&[("a", 4 * GIB - 2), ("b", 1)], 0), Kind::Data64);
    // Before records, no fixed variable is the last.
    assert_eq!(kind(&[("a", 4 * GIB), ("r", 1)], 1), Kind::Data64);
    // The size per record counts, not that of all records; that of the last variable does not.
    assert_eq!(kind(&[("r0", GIB), ("r1", GIB - 4)], 100), Kind::Classic);
    assert_eq!(kind(&[("r0", 8), ("r1", 100 * GIB)], 9), Kind::Classic);
    assert_eq!(kind(&[("r0", 3 * GIB), ("r1", 8)], 9), Kind::Offset64);
    assert_eq!(kind(&[("r0", 5 * GIB), ("r1", 8)], 9), Kind::Data64);
}

#[test]
fn reports_what_a_kind_cannot_hold() {
    let error = |sizes: &[(&str, u64)], kind| {
        with_plan(sizes, 3, Some(kind), |found, _| found.map(|layout| layout.end).map_err(|error| error.to_string()))
    };
    for (sizes, kind, expected) in [
        (
            &[("a", 3 * GIB), ("b", 1)][..],
            Kind::Classic,
            "CDF-1 cannot hold a variable of 3221225472 bytes that is not the last (at most 2147483644); CDF-2 and CDF-5 can (column \"a\")",
        ),
        (
            &[("a", GIB), ("b", GIB), ("c", 1)],
            Kind::Classic,
            "CDF-1 cannot hold a variable at offset 2147483872 (at most 2147483647); CDF-2 and CDF-5 can (column \"c\")",
        ),
        (
            &[("a", 5 * GIB), ("b", 1)],
            Kind::Classic,
            "CDF-1 cannot hold a variable of 5368709120 bytes that is not the last (at most 2147483644); CDF-5 can (column \"a\")",
        ),
        (
            &[("a", 5 * GIB), ("b", 5 * GIB)],
            Kind::Offset64,
            "CDF-2 cannot hold a variable of 5368709120 bytes that is not the last (at most 4294967292); CDF-5 can (column \"a\")",
        ),
        (
            &[("a", 5 * GIB), ("r", 1)],
            Kind::Offset64,
            "CDF-2 cannot hold a variable of 5368709120 bytes that is not the last (at most 4294967292); CDF-5 can (column \"a\")",
        ),
        (
            &[("r0", 5 * GIB), ("r1", 1)],
            Kind::Offset64,
            "CDF-2 cannot hold a record of a variable of 5368709120 bytes that is not the last (at most 4294967292); CDF-5 can (column \"r0\")",
        ),
    ] {
        assert_eq!(error(sizes, kind).unwrap_err(), expected);
        assert!(error(sizes, Kind::Data64).is_ok());
    }
    assert!(
        error(&[("a", u64::MAX / 4), ("b", u64::MAX / 4), ("c", u64::MAX / 4)], Kind::Data64)
            .is_ok_and(|end| end > 1 << 63)
    );
    let far = error(&[("a", u64::MAX / 2), ("b", 1)], Kind::Data64);
    assert_eq!(far.unwrap_err(), "the file exceeds 2^63 bytes");
}

/// Writes real headers, sparse gigabytes, and a value at the end of each variable.
#[test]
fn finds_values_beyond_4_gib() {
    for (sizes, records, kind) in [
        (&[("a", 8), ("b", 5 * GIB + 4)][..], 0, Kind::Classic),
        (&[("a", 3 * GIB + 2), ("b", 3 * GIB), ("c", 9 * GIB)], 0, Kind::Offset64),
        (&[("a", 5 * GIB + 2), ("b", 6 * GIB)], 0, Kind::Data64),
        (&[("a", 17), ("r0", 3 * GIB), ("r1", 7)], 3, Kind::Offset64),
        (&[("r0", 5 * GIB), ("r1", 3)], 2, Kind::Data64),
    ] {
        with_plan(sizes, records, None, |found, plan| {
            let layout = found.unwrap();
            assert_eq!(plan.kind, kind, "{sizes:?}");
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&header(plan, &layout).unwrap()).unwrap();
            file.set_len(layout.end).unwrap();
            for (extent, value) in layout.extents.iter().zip(1..) {
                let is_record = sizes[value as usize - 1].0.starts_with('r');
                let rows = if is_record { (layout.records - 1) * layout.stride } else { 0 };
                file.seek(SeekFrom::Start(extent.begin + rows + extent.bytes - 1)).unwrap();
                file.write_all(&[value]).unwrap();
            }
            let source = container_core::Source::from_file_with(file, container_core::Access::Positional).unwrap();
            let options = container_core::OpenOptions::default();
            let reader = Reader::from_source(
                source,
                options.with_limits(container_core::Limits::default().with_block_bytes(u64::MAX)),
            );
            let reader = reader.unwrap();
            assert_eq!(reader.kind(), kind);
            for (variable, value) in reader.variables().iter().zip(1i8..) {
                assert_eq!(variable.problem, None);
                if variable.shape.len() > 1 && variable.shape[1] > GIB {
                    continue; // too large to read in a test
                }
                let rows = variable.rows();
                let array = reader.read(variable, rows - 1..rows, &ReadOptions::default()).unwrap();
                assert_eq!(array.values().as_slice::<i8>().unwrap().last(), Some(&value), "{}", variable.name);
            }
        });
    }
}
