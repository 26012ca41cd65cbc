//! NetCDF-4 round trips keep the order of attributes and variables.

use dsfmt::netcdf::{AttributeValue, Kind, ReadOptions, Reader, WriteOptions, from_ds};
use dsfmt::{Array, Builder, Field, JsonBuf, OutputOptions};

fn written(builder: &Builder<'_>, options: WriteOptions) -> dsfmt::Result<Reader> {
    let folder = tempfile::tempdir().unwrap();
    let (ds, nc) = (folder.path().join("a.ds"), folder.path().join("a.nc"));
    builder.write(&ds, OutputOptions::default()).unwrap();
    let done = from_ds(&dsfmt::Reader::open(&ds)?, &nc, &options.with_kind(Some(Kind::Hdf5)));
    if done.is_err() {
        // Whole or absent.
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
    assert_eq!(done?.losses, []);
    Reader::open(&nc)
}

fn field(names: &[&str], sizes: &[u64]) -> Field<'static> {
    let count = i32::try_from(sizes.iter().product::<u64>()).unwrap();
    Field::new(Array::new(sizes, (0..count).collect::<Vec<i32>>()).unwrap()).with_dimensions(names.iter().copied())
}

#[test]
fn attributes_keep_their_order() {
    // More than the C library keeps in a header, not in alphabetical order.
    let names: Vec<String> = (0..40).map(|n| format!("a{}", n * 17 % 40)).collect();
    let mut one = field(&["x"], &[3]);
    let mut builder = Builder::new();
    for (number, name) in names.iter().enumerate() {
        one = one.with_attribute(name, JsonBuf::from(i64::try_from(number).unwrap()));
        builder.attribute(name, format!("{number}").as_str());
    }
    builder.field("v", one);
    let reader = written(&builder, WriteOptions::default()).unwrap();
    for found in [reader.attributes(), reader.variable("v").unwrap().attributes.as_slice()] {
        assert!(found.iter().map(|attribute| &attribute.name).eq(&names), "{found:?}");
    }
}

#[test]
fn distinguishes_dimensions_and_variables_of_equal_name() {
    let mut builder = Builder::new();
    builder.field("x", field(&["x"], &[3])); // an axis
    builder.field("y", field(&["y", "x"], &[2, 3])); // an axis that is no list
    builder.field("z", field(&["x", "z"], &[3, 4])); // no axis: z is not its first
    builder.field("w", field(&[], &[])); // a scalar beside the dimension w
    builder.field("v", field(&["w", "y"], &[5, 2]));
    let reader = written(&builder, WriteOptions::default().with_unlimited(Some("y".into()))).unwrap();
    assert_eq!(reader.losses(), []);
    for (name, dimensions) in
        [("x", &["x"][..]), ("y", &["y", "x"]), ("z", &["x", "z"]), ("w", &[]), ("v", &["w", "y"])]
    {
        let variable = reader.variable(name).unwrap();
        assert_eq!(reader.dimension_names(variable).collect::<Vec<_>>(), dimensions, "{name}");
        let array = reader.read(variable, 0..variable.rows(), &ReadOptions::default()).unwrap();
        let count = i32::try_from(array.len()).unwrap();
        assert_eq!(array.values().as_slice::<i32>().unwrap(), (0..count).collect::<Vec<_>>(), "{name}");
    }
    let growing: Vec<_> = reader.dimensions().iter().filter(|one| one.unlimited).map(|one| one.name.as_str()).collect();
    assert_eq!(growing, ["y"]);
    // The name under which z is kept is another's.
    builder.field("_nc4_non_coord_z", field(&[], &[]));
    let error = written(&builder, WriteOptions::default()).unwrap_err().to_string();
    assert_eq!(error, "netcdf: duplicate name \"_nc4_non_coord_z\" in the file");
}

#[test]
fn stores_or_rejects_long_attributes() {
    let (long, texts) = ("y".repeat(300_000), ["", "Gr\u{fc}\u{df}e", "z"]);
    let mut builder = Builder::new();
    builder.attribute("long", long.as_str()).attribute("list", JsonBuf::list(texts.into_iter().map(JsonBuf::from)));
    builder.attribute("none", "").attribute("last", 1);
    let reader = written(&builder, WriteOptions::default()).unwrap();
    let found: Vec<&AttributeValue> = reader.attributes().iter().map(|attribute| &attribute.value).collect();
    assert_eq!(found[0].as_text(), Some(long.as_str()));
    assert_eq!(found[1], &AttributeValue::Texts(texts.map(String::from).into()));
    assert_eq!((found[2].as_text(), found.len()), (Some(""), 4));
    builder.attribute("many", JsonBuf::list((0..20_000).map(JsonBuf::from)));
    assert_eq!(
        written(&builder, WriteOptions::default()).unwrap_err().to_string(),
        "netcdf: attribute \"many\" takes 80000 bytes, more than the limit 65403 in NetCDF-4; CDF-5 can hold it"
    );
}

#[test]
fn thousands_of_variables_share_a_dimension() {
    let mut builder = Builder::new();
    for number in 0..5000 {
        builder.field(format!("v{number}"), field(&["x", "y"], &[2, 1]));
    }
    let reader = written(&builder, WriteOptions::default()).unwrap();
    assert_eq!((reader.variables().len(), reader.dimensions().len()), (5000, 2));
    let last = reader.variable("v4999").unwrap();
    assert_eq!(reader.dimension_names(last).collect::<Vec<_>>(), ["x", "y"]);
}
