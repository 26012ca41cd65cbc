use super::*;
use crate::netcdf::{ReadOptions, Reader};
use crate::{Builder, Field, Values};

/// Writes a field in small chunks, and reads it back.
fn round_trip(field: Field<'static>, chunk_bytes: u64, options: &WriteOptions) -> Array<'static> {
    let folder = tempfile::tempdir().unwrap();
    let (ds, nc) = (folder.path().join("a.ds"), folder.path().join("a.nc"));
    let mut builder = Builder::new();
    builder.field("v", field);
    builder.write(&ds, OutputOptions::default()).unwrap();
    let source = crate::Reader::open(&ds).unwrap();
    let options = options.clone().with_kind(Some(crate::netcdf::Kind::Hdf5));
    write_chunked(chunk_bytes, Plan::new(&source, &options).unwrap(), &nc, &options).unwrap();
    let reader = Reader::open(&nc).unwrap();
    let variable = reader.variable("v").unwrap();
    let whole = reader.read(variable, 0..variable.rows(), &ReadOptions::default()).unwrap();
    // A row in the middle is found through the tree.
    let row = variable.rows() / 2;
    let one = reader.read(variable, row..row + 1, &ReadOptions::default()).unwrap();
    let len = one.len();
    let start = usize::try_from(row).unwrap() * len;
    if let (Some(one), Some(all)) = (one.values().as_slice::<i32>(), whole.values().as_slice::<i32>()) {
        assert_eq!(one, &all[start..start + len]);
    }
    whole
}

#[test]
fn trees_of_any_height_find_every_chunk() {
    for (sizes, chunks) in [
        (vec![1u64], 1),
        (vec![64], 64),
        (vec![65], 65),
        (vec![4096], 4096),
        (vec![4097], 4097),
        (vec![9, 11, 7], 9 * 11 * 2),
        (vec![300, 5, 8], 300 * 5 * 2),
        (vec![2, 70, 4], 2 * 70),
    ] {
        // Four elements per chunk if sizes allow it, one for a single axis.
        let chunk_bytes = if sizes.len() == 1 { 4 } else { 16 };
        let count = sizes.iter().product::<u64>();
        let values: Vec<i32> = (0..i32::try_from(count).unwrap()).map(|n| n * 7 - 3).collect();
        let names: Vec<String> = (0..sizes.len()).map(|axis| format!("d{axis}")).collect();
        for deflate in [None, Some(1)] {
            let array = Array::new(sizes.clone(), values.clone()).unwrap();
            let field = Field::new(array).with_dimensions(names.iter().map(String::as_str));
            let options = WriteOptions::default().with_unlimited(Some("d0".into())).with_deflate(deflate);
            let read = round_trip(field, chunk_bytes, &options);
            assert_eq!(read.values().as_slice::<i32>().unwrap(), values, "{sizes:?} {chunks} {deflate:?}");
        }
    }
}

#[test]
fn chunks_strings_too() {
    let texts: Vec<String> = (0..700).map(|n| "ü".repeat(n % 5) + &n.to_string()).chain([String::new()]).collect();
    for (chunk_bytes, unlimited) in [(1 << 20, false), (1 << 20, true), (32, false), (32, true)] {
        let values: Values<'static> = texts.iter().map(String::as_str).collect::<Values<'_>>().into_owned();
        let field = Field::new(Array::new([701], values).unwrap()).with_dimensions(["n"]);
        let options = WriteOptions::default().with_unlimited(unlimited.then(|| "n".into()));
        let read = round_trip(field, chunk_bytes, &options);
        let found: Vec<&[u8]> = read.values().as_strings().unwrap().iter().collect();
        assert_eq!(found, texts.iter().map(String::as_bytes).collect::<Vec<_>>(), "{chunk_bytes} {unlimited}");
    }
}
