//! Writes an IDV file that ML.NET trains on: `cargo run --example idv_write -- FILE`.

use idv::{ColumnSchema, ItemType, OutputOptions, Schema, Type, Writer, WriterOptions};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::env::args().nth(1).ok_or("which file?")?;
    let schema = Schema::new([
        ColumnSchema::new("Label", Type::Item(ItemType::Boolean)),
        ColumnSchema::new("Features", Type::Vector { item: ItemType::Single, dimensions: vec![3] }),
    ]);
    let mut writer = Writer::create(file, OutputOptions::default(), schema, WriterOptions::default())?;
    for row in 0..1000u16 {
        let x = f32::from(row) / 1000.0;
        writer.append_row(&(row % 2 == 0, [x, x * x, 1.0 - x]))?;
    }
    writer.finish()?; // whole under its name from here on
    Ok(())
}
