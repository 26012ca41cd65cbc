//! Copies columns of an IDV file to another one with maximum compression: `cargo run --example recompress -- FROM TO [COLUMN...]`.

use idv::{Compression, OutputOptions, Reader, Scan, Writer, WriterOptions};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [from, to, names @ ..] = arguments.as_slice() else { return Err("FROM TO [COLUMN...]".into()) };
    let reader = Reader::open(from)?;
    let names = |name: &str| names.is_empty() || names.iter().any(|one| one == name);
    let columns: Vec<usize> =
        reader.columns().iter().filter(|column| names(column.name())).map(|column| column.index()).collect();
    let options = WriterOptions::default().with_compression(Compression::Deflate).with_level(9);
    let mut writer = Writer::create(to, OutputOptions::default(), reader.schema(Some(&columns))?, options)?;
    writer.append_reader(&reader, &Scan::default().with_columns(columns))?;
    writer.finish()?;
    Ok(())
}
