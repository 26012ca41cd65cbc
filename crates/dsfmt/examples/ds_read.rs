//! Prints the variables of a ds file, or the last record of one of them: `cargo run --example ds_read -- FILE [VARIABLE]`.

use dsfmt::{Reader, Select, Selection};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let numbers = || concat!(env!("CARGO_MANIFEST_DIR"), "/examples/data/numbers-little.ds").to_owned();
    let reader = Reader::open(arguments.next().unwrap_or_else(numbers))?;
    let Some(name) = arguments.next() else {
        for variable in reader.variables() {
            println!("{}: {:?} {:?}", variable.name(), variable.data_type(), variable.shape());
        }
        return Ok(());
    };
    let variable = reader.variable(&name)?;
    let first = variable.dimensions().first().ok_or("it has no dimension")?;
    let last = variable.select(&Selection::new().with(first, Select::Index(-1)))?; // reads only its bytes
    println!("{last:?}");
    Ok(())
}
