//! Writes a dataset with numpy arrays: `cargo run --example datadings_write -- FILE`.

use datadings::numpy::Array;
use datadings::{Writer, WriterOptions};
use serde::Serialize;

#[derive(Serialize)]
struct Cat {
    key: String,
    label: u8,
    image: Array,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::env::args().nth(1).ok_or("missing argument FILE")?;
    let mut writer = Writer::create(file, WriterOptions::default())?;
    for number in 0..100u8 {
        let pixels = vec![number; 8 * 8];
        writer.append(&Cat {
            key: format!("cat-{number}"),
            label: number % 10,
            image: Array::new("|u1".parse()?, &[8, 8], pixels)?,
        })?;
    }
    println!("{} samples", writer.finish()?.samples);
    Ok(())
}
