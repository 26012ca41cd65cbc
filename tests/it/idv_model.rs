//! Golden model files: the schemas are those that ML.NET reads.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use container_core::{Container, Format, Input, OpenOptions, Source, VerifyOptions, detect};
use idv::{FORMAT, MODEL_FORMAT, Model};
use serde_json::{Value, json};
use wharf_tests::idv_canonical;

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/idv-model").join(name)
}

/// Compares the schemas of a file with ML.NET's; returns entry names and numbers of equal values.
fn schemas(name: &str) -> Vec<(String, u64)> {
    let model = Model::open(golden(&format!("{name}.zip"))).unwrap();
    assert_eq!((model.mlnet_version(), model.unreadable().len()), (Some("1.5.28711.2"), 0));
    let compare = |schema: &idv::ModelSchema| {
        let expected = BufReader::new(File::open(golden(&format!("{name}.expected.jsonl"))).unwrap());
        let equal = idv_canonical::compare(schema.reader(), expected);
        (schema.name().to_owned(), equal.unwrap_or_else(|error| panic!("{name}: {error}")))
    };
    model.schemas().iter().map(compare).collect()
}

#[test]
fn reads_schemas_as_mlnet_does() {
    // There are no rows and so no values; `compare` fails if a column, type or annotation differs.
    assert_eq!(schemas("schema"), [("Schema".to_owned(), 0)]);
    assert_eq!(schemas("binary-loader"), [("DataLoaderModel/Schema.idv".to_owned(), 0)]);
    assert_eq!(schemas("text-loader"), []);
}

#[test]
fn container_describes_the_archive() {
    let described = |name: &str| {
        let model = Model::open(golden(name)).unwrap();
        let mut details = Container::details(&model);
        details.remove("bytes").unwrap();
        let tables: Vec<_> =
            model.tables().iter().map(|table| (table.name().to_owned(), table.columns().len(), table.len())).collect();
        (Value::Object(details), tables)
    };
    let table = |name: &str| (name.to_owned(), 7, Some(0));
    assert_eq!(
        described("schema.zip"),
        (json!({"entries":5,"loader":false,"schemas":["Schema"]}), vec![table("Schema")])
    );
    assert_eq!(
        described("binary-loader.zip"),
        (
            json!({"entries":3,"loader":true,"schemas":["DataLoaderModel/Schema.idv"]}),
            vec![table("DataLoaderModel/Schema.idv")]
        )
    );
    assert_eq!(described("text-loader.zip"), (json!({"entries":10,"loader":true,"schemas":[]}), vec![]));
}

#[test]
fn shows_metadata_of_columns() {
    let model = Model::open(golden("schema.zip")).unwrap();
    let table = model.tables()[0];
    let metadata = |name: &str| {
        let index = table.columns().iter().position(|column| column.name == name).unwrap();
        table.column_details(index).unwrap()["metadata"].clone()
    };
    assert_eq!(metadata("ColourKey"), json!({"KeyValues":["red","green","blue"]}));
    assert_eq!(
        metadata("Features"),
        json!({"SlotNames":["Width","Height","ColourOneHot.red","ColourOneHot.green","ColourOneHot.blue"],"CategoricalSlotRanges":[2,4]})
    );
}

#[test]
fn recognizes_and_verifies_models_without_a_name() {
    let formats: [&dyn Format; 2] = [FORMAT, MODEL_FORMAT];
    for name in ["schema.zip", "text-loader.zip", "binary-loader.zip"] {
        let bytes = std::fs::read(golden(name)).unwrap();
        let input = Input::Stream(Source::from(bytes));
        let format = detect(&formats, &input).unwrap();
        assert_eq!(format.name(), "mlnet-model");
        let container = format.open(&input, &OpenOptions::default()).unwrap();
        assert_eq!((container.format(), container.version().as_str()), ("mlnet-model", "1.5.28711.2"));
        let mut findings = Vec::new();
        container.verify(&VerifyOptions::default(), &mut |finding| findings.push(finding.error.to_string())).unwrap();
        assert!(findings.is_empty(), "{name}: {findings:?}");
    }
}

#[test]
fn all_access_modes_read_the_same() {
    for name in ["schema.zip", "binary-loader.zip"] {
        let schema = |access| {
            let options = OpenOptions::default().with_access(access);
            let source = Source::open_with(golden(name), access).unwrap();
            let model = Model::from_source(source, options).unwrap();
            idv_canonical::schema(model.schemas()[0].reader()).unwrap()
        };
        assert_eq!(schema(container_core::testkit::mapped()), schema(container_core::Access::Positional));
    }
}
