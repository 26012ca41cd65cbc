//! Writes a week of temperatures with a missing day: `cargo run --example ds_write -- FILE`.

use dsfmt::{Array, Builder, Field, Mask, OutputOptions};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::env::args().nth(1).ok_or("which file?")?;
    let days = Array::new([7], (0..7).collect::<Vec<i32>>())?;
    let values = Array::new([7], vec![3.5f32, 4.0, 0.0, 5.5, 6.0, 6.5, 4.5])?;
    let missing = Mask::from_bools([false, false, true, false, false, false, false]);
    let mut builder = Builder::new();
    builder.attribute("title", "One week");
    builder.field("day", Field::new(days).with_dimensions(["day"]).with_attribute("units", "days since 2026-01-01"));
    let temperature = Field::new(values.with_mask(missing)?).with_dimensions(["day"]);
    builder.field("temperature", temperature.with_attribute("units", "celsius"));
    builder.write(file, OutputOptions::default())?; // atomic
    Ok(())
}
